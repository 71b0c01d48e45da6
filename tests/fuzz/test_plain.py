"""Fuzzing of all that knows no uncertainty set: locally private optima, closed forms, leakage, measures."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fuzz.common import (
    LEVEL_ROUNDING,
    Arguments,
    Beyond,
    Target,
    assert_above,
    assert_certified,
    assert_private,
    distribution,
    entry_rounding,
    fuzz,
    level,
    like,
)
from ldpfrontier.hamming.any_distortion import distortion_leakage, least_distortion
from ldpfrontier.hamming.dp_leakage import hamming_leakage, known_prior_ratio
from ldpfrontier.hamming.formulas import class_one_information, class_one_leakage
from ldpfrontier.hamming.mi_leakage import information_leakage
from ldpfrontier.hamming.sources import SourceSet
from ldpfrontier.hypothesis_testing.hypotheses import Hypotheses
from ldpfrontier.hypothesis_testing.leakage import optimal_leakage
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import mutual_information
from ldpfrontier.model.mechanisms import binary_mechanism, randomized_response
from ldpfrontier.model.privacy import ldp_epsilon, rldp_epsilon
from ldpfrontier.model.utility import FDivergence, MutualInformation
from ldpfrontier.numerics.settings import SETTINGS as NUMERICS
from ldpfrontier.promises.ldp import optimal_ldp
from ldpfrontier.promises.nonrobust import optimal_nonrobust

TOLERANCE = 1e-9
KINDS = ("kl", "tv", "chi2", "hellinger")


# Locally private optima ----------------------------------------------------------------------------------


def draw_information(rng: np.random.Generator) -> Arguments:
    k = int(rng.choice([1, 2, 3, 4, 5, 6, 9]))
    return {"prior": distribution(rng, k), "epsilon": level(rng, 1e-3, 300.0)}


def draw_many(rng: np.random.Generator) -> Arguments:
    return {"prior": distribution(rng, int(rng.integers(21, 60))), "epsilon": level(rng, 1e-3, 300.0)}


def check_information(prior, epsilon) -> None:
    utility = MutualInformation(prior)
    optimum = optimal_ldp(utility, epsilon)
    assert_certified(optimum, TOLERANCE)
    assert_private(ldp_epsilon(optimum.channel), epsilon)
    if float(epsilon) > 0:
        rounding = entry_rounding(epsilon)
        assert_above(optimum.bound, utility(randomized_response(utility.prior.size, epsilon)), rounding)
        if utility.prior.size <= NUMERICS.max_partition:
            assert_above(optimum.bound, utility(binary_mechanism(utility, epsilon)), rounding)
        recomputed = mutual_information(prior, optimum.channel)
        assert math.isclose(recomputed, optimum.value, rel_tol=1e-9 + rounding, abs_tol=1e-290)


def draw_divergence(rng: np.random.Generator) -> Arguments:
    p0 = distribution(rng, int(rng.choice([1, 2, 3, 4, 6, 10, 25])))
    epsilon = level(rng, 1e-3, 300.0)
    return {"p0": p0, "p1": like(rng, p0), "kind": str(rng.choice(KINDS)), "epsilon": epsilon}


def check_divergence(p0, p1, kind, epsilon, f=None) -> None:
    utility = FDivergence(p0, p1, kind, f=f)
    optimum = optimal_ldp(utility, epsilon)
    assert_certified(optimum, TOLERANCE)
    assert_private(ldp_epsilon(optimum.channel), epsilon)
    if float(epsilon) > 0 and f is None:
        apart = float(np.abs(utility.p0 - utility.p1).max())
        rounding = entry_rounding(epsilon) * max(1.0, 1.0 / max(apart, 1e-300))
        for known in (binary_mechanism(utility, epsilon), randomized_response(utility.p0.size, epsilon)):
            assert_above(optimum.bound, utility(known), rounding)


#: Convex, f(1) = 0; none of them has a name in the package.
GENERATORS = {
    "reverse kl": lambda t: -np.log(np.maximum(t, 1e-300)),
    "jensen": lambda t: t * np.log(np.maximum(2 * t / (t + 1), 1e-300)) - np.log((t + 1) / 2),
    "cubic": lambda t: t**3 - 1.0,
    "hinge": lambda t: np.maximum(t - 1.0, 0.0),
}


def draw_custom(rng: np.random.Generator) -> Arguments:
    p0 = distribution(rng, int(rng.choice([2, 3, 5])))
    return {
        "p0": p0,
        "p1": like(rng, p0),
        "name": str(rng.choice(list(GENERATORS))),
        "epsilon": level(rng, 1e-3, 30.0),
    }


def check_custom(p0, p1, name, epsilon) -> None:
    check_divergence(p0, p1, "kl", epsilon, GENERATORS[name])


def draw_table(rng: np.random.Generator) -> Arguments:
    a1, a2 = (int(a) for a in rng.integers(1, 5, 2))
    return {"estimate": distribution(rng, a1 * a2).reshape(a1, a2), "epsilon": level(rng, 1e-3, 300.0)}


def check_nonrobust(estimate, epsilon) -> None:
    optimum = optimal_nonrobust(estimate, epsilon)
    assert_certified(optimum, TOLERANCE)
    groups = estimate.sum(axis=1, keepdims=True)
    # Groups that are empty have no distribution.
    rows = np.divide(estimate, groups, where=groups > 0, out=np.zeros_like(estimate))
    rows /= np.where(groups > 0, rows.sum(axis=1, keepdims=True), 1.0)
    assert_private(float(rldp_epsilon(optimum.channel, rows)), epsilon)
    recomputed = mutual_information(estimate, optimum.channel)
    rounding = 1e-9 + (entry_rounding(epsilon) if float(epsilon) > 0 else 0.0)
    assert math.isclose(recomputed, optimum.value, rel_tol=rounding, abs_tol=1e-290)


# Tests of hypotheses under limits ------------------------------------------------------------------------


def draw_hypotheses(rng: np.random.Generator) -> Arguments:
    letters = int(rng.choice([2, 2, 2, 3]))
    first = distribution(rng, letters)
    rows = [first, *(like(rng, first) for _ in range(rng.integers(1, 3)))]
    limits = 10.0 ** rng.uniform(-9, 1, size=len(rows))
    limits[rng.random(len(rows)) < 0.1] = rng.choice([0.0, math.inf])
    return {
        "hypotheses": np.array(rows),
        "leakage": float(limits[0]) if rng.integers(2) else limits,
        "outputs": 2 if letters == 2 and rng.integers(2) else None,
        "order": float(rng.choice([1.0, 1.0, 2.0, rng.uniform(0.1, 5.0)])),
    }


def check_leakage(hypotheses, leakage, outputs, order) -> None:
    try:
        tested = Hypotheses(hypotheses, order)
        optimum = optimal_leakage(
            hypotheses, leakage, outputs=outputs, order=order, tolerance=1e-5, max_rounds=12
        )
    except ValueError as error:
        if "has no largest value" in str(error) or "its exponential overflows" in str(error):
            raise Beyond(str(error)) from error
        raise
    assert_certified(optimum, 1e-5)
    limits = np.broadcast_to(np.asarray(leakage, dtype=float), len(hypotheses))
    assert (tested.leakage(optimum.channel) <= limits * (1 + 1e-9) + 1e-15).all()
    # To reveal the letter now and then is a mechanism, too.
    entropies = tested.entropies / math.log(2.0)
    share = min(1.0, *(limits[entropies > 0] / entropies[entropies > 0]), 1.0)
    M = tested.letters
    known = Channel(np.hstack([share * np.eye(M), np.full((M, 1), 1.0 - share)]))
    if outputs is None and share > 1e-6:
        assert_above(optimum.bound, tested.utility(known), 1e-9)


# Leakage at a distortion ---------------------------------------------------------------------------------


def draw_sources(rng: np.random.Generator) -> Arguments:
    first = distribution(rng, int(rng.integers(2, 6)))
    rows = [first, *(like(rng, first) for _ in range(rng.integers(3)))]
    distortion = float(rng.choice([rng.random(), 10.0 ** -rng.uniform(0.01, 9.0)]))
    return {"sources": np.array(rows), "distortion": max(distortion, 1e-9)}


def check_hamming(sources, distortion) -> None:
    optimum = hamming_leakage(sources, distortion)
    assert 0.0 <= optimum.bound <= optimum.value <= class_one_leakage(sources.shape[1], distortion) + 1e-9
    assert (optimum.status == "optimal") == (optimum.value - optimum.bound <= TOLERANCE)
    assert_private(ldp_epsilon(optimum.channel), optimum.value)
    assert SourceSet(sources).distortion(optimum.channel) <= float(distortion) + 1e-12
    for p in sources:
        assert math.log(known_prior_ratio(p, float(distortion))) <= optimum.value + 1e-9


def draw_any_distortion(rng: np.random.Generator) -> Arguments:
    sources = draw_sources(rng)["sources"]
    d = rng.random((sources.shape[1], int(rng.integers(1, 6)))) * 10.0 ** rng.uniform(-3, 3)
    d[rng.random(d.shape) < rng.choice([0.0, 0.3, 1.0])] = 0.0
    return {"sources": sources, "distortion": d, "epsilon": level(rng, most=300.0)}


def check_any_distortion(sources, distortion, epsilon) -> None:
    optimum = least_distortion(sources, distortion, epsilon)
    assert_certified(optimum, TOLERANCE)
    assert_private(ldp_epsilon(optimum.channel), epsilon)
    reached = (sources @ (distortion * optimum.channel.matrix).sum(axis=1)).max()
    assert math.isclose(reached, optimum.value, rel_tol=1e-12, abs_tol=1e-15 * distortion.max())
    # Nothing told is worth a little more.
    limit = min(1.1 * optimum.value + 1e-6 * distortion.max(), 1e100)
    leakage = distortion_leakage(sources, distortion, limit)
    assert 0.0 <= leakage.bound <= leakage.value
    assert leakage.bound <= float(epsilon) + LEVEL_ROUNDING
    assert_private(ldp_epsilon(leakage.channel), leakage.value)
    assert leakage.distortion <= limit + 2e-13 * distortion.max()


def check_information_leakage(sources, distortion) -> None:
    optimum = information_leakage(sources, distortion)
    assert math.isfinite(optimum.value)
    assert 0.0 <= optimum.bound <= optimum.value <= class_one_information(sources.shape[1], distortion) + 1e-9
    assert (optimum.status == "optimal") == (optimum.value - optimum.bound <= TOLERANCE)
    assert SourceSet(sources).distortion(optimum.channel) <= float(distortion) + 1e-12
    assert max(mutual_information(p, optimum.channel) for p in sources) <= optimum.value + 1e-9


TARGETS = [
    Target("optimal_ldp, information", draw_information, check_information, 40),
    Target("optimal_ldp, information, many inputs", draw_many, check_information, 3),
    Target("optimal_ldp, divergence", draw_divergence, check_divergence, 40),
    Target("optimal_ldp, divergence of one's own", draw_custom, check_custom, 10),
    Target("optimal_nonrobust", draw_table, check_nonrobust, 40),
    Target("optimal_leakage", draw_hypotheses, check_leakage, 8),
    Target("hamming_leakage", draw_sources, check_hamming, 20),
    Target("least_distortion", draw_any_distortion, check_any_distortion, 12),
    Target("information_leakage", draw_sources, check_information_leakage, 10),
]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_hostile_instances(target: Target, times: int) -> None:
    fuzz(target, times)
