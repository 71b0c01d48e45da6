"""Products of blocks: the joint columns of PolyOpt, and how they are priced.

A column is priced by the tangent bound, which separates over the blocks; where that leaves something, by
listing the combinations of block vertices within it, or, where they are many, by dynamic programming over the
blocks on a grid of partial sums of Z, with the error of the grid counted in the bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.channel import FloatArray
from ldpfrontier.optimal.blocks import Block
from ldpfrontier.utility import Columns

#: Grid cells of the dynamic program, by effort.
CELLS = (8_000, 64_000, 512_000)

#: Up to this many combinations of block vertices are listed instead.
MAX_PRODUCT = 200_000

#: Final cells whose best column is offered to the master, and most steps of a search for a tangent point.
OFFERS, TANGENT_STEPS = 600, 20


@dataclass(eq=False)
class BlockProduct:
    """Joint columns made of one vertex from every block.

    Parameters
    ----------
    blocks : list of Block, length a1
    centre : ndarray, shape (a1, a2)
    """

    blocks: list[Block]
    centre: FloatArray
    efforts: int = len(CELLS)
    _lam: float = field(default=1.0, init=False, repr=False)

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

    def forget(self) -> None:
        """Forget what depends on the list of vertices, which has grown."""
        self.__dict__.pop("range", None)

    def reduced(self, prices: FloatArray) -> list[FloatArray]:
        """Return f_s = g_s - prices . w_s for all vertices of every block."""
        per_block = prices.reshape(self.centre.shape)
        return [b.reduced(p) for b, p in zip(self.blocks, per_block, strict=True)]

    def excess(self, prices: FloatArray) -> tuple[float, float]:
        """Bound the reduced costs of all joint columns, scaled to Z = 1, without looking at joint columns.

        The tangent of z log z at c, with lam = 1 + log c, bounds a reduced cost by c - F(lam), where
        F(lam) = -sum_s max [f_s - lam z_s]. Prices higher by kappa P have lam + kappa in place of lam there,
        and so leave nothing positive if kappa = lam - 1 - log F(lam) for some lam: the least such kappa.

        Returns
        -------
        kappa, lam : float
        """
        f = self.reduced(prices)
        below = above = (0.0, 0.0, 0.0)  # lam, F and its slope z on either side of the least kappa
        low, high = -math.inf, math.inf
        lam, best = self._lam, (math.inf, 1.0)
        for _ in range(TANGENT_STEPS):
            F = z = 0.0
            for b, values in zip(self.blocks, f, strict=True):
                tilted = values - lam * b.z
                i = int(tilted.argmax())
                F -= float(tilted[i])
                z += float(b.z[i])
            if F > 0:
                best = min(best, (lam - 1.0 - math.log(F), lam))
            # F is concave, piecewise linear with slope z; kappa is least where F = z or at a kink across it.
            following = lam + 1.0 - F / z
            if z > F:
                low, below = lam, (lam, F, z)
            else:
                high, above = lam, (lam, F, z)
            if not low < following < high:
                (x, p, slope), (y, q, other) = below, above
                following = (q - p + slope * x - other * y) / (slope - other) if slope > other else lam
            if abs(following - lam) < 1e-12 or not low < following < high:
                break
            lam = following
        self._lam = best[1]  # prices change little from one call to the next
        return best

    def explore(self, prices: FloatArray, slack: float) -> tuple[float, list[BlockProduct]]:
        """Bound the reduced costs for a `Decomposition` with this product alone."""
        return self.excess(prices)[0], []

    def best_vertices(self, prices: FloatArray, number: int) -> list[NDArray[np.int64]]:
        """Return up to `number` vertices of every block, those that come nearest to the bound of `excess`."""
        _, lam = self.excess(prices)
        tilted = [f - lam * b.z for b, f in zip(self.blocks, self.reduced(prices), strict=True)]
        return [np.argsort(-values, kind="stable")[:number] for values in tilted]

    def price(self, prices: FloatArray, effort: int, offers: int = OFFERS) -> tuple[float, Columns]:
        """Bound the reduced costs of all joint columns from above; offer the best ones found.

        With the tangent of z log z at c, and lam = 1 + log c, the reduced cost of a product of vertices is ::

            c + sum_s [f_s(w_s) - lam z_s(w_s)] - breg(Z, c),   breg(Z, c) = Z log(Z / c) - Z + c >= 0,

        f_s = g_s - prices . w_s. So the tangent bound c + sum_s max_w [...] is exceeded by none, and only
        vertices within that bound of their block's best can take part in a column worth having.
        """
        kappa, lam = self.excess(prices)
        low, high = self.range
        lam = min(max(lam, 1.0 + math.log(low)), 1.0 + math.log(high))
        tilted = [f - lam * b.z for b, f in zip(self.blocks, self.reduced(prices), strict=True)]
        tops = [float(values.max()) for values in tilted]
        bound = math.exp(lam - 1.0) + sum(tops)
        if kappa <= 0.0 or bound <= 0.0:
            return 0.0, self.columns(np.empty((0, len(self.blocks)), dtype=np.int64))
        keep = [np.flatnonzero(values >= top - bound) for values, top in zip(tilted, tops, strict=True)]
        losses = [values[i] - top for values, i, top in zip(tilted, keep, tops, strict=True)]
        z = [b.z[i] for b, i in zip(self.blocks, keep, strict=True)]
        if math.prod(len(i) for i in keep) <= MAX_PRODUCT:
            return self._list(keep, losses, z, lam, bound, offers)
        return self._search(keep, losses, z, lam, bound, CELLS[effort], offers)

    def _list(
        self,
        keep: list[NDArray[np.int64]],
        losses: list[FloatArray],
        z: list[FloatArray],
        lam: float,
        bound: float,
        offers: int,
    ) -> tuple[float, Columns]:
        """Evaluate every combination that can be worth having: exact up to the excess being at least 0."""
        loss, total = np.zeros(1), np.zeros(1)
        for d, zs in zip(losses, z, strict=True):
            loss, total = np.add.outer(loss, d).ravel(), np.add.outer(total, zs).ravel()
        reduced = (bound + loss - _bregman(total, math.exp(lam - 1.0))) / total
        best = np.argsort(-reduced, kind="stable")[:offers]
        places = np.unravel_index(best, [len(i) for i in keep])
        choice = np.column_stack([i[p] for i, p in zip(keep, places, strict=True)])
        return max(float(reduced.max()), 0.0), self.columns(choice)

    def _search(
        self,
        keep: list[NDArray[np.int64]],
        losses: list[FloatArray],
        z: list[FloatArray],
        lam: float,
        bound: float,
        cells: int,
        offers: int,
    ) -> tuple[float, Columns]:
        """Find the least loss for every value of Z on a grid, by dynamic programming over the blocks."""
        order = np.argsort([-float(np.ptp(zs)) for zs in z], kind="stable")
        width = sum(float(np.ptp(zs)) for zs in z) / cells or 1.0
        steps = [np.rint((zs - zs.min()) / width).astype(np.int64) for zs in z]
        error = sum(float(np.abs(zs - zs.min() - t * width).max()) for zs, t in zip(z, steps, strict=True))
        base = sum(float(zs.min()) for zs in z)
        c = math.exp(lam - 1.0)
        # Only sums of Z whose distance from the tangent leaves something of the bound are of use, and only
        # partial sums from which the blocks to come can reach those: with the widest blocks first, few.
        grid = base + width * np.arange(sum(int(t.max()) for t in steps) + 1)
        useful = np.flatnonzero(_bregman(np.clip(c, grid - error, grid + error), c) < bound)
        if useful.size == 0:
            return 0.0, self.columns(np.empty((0, len(z)), dtype=np.int64))
        low, high = int(useful[0]), int(useful[-1])
        reach = np.cumsum([0, *(int(steps[s].max()) for s in order[:0:-1])])[::-1]
        state, first = np.zeros(1), 0
        trace: list[tuple[int, NDArray[np.int32]]] = []
        for s, still in zip(order, reach, strict=True):
            start = max(first, low - int(still))
            stop = min(first + len(state) - 1 + int(steps[s].max()), high)
            following = np.full(stop - start + 1, -np.inf)
            choice = np.full(len(following), -1, dtype=np.int32)
            # Of the vertices that move the grid equally far, only the one with the least loss matters.
            ranked = np.lexsort((-losses[s], steps[s]))
            for i in ranked[np.append(True, np.diff(steps[s][ranked]) > 0)]:
                shift = first + int(steps[s][i]) - start
                a, b = max(shift, 0), min(shift + len(state), len(following))
                if a >= b:
                    continue
                candidate = state[a - shift : b - shift] + losses[s][i]
                better = candidate > following[a:b]
                following[a:b][better] = candidate[better]
                choice[a:b][better] = i
            following[following < -bound] = -np.inf
            state, first = following, start
            trace.append((start, choice))
        grid = grid[first : first + len(state)]
        reduced = bound + state - _bregman(np.clip(c, grid - error, grid + error), c)
        # A positive reduced cost per unit of Z is largest at the least Z the cell can stand for.
        excess = max(float((reduced / np.maximum(grid - error, self.range[0])).max()), 0.0)
        offered = np.argsort(-reduced / grid, kind="stable")[:offers]
        offered = offered[reduced[offered] > 0.0]
        cell = offered + first
        columns = np.empty((len(offered), len(z)), dtype=np.int64)
        for s, (start, choice) in zip(order[::-1], reversed(trace), strict=True):
            picked = choice[cell - start]
            columns[:, s] = keep[s][picked]
            cell = cell - steps[s][picked]
        return excess, self.columns(columns)


def _bregman(z: FloatArray, c: float) -> FloatArray:
    """Distance of z log z from its tangent at c: z log(z/c) - z + c."""
    z = np.maximum(z, 1e-300)
    return np.asarray(z * np.log(z / c) - z + c)
