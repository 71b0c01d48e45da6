r"""PolyOpt, the optimal mechanism over a polyhedral envelope of the uncertainty set (lopuhaa2024, section 5).

A column v is allowed if A_s(v) <= e^eps B_s'(v), with ::

    A_s(v) = (1 - S_s) max_u v_{s,u} + L_s . v_s,     B_s(v) = (1 - S_s) min_u v_{s,u} + L_s . v_s,

for all pairs (s, s') in the class as published, for s != s' only in the class with *distinct pairs*, which
has the same guarantee. Scaled to min_s B_s = 1, the published columns are a product of blocks
(`blocks.Block`). With distinct pairs one special value s0 may have the least B, tau = e^-delta, and the
others at least 1: then A_s <= tau e^eps for s != s0 and A_s0 <= e^eps, which is a product of blocks again,
for every s0 and every delta in [0, eps]. At delta = 0 it is the published one.

The rays of both are products of block vertices, too many to list. Three steps avoid that:

1. **Decomposition** (`decomposition`): an upper bound with its prices, from one small LP.
2. **Coupling**: the block weights of that LP are coupled into columns: a mechanism.
3. **Column generation** over the joint columns from that start, where the coupling leaves a gap: to the
   exact optimum on small tables (`column_generation`), near the best prices on larger ones (`proximal`),
   where the decomposition is refined first.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ldpfrontier.channel import Channel, FloatArray
from ldpfrontier.optimal.blocks import Block, critical_levels
from ldpfrontier.optimal.column_generation import BATCH, SMOOTHING, best_channel, generate
from ldpfrontier.optimal.decomposition import GAP, ROUNDS, Decomposition
from ldpfrontier.optimal.products import BlockProduct
from ldpfrontier.optimal.proximal import FINEST, generate_near
from ldpfrontier.optimum import Optimum, certified
from ldpfrontier.privacy import log_ratio
from ldpfrontier.utility import Columns, MutualInformation

#: Block vertices of a table. Up to SMALL, joint columns are priced for every interval of deltas, which ends
#: in the exact optimum; where there are intervals beyond, the bound is the decomposition's. Beyond LARGE that
#: stops after FEW rounds.
SMALL, LARGE, FEW = 1_500, 50_000, 3

#: Relative gap of the decomposition where it is a start only; elsewhere, and for the search over the deltas,
#: a share of the tolerance.
ROUGH, SHARE = 1e-3, 0.3

#: A start whose coupling loses up to this multiple of the tolerance is worth completing.
LOSS = 2.0

#: How much nearer to delta = 0 the first interval ends after a split.
STEP = 16.0

#: Block vertices that one search over the deltas may look at; intervals of deltas, where joint columns are
#: priced and there are more than SMALL vertices.
WORK, INTERVALS = 120_000_000, 150


#: By how many nats a start may exceed epsilon, for rounding; below 1 nat, by that share of it.
START_ROUNDING, ROUNDING = 1e-9, 1e-14


def check_class(channel: Channel, lower: FloatArray, epsilon: float, *, distinct: bool) -> None:
    """Check that a mechanism satisfies the inequalities of PolyOpt.

    Parameters
    ----------
    channel : Channel
        Inputs (s, u) in row-major order.
    lower : ndarray, shape (a1, a2)
        L_{u|s}.
    epsilon : float
        Privacy level in nats.
    distinct : bool
        Whether pairs s != s' only are compared.

    Raises
    ------
    ValueError
        If it does not.
    """
    blocks = channel.matrix.reshape(*lower.shape, -1)
    mean = np.einsum("su,suy->sy", lower, blocks)
    rest = np.maximum(1.0 - lower.sum(axis=1), 0.0)[:, None]
    A, B = rest * blocks.max(axis=1) + mean, rest * blocks.min(axis=1) + mean
    ratios = log_ratio(*np.broadcast_arrays(A[:, None], B[None]))
    if distinct:
        ratios[np.diag_indices(len(lower))] = 0.0
    if (worst := float(ratios.max())) > epsilon + START_ROUNDING * min(1.0, epsilon) + ROUNDING:
        raise ValueError(
            f"The start is private at level {worst:.9g} by the inequalities of its class; epsilon is"
            f" {epsilon:.9g}."
        )


def polyopt_published(
    centre: FloatArray,
    lower: FloatArray,
    epsilon: float,
    *,
    tolerance: float,
    max_rounds: int,
    start: Channel | None = None,
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
    start : Channel, optional
        A mechanism of the class, whose columns are among the first.

    Returns
    -------
    Optimum
        Channel with at most a1 a2 outputs, inputs in row-major order.
    """
    utility = MutualInformation(centre)
    product = BlockProduct([Block(L, P, epsilon) for L, P in zip(lower, centre, strict=True)], centre)
    return _published(product, epsilon, utility, start, tolerance, max_rounds)[0]


def _published(
    product: BlockProduct,
    epsilon: float,
    utility: MutualInformation,
    start: Channel | None,
    tolerance: float,
    max_rounds: int,
) -> tuple[Optimum, FloatArray]:
    """Solve PolyOpt as published; return the optimum and good prices."""
    decomposition = Decomposition(product, epsilon)
    fine, known = max(GAP, SHARE * tolerance), start_columns(start, utility)
    if product.size > SMALL:
        aim = max(tolerance, FINEST)
        prices = decomposition.solve(product.explore, gap=max(ROUGH, fine)).ravel()
        if decomposition.loss() <= LOSS * aim:
            prices = decomposition.solve(product.explore, gap=fine).ravel()
            known.append(decomposition.columns())
            found = generate_near(
                product, Columns.join(known), utility, [prices], tolerance=tolerance, max_rounds=1
            )
            if found[0].gap <= aim or max_rounds == 1:
                return found
        known.append(decomposition.columns())
        with suppress(RuntimeError):  # without a refinement there are more rounds
            prices = decomposition.refine(gap=SHARE * aim).ravel()
            known.append(decomposition.columns())
        return generate_near(
            product, Columns.join(known), utility, [prices], tolerance=tolerance, max_rounds=max_rounds
        )
    prices = decomposition.solve(product.explore, gap=fine).ravel()
    columns = Columns.join([decomposition.columns(), *known])
    product.resolution = SHARE * tolerance * float(prices.sum())
    optimum = generate(
        product, columns, utility, tolerance=tolerance, max_rounds=max_rounds, stable_prices=prices
    )
    return optimum, prices


def polyopt_distinct(
    centre: FloatArray,
    lower: FloatArray,
    epsilon: float,
    *,
    tolerance: float,
    max_rounds: int,
    start: Channel | None = None,
) -> Optimum:
    """Solve PolyOpt over distinct pairs.

    Arguments and result are those of `polyopt_published`. Beyond `SMALL` the published optimum is found
    first, and up to `LARGE` the bound at its prices, besides that of the decomposition.
    """
    utility = MutualInformation(centre)
    family = DistinctProducts(centre, lower, epsilon)
    published = family.product(0, 0.0)
    size = published.size
    # Without deltas inside (0, epsilon) there is a product per special value and no interval.
    few = all(len(deltas) == 2 for deltas in family.deltas)
    joint = size <= SMALL or (few and size <= LARGE)
    decomposition = Decomposition(published, epsilon)
    decomposition.solve(published.explore)
    prices = decomposition.solve(
        family.explore,
        gap=ROUGH if joint else SHARE * tolerance,
        rounds=ROUNDS if size <= LARGE else FEW,
    )
    family.resolution = SHARE * tolerance * float(prices.sum())
    columns = Columns.join([decomposition.columns(), *start_columns(start, utility)])
    if not joint:
        first, near = _published(published, epsilon, utility, None, tolerance, max_rounds)
        columns = Columns.join([columns, *start_columns(first.channel, utility)])
        bound = float(prices.sum())
        # Every product looked at is a block of its own per sensitive value: beyond LARGE, no more of them.
        if size <= LARGE and (room := bound - float(near.sum())) > 0.0:
            bound -= max(room - family.price(near, 0, room)[0], 0.0)
        channel = best_channel(columns)
        return certified(channel, utility(channel), bound, tolerance, 1)
    return generate(
        family,
        columns,
        utility,
        tolerance=tolerance,
        max_rounds=max_rounds,
        stable_prices=prices.ravel(),
        smoothing=(0.0,) if size <= SMALL else SMOOTHING,
    )


def start_columns(start: Channel | None, utility: MutualInformation) -> list[Columns]:
    """Value the columns of a start, if there is one; outputs that never occur are left out."""
    if start is None:
        return []
    return [utility.columns(np.compress(start.matrix.any(axis=0), start.matrix, axis=1).T)]


@dataclass(eq=False)
class DistinctProducts:
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
    _blocks: dict[tuple[int, float, bool], Block] = field(default_factory=dict, repr=False)
    _products: dict[tuple[int, float], BlockProduct] = field(default_factory=dict, repr=False)

    def _block(self, s: int, delta: float, special: bool) -> Block:
        key = s, delta, special
        if key not in self._blocks:
            level, scale = (
                (self.epsilon + delta, math.exp(-delta)) if special else (self.epsilon - delta, 1.0)
            )
            self._blocks[key] = Block(self.lower[s], self.centre[s], level, scale)
        return self._blocks[key]

    def _relaxed(self, s0: int, low: float, high: float) -> BlockProduct:
        blocks = [
            self._block(s, high, True) if s == s0 and high > 0 else self._block(s, low, False)
            for s in range(len(self.centre))
        ]
        return BlockProduct(blocks, self.centre)

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
        levels = [critical_levels(L) for L in self.lower]
        deltas = []
        for s0, own in enumerate(levels):
            others = [self.epsilon - x for s, x in enumerate(levels) if s != s0]
            critical = np.concatenate([*others, own - self.epsilon])
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
            excess = product.excess(prices)[0]
            if excess > leaders.get(s0, (0.0, product))[0]:
                leaders[s0] = excess, product
            return excess

        bound = self._search(look, lambda product, _: product.excess(prices)[0], slack)
        return bound, [product for _, product in leaders.values()]

    def price(self, prices: FloatArray, effort: int, limit: float = math.inf) -> tuple[float, Columns]:
        """Bound the reduced costs of all joint columns from above; offer the best ones found.

        One above the limit ends the search.
        """
        published = self.product(0, 0.0)
        offers = [published.columns(np.empty((0, len(self.centre)), dtype=np.int64))]

        def look(_: int, product: BlockProduct) -> float:
            excess, columns = product.price(prices, effort, BATCH)
            if excess > 0.0:
                offers.append(columns)
            return excess

        small = published.size <= SMALL
        left = WORK // published.size if small else INTERVALS

        def bound(product: BlockProduct, enough: float) -> float:
            nonlocal left
            excess = product.excess(prices)[0]
            if excess <= enough or left <= 0:
                return excess
            left -= 1
            return product.price(prices, effort, 0)[0]

        most = self._search(look, bound, self.resolution, limit)
        return max(most, 0.0), Columns.join(offers)

    def _search(
        self,
        look: Callable[[int, BlockProduct], float],
        bound: Callable[[BlockProduct, float], float],
        slack: float,
        limit: float = math.inf,
    ) -> float:
        """Branch and bound over the deltas of every s0, the interval with the largest bound first.

        Returns an upper bound, at most `slack` above the largest `look` unless that is too much work or one
        is above the limit.
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
        while intervals and -intervals[0][0] > max(best, 0.0) + slack and nodes > 0 and best < limit:
            nodes -= 1
            _, s0, i, j = heapq.heappop(intervals)
            deltas = self.deltas[s0]
            # Near the published delta = 0, costs and gains of delta are proportional to it.
            middle = math.sqrt(deltas[i] * deltas[j]) or deltas[j] / STEP
            k = int(np.clip(np.searchsorted(deltas, middle), i + 1, j - 1))
            best = max(best, look(s0, self.product(s0, float(deltas[k]))))
            push(s0, i, k)
            push(s0, k, j)
        return max(best, -intervals[0][0]) if intervals else best
