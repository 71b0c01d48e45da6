"""The bound that prices are, against exact arithmetic, and the status that rests on it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from ldpfrontier import local_cone, optimal_estimation, randomized_response
from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.designs.column_weights import EstimationProblem, Prices
from ldpfrontier.engines.designs.error import estimation_error
from ldpfrontier.model.optimum import UNKNOWN
from ldpfrontier.promises import estimation as solve


def exactly(x: FloatArray) -> FloatArray:
    """Return an array as fractions."""
    return np.vectorize(Fraction, otypes=[object])(x)


@pytest.mark.parametrize("seed", range(40))
def test_the_bound_of_prices_holds_exactly(seed: int) -> None:
    """W tells nearly nothing, so that the product of A and W is a difference of larger numbers."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(3, 9)), int(rng.integers(1, 5))
    problem = EstimationProblem(rng.dirichlet(np.ones(n)), rng.uniform(-1.0, 1.0, (k, n)))
    W = rng.normal(size=(k, n))
    wanted = problem.wanted
    W -= (1.0 - 10.0 ** -rng.uniform(0.0, 12.0)) * float((W * wanted).sum() / (wanted**2).sum()) * wanted
    lam, excess = rng.uniform(-0.2, 1.0, n) * problem.p, float(10.0 ** rng.uniform(-3.0, 1.0))
    bound = problem.bound(Prices(W, lam), excess)
    p, A = exactly(problem.p), exactly(problem.rows)
    product = ((A - (A @ p)[:, None]) * exactly(W)).sum()
    total = exactly(lam).sum() + Fraction(excess)
    least = product**2 / total if product > 0 and total > 0 else Fraction(0)
    assert Fraction(bound) <= least
    if float(product) > 1e-6:
        assert bound >= float(least) * (1.0 - 1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_the_excess_of_columns_is_exact_or_more(seed: int) -> None:
    """At prices that are nearly what the columns are worth, but of both signs and large."""
    rng = np.random.default_rng(seed)
    v, W = rng.random((12, 4)) ** 3, rng.normal(size=(3, 4))
    lam = np.linalg.lstsq(v[:4], ((v[:4] @ W.T) ** 2).sum(axis=1), rcond=None)[0]
    lam += 1e6 * np.linalg.svd(v[:3])[2][-1]
    found = Prices(W, lam).excess(v)
    exact = ((exactly(v) @ exactly(W).T) ** 2).sum(axis=1) - exactly(v) @ exactly(lam)
    assert all(Fraction(float(x)) >= y for x, y in zip(found, exact, strict=True))
    assert found == pytest.approx(exact.astype(float), abs=1e-11 * float(np.abs(v @ np.abs(lam)).max()))


@pytest.mark.parametrize("share", [0.99, 1.01, 5.0])
def test_optimal_is_what_is_within_the_tolerance(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    p, channel = np.array([0.2, 0.3, 0.5]), randomized_response(3, 1.0)
    bound = estimation_error(channel, p, np.eye(3)) * (1.0 - share * 1e-3)
    monkeypatch.setattr(solve, "solved", lambda *_: (solve.BoundedChannel(channel, bound, 0), UNKNOWN))
    found = optimal_estimation(p, local_cone(3, 1.0), tolerance=1e-3)
    assert found.bound == pytest.approx(bound)
    assert found.status == ("optimal" if share < 1.0 else "bounded")
