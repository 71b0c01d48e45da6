"""Bounds against 60 digits: one input that outweighs all others, of 1e-3 down to 1e-16."""

from itertools import islice, product

import numpy as np
import pytest

from ldpfrontier.model.utility import FDivergence, MutualInformation
from ldpfrontier.promises.ldp import optimal_ldp
from ldpfrontier.promises.nonrobust import optimal_nonrobust
from ldpfrontier.promises.robust import optimal_robust
from ldpfrontier.promises.unconditional import optimal_unconditional
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from oracles.high_precision import (
    divergence_with_one_likely,
    information,
    information_with_one_likely,
    output_divergence,
)
from support.grids import few

EPSILONS = (0.01, 0.1, 0.5, 1.0, 3.0, 8.0, 20.0)
SMALL = (1e-3, 1e-4, 1e-6, 1e-9, 1e-12, 1e-13, 1e-14, 1e-15, 1e-16)
KINDS = ("kl", "tv", "chi2", "hellinger")


def one_likely(k, small):
    return np.append(1.0 - (k - 1) * small, np.full(k - 1, small))


def uneven(k, small, seed=0):
    others = small * np.random.default_rng(seed).uniform(0.05, 1.0, k - 1)
    return np.append(1.0 - others.sum(), others)


def instances(k, long, factor=1.0):
    """Pairs (probability of the others, epsilon): all, or every eighth."""
    every = [(q, e) for q, e in product(SMALL, EPSILONS) if factor * (k - 1) * q < 1.0]
    return islice(every, 0, None, 1 if long else 8)


def check(optimum, own, best=None):
    """The bound is above what any mechanism has, by 1e-12 where the value is the best one."""
    assert optimum.bound >= own
    assert optimum.value == pytest.approx(float(own), rel=1e-12)
    if best is not None:
        assert optimum.bound >= best
        assert optimum.value <= float(best) * (1.0 + 1e-12)
        assert optimum.bound <= float(best) * (1.0 + 2e-12 + 2.0 * optimum.gap)


@pytest.mark.parametrize(("k", "small", "epsilon"), [(21, 1e-14, 1.0), (41, 1e-13, 0.5), (21, 1e-9, 0.1)])
def test_bounds_that_cancellation_made_void(k, small, epsilon):
    prior = one_likely(k, small)
    optimum = optimal_ldp(MutualInformation(prior), epsilon)
    check(optimum, information(prior, optimum.channel.matrix), information_with_one_likely(epsilon, prior))
    assert optimum.gap == 0.0


@pytest.mark.parametrize("k", few([3, 21], more=[20, 41, 100]))
def test_information(k, long):
    for small, epsilon in instances(k, long):
        prior = one_likely(k, small)
        optimum = optimal_ldp(MutualInformation(prior), epsilon)
        best = information_with_one_likely(epsilon, prior)
        check(optimum, information(prior, optimum.channel.matrix), best)
        prior = uneven(k, small)
        optimum = optimal_ldp(MutualInformation(prior), epsilon)
        check(optimum, information(prior, optimum.channel.matrix))


@pytest.mark.long
@pytest.mark.parametrize("k", [255, 300, 1000])
def test_information_of_many_inputs(k):
    for small, epsilon in instances(k, False):
        for prior in (one_likely(k, small), uneven(k, small)):
            optimum = optimal_ldp(MutualInformation(prior), epsilon)
            check(optimum, information(prior, optimum.channel.matrix))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", few([4, 21], more=[12, 100]))
def test_divergences(k, kind, long):
    for small, epsilon in instances(k, long, factor=3.0):
        p0, p1 = one_likely(k, small), one_likely(k, 3.0 * small)
        optimum = optimal_ldp(FDivergence(p0, p1, kind), epsilon, tolerance=1e-13)
        best = divergence_with_one_likely(kind, epsilon, p0, p1)
        check(optimum, output_divergence(kind, p0, p1, optimum.channel.matrix), best)
        p0 = uneven(k, small)
        p1 = np.append(p0[0], np.roll(p0[1:], 1))
        optimum = optimal_ldp(FDivergence(p0, p1, kind), epsilon)
        # Of differences of both signs the rounding of a stored channel leaves fewer digits.
        own = output_divergence(kind, p0, p1, optimum.channel.matrix)
        assert optimum.bound >= own
        assert optimum.value == pytest.approx(float(own), rel=1e-9)


def likely_rows(k, small, seed):
    rows = np.random.default_rng(seed).dirichlet(np.ones(3), k)
    return one_likely(k, small)[:, None] * rows


@pytest.mark.parametrize("k", few([3, 12], more=[25]))
def test_nonrobust(k, long):
    for seed, (small, epsilon) in enumerate(instances(k, long)):
        joint = likely_rows(k, small, seed)
        optimum = optimal_nonrobust(joint, epsilon)
        check(optimum, information(joint.ravel(), optimum.channel.matrix))


@pytest.mark.parametrize("k", [2, 4])
def test_unconditional(k, long):
    for seed, (small, epsilon) in enumerate(instances(k, long)):
        joint = likely_rows(k, small, seed)
        optimum = optimal_unconditional(joint, epsilon, max_rounds=30)
        assert optimum.bound >= information(joint.ravel(), optimum.channel.matrix)


@pytest.mark.parametrize("k", few([2, 4], more=[8]))
def test_robust(k, long):
    for seed, (small, epsilon) in enumerate(instances(k, long)):
        joint = likely_rows(k, small, seed)
        ball = RenyiBall(joint / joint.sum(), 1e-4)
        optimum = optimal_robust(ball, epsilon, envelope="simplex", max_rounds=30)
        assert optimum.bound >= information(joint.ravel(), optimum.channel.matrix)
