"""Certificates: lines of parts, frames and profiles, against what they say and against listed vertices."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import xlogy

from ldpfrontier.information import mutual_information
from ldpfrontier.optimal import robust
from ldpfrontier.optimal.certificate.affine_pieces import NEARLY, Case, Known, _runs, best_line
from ldpfrontier.optimal.certificate.delta_sweep import Profiles
from ldpfrontier.optimal.certificate.dual_certificate import Certificate, Frame, between, ends, with_ends
from ldpfrontier.optimal.certificate.majorant import level_at
from ldpfrontier.optimal.column_generation.proximal_bundle import generate_proximal
from ldpfrontier.optimal.ldp.nonrobust import optimal_nonrobust
from ldpfrontier.optimal.products import ball_family
from ldpfrontier.optimal.products.ball_family import BallFamily
from ldpfrontier.optimal.products.decomposition import Decomposition
from ldpfrontier.optimal.projections.solve import projected_mechanism
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from ldpfrontier.utility import MutualInformation


def some_products(epsilon: float, *, distinct: bool) -> BallFamily:
    shares = np.random.default_rng(2).dirichlet(np.full(20, 2.0))
    ball = RenyiBall.confidence(np.random.default_rng(1).multinomial(20_000, shares).reshape(5, 4))
    return BallFamily(ball, epsilon, distinct=distinct)


@pytest.fixture(scope="module")
def parted():
    """Profiles of products at a level where single blocks move Z, and prices of joint columns."""
    products = some_products(3.0, distinct=True)
    decomposition = Decomposition(products.product(0, 0.0), 3.0)
    decomposition.solve(products.explore, gap=1e-4, rounds=60)
    whole = float(decomposition.solve(products.explore, gap=1e-4, rounds=60).sum())
    utility = MutualInformation(products.ball.centre)
    prices = generate_proximal(
        products, decomposition.columns(), utility, [decomposition.refine(gap=1e-4).ravel()],
        tolerance=1e-4, max_rounds=30,
    )[1].reshape(products.ball.centre.shape)  # fmt: skip
    profiles = Profiles(products, 33)
    profiles.look(prices, 1e-5 * whole)
    return products, profiles, prices, whole


def whole(frame, p):
    """Whether a part is of all z."""
    return frame.low[p] == 0.0 and frame.high[p] == math.inf


def check_lines(frame: Frame, profiles: Profiles) -> None:
    """Assert that no known point is above the lines of its parts, and that kappa is what totals say."""
    assert (frame.bonus <= 0.0).all()
    for role, heights in frame.heights.items():
        n = profiles.roles.index(role)
        for p in np.flatnonzero(frame.own(role)):
            for k in np.flatnonzero(frame.needed[:, p].any(axis=0)):
                at = (profiles.known if whole(frame, p) else profiles.points)[k]
                own = slice(*at.first[n : n + 2])
                f, z = at.f[own], at.z[own]
                over = f - frame.slope[p, k] * z - heights[p, k] - frame.bonus[p, k] * (z > frame.low[p])
                assert over[z <= frame.high[p]].max(initial=-math.inf) <= 1e-9
    # Every product's parts are of all z, between any two knots.
    for needed in frame.needed:
        for both in (needed[:, :-1] & needed[:, 1:]).T:
            own = np.flatnonzero(both)[np.argsort(frame.low[both])]
            assert frame.low[own[0]] == 0.0
            assert frame.high[own[-1]] == math.inf
            assert (frame.high[own[:-1]] == frame.low[own[1:]]).all()


@pytest.mark.parametrize("share", [3e-2, 1e-2])
def test_parts_have_lines_that_no_known_point_is_above(parted, share):
    _, profiles, prices, _ = parted
    value = float(prices.sum())
    frame = profiles.frame(share * value)
    check_lines(frame, profiles)
    # One line for all does not do.
    assert len(frame.low) > 1
    assert frame.kappa().max() <= 2.0 * share * value
    assert len(profiles.frame(value).low) == 1
    # It does at some knots, where z is not split.
    assert any(whole(frame, p) and not frame.needed[:, p].any(axis=0).all() for p in range(len(frame.low)))


def at_delta(products, delta, role, prices):
    """Return f and z of the vertices that are listed of a body, scaled as those of certificates."""
    body, scale = products.body(role[0], float(delta), role[1]), math.exp(-0.5 * delta)
    z = scale * body.z
    return scale * body.reduced(prices[role[0]]) - 0.5 * delta * z, z


def test_points_at_the_edges_are_of_their_bodies(parted):
    products, profiles, prices, _ = parted
    k = 3
    at, vertices = profiles.points[k], profiles.known[k]
    for n, (s, special) in enumerate(profiles.roles):
        own = slice(*at.first[n : n + 2])
        count = int(np.diff(vertices.first)[n])
        f, z, edge = (x[own][count:] for x in (at.f, at.z, at.at))
        between = z == edge
        # Points with one value that the body has at the knot before or after count here, too.
        near = profiles.deltas[k - 1 : k + 2]
        spread = [at_delta(products, delta, (s, special), prices) for delta in near]
        before, inside, after = ((profiles.edges > z.min()) & (profiles.edges < z.max()) for _, z in spread)
        assert len(np.unique(z[between])) == between.sum()
        assert np.isin(profiles.edges[inside], z[between]).all()
        assert np.isin(z[between], profiles.edges[before | inside | after]).all()
        # f - slope z is convex, so that no vertex is below all points between two.
        for slope in (1.0, 2.0, 3.0):
            best = max(float((g - slope * x).max()) for g, x in spread)
            assert (f - slope * z)[between].max(initial=-math.inf) <= best + 2e-3
        # The others are vertices that pass an edge before the next knot.
        known = np.column_stack([at.f[own], at.z[own]])[:count]
        for point, passed in zip(np.column_stack([f, z])[~between], edge[~between], strict=True):
            assert np.abs(known - point).max(axis=1).min() <= 1e-9
            assert abs(math.log(passed / point[1])) <= 2.0 * np.diff(profiles.deltas)[k - 1 : k + 1].max()
            assert passed in profiles.edges


def test_no_point_of_a_body_with_z_at_an_edge_is_far_above_those_known(parted):
    """Random convex combinations of vertices do not beat what is known at the edges by much."""
    products, profiles, prices, _ = parted
    rng, k = np.random.default_rng(5), 3
    at, delta = profiles.points[k], float(profiles.deltas[k])
    for n, (s, special) in enumerate(profiles.roles):
        own = slice(*at.first[n : n + 2])
        body = products.body(s, delta, special)
        w = math.exp(-0.5 * delta) * body.folded_vectors(np.arange(len(body)))
        z = w @ body.prior
        for edge in profiles.edges[(profiles.edges > z.min()) & (profiles.edges < z.max())]:
            i, j = rng.choice(np.flatnonzero(z < edge), 500), rng.choice(np.flatnonzero(z > edge), 500)
            v = w[i] + ((edge - z[i]) / (z[j] - z[i]))[:, None] * (w[j] - w[i])
            best = (xlogy(v, v) @ body.prior - v @ body.fold(prices[s])).max()
            known = at.f[own][(at.z[own] == edge) & (at.at[own] == edge)].max()
            assert best <= known + 5e-3 * float(prices.sum())


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), low=st.sampled_from([0.0, 0.4, 0.8]), products=st.integers(1, 3))
@example(seed=66026, low=0.0, products=1)  # z just above an end counts as at it
def test_best_lines_say_the_least(seed, low, products):
    """Of a grid of slopes and bonuses none says less; the roomiest ones say enough if any does."""
    rng = np.random.default_rng(seed)
    bodies = [(np.sort(rng.uniform(-1.0, 0.6, 12)), np.sort(rng.uniform(0.1, 1.5, 12))) for _ in range(4)]
    known, own = (
        Known.of([(f, z, z) for f, z in bodies]),
        np.array([[0, 1, 2], [0, 1, 3], [0, 3, 2]])[:products],
    )
    high = math.inf if rng.random() < 0.5 else 1.3
    case = Case.of(known, own, low, high)
    kappa, slope, bonus = best_line(case, 0.0, 0.0)
    assert bonus <= 0.0

    def said(slope: float, bonus: float) -> float:
        heights = []
        for f, z in bodies:
            line = f - slope * z
            # Points at an end are on both sides of it.
            between = (low <= NEARLY * z) & (z <= NEARLY * high)
            height = max(
                line[z <= low].max(initial=-math.inf), (line - bonus)[between].max(initial=-math.inf)
            )
            heights.append(height if math.isfinite(height) else float(line[0] - bonus))
        total = max(sum(heights[s] for s in roles) for roles in own) + bonus
        return slope - 1.0 - math.log(-total) if total < 0.0 else math.inf

    assert said(slope, bonus) == pytest.approx(kappa, abs=1e-9)
    grid = [
        (x, y) for x in np.linspace(-1.0, 3.0, 161) for y in (-np.linspace(0.0, 3.0, 61) if low else [0.0])
    ]
    least = min(said(x, y) for x, y in grid)
    assert kappa <= least + 1e-6
    roomy = best_line(case, max(low, 0.1) * 1.2, kappa + 0.2)
    assert roomy[0] <= kappa + 0.2 + 1e-9
    assert roomy[2] <= 0.0


def test_z_is_split_as_little_as_need_be(parted):
    _, profiles, prices, _ = parted
    enough = 1e-2 * float(prices.sum())
    frame = profiles.frame(enough)
    ended = np.flatnonzero(np.isfinite(frame.high))
    assert ended.size
    for p in ended:
        # Up to the next edge lines would say too much.
        knots, products = frame.needed[:, p].any(axis=0), frame.needed[:, p].any(axis=1)
        wider = float(profiles.edges[profiles.edges > frame.high[p]].min(initial=math.inf))
        kappa = [
            best_line(Case.of(at, profiles._bodies[products], float(frame.low[p]), wider), 0.0, enough)[0]
            for at, own in zip(profiles.points, knots, strict=True)
            if own
        ]
        assert max(kappa) > enough


def test_knots_where_z_is_split_are_in_few_runs():
    needed = np.zeros(40, dtype=bool)
    assert _runs(needed) == []
    needed[[0, 1, 10, 12, 39]] = True
    assert _runs(needed) == [slice(0, 3), slice(9, 14), slice(38, 40)]
    needed[5] = True
    assert _runs(needed) == [slice(0, 14), slice(38, 40)]
    assert _runs(np.ones(1, dtype=bool)) == [slice(0, 1)]


def test_parts_give_tighter_bounds_than_the_whole():
    products = some_products(3.0, distinct=False)
    decomposition = Decomposition(products.product(0, 0.0), 3.0)
    decomposition.solve(products.explore, gap=1e-4, rounds=60)
    whole = float(decomposition.solve(products.explore, gap=1e-4, rounds=60).sum())
    bound = projected_mechanism(
        some_products(3.0, distinct=False), tolerance=1e-3, max_rounds=5, max_nodes=60_000
    )[1]
    assert bound < whole


def test_certificates_of_parts_bound_all_columns(parted):
    products, profiles, prices, _ = parted
    value = float(prices.sum())
    frame = profiles.frame(2e-2 * value)
    assert len(frame.low) > 1
    frame = frame.raised(4e-2 * value, np.full(len(prices), 1.0 / len(prices)))
    certificate = Certificate(products, prices, frame, 8e-3 * value)
    first = certificate.bound(4_000)
    second = certificate.bound(60_000)
    assert 0.0 <= second <= first
    rng = np.random.default_rng(0)
    for s0, delta in ((0, 0.0), (0, 0.5), (2, 1.5), (4, 3.0)):
        product = products.product(s0, delta)
        # No column of known vertices has a larger reduced cost.
        choice = np.stack([rng.integers(0, len(b), 20_000) for b in product.blocks], axis=1)
        columns = product.columns(choice)
        assert (columns.values - columns.vectors @ prices.ravel()).max() <= second + 1e-9
        assert product.price(prices.ravel(), 0)[0] <= second + 2e-3 * value


def test_bodies_that_are_listed_are_not_above_their_levels():
    """A group so rare that nothing is known of it has a box, whose vertices move across the ends of parts."""
    counts = np.array([[300, 200, 100], [400, 500, 600], [1, 0, 1]])
    products = BallFamily(RenyiBall(counts / counts.sum(), 0.01, order=0.5), 2.0, distinct=True)
    assert not products.body(2).improvable
    decomposition = Decomposition(products.product(0, 0.0), 2.0)
    prices = decomposition.solve(products.explore, gap=1e-4, rounds=60)
    rng = np.random.default_rng(0)
    t = np.array([0.0, 0.4, 1.0])
    roles = [(s, special) for special in (False, True) for s in range(3)]
    z = float(products.ball.sensitive[2])
    frame = Frame(
        t, np.array([0.0, 1.7 * z]), np.array([1.7 * z, math.inf]), rng.uniform(1.0, 2.0, (2, 3)),
        -rng.uniform(0.0, 1e-3, (2, 3)), {role: rng.uniform(-1e-3, 0.0, (2, 3)) for role in roles},
        [[(s, s == s0) for s in range(3)] for s0 in range(3)], np.ones((3, 2, 3), dtype=bool),
    )  # fmt: skip
    certificate = Certificate(products, prices, frame, 1e-3)
    for special in (False, True):
        part = certificate._parts[2, special]
        assert part.cover is None
        for x in rng.uniform(0.0, 1.0, 200):
            ends_of_A, ends_of_B = ends(2.0, special)
            body = with_ends(products, 2, between(ends_of_A, x), between(ends_of_B, x))
            f = body.reduced(prices[2])
            over = max(
                float(a) - level_at(part.level, float(b), float(x)) for a, b in zip(f, body.z, strict=True)
            )
            assert over <= part.above + 1e-12


@pytest.mark.parametrize("distinct", [False, True])
def test_raised_heights_use_what_the_totals_allow(distinct):
    groups, rng = range(4), np.random.default_rng(7)
    knots = np.linspace(0.0, 1.0, 3) if distinct else np.zeros(1)
    roles = [(s, special) for special in ((False, True) if distinct else (False,)) for s in groups]
    heights = {role: -rng.uniform(0.5, 1.0, (2, len(knots))) for role in roles}
    products = (
        [[(s, s == s0) for s in groups] for s0 in groups] if distinct else [[(s, False) for s in groups]]
    )
    frame = Frame(
        knots, np.array([0.0, 0.5]), np.array([0.5, np.inf]), rng.uniform(1.0, 1.4, (2, len(knots))),
        -np.array([[0.0], [0.1]]) * np.ones(len(knots)), heights, products,
        np.ones((len(products), 2, len(knots)), dtype=bool),
    )  # fmt: skip
    goal, shares = float(frame.kappa().max()) + 0.1, np.array([0.4, 0.3, 0.2, 0.1])
    raised = frame.raised(goal, shares)
    assert all((raised.heights[role] >= heights[role]).all() for role in roles)
    np.testing.assert_allclose(raised.kappa().max(), goal)
    if distinct:
        np.testing.assert_allclose(raised.kappa(), goal)
        # Lines that a product does not need say nothing of it.
        needed = np.array([[True, True], [True, False], [False, True], [True, False]])[:, :, None]
        needed = needed & np.array([True, True, False])
        few = replace(frame, needed=needed)
        kappa = few.raised(goal, shares).kappa()
        np.testing.assert_allclose(kappa[needed], goal)
        assert (kappa[~needed] == -np.inf).all()
        assert few.own((1, True)).tolist() == [True, False]
    # What is above the levels counts.
    assert raised.kappa(0.1).max() > goal


def test_profiles_are_worth_their_vertices_at_every_knot():
    products = some_products(0.5, distinct=True)
    decomposition = Decomposition(products.product(0, 0.0), 0.5)
    prices = decomposition.solve(products.explore, gap=1e-3, rounds=20)
    profiles = Profiles(products, 17)
    profiles.look(prices, 1e-5)
    frame = profiles.frame(1e-2)
    P = products.ball.centre
    for k in (0, 5, len(frame.knots) - 1):
        delta = float(profiles.deltas[k])
        for s in range(len(P)):
            for special in (False, True):
                body = products.body(s, delta, special and k > 0)
                # Here bodies are scaled by e^(-delta / 2).
                tilt = float(frame.slope[0, k]) + 0.5 * delta
                best = math.exp(-0.5 * delta) * body.reduced(prices[s] + tilt * P[s]).max()
                assert frame.heights[s, special][0, k] >= best - 1e-6


def test_bounds_of_distinct_pairs_are_above_those_of_all_pairs():
    # At delta = 0 they are the same columns.
    products = some_products(0.5, distinct=True)
    decomposition = Decomposition(products.product(0, 0.0), 0.5)
    prices = decomposition.solve(products.explore, gap=1e-3, rounds=20)
    value = float(prices.sum())
    profiles = Profiles(products, 17)
    profiles.look(prices, 1e-4 * value)
    frame = profiles.frame(1e-3 * value)
    frame = frame.raised(
        max(1e-3 * value, float(frame.kappa().max()) + 1e-4 * value), np.full(len(prices), 1.0 / len(prices))
    )
    bound = Certificate(products, prices, frame, 1e-4 * value).bound(60_000)
    assert bound >= products.product(0, 0.0).best_tangent(prices)[0] - 1e-9
    for s0, delta in ((0, 0.1), (2, 0.3), (4, 0.5)):
        product, rng = products.product(s0, delta), np.random.default_rng(0)
        choice = np.stack([rng.integers(0, len(b), 5_000) for b in product.blocks], axis=1)
        columns = product.columns(choice)
        assert (columns.values - columns.vectors @ prices.ravel()).max() <= bound + 1e-9


def test_a_shortened_list_has_what_is_in_use_and_the_best(monkeypatch):
    monkeypatch.setattr(ball_family, "SETTINGS", replace(ball_family.SETTINGS, max_vertices=3))
    products = some_products(1.0, distinct=True)
    product = products.product(0, 0.0)
    decomposition = Decomposition(product, 1.0)
    prices = decomposition.solve(products.explore_all_pairs, gap=1e-6)
    size, excess, columns = product.size, product.best_tangent(prices)[0], decomposition.columns()
    decomposition.renumber_vertices(products.keep_best(prices, decomposition.vertices_in_use()))
    assert product.size < size
    assert product.best_tangent(prices)[0] == pytest.approx(excess)
    again = decomposition.columns()
    np.testing.assert_allclose(again.vectors, columns.vectors)
    np.testing.assert_allclose(again.values, columns.values)
    assert max(map(len, products.product(1, 0.5).blocks)) <= 3 + 2
    assert decomposition.solve(products.explore_all_pairs, gap=1e-6).sum() == pytest.approx(
        prices.sum(), rel=1e-5
    )


def test_the_optimum_over_f_has_no_bound_of_the_projections(monkeypatch):
    ball = some_products(1.0, distinct=True).ball
    nonrobust = optimal_nonrobust(ball.centre, 1.0).upper_bound

    def closed(products, **options):
        channel, _, rounds = projected_mechanism(products, **options)
        return channel, 0.5 * (mutual_information(ball.centre, channel) + nonrobust), rounds

    monkeypatch.setattr(robust, "projected_mechanism", closed)
    of_class = robust.optimal_robust(ball, 1.0, envelope="projections", pairs="distinct")
    assert of_class.value < of_class.upper_bound < 0.999 * nonrobust
    assert robust.optimal_robust(ball, 1.0, envelope="exact").upper_bound == pytest.approx(nonrobust)
