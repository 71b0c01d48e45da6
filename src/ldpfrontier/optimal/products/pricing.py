"""Products of blocks: the joint columns of PolyOpt, and how they are priced.

A column is priced by the tangent bound, which separates over the blocks; where that leaves something, by
listing the combinations of block vertices within it, or, where they are many, by dynamic programming over the
blocks on grids of partial sums of Z (`bands`), with the error of the grid counted in the bound. That error is
one of z log z against a tangent, so a grid serves a band of Z with a tangent of its own.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.numerics.jit import kernel
from ldpfrontier.optimal.geometry.polytope import Block
from ldpfrontier.optimal.products.partial_sums import PartialSumTable, discard_by_tangent, pareto_vertices
from ldpfrontier.types import FloatArray
from ldpfrontier.utility import Columns

#: Additions in tables that one pricing may take, by effort.
WORK = (100_000_000, 300_000_000, 1_000_000_000)

#: Ratio of the ends of a band of Z at first, least and most cells of its grid.
BAND, CELLS = 2.0, (500, 1_000)

#: Most cells of any grid, and most times that a band is halved.
MOST_CELLS, DEEPEST = 2**18, 30

#: Relative rounding of what a column is worth.
ROUNDING = 1e-12

#: Columns offered of a band that is looked at again.
FEW = 20

#: Relative distance of the bound from the best reduced cost found that does not matter.
CLOSE = 0.2

#: Up to this many combinations of block vertices are listed instead.
MAX_PRODUCT = 200_000

#: Columns offered to the master, and most steps of a search for a tangent point.
OFFERS, TANGENT_STEPS = 300, 20


@kernel
def _highest(f: FloatArray, z: FloatArray, lam: float) -> tuple[float, float]:
    """Return the largest f - lam z, and the z it has: the first one's."""
    best, own = -np.inf, 0.0
    for i in range(len(f)):
        tilted = f[i] - lam * z[i]
        if tilted > best:
            best, own = tilted, z[i]
    return best, own


@kernel
def tangent_bound(lam: float, total: float) -> float:
    """Return what a tangent (see `BlockProduct.best_tangent`) says if the largest f - lam z add up to a total."""
    return lam - 1.0 - math.log(-total) if total < 0.0 else np.inf


def best_tangent(z: Sequence[FloatArray], f: Sequence[FloatArray], lam: float) -> tuple[float, float]:
    """Return the least kappa of tangents (see `BlockProduct.best_tangent`), with its lam; begin at `lam`.

    z, f : those of all vertices of every block.
    """
    below = above = (0.0, 0.0, 0.0)  # lam, F and its slope Z on either side of the least kappa
    low, high = -math.inf, math.inf
    best = (math.inf, 1.0)
    for _ in range(TANGENT_STEPS):
        F = Z = 0.0
        for z_s, f_s in zip(z, f, strict=True):
            tilted, own = _highest(f_s, z_s, lam)
            F -= tilted
            Z += own
        best = min(best, (tangent_bound(lam, -F), lam))
        # F is concave, piecewise linear with slope Z; kappa is least where F = Z or at a kink across it.
        following = lam + 1.0 - F / Z
        if Z > F:
            low, below = lam, (lam, F, Z)
        else:
            high, above = lam, (lam, F, Z)
        if not low < following < high:
            (x, p, slope), (y, q, other) = below, above
            following = (q - p + slope * x - other * y) / (slope - other) if slope > other else lam
        if abs(following - lam) < 1e-12 or not low < following < high:
            break
        lam = following
    return best


@dataclass(eq=False)
class BlockProduct:
    """Joint columns made of one vertex from every block.

    Parameters
    ----------
    blocks : list of Block, length a1
    centre : ndarray, shape (a1, a2)
    resolution : float
        In nats: how far `price` may leave its bound above the largest reduced cost found.
    """

    blocks: list[Block]
    centre: FloatArray
    resolution: float = 0.0
    efforts: int = len(WORK)
    _lam: float = field(default=1.0, init=False, repr=False)
    _last: tuple[FloatArray, tuple[float, float]] | None = field(default=None, init=False, repr=False)

    @cached_property
    def scale(self) -> FloatArray:
        """P-hat, row-major, shape (a1 a2,)."""
        return self.centre.ravel()

    @property
    def size(self) -> int:
        """Number of block vertices."""
        return sum(len(block) for block in self.blocks)

    def columns(self, choice: NDArray[np.int64]) -> Columns:
        """Form the columns of the chosen block vertices (m, a1), scaled to Z = 1."""
        vectors = np.hstack([b.vectors(choice[:, s]) for s, b in enumerate(self.blocks)])
        g = sum(b.g[choice[:, s]] for s, b in enumerate(self.blocks))
        z = sum(b.z[choice[:, s]] for s, b in enumerate(self.blocks))
        return Columns(vectors / z[:, None], g / z - np.log(z))

    @cached_property
    def range(self) -> tuple[float, float]:
        """Least and largest Z of a joint column before it is scaled."""
        return sum(float(b.z.min()) for b in self.blocks), sum(float(b.z.max()) for b in self.blocks)

    def clear_cache(self) -> None:
        """Forget what depends on the list of vertices, which has grown."""
        self.__dict__.pop("range", None)
        self._last = None

    def reduced(self, prices: FloatArray) -> list[FloatArray]:
        """Return f_s = g_s - prices . w_s for all vertices of every block."""
        per_block = prices.reshape(self.centre.shape)
        return [b.reduced(p) for b, p in zip(self.blocks, per_block, strict=True)]

    def best_tangent(self, prices: FloatArray) -> tuple[float, float]:
        """Bound the reduced costs of all joint columns, scaled to Z = 1, without looking at joint columns.

        The tangent of z log z at c, with lam = 1 + log c, bounds a reduced cost by c - F(lam), where
        F(lam) = -sum_s max [f_s - lam z_s]. Prices higher by kappa P have lam + kappa in place of lam there,
        and so leave nothing positive if kappa = lam - 1 - log F(lam) for some lam: the least such kappa.

        Returns
        -------
        kappa, lam : float
        """
        if self._last is not None and np.array_equal(self._last[0], prices):
            return self._last[1]
        best = best_tangent([b.z for b in self.blocks], self.reduced(prices), self._lam)
        self._lam = best[1]  # prices change little from one call to the next
        self._last = prices.copy(), best
        return best

    def explore(self, prices: FloatArray, slack: float) -> tuple[float, list[BlockProduct]]:
        """Bound the reduced costs for a `Decomposition` with this product alone."""
        return self.best_tangent(prices)[0], []

    def best_vertices(self, prices: FloatArray, number: int) -> list[NDArray[np.int64]]:
        """Return up to `number` vertices of every block, those that come nearest to the bound of `excess`."""
        _, lam = self.best_tangent(prices)
        per_block = prices.reshape(self.centre.shape)
        return [b.leading(p, number, lam) for b, p in zip(self.blocks, per_block, strict=True)]

    def price(
        self, prices: FloatArray, effort: int, offers: int = OFFERS, enough: float = 0.0
    ) -> tuple[float, Columns]:
        """Bound the reduced costs of all joint columns from above; offer the best ones found.

        With the tangent of z log z at c, and lam = 1 + log c, the reduced cost of a product of vertices is ::

            U + sum_s l_s(w_s) - breg(Z, c),   breg(Z, c) = Z log(Z / c) - Z + c >= 0,

        with U = c + sum_s max [f_s - lam z_s], f_s = g_s - prices . w_s, and l_s <= 0 what a vertex has less
        than the best of its block. So U is exceeded by none, and only vertices with l_s >= -U can take part
        in a column worth having. Of these, one is replaced by another of its block at a gain if l_s is
        smaller by more than breg can rise.

        Parameters
        ----------
        prices : ndarray, row-major
        effort : int
        offers : int
            Most columns to offer.
        enough : float
            A bound that is near enough, and so is any, once a column above is found.
        """
        kappa, lam = self.best_tangent(prices)
        if kappa <= 0.0:
            return 0.0, self.columns(np.empty((0, len(self.blocks)), dtype=np.int64))
        bound, choice = price_combinations(
            [b.z for b in self.blocks],
            self.reduced(prices),
            (kappa, lam),
            self.range,
            self.resolution,
            effort=effort,
            offers=offers,
            enough=enough,
        )
        return bound, self.columns(choice)


def price_combinations(
    z: Sequence[FloatArray],
    f: Sequence[FloatArray],
    tangent: tuple[float, float],
    span: tuple[float, float],
    resolution: float,
    *,
    effort: int = 0,
    offers: int = 1,
    enough: float = 0.0,
) -> tuple[float, NDArray[np.int64]]:
    """Bound the reduced costs of all combinations of vertices (see `BlockProduct.price`).

    Parameters
    ----------
    z, f : sequence of ndarray
        Of all vertices of every block.
    tangent : tuple
        The least kappa, > 0, and its lam.
    span : tuple
        Least and largest Z.
    resolution, effort, offers, enough
        As those of `BlockProduct`.

    Returns
    -------
    bound : float
    choice : ndarray of int, shape (choices, blocks)
        The best combinations found.
    """
    (kappa, lam), (low, high) = tangent, span
    lam = min(max(lam, 1.0 + math.log(low)), 1.0 + math.log(high))
    U, problem = _Problem.close(
        z, f, kappa, lam, left=lam - math.log(low) - 1.0, right=math.log(high) + 1.0 - lam
    )
    if U <= 0.0:
        return 0.0, np.empty((0, len(z)), dtype=np.int64)
    if problem.few:
        return problem.listed(offers)[:2]
    return problem.search(span, resolution, WORK[effort], offers, enough)


@dataclass(eq=False)
class Products:
    """Several products of the same blocks' sensitive values as one family.

    Parameters
    ----------
    members : list of BlockProduct
        At least one.
    resolution : float
        As that of `BlockProduct`.
    """

    members: list[BlockProduct]
    resolution: float = 0.0
    efforts: int = len(WORK)

    @property
    def scale(self) -> FloatArray:
        """P-hat, row-major, shape (a1 a2,)."""
        return self.members[0].scale

    def price(self, prices: FloatArray, effort: int) -> tuple[float, Columns]:
        """Bound the reduced costs of all joint columns from above; offer the best ones of every product."""
        offers, most = [], 0.0
        for product in self.members:
            product.resolution = self.resolution
            excess, columns = product.price(prices, effort, max(FEW, OFFERS // len(self.members)))
            most = max(most, excess)
            offers.append(columns)
        return most, Columns.join(offers)

    def explore(self, prices: FloatArray, slack: float) -> tuple[float, list[BlockProduct]]:
        """Bound the reduced costs for a `Decomposition` with these products alone."""
        bounds = [product.best_tangent(prices)[0] for product in self.members]
        return max(bounds), [product for product, x in zip(self.members, bounds, strict=True) if x > 0.0]


@dataclass(eq=False)
class _Problem:
    """What a choice of one vertex per block is worth: sum f - Z log Z, Z = sum z.

    Parameters
    ----------
    kappa : float
        No column is worth more per unit of Z.
    vertices : ndarray of int
        Those that matter of all blocks, one block after the other, in order of rising z.
    first : ndarray of int, shape (blocks + 1,)
        Where those of each block begin.
    z, f : ndarray
        Theirs.
    """

    kappa: float
    vertices: NDArray[np.int64]
    first: NDArray[np.int64]
    z: FloatArray
    f: FloatArray

    @classmethod
    def close(
        cls,
        z: Sequence[FloatArray],
        f: Sequence[FloatArray],
        kappa: float,
        lam: float,
        *,
        left: float,
        right: float,
    ) -> tuple[float, _Problem]:
        """Return U, and the problem with those vertices alone that matter.

        Parameters
        ----------
        z, f : sequence of ndarray
            Of all vertices of every block.
        kappa : float
            No column is worth more per unit of Z.
        lam : float
            1 + log c of the tangent.
        left, right : float
            How fast breg rises at most as Z falls, and as it grows.
        """
        values = [f_s - lam * z_s for f_s, z_s in zip(f, z, strict=True)]
        tops = [float(v.max()) for v in values]
        U = math.exp(lam - 1.0) + sum(tops)
        vertices = []
        for z_s, v, top in zip(z, values, tops, strict=True):
            close = np.flatnonzero(v >= top - U)
            rising = close[np.argsort(z_s[close], kind="stable")]
            # Prices higher by kappa P make a column with a larger Z lose more.
            vertices.append(pareto_vertices(rising, z_s, v, left, right + kappa))
        first = np.cumsum([0, *(len(i) for i in vertices)])
        own_z, own_f = (np.concatenate([x[i] for x, i in zip(xs, vertices, strict=True)]) for xs in (z, f))
        return U, cls(kappa, np.concatenate(vertices), first, own_z, own_f)

    def _only(self, places: NDArray[np.int64]) -> _Problem:
        """Return the problem with these vertices alone, one of each block at least, in their order."""
        first = np.searchsorted(places, self.first)
        return _Problem(self.kappa, self.vertices[places], first, self.z[places], self.f[places])

    @property
    def few(self) -> bool:
        """Whether the combinations of vertices are listed."""
        return bool(math.prod(np.diff(self.first).tolist()) <= MAX_PRODUCT)

    def listed(self, offers: int) -> tuple[float, NDArray[np.int64], FloatArray]:
        """Evaluate all combinations: the largest reduced cost, or 0, the best choices and what they have."""
        worth, total = np.zeros(1), np.zeros(1)
        for a, b in itertools.pairwise(self.first):
            worth = np.add.outer(worth, self.f[a:b]).ravel()
            total = np.add.outer(total, self.z[a:b]).ravel()
        reduced = worth / total - np.log(total)
        few = np.arange(reduced.size)
        if offers < reduced.size:  # sorting all of them takes longer than the rest
            few = np.flatnonzero(reduced >= np.partition(reduced, -max(offers, 1))[-max(offers, 1)])
        best = few[np.argsort(-reduced[few], kind="stable")][:offers]
        places = np.unravel_index(best, np.diff(self.first).tolist())
        choice = self.vertices[np.column_stack(places) + self.first[:-1]]
        return float(reduced.max(initial=0.0)), choice, reduced[best]

    def search(
        self, span: tuple[float, float], resolution: float, work: int, offers: int, enough: float
    ) -> tuple[float, NDArray[np.int64]]:
        """Bound the columns with Z in bands; halve the band with the largest bound, with finer cells.

        Halves look at those vertices alone that the band has in a column worth more than needed: columns with
        others are no better, and the bound returned is no less. Where few combinations are left, the best of
        them is known.
        """
        (low, high), blocks = span, len(self.first) - 1
        parts = max(1, math.ceil(math.log(high / low) / math.log(BAND)))
        ends = np.geomspace(low, high, parts + 1)
        heap = [
            (-math.inf, n, float(a), float(b), 0, self) for n, (a, b) in enumerate(itertools.pairwise(ends))
        ]
        cells = int(np.clip(blocks / max(resolution, 1e-9), *CELLS))
        choices, worths = [np.empty((0, blocks), dtype=np.int64)], [np.empty(0)]
        attained = ignored = 0.0
        while True:
            needed = max(attained + max(resolution, CLOSE * attained), enough)
            if attained > enough > 0.0:
                break
            negative, _, a, b, depth, own = heap[0]
            if -negative <= needed or (work <= 0 and depth > 0) or depth > DEEPEST:
                break
            heapq.heappop(heap)
            pieces = [(a, b)] if depth == 0 else [(a, math.sqrt(a * b)), (math.sqrt(a * b), b)]
            for piece in pieces:
                number = min(offers, FEW) if depth else offers
                finer = min(cells << depth, MOST_CELLS)
                bound, choice, worth, size, rest = own.banded(*piece, finer, number, needed)
                work -= size
                below = depth + 1
                if bound > needed:
                    ignored = needed  # which never falls
                    if rest.few:
                        (bound, choice, worth), below = rest.listed(number), DEEPEST + 1
                parts += 1
                heapq.heappush(heap, (-min(bound, -negative), parts, *piece, below, rest))
                choices.append(choice)
                worths.append(worth)
                attained = max(attained, float(worth.max(initial=0.0)))
        best = np.argsort(-np.concatenate(worths), kind="stable")[:offers]
        return min(max(-heap[0][0], attained, ignored), self.kappa), np.concatenate(choices)[best]

    def banded(
        self, low: float, high: float, cells: int, offers: int, enough: float
    ) -> tuple[float, NDArray[np.int64], FloatArray, int, _Problem]:
        """Bound the reduced costs with low <= Z <= high, by dynamic programming over the blocks.

        Returns
        -------
        bound : float
            At least 0.
        choice : ndarray of int, shape (choices, blocks)
            None unless the bound is above `enough`.
        worth : ndarray, shape (choices,)
            Their reduced costs.
        size : int
            The work it was.
        rest : _Problem
            With the vertices of all columns in the band that are worth more than `enough`.
        """
        none, nothing = np.empty((0, len(self.first) - 1), dtype=np.int64), np.empty(0)
        c = math.sqrt(low * high)
        U, kept, losses, first = discard_by_tangent(self.z, self.f, self.first, c)
        if enough * low >= U:
            return max(U, 0.0) / low, none, nothing, 0, self
        z = self.z[kept]
        least, most = float(z[first[:-1]].sum()), float(z[first[1:] - 1].sum())
        if low > most or high < least:
            return 0.0, none, nothing, 0, self
        grid = PartialSumTable(z, losses, first, max(low, least), min(high, most), cells)
        if grid.sums.size == 0:
            return 0.0, none, nothing, grid.size, self
        nearest = np.clip(c, grid.sums - grid.error, grid.sums + grid.error)
        # A positive reduced cost per unit of Z is largest at the least Z that the cell can stand for.
        lowest = np.maximum(grid.sums - grid.error, low)
        worth = U - bregman(nearest, c)
        bound = max(float(((grid.least + worth) / lowest).max()), 0.0)
        if bound <= enough:
            return bound, none, nothing, grid.size, self
        marginals, choice = grid.search(worth - enough * lowest, offers)
        rest = self._only(kept[marginals > -ROUNDING * U])
        chosen = kept[choice]
        Z = self.z[chosen].sum(axis=1)
        return bound, self.vertices[chosen], self.f[chosen].sum(axis=1) / Z - np.log(Z), 3 * grid.size, rest


def bregman(z: FloatArray, c: float | FloatArray) -> FloatArray:
    """Distance of z log z from its tangent at c: z log(z/c) - z + c."""
    z = np.maximum(z, 1e-300)
    return np.asarray(z * np.log(z / c) - z + c)
