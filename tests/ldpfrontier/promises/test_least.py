"""The least information over F: known saddle points, random mechanisms below the bound, degenerate sets."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ldpfrontier.base.types import Intractable
from ldpfrontier.engines.over_set.least_information import LeastInformation, informations
from ldpfrontier.model.average_utility import AverageUtility
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.cones import polyopt_cone
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.promises.least import least_information
from ldpfrontier.promises.listed_rays import listed_optimum
from ldpfrontier.promises.robust import optimal_robust
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from support.tables import random_ball

FEW = [[7, 10], [26, 57]]


@pytest.mark.parametrize(
    ("counts", "epsilon", "value"),
    [
        (FEW, math.log(2.0), 0.326261),
        (FEW, 2.0, 0.632372),
        ([[70, 100], [260, 570]], 2.0, 0.751505),
        ([[20, 5, 15], [10, 30, 20]], math.log(2.0), 0.235631),
    ],
)
def test_saddle_points(counts: list[list[int]], epsilon: float, value: float) -> None:
    ball = RenyiBall.confidence(counts)
    found = optimal_robust(ball, epsilon, least=True, tolerance=5e-5)
    assert found.value == pytest.approx(value, rel=1e-4)
    assert found.bound == pytest.approx(value, rel=1e-4)
    assert found.value <= found.bound
    # No member of F is below the value that was proved, and the mechanism for the centre has less.
    members = ball.sample(np.random.default_rng(1), 4_000).reshape(4_000, -1)
    assert informations(members, found.channel).min() >= found.value * (1 - 1e-9)
    assert informations(members, optimal_robust(ball, epsilon).channel).min() < found.value
    assert ball.worst_case_epsilon(found.channel) <= epsilon + 1e-9


def test_no_mechanism_of_the_class_has_more_than_the_bound() -> None:
    """By optima of random averages over F, each of which is the best for other distributions."""
    ball, rng = RenyiBall.confidence(FEW), np.random.default_rng(2)
    bound = optimal_robust(ball, 1.0, least=True, tolerance=1e-3).bound
    members, over_set = ball.sample(rng, 500).reshape(500, -1), LeastInformation(ball)
    cone, best = polyopt_cone(ball.lower_bounds, 1.0), 0.0
    for _ in range(40):
        chosen = [MutualInformation(members[i]) for i in rng.integers(500, size=3)]
        mechanism = listed_optimum(AverageUtility(chosen, rng.dirichlet(np.ones(3))), cone)
        assert mechanism is not None
        least = over_set.least(mechanism.channel, np.inf).value
        assert least <= bound * (1 + 1e-9)
        best = max(best, least)
    assert best > 0.9 * bound


def test_mechanisms_private_over_the_set_itself_have_more() -> None:
    ball = RenyiBall.confidence(FEW)
    of_set = optimal_robust(ball, math.log(2.0), least=True, envelope="exact", tolerance=1e-2)
    assert 0.48 < of_set.value <= of_set.bound < 0.5
    assert ball.worst_case_epsilon(of_set.channel) <= math.log(2.0) + 1e-9
    nothing_to_hide = optimal_robust(RenyiBall.confidence([[5, 9]]), 1.0, least=True, envelope="exact")
    assert nothing_to_hide.status == "optimal"
    assert nothing_to_hide.channel.n_outputs == 2


def test_the_smallest_and_the_largest_sets() -> None:
    centre = np.array(FEW) / 100.0
    known = optimal_robust(RenyiBall(centre, 0.0), 1.0, least=True)
    assert known.value == pytest.approx(optimal_robust(RenyiBall(centre, 1e-9), 1.0).value, rel=1e-3)
    everything = optimal_robust(RenyiBall(centre, math.inf), 1.0, least=True)
    assert everything.value == pytest.approx(0.0, abs=1e-9)
    assert everything.bound == pytest.approx(0.0, abs=1e-9)
    assert optimal_robust(RenyiBall(centre, 0.1), 0.0, least=True).value == 0.0


def test_what_is_refused() -> None:
    ball = random_ball((2, 3), 1)[0]
    with pytest.raises(ValueError, match="least is 'yes'; it must be True or False"):
        optimal_robust(ball, 1.0, least="yes")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match='asked for with observed="useful"'):
        optimal_robust(ball, 1.0, least=True, observed="useful")
    with pytest.raises(ValueError, match="asked for with a start"):
        optimal_robust(ball, 1.0, least=True, start=Channel(np.eye(6)))
    with pytest.raises(Intractable, match=r"The table has 2 x 8 cells; .* 13 cells and"):
        optimal_robust(random_ball((2, 8), 1)[0], 1.0, least=True)
    with pytest.raises(Intractable, match=r"The table has 18 cells; over F itself .* up to 16"):
        optimal_robust(random_ball((2, 9), 1)[0], 1.0, least=True, envelope="exact")


def test_both_ends_of_the_least_information() -> None:
    ball = RenyiBall.confidence(FEW)
    least, most = least_information(ball, optimal_robust(ball, math.log(2.0)).channel, tolerance=1e-5)
    assert least <= 0.326159 * (1 + 1e-5)
    assert most == pytest.approx(0.326159, rel=1e-4)
    assert most - least <= 1e-5
    with pytest.raises(ValueError, match="The channel has 3 inputs; the ball is over 4 pairs"):
        least_information(ball, Channel(np.eye(3)))
