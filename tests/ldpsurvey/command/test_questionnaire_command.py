"""The commands design, apply and estimate for questionnaires."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

from ldpsurvey.command.cli import main
from ldpsurvey.command.option_table import OPTIONS, option_names
from ldpsurvey.questionnaire.questionnaire_channel import read_questionnaire

DESIGN = ["design", "--epsilon", "1"]


@pytest.fixture
def people(tmp_path, monkeypatch):
    """Return a folder with records of four questions, in which some combinations do not occur."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    with open("people.csv", "w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "smokes", "votes", "age", "region"])
        for person in range(600):
            smokes = rng.random() < 0.3
            votes = rng.choice(["left", "right"] if smokes else ["left", "right", "green"])
            writer.writerow([person, "yes" if smokes else "no", votes, rng.integers(18, 90), "north"])
    return tmp_path


ASKED = ["--data", "people.csv", "--sensitive", "smokes", "votes", "age", "--bins", "age=18,40,65"]


#: A call of each command with the channel of a questionnaire, and options that are for one table alone.
CALLS = {
    "design": "--values a=1,2 b=1,2 c=1,2 --sensitive a b c --epsilon 1 --precise pairs --out d.json",
    "apply": "--channel q.json --data p.csv --out r.csv --memo m --id id",
    "estimate": "--channel q.json --data one.csv",
    "change": "--channel q.json --data one.csv two.csv --id id",
    "form": "--channel q.json --out f.html",
    "card": "--channel q.json --out k.html",
    "collect": "--channel q.json one.csv --out r.csv",
    "audit": "--channel q.json",
    "level": "q.json q.json",
    "channel": "--values ill=no,yes --design warner --p 0.7 --out d.json",
    "regress": "--channel q.json --data one.csv --formula a~b",
    "people": "--channel q.json --error 0.01",
    "verify": "q.certificate.json",
}
GIVEN = {
    "--cone": "none:none", "--expect": "1=0.3", "--max-seconds": "9", "--mechanism": "grr", "--prove": "9",
    "--compare-with": "1", "--cumulative": "a", "--mean": "a", "--deviating": "0.1", "--samples": "50",
    "--second": "q.json two.csv --always x", "--data": "p.csv",
}  # fmt: skip


@pytest.fixture(scope="module")
def surveyed(tmp_path_factory):
    """Return a folder with the channel of a questionnaire, and reports of two waves."""
    folder = tmp_path_factory.mktemp("surveyed")
    rng = np.random.default_rng(0)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        rows = [
            f"{n},{a + 1},{(a ^ b) + 1},{c + 1}" for n, (a, b, c) in enumerate(rng.random((500, 3)) < 0.3)
        ]
        Path("p.csv").write_text("\n".join(["id,a,b,c", *rows]), encoding="utf-8")
        design = f"design {CALLS['design']}".replace("d.json", "q.json").replace("--epsilon 1", "--epsilon 4")
        assert main([*design.split(), "--quiet"]) == 0
        for seed, name in enumerate(("one", "two")):
            words = f"apply --channel q.json --data p.csv --out {name}.csv --keep id --insecure --seed {seed}"
            assert main([*words.split(), "--quiet"]) == 0
    return folder


@pytest.mark.parametrize("command", OPTIONS)
def test_the_page_says_which_commands_take_a_questionnaire(surveyed, monkeypatch, capsys, command):
    """Each works or is refused in a sentence; so are options, and those alone, that are for one table."""
    text = (Path(__file__).parents[3] / "docs/survey/questionnaires.md").read_text(encoding="utf-8")
    table = text.partition("<!-- commands -->")[2].partition("<!-- end -->")[0]
    rows = {
        cells[1].strip("` "): cells[2:4] for row in table.splitlines()[3:] if (cells := row.split("|"))[1:]
    }
    assert [*rows] == [*OPTIONS]
    monkeypatch.chdir(surveyed)

    def done(more=""):
        capsys.readouterr()
        before = set(Path().iterdir())
        try:
            status = main(f"{command} {CALLS[command]} {more}".split())
        except SystemExit as end:
            status = end.code
        for path in set(Path().iterdir()) - before:
            path.unlink()
        return status, capsys.readouterr().err

    says, listed = rows[command]
    status, error = done()
    assert (status == 0) == (not says.strip().startswith("refused")), error
    assert status == 0 or re.fullmatch(r"ldp-frontier: [^\n]+\.\n", error)
    refused = set()
    for option in option_names(command):
        if option not in CALLS[command].split() and command != "channel" and status == 0:
            _, error = done(f"{option} {GIVEN.get(option, '')}")
            if re.search(r"is for the joint table|(is|are) for channels of one table", error):
                refused.add(option)
    assert refused == set(re.findall("`(--.*?)`", listed))


def test_from_a_file_to_tables(people, capsys):
    assert main([*DESIGN, *ASKED]) == 0
    said = capsys.readouterr().out
    assert "3 questions with 2 to 4 answers each: 24 combinations" in said
    assert (
        main(["apply", "--channel", "channel.json", "--data", "people.csv", "--out", "r.csv", "--keep", "id"])
        == 0
    )
    capsys.readouterr()
    estimate = ["estimate", "--channel", "channel.json", "--data", "r.csv", "--out", "e.csv"]
    assert main([*estimate, "--id", "id", "--rates", "smokes", "votes", "--plot", "e.png"]) == 0
    assert Path("e.png").read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert "600 reports." in printed
    assert "smokes given votes" in printed
    assert max(map(len, printed.splitlines())) <= 80
    with open("e.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    channel = read_questionnaire("channel.json")
    sizes = list(map(len, channel.answers))
    pairs = sum(a * b for i, a in enumerate(sizes) for b in sizes[:i])
    assert len(rows) == sum(sizes) + pairs + sizes[0] * sizes[1]
    for row in rows:
        assert float(row["low"]) <= float(row["high"])


def test_a_combination_that_nobody_had_can_be_reported(people, capsys):
    """Smokers who vote green are in no record of the design."""
    assert main([*DESIGN, *ASKED, "--quiet"]) == 0
    (people / "new.csv").write_text("smokes,votes,age\nyes,green,50\n", encoding="utf-8")
    assert main(["apply", "--channel", "channel.json", "--data", "new.csv", "--out", "r.csv", "--quiet"]) == 0
    (people / "new.csv").write_text("smokes,votes,age\nyes,blue,50\n", encoding="utf-8")
    assert main(["apply", "--force", "--channel", "channel.json", "--data", "new.csv", "--out", "r.csv"]) == 2
    assert "'blue' as its votes; the channel accepts 'green', 'left', 'right'" in capsys.readouterr().err
    (people / "new.csv").write_text("smokes,votes,count\nyes,left,7\nno,left,5\n", encoding="utf-8")
    channel = ["design", "--epsilon", "1", "--data", "people.csv", "--sensitive", "smokes", "votes"]
    assert main([*channel, "--precise", "pairs", "--out", "two.json", "--quiet"]) == 0
    assert main(["apply", "--channel", "two.json", "--data", "new.csv", "--out", "new-r.csv"]) == 2
    assert "A report is drawn for every row" in capsys.readouterr().err
    assert (people / "r.csv").read_text(encoding="utf-8").count("\n") == 2  # as it was


def test_values_alone_make_a_questionnaire(people, capsys):
    values = ["--values", *[f"q{j}=no,yes" for j in range(20)]]
    asked = ["--sensitive", *[f"q{j}" for j in range(20)]]
    assert main([*DESIGN, *values, *asked, "--precise", "pairs", "--details"]) == 0
    said = capsys.readouterr().out
    assert "1,048,576" in said
    assert "one pair by lot" in said
    assert "No mechanism of this level needs fewer than 99% of them." in " ".join(said.split())
    assert (
        main(
            ["design", "--error", "0.05", "--records", "20000", *values, *asked, "--out", "d.json", "--json"]
        )
        == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert found["people"] <= 20000
    # At a thousandth less the error is larger.
    less = [
        "--epsilon",
        f"{round(found['level'], 3) - 0.001}",
        "--error",
        "0.05",
        "--out",
        "e.json",
        "--json",
    ]
    assert main(["design", *less, *values, *asked]) == 0
    assert json.loads(capsys.readouterr().out)["people"] > 20000


def test_tables_are_chosen_in_a_design_and_in_an_estimate(people, capsys):
    design = [*DESIGN, *ASKED, "--values", "region=north,south", "--quiet", "--sensitive"]
    design += ["smokes", "votes", "age", "region", "--tables"]
    assert main([*design, "votes,smokes,region", "age"]) == 0
    apply = ["apply", "--channel", "channel.json", "--data", "people.csv", "--out", "r.csv", "--quiet"]
    assert main(apply) == 0
    estimate = ["estimate", "--channel", "channel.json", "--data", "r.csv", "--out", "e.csv", "--tables"]
    assert main([*estimate, "votes,smokes"]) == 0
    assert "smokes, votes  share" in capsys.readouterr().out
    with open("e.csv", encoding="utf-8", newline="") as stream:
        assert '["smokes","votes","region"]' in {row["columns"] for row in csv.DictReader(stream)}
    for wrong, words in (
        ("age,smokes", "not show the table of"),
        ("smokes,nothing", "no question 'nothing'"),
    ):
        assert main([*estimate, wrong]) == 2
        assert words in capsys.readouterr().err
    for wrong, words in (("votes,smokes", "'age' is in no table"), ("age,votes,smokes,region", "1 to 3")):
        assert main([*design, wrong, "--out", "other.json"]) == 2
        assert words in capsys.readouterr().err


def test_cells_of_three_columns_can_be_asked_for(people):
    asked = ["--values", "a=0,1", "b=0,1", "c=0,1", "--sensitive", "a", "b", "c", "--records", "100"]
    assert main([*DESIGN, *asked, "--precise", "cells", "--quiet"]) == 0
    assert (
        json.loads((people / "channel.json").read_text(encoding="utf-8"))["format"] == "ldp-frontier channel"
    )


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--precise", "shares", "--mechanism", "grr"], "--mechanism is for the joint table"),
        (["--precise", "shares", "--for", "information"], "does not go with --for information"),
        (["--precise", "shares", "--records", "0"], "number of records is 0"),
        # Options that say nothing about the choice do not turn it into a joint table.
        (["--max-seconds", "9"], "--max-seconds is for the joint table"),
        (["--prove", "9"], "--prove is for the joint table"),
        (["--expect", "yes=0.1"], "--expect is for the joint table"),
        (["--error", "0"], "at least 1e-09"),
        (["--missing", "no", "--missing-codes", "Smokes=7"], "Did you mean 'smokes'?"),
        (["--epsilon", "50"], "epsilon is 50"),
        (["--values", "votes=left,right"], "'green' as its votes"),
    ],
)
def test_what_does_not_fit_is_refused(people, capsys, more, words):
    try:
        status = main([*DESIGN, *ASKED, *more])
    except SystemExit as problem:
        status = problem.code
    assert status == 2
    assert words in capsys.readouterr().err
    assert not (people / "channel.json").exists()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (
            ["apply", "--data", "people.csv", "--out", "s.csv", "--no-memo"],
            "and needs no account",
        ),
        (["audit", "--samples", "10"], "--samples and --data are for channels of one table"),
        (["change", "--data", "r.csv", "r.csv"], "is given for both waves"),
        (["estimate", "--data", "people.csv"], "'report'"),
        (["estimate", "--data", "r.csv", "--rates", "smokes", "nothing"], "no question 'nothing'"),
        (["estimate", "--data", "r.csv", "--rates", "smokes", "smokes"], "different ones"),
        (["estimate", "--data", "r.csv", "--compare-with", "left"], "for channels of one table"),
        (
            [
                "apply",
                "--data",
                "people.csv",
                "--out",
                "s.csv",
                "--missing",
                "no",
                "--missing-codes",
                "Age=7",
            ],
            "Did you mean 'age'?",
        ),
        (["estimate", "--data", "r.csv", "--replicates", "w*"], "must be given together"),
    ],
)
def test_what_a_questionnaire_has_not_is_refused_in_a_sentence(people, capsys, command, words):
    assert main([*DESIGN, *ASKED, "--quiet"]) == 0
    assert (
        main(["apply", "--channel", "channel.json", "--data", "people.csv", "--out", "r.csv", "--quiet"]) == 0
    )
    name, *others = command
    assert main([name, "--channel", "channel.json", *others]) == 2
    assert words in capsys.readouterr().err


def test_reports_are_replaced_if_that_is_asked_for_alone(people, capsys):
    """Of one table and of a questionnaire alike: before anything is drawn, and with a warning."""
    one = ["--data", "people.csv", "--sensitive", "smokes", "--mechanism", "grr"]
    for name, asked in (("q.json", ASKED), ("one.json", one)):
        assert main([*DESIGN, *asked, "--out", name, "--quiet"]) == 0
        apply = ["apply", "--channel", name, "--data", "people.csv", "--out", f"{name}.csv"]
        assert main([*apply, "--quiet"]) == 0
        assert "people who had a report" not in capsys.readouterr().err
        first = Path(f"{name}.csv").read_bytes()
        for data in ("people.csv", "nowhere.csv"):
            assert main([*apply[:4], data, *apply[5:]]) == 2
            assert "is there already" in capsys.readouterr().err
            assert Path(f"{name}.csv").read_bytes() == first
        assert main([*apply, "--force", "--keep", "id"]) == 0
        said = capsys.readouterr().err
        assert "people who had a report in it have given two" in said
        assert "contains id of each record without any protection" in said
        assert Path(f"{name}.csv").read_bytes() != first


def test_another_channel_is_not_replaced_and_its_reports_are_refused(people, capsys):
    assert main([*DESIGN, *ASKED, "--quiet"]) == 0
    assert main(["design", "--epsilon", "2", *ASKED, "--quiet"]) == 2
    assert "is there already" in capsys.readouterr().err
    assert (
        main(["apply", "--channel", "channel.json", "--data", "people.csv", "--out", "r.csv", "--quiet"]) == 0
    )
    assert main(["design", "--epsilon", "2", *ASKED, "--force", "--quiet"]) == 0
    assert main(["estimate", "--channel", "channel.json", "--data", "r.csv"]) == 2
    assert "is a report of the channel" in capsys.readouterr().err


def test_an_audit_says_the_level(people, capsys):
    assert main([*DESIGN, *ASKED, "--quiet"]) == 0
    assert main(["audit", "--channel", "channel.json"]) == 0
    assert "The level is 1, from the whole numbers in the file." in capsys.readouterr().out
    assert main(["verify", "channel.certificate.json"]) == 0
    assert "ratios at most e^1 for all answers of a person" in " ".join(capsys.readouterr().out.split())
    assert main(["audit", "--channel", "channel.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["level"] <= 1.0


def test_missing_answers_have_a_name_or_are_refused(people, capsys):
    (people / "gaps.csv").write_text("a,b,c\n1,1,1\n0,0,0\n,1,0\n", encoding="utf-8")
    asked = ["--data", "gaps.csv", "--sensitive", "a", "b", "c"]
    assert main([*DESIGN, *asked]) == 2
    assert "missing values must be given a name" in capsys.readouterr().err
    assert main([*DESIGN, *asked, "--missing", "none given", "--quiet"]) == 0
    channel = read_questionnaire("channel.json")
    assert channel.answers == (("0", "1", "none given"), ("0", "1"), ("0", "1"))
    apply = ["apply", "--channel", "channel.json", "--data", "gaps.csv", "--out", "r.csv", "--quiet"]
    assert channel.missing["a"].becomes == "none given"
    assert main(apply) == 0


@pytest.mark.parametrize("count", ["32,000", "12.5", "abc"])
def test_counts_that_cannot_be_read_are_refused(tmp_path, monkeypatch, capsys, count):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(f'a,b,count\n0,0,8\n1,1,"{count}"\n', encoding="utf-8")
    assert main([*DESIGN, "--table", "t.csv", "--sensitive", "a", "b", "--precise", "pairs"]) == 2
    assert f"Row 2 of t.csv has the count '{count}'" in capsys.readouterr().err


def test_intervals_have_their_estimates_and_more_than_a_point(people, capsys):
    """One report of the channel, many times: no distribution gives such reports."""
    assert main([*DESIGN, *ASKED, "--quiet"]) == 0
    apply = ["apply", "--channel", "channel.json", "--data", "people.csv", "--out", "r.csv", "--quiet"]
    assert main(apply) == 0
    header, first = Path("r.csv").read_text(encoding="utf-8").splitlines()[:2]
    Path("r.csv").write_text("\n".join([header, *[first] * 500]), encoding="utf-8")
    estimate = ["estimate", "--channel", "channel.json", "--data", "r.csv", "--out", "e.csv"]
    estimate += ["--rates", "smokes", "votes", "--quiet"]
    assert main(estimate) == 2
    assert "The 500 reports do not fit the channel" in capsys.readouterr().err
    assert main([*estimate, "--despite-misfit"]) == 0
    assert "do not fit the channel" in capsys.readouterr().err
    with open("e.csv", encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            low, high = float(row["low"]), float(row["high"])
            assert low < high
            if row["estimate"]:
                assert low - 1e-6 <= float(row["estimate"]) <= high + 1e-6
