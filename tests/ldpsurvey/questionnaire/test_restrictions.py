"""Follow-up questions and impossible combinations: which records are right, and what their channel says."""

import itertools
import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from ldpsurvey import Memo, privatize, privatize_file
from ldpsurvey.command.cli import main
from ldpsurvey.questionnaire.lot_reports import read_reports
from ldpsurvey.questionnaire.questionnaire_channel import read_questionnaire
from ldpsurvey.questionnaire.table_estimates import estimate_questionnaire
from support.questionnaires import records, report_chances

ROWS = """id,smokes,often,age,children
1,yes,daily,15-17,0
2,no,,18+,2
3,no,NA,18+,1
4,yes,rarely,18+,1
5,no,,15-17,0
"""
ASKED = ["--sensitive", "smokes", "often", "age", "children", "--epsilon", "2", "--quiet"]
FOLLOWS = ["--follow-up", "often=smokes:yes"]
NEVER = ["--impossible", "age=15-17", "children=1,2"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("p.csv").write_text(ROWS, encoding="utf-8")
    return tmp_path


@pytest.fixture
def channel(folder):
    assert main(["design", "--data", "p.csv", *ASKED, *FOLLOWS, *NEVER]) == 0
    return read_questionnaire("channel.json")


def test_a_question_and_its_follow_up_are_one(channel, folder):
    assert channel.names == ("smokes/often", "age", "children")
    assert channel.answers[0] == ("no", "yes, daily", "yes, rarely")
    done = privatize_file(channel, "p.csv", "r.csv", memo=Memo("memo", "id"))
    assert done.records == 5
    # From lists of values, and after several answers, as well; of two questions that follow, all pairs.
    values = [
        "--values",
        "a=x,y,z",
        "b=1,2",
        "c=3,4",
        "d=5,6",
        "--sensitive",
        *"abcd",
        "--epsilon",
        "1",
        "--quiet",
    ]
    assert main(["design", *values, "--follow-up", "b=a:x,y", "c=a:y", "--out", "v.json"]) == 0
    made = read_questionnaire("v.json")
    assert made.names == ("a/b/c", "d")
    expected = ["x, 1", "x, 2", *map(", ".join, itertools.product("y", "12", "34")), "z"]
    assert made.answers[0] == tuple(expected)


def test_records_are_read_as_their_combination(channel, folder):
    """The report of a record has the chances that the file gives its combined answer."""
    chances, rng = report_chances(channel.text()), np.random.default_rng(0)
    for record, place in ((("yes", "daily", "18+", "0"), (1, 1, 0)), (("no", "", "18+", "0"), (0, 1, 0))):
        n = 4_000
        drawn = Counter(privatize(channel, [record] * n, source=rng.bytes))
        stated = {report: float(p[place]) for report, p in chances.items()}
        statistic = sum((drawn.get(report, 0) - n * p) ** 2 / (n * p) for report, p in stated.items())
        free = len(stated) - 1
        assert (statistic - free) / (2.0 * free) ** 0.5 < 5.0


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "2,no,,",
            "2,no,daily,",
            "Record 2 of q.csv has 'daily' as often after 'no' as smokes; it must be empty.",
        ),
        (
            "1,yes,daily",
            "1,yes,",
            "has '' as often after 'yes' as smokes; it must be one of 'daily', 'rare",
        ),
        ("4,yes,rarely", "4,yes,never", "has 'never' as its often; the channel accepts"),
        ("5,no,,15-17,0", "5,no,,15-17,2", "Record 5 of q.csv has 15-17 as age and 1/2 as children, which"),
    ],
)
def test_records_that_cannot_be_are_refused(channel, folder, capsys, old, new, says):
    Path("q.csv").write_text(ROWS.replace(old, new), encoding="utf-8")
    assert main(["apply", "--channel", "channel.json", "--data", "q.csv", "--out", "r.csv"]) == 2
    assert says in capsys.readouterr().err
    assert not Path("r.csv").exists()


SAMPLER = """
import { readFileSync } from "node:fs";
import { reporter } from "./channel.mjs";
const report = await reporter(readFileSync("channel.json"));
const said = [];
for (const children of ["0", "1"]) {
  try { report({ "smokes/often": "yes, daily", age: "15-17", children }); said.push(""); }
  catch (error) { said.push(error.message); }
}
console.log(JSON.stringify(said));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_a_browser_refuses_them_as_well(channel, folder):
    Path("check.mjs").write_text(SAMPLER, encoding="utf-8")
    done = subprocess.run(["node", "check.mjs"], capture_output=True, text=True, check=True)
    rule = '{"age":["15-17"],"children":["1","2"]}'
    assert json.loads(done.stdout) == ["", f"Nobody gives these answers together: {rule}."]


def test_missing_answers_to_a_question_that_is_asked_have_a_name(folder, capsys):
    """Those of people who are not asked are right without one."""
    Path("p.csv").write_text(ROWS.replace("yes,rarely", "yes,NA"), encoding="utf-8")
    assert main(["design", "--data", "p.csv", *ASKED, *FOLLOWS]) == 2
    assert "has 'NA' as often in 1 record" in capsys.readouterr().err
    assert main(["design", "--data", "p.csv", *ASKED, *FOLLOWS, "--missing", "often=unknown"]) == 0
    channel = read_questionnaire("channel.json")
    assert channel.answers[0] == ("no", "yes, daily", "yes, unknown")
    assert privatize_file(channel, "p.csv", "r.csv").records == 5


def test_entries_that_are_impossible_are_those_of_tables_with_all_questions(channel):
    assert not channel.impossible_entries((1,)).any()
    assert not channel.impossible_entries((0, 2)).any()
    assert channel.impossible_entries((1, 2)).tolist() == [[False, True, True], [False] * 3]
    assert channel.impossible_entries((0, 1, 2)).sum(axis=(1, 2)).tolist() == [2] * 3


def test_shares_of_both_questions_are_sums_and_impossible_entries_are_0(channel):
    """From as many of each report as are expected in a population, and from a few that are drawn of these."""
    rng, cells = np.random.default_rng(2), [x for x in records((3, 2, 3)) if x[1] or not x[2]]
    truth = dict(zip(cells, rng.dirichlet([0.3] * len(cells)).tolist(), strict=True))
    expected = {
        report: 1e9 * sum(p * float(given[x]) for x, p in truth.items())
        for report, given in report_chances(channel.text()).items()
    }

    def parts(found, value):
        """Return the entries of the combined question that have an answer, and their places."""
        every = enumerate(found.of(["smokes/often"]))
        return [(place, entry) for place, entry in every if value in entry.quantity.value[0].split(", ")]

    exact = estimate_questionnaire(channel, read_reports(channel, expected))
    assert [entry.quantity.value[0] for entry in exact.of(["often"])] == ["daily", "rarely"]
    for entry in exact.of(["smokes"]) + exact.of(["often"]):
        places = [place for place, _ in parts(exact, entry.quantity.value[0])]
        share = sum(p for x, p in truth.items() if x[0] in places)
        assert entry.unbiased == pytest.approx(share, abs=1e-7)
        assert entry.low <= share <= entry.high
    # Few reports: what is impossible is 0, and tables agree with shares all the same.
    chances = np.array([*expected.values()]) / sum(expected.values())
    drawn = Counter(rng.choice([*expected], 300, p=chances).tolist())
    found = estimate_questionnaire(channel, read_reports(channel, drawn))
    table = found.of(["age", "children"])
    never = [e for e in table if e.quantity.value in (("15-17", "1"), ("15-17", "2"))]
    assert [(e.estimate, e.low, e.high) for e in never] == [(0.0, 0.0, 0.0)] * 2
    assert any(e.unbiased for e in never)
    for age in found.of(["age"]):
        own = sum(e.estimate for e in table if e.quantity.value[0] == age.quantity.value[0])
        assert own == pytest.approx(age.estimate, abs=1e-6)
    for entry in found.of(["smokes"]) + found.of(["often"]):
        own = [e for _, e in parts(found, entry.quantity.value[0])]
        assert entry.estimate == pytest.approx(sum(e.estimate for e in own))
        assert entry.unbiased == pytest.approx(sum(e.unbiased for e in own))
        assert entry.low < entry.high
        assert entry.high - entry.low <= sum(e.high - e.low for e in own) + 1e-9


def test_the_file_keeps_all_of_it_and_a_changed_one_is_refused(channel, folder):
    again = read_questionnaire("channel.json")
    assert (again.fields, again.impossible, again.text()) == (
        channel.fields,
        channel.impossible,
        channel.text(),
    )
    content = json.loads(channel.text())
    content["questions"][0]["values"].pop()
    Path("channel.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ValueError, match="was changed"):
        read_questionnaire("channel.json")


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--follow-up", "often=smoke:yes"], "with two of the questions smokes, often, age, children"),
        (["--follow-up", "often=often:daily"], "with two of the questions"),
        (["--follow-up", "often=smokes:maybe"], "as it is asked after maybe"),
        (["--follow-up", "often=smokes:yes", "age=often:daily"], "a question follows at most one other"),
        ([*FOLLOWS, "--impossible", "age=15-17", "children=7"], "has children=7; the answers are 0, 1, 2"),
        (
            [*FOLLOWS, "--impossible", "age=15-17", "kids=3"],
            "has kids=3; the questions are smokes, often, age",
        ),
        ([*FOLLOWS, "--impossible", "age=15-17"], "at least two questions are needed"),
        ([*FOLLOWS, "--impossible", "age", "children"], "must be QUESTION=ANSWER,..."),
        ([*FOLLOWS, "--useful", "id"], "--follow-up is for questionnaires"),
        ([*NEVER, "--precise", "cells"], "--impossible is for questionnaires"),
    ],
)
def test_what_does_not_fit_is_refused(folder, capsys, more, says):
    assert main(["design", "--data", "p.csv", *ASKED, *more]) == 2
    assert says in capsys.readouterr().err
    assert not Path("channel.json").exists()
