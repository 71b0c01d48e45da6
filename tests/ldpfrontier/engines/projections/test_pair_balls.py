"""Bounds on all robust mechanisms: shares of the budget, and balls of order 1 within lower orders."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpfrontier.engines.joint.spatial_branch_and_bound import joint_optimum
from ldpfrontier.engines.projections.pair_balls import inscribed_radii, pair_balls_bound
from ldpfrontier.model.optimum import Optimum
from ldpfrontier.promises.nonrobust import optimal_nonrobust
from ldpfrontier.promises.robust import optimal_robust
from ldpfrontier.uncertainty.divergence import least_mean, push_out, random_targets, renyi_divergences
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from support.grids import few

seeds = st.integers(0, 2**32 - 1)


def skewed_ball(order: float) -> RenyiBall:
    """A table of 3 x 3 with one group of half of the people."""
    return RenyiBall.confidence([[310, 80, 10], [40, 90, 60], [20, 60, 130]], order=order)


@cache
def skewed_optimum(order: float) -> Optimum:
    return joint_optimum(skewed_ball(order), 0.5, tolerance=1e-2, max_nodes=50)


@pytest.mark.parametrize("order", few([0.7, 2.0], more=[0.5, 1.0]))
def test_robust_mechanisms_are_in_the_classes_of_all_shares(order):
    """Their columns satisfy the inequalities with any shares that add up to 1, up to rounding."""
    ball, epsilon = skewed_ball(order), 0.5
    blocks = skewed_optimum(order).channel.matrix.T.reshape(-1, 3, 3)
    blocks = blocks[(blocks * ball.centre).sum(axis=(1, 2)) > 1e-9]
    tightest = 0.0
    for x in (0.0, 0.1, 0.4, 0.5, 0.8, 1.0):
        for s, t in [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)]:
            radii = ball.radius_at(np.array([x, 1.0 - x]), ball.sensitive[[s, t]])
            v, w = blocks[:, s], blocks[:, t]
            r, q = (np.broadcast_to(ball.conditionals[i], v.shape) for i in (s, t))
            A = -least_mean(r, -v, np.full(len(v), radii[0]), order)
            B = least_mean(q, w, np.full(len(w), radii[1]), order)
            tightest = max(tightest, float((A / B).max()))
    assert 0.99 * np.exp(epsilon) < tightest <= np.exp(epsilon) * (1.0 + 1e-9)


@pytest.mark.parametrize("order", few([0.7], more=[1.0, 2.0]))
def test_no_optimum_of_a_small_table_is_above_the_frontier(order):
    ball = skewed_ball(order)
    value = skewed_optimum(order).value
    assert value <= pair_balls_bound(ball, 0.5, 3_000) < 1.3 * value


@pytest.mark.long
def test_no_robust_mechanism_is_above_the_frontier():
    shares = np.random.default_rng(4).dirichlet(np.full(36, 2.0))
    ball = RenyiBall.confidence(np.random.default_rng(5).multinomial(20_000, shares).reshape(12, 3))
    nr = optimal_nonrobust(ball.centre, 0.2).upper_bound
    optimum = optimal_robust(ball, 0.2, envelope="exact", tolerance=1e-3, max_nodes=40_000)
    assert optimum.value <= optimum.upper_bound < 0.7 * nr


@pytest.mark.long
def test_below_order_1_bounds_are_below_that_of_a_known_distribution():
    counts = np.random.default_rng(3).multinomial(400, np.full(18, 1 / 18)).reshape(6, 3)
    ball = RenyiBall.confidence(counts, order=0.7)
    nr = optimal_nonrobust(ball.centre, 0.3).upper_bound
    optimum = optimal_robust(ball, 0.3, envelope="exact", tolerance=1e-3, max_nodes=1_500)
    assert optimum.value <= optimum.upper_bound < 0.9 * nr


@pytest.mark.parametrize("order", [0.25, 0.5, 0.7, 0.95])
@settings(max_examples=6, deadline=None)
@given(seed=seeds)
def test_inscribed_balls_of_order_1_lie_within_half_budgets(order, seed):
    """Their boundaries are inside, and no larger balls are: two cells reach their radii."""
    rng = np.random.default_rng(seed)
    centre = rng.dirichlet(np.full(12, 0.7)).reshape(3, 4)
    if seed % 2:
        centre[0, 1] = 0.0
    ball = RenyiBall(centre / centre.sum(), 10 ** rng.uniform(-4, -0.5), order)
    shares = np.array([0.5, 0.5, 0.5]) if seed % 3 else np.array([0.8, 0.2, 0.2])
    limits, inner = ball.radius_at(shares, ball.sensitive), inscribed_radii(ball, shares)
    for r, radius, limit in zip(ball.conditionals, inner, limits, strict=True):
        if not np.isfinite(radius):
            assert np.isinf(limit) or r.size == 4
            continue
        targets = random_targets(rng, 400, 4)
        for letters in range(1, 15):  # two cells: a set of letters and the other ones
            chosen = np.array([letters >> u & 1 for u in range(4)], dtype=float)
            if r @ chosen > 0:
                targets = np.vstack([targets, r * chosen / (r @ chosen)])
        targets = np.vstack([targets, np.where(r == 0, 1.0, 0.0)[None] if (r == 0).any() else targets[:1]])
        R = push_out(np.tile(r, (len(targets), 1)), targets, np.full(len(targets), radius), 1.0)
        spent = renyi_divergences(np.tile(r, (len(R), 1)), R, order)
        assert (spent <= limit * (1.0 + 1e-7) + 1e-13).all()
        assert spent.max() > 0.999 * limit
