"""Pricing of sets by branch and bound, against all of them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpfrontier.engines.listed import set_pricing
from ldpfrontier.engines.listed.converse import converse
from ldpfrontier.engines.listed.set_pricing import SetFamily
from ldpfrontier.engines.listed.settings import SETTINGS
from ldpfrontier.engines.listed.staircase import Staircase
from ldpfrontier.model.utility import MutualInformation
from support.priors import concentrations, random_prior

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(2, 11), concentrations, st.floats(0.1, 8.0), st.floats(0.0, 0.5))
@settings(max_examples=60, deadline=None)
def test_branch_and_bound_against_all_sets(seed, k, concentration, epsilon, noise):
    prior = random_prior(seed, k, concentration)
    best = converse(prior, epsilon)
    duals = best.duals * (1.0 + noise * np.random.default_rng(seed).normal(size=k))
    largest = float(Staircase(MutualInformation(prior), epsilon).reduced_costs(duals).max())
    bound, columns = SetFamily(prior, epsilon, 1e-9).price(duals, 1)
    assert bound == pytest.approx(max(largest, 1e-9), rel=1e-6, abs=1e-12)
    if largest > 1e-8:
        assert (columns.values - columns.vectors @ duals).max() == pytest.approx(largest, rel=1e-6)


def test_a_narrow_search_still_bounds(monkeypatch):
    monkeypatch.setattr(set_pricing, "SETTINGS", replace(SETTINGS, pricing_widths=(14, 14)))
    prior = random_prior(3, 14, 1.0)
    duals = 0.9 * converse(prior, 2.0).duals
    largest = float(Staircase(MutualInformation(prior), 2.0).reduced_costs(duals).max())
    bound, columns = SetFamily(prior, 2.0, 1e-9).price(duals, 0)
    assert largest <= bound
    assert (columns.values - columns.vectors @ duals).max() <= largest + 1e-12
