"""The optimum of hypothesis testing with limited mutual information leakage (liao2017, (2) and (32)).

With hypotheses p_1, ..., p_m on M letters, the problem is ::

    maximize min_{k >= 2} D(p_k W || p_1 W)   subject to   I(p_k, W) <= e_k for all k

over channels W with any number of outputs. Utility and leakage are both sums over the columns v of W of
sublinear functions g_k and psi_k, so that the column LP gets a budget row per leakage and an epigraph row
per utility. For any weights lambda (on the simplex), eta >= 0 and prices alpha ::

    optimum <= sum(alpha) + eta . e + max_v [lambda . g(v) - eta . psi(v) - alpha . v],

the maximum over columns with mean 1. What is maximized is a difference of convex functions. On a small
simplex of columns its convex part lies below the interpolation of its corners, its concave part below a
tangent: both are linear, and so is the bound, which branch and bound drives down to the maximum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import highspy
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.hypothesis_testing.hypotheses import Hypotheses, as_hypotheses, as_limits
from ldpfrontier.hypothesis_testing.two_outputs import HALVINGS, best_two_outputs
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import BITS
from ldpfrontier.model.optimum import (
    Method,
    Optimum,
    check_start,
    checked_effort,
    keeps_time_limit,
    records_fallbacks,
    uninformative,
)
from ldpfrontier.numerics.deadline import TimeIsUp, time_is_up
from ldpfrontier.numerics.highs import add_column, new_lp, solve
from ldpfrontier.numerics.jit import kernel
from ldpfrontier.numerics.settings import SETTINGS as NUMERICS

#: Relative gap asked for when the caller names none, by number of letters; more letters are not supported,
#: as branch and bound over the simplex of columns is for few dimensions.
TOLERANCES = {2: 1e-6, 3: 1e-5, 4: 1e-5, 5: 1e-3}

#: Least limit above 0, in bits: the weights of columns are resolved to about as much.
LEAST_LEAKAGE = 1e-9

#: Most hypotheses: every simplex of branch and bound has the gains and costs of all.
MAX_HYPOTHESES = 50

#: Columns added per round: the best of this many cells of a grid.
_BATCH = 40

#: Most simplices in one generation; the bounds of those left out still count.
_MOST = 200_000

#: Allowance for rounding in an upper bound: a share of it.
_ROUNDING = 1e-9

#: Share of a constant channel that is mixed in beyond the one that meets the limits: its rounding.
_MARGIN = 1e-12


# Longer than other functions: the cases that need no search come first, one after the other.
@records_fallbacks
@keeps_time_limit
def optimal_leakage(
    hypotheses: ArrayLike,
    leakage: ArrayLike,
    *,
    outputs: int | None = None,
    order: float = 1.0,
    tolerance: float | None = None,
    max_rounds: int = 100,
    start: Channel | None = None,
    max_seconds: float | None = None,
) -> Optimum:
    """Find the channel with limited leakage that best distinguishes p_1 from all other hypotheses.

    The utility is the least over k >= 2 of D(p_k W || p_1 W), the limits are I(p_k, W) <= leakage (liao2017,
    (2); with another order, (32)). The certificate is a dual bound, see the module.

    Parameters
    ----------
    hypotheses : array_like, shape (m, M)
        A distribution per row, 2 <= m <= 50. Up to 5 letters; the time grows fast with them.
    leakage : float or array_like, shape (m,)
        Limit of I(p_k, W) in bits, one for all hypotheses or one each: 0, 1e-9 or more, or inf for none.
    outputs : {None, 2}
        The best channel with any number of outputs, or (two letters only) the best of the 2 x 2 channels.
    order : float
        Order of the Renyi divergence, 0.01 to 100; 1 is relative entropy.
    tolerance : float, optional
        Relative gap at which to stop; by default `TOLERANCES`.
    max_rounds : int
        Most restricted LPs to solve; with outputs=2 most halvings of branch and bound, 48 in any case.
    start : Channel, optional
        A channel on the same letters (the optimum at another leakage, say), whose columns are among the
        first. Not with outputs=2, where no columns are generated.
    max_seconds : float, optional
        Seconds after which the best mechanism and bound found so far are returned, as "bounded"; 0 or more.

    Returns
    -------
    Optimum
        Value and bound in bits; "bounded" if the gap is above the tolerance.

    Raises
    ------
    Intractable
        If there are more than 5 letters or 50 hypotheses.
    ValueError
        If an argument is out of range, or a hypothesis has an infinite divergence from p_1: then there is
        no largest utility, as to reveal now and then a letter that p_1 does not have costs next to nothing.
    """
    tested = Hypotheses(as_hypotheses(hypotheses), order)
    limits = as_limits(leakage, len(tested.distributions))
    bits = limits * BITS
    if ((bits > 0) & (bits < LEAST_LEAKAGE * (1.0 - 1e-12))).any():
        least = float(bits[bits > 0].min())
        raise ValueError(f"The leakage is {least:g}; a limit must be 0, or {LEAST_LEAKAGE:g} bits or more.")
    if not (outputs is None or (isinstance(outputs, (int, float, np.number)) and outputs == 2)):
        raise ValueError(f"outputs is {outputs!r}; it must be 2, or None for any number of outputs.")
    M = tested.letters
    if outputs == 2 and M != 2:
        raise ValueError(f"The hypotheses have {M} letters; outputs=2 is supported for two only.")
    if outputs == 2 and start is not None:
        raise ValueError("outputs=2 takes no start: no columns are generated for it.")
    check_start(start, M)
    groups = _groups(tested.distributions, limits)
    size = int(groups.max()) + 1
    if size == 1:
        return uninformative(M, "bits", _closed_form())
    if size < M:
        # Letters of one group have equal rows: solve for groups.
        merged = np.zeros((len(limits), size))
        np.add.at(merged.T, groups, tested.distributions.T)
        optimum = optimal_leakage(
            merged,
            np.where(limits > 0, limits * BITS, math.inf),
            order=order,
            tolerance=tolerance,
            max_rounds=max_rounds,
            start=None if start is None else Channel(start.matrix[np.unique(groups, return_index=True)[1]]),
        )
        return replace(optimum, channel=Channel(optimum.channel.matrix[groups]))
    if not np.isfinite(tested.divergences).all():
        k = int(np.flatnonzero(~np.isfinite(tested.divergences))[0]) + 2
        raise ValueError(
            f"Hypothesis {k} has an infinite divergence from hypothesis 1, which misses a letter that"
            f" hypothesis {k} has: with any leakage above 0 the utility has no largest value."
        )
    if tested.divergences.min() <= 0:
        return uninformative(M, "bits", _closed_form())
    if (limits >= tested.entropies).all():
        # By data processing no channel does better than to reveal the letter.
        identity = Channel(np.eye(M))
        full = tested.utility(identity)
        return Optimum(identity, full, full, "optimal", 0, "bits", method=_closed_form())
    if len(limits) > MAX_HYPOTHESES:
        raise Intractable(f"There are {len(limits)} hypotheses; at most {MAX_HYPOTHESES} are supported.")
    if outputs is None and M not in TOLERANCES:
        raise Intractable(f"The hypotheses have {M} letters; at most {max(TOLERANCES)} are supported.")
    tolerance, max_rounds = checked_effort(TOLERANCES[M] if tolerance is None else tolerance, max_rounds)
    mechanisms = "channels of limited leakage"
    if outputs == 2:
        method = Method(
            f"{mechanisms} and two outputs", "branch and bound over 2 x 2 channels", "two outputs asked for"
        )
        channel, bound, rounds = best_two_outputs(tested, limits, tolerance, max_rounds)
    else:
        engine = "column generation, with branch and bound over simplices of columns"
        method = Method(mechanisms, engine, f"up to {max(TOLERANCES)} letters")
        channel, bound, rounds = _any_outputs(tested, limits, tolerance, max_rounds, start)
    upper = tested.divergence(bound) * BITS
    found = _certified(channel, tested.utility(channel), upper, tolerance, rounds)
    return replace(found, method=method)


def _closed_form() -> Method:
    """Return the method of what needs no search."""
    served = "no limit below what the hypotheses tell, or nothing to tell"
    return Method("channels of limited leakage", "closed form", served)


def _certified(channel: Channel, value: float, bound: float, tolerance: float, rounds: int) -> Optimum:
    """Put value and bound, in bits, together with rounding fit for numbers far below one."""
    upper = bound * (1.0 + _ROUNDING)
    if value > upper * (1.0 + _ROUNDING) + 1e-300:
        raise ArithmeticError(
            f"The value {value!r} exceeds its upper bound {upper!r}; the certificate fails."
        )
    status = "optimal" if math.isfinite(upper) and upper - value <= tolerance * upper else "bounded"
    return Optimum(channel, value, max(upper, value), status, rounds, "bits")


def _groups(hypotheses: FloatArray, limits: FloatArray) -> NDArray[np.intp]:
    """Give every letter the number of its group: rows of W in a group may as well be equal; shape (M,).

    They have to be in the support of a hypothesis that must not leak at all; a letter that no hypothesis has
    may join any group.
    """
    groups = np.arange(hypotheses.shape[1])
    unseen = hypotheses.max(axis=0) == 0
    for members in [hypotheses[k] > 0 for k in np.flatnonzero(limits == 0)]:
        groups[np.isin(groups, groups[members])] = groups[members].min()
    groups[unseen] = groups[~unseen][0]
    return np.unique(groups, return_inverse=True)[1]


@dataclass(frozen=True, eq=False)
class _Prices:
    """A dual point: weights of the utilities (they sum to one), prices of leakage and of the letters."""

    utilities: FloatArray
    leakages: FloatArray
    letters: FloatArray

    def reduced(self, hypotheses: Hypotheses, columns: FloatArray) -> FloatArray:
        """Return lambda . g - eta . psi - alpha . v of columns (n, M), shape (n,)."""
        gain, cost = hypotheses.gains(columns) @ self.utilities, hypotheses.costs(columns) @ self.leakages
        return np.asarray(gain - cost - columns @ self.letters)


@dataclass(eq=False)
class _RestrictedProgram:
    """The restricted LP: rows of the letters, of the budgets that are finite, and of the utilities.

    Everything is scaled to sizes near one: budgets by their limits, utilities by `units`, shape (m - 1,), the
    least of them by the least unit.
    """

    hypotheses: Hypotheses
    limits: FloatArray
    units: FloatArray
    lp: highspy.Highs = field(default_factory=new_lp)
    columns: list[FloatArray] = field(default_factory=list)

    def __post_init__(self) -> None:
        none, empty = np.empty(0, dtype=np.int32), np.empty(0)
        self.bounded = np.flatnonzero(np.isfinite(self.limits))
        self.rows = np.arange(self.hypotheses.letters + len(self.bounded) + len(self.limits) - 1)
        for _ in range(self.hypotheses.letters):
            self.lp.addRow(1.0, 1.0, 0, none, empty)
        for _ in self.bounded:
            self.lp.addRow(-highspy.kHighsInf, 1.0, 0, none, empty)
        for _ in self.limits[1:]:
            self.lp.addRow(-highspy.kHighsInf, 0.0, 0, none, empty)
        # The least utility, which is not negative.
        last = self.rows[1 - len(self.limits) :]
        self.unit = float(self.units.min())
        add_column(self.lp, 1.0, last, self.unit / self.units)

    def add(self, columns: FloatArray) -> None:
        """Add columns, shape (n, M)."""
        budgets = self.hypotheses.costs(columns)[:, self.bounded] / self.limits[self.bounded]
        utilities = -self.hypotheses.gains(columns) / self.units
        for column, entries in zip(columns, np.hstack([columns, budgets, utilities]), strict=True):
            add_column(self.lp, 0.0, self.rows, entries)
            self.columns.append(column)

    def solve(self) -> tuple[float, FloatArray, _Prices]:
        """Return the value, the weights of the columns, and the prices, in nats."""
        value, weights, duals = solve(self.lp)
        letters, last = self.hypotheses.letters, 1 - len(self.limits)
        budgets = np.zeros(len(self.limits))
        budgets[self.bounded] = np.maximum(duals[letters:last], 0.0) / self.limits[self.bounded]
        utilities = np.maximum(duals[last:], 0.0) * self.unit / self.units
        return (
            value * self.unit,
            weights[1:],
            _Prices(utilities / utilities.sum(), budgets * self.unit, duals[:letters] * self.unit),
        )

    def bound(self, prices: _Prices, excess: float) -> float:
        """Return the dual bound of prices at which no column is worth more than `excess`."""
        budget = float(prices.leakages[self.bounded] @ self.limits[self.bounded])
        return float(prices.letters.sum()) + budget + excess

    def channel(self, weights: FloatArray) -> Channel:
        """Build the channel from the weights of the columns, its row sums exact to rounding."""
        support = np.flatnonzero(weights > NUMERICS.lp_tolerance)
        basis = np.array([self.columns[j] for j in support]).T
        matrix = basis * weights[support]
        return Channel(matrix / matrix.sum(axis=1, keepdims=True))


def _any_outputs(
    hypotheses: Hypotheses, limits: FloatArray, tolerance: float, max_rounds: int, start: Channel | None
) -> tuple[Channel, float, int]:
    """Return the best channel, an upper bound on the least sum of gains of any, and the number of LPs."""
    # Revealing the letter with this probability, and nothing otherwise, keeps every limit.
    share = min(1.0, *(limits[hypotheses.entropies > 0] / hypotheses.entropies[hypotheses.entropies > 0]))
    most = np.array([hypotheses.hellinger(float(d)) for d in hypotheses.divergences])
    program = _RestrictedProgram(hypotheses, limits, units=most * float(share))
    program.add(_grid(hypotheses.letters))
    if start is not None:
        matrix = start.matrix[:, start.matrix.sum(axis=0) > 0]
        program.add((matrix / matrix.mean(axis=0)).T)
    bound, rounds = math.inf, 0
    while True:
        try:
            value, weights, prices = program.solve()
        except TimeIsUp:
            break
        rounds += 1
        excess, columns = _price(hypotheses, prices, slack=0.1 * tolerance * value)
        bound = min(bound, program.bound(prices, excess))
        if bound - value <= 0.8 * tolerance * value or rounds >= max_rounds or not len(columns):
            break
        program.add(columns)
    if rounds == 0:  # by data processing nothing tells more than the letter
        silent = np.full((hypotheses.letters, 1), 1.0 - share)
        known = Channel(np.hstack([share * np.eye(hypotheses.letters), silent]))
        return _feasible(hypotheses, limits, known), float(most.min()), 0
    channel = _merge_similar_columns(hypotheses, program.channel(weights), 0.05 * tolerance)
    return _feasible(hypotheses, limits, channel), bound, rounds


def _grid(letters: int) -> FloatArray:
    """List first columns: the constant, and what lies between it and the middles of faces."""
    subsets = np.arange(1, (1 << letters) - 1)[:, None] >> np.arange(letters) & 1
    faces = subsets * (letters / subsets.sum(axis=1, keepdims=True))
    if letters == 2:
        t = np.concatenate([np.geomspace(1e-3, 0.5, 28), 1.0 - np.geomspace(0.45, 1e-6, 28), np.ones(1)])
    else:
        t = np.array([0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 0.95, 1.0])
    rays = 1.0 + t[:, None, None] * (faces - 1.0)
    return np.concatenate([np.ones((1, letters)), rays.reshape(-1, letters)])


def _price(hypotheses: Hypotheses, prices: _Prices, slack: float) -> tuple[float, FloatArray]:
    """Bound the largest reduced cost from above to within `slack`; offer columns with a positive one.

    Branch and bound over simplices of columns, halved at their longest edge.
    """
    M = hypotheses.letters
    corners = M * np.eye(M)[None]
    convex = hypotheses.gains(corners) @ prices.utilities
    seen, worth = [corners[0]], [prices.reduced(hypotheses, corners[0])]
    best, bound = max(float(worth[0].max()), 0.0), 0.0
    for _ in range(HALVINGS * (M - 1)):
        tangent = hypotheses.slopes(corners.mean(axis=1), prices.leakages) + prices.letters
        upper = _largest_at_corners(corners, convex, tangent)
        open_ = upper > best + max(slack, 0.1 * best)
        if open_.sum() > _MOST:
            open_ &= upper > np.partition(upper, -_MOST)[-_MOST]
        open_ &= not time_is_up()
        bound = max(bound, float(upper[~open_].max(initial=0.0)))
        if not open_.any():
            break
        corners, convex, upper = corners[open_], convex[open_], upper[open_]
        each, (i, j) = np.arange(len(corners)), _longest_edges(corners)
        middle = (corners[each, i] + corners[each, j]) / 2.0
        values = prices.reduced(hypotheses, middle)
        seen.append(middle)
        worth.append(values)
        best = max(best, float(values.max()))
        at_middle = hypotheses.gains(middle) @ prices.utilities
        left, right, left_values, right_values = corners.copy(), corners, convex.copy(), convex
        left[each, i], right[each, j] = middle, middle
        left_values[each, i], right_values[each, j] = at_middle, at_middle
        corners, convex = np.concatenate([left, right]), np.concatenate([left_values, right_values])
    else:
        bound = max(bound, float(upper.max()))
    columns, reduced = np.concatenate(seen), np.concatenate(worth)
    return max(bound, best), _best_of_cells(columns, reduced, 0.1 * slack)


@kernel
def _largest_at_corners(corners: FloatArray, convex: FloatArray, tangents: FloatArray) -> FloatArray:
    """Return the largest of convex - corner . tangent over the corners of every simplex, shape (n,)."""
    highest = np.full(len(corners), -np.inf)
    for n in range(len(corners)):
        for c in range(corners.shape[1]):
            value = convex[n, c]
            for i in range(corners.shape[2]):
                value -= corners[n, c, i] * tangents[n, i]
            highest[n] = max(highest[n], value)
    return highest


@kernel
def _longest_edges(corners: FloatArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the two corners of the longest edge of every simplex, each of shape (n,)."""
    first, second = np.zeros(len(corners), dtype=np.int64), np.zeros(len(corners), dtype=np.int64)
    for n in range(len(corners)):
        longest = -1.0
        for i in range(corners.shape[1]):
            for j in range(i + 1, corners.shape[1]):
                length = 0.0
                for k in range(corners.shape[2]):
                    length += (corners[n, i, k] - corners[n, j, k]) ** 2
                if length > longest:
                    longest, first[n], second[n] = length, i, j
    return first, second


def _best_of_cells(columns: FloatArray, reduced: FloatArray, worthwhile: float) -> FloatArray:
    """Choose the best columns, and the best of every cell of a coarse grid."""
    order = np.argsort(-reduced, kind="stable")
    order = order[reduced[order] > worthwhile]
    cells = np.unique(np.floor(columns[order] * 16.0), axis=0, return_index=True)[1]
    chosen = np.union1d(np.sort(cells)[:_BATCH], np.arange(min(len(order), 8)))
    return columns[order[chosen]]


def _merge_similar_columns(hypotheses: Hypotheses, channel: Channel, loss: float) -> Channel:
    """Add up columns that are nearly proportional, as long as that costs at most this share of utility.

    The LP mixes neighbours among the columns it knows where one column between them is meant. Adding up
    columns is processing of the output, so no leakage grows.
    """
    floor = hypotheses.utility(channel) * (1.0 - loss)
    matrix = channel.matrix[:, channel.matrix.sum(axis=0) > 0]
    while matrix.shape[1] > 1:
        shapes = matrix / matrix.sum(axis=0)
        distance = np.abs(shapes[:, :, None] - shapes[:, None, :]).max(axis=0) + np.eye(matrix.shape[1])
        i, j = sorted(np.unravel_index(int(distance.argmin()), distance.shape))
        fewer = np.delete(matrix, j, axis=1)
        fewer[:, i] += matrix[:, j]
        if hypotheses.utility(Channel(fewer)) < floor:
            break
        matrix = fewer
    return Channel(matrix)


def _feasible(hypotheses: Hypotheses, limits: FloatArray, channel: Channel) -> Channel:
    """Mix with as much of a constant channel as removes what the LP's tolerance leaves above a limit.

    A mutual information is convex in the channel and 0 at a constant one, so it falls by the share at least.
    """
    leaks = hypotheses.leakage(channel) / BITS
    share = float((1.0 - np.divide(limits, leaks, out=np.ones_like(leaks), where=leaks > limits)).max())
    if share <= 0:
        return channel
    share += _MARGIN
    return Channel((1.0 - share) * channel.matrix + share * channel.matrix.mean(axis=0))
