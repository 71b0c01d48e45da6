r"""The slices of the polytopes of distinct pairs at some prices: bounds at one delta and between two.

With b = e^-delta from 1 to e^-eps, the columns of distinct pairs with special value s0 are products of ::

    {1 <= B_s, A_s <= b e^eps} for s != s0,      {b <= B_s, A_s <= e^eps} for s0.

Their ends are linear in b: together with b they form a polytope. Reduced costs are convex, so between two
deltas none is above those at its extreme points: the columns at either end and, where a vertex of some block
appears or vanishes in between, columns with such a *critical* vertex. That has one value 1 / L(T) on a set T
of letters and 0 off it, and its delta is known. The other blocks of its column lie in those of the interval.

Most vertices of a block are replaced at a gain by others, whatever else is in the column, and are left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from ldpfrontier.numerics.jit import inner, kernel
from ldpfrontier.numerics.subset_sums import subset_sums
from ldpfrontier.optimal.geometry.polytope import Block
from ldpfrontier.optimal.products.partial_sums import pareto_vertices
from ldpfrontier.optimal.products.pricing import best_tangent, price_combinations, tangent_bound
from ldpfrontier.types import FloatArray

#: Cells of the tables of x log x, and where they begin to be near enough; cells of z by which vertices that
#: others replace are left out at first.
CELLS, ROUGH, BINS = 4096, 0.05, 2048

#: More than the letters of a block.
LETTERS = 64

#: A sensitive value, delta, and whether the value is special; the z, f and names of vertices.
Place = tuple[int, float, bool]
List = tuple[FloatArray, FloatArray, NDArray[np.int64]]


@inner
def _chords(low: float, high: float) -> FloatArray:
    """Tabulate x log x at the ends of equal cells of an interval."""
    table = np.empty(CELLS + 1)
    for i in range(CELLS + 1):
        x = max(low + (high - low) * i / CELLS, 1e-300)
        table[i] = x * math.log(x)
    return table


@inner
def _at(table: FloatArray, share: float) -> float:
    """Return the chord of x log x, which is above it, a share of the way from the first end to the last."""
    i = min(int(share * CELLS), CELLS - 1)
    rest = share * CELLS - i
    return float((1.0 - rest) * table[i] + rest * table[i + 1])


@inner
def _bin(z: float, total: float, width: float) -> int:
    """Return the cell of a z."""
    return int(min(max(BINS * (z - total) / width, 0.0), BINS - 1.0))


@kernel
def _listed(
    level: float,
    shift: float,
    least: float,
    most: float,
    lower: FloatArray,
    prior: FloatArray,
    prices: FloatArray,
    mass: FloatArray,
    inside: FloatArray,
    costs: FloatArray,
    logs: FloatArray,
) -> tuple[FloatArray, FloatArray, NDArray[np.int64]]:
    """List the z and f of vertices of a block (see `Block`), most of those left out that others replace.

    f is rounded up by 1e-6 of the prior at most. Letters are in order of falling lower bounds; `least` and
    `most` are slopes of Z log Z, `logs` those of D + l. A vertex is named by its set T, and the letter j of a
    third value, as T LETTERS + j + 1; the constants are -2 and -1.
    """
    every, total = len(mass) - 1, inside[len(mass) - 1]
    top = math.exp(level)
    spread = max(1.0 - mass[every], 1e-15)
    d = (top - 1.0) / spread
    log_d, scale = math.log(max(d, 1e-300)), math.exp(shift)
    below, above = _chords(0.0, 1.0), _chords(d, 1.0 + d)
    room, many = 2 * len(mass) + len(lower), 2
    z, f, names = np.empty(room), np.empty(room), np.empty(room, dtype=np.int64)
    names[0], names[1] = -2, -1
    z[0], f[0] = total, -costs[every]
    z[1], f[1] = top * total, top * (level * total - costs[every])
    for T in range(every):
        if many + len(lower) >= room:
            room *= 2
            longer = np.empty(room), np.empty(room), np.empty(room, dtype=np.int64)
            for i in range(many):
                longer[0][i], longer[1][i], longer[2][i] = z[i], f[i], names[i]
            z, f, names = longer
        own = d * mass[T]
        if own <= 1.0:
            low = 1.0 - own
            z[many] = low * total + d * inside[T]
            # Chords are too far from x log x near 0.
            lower_part = _at(below, low) if low > ROUGH else low * math.log(max(low, 1e-300))
            f[many] = lower_part * (total - inside[T]) + _at(above, low) * inside[T]
            f[many] -= low * costs[every] + d * costs[T]
        else:
            high = top / (spread + mass[T])
            z[many] = high * inside[T]
            f[many] = high * ((level - logs[T]) * inside[T] - costs[T])
        names[many] = T * LETTERS
        many += 1
        if own < 1.0:
            for j in range(len(lower)):
                if own + d * lower[j] <= 1.0:
                    break
                if T >> j & 1:
                    continue
                odd = (1.0 - own) / lower[j]
                z[many] = d * inside[T] + odd * prior[j]
                f[many] = d * log_d * inside[T] + odd * math.log(odd) * prior[j] - d * costs[T]
                f[many] -= odd * prices[j]
                names[many] = T * LETTERS + j + 1
                many += 1
    # Vertices with less z, and with more, replace one if f - least z, or f - most z, of theirs is larger.
    before, after = np.empty(BINS), np.empty(BINS)
    for k in range(BINS):
        before[k] = after[k] = -np.inf
    width = max((top - 1.0) * total, 1e-300)
    for i in range(many):
        k = _bin(z[i], total, width)
        before[k] = max(before[k], f[i] - least * z[i])
        after[k] = max(after[k], f[i] - most * z[i])
    for k in range(1, BINS):
        before[k] = max(before[k], before[k - 1])
        after[BINS - 1 - k] = max(after[BINS - 1 - k], after[BINS - k])
    kept = 0
    for i in range(many):
        k = _bin(z[i], total, width)
        if k > 0 and f[i] - least * z[i] < before[k - 1]:
            continue
        if k < BINS - 1 and f[i] - most * z[i] < after[k + 1]:
            continue
        z[kept], f[kept], names[kept] = scale * z[i], scale * (f[i] + shift * z[i]), names[i]
        kept += 1
    return z[:kept].copy(), f[:kept].copy(), names[:kept].copy()


class _Critical(NamedTuple):
    """The critical vertices of a block as that of s != s0, in order of rising levels."""

    levels: FloatArray
    z: FloatArray
    f: FloatArray

    def between(
        self, low: float, high: float, epsilon: float, lam: float, special: bool
    ) -> tuple[FloatArray, FloatArray]:
        """Return the deltas of those strictly between two, and their f - lam z."""
        ends = (epsilon + low, epsilon + high) if special else (epsilon - high, epsilon - low)
        own = slice(*np.searchsorted(self.levels, ends))
        delta = self.levels[own] - epsilon if special else epsilon - self.levels[own]
        values = self.f[own] - lam * self.z[own]
        if special:
            values = np.exp(-delta) * (values - delta * self.z[own])
        inside = (low < delta) & (delta < high)
        return delta[inside], values[inside]


class Slices:
    """Bounds on reduced costs at some prices, for all deltas; inf where they are above 1 + epsilon.

    Parameters
    ----------
    blocks : sequence of Block
        Those of the published product.
    prices : ndarray, shape (a1, a2)
    epsilon : float
        In nats, > 0.
    slack : float
        How far bounds may be above the largest reduced costs, in nats.
    """

    def __init__(self, blocks: Sequence[Block], prices: FloatArray, epsilon: float, slack: float) -> None:
        self._epsilon, self._slack, self._most = epsilon, slack, 1.0 + epsilon
        self._lists: dict[Place, List] = {}
        self._tangents: dict[tuple[int, float, float], tuple[float, float]] = {}
        self._tables, self._critical = [], []
        for block, row in zip(blocks, prices, strict=True):
            falling = np.argsort(-block.lower, kind="stable")
            lower, prior, costs = (x[falling] for x in (block.lower, block.prior, block.fold(row)))
            mass, inside, sums = subset_sums(lower), subset_sums(prior), subset_sums(costs)
            spread = max(1.0 - float(lower.sum()), 1e-15)
            self._tables.append((lower, prior, costs, mass, inside, sums, np.log(spread + mass), falling))
            some = np.flatnonzero(mass > 0)
            with np.errstate(over="ignore"):
                levels = np.log1p(spread / mass[some])
            order = np.argsort(levels, kind="stable")
            high, some = 1.0 / mass[some[order]], some[order]
            g = xlogy(high, high) * inside[some]
            self._critical.append(_Critical(levels[order], high * inside[some], g - high * sums[some]))
        groups = np.array([block.prior.sum() for block in blocks])
        # Slopes of Z log Z at the least Z and at the largest, there plus the largest bound that is told.
        self._slopes = (
            1.0 + math.log1p(math.expm1(-epsilon) * float(groups.max())),
            1.0 + epsilon + self._most,
        )

    def at(self, s0: int, delta: float, enough: float) -> float:
        """Bound the reduced costs of one slice, closely if they are above `enough`."""
        return self._bound(s0, delta, delta, enough, 0.0)

    def over(self, s0: int, low: float, high: float, enough: float) -> float:
        """Bound the reduced costs of a product that contains all slices from one delta to another.

        Bounds up to `enough` are no closer than need be, and so are those that cannot be.
        """
        return self._bound(s0, low, high, enough, enough)

    def between(self, s0: int, low: float, high: float, enough: float) -> tuple[float, float, FloatArray]:
        """Bound reduced costs between two deltas by tangents, every block along a line in b.

        Returns
        -------
        all : float
            A bound for all slices.
        critical : float
            A bound for columns with a critical vertex between the ends.
        deltas : ndarray
            Where those may be worth more than `enough`.
        """
        lam = 0.5 * sum(self._tangent(s0, delta, delta)[1] for delta in (low, high))
        # What no vertex of a block has more of, at both ends.
        tops = np.array(
            [[(f - lam * z).max() for z, f, _ in self._product(s0, delta, delta)] for delta in (low, high)]
        )
        b = np.exp([-low, -high])
        inside = []
        raised = np.zeros(len(self._critical))
        for s, critical in enumerate(self._critical):
            delta, values = critical.between(low, high, self._epsilon, lam, s == s0)
            share = (np.exp(-delta) - b[1]) / (b[0] - b[1])
            above = values - tops[1, s] - share * (tops[0, s] - tops[1, s])
            raised[s] = above.max(initial=0.0)
            inside.append((delta, above, share))
        sums = tops.sum(axis=1) + raised.sum()
        most, deltas = -math.inf, [np.empty(0)]
        for (delta, above, share), own in zip(inside, raised, strict=True):
            total = sums[1] + share * (sums[0] - sums[1]) - own + above
            most = max(most, tangent_bound(lam, float(total.max(initial=-math.inf))))
            deltas.append(delta[total > -math.exp(lam - 1.0 - enough)])
        return tangent_bound(lam, float(sums.max())), most, np.concatenate(deltas)

    def _bound(self, s0: int, low: float, high: float, worth: float, enough: float) -> float:
        kappa, lam = self._tangent(s0, low, high)
        if kappa > self._most:
            return math.inf
        if kappa <= worth:
            return max(kappa, 0.0)
        z, f, _ = zip(*self._product(s0, low, high), strict=True)
        span = sum(float(x.min()) for x in z), sum(float(x.max()) for x in z)
        return price_combinations(z, f, (kappa, lam), span, self._slack, enough=enough)[0]

    def _tangent(self, s0: int, low: float, high: float) -> tuple[float, float]:
        """Return the least kappa of tangents of a product, and its lam."""
        key = s0, low, high
        if key not in self._tangents:
            z, f, _ = zip(*self._product(s0, low, high), strict=True)
            lam = float(np.clip(best_tangent(z, f, 1.0)[1], *self._slopes))
            self._tangents[key] = (
                tangent_bound(lam, sum(float((b - lam * a).max()) for a, b in zip(z, f, strict=True))),
                lam,
            )
        return self._tangents[key]

    def _product(self, s0: int, low: float, high: float) -> list[List]:
        """List the blocks that contain those of all slices between two deltas."""
        return [self._list(place) for place in places(len(self._tables), s0, low, high)]

    def vertices(self, place: Place) -> tuple[NDArray[np.int64], FloatArray]:
        """Return the names, shape (m,), and the folded letters, (m, letters), of those that are listed."""
        level, shift = level_of(place, self._epsilon)
        lower, *_, falling = self._tables[place[0]]
        names = self._list(place)[2]
        top, spread = math.exp(level), max(1.0 - float(lower.sum()), 1e-15)
        d = (top - 1.0) / spread
        inside = np.maximum(names, 0)[:, None] // LETTERS >> np.arange(len(lower)) & 1
        mass = inside @ lower
        raised = d * mass <= 1.0
        low, high = (
            np.where(raised, 1.0 - d * mass, 0.0),
            np.where(raised, 1.0 - d * mass + d, top / (spread + mass)),
        )
        third = np.flatnonzero((names > 0) & (names % LETTERS > 0))
        low[third], high[third] = 0.0, d
        w = np.where(inside == 1, high[:, None], low[:, None])
        j = names[third] % LETTERS - 1
        w[third, j] = (1.0 - d * mass[third]) / lower[j]
        w[names == -2], w[names == -1] = 1.0, top
        folded = np.empty_like(w)
        folded[:, falling] = math.exp(shift) * w
        return names, folded

    def _list(self, place: Place) -> List:
        """List the vertices of a block that others do not replace."""
        if place not in self._lists:
            (least, most), (level, shift) = self._slopes, level_of(place, self._epsilon)
            z, f, names = _listed(level, shift, least - shift, most - shift, *self._tables[place[0]][:-1])
            kept = pareto_vertices(np.argsort(z, kind="stable"), z, f, -least, most)
            self._lists[place] = z[kept], f[kept], names[kept]
        return self._lists[place]


def places(groups: int, s0: int, low: float, high: float) -> list[Place]:
    """List the blocks that contain those of all slices between two deltas."""
    return [(s, high, True) if s == s0 and high > 0 else (s, low, False) for s in range(groups)]


def level_of(place: Place, epsilon: float) -> tuple[float, float]:
    """Return the level of a block, and the log of its scale."""
    _, delta, special = place
    return epsilon + (delta if special else -delta), -delta if special else 0.0
