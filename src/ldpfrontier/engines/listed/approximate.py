r"""Optimal approximately private mechanisms, by a list of columns that suffices for every utility.

A mechanism is (eps, delta)-LDP if sum_j theta_j h_xx'(v_j) <= delta for all inputs x != x', with
h_xx'(v) = max(0, v_x - e^eps v_x') (kairouz2016, (33)), which bounds a sum over columns, as utilities are ::

    maximize sum_j theta_j mu(v_j)   subject to   sum_j theta_j v_j = 1,   sum_j theta_j h_xx'(v_j) <= delta.

**Theorem.** For every sublinear mu an optimum has columns whose entries are 0 or e^(i eps), i = 0..r, where
every i occurs: the unit vectors, and one column for each ordered partition, into two or more parts, of each
set of two or more inputs.

*Proof.* The hyperplanes v_x = e^eps v_x' cut the columns v >= 0 into cones on each of which all h are linear.
A column is a sum of extreme rays of a cone that contains it; in their place, the sums of v and of h stay, and
that of mu does not fall. On an extreme ray, equalities v_x = e^eps v_x' connect the inputs that are not 0:
else two parts could be scaled apart. So the logarithms of its entries differ by whole multiples of eps; and
without a gap, which no equality would cross. At eps = 0 these are the indicators of sets of inputs.

**Bound.** If mu(v) <= c . v + lam . h(v) + kappa scale . v on these columns, lam >= 0, then on all columns,
and no mechanism has more than sum(c) + delta sum(lam) + kappa, as scale . v adds up to 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.mechanisms import randomized_response
from ldpfrontier.model.optimum import NO_ERROR, Optimum, certified, recorded_failure
from ldpfrontier.model.privacy import least_delta
from ldpfrontier.model.utility import SublinearUtility
from ldpfrontier.numerics.deadline import TimeIsUp
from ldpfrontier.numerics.highs import add_columns, new_lp, solve
from ldpfrontier.numerics.rounding import gamma
from ldpfrontier.numerics.settings import SETTINGS as NUMERICS

#: The level of an entry that is 0.
ZERO = -1


@lru_cache(maxsize=2)
def column_levels(inputs: int) -> NDArray[np.int8]:
    """Return the logarithms of all columns of the theorem, in units of eps, shape (columns, inputs).

    An entry that is 0 has the level `ZERO`. They are 4, 21, 138, 1,055, 9,308 and 94,465 for 2 to 7 inputs,
    and the constant column, which is no extreme ray.
    """
    found = [np.where(np.eye(inputs) == 1, 0, ZERO), np.zeros((1, inputs))]
    for size in range(2, inputs + 1):
        levels = np.array([*_surjections(size)])
        for support in combinations(range(inputs), size):
            columns = np.full((len(levels), inputs), ZERO)
            columns[:, support] = levels
            found.append(columns)
    return np.concatenate(found).astype(np.int8)


def _surjections(size: int) -> Iterator[list[int]]:
    """Yield the levels 0 to r, r >= 1, of so many inputs, such that every level occurs."""
    for r in range(1, size):
        for code in range((r + 1) ** size):
            levels = [code // (r + 1) ** i % (r + 1) for i in range(size)]
            if len(set(levels)) == r + 1:
                yield levels


@dataclass(eq=False)
class ApproximateColumns:
    """The columns of the theorem at a level, nats: their values, and what they need of delta."""

    utility: SublinearUtility
    epsilon: float

    @cached_property
    def scale(self) -> FloatArray:
        """The distribution that normalizes columns, positive at every input, shape (inputs,)."""
        prior = self.utility.prior.ravel()
        return np.asarray((prior + 1.0 / prior.size) / 2.0)

    @cached_property
    def vectors(self) -> FloatArray:
        """The columns with scale . v = 1, shape (columns, inputs)."""
        return np.asarray(self._entries / (self._entries @ self.scale)[:, None])

    @cached_property
    def _entries(self) -> FloatArray:
        levels = column_levels(self.scale.size).astype(float)
        below = levels.max(axis=1, keepdims=True) - levels
        return np.where(levels == ZERO, 0.0, np.exp(-self.epsilon * below))

    @cached_property
    def excesses(self) -> FloatArray:
        """The h of the columns, shape (columns, inputs (inputs - 1)): exactly 0 where levels differ by 1."""
        levels, n = column_levels(self.scale.size).astype(int), self.scale.size
        high, low = np.nonzero(~np.eye(n, dtype=bool))
        covered = self.vectors[:, low] * math.exp(self.epsilon)
        free = (levels[:, high] != ZERO) & ((levels[:, low] == ZERO) | (levels[:, high] > levels[:, low] + 1))
        return np.where(free, np.maximum(self.vectors[:, high] - covered, 0.0), 0.0)

    @cached_property
    def values(self) -> FloatArray:
        """The mu of the columns, shape (columns,)."""
        return self.utility.homogeneous_values(self.vectors)

    def reduced(self, duals: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mu - c . v - lam . h of all columns, and how far rounding may have lowered it."""
        c, lam = np.split(duals, [self.scale.size])
        reduced = self.values - self.vectors @ c - self.excesses @ lam
        size = np.abs(self.values) + self.vectors @ np.abs(c) + self.excesses @ lam
        # An excess is a difference: what cancels is as large as the entries.
        size += 2.0 * float(lam.sum()) * self.vectors.max(axis=1)
        return reduced, gamma(duals.size + 16) * size


class ApproximateSolution(NamedTuple):
    """A mechanism, a bound on all of them, and the c and the lam that prove it, after some rounds."""

    matrix: FloatArray
    bound: float
    duals: FloatArray
    rounds: int


def optimal_approximate(
    utility: SublinearUtility, epsilon: float, delta: float, *, tolerance: float, max_rounds: int
) -> Optimum:
    """Find the best (eps, delta)-LDP mechanism by column generation over the list of all columns.

    Arguments and result are those of `optimal_ldp`, with delta from 1e-9.
    """
    found = solve_approximate(utility, epsilon, delta, tolerance=tolerance, max_rounds=max_rounds)
    channel = within(found.matrix, epsilon, delta)
    return certified(
        channel,
        utility(channel),
        found.bound,
        tolerance,
        found.rounds,
        unit=utility.unit,
        error=NO_ERROR,
    )


def solve_approximate(
    utility: SublinearUtility, epsilon: float, delta: float, *, tolerance: float, max_rounds: int
) -> ApproximateSolution:
    """Return the solution of the program and of its dual; the arguments are those of `optimal_approximate`.

    The duals are c, raised so that it holds for all columns, and lam by pairs of inputs, shape
    (inputs + inputs (inputs - 1),).
    """
    columns = ApproximateColumns(utility, epsilon)
    n, pairs = columns.scale.size, columns.excesses.shape[1]
    unit = max(float(columns.values.max()), 1e-300)
    lp = new_lp()
    nothing = np.empty(0, dtype=np.int32), np.empty(0)
    for lower, upper in [(1.0, 1.0)] * n + [(-np.inf, 1.0)] * pairs:  # of h / delta
        lp.addRow(lower, upper, 0, *nothing)
    # The truth, the constant column and all of two levels: the mixture of the truth and an eps-LDP mechanism.
    chosen = np.flatnonzero(column_levels(n).max(axis=1) <= 1)
    used, weights, rounds = np.zeros(0, dtype=np.intp), np.zeros(0), 0
    # Nothing tells more than the truth, whose columns are unit vectors.
    bound, best = (1.0 + 1e-12) * utility(Channel(np.eye(n))), np.zeros(n + pairs)
    best[:n] = utility.homogeneous_values(np.eye(n))
    with recorded_failure("the mechanism of the round before", RuntimeError), suppress(TimeIsUp):
        while chosen.size and rounds < max_rounds:
            rows = np.column_stack([columns.vectors[chosen], columns.excesses[chosen] / delta])
            add_columns(lp, columns.values[chosen] / unit, rows)
            objective, weights, duals = solve(lp)
            used, rounds = np.append(used, chosen), rounds + 1
            duals = unit * np.append(duals[:n], np.maximum(duals[n:], 0.0) / delta)
            reduced, error = columns.reduced(duals)
            kappa = max(float((reduced + error).max()), 0.0)
            total = float(duals[:n].sum()) + delta * float(duals[n:].sum()) + kappa
            total += gamma(duals.size + 8) * (float(np.abs(duals).sum()) + kappa)
            if total <= bound:
                bound, best = total, np.append(duals[:n] + kappa * columns.scale, duals[n:])
            if bound - objective * unit <= tolerance * bound:
                break
            reduced[used] = -np.inf  # HiGHS may leave them a little above 0
            chosen = np.argsort(-reduced, kind="stable")[: 4 * GENERATION.batch]
            chosen = chosen[reduced[chosen] > NUMERICS.lp_tolerance * unit]
    if rounds:
        occurs = weights > 1e-13
        matrix = columns.vectors[used[occurs]].T * weights[occurs]
    else:
        matrix = _mixed_with_truth(randomized_response(n, epsilon), delta)
    return ApproximateSolution(matrix, bound, best, rounds)


def mixture_with_truth(
    utility: SublinearUtility, private: Channel, epsilon: float, delta: float, tolerance: float
) -> Optimum:
    """Return the truth with probability delta, else an eps-LDP mechanism, with a bound by contraction.

    Two rows of an (eps, delta)-LDP mechanism have a total variation of at most (e^eps - 1 + 2 delta) /
    (e^eps + 1), and no f-divergence, nor mutual information, contracts less than total variation does. Of
    total variation itself the mixture attains that share, with the best eps-LDP mechanism.
    """
    channel = within(_mixed_with_truth(private, delta), epsilon, delta)
    share = (-math.expm1(-epsilon) + 2.0 * delta * math.exp(-epsilon)) / (1.0 + math.exp(-epsilon))
    bound = share * utility(Channel(np.eye(private.n_inputs)))
    return certified(channel, utility(channel), bound, tolerance, unit=utility.unit)


def _mixed_with_truth(private: Channel, delta: float) -> FloatArray:
    """Return the matrix of a channel that tells the input with probability delta, and else is another one."""
    return np.column_stack([delta * np.eye(private.n_inputs), (1.0 - delta) * private.matrix])


def excess_rows(vectors: FloatArray, epsilon: float) -> FloatArray:
    """Return the h of any columns (m, inputs), (m, inputs (inputs - 1)); 0 where it is rounding."""
    high, low = np.nonzero(~np.eye(vectors.shape[1], dtype=bool))
    excess = vectors[:, high] - vectors[:, low] * math.exp(epsilon)
    return np.where(excess > 16.0 * gamma(8) * vectors[:, high], excess, 0.0)


def within(matrix: FloatArray, epsilon: float, delta: float) -> Channel:
    """Return a channel, mixed with a more private one as far as rounding took its delta beyond its limit.

    What the linear program leaves may be a large share of a small delta: then it is mixed with what becomes
    of the channel without a delta, which tells nearly as much. Next to nothing is mixed with nothing told.
    """
    channel = Channel(matrix / matrix.sum(axis=1, keepdims=True))
    found, target, reached = channel, delta, least_delta(channel, epsilon)
    other = np.ones((channel.n_inputs, 1)) if reached <= (1.0 + 1e-10) * delta else _without(channel, epsilon)
    own = least_delta(Channel(other), epsilon)
    while (beyond := least_delta(found, epsilon) - delta) > 0.0:
        # Products are rounded, too.
        target -= 2.0 * beyond if found is not channel else 0.0
        share = max((target - own) / (reached - own), 0.0)
        found = Channel(np.column_stack([share * channel.matrix, (1.0 - share) * other])).merged()
    return found


def _without(channel: Channel, epsilon: float) -> FloatArray:
    """Return the matrix of a channel whose small entries are raised to e^-eps times the largest of an output.

    What rows lack of a common sum is one more output, and all of them are so small that it is private, too.
    """
    Q, least = channel.matrix, math.exp(-epsilon)
    raised = np.maximum(Q, least * Q.max(axis=0))
    sums = raised.sum(axis=1)
    share = -math.expm1(-epsilon) / max(float(sums.max() - least * sums.min()), 1e-300)
    rest = np.maximum(1.0 - share * sums, 0.0)
    return np.column_stack([share * raised, np.maximum(rest, least * rest.max())])
