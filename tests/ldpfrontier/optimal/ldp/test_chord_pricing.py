"""Pricing by chords against the list of all columns."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpfrontier.optimal.ldp.chord_pricing import ListedPricing, bound_reduced_costs
from ldpfrontier.optimal.ldp.solve import optimal_ldp
from ldpfrontier.optimal.ldp.staircase import Staircase
from ldpfrontier.utility import FDivergence
from support.utilities import KINDS, random_utility

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(2, 10), st.sampled_from(KINDS), st.floats(1e-2, 12.0), st.floats(0.0, 2.0))
@settings(max_examples=60, deadline=None)
def test_chords_price_all_columns(seed, k, kind, epsilon, noise):
    """Whatever the duals, the chords find the largest reduced cost that the list of all columns has."""
    rng = np.random.default_rng(seed)
    utility = random_utility(rng, k, kind)
    duals = optimal_ldp(utility, epsilon).value * (utility.prior + noise * rng.normal(size=k) / k)
    largest = float(Staircase(utility, epsilon).reduced_costs(duals).max())
    chords = bound_reduced_costs(utility, epsilon, duals, 1e-9)
    listed = ListedPricing(utility, epsilon).bound(duals, 1e-9, float(duals.sum()))
    assert listed[0] == pytest.approx(max(largest, 1e-9), rel=1e-9, abs=1e-12)
    for found, subsets in (chords, listed):
        assert largest <= found + 1e-12 * (1 + abs(largest))
        if largest > 1e-9:
            columns = utility.columns(np.where(subsets, 1.0, math.exp(-epsilon)))
            assert (columns.values - columns.vectors @ duals).max() == pytest.approx(largest, abs=1e-6)
            assert found <= 3 * largest + 1e-8


@pytest.mark.parametrize("name", ["kl", "tv", "chi2", "hellinger", "hinge", "cubic"])
def test_chords_price_all_columns_where_many_cost_what_they_are_worth(name):
    """At the duals of randomized response k columns have reduced cost 0, and a grain moves some above it."""
    generators = {"hinge": lambda t: np.maximum(t - 1.0, 0.0), "cubic": lambda t: t**3 - 1.0}
    rng = np.random.default_rng(12)
    above = 0
    for _ in range(60):
        k, epsilon = int(rng.integers(2, 8)), float(np.exp(rng.uniform(np.log(1e-3), np.log(12.0))))
        p0, p1 = rng.dirichlet(np.full(k, rng.choice([0.2, 1.0])), 2)
        f = generators.get(name)
        utility = FDivergence(p0, p1, f=f) if f else FDivergence(p0, p1, name)
        family = Staircase(utility, epsilon)
        duals = family.response_duals
        size = float(duals.sum())
        duals = duals * (1.0 + rng.choice([0.0, 1e-9, 1e-5]) * rng.normal(size=k))
        largest = float(family.reduced_costs(duals).max())
        found, _ = bound_reduced_costs(utility, epsilon, duals, 1e-10 * size)
        rounding = 1e-12 * (1.0 + np.abs(duals).sum())
        assert largest - rounding <= found <= max(3 * largest, 0.0) + 3e-10 * size + rounding
        above += largest > rounding
    assert 0 < above < 60
