r"""Pricing of product columns: the largest reduced cost of one vertex per block.

A column is made of one vertex w_s from the block of every sensitive value s. With z_s(w) = P_s . w and
g_s(w) = sum_u P_su w_u log w_u, its reduced cost at duals alpha, scaled to Z = 1, is ::

    [sum_s f_s(w_s) - Z log Z] / Z,      f_s(w) = g_s(w) - alpha_s . w,      Z = sum_s z_s(w_s).

The blocks meet in Z alone. Three bounds use that, each on what the one before leaves:

1. **Tangents**: Z log Z >= lam Z - e^(lam - 1), which separates over the blocks.
2. **Enumeration** of the combinations of those vertices that the tangent leaves, where they are few.
3. **Dynamic programming** over the blocks on grids of partial sums of Z (`partial_sums`), elsewhere: a grid
   for each band of Z, with a tangent of its own. The error of the grid counts in the bound, and branch and
   bound halves the band with the largest one.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.engines.products.geometry.vertex_list import VertexList
from ldpfrontier.engines.products.partial_sums import PartialSumTable, discard_by_tangent, pareto_vertices
from ldpfrontier.engines.products.settings import SETTINGS
from ldpfrontier.engines.products.tangents import best_tangent
from ldpfrontier.model.utility import Columns

#: Times that a band is halved: to 1e-9 of its width.
_MAX_HALVINGS = 30


@dataclass(eq=False)
class BlockProduct:
    """Joint columns made of one vertex from every block."""

    blocks: list[VertexList]  # one for each sensitive value
    centre: FloatArray  # (a1, a2)
    #: In nats: how far `price` may leave its bound above the largest reduced cost found.
    resolution: float = 0.0
    efforts: int = len(SETTINGS.additions)
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
        """Return the columns of the chosen block vertices (m, a1), scaled to Z = 1."""
        vectors = np.hstack([b.vectors(choice[:, s]) for s, b in enumerate(self.blocks)])
        zero = np.zeros(len(choice))
        g = sum((b.g[choice[:, s]] for s, b in enumerate(self.blocks)), zero)
        z = sum((b.z[choice[:, s]] for s, b in enumerate(self.blocks)), zero)
        return Columns(vectors / z[:, None], g / z - np.log(z))

    @cached_property
    def range(self) -> tuple[float, float]:
        """Least and largest Z of a joint column before it is scaled."""
        return sum(float(b.z.min()) for b in self.blocks), sum(float(b.z.max()) for b in self.blocks)

    def clear_cache(self) -> None:
        """Discard what was computed from the lists of vertices, after they have grown."""
        self.__dict__.pop("range", None)
        self._last = None

    def reduced(self, duals: FloatArray) -> list[FloatArray]:
        """Return f_s = g_s - duals . w_s for all vertices of every block."""
        per_block = duals.reshape(self.centre.shape)
        return [b.reduced(own) for b, own in zip(self.blocks, per_block, strict=True)]

    def best_tangent(self, duals: FloatArray) -> tuple[float, float]:
        """Return kappa, which bounds the reduced costs of all joint columns by a tangent, and the slope lam.

        Let F(lam) = -sum_s max [f_s - lam z_s]. At duals higher by kappa P no column has a positive reduced
        cost if sum_s f_s - kappa Z <= lam' Z - e^(lam' - 1) for all columns: with lam = lam' + kappa, if
        kappa = lam - 1 - log F(lam). The least such kappa is found.
        """
        if self._last is not None and np.array_equal(self._last[0], duals):
            return self._last[1]
        best = best_tangent([b.z for b in self.blocks], self.reduced(duals), self._lam)
        self._lam = best[1]  # duals change little from one call to the next
        self._last = duals.copy(), best
        return best

    def explore(self, duals: FloatArray, slack: float) -> tuple[float, list[BlockProduct]]:
        """Bound the reduced costs for a `Decomposition` of this product alone."""
        return self.best_tangent(duals)[0], []

    def best_vertices(self, duals: FloatArray, number: int) -> list[NDArray[np.int64]]:
        """Return up to `number` vertices of every block with the largest f - lam z, at the best tangent."""
        _, lam = self.best_tangent(duals)
        per_block = duals.reshape(self.centre.shape)
        return [b.best_indices(own, number, lam) for b, own in zip(self.blocks, per_block, strict=True)]

    def price(self, duals: FloatArray, effort: int) -> tuple[float, Columns]:
        """Bound the reduced costs of all joint columns from above; offer the best ones found.

        With the tangent of z log z at c, and lam = 1 + log c, the reduced cost of a product of vertices is ::

            U + sum_s l_s(w_s) - breg(Z, c),   breg(Z, c) = Z log(Z / c) - Z + c >= 0,

        with U = c + sum_s max [f_s - lam z_s], f_s = g_s - duals . w_s, and l_s <= 0 what a vertex has less
        than the best of its block. So U is exceeded by none, and only vertices with l_s >= -U can take part
        in a column worth having. Of these, one is replaced by another of its block at a gain if l_s is
        smaller by more than breg can rise.
        """
        kappa, lam = self.best_tangent(duals)
        if kappa <= 0.0:
            return 0.0, self.columns(np.empty((0, len(self.blocks)), dtype=np.int64))
        bound, choice = price_combinations(
            [b.z for b in self.blocks],
            self.reduced(duals),
            (kappa, lam),
            self.range,
            self.resolution,
            effort=effort,
            offers=GENERATION.batch,
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
) -> tuple[float, NDArray[np.int64]]:
    """Bound the reduced costs of all combinations of vertices, one per block (see `BlockProduct.price`).

    Given are z and f of all vertices for every block, the least kappa > 0 of tangents with its lam, and the
    least and largest Z. The best combinations found are returned, too, (offers, blocks) at most.
    """
    (kappa, lam), (low, high) = tangent, span
    lam = min(max(lam, 1.0 + math.log(low)), 1.0 + math.log(high))
    U, problem = PricingProblem.prefiltered(
        z, f, kappa, lam, left=lam - math.log(low) - 1.0, right=math.log(high) + 1.0 - lam
    )
    if U <= 0.0:
        return 0.0, np.empty((0, len(z)), dtype=np.int64)
    if problem.is_small:
        return problem.enumerate(offers)[:2]
    return problem.search_bands(span, resolution, SETTINGS.additions[effort], offers)


class Priced(NamedTuple):
    """A bound on reduced costs, 0 or more, and the best choices found."""

    bound: float
    choice: NDArray[np.int64]  # (choices, blocks)
    reduced: FloatArray  # (choices,): their reduced costs


class BandBound(NamedTuple):
    """The result of dynamic programming for the columns with Z in a band."""

    priced: Priced
    additions: int  # in its tables
    rest: PricingProblem  # the vertices of all columns of the band that are worth more than was enough


class _Band(NamedTuple):
    """An interval of Z, a node of the branch and bound."""

    low: float
    high: float
    depth: int
    problem: PricingProblem

    def children(self) -> Sequence[tuple[float, float]]:
        """Return the halves of a band, or one of the first bands itself, which has no bound yet."""
        middle = math.sqrt(self.low * self.high)
        return [(self.low, middle), (middle, self.high)] if self.depth else [(self.low, self.high)]


@dataclass(eq=False)
class PricingProblem:
    """The problem to maximize (sum f - Z log Z) / Z, Z = sum z, over choices of one vertex per block."""

    kappa: float  # a bound on it
    #: The vertices that may be in a column with a positive reduced cost: block after block, by rising z.
    vertices: NDArray[np.int64]
    first: NDArray[np.int64]  # (blocks + 1,): where those of each block begin
    z: FloatArray  # of the vertices
    f: FloatArray  # of the vertices

    @classmethod
    def prefiltered(
        cls,
        z: Sequence[FloatArray],
        f: Sequence[FloatArray],
        kappa: float,
        lam: float,
        *,
        left: float,
        right: float,
    ) -> tuple[float, PricingProblem]:
        """Return U, and the problem with those vertices alone that the tangent leaves, of all of every block.

        kappa bounds the reduced costs, lam is 1 + log c of the tangent, and breg rises at most as fast as
        `left` as Z falls, and as `right` as it grows.
        """
        values = [f_s - lam * z_s for f_s, z_s in zip(f, z, strict=True)]
        tops = [float(v.max()) for v in values]
        U = math.exp(lam - 1.0) + sum(tops)
        vertices = []
        for z_s, v, top in zip(z, values, tops, strict=True):
            close = np.flatnonzero(v >= top - U)
            rising = close[np.argsort(z_s[close], kind="stable")]
            # Duals higher by kappa P make a column with a larger Z lose more.
            vertices.append(pareto_vertices(rising, z_s, v, left, right + kappa))
        first = np.cumsum([0, *(len(i) for i in vertices)])
        own_z, own_f = (np.concatenate([x[i] for x, i in zip(xs, vertices, strict=True)]) for xs in (z, f))
        return U, cls(kappa, np.concatenate(vertices), first, own_z, own_f)

    def _restricted(self, places: NDArray[np.int64]) -> PricingProblem:
        """Return the problem with these vertices alone, one of each block at least, in their order."""
        first = np.searchsorted(places, self.first)
        return PricingProblem(self.kappa, self.vertices[places], first, self.z[places], self.f[places])

    @property
    def is_small(self) -> bool:
        """Whether the combinations of vertices are few enough to be enumerated."""
        return bool(math.prod(np.diff(self.first).tolist()) <= SETTINGS.max_enumerated)

    def enumerate(self, offers: int) -> Priced:
        """Return the largest reduced cost of all combinations, or 0, with the best ones."""
        worth, total = np.zeros(1), np.zeros(1)
        for a, b in itertools.pairwise(self.first):
            worth = np.add.outer(worth, self.f[a:b]).ravel()
            total = np.add.outer(total, self.z[a:b]).ravel()
        reduced = worth / total - np.log(total)
        few = np.arange(reduced.size)
        if offers < reduced.size:  # sorting all of them takes longer than the rest
            few = np.flatnonzero(reduced >= np.partition(reduced, -max(offers, 1))[-max(offers, 1)])
        best = few[np.argsort(-reduced[few], kind="stable")][:offers]
        places, sizes = np.zeros((best.size, len(self.first) - 1), dtype=np.int64), np.diff(self.first)
        open_blocks = np.flatnonzero(sizes > 1)  # fewer than arrays have dimensions
        if open_blocks.size:
            own = np.unravel_index(best, sizes[open_blocks].tolist())
            places[:, open_blocks] = np.column_stack(own)
        choice = self.vertices[places + self.first[:-1]]
        return Priced(float(reduced.max(initial=0.0)), choice, reduced[best])

    def search_bands(
        self, span: tuple[float, float], resolution: float, additions: int, offers: int
    ) -> tuple[float, NDArray[np.int64]]:
        """Bound the reduced costs by branch and bound over bands of Z; return the bound and the best choices.

        The band with the largest bound is halved, with finer cells. Halves look at those vertices alone that
        the band has in a column worth more than needed: columns with others are no better, and the bound
        returned is no less. Where few combinations are left, they are enumerated.
        """
        (low, high), blocks = span, len(self.first) - 1
        count = max(1, math.ceil(math.log2(high / low)))  # octaves, which are halved further on
        ends = itertools.pairwise(np.geomspace(low, high, count + 1))
        heap = [(-math.inf, n, _Band(float(a), float(b), 0, self)) for n, (a, b) in enumerate(ends)]
        found = [Priced(0.0, np.empty((0, blocks), dtype=np.int64), np.empty(0))]
        attained = ignored = 0.0
        while True:
            needed = attained + max(resolution, GENERATION.inner_share * attained)
            parent, band = -heap[0][0], heap[0][2]
            if parent <= needed or (additions <= 0 and band.depth > 0) or band.depth > _MAX_HALVINGS:
                break
            heapq.heappop(heap)
            # Cells of the grid of a band that is not enumerated; every halving doubles them.
            cells, depth = min(1_000 << band.depth, SETTINGS.max_cells), band.depth + 1
            for a, b in band.children():
                priced, spent, rest = band.problem.bound_band(a, b, cells, offers, needed)
                additions -= spent
                closed = False
                if priced.bound > needed:
                    ignored = needed  # which never falls
                    if closed := rest.is_small:
                        priced = rest.enumerate(offers)
                count += 1
                half = _Band(a, b, _MAX_HALVINGS + 1 if closed else depth, rest)
                heapq.heappush(heap, (-min(priced.bound, parent), count, half))
                found.append(priced)
                attained = max(attained, float(priced.reduced.max(initial=0.0)))
        best = np.argsort(-np.concatenate([own.reduced for own in found]), kind="stable")[:offers]
        bound = min(max(-heap[0][0], attained, ignored), self.kappa)
        return bound, np.concatenate([own.choice for own in found])[best]

    def bound_band(self, low: float, high: float, cells: int, offers: int, enough: float) -> BandBound:
        """Bound the reduced costs of columns with low <= Z <= high by dynamic programming over the blocks.

        There are no choices unless the bound is above `enough`.
        """

        def without_choices(bound: float, additions: int = 0) -> BandBound:
            none = np.empty((0, len(self.first) - 1), dtype=np.int64)
            return BandBound(Priced(bound, none, np.empty(0)), additions, self)

        c = math.sqrt(low * high)
        U, kept, losses, first = discard_by_tangent(self.z, self.f, self.first, c)
        if enough * low >= U:
            return without_choices(max(U, 0.0) / low)
        z = self.z[kept]
        least, most = float(z[first[:-1]].sum()), float(z[first[1:] - 1].sum())
        if low > most or high < least:
            return without_choices(0.0)
        table = PartialSumTable(z, losses, first, max(low, least), min(high, most), cells)
        if table.sums.size == 0:
            return without_choices(0.0, table.size)
        nearest = np.clip(c, table.sums - table.error, table.sums + table.error)
        # A positive reduced cost per unit of Z is largest at the least Z that the cell can stand for.
        lowest = np.maximum(table.sums - table.error, low)
        worth = U - bregman(nearest, c)
        bound = max(float(((table.least + worth) / lowest).max()), 0.0)
        if bound <= enough:
            return without_choices(bound, table.size)
        marginals, choice = table.search(worth - enough * lowest, offers)
        rest = self._restricted(kept[marginals > -SETTINGS.rounding * U])
        chosen = kept[choice]
        Z = self.z[chosen].sum(axis=1)
        reduced = self.f[chosen].sum(axis=1) / Z - np.log(Z)
        return BandBound(Priced(bound, self.vertices[chosen], reduced), 3 * table.size, rest)


def bregman(z: FloatArray, c: float | FloatArray) -> FloatArray:
    """Return the distance of z log z from its tangent at c: z log(z/c) - z + c."""
    z = np.maximum(z, 1e-300)
    return np.asarray(z * np.log(z / c) - z + c)
