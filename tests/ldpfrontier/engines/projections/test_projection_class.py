"""Bodies of the projections of F: their vertices, covers and mechanisms, against independent paths."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpfrontier.engines.over_set.ball_family import BallFamily
from ldpfrontier.engines.products.geometry.ball_body import polish
from ldpfrontier.engines.projections.projection_class import class_bound, mechanism_without_bound
from ldpfrontier.model.cones import polyopt_cone
from ldpfrontier.model.information import entropy, mutual_information
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.promises.mechanism import optimal_mechanism
from ldpfrontier.promises.nonrobust import optimal_nonrobust
from ldpfrontier.promises.robust import optimal_robust
from ldpfrontier.uncertainty.divergence import least_mean, minimizers, renyi_divergences
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from support.adult import adult_counts
from support.blocks import extreme_means, function_values, random_body

ORDERS = (0.5, 1.0, 2.0, 3.0)
seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=10, deadline=None)
@given(seed=seeds)
def test_members_attain_the_least_mean_inside_the_ball(order, seed):
    rng = np.random.default_rng(seed)
    r = rng.dirichlet(np.ones(5), size=6)
    r[:3, 1] = 0.0
    r /= r.sum(axis=1, keepdims=True)
    q, B = rng.exponential(size=(6, 5)), 10 ** rng.uniform(-4, 0.5, 6)
    values, members, distances = minimizers(r, q, B, order)
    np.testing.assert_allclose(members.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose((members * q).sum(axis=1), values, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(values, least_mean(r, q, B, order), rtol=1e-12)
    assert (renyi_divergences(r, members, order) <= B + 1e-9).all()
    assert (distances > 0).all()


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=8, deadline=None)
@given(seed=seeds)
def test_vertices_lie_in_the_body_and_touch_it(order, seed):
    body, prices = random_body(seed, order)
    listed = len(body)
    polish([body], [prices], 4, 2)
    w = body.folded_vectors(np.arange(len(body)))
    A, B = extreme_means(body, w)
    assert (w >= 0).all()
    assert (body.top * (1 + 1e-9) >= A).all()
    assert (body.bottom * (1 - 1e-9) <= B).all()
    # A polished one may lie inside where the objective does not push outward.
    touch = np.minimum(np.abs(A - body.top), np.abs(B - body.bottom))[:listed]
    assert (touch < 1e-9 * body.top).all()
    np.testing.assert_allclose(body.reduced(prices), function_values(body, w, prices), atol=1e-12)


def test_a_tilt_is_a_price_per_unit_of_the_prior():
    found = []
    for share in (0.0, 1.0):
        body, prices = random_body(3, 2.0, letters=5)
        listed = len(body)
        polish([body], [prices + 0.3 * (1.0 - share) * body.prior], 4, 2, lam=0.3 * share)
        found.append(body.folded_vectors(np.arange(listed, len(body))))
    assert len(found[0]) > 0
    np.testing.assert_allclose(*found, rtol=1e-6)


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=5, deadline=None)
@given(seed=seeds)
def test_polishing_finds_the_best_vertex_of_two_letters(order, seed):
    body, prices = random_body(seed, order, letters=2)
    polish([body], [prices], 6, 3)
    # All extreme points lie on the boundary, which rays through the positive quadrant meet at two points.
    angle = np.linspace(0.0, math.pi / 2, 4001)
    ray = np.column_stack([np.cos(angle), np.sin(angle)])
    A, B = extreme_means(body, ray)
    ray, A, B = (x[body.bottom * A <= body.top * B * (1 + 1e-12)] for x in (ray, A, B))
    scan = np.concatenate([ray * (body.top / A)[:, None], ray * (body.bottom / B)[:, None]])
    best = float(function_values(body, scan, prices).max())
    assert body.reduced(prices).max() >= best - 1e-5 * (1 + abs(best))


@pytest.mark.parametrize("order", [1.0, 2.0])
@settings(max_examples=2, deadline=None)
@given(seed=seeds)
def test_polyopt_is_in_the_class_of_f_itself(order, seed):
    rng = np.random.default_rng(seed)
    a1, a2 = [(2, 2), (2, 3), (3, 2)][int(rng.integers(3))]
    counts = rng.multinomial(int(10 ** rng.uniform(1.5, 5)), rng.dirichlet(np.full(a1 * a2, 0.5)))
    ball = RenyiBall.confidence(counts.reshape(a1, a2), order=order)
    epsilon = float(rng.uniform(0.05, 3.0))
    values = []
    for envelope in ("simplex", "exact"):
        start = values[-1][1] if values else None
        optimum = optimal_robust(
            ball, epsilon, envelope=envelope, tolerance=1e-2, max_rounds=20, start=start, max_nodes=100
        )
        values.append((optimum.value, optimum.channel))
        assert ball.worst_case_epsilon(optimum.channel) <= epsilon + 1e-9
        if envelope == "simplex":
            assert ball.projected_epsilon(optimum.channel) <= epsilon + 1e-9
        assert optimum.value == pytest.approx(mutual_information(ball.centre, optimum.channel), abs=1e-12)
        assert optimum.value <= optimum.upper_bound
        assert optimum.upper_bound <= optimal_nonrobust(ball.centre, epsilon).upper_bound * (1 + 1e-9) + 1e-9
    assert all(b >= a - 1e-9 for (a, _), (b, _) in pairwise(values))


@pytest.mark.parametrize(
    ("pair", "epsilon", "distinct", "nmi"),
    [
        (("sex", "race"), 0.3, True, 0.4576),
        (("education", "marital-status"), 0.3, False, 0.1740),
        (("education", "marital-status"), 2.0, False, 0.4346),
    ],
)
def test_adult_does_as_well_as_a_conic_search(pair, epsilon, distinct, nmi):
    # Most values: a search with one conic program per step reached these (to 1e-4).
    ball = RenyiBall.confidence(adult_counts(*pair))
    family = BallFamily(ball, epsilon * (1.0 - 1e-9), distinct=distinct)
    channel, _ = mechanism_without_bound(family, tolerance=1e-4, max_rounds=60)
    assert mutual_information(ball.centre, channel) / entropy(ball.centre) >= nmi
    assert ball.worst_case_epsilon(channel) <= epsilon


def test_certificates_of_distinct_pairs_hold():
    # Extreme rays know nothing of blocks, deltas or shares of the budget.
    shares = np.random.default_rng(4).dirichlet(np.full(6, 2.0))
    ball = RenyiBall.confidence(np.random.default_rng(5).multinomial(2_000, shares).reshape(2, 3))
    simplices = polyopt_cone(ball.lower_bounds, 0.7, pairs="distinct")
    inner = optimal_mechanism(MutualInformation(ball.centre), simplices)
    products = BallFamily(ball, 0.7, distinct=True)
    bound = class_bound(products, 1e-3, 4_000)
    assert inner.value <= bound < 1.3 * inner.value
    channel, _ = mechanism_without_bound(products, tolerance=1e-3, max_rounds=60)
    assert mutual_information(ball.centre, channel) <= bound


@pytest.mark.long
def test_covers_find_the_vertices_that_are_missing():
    # Letters 0 and 4 high and one other at 1.4: no climb from the listed vertices ends there.
    ball = RenyiBall.confidence(adult_counts("education", "marital-status"))
    products = BallFamily(ball, 1.0, distinct=False)
    bound = class_bound(products, 1e-4, 30_000)
    channel, _ = mechanism_without_bound(products, tolerance=1e-4, max_rounds=3)
    value = mutual_information(ball.centre, channel)
    assert value <= bound < 1.004 * value


def test_degenerate_tables():
    one_useful = RenyiBall.confidence([[20], [30]])
    assert optimal_robust(one_useful, 1.0, envelope="exact").value > 0
    empty_group = RenyiBall.confidence([[20, 5, 0], [0, 0, 0]])
    optimum = optimal_robust(empty_group, 1.0, envelope="exact")
    assert empty_group.worst_case_epsilon(optimum.channel) <= 1.0 + 1e-9
    assert optimal_robust(empty_group, 0.0, envelope="exact").value == 0.0
