"""Every option of every command does something, or is refused; a suggestion is an option of the command."""

import contextlib
import io
import os
import re
from pathlib import Path

import pytest

from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.command.cli import main
from ldpsurvey.command.option_table import OPTIONS, option_names, options_of
from support.malformed import contents

COUNTS = "ill,age,count\nno,20,310\nno,40,220\nyes,20,90\nyes,40,160\n"
DESIGN = (
    "design --table t.csv --epsilon 1 --mechanism srr --sensitive ill --useful age --out d.json --records 900"
)
VALUES = "design --values ill=no,yes age=20,40 --sensitive ill age --epsilon 1 --records 900 --out d.json"
QUESTIONS = "design --values a=1,2 b=1,2 c=1,2 --sensitive a b c --epsilon 1 --out d.json"
#: Calls of commands, to which options are added.
CALLS = {
    "design": [DESIGN, VALUES, QUESTIONS, DESIGN.replace("--mechanism srr", "--for information")],
    "apply": [
        "apply --channel c.json --data p.csv --out r.csv --seed 1 --insecure",
        "apply --channel q.json --data q.csv --out r.csv --seed 1 --insecure",
    ],
    "estimate": [
        "estimate --channel c.json --data o.csv --json",
        "estimate --channel s.json --data so.csv --json",
        "estimate --channel q.json --data a.csv --json",
    ],
    "card": ["card --channel s.json --out k.html"],
    "form": ["form --channel c.json --out f.html"],
    "collect": ["collect --channel c.json o.csv --out r.csv"],
    "change": ["change --channel c.json --data o.csv o2.csv"],
    "audit": ["audit --channel c.json", "audit --channel q.json"],
    "level": ["level c.json", "level q.json"],
    "channel": ["channel --values ill=no,yes --design warner --p 0.7 --out d.json"],
    "regress": ["regress --channel c.json --data o.csv --formula ill~age"],
    "people": [
        "people --channel c.json --error 0.01 --precise S",
        "people --channel c.json --width 0.4 --precise S",
        "people --channel q.json --error 0.01 --precise a",
    ],
}
#: What options are given; the others stand alone.
GIVEN = {
    "--data": "p.csv", "--table": "t.csv", "--values": "ill=yes,no", "--count": "records", "--weight": "w",
    "--cluster": "age",
    "--people": "300", "--design-effect": "2", "--sensitive": "age", "--useful": "ill", "--bins": "age=30,",
    "--against": "insider-only", "--epsilon": "2", "--utility": "0.3", "--reports": "2",
    "--budget": "2", "--error": "0.03", "--precise": "S", "--tables": "a,b,c", "--expect": "20=0.4",
    "--mechanism": "grr", "--cone": "none:none", "--beta": "0.2", "--confidence-method": "finite",
    "--radius-factor": "2", "--alpha": "1.5", "--records": "500", "--out": "other.json",
    "--plot": "p.svg", "--picture": "p.svg", "--channel": "s.json", "--keep": "who", "--column": "other",
    "--memo": "m.memo", "--id": "who", "--wave": "1", "--seed": "2", "--confidence": "0.5",
    "--compare-with": "40", "--mean": "age", "--cumulative": "age", "--strata": "age", "--by": "age",
    "--replicates": "w", "--replicate-method": "brr", "--rates": "a b", "--samples": "50",
     "--matrix": "m.csv", "--design": "kuk", "--formula": "age~ill", "--width": "0.3",
    "--deviating": "0.1", "--second": "c.json o2.csv", "--always": "y1", "--detect": "no",
    "--texts": "t.yaml", "--title": "t", "--language": "de", "--post": "https://a.example",
    "--follow-up": "b=a:1", "--impossible": "a=1 b=2",
    "--power": "0.8", "--probability": "0.5", "--value": "0.1",
    "--codes": "report", "--dice": "3",
    "--listen": "127.0.0.1:0", "--store": "r.sqlite", "--page": "p.html",
    "--p": "0.6", "--q": "0.6", "--yes": "0.1", "--no": "0.1", "--cards": "2",
}  # fmt: skip
#: What an option does depends on the data, or on the time, and there may be nothing for it to do here.
OF_DATA = {
    "--force", "--missing", "--missing-codes", "--despite-misfit", "--max-seconds", "--spreadsheet",
    "--decimal", "--for", "--prove",
}  # fmt: skip
CASES = [
    (call, option)
    for command, calls in CALLS.items()
    for call in calls
    for option in option_names(command)
    if option not in OF_DATA and option not in call.split()
]


def done(call):
    """Return the status of a call, what it prints, and the files that it writes, which are deleted."""
    before, out, err = contents(Path()), io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(call.split())
        except SystemExit as end:
            status = end.code
    after = contents(Path())
    for name in after.keys() - before.keys():
        Path(name).unlink()
    return status, out.getvalue(), err.getvalue(), {k: v for k, v in after.items() if k not in before}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with channels of one table, of sensitive columns alone, and of questions; and data."""
    folder, before = tmp_path_factory.mktemp("options"), Path.cwd()
    os.chdir(folder)
    records = [("no", 20), ("no", 40), ("yes", 20), ("yes", 40)] * 9
    people = [f"{n % 35},{ill},{age}" for n, (ill, age) in enumerate(records)]  # one of them twice
    Path("t.csv").write_text(COUNTS)
    Path("p.csv").write_text("\n".join(["who,ill,age", *people]))
    Path("q.csv").write_text("\n".join(["a,b,c", *["1,2,1", "2,2,1", "1,1,2"] * 12]))
    quiet = " --force --quiet"
    for call in (
        DESIGN.replace("d.json", "c.json") + quiet, VALUES.replace("d.json", "s.json") + quiet,
        QUESTIONS.replace("d.json", "q.json") + quiet,
        "apply --channel c.json --data p.csv --out o.csv --keep who --seed 1 --insecure --quiet",
        "apply --channel c.json --data p.csv --out o2.csv --keep who --seed 2 --insecure --quiet",
        "apply --channel s.json --data p.csv --out so.csv --keep who --seed 1 --insecure --quiet",
        "apply --channel q.json --data q.csv --out a.csv --seed 1 --insecure --quiet",
    ):  # fmt: skip
        assert main(call.split()) == 0
    yield folder
    os.chdir(before)


@pytest.fixture(scope="module")
def plain(folder):
    """Return what calls do without more options."""
    return {call: done(call) for calls in CALLS.values() for call in calls}


@pytest.mark.parametrize(("call", "option"), CASES)
def test_an_option_changes_something_or_is_refused(plain, monkeypatch, folder, call, option):
    monkeypatch.chdir(folder)
    found = done(f"{call} {option} {GIVEN.get(option, '')}")
    if found[0] == 2:
        assert re.fullmatch(r"(ldp-frontier: warning: .*\n)*ldp-frontier[^\n]*[.\"?]\n", found[2])
        assert found[1] == ""
    assert found != plain[call]


def test_an_option_is_checked_in_each_command_that_has_it():
    assert {option for command in OPTIONS for option in option_names(command)} == {*GIVEN, *OF_DATA} | {
        "--json", "--quiet", "--details", "--compare", "--insecure", "--simultaneous", "--no-memo",
        "--unasked", "--kiosk", "--refusals", "--slips"
    }  # fmt: skip


def test_a_number_that_the_help_calls_a_default_is_the_default():
    """Those of some options, which not all calls have, are put in where they are used."""
    later = {"--prove": SETTINGS.estimate_nodes, "--error": 0.01}
    told = [
        (names[0], float(number), more.get("default"))
        for command in OPTIONS
        for names, more in options_of(command)
        for number in re.findall(r"\(default: ([\d.]+)\)", more.get("help", ""))
    ]
    assert len(told) > 5
    assert [default for _, default, _ in told] == [later.get(name, default) for name, _, default in told]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("change --channel c.json --data a.csv b.csv --plot x", "--plot is an option of "),
        ("change --channel c.json --data a.csv b.csv --columm x", "(did you mean --column?)"),
        ("level c.json --quiet", "and not of level"),
        ("level c.json --jsn", "(did you mean --json?)"),
        ("level c.json --qiet", "unrecognized arguments: --qiet. '"),
    ],
)
def test_a_suggestion_is_an_option_of_the_command(capsys, words, sentence):
    with pytest.raises(SystemExit):
        main(words.split())
    said = capsys.readouterr().err
    assert sentence in said
    command = words.split()[0]
    for option in re.findall(r"did you mean (--[\w-]+)", said):
        assert option in option_names(command)
        assert option not in words.split()
