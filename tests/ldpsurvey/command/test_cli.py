"""The command: what it says and writes; an error is a sentence and leaves everything as it was."""

import csv
import math
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import ldpfrontier
from ldpfrontier.numerics import deadline
from ldpsurvey import read_channel
from ldpsurvey.channel.promises import level_text
from ldpsurvey.command.cli import main
from ldpsurvey.command.option_table import OPTIONS
from ldpsurvey.data.reading import read_chunks
from support.malformed import contents, refused
from support.owndata import records_of, rewritten, small_table, write_records

ROOT = Path(__file__).resolve().parents[3]
TABLE = ["--data", "people.csv", "--sensitive", "illness", "--useful", "region", "age"]
DESIGN = ["design", *TABLE, "--details", "--force"]
QUICK = [*DESIGN, "--epsilon", "1", "--mechanism", "srr"]
APPLY = ["apply", "--force", "--channel", "channel.json", "--data", "people.csv", "--out", "out.csv"]
ESTIMATE = ["estimate", "--channel", "channel.json", "--data", "out.csv"]
AUDIT = ["audit", "--channel", "channel.json"]
LEVEL = ["level", "channel.json"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Return a folder with the records of a table."""
    monkeypatch.chdir(tmp_path)
    write_records(tmp_path / "people.csv", small_table(), records_of(small_table()))
    return tmp_path


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a folder with a channel and reports, made once."""
    folder = tmp_path_factory.mktemp("made")
    write_records(folder / "people.csv", small_table(), records_of(small_table()))
    before = Path.cwd()
    os.chdir(folder)
    try:
        assert main([*DESIGN, "--epsilon", "1", "--mechanism", "srr"]) == 0
        assert main(APPLY) == 0
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def ready(here, made):
    for name in ("channel.json", "out.csv"):
        (here / name).write_bytes((made / name).read_bytes())
    return here


# What it does ---------------------------------------------------------------------------------------------


def test_from_a_table_to_its_distribution(here, capsys):
    assert main([*DESIGN, "--epsilon", "1", "--for", "information", "--out", "here/c.json"]) == 0
    said = capsys.readouterr()
    assert "people.csv: 1,340 records, 2 x 4 values of illness, region, age" in said.out
    for name in ("association", "unconditional", "srr", "subset", "grr", "ldp", "nr"):
        assert f" {name} " in said.out
    assert "->  unconditional" in said.out
    folder = here / "here"
    assert {path.name for path in folder.iterdir()} == {
        "c.json", "c.matrix.csv", "c.thresholds.csv", "c.answers.csv", "c.weights.csv",
        "c.certificate.json",
        "c.mjs"
    }  # fmt: skip

    assert main(["apply", "--channel", "here/c.json", "--data", "people.csv", "--out", "out.csv"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("1,340 records privatized.\nA report changes the odds between any two values")
    promise = "whatever anyone knows or believes about the person"
    assert promise in " ".join(said.out.split())
    assert (
        "warning: the counts of these records are exactly those that the channel was designed from"
        in said.err
    )
    assert sum(len(chunk) for chunk in read_chunks("out.csv", ["report"])) == 1340

    more = ["--out", "e.csv", "--plot", "e.png"]
    assert main(["estimate", "--channel", "here/c.json", "--data", "out.csv", *more]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("1,340 reports")
    assert "95% interval" in said.out
    with open("e.csv", encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["measure"] == "frequency"]
    keys = ['["illness","region","age"]'] * 8 + ['["illness"]'] * 2 + ['["region","age"]'] * 4
    keys += ['["region"]'] * 2 + ['["age"]'] * 2
    assert [row["columns"] for row in rows] == keys
    assert sum(float(row["estimate"]) for row in rows[8:10]) == pytest.approx(1.0)
    assert sum(float(row["unbiased"]) for row in rows[8:10]) == pytest.approx(1.0)
    assert (here / "e.png").read_bytes().startswith(b"\x89PNG")

    assert main(["audit", "--channel", "here/c.json", "--samples", "20000"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("The promise: A report changes the odds")
    assert promise in " ".join(said.out.split())
    assert "1.000000 for acquaintances," in " ".join(said.out.split())
    assert "According to 20,000 samples, the level is at least" in " ".join(said.out.split())
    assert " ".join(said.out.split()).endswith("promised level; 20,000 samples do not contradict it.")


def test_a_time_limit_ends_what_takes_long_and_nothing_else(here, capsys):
    assert main([*DESIGN, "--epsilon", "1", "--max-seconds", "0"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "what was found within 0 s, as the time limit ended the computation" in said
    assert read_channel("channel.json").verified().certificate.epsilon == 1.0
    assert main([*DESIGN, "--error", "0.01", "--max-seconds", "0"]) == 2
    assert "The time limit ended the search before an error of 0.01 was reached" in capsys.readouterr().err
    assert main([*DESIGN, "--epsilon", "1", "--max-seconds", "-1"]) == 2
    assert "max_seconds is -1.0; it must be a number of seconds, 0 or more" in capsys.readouterr().err


@pytest.mark.parametrize(
    "aim", ["--epsilon 1", "--epsilon 1 --against outsider", "--error .2 --mechanism srr"]
)
def test_the_channel_depends_on_no_clock_and_is_computed_in_one_thread(tmp_path, monkeypatch, aim):
    """On a busy machine searches take longer; a limit that nobody asked for would end them elsewhere."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("s,u,count\na,x,310\na,y,220\nb,x,90\nb,y,160\n", encoding="utf-8")
    monkeypatch.setattr(deadline, "clock", None)  # whoever looks at it fails
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "4")
    design = ["design", "--table", "t.csv", "--sensitive", "s", "--useful", "u", "--quiet"]
    assert main([*design, *aim.split()]) == 0
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"


def test_a_seed_makes_the_same_reports_and_is_loud_about_it(ready, capsys):
    seed = ["--seed", "7", "--insecure"]
    assert main([*APPLY, *seed]) == 0
    first = (ready / "out.csv").read_bytes()
    assert "INSECURE" in capsys.readouterr().err
    assert main([*APPLY, *seed]) == 0
    assert (ready / "out.csv").read_bytes() == first
    assert main(APPLY) == 0
    assert (ready / "out.csv").read_bytes() != first
    assert "INSECURE" not in (said := capsys.readouterr().err.splitlines()[-1])
    assert "warning" in said


def test_columns_may_be_kept_and_the_result_audited(ready, capsys):
    assert main([*APPLY, "--keep", "age", "illness", "region", "--column", "answer"]) == 0
    assert (
        "warning: out.csv contains age, illness, region of each record without any protection"
        in capsys.readouterr().err
    )
    with open("out.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [(r["illness"], r["region"], r["age"]) for r in rows] == records_of(small_table())
    assert main([*AUDIT, "--data", "out.csv", "--column", "answer"]) == 0
    assert "1,340" in capsys.readouterr().out


def test_an_audit_that_finds_something_has_the_status_1(ready, capsys):
    level = read_channel(ready / "channel.json").certificate.level
    low = {"outsider": 0.2, "insider": 0.2, "acquaintance": 0.2}
    rewritten(ready / "channel.json", lambda c: c["certificate"]["levels"].update(low))
    assert main(AUDIT) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert f"WRONG: The level of the matrix is {level:.6f}; its certificate states 0.200000." in said


def test_a_channel_whose_promise_does_not_hold_is_used_for_nothing(ready, capsys):
    level = read_channel(ready / "channel.json").certificate.level
    low = {
        "epsilon": 0.2,
        "levels": dict.fromkeys(("outsider", "insider", "acquaintance", "anyone", "record"), 0.2),
    }
    rewritten(ready / "channel.json", lambda content: content["certificate"].update(low))
    for arguments in (APPLY, ESTIMATE, [*ESTIMATE, "--out", "e.csv"], [*ESTIMATE, "--json"]):
        refused(ready, capsys, arguments, f"channel is {level:.9g}; its certificate allows 0.2.")
    # A level that was stated lower and is still allowed is computed again.
    rewritten(ready / "channel.json", lambda content: content["certificate"].update(low, epsilon=1.0))
    assert main(ESTIMATE) == 0
    assert 0.995 < level <= 1.0
    assert "(level 1)" in " ".join(capsys.readouterr().out.split())


def test_whom_a_channel_does_not_protect_from_is_said_at_every_step(here, capsys):
    assert main([*DESIGN, "--epsilon", "1", "--mechanism", "exact", "--against", "outsider"]) == 0
    assert main(APPLY) == 0
    assert main(AUDIT) == 0
    said = " ".join(capsys.readouterr().out.split())
    level = read_channel("channel.json").certificate.levels.insider
    sentence = f"It does not protect from someone who knows region, age: {level_text(level)}."
    assert said.count(sentence) == 3


def test_quiet_commands_print_warnings_and_errors_alone(here, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    quick = [word for word in QUICK if word != "--details"]
    for arguments in (quick, APPLY, [*ESTIMATE, "--out", "e.csv"], [*AUDIT, "--samples", "1000"]):
        assert main([*arguments, "--quiet"]) == 0
        said = capsys.readouterr()
        assert said.out == ""
        assert all(line.startswith("ldp-frontier: warning: ") for line in said.err.splitlines())
    assert Path("e.csv").read_text().startswith("columns,value,")
    assert main([*AUDIT[:-1], "nowhere.json", "--quiet"]) == 2
    assert capsys.readouterr().err == "ldp-frontier: nowhere.json: No such file or directory.\n"
    # Without it the same commands print, and say how far they are.
    assert main(QUICK) == 0
    said = capsys.readouterr()
    assert said.out.startswith("1,340 records of people.csv: 2 values of illness, 4 of region, age.")
    assert "solving for srr" in said.err


@pytest.mark.parametrize("command", [[], *([name] for name in OPTIONS)])
def test_help_names_the_options(capsys, command):
    """A bare % in a text would be an error of argparse."""
    with pytest.raises(SystemExit) as end:
        main([*command, "--help"])
    assert end.value.code == 0
    assert "--help" in capsys.readouterr().out


def without(libraries, arguments):
    """Run a command in a process of its own, which must not load some libraries."""
    code = (
        "import sys; from ldpsurvey.command.cli import main; status = main(sys.argv[1:]);"
        f"heavy = {libraries} & set(sys.modules); sys.exit(status if not heavy else f'loaded {{heavy}}')"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(ldpfrontier.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr


def test_the_command_is_installed_and_loads_little(ready):
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    assert scripts == {"ldp-frontier": "ldpsurvey.command.cli:main"}
    without({"matplotlib", "cvxpy", "highspy"}, APPLY)


# What it refuses ------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such error of a pipe")
@pytest.mark.parametrize(("unbuffered", "arguments"), [("", ESTIMATE), ("1", LEVEL)])
def test_a_reader_that_leaves_is_no_error(ready, unbuffered, arguments):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "ldpsurvey", *arguments], stdout=write, stderr=subprocess.PIPE,
        text=True, check=False, env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )  # fmt: skip
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_what_cannot_be_printed_is_an_error_of_the_command(ready):
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ldpsurvey", *LEVEL],
            stdout=full, stderr=subprocess.PIPE, text=True,
            check=False, env={**os.environ, "PYTHONUNBUFFERED": ""},
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (2, "ldp-frontier: standard output: No space left on device.\n")


def test_an_interruption_leaves_everything_as_it_was(ready, capsys, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("ldpsurvey.base.sampling.Sampler.draw", stop)
    before = contents(ready)
    assert main(APPLY) == 130
    assert contents(ready) == before
    assert "interrupted; nothing was written" in capsys.readouterr().err


# The answer in a few lines --------------------------------------------------------------------------------

ONE_SIDED = ["--sensitive", "illness", "--useful", "region", "age"]


@pytest.mark.parametrize("ill", [60, 600, 1_260])
def test_chances_are_limits_of_the_chance_that_is_printed(tmp_path, monkeypatch, capsys, ill):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(f"ill,count\nno,{100_000 - ill}\nyes,{ill}\n", encoding="utf-8")
    assert main(["design", "--table", "t.csv", "--sensitive", "ill", "--epsilon", "5"]) == 0
    found = re.search(r"A chance of ([\d.]+)% .+ rises to at most ([\d.]+)%", capsys.readouterr().out)
    p, limit = (float(number) / 100.0 for number in found.groups())
    odds = max(p, ill / 100_000) / (1.0 - max(p, ill / 100_000)) * math.exp(5.0)
    assert limit >= odds / (1.0 + odds) - 1e-6


def test_nothing_is_said_of_the_chance_of_the_only_answer(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("ill,age,count\nno,20,900\nno,40,800\nyes,20,0\n", encoding="utf-8")
    design = ["design", "--table", "t.csv", "--sensitive", "ill", "--useful", "age", "--against", "anyone"]
    assert main([*design, "--epsilon", "1", "--reports", "2"]) == 0
    said = capsys.readouterr().out
    assert "may report 2 times" in said
    assert "chance" not in said


@pytest.mark.parametrize("error", ["0", "-1", "inf", "nan", "1e-320"])
def test_errors_that_are_none_are_refused(here, capsys, error):
    design = ["design", "--data", "people.csv", "--sensitive", "illness", "--epsilon", "1"]
    assert main([*design, "--error", error]) == 2
    assert "error" in capsys.readouterr().err


def test_all_reports_together_raise_a_chance_for_the_reader_who_is_promised_it(here, capsys):
    """The mechanism protects from anyone; together, reports are limited for the attacker of the design."""
    design = ["design", "--data", "people.csv", "--sensitive", "illness", "--useful", "region"]
    known = ["--against", "acquaintance", "--mechanism", "grr", "--epsilon", "1", "--budget", "2"]
    assert main([*design, *known]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert re.search(r"to at most \d+% for whoever knows something about region, and nothing else", said)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ([*ONE_SIDED], "for whoever knows nothing, something or all of region, age."),
        ([*ONE_SIDED, "--against", "outsider"], "100% for whoever knows it."),
        ([*ONE_SIDED, "--mechanism", "grr"], "The same holds for region, age, and for both together."),
        (
            ["--sensitive", "illness", "region", "age", "--precise", "cells"],
            "with a report, whatever somebody knows or believes.",
        ),
    ],
)
def test_the_answer_has_12_lines_of_80_letters_and_says_what_is_given_away(here, capsys, options, told):
    assert main(["design", "--data", "people.csv", *options, "--epsilon", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 12
    assert max(map(len, lines)) <= 80
    text = " ".join(" ".join(lines).split())
    assert told in text
    assert "rank" not in text
    assert "order 2" not in text
    assert re.search(r"From 1,340 reports, shares have standard errors in percentage points of \d", text)
    assert re.search(r"A chance of \d+% that .+ is '.+' rises to at most \d+% with a report", text)
    assert lines[-1] == "Next: ldp-frontier apply --channel channel.json --data FILE --out OUT.csv"
    # A mechanism that protects all of a record gives nothing of it away.
    assert ("guessed right for" in text) == ("whoever" in told)
