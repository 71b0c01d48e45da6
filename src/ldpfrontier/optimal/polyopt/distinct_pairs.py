"""The products of blocks of PolyOpt with distinct pairs, one for every special value and every delta.

An interval of deltas lies in one product, which bounds its columns by tangents or joint prices (`products`);
branch and bound over the intervals bounds them all.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ldpfrontier.optimal.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.optimal.geometry.polytope import Block, critical_levels
from ldpfrontier.optimal.geometry.vertex_list import VertexSubset
from ldpfrontier.optimal.polyopt.fixed_delta import Place, Slices, level_of, places
from ldpfrontier.optimal.products.pricing import BlockProduct
from ldpfrontier.types import FloatArray
from ldpfrontier.utility import Columns

#: How much nearer to delta = 0 the first interval ends after a split.
STEP = 16.0

#: Block vertices that one search over the deltas may look at.
WORK = 120_000_000

#: Where joint columns are searched on large tables: how far the bound may be above the best reduced cost
#: found, as a multiple; the share of that from which products are named; their number; the ratio between
#: their deltas.
TIMES, WORTH, MOST, APART = 1.3, 0.2, 12, 1.25

#: Block vertices of a table above which products have those alone that matter.
LONG = 50_000

#: Intervals that a search looks at; critical deltas inside up to which one is split at one of them.
MOST_INTERVALS, DENSE = 10_000, 3

#: Special values by the ends of intervals of deltas.
Cover = dict[tuple[float, float], list[int]]


@dataclass(eq=False)
class DistinctPairsFamily:
    """The products of PolyOpt with distinct pairs, for every special value s0 and every delta.

    For a fixed s0 the columns and tau form a polytope, of which a product is the slice at one tau. Its
    vertices lie at critical deltas only, where a vertex of some block appears or vanishes: between two of
    them all block vertices move along lines. The slices of an interval of deltas lie in one product with the
    slack sides of both ends, which bounds them all at once.

    Parameters
    ----------
    centre, lower : ndarray, shape (a1, a2)
    epsilon : float
        In nats, > 0.
    resolution : float
        In nats: how far `price` may leave its bound above the largest reduced cost found.
    """

    centre: FloatArray
    lower: FloatArray
    epsilon: float
    resolution: float = 0.0
    efforts: int = BlockProduct.efforts
    _blocks: dict[Place, Block] = field(default_factory=dict, repr=False)
    _products: dict[tuple[int, float], BlockProduct] = field(default_factory=dict, repr=False)
    _cover: Cover = field(init=False, repr=False)
    _in_use: dict[tuple[int, float], BlockProduct] = field(default_factory=dict, repr=False)
    _lists: dict[Place, VertexSubset] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._cover = {(0.0, self.epsilon): list(range(len(self.lower)))}

    def _block(self, place: Place) -> Block:
        if place not in self._blocks:
            level, shift = level_of(place, self.epsilon)
            self._blocks[place] = Block(self.lower[place[0]], self.centre[place[0]], level, math.exp(shift))
        return self._blocks[place]

    def _relaxed(self, s0: int, low: float, high: float) -> BlockProduct:
        own = places(len(self.centre), s0, low, high)
        return BlockProduct([self._block(place) for place in own], self.centre)

    def product(self, s0: int, delta: float) -> BlockProduct:
        """Return the product of (s0, delta); at delta = 0 the same for every s0."""
        key = (s0 if delta > 0 else 0), delta
        if key not in self._products:
            self._products[key] = self._relaxed(s0, delta, delta)
        return self._products[key]

    @property
    def scale(self) -> FloatArray:
        """P-hat, row-major, shape (a1 a2,)."""
        return self.centre.ravel()

    @cached_property
    def deltas(self) -> list[FloatArray]:
        """Critical deltas of every s0, sorted, from 0 to epsilon."""
        levels, deltas = [critical_levels(L) for L in self.lower], []
        for s0 in range(len(self.lower)):
            critical = np.concatenate(
                [x - self.epsilon if s == s0 else self.epsilon - x for s, x in enumerate(levels)]
            )
            inside = critical[(critical > 0) & (critical < self.epsilon)]
            deltas.append(np.unique(np.concatenate([[0.0], inside, [self.epsilon]])))
        return deltas

    def explore(self, prices: FloatArray, slack: float) -> tuple[float, list[BlockProduct]]:
        """Bound the reduced costs of all columns by tangents alone; name the products worth having.

        Returns
        -------
        excess : float
            No column has a larger reduced cost per unit of Z. At most `slack` above the largest bound of a
            single product, unless that is too much work.
        products : list of BlockProduct
            For every s0, the product looked at with the largest bound, where that is positive.
        """
        leaders: dict[int, tuple[float, BlockProduct]] = {}

        def look(s0: int, product: BlockProduct) -> float:
            excess = product.best_tangent(prices)[0]
            if excess > leaders.get(s0, (0.0, product))[0]:
                leaders[s0] = excess, product
            return excess

        bound = self._search(look, lambda product, _: product.best_tangent(prices)[0], slack)
        return bound, [product for _, product in leaders.values()]

    def price(self, prices: FloatArray, effort: int) -> tuple[float, Columns]:
        """Bound the reduced costs of all joint columns from above; offer the best ones found."""
        published = self.product(0, 0.0)
        offers = [published.columns(np.empty((0, len(self.centre)), dtype=np.int64))]

        def look(_: int, product: BlockProduct) -> float:
            excess, columns = product.price(prices, effort, GENERATION.batch)
            if excess > 0.0:
                offers.append(columns)
            return excess

        left = WORK // published.size

        def bound(product: BlockProduct, enough: float) -> float:
            nonlocal left
            excess = product.best_tangent(prices)[0]
            if excess <= enough or left <= 0:
                return excess
            left -= 1
            return product.price(prices, effort, 0)[0]

        most = self._search(look, bound, self.resolution)
        return max(most, 0.0), Columns.join(offers)

    def _search(
        self,
        look: Callable[[int, BlockProduct], float],
        bound: Callable[[BlockProduct, float], float],
        slack: float,
    ) -> float:
        """Branch and bound over the deltas of every s0, the interval with the largest bound first.

        Returns an upper bound, at most `slack` above the largest `look` unless that is too much work.
        """
        published = self.product(0, 0.0)
        nodes, best = WORK // published.size, look(0, published)
        intervals: list[tuple[float, int, int, int]] = []

        def push(s0: int, i: int, j: int) -> None:
            if j - i > 1:
                low, high = self.deltas[s0][[i, j]]
                relaxed = self._relaxed(s0, float(low), float(high))
                heapq.heappush(intervals, (-bound(relaxed, max(best, 0.0) + slack), s0, i, j))

        for s0, deltas in enumerate(self.deltas):
            best = max(best, look(s0, self.product(s0, self.epsilon)))
            push(s0, 0, len(deltas) - 1)
        while intervals and -intervals[0][0] > max(best, 0.0) + slack and nodes > 0:
            nodes -= 1
            _, s0, i, j = heapq.heappop(intervals)
            deltas = self.deltas[s0]
            # Near the published delta = 0, costs and gains of delta are proportional to it.
            middle = _geometric(deltas[i], deltas[j])
            k = int(np.clip(np.searchsorted(deltas, middle), i + 1, j - 1))
            best = max(best, look(s0, self.product(s0, float(deltas[k]))))
            push(s0, i, k)
            push(s0, k, j)
        return max(best, -intervals[0][0]) if intervals else best

    def search(
        self, prices: FloatArray, slack: float, enough: float = 0.0
    ) -> tuple[float, list[BlockProduct]]:
        """Bound the reduced costs of all joint columns on a large table; name products worth having.

        Intervals of deltas are split as in `_search`, but all that are too loose at a time and mostly at the
        same delta for every s0: so slices share blocks. The next search starts from the intervals with which
        this one ends.

        Parameters
        ----------
        prices : ndarray, row-major
        slack : float
        enough : float
            An excess that is small enough.

        Returns
        -------
        excess : float
            No column has a larger reduced cost per unit of Z. Unless that is too much work, not above the
            largest bound of a single product by more than `slack`, or `TIMES` as large, or small enough.
        products : list of BlockProduct
            Some of those with positive bounds: the best of those looked at, far from each other. All that
            were named so far have the vertices that matter at these prices, and at those before.
        """
        blocks = self.product(0, 0.0).blocks
        slices = Slices(blocks, prices.reshape(self.centre.shape), self.epsilon, slack)
        best, bound, left = 0.0, 0.0, MOST_INTERVALS
        found: dict[tuple[int, float], float] = {}

        def look(s0: int, delta: float) -> float:
            nonlocal best
            place = (s0 if delta > 0 else 0), delta
            if place not in found:
                found[place] = slices.at(s0, delta, max(slack, WORTH * best))
                best = max(best, found[place])
            return found[place]

        level, self._cover = self._cover, {}
        while level:
            following: Cover = {}
            for (low, high), specials in level.items():
                for s0 in specials:
                    left -= 1
                    ends = max(look(s0, low), look(s0, high))
                    most = max(enough, best + slack, TIMES * best)
                    reach, critical, deltas = slices.between(s0, low, high, most)
                    if reach > most and critical <= most:
                        # No column between the ends is worth more than theirs, or than those.
                        reach = max(ends, critical)
                    if reach > most:
                        reach = min(reach, slices.over(s0, low, high, most))
                    if reach > most and left > 0:
                        delta = _middle(low, high, deltas)
                        following.setdefault((low, delta), []).append(s0)
                        following.setdefault((delta, high), []).append(s0)
                        continue
                    bound = max(bound, reach)
                    self._cover.setdefault((low, high), []).append(s0)
            level = following
        worth = max(slack, WORTH * best)
        named = [
            (excess, s0, delta) for (s0, delta), excess in found.items() if excess > worth and delta > 0.0
        ]
        products = [self._product_in_use(*place) for place in _apart(named)]
        for place, block in self._lists.items():
            block.add(*slices.vertices(place))
        for product in self._in_use.values():
            product.clear_cache()
        return max(best, bound), products

    def _product_in_use(self, s0: int, delta: float) -> BlockProduct:
        """Return a product that was named; if it is long, of lists that begin without vertices."""
        if (s0, delta) not in self._in_use:
            published = self.product(0, 0.0)
            if published.size <= LONG:
                self._in_use[s0, delta] = self.product(s0, delta)
            else:
                own = places(len(self.centre), s0, delta, delta)
                for place in own:
                    self._lists.setdefault(place, VertexSubset(self.centre[place[0]]))
                self._in_use[s0, delta] = BlockProduct([self._lists[place] for place in own], self.centre)
        return self._in_use[s0, delta]


def _apart(found: list[tuple[float, int, float]]) -> list[tuple[int, float]]:
    """Return the best places of a list of (excess, s0, delta), none near a better one."""
    kept: list[tuple[int, float]] = []
    for _, s0, delta in sorted(found, reverse=True):
        near = (s == s0 and delta <= APART * x and x <= APART * delta for s, x in kept)
        if len(kept) < MOST and not any(near):
            kept.append((s0, delta))
    return kept


def _geometric(low: float, high: float) -> float:
    """Return the geometric mean of two deltas; nearer to 0 where that is one of them."""
    return math.sqrt(low * high) or high / STEP


def _middle(low: float, high: float, deltas: FloatArray) -> float:
    """Return where to split an interval: at one of the critical deltas that matter, if they are few."""
    middle = _geometric(low, high)
    return middle if deltas.size > DENSE else float(deltas[np.abs(np.log(deltas / middle)).argmin()])
