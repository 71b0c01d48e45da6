"""Inequalities that compare sums in groups are the inequalities one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from ldpfrontier.model.comparisons import Comparisons, implied_levels
from ldpfrontier.model.cones import conditional_cone, local_cone, polyopt_cone, unconditional_cone


def largest(inequalities: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the largest b . v, for each column."""
    return (columns @ inequalities.T).max(axis=1)


@given(seed=st.integers(0, 10**6))
def test_the_most_violated_inequality_is_that_of_a_group(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # Few numbers, so that sums occur several times and have equal totals.
    sums = rng.choice([0.0, 0.5, 1.0], size=(8, 4))
    larger, smaller = rng.integers(0, 4, size=30), rng.integers(4, 8, size=30)
    apart = np.where(sums[larger] > 0, 0.0, sums[smaller])  # a sum and one that shares none of its inputs
    rows = np.vstack([sums[larger] - apart, -np.eye(4)[:1]])
    columns = rng.random((5, 4))
    most, least = Comparisons.of(rows).sums(columns)
    np.testing.assert_allclose((most - least).max(axis=1), largest(rows, columns), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize(
    ("cone", "compared"),
    [
        (unconditional_cone((4, 3), 1.0), 4 * 3),
        (polyopt_cone(np.full((4, 3), 0.2), 1.0, pairs="distinct"), 4 * 3),
        (conditional_cone((4, 3), 1.0), 3 * 4 * 3),
        (local_cone(6, 1.0), 6 * 5),
    ],
    ids=("unconditional", "polyopt", "conditional", "local"),
)
def test_every_sensitive_value_is_compared_once_with_every_other(cone, compared) -> None:
    known, columns = cone.comparisons, np.random.default_rng(0).random((7, np.prod(cone.shape)))
    assert len(known.pairs) == compared
    most, least = known.sums(columns)
    np.testing.assert_allclose((most - least).max(axis=1), largest(cone.inequalities, columns), rtol=1e-13)


@given(seed=st.integers(0, 10**6), level=st.floats(0.1, 3.0))
def test_columns_of_the_local_level_keep_all_inequalities(seed: int, level: float) -> None:
    cone = unconditional_cone((2, 3), level)
    assert cone.comparisons.local_level == pytest.approx(level, rel=1e-12)
    rng = np.random.default_rng(seed)
    rows = np.where(rng.random((6, 5)) < 0.6, 0.2 * rng.random((6, 5)), -rng.uniform(1.0, 3.0, (6, 5)))
    rows[:, 0], rows[0, 1] = -1.0, 0.1
    least = Comparisons.of(rows).local_level
    powers = np.arange(32)[:, None] >> np.arange(5) & 1
    assert largest(rows, np.exp((1.0 - 1e-6) * least * powers)).max() <= 0.0
    assert largest(rows, np.exp((1.0 + 1e-6) * least * powers)).max() > 0.0


@pytest.mark.parametrize(
    ("cone", "level"),
    [
        (local_cone(5, 0.7), 0.7),
        (unconditional_cone((2, 3), 0.7), 1.4),  # from one cell to another of the same s by one of the other
        (conditional_cone((2, 3), 0.7), math.inf),
        (polyopt_cone(np.full((2, 3), 0.2), 0.7), math.inf),
    ],
    ids=("local", "unconditional", "conditional", "polyopt"),
)
def test_what_inequalities_of_two_entries_imply(cone, level) -> None:
    levels = implied_levels(cone.inequalities)
    assert levels.max() == pytest.approx(level, rel=1e-9)
    # Linear programs over the whole cone find no larger ratio.
    n = levels.shape[0]
    for x, y in ((0, 1), (1, 4), (4, 0)):
        bounds = [(1.0, 1.0) if z == y else (0.0, 1e6) for z in range(n)]
        most = -linprog(-np.eye(n)[x], cone.inequalities, np.zeros(len(cone.inequalities)), bounds=bounds).fun
        assert math.log(most) <= levels[x, y]
        if math.isfinite(levels[x, y]):
            assert math.log(most) == pytest.approx(levels[x, y], rel=1e-6)
