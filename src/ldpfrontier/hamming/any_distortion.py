r"""The least distortion at a level, and the least level at a distortion, for any distortion matrix.

kalantari2018 leaves distortions other than Hamming's open (section VI), and kairouz2016 utilities that
depend on names or distances (section 6). With d(x, y) for input x and output y, a channel of level eps has ::

    Q(y|x) = e^-eps u_y + s_xy,    0 <= s_xy <= (1 - e^-eps) u_y,    u_y = max_x Q(y|x),

so the least distortion max_P sum P_x Q(y|x) d(x, y) is a linear program with as many rows as Q has entries.

**Bound.** For weights of the sources, which make a mixture p, and any prices a_x of the rows, let
c_xy = p_x d(x, y) - a_x. A column of largest entry u_y costs at least u_y r_y with r_y = sum_x (e^-eps
max(c_xy, 0) - max(-c_xy, 0)). The u_y add up to at least 1, and to at most m = min(e^eps, inputs). So no
channel has less than sum(a) + min_y min(r_y, m r_y), whatever the program did.

The least level at a limit of the distortion is found by a search over levels. Hamming distortion needs no
such program (`dp_leakage`), and `distortion_leakage` leaves it to `hamming_leakage`.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.optimize import brentq

from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.hamming.dp_leakage import hamming_leakage
from ldpfrontier.hamming.optimum import DISTORTION_ROUNDING, MECHANISMS, DistortionOptimum, LeakageOptimum
from ldpfrontier.hamming.sources import LEAST_DISTORTION, SourceSet, as_sources
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.optimum import (
    Method,
    checked_effort,
    checked_epsilon,
    keeps_time_limit,
    records_fallbacks,
)
from ldpfrontier.model.privacy import ldp_epsilon
from ldpfrontier.numerics.arguments import as_number, as_numbers
from ldpfrontier.numerics.deadline import TimeIsUp
from ldpfrontier.numerics.highs import maximize
from ldpfrontier.numerics.rounding import gamma

#: Most entries of a distortion matrix: 100 x 100 take 4 s for each level, with any source.
MAX_ENTRIES = 10_000
#: Most products of a source's probability and an entry: each is a coefficient.
MAX_PRODUCTS = 2_000_000
#: Largest entry of a distortion matrix.
MOST = 1e100

_ENGINE = "a linear program over all channels"


class LeastCost(NamedTuple):
    """A channel with its distortion, a lower bound, and the weights of the sources that prove it."""

    channel: Channel
    value: float
    bound: float
    weights: FloatArray


@dataclass(eq=False)
class DistortionProgram:
    """The linear program of the module for costs C, shape (J, inputs, outputs), the largest of them near 1.

    It minimizes the largest of the sums of C_j times Q; of a source P and a distortion d, C has the entries
    P_x d(x, y).
    """

    costs: FloatArray
    _fixed: sparse.csr_array = field(init=False)
    _silent: sparse.csr_array = field(init=False)

    def __post_init__(self) -> None:
        J, inputs, outputs = self.costs.shape
        entries, each = inputs * outputs, np.ones((inputs, 1))
        # Variables s, u and the value; rows of s <= (1 - e^-eps) u, of the costs, and of the row sums. What
        # has the factor e^-eps is apart.
        largest = sparse.csr_array(sparse.kron(each, sparse.eye_array(outputs)))
        sums = sparse.csr_array(sparse.kron(sparse.eye_array(inputs), np.ones((1, outputs))))
        costs = sparse.csr_array(self.costs.reshape(J, entries))
        limits = sparse.hstack([sparse.eye_array(entries), -largest, sparse.csr_array((entries, 1))])
        values = sparse.hstack([costs, sparse.csr_array((J, outputs)), sparse.csr_array(-np.ones((J, 1)))])
        rows = sparse.hstack([sums, sparse.csr_array((inputs, outputs + 1))])
        self._fixed = sparse.csr_array(sparse.vstack([limits, values, rows]))
        total, ones = sparse.csr_array(self.costs.sum(axis=1)), sparse.csr_array(np.ones((inputs, outputs)))
        silent, size = sparse.vstack([largest, total, ones]), self._fixed.shape[0]
        around = sparse.csr_array((size, entries)), sparse.csr_array((size, 1))
        self._silent = sparse.csr_array(sparse.hstack([around[0], silent, around[1]]))

    def solve(self, epsilon: float) -> LeastCost:
        """Solve the program at a level, nats."""
        J, inputs, outputs = self.costs.shape
        entries, e = inputs * outputs, math.exp(-epsilon)
        upper = np.append(np.zeros(entries + J), np.ones(inputs))
        lower = np.append(np.full(entries + J, -np.inf), np.ones(inputs))
        cost = np.append(np.zeros(entries + outputs), -1.0)
        found = maximize(cost, sparse.csr_array(self._fixed + e * self._silent), lower, upper)
        if found is None:  # pragma: no cover - a constant channel is feasible
            raise ArithmeticError(f"The program of the level {epsilon} has no solution.")
        _, x, duals = found
        u, s = np.maximum(x[entries:-1], 0.0), x[:entries].reshape(inputs, outputs)
        channel = private_channel(e * u + np.clip(s, 0.0, (1.0 - e) * u), epsilon)
        weights = np.maximum(duals[entries:-inputs], 0.0)
        weights = weights / weights.sum() if weights.sum() > 0 else np.full(J, 1.0 / J)
        bound = self.bound(weights, -duals[-inputs:], epsilon)
        return LeastCost(channel, self.value(channel), bound, weights)

    def value(self, channel: Channel) -> float:
        """Return the largest cost of a channel."""
        return float(np.tensordot(self.costs, channel.matrix, 2).max())

    def bound(self, weights: FloatArray, prices: FloatArray, epsilon: float) -> float:
        """Return the bound of the module at weights that add up to 1 and prices, lowered by its rounding."""
        J, k, _ = self.costs.shape
        e, most = math.exp(-epsilon), min(math.exp(epsilon), float(k))
        mixed = np.tensordot(weights, self.costs, 1)
        c = mixed - prices[:, None]
        r = (e * np.maximum(c, 0.0) - np.maximum(-c, 0.0)).sum(axis=0)
        r -= gamma(2 * k + 2 * J + 16) * (mixed + np.abs(prices)[:, None]).sum(axis=0)
        total = float(prices.sum()) - gamma(k + 4) * float(np.abs(prices).sum())
        bound = total + float(np.minimum(r, most * r).min())
        return max(bound - gamma(8) * (abs(total) + abs(bound)), 0.0)


def private_channel(matrix: FloatArray, epsilon: float) -> Channel:
    """Return a channel of a level from a matrix that the program's rounding has left a little beyond it."""
    channel = Channel(matrix / matrix.sum(axis=1, keepdims=True))
    beyond = ldp_epsilon(channel) - epsilon
    if beyond <= 1e-15 * (1.0 + epsilon):
        return channel
    # A share of the mean row divides the ratio by 1 + share (1 - e^-eps), or more.
    share = min(2.0 * beyond / -math.expm1(-epsilon), 1.0) if epsilon > 0 else 1.0
    return Channel((1.0 - share) * channel.matrix + share * channel.matrix.mean(axis=0))


@records_fallbacks
@keeps_time_limit
def least_distortion(
    sources: SourceSet | ArrayLike,
    distortion: ArrayLike,
    epsilon: float,
    *,
    tolerance: float = 1e-9,
    max_seconds: float | None = None,
) -> DistortionOptimum:
    """Find the eps-LDP channel of least expected distortion, for any distortion matrix and source set.

    The distortion of a channel is the largest over the set of sum_xy P(x) Q(y|x) d(x, y), with d a distance
    of numbers, of names in a tree, or a loss of any kind. What is lost with the best estimate from a report,
    such as a mean squared error, is the same with an output for each estimate.

    Parameters
    ----------
    sources : SourceSet or array_like, shape (J, M)
        Distributions of the input; the set is their convex hull.
    distortion : array_like, shape (M, outputs)
        d(x, y), each 0 or more; up to 10,000 entries.
    epsilon : float
        Privacy level in nats, 0, or 0.001 to 300.
    tolerance : float
        Largest relative gap of an "optimal" result. The program resolves 1e-10 of the largest d(x, y) or so,
        which leaves more from a level of 12 on.
    max_seconds : float, optional
        Seconds after which a constant channel is returned, as "bounded"; 0 or more.

    Returns
    -------
    DistortionOptimum
        Its bound holds for every channel of the level, whatever the linear program did.

    Raises
    ------
    Intractable
        If the matrix has more than 10,000 entries, or with the sources 2,000,000 products.
    ValueError
        If the sources, the distortion or the level are not valid.
    """
    sources = as_sources(sources)
    d, unit = _checked(distortion, sources)
    epsilon, (tolerance, _) = checked_epsilon(epsilon), checked_effort(tolerance, 0)
    program = DistortionProgram(sources.distributions[:, :, None] * d)
    try:
        found = program.solve(epsilon)
    except TimeIsUp:
        best = int((sources.distributions @ d).max(axis=0).argmin())
        same = Channel(np.tile(np.eye(d.shape[1])[best], (len(d), 1)))
        weights = np.eye(len(sources.distributions))[0]
        found = LeastCost(same, program.value(same), 0.0, weights)
    value = unit * found.value
    optimum = DistortionOptimum(
        found.channel, value, min(unit * found.bound, value), "optimal", 1,
        prior=found.weights @ sources.distributions,
        method=Method("locally differentially private mechanisms", _ENGINE, "any distortion"),
    )  # fmt: skip
    return optimum if optimum.gap <= tolerance else replace(optimum, status="bounded")


@records_fallbacks
@keeps_time_limit
def distortion_leakage(
    sources: SourceSet | ArrayLike,
    distortion: ArrayLike,
    limit: float,
    *,
    tolerance: float = 1e-9,
    max_rounds: int = 100,
    max_seconds: float | None = None,
) -> LeakageOptimum:
    """Compute the least DP leakage of a channel whose expected distortion keeps a limit, in nats.

    `hamming_leakage` is the case d(x, y) = 1 for x != y, and computes it, if that is the distortion. Other
    ones take a search over levels, with the program of `least_distortion` at each.

    Parameters
    ----------
    sources : SourceSet or array_like, shape (J, M)
        Distributions of the input; the set is their convex hull.
    distortion : array_like, shape (M, outputs)
        d(x, y), each 0 or more; up to 10,000 entries.
    limit : float
        Largest expected distortion for every distribution of the set.
    tolerance : float
        Largest gap value - bound of an "optimal" result, in nats: absolute, as the least leakage may be 0.
    max_rounds : int
        Most levels to try.
    max_seconds : float, optional
        Seconds after which the best mechanism and bound found so far are returned, as "bounded"; 0 or more.

    Returns
    -------
    LeakageOptimum
        Its channel meets the limit within 1e-13 of the largest d(x, y).

    Raises
    ------
    Intractable
        If the matrix has more than 10,000 entries, or with the sources 2,000,000 products.
    ValueError
        If the arguments are not valid, or no channel meets the limit that leaks up to some 20 nats.
    """
    sources = as_sources(sources)
    limit = as_number(limit, "The limit of the distortion", "a finite number, 0 or more", least=0.0)
    tolerance, max_rounds = checked_effort(tolerance, max_rounds)
    given = as_numbers(distortion, "The distortion")
    hamming = given.shape == 2 * (sources.letters,) and bool((given == 1.0 - np.eye(len(given))).all())
    if hamming and LEAST_DISTORTION <= limit < 1.0:
        return hamming_leakage(sources, limit, tolerance=tolerance, max_rounds=max_rounds)
    d, unit = _checked(distortion, sources)
    program = DistortionProgram(sources.distributions[:, :, None] * d)
    search = _Search(program, limit / unit, max_rounds, _mixed(program, d, limit / unit))
    least = float((sources.distributions @ d.min(axis=1)).max())
    with suppress(TimeIsUp):
        if not search.needs_nothing() and search.limit < least + LEAST_DISTORTION:
            raise ValueError(
                f"The limit of the distortion is {limit:g}; it must be at least {unit * least:g}, the least"
                f" of all channels, and {LEAST_DISTORTION:g} times the largest entry."
            )
        search.run(tolerance)
    value = max(search.high, search.low)
    return LeakageOptimum(
        search.channel, value, search.low, "optimal" if value - search.low <= tolerance else "bounded",
        search.rounds, prior=search.weights @ sources.distributions,
        distortion=unit * program.value(search.channel),
        method=Method(MECHANISMS, f"a search over levels, with {_ENGINE} at each", "any distortion"),
    )  # fmt: skip


@dataclass(eq=False)
class _Search:
    """A search for the least level, nats, between one at which a bound exceeds the limit and a channel's."""

    program: DistortionProgram
    limit: float
    max_rounds: int
    channel: Channel
    low: float = 0.0
    rounds: int = 0
    first: float = 0.0  # what `excess` is at level 0

    def __post_init__(self) -> None:
        self.high = ldp_epsilon(self.channel)
        self.weights = np.full(len(self.program.costs), 1.0 / len(self.program.costs))

    def needs_nothing(self) -> bool:
        """Return whether a channel with equal rows meets the limit, or nothing may be tried."""
        self.first = self.excess(0.0) if self.max_rounds else 0.0
        return self.first <= 0.0

    def run(self, tolerance: float) -> None:
        """Search until the gap is within the tolerance, or the rounds are used up."""
        if self.first <= 0.0:
            return
        step, top = max(tolerance / 2.0, 1e-12), self.high

        def excess(level: float) -> float:
            # At the top a channel is known, which the program misses by its rounding at most.
            return min(self.excess(level), -DISTORTION_ROUNDING) if level == top else self.excess(level)

        if self.max_rounds > self.rounds and top > step:
            most = min(self.max_rounds - self.rounds, 200)
            options: dict[str, Any] = {"xtol": step, "maxiter": most, "disp": False}
            brentq(lambda level: self.first if level == 0.0 else excess(level), 0.0, top, **options)
        # Where the distortion hardly falls with the level, its bounds are the ones to look for.
        end = self.high
        while end - self.low > step and self.high - self.low > tolerance and self.rounds < self.max_rounds:
            level = (self.low + end) / 2.0
            self.excess(level)
            end = end if self.low == level else min(level, self.high)

    def excess(self, level: float) -> float:
        """Return by how much the least distortion at a level exceeds the limit; keep what that proves."""
        found = self.program.solve(level)
        self.rounds += 1
        if found.bound > self.limit and level >= self.low:
            self.low, self.weights = level, found.weights
        excess = found.value - self.limit - DISTORTION_ROUNDING
        if excess <= 0.0 and (reached := ldp_epsilon(found.channel)) <= self.high:
            self.high, self.channel = reached, found.channel
        return excess


def _mixed(program: DistortionProgram, d: FloatArray, limit: float) -> Channel:
    """Return a channel that meets a limit: the best output of every input, mixed with one and the same row.

    It leaks without bound if the best outputs alone have the limit.
    """
    best = np.zeros(d.shape)
    best[np.arange(len(d)), d.argmin(axis=1)] = 1.0
    same = np.broadcast_to(best.mean(axis=0), d.shape)
    least, most = program.value(Channel(best)), program.value(Channel(same))
    share = 1.0 if most <= limit else min(max((limit - least) / (most - least), 0.0), 1.0)
    return Channel((1.0 - share) * best + share * same)


def _checked(distortion: ArrayLike, sources: SourceSet) -> tuple[FloatArray, float]:
    """Return a distortion matrix with the largest entry 1, and what that was."""
    d = as_numbers(distortion, "The distortion")
    if d.ndim != 2 or len(d) != sources.letters or not d.size:
        raise ValueError(
            f"The distortion has shape {d.shape}; it must be a matrix with {sources.letters} rows, one for"
            " each letter of the sources, and a column for each output."
        )
    if not ((d >= 0.0) & (d <= MOST)).all():
        x, y = np.argwhere(~((d >= 0.0) & (d <= MOST)))[0]
        raise ValueError(
            f"The distortion has the entry {d[x, y]:g} at ({x}, {y}); allowed is 0 to {MOST:g}. A constant"
            " added to all of them is added to every expected distortion."
        )
    if d.size > MAX_ENTRIES or d.size * len(sources.distributions) > MAX_PRODUCTS:
        raise Intractable(
            f"The distortion has {d.size:,} entries, and there are {len(sources.distributions):,} sources; at"
            f" most {MAX_ENTRIES:,} entries, and {MAX_PRODUCTS:,} times the sources, are supported."
        )
    unit = float(d.max()) or 1.0
    return d / unit, unit
