"""Bounds of blocks by branch and bound, against scans and a general optimizer."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from ldpfrontier.engines.over_set.branch_and_bound import BranchAndBound
from ldpfrontier.engines.over_set.majorant import evaluate
from ldpfrontier.engines.products.geometry.ball_body import Body, climb_or_restore, polish
from support.blocks import extreme_means, function_values, random_body, random_majorant

ORDERS = (0.5, 1.0, 2.0, 3.0)
seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=2, deadline=None)
@given(seed=seeds)
def test_a_tree_bounds_every_member_of_the_body(order, seed):
    body, duals = random_body(seed, order)
    polish([body], [duals], 6, 4)
    best = float(body.reduced(duals).max())
    tree = BranchAndBound(body, duals, (body.top,) * 2, (body.bottom,) * 2)
    bound = tree.bound(best, 1_500)
    rng = np.random.default_rng(seed)
    # Rays from the inside: as far up as A allows, as far down as B does.
    ray = rng.exponential(size=(4000, body.letters)) * rng.integers(0, 2, (4000, body.letters)) + 1e-9
    A, B = extreme_means(body, ray)
    ray, A, B = (x[body.bottom * A <= body.top * B] for x in (ray, A, B))
    scan = np.concatenate([ray * (body.top / A)[:, None], ray * (body.bottom / B)[:, None]])
    assert bound >= function_values(body, scan, duals).max(initial=best) - 1e-9
    assert best <= tree.bound(best, 3_000) <= bound + 1e-12
    # What a tree has cut off below a bound that was good enough cannot be asked for later.
    assert tree.bound(best - 1.0, 0) >= best
    # Candidates are values of letters.
    assert (tree.candidates()[0] >= 0.0).all()
    if 0.9 * body.top <= 1.1 * body.bottom:
        return
    # The same body between other bounds.
    top, bottom = 0.9 * body.top, 1.1 * body.bottom
    narrow = BranchAndBound(body, duals, (top,) * 2, (bottom,) * 2).bound(-math.inf, 500)
    A, B = extreme_means(body, scan)
    inside = scan[(top >= A) & (bottom <= B)]
    assert narrow >= function_values(body, inside, duals).max(initial=-math.inf) - 1e-9
    starts, many = body.best_folded(duals, 4), np.ones(len(body.best_folded(duals, 4)))
    w = climb_or_restore(body, duals, starts, 0.0 * many, top * many, bottom * many)
    assert narrow >= function_values(body, w, duals).max() - 1e-9
    # With slopes, points are as good for other duals.
    other = duals + 0.2 * body.prior
    w = climb_or_restore(body, duals, starts, 0.2 * many, top * many, bottom * many)
    v = climb_or_restore(body, other, starts, 0.0 * many, top * many, bottom * many)
    np.testing.assert_allclose(function_values(body, w, other), function_values(body, v, other))


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=4, deadline=None)
@given(seed=seeds, pieces=st.integers(1, 3), moving=st.booleans())
def test_a_tree_bounds_every_member_above_a_majorant(order, seed, pieces, moving):
    body, duals = random_body(seed, order)
    rng = np.random.default_rng(seed)
    majorant = random_majorant(rng, pieces, 3 if moving else 1)
    top, bottom = (body.top, 0.8 * body.top + 0.2 * body.bottom), (body.bottom, 0.7 * body.bottom)
    if not moving:
        top, bottom = (body.top,) * 2, (body.bottom,) * 2
    tree = BranchAndBound(body, duals, top, bottom, majorant)
    bound = tree.bound(0.0, 800)
    bounds = tree.bounds_between(majorant.knots)
    assert bounds.max() == pytest.approx(bound)
    scale = float(body.prior.sum())
    ray = rng.exponential(size=(2000, body.letters)) * rng.integers(0, 2, (2000, body.letters)) + 1e-9
    A, B = extreme_means(body, ray)
    for n, t in [(n, float(t)) for n in range(len(bounds)) for t in rng.uniform(0.0, 1.0, 3)]:
        if moving:
            t = float(majorant.knots[n] + t * (majorant.knots[n + 1] - majorant.knots[n]))
        end, start = top[0] + t * (top[1] - top[0]), bottom[0] + t * (bottom[1] - bottom[0])
        inside = start * A <= end * B
        w = np.concatenate(
            [ray[inside] * (end / A[inside])[:, None], ray[inside] * (start / B[inside])[:, None]]
        )
        z = w @ body.prior / scale
        over = function_values(body, w, duals) - scale * np.array(
            [evaluate(majorant, float(x), t) for x in z]
        )
        assert over.max(initial=-math.inf) <= bounds[n] + 1e-9


@pytest.mark.parametrize("order", [0.5, 0.7])
def test_a_tree_closes_below_order_1(order):
    """Tangents of phi are negative beside its pole: no interval is stuck where 1 + s v = 0.

    It takes 1,200 nodes; with tangents in the middle of intervals, 4,000 leave 400 times the gap.
    """
    r = np.array([0.05, 0.95])
    body = Body(r, 0.2, order, r, 0.3)
    tree = BranchAndBound(body, r, (body.top,) * 2, (body.bottom,) * 2)
    goal = float(body.reduced(r).max()) + 1e-4
    assert tree.bound(goal, 3_000) == goal


def test_a_tree_closes():
    body, duals = random_body(5, 2.0, letters=3)
    polish([body], [duals], 8, 6)
    best = float(body.reduced(duals).max())
    goal = best + 1e-3 * float(body.prior.sum())
    assert BranchAndBound(body, duals, (body.top,) * 2, (body.bottom,) * 2).bound(goal, 40_000) == goal
    # A general optimizer agrees that there is nothing better.
    cone = [
        {"type": "ineq", "fun": lambda w: body.top - extreme_means(body, w[None])[0][0]},
        {"type": "ineq", "fun": lambda w: extreme_means(body, w[None])[1][0] - body.bottom},
    ]
    for start in body.folded_vectors(np.arange(len(body))):
        found = minimize(
            lambda w: -function_values(body, np.maximum(w, 0.0)[None], duals)[0],
            start, method="SLSQP", bounds=[(0, None)] * 3, constraints=cone,
        )  # fmt: skip
        if min(c["fun"](found.x) for c in cone) > -1e-9:
            assert -found.fun <= goal + 1e-9
