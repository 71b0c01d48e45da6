"""Fuzzing of tests of hypotheses: several at once, classes of distributions, and several people."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fuzz.common import (
    Arguments,
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
from ldpfrontier.model.mechanisms import randomized_response
from ldpfrontier.model.privacy import ldp_epsilon
from ldpfrontier.model.utility import FDivergence
from ldpfrontier.promises.distributed_testing import optimal_distributed_test
from ldpfrontier.promises.ldp import optimal_ldp
from ldpfrontier.promises.robust_testing import least_divergence, optimal_robust_test
from ldpfrontier.uncertainty.divergence_ball import DivergenceBall
from ldpfrontier.uncertainty.renyi_ball import RenyiBall

KINDS = ("kl", "tv", "chi2", "hellinger")


def draw_several(rng: np.random.Generator) -> Arguments:
    p = distribution(rng, int(rng.integers(1, 7)))
    several = [p, *(like(rng, p) for _ in range(rng.integers(1, 4)))]
    return {"hypotheses": several, "kind": str(rng.choice(KINDS)), "epsilon": level(rng, 1e-2, 300.0)}


def check_several(hypotheses, kind, epsilon) -> None:
    pairs = [FDivergence(p, hypotheses[0], kind) for p in hypotheses[1:]]
    found = optimal_ldp(pairs, epsilon, tolerance=1e-6)
    assert_certified(found, 1e-6)
    assert_private(ldp_epsilon(found.channel), epsilon)
    if float(epsilon) > 0:
        response = randomized_response(hypotheses[0].size, epsilon)
        assert_above(found.bound, min(pair(response) for pair in pairs), 1e-9)
        assert math.isclose(found.value, min(pair(found.channel) for pair in pairs), rel_tol=1e-9)


def _members(rng: np.random.Generator, p: np.ndarray) -> object:
    radius = float(10.0 ** rng.uniform(-6, 0.5)) * float(rng.integers(5) > 0)
    match rng.integers(5):
        case 0:
            return DivergenceBall(p, radius)
        case 1:
            return DivergenceBall(p, radius, "chi2")
        case 2:
            return RenyiBall(p[None], radius, float(rng.choice([0.5, 1.0, 2.0, 4.0])))
        case 3:
            return np.array([p, like(rng, p)])
    return p


def draw_classes(rng: np.random.Generator) -> Arguments:
    p = distribution(rng, int(rng.integers(1, 6)))
    return {
        "null": _members(rng, p),
        "alternative": _members(rng, like(rng, p)),
        "kind": str(rng.choice(KINDS)),
        "epsilon": level(rng, 1e-2, 30.0),
    }


def check_classes(null, alternative, kind, epsilon) -> None:
    found = optimal_robust_test(null, alternative, epsilon, kind, tolerance=1e-3, max_rounds=20)
    assert found.value <= found.bound < math.inf
    assert_private(ldp_epsilon(found.channel), epsilon)
    attained = FDivergence(found.pair[0], found.pair[1], kind)(found.channel)
    assert found.value <= attained * (1.0 + 1e-9) + 1e-13
    if float(epsilon) > 0:
        response = randomized_response(found.channel.n_inputs, epsilon)
        least = least_divergence(response, null, alternative, kind, 1e-3)[0]
        assert least <= found.bound * (1.0 + 1e-9) + 1e-13


def draw_people(rng: np.random.Generator) -> Arguments:
    shape = [(2, 2), (3, 3), (2, 3, 2), (4, 3), (1, 3)][rng.integers(5)]
    p = distribution(rng, math.prod(shape))
    return {
        "p0": p.reshape(shape),
        "p1": like(rng, p).reshape(shape),
        "kind": str(rng.choice(KINDS)),
        "epsilon": level(rng, 1e-2, 300.0),
    }


def check_people(p0, p1, kind, epsilon) -> None:
    found = optimal_distributed_test(p0, p1, epsilon, kind, tolerance=1e-6)
    assert found.value <= found.bound * (1.0 + 1e-12)
    assert found.bound - found.value <= 1e-5 * found.bound + 1e-13
    for channel in found.channels:
        assert_private(ldp_epsilon(channel), epsilon)
    rounding = entry_rounding(epsilon) if float(epsilon) > 0 else 0.0
    attained = FDivergence(p0.ravel(), p1.ravel(), kind)(found.channel)
    assert math.isclose(attained, found.value, rel_tol=1e-6 + rounding, abs_tol=1e-13)


TARGETS = [
    Target("optimal_ldp, several utilities", draw_several, check_several, 10),
    Target("optimal_robust_test", draw_classes, check_classes, 10),
    Target("optimal_distributed_test", draw_people, check_people, 10),
]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_hostile_instances(target: Target, times: int) -> None:
    fuzz(target, times)
