"""Optima with a second level, for those who know U: against enumeration, other classes, and attackers."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from ldpfrontier import RenyiBall, conditional_epsilon, optimal_robust, optimal_unconditional
from ldpfrontier.information import entropy, mutual_information
from ldpfrontier.optimal.conditional.bound import conditional_bound, public_optimum
from ldpfrontier.optimal.conditional.search import searched_mechanism
from ldpfrontier.optimal.exact.spatial_branch_and_bound import joint_optimum
from ldpfrontier.privacy import ldp_epsilon, rldp_epsilon
from ldpfrontier.utility import MutualInformation
from oracles.column_lp import full_lp
from oracles.conic import conic_epsilon
from oracles.enumeration import robust_rays
from support.grids import few
from support.tables import random_ball

#: Counts of UCI Adult, sex by race and income by relationship.
SEX_RACE = [[119, 346, 1555, 109, 8642], [192, 693, 1569, 162, 19174]]
INCOME_RELATIONSHIP = [[7275, 7449, 944, 5001, 3228, 823], [5918, 856, 37, 67, 218, 745]]


@pytest.mark.parametrize("pairs", ["all", "distinct"])
@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 2)])
@pytest.mark.parametrize("level", [0.0, 0.2, 1.0])
def test_simplices_agree_with_enumeration(shape, pairs, level):
    ball, epsilon = random_ball(shape, seed=sum(shape) + 1)
    found = optimal_robust(ball, epsilon, pairs=pairs, conditional_epsilon=level)
    rays = robust_rays(ball.lower_bounds, epsilon, pairs, level)
    expected = full_lp(MutualInformation(ball.centre), rays)
    assert found.value == pytest.approx(expected, rel=3e-4)
    assert found.value <= expected * (1 + 1e-9) <= found.upper_bound * (1 + 2e-9)


@pytest.mark.parametrize(
    ("counts", "epsilon", "nmi"),
    [
        (SEX_RACE, 0.3, 0.3577),
        (SEX_RACE, 1.0, 0.5342),
        (SEX_RACE, 2.0, 0.6953),
        (INCOME_RELATIONSHIP, 0.3, 0.4754),
        (INCOME_RELATIONSHIP, 1.0, 0.7085),
        (INCOME_RELATIONSHIP, 2.0, 0.8143),
    ],
)
def test_adult_at_equal_levels(counts, epsilon, nmi):
    ball = RenyiBall.confidence(counts)
    found = optimal_robust(ball, epsilon, envelope="exact", conditional_epsilon=epsilon, tolerance=1e-3)
    assert found.gap <= 1e-3
    assert found.value / entropy(ball.centre) == pytest.approx(nmi, abs=2e-4)
    assert conditional_epsilon(found.channel, ball.centre.shape) <= epsilon * (1 + 1e-12)
    level, unsolved = conic_epsilon(ball, found.channel)
    assert unsolved == 0
    assert level <= epsilon + 1e-6


@pytest.mark.parametrize(
    ("envelope", "seed"),
    few(
        [("simplex", 0), ("projections", 1), ("exact", 2)],
        more=[
            ("simplex", 1),
            ("simplex", 2),
            ("projections", 0),
            ("projections", 2),
            ("exact", 0),
            ("exact", 1),
        ],
    ),
)
def test_the_optimum_grows_with_the_level_between_the_classes_around_it(envelope, seed):
    ball, epsilon = random_ball([(2, 3), (3, 2), (2, 4)][seed], seed)
    levels = (0.0, 0.1, epsilon, 3.0, 30.0, math.inf)
    asked = {"envelope": envelope, "pairs": "distinct", "tolerance": 1e-3}
    found = [optimal_robust(ball, epsilon, conditional_epsilon=k, **asked) for k in levels]
    for smaller, larger in pairwise(found):
        assert smaller.value <= larger.upper_bound * (1 + 1e-9)
    assert found[-2].value == pytest.approx(found[-1].value, rel=2e-3)
    # A mechanism that is private under every distribution has both levels.
    everyone = optimal_unconditional(ball.centre, epsilon)
    assert everyone.value <= found[2].upper_bound * (1 + 1e-9)
    for optimum, level in zip(found, levels, strict=True):
        assert conditional_epsilon(optimum.channel, ball.centre.shape) <= level * (1 + 1e-12)


def test_who_believes_anything_of_u_learns_no_more():
    """With S and U independent in his eyes, an attacker has at most the conditional level."""
    ball = RenyiBall.confidence(SEX_RACE)
    channel = optimal_robust(ball, 1.0, envelope="exact", conditional_epsilon=0.5).channel
    rng = np.random.default_rng(1)
    beliefs = rng.dirichlet(np.full(5, 0.2), size=200)
    levels = rldp_epsilon(channel, np.repeat(beliefs[:, None], 2, axis=1))
    assert levels.max() <= 0.5 + 1e-9
    assert levels.max() > 0.45  # nearly attained by one who is nearly sure of u
    # Beliefs in which U depends on S, outside of F, are not covered: that takes unconditional privacy.
    assert ldp_epsilon(channel) > 1.0


def test_mechanisms_that_see_u_alone():
    """At level 0 the joint solver of all cells and that of U alone agree."""
    for seed, shape in enumerate([(2, 3), (3, 3), (2, 5)]):
        ball, epsilon = random_ball(shape, seed)
        joint = joint_optimum(ball, epsilon, tolerance=1e-3, conditional_epsilon=0.0)
        public = public_optimum(ball, epsilon, "exact", "distinct", 20_000)
        assert public.value <= joint.upper_bound * (1 + 1e-9)
        assert joint.value <= public.upper_bound * (1 + 1e-9)
        assert conditional_epsilon(public.channel, shape) == 0.0
        assert ball.worst_case_epsilon(public.channel) <= epsilon + 1e-9


@pytest.mark.parametrize("seed", few([0, 1, 2], more=range(3, 8)))
def test_the_bound_by_the_chain_rule_holds(seed):
    ball, epsilon = random_ball([(2, 3), (3, 3), (3, 2), (4, 4)][seed % 4], seed, order=[2.0, 1.0][seed % 2])
    for level in (0.05, 0.5):
        best = joint_optimum(ball, epsilon, tolerance=1e-2, conditional_epsilon=level)
        assert best.value <= conditional_bound(ball, epsilon, level, 2_000) * (1 + 1e-9)


@pytest.mark.parametrize("envelope", ["simplex", "projections", "exact"])
def test_the_search_comes_near_the_certified_optimum(envelope, long):
    """On small tables, where both run: the search is for large ones."""
    for seed, shape in ((2, (3, 2)), (1, (2, 4)), (2, (3, 3))) if long else ((2, (3, 2)),):
        ball, epsilon = random_ball(shape, seed)
        for level in (0.3, epsilon) if long else (0.3,):
            best = joint_optimum(
                ball, epsilon, envelope=envelope, pairs="all", tolerance=1e-3, conditional_epsilon=level
            )
            channel, _ = searched_mechanism(ball, epsilon, level, envelope, tolerance=1e-3, max_rounds=40)
            value = mutual_information(ball.centre, channel)
            assert conditional_epsilon(channel, shape) <= level * (1 + 1e-12)
            assert ball.worst_case_epsilon(channel) <= epsilon * (1 + 1e-12)
            if envelope != "exact":  # whose joint optimum compares every value with itself, too
                assert value <= best.upper_bound * (1 + 1e-9)
            assert value >= 0.97 * best.value


def test_a_table_too_large_for_joint_search():
    counts = np.random.default_rng(3).integers(20, 400, (3, 6))
    ball = RenyiBall.confidence(counts)
    found = optimal_robust(ball, 1.0, envelope="exact", conditional_epsilon=0.4, max_nodes=500, max_rounds=4)
    assert conditional_epsilon(found.channel, (3, 6)) <= 0.4 * (1 + 1e-12)
    assert ball.worst_case_epsilon(found.channel) <= 1.0 + 1e-9
    without = optimal_robust(ball, 1.0, envelope="exact", max_nodes=500)
    assert optimal_unconditional(ball.centre, 0.4).value <= found.value <= found.upper_bound
    assert found.upper_bound < without.upper_bound


def test_a_start_is_used_and_checked():
    ball = RenyiBall.confidence(SEX_RACE)
    narrow = optimal_robust(ball, 1.0, envelope="exact", conditional_epsilon=0.3)
    wide = optimal_robust(ball, 1.0, envelope="exact", conditional_epsilon=0.4, start=narrow.channel)
    assert wide.value >= narrow.value
    with pytest.raises(ValueError, match=r"up to 0\.\d+ nats; conditional_epsilon is 0\.1"):
        optimal_robust(ball, 1.0, envelope="exact", conditional_epsilon=0.1, start=narrow.channel)
    with pytest.raises(ValueError, match="The start is private at level"):
        optimal_robust(ball, 0.2, envelope="exact", conditional_epsilon=0.3, start=narrow.channel)


@pytest.mark.parametrize("level", [-0.1, math.nan, 31.0, "x"])
def test_levels_out_of_range(level):
    with pytest.raises((TypeError, ValueError), match="conditional_epsilon"):
        optimal_robust(RenyiBall.confidence(SEX_RACE), 1.0, conditional_epsilon=level)


def test_where_nothing_is_solved_secret_randomized_response_is_returned():
    ball = RenyiBall(np.full((2, 3), 1 / 6), radius=0.0)
    found = optimal_robust(ball, 1.0, conditional_epsilon=0.5)
    assert found.status == "bounded"
    assert 0 < found.value < found.upper_bound
    assert ldp_epsilon(found.channel) == pytest.approx(1.0)  # twice the level of S: SRR at 0.5


def test_trivial_cases():
    ball = RenyiBall.confidence([[3, 5, 9]])
    alone = optimal_robust(ball, 1.0, pairs="distinct", conditional_epsilon=0.1)
    np.testing.assert_array_equal(alone.channel.matrix, np.eye(3))
    silent = optimal_robust(RenyiBall.confidence(SEX_RACE), 0.0, conditional_epsilon=1.0)
    np.testing.assert_array_equal(silent.channel.matrix, np.ones((10, 1)))
