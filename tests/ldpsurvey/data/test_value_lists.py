"""Designs without a table: values alone, a promise for anyone, and no counts in the file."""

import json
import math
import re

import pytest

from ldpsurvey import CountTable, audit_channel, design_channel, least_epsilon, read_channel
from ldpsurvey.command import cli
from ldpsurvey.data.value_lists import table_of_values

VALUES = {"illness": ("yes", "no"), "region": ("north", "south", "west")}
DESIGN = "design --sensitive illness --useful region --epsilon 1 --records 3000 --values illness=yes,no"


def test_errors_and_levels_are_those_of_equal_counts():
    table = table_of_values(VALUES, ["illness"], ["region"])
    assert (table.counts.tolist(), table.counted) == ([[1, 1, 1], [1, 1, 1]], False)
    equal = CountTable(table.sensitive, table.useful, table.rows, table.columns, 1000 * table.counts)
    made = design_channel(table, 1.0, records=3000)
    other = design_channel(equal, 1.0, records=3000, against="anyone")
    assert (made.against, made.population) == ("anyone", None)
    assert made.bound == pytest.approx(other.bound)
    for one, two in zip(made.candidates, other.candidates, strict=True):
        assert one.nmi == pytest.approx(two.nmi, abs=1e-9)
        # The estimates are best at counts and half a record more, which are not quite uniform in either case.
        assert one.errors == pytest.approx(two.errors, rel=1e-3, nan_ok=True)
        assert one.levels.anyone == pytest.approx(two.levels.anyone)
        assert one.levels.outsider == one.levels.acquaintance == one.levels.anyone
    assert least_epsilon(table, error=0.02, records=3000) == least_epsilon(
        equal, error=0.02, records=3000, against="anyone"
    )


def test_without_a_table_a_label_is_protected_from_those_who_know_the_useful_value():
    table = table_of_values(VALUES, ["illness"], ["region"])
    made = design_channel(table, 1.0, records=3000, against="insider-only")
    assert made.population is None
    for purpose in ("frequencies", "information"):
        best = made.best(purpose)
        assert best.levels.insider == pytest.approx(1.0)
        assert best.levels.anyone == math.inf
        private = made.private(best)
        assert private.protects == "insider-only"
        assert "for someone who knows the person's region, under every distribution." in private.promise()
        assert "It does not protect region, nor from what region tells about illness." in private.promise()
        found = audit_channel(private, samples=20_000)
        assert not found.problems
        assert 0.8 < found.lower <= 1.0 == pytest.approx(found.level)
        assert "privacy given U" in found.proved
    level = least_epsilon(table, 0.8, records=3000, against="insider-only")
    reached = [
        design_channel(table, epsilon, records=10, against="insider-only").best("information").nmi >= 0.8
        for epsilon in (level - 0.001, level)
    ]
    assert reached == [False, True]


@pytest.mark.parametrize("against", ["anyone", "insider-only"])
def test_all_commands_work_without_a_table(against, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "regions.txt").write_text('region=north, "south, east"\n\n', encoding="utf-8")
    assert cli.main([*DESIGN.split(), "regions.txt", "--against", against, "--details"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert (
        "2 x 2 values of illness, region, without a table: all numbers below are those of values" in printed
    )
    assert (
        "No table; all values are taken to be equally frequent: 2 values of illness, 2 of region."
        " illness: yes, no region: north, 'south, east'"
    ) in printed
    assert "channel.json and the files beside it. It contains no counts." in printed
    assert "The table is a sample" not in printed
    content = json.loads((tmp_path / "channel.json").read_text(encoding="utf-8"))
    assert content["design"]["counts"] is None
    assert (content["design"]["source"], content["design"]["sha256"]) == ("", "")
    private = read_channel("channel.json")
    assert not private.table.counted
    assert private.table.labels[1] == ("yes", "south, east")

    people = ["yes,north", 'yes,"south, east"', "no,north", 'no,"south, east"'] * 50
    (tmp_path / "people.csv").write_text("\n".join(["illness,region", *people, ""]), encoding="utf-8")
    commands = (
        "apply --channel channel.json --data people.csv --out both.csv --keep illness region",
        "estimate --channel channel.json --data both.csv",
        "audit --channel channel.json --data both.csv",
        "audit --channel channel.json --samples 1000",
        "verify channel.certificate.json",
    )
    for command in commands:
        assert cli.main(command.split()) == 0, command
    out, err = capsys.readouterr()
    whom = {"anyone": "whatever anyone knows or believes about the person"}
    whom |= {"insider-only": "for someone who knows the person's region, under every distribution"}
    assert " ".join(out.split()).count(whom[against]) == 4
    assert "The matrix satisfies the promised level" in out
    assert "channel.certificate.json: proved." in out
    # One record of each kind is no sign that the file is the one that was counted.
    (tmp_path / "four.csv").write_text("\n".join(["illness,region", *people[:4], ""]), encoding="utf-8")
    again = "apply --channel channel.json --data four.csv --out four_reports.csv"
    assert cli.main(again.split()) == 0
    assert "designed from" not in err + capsys.readouterr().err


def test_groups_of_numbers_need_no_table(tmp_path):
    table = table_of_values({"illness": ("yes", "no")}, ["illness"], ["age"], bins={"age": [18.0, 40.0]})
    assert table.columns == (("(-inf,18)",), ("[18,40)",), ("[40,inf)",))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("region=north,south --against outsider", "Protection against an outsider depends on the"),
        ("region=north,north", "each must have letters, and occur once"),
        ("region=", "The column 'region' has no values."),
        ("regions=north,south", "The column 'regions' has values, but is neither sensitive nor useful"),
        ("illness=a,b", "--values has 'illness=a,b'; it must be"),
        ("nowhere.txt", "nowhere.txt: No such file or directory."),
        ('region="a,b', "The values of 'region' are '\"a,b'; they must be separated by commas"),
        ("region=north,south --bins region=3", "--bins region=3 makes groups of the numbers in a table"),
        ("region=north --mechanism exact", "The mechanism is 'exact'; allowed against anyone are"),
        (f"region={','.join(map(str, range(501)))}", "have 2 x 501 = 1,002 combinations"),
    ],
)
def test_what_is_wrong_is_named(words, sentence, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main([*DESIGN.split(), *words.split()]) == 2
    assert sentence in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_values_and_records_are_needed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(DESIGN.split()) == 2
    assert "The column 'region' has no values." in capsys.readouterr().err
    words = [word for word in DESIGN.split() if word not in ("--records", "3000")]
    assert cli.main([*words, "region=north,south"]) == 2
    assert "which do not tell how many people will report; --records N is needed" in capsys.readouterr().err
    # It is the answer if an error is asked for at a level.
    assert cli.main([*words, "region=north,south", "--error", "0.02"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    needed = re.search(r"From ([\d,]+) reports, .* of 2 for both together,.* reports give 2\.", said)[1]
    assert (
        cli.main(
            [*words, "region=north,south", "--force", "--error", "0.02", "--records", needed.replace(",", "")]
        )
        == 0
    )
    assert " ".join(capsys.readouterr().out.split()) == said


def test_values_give_the_answers_of_a_table_their_order(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("ill,size,n\nno,small,70\nyes,small,30\nno,large,55\nyes,large,45\n")
    words = (
        "design --table t.csv --count n --sensitive ill --useful size --mechanism closed --epsilon 1 --values"
    )
    assert cli.main([*words.split(), "size=small,middle,large"]) == 0
    assert "size: small, middle, large" in capsys.readouterr().out
    table = read_channel("channel.json").table
    assert (table.rows, table.columns) == ((("no",), ("yes",)), (("small",), ("middle",), ("large",)))
    assert table.counts.tolist() == [[70, 0, 55], [30, 0, 45]]
    for values, sentence in {
        "size=small,middle": "t.csv has 'large' as its size, which is not among the values listed for 'size'",
        "area=1,2": "The column 'area' has values, but is neither sensitive nor useful.",
    }.items():
        assert cli.main([*words.split(), values, "--force"]) == 2
        assert sentence in capsys.readouterr().err
