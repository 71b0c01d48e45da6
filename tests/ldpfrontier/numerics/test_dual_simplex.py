"""Linear programs of the dual simplex method, against HiGHS and, in a few variables, all vertices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from ldpfrontier.numerics.dual_simplex import Pool, Space, maximize


def pool_of(scale, rows, places=None):
    """A pool of inequalities a . v <= 0, shape (m, n), none of which is working yet."""
    n, m = len(scale), len(rows)
    places = places or n + 1
    return Pool(
        scale,
        np.ascontiguousarray(rows.T),
        np.zeros(m, dtype=np.int64),
        np.zeros(places, dtype=np.int64),
        np.zeros((n, places)),
        np.zeros(places),
        np.array([m, 0, 0]),
        Space.of(n),
    )


def program(seed, most_variables=7):
    """A program with ties, fixed variables, variables without weight, and costs of several sizes."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, most_variables + 1)), int(rng.integers(0, 40))
    scale = rng.dirichlet(np.ones(n)) * (rng.random(n) < 0.9)
    scale = scale / scale.sum() if scale.any() else np.full(n, 1.0 / n)
    rows = rng.normal(size=(m, n)) if seed % 2 else rng.integers(-2, 3, (m, n)).astype(float)
    rows -= rng.choice([0.0, 0.3, 1.0])
    rows /= np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1.0)
    cost = rng.normal(size=n) if seed % 3 else rng.integers(-1, 2, n).astype(float)
    lo = rng.random(n) * rng.choice([0.0, 0.9, 1.3])
    hi = np.where(rng.random(n) < 0.1, lo, lo + rng.exponential(3.0, n))
    return scale, rows, cost, lo, hi


def by_highs(scale, rows, cost, lo, hi):
    """The largest value by another solver; -inf if there is no solution."""
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    inequalities = {"A_ub": rows, "b_ub": np.zeros(len(rows))} if len(rows) else {}
    found = linprog(
        -cost, **inequalities, A_eq=scale[None], b_eq=[1.0], bounds=np.column_stack([lo, hi]), options=tight
    )
    assert found.status in (0, 2)
    return -float(found.fun) if found.status == 0 else -np.inf


def check(found, value, scale, rows, cost, lo, hi):
    """The bound is the value, the solution has it and is allowed, and the reduced costs prove the bound."""
    bound, v, reduced = found
    if value == -np.inf:
        # What only just has no solution may be left with a bound.
        assert bound == -np.inf or (rows @ v).max(initial=0.0) > 0.0 or abs(scale @ v - 1.0) > 1e-12
        return
    assert bound == pytest.approx(value, rel=1e-7, abs=1e-7)
    assert bound >= value - 1e-9
    assert cost @ v == pytest.approx(value, rel=1e-7, abs=1e-7)
    assert (v >= lo).all()
    assert (v <= hi).all()
    assert scale @ v == pytest.approx(1.0, abs=1e-9)
    assert (rows @ v).max(initial=0.0) <= 1e-8
    # reduced = cost - y0 scale - y . rows of y >= 0: more than half of the weight is on what is tight.
    at_bounds = reduced * np.where(reduced > 0.0, hi - v, v - lo)
    assert np.abs(at_bounds).max() <= 1e-7 * (1.0 + np.abs(cost).max() * hi.max())


@given(st.integers(0, 10**6))
def test_the_value_is_that_of_another_solver(seed) -> None:
    case = program(seed)
    scale, rows, cost, lo, hi = case
    pool = pool_of(scale, rows)
    check(maximize(pool, cost, lo, hi, 0.0, -np.inf), by_highs(*case), *case)
    # Other costs over the same pool begin with the inequalities that were needed.
    other = (scale, rows, -cost, lo, hi)
    check(maximize(pool, -cost, lo, hi, 0.0, -np.inf), by_highs(*other), *other)


@given(st.integers(0, 10**6), st.floats(-3.0, 3.0))
def test_a_bound_that_is_low_enough_ends_a_program_and_holds(seed, enough) -> None:
    case = program(seed)
    scale, rows, cost, lo, hi = case
    value = by_highs(*case)
    bound, _, _ = maximize(pool_of(scale, rows), cost, lo, hi, 0.0, enough)
    assert bound >= value - 1e-9
    if bound > enough + 1e-6:
        assert bound == pytest.approx(value, rel=1e-6, abs=1e-6)


@given(st.integers(0, 10**6))
def test_only_inequalities_in_need_are_working(seed) -> None:
    """The value does not depend on the number of places, which bounds what a step looks at."""
    case = program(seed)
    scale, rows, cost, lo, hi = case
    few, many = (pool_of(scale, rows, places) for places in (len(scale) + 1, len(rows) + len(scale) + 1))
    bounds = [maximize(pool, cost, lo, hi, 0.0, -np.inf)[0] for pool in (few, many)]
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-7, abs=1e-7)
    assert few.counts[1] <= len(scale) + 1
    assert many.counts[1] <= len(rows)
    needed = np.flatnonzero(many.needed)
    assert set(needed) <= set(many.working[: many.counts[1]])
