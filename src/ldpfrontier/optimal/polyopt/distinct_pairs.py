r"""The columns of PolyOpt with distinct pairs: products of blocks for every special value and delta.

A column is in the class if A_s <= e^eps B_s' for all s != s' (`solve`). Let s0, the *special* value, have the
least B, and let the column be scaled so that the next one is 1. It is in the product of the blocks ::

    {B_s >= 1, A_s <= e^(eps - delta)} for s != s0,      {B_s0 >= e^-delta, A_s0 <= e^eps}

where B_s0 = e^-delta, with delta in [0, eps]. At delta = 0 the product is that of all pairs, for every s0.

The reduced costs of all columns are bounded by branch and bound over the intervals of delta of every s0
(`fixed_delta`): an interval is pruned when its bound is near the best reduced cost at the deltas looked at,
and split otherwise, preferably at a critical delta, where a vertex of some block appears or vanishes. Between
two critical deltas all vertices move along lines in e^-delta, and no column is better than at both ends.

**Rounding**, of vertices as they are listed, as in `products.pricing_error`, but for all deltas at once. Let
w be the largest letter, at most e^eps / (1 - S + min L), and M = max |c_su| / P_su + log w + 3 + |lam|. The
terms of f_s - lam z_s add up to at most M z_s + C_s at every vertex, C_s = sum |c_s| + p_s, and |c| w for
letters without probability. n operations make f_s wrong by gamma(n) times that, as do duals wrong by gamma(n)
M P and a constant. So they raise a bound by gamma(n) (M + sum C_s / min Z), min Z = 1 - (1 - e^-eps) max p_s.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ldpfrontier.numerics.deadline import TimeIsUp, check_time, time_is_up
from ldpfrontier.numerics.rounding import gamma, sum_error
from ldpfrontier.optimal.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.optimal.geometry.block_key import BlockKey, block_keys
from ldpfrontier.optimal.geometry.polytope import Block, critical_levels
from ldpfrontier.optimal.geometry.vertex_list import VertexList, VertexSubset
from ldpfrontier.optimal.polyopt.fixed_delta import FixedDeltaBounds
from ldpfrontier.optimal.polyopt.settings import SETTINGS
from ldpfrontier.optimal.products.pricing import BlockProduct
from ldpfrontier.optimal.products.pricing_error import COMPARISONS, STEP
from ldpfrontier.optimal.registry import LIMITS
from ldpfrontier.types import FloatArray
from ldpfrontier.utility import Columns

#: Special values by the ends of intervals of deltas.
Intervals = dict[tuple[float, float], list[int]]


@dataclass(eq=False)
class DistinctPairsFamily:
    """The columns of PolyOpt with distinct pairs, for column generation and for a decomposition.

    Parameters
    ----------
    centre, lower : ndarray, shape (a1, a2)
        The estimate, and L_{u|s}.
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
    _products: dict[tuple[int, float], BlockProduct] = field(default_factory=dict, repr=False)
    _blocks: dict[BlockKey, Block] = field(default_factory=dict, repr=False)
    _subsets: dict[BlockKey, VertexSubset] = field(default_factory=dict, repr=False)
    _active: dict[tuple[int, float], BlockProduct] = field(default_factory=dict, repr=False)
    _intervals: Intervals = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._intervals = {(0.0, self.epsilon): list(range(len(self.lower)))}

    @property
    def scale(self) -> FloatArray:
        """P-hat, row-major, shape (a1 a2,)."""
        return self.centre.ravel()

    @property
    def all_pairs(self) -> BlockProduct:
        """The product at delta = 0, of all pairs.

        Raises
        ------
        TimeIsUp
            If it is up before all blocks are listed.
        """
        if (0, 0.0) not in self._products:
            for s in range(len(self.centre)):
                check_time()
                self._block(BlockKey(s, 0.0, False))
        return self.product(0, 0.0)

    def product(self, s0: int, delta: float) -> BlockProduct:
        """Return the product of (s0, delta); at delta = 0 the same for every s0."""
        key = (s0 if delta > 0 else 0), delta
        if key not in self._products:
            blocks: list[VertexList] = [
                self._block(own) for own in block_keys(len(self.centre), s0, delta, delta)
            ]
            self._products[key] = BlockProduct(blocks, self.centre)
        return self._products[key]

    def _block(self, key: BlockKey) -> Block:
        if key not in self._blocks:
            level, log_scale = key.level(self.epsilon)
            self._blocks[key] = Block(self.lower[key.s], self.centre[key.s], level, math.exp(log_scale))
        return self._blocks[key]

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

    def price(self, duals: FloatArray, effort: int) -> tuple[float, Columns]:
        """Bound the reduced costs of all joint columns from above; offer the best ones found."""
        excess, products = self.search(duals, self.resolution, effort=effort)
        offers = [x.price(duals, effort)[1] for x in [self.all_pairs, *products]]
        return excess, Columns.join(offers)

    def error(self, duals: FloatArray) -> float:
        """Return by how much rounding can have lowered the bound of `search` plus the sum of the duals.

        Parameters
        ----------
        duals : ndarray, shape (a1, a2) or row-major
            Those of the bound: raised by it, times P-hat.
        """
        (a1, a2), size, prior = self.centre.shape, np.abs(duals.ravel()), self.scale
        rest = np.maximum(1.0 - self.lower.sum(axis=1), 1e-15) + self.lower.min(axis=1)
        log_letter = self.epsilon - math.log(float(rest.min()))
        ratio = float((size[prior > 0.0] / prior[prior > 0.0]).max())
        least = 1.0 + math.expm1(-self.epsilon) * float(self.centre.sum(axis=1).max())
        fixed = float(size.sum()) + 1.0
        if (empty := float(size[prior == 0.0].sum())) > 0.0:
            fixed += math.exp(log_letter) * empty
        # Slopes are those of Z log Z, up to the largest bound.
        per_mass = ratio + log_letter + 3.0 + (3.0 + 2.0 * self.epsilon + abs(math.log(least)))
        operations = 2 * COMPARISONS * (2 * a2 + a1 + STEP)
        return gamma(operations) * (per_mass + fixed / least) + sum_error(
            duals, float(duals.sum()), self.centre
        )

    def search(
        self, duals: FloatArray, slack: float, enough: float = 0.0, effort: int = 0
    ) -> tuple[float, list[BlockProduct]]:
        """Bound the reduced costs of all joint columns; name products worth adding.

        All intervals with too large a bound are split at a time, mostly at the same delta for every s0, so
        that blocks are shared. The next search starts from the intervals with which this one ends.

        Parameters
        ----------
        duals : ndarray, shape (a1, a2) or row-major
        slack : float
            In nats.
        enough : float
            An excess that is small enough, in nats.
        effort : int
            Of pricing a product (see `BlockProduct`).

        Returns
        -------
        excess : float
            No column has a larger reduced cost per unit of Z. It exceeds the largest one at the deltas looked
            at by at most `slack`, or its `inner_share`, or it is at most `enough`, unless too many intervals
            are needed.
        products : list of BlockProduct
            The best of those looked at, their deltas well apart. All that were named so far have the vertices
            that are undominated at these duals, or were at earlier ones.
        """
        bounds = self._bounds_at(duals, slack, effort)
        best, bound, left = 0.0, 0.0, SETTINGS.max_intervals
        found: dict[tuple[int, float], float] = {}

        def look(s0: int, delta: float) -> float:
            nonlocal best
            key = (s0 if delta > 0 else 0), delta
            if key not in found:
                found[key] = bounds.at(s0, delta, max(slack, GENERATION.inner_share * best))
                best = max(best, found[key])
            return found[key]

        level, self._intervals = self._intervals, {}
        while level:
            following: Intervals = {}
            for (low, high), specials in level.items():
                for s0 in specials:
                    left -= 1
                    ends = max(look(s0, low), look(s0, high))
                    most = max(enough, best + slack, (1.0 + GENERATION.inner_share) * best)
                    reach, critical, deltas = bounds.between(s0, low, high, most)
                    if reach > most and critical <= most:
                        # Inside, no column is better than at the ends, or than one with a critical vertex.
                        reach = max(ends, critical)
                    if reach > most:
                        reach = min(reach, bounds.over(s0, low, high, most))
                    if reach > most and left > 0 and not time_is_up():
                        # At the critical delta nearest to the middle.
                        delta = float(deltas[np.abs(np.log(deltas / _middle(low, high))).argmin()])
                        following.setdefault((low, delta), []).append(s0)
                        following.setdefault((delta, high), []).append(s0)
                        continue
                    bound = max(bound, reach)
                    self._intervals.setdefault((low, high), []).append(s0)
            level = following
        worth = max(slack, GENERATION.inner_share * best)
        named = [(x, s0, delta) for (s0, delta), x in found.items() if x > worth and delta > 0.0]
        products = [self._activate(s0, delta) for s0, delta in _well_apart(named)]
        for key, subset in self._subsets.items():
            subset.add(*bounds.vectors(key))
        for product in self._active.values():
            product.clear_cache()
        return max(best, bound), products

    def search_by_tangents(self, duals: FloatArray, enough: float) -> float:
        """Bound the reduced costs of all joint columns for all special values at a time, by tangents.

        That is close where there are many sensitive values, as none has much of the mass, and takes a small
        part of the time of `search`. The interval of deltas with the largest bound is split.

        Parameters
        ----------
        duals : ndarray, shape (a1, a2) or row-major
        enough : float
            An excess that is small enough, in nats.

        Returns
        -------
        excess : float
            No column has a larger reduced cost per unit of Z.

        Raises
        ------
        TimeIsUp
            If it is up before a bound is known.
        """
        bounds = self._bounds_at(duals)
        worst = [(-bounds.of_all_values(0.0, self.epsilon), 0.0, self.epsilon)]
        # What the tangents give at a single delta, no interval that contains it is below.
        least, left = 0.0, SETTINGS.max_intervals
        while -worst[0][0] > max(enough, (1.0 + GENERATION.inner_share) * least) and left > 0:
            _, low, high = worst[0]
            middle = _middle(low, high)
            try:
                least = max(least, bounds.of_all_values(middle, middle))
                halves = [(-bounds.of_all_values(*ends), *ends) for ends in ((low, middle), (middle, high))]
            except TimeIsUp:
                break
            heapq.heappop(worst)
            for half in halves:
                heapq.heappush(worst, half)
                left -= len(self.lower)
        return max(-worst[0][0], 0.0)

    def _bounds_at(self, duals: FloatArray, slack: float = 0.0, effort: int = 0) -> FixedDeltaBounds:
        blocks = [self._block(BlockKey(s, 0.0, False)) for s in range(len(self.centre))]
        return FixedDeltaBounds(blocks, duals.reshape(self.centre.shape), self.epsilon, slack, effort)

    def _activate(self, s0: int, delta: float) -> BlockProduct:
        """Return a product that was named; on large tables its lists of vertices are empty at first."""
        if (s0, delta) not in self._active:
            product = self.product
            if self.all_pairs.size > LIMITS.max_kept_vertices:
                product = self._subset_product
            self._active[s0, delta] = product(s0, delta)
        return self._active[s0, delta]

    def _subset_product(self, s0: int, delta: float) -> BlockProduct:
        keys = block_keys(len(self.centre), s0, delta, delta)
        for key in keys:
            self._subsets.setdefault(key, VertexSubset(self.centre[key.s]))
        return BlockProduct([self._subsets[key] for key in keys], self.centre)


def _well_apart(found: list[tuple[float, int, float]]) -> list[tuple[int, float]]:
    """Return s0 and delta of the best of a list of (excess, s0, delta), none within twice a better one."""
    kept: list[tuple[int, float]] = []
    for _, s0, delta in sorted(found, reverse=True):
        if not any(s == s0 and delta <= 2.0 * x and x <= 2.0 * delta for s, x in kept):
            kept.append((s0, delta))
    return kept


def _middle(low: float, high: float) -> float:
    """Return the geometric mean, as costs and gains of delta are proportional to it near 0; not 0 itself."""
    return math.sqrt(low * high) or high / SETTINGS.first_split
