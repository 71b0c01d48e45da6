"""Bodies of the exact projections: their vertices, covers and mechanisms, against independent paths."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import xlogy

from ldpfrontier.channel import Channel
from ldpfrontier.information import entropy, mutual_information
from ldpfrontier.optimal.certificate.branch_and_bound import Cover
from ldpfrontier.optimal.certificate.majorant import Level, below, level_at
from ldpfrontier.optimal.exact.spatial_branch_and_bound import joint_optimum
from ldpfrontier.optimal.geometry.ball_body import Body, polish, climb_or_restore
from ldpfrontier.optimal.ldp.nonrobust import optimal_nonrobust
from ldpfrontier.optimal.products.ball_family import BallFamily
from ldpfrontier.optimal.projections.solve import frontier_bound, projected_mechanism
from ldpfrontier.optimal.robust import optimal_robust
from ldpfrontier.uncertainty.divergence import least_mean, minimizers, renyi_divergences
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from reproduction.data.catalogue import data_set

BUNDLED = Path(__file__).parents[4] / "resources" / "adult_pair_counts.csv"
ORDERS = (0.5, 1.0, 2.0, 3.0)
seeds = st.integers(0, 2**32 - 1)


def adult_ball(sensitive: str, public: str) -> RenyiBall:
    adult = data_set("adult")
    return RenyiBall.confidence(adult.contingency(adult.read(BUNDLED), sensitive, public).counts)


def random_body(seed: int, order: float, letters: int = 4) -> tuple[Body, np.ndarray]:
    """A random body, and prices near which vertices compete."""
    rng = np.random.default_rng(seed)
    r = rng.dirichlet(np.ones(letters))
    p, radius, epsilon = rng.uniform(0.05, 0.9), 10 ** rng.uniform(-3, -0.5), rng.uniform(0.1, 2.5)
    body = Body(r, radius, order, p * r, epsilon, scale=float(np.exp(-rng.uniform(0, 0.5))))
    return body, p * r * rng.uniform(0.5, 2.5, letters)


def extremes(body: Body, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r, radius = np.broadcast_to(body.centre, w.shape), np.full(len(w), body.radius)
    return -least_mean(r, -w, radius, body.order), least_mean(r, w, radius, body.order)


def worth(body: Body, w: np.ndarray, prices: np.ndarray) -> np.ndarray:
    return np.asarray(xlogy(w, w) @ body.prior - w @ body.fold(prices))


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
    A, B = extremes(body, w)
    assert (w >= 0).all()
    assert (body.top * (1 + 1e-9) >= A).all()
    assert (body.bottom * (1 - 1e-9) <= B).all()
    # A polished one may lie inside where the objective does not push outward.
    touch = np.minimum(np.abs(A - body.top), np.abs(B - body.bottom))[:listed]
    assert (touch < 1e-9 * body.top).all()
    np.testing.assert_allclose(body.reduced(prices), worth(body, w, prices), atol=1e-12)


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
    A, B = extremes(body, ray)
    ray, A, B = (x[body.bottom * A <= body.top * B * (1 + 1e-12)] for x in (ray, A, B))
    scan = np.concatenate([ray * (body.top / A)[:, None], ray * (body.bottom / B)[:, None]])
    best = float(worth(body, scan, prices).max())
    assert body.reduced(prices).max() >= best - 1e-5 * (1 + abs(best))


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=2, deadline=None)
@given(seed=seeds)
def test_a_cover_bounds_every_member_of_the_body(order, seed):
    body, prices = random_body(seed, order)
    polish([body], [prices], 6, 4)
    best = float(body.reduced(prices).max())
    cover = Cover(body, prices, (body.top,) * 2, (body.bottom,) * 2)
    bound = cover.bound(best, 1_500)
    rng = np.random.default_rng(seed)
    # Rays from the inside: as far up as A allows, as far down as B does.
    ray = rng.exponential(size=(4000, body.letters)) * rng.integers(0, 2, (4000, body.letters)) + 1e-9
    A, B = extremes(body, ray)
    ray, A, B = (x[body.bottom * A <= body.top * B] for x in (ray, A, B))
    scan = np.concatenate([ray * (body.top / A)[:, None], ray * (body.bottom / B)[:, None]])
    assert bound >= worth(body, scan, prices).max(initial=best) - 1e-9
    assert best <= cover.bound(best, 3_000) <= bound + 1e-12
    # What a cover has cut off below a bound that was good enough cannot be asked for later.
    assert cover.bound(best - 1.0, 0) >= best
    # The letters that are hinted at are values of letters.
    assert (cover.hints()[0] >= 0.0).all()
    if 0.9 * body.top <= 1.1 * body.bottom:
        return
    # The same body between other ends.
    narrow = Cover(body, prices, (0.9 * body.top,) * 2, (1.1 * body.bottom,) * 2).bound(-math.inf, 500)
    A, B = extremes(body, scan)
    inside = scan[(0.9 * body.top >= A) & (1.1 * body.bottom <= B)]
    assert narrow >= worth(body, inside, prices).max(initial=-math.inf) - 1e-9
    starts, many = body.best_folded(prices, 4), np.ones(len(body.best_folded(prices, 4)))
    ends = 0.9 * body.top * many, 1.1 * body.bottom * many
    w = climb_or_restore(body, prices, starts, 0.0 * many, *ends)
    assert narrow >= worth(body, w, prices).max() - 1e-9
    # With tilts, places are as good for other prices.
    tilted = worth(body, climb_or_restore(body, prices, starts, 0.2 * many, *ends), prices + 0.2 * body.prior)
    straight = worth(
        body, climb_or_restore(body, prices + 0.2 * body.prior, starts, 0.0 * many, *ends), prices + 0.2 * body.prior
    )
    np.testing.assert_allclose(tilted, straight)


def random_level(rng: np.random.Generator, parts: int, knots: int) -> Level:
    """A random level with so many pieces, the last without end."""
    t = np.sort(np.concatenate([[0.0, 1.0], rng.uniform(0.1, 0.9, knots - 2)])) if knots > 1 else np.zeros(1)
    low = np.sort(rng.uniform(0.3, 3.0, parts))
    low[0] = 0.0
    return Level.of(
        t,
        low,
        np.append(low[1:] * rng.uniform(1.0, 1.5, parts - 1), np.inf),
        -rng.uniform(0.0, 0.3, (parts, knots)),
        rng.uniform(0.5, 2.0, (parts, knots)),
        rng.uniform(-1.0, 0.5, (parts, knots)),
    )


@settings(max_examples=60, deadline=None)
@given(seed=seeds, parts=st.integers(1, 4), knots=st.integers(1, 4))
def test_lines_are_below_their_level(seed, parts, knots):
    rng = np.random.default_rng(seed)
    level = random_level(rng, parts, knots)
    low, high = np.sort(rng.uniform(0.0, 4.0, 2))
    span = np.sort(rng.uniform(0.0, 1.0, 2)) if knots > 1 else np.zeros(2)
    line, room = np.empty((2, 2)), np.empty(2 * level.edges.size + 2)
    focus = rng.uniform(low, high)
    below(level, span, low, high, focus, room, room.copy(), line)
    edges = np.concatenate([level.low, level.high])
    z = np.concatenate([rng.uniform(low, high, 40), edges[(edges > low) & (edges < high)], [low, high]])
    for share in (0.0, *rng.uniform(0.0, 1.0, 8), 1.0):
        slope, height = line[0] + share * (line[1] - line[0])
        t = float(span[0] + share * (span[1] - span[0]))
        assert all(slope * x + height <= level_at(level, float(x), t) + 1e-9 for x in z)
    if parts == 1 and knots == 1:
        # One line is its own, but for a bonus, which is missing below its part alone.
        assert slope * high + height == pytest.approx(level_at(level, float(high), 0.0), abs=1e-9)


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=4, deadline=None)
@given(seed=seeds, parts=st.integers(1, 3), moving=st.booleans())
def test_a_cover_bounds_every_member_above_a_level(order, seed, parts, moving):
    body, prices = random_body(seed, order)
    rng = np.random.default_rng(seed)
    level = random_level(rng, parts, 3 if moving else 1)
    top, bottom = (body.top, 0.8 * body.top + 0.2 * body.bottom), (body.bottom, 0.7 * body.bottom)
    if not moving:
        top, bottom = (body.top,) * 2, (body.bottom,) * 2
    cover = Cover(body, prices, top, bottom, level)
    bound = cover.bound(0.0, 800)
    above = cover.above(level.knots)
    assert above.max() == pytest.approx(bound)
    scale = float(body.prior.sum())
    ray = rng.exponential(size=(2000, body.letters)) * rng.integers(0, 2, (2000, body.letters)) + 1e-9
    A, B = extremes(body, ray)
    for n, t in [(n, float(t)) for n in range(len(above)) for t in rng.uniform(0.0, 1.0, 3)]:
        if moving:
            t = float(level.knots[n] + t * (level.knots[n + 1] - level.knots[n]))
        end, start = top[0] + t * (top[1] - top[0]), bottom[0] + t * (bottom[1] - bottom[0])
        inside = start * A <= end * B
        w = np.concatenate(
            [ray[inside] * (end / A[inside])[:, None], ray[inside] * (start / B[inside])[:, None]]
        )
        z = w @ body.prior / scale
        over = worth(body, w, prices) - scale * np.array([level_at(level, float(x), t) for x in z])
        assert over.max(initial=-math.inf) <= above[n] + 1e-9


def test_a_cover_closes():
    body, prices = random_body(5, 2.0, letters=3)
    polish([body], [prices], 8, 6)
    best = float(body.reduced(prices).max())
    goal = best + 1e-3 * float(body.prior.sum())
    assert Cover(body, prices, (body.top,) * 2, (body.bottom,) * 2).bound(goal, 40_000) == goal
    # A general optimizer agrees that there is nothing better.
    cone = [
        {"type": "ineq", "fun": lambda w: body.top - extremes(body, w[None])[0][0]},
        {"type": "ineq", "fun": lambda w: extremes(body, w[None])[1][0] - body.bottom},
    ]
    for start in body.folded_vectors(np.arange(len(body))):
        found = minimize(
            lambda w: -worth(body, np.maximum(w, 0.0)[None], prices)[0],
            start, method="SLSQP", bounds=[(0, None)] * 3, constraints=cone,
        )  # fmt: skip
        if min(c["fun"](found.x) for c in cone) > -1e-9:
            assert -found.fun <= goal + 1e-9


@pytest.mark.parametrize("order", [1.0, 2.0])
@settings(max_examples=2, deadline=None)
@given(seed=seeds)
def test_mechanisms_of_the_projections_are_private_and_nested(order, seed):
    rng = np.random.default_rng(seed)
    a1, a2 = [(2, 2), (2, 3), (3, 2)][int(rng.integers(3))]
    counts = rng.multinomial(int(10 ** rng.uniform(1.5, 5)), rng.dirichlet(np.full(a1 * a2, 0.5)))
    ball = RenyiBall.confidence(counts.reshape(a1, a2), order=order)
    epsilon = float(rng.uniform(0.05, 3.0))
    values = []
    for envelope, pairs in (
        ("simplex", "all"),
        ("projections", "all"),
        ("projections", "distinct"),
        ("exact", "distinct"),
    ):
        start = values[-1][1] if values else None
        optimum = optimal_robust(
            ball,
            epsilon,
            envelope=envelope,
            pairs=pairs,
            tolerance=1e-2,
            max_rounds=20,
            start=start,
            max_nodes=100,
        )
        values.append((optimum.value, optimum.channel))
        assert ball.worst_case_epsilon(optimum.channel) <= epsilon + 1e-9
        if envelope != "exact":
            assert ball.projected_epsilon(optimum.channel) <= epsilon + 1e-9
        assert optimum.value == pytest.approx(mutual_information(ball.centre, optimum.channel), abs=1e-12)
        assert optimum.value <= optimum.upper_bound
        assert optimum.upper_bound <= optimal_nonrobust(ball.centre, epsilon).upper_bound * (1 + 1e-9) + 1e-9
    assert all(b >= a - 1e-9 for (a, _), (b, _) in pairwise(values))


@pytest.mark.parametrize(
    ("pair", "epsilon", "pairs", "nmi"),
    [
        (("sex", "race"), 0.3, "distinct", 0.4576),
        (("education", "marital-status"), 0.3, "all", 0.1740),
        (("education", "marital-status"), 2.0, "all", 0.4346),
    ],
)
def test_adult_does_as_well_as_a_conic_search(pair, epsilon, pairs, nmi):
    # Most values: a search with one conic program per step reached these (to 1e-4).
    ball = adult_ball(*pair)
    optimum = optimal_robust(
        ball, epsilon, envelope="projections", pairs=pairs, tolerance=1e-4, max_rounds=60
    )
    assert optimum.value / entropy(ball.centre) >= nmi
    assert ball.worst_case_epsilon(optimum.channel) <= epsilon


def random_ball_of_five() -> RenyiBall:
    shares = np.random.default_rng(2).dirichlet(np.full(20, 2.0))
    return RenyiBall.confidence(np.random.default_rng(1).multinomial(20_000, shares).reshape(5, 4))


def test_a_certificate_of_the_class():
    ball = random_ball_of_five()
    loose = optimal_robust(ball, 1.0, envelope="projections", tolerance=1e-4)
    tight = optimal_robust(ball, 1.0, envelope="projections", tolerance=1e-4, max_nodes=16_000)
    assert tight.value >= loose.value - 1e-4
    assert tight.value <= tight.upper_bound < loose.upper_bound
    assert tight.gap < 0.03


def test_certificates_of_distinct_pairs_hold():
    # Joint columns know nothing of blocks, deltas or shares of the budget.
    shares = np.random.default_rng(4).dirichlet(np.full(6, 2.0))
    ball = RenyiBall.confidence(np.random.default_rng(5).multinomial(2_000, shares).reshape(2, 3))
    joint = joint_optimum(ball, 0.7, oracle="projections", tolerance=1e-2, max_nodes=100)
    products = BallFamily(ball, 0.7, distinct=True)
    bound = projected_mechanism(products, tolerance=1e-3, max_rounds=3, max_nodes=4_000)[1]
    assert joint.value <= bound < 1.3 * joint.value
    exact = joint_optimum(ball, 0.7, tolerance=1e-2, max_nodes=100)
    assert exact.value <= frontier_bound(ball, 0.7, 4_000) < 1.3 * exact.value


def test_covers_find_the_vertices_that_are_missing():
    # Letters 0 and 4 high and one other at 1.4: no climb from the listed vertices ends there.
    ball = adult_ball("education", "marital-status")
    products = BallFamily(ball, 1.0, distinct=False)
    optimum = projected_mechanism(products, tolerance=1e-4, max_rounds=3, max_nodes=30_000)
    value, bound = mutual_information(ball.centre, optimum[0]), optimum[1]
    assert value <= bound < 1.004 * value


def test_no_robust_mechanism_is_above_the_frontier():
    shares = np.random.default_rng(4).dirichlet(np.full(36, 2.0))
    ball = RenyiBall.confidence(np.random.default_rng(5).multinomial(20_000, shares).reshape(12, 3))
    nr = optimal_nonrobust(ball.centre, 0.2).upper_bound
    optimum = optimal_robust(ball, 0.2, envelope="exact", tolerance=1e-3, max_nodes=40_000)
    assert optimum.value <= optimum.upper_bound < 0.7 * nr


def test_degenerate_tables():
    one_public = RenyiBall.confidence([[20], [30]])
    assert optimal_robust(one_public, 1.0, envelope="projections").value > 0
    empty_group = RenyiBall.confidence([[20, 5, 0], [0, 0, 0]])
    optimum = optimal_robust(empty_group, 1.0, envelope="projections", pairs="distinct")
    assert empty_group.worst_case_epsilon(optimum.channel) <= 1.0 + 1e-9
    assert optimal_robust(empty_group, 0.0, envelope="exact").value == 0.0


def test_bad_arguments():
    ball = RenyiBall.confidence([[20, 5], [10, 30]])
    with pytest.raises(
        ValueError, match="envelope is 'ball'; it must be 'simplex', 'projections' or 'exact'"
    ):
        optimal_robust(ball, 1.0, envelope="ball")  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match=r"The start is private at level .* over the projections; epsilon is 1"
    ):
        optimal_robust(ball, 1.0, envelope="projections", start=Channel(np.eye(4)))
