r"""The staircase optimum as a fractional exact cover of the inputs by sets: well conditioned at any epsilon.

A mechanism with columns w_T (1 on the set T, e^-eps off it) has rows of sum 1 if and only if the sets that
contain an input have the same total weight c, whichever the input ::

    maximize sum_T w_T g(T)   subject to   sum_{T with x} w_T = c for all x,
                                           e^-eps sum_T w_T + (1 - e^-eps) c = 1,   w >= 0,

where g(T) is the utility mu of the column of T. The entries of this program are 0 and 1, however near to each
other those of the columns are. Its duals beta, lam with sum(beta) <= (1 - e^-eps) lam have the reduced costs
r(T) = g(T) - beta(T) - e^-eps lam, and bound the utility of every mechanism by lam and the less of

- max_T r(T) / Z(T), Z(T) = prior . v, as the Z of the columns of a mechanism add up to 1, and
- what it costs to raise all beta alike until no reduced cost is positive.

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

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.engines.listed.converse import converse
from ldpfrontier.engines.listed.f_divergence import VALUE_SIZE, divergence_error, likelihood_ratio_order
from ldpfrontier.model.average_utility import AverageUtility
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.optimum import (
    ROUNDING,
    BoundError,
    Optimum,
    certified,
    fell_back,
    one_line,
    uninformative,
)
from ldpfrontier.model.utility import FDivergence, MutualInformation, Utility
from ldpfrontier.numerics.highs import add_columns, new_lp, solve
from ldpfrontier.numerics.rounding import column_value, gamma, normalization, storage
from ldpfrontier.numerics.settings import SETTINGS as NUMERICS
from ldpfrontier.numerics.subset_sums import subset_sums

#: Sets of inputs; bit x of a number says that input x is in the set.
Subsets = NDArray[np.int64]


def optimal_exact_cover(
    utility: Utility, epsilon: float, *, tolerance: float, max_rounds: int, start: Channel | None
) -> Optimum:
    """Find the best eps-LDP mechanism by column generation over the list of all sets.

    Arguments and result are those of `optimal_ldp`, at epsilon > 0 and with at most `max_listed_inputs`.
    """
    cover = ExactCover(utility, epsilon)
    if cover.objective_unit == 0.0:
        return uninformative(cover.inputs, utility.unit)
    # If randomized response is optimal, its duals show it: they are unique, and no LP is needed.
    best, rounds = cover.randomized_response, 0
    bound, better = cover.price(best)
    if bound - best.objective > tolerance * best.objective and max_rounds > 0:
        cover.add(_starting_sets(cover, start))
        while True:
            try:
                best = cover.solve()
            except RuntimeError as failure:  # a program that HiGHS gives up leaves the last mechanism
                fell_back(f"the mechanism of the round before, as a program failed: {one_line(failure)}")
                break
            rounds += 1
            trial_bound, better = cover.price(best)
            bound = min(bound, trial_bound)
            closed = bound - best.objective <= tolerance * best.objective
            if closed or rounds >= max_rounds or not better.size:
                break
            cover.add(better)
    error, noise = _bound_error(utility, epsilon)
    return certified(
        cover.channel(best),
        cover.value(best),
        bound,
        tolerance,
        rounds,
        unit=utility.unit,
        error=BoundError(error * bound, noise),
    )


def _bound_error(utility: Utility, epsilon: float) -> tuple[float, float]:
    """Return the relative error of a bound, and what cancelled differences add to it."""
    if isinstance(utility, AverageUtility):
        relative, noise = zip(*(_bound_error(each, epsilon) for each in utility.utilities), strict=True)
        return max(relative) + gamma(4.0 * len(relative) + 8.0), max(noise)
    if isinstance(utility, MutualInformation):
        # g by as much as column values and the sums of probabilities in them are, as a factor.
        of_values = gamma(column_value(epsilon) + 2.0 * len(utility.prior))
        return of_values + 2.0 * normalization(utility.prior) + storage(epsilon), 0.0
    if not isinstance(utility, FDivergence):
        return ROUNDING, 0.0
    p0, p1, apart, size = -math.expm1(-epsilon) * utility.masses
    floor, (z, values) = math.exp(-epsilon), utility.patterns(epsilon)
    size = 2.0 * size * utility.slope(floor + p1, apart, floor + p0) / z
    beyond = gamma(len(utility.prior) + 24) * float((size - VALUE_SIZE * values).max())
    return divergence_error(utility, epsilon), max(beyond, 0.0) if utility.f is None else ROUNDING


def _starting_sets(cover: ExactCover, start: Channel | None) -> Subsets:
    """Return the sets to start with: all, if they are few; else the best ones at the duals of a converse."""
    if 1 << cover.inputs <= 2 * GENERATION.batch:
        return np.arange(1, 1 << cover.inputs)
    first = [cover.randomized_response.subsets]
    if start is not None:
        first.append(_sets_of_large_entries(start))
    if isinstance(cover.utility, FDivergence):
        order = 1 << likelihood_ratio_order(cover.utility)
        first += [np.cumsum(order[i:]) for i in range(cover.inputs)]
    if isinstance(cover.utility, MutualInformation):
        first.append(cover.best_subsets(converse(cover.utility.prior, cover.epsilon).duals))
    return np.unique(np.concatenate(first))


def _sets_of_large_entries(channel: Channel) -> Subsets:
    """Return the set of inputs with the larger of two entries in every column of a channel."""
    middle = (channel.matrix.max(axis=0) + channel.matrix.min(axis=0)) / 2.0
    return np.asarray((channel.matrix > middle).T @ (1 << np.arange(channel.n_inputs)), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class SetWeights:
    """A mechanism as weights of sets, and duals of the program, in the unit of the utility."""

    subsets: Subsets  # (m,)
    shares: FloatArray  # (m,): weights w_T / c, so that the sets with an input have total share 1
    duals: FloatArray  # (k,): beta
    objective: float  # lam, the value of the program


@dataclass(eq=False)
class ExactCover:
    """The program over the sets added so far, and all 2^k sets to price it with; epsilon > 0 in nats."""

    utility: Utility
    epsilon: float
    subsets: Subsets = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __post_init__(self) -> None:
        self.inputs = len(self.utility.prior)
        self.floor, self.share = math.exp(-self.epsilon), -math.expm1(-self.epsilon)

    @cached_property
    def _lp(self) -> highspy.Highs:
        lp = new_lp()
        # Entries of a linear program that count: the least that HiGHS can be asked to keep.
        lp.setOptionValue("small_matrix_value", 1e-12)
        nothing = np.empty(0, dtype=np.int32), np.empty(0)
        for right in [0.0] * self.inputs + [1.0]:
            lp.addRow(right, right, 0, *nothing)
        add_columns(lp, np.zeros(1), np.append(-np.ones(self.inputs), self.share)[None])
        return lp

    @cached_property
    def column_values(self) -> tuple[FloatArray, FloatArray]:
        """Z(T) and g(T) of all sets, shape (2^k,)."""
        z, values = self.utility.patterns(self.epsilon)
        return z, values * z

    @cached_property
    def objective_unit(self) -> float:
        """The largest g, by which objective values are divided, over their size; 0 if g is 0 throughout."""
        # Size of the utilities in a linear program, which puts the absolute tolerances of HiGHS out of sight.
        return max(float(self.column_values[1].max()), 0.0) / 100.0

    @cached_property
    def randomized_response(self) -> SetWeights:
        """Randomized response, and the duals that prove it optimal if it is (kairouz2016, (82))."""
        single = 1 << np.arange(self.inputs)
        g = self.column_values[1][single]
        value = float(g.sum()) / (1.0 + (self.inputs - 1) * self.floor)
        return SetWeights(single, np.ones(self.inputs), g - self.floor * value, value)

    def add(self, subsets: Subsets) -> None:
        """Add all but the empty one of some sets to the program."""
        subsets = subsets[subsets > 0]
        columns = np.ones((len(subsets), self.inputs + 1))
        columns[:, :-1] = subsets[:, None] >> np.arange(self.inputs) & 1
        columns[:, -1] = self.floor
        add_columns(self._lp, self.column_values[1][subsets] / self.objective_unit, columns)
        self.subsets = np.append(self.subsets, subsets)

    def solve(self) -> SetWeights:
        """Solve the program over the sets added so far."""
        value, weights, duals = solve(self._lp)
        used = np.flatnonzero(weights[1:] > NUMERICS.lp_tolerance)
        subsets = self.subsets[used]
        cover = (subsets >> np.arange(self.inputs)[:, None] & 1).astype(float)
        shares = weights[1:][used] / weights[0]
        # The program meets its rows within that tolerance; one least-squares step removes that residual.
        exact = shares + np.linalg.lstsq(cover, 1.0 - cover @ shares, rcond=None)[0]
        if exact.min() >= 0.0 and np.abs(1.0 - cover @ exact).max() <= NUMERICS.lp_tolerance:
            shares = exact
        return SetWeights(subsets, shares, duals[:-1] * self.objective_unit, value * self.objective_unit)

    def value(self, weights: SetWeights) -> float:
        """Return the utility of a mechanism, before the entries of its channel are rounded."""
        g = self.column_values[1][weights.subsets]
        return float(weights.shares @ g) / (self.share + self.floor * float(weights.shares.sum()))

    def channel(self, weights: SetWeights) -> Channel:
        """Return the channel of a mechanism."""
        inside = weights.subsets >> np.arange(self.inputs)[:, None] & 1
        scale = weights.shares / (self.share + self.floor * float(weights.shares.sum()))
        return Channel(np.where(inside == 1, 1.0, self.floor) * scale)

    def price(self, weights: SetWeights) -> tuple[float, Subsets]:
        """Return a bound on the utility of every mechanism, and the nonempty sets of largest reduced cost."""
        lam = weights.objective
        duals = self._shifted(weights.duals, lam)
        reduced = self._reduced_costs(duals, lam)
        per_unit = reduced / self.column_values[0]
        better = 1 + np.flatnonzero(reduced[1:] > NUMERICS.lp_tolerance * self.objective_unit)
        raised = max(float(reduced.max()), 0.0) * self.inputs / self.share
        # The shifted beta may add up to more than they should, and prices are rounded.
        share = self.share * lam
        error = max(math.fsum([*duals.tolist(), -share]), 0.0)
        error += gamma(self.inputs + 8) * (float(np.abs(duals).sum()) + 2.0 * abs(lam))
        return lam + min(float(per_unit.max()), raised) + error, _largest(per_unit, better)

    def best_subsets(self, duals: FloatArray) -> Subsets:
        """Return the sets with the largest reduced costs, positive or not, at duals alpha of `Staircase`."""
        objective = float(duals.sum())
        reduced = self._reduced_costs(self._shifted(self.share * duals, objective), objective)
        return _largest(reduced / self.column_values[0], np.arange(1, len(reduced)))

    def _shifted(self, duals: FloatArray, objective: float) -> FloatArray:
        """Return beta, all shifted alike so that they sum to (1 - e^-eps) lam."""
        return duals + (self.share * objective - float(duals.sum())) / self.inputs

    def _reduced_costs(self, duals: FloatArray, objective: float) -> FloatArray:
        """Return r(T) of all sets."""
        return np.asarray(self.column_values[1] - subset_sums(duals) - self.floor * objective)


def _largest(values: FloatArray, subsets: Subsets) -> Subsets:
    """Return the sets with the largest values, a batch at most."""
    if len(subsets) <= GENERATION.batch:
        return subsets
    return subsets[np.argpartition(-values[subsets], GENERATION.batch)[: GENERATION.batch]]
