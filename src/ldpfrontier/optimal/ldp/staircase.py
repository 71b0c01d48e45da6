"""Optimal locally differentially private mechanisms: staircase columns (kairouz2016, Theorems 2 and 4).

One certificate belongs to all: prices alpha of the inputs with which no staircase column has a positive
reduced cost, over all 2^k of them.

- f-divergences: the best cut of the inputs into blocks, at any k (`cuts`).
- Mutual information with more than 20 inputs: packings, which meet a converse (`packing`).
- Any other utility: column generation over the list of all columns (`exact_cover`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.channel import Channel
from ldpfrontier.numerics.subset_sums import subset_sums
from ldpfrontier.optimal.column_generation.smoothed import BATCH
from ldpfrontier.optimal.ldp.exact_cover import ExactCover
from ldpfrontier.optimal.ldp.f_divergence import optimal_divergence
from ldpfrontier.optimal.ldp.packing import converse, optimal_packing
from ldpfrontier.optimum import (
    MAX_EPSILON,
    Optimum,
    certified,
    check_start,
    checked_effort,
    checked_epsilon,
    uninformative,
)
from ldpfrontier.types import FloatArray, Intractable
from ldpfrontier.utility import Columns, FDivergence, MutualInformation, Utility

#: All patterns are priced at once; 2^20 of them take about 20 ms.
MAX_INPUTS = 20

#: Up to this many inputs all patterns are in the first program.
FEW = 6

#: Most inputs of an f-divergence, whose blocks are tried in k^2 time and memory, and of mutual information.
MAX_CUT, MAX_PACKING = 4_000, 50_000


def optimal_ldp(
    utility: Utility,
    epsilon: float,
    *,
    tolerance: float = 1e-9,
    max_rounds: int = 1000,
    start: Channel | None = None,
) -> Optimum:
    """Find the best eps-locally differentially private mechanism, with a certificate.

    The upper bound is that of the prices found, and holds for all 2^k staircase columns. It is exact up to 20
    inputs, to the tolerance. With more it is one of two: of an f-divergence, a bound that the best cut into
    blocks meets to 1e-9 in most cases, and to 1e-4 with a thousand inputs at large epsilon; of mutual
    information, a converse that a packing of the inputs meets the better the more inputs there are.

    Parameters
    ----------
    utility : Utility
        `MutualInformation` on up to 50,000 inputs, `FDivergence` on up to 4,000.
    epsilon : float
        Privacy level in nats, 0 to 300; any type of number. Up to 20 inputs, and for f-divergences of some
        letters, value and bound have nine digits from 1e-10 on. With a generator of one's own the bound is
        1e-12 higher, as its digits may cancel: at small epsilon that leaves the result "bounded".
    tolerance : float
        Relative gap at which to stop, whatever the size of the utility.
    max_rounds : int
        Most LPs to solve; when they are used up the result has status "bounded". With more than 20 inputs
        there are limits below that, which keep the time to seconds.
    start : Channel, optional
        A staircase mechanism on the same inputs (the optimum at another epsilon, say), whose patterns are
        among the first columns: it saves rounds, and changes nothing else. An `FDivergence` has no use for
        it, as its best mechanism is found without an LP, nor have packings that need none.

    Returns
    -------
    Optimum
        Channel with at most k outputs, whose columns have entries in ratio 1 or e^eps; value in the unit of
        the utility. Of mutual information with more than 256 inputs the channel has no more outputs than the
        tolerance needs (usually some hundreds) and at most 10^7 entries.

    Raises
    ------
    Intractable
        With more inputs than that, or more than 20 for another utility, as all patterns are priced.
    ValueError
        If epsilon is negative, not finite or above 300, or `start` has another number of inputs.
    """
    epsilon = checked_epsilon(epsilon, MAX_EPSILON)
    tolerance, max_rounds = checked_effort(tolerance, max_rounds)
    k = len(utility.prior)
    check_start(start, k)
    if epsilon == 0 or k == 1:
        return uninformative(k, utility.unit)
    most = MAX_CUT if isinstance(utility, FDivergence) else MAX_PACKING
    if k > most:
        raise Intractable(f"The utility has {k} inputs; at most {most:,} are supported.")
    if isinstance(utility, FDivergence):
        return optimal_divergence(utility, epsilon, tolerance=tolerance, max_rounds=max_rounds)
    if k > MAX_INPUTS:
        if not isinstance(utility, MutualInformation):
            raise Intractable(f"The prior has {k} inputs; at most {MAX_INPUTS} are supported.")
        if (occurs := utility.prior > 0).all():
            return optimal_packing(utility, epsilon, tolerance=tolerance, max_rounds=max_rounds, start=start)
        # Inputs that never occur do as the first one that does.
        optimum = optimal_ldp(
            MutualInformation(utility.prior[occurs]),
            epsilon,
            tolerance=tolerance,
            max_rounds=max_rounds,
            start=None if start is None else Channel(start.matrix[occurs]),
        )
        rows = np.where(occurs, np.cumsum(occurs) - 1, 0)
        return replace(optimum, channel=Channel(optimum.channel.matrix[rows]))
    return _exact(utility, epsilon, tolerance, max_rounds, start)


def _exact(
    utility: Utility, epsilon: float, tolerance: float, max_rounds: int, start: Channel | None
) -> Optimum:
    """Generate columns over the list of all of them."""
    cover = ExactCover(utility, epsilon)
    if cover.unit == 0.0:
        return uninformative(cover.inputs, utility.unit)
    # If randomized response is optimal, its prices show it: they are unique, and no LP is needed.
    best, rounds = cover.response, 0
    bound, better = cover.price(best)
    if bound - best.level > tolerance * best.level and max_rounds > 0:
        cover.add(_first(cover, start))
        while True:
            try:
                best = cover.solve()
            except RuntimeError:  # a program that HiGHS gives up leaves the last mechanism, with its gap
                break
            rounds += 1
            found, better = cover.price(best)
            bound = min(bound, found)
            if bound - best.level <= tolerance * best.level or rounds >= max_rounds or not better.size:
                break
            cover.add(better)
    return certified(cover.channel(best), cover.value(best), bound, tolerance, rounds, unit=utility.unit)


def _first(cover: ExactCover, start: Channel | None) -> NDArray[np.int64]:
    """Return the sets to start with: all, if they are few; else the best ones at the prices of a converse."""
    if cover.inputs <= FEW:
        return np.arange(1, 1 << cover.inputs)
    first = [cover.response.subsets]
    if start is not None:
        first.append(_patterns(start))
    if isinstance(cover.utility, MutualInformation):
        first.append(cover.near(converse(cover.utility.prior, cover.epsilon).prices))
    return np.unique(np.concatenate(first))


def _patterns(start: Channel) -> NDArray[np.int64]:
    """Return the sets of inputs with the larger entries of every column, one bit per input."""
    middle = (start.matrix.max(axis=0) + start.matrix.min(axis=0)) / 2.0
    return np.asarray((start.matrix > middle).T @ (1 << np.arange(start.n_inputs)), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Staircase:
    """Columns with two values in ratio e^eps, one for every subset T of inputs that has the larger one.

    Attributes
    ----------
    utility : Utility
    epsilon : float or ndarray, shape (n, 1)
        In nats, > 0. For several of them `response_prices` and `reduced` have a row each.
    """

    utility: Utility
    epsilon: float | FloatArray
    efforts: int = 1

    @property
    def scale(self) -> FloatArray:
        """The prior of the utility, shape (k,)."""
        return self.utility.prior

    @cached_property
    def _values(self) -> tuple[FloatArray, FloatArray]:
        return self.utility.patterns(self.epsilon)

    @property
    def response_prices(self) -> FloatArray:
        """Prices at which the columns of randomized response have reduced cost 0 (kairouz2016, (82))."""
        z, values = self._values
        single = 1 << np.arange(len(self.scale))
        mu, floor = values[..., single] * z[..., single], np.exp(-self.epsilon)
        total = mu.sum(axis=-1, keepdims=True) / (1.0 + (len(single) - 1) * floor)
        return np.asarray((mu - floor * total) / -np.expm1(-self.epsilon))

    def reduced(self, prices: FloatArray) -> FloatArray:
        """Return the reduced costs of all columns, shape (2^k,)."""
        z, values = self._values
        cost = np.exp(-self.epsilon) * prices.sum(axis=-1, keepdims=True)
        cost = cost - np.expm1(-self.epsilon) * subset_sums(prices)
        return np.asarray(values - cost / z)

    def bound(self, prices: FloatArray) -> float:
        """Return the dual bound of some prices, exact over all columns."""
        return float(prices.sum() + self.reduced(prices).max())

    def price(self, prices: FloatArray, effort: int) -> tuple[float, Columns]:
        """Return the largest reduced cost over all subsets, exactly, and the best subsets."""
        reduced = self.reduced(prices)
        few = min(BATCH, len(reduced))
        best = np.argpartition(-reduced, few - 1)[:few]
        bits = best[:, None] >> np.arange(len(prices)) & 1
        vectors = np.where(bits == 1, 1.0, np.exp(-self.epsilon))
        return float(reduced.max()), self.utility.columns(vectors)
