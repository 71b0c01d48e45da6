"""Separate reports of S and U: the split of the budget, privacy over the ball, improved components."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from ldpfrontier.model.information import mutual_information
from ldpfrontier.model.mechanisms import randomized_response, secret_randomized_response, unlimited_response
from ldpfrontier.model.privacy import rldp_epsilon
from ldpfrontier.reports.two_reports import budget_split, independent_reporting
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from support.grids import few

TRUE = np.array([[0.1, 0.1], [0.2, 0.6]])
COUNTS = np.array([[7, 10], [26, 57]])
LOG2 = math.log(2)

seeds = st.integers(0, 2**32 - 1)


def test_independent_reporting_on_the_worked_example():
    """lopuhaa2024, Example 5: the printed d, I and eps_2 follow from the radii of Theorem 1."""
    split = budget_split(RenyiBall.confidence(COUNTS), LOG2)
    assert round(split.distance, 4) == 1.4591
    assert split.epsilon_2 == LOG2
    assert split.epsilon_1 == 0.0
    assert round(split.information, 4) == 0.0755
    assert round(mutual_information(TRUE, split.channel), 4) == 0.0718
    assert split.channel.matrix[0].round(4) == pytest.approx([0.3517, 0.1483, 0.3517, 0.1483])
    channel = independent_reporting(RenyiBall.confidence(COUNTS), LOG2)
    np.testing.assert_array_equal(channel.matrix, split.channel.matrix)
    tight = budget_split(RenyiBall.confidence(COUNTS), LOG2, distance="tight")
    assert tight.distance == pytest.approx(1.134802, abs=1e-6)
    assert tight.information == pytest.approx(0.101388, abs=1e-6)


def table(rng, a1=3, a2=4, dependence=0.3, n=3000):
    p, q = rng.dirichlet(np.full(a1, 3)), rng.dirichlet(np.full(a2, 3))
    joint = (1 - dependence) * np.outer(p, q) + dependence * rng.dirichlet(np.ones(a1 * a2)).reshape(a1, a2)
    return rng.multinomial(n, joint.ravel()).reshape(a1, a2)


@given(seeds, st.floats(0.01, 5), st.sampled_from(["published", "tight"]), st.floats(0.0, 1.0))
@settings(max_examples=30, deadline=None)
def test_independent_reporting_is_the_best_split(seed, epsilon, distance, dependence):
    ball = RenyiBall.confidence(table(np.random.default_rng(seed), dependence=dependence))
    split = budget_split(ball, epsilon, distance=distance)
    assert split.epsilon_1 + split.epsilon_2 == pytest.approx(epsilon)
    assert split.delta_2 == pytest.approx(math.log(1 + 2 * math.expm1(split.epsilon_2) / split.distance))
    assert split.information == pytest.approx(mutual_information(ball.centre, split.channel), rel=1e-10)

    def loss(x):
        delta = math.log1p(2 * math.expm1(x) / split.distance)
        channel = unlimited_response(3, epsilon - x).kron(unlimited_response(4, delta))
        return -mutual_information(ball.centre, channel)

    cuts = np.linspace(0, epsilon, 9)
    rivals = [minimize_scalar(loss, bounds=c, method="bounded").fun for c in itertools.pairwise(cuts)]
    rivals += [loss(0.0), loss(epsilon)]
    assert split.information >= -min(rivals) * (1 - 1e-9)


@pytest.mark.parametrize("order", few([0.5, 1.0, 2.0], more=[3.0]))
@pytest.mark.parametrize("distance", ["published", "tight"])
def test_reports_are_private_over_the_whole_ball(order, distance, long):
    """lopuhaa2024, Theorem 5, Lemma 2 and plain LDP, maximized over F itself."""
    rng = np.random.default_rng(5)
    for dependence, epsilon in [(0.05, 0.3), (0.3, 1.0), (0.8, 2.0)] if long else [(0.3, 1.0)]:
        ball = RenyiBall.confidence(table(rng, dependence=dependence), order=order)
        P = ball.sample(rng, 1000)
        conditionals = P / P.sum(axis=2, keepdims=True)
        channels = [
            independent_reporting(ball, epsilon, distance=distance),
            secret_randomized_response(3, 4, epsilon),
            randomized_response(12, epsilon),
        ]
        for channel in channels:
            seen = float(rldp_epsilon(channel, conditionals).max())
            worst, projected = ball.worst_case_epsilon(channel), ball.projected_epsilon(channel)
            assert seen <= worst + 1e-9 <= projected + 2e-9
            assert projected <= epsilon + 1e-9
            assert worst > 0


def test_known_independent_data_is_released_exactly():
    ball = RenyiBall(np.outer([0.25, 0.75], [0.5, 0.25, 0.25]), 0.0)
    split = budget_split(ball, 1.0)
    assert split.distance == 0.0
    assert split.delta_2 == math.inf
    assert split.epsilon_1 == 1.0
    assert ball.worst_case_epsilon(split.channel) == pytest.approx(1.0)
    assert split.information == pytest.approx(mutual_information(ball.centre, split.channel))


@pytest.mark.parametrize("counts", [[[3, 4, 5]], [[3], [4]], [[1]], [[3, 4], [0, 0]], [[1, 0], [0, 1]]])
@pytest.mark.parametrize("distance", ["published", "tight"])
def test_independent_reporting_of_small_and_degenerate_tables(counts, distance):
    ball = RenyiBall.confidence(counts)
    split = budget_split(ball, 0.7, distance=distance)
    assert ball.projected_epsilon(split.channel) <= 0.7 + 1e-12
    assert split.information == pytest.approx(mutual_information(ball.centre, split.channel), abs=1e-14)
