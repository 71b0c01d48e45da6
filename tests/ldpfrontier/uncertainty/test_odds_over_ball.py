"""Odds ratios over a ball, against random members of it and a local optimizer."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import fsum, log, mpf
from scipy.optimize import minimize

from ldpfrontier.base.types import FloatArray
from ldpfrontier.model.channel import Channel
from ldpfrontier.uncertainty.odds_over_ball import least_odds_ratios
from ldpfrontier.uncertainty.odds_ratios import OddsRatios, association_epsilon
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from oracles import high_precision  # noqa: F401  (60 digits)
from support.grids import few


def log_odds(P: FloatArray) -> FloatArray:
    """Logarithms of all odds ratios of distributions, (..., a1, a2) -> (..., a1, a1, a2, a2)."""
    logs = np.log(P)
    u, w = logs[..., :, None, :, None], logs[..., :, None, None, :]
    given_t, given_s = np.swapaxes(u - w, -4, -3), u - w
    return np.asarray(given_t - given_s)


def local_minimum(ball: RenyiBall, s: int, t: int, u: int, w: int) -> float:
    """The least log odds ratio that a local optimizer finds in the ball."""
    q = ball.centre

    def distribution(z: FloatArray) -> FloatArray:
        weights = np.exp(z - z.max()).reshape(q.shape)
        return np.asarray(weights / weights.sum())

    def spare(z: FloatArray) -> float:
        return float(ball.radius - ball.divergence(distribution(z)))

    found = minimize(
        lambda z: log_odds(distribution(z))[s, t, u, w],
        np.log(q).ravel(),
        constraints=[{"type": "ineq", "fun": spare}],
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    assert spare(found.x) > -1e-7
    return float(found.fun)


@pytest.mark.parametrize("order", few([1.0, 8.0], more=[1.001, 1.5, 2.0, 3.0]))
def test_the_ends_are_the_least_in_the_ball(order: float) -> None:
    rng = np.random.default_rng(int(10 * order))
    for radius in (1e-4, 0.2):
        ball = RenyiBall((rng.dirichlet(np.full(6, 6.0))).reshape(2, 3), radius, order)
        low, high = OddsRatios.over(ball).low, OddsRatios.over(ball).high
        members = log_odds(ball.sample(rng, 500))
        assert (np.log(low) <= members + 1e-9).all()
        assert (members - 1e-9 <= np.log(high)).all()
        for u, w in ((0, 1), (2, 1)):
            found = local_minimum(ball, 0, 1, u, w)
            assert math.log(low[0, 1, u, w]) == pytest.approx(found, rel=1e-5, abs=1e-5)


def test_ends_are_not_above_the_odds_ratio_of_a_member_exactly() -> None:
    """P_i = q_i - tau and q_i + tau, at a radius that contains it."""
    rng = np.random.default_rng(3)
    for _ in range(60):
        q = rng.dirichlet(np.full(4, 3.0))
        own = [mpf(x) for x in q.tolist()]
        tau = mpf(float(rng.uniform(0.01, 0.9) * min(q[0], q[3])))
        P = [own[0] - tau, own[1] + tau, own[2] + tau, own[3] - tau]
        radius = float(fsum(x * log(x / y) for x, y in zip(own, P, strict=True)))
        ball = RenyiBall(q.reshape(2, 2), math.nextafter(radius, math.inf), 1.0)
        if (ball.centre.ravel() == q).all():
            assert mpf(float(least_odds_ratios(ball)[0, 1, 1, 0])) <= P[0] * P[3] / P[1] / P[2]
            assert float(least_odds_ratios(ball)[0, 1, 1, 0]) >= 0.999999 * float(P[0] * P[3] / P[1] / P[2])


def test_close_to_order_one_the_ball_of_that_order_stands_for_it() -> None:
    centre = np.array([[0.3, 0.1], [0.2, 0.4]])
    near, one = (least_odds_ratios(RenyiBall(centre, 0.05, order)) for order in (1.0005, 1.0))
    assert (near == one).all()
    above = least_odds_ratios(RenyiBall(centre, 0.05, 1.001))
    assert (above >= one).all()
    assert above == pytest.approx(one, rel=5e-3)


@pytest.mark.parametrize("order", few([1.0, 1.001, 8.0], more=[1.5, 2.0, 3.0]))
def test_limits(order: float) -> None:
    centre = np.array([[0.0, 0.3, 0.2], [0.1, 0.25, 0.15]])
    low = least_odds_ratios(RenyiBall(centre, 0.1, order))
    # An empty cell may have any small probability, and so much but no more.
    assert low[1, 0, 0, 1] == 0.0
    assert 0.0 < low[0, 1, 0, 1] < math.inf
    assert least_odds_ratios(RenyiBall(centre, math.inf, order))[0, 1, 1, 2] == 0.0
    assert least_odds_ratios(RenyiBall(centre, 1e4, order))[0, 1, 1, 2] <= 1e-50
    known = OddsRatios.known(centre).low
    exact = OddsRatios.over(RenyiBall(centre, 0.0, order)).low
    assert exact[0, 1, 1, 2] == pytest.approx(known[0, 1, 1, 2], rel=1e-12)
    assert exact[0, 1, 0, 1] == math.inf
    tiny = least_odds_ratios(RenyiBall(centre, 1e-12, order))
    assert tiny[0, 1, 1, 2] == pytest.approx(known[0, 1, 1, 2], rel=1e-4)
    # A cell so rare that the radius allows it to be anything.
    rare = np.array([[1e-12, 0.5], [0.25, 0.25 - 1e-12]])
    assert least_odds_ratios(RenyiBall(rare, 0.5, order))[1, 0, 0, 1] <= 1e-12


def test_the_promise_over_the_intervals_holds_over_the_ball() -> None:
    rng = np.random.default_rng(1)
    ball = RenyiBall.confidence([[30, 20, 12], [10, 40, 25]])
    odds = OddsRatios.over(ball)
    matrix = np.exp(rng.normal(size=(6, 3)))
    channel = Channel(matrix / matrix.sum(axis=1, keepdims=True))
    assert ball.worst_case_epsilon(channel) <= association_epsilon(channel, odds)
    for P in ball.sample(rng, 200):
        assert association_epsilon(channel, OddsRatios.known(P)) <= association_epsilon(channel, odds)
