"""Linear programs over a pool of cuts, against HiGHS, and what the pool forgets."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from ldpfrontier.engines.joint.cut_pool import CutPool


def test_pools_agree_with_another_solver_whatever_they_forget() -> None:
    rng = np.random.default_rng(5)
    scale = rng.dirichlet(np.ones(5))
    cuts = rng.normal(size=(60, 5))
    cuts -= (np.maximum(cuts.sum(axis=1), 0.0) / 5.0 + 0.05)[:, None]  # the constant meets all of them
    pool = CutPool(scale, working=8)
    pool.add(cuts)
    for _ in range(40):
        cost, lo, hi = rng.normal(size=5), rng.random(5) * 0.9, 1.0 + 3.0 * rng.random(5)
        found = pool.maximize(cost, lo, hi)
        expected = linprog(-cost, cuts, np.zeros(60), scale[None], [1.0], np.column_stack([lo, hi]))
        assert found is not None
        assert found[0] == pytest.approx(-expected.fun, abs=1e-8)
        assert found[0] >= -expected.fun - 1e-12
        assert cost @ found[1] == pytest.approx(-expected.fun, abs=1e-8)
    assert pool.maximize(cost, np.full(5, 2.0), np.full(5, 3.0)) is None


@pytest.mark.parametrize("letters", [2, 4])
def test_pools_with_ties_and_empty_cells(letters: int) -> None:
    """All ratios of two groups bounded alike, ties of costs, cells without weight; against HiGHS."""
    rng = np.random.default_rng(letters)
    n, factor = 2 * letters, math.exp(0.8)
    cuts = np.zeros((2, letters, letters, n))
    for s, i, j in np.ndindex(2, letters, letters):
        cuts[s, i, j, s * letters + i], cuts[s, i, j, (1 - s) * letters + j] = 1.0, -factor
    outcomes = set()
    for _ in range(40):
        scale = rng.dirichlet(np.ones(n)) * (rng.random(n) < 0.8)
        scale = scale / scale.sum() if scale.any() else np.full(n, 1.0 / n)
        pool = CutPool(scale)
        pool.add(cuts.reshape(-1, n))
        cost, hi = np.round(rng.normal(size=n)), np.full(n, factor**2)
        lo = np.where(rng.random(n) < 0.7, 0.0, 2.0 * rng.random(n))
        found = pool.maximize(cost, lo, hi)
        rows, ends = pool.cuts, np.column_stack([lo, hi])
        expected = linprog(-cost, rows, np.zeros(len(rows)), scale[None], [1.0], ends)
        outcomes.add(expected.status)
        assert (found is None) == (expected.status == 2)
        if found is not None:
            assert found[0] == pytest.approx(-expected.fun, abs=1e-8)
    assert outcomes == {0, 2}


def test_a_box_that_only_touches_the_cone() -> None:
    """The one v there is has all bounds and an inequality tight; a little less, and there is none."""
    pool = CutPool(np.array([0.25, 0.25, 0.5]))
    pool.add(np.array([[0.3, -1.0, 0.0]]))
    lo, hi = np.array([1.5, 0.0, 0.5]), np.array([2.5, 0.3 * 1.5, 1.5])
    found = pool.maximize(np.array([1.0, -1.0, -2.0]), lo, hi)
    assert found is not None
    np.testing.assert_allclose(found[1], [1.5, 0.45, 1.025], atol=1e-8)
    assert found[0] == pytest.approx(1.05 - 2.05, abs=1e-8)
    hi[1] -= 1e-6
    assert pool.maximize(np.array([1.0, -1.0, -2.0]), lo, hi) is None


def test_a_program_ends_when_it_is_known_to_be_worth_little() -> None:
    rng = np.random.default_rng(6)
    cuts = rng.normal(size=(60, 5))
    cuts -= (np.maximum(cuts.sum(axis=1), 0.0) / 5.0 + 0.05)[:, None]
    pool = CutPool(np.full(5, 0.2))
    pool.add(cuts)
    cost, lo, hi = rng.normal(size=5), np.zeros(5), np.full(5, 4.0)
    best = pool.maximize(cost, lo, hi)
    assert best is not None
    for enough in (best[0] - 0.1, best[0] + 0.1):
        found = pool.maximize(cost, lo, hi, enough)
        assert found is not None
        assert found[0] >= best[0] - 1e-9
        assert (found[0] <= enough) == (best[0] <= enough)


def test_a_pool_of_inequalities_forgets_those_that_are_not_needed() -> None:
    pool = CutPool(np.array([0.5, 0.5]), kept=10)
    needed = np.array([[1.0, -2.0]])
    pool.add(needed)
    ends = np.array([0.0, 0.0]), np.array([5.0, 5.0])
    for _ in range(5):
        found = pool.maximize(np.array([1.0, 0.0]), *ends)
        assert found is not None
        assert found[0] == pytest.approx(4.0 / 3.0)
        pool.add(np.tile([0.1, -1.0], (8, 1)))
    assert len(pool.cuts) <= 18
