"""Nodes of branch and bound over a block: they cover all of it that is above the goal."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ldpfrontier.engines.over_set.branch_and_bound import BranchAndBound
from support.blocks import extreme_means, function_values, random_body, random_majorant


def phi(x, g):
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(x > 0.0, np.log(x) if g == 0.0 else (x**g - 1.0) / g, -np.inf)


@pytest.mark.parametrize("order", [0.5, 1.0, 3.0])
def test_all_points_above_the_goal_are_in_a_node_with_a_bound_above_them(order):
    """With every xi and eta for which a point satisfies the two constraints."""
    g, covered = (order - 1.0) / order, 0
    for seed in range(6):
        body, duals = random_body(seed, order, letters=3)
        k = body.radius if g == 0.0 else math.expm1(g * body.radius) / g
        rng = np.random.default_rng(seed)
        ray = rng.exponential(size=(4000, 3)) * rng.integers(0, 2, (4000, 3)) + 1e-9
        A, B = extreme_means(body, ray)
        ray, A, B = (x[body.bottom * A <= body.top * B] for x in (ray, A, B))
        low, high = body.bottom / B, body.top / A
        w = ray * (low + rng.choice([0.0, 0.5, 1.0], len(ray)) * (high - low))[:, None]
        values = function_values(body, w, duals)
        target = float(np.quantile(values, 0.9))
        tree = BranchAndBound(body, duals, (body.top,) * 2, (body.bottom,) * 2)
        tree.bound(target, 300)
        nodes = type(tree._nodes)(*(x[: tree.node_count] for x in tree._nodes))
        xi = np.geomspace(0.5 * nodes.xi.min(), 100.0 * nodes.xi.min(), 25)
        eta = np.geomspace(0.5 * nodes.eta.min(), 100.0 * nodes.eta.min(), 25)
        for own, value in zip(w[values > target], values[values > target], strict=True):
            # A little inside, as rounding moves what is on the border.
            above = phi(1.0 + xi[:, None] * (body.top - own), g) @ body.centre >= k * (1.0 + 1e-9)
            below = phi(1.0 + eta[:, None] * (own - body.bottom), g) @ body.centre >= k * (1.0 + 1e-9)
            has_letters = ((nodes.low <= own) & (own <= nodes.high)).all(axis=1)
            has_letters &= tree._bounds() >= value - 1e-12
            for x, y in zip(rng.permutation(xi[above]), rng.permutation(eta[below]), strict=False):
                has_both = (nodes.xi[:, 0] <= x) & (x <= nodes.xi[:, 1])
                has_both &= (nodes.eta[:, 0] <= y) & (y <= nodes.eta[:, 1])
                assert (has_letters & has_both).any()
                covered += 1
    assert covered > 100


def test_a_node_counts_between_all_knots_that_it_meets():
    """The first intervals of t have several knots inside, and nothing is split."""
    body, duals = random_body(3, 2.0)
    majorant = random_majorant(np.random.default_rng(0), 2, 60)
    tree = BranchAndBound(body, duals, (body.top, 0.8 * body.top), (body.bottom,) * 2, majorant)
    bound = tree.bound(-math.inf, 0)
    between = tree.bounds_between(majorant.knots)
    assert between.shape == (59,)
    assert np.isfinite(between).all()
    assert between.max() == bound
