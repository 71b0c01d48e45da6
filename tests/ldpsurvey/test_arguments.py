"""Malformed arguments: every command ends with a sentence and leaves every file as it was."""

import io
import os
import shlex
import shutil
import sys

import pytest

from ldpsurvey import read_channel
from ldpsurvey.command.cli import main
from support.malformed import APPLY, AUDIT, DESIGN, ESTIMATE, RECORDS, TABLE, contents, refused

#: Calls that would do, but for what follows.
CALLS = {
    "design table.csv, epsilon": [*DESIGN, "--table", "table.csv", "--epsilon"],
    "design table.csv, utility": [*DESIGN, "--table", "table.csv", "--utility"],
    "design table.csv, all sensitive": [
        *("design", "--table", "table.csv", "--sensitive", "illness", "--epsilon", "1", "--out", "new.json")
    ],
    "design, table": TABLE,
    "design, data": RECORDS,
    "apply": APPLY,
    "estimate": ESTIMATE,
    "audit": AUDIT,
    "nothing": [],
}

#: What cannot be written into a list of words, or is long.
STANDS_FOR = {
    "NUL": "\0",
    "NEWLINE": "\n",
    "RAW": "\udce9",
}

#: By what begins a call: words that follow it, and make it wrong.
BAD_ARGUMENTS = {
    "design table.csv, epsilon": [
        "20.1",
        "1,5",
        "",
        "1 --sensitve x",
        "1 --count region",
        "1 --sensitive 'aNEWLINEb'",
        "1 --useful illness",
        "1 --out new",
        "1 --out table.csv/new.json",
        "1 --out aNULb.json",
        "1 --radius-factor 0 --against outsider",
        "1 --confidence-method finite --alpha 3 --against outsider",
        "1 --missing-codes 9",
    ],
    "design table.csv, utility": ["0", "1", "0.5 --precise S"],
    "design, table": [
        "folder.csv",
        "loop.csv",
        "nowhere.csv",
        "channel.json",
        "table.csv --bins region=2",
        "table.csv --bins age=2",
        "'cafRAW.csv'",
    ],
    "design, data": ["table.csv --count count"],
    "apply": [
        "--channel people.csv",
        "--channel folder.json",
        "--memo new.memo",
        "--memo new.memo --id age",
        "--memo out.csv --id name",
        "--memo people.csv --id name",
        "--memo folder.csv --id name",
        "--out -",
        "--out ''",
        "--out folder.csv/../people.csv",
        "--keep name",
        "--keep report",
        "--column ''",
        "--column age --keep age",
        "--seed 1",
        "--insecure",
        "--seed -1 --insecure",
    ],
    "estimate": [
        "--confidence 0",
        "--confidence 95",
        "--data people.csv",
        "--column answer",
        "--picture e.bmp",
        "--quiet",
        "--id report",
    ],
    "audit": [
        "--samples -1",
        "--data reports.csv",
        "--data people.csv --column region",
    ],
    "nothing": ["", "improve", "apply", "design --epsilon 1"],
}


@pytest.mark.parametrize(
    ("call", "words"), [(call, words) for call, cases in BAD_ARGUMENTS.items() for words in cases]
)
def test_arguments_that_make_no_sense_get_a_sentence_and_leave_every_file(here, capsys, call, words):
    """A sentence of its own: it is not that of an error of Python, and ends in a full stop."""
    for name, text in STANDS_FOR.items():
        words = words.replace(name, f"'{text}'" if name == "NEWLINE" and "'" not in words else text)
    said = refused(here, capsys, [*CALLS[call], *shlex.split(words)], "ldp-frontier")
    assert len(said) > 30
    assert said.endswith((".", "?"))
    assert "Traceback" not in said
    assert "argument of type" not in said


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="this user may read everything")
@pytest.mark.parametrize("name", ["people.csv", "channel.json"])
def test_a_file_that_may_not_be_read(here, capsys, name):
    (here / name).chmod(0)
    capsys.readouterr()
    assert main(APPLY) == 2
    assert f"{name}: Permission denied." in capsys.readouterr().err


def test_a_failing_run_leaves_what_a_killed_one_left(here, capsys):
    left = here / f".{'a' * 32}.out.csv"
    left.write_text("report\ny1\n", encoding="utf-8")
    refused(here, capsys, [*APPLY, "--data", "table.csv"], "The column 'age' is not in table.csv")
    assert main(APPLY) == 0
    assert left.name in capsys.readouterr().err
    assert not left.exists()


def test_names_of_files_may_have_any_bytes(here, capsys):
    data = os.fsdecode(b"caf\xe9.csv")
    shutil.copy("table.csv", data)
    assert main([*TABLE, data, "--out", os.fsdecode(b"\xe9.json")]) == 0
    assert read_channel(os.fsdecode(b"\xe9.json")).table.source == "caf\\udce9.csv"


def test_a_terminal_without_the_letters_of_a_value_is_no_error(here, monkeypatch):
    (here / "table.csv").write_text("illness,region,count\nnö,é,3\nyes,é,4\nyes,ß,2\n", encoding="utf-8")
    (here / "people.csv").write_text("illness,region\nnö,é\nyes,ß\n", encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw := io.BytesIO(), encoding="ascii"))
    assert main([*TABLE, "table.csv", "--force"]) == 0
    assert main(["apply", "--channel", "new.json", "--data", "people.csv", "--out", "o.csv"]) == 0
    assert main(["estimate", "--channel", "new.json", "--data", "o.csv"]) == 0
    sys.stdout.flush()
    assert b"n\\xf6" in raw.getvalue()


def test_estimates_and_their_picture_are_written_together(here, capsys, monkeypatch):
    def broken(*_, **__):
        raise OSError("no ink")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", broken)
    before = contents(here)
    assert main([*ESTIMATE, "--out", "e.csv", "--picture", "e.svg"]) == 2
    assert "no ink" in capsys.readouterr().err
    assert contents(here) == before
