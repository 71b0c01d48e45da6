"""Two levels, for those who know nothing and for those who know U: the intersection of two cones."""

from __future__ import annotations

import numpy as np
import pytest

from ldpfrontier import RenyiBall, conditional_cone, conditional_epsilon, optimal_mechanism, robust_cone
from ldpfrontier.model.cones import polyopt_cone
from ldpfrontier.model.information import entropy
from ldpfrontier.model.optimum import Optimum
from ldpfrontier.model.privacy import ldp_epsilon, rldp_epsilon
from ldpfrontier.model.utility import MutualInformation
from oracles.column_lp import full_lp
from oracles.conic import conic_epsilon
from oracles.enumeration import robust_rays
from support.grids import few
from support.tables import random_ball

#: Counts of UCI Adult, sex by race and income by relationship.
SEX_RACE = [[119, 346, 1555, 109, 8642], [192, 693, 1569, 162, 19174]]
INCOME_RELATIONSHIP = [[7275, 7449, 944, 5001, 3228, 823], [5918, 856, 37, 67, 218, 745]]


def over_set(ball: RenyiBall, epsilon: float, level: float) -> Optimum:
    cone = robust_cone(ball, epsilon) & conditional_cone(ball.centre.shape, level)
    return optimal_mechanism(MutualInformation(ball.centre), cone, tolerance=1e-3)


@pytest.mark.parametrize("pairs", ["all", "distinct"])
@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 2)])
@pytest.mark.parametrize("level", [0.0, 0.2, 1.0])
def test_simplices_agree_with_enumeration(shape, pairs, level):
    ball, epsilon = random_ball(shape, seed=sum(shape) + 1)
    cone = polyopt_cone(ball.lower_bounds, epsilon, pairs=pairs) & conditional_cone(shape, level)
    found = optimal_mechanism(MutualInformation(ball.centre), cone)
    expected = full_lp(MutualInformation(ball.centre), robust_rays(ball.lower_bounds, epsilon, pairs, level))
    assert found.value == pytest.approx(expected, rel=3e-4)
    assert found.value <= expected * (1 + 1e-9) <= found.upper_bound * (1 + 2e-9)


@pytest.mark.parametrize(
    ("counts", "epsilon", "nmi"),
    few(
        [(SEX_RACE, 1.0, 0.5342), (INCOME_RELATIONSHIP, 0.3, 0.4754)],
        more=[
            (SEX_RACE, 0.3, 0.3577),
            (SEX_RACE, 2.0, 0.6953),
            (INCOME_RELATIONSHIP, 1.0, 0.7085),
            (INCOME_RELATIONSHIP, 2.0, 0.8143),
        ],
    ),
)
def test_adult_at_equal_levels(counts, epsilon, nmi):
    ball = RenyiBall.confidence(counts)
    found = over_set(ball, epsilon, epsilon)
    assert found.gap <= 1e-3
    assert found.value / entropy(ball.centre) == pytest.approx(nmi, abs=2e-4)
    assert conditional_epsilon(found.channel, ball.centre.shape) <= epsilon * (1 + 1e-12)
    level, unsolved = conic_epsilon(ball, found.channel)
    assert unsolved == 0
    assert level <= epsilon + 1e-6


def test_who_believes_anything_of_u_learns_no_more():
    """With S and U independent in his eyes, an attacker has at most the conditional level."""
    channel = over_set(RenyiBall.confidence(SEX_RACE), 1.0, 0.5).channel
    beliefs = np.random.default_rng(1).dirichlet(np.full(5, 0.2), size=200)
    levels = rldp_epsilon(channel, np.repeat(beliefs[:, None], 2, axis=1))
    assert levels.max() <= 0.5 + 1e-9
    assert levels.max() > 0.45  # nearly attained by one who is nearly sure of u
    # Beliefs in which U depends on S, outside of F, are not covered: that takes unconditional privacy.
    assert ldp_epsilon(channel) > 1.0
