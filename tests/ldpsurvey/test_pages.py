"""The pages on own data say what is true today."""

import csv
import json
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ldpsurvey
from ldpfrontier import (
    estimation_error,
    local_cone,
    optimal_estimation,
    optimal_questionnaire,
    questionnaire_errors,
    survey,
)
from ldpsurvey.command.cli import main
from ldpsurvey.command.command_texts import TEXTS
from ldpsurvey.data.tables import CountTable
from ldpsurvey.estimate.targets import likelihood_target, target_of
from support.grids import few
from support.programs import program

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs/survey"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")

MAKE = program("tools/make_docs.py")
PAGE = MAKE.OWN_DATA.read_text(encoding="utf-8")
REFERENCE = (DOCS / "own-data-reference.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """Return a copy of the example with the channel of the page."""
    folder = tmp_path_factory.mktemp("pages") / "example"
    shutil.copytree(DOCS / "example", folder)
    table = ["--table", str(folder / "survey.csv"), "--sensitive", "illness", "--useful", "region"]
    assert main(["design", *table, "--epsilon", "1", "--out", str(folder / "channel.json")]) == 0
    return folder


@pytest.mark.parametrize(
    ("page", "blocks"),
    few(
        [(MAKE.QUESTIONNAIRES, 3), (MAKE.FORM, 1), (MAKE.COLLECTING, 1)],
        more=[(MAKE.OWN_DATA, 6), (MAKE.PANEL, 5)],
    ),
)
def test_the_commands_of_the_page_print_what_it_shows(page, blocks):
    """Up to numbers: an optimum may be another one elsewhere, or with less time, with as much utility."""
    text = page.read_text(encoding="utf-8")
    shown, printed = MAKE.BLOCK.findall(text), MAKE.BLOCK.findall(MAKE.own_data(text))
    assert len(shown) == blocks
    for old, new in zip(shown, printed, strict=True):
        # The width of a column depends on its numbers.
        assert re.sub(" +", " ", NUMBER.sub("#", new)) == re.sub(" +", " ", NUMBER.sub("#", old))


def test_the_notebook_shows_what_its_cells_print():
    """Up to numbers, and to the blanks that align them."""

    def shown(text: str) -> list[str]:
        outputs = [one for cell in json.loads(text)["cells"] for one in cell.get("outputs", [])]
        texts = ["".join(one.get("text", []) or one["data"]["text/plain"]) for one in outputs]
        return [re.sub("[ #.-]+", " ", NUMBER.sub("#", one)) for one in texts]

    text = MAKE.NOTEBOOK.read_text(encoding="utf-8")
    assert len(shown(text)) >= 8
    assert shown(MAKE.notebook(text)) == shown(text)


def test_the_page_for_python_lists_all_names_and_its_lines_run(own, capsys):
    text = MAKE.PYTHON.read_text(encoding="utf-8")
    assert MAKE.python_page(text) == text
    table = text.partition("## What the commands are in Python")[2].partition("`read_channel` reads")[0]
    commands, named = set(re.findall(r"^\| `(\w+)", table, re.MULTILINE)), re.findall(r"`(\w+)`", table)
    assert set(TEXTS) <= commands | set(named)
    assert {name for name in named if name not in dir(ldpsurvey)} <= {*TEXTS, "write"}
    exec("\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL)), {})
    assert "Log odds of illness = yes" in capsys.readouterr().out


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Return a copy of the example, which is the current folder, without a channel or reports."""
    folder = tmp_path / "own"
    shutil.copytree(DOCS / "example", folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.usefixtures("own")
def test_every_command_of_the_readme_works(capsys):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    _, block = text.split(". .venv/bin/activate && cd docs/survey/example\n")
    block = block.partition("```")[0]
    for line in block.replace("\\\n", " ").splitlines():
        program, *arguments = line.split()
        assert program == "ldp-frontier"
        assert main(arguments) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.endswith("The matrix satisfies the promised level; 100,000 samples do not contradict it.")


@pytest.mark.long
def test_numbers_beside_the_python_of_the_readme_are_rounded_and_bounds_upwards():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(from ldpfrontier.*?)```", text, re.DOTALL)
    names: dict[str, object] = {}
    exec(code, names)
    shown = re.findall(r"^(\S+)  # (\d+\.(\d+))\b", code, re.MULTILINE)
    assert len(shown) == 3
    for expression, number, decimals in shown:
        unit, value = 10.0 ** -len(decimals), eval(expression, names)
        low, high = (0.0, 1.0) if "bound" in expression else (-0.5, 0.5)
        # A little more, as the last digits of two machines differ.
        assert low - 0.05 < (float(number) - value) / unit < high + 0.05


def test_the_python_of_the_page_works(own):
    (code,) = re.findall(r"```python\n(from ldpsurvey .*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {}
    exec(code, names)
    assert (own / "reports.csv").is_file()
    assert len(names["estimate"].of(("illness",))) == 2
    assert set(re.findall(r"\w+", code.split("import")[1].partition(")")[0])) <= set(survey.__all__)


def test_the_function_of_the_page_gives_the_known_answers(example):
    (code,) = re.findall(r"```python\n(def report.*?)```", REFERENCE, re.DOTALL)
    names: dict[str, object] = {}
    exec(code, names)
    with open(example / "channel.thresholds.csv", encoding="utf-8", newline="") as stream:
        head, *rows = csv.reader(stream)
    thresholds = {tuple(row[:2]): list(map(int, row[2:])) for row in rows}
    with open(example / "channel.answers.csv", encoding="utf-8", newline="") as stream:
        _, *answers = csv.reader(stream)
    assert len(answers) >= 30
    for *record, data, report in answers:
        place = names["report"](thresholds[tuple(record)], bytes.fromhex(data))
        assert head[2 + place] == report


def test_pages_name_every_option_that_they_use():
    help_text = (ROOT / "src/ldpsurvey/command/option_table.py").read_text(encoding="utf-8")
    for option in set(re.findall(r"(--[a-z-]+)\b", PAGE + REFERENCE)) - {
        "--configfile",
        "--help",
    }:  # of Snakemake, and of all commands
        assert f'"{option}"' in help_text, option


def test_the_price_of_a_promise_is_what_a_design_prints(tmp_path, capsys):
    prices = dict(re.findall(r"^\| `([a-z-]+)`.* \| ([\d,]+) \|$", PAGE, re.MULTILINE))
    assert len(prices) == 4
    assert f"region. {prices['acquaintance']} reports give 1." in PAGE
    table = ["--table", str(DOCS / "example/survey.csv"), "--sensitive", "illness", "--useful", "region"]
    how = ["--epsilon", "1", "--against", "insider-only", "--out", str(tmp_path / "channel.json")]
    assert main(["design", *table, *how]) == 0
    assert f"{prices['insider-only']} reports give 1." in " ".join(capsys.readouterr().out.split())


def test_what_the_page_concludes_is_what_its_output_says():
    """The sentence under the estimates of the survey, about the ratios of the rates of the ill."""
    ratios = re.findall(r"^yes given (\w+) .*  ([\d.]+) to ([\d.]+)$", PAGE, re.MULTILINE)
    assert [region for region, _, _ in ratios[-2:]] == ["south", "west"]
    (_, low, high), (_, above, _) = ratios[-2:]
    assert float(low) < 1.0 < float(high)
    assert float(above) > 1.0
    said = " ".join(PAGE.split())
    assert "more frequent in the west than in the north: the interval of that ratio is above 1." in said
    assert "They do not tell whether it is in the south, whose interval contains 1." in said


def test_the_people_of_questionnaires_are_those_of_the_optima():
    text = MAKE.QUESTIONNAIRES.read_text(encoding="utf-8")
    tables = text.partition("<!-- people -->")[2].partition("<!-- end -->")[0].strip().split("\n\n")
    columns = [["RS+FD[GRR]"], ["parities", "parities, best chances"]]
    for order, (table, last) in enumerate(zip(tables, columns, strict=True), start=1):
        rows = table.splitlines()[2:]
        assert len(rows) == 10
        for row in rows:
            sizes, epsilon, *numbers = (cell.strip() for cell in row.strip("|").split("|"))
            size, _, times = sizes.partition(" × ")
            asked = [int(size)] * int(times.split()[0]) if times else list(map(int, sizes.split(",")))
            found = optimal_questionnaire(asked, float(epsilon), order)
            others = questionnaire_errors(found.mechanism.questionnaire, float(epsilon))
            told = [found.mechanism.people(0.01), found.error / found.bound]
            told += [others[name] / found.error for name in ("table by lot", "several by lot", "GRR", *last)]
            for number, value in zip(numbers, told, strict=True):
                shown = math.inf if number == "–" else float(number.replace(",", ""))
                assert shown == pytest.approx(value, rel=0.03)


def test_the_page_compares_questionnaires_as_the_program_does():
    found = optimal_questionnaire([2] * 20, 1.0)
    page = " ".join(MAKE.QUESTIONNAIRES.read_text(encoding="utf-8").split())
    two = optimal_questionnaire([2] * 20, 1.0, asked=2).error / found.error
    several = questionnaire_errors(found.mechanism.questionnaire, 1.0)["several by lot"] / found.error
    assert f"two questions alone needs {two:.2f} times" in page
    assert f"three needs {several:.2f} times." in page
    high = optimal_questionnaire([2] * 30, 5.0)
    better = questionnaire_errors(high.mechanism.questionnaire, 5.0)["several by lot"]
    assert f"takes {1.0 - better / high.error:.0%} fewer people for pairs of 30" in page
    shares = {len(lot.kinds): lot.weight for lot in found.mechanism.lots}
    assert f"{shares[2]:.0%} of the people are asked two questions" in page
    assert set(shares) == {2, 3}


def test_what_a_design_for_a_coefficient_saves_is_what_regress_saves():
    """Both mechanisms get the estimate that assumes the formula; of the whole record, illness by age."""
    counted: dict[tuple[str, str], int] = {}
    ages = {"18-39": "29", "40-64": "52", "65+": "75"}
    with open(DOCS / "example" / "survey.csv", encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            key = row["illness"], ages[row["age"]]
            counted[key] = counted.get(key, 0) + int(row["count"])
    rows = [[counted[illness, age] for age in ages.values()] for illness in ("no", "yes")]
    table = CountTable(
        ("illness",), ("age",), (("no",), ("yes",)), tuple((age,) for age in ages.values()), rows
    )
    slopes = target_of(table, "illness ~ age").rows
    errors = []
    for target in (slopes, None):
        channel = optimal_estimation(table.expected, local_cone(6, 1.0), target).channel
        likelihood, p = likelihood_target(table, "illness ~ age", channel.matrix)
        errors.append(estimation_error(channel, p, likelihood))
    assert f"to {1.0 - errors[0] / errors[1]:.0%} fewer people for `regress`" in " ".join(REFERENCE.split())


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_the_page_for_r_runs(own, monkeypatch):
    if subprocess.run(["Rscript", "-e", "library(jsonlite)"], capture_output=True, check=False).returncode:
        pytest.skip("R has no jsonlite")
    command = own / "bin/ldp-frontier"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ldpsurvey "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    text = (DOCS / "r.md").read_text(encoding="utf-8")
    Path("page.R").write_text("\n".join(re.findall(r"```r\n(.*?)```", text, re.DOTALL)))
    done = subprocess.run(["Rscript", "page.R"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "age.group[T.40-64]" in done.stdout
