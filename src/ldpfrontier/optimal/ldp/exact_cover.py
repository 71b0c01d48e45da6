r"""The staircase optimum as a fractional exact cover of the inputs by sets: well conditioned at any epsilon.

A mechanism with columns w_T (e^-eps off T, 1 on it) has rows of sum 1 exactly if every input is in sets of
the same total weight c ::

    sum_{T with x} w_T = c for all x,      e^-eps sum_T w_T + (1 - e^-eps) c = 1.

The entries of this program are 0 and 1, however near to each other those of the columns are. Its prices beta
and lam with sum(beta) <= (1 - e^-eps) lam bound the utility of every mechanism by lam and the less of

- the largest reduced cost g(T) - beta(T) - e^-eps lam per unit of Z = prior . v, as Z adds up to 1, and
- what it costs to raise all prices alike until no reduced cost is positive.

The first is the better one at small epsilon, the second at large, where Z can be tiny.

The empty set has no variable: its column is that of the full set, but for a factor. Without it, sets of total
weight at most k c leave c >= 1 / (1 + (k - 1) e^-eps) > 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import highspy
import numpy as np
from numpy.typing import NDArray

from ldpfrontier.channel import Channel
from ldpfrontier.numerics.highs import LP_TOLERANCE, add_columns, new_lp, solve
from ldpfrontier.numerics.subset_sums import subset_sums
from ldpfrontier.optimal.column_generation.smoothed import BATCH
from ldpfrontier.types import FloatArray
from ldpfrontier.utility import Utility

#: Entries of the program that count: the least that HiGHS can be asked to keep.
LEAST_ENTRY = 1e-12

#: Utilities in the program are about this large, so that its absolute tolerances are out of sight.
SIZE = 100.0

Subsets = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Weights:
    """A mechanism as weights of sets, and the prices that belong to them.

    Attributes
    ----------
    subsets : ndarray of int, shape (m,)
        Bit x says that input x is in the set.
    shares : ndarray, shape (m,)
        Weights w_T / c: the sets with an input have total share 1.
    prices : ndarray, shape (k,)
        beta.
    level : float
        lam, the value of the program.
    """

    subsets: Subsets
    shares: FloatArray
    prices: FloatArray
    level: float


@dataclass(eq=False)
class ExactCover:
    """The program over the sets added so far, and all 2^k sets to price it with.

    Parameters
    ----------
    utility : Utility
    epsilon : float
        In nats, > 0.
    """

    utility: Utility
    epsilon: float
    subsets: Subsets = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __post_init__(self) -> None:
        self.inputs = len(self.utility.prior)
        self.floor, self.share = math.exp(-self.epsilon), -math.expm1(-self.epsilon)

    @cached_property
    def _lp(self) -> highspy.Highs:
        lp = new_lp()
        lp.setOptionValue("small_matrix_value", LEAST_ENTRY)
        nothing = np.empty(0, dtype=np.int32), np.empty(0)
        for right in [0.0] * self.inputs + [1.0]:
            lp.addRow(right, right, 0, *nothing)
        add_columns(lp, np.zeros(1), np.append(-np.ones(self.inputs), self.share)[None])
        return lp

    @cached_property
    def worths(self) -> tuple[FloatArray, FloatArray]:
        """Z and g of the columns of all sets, shape (2^k,)."""
        z, values = self.utility.patterns(self.epsilon)
        return z, values * z

    @cached_property
    def unit(self) -> float:
        """The largest g, by which costs are divided; 0 if nothing can be told."""
        return max(float(self.worths[1].max()), 0.0) / SIZE

    @cached_property
    def response(self) -> Weights:
        """Randomized response, and the prices that prove it optimal if it is (kairouz2016, (82))."""
        single = 1 << np.arange(self.inputs)
        g = self.worths[1][single]
        level = float(g.sum()) / (1.0 + (self.inputs - 1) * self.floor)
        return Weights(single, np.ones(self.inputs), g - self.floor * level, level)

    def add(self, subsets: Subsets) -> None:
        """Add sets to the program, but the empty one."""
        subsets = subsets[subsets > 0]
        columns = np.ones((len(subsets), self.inputs + 1))
        columns[:, :-1] = subsets[:, None] >> np.arange(self.inputs) & 1
        columns[:, -1] = self.floor
        add_columns(self._lp, self.worths[1][subsets] / self.unit, columns)
        self.subsets = np.append(self.subsets, subsets)

    def solve(self) -> Weights:
        """Solve the program over the sets added so far."""
        value, weights, duals = solve(self._lp)
        used = np.flatnonzero(weights[1:] > LP_TOLERANCE)
        subsets = self.subsets[used]
        cover = (subsets >> np.arange(self.inputs)[:, None] & 1).astype(float)
        shares = weights[1:][used] / weights[0]
        # The program meets its rows within LP_TOLERANCE; one least-squares step removes that residual.
        exact = shares + np.linalg.lstsq(cover, 1.0 - cover @ shares, rcond=None)[0]
        if exact.min() >= 0.0 and np.abs(1.0 - cover @ exact).max() <= LP_TOLERANCE:
            shares = exact
        return Weights(subsets, shares, duals[:-1] * self.unit, value * self.unit)

    def value(self, weights: Weights) -> float:
        """Return the utility of a mechanism, before the entries of its channel are rounded."""
        g = self.worths[1][weights.subsets]
        return float(weights.shares @ g) / (self.share + self.floor * float(weights.shares.sum()))

    def channel(self, weights: Weights) -> Channel:
        """Return the channel of a mechanism."""
        inside = weights.subsets >> np.arange(self.inputs)[:, None] & 1
        scale = weights.shares / (self.share + self.floor * float(weights.shares.sum()))
        return Channel(np.where(inside == 1, 1.0, self.floor) * scale)

    def price(self, weights: Weights) -> tuple[float, Subsets]:
        """Return a bound on the utility of every mechanism, and the sets with the largest reduced costs.

        The empty set is none of them.
        """
        reduced = self._reduced(weights.prices, weights.level)
        per_unit = reduced / self.worths[0]
        raised = max(float(reduced.max()), 0.0) * self.inputs / self.share
        better = 1 + np.flatnonzero(reduced[1:] > LP_TOLERANCE * self.unit)
        return weights.level + min(float(per_unit.max()), raised), _largest(per_unit, better)

    def near(self, prices: FloatArray) -> Subsets:
        """Return the sets with the largest reduced costs at prices alpha of the inputs, positive or not."""
        reduced = self._reduced(self.share * prices, float(prices.sum()))
        return _largest(reduced / self.worths[0], np.arange(1, len(reduced)))

    def _reduced(self, prices: FloatArray, level: float) -> FloatArray:
        # Raised or lowered alike, so that they sum to what they may.
        prices = prices + (self.share * level - float(prices.sum())) / self.inputs
        return np.asarray(self.worths[1] - subset_sums(prices) - self.floor * level)


def _largest(values: FloatArray, subsets: Subsets) -> Subsets:
    """Return those of the sets with the largest values, a batch at most."""
    if len(subsets) <= BATCH:
        return subsets
    return subsets[np.argpartition(-values[subsets], BATCH)[:BATCH]]
