"""Fuzzing of all that has an uncertainty set: balls, robust and unconditional optima, reports, own data."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fuzz.common import (
    Arguments,
    Target,
    assert_above,
    assert_certified,
    distribution,
    entry_rounding,
    fuzz,
    level,
    like,
)
from fuzz.common import channel as draw_channel
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import mutual_information
from ldpfrontier.model.mechanisms import randomized_response, secret_randomized_response
from ldpfrontier.model.privacy import rldp_epsilon
from ldpfrontier.promises.robust import optimal_robust
from ldpfrontier.promises.unconditional import optimal_unconditional, response_excess
from ldpfrontier.reports.calibration import calibrated
from ldpfrontier.reports.two_reports import budget_split
from ldpfrontier.uncertainty.renyi_ball import RenyiBall

SHAPES = [(1, 1), (1, 3), (2, 1), (2, 2), (2, 2), (2, 3), (3, 2), (3, 3)]


def draw_counts(rng: np.random.Generator, shape: tuple[int, int] | None = None) -> np.ndarray:
    """Counts from one sample to 2^50, with empty cells and groups, and cells that dominate."""
    shape = shape or SHAPES[rng.integers(len(SHAPES))]
    n = int(np.exp(rng.uniform(0, math.log(2.0 ** rng.choice([8, 14, 50])))))
    counts = np.rint(n * distribution(rng, shape[0] * shape[1])).reshape(shape)
    match rng.integers(8):
        case 0:
            counts[rng.integers(shape[0])] = 0
        case 1:
            counts[:] = np.maximum(counts, 1)
        case 2:
            counts[:] = 1
            counts.flat[rng.integers(counts.size)] = float(10 ** rng.integers(1, 13))
    if not counts.any():
        counts.flat[0] = 1
    return counts


def draw_order(rng: np.random.Generator) -> float:
    return float(
        rng.choice(
            [
                *(2, 2, 2, 1, 0.5, 3, 1 / 64, 16),
                1 + rng.choice([-1, 1]) * 10.0 ** -rng.uniform(1, 16),
                np.exp(rng.uniform(math.log(1 / 64), math.log(16))),
            ]
        )
    )


def draw_ball(rng: np.random.Generator, shape: tuple[int, int] | None = None) -> RenyiBall:
    order = draw_order(rng)
    if rng.integers(3):
        return RenyiBall.confidence(draw_counts(rng, shape), float(rng.uniform(0.001, 0.999)), order)
    shape = shape or SHAPES[rng.integers(len(SHAPES))]
    radius = float(rng.choice([0.0, math.inf, 10.0 ** rng.uniform(-20, 3), 10.0 ** rng.uniform(-6, 1)]))
    return RenyiBall(distribution(rng, shape[0] * shape[1]).reshape(shape), radius, order)


def members(ball: RenyiBall, rng: np.random.Generator, size: int = 40) -> np.ndarray:
    """P(U|S) of distributions in the ball; a group without mass is empty."""
    P = ball.sample(rng, size)
    assert np.isfinite(P).all()
    assert (P >= 0).all()
    mass = P.sum(axis=-1, keepdims=True)
    return np.divide(P, mass, out=np.zeros_like(P), where=mass > 1e-290)


def assert_level(ball: RenyiBall, channel, epsilon: float) -> None:
    """The level over F, computed and seen, is within epsilon; rounding of the rows counts."""
    allowed = epsilon + 1e-9 * min(1.0, epsilon) + 1e-13
    assert ball.worst_case_epsilon(channel) <= allowed
    R = members(ball, np.random.default_rng(1))
    assert float(rldp_epsilon(channel, R).max()) <= allowed * (1 + 1e-6) + 1e-12


# Balls ---------------------------------------------------------------------------------------------------


def draw_confidence(rng: np.random.Generator) -> Arguments:
    return {
        "counts": draw_counts(rng),
        "beta": float(rng.choice([0.05, 1e-12, 1 - 1e-12, rng.uniform(0.001, 0.999)])),
        "order": draw_order(rng),
    }


def check_confidence(counts, beta, order) -> None:
    ball = RenyiBall.confidence(counts, beta, order)
    assert ball.radius >= 0
    assert ball.contains(ball.centre)
    for statistic in (ball.lower_bounds, ball.radii, ball.radius_bounds):
        assert np.isfinite(statistic).all()
        assert (statistic >= 0).all()
    assert (ball.lower_bounds <= ball.conditionals * (1 + 1e-12) + (ball.centre.shape[1] == 1)).all()
    assert (ball.radii <= ball.radius_bounds * (1 + 1e-9) + 1e-300).all()
    assert (ball.radii <= 2.0).all()


def draw_support(rng: np.random.Generator) -> Arguments:
    ball = draw_ball(rng)
    a1, a2 = ball.centre.shape
    q = rng.random((2, a2)) * 10.0 ** rng.uniform(-150, 140) + rng.choice([0.0, 0.0, 1.0, -1e9])
    return {"ball": ball, "s": int(rng.integers(a1)), "q": q}


def check_support(ball, s, q) -> None:
    least, largest = ball.support(s, q)
    span = q.max(axis=1) - q.min(axis=1)
    rounding = 1e-12 * span + 1e-15 * np.abs(q).max(axis=1)
    mean = q @ ball.conditionals[int(s)]
    assert np.isfinite(least).all()
    assert np.isfinite(largest).all()
    if ball.sensitive[int(s)] > 0:
        assert (least <= mean + rounding).all()
        assert (largest >= mean - rounding).all()
    R = members(ball, np.random.default_rng(2))[:, int(s)]
    inside = R[R.sum(axis=1) > 0] @ q.T
    if len(inside):
        # Members lie in the ball to rounding: the smaller the ball, the more of it that is.
        loose = 1e-7 * (largest - least) + 1e-9 * span + 10 * rounding
        assert (inside.min(axis=0) >= least - loose).all()
        assert (inside.max(axis=0) <= largest + loose).all()


def draw_worst(rng: np.random.Generator) -> Arguments:
    ball = draw_ball(rng)
    return {"ball": ball, "channel": draw_channel(rng, ball.centre.size), "tol": 1e-10}


def check_worst(ball, channel, tol) -> None:
    worst, above = ball.worst_case_epsilon(channel, tol), ball.projected_epsilon(channel)
    assert worst >= 0
    assert worst <= above * (1 + 1e-9) + 1e-13
    R = members(ball, np.random.default_rng(3))
    seen = float(rldp_epsilon(channel, R).max())
    if math.isfinite(worst):
        assert seen <= worst * (1 + 1e-7) + 1e-9


# Optima --------------------------------------------------------------------------------------------------


def draw_robust(rng: np.random.Generator) -> Arguments:
    return {
        "ball": draw_ball(rng),
        "epsilon": level(rng, 1e-3, 30.0),
        "tolerance": float(rng.choice([1e-7, 1e-3, 0.0])),
    }


def check_robust(ball, epsilon, tolerance, envelope="simplex") -> None:
    optimum = optimal_robust(
        ball, epsilon, tolerance=tolerance, envelope=envelope, max_nodes=50, max_rounds=20
    )
    epsilon = float(epsilon)
    assert_certified(optimum, max(float(tolerance), 1e-4) if envelope != "simplex" else float(tolerance))
    if envelope == "simplex" or len(ball.centre) > 1:
        assert_level(ball, optimum.channel, epsilon)
    a1, a2 = ball.centre.shape
    known = [randomized_response(a1 * a2, epsilon)]
    if envelope == "exact":
        known.append(secret_randomized_response(a1, a2, epsilon))
    if epsilon > 0:
        rounding = entry_rounding(epsilon)
        for mechanism in known:
            assert_above(optimum.bound, mutual_information(ball.centre, mechanism), rounding)
    assert optimum.value <= mutual_information(ball.centre, optimum.channel) * (1 + 1e-6) + 1e-300


def draw_beyond(rng: np.random.Generator) -> Arguments:
    return {
        "ball": draw_ball(rng, SHAPES[rng.integers(3, 5)]),
        "epsilon": level(rng, 1e-3, 30.0) if rng.integers(2) else float(rng.uniform(0.5, 5.0)),
        "tolerance": 1e-2,
        "envelope": "exact",
    }


def draw_unasked(rng: np.random.Generator) -> Arguments:
    exact = rng.integers(4) == 0
    return {
        "ball": draw_ball(rng),
        "epsilon": level(rng, 1e-3, 30.0),
        "tolerance": 1e-2 if exact else float(rng.choice([1e-7, 0.0])),
        "envelope": "exact" if exact else "simplex",
    }


def check_unasked(ball, epsilon, tolerance, envelope) -> None:
    optimum = optimal_robust(
        ball, epsilon, observed="useful", tolerance=tolerance, envelope=envelope, max_nodes=50, max_rounds=20
    )
    assert_certified(optimum, max(float(tolerance), 1e-4) if envelope != "simplex" else float(tolerance))
    repeated = Channel(np.tile(optimum.channel.matrix, (len(ball.centre), 1)))
    if envelope == "simplex" or len(ball.centre) > 1:
        assert_level(ball, repeated, float(epsilon))
    known = randomized_response(ball.centre.shape[1], epsilon)
    if epsilon > 0:
        useful = ball.centre.sum(axis=0)
        assert_above(optimum.bound, mutual_information(useful, known), entry_rounding(epsilon))
    assert optimum.value <= mutual_information(ball.centre, repeated) * (1 + 1e-6) + 1e-300


def draw_unconditional(rng: np.random.Generator) -> Arguments:
    shape = SHAPES[rng.integers(len(SHAPES))]
    return {"prior": distribution(rng, shape[0] * shape[1]).reshape(shape), "epsilon": level(rng, 1e-3, 30.0)}


def check_unconditional(prior, epsilon) -> None:
    optimum = optimal_unconditional(prior, epsilon)
    epsilon = float(epsilon)
    assert_certified(optimum, 1e-9)
    if len(prior) > 1:
        assert_level(RenyiBall(prior, math.inf), optimum.channel, epsilon)
        response = secret_randomized_response(*prior.shape, epsilon)
        if epsilon > 0:
            assert_above(optimum.bound, mutual_information(prior, response), entry_rounding(epsilon))
            assert math.isfinite(response_excess(prior, epsilon))


# Two reports, calibration --------------------------------------------------------------------------------


def draw_split(rng: np.random.Generator) -> Arguments:
    ball = draw_ball(rng)
    prior = None if rng.integers(2) else like(rng, ball.centre.ravel() + 1e-9).reshape(ball.centre.shape)
    return {
        "ball": ball,
        "epsilon": level(rng, 1e-3, 300.0),
        "distance": str(rng.choice(["published", "tight"])),
        "prior": prior,
    }


def check_split(ball, epsilon, distance, prior) -> None:
    split = budget_split(ball, epsilon, distance=distance, prior=prior)
    epsilon = float(epsilon)
    assert 0 <= split.distance <= 2
    assert split.epsilon_1 >= 0
    assert split.epsilon_2 >= 0
    assert math.isclose(split.epsilon_1 + split.epsilon_2, epsilon, rel_tol=1e-12)
    assert split.information >= -1e-14
    assert math.isfinite(split.information)
    assert_level(ball, split.channel, epsilon)


def draw_calibrated(rng: np.random.Generator) -> Arguments:
    return {
        "ball": draw_ball(rng),
        "epsilon": level(rng, 1e-3, 20.0),
        "most": float(rng.choice([20.0, 300.0, 1e-3, 0.0])),
        "tol": float(rng.choice([1e-6, 1e-2])),
        "secret": bool(rng.integers(2)),
        "conditional": None if rng.integers(2) else float(level(rng, 1e-3, 20.0)),
    }


def check_calibrated(ball, epsilon, most, tol, secret, conditional) -> None:
    a1, a2 = ball.centre.shape

    def family(nominal):
        if secret:
            return secret_randomized_response(a1, a2, nominal)
        return randomized_response(a1 * a2, nominal)

    found = calibrated(family, ball, epsilon, most=most, tol=tol, conditional_epsilon=conditional)
    assert 0 <= found.nominal <= float(most)
    assert found.realized <= float(epsilon)
    assert ball.worst_case_epsilon(found.channel) <= float(epsilon)
    assert found.conditional <= (math.inf if conditional is None else conditional)


TARGETS = [
    Target("RenyiBall.confidence", draw_confidence, check_confidence, 30),
    Target("RenyiBall.support", draw_support, check_support, 30),
    Target("RenyiBall.worst_case_epsilon", draw_worst, check_worst, 20),
    Target("optimal_robust, simplex", draw_robust, check_robust, 10),
    Target("optimal_robust, beyond", draw_beyond, check_robust, 2),
    Target("optimal_robust, unasked", draw_unasked, check_unasked, 8),
    Target("optimal_unconditional", draw_unconditional, check_unconditional, 30),
    Target("budget_split", draw_split, check_split, 10),
    Target("calibrated", draw_calibrated, check_calibrated, 10),
]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_hostile_instances(target: Target, times: int) -> None:
    fuzz(target, times)
