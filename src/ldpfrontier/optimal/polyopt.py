r"""PolyOpt, the optimal mechanism over a polyhedral envelope of the uncertainty set (lopuhaa2024, section 5).

The cone "as published" is A_s(v) <= e^eps B_s'(v) for all pairs (s, s'), with ::

    A_s(v) = (1 - S_s) max_u v_{s,u} + L_s . v_s,     B_s(v) = (1 - S_s) min_u v_{s,u} + L_s . v_s.

Its rays are products of block vertices (`blocks.Block`), too many to list. Three steps avoid that:

1. **Decomposition.** Give each block its own weights over its own vertices, tied only by their common total
   Theta. By Jensen's inequality no mixture of columns does better than a constant Z = P . v = 1 / Theta, so
   max over Theta of log Theta + sum_s G_s(Theta) is an upper bound; it is one small LP. Its prices beta give
   column prices alpha = beta - (1 + log c) P with c = -sum_s max_w [g_s(w) - beta_s . w], at which no column
   has a positive reduced cost: the tangent of z log z at c bounds every column.
2. **Coupling.** The block weights are coupled into columns with Z as constant as possible: a mechanism.
3. **Column generation** over the joint columns from that start, where the coupling leaves a gap. A column is
   priced by dynamic programming over the blocks on a grid of partial sums of Z, with the error of the grid
   counted in the bound; where the blocks leave few combinations, by listing them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import highspy
import numpy as np
from numpy.typing import NDArray

from ldpfrontier.channel import FloatArray

from .blocks import Block
from .master import Columns, Optimum, add_column, generate, new_lp, solve
from .utility import MutualInformation

#: Grid cells of the dynamic program, by effort.
CELLS = (8_000, 64_000, 512_000)

#: Up to this many combinations of block vertices are listed instead.
MAX_PRODUCT = 200_000

#: Final cells whose best column is offered to the master, and steps of the search for the tangent point.
OFFERS, TANGENT_STEPS = 600, 20

#: Block vertices added per block and round of the decomposition, its relative gap, and its round limit.
BLOCK_BATCH, DECOMPOSITION_GAP, DECOMPOSITION_ROUNDS = 3, 1e-9, 500


def polyopt_published(
    centre: FloatArray, lower: FloatArray, epsilon: float, *, tolerance: float, max_rounds: int
) -> Optimum:
    """Solve PolyOpt as published (lopuhaa2024, Theorem 3), with a certificate.

    Parameters
    ----------
    centre : ndarray, shape (a1, a2)
        The estimate P-hat, rows = sensitive; the utility is I under it.
    lower : ndarray, shape (a1, a2)
        L_{u|s}; every row sums to less than one.
    epsilon : float
        Privacy level in nats, > 0.
    tolerance, max_rounds
        See `generate`.

    Returns
    -------
    Optimum
        Channel with at most a1 a2 outputs, inputs in row-major order.
    """
    blocks = [Block(L, P, epsilon) for L, P in zip(lower, centre, strict=True)]
    family = BlockProduct(blocks, centre)
    weights, prices = decompose(blocks, centre, epsilon)
    return generate(
        family,
        family.columns(couple(blocks, weights)),
        MutualInformation(centre),
        tolerance=tolerance,
        max_rounds=max_rounds,
        centre=prices.ravel(),
    )


def decompose(
    blocks: list[Block], centre: FloatArray, epsilon: float
) -> tuple[list[dict[int, float]], FloatArray]:
    """Solve the decomposition: independent block weights with a common total.

    Parameters
    ----------
    blocks : list of Block, length a1
    centre : ndarray, shape (a1, a2)
    epsilon : float
        In nats, > 0.

    Returns
    -------
    weights : list of dict
        For each block, vertex index -> weight; all blocks have the same total weight.
    prices : ndarray, shape (a1, a2)
        Dual-feasible prices of the joint columns; their sum is an upper bound on PolyOpt, in nats.
    """
    a1, a2 = centre.shape
    rows = a1 * a2
    lp = new_lp()
    none = np.empty(0, dtype=np.int32)
    for _ in range(rows):
        lp.addRow(1.0, 1.0, 0, none, np.empty(0))
    for _ in range(a1):  # the weights of every block sum to Theta
        lp.addRow(0.0, 0.0, 0, none, np.empty(0))
    total_rows = np.arange(rows, rows + a1, dtype=np.int32)
    lp.addCol(0.0, math.exp(-epsilon), 1.0, a1, total_rows, -np.ones(a1))
    lp.addCol(1.0, -2.0 * epsilon - 1.0, 0.0, 0, none, np.empty(0))

    def add_tangent(theta: float) -> None:
        """Keep the variable for log Theta below its tangent at theta."""
        entries = np.array([-1.0 / theta, 1.0])
        lp.addRow(-highspy.kHighsInf, math.log(theta) - 1.0, 2, np.array([0, 1], dtype=np.int32), entries)

    owners: list[tuple[int, int]] = []
    known: set[tuple[int, int]] = set()

    def add_vertex(s: int, i: int) -> None:
        if (s, i) in known:
            return
        known.add((s, i))
        owners.append((s, i))
        w = blocks[s].vectors(np.array([i]))[0]
        used = np.flatnonzero(w)
        place = np.append(s * a2 + used, rows + s)
        add_column(lp, float(blocks[s].g[i]), place, np.append(w[used], 1.0))

    for theta in np.exp(-np.linspace(0.0, epsilon, 8)):
        add_tangent(float(theta))
    for s, block in enumerate(blocks):
        for i in block.constants:
            add_vertex(s, i)

    best, prices = math.inf, np.zeros((a1, a2))
    for _ in range(DECOMPOSITION_ROUNDS):
        _, primal, dual = solve(lp)
        theta = float(primal[0])
        value = math.log(theta) + sum(
            float(blocks[s].g[i]) * weight for (s, i), weight in zip(owners, primal[2:], strict=True)
        )
        beta = dual[:rows].reshape(a1, a2)
        c = 0.0
        for s, block in enumerate(blocks):
            reduced = block.g - block.dot(beta[s])
            c -= float(reduced.max())
            batch = min(BLOCK_BATCH, len(block))
            for i in np.argpartition(reduced, -batch)[-batch:]:
                if reduced[i] > dual[rows + s] + 1e-11:
                    add_vertex(s, int(i))
        if c > 0:
            feasible = beta - (1.0 + math.log(c)) * centre
            if feasible.sum() < best:
                best, prices = float(feasible.sum()), feasible
        if best - value <= DECOMPOSITION_GAP * abs(value):
            break
        if primal[1] > math.log(theta) + 1e-12:
            add_tangent(theta)
    weights: list[dict[int, float]] = [{} for _ in blocks]
    # The last round may have added vertices after its solve; they have no weight yet.
    for (s, i), weight in zip(owners, primal[2:], strict=False):
        if weight > 1e-13:
            weights[s][i] = float(weight)
    return weights, prices


def couple(blocks: list[Block], weights: list[dict[int, float]]) -> NDArray[np.int64]:
    """Couple block weights into joint columns with Z as constant as a greedy merge can make it.

    Blocks join one at a time, those with the widest range of z first: the current columns in order of rising
    partial Z meet the new block's vertices in order of falling z, masses split where they have to be.

    Returns
    -------
    ndarray of int, shape (columns, a1)
        Vertex index of every block; at most as many columns as there are block vertices in use.
    """
    used = []
    for block, vertices in zip(blocks, weights, strict=True):
        indices = np.array(sorted(vertices))
        used.append(indices[np.argsort(-block.z[indices], kind="stable")])
    spread = [float(np.ptp(b.z[i])) for b, i in zip(blocks, used, strict=True)]
    order = np.argsort(spread, kind="stable")[::-1]
    columns = np.zeros((1, len(blocks)), dtype=np.int64)
    mass, partial = np.ones(1), np.zeros(1)
    for s in order:
        rising = np.argsort(partial, kind="stable")
        share = np.array([weights[s][i] for i in used[s]])
        # Cutting [0, 1] at both sequences of cumulative masses couples them monotonically.
        ends, new_ends = np.cumsum(mass[rising]), np.cumsum(share / share.sum())
        cuts = np.union1d(ends / ends[-1], new_ends)
        middles = (np.append(0.0, cuts[:-1]) + cuts) / 2.0
        old = rising[np.minimum(np.searchsorted(ends / ends[-1], middles), len(rising) - 1)]
        new = used[s][np.minimum(np.searchsorted(new_ends, middles), len(share) - 1)]
        columns = columns[old]
        columns[:, s] = new
        mass, partial = np.diff(cuts, prepend=0.0), partial[old] + blocks[s].z[new]
    return columns


@dataclass(frozen=True, eq=False)
class BlockProduct:
    """The joint columns of PolyOpt as published: one vertex from every block.

    Parameters
    ----------
    blocks : list of Block, length a1
    centre : ndarray, shape (a1, a2)
    """

    blocks: list[Block]
    centre: FloatArray
    efforts: int = len(CELLS)

    @cached_property
    def scale(self) -> FloatArray:
        """P-hat, row-major, shape (a1 a2,)."""
        return self.centre.ravel()

    def columns(self, choice: NDArray[np.int64]) -> Columns:
        """Form the columns of the chosen block vertices (m, a1), scaled to Z = 1."""
        vectors = np.hstack([b.vectors(choice[:, s]) for s, b in enumerate(self.blocks)])
        g = sum(b.g[choice[:, s]] for s, b in enumerate(self.blocks))
        z = sum(b.z[choice[:, s]] for s, b in enumerate(self.blocks))
        return Columns(vectors / z[:, None], g / z - np.log(z))

    def price(self, prices: FloatArray, effort: int) -> tuple[float, Columns]:
        """Bound the reduced costs of all joint columns from above; offer the best ones found.

        With the tangent of z log z at c, and lam = 1 + log c, the reduced cost of a product of vertices is ::

            c + sum_s [f_s(w_s) - lam z_s(w_s)] - breg(Z, c),   breg(Z, c) = Z log(Z / c) - Z + c >= 0,

        f_s = g_s - prices . w_s. So the tangent bound c + sum_s max_w [...] is exceeded by none, and only
        vertices within that bound of their block's best can take part in a column worth having.
        """
        per_block = prices.reshape(self.centre.shape)
        f = [b.g - b.dot(p) for b, p in zip(self.blocks, per_block, strict=True)]
        lam, bound = self._tangent(f)
        losses = []
        keep = []
        for b, values in zip(self.blocks, f, strict=True):
            tilted = values - lam * b.z
            top = tilted.max()
            keep.append(np.flatnonzero(tilted >= top - max(bound, 0.0)))
            losses.append(tilted[keep[-1]] - top)
        z = [b.z[i] for b, i in zip(self.blocks, keep, strict=True)]
        if math.prod(len(i) for i in keep) <= MAX_PRODUCT:
            return self._list(keep, losses, z, lam, bound)
        return self._search(keep, losses, z, lam, bound, CELLS[effort])

    def _tangent(self, f: list[FloatArray]) -> tuple[float, float]:
        """Minimise the tangent bound e^(lam - 1) + sum_s max(f_s - lam z_s), convex in lam."""
        low, high = -1.0, 2.0 + math.log(sum(float(b.z.max()) for b in self.blocks))
        lam, best = 1.0, (1.0, math.inf)
        for _ in range(TANGENT_STEPS):
            z = total = 0.0
            for b, values in zip(self.blocks, f, strict=True):
                tilted = values - lam * b.z
                i = int(tilted.argmax())
                total += float(tilted[i])
                z += float(b.z[i])
            c = math.exp(lam - 1.0)
            if c + total < best[1]:
                best = (lam, c + total)
            if c > z:
                high = lam
            else:
                low = lam
            stationary = 1.0 + math.log(z)
            lam = stationary if low < stationary < high else (low + high) / 2.0
            if high - low < 1e-9:
                break
        return best

    def _list(
        self,
        keep: list[NDArray[np.int64]],
        losses: list[FloatArray],
        z: list[FloatArray],
        lam: float,
        bound: float,
    ) -> tuple[float, Columns]:
        """Evaluate every combination that can be worth having: exact up to the excess being at least 0."""
        loss, total = np.zeros(1), np.zeros(1)
        for d, zs in zip(losses, z, strict=True):
            loss, total = np.add.outer(loss, d).ravel(), np.add.outer(total, zs).ravel()
        reduced = (bound + loss - _bregman(total, math.exp(lam - 1.0))) / total
        best = np.argsort(-reduced, kind="stable")[:OFFERS]
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
    ) -> tuple[float, Columns]:
        """Find the least loss for every value of Z on a grid, by dynamic programming over the blocks."""
        order = np.argsort([-float(np.ptp(zs)) for zs in z], kind="stable")
        width = sum(float(np.ptp(zs)) for zs in z) / cells
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
        # A positive reduced cost per unit of Z is largest at the least Z the cell can stand for; Z >= 1 holds
        # for every column.
        excess = max(float((reduced / np.maximum(grid - error, 1.0)).max()), 0.0)
        offered = np.argsort(-reduced / grid, kind="stable")[:OFFERS]
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
