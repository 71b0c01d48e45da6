"""Columns whose groups share the budget, by a multiplier: extremes, bodies, levels and mechanisms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import xlogy

from ldpfrontier.engines.joint.spatial_branch_and_bound import joint_optimum
from ldpfrontier.engines.over_set.ball_family import BallFamily
from ldpfrontier.engines.products.geometry.ball_body import Body, polish
from ldpfrontier.engines.products.geometry.support_function import (
    ExtremeMean,
    empty_extreme,
    extreme_mean,
    two_valued_vertices,
)
from ldpfrontier.engines.projections import budget_multiplier
from ldpfrontier.engines.projections.budget_multiplier import (
    check_level,
    multiplier_families,
    shared_budget_mechanism,
)
from ldpfrontier.engines.projections.projection_class import mechanism_without_bound
from ldpfrontier.model.information import entropy, mutual_information
from ldpfrontier.model.mechanisms import randomized_response
from ldpfrontier.model.optimum import uninformative
from ldpfrontier.promises.robust import optimal_robust
from ldpfrontier.uncertainty.divergence import divergence_cost, least_mean, two_cell_range
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from oracles.conic import conic_epsilon
from support.adult import adult_counts
from support.grids import few

ORDERS = (0.5, 1.0, 1.05, 2.0, 4.0)
seeds = st.integers(0, 2**32 - 1)


def extreme_at(
    r: np.ndarray, w: np.ndarray, radius: float, order: float, multiplier: float, sign: float
) -> tuple[float, ExtremeMean]:
    found = empty_extreme(len(r))
    extreme_mean(r, w, sign, radius, order, multiplier, found)
    return float(found.value[0]), found


def scanned(
    r: np.ndarray, w: np.ndarray, radius: float, order: float, multiplier: float, sign: float
) -> float:
    """The extreme with a multiplier, from those without at many divergences."""
    D = radius * np.linspace(0.0, 1.0, 3_001)[1:] ** 2
    rows = np.broadcast_to(r, (len(D), len(r))), np.broadcast_to(sign * w, (len(D), len(w)))
    means = least_mean(*rows, D, order) + multiplier * np.array([divergence_cost(x, order) for x in D])
    return float(sign * min(means.min(), sign * (r @ w)))


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=6, deadline=None)
@given(seed=seeds)
def test_extremes_with_a_multiplier_are_the_best_of_all_divergences(order, seed):
    rng = np.random.default_rng(seed)
    n, radius, multiplier = int(rng.integers(2, 6)), 10 ** rng.uniform(-3, 0.3), 10 ** rng.uniform(-2, 2)
    r = rng.dirichlet(np.ones(n))
    if n > 2 and rng.random() < 0.4:
        r[0] = 0.0
        r /= r.sum()
    w = rng.exponential(size=n) * (rng.random(n) < 0.8)
    for sign in (1.0, -1.0):
        value, found = extreme_at(r, w, radius, order, multiplier, sign)
        assert value == pytest.approx(scanned(r, w, radius, order, multiplier, sign), rel=1e-5, abs=1e-5)
        assert found.R.sum() == pytest.approx(1.0)
        assert sign * found.budget_cost[0] == pytest.approx(value - found.R @ w, abs=1e-12)


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=10, deadline=None)
@given(seed=seeds)
def test_two_values_meet_the_ends(order, seed):
    rng = np.random.default_rng(seed)
    mass, radius = rng.uniform(0.01, 0.99, 8), 10 ** rng.uniform(-3, 0.0)
    bottom = rng.uniform(0.5, 1.0)
    ends, multipliers = (
        (bottom * math.exp(rng.uniform(0.1, 2.5)), bottom),
        tuple(10 ** rng.uniform(-1, 1.5, 2)),
    )
    low, high = two_cell_range(mass, np.full(8, radius), order)
    for m, (apart, floor, first, last) in zip(
        mass, two_valued_vertices(mass, (high, low), ends, multipliers, order), strict=True
    ):
        r = np.array([m, 1.0 - m])

        def both(w: np.ndarray, r: np.ndarray = r) -> list[float]:
            return [
                extreme_at(r, w, radius, order, t, s)[0]
                for t, s in zip(multipliers, (-1.0, 1.0), strict=True)
            ]

        if np.isfinite(apart):
            assert both(np.array([floor + apart, floor])) == pytest.approx(ends, rel=1e-9)
        elif np.isfinite(first):
            assert both(np.array([first, 0.0]))[0] == pytest.approx(ends[0], rel=1e-9)
            assert both(np.array([last, 0.0]))[1] == pytest.approx(ends[1], rel=1e-9)
            assert first >= last


@pytest.mark.parametrize("order", ORDERS)
def test_where_a_search_starts_does_not_matter(order):
    """Each search starts from the solution before; sets that are certain or impossible have none."""
    mass = np.array([0.0, 1e-9, 0.02, 0.3, 0.300001, 0.9, 1.0, 0.5, 0.0, 1.0, 0.1])
    low, high = two_cell_range(mass, np.full(mass.size, 0.1), order)
    others = (3.0, 1.0), (0.8, 0.4), order
    together = two_valued_vertices(mass, (high, low), *others)
    alone = [two_valued_vertices(mass[[i]], (high[[i]], low[[i]]), *others)[0] for i in range(mass.size)]
    assert together == pytest.approx(np.array(alone), rel=1e-9, abs=1e-12, nan_ok=True)
    assert np.isfinite(together[2:6]).any(axis=1).all()


def random_body(seed: int, order: float, letters: int) -> tuple[Body, np.ndarray]:
    """A random body with multipliers, and prices near which vertices compete."""
    rng = np.random.default_rng(seed)
    r, p, epsilon = rng.dirichlet(np.ones(letters)), rng.uniform(0.05, 0.9), rng.uniform(0.2, 2.0)
    radius, multiplier = 10 ** rng.uniform(-2.5, -0.5), 10 ** rng.uniform(-1, 1)
    multipliers = multiplier, multiplier * math.exp(-epsilon)
    body = Body(r, radius, order, p * r, 0.6 * epsilon, math.exp(-rng.uniform(0, 0.5)), multipliers)
    return body, p * r * rng.uniform(0.5, 2.5, letters)


def ends_of(body: Body, w: np.ndarray) -> np.ndarray:
    """A and B of some vectors, shape (2, m)."""
    sides = list(zip(body.budget_multipliers, (-1.0, 1.0), strict=True))
    return np.array(
        [[extreme_at(body.centre, v, body.radius, body.order, t, s)[0] for v in w] for t, s in sides]
    )


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=8, deadline=None)
@given(seed=seeds)
def test_vertices_lie_in_a_body_with_multipliers(order, seed):
    body, prices = random_body(seed, order, 4)
    before = body.reduced(prices).max()
    polish([body], [prices], 6, 3)
    w = body.folded_vectors(np.arange(len(body)))
    A, B = ends_of(body, w)
    assert (w >= 0).all()
    assert (body.top * (1 + 1e-9) >= A).all()
    assert (body.bottom * (1 - 1e-9) <= B).all()
    assert body.reduced(prices).max() >= before
    worth = xlogy(w, w) @ body.prior - w @ body.fold(prices)
    np.testing.assert_allclose(body.reduced(prices), worth, atol=1e-12)


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=2, deadline=None)
@given(seed=seeds)
def test_no_point_of_a_body_with_multipliers_is_above_the_vertices_found(order, long, seed):
    # Two letters: the boundary is scanned along rays from a constant inside.
    body, prices = random_body(seed, order, 2)
    polish([body], [prices], 6, 3)
    middle = np.full(2, 0.5 * (body.top + body.bottom))
    angle = np.linspace(0.0, 2 * math.pi, 721 if long else 181)
    ray = np.column_stack([np.cos(angle), np.sin(angle)])
    low, high = np.zeros(len(ray)), np.full(len(ray), 1e3 * body.top)
    for _ in range(60 if long else 40):
        half = 0.5 * (low + high)
        w = middle + half[:, None] * ray
        A, B = ends_of(body, np.maximum(w, 0.0))
        inside = (w >= 0).all(axis=1) & (body.top >= A) & (body.bottom <= B)
        low, high = np.where(inside, half, low), np.where(inside, high, half)
    w = middle + low[:, None] * ray
    best = float((xlogy(w, w) @ body.prior - w @ body.fold(prices)).max())
    assert body.reduced(prices).max() >= best - 1e-5 * (1 + abs(best))


def random_ball(seed: int, order: float, shape: tuple[int, int]) -> RenyiBall:
    rng = np.random.default_rng(seed)
    n = int(10 ** rng.uniform(2.0, 5.0))
    counts = rng.multinomial(n, rng.dirichlet(np.full(math.prod(shape), 1.0))).reshape(shape)
    if seed % 3 == 0:
        counts[rng.integers(shape[0]), rng.integers(shape[1])] = 0
    return RenyiBall.confidence(counts, order=order)


@pytest.mark.parametrize("order", few([0.5, 2.0], more=[1.0, 4.0]))
@settings(max_examples=1, deadline=None)
@given(seed=seeds)
def test_mechanisms_are_private_and_below_the_optimum(order, seed):
    ball, epsilon = random_ball(seed, order, (2, 3)), float(np.random.default_rng(seed).uniform(0.1, 2.5))
    found = shared_budget_mechanism(ball, epsilon, tolerance=1e-3, max_rounds=5)
    channel = uninformative(6).channel if found is None else found[0]
    level = ball.worst_case_epsilon(channel)
    assert level <= epsilon * (1 + 1e-9)
    found, _ = conic_epsilon(ball, channel)
    assert math.isnan(found) or found <= epsilon * (1 + 1e-6)
    optimum = joint_optimum(ball, epsilon, tolerance=1e-2, max_nodes=30)
    assert mutual_information(ball.centre, channel) <= optimum.upper_bound + 1e-12


def test_columns_at_a_multiplier_are_at_the_level():
    ball = random_ball(5, 2.0, (5, 4))
    products = BallFamily(ball, 0.5, distinct=True, budget_multiplier=0.5)
    channel, _ = mechanism_without_bound(products, tolerance=1e-3, max_rounds=5)
    assert ball.projected_epsilon(channel) > 0.55
    assert ball.worst_case_epsilon(channel) == pytest.approx(0.5, rel=3e-3)
    assert ball.worst_case_epsilon(channel) <= 0.5 * (1 + 1e-9)


def test_several_multipliers_are_one_family():
    ball = random_ball(4, 2.0, (4, 4))
    products = multiplier_families(ball, 0.7)
    excess, new = products.explore(np.zeros(16), 0.0)
    assert excess > 0 < len(new)
    bound, columns = products.price(np.zeros(16), 0)
    assert bound >= (columns.values / (columns.vectors @ products.scale)).max() * (1 - 1e-9)


@pytest.mark.long
@pytest.mark.parametrize(("epsilon", "nmi"), [(0.3, 0.236), (2.0, 0.458)])
def test_sharing_the_budget_is_worth_much_on_adult(epsilon, nmi):
    # The projections allow for 0.179 and 0.443, the bounds on all robust mechanisms are 0.250 and 0.472.
    ball = RenyiBall.confidence(adult_counts("education", "marital-status"))
    optimum = optimal_robust(ball, epsilon, envelope="exact", tolerance=1e-3, max_nodes=0)
    assert optimum.value / entropy(ball.centre) >= nmi
    assert ball.worst_case_epsilon(optimum.channel) <= epsilon


def test_without_a_finite_radius_there_is_nothing_to_share():
    for ball in (
        RenyiBall([[0.2, 0.3], [0.4, 0.1]], math.inf),
        RenyiBall([[0.2, 0.3], [0.4, 0.1]], 0.1, 0.4),
    ):
        assert shared_budget_mechanism(ball, 1.0, tolerance=1e-3, max_rounds=3) is None
    empty = RenyiBall.confidence([[20, 5, 9], [0, 0, 0], [7, 3, 30]])
    found = shared_budget_mechanism(empty, 1.0, tolerance=1e-3, max_rounds=3)
    assert found is not None
    assert empty.worst_case_epsilon(found[0]) <= 1.0 + 1e-9


def test_mechanisms_and_starts_are_taken_up_to_the_level(monkeypatch: pytest.MonkeyPatch) -> None:
    """One millionth above it there is no mechanism, and a start is refused."""
    ball, channel = RenyiBall.confidence([[70, 30, 20], [26, 57, 40]]), randomized_response(6, 1.0)
    level = ball.worst_case_epsilon(channel)
    monkeypatch.setattr(budget_multiplier, "mechanism_without_bound", lambda *_, **__: (channel, 1))
    found = [
        shared_budget_mechanism(ball, factor * level, tolerance=1e-3, max_rounds=1)
        for factor in (1.0 + 1e-6, 1.0 - 1e-6)
    ]
    assert found == [(channel, 1), None]
    check_level(channel, ball, (1.0 + 1e-6) * level)
    with pytest.raises(ValueError, match="over the uncertainty set"):
        check_level(channel, ball, (1.0 - 1e-6) * level)
