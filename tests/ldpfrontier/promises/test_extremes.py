"""At the ends of the ranges of levels, radii and orders, and tables far from uniform."""

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from ldpfrontier.base.types import Intractable
from ldpfrontier.engines.products import product_optimum
from ldpfrontier.engines.registry import LIMITS
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.cones import conditional_cone, local_cone
from ldpfrontier.model.information import mutual_information
from ldpfrontier.model.mechanisms import randomized_response, secret_randomized_response
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.promises import robust
from ldpfrontier.promises.association import optimal_association
from ldpfrontier.promises.ldp import optimal_ldp
from ldpfrontier.promises.nonrobust import optimal_nonrobust
from ldpfrontier.promises.robust import optimal_robust
from ldpfrontier.promises.unconditional import optimal_unconditional
from ldpfrontier.reports.calibration import calibrated
from ldpfrontier.reports.two_reports import budget_split, independent_reporting
from ldpfrontier.uncertainty.divergence import least_mean, renyi_divergences, widening
from ldpfrontier.uncertainty.odds_ratios import OddsRatios
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from oracles import high_precision as precise
from support.grids import few

COUNTS = [[30, 20, 10], [10, 25, 40]]
BALL = RenyiBall.confidence(COUNTS)
ORDERS = [1 / 64, 0.5, 1 - 1e-9, 1 - 1e-13, 1.0, 1 + 2.3e-16, 1 + 1e-12, 1 + 1e-9, 1.05, 2.0, 3.0, 16.0]
ENVELOPES = ["simplex", "exact"]


def near(rng, k):
    """A distribution with cells of very different sizes, and values to average."""
    r = rng.dirichlet(np.full(k, rng.choice([0.2, 1.0, 5.0]))) * 10.0 ** -rng.uniform(0, 12, size=k) + 1e-15
    return r / r.sum(), rng.random(k)


@pytest.mark.parametrize("order", few(ORDERS[::3], more=[order for i, order in enumerate(ORDERS) if i % 3]))
def test_extremes_against_sixty_digits(order):
    rng = np.random.default_rng(5)
    for k in (2, 3, 4):
        for exponent in (-20, -15, -8, -3, 0.5):
            r, q = near(rng, k)
            B = float(10.0**exponent)
            value = least_mean(r[None], q[None], np.array([B]), order)[0]
            assert abs(float(precise.mpf(value) - precise.least_mean(r, q, B, order))) <= 2e-13 * np.ptp(q)


@pytest.mark.parametrize("order", ORDERS)
def test_radii_and_divergences_keep_their_digits_in_tiny_balls(order):
    """What a cell may grow by is found to many digits of itself, not of the cell."""
    rng = np.random.default_rng(6)
    for exponent in (-20, -12, -6, -1):
        B, rho = float(10.0**exponent), float(rng.uniform(0.05, 0.95))
        r = [precise.mpf(rho), 1 - precise.mpf(rho)]
        exact = r[1] - precise.least_mean(r, [0.0, 1.0], B, order)
        assert float(widening(np.array([rho]), np.array([B]), order)[0]) == pytest.approx(
            float(exact), rel=1e-9
        )
        P = rng.dirichlet(np.ones(4)) + 0.01
        P /= P.sum()
        shift = rng.normal(size=4) * math.sqrt(B)
        Q = P * np.exp(shift - 0.5 * B)
        Q /= Q.sum()
        exact = precise.divergence(precise.normalized(P), precise.normalized(Q), order)
        # The given numbers are rounded: to 1e-16 of themselves, so to that over sqrt B of their distance.
        rounding = 1e-12 + 1e-15 / math.sqrt(B)
        assert float(renyi_divergences(P, Q, order)) == pytest.approx(float(exact), rel=20 * rounding)


def test_worst_case_is_never_above_the_projections_in_tiny_balls():
    ball = RenyiBall.confidence([[10**9, 10**9], [1, 1]])
    channel = independent_reporting(ball, 1.0, distance="tight")
    assert ball.worst_case_epsilon(channel) <= ball.projected_epsilon(channel) <= 1.0
    # Projection and budget in 60 digits: both groups at the best split of a grid.
    worst = ball.worst_case_epsilon(channel)
    p, Q = ball.sensitive, channel.matrix.reshape(2, 2, -1)
    seen = 0.0
    for share in np.linspace(0, 1, 5):
        for y in range(Q.shape[2]):
            ends = []
            for s, part, sign in ((0, share, -1), (1, 1 - share, 1), (1, share, -1), (0, 1 - share, 1)):
                B = precise.projected_radius(part, ball.radius, p[s], 2.0)
                ends.append(sign * precise.least_mean(ball.conditionals[s], sign * Q[s, :, y], B, 2.0))
            seen = max(seen, float(precise.log(ends[0] / ends[1])), float(precise.log(ends[2] / ends[3])))
    assert seen <= worst + 1e-9
    assert worst <= seen + 2e-3
    least, largest = RenyiBall([[0.31325, 0.68675]], 1e-17).support(0, [[1, 0]])
    exact = precise.least_mean([0.31325, 0.68675], [1.0, 0.0], 1e-17, 2.0)
    assert float(least[0]) == pytest.approx(float(exact), rel=1e-15)
    assert 0.31325 < float(largest[0]) < 0.31325001


def test_orders_next_to_one_are_those_of_order_one():
    middle = RenyiBall.confidence(COUNTS, order=1)
    channel = secret_randomized_response(2, 3, 1.0)
    for order in (1 - 1e-9, 1 - 1e-13, 1 + 2.3e-16, 1 + 1e-12, 1 + 1e-9):
        ball = RenyiBall.confidence(COUNTS, order=order)
        np.testing.assert_allclose(ball.lower_bounds, middle.lower_bounds, rtol=1e-8)
        np.testing.assert_allclose(ball.radii, middle.radii, rtol=1e-8)
        assert ball.worst_case_epsilon(channel) == pytest.approx(middle.worst_case_epsilon(channel), rel=1e-8)


@pytest.mark.parametrize("cell", [1e-160, 1e-229, 1e-300, 0.0])
def test_a_cell_that_is_nearly_empty_is_as_good_as_empty(cell):
    """Found by fuzzing: with order 2 the search ended at cells of 1e-152, and gave the cell everything."""
    B, q = 7.458e-8, np.array([[7.86e-6, 8.70e-6]])
    for order in (2.0, 3.0, 16.0):
        largest = -least_mean(np.array([[1.0, cell]]), -q, np.array([B]), order)[0]
        assert largest - 7.86e-6 == pytest.approx(-math.expm1(-B) * 0.84e-6, rel=1e-6)


def test_huge_radii_and_infinite_ones_agree():
    for order in (0.5, 2.0, 16.0):
        wide, whole = RenyiBall(BALL.centre, 1e5, order), RenyiBall(BALL.centre, math.inf, order)
        assert wide.worst_case_epsilon(randomized_response(6, 1.0)) == pytest.approx(
            whole.worst_case_epsilon(randomized_response(6, 1.0))
        )


# Optima ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("envelope", ENVELOPES)
@pytest.mark.parametrize("epsilon", [1e-3, 18.0, 24.0, 30.0])
def test_levels_at_the_ends(envelope, epsilon):
    found = optimal_robust(BALL, epsilon, envelope=envelope)
    assert BALL.worst_case_epsilon(found.channel) <= epsilon * (1 + 1e-5)
    assert found.value <= found.bound * (1 + 1e-12)
    assert found.bound <= optimal_nonrobust(BALL.centre, epsilon).upper_bound * (1 + 1e-6)
    if epsilon > 10:
        assert found.gap < 1e-6


def test_simplices_that_are_known_to_rounding_only_are_refused():
    with pytest.raises(Intractable, match=r"1 - S = .*; below 1e-07 rounding could cost privacy"):
        optimal_robust(RenyiBall.confidence([[10**12, 1], [1, 1]]), 1.0)


def test_a_cell_that_dominates():
    ball = RenyiBall.confidence([[10**7, 1], [1, 1]])
    for epsilon in (0.1, 3.0):
        found = optimal_robust(ball, epsilon)
        assert ball.worst_case_epsilon(found.channel) <= epsilon * (1 + 1e-9)
        assert mutual_information(ball.centre, randomized_response(4, epsilon)) <= found.value <= found.bound
        assert (found.status == "optimal") == (found.gap <= 1e-7)


@pytest.mark.parametrize(
    "number", [np.float32(3), np.float16(3), np.float64(3), 3, Fraction(3), Decimal(3), np.array(3)]
)
def test_numbers_of_any_type(number):
    exact = optimal_robust(BALL, 3.0)
    assert optimal_robust(BALL, number).value == exact.value
    assert optimal_unconditional(pd.DataFrame(BALL.centre), number).bound > 0
    assert RenyiBall(BALL.centre, number).radius == 3.0
    assert budget_split(BALL, number).epsilon_1 + budget_split(BALL, number).epsilon_2 == pytest.approx(3.0)
    level = BALL.worst_case_epsilon(optimal_robust(BALL, np.float32(0.1)).channel)
    assert level <= float(np.float32(0.1)) * (1 + 1e-9)


@pytest.mark.parametrize(
    "counts",
    [pd.DataFrame(COUNTS), np.array(COUNTS, np.float16), [[Decimal(x) for x in row] for row in COUNTS]],
)
def test_counts_of_any_type(counts):
    np.testing.assert_array_equal(RenyiBall.confidence(counts).centre, BALL.centre)


# Sizes -------------------------------------------------------------------------------------------------


def test_too_many_cells_are_refused_at_once():
    prior = np.full((600, 2), 1 / 1200)
    ball = RenyiBall(prior, 0.1)
    for call in (
        lambda: optimal_robust(ball, 1.0),
        lambda: optimal_robust(ball, 1.0, envelope="exact"),
        lambda: optimal_unconditional(prior, 1.0),
    ):
        with pytest.raises(Intractable, match=r"The table has 600 x 2 cells; at most 1,000 are supported"):
            call()
    with pytest.raises(Intractable, match=r"432,000,000 comparisons; at most 50,000,000 are supported"):
        ball.worst_case_epsilon(Channel(np.eye(1200)))


def test_beyond_the_size_of_the_optimum_over_f_the_bound_is_honest():
    rng = np.random.default_rng(0)
    ball = RenyiBall.confidence(rng.integers(1, 200, size=(41, 2)))
    published = optimal_robust(ball, 1.0)
    found = optimal_robust(ball, 1.0, envelope="exact")
    assert found.status == "bounded"
    assert published.value * (1 - 1e-12) <= found.value <= found.bound
    assert found.bound == pytest.approx(optimal_nonrobust(ball.centre, 1.0).upper_bound, rel=1e-9)
    assert ball.worst_case_epsilon(found.channel) <= 1.0 + 1e-9


def test_beyond_the_subsets_of_the_optimum_over_f_the_bound_is_honest(monkeypatch):
    """A group counts by its occupied letters: 2^3 + 2^3 subsets here, 2^3 + 2^2 with an empty cell."""
    monkeypatch.setattr(robust, "LIMITS", replace(LIMITS, max_subsets=15))
    found = optimal_robust(BALL, 1.0, envelope="exact")
    assert found.bound == pytest.approx(optimal_nonrobust(BALL.centre, 1.0).upper_bound, rel=1e-9)
    assert "PolyOpt in place of F itself" in found.method.fallbacks[0]
    sparse = RenyiBall.confidence([[30, 20, 0], [10, 25, 40]])
    assert optimal_robust(sparse, 1.0, envelope="exact", tolerance=1e-2).method.fallbacks == ()


@pytest.mark.parametrize("level", [1e-300, 1e-10, 9e-4])
def test_levels_at_which_next_to_nothing_may_be_told_are_refused(level):
    utility = MutualInformation(BALL.centre)
    calls = (
        lambda: optimal_ldp(utility, level),
        lambda: optimal_nonrobust(BALL.centre, level),
        lambda: optimal_robust(BALL, level),
        lambda: optimal_unconditional(BALL.centre, level),
        lambda: optimal_association(OddsRatios.over(BALL), level),
        lambda: randomized_response(6, level),
        lambda: local_cone(6, level),
        lambda: conditional_cone((2, 3), level),
        lambda: calibrated(lambda e: randomized_response(6, e), BALL, level),
    )
    for call in calls:
        with pytest.raises(ValueError, match=r"epsilon is .*; it must be 0, or a number from 0.001 to "):
            call()


def test_a_program_that_rounding_defeats_is_an_error_and_no_other_mechanism(monkeypatch):
    def failing(*args, **kwargs):
        raise RuntimeError("HiGHS gave up.")

    monkeypatch.setattr(product_optimum, "generate", failing)
    with pytest.raises(ArithmeticError, match=r"PolyOpt.* is not solved, .*HiGHS gave up"):
        optimal_robust(BALL, 1.0)
