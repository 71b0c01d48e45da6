r"""The decomposition of PolyOpt across the sensitive values: an upper bound, prices and a start.

The columns of a product of blocks (`products.BlockProduct`) have utility sum_s g_s - h(Z), h(z) = z log z:
the blocks meet in Z alone. Give each block its own weights over its own vertices, tied only by their common
total Theta. By Jensen's inequality no mixture of columns does better than one with a constant Z, which has
sum_s g_s - Theta h(Z-hat / Theta), Z-hat the total of Z: concave, so with tangents of h it is a small LP.
Several products share its rows sum = 1, each with a Theta and a Z-hat of its own.

Any prices alpha bound every mechanism: if no column of any product has a reduced cost above kappa per unit of
Z, then alpha + kappa P is dual feasible and sum(alpha) + kappa an upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import highspy
import numpy as np
from numpy.typing import NDArray

from ldpfrontier.channel import FloatArray
from ldpfrontier.lp import add_column, new_lp, solve
from ldpfrontier.optimal.blocks import Block
from ldpfrontier.optimal.products import BlockProduct
from ldpfrontier.utility import Columns

#: Vertices added per block and round; the relative gap aimed at; most rounds.
BATCH, GAP, ROUNDS = 3, 1e-9, 500

#: Tangents of h that a product starts with.
TANGENTS = 8

#: Share of the gap of the products known so far that the search for others may leave open.
SLACK = 0.25

#: Weights of the blocks of a product, each a mapping vertex index -> weight; all have the same total.
Weights = list[dict[int, float]]

Explore = Callable[[FloatArray, float], tuple[float, list[BlockProduct]]]


class Decomposition:
    """The LP over the block weights of the products found so far, each with its Theta, Z-hat and -Theta h.

    Parameters
    ----------
    first : BlockProduct
        A product that contains the constant columns.
    epsilon : float
        In nats, > 0.
    """

    def __init__(self, first: BlockProduct, epsilon: float) -> None:
        self._centre, self._epsilon = first.centre, epsilon
        self._lp = new_lp()
        self._first: dict[BlockProduct, tuple[int, int]] = {}  # column of Theta, row of the first tie
        self._owners: list[tuple[BlockProduct, int, int] | None] = []
        self._known: set[tuple[BlockProduct, int, int]] = set()
        self._rows = 0
        self._primal = np.empty(0)
        for _ in range(first.centre.size):
            self._row(1.0, 1.0, [], [])
        self._add(first, [np.array(block.constants) for block in first.blocks])

    def solve(self, explore: Explore, *, gap: float = GAP, rounds: int = ROUNDS) -> FloatArray:
        """Add vertices and products until the bound meets the value of the LP.

        Parameters
        ----------
        explore : callable
            Given prices and a slack: an upper bound of the reduced cost per unit of Z over the columns of all
            products, within the slack of the largest found, and products with a positive one.
        gap : float
            Relative gap between the bound and the value of the LP at which to stop.
        rounds : int
            Most linear programs to solve.

        Returns
        -------
        prices : ndarray, shape (a1, a2)
            Dual-feasible prices of all columns; their sum is an upper bound on the optimum, in nats.
        """
        bound, best = math.inf, np.zeros(self._centre.shape)
        for _ in range(rounds):
            _, self._primal, dual = solve(self._lp)
            prices = dual[: best.size].reshape(best.shape)
            value = self._value()
            left = bound - value if math.isfinite(bound) else 0.0
            slack = max(SLACK * left, 0.5 * gap * abs(value))
            excess, products = explore(prices, slack)
            if prices.sum() + excess < bound:
                bound, best = float(prices.sum() + excess), prices + excess * self._centre
            if bound - value <= gap * abs(value):
                break
            new = self._cut()
            new |= self._improve(prices, dual)
            for product in products:
                if product not in self._first:
                    self._add(product, product.best_vertices(prices, BATCH))
                    new = True
            if not new:
                break
        return best

    def columns(self) -> Columns:
        """Couple the block weights of the last LP that was solved into joint columns."""
        weights: dict[BlockProduct, Weights] = {}
        for owner, weight in zip(self._owners, self._primal, strict=False):  # later ones have no weight yet
            if owner and weight > 1e-13:
                product, s, i = owner
                weights.setdefault(product, [{} for _ in product.blocks])[s][i] = float(weight)
        return Columns.join(
            product.columns(couple(product.blocks, own)) for product, own in weights.items() if all(own)
        )

    def _row(self, low: float, high: float, columns: list[int], entries: list[float]) -> None:
        self._lp.addRow(low, high, len(columns), np.array(columns, dtype=np.int32), np.array(entries))
        self._rows += 1

    def _add(self, product: BlockProduct, vertices: Sequence[NDArray[np.integer]]) -> None:
        """Add a product with some vertices of every block."""
        a1, infinity = self._centre.shape[0], highspy.kHighsInf
        self._first[product] = len(self._owners), self._rows
        ties = np.arange(self._rows, self._rows + a1 + 1, dtype=np.int32)
        for _ in ties:  # the weights of every block sum to Theta, all their Z to Z-hat
            self._row(0.0, 0.0, [], [])
        self._lp.addCol(0.0, 0.0, infinity, a1, ties[:-1], -np.ones(a1))
        self._lp.addCol(0.0, 0.0, infinity, 1, ties[-1:], -np.ones(1))
        self._lp.addCol(1.0, -infinity, infinity, 0, ties[:0], np.empty(0))
        self._owners += [None] * 3
        for c in np.exp(np.linspace(0.0, self._epsilon, TANGENTS)):
            self._tangent(product, float(c))
        for s, indices in enumerate(vertices):
            for i in indices:
                self._offer(product, s, int(i))

    def _tangent(self, product: BlockProduct, c: float) -> None:
        """Keep the bound of -Theta h(Z-hat / Theta) below its tangent at Z-hat / Theta = c."""
        theta = self._first[product][0]
        self._row(-highspy.kHighsInf, 0.0, [theta, theta + 1, theta + 2], [-c, 1.0 + math.log(c), 1.0])

    def _offer(self, product: BlockProduct, s: int, i: int) -> bool:
        """Add a vertex; return whether it is new."""
        owner = (product, s, i)
        if owner in self._known:
            return False
        self._known.add(owner)
        self._owners.append(owner)
        block, (_, row) = product.blocks[s], self._first[product]
        w = block.vectors(np.array([i]))[0]
        used = np.flatnonzero(w)
        place = np.concatenate([s * self._centre.shape[1] + used, [row + s, row + self._centre.shape[0]]])
        add_column(self._lp, float(block.g[i]), place, np.concatenate([w[used], [1.0, block.z[i]]]))
        return True

    def _value(self) -> float:
        """Return what a solution is worth, with h itself in place of its tangents."""
        value = 0.0 + sum(
            float(owner[0].blocks[owner[1]].g[owner[2]]) * weight
            for owner, weight in zip(self._owners, self._primal, strict=True)
            if owner and weight
        )
        for theta, z, _ in self._totals():
            value -= z * math.log(z / theta)
        return float(value)

    def _totals(self) -> Iterator[tuple[float, float, BlockProduct]]:
        for product, (column, _) in self._first.items():
            theta, z = self._primal[column : column + 2]
            if theta > 1e-12 and z > 1e-12:
                yield float(theta), float(z), product

    def _cut(self) -> bool:
        """Add the tangents that a solution violates; return whether there are any."""
        new = False
        for theta, z, product in self._totals():
            if self._primal[self._first[product][0] + 2] > 1e-12 - z * math.log(z / theta):
                self._tangent(product, z / theta)
                new = True
        return new

    def _improve(self, prices: FloatArray, dual: FloatArray) -> bool:
        """Add vertices with a positive reduced cost, the best of each block; return whether there are any."""
        new = False
        for product, (_, row) in self._first.items():
            if product.excess(prices)[0] <= 0.0:  # none is missed
                continue
            ties = dual[row : row + len(product.blocks) + 1]
            for s, block in enumerate(product.blocks):
                best = block.leading(prices[s], BATCH, ties[-1])
                reduced = block.reduced(prices[s])[best] - ties[-1] * block.z[best]
                for i in best[reduced > ties[s] + 1e-11]:
                    new |= self._offer(product, s, int(i))
        return new


def couple(blocks: list[Block], weights: Weights) -> NDArray[np.int64]:
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
