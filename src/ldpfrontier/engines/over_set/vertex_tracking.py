r"""Known vertices of one block K_s(t) at the knots of t, and points that matter between the knots.

Affine bounds are fitted at knots and interpolated, so they fail between two knots where f - lam z is above
its chord. That happens in three ways. A vector x 1_T, with one value x on a set T of letters and 0 elsewhere,
enters or leaves the block at a critical t in closed form: where f - lam z is high there, it becomes a knot. A
vertex crosses a breakpoint of z, and so comes into another class. And at a breakpoint a block has extreme
points that are no vertices, but lie between two: the best of them count as points of the block.

Vertices are found by Newton's method (`products.geometry.newton_ascent`) from those at neighbouring knots,
those that are listed in closed form, and violations of earlier dual bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.over_set.affine_pieces import Located
from ldpfrontier.engines.over_set.ball_family import BallFamily
from ldpfrontier.engines.over_set.block_family import (
    BlockLabel,
    BlockPoints,
    body_between,
    interpolate,
    mean_bounds,
)
from ldpfrontier.engines.over_set.settings import SETTINGS
from ldpfrontier.engines.products.geometry.ball_body import (
    Body,
    climb_or_restore,
    indicator_levels,
    polish,
    single_letter_moves,
)
from ldpfrontier.engines.products.settings import SETTINGS as PRODUCTS
from ldpfrontier.numerics.deadline import check_time
from ldpfrontier.numerics.jit import borrowing_kernel
from ldpfrontier.numerics.subset_sums import subset_sums

#: Upper bound of A and lower bound of B.
Bounds = tuple[float, float]

_LAM_OFFSETS = np.array(SETTINGS.lam_offsets)


class KnotData(NamedTuple):
    """The vertices and values that are known for a block at a knot."""

    f: FloatArray  # (m,): of vertices
    z: FloatArray  # (m,)
    best: FloatArray  # (n, letters): the very best vertices
    candidates: FloatArray  # (n, letters): those worth comparing with others
    at_breakpoints: FloatArray  # (E,): the largest f of points with z at each breakpoint, or -inf


class BestVertices(NamedTuple):
    """The best vertices on either side of breakpoints at several lam, shape (lams, breakpoints)."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    breakpoints: NDArray[np.int64]  # which breakpoints have vertices on both sides


@borrowing_kernel
def _best_before_and_after(
    f: FloatArray,
    z: FloatArray,
    lams: FloatArray,
    at: NDArray[np.int64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
) -> None:
    """Write where f - lam z is largest before each place, and from it on; shape (lams, places).

    Of equal ones that nearest to the place counts; places rise, and there are vertices on both sides.
    """
    for n in range(lams.size):
        best, i = -np.inf, 0
        for k in range(at.size):
            left[n, k] = left[n, max(k - 1, 0)]
            while i < at[k]:
                if f[i] - lams[n] * z[i] >= best:
                    best, left[n, k] = f[i] - lams[n] * z[i], i
                i += 1
        best, i = -np.inf, z.size - 1
        for k in range(at.size - 1, -1, -1):
            right[n, k] = right[n, min(k + 1, at.size - 1)]
            while i >= at[k]:
                if f[i] - lams[n] * z[i] >= best:
                    best, right[n, k] = f[i] - lams[n] * z[i], i
                i -= 1


@dataclass(eq=False)
class VertexTrack:
    """The known vertices of one block at the knots, and the breakpoints, (E,), where z may be split.

    `base` is the block at t = 0, and `pool`, (m, letters), has the very best vertices of all knots.
    """

    family: BallFamily
    label: BlockLabel
    breakpoints: FloatArray
    _listed: dict[float, Body] = field(default_factory=dict, repr=False)
    _lams_done: dict[float, list[float]] = field(default_factory=dict, repr=False)
    _found: dict[float, KnotData] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.base = self.family.body(self.label.s)
        self.pool = np.empty((0, self.base.letters))
        self._violations = BlockPoints(np.empty(0), self.pool, np.empty(0))
        self._is_listed = self.base.letters <= 10  # of more, there are vertices listed at t = 0 alone
        own = slice(None if self._is_listed else 0)
        self._sets, self._levels, self._least = (each[own] for each in indicator_levels(self.base))
        self._mass = subset_sums(self.base.prior)[self._sets]

    def add(self, violations: BlockPoints) -> None:
        """Add points that exceed the majorant of the block."""
        self._violations = self._violations.joined(violations)
        self.pool = _without_duplicates(np.concatenate([self.pool, violations.w]))

    def search(
        self,
        duals: FloatArray,
        knots: FloatArray,
        lams: Sequence[FloatArray],
        *,
        thorough: bool = False,
        again: bool = False,
    ) -> None:
        """Look for vertices at all knots, (K,), and at some slopes in z for each, the main one first.

        If it is thorough, at new knots it looks near more of the vertices, not only of the best ones; again,
        at new knots only, the duals, (a2,), being the same.
        """
        before, self._duals = self._found if again else {}, duals
        self._costs = subset_sums(self.base.fold(duals))[self._sets]
        self._knots, self._lams, self._found, self._thorough = knots, lams, dict[float, KnotData](), thorough
        bounds = list(self._bounds_at_knots())
        last, single = self.pool[:0], np.array([self._best_single_valued_at(own) for own in bounds])
        for k, t in enumerate(knots.tolist()):
            check_time()
            # Points that vanish before the next knot, or appear after the one before, count here, too.
            near = single[max(k - 1, 0) : k + 2].max(axis=0)
            self._found[t] = before[t] if t in before else self._search_at_knot(k, bounds[k], last, near)
            last = self._found[t].best
        if self.base.improvable:
            self.pool = _without_duplicates(np.concatenate([found.best for found in self._found.values()]))
        self._violations = BlockPoints(np.empty(0), self.pool[:0], np.empty(0))

    def vertices(self) -> list[Located]:
        """Return the vertices known at every knot."""
        return [Located(found.f, found.z, found.z) for found in self._found.values()]

    def points(self) -> list[Located]:
        """Return the points that the affine bounds at every knot must respect.

        These are the vertices; the best points with z at a breakpoint; and, for a vertex whose z crosses a
        breakpoint before a neighbouring knot, a copy at the breakpoint, which counts for the classes on both
        sides. Without the copy the bound of one of them would be violated between the knots, as f falls
        steeply in z behind a vertex.
        """
        known = [[own] for own in self.vertices()]
        for own, found in zip(known, self._found.values(), strict=True):
            there = np.isfinite(found.at_breakpoints)
            z = self.breakpoints[there]
            own.append(Located(found.at_breakpoints[there], z, z))
        tracked = [(found.candidates, *self._values(found.candidates)) for found in self._found.values()]
        for k, ((w, f, z), (other, g, x)) in enumerate(pairwise(tracked)):
            i, j = _match_vertices(w, other)
            crossed = np.minimum(z[i], x[j])[:, None] < self.breakpoints
            n, e = np.nonzero(crossed & (self.breakpoints <= np.maximum(z[i], x[j])[:, None]))
            known[k].append(Located(f[i[n]], z[i[n]], self.breakpoints[e]))
            known[k + 1].append(Located(g[j[n]], x[j[n]], self.breakpoints[e]))
        return [Located.join(own) for own in known]

    def missing_knots(self, worth: float) -> Iterator[float]:
        """Yield values of t between knots that deserve a knot.

        A vector x 1_T that meets both constraints is in the block up to a critical t in closed form (from it
        on, if s is special). If its f - lam z there exceeds the chord between the largest ones at the knots
        before and after by more than `worth`, for one of the slopes looked at, the t with the largest excess
        between the two knots is yielded. Nothing is, of blocks whose vertices are not listed.
        """
        if not self.base.improvable or not self._is_listed or len(self._knots) == 1:
            return
        eps, special = self.family.epsilon, self.label.special
        t = np.expm1(self._levels - eps if not special else eps - self._levels) / math.expm1(-eps)
        x = np.exp(eps - self._levels if special else 0.0) / self._least
        f, z = self._single_valued(np.where((t > 0.0) & (t < 1.0), x, 1.0))
        found = list(self._found.values())
        for k, (low, high) in enumerate(pairwise(self._knots)):
            own = np.flatnonzero((low < t) & (t < high))
            over = np.full(len(own), -np.inf)
            for lam in self._lams[k] if own.size else ():
                first, last = ((each.f - lam * each.z).max() for each in found[k : k + 2])
                above = f[own] - lam * z[own] - first - (t[own] - low) / (high - low) * (last - first)
                over = np.maximum(over, above)
            if over.max(initial=-np.inf) > worth:
                yield float(t[own[over.argmax()]])

    def _bounds_at_knots(self) -> Iterator[Bounds]:
        """Yield the bounds of A and B at every knot."""
        pairs = mean_bounds(self.family.epsilon, self.label.special, len(self._knots))
        top, bottom = (interpolate(pair, self._knots).tolist() for pair in pairs)
        return zip(top, bottom, strict=True)

    def _values(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return f and z of points."""
        return xlogy(w, w) @ self.base.prior - w @ self.base.fold(self._duals), w @ self.base.prior

    def _single_valued(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return f and z of the vectors x 1_T, one value x for each set T."""
        z = x * self._mass
        return np.log(x) * z - x * self._costs, z

    def _search_at_knot(self, k: int, bounds: Bounds, last: FloatArray, single: FloatArray) -> KnotData:
        """Look for vertices at a knot; points at the breakpoints have at least the f of `single`."""
        t, lams = float(self._knots[k]), self._lams[k]
        main = self._duals + lams[0] * self.family.ball.centre[self.label.s]
        # A block has but one point up to this ratio of its bounds.
        trivial, again = bounds[0] <= (1.0 + 1e-12) * bounds[1], self._violations.w[:0]
        if len(self._violations.t) and not trivial:
            again = self._climb(self._violations.w, self._violations.lam, bounds)
        if t == 0.0 or self._is_listed or not self.base.improvable or trivial:
            body = self._improved_body(k, bounds, again)
            f, z = body.reduced(self._duals), body.z
            w: Callable[[NDArray[np.int64]], FloatArray] = body.folded_vectors
            best = body.best_folded(main, SETTINGS.kept_vertices)
        else:
            start = self.base.best_folded(main, PRODUCTS.polished // 2)
            starts = np.concatenate([self.pool, last, start])
            climbed = [self._climb_sorted(starts, lam, bounds) for lam in lams]
            points = np.concatenate([*climbed, again])
            f, z = self._values(points)
            w, best = points.__getitem__, climbed[0][: SETTINGS.kept_vertices]
        sides = self._best_on_either_side(f, z, lams[0])
        at_breakpoints = np.maximum(self._best_at_breakpoints(f, z, sides, w), single)
        return KnotData(f, z, best, w(self._select_candidates(f, z, lams, sides)), at_breakpoints)

    def _improved_body(self, k: int, bounds: Bounds, again: FloatArray) -> Body:
        """Return the block at a knot with its vertices listed, after looking for better ones."""
        t, lams, P = float(self._knots[k]), self._lams[k], self.family.ball.centre[self.label.s]
        kept = SETTINGS.kept_vertices
        body = self.base if t == 0.0 else self._listed.get(t)
        if body is None:
            body = self._listed[t] = body_between(self.family, self.label.s, *bounds)
            if body.improvable:
                near = np.concatenate([self.pool, *self._neighbours(k)])
                body.append(_without_duplicates(self._climb(near, lams[0], bounds)))
                if self._thorough:
                    best = np.concatenate([body.best_folded(self._duals + lam * P, kept) for lam in lams])
                    near = np.concatenate([self._candidates(body, lams), *map(single_letter_moves, best)])
                    body.append(_without_duplicates(self._climb(near, lams[0], bounds)))
        if body.improvable:
            body.append(again)
            # Bodies keep what was found before.
            done, polished = self._lams_done.setdefault(t, []), PRODUCTS.polished // 2
            for n, lam in enumerate(lams):
                if n == 0 or min(abs(lam - other) for other in done) > SETTINGS.lam_tolerance:
                    many = (4 * polished, polished) if t == 0.0 else (kept, 0) if done else (polished, kept)
                    polish([body], [self._duals + lam * P], *many)
                    done.append(float(lam))
        return body

    def _neighbours(self, k: int) -> list[FloatArray]:
        """Return the candidates at the nearest knots before and after that have been searched."""
        known = []
        for near in (reversed(self._knots[:k]), self._knots[k + 1 :]):
            body = next((self._listed[t] for t in map(float, near) if t in self._listed), self.base)
            known.append(self._candidates(body, self._lams[k]))
        return known

    def _candidates(self, body: Body, lams: FloatArray) -> FloatArray:
        """Return the vertices of a body that are worth comparing with others."""
        f, z = body.reduced(self._duals), body.z
        sides = self._best_on_either_side(f, z, lams[0])
        return body.folded_vectors(self._select_candidates(f, z, lams, sides))

    def _select_candidates(
        self, f: FloatArray, z: FloatArray, lams: FloatArray, sides: BestVertices
    ) -> NDArray[np.int64]:
        """Return the best vertices at some slopes, and those between two breakpoints or beside one."""
        kept = SETTINGS.kept_vertices
        chosen = [np.argsort(-(f - lam * z), kind="stable")[:kept] for lam in lams]
        order = np.argsort(-(f - lams[0] * z), kind="stable")
        interval = np.searchsorted(self.breakpoints, z[order])
        for n in range(len(self.breakpoints) + 1):
            chosen.append(order[interval == n][:kept])
        return np.unique(np.concatenate([*chosen, sides.left.ravel(), sides.right.ravel()]))

    def _best_on_either_side(self, f: FloatArray, z: FloatArray, lam: float) -> BestVertices:
        """Return the best vertices on either side of the breakpoints, at slopes on both sides of `lam`."""
        order = np.argsort(z, kind="stable")
        at = np.searchsorted(z[order], self.breakpoints)
        both = np.flatnonzero((at > 0) & (at < len(z)))
        left, right = np.zeros((2, len(_LAM_OFFSETS), len(both)), dtype=np.int64)
        _best_before_and_after(f[order], z[order], lam + _LAM_OFFSETS, at[both], left, right)
        return BestVertices(order[left], order[right], both)

    def _best_at_breakpoints(
        self, f: FloatArray, z: FloatArray, sides: BestVertices, w: Callable[[NDArray[np.int64]], FloatArray]
    ) -> FloatArray:
        """Return the largest f of points between two vertices with z at each breakpoint, or -inf.

        `w` returns the letters of vertices.
        """
        shape = len(sides.left), len(sides.left), len(sides.breakpoints)
        pairs = sides.left[:, None], sides.right[None]
        i, j = (np.broadcast_to(own, shape).ravel() for own in pairs)
        target = np.broadcast_to(self.breakpoints[sides.breakpoints], shape).ravel()
        v = w(i) + ((target - z[i]) / (z[j] - z[i]))[:, None] * (w(j) - w(i))
        best = np.full(len(self.breakpoints), -np.inf)
        best[sides.breakpoints] = self._values(v)[0].reshape(shape[0] ** 2, shape[2]).max(axis=0)
        return best

    def _best_single_valued_at(self, bounds: Bounds) -> FloatArray:
        """Return the largest f of vectors x 1_T in the block with z at each breakpoint, or -inf."""
        x = self.breakpoints[:, None] / self._mass
        own = (x * self._least >= bounds[1]) & (x * self._least * np.exp(self._levels) <= bounds[0])
        return np.asarray(np.where(own, self._single_valued(x)[0], -np.inf).max(axis=1, initial=-np.inf))

    def _climb_sorted(self, starts: FloatArray, lam: float, bounds: Bounds) -> FloatArray:
        """Return the points that are reached from others, best first."""
        w = self._climb(starts, lam, bounds)
        f, z = self._values(w)
        return np.asarray(w[np.argsort(lam * z - f, kind="stable")])

    def _climb(self, starts: FloatArray, lams: FloatArray | float, bounds: Bounds) -> FloatArray:
        """Return the points that are reached from others with given slopes and bounds of A and B."""
        top, bottom, many = *bounds, np.ones(len(starts))
        return climb_or_restore(self.base, self._duals, starts, lams * many, top * many, bottom * many)


def _without_duplicates(w: FloatArray) -> FloatArray:
    """Return the first of all points that are about the same."""
    # Vertices are the same if these are so near.
    rounded = np.rint(np.log(w + SETTINGS.log_floor) / 0.01)
    return np.asarray(w[np.sort(np.unique(rounded, axis=0, return_index=True)[1])])


def _match_vertices(first: FloatArray, second: FloatArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return pairs of vertices of two knots: mutual nearest ones with the same letters above zero."""
    if not len(first) or not len(second):
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    zero = SETTINGS.zero
    logs = [np.log(np.maximum(w, zero)) for w in (first, second)]
    distance = np.abs(logs[0][:, None] - logs[1]).max(axis=2)
    distance[((first[:, None] > zero) != (second > zero)).any(axis=2)] = np.inf
    nearest, back = distance.argmin(axis=1), distance.argmin(axis=0)
    own = np.arange(len(first))
    matched = (back[nearest] == own) & np.isfinite(distance[own, nearest])
    return own[matched], nearest[matched]
