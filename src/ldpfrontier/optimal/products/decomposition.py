r"""The decomposition of PolyOpt across the sensitive values: an upper bound, prices and a start.

The columns of a product of blocks (`products.BlockProduct`) have utility sum_s g_s - h(Z), h(z) = z log z:
the blocks meet in Z alone. Give each block its own weights over its own vertices, tied only by their common
total Theta. By Jensen's inequality no mixture of columns does better than one with a constant Z, which has
sum_s g_s - Theta h(Z-hat / Theta), Z-hat the total of Z: concave, so with tangents of h it is a small LP.
Several products share its rows sum = 1, each with a Theta and a Z-hat of its own.

That is loose where a single block can make Z larger than its mean: with few sensitive values, or at large
epsilon. Then the columns of a product are split into parts by the largest z of their vertices, each part with
a Theta and a Z-hat of its own. In the part from low to high no vertex has z > high, and every column has at
least one with z > low, so the weights of these vertices add up to at least Theta. All that is valid, and its
prices are near the best ones; the bound at them is found by pricing joint columns (`products`).

Any prices alpha bound every mechanism: if no column of any product has a reduced cost above kappa per unit of
Z, then alpha + kappa P is dual feasible and sum(alpha) + kappa an upper bound.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import highspy
import numpy as np
from numpy.typing import NDArray

from ldpfrontier.numerics.highs import add_column, new_lp, solve
from ldpfrontier.optimal.geometry.polytope import Block, leaders
from ldpfrontier.optimal.products.pricing import BlockProduct, bregman
from ldpfrontier.types import FloatArray
from ldpfrontier.utility import Columns

#: Vertices added per block and round; the relative gap aimed at; most rounds.
BATCH, GAP, ROUNDS = 3, 1e-9, 500

#: Tangents of h that a product starts with.
TANGENTS = 8

#: Share of the gap of the products known so far that the search for others may leave open.
SLACK = 0.25

#: Where the columns of a product are split first, in units of the mean of Z.
EDGES = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)

#: Least width of a part, as a ratio; most times that parts are halved.
NARROW, HALVINGS = 1.02, 6

#: Ratio of the means of Z of parts that are coupled together.
TOGETHER = 1.05

#: Times that every block joins a coupling.
SWEEPS = 2

#: Weights of the blocks of a product, each a mapping vertex index -> weight; all have the same total.
Weights = list[dict[int, float]]

#: Columns as vertices of the blocks, their weights, the parts they are of, and the mean of Z of each part.
Coupling = tuple[NDArray[np.int64], FloatArray, NDArray[np.int64], FloatArray]

Explore = Callable[[FloatArray, float], tuple[float, list[BlockProduct]]]


@dataclass(frozen=True)
class Part:
    """The columns of a product whose largest z of a vertex is in (low, high]."""

    product: BlockProduct
    low: float = 0.0
    high: float = math.inf

    @property
    def whole(self) -> bool:
        """Whether these are all columns."""
        return self.low == 0.0 and self.high == math.inf


class Decomposition:
    """The LP over the block weights of the parts of products found so far, each with Theta, Z-hat, -Theta h.

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
        self._first: dict[Part, tuple[int, int]] = {}  # column of Theta, row of the first tie
        self._owners: list[tuple[Part, int, int] | None] = []
        self._known: set[tuple[Part, int, int]] = set()
        self._rows = 0
        self._primal, self._dual, self._prices = np.empty(0), np.empty(0), np.zeros(first.centre.shape)
        for _ in range(first.centre.size):
            self._row(1.0, 1.0, [], [])
        self._add(Part(first), _constants(first))

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
            self._dual = dual
            self._prices = prices = dual[: best.size].reshape(best.shape)
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
                if Part(product) not in self._first:
                    best_of_blocks = enumerate(product.best_vertices(prices, BATCH))
                    self._add(Part(product), ((s, int(i)) for s, own in best_of_blocks for i in own))
                    new = True
            if not new:
                break
        return best

    def refine(self, *, gap: float, rounds: int = ROUNDS) -> FloatArray:
        """Split the parts in use, and add vertices, until the value of the LP hardly falls.

        Parameters
        ----------
        gap : float
            Relative fall of the value by one more split that ends it.
        rounds : int
            Most linear programs to solve per split.

        Returns
        -------
        prices : ndarray, shape (a1, a2)
            Near the best ones; of no bound themselves.
        """
        for _ in range(HALVINGS):
            if not self._split(gap * self._value()):
                break
            self.settle(gap=gap, rounds=rounds)
        return self._prices

    def settle(self, *, gap: float, rounds: int = ROUNDS) -> FloatArray:
        """Add vertices to the parts as they are, until the value hardly falls; return the prices."""
        for _ in range(rounds):
            value, self._primal, self._dual = solve(self._lp)
            self._prices = self._dual[: self._prices.size].reshape(self._prices.shape)
            least = SLACK * gap * abs(value)
            new = self._cut(least)
            if not self._improve(self._prices, self._dual, least / len(self._prices)) and not new:
                break
        return self._prices

    @property
    def split(self) -> bool:
        """Whether the columns of a product are split into parts."""
        return any(not part.whole for part in self._first)

    def vertices_in_use(self) -> list[set[int]]:
        """List the vertices known of every block of the only product."""
        return [{i for _, t, i in self._known if t == s} for s in range(len(self._centre))]

    def renumber_vertices(self, kept: Sequence[NDArray[np.int64]]) -> None:
        """Take over the indices of vertices from their places among those kept of every block."""
        places = [{int(i): n for n, i in enumerate(own)} for own in kept]
        self._owners = [owner and (*owner[:2], places[owner[1]][owner[2]]) for owner in self._owners]
        self._known = {(part, s, places[s][i]) for part, s, i in self._known}

    def columns(self) -> Columns:
        """Couple the block weights of the last LP that was solved into joint columns."""
        return Columns.join(parts[0].product.columns(choice) for parts, (choice, *_) in self._couplings())

    def coupling_loss(self) -> float:
        """Return the share of the value of the last LP that is lost in coupling its weights."""
        return sum(loss for loss, _ in self._losses()) / abs(self._value())

    def _losses(self) -> list[tuple[float, Part]]:
        """List what the couplings of the parts lose, in nats, least first."""
        losses: list[tuple[float, Part]] = []
        for parts, (choice, mass, owner, means) in self._couplings():
            Z = np.sum([b.z[i] for b, i in zip(parts[0].product.blocks, choice.T, strict=True)], axis=0)
            each = mass * bregman(Z, means[owner])
            losses += zip(np.bincount(owner, weights=each, minlength=len(parts)).tolist(), parts, strict=True)
        return sorted(losses, key=lambda loss: loss[0])

    def _couplings(self) -> Iterator[tuple[list[Part], Coupling]]:
        """Couple parts of nearly the same mean of Z together: the parts, and what `couple` returns."""
        weights = self._weights()
        found = sorted((z / theta, n, part) for n, (theta, z, part) in enumerate(self._totals()))
        found = [entry for entry in found if all(weights.get(entry[2], [{}]))]
        while found:
            least, _, first = found[0]
            together = [p for mean, _, p in found if p.product is first.product and mean <= TOGETHER * least]
            found = [entry for entry in found if entry[2] not in together]
            yield together, couple(first.product.blocks, [(weights[p], p.low) for p in together])

    def _weights(self) -> dict[Part, Weights]:
        weights: dict[Part, Weights] = {}
        for owner, weight in zip(self._owners, self._primal, strict=False):  # later ones have no weight yet
            if owner and weight > 1e-13:
                part, s, i = owner
                weights.setdefault(part, [{} for _ in part.product.blocks])[s][i] = float(weight)
        return weights

    def _row(self, low: float, high: float, columns: list[int], entries: list[float]) -> None:
        self._lp.addRow(low, high, len(columns), np.array(columns, dtype=np.int32), np.array(entries))
        self._rows += 1

    def _add(self, part: Part, vertices: Iterable[tuple[int, int]]) -> None:
        """Add a part with those of the vertices (s, i) that may be in it."""
        a1, infinity = self._centre.shape[0], highspy.kHighsInf
        self._first[part] = len(self._owners), self._rows
        ties = np.arange(self._rows, self._rows + a1 + 2, dtype=np.int32)
        for _ in ties[1:]:  # the weights of every block sum to Theta, all their Z to Z-hat
            self._row(0.0, 0.0, [], [])
        self._row(0.0, infinity, [], [])  # and those of vertices above low, to Theta at least
        own = np.concatenate([ties[:a1], ties[a1 + 1 :]])
        self._lp.addCol(0.0, 0.0, infinity, a1 + 1, own, -np.ones(a1 + 1))
        self._lp.addCol(0.0, 0.0, infinity, 1, ties[a1 : a1 + 1], -np.ones(1))
        self._lp.addCol(1.0, -infinity, infinity, 0, ties[:0], np.empty(0))
        self._owners += [None] * 3
        for c in np.exp(np.linspace(0.0, self._epsilon, TANGENTS)):
            self._tangent(part, float(c))
        for s, i in vertices:
            if part.product.blocks[s].z[i] <= part.high:
                self._offer(part, s, i)

    def _split(self, enough: float) -> bool:
        """Split the parts whose coupling loses most, until the others lose `enough`; tell if any is."""
        weights = self._weights()
        total, new = 0.0, False
        for loss, part in self._losses():
            total += loss
            if total > enough:
                new |= self._split_part(part, weights)
        return new

    def _split_part(self, part: Part, weights: dict[Part, Weights]) -> bool:
        """Split a part, if the vertices in use differ enough; return whether they do."""
        product = part.product
        above = sorted(
            (float(block.z[i]), weight)
            for block, own in zip(product.blocks, weights[part], strict=True)
            for i, weight in own.items()
            if block.z[i] > part.low
        )
        heights, shares = np.array(above).T
        if part.whole:
            mean = float(heights @ shares) / sum(weights[part][0].values())
            widest = max(float(block.z.max()) for block in product.blocks)
            inner = [edge * mean for edge in EDGES if edge * mean < widest]
        else:
            # Halves of equal weight, as far as z differs.
            gaps = np.flatnonzero(heights[1:] > heights[:-1] * NARROW)
            middle = float(np.searchsorted(np.cumsum(shares), 0.5 * shares.sum())) - 0.5
            nearest = gaps[np.argsort(np.abs(gaps - middle), kind="stable")[:1]]
            inner = [math.sqrt(heights[k] * heights[k + 1]) for k in nearest]
        if not inner:
            return False
        ends = [part.low, *inner, part.high]
        used = [own for other, own in weights.items() if other.product is product]
        seeds = {(s, i) for own in used for s, vertices in enumerate(own) for i in vertices}
        seeds.update(_constants(product))
        self._lp.changeColBounds(self._first.pop(part)[0], 0.0, 0.0)
        for low, high in itertools.pairwise(ends):
            self._add(Part(product, low, high), sorted(seeds))
        return True

    def _tangent(self, part: Part, c: float) -> None:
        """Keep the bound of -Theta h(Z-hat / Theta) below its tangent at Z-hat / Theta = c."""
        theta = self._first[part][0]
        self._row(-highspy.kHighsInf, 0.0, [theta, theta + 1, theta + 2], [-c, 1.0 + math.log(c), 1.0])

    def _offer(self, part: Part, s: int, i: int) -> bool:
        """Add a vertex; return whether it is new."""
        owner = (part, s, i)
        if owner in self._known:
            return False
        self._known.add(owner)
        self._owners.append(owner)
        block, (_, row) = part.product.blocks[s], self._first[part]
        a1, a2 = self._centre.shape
        w, z = block.vectors(np.array([i]))[0], float(block.z[i])
        used = np.flatnonzero(w)
        place, entries = [s * a2 + used, [row + s, row + a1]], [w[used], [1.0, z]]
        if z > part.low:
            place.append([row + a1 + 1])
            entries.append([1.0])
        add_column(self._lp, float(block.g[i]), np.concatenate(place), np.concatenate(entries))
        return True

    def _value(self) -> float:
        """Return what a solution is worth, with h itself in place of its tangents."""
        value = 0.0 + sum(
            float(owner[0].product.blocks[owner[1]].g[owner[2]]) * weight
            for owner, weight in zip(self._owners, self._primal, strict=False)
            if owner and weight
        )
        for theta, z, _ in self._totals():
            value -= z * math.log(z / theta)
        return float(value)

    def _totals(self) -> Iterator[tuple[float, float, Part]]:
        for part, (column, _) in self._first.items():
            theta, z = self._primal[column : column + 2] if column < self._primal.size else (0.0, 0.0)
            if theta > 1e-12 and z > 1e-12:
                yield float(theta), float(z), part

    def _cut(self, least: float = 1e-12) -> bool:
        """Add the tangents that a solution violates by more than `least`; return whether there are any."""
        new = False
        for theta, z, part in self._totals():
            if self._primal[self._first[part][0] + 2] > least - z * math.log(z / theta):
                self._tangent(part, z / theta)
                new = True
        return new

    def _improve(self, prices: FloatArray, dual: FloatArray, least: float = 1e-11) -> bool:
        """Add the best vertices of each block with a reduced cost above `least`; tell if there are any."""
        new, last = False, None
        for part, (_, row) in self._first.items():
            product = part.product
            ties = dual[row : row + len(product.blocks) + 2]
            if part.whole:
                new |= self._improve_whole(part, prices, ties, least)
                continue
            if product is not last:
                last, reduced = product, product.reduced(prices)
                rising = [f[block.rising[1]] for block, f in zip(product.blocks, reduced, strict=True)]
            for s, (block, f) in enumerate(zip(product.blocks, rising, strict=True)):
                z, order = block.rising
                low, high = np.searchsorted(z, [part.low, part.high], side="right")
                for a, b, bonus in ((0, low, 0.0), (low, high, ties[-1])):
                    for place in leaders(f[a:b], z[a:b], ties[-2], ties[s] + bonus + least, 1):
                        new |= self._offer(part, s, int(order[a + place]))
        return new

    def _improve_whole(self, part: Part, prices: FloatArray, ties: FloatArray, least: float) -> bool:
        product, new = part.product, False
        if product.best_tangent(prices)[0] <= 0.0:  # none is missed
            return False
        for s, (block, f) in enumerate(zip(product.blocks, product.reduced(prices), strict=True)):
            for i in leaders(f, block.z, ties[-2], ties[s] + least, BATCH):
                new |= self._offer(part, s, int(i))
        return new


def _constants(product: BlockProduct) -> list[tuple[int, int]]:
    """List the constant vertices of all blocks."""
    return [(s, i) for s, block in enumerate(product.blocks) for i in block.constants]


def couple(blocks: list[Block], parts: Sequence[tuple[Weights, float]], sweeps: int = SWEEPS) -> Coupling:
    """Couple block weights into joint columns with Z as near to the means of the parts as rearrangements get.

    In a part, vertices with z > low, where that is positive, come first: side by side, so that every column
    has one if their weights suffice. The others are shared by all parts: blocks join one at a time, the ones
    with the widest range of z first. Columns without a vertex of the block, in order of rising partial Z
    less the mean of their part, meet its vertices in order of falling z, masses split where they have to be.
    In further sweeps every block leaves and joins again.

    Parameters
    ----------
    blocks : list of Block
    parts : sequence of (weights, low)
    sweeps : int

    Returns
    -------
    columns : ndarray of int, shape (columns, a1)
        Vertex index of every block.
    mass : ndarray, shape (columns,)
        Their weights.
    owner : ndarray of int, shape (columns,)
        Which part they are of.
    means : ndarray, shape (parts,)
        Of Z.
    """
    starts = [_side_by_side(blocks, weights, low) for weights, low in parts]
    columns, mass = (np.concatenate(list(both)) for both in zip(*starts, strict=True))
    owner = np.repeat(np.arange(len(parts)), [len(m) for _, m in starts])
    means = np.array(
        [
            sum(b.z[i] * w for b, own in zip(blocks, weights, strict=True) for i, w in own.items())
            / sum(weights[0].values())
            for weights, _ in parts
        ]
    )
    fixed = columns >= 0
    z = np.zeros(columns.shape)
    used, shares = [], []
    for s, block in enumerate(blocks):
        z[fixed[:, s], s] = block.z[columns[fixed[:, s], s]]
        left: dict[int, float] = {}
        for weights, low in parts:
            for i, weight in weights[s].items():
                left[i] = left.get(i, 0.0) + weight * (not 0.0 < low < block.z[i])
        indices = np.array(sorted(i for i in left if left[i] > 0.0) or sorted(left))
        used.append(indices[np.argsort(-block.z[indices], kind="stable")])
        shares.append(np.array([left[i] or 1.0 for i in used[-1]]))
    spread = [float(np.ptp(b.z[i])) for b, i in zip(blocks, used, strict=True)]
    for s in np.tile(np.argsort(spread, kind="stable")[::-1], sweeps):
        free, rest = np.flatnonzero(~fixed[:, s]), np.flatnonzero(fixed[:, s])
        if not free.size:
            continue
        z[free, s] = 0.0
        rising = free[np.argsort(z[free].sum(axis=1) - means[owner[free]], kind="stable")]
        # Cutting [0, 1] at both sequences of cumulative masses couples them monotonically.
        ends, new_ends = np.cumsum(mass[rising]), np.cumsum(shares[s] / shares[s].sum())
        cuts = np.union1d(ends / ends[-1], new_ends)
        middles = (np.append(0.0, cuts[:-1]) + cuts) / 2.0
        old = rising[np.minimum(np.searchsorted(ends / ends[-1], middles), len(rising) - 1)]
        new = used[s][np.minimum(np.searchsorted(new_ends, middles), len(used[s]) - 1)]
        mass = np.concatenate([mass[rest], np.diff(cuts, prepend=0.0) * ends[-1]])
        kept = np.concatenate([rest, old])
        columns, fixed, z, owner = columns[kept], fixed[kept], z[kept], owner[kept]
        columns[rest.size :, s], z[rest.size :, s] = new, blocks[s].z[new]
    return columns, mass, owner, means


def _side_by_side(blocks: list[Block], weights: Weights, low: float) -> tuple[NDArray[np.int64], FloatArray]:
    """Lay the vertices with z > low along a circle of masses, one after the other.

    Returns
    -------
    columns : ndarray of int, shape (columns, a1)
        Their indices; -1 where a block has none.
    mass : ndarray, shape (columns,)
        Adding up to Theta.
    """
    total = sum(weights[0].values())
    above, end = [], 0.0
    for s, (block, vertices) in enumerate(zip(blocks, weights, strict=True)):
        for i in sorted(vertices):
            if 0.0 < low < block.z[i]:
                above.append((s, i, end, end + vertices[i] / total))
                end = above[-1][-1]
    cuts = np.unique([0.0, 1.0, *(end % 1.0 for *_, end in above)])
    columns = np.full((len(cuts) - 1, len(blocks)), -1, dtype=np.int64)
    middles = (cuts[:-1] + cuts[1:]) / 2.0
    for s, i, start, end in above:
        for turn in range(int(start), math.ceil(end)):
            columns[(start <= middles + turn) & (middles + turn < end), s] = i
    return columns, total * np.diff(cuts)
