"""Mutual information with many inputs: the converse, the packings, and both against enumeration."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpfrontier.engines.listed import packing
from ldpfrontier.engines.listed.converse import converse
from ldpfrontier.engines.listed.packing import optimal_packing, pack
from ldpfrontier.engines.listed.settings import SETTINGS
from ldpfrontier.model.privacy import ldp_epsilon, rldp_epsilon
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.numerics.rounding import column_value, gamma
from ldpfrontier.promises.ldp import optimal_ldp
from ldpfrontier.promises.nonrobust import optimal_nonrobust
from support.grids import few
from support.priors import largest_information, random_prior

seeds = st.integers(0, 2**32 - 1)


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


# Packings ------------------------------------------------------------------------------------------------


@given(seeds, st.integers(1, 60), st.integers(1, 30), st.integers(1, 30))
@settings(max_examples=25, deadline=None)
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


# The optimum ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", few(range(0, 24, 3), more=[seed for seed in range(24) if seed % 3]))
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


@pytest.mark.parametrize("lack", [0.0, 1e-6])
def test_a_generated_bound_is_raised_by_rounding_and_by_what_the_duals_lack(lack, monkeypatch):
    """Duals whose sum is a millionth below the converse are proved to that millionth only."""
    prior, epsilon, proved = random_prior(1, 12, 1.0), 1.0, []
    limit = converse(prior, epsilon)
    total = float(limit.duals.sum())
    limit = replace(limit, bound=max(limit.bound, (1.0 + lack) * total))
    generate = packing.generate

    def recorded(*args, **kwargs):
        found = generate(*args, **kwargs)
        proved.append(found.bound)
        return found

    monkeypatch.setattr(packing, "converse", lambda *_: limit)
    monkeypatch.setattr(packing, "generate", recorded)
    utility = MutualInformation(prior)
    optimum = optimal_packing(utility, epsilon, tolerance=1e-8, max_rounds=1000, start=None)
    assert optimum.bound >= proved[0] * (1.0 + gamma(column_value(epsilon))) + 0.999 * lack * total
    assert optimum.bound <= limit.bound


@pytest.mark.parametrize("epsilon", few([0.5, 2.0, 5.0], more=[1.0, 3.0]))
@pytest.mark.parametrize("k", [40, 200, 1000])
def test_many_inputs(k, epsilon):
    prior = random_prior(k, k, 1.0)
    optimum = optimal_ldp(MutualInformation(prior), epsilon, tolerance=1e-6)
    check(prior, epsilon, optimum, 1e-6)
    assert optimum.upper_bound <= largest_information(epsilon) * (1.0 + 1e-9) + 2e-12


@pytest.mark.parametrize("epsilon", [1.0, 5.0])
@pytest.mark.parametrize("k", [24, 100, 1000])
def test_skewed_priors(k, epsilon):
    for prior in (random_prior(k, k, 0.1), np.append(0.5, random_prior(k, k - 1, 1.0) / 2.0)):
        optimum = optimal_ldp(MutualInformation(prior), epsilon, tolerance=1e-6)
        check(prior, epsilon, optimum, 1e-6)


@pytest.mark.parametrize("epsilon", few([1e-3, 0.05, 10.0, 300.0], more=[0.01, 30.0]))
def test_large_and_small_epsilon(epsilon, long):
    for k in (24, 60) if long else (24,):
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
