"""The largest error over an uncertainty set: above that of all members, and that of one of them."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from ldpfrontier import (
    Channel,
    RenyiBall,
    estimation_error,
    optimal_estimation,
    randomized_response,
    unconditional_cone,
    worst_estimation_error,
)

TABLE = np.array([[15, 5, 10], [10, 35, 25]])


def error_of_the_tuned_estimate(channel: Channel, p, P, rows) -> float:
    """sum_y Q_y |F_y|^2 - |A P|^2 with F = A M^-1 Q diag(1 / q), both at p, for outputs that all occur."""
    Q = channel.matrix
    q = p @ Q
    F = rows @ np.linalg.inv((Q / q) @ Q.T) @ Q / q
    assert np.allclose(F @ Q.T, rows)
    return float((P @ Q) @ (F**2).sum(axis=0) - ((rows @ P) ** 2).sum())


@pytest.mark.parametrize(("order", "radius"), [(1.0, 0.2), (2.0, 0.003), (3.5, 0.2)])
def test_it_is_the_largest_of_all_members(order: float, radius: float) -> None:
    ball = RenyiBall(TABLE / 100, radius, order)
    channel = optimal_estimation(ball.centre, unconditional_cone((2, 3), 1.0)).channel
    p, rng = ball.centre.ravel(), np.random.default_rng(0)
    for rows in (np.eye(6), rng.normal(size=(2, 6))):
        worst, members = worst_estimation_error(channel, ball, rows), ball.sample(rng, 300).reshape(-1, 6)
        errors = [error_of_the_tuned_estimate(channel, p, P, rows) for P in members]
        for P, own in zip(members, errors, strict=True):
            assert own <= worst * (1 + 1e-9)
            assert estimation_error(channel, P, rows) <= own * (1 + 1e-9)
        # Where the other program ends depends on its start, and on roundings.
        ends = [
            minimize(
                lambda x, rows=rows: -error_of_the_tuned_estimate(channel, p, x / x.sum(), rows),
                start,
                bounds=[(1e-9, 1)] * 6,
                constraints={
                    "type": "ineq",
                    "fun": lambda x: radius - float(ball.divergence((x / x.sum()).reshape(2, 3))),
                },
            )
            for start in (p, members[np.argmax(errors)])
        ]
        end = min(ends, key=lambda end: end.fun)
        assert -end.fun == pytest.approx(worst, rel=5e-3)
        # It leaves the ball by up to a tolerance.
        reached = max(radius, float(ball.divergence((end.x / end.x.sum()).reshape(2, 3))))
        wider = worst_estimation_error(channel, RenyiBall(ball.centre, reached, order), rows)
        assert -end.fun <= wider * (1 + 1e-6)


def test_of_one_distribution_it_is_its_error() -> None:
    channel = randomized_response(6, 1.0)
    for target in (None, "sensitive", "useful"):
        worst = worst_estimation_error(channel, RenyiBall(TABLE / 100, 0.0, 2.0), target)
        assert worst == pytest.approx(estimation_error(channel, TABLE / 100, target), rel=1e-7)


def test_of_all_distributions_it_is_that_of_the_worst() -> None:
    """Records as they are: sum P (1 - P), 1 - 1 / 6 at the uniform distribution."""
    worst = worst_estimation_error(Channel(np.eye(6)), RenyiBall(TABLE / 100, math.inf, 2.0))
    assert worst == pytest.approx(5 / 6, rel=1e-6)


def test_without_an_unbiased_estimate_it_is_infinite() -> None:
    channel = Channel(np.repeat([[0.7, 0.3], [0.2, 0.8]], 3, axis=0))
    ball = RenyiBall.confidence(TABLE)
    assert worst_estimation_error(channel, ball) == math.inf
    assert worst_estimation_error(channel, ball, "sensitive") > estimation_error(
        channel, ball.centre, "sensitive"
    )
