r"""Known vertices of one body along all deltas, where its ends are linear in t (see `certificates`).

They are found from those at other knots, those that are listed, and those that earlier certificates found.
Where z is split, at edges, a body has points that are no vertices, but extreme: they are between two of them.
Between two knots, vertices with one value and zeros appear or vanish at critical levels, and vertices pass
edges: lines at the knots must know of both.
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

from ldpfrontier.numerics.subset_sums import subset_sums
from ldpfrontier.optimal.certificate.affine_pieces import Located, join
from ldpfrontier.optimal.certificate.dual_certificate import Points, Role, between, ends, with_ends
from ldpfrontier.optimal.geometry.ball_body import Body, critical, moved, polish, reached
from ldpfrontier.optimal.products.ball_family import BallFamily
from ldpfrontier.types import FloatArray

#: Best vertices of a body that are taken along, and those that have their letters moved; those that are kept
#: of every knot; bodies with more letters have none listed but at t = 0.
TAKEN, MOVED, KEPT, LISTED = 6, 2, 2, 10

#: Most letters of sets that one value is tried on in bodies with more letters than those.
SMALLEST = 2

#: Best vertices, and those that have their letters moved, at t = 0 whenever prices are new.
MANY = 24, 6

#: Vertices are the same if all logs of letters, from SMALL on, are within NEAR.
SMALL, NEAR = 0.03, 0.01

#: Best vertices at every slope, and between two edges, that are compared with others; how far slopes are from
#: the main one at which the best vertices beside an edge are joined.
LEADING, EACH = 4, 2
SLANTS = np.array([-20.0, -8.0, -4.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 20.0])

#: Slopes are the same up to this.
STEEPER = 0.1

#: Letters up to this are zero; how fast the log of z of a vertex may change with delta.
ZERO, DRIFT = 1e-9, 2.0

#: A body has but one point up to this ratio of its ends.
FLAT = 1.0 + 1e-12

#: Vertices on either side of edges, and the edges (see `Path._beside`).
Beside = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


class Found(NamedTuple):
    """What was found at a knot."""

    f: FloatArray  # (m,): of vertices
    z: FloatArray  # (m,)
    best: FloatArray  # (n, letters): the very best vertices
    leading: FloatArray  # (n, letters): those worth comparing with others
    edges: FloatArray  # (E,): the largest f of points at the edges, or -inf


@dataclass(eq=False)
class Path:
    """What is known of one body at the knots.

    Parameters
    ----------
    products : BallFamily
    role : Role
    edges : ndarray, shape (E,)
        Where z may be split.

    Attributes
    ----------
    base : Body
        The body at t = 0.
    pool : ndarray, shape (m, letters)
        The very best vertices of all knots.
    """

    products: BallFamily
    role: Role
    edges: FloatArray
    _listed: dict[float, Body] = field(default_factory=dict, repr=False)
    _slopes: dict[float, list[float]] = field(default_factory=dict, repr=False)
    _found: dict[float, Found] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.base = self.products.body(self.role[0])
        self.pool = np.empty((0, self.base.letters))
        self._fresh = Points(np.empty(0), self.pool, np.empty(0))
        sets, levels, least = critical(self.base)
        own = np.bitwise_count(sets) <= (SMALLEST if self.base.letters > LISTED else self.base.letters)
        self._sets, self._levels, self._least = sets[own], levels[own], least[own]
        self._mass = subset_sums(self.base.prior)[self._sets]

    def learn(self, points: Points) -> None:
        """Take over points that are above known ones."""
        self._fresh = self._fresh.joined(points)
        self.pool = _distinct(np.concatenate([self.pool, points.w]))

    def look(
        self,
        prices: FloatArray,
        knots: FloatArray,
        tilts: Sequence[FloatArray],
        *,
        thorough: bool = False,
        again: bool = False,
    ) -> None:
        """Look for vertices.

        Parameters
        ----------
        prices : ndarray, shape (a2,)
        knots : ndarray, shape (K,)
        tilts : sequence of ndarray
            Slopes to look at, for every knot, the main one first.
        thorough : bool
            At new knots, look near more of the vertices, not only of the best ones.
        again : bool
            At new knots only, prices being the same.
        """
        before, self._prices = self._found if again else {}, prices
        self._costs = subset_sums(self.base.folded(prices))[self._sets]
        self._knots, self._tilts, self._found, self._thorough = knots, tilts, dict[float, Found](), thorough
        every = list(self._ends())
        last, across = self.pool[:0], np.array([self._across(ends_of) for ends_of in every])
        for k, t in enumerate(knots.tolist()):
            # Points that vanish before the knot after, or appear after the one before, count here, too.
            near = across[max(k - 1, 0) : k + 2].max(axis=0)
            self._found[t] = before[t] if t in before else self._looked(k, every[k], last, near)
            last = self._found[t].best
        if self.base.movable:
            self.pool = _distinct(np.concatenate([found.best for found in self._found.values()]))
        self._fresh = Points(np.empty(0), self.pool[:0], np.empty(0))

    def vertices(self) -> list[Located]:
        """Return the vertices known at every knot."""
        return [(found.f, found.z, found.z) for found in self._found.values()]

    def points(self) -> list[Located]:
        """Return the vertices known at every knot, and points at the edges.

        Vertices that pass an edge on the way to a knot before or after count as being at it, on both sides:
        f falls steeply behind a vertex, so that lines that leave it out as long as it is beyond an edge are
        below it when it passes.
        """
        known = [[own] for own in self.vertices()]
        for own, found in zip(known, self._found.values(), strict=True):
            there = np.isfinite(found.edges)
            own.append((found.edges[there], self.edges[there], self.edges[there]))
        leading = [(found.leading, *self._values(found.leading)) for found in self._found.values()]
        deltas = -np.log1p(self._knots * math.expm1(-self.products.epsilon))
        for k, apart in enumerate(np.diff(deltas)):
            (w, f, z), (other, g, x) = leading[k : k + 2]
            i, j = _same(w, other)
            near = np.abs(np.log(z[i] / x[j])) < DRIFT * apart
            i, j = i[near], j[near]
            passed = np.minimum(z[i], x[j])[:, None] < self.edges
            n, edge = np.nonzero(passed & (self.edges <= np.maximum(z[i], x[j])[:, None]))
            known[k].append((f[i[n]], z[i[n]], self.edges[edge]))
            known[k + 1].append((g[j[n]], x[j[n]], self.edges[edge]))
        return [join(own) for own in known]

    def kinks(self, worth: float) -> Iterator[float]:
        """Find where vertices with one value but zeros appear or vanish high above others.

        Yields
        ------
        t : float
            Where f is above what is between the best vertices at the knots before and after by more than
            `worth`: the most between any two. None of bodies whose vertices are not listed.
        """
        if not self.base.movable or self.base.letters > LISTED or len(self._knots) == 1:
            return
        eps, special = self.products.epsilon, self.role[1]
        t = np.expm1(self._levels - eps if not special else eps - self._levels) / math.expm1(-eps)
        x = np.exp(eps - self._levels if special else 0.0) / self._least
        f, z = self._single(np.where((t > 0.0) & (t < 1.0), x, 1.0))
        found = list(self._found.values())
        for k, (low, high) in enumerate(pairwise(self._knots)):
            own = np.flatnonzero((low < t) & (t < high))
            over = np.full(len(own), -np.inf)
            for tilt in self._tilts[k] if own.size else ():
                first, last = ((each.f - tilt * each.z).max() for each in found[k : k + 2])
                above = f[own] - tilt * z[own] - first - (t[own] - low) / (high - low) * (last - first)
                over = np.maximum(over, above)
            if over.max(initial=-np.inf) > worth:
                yield float(t[own[over.argmax()]])

    def _ends(self) -> Iterator[tuple[float, float]]:
        """Yield the ends of A and B at every knot."""
        pairs = ends(self.products.epsilon, self.role[1], len(self._knots))
        top, bottom = (between(pair, self._knots).tolist() for pair in pairs)
        return zip(top, bottom, strict=True)

    def _values(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return f and z of points."""
        return xlogy(w, w) @ self.base.prior - w @ self.base.folded(self._prices), w @ self.base.prior

    def _single(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return f and z of vectors with one value x on the sets and 0 elsewhere."""
        z = x * self._mass
        return np.log(x) * z - x * self._costs, z

    def _looked(self, k: int, ends_of: tuple[float, float], last: FloatArray, across: FloatArray) -> Found:
        """Look for vertices at a knot; points at the edges have at least the f of those `across`."""
        t, tilts = float(self._knots[k]), self._tilts[k]
        main = self._prices + tilts[0] * self.products.ball.centre[self.role[0]]
        flat, again = ends_of[0] <= FLAT * ends_of[1], self._fresh.w[:0]
        if len(self._fresh.t) and not flat:
            again = self._reached(self._fresh.w, self._fresh.slope, ends_of)
        if t == 0.0 or self.base.letters <= LISTED or not self.base.movable or flat:
            body = self._improved(k, ends_of, again)
            f, z = body.reduced(self._prices), body.z
            w: Callable[[NDArray[np.int64]], FloatArray] = body.compact
            best = body.best(main, KEPT)
        else:
            starts = np.concatenate([self.pool, last, self.base.best(main, TAKEN)])
            climbed = [self._climbed(starts, tilt, ends_of) for tilt in tilts]
            places = np.concatenate([*climbed, again])
            f, z = self._values(places)
            w, best = places.__getitem__, climbed[0][:KEPT]
        beside = self._beside(f, z, tilts[0])
        edges = np.maximum(self._between(f, z, beside, w), across)
        return Found(f, z, best, w(self._spread(f, z, tilts, beside)), edges)

    def _improved(self, k: int, ends_of: tuple[float, float], again: FloatArray) -> Body:
        """Return a body whose vertices are listed, after looking for better ones."""
        t, tilts, P = float(self._knots[k]), self._tilts[k], self.products.ball.centre[self.role[0]]
        body = self.base if t == 0.0 else self._listed.get(t)
        if body is None:
            body = self._listed[t] = with_ends(self.products, self.role[0], *ends_of)
            if body.movable:
                near = np.concatenate([self.pool, *self._neighbours(k)])
                body.append(_distinct(self._reached(near, tilts[0], ends_of)))
                if self._thorough:
                    best = [moved(w) for tilt in tilts for w in body.best(self._prices + tilt * P, KEPT)]
                    near = np.concatenate([self._leading(body, tilts), *best])
                    body.append(_distinct(self._reached(near, tilts[0], ends_of)))
        if body.movable:
            body.append(again)
            # Bodies keep what was found before.
            slopes = self._slopes.setdefault(t, [])
            for n, tilt in enumerate(tilts):
                if n == 0 or min(abs(tilt - other) for other in slopes) > STEEPER:
                    many = MANY if t == 0.0 else (KEPT, 0) if slopes else (TAKEN, MOVED)
                    polish([body], [self._prices + tilt * P], *many)
                    slopes.append(float(tilt))
        return body

    def _neighbours(self, k: int) -> list[FloatArray]:
        """Return the leading vertices at the knots before and after that have been looked at."""
        known = []
        for near in (reversed(self._knots[:k]), self._knots[k + 1 :]):
            body = next((self._listed[t] for t in map(float, near) if t in self._listed), self.base)
            known.append(self._leading(body, self._tilts[k]))
        return known

    def _leading(self, body: Body, tilts: FloatArray) -> FloatArray:
        """Return the vertices of a body that are worth comparing with others."""
        f, z = body.reduced(self._prices), body.z
        return body.compact(self._spread(f, z, tilts, self._beside(f, z, tilts[0])))

    def _spread(self, f: FloatArray, z: FloatArray, tilts: FloatArray, beside: Beside) -> NDArray[np.int64]:
        """Return the best vertices at some slopes, and those between two edges or beside one."""
        chosen = [np.argsort(-(f - tilt * z), kind="stable")[:LEADING] for tilt in tilts]
        order = np.argsort(-(f - tilts[0] * z), kind="stable")
        interval = np.searchsorted(self.edges, z[order])
        chosen += [order[interval == n][:EACH] for n in range(len(self.edges) + 1)]
        first, last, _ = beside
        return np.unique(np.concatenate([*chosen, first.ravel(), last.ravel()]))

    def _beside(self, f: FloatArray, z: FloatArray, tilt: float) -> Beside:
        """Return the best vertices on either side of the edges at several slopes, and which edges have both.

        Those have shape (slopes, edges).
        """
        order = np.argsort(z, kind="stable")
        values = f[order] - (tilt + SLANTS[:, None]) * z[order]
        rising = np.maximum.accumulate(values, axis=1)
        falling = np.maximum.accumulate(values[:, ::-1], axis=1)[:, ::-1]
        places = np.arange(len(z))
        first = np.maximum.accumulate(np.where(values >= rising, places, 0), axis=1)
        last = np.minimum.accumulate(np.where(values >= falling, places, len(z) - 1)[:, ::-1], axis=1)[
            :, ::-1
        ]
        at = np.searchsorted(z[order], self.edges)
        there = np.flatnonzero((at > 0) & (at < len(z)))
        return order[first[:, at[there] - 1]], order[last[:, at[there]]], there

    def _between(
        self, f: FloatArray, z: FloatArray, beside: Beside, w: Callable[[NDArray[np.int64]], FloatArray]
    ) -> FloatArray:
        """Return the largest f of points between two vertices with z at the edges, or -inf.

        `w` returns letters of vertices.
        """
        first, last, there = beside
        shape = len(first), len(first), len(there)
        i, j = (np.broadcast_to(own, shape).ravel() for own in (first[:, None], last[None]))
        edges = np.broadcast_to(self.edges[there], shape).ravel()
        v = w(i) + ((edges - z[i]) / (z[j] - z[i]))[:, None] * (w(j) - w(i))
        best = np.full(len(self.edges), -np.inf)
        best[there] = self._values(v)[0].reshape(len(first) ** 2, len(there)).max(axis=0)
        return best

    def _across(self, ends_of: tuple[float, float]) -> FloatArray:
        """Return the largest f of points with one value but zeros, with z at the edges, or -inf."""
        x = self.edges[:, None] / self._mass
        own = (x * self._least >= ends_of[1]) & (x * self._least * np.exp(self._levels) <= ends_of[0])
        return np.asarray(np.where(own, self._single(x)[0], -np.inf).max(axis=1, initial=-np.inf))

    def _climbed(self, starts: FloatArray, tilt: float, ends_of: tuple[float, float]) -> FloatArray:
        """Return the places reached from others, best first."""
        w = self._reached(starts, tilt, ends_of)
        f, z = self._values(w)
        return np.asarray(w[np.argsort(tilt * z - f, kind="stable")])

    def _reached(
        self, starts: FloatArray, tilts: FloatArray | float, ends_of: tuple[float, float]
    ) -> FloatArray:
        """Return the places reached from others with given ends and slopes."""
        top, bottom, many = *ends_of, np.ones(len(starts))
        return reached(self.base, self._prices, starts, tilts * many, top * many, bottom * many)


def _distinct(w: FloatArray) -> FloatArray:
    """Return the first of all places that are about the same."""
    rounded = np.rint(np.log(w + SMALL) / NEAR)
    return np.asarray(w[np.sort(np.unique(rounded, axis=0, return_index=True)[1])])


def _same(first: FloatArray, second: FloatArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Match vertices of two knots: those with the same letters above zero that are nearest to each other."""
    if not len(first) or not len(second):
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    logs = [np.log(np.maximum(w, ZERO)) for w in (first, second)]
    apart = np.abs(logs[0][:, None] - logs[1]).max(axis=2)
    apart[((first[:, None] > ZERO) != (second > ZERO)).any(axis=2)] = np.inf
    nearest, back = apart.argmin(axis=1), apart.argmin(axis=0)
    own = np.arange(len(first))
    matched = (back[nearest] == own) & np.isfinite(apart[own, nearest])
    return own[matched], nearest[matched]
