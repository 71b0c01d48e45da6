"""Dual bounds and the sweeps that they come from, against known points, columns and listed vertices."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import xlogy

from ldpfrontier.engines.over_set import ball_family
from ldpfrontier.engines.over_set.affine_bounds import AffineBounds
from ldpfrontier.engines.over_set.affine_pieces import FitProblem, fit_knot
from ldpfrontier.engines.over_set.ball_family import BallFamily
from ldpfrontier.engines.over_set.block_family import BlockLabel, body_between, interpolate, mean_bounds
from ldpfrontier.engines.over_set.delta_sweep import DeltaSweep
from ldpfrontier.engines.over_set.dual_bound import DualBound
from ldpfrontier.engines.over_set.majorant import evaluate
from ldpfrontier.engines.products.decomposition import Decomposition
from ldpfrontier.engines.projections.projection_class import class_bound
from ldpfrontier.uncertainty.renyi_ball import RenyiBall


def some_family(epsilon: float, *, distinct: bool) -> BallFamily:
    shares = np.random.default_rng(2).dirichlet(np.full(20, 2.0))
    ball = RenyiBall.confidence(np.random.default_rng(1).multinomial(20_000, shares).reshape(5, 4))
    return BallFamily(ball, epsilon, distinct=distinct)


@pytest.fixture(scope="module")
def split():
    """A sweep at a level where single blocks move Z, and duals of joint columns."""
    family = some_family(3.0, distinct=True)
    decomposition = Decomposition(family.product(0, 0.0), 3.0)
    decomposition.solve(family.explore, gap=1e-4, rounds=60)
    whole = float(decomposition.solve(family.explore, gap=1e-4, rounds=60).sum())
    refined = decomposition.refine(gap=1e-4)
    duals = refined + family.price(refined.ravel(), 0)[0] * family.ball.centre
    sweep = DeltaSweep(family, 33)
    sweep.search(duals, 1e-5 * whole)
    return family, sweep, duals, whole


def whole(bounds, p):
    """Whether a class has all z."""
    return bounds.low[p] == 0.0 and bounds.high[p] == math.inf


def check_bounds(bounds: AffineBounds, sweep: DeltaSweep) -> None:
    """Assert that no known point is above its bounds, and that the classes of a product have all z."""
    assert (bounds.discount <= 0.0).all()
    for n, intercepts in enumerate(bounds.intercepts):
        for p in np.flatnonzero(bounds.classes_of(n)):
            for k in np.flatnonzero(bounds.needed[:, p].any(axis=0)):
                at = (sweep.vertices if whole(bounds, p) else sweep.points)[k]
                own = slice(*at.first[n : n + 2])
                f, z = at.f[own], at.z[own]
                over = (
                    f - bounds.lam[p, k] * z - intercepts[p, k] - bounds.discount[p, k] * (z > bounds.low[p])
                )
                assert over[z <= bounds.high[p]].max(initial=-math.inf) <= 1e-9
    # Between any two knots, too.
    for needed in bounds.needed:
        for both in (needed[:, :-1] & needed[:, 1:]).T:
            own = np.flatnonzero(both)[np.argsort(bounds.low[both])]
            assert bounds.low[own[0]] == 0.0
            assert bounds.high[own[-1]] == math.inf
            assert (bounds.high[own[:-1]] == bounds.low[own[1:]]).all()


@pytest.mark.parametrize("share", [3e-2, 1e-2])
def test_no_known_point_is_above_the_affine_bounds(split, share):
    _, sweep, duals, _ = split
    value = float(duals.sum())
    bounds = sweep.affine_bounds(share * value)
    check_bounds(bounds, sweep)
    # One class is not enough.
    assert len(bounds.low) > 1
    assert bounds.kappa().max() <= 2.0 * share * value
    assert len(sweep.affine_bounds(value).low) == 1
    # It is at some knots, where z is not split.
    assert any(whole(bounds, p) and not bounds.needed[:, p].any(axis=0).all() for p in range(len(bounds.low)))


def at_delta(family, delta, label, duals):
    """Return f and z of the listed vertices of a body, scaled as those of dual bounds."""
    body, scale = family.body(label.s, float(delta), label.special), math.exp(-0.5 * delta)
    z = scale * body.z
    return scale * body.reduced(duals[label.s]) - 0.5 * delta * z, z


def test_points_at_the_breakpoints_are_of_their_bodies(split):
    family, sweep, duals, _ = split
    k = 3
    at, vertices = sweep.points[k], sweep.vertices[k]
    for n, label in enumerate(sweep.labels):
        own = slice(*at.first[n : n + 2])
        count = int(np.diff(vertices.first)[n])
        f, z, edge = (x[own][count:] for x in (at.f, at.z, at.class_z))
        between = z == edge
        # Points with one value that the body has at the knot before or after count here, too.
        near = sweep.deltas[k - 1 : k + 2]
        spread = [at_delta(family, delta, label, duals) for delta in near]
        at_z = sweep.breakpoints
        before, inside, after = ((at_z > z.min()) & (at_z < z.max()) for _, z in spread)
        assert len(np.unique(z[between])) == between.sum()
        assert np.isin(sweep.breakpoints[inside], z[between]).all()
        assert np.isin(z[between], sweep.breakpoints[before | inside | after]).all()
        # f - slope z is convex, so that no vertex is below all points between two.
        for slope in (1.0, 2.0, 3.0):
            best = max(float((g - slope * x).max()) for g, x in spread)
            assert (f - slope * z)[between].max(initial=-math.inf) <= best + 2e-3
        # The others are vertices that cross a breakpoint on the way to one of the next knot.
        least, most = min(z.min() for _, z in spread), max(z.max() for _, z in spread)
        known = np.column_stack([at.f[own], at.z[own]])[:count]
        for point, passed in zip(np.column_stack([f, z])[~between], edge[~between], strict=True):
            assert np.abs(known - point).max(axis=1).min() <= 1e-9
            assert least <= passed <= most
            assert passed in sweep.breakpoints


def test_no_point_of_a_body_with_z_at_a_breakpoint_is_far_above_those_known(split):
    """Random convex combinations of vertices do not beat what is known at the breakpoints by much."""
    family, sweep, duals, _ = split
    rng, k = np.random.default_rng(5), 3
    at, delta = sweep.points[k], float(sweep.deltas[k])
    for n, (s, special) in enumerate(sweep.labels):
        own = slice(*at.first[n : n + 2])
        body = family.body(s, delta, special)
        w = math.exp(-0.5 * delta) * body.folded_vectors(np.arange(len(body)))
        z = w @ body.prior
        for edge in sweep.breakpoints[(sweep.breakpoints > z.min()) & (sweep.breakpoints < z.max())]:
            i, j = rng.choice(np.flatnonzero(z < edge), 500), rng.choice(np.flatnonzero(z > edge), 500)
            v = w[i] + ((edge - z[i]) / (z[j] - z[i]))[:, None] * (w[j] - w[i])
            best = (xlogy(v, v) @ body.prior - v @ body.fold(duals[s])).max()
            known = at.f[own][(at.z[own] == edge) & (at.class_z[own] == edge)].max()
            assert best <= known + 5e-3 * float(duals.sum())


def test_z_is_split_as_little_as_possible(split):
    _, sweep, duals, _ = split
    enough = 1e-2 * float(duals.sum())
    bounds = sweep.affine_bounds(enough)
    ended = np.flatnonzero(np.isfinite(bounds.high))
    assert ended.size
    for p in ended:
        # Up to the next breakpoint the bounds would imply too much.
        knots, products = bounds.needed[:, p].any(axis=0), bounds.needed[:, p].any(axis=1)
        wider = float(sweep.breakpoints[sweep.breakpoints > bounds.high[p]].min(initial=math.inf))
        kappa = [
            fit_knot(FitProblem.of(at, sweep.products[products], float(bounds.low[p]), wider), 0.0, enough)[0]
            for at, own in zip(sweep.points, knots, strict=True)
            if own
        ]
        assert max(kappa) > enough


@pytest.mark.long
def test_several_classes_give_tighter_bounds_than_one():
    family = some_family(3.0, distinct=False)
    decomposition = Decomposition(family.product(0, 0.0), 3.0)
    decomposition.solve(family.explore, gap=1e-4, rounds=60)
    whole = float(decomposition.solve(family.explore, gap=1e-4, rounds=60).sum())
    bound = class_bound(some_family(3.0, distinct=False), 1e-3, 60_000)
    assert bound < whole


def test_dual_bounds_of_several_classes_bound_all_columns(split):
    family, sweep, duals, _ = split
    value = float(duals.sum())
    bounds = sweep.affine_bounds(2e-2 * value)
    assert len(bounds.low) > 1
    bounds = bounds.with_slack(4e-2 * value, np.full(len(duals), 1.0 / len(duals)))
    dual_bound = DualBound(family, duals, bounds, 8e-3 * value)
    first = dual_bound.bound(4_000)
    second = dual_bound.bound(60_000)
    assert 0.0 <= second <= first
    rng = np.random.default_rng(0)
    for s0, delta in ((0, 0.0), (0, 0.5), (2, 1.5), (4, 3.0)):
        product = family.product(s0, delta)
        # No column of known vertices has a larger reduced cost.
        choice = np.stack([rng.integers(0, len(b), 20_000) for b in product.blocks], axis=1)
        columns = product.columns(choice)
        assert (columns.values - columns.vectors @ duals.ravel()).max() <= second + 1e-9
        assert product.price(duals.ravel(), 0)[0] <= second + 2e-3 * value


def test_bounds_of_distinct_pairs_are_above_those_of_all_pairs():
    # At delta = 0 they are the same columns.
    family = some_family(0.5, distinct=True)
    decomposition = Decomposition(family.product(0, 0.0), 0.5)
    duals = decomposition.solve(family.explore, gap=1e-3, rounds=20)
    value = float(duals.sum())
    sweep = DeltaSweep(family, 17)
    sweep.search(duals, 1e-4 * value)
    bounds = sweep.affine_bounds(1e-3 * value)
    slack = max(1e-3 * value, float(bounds.kappa().max()) + 1e-4 * value)
    bounds = bounds.with_slack(slack, np.full(len(duals), 1.0 / len(duals)))
    bound = DualBound(family, duals, bounds, 1e-4 * value).bound(60_000)
    assert bound >= family.product(0, 0.0).best_tangent(duals)[0] - 1e-9


def test_listed_bodies_exceed_their_majorants_by_no_more_than_stated():
    """A group so rare that nothing is known of it has a box, whose vertices move from class to class."""
    counts = np.array([[300, 200, 100], [400, 500, 600], [1, 0, 1]])
    family = BallFamily(RenyiBall(counts / counts.sum(), 0.01, order=0.5), 2.0, distinct=True)
    assert not family.body(2).improvable
    decomposition = Decomposition(family.product(0, 0.0), 2.0)
    duals = decomposition.solve(family.explore, gap=1e-4, rounds=60)
    rng = np.random.default_rng(0)
    t = np.array([0.0, 0.4, 1.0])
    labels = [BlockLabel(s, special) for special in (False, True) for s in range(3)]
    z = float(family.ball.sensitive[2])
    bounds = AffineBounds(
        t, labels, np.arange(3) + 3 * np.eye(3, dtype=np.int64), np.array([0.0, 1.7 * z]),
        np.array([1.7 * z, math.inf]), rng.uniform(1.0, 2.0, (2, 3)), -rng.uniform(0.0, 1e-3, (2, 3)),
        rng.uniform(-1e-3, 0.0, (6, 2, 3)), np.ones((3, 2, 3), dtype=bool),
    )  # fmt: skip
    # And one class whose bounds are exact at the knots: only what bends between them exceeds it.
    bent = replace(bounds, low=np.zeros(2), high=np.full(2, math.inf), discount=np.zeros((2, 3)))
    bent = replace(bent, lam=np.array([[50.0, 20.0, 0.0]] * 2), intercepts=bounds.intercepts.copy())
    for special in (False, True):
        ends = (interpolate(pair, t) for pair in mean_bounds(2.0, special, 3))
        for k, both in enumerate(zip(*ends, strict=True)):
            body = body_between(family, 2, *map(float, both))
            most = float((body.reduced(duals[2]) - bent.lam[0, k] * body.z).max())
            bent.intercepts[labels.index(BlockLabel(2, special)), :, k] = most
    for own, special in itertools.product((bounds, bent), (False, True)):
        dual_bound = DualBound(family, duals, own, 1e-3)
        block = dual_bound.blocks[labels.index(BlockLabel(2, special))]
        assert block.tree is None
        top, bottom = mean_bounds(2.0, special)
        for x in rng.uniform(0.0, 1.0, 200).tolist():
            body = body_between(family, 2, float(interpolate(top, x)), float(interpolate(bottom, x)))
            f = body.reduced(duals[2])
            over = [float(a) - evaluate(block.majorant, float(b), x) for a, b in zip(f, body.z, strict=True)]
            assert max(over) <= block.excess + 1e-12


def test_a_shortened_list_has_what_is_in_use_and_the_best(monkeypatch):
    monkeypatch.setattr(ball_family, "SETTINGS", replace(ball_family.SETTINGS, max_vertices=3))
    family = some_family(1.0, distinct=True)
    product = family.product(0, 0.0)
    decomposition = Decomposition(product, 1.0)
    duals = decomposition.solve(product.explore, gap=1e-6)
    size, excess, columns = product.size, product.best_tangent(duals)[0], decomposition.columns()
    decomposition.renumber_vertices(family.keep_best(duals, decomposition.vertices_in_use()))
    assert product.size < size
    assert product.best_tangent(duals)[0] == pytest.approx(excess)
    again = decomposition.columns()
    np.testing.assert_allclose(again.vectors, columns.vectors)
    np.testing.assert_allclose(again.values, columns.values)
    assert max(map(len, family.product(1, 0.5).blocks)) <= 3 + 2
    assert decomposition.solve(product.explore, gap=1e-6).sum() == pytest.approx(duals.sum(), rel=1e-5)
