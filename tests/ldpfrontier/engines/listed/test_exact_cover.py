"""Programs over sets of inputs, against the linear program over all staircase columns by another solver."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from ldpfrontier.engines.listed.exact_cover import ExactCover, SetWeights, optimal_exact_cover
from ldpfrontier.model.privacy import ldp_epsilon
from support.utilities import KINDS, random_utility

utilities = st.builds(
    lambda seed, k, kind: random_utility(np.random.default_rng(seed), k, kind),
    st.integers(0, 10**6),
    st.integers(2, 6),
    st.sampled_from(["mi", *KINDS]),
)
epsilons = st.floats(0.1, 6.0)


def by_columns(utility, epsilon):
    """The optimum over all columns with entries 1 and e^-eps, none of which is told from its set."""
    k = len(utility.prior)
    columns = np.array(list(itertools.product([1.0, math.exp(-epsilon)], repeat=k)))
    values = utility.columns(columns)
    exact = dict.fromkeys(("primal_feasibility_tolerance", "dual_feasibility_tolerance"), 1e-10)
    costs = -values.values * (columns @ utility.prior)
    found = linprog(costs, A_eq=columns.T, b_eq=np.ones(k), options=exact)
    assert found.status == 0
    return -float(found.fun)


@given(utilities, epsilons)
def test_the_optimum_is_that_of_the_program_over_columns(utility, epsilon) -> None:
    best = by_columns(utility, epsilon)
    optimum = optimal_exact_cover(utility, epsilon, tolerance=1e-9, max_rounds=100, start=None)
    assert optimum.status == "optimal"
    # Of small probabilities, the other program has no more digits.
    assert optimum.value == pytest.approx(best, rel=1e-5, abs=1e-9)
    assert optimum.bound >= best * (1.0 - 1e-6) - 1e-9
    assert utility(optimum.channel) == pytest.approx(optimum.value, rel=1e-9, abs=1e-13)
    assert ldp_epsilon(optimum.channel) <= epsilon + 1e-12


@given(utilities, epsilons, st.integers(0, 10**6))
def test_a_price_bounds_the_optimum_at_any_duals(utility, epsilon, seed) -> None:
    rng, cover, best = np.random.default_rng(seed), ExactCover(utility, epsilon), by_columns(utility, epsilon)
    scale = rng.choice([0.1, 1.0, 10.0]) * best
    for duals in (rng.normal(scale=scale, size=cover.inputs), np.zeros(cover.inputs)):
        none = np.empty(0)
        bound, better = cover.price(SetWeights(none.astype(np.int64), none, duals, scale * rng.random()))
        assert bound >= best * (1.0 - 1e-6) - 1e-9
        assert (better > 0).all()


@given(utilities, epsilons, st.integers(0, 10**6))
def test_any_sets_that_cover_the_inputs_make_a_mechanism(utility, epsilon, seed) -> None:
    """The program over some sets has the value of its channel, at most that of all sets."""
    cover = ExactCover(utility, epsilon)
    sets = np.random.default_rng(seed).integers(1, 1 << cover.inputs, 5)
    cover.add(np.union1d(sets, 1 << np.arange(cover.inputs)))
    found = cover.solve()
    channel = cover.channel(found)
    assert set(found.subsets.tolist()) <= set(cover.subsets.tolist())
    np.testing.assert_allclose(channel.matrix.sum(axis=1), 1.0, atol=1e-12)
    assert ldp_epsilon(channel) <= epsilon + 1e-12
    assert utility(channel) == pytest.approx(cover.value(found), rel=1e-9, abs=1e-13)
    assert cover.value(found) == pytest.approx(found.objective, rel=1e-6, abs=1e-9)
    response = cover.value(cover.randomized_response)
    assert (
        response * (1.0 - 1e-6) - 1e-9
        <= found.objective
        <= by_columns(utility, epsilon) * (1.0 + 1e-6) + 1e-9
    )


def test_prices_bound_randomized_response_exactly() -> None:
    """Given what columns are worth, at levels at which it is optimal, so that the bound is its value."""
    rng, close = np.random.default_rng(6), 0
    for _ in range(60):
        k = int(rng.integers(3, 8))
        cover = ExactCover(random_utility(rng, k, "mi"), float(rng.uniform(3.0, 8.0)))
        bound = cover.price(cover.randomized_response)[0]
        worth = sum(Fraction(float(cover.column_values[1][1 << x])) for x in range(k))
        value = worth / (k * Fraction(cover.floor) + Fraction(cover.share))
        assert Fraction(bound) >= value
        close += bound < float(value) * (1.0 + 1e-12)
    assert close > 30
