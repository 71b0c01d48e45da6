"""Probabilities that balls surely allow, against 60 digits."""

import numpy as np
import pytest
from mpmath import expm1, mpf

from ldpfrontier.uncertainty.divergence import allowed_probabilities
from oracles.high_precision import divergence, mp

ORDERS = (1 / 64, 0.25, 0.5, 0.7, 1.0, 1.001, 2.0, 3.0, 4.0, 16.0)


def of_two_cells(rho, q, order):
    return divergence([rho, 1 - rho], [q, 1 - q], order)


@pytest.mark.parametrize("order", ORDERS)
def test_what_is_allowed_is_in_the_ball_and_next_to_its_end(order, long):
    assert mp.dps == 60
    rng = np.random.default_rng(7)
    for _ in range(300 if long else 25):
        r = np.maximum(rng.dirichlet(np.full(4, 0.3)), 10.0 ** rng.uniform(-12, -1))
        r /= r.sum()
        radius = 10.0 ** rng.uniform(-15, 0.5)
        for rho, q in zip(
            r.tolist(), allowed_probabilities(r, np.array(radius), order).tolist(), strict=True
        ):
            q = mpf(q)
            assert q <= mpf(rho) or of_two_cells(mpf(rho), q, order) <= mpf(radius)
            more = q * (1 + mpf("1e-11") * (1 + 1 / mpf(order)))
            assert more >= 1 or of_two_cells(mpf(rho), more, order) > mpf(radius)


@pytest.mark.parametrize("order", ORDERS)
def test_empty_and_certain_cells(order):
    found = allowed_probabilities(np.array([0.0, 1.0, 0.3]), np.array([[0.2], [0.0], [np.inf]]), order)
    assert 0 < -expm1(mpf(-0.2)) - mpf(float(found[0, 0])) < 1e-14
    assert found[:, 1].tolist() == [1.0, 1.0, 1.0]
    assert found[1, 0] == 0.0
    assert found[1, 2] == pytest.approx(0.3, abs=1e-15)
    assert found[2].tolist() == [1.0, 1.0, 1.0]
