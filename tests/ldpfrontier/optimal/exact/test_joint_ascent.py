"""Mechanisms over the uncertainty set on tables of 17 to 30 cells, against a joint search from nothing.

With `--long` a hundred random tables are solved, which takes an hour: most of it is the search from nothing.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import pytest

from ldpfrontier.channel import Channel
from ldpfrontier.information import mutual_information
from ldpfrontier.optimal.column_generation.smoothed import best_channel
from ldpfrontier.optimal.exact.joint_ascent import MechanismAscent, ascended_mechanism
from ldpfrontier.optimal.exact.separation import Oracle
from ldpfrontier.optimal.exact.spatial_branch_and_bound import JointColumns, generate_by_search
from ldpfrontier.optimal.products.ball_family import BallFamily
from ldpfrontier.optimal.projections.budget_multiplier import shared_budget_mechanism
from ldpfrontier.optimal.projections.solve import mechanism_without_bound
from ldpfrontier.optimal.robust import optimal_robust
from ldpfrontier.optimum import Optimum
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from ldpfrontier.utility import MutualInformation
from oracles.conic import barrier_levels, questions

SHAPES = [
    (3, 6),
    (4, 5),
    (5, 4),
    (6, 3),
    (3, 7),
    (4, 6),
    (6, 4),
    (3, 8),
    (5, 5),
    (4, 7),
    (3, 10),
    (5, 6),
    (6, 5),
]


def instance(number: int) -> tuple[RenyiBall, float]:
    """Return a random table of 18 to 30 cells as an uncertainty set of order 0.7, 1 or 2, and a level."""
    rng = np.random.default_rng([2024, number])
    shape = SHAPES[number % len(SHAPES)]
    truth = rng.dirichlet(np.full(math.prod(shape), rng.choice([0.5, 1.0, 3.0])))
    counts = rng.multinomial(int(10 ** rng.uniform(2.3, 4.5)), truth).reshape(shape)
    counts = counts[counts.sum(axis=1) > 0]
    order = (0.7, 1.0, 2.0)[(number // len(SHAPES) + number) % 3]
    epsilon = math.exp(rng.uniform(math.log(0.2), math.log(2.0)))
    return RenyiBall.confidence(counts[:, counts.sum(axis=0) > 0], order=order), epsilon


@lru_cache(maxsize=1)
def optimum(number: int) -> Optimum:
    """Return the optimum over the uncertainty set, which several tests ask for."""
    ball, epsilon = instance(number)
    return optimal_robust(ball, epsilon, envelope="exact")


def search_from_nothing(ball: RenyiBall, epsilon: float, max_rounds: int) -> float:
    """Return the utility of the mechanism that the joint search of small tables finds with no start."""
    family = JointColumns(Oracle(ball, epsilon), MutualInformation(ball.centre), max_nodes=0)
    generate_by_search(family, 1e-4, max_rounds)
    return mutual_information(ball.centre.ravel(), best_channel(family.found))


def conic_level(ball: RenyiBall, channel) -> float:
    """Return the level over F by the barrier method in the joint distribution, which shares no code."""
    asked = questions(ball, channel)
    assert asked is not None
    s, q, t, w = (np.array(x) for x in zip(*asked, strict=True))
    keep = (q * ball.centre[s]).sum(axis=1) > 1e-9  # outputs that never occur are beyond its accuracy
    m = int(keep.sum())
    centre = np.broadcast_to(ball.centre, (m, *ball.centre.shape))
    levels, _ = barrier_levels(
        centre, np.full(m, ball.radius), ball.order, s[keep], q[keep], t[keep], w[keep]
    )
    assert np.isfinite(levels).mean() > 0.9
    return float(np.nanmax(levels))


def cases(*quick: int) -> list:
    """Return the numbers of tables that are quick, and the other ones of a hundred for `--long`."""
    return [pytest.param(n, marks=[] if n in quick else pytest.mark.long) for n in range(100)]


@pytest.mark.parametrize("number", cases(1))
def test_mechanisms_are_private_over_the_joint_distribution(number: int) -> None:
    ball, epsilon = instance(number)
    found = optimum(number)
    assert ball.worst_case_epsilon(found.channel) <= epsilon + 1e-9
    assert conic_level(ball, found.channel) <= epsilon + 1e-7
    assert found.value <= found.bound


@pytest.mark.parametrize("number", cases(1))
def test_no_search_from_nothing_finds_more(number: int, long: bool) -> None:
    ball, epsilon = instance(number)
    found = optimum(number)
    assert search_from_nothing(ball, epsilon, 40 if long else 12) <= found.value * (1.0 + 1e-3)


@pytest.mark.parametrize(
    ("ball", "epsilon", "gain"),
    [
        (RenyiBall.confidence([[30, 10, 5], [10, 30, 9]], order=0.7), 1.0, 1.0),
        pytest.param(*instance(6), 1.003, marks=pytest.mark.long),
    ],
)
def test_an_ascent_is_repeated_exactly(ball: RenyiBall, epsilon: float, gain: float) -> None:
    before = channel_before(ball, epsilon)
    oracle = Oracle(ball, epsilon)
    after, again = (ascended_mechanism(oracle, before) for _ in range(2))
    prior = ball.centre.ravel()
    assert mutual_information(prior, after) > gain * mutual_information(prior, before)
    np.testing.assert_array_equal(after.matrix, again.matrix)


@pytest.mark.long
def test_an_ascent_gains() -> None:
    """A mechanism of one multiplier for all pairs is improved."""
    ball, epsilon = instance(6)
    before = channel_before(ball, epsilon)
    after = ascended_mechanism(Oracle(ball, epsilon), before)
    prior = ball.centre.ravel()
    assert mutual_information(prior, after) > 1.003 * mutual_information(prior, before)
    assert ball.worst_case_epsilon(after) <= epsilon


def channel_before(ball: RenyiBall, epsilon: float) -> Channel:
    """Return the mechanism of one multiplier for all pairs."""
    family = BallFamily(ball, epsilon, distinct=True)
    start, _ = mechanism_without_bound(family, tolerance=1e-3, max_rounds=60)
    found = shared_budget_mechanism(ball, epsilon, tolerance=1e-3, max_rounds=60, start=start)
    assert found is not None
    return found[0]


def test_no_step_loses_and_all_columns_are_in_the_cone() -> None:
    ball, epsilon = instance(1)
    ascent = MechanismAscent(Oracle(ball, epsilon))
    assert ascent.value == pytest.approx(0.0, abs=1e-12)
    polyopt = optimal_robust(ball, epsilon, pairs="distinct").channel.matrix.T
    ascent.add(ascent.utility.columns(polyopt / (polyopt @ ascent.utility.prior)[:, None]))
    values = [ascent.value]
    for _ in range(3):
        ascent.rise(30)
        values.append(ascent.value)
    assert (np.diff(values) >= -1e-12).all()
    assert values[-1] > 1.01 * values[0]
    assert (ascent.oracle.levels(ascent.support) <= epsilon).all()
    assert mutual_information(ball.centre.ravel(), ascent.channel) == pytest.approx(ascent.value, rel=1e-6)
