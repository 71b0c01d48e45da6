"""What `import ldpfrontier` offers and loads, and the optima as one family."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ldpfrontier
from ldpfrontier import (
    Channel,
    FDivergence,
    MutualInformation,
    Optimum,
    RenyiBall,
    ReportLevels,
    optimal_ldp,
    optimal_leakage,
    optimal_nonrobust,
    optimal_robust,
    optimal_unconditional,
)

PACKAGE = Path(ldpfrontier.__file__).parent
LIBRARIES = ("cvxpy", "highspy", "matplotlib", "numpy", "pandas", "ppl", "pyarrow", "scipy", "yaml")
#: What nobody needs who has no figure, no table, no semidefinite program and no exact vertices in mind.
HEAVY = ("cvxpy", "matplotlib", "pandas", "ppl", "pyarrow")

TABLE = np.array([[0.15, 0.05, 0.1], [0.1, 0.35, 0.25]])
BALL = RenyiBall.confidence(np.array([[15, 5, 10], [10, 35, 25]]))
HYPOTHESES = [[0.2, 0.8], [0.6, 0.4]]

USE = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
import ldpfrontier as l
from support.calls import bound, good_calls

calls = good_calls()
calls = [*calls.items(), ("optimal_robust", {{**calls["optimal_robust"], "envelope": "exact"}})]
for name, arguments in [*calls, ("optimal_leakage", {{**dict(calls)["optimal_leakage"], "outputs": 2}})]:
    function, others = bound(name, arguments)
    function(**others)
for name in l.__all__:
    getattr(l, name)
"""


def loaded(code: str) -> set[str]:
    """Return the top-level modules that are loaded when some code has run in a process of its own."""
    lines = f"{code}\nimport sys\nprint(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_loads_no_library() -> None:
    assert not loaded("import ldpfrontier; dir(ldpfrontier); ldpfrontier.__version__") & set(LIBRARIES)


def test_using_the_mechanisms_loads_nothing_heavy() -> None:
    modules = loaded(USE)
    assert "numpy" in modules
    assert not modules & set(HEAVY)


def test_every_name_is_exported_from_where_it_is_defined() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    homes = {
        alias.name: statement.module.removeprefix("ldpfrontier.")
        for statement in checked.body
        if isinstance(statement, ast.ImportFrom) and statement.module
        for alias in statement.names
    }
    assert homes == ldpfrontier._HOMES
    assert sorted(homes) == sorted(ldpfrontier.__all__)
    assert set(ldpfrontier.__all__) <= set(dir(ldpfrontier))
    for name in ldpfrontier.__all__:
        assert getattr(ldpfrontier, name).__module__ == f"ldpfrontier.{homes[name]}"


def test_names_of_earlier_versions_are_those_of_today() -> None:
    for old, new in ldpfrontier._RENAMED.items():
        assert old not in ldpfrontier.__all__
        assert getattr(ldpfrontier, old) is getattr(ldpfrontier, new)
    assert ReportLevels(3.0, 1.0, 2.0, None, True).given_useful == 1.0


def test_functions_of_an_attacker_have_the_word_of_the_glossary() -> None:
    """The optimum, the cone and the level of each."""
    page = (PACKAGE.parents[1] / "docs/glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \*\w+\* \|.*\| ([^|]+) \|$", page, re.MULTILINE)
    assert len(rows) == 4
    for row in rows:
        words, kinds = re.findall(r"`(\w+)`", row), ("optimal_{}", "{}_cone", "{}_epsilon")
        for kind in kinds:
            assert {kind.format(word) for word in words} & set(ldpfrontier.__all__), (row, kind)


FAMILY = {
    "optimal_ldp": lambda level, **options: optimal_ldp(MutualInformation(TABLE), level, **options),
    "optimal_ldp, chi2": lambda level, **options: optimal_ldp(
        FDivergence(TABLE, TABLE[::-1], "chi2"), level, **options
    ),
    "optimal_robust": lambda level, **options: optimal_robust(BALL, level, **options),
    "optimal_robust, exact": lambda level, **options: optimal_robust(
        BALL, level, envelope="exact", **options
    ),
    "optimal_robust, radius 0": lambda level, **options: optimal_robust(
        RenyiBall(TABLE, 0.0), level, **options
    ),
    "optimal_nonrobust": lambda level, **options: optimal_nonrobust(TABLE, level, **options),
    "optimal_unconditional": lambda level, **options: optimal_unconditional(TABLE, level, **options),
    "optimal_leakage": lambda level, **options: optimal_leakage(HYPOTHESES, level, **options),
}
UNITS = {"optimal_ldp, chi2": "1", "optimal_leakage": "bits"}


def test_every_optimizer_takes_and_documents_a_time_limit() -> None:
    """That of its whole computation, by keyword; none by default."""
    limited = set()
    for name in ldpfrontier.__all__:
        value = getattr(ldpfrontier, name)
        takes = inspect.isfunction(value) and "max_seconds" in inspect.signature(value).parameters
        if takes and name != "time_limit":
            limited.add(name)
            parameter = inspect.signature(value).parameters["max_seconds"]
            assert (parameter.kind, parameter.default) == (inspect.Parameter.KEYWORD_ONLY, None)
            assert "max_seconds : float, optional" in value.__doc__
    optima = {name for name in ldpfrontier.__all__ if name.startswith("optimal_")}
    others = {
        "calibrated",
        "distortion_leakage",
        "hamming_leakage",
        "information_leakage",
        "least_distortion",
    }
    assert limited == optima | others


def test_no_result_of_the_pipeline_depends_on_a_time_limit() -> None:
    workflow = PACKAGE.parents[1] / "workflow"
    sources = [path for path in workflow.rglob("*") if path.suffix in (".py", ".smk")]
    assert sources
    assert not [path for path in sources if "max_seconds" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("name", FAMILY)
def test_an_optimum_says_its_unit_and_its_certificate(name: str) -> None:
    optimum = FAMILY[name](0.1, tolerance=1e-3)
    assert isinstance(optimum, Optimum)
    assert (optimum.unit, optimum.direction) == (UNITS.get(name, "nats"), "max")
    assert optimum.status == "optimal"
    assert optimum.gap <= 1e-3
    assert optimum.lower_bound == optimum.value <= optimum.bound == optimum.upper_bound


@pytest.mark.parametrize("name", FAMILY)
def test_level_zero(name: str) -> None:
    optimum = FAMILY[name](0.0)
    assert optimum.status == "optimal"
    if name in ("optimal_nonrobust", "optimal_robust, radius 0"):
        # Given S, all is told of U that does not depend on S.
        assert optimum.value > 0
    else:
        assert (optimum.value, optimum.bound, optimum.gap) == (0.0, 0.0, 0.0)
        assert optimum.channel.n_outputs == 1


@pytest.mark.parametrize("name", FAMILY)
def test_the_optimum_itself_is_a_start(name: str) -> None:
    best = FAMILY[name](0.1, tolerance=1e-3)
    start = best.channel
    if name == "optimal_nonrobust":
        start = optimal_ldp(MutualInformation(TABLE.sum(axis=1)), 0.1).channel
    again = FAMILY[name](0.1, start=start, tolerance=1e-3)
    assert again.value >= best.value * (1 - 1e-9)
    assert again.value <= best.bound
    assert again.status == best.status


def test_a_minimum_has_its_bound_below() -> None:
    channel = Channel(np.eye(2))
    least = Optimum(channel, 0.5, 0.4, "bounded", 3, "nats", "min")
    assert (least.lower_bound, least.upper_bound) == (0.4, 0.5)
    assert least.gap == pytest.approx(0.2)
    assert Optimum(channel, 0.4, 0.5, "bounded", 3).gap == pytest.approx(0.2)


@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("level", [0.0, 0.1])
def test_a_start_of_the_wrong_size_is_refused(name: str, level: float) -> None:
    with pytest.raises(ValueError, match="The start has 5 inputs"):
        FAMILY[name](level, start=Channel(np.eye(5)))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'optimal_everything'"):
        ldpfrontier.optimal_everything  # noqa: B018
