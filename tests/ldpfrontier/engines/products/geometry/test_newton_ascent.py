"""Ascents in bodies stay inside and never fall; the compiled extreme means are those of `divergence`."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import xlogy

from ldpfrontier.engines.products.geometry.ball_body import polish_from
from ldpfrontier.engines.products.geometry.newton_ascent import BodyRows, Restore, ascend_all
from ldpfrontier.engines.products.geometry.settings import SETTINGS
from ldpfrontier.engines.products.geometry.support_function import empty_extreme, extreme_mean
from ldpfrontier.uncertainty.divergence import least_mean, minimizers
from support.blocks import random_body

ORDERS = (0.25, 0.5, 1.0, 1.05, 2.0, 4.0)
STEPS = SETTINGS.max_ascent_steps
seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=40, deadline=None)
@given(seed=seeds)
def test_extremes_are_those_of_the_ball_wherever_the_search_starts(order, seed):
    rng = np.random.default_rng(seed)
    n, B = int(rng.integers(2, 8)), 10 ** rng.uniform(-7, 0.7)
    r = rng.dirichlet(np.full(n, 10 ** rng.uniform(-1, 1)))
    if n > 2 and rng.random() < 0.5:
        r[0] = 0.0
        r /= r.sum()
    # Zeros, ties, and letters that are all alike.
    w = np.round(rng.exponential(size=n), int(rng.integers(0, 4))) * (rng.random(n) < 0.8)
    for sign in (1.0, -1.0):
        values, members, distances = minimizers(r[None], sign * w[None], np.array([B]), order)
        start = np.array([np.nan if rng.random() < 0.3 else rng.uniform(-100.0, 800.0)])
        found = empty_extreme(n)
        found.log_t[:] = start
        extreme_mean(r, w, sign, B, order, 0.0, found)
        np.testing.assert_allclose(sign * found.value, values, rtol=1e-10, atol=1e-11)
        np.testing.assert_allclose(found.R, members[0], atol=1e-9)
        far = members[0] > 1e-6
        np.testing.assert_allclose(found.x[far], distances[0][far], rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("restore", list(Restore))
@settings(max_examples=10, deadline=None)
@given(seed=seeds)
def test_ascents_end_in_their_bodies_no_lower_than_they_start(order, restore, seed):
    rng = np.random.default_rng(seed)
    letters, n, m = np.array([3, 5]), 5, 12
    r = np.zeros((2, n))
    for s in range(2):
        r[s, : letters[s]] = rng.dirichlet(np.ones(letters[s]))
    r[1, 4] = 0.0  # a letter without probability
    r[1] /= r[1].sum()
    prior = r * rng.uniform(0.1, 0.9)
    bottom = rng.uniform(0.5, 1.0, 2)
    rows = BodyRows(
        letters, r, prior, prior * rng.uniform(0.5, 2.5, (2, n)), 10 ** rng.uniform(-3, -0.5, 2),
        bottom * np.exp(rng.uniform(0.1, 2.5, 2)), bottom, np.zeros((2, 2)), order,
    )  # fmt: skip
    own = rng.integers(0, 2, m)
    w = rng.exponential(size=(m, n)) * (rng.random((m, n)) < 0.7) * (np.arange(n) < letters[own][:, None])
    values = ascend_all(rows, own, w, int(restore), STEPS)
    q = np.where(np.arange(n) < letters[own][:, None], w, w[:, :1])
    assert (w >= 0.0).all()
    assert (-least_mean(r[own], -q, rows.radius[own], order) <= rows.top[own] * (1 + 1e-10)).all()
    assert (least_mean(r[own], q, rows.radius[own], order) >= bottom[own] * (1 - 1e-10)).all()
    worth = (prior[own] * xlogy(w, w) - rows.prices[own] * w).sum(axis=1)
    np.testing.assert_allclose(values, worth, atol=1e-12)
    again = w.copy()
    assert (
        ascend_all(rows, own, again, int(Restore.NONE), STEPS) >= values - 1e-9 * (1.0 + np.abs(values))
    ).all()


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=10, deadline=None)
@given(seed=seeds)
def test_no_ascent_of_two_letters_leads_beyond_the_first_list(order, seed):
    """The body is a polygon, whose corners are listed: so `polish` has nothing to compile for it."""
    body, prices = random_body(seed, order, letters=2)
    assert body.is_polygon
    starts = np.random.default_rng(seed).exponential(size=(20, 2))
    assert not polish_from([body], [prices], [starts])


def test_an_ascent_of_two_letters_finds_the_best_corner():
    # At order 2 the corner with A = top and B = bottom of two letters is that of the ball of two cells.
    r, B, top, bottom = np.array([[0.3, 0.7]]), np.array([0.02]), np.array([2.0]), np.array([1.0])
    rows = BodyRows(
        np.array([2]), r, r.copy(), r * np.array([[1.2, 1.8]]), B, top, bottom, np.zeros((1, 2)), 2.0
    )
    angle = np.linspace(0.0, np.pi / 2, 20_001)
    ray = np.column_stack([np.cos(angle), np.sin(angle)])
    many = np.broadcast_to(r, ray.shape), np.broadcast_to(B, len(ray))
    A, low = -least_mean(many[0], -ray, many[1], 2.0), least_mean(many[0], ray, many[1], 2.0)
    ray, A = ray[bottom * A <= top * low], A[bottom * A <= top * low]
    scan = ray * (top / A)[:, None]
    best = (r * xlogy(scan, scan) - rows.prices * scan).sum(axis=1).max()
    starts = np.array([[1.0, 2.0], [2.0, 1.0]])
    values = ascend_all(rows, np.zeros(2, dtype=np.int64), starts, int(Restore.NONE), STEPS)
    assert values.max() >= best - 1e-6
