"""Mutual information with many inputs: the converse, the packings, and both against enumeration."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpfrontier.channel import Channel
from ldpfrontier.mechanisms import randomized_response
from ldpfrontier.optimal.improved_reporting import ConditionalInformation
from ldpfrontier.optimal.ldp import packing, set_pricing
from ldpfrontier.optimal.ldp.converse import converse
from ldpfrontier.optimal.ldp.nonrobust import optimal_nonrobust
from ldpfrontier.optimal.ldp.packing import optimal_packing, pack
from ldpfrontier.optimal.ldp.set_pricing import SetFamily
from ldpfrontier.optimal.ldp.settings import SETTINGS
from ldpfrontier.optimal.ldp.solve import optimal_ldp
from ldpfrontier.optimal.ldp.staircase import Staircase
from ldpfrontier.privacy import ldp_epsilon, rldp_epsilon
from ldpfrontier.types import Intractable
from ldpfrontier.utility import MutualInformation

seeds = st.integers(0, 2**32 - 1)
concentrations = st.sampled_from([0.1, 0.3, 1.0, 5.0, math.inf])


def random_prior(seed, k, concentration):
    uniform = np.full(k, 1.0 / k)
    if concentration == math.inf:
        return uniform
    drawn = np.random.default_rng(seed).dirichlet(np.full(k, concentration))
    return 1e-9 * uniform + (1.0 - 1e-9) * drawn


def limit(epsilon):
    """C(eps), the value of the best column of a prior that can be divided at will."""
    z = epsilon * math.exp(epsilon) / math.expm1(epsilon)
    return z - 1.0 - math.log(z)


def check(prior, epsilon, optimum, gap):
    matrix = optimum.channel.matrix
    assert matrix.shape[0] == len(prior)
    assert optimum.channel.n_outputs <= len(prior)
    assert np.abs(matrix.sum(axis=1) - 1.0).max() < 1e-12
    gain = np.log(matrix / matrix.min(axis=0))
    assert np.minimum(gain, np.abs(gain - epsilon)).max() < 1e-9
    assert gain.max() <= epsilon + 1e-12
    rounding = 1e-12 + 1e-14 / epsilon
    assert optimum.value == pytest.approx(MutualInformation(prior)(optimum.channel), rel=rounding)
    assert optimum.gap <= gap
    assert optimum.status == "optimal"


# The converse --------------------------------------------------------------------------------------------


@given(seeds, st.integers(2, 10), concentrations, st.floats(0.01, 12.0))
@settings(max_examples=80, deadline=None)
def test_prices_of_the_converse_leave_no_column_a_gain(seed, k, concentration, epsilon):
    prior = random_prior(seed, k, concentration)
    bound = converse(prior, epsilon)
    assert bound.duals.sum() == pytest.approx(bound.bound, rel=1e-9)
    reduced = Staircase(MutualInformation(prior), epsilon).reduced_costs(bound.duals)
    assert reduced.max() <= 1e-12 * (1.0 + bound.bound)
    assert bound.bound <= limit(epsilon) * (1.0 + 1e-12)


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0, 5.0])
def test_ends_of_the_converse(epsilon):
    """C(eps) where nobody is likely, randomized response where everybody is; in between, below both."""
    fine = np.full(10_000, 1e-4)
    assert converse(fine, epsilon).bound == pytest.approx(limit(epsilon), rel=1e-10)
    assert not converse(fine, epsilon).alone.any()
    coarse = np.array([0.5, 0.5])
    response = MutualInformation(coarse)(randomized_response(2, epsilon))
    assert converse(coarse, epsilon).alone.all()
    assert converse(coarse, epsilon).bound == pytest.approx(response, rel=1e-10)
    mixed = np.append(0.5, np.full(1000, 0.0005))
    assert converse(mixed, epsilon).alone.sum() == 1
    assert response < converse(mixed, epsilon).bound < limit(epsilon)


# Packings ------------------------------------------------------------------------------------------------


@given(seeds, st.integers(1, 60), st.integers(1, 30), st.integers(1, 30))
@settings(max_examples=60, deadline=None)
def test_every_item_is_packed_equally_often(seed, items, one, other):
    copies, bins = sorted((one, other))
    masses = random_prior(seed, items, 1.0)
    inside = pack(masses, bins, copies, 0.0)
    assert (inside.sum(axis=1) == copies).all()
    load = masses @ inside
    assert np.ptp(load) <= masses.max() + 1e-12


def test_bins_are_levelled():
    masses = random_prior(1, 300, 1.0)
    load = masses @ pack(masses, 31, 7, 1e-4)
    assert load.std() <= 1e-4 * load.mean()


# Pricing -------------------------------------------------------------------------------------------------


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


# The optimum ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(24))
def test_equals_enumeration(seed):
    k = 4 + seed % 13
    prior = random_prior(seed, k, [0.1, 1.0, 5.0, math.inf][seed % 4])
    epsilon = float(np.random.default_rng(seed).choice([0.3, 1.0, 2.0, 4.0, 7.0]))
    utility = MutualInformation(prior)
    expected = optimal_ldp(utility, epsilon)
    optimum = optimal_packing(utility, epsilon, tolerance=1e-8, max_rounds=1000, start=None)
    assert optimum.value == pytest.approx(expected.value, rel=2e-8)
    assert optimum.upper_bound >= expected.value * (1.0 - 1e-9)
    assert optimum.gap <= 2e-8


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 3.0, 5.0])
@pytest.mark.parametrize("k", [40, 200, 1000])
def test_many_inputs(k, epsilon):
    prior = random_prior(k, k, 1.0)
    optimum = optimal_ldp(MutualInformation(prior), epsilon, tolerance=1e-6)
    check(prior, epsilon, optimum, 1e-6)
    assert optimum.upper_bound <= limit(epsilon) * (1.0 + 1e-9) + 2e-12


@pytest.mark.parametrize("epsilon", [1.0, 5.0])
@pytest.mark.parametrize("k", [24, 100, 1000])
def test_skewed_priors(k, epsilon):
    for prior in (random_prior(k, k, 0.1), np.append(0.5, random_prior(k, k - 1, 1.0) / 2.0)):
        optimum = optimal_ldp(MutualInformation(prior), epsilon, tolerance=1e-6)
        check(prior, epsilon, optimum, 1e-6)


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 0.05, 10.0, 30.0, 300.0])
def test_large_and_small_epsilon(epsilon):
    for k in (24, 60):
        for prior in (random_prior(k, k, 1.0), np.full(k, 1.0 / k)):
            check(prior, epsilon, optimal_ldp(MutualInformation(prior), epsilon), 1e-9)


def test_ten_thousand_inputs():
    prior = random_prior(0, 10_000, 1.0)
    optimum = optimal_ldp(MutualInformation(prior), 3.0, tolerance=1e-6)
    check(prior, 3.0, optimum, 1e-6)
    assert optimum.channel.n_outputs < 200


def test_no_more_outputs_than_fit_into_memory(monkeypatch):
    monkeypatch.setattr(packing, "SETTINGS", replace(SETTINGS, max_channel_entries=300 * 20))
    prior = random_prior(0, 300, 1.0)
    for epsilon in (1.0, 6.0, 20.0):
        optimum = optimal_ldp(MutualInformation(prior), epsilon)
        assert optimum.channel.n_outputs <= 20
        assert ldp_epsilon(optimum.channel) <= epsilon + 1e-12
        assert 0.5 * optimum.upper_bound < optimum.value <= optimum.upper_bound


def test_inputs_that_never_occur():
    prior = random_prior(5, 30, 1.0)
    everywhere = np.zeros(50)
    everywhere[10:40] = prior
    start = optimal_ldp(MutualInformation(everywhere), 1.5).channel
    optimum = optimal_ldp(MutualInformation(everywhere), 2.0, start=start)
    assert optimum.value == pytest.approx(optimal_ldp(MutualInformation(prior), 2.0).value, rel=1e-8)
    assert optimum.value == pytest.approx(MutualInformation(everywhere)(optimum.channel), rel=1e-12)
    assert optimum.channel.n_inputs == 50
    assert ldp_epsilon(optimum.channel) <= 2.0 + 1e-12
    assert optimal_ldp(MutualInformation(np.eye(30)[3]), 1.0).value == 0.0


def test_start_and_rounds():
    prior = random_prior(24, 24, 0.1)
    utility = MutualInformation(prior)
    cold = optimal_ldp(utility, 1.0, max_rounds=1)
    assert cold.status == "bounded"
    best = optimal_ldp(utility, 1.0, tolerance=1e-7)
    warm = optimal_ldp(utility, 1.0, max_rounds=1, start=best.channel)
    assert cold.value < warm.value
    assert best.value <= warm.value * (1.0 + 1e-9)
    assert warm.value <= best.upper_bound


def test_many_sensitive_values():
    joint = np.random.default_rng(0).dirichlet(np.ones(60)).reshape(30, 2)
    optimum = optimal_nonrobust(joint, 1.0, tolerance=1e-6)
    assert optimum.gap <= 1e-6
    assert rldp_epsilon(optimum.channel, joint / joint.sum(axis=1, keepdims=True)) <= 1.0 + 1e-9


def test_other_utilities_are_listed():
    with pytest.raises(Intractable, match="21 inputs; at most 20 are supported"):
        optimal_ldp(ConditionalInformation(np.full((2, 21), 1 / 42)), 1.0)
    with pytest.raises(ValueError, match="The start has 3 inputs; it must have 30"):
        optimal_ldp(MutualInformation(np.full(30, 1 / 30)), 1.0, start=Channel(np.eye(3)))
