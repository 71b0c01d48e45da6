"""The products of bodies in use, and what they offer."""

from __future__ import annotations

import numpy as np

from ldpfrontier.engines.over_set.ball_family import BallFamily
from ldpfrontier.uncertainty.renyi_ball import RenyiBall


def test_products_in_use_are_offered_to_the_decomposition():
    shares = np.random.default_rng(2).dirichlet(np.full(20, 2.0))
    ball = RenyiBall.confidence(np.random.default_rng(1).multinomial(20_000, shares).reshape(5, 4))
    family = BallFamily(ball, 0.3, distinct=True)
    assert family.activate(0, 0.15)
    assert not family.activate(0, 0.15)
    # At duals of zero every column has a positive reduced cost.
    assert family.product(0, 0.15) in family.explore(np.zeros(ball.centre.shape), 0.0)[1]
