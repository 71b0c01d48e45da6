"""The command that compares solvers: how it measures; and the limits that docs/performance.md gives."""

import importlib
import re
import time
from pathlib import Path

import pandas as pd
import pytest

from support.programs import program

ROOT = Path(__file__).parents[2]
performance = program("benchmarks/performance.py")
OURS = performance.OURS


def burn(seconds):
    begin = time.process_time()
    while time.process_time() - begin < seconds:
        pass
    return 1.0


def fail(problem):
    raise ArithmeticError("No.")


def test_a_solve_that_takes_too_long_is_given_up_and_one_that_fails_is_not_passed_over(capfd):
    assert performance.measure(burn, 60.0, 0.0, limit=0.1) is None
    with pytest.raises(RuntimeError, match="A method failed"):
        performance.measure(fail, 1, 1, limit=5)
    assert "ArithmeticError: No." in capfd.readouterr().err


@pytest.mark.parametrize("each", performance.CONTESTS, ids=lambda each: each.name)
def test_methods_solve_the_same_problem(each):
    problem = each.problem(each.sizes[1])
    values = pd.Series({name: method(problem) for name, method in each.methods.items()})
    assert values.to_numpy() == pytest.approx(values[OURS], rel=1e-5)
    assert values[OURS] > 0


def test_limits_on_the_page_are_those_of_the_library():
    """Every row of the table of limits links the file of its constant."""
    page = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
    section = page.partition("## Limits and expected times by size\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| .* \| ([\d,]+)(?: \w+)? \| \[`(\w+)`\]\(\.\./src/(.*)\.py\) \|$", section, re.M)
    assert len(rows) > 20
    assert len(rows) == section.count(".py) |")
    for number, field, path in rows:
        module = importlib.import_module(path.replace("/", "."))
        constants = module.LIMITS if path.endswith("registry") else module.SETTINGS
        assert number == f"{getattr(constants, field):,}", field
