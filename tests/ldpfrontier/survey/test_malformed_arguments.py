"""Malformed arguments: every command ends with a sentence and leaves every file as it was."""

import io
import os
import shlex
import shutil
import sys

import pytest

from ldpfrontier.survey import read_channel
from ldpfrontier.survey.cli import main
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
    "EXECUTABLE": shlex.quote(sys.executable),
    "LONG": "x" * 300,
    "MANY": "x" * 100_000,
    "NINES": "9" * 5000,
    "DIGITS": "9" * 400,
}

#: By what begins a call: words that follow it, and part of the sentence.
BAD_ARGUMENTS = {
    "design table.csv, epsilon": [
        ("inf", "epsilon is inf; it must be a number above 0"),
        ("-inf", "argument --epsilon: expected one argument"),
        ("1e400", "epsilon is inf; it must be a number above 0"),
        ("-0.0", "epsilon is -0.0; it must be a number above 0"),
        ("20.1", "epsilon is 20.1; it must be a number above 0"),
        ("1e300", "epsilon is 1e+300; it must be a number above 0"),
        ("''", "argument --epsilon: '' is no number; write it like 1.5"),
        ("1,5", "argument --epsilon: '1,5' is no number; write it like 1.5"),
        ("0x1", "argument --epsilon: '0x1' is no number; write it like 1.5"),
        ("1e", "argument --epsilon: '1e' is no number; write it like 1.5"),
        ("one", "argument --epsilon: 'one' is no number; write it like 1.5"),
        ("'ln 3'", "'ln 3' is no number; write it like 1.5 or 3000 (ln 3 is 1.09861)"),
        ("1 --records 3,000", "argument --records: '3,000' is no whole number; write it like 3000"),
        ("1 --sensitve x", "unrecognized arguments: --sensitve x (did you mean --sensitive?)"),
        ("1 2", "unrecognized arguments: 2"),
        ("", "argument --epsilon: expected one argument"),
        ("1 --epsilon", "argument --epsilon: expected one argument"),
        ("1+2j", "argument --epsilon: '1+2j' is no number; write it like 1.5"),
        ("1/2", "argument --epsilon: '1/2' is no number; write it like 1.5"),
        ("none", "argument --epsilon: 'none' is no number; write it like 1.5"),
        ("1 --beta 0", "beta is 0.0; a significance level lies strictly"),
        ("1 --beta 1", "beta is 1.0; a significance level lies strictly"),
        ("1 --beta nan", "beta is nan; it must be a significance level,"),
        ("1 --beta -0.05", "beta is -0.05; a significance level lies strictly"),
        ("1 --beta 5%", "argument --beta: '5%' is no number; write it like 1.5"),
        ("1 --beta inf", "beta is inf; it must be a significance level,"),
        ("1 --alpha 0", "The order of the ball is 0.0; it must be from"),
        ("1 --alpha -2", "The order of the ball is -2.0; it must be from"),
        ("1 --alpha nan", "The order of the ball is nan; it must be from"),
        ("1 --alpha inf", "The order of the ball is inf; it must be from"),
        ("1 --alpha 1e300", "The order of the ball is 1e+300; it must be from"),
        ("1 --alpha 1e-300", "The order of the ball is 1e-300; it must be from"),
        ("1 --alpha two", "argument --alpha: 'two' is no number; write it like 1.5"),
        ("1 --records 0", "The number of records is 0; it must be a whole"),
        ("1 --records 1e3", "argument --records: '1e3' is no whole number; write it like 3000"),
        ("1 --records 1.5", "argument --records: '1.5' is no whole number; write it like 3000"),
        ("1 --records DIGITS", "The number of records is 999"),
        ("1 --records NINES", "argument --records: '9999"),
        ("1 --mechanism ''", "The mechanism is ''; allowed against acquaintance are unconditional,"),
        ("1 --mechanism SRR", "The mechanism is 'SRR'; allowed against acquaintance are"),
        ("1 --mechanism srr,grr", "The mechanism is 'srr,grr'; allowed against acquaintance are"),
        ("1 --mechanism ../srr", "The mechanism is '../srr'; allowed against acquaintance are"),
        ("1 --mechanism binary", "The mechanism is 'binary'; allowed against acquaintance are"),
        ("1 --for both", "argument --for: invalid choice: 'both' (choose"),
        ("1 --for ''", "argument --for: invalid choice: '' (choose"),
        ("1 --against all", "argument --against: invalid choice: 'all' (choose"),
        ("1 --error much", "argument --error: 'much' is no number; write it like 1.5"),
        ("1 --data people.csv", "argument --data: not allowed with argument --table"),
        ("1 --count illness", "The column 'illness' contains the counts; it must be"),
        ("1 --count region", "The column 'region' contains the counts; it must be"),
        ("1 --count ''", "The column '' is not in table.csv; its columns are"),
        ("1 --count counts", "The column 'counts' is not in table.csv; its columns are"),
        ("1 --sensitive", "argument --sensitive: expected at least one"),
        ("1 --sensitive ''", "The column '' is not in table.csv; its columns are"),
        ("1 --sensitive count", "The column 'count' contains the counts; it must be"),
        ("1 --sensitive illness illness", "The column 'illness' is named twice; it may be"),
        ("1 --sensitive illness,region", "The column 'illness,region' is not in table.csv;"),
        ("1 --sensitive 'aNEWLINEb'", "The column 'a\\nb' is not in table.csv; its columns are"),
        ("1 --sensitive MANY", "The column '"),
        ("1 --useful region region", "The column 'region' is named twice; it may be"),
        ("1 --useful ''", "The column '' is not in table.csv; its columns are"),
        ("1 --useful illness", "The column 'illness' is named twice; it may be"),
        ("1 --out ''", ". ends in ''; the file of a channel must end in .json"),
        ("1 --out .", ". ends in ''; the file of a channel must end in .json"),
        ("1 --out /", "/ ends in ''; the file of a channel must end in .json"),
        ("1 --out new", "new ends in ''; the file of a channel must end in .json"),
        ("1 --out new.JSON", "new.JSON ends in '.JSON'; the file of a channel must end"),
        ("1 --out .json", ".json ends in ''; the file of a channel must end in .json"),
        ("1 --out table.csv/new.json", "table.csv/new.json would lie in table.csv, which"),
        ("1 --out loop.json", "loop.json is a link that leads back to itself; an"),
        ("1 --out loop.json/new.json", "loop.json/new.json would lie in loop.json, which"),
        ("1 --out LONG.json", "File name too long."),
        ("1 --out aNULb.json", "an argument contains a NUL character"),
        ("1 --out /proc/new.json", "/proc/new.json: No such file or directory."),
        ("1 --out folder.json/", "folder.json is a folder; an output must be a file."),
        ("1 --out new.json more.json", "unrecognized arguments: more.json"),
        ("1 --out", "argument --out: expected one argument"),
    ],
    "design table.csv, utility": [
        ("nan", "The utility is nan; it must be a number strictly"),
        ("0", "The utility is 0.0; it must lie strictly between"),
        ("1", "The utility is 1.0; it must lie strictly between"),
        ("-0.1", "The utility is -0.1; it must lie strictly between"),
        ("inf", "The utility is inf; it must be a number strictly"),
        ("50%", "argument --utility: '50%' is no number; write it like 1.5"),
    ],
    "design table.csv, all sensitive": [
        ("--mechanism exact", "The mechanism is 'exact'; allowed are frequencies, closed, ldp,"),
        ("--mechanism srr", "The mechanism is 'srr'; allowed are frequencies, closed, ldp, binary,"),
    ],
    "design, table": [
        ("''", "'': No such file or directory."),
        ("folder.csv", "folder.csv: Is a directory."),
        ("loop.csv", "loop.csv: Too many levels of symbolic links."),
        ("nowhere.csv", "nowhere.csv: No such file or directory."),
        ("LONG", "File name too long."),
        ("aNULb", "an argument contains a NUL character"),
        ("/dev/null", "/dev/null is empty; a row of column names is"),
        ("table.csv/x", "table.csv/x: Not a directory."),
        ("channel.json", "channel.json is JSON, not a table; CSV and Parquet"),
        ("table.csv --bins", "argument --bins: expected at least one argument"),
        ("table.csv --bins 5", "--bins has '5'; it must be COLUMN=N, where N is the"),
        ("table.csv --bins =5", "--bins has '=5'; it must be COLUMN=N, where N is the"),
        ("table.csv --bins region=", "--bins has 'region='; it must be COLUMN=N, where N is the"),
        ("table.csv --bins region=many", "--bins has 'region=many'; it must be COLUMN=N, where N is the"),
        ("table.csv --bins region=1", "The number of groups of 'region' is 1.0; it must be a"),
        ("table.csv --bins region=2.5", "The number of groups of 'region' is 2.5; it must be"),
        ("table.csv --bins region=DIGITS", "--bins has 'region=999"),
        ("table.csv --bins region=3,2", "The groups of 'region' begin at 3, 2; they must begin"),
        ("table.csv --bins region=1e999,", "--bins has 'region=1e999,'; it must be COLUMN=N,"),
        ("table.csv --bins region=2 region=3", "--bins names the column 'region' twice; it may"),
        (
            "table.csv --bins age=2",
            "The values of the column 'age' cannot be put into groups, since it is neither",
        ),
        ("table.csv --bins region=2", "table.csv has 'north' as its region, whose values are put into"),
        ("table.csv --missing ''", "The name of missing values is '', which itself means a missing"),
        ("table.csv --missing NaN", "The name of missing values is 'NaN', which itself means a missing"),
        ("EXECUTABLE", " is not UTF-8: it has the byte"),
        ("https://example.org/table.csv", "https://example.org/table.csv: No such file or"),
        ("'table*.csv'", "table*.csv: No such file or directory."),
        ("'~/table.csv'", "~/table.csv: No such file or directory."),
        ("'cafRAW.csv'", "caf\\udce9.csv: No such file or directory."),
    ],
    "design, data": [
        ("table.csv --count count", "--count is allowed with --table only; with --data"),
        ("/proc/self/mem", "Input/output error."),
        ("out.csv", "The column 'illness' is not in out.csv; its columns are to"),
        ("MANY", "File name too long."),
    ],
    "apply": [
        ("--channel ''", ".: Is a directory."),
        ("--channel people.csv", "people.csv is not a channel file: that is the JSON"),
        ("--channel folder.json", "folder.json: Is a directory."),
        ("--channel loop.json", "loop.json: Too many levels of symbolic links."),
        ("--channel /dev/null", "/dev/null is not a channel file: that is the JSON file"),
        ("--channel aNULb.json", "an argument contains a NUL character"),
        ("--channel LONG.json", "File name too long."),
        ("--channel 'cafRAW.json'", "caf\\udce9.json: No such file or directory."),
        ("--data folder.csv", "folder.csv: Is a directory."),
        ("--data channel.json", "channel.json is JSON, not a table; CSV and Parquet"),
        ("--memo new.memo", "--memo and --id must be given together: the file of reports"),
        ("--id age", "--memo and --id must be given together: the file of reports"),
        ("--memo new.memo --id age", "The column 'age' identifies people and is reported by the channel; it"),
        ("--memo new.memo --id name", "The column 'name' is not in people.csv; its columns are illness,"),
        ("--memo out.csv --id name", "out.csv and out.csv are the same file; two outputs need two"),
        ("--memo people.csv --id name", "people.csv is the file that is read; the output must be"),
        ("--memo e.csv --id name", "e.csv is not a memo of ldp-frontier: file is not a database."),
        ("--memo folder.csv --id name", "folder.csv is a folder; an output must be a file."),
        ("--memo missing/new.memo --id name", "missing/new.memo: No such file or directory."),
        ("--memo - --id name", "'-' is not the name of a file; outputs must be files"),
        ("--missing nan", "The name of missing values is 'nan', which itself means a missing"),
        ("--out -", "'-' is not the name of a file; outputs must be files"),
        ("--data reports.csv", "The column 'illness' is not in reports.csv; it"),
        ("--data loop.csv", "loop.csv: Too many levels of symbolic links."),
        ("--data nowhere.csv", "nowhere.csv: No such file or directory."),
        ("--data aNULb", "an argument contains a NUL character"),
        ("--data /dev/null", "/dev/null is empty; a row of column names is"),
        ("--out ''", "'.' is not the name of a file; an output needs one."),
        ("--out /", "'/' is not the name of a file; an output needs one."),
        ("--out folder.csv", "folder.csv is a folder; an output must be a file."),
        ("--out loop.csv", "loop.csv is a link that leads back to itself; an"),
        ("--out aNULb", "an argument contains a NUL character"),
        ("--out LONG", "File name too long."),
        ("--out people.csv/out.csv", "people.csv/out.csv would lie in people.csv, which"),
        ("--out /proc/out.csv", "/proc/out.csv: No such file or directory."),
        ("--out folder.csv/../people.csv", "folder.csv/../people.csv is people.csv, the file"),
        ("--keep", "argument --keep: expected at least one argument"),
        ("--keep ''", "The column '' is not in people.csv; its columns are"),
        ("--keep age age", "The column 'age' is kept twice; a column may be"),
        ("--keep age,region", "The column 'age,region' is not in people.csv; it"),
        ("--keep age --column age", "The column 'age' cannot be kept, since the column of the reports has"),
        ("--keep report", "The column 'report' cannot be kept, since the column of"),
        ("--column ''", "The column of the reports is ''; it must have a name."),
        ("--column", "argument --column: expected one argument"),
        ("--seed x --insecure", "argument --seed: 'x' is no whole number; write it like 3000"),
        ("--seed 1.5 --insecure", "argument --seed: '1.5' is no whole number; write it like 3000"),
        ("--seed -1 --insecure", "The seed is -1; it must be a whole number, 0 or"),
        ("--seed NINES --insecure", "argument --seed: '9999"),
        ("--samples 5", "unrecognized arguments: --samples 5"),
        ("extra", "unrecognized arguments: extra"),
    ],
    "estimate": [
        ("--confidence 0", "The confidence is 0.0; it must lie strictly"),
        ("--confidence 1", "The confidence is 1.0; it must lie strictly"),
        ("--confidence nan", "The confidence is nan; it must be a number strictly"),
        ("--confidence -0.5", "The confidence is -0.5; it must lie strictly"),
        ("--confidence inf", "The confidence is inf; it must lie strictly"),
        ("--confidence 95%", "argument --confidence: '95%' is no number; write it like 1.5"),
        ("--data people.csv", "The column 'report' is not in people.csv; its columns are"),
        ("--data folder.csv", "folder.csv: Is a directory."),
        ("--data channel.json", "channel.json is JSON, not a table; CSV and Parquet"),
        ("--data loop.csv", "loop.csv: Too many levels of symbolic links."),
        ("--column ''", "The column '' is not in reports.csv; its columns are"),
        ("--column report,report", "The column 'report,report' is not in reports.csv;"),
        ("--picture e", "e ends in ''; the file of a picture must end in .pdf,"),
        ("--picture e.SVG", "e.SVG ends in '.SVG'; the file of a picture must"),
        ("--picture .svg", ".svg ends in ''; the file of a picture must end in .pdf,"),
        ("--picture e.jpg", "e.jpg ends in '.jpg'; the file of a picture must"),
        ("--picture e.svg --out people.csv/e.csv", "people.csv/e.csv would lie in people.csv, which"),
        ("--picture e.bmp --out e.csv", "e.bmp ends in '.bmp'; the file of a picture must"),
        ("--picture e.svg --out loop.csv", "loop.csv is a link that leads back to itself; an"),
        ("--picture e.svg --out ./e.svg", "e.svg and e.svg are the same file; two outputs need"),
        ("--picture people.csv/e.svg --out e.csv", "people.csv/e.svg would lie in people.csv, which"),
        ("--picture e.svg --out LONG", "File name too long."),
        ("--out aNULb.csv", "an argument contains a NUL character"),
        ("--out /proc/e.csv", "/proc/e.csv: No such file or directory."),
        ("--picture e.svg --out /proc/e.csv", "/proc/e.csv: No such file or directory."),
    ],
    "audit": [
        ("--samples 1e6", "argument --samples: '1e6' is no whole number; write it like 3000"),
        ("--samples DIGITS", "The number of samples is 999"),
        ("--samples 10000000000000", "The number of samples is 10000000000000; it must"),
        ("--samples 5 --confidence 0", "The confidence is 0.0; it must lie strictly"),
        ("--confidence nan", "The confidence is nan; it must be a number strictly"),
        ("--data reports.csv", "The column 'illness' is not in reports.csv; it"),
        ("--data people.csv --column region", "Record 1 of people.csv has 'north' as its region;"),
        ("--data folder.csv", "folder.csv: Is a directory."),
        ("--out x.csv", "unrecognized arguments: --out x.csv"),
        ("--data aNULb", "an argument contains a NUL character"),
        ("--data people.csv --column ''", "The column '' is not in people.csv; its columns are"),
    ],
    "nothing": [
        ("apply --channel channel.json --data people.csv", "the following arguments are required: --out"),
        ("apply", "the following arguments are required: --channel,"),
        ("apply --channel channel.json", "the following arguments are required: --data,"),
        ("audit", "the following arguments are required: --channel"),
        ("audit channel.json", "the following arguments are required: --channel"),
        ("''", "argument COMMAND: invalid choice: '' (choose from"),
        ("Design", "argument COMMAND: invalid choice: 'Design'"),
        ("--design", "the following arguments are required: COMMAND"),
        ("-x", "the following arguments are required: COMMAND"),
        ("design apply", "the following arguments are required: --sensitive"),
        ("'RAW'", "argument COMMAND: invalid choice: '\\udce9'"),
        ("design --channel channel.json", "the following arguments are required: --sensitive"),
    ],
}


@pytest.mark.parametrize(
    ("call", "words", "sentence"), [(call, *case) for call, cases in BAD_ARGUMENTS.items() for case in cases]
)
def test_arguments(here, capsys, call, words, sentence):
    for name, text in STANDS_FOR.items():
        words = words.replace(name, f"'{text}'" if name == "NEWLINE" and "'" not in words else text)
    refused(here, capsys, [*CALLS[call], *shlex.split(words)], sentence)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
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

    monkeypatch.setattr("ldpfrontier.survey.pictures.save", broken)
    before = contents(here)
    assert main([*ESTIMATE, "--out", "e.csv", "--picture", "e.svg"]) == 2
    assert "no ink" in capsys.readouterr().err
    assert contents(here) == before
