r"""Decomposition across the sensitive values: a relaxation of the column LP with one weight per block vertex.

The columns of a product of blocks (`pricing`) have utility sum_s g_s(w_s) - h(Z), with h(z) = z log z and
Z = sum_s z_s(w_s): the blocks meet in Z alone. Give each block weights x_si over its own vertices, tied by
their common total Theta and by Z-hat, the total of Z::

    maximize    sum_si x_si g_si - Theta h(Z-hat / Theta)
    subject to  sum_i x_si = Theta  for all s,      sum_si x_si z_si = Z-hat,
                sum_i x_si w_si = 1 for all s  (summed over all products).

By Jensen's inequality no mixture of columns does better. The objective is concave; with tangents of h in
place of h this is a small LP, solved by column generation over block vertices.

It is loose where a single block can make Z larger than its mean: with few sensitive values, or at large
epsilon. Then the columns of a product are split into classes by the largest z of their vertices, each with a
Theta and a Z-hat of its own. In the class (low, high] no vertex has z > high, and every column has at least
one with z > low, so that sum_{z_si > low} x_si >= Theta. The duals of this LP are near the best ones; the
bound at them is found by pricing joint columns, and the weights are coupled into columns (`coupling`).

Any duals alpha bound every mechanism: if no column of any product has a reduced cost above kappa per unit of
Z, then alpha + kappa P is dual feasible, and sum(alpha) + kappa an upper bound.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import highspy
import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.engines.products.coupling import BlockWeights, Coupling, couple
from ldpfrontier.engines.products.geometry.vertex_list import best_at_slope
from ldpfrontier.engines.products.pricing import BlockProduct, bregman
from ldpfrontier.engines.products.settings import SETTINGS
from ldpfrontier.model.utility import Columns
from ldpfrontier.numerics.deadline import TimeIsUp
from ldpfrontier.numerics.highs import OutOfIterations, add_column, new_lp, solve

Explore = Callable[[FloatArray, float], tuple[float, list[BlockProduct]]]


@dataclass(frozen=True)
class ProductClass:
    """The columns of a product whose largest z of a vertex is in (low, high]."""

    product: BlockProduct
    low: float = 0.0
    high: float = math.inf

    @property
    def is_whole(self) -> bool:
        """Whether these are all columns of the product."""
        return self.low == 0.0 and self.high == math.inf


class Decomposition:
    """The LP over the block weights of the classes of products found so far.

    Each class has the columns Theta, Z-hat and -Theta h, and rows that tie the weights of its blocks to them.
    The first product contains the constant columns. The work is the number of simplex iterations in all,
    times the rows of their programs, at most: without any left, as when the time is up, duals and weights are
    those of the last program that was solved.
    """

    def __init__(self, first: BlockProduct, epsilon: float, work: float = math.inf) -> None:
        self._centre, self._epsilon = first.centre, epsilon
        self._lp = new_lp()
        self._position: dict[ProductClass, tuple[int, int]] = {}  # column of Theta, row of the first tie
        self._owners: list[tuple[ProductClass, int, int] | None] = []  # of the columns of the LP
        self._vertices: set[tuple[ProductClass, int, int]] = set()
        self._leaving: list[int] = []  # the Theta of classes that were split since the last solution
        self._rows, self._work_left = 0, work
        self._primal, self._row_duals = np.empty(0), np.empty(0)
        self._duals = np.zeros(first.centre.shape)
        for _ in range(first.centre.size):
            self._add_row(1.0, 1.0, [], [])
        self._add_class(ProductClass(first), _constants(first))

    def solve(
        self, explore: Explore, *, gap: float = SETTINGS.finest_gap, rounds: int = SETTINGS.max_rounds
    ) -> FloatArray:
        """Add vertices and products until the bound meets the value of the LP to a relative gap.

        Returned are the duals of the bound, (a1, a2): feasible for all columns, so that their sum is an upper
        bound on the optimum, in nats. Given duals and a slack, `explore` returns an upper bound of the
        reduced cost per unit of Z over the columns of all products, within the slack of the largest found,
        and products with a positive one.
        """
        bound, best = math.inf, np.zeros(self._centre.shape)
        for _ in range(rounds):
            self._solve_lp()
            duals, value = self._duals, self._value()
            left = bound - value if math.isfinite(bound) else 0.0
            slack = max(GENERATION.inner_share * left, 0.5 * gap * abs(value))
            excess, products = explore(duals, slack)
            if duals.sum() + excess < bound:
                bound, best = float(duals.sum() + excess), duals + excess * self._centre
            if bound - value <= gap * abs(value) or self._is_spent:
                break
            new = self._add_tangents()
            new |= self._add_vertices()
            for product in products:
                if ProductClass(product) not in self._position:
                    best_of_blocks = enumerate(product.best_vertices(duals, SETTINGS.batch))
                    vertices = ((s, int(i)) for s, own in best_of_blocks for i in own)
                    self._add_class(ProductClass(product), vertices)
                    new = True
            if not new:
                break
        return best

    def refine(self, *, gap: float) -> FloatArray:
        """Split classes and add vertices until one more split lowers the value of the LP by less than a gap.

        Returned are duals near the best ones, (a1, a2); of no bound themselves.
        """
        for _ in range(SETTINGS.max_rounds):
            position, solution = self._position.copy(), self._primal
            if self._is_spent or not self._split(gap * self._value()):
                break
            self.converge(gap=gap)
            if self._primal is solution:  # of the classes before the split
                self._position = position
        return self._duals

    def converge(self, *, gap: float) -> FloatArray:
        """Add vertices to the present classes until the value of the LP hardly falls; return the duals."""
        for _ in range(SETTINGS.max_rounds):
            value = self._solve_lp()
            if self._is_spent:
                break
            least = GENERATION.inner_share * gap * abs(value)
            new = self._add_tangents(least)
            if not self._add_vertices(least / len(self._centre)) and not new:
                break
        return self._duals

    def solve_refined(self, explore: Explore, *, gap: float) -> FloatArray:
        """Solve, and refine if the coupling of the weights loses more than the gap; return the duals."""
        if all(own.is_whole for own in self._position):
            duals = self.solve(explore, gap=gap)
            if self.coupling_loss() <= gap:
                return duals
            self.refine(gap=gap)
        return self.converge(gap=gap)

    def vertices_in_use(self) -> list[set[int]]:
        """Return the vertices in the LP, for every block of the only product."""
        return [{i for _, t, i in self._vertices if t == s} for s in range(len(self._centre))]

    def renumber_vertices(self, kept: Sequence[NDArray[np.int64]]) -> None:
        """Replace the indices of vertices by their places among those kept of every block."""
        places = [{int(i): n for n, i in enumerate(own)} for own in kept]
        self._owners = [owner and (*owner[:2], places[owner[1]][owner[2]]) for owner in self._owners]
        self._vertices = {(own, s, places[s][i]) for own, s, i in self._vertices}

    def columns(self) -> Columns:
        """Return the joint columns that the block weights of the last LP are coupled into."""
        return Columns.join(
            classes[0].product.columns(coupling.choice) for classes, coupling in self._couplings()
        )

    def weighted_columns(self) -> tuple[Columns, FloatArray]:
        """Return few such columns, with weights that make a mechanism of them."""
        columns, weights = [], []
        for classes, (choice, mass, *_) in self._couplings(sweeps=1):
            product = classes[0].product
            columns.append(product.columns(choice))
            weights.append(mass * sum(b.z[i] for b, i in zip(product.blocks, choice.T, strict=True)))
        return Columns.join(columns), np.concatenate(weights)

    def coupling_loss(self) -> float:
        """Return the share of the value of the last LP that is lost in coupling its weights; 0 of nothing."""
        lost, value = sum(loss for loss, _ in self._losses()), abs(self._value())
        return lost / value if value > 0.0 else 0.0

    def _losses(self) -> list[tuple[float, ProductClass]]:
        """Return the losses of the couplings of the classes, in nats, with the classes, in rising order."""
        losses: list[tuple[float, ProductClass]] = []
        for classes, (choice, mass, owner, means) in self._couplings():
            Z = np.sum([b.z[i] for b, i in zip(classes[0].product.blocks, choice.T, strict=True)], axis=0)
            each = np.bincount(owner, weights=mass * bregman(Z, means[owner]), minlength=len(classes))
            losses += zip(each.tolist(), classes, strict=True)
        return sorted(losses, key=lambda loss: loss[0])

    def _couplings(
        self, sweeps: int = SETTINGS.coupling_sweeps
    ) -> Iterator[tuple[list[ProductClass], Coupling]]:
        """Couple classes of nearly the same mean of Z together; yield them with their coupling."""
        weights = self._weights()
        found = sorted((z / theta, n, own) for n, (theta, z, own) in enumerate(self._totals()))
        found = [entry for entry in found if all(weights.get(entry[2], [{}]))]
        while found:
            least, _, first = found[0]
            together = [
                own
                for mean, _, own in found
                if own.product is first.product and mean <= SETTINGS.coupling_ratio * least
            ]
            found = [entry for entry in found if entry[2] not in together]
            own_weights = [(weights[own], own.low) for own in together]
            yield together, couple(first.product.blocks, own_weights, sweeps)

    def _weights(self) -> dict[ProductClass, BlockWeights]:
        """Return the block weights of every class in the last LP."""
        weights: dict[ProductClass, BlockWeights] = {}
        for owner, weight in zip(self._owners, self._primal, strict=False):  # later ones have no weight yet
            if owner and weight > 1e-13:
                own, s, i = owner
                weights.setdefault(own, [{} for _ in own.product.blocks])[s][i] = float(weight)
        return weights

    def _solve_lp(self) -> float:
        """Solve the LP, if work and time are left; return the value of the last one, with the tangents of h.

        TimeIsUp is raised if it is up before the first one is solved.
        """
        try:
            if self._leaving:
                self._solve_within_work()
                for theta in self._leaving:
                    self._lp.changeColBounds(theta, 0.0, 0.0)
                self._leaving = []
            value, self._primal, self._row_duals = self._solve_within_work()
        except (OutOfIterations, TimeIsUp) as error:
            if isinstance(error, TimeIsUp) and not self._primal.size:
                raise
            self._work_left = 0.0
            return self._value()
        self._duals = self._row_duals[: self._duals.size].reshape(self._duals.shape)
        return value

    def _solve_within_work(self) -> tuple[float, FloatArray, FloatArray]:
        """Solve the LP as it is with the work that is left."""
        most = min(max(self._work_left, 0.0) / self._rows, highspy.kHighsIInf)
        solution = solve(self._lp, int(most))
        self._work_left -= self._rows * self._lp.getInfo().simplex_iteration_count
        return solution

    @property
    def _is_spent(self) -> bool:
        """Whether no linear program can be solved any more."""
        return self._work_left < self._rows

    def _add_row(self, low: float, high: float, columns: list[int], entries: list[float]) -> None:
        self._lp.addRow(low, high, len(columns), np.array(columns, dtype=np.int32), np.array(entries))
        self._rows += 1

    def _add_class(self, own: ProductClass, vertices: Iterable[tuple[int, int]]) -> None:
        """Add a class with those of the vertices (s, i) that may be in it."""
        a1, infinity = self._centre.shape[0], highspy.kHighsInf
        self._position[own] = len(self._owners), self._rows
        ties = np.arange(self._rows, self._rows + a1 + 2, dtype=np.int32)
        for _ in ties[1:]:  # the weights of every block sum to Theta, all their Z to Z-hat
            self._add_row(0.0, 0.0, [], [])
        self._add_row(0.0, infinity, [], [])  # and those of vertices above low, to Theta at least
        places = np.concatenate([ties[:a1], ties[a1 + 1 :]])
        self._lp.addCol(0.0, 0.0, infinity, a1 + 1, places, -np.ones(a1 + 1))
        self._lp.addCol(0.0, 0.0, infinity, 1, ties[a1 : a1 + 1], -np.ones(1))
        self._lp.addCol(1.0, -infinity, infinity, 0, ties[:0], np.empty(0))
        self._owners += [None] * 3
        # Tangents of z log z that a class starts with; others are added where they are violated.
        for c in np.exp(np.linspace(0.0, self._epsilon, 8)):
            self._add_tangent(own, float(c))
        for s, i in vertices:
            if own.product.blocks[s].z[i] <= own.high:
                self._add_vertex(own, s, i)

    def _split(self, enough: float) -> bool:
        """Split the classes whose coupling loses most, until the rest lose `enough`; return if any is."""
        weights, value = self._weights(), self._value()
        total, new = 0.0, False
        for loss, own in self._losses():
            total += loss
            if total > enough:
                new |= self._split_class(own, weights, value)
        return new

    def _split_class(
        self, own: ProductClass, weights: dict[ProductClass, BlockWeights], price: float
    ) -> bool:
        """Split a class by z, if the vertices in use differ enough; return whether they do."""
        product = own.product
        inner = _splits(own, weights[own])
        if not inner:
            return False
        used = [vertices for other, vertices in weights.items() if other.product is product]
        seeds = {(s, i) for blocks in used for s, vertices in enumerate(blocks) for i in vertices}
        seeds.update(_constants(product))
        theta = self._position.pop(own)[0]
        # At a price first, so that the last solution stays feasible, and the next is near.
        self._lp.changeColCost(theta, -price)
        self._leaving.append(theta)
        for low, high in itertools.pairwise([own.low, *inner, own.high]):
            self._add_class(ProductClass(product, low, high), sorted(seeds))
        return True

    def _add_tangent(self, own: ProductClass, c: float) -> None:
        """Keep the bound of -Theta h(Z-hat / Theta) below its tangent at Z-hat / Theta = c."""
        theta = self._position[own][0]
        self._add_row(-highspy.kHighsInf, 0.0, [theta, theta + 1, theta + 2], [-c, 1.0 + math.log(c), 1.0])

    def _add_vertex(self, own: ProductClass, s: int, i: int) -> bool:
        """Add a vertex; return whether it is new."""
        owner = (own, s, i)
        if owner in self._vertices:
            return False
        self._vertices.add(owner)
        self._owners.append(owner)
        block, (_, row) = own.product.blocks[s], self._position[own]
        a1, a2 = self._centre.shape
        w, z = block.vectors(np.array([i]))[0], float(block.z[i])
        used = np.flatnonzero(w)
        place, entries = [s * a2 + used, [row + s, row + a1]], [w[used], [1.0, z]]
        if z > own.low:
            place.append([row + a1 + 1])
            entries.append([1.0])
        add_column(self._lp, float(block.g[i]), np.concatenate(place), np.concatenate(entries))
        return True

    def _value(self) -> float:
        """Return the objective of the last solution, with h itself in place of its tangents."""
        value = 0.0 + sum(
            float(owner[0].product.blocks[owner[1]].g[owner[2]]) * weight
            for owner, weight in zip(self._owners, self._primal, strict=False)
            if owner and weight
        )
        for theta, z, _ in self._totals():
            value -= z * math.log(z / theta)
        return float(value)

    def _totals(self) -> Iterator[tuple[float, float, ProductClass]]:
        """Yield Theta and Z-hat of the classes in use."""
        for own, (column, _) in self._position.items():
            theta, z = self._primal[column : column + 2] if column < self._primal.size else (0.0, 0.0)
            if theta > 1e-12 and z > 1e-12:
                yield float(theta), float(z), own

    def _add_tangents(self, least: float = 1e-12) -> bool:
        """Add the tangents that a solution violates by more than `least`; return whether there are any."""
        new = False
        for theta, z, own in self._totals():
            if self._primal[self._position[own][0] + 2] > least - z * math.log(z / theta):
                self._add_tangent(own, z / theta)
                new = True
        return new

    def _add_vertices(self, least: float = 1e-11) -> bool:
        """Add the best vertices of each block with a reduced cost above `least`; return if any is new."""
        new, last = False, None
        for own, (_, row) in self._position.items():
            product, ties = own.product, self._row_duals[row : row + len(self._centre) + 2]
            if own.is_whole:
                found = _price_whole(product, self._duals, ties, least)
            else:
                if product is not last:
                    last, reduced = product, product.reduced(self._duals)
                    rising = [f[b.z_order[1]] for b, f in zip(product.blocks, reduced, strict=True)]
                found = _price_class(own, rising, ties, least)
            for s, i in found:
                new |= self._add_vertex(own, s, i)
        return new


def _constants(product: BlockProduct) -> list[tuple[int, int]]:
    """Return the constant vertices (s, i) of all blocks."""
    return [(s, i) for s, block in enumerate(product.blocks) for i in block.constants]


def _splits(own: ProductClass, weights: BlockWeights) -> list[float]:
    """Return values of z at which to split a class: multiples of the mean of Z, or the median weight."""
    above = sorted(
        (float(block.z[i]), weight)
        for block, vertices in zip(own.product.blocks, weights, strict=True)
        for i, weight in vertices.items()
        if block.z[i] > own.low
    )
    heights, shares = np.array(above).T
    if own.is_whole:
        mean = float(heights @ shares) / sum(weights[0].values())
        widest = max(float(block.z.max()) for block in own.product.blocks)
        ratios = 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0
        return [ratio * mean for ratio in ratios if ratio * mean < widest]
    gaps = np.flatnonzero(heights[1:] > heights[:-1])
    middle = float(np.searchsorted(np.cumsum(shares), 0.5 * shares.sum())) - 0.5
    nearest = gaps[np.argsort(np.abs(gaps - middle), kind="stable")[:1]]
    return [math.sqrt(heights[k] * heights[k + 1]) for k in nearest]


def _price_whole(
    product: BlockProduct, duals: FloatArray, ties: FloatArray, least: float
) -> Iterator[tuple[int, int]]:
    """Yield the best vertices (s, i) of a product; none if no column has a positive reduced cost."""
    if product.best_tangent(duals)[0] <= 0.0:
        return
    for s, (block, f) in enumerate(zip(product.blocks, product.reduced(duals), strict=True)):
        for i in best_at_slope(f, block.z, ties[-2], ties[s] + least, SETTINGS.batch):
            yield s, int(i)


def _price_class(
    own: ProductClass, reduced: list[FloatArray], ties: FloatArray, least: float
) -> Iterator[tuple[int, int]]:
    """Yield the best vertex (s, i) of every block with z <= low, and the best with low < z <= high.

    `reduced` has the f of all vertices in order of rising z. Vertices with z > low have a discount: the dual,
    <= 0, of the row that demands one of them in every column.
    """
    for s, (block, f) in enumerate(zip(own.product.blocks, reduced, strict=True)):
        z, order = block.z_order
        low, high = np.searchsorted(z, [own.low, own.high], side="right")
        for a, b, discount in ((0, low, 0.0), (low, high, ties[-1])):
            for place in best_at_slope(f[a:b], z[a:b], ties[-2], ties[s] + discount + least, 1):
                yield s, int(order[a + place])
