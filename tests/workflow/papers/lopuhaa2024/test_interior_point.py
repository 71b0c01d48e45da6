"""The interior-point method: its derivatives, and its maxima against sequential quadratic programming."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from ldpfrontier.model.information import renyi_divergence
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
