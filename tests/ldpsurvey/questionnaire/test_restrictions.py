"""Follow-up questions and impossible combinations: which records are right, and what their channel says."""

import itertools
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from ldpsurvey import Memo, privatize, privatize_file
from ldpsurvey.command.cli import main
from ldpsurvey.questionnaire.questionnaire_channel import read_questionnaire
from support.questionnaires import report_chances

ROWS = """id,smokes,often,age,children
1,yes,daily,15-17,0
2,no,,18+,2
3,no,NA,18+,3
4,yes,rarely,18+,1
5,ex,,15-17,1
"""
ASKED = ["--sensitive", "smokes", "often", "age", "children", "--epsilon", "2", "--quiet"]
FOLLOWS = ["--follow-up", "often=smokes:yes"]
NEVER = ["--impossible", "age=15-17", "children=2,3"]


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
    assert channel.answers[0] == ("ex", "no", "yes, daily", "yes, rarely")
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
    for record, place in ((("yes", "daily", "18+", "0"), (2, 1, 0)), (("no", "", "18+", "0"), (1, 1, 0))):
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
            "has '' as often after 'yes' as smokes; it must be one of 'daily', 'rarely'.",
        ),
        ("4,yes,rarely", "4,yes,never", "has 'never' as its often; the channel accepts"),
        (
            "15-17,1",
            "15-17,3",
            "Record 5 of q.csv has 15-17 as age and 2/3 as children, which the channel says",
        ),
    ],
)
def test_records_that_cannot_be_are_refused(channel, folder, capsys, old, new, says):
    Path("q.csv").write_text(ROWS.replace(old, new), encoding="utf-8")
    assert main(["apply", "--channel", "channel.json", "--data", "q.csv", "--out", "r.csv"]) == 2
    assert says in capsys.readouterr().err
    assert not Path("r.csv").exists()


def test_missing_answers_to_a_question_that_is_asked_have_a_name(folder, capsys):
    """Those of people who are not asked are right without one."""
    Path("p.csv").write_text(ROWS.replace("yes,rarely", "yes,NA"), encoding="utf-8")
    assert main(["design", "--data", "p.csv", *ASKED, *FOLLOWS]) == 2
    assert "has 'NA' as often in 1 record" in capsys.readouterr().err
    assert main(["design", "--data", "p.csv", *ASKED, *FOLLOWS, "--missing", "often=unknown"]) == 0
    channel = read_questionnaire("channel.json")
    assert channel.answers[0] == ("ex", "no", "yes, daily", "yes, unknown")
    assert privatize_file(channel, "p.csv", "r.csv").records == 5


def test_entries_that_are_impossible_are_those_of_tables_with_all_questions(channel):
    assert not channel.impossible_entries((1,)).any()
    assert not channel.impossible_entries((0, 2)).any()
    assert channel.impossible_entries((1, 2)).tolist() == [[False, False, True, True], [False] * 4]
    assert channel.impossible_entries((0, 1, 2)).sum(axis=(1, 2)).tolist() == [2] * 4


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
        ([*FOLLOWS, "--impossible", "age=15-17", "children=7"], "has children=7; the answers are 0, 1, 2, 3"),
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
