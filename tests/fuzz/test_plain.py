"""Fuzzing of all that knows no uncertainty set: locally private optima, closed forms, leakage, measures."""

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
)
from ldpfrontier.information import mutual_information
from ldpfrontier.mechanisms import binary_mechanism, randomized_response
from ldpfrontier.optimal.staircase import optimal_ldp
from ldpfrontier.privacy import ldp_epsilon
from ldpfrontier.utility import MutualInformation

TOLERANCE = 1e-9


def draw_information(rng: np.random.Generator) -> Arguments:
    k = int(rng.choice([1, 2, 3, 4, 5, 6, 9]))
    return {"prior": distribution(rng, k), "epsilon": level(rng, 1e-10, 300.0)}


def check_information(prior, epsilon) -> None:
    utility = MutualInformation(prior)
    optimum = optimal_ldp(utility, epsilon)
    assert_certified(optimum, TOLERANCE)
    assert_private(ldp_epsilon(optimum.channel), epsilon)
    if float(epsilon) > 0:
        rounding = entry_rounding(epsilon)
        for known in (binary_mechanism(utility, epsilon), randomized_response(utility.prior.size, epsilon)):
            assert_above(optimum.bound, utility(known), rounding)
        assert math.isclose(
            mutual_information(prior, optimum.channel), optimum.value, rel_tol=1e-9 + rounding
        )


TARGETS = [
    Target(
        "optimal_ldp, information",
        draw_information,
        check_information,
        spoil=("epsilon",),
        retype=("epsilon",),
    ),
]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_hostile_instances(target: Target, count: int | None) -> None:
    fuzz(target, count)
