"""The interior-point method: its derivatives, and its maxima against sequential quadratic programming."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

from ldpfrontier.information import renyi_divergence
from ldpfrontier.types import FloatArray
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from papers.lopuhaa2024.interior_point import LogSums, divergence, largest_over_ball

ORDERS = [0.5, 1.0, 2.0, 5.0]
CELLS = 4


def random_leaks(rng: np.random.Generator, number: int) -> LogSums:
    """log P(y|s) / P(y|t) of random columns; each group has half of the cells."""
    first = np.arange(CELLS) < CELLS // 2
    columns = rng.random((number, CELLS))
    weights = [[first * q, first + 0.0, ~first + 0.0, ~first * q] for q in columns]
    return LogSums(np.tile([1.0, -1.0, 1.0, -1.0], (number, 1)), np.array(weights))


@pytest.mark.parametrize("order", ORDERS)
def test_derivatives(order: float) -> None:
    rng = np.random.default_rng(2)
    p, r = rng.dirichlet(np.ones(CELLS)), np.array([0.3, 0.0, 0.6, 0.1])
    distance = divergence(r, order)
    assert distance.value(p[None]) == pytest.approx(renyi_divergence(r, p, order))
    for function in (random_leaks(rng, 1), distance):
        (gradient,), (hessian,) = function.derivatives(p[None])
        near = approx_fprime(p, lambda x, f=function: f.value(x[None])[0], 1e-8)
        np.testing.assert_allclose(gradient, near, atol=1e-5)
        near = approx_fprime(p, lambda x, f=function: f.derivatives(x[None])[0][0], 1e-8)
        np.testing.assert_allclose(hessian, near, rtol=1e-5, atol=1e-5)


def by_quadratic_programs(function: LogSums, ball: RenyiBall) -> float:
    """Maximize over F by SLSQP from three points, P = x^2 / |x|^2; values within 1e-6 of the radius count."""
    centre = ball.centre.ravel()

    def chances(x: FloatArray) -> FloatArray:
        return np.asarray(x**2 / (x @ x))

    def room(x: FloatArray) -> float:
        return 1.0 - math.sqrt(float(ball.divergence(chances(x).reshape(ball.centre.shape))) / ball.radius)

    def loss(x: FloatArray) -> tuple[float, FloatArray]:
        P = chances(x)
        slope = function.derivatives(P[None])[0][0]
        return -float(function.value(P[None])[0]), -2.0 * x / (x @ x) * (slope - slope @ P)

    best = -math.inf
    for start in (np.ones(CELLS), *np.random.default_rng(4).dirichlet(np.ones(CELLS), 2)):
        found = minimize(
            loss,
            np.sqrt(0.95 * centre + 0.05 * start / start.sum()),
            jac=True,
            method="SLSQP",
            constraints=[{"type": "eq", "fun": lambda x: x @ x - 1.0}, {"type": "ineq", "fun": room}],
            options={"maxiter": 300, "ftol": 1e-13},
        )
        if room(found.x) > -1e-6:
            best = max(best, -found.fun)
    return best


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("counts", [[[7, 10], [26, 57]], [[0, 17], [26, 57]]])
def test_maxima_are_those_of_quadratic_programs(counts: list[list[int]], order: float) -> None:
    ball = RenyiBall.confidence(counts, order=order)
    leaks = random_leaks(np.random.default_rng(3), 3)
    found = largest_over_ball([leaks], ball)
    for i in range(3):
        one = LogSums(leaks.coefficients[i : i + 1], leaks.weights[i : i + 1])
        assert found[i] == pytest.approx(by_quadratic_programs(one, ball), abs=2e-6)
        assert largest_over_ball([one], ball)[0] == pytest.approx(found[i], abs=1e-10)


def test_the_least_probability_in_closed_form() -> None:
    """Of a cell of probability r, over a ball of order 2 (lopuhaa2024, Example 2), and over the simplex."""
    ball = RenyiBall.confidence([[7, 10], [26, 57]])
    shares = LogSums(-np.ones((CELLS, 1)), np.eye(CELLS)[:, None])
    r, b = ball.centre.ravel(), math.exp(ball.radius)
    exact = (b + 2 * r - 1 - np.sqrt((b - 1) * (b - (2 * r - 1) ** 2))) / (2 * b)
    np.testing.assert_allclose(np.exp(-largest_over_ball([shares], ball)), exact, rtol=1e-9)
    everything = RenyiBall(ball.centre, math.inf)
    assert (np.exp(-largest_over_ball([shares], everything)) < 1e-90).all()


def test_a_saddle_point_is_left() -> None:
    """P-hat is the minimum of D(P-hat || P), from which Newton steps alone do not go away."""
    ball = RenyiBall.confidence([[700, 200, 1100]], order=5.0)
    distance = divergence(ball.centre.ravel(), 5.0)
    assert largest_over_ball([distance], ball, starts=1)[0] == pytest.approx(ball.radius, rel=1e-9)
