"""Known vertices of a body along all deltas."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import xlogy

from ldpfrontier.engines.over_set.ball_family import BallFamily
from ldpfrontier.engines.over_set.block_family import BlockLabel, body_between, interpolate, mean_bounds
from ldpfrontier.engines.over_set.settings import SETTINGS
from ldpfrontier.engines.over_set.vertex_tracking import VertexTrack
from ldpfrontier.engines.products.geometry.ball_body import Body, indicator_levels
from ldpfrontier.uncertainty.divergence import least_mean
from ldpfrontier.uncertainty.renyi_ball import RenyiBall

EPSILON = 1.5


def some_track(seed: int, *, special: bool) -> tuple[VertexTrack, np.ndarray]:
    """Return a track of some products, and duals of its row."""
    rng = np.random.default_rng(seed)
    counts = (
        rng.multinomial(400 if special else 3_000, rng.dirichlet(np.full(12, 1.5)).ravel()).reshape(3, 4) + 5
    )
    products = BallFamily(RenyiBall.confidence(counts), EPSILON, distinct=True)
    P = products.ball.centre
    duals = P * rng.normal(0.2, 0.3, P.shape)
    least = float(products.ball.sensitive.max())
    return VertexTrack(products, BlockLabel(0, special), least * 1.2 ** np.arange(1, 12)), duals[0]


def means(body: Body, w: np.ndarray) -> tuple[float, float]:
    """Return A and B of a vector in folded letters."""
    r, B = np.atleast_2d(body.centre), np.array([body.radius])
    return -float(least_mean(r, -w[None], B, body.order)[0]), float(least_mean(r, w[None], B, body.order)[0])


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_at_critical_levels_vectors_with_one_value_meet_both_constraints(seed):
    track, _ = some_track(seed, special=False)
    sets, levels, least = indicator_levels(track.base)
    for T, level, low in zip(sets, levels, least, strict=True):
        w = (T >> np.arange(track.base.letters) & 1) / low
        A, B = means(track.base, w)
        assert pytest.approx(1.0, rel=1e-6) == B
        assert pytest.approx(math.exp(level), rel=1e-6) == A


def search(track: VertexTrack, duals: np.ndarray, knots: np.ndarray, *, again: bool = False) -> None:
    track.search(duals, knots, [np.array([1.5, 1.0]) for _ in knots], thorough=True, again=again)


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("seed", [1, 3, 4])
def test_between_knots_no_single_valued_vertex_is_far_above_the_known_ones(seed, special):
    track, duals = some_track(seed, special=special)
    knots, worth = np.linspace(0.0, 1.0, 4), 1e-4
    search(track, duals, knots)
    found = list(track.missing_knots(worth))
    for _ in range(40):
        new = list(track.missing_knots(worth))
        if not new:
            break
        knots = np.unique(np.append(knots, new))
        search(track, duals, knots, again=True)
    assert found
    assert not new
    known = track.vertices()
    tops, bottoms = (interpolate(pair, np.linspace(0.0, 1.0, 60)) for pair in mean_bounds(EPSILON, special))
    for t, top, bottom in zip(np.linspace(0.0, 1.0, 60), tops, bottoms, strict=True):
        k = min(int(np.searchsorted(knots, t, side="right")) - 1, len(knots) - 2)
        share = (t - knots[k]) / (knots[k + 1] - knots[k])
        body = body_between(track.family, 0, float(top), float(bottom))
        for slope in (1.0, 1.5):
            first, last = ((f - slope * z).max() for f, z, _ in known[k : k + 2])
            for w in body.folded_vectors(np.arange(len(body))):
                if np.unique(w[w > 0.0]).size > 1 or (w > 0.0).all():
                    continue
                value = (xlogy(w, w) - slope * w) @ body.prior - w @ body.fold(duals)
                # Between critical values they are smooth: as far as chords leave them.
                assert value <= first + share * (last - first) + worth + 0.05 * (knots[k + 1] - knots[k]) ** 2


@pytest.mark.parametrize("special", [False, True])
def test_old_knots_stay_and_new_ones_take_over_their_neighbours(special):
    track, duals = some_track(5, special=special)
    knots = np.linspace(0.0, 1.0, 6)
    search(track, duals, knots)
    before = [f.max() for f, _, _ in track.vertices()]
    search(track, duals, np.sort(np.append(knots, [0.3, 0.5])), again=True)
    after = [f.max() for f, _, _ in track.vertices()]
    assert len(after) == 8
    assert [after[k] for k in (0, 1, 3, 5, 6, 7)] == before
    # f is no less at a new knot than what is moved there from its neighbours.
    for k in (2, 4):
        assert after[k] >= min(after[k - 1], after[k + 1]) - 0.05 * abs(after[k - 1] - after[k + 1]) - 1e-3


@pytest.mark.parametrize("special", [False, True])
def test_all_points_are_in_their_bodies(special):
    track, duals = some_track(7, special=special)
    knots = np.linspace(0.0, 1.0, 5)
    search(track, duals, knots)
    top, bottom = (interpolate(pair, knots) for pair in mean_bounds(EPSILON, special))
    for k, found in enumerate(track._found.values()):
        for w in found.candidates:
            A, B = means(track.base, w)
            assert top[k] * (1.0 + 1e-6) >= A
            assert bottom[k] * (1.0 - 1e-6) <= B


@pytest.mark.parametrize("seed", range(20))
def test_best_vertices_on_either_side_of_breakpoints(seed):
    """Against all vertices on a side, with many equal values: of those, the nearest in z counts."""
    rng = np.random.default_rng(seed)
    track, _ = some_track(3, special=False)
    m = int(rng.integers(1, 40))
    f, z = rng.integers(0, 5, m) / 2.0, rng.integers(0, 12, m) / 4.0
    track.breakpoints = np.sort(3.0 * rng.random(5))
    lam = 0.25
    sides = track._best_on_either_side(f, z, lam)
    both = [e for e, x in enumerate(track.breakpoints) if z.min() < x <= z.max()]
    assert sides.breakpoints.tolist() == both
    for n, offset in enumerate(SETTINGS.lam_offsets):
        value = f - (lam + offset) * z
        for k, x in enumerate(track.breakpoints[both]):
            for own, side, sign in ((sides.left, z < x, 1.0), (sides.right, z >= x, -1.0)):
                best = side & (value == value[side].max())
                assert best[own[n, k]]
                assert sign * z[own[n, k]] == (sign * z[best]).max()
