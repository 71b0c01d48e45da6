"""Confidence sets that cover at every number of samples, by enumeration and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import multinomial

from ldpfrontier import RenyiBall
from support.adult import adult_counts


def covered(p: np.ndarray, tables: np.ndarray, **options) -> np.ndarray:
    """Return which of the tables, (m, k), have the truth p in their confidence set."""
    n = int(tables[0].sum())
    ball = RenyiBall.confidence(tables[:1], **options)
    centre = tables / n
    with np.errstate(divide="ignore", invalid="ignore"):
        if ball.order == 1:
            terms = np.where(centre > 0, centre * np.log(centre / p), 0.0)
            divergence = terms.sum(axis=1)
        else:
            terms = np.where(centre > 0, centre**ball.order * p ** (1 - ball.order), 0.0)
            divergence = np.log(terms.sum(axis=1)) / (ball.order - 1)
    return divergence <= ball.radius


def outcomes(n: int, letters: int) -> np.ndarray:
    """Return all tables of n samples, shape (m, letters)."""
    if letters == 1:
        return np.array([[n]])
    parts = [np.insert(outcomes(n - first, letters - 1), 0, first, axis=1) for first in range(n + 1)]
    return np.concatenate(parts)


@pytest.mark.parametrize("order", [0.5, 1.0, 1.5, 2.0])
@pytest.mark.parametrize("p", [[0.5, 0.5], [0.01, 0.99], [0.2, 0.3, 0.5], [1e-6, 0.1, 0.2, 0.7 - 1e-6]])
def test_a_finite_sample_set_covers_by_enumeration(p, order):
    p = np.array(p)
    for n in (1, 2, 5, 15):
        tables = outcomes(n, p.size)
        chances = multinomial.pmf(tables, n, p)
        assert chances.sum() == pytest.approx(1.0)
        for beta in (0.01, 0.05, 0.3):
            inside = covered(p, tables, beta=beta, order=order, method="finite")
            assert chances[inside].sum() >= 1 - beta


def test_the_vectorized_divergence_is_that_of_the_ball():
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.ones(6))
    tables = rng.multinomial(30, p, size=50)
    for order in (0.5, 1.0, 2.0):
        inside = covered(p, tables, order=order, beta=0.5)
        balls = [RenyiBall.confidence(t.reshape(2, 3), 0.5, order) for t in tables]
        assert inside.tolist() == [bool(ball.contains(p.reshape(2, 3))) for ball in balls]
        assert 0 < inside.sum() < 50


@pytest.mark.parametrize("spread", [0.0, 0.05])
@pytest.mark.parametrize(
    "names", [("sex", "race"), ("income", "relationship"), ("education", "marital-status")]
)
def test_a_finite_sample_set_covers_at_truths_like_adult(names, spread, long):
    """With and without cells that cannot occur; of large tables the asymptotic set covers 89% to 93%."""
    rng = np.random.default_rng(len(names[0]))
    counts = adult_counts(*names).ravel() + spread
    p, n = counts / counts.sum(), int(counts.sum())
    tables = rng.multinomial(n, p, size=20_000 if long else 2_000)
    for order in (0.5, 1.0, 2.0):
        assert covered(p, tables, order=order, method="finite").mean() >= 0.95


def test_the_radius_solves_its_equation_and_is_the_least():
    for letters, beta in ((2, 0.05), (10, 0.05), (240, 0.01), (5, 1e-9)):
        counts = np.full((1, letters), 7)
        n, m = counts.sum(), letters - 1
        t = n * RenyiBall.confidence(counts, beta, 1.0, method="finite").radius
        assert t >= m
        assert -t + m * (1 + math.log(t / m)) == pytest.approx(math.log(beta), rel=1e-9)
    assert RenyiBall.confidence([[3]], method="finite").radius == 0.0


def test_a_factor_multiplies_the_radius():
    once, often = (RenyiBall.confidence([[10, 20], [30, 40]], factor=f).radius for f in (1, 4))
    assert often == pytest.approx(4 * once, rel=1e-15)
