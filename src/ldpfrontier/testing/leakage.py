r"""Hypothesis testing under mutual information leakage: the optimum of liao2017, (2) and (32).

With hypotheses p_1, ..., p_m on M letters, the problem is ::

    maximize min_{k >= 2} D(p_k W || p_1 W)   subject to   I(p_k, W) <= e_k for all k

over channels W with any number of outputs. Utility and leakage are both sums over the columns v of W of
sublinear functions g_k and psi_k, so that the column LP gets a budget row per leakage and an epigraph row
per utility. For any weights lambda (on the simplex), eta >= 0 and prices alpha ::

    optimum <= sum(alpha) + eta . e + max_v [lambda . g(v) - eta . psi(v) - alpha . v],

the maximum over columns with mean 1. What is maximized is a difference of convex functions. On a small
simplex of columns its convex part lies below the interpolation of its corners, its concave part below a
tangent: both are linear, and so is the bound, which branch and bound drives down to the maximum.

With two letters and two outputs, W = [[a, 1 - a], [b, 1 - b]] and a >= b after exchanging the outputs.
Utility and leakage grow with a, so the optimum is on the curve of the largest feasible a over b. The feasible
set is convex: tangents at two points of the curve bound it in between, and a convex utility is largest at the
corners of that bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import highspy
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpfrontier.channel import Channel, FloatArray, as_distribution
from ldpfrontier.information import entropy, relative_excess, renyi_divergence
from ldpfrontier.lp import LP_TOLERANCE, add_column, new_lp, solve
from ldpfrontier.optimal.column_generation import BATCH
from ldpfrontier.optimum import ROUNDING, Intractable, Optimum

BITS = 1.0 / math.log(2.0)

#: Relative gap asked for when the caller names none, by number of letters; more letters are not supported,
#: as branch and bound over the simplex of columns is for few dimensions.
TOLERANCES = {2: 1e-6, 3: 1e-5, 4: 1e-5, 5: 1e-3}

#: Halvings after which branch and bound gives up on a simplex, per dimension; it keeps the bound it has.
_DEPTH = 48

#: Rounding of a dual bound whose terms are at most about one.
_ROUNDING = 1e-14

#: Most simplices in one generation; the bounds of those left out still count.
_MOST = 200_000


@dataclass(frozen=True, eq=False)
class HypothesisTest:
    """Utility and leakage of a channel as sums over its columns, in nats.

    Parameters
    ----------
    hypotheses : array_like, shape (m, M)
        The distributions p_1, ..., p_m, m >= 2; p_1 is the one that is told apart from the others.
    order : float
        Order of the Renyi divergence, > 0 and finite; 1 is relative entropy.

    Raises
    ------
    ValueError
        If there are fewer than two hypotheses, one is not a distribution, or the order is out of range.
    """

    hypotheses: FloatArray
    order: float = 1.0

    def __post_init__(self) -> None:
        table = np.array(self.hypotheses, dtype=np.float64)
        if table.ndim != 2 or len(table) < 2:
            raise ValueError(
                f"The hypotheses have shape {table.shape}; they must be (m, M): a row per hypothesis, m >= 2."
            )
        rows = [as_distribution(row, f"Hypothesis {k}") for k, row in enumerate(table, start=1)]
        object.__setattr__(self, "hypotheses", np.array(rows))
        if not 0 < self.order < math.inf:
            raise ValueError(f"The order is {self.order}; it must be a finite number above 0.")

    @property
    def letters(self) -> int:
        """Number of letters M."""
        return int(self.hypotheses.shape[1])

    @cached_property
    def entropies(self) -> FloatArray:
        """H(p_k), nats, shape (m,)."""
        return np.array([entropy(p) for p in self.hypotheses])

    @cached_property
    def divergences(self) -> FloatArray:
        """D(p_k || p_1) of the order asked for, k >= 2, nats, shape (m - 1,): the utility without privacy."""
        first, *others = self.hypotheses
        return np.array([renyi_divergence(p, first, self.order) for p in others])

    def gains(self, columns: FloatArray) -> FloatArray:
        """Return g_k of columns (..., M), shape (..., m - 1): their sum over a channel is `hellinger`."""
        z = columns @ self.hypotheses.T
        difference = columns @ (self.hypotheses[1:] - self.hypotheses[0]).T
        first = np.broadcast_to(z[..., :1], difference.shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(first > 0, difference / first, 0.0)
            if self.order == 1:
                return np.asarray(first * relative_excess(t))
            order, t = self.order, np.maximum(t, -1.0)
            inside = first * (np.expm1(order * np.log1p(t)) - order * t) / (order - 1.0)
        # Only an order below 1 lets p_1 miss a letter.
        return np.where(first > 0, inside, difference * (order / (1.0 - order) if order < 1 else 0.0))

    def costs(self, columns: FloatArray) -> FloatArray:
        """Return psi_k of columns (..., M), shape (..., m): their sum over a channel is its leakage."""
        z = (columns @ self.hypotheses.T)[..., None]
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(z > 0, (columns[..., None, :] - z) / z, 0.0)
        return np.asarray((self.hypotheses * z * relative_excess(t)).sum(axis=-1))

    def slopes(self, columns: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the gradient of weights . psi at columns (..., M) > 0, shape (..., M)."""
        z = columns @ self.hypotheses.T
        # A hypothesis that does not see a column has no p_ki to weigh its infinite logarithm with.
        logs = np.log(columns)[..., None, :] - np.log(np.where(z > 0, z, 1.0))[..., None]
        return np.asarray((weights[:, None] * self.hypotheses * logs).sum(axis=-2))

    def divergence(self, hellinger: float) -> float:
        """Turn a sum of `gains` into the divergence, nats; increasing."""
        if self.order == 1:
            return hellinger
        argument = max((self.order - 1.0) * hellinger, -1.0)
        return math.log1p(argument) / (self.order - 1.0) if argument > -1 else math.inf

    def hellinger(self, divergence: float) -> float:
        """Invert `divergence`."""
        if self.order == 1:
            return divergence
        return math.expm1((self.order - 1.0) * divergence) / (self.order - 1.0)

    def utility(self, channel: Channel) -> float:
        """Return min_k D(p_k W || p_1 W) in bits."""
        return self.divergence(float(self.gains(channel.matrix.T).sum(axis=0).min())) * BITS

    def leakage(self, channel: Channel) -> FloatArray:
        """Return I(p_k, W) in bits, shape (m,)."""
        return np.asarray(self.costs(channel.matrix.T).sum(axis=0) * BITS)


def optimal_leakage(
    hypotheses: ArrayLike,
    leakage: ArrayLike,
    outputs: int | None = None,
    *,
    order: float = 1.0,
    tolerance: float | None = None,
    max_rounds: int = 100,
    start: Channel | None = None,
) -> Optimum:
    """Find the channel that tells p_1 from the other hypotheses best at a limited leakage.

    The utility is the least over k >= 2 of D(p_k W || p_1 W), the limits are I(p_k, W) <= leakage (liao2017,
    (2); with another order, (32)). The certificate is a dual bound, see the module.

    Parameters
    ----------
    hypotheses : array_like, shape (m, M)
        A distribution per row, m >= 2. Up to 5 letters; the time grows fast with them.
    leakage : float or array_like, shape (m,)
        Limit of I(p_k, W) in bits, one for all hypotheses or one each; 0 or more, inf for none.
    outputs : {None, 2}
        The best channel with any number of outputs, or (two letters only) the best of the 2 x 2 channels.
    order : float
        Order of the Renyi divergence, > 0; 1 is relative entropy.
    tolerance : float, optional
        Relative gap at which to stop; by default `TOLERANCES`.
    max_rounds : int
        Most restricted LPs to solve.
    start : Channel, optional
        A channel on the same letters (the optimum at another leakage, say), whose columns are among the
        first; not used if letters have to share a row, or with outputs=2.

    Returns
    -------
    Optimum
        Value and bound in bits.

    Raises
    ------
    Intractable
        If there are more than 5 letters.
    ValueError
        If an argument is out of range, or a hypothesis has an infinite divergence from p_1: then there is
        no largest utility, as to reveal now and then a letter that p_1 does not have costs next to nothing.
    """
    test = HypothesisTest(np.array(hypotheses, dtype=np.float64), order)
    limits = _limits(leakage, len(test.hypotheses))
    if outputs not in (None, 2):
        raise ValueError(f"outputs is {outputs}; it must be 2, or None for any number of outputs.")
    if outputs == 2 and test.letters != 2:
        raise ValueError(f"The hypotheses have {test.letters} letters; outputs=2 is supported for two only.")
    if start is not None and start.n_inputs != test.letters:
        raise ValueError(
            f"The start has {start.n_inputs} inputs, the hypotheses have {test.letters} letters."
        )
    groups = _groups(test.hypotheses, limits)
    size = int(groups.max()) + 1
    if size < test.letters:
        # Letters of one group have equal rows: solve for groups.
        if size == 1:
            return Optimum(Channel(np.ones((test.letters, 1))), 0.0, 0.0, "optimal", 0)
        merged = np.zeros((len(limits), size))
        np.add.at(merged.T, groups, test.hypotheses.T)
        free = np.where(limits > 0, limits * BITS, math.inf)
        found = optimal_leakage(merged, free, order=order, tolerance=tolerance, max_rounds=max_rounds)
        wide = Channel(found.channel.matrix[groups])
        return Optimum(wide, found.value, found.upper_bound, found.status, found.iterations)
    if not np.isfinite(test.divergences).all():
        k = int(np.flatnonzero(~np.isfinite(test.divergences))[0]) + 2
        raise ValueError(
            f"Hypothesis {k} has an infinite divergence from hypothesis 1, which misses a letter that"
            f" hypothesis {k} has: with any leakage above 0 the utility has no largest value."
        )
    if test.divergences.min() <= 0:
        return Optimum(Channel(np.ones((test.letters, 1))), 0.0, 0.0, "optimal", 0)
    if (limits >= test.entropies).all():
        # By data processing no channel does better than none.
        identity = Channel(np.eye(test.letters))
        full = test.utility(identity)
        return Optimum(identity, full, full, "optimal", 0)
    if tolerance is None:
        tolerance = TOLERANCES.get(test.letters, 1e-3)
    if outputs == 2:
        return _two_by_two(test, limits, tolerance)
    if test.letters not in TOLERANCES:
        most = max(TOLERANCES)
        raise Intractable(f"The hypotheses have {test.letters} letters; at most {most} are supported.")
    return _any_outputs(test, limits, tolerance, max_rounds, start)


def _certified(channel: Channel, value: float, bound: float, tolerance: float, rounds: int) -> Optimum:
    """Put value and bound together with rounding fit for numbers far below one."""
    upper = bound * (1.0 + 1e3 * ROUNDING) + _ROUNDING
    if value > upper:
        raise ArithmeticError(
            f"The value {value!r} exceeds its upper bound {upper!r}; the certificate fails."
        )
    status = "optimal" if upper - value <= tolerance * upper else "bounded"
    return Optimum(channel, value, upper, status, rounds)


def _limits(leakage: ArrayLike, m: int) -> FloatArray:
    """Return the limits in nats, shape (m,)."""
    given = np.asarray(leakage, dtype=np.float64)
    if given.shape not in ((), (m,)):
        raise ValueError(
            f"The leakage has shape {given.shape}; it must be a number or one per hypothesis, ({m},)."
        )
    if np.isnan(given).any() or (given < 0).any():
        raise ValueError(f"The leakage is {leakage!r}; every limit must be 0 or more.")
    return np.asarray(np.broadcast_to(given / BITS, (m,)), dtype=np.float64)


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


# Any number of outputs ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Prices:
    """A dual point: weights of the utilities (they sum to one), prices of leakage and of the letters."""

    utilities: FloatArray
    leakages: FloatArray
    letters: FloatArray

    def reduced(self, test: HypothesisTest, columns: FloatArray) -> FloatArray:
        """Return lambda . g - eta . psi - alpha . v of columns (n, M), shape (n,)."""
        gain, cost = test.gains(columns) @ self.utilities, test.costs(columns) @ self.leakages
        return np.asarray(gain - cost - columns @ self.letters)


@dataclass(eq=False)
class _Program:
    """The restricted LP: rows of the letters, of the budgets that are finite, and of the utilities.

    Everything is scaled to sizes near one: budgets by their limits, utilities by `unit`.
    """

    test: HypothesisTest
    limits: FloatArray
    unit: float
    lp: highspy.Highs = field(default_factory=new_lp)
    columns: list[FloatArray] = field(default_factory=list)

    def __post_init__(self) -> None:
        none, empty = np.empty(0, dtype=np.int32), np.empty(0)
        self.bounded = np.flatnonzero(np.isfinite(self.limits))
        self.rows = np.arange(self.test.letters + len(self.bounded) + len(self.limits) - 1)
        for _ in range(self.test.letters):
            self.lp.addRow(1.0, 1.0, 0, none, empty)
        for _ in self.bounded:
            self.lp.addRow(-highspy.kHighsInf, 1.0, 0, none, empty)
        for _ in self.limits[1:]:
            self.lp.addRow(-highspy.kHighsInf, 0.0, 0, none, empty)
        # The least utility, which is not negative.
        last = self.rows[1 - len(self.limits) :]
        add_column(self.lp, 1.0, last, np.ones(len(last)))

    def add(self, columns: FloatArray) -> None:
        """Add columns, shape (n, M)."""
        budgets = self.test.costs(columns)[:, self.bounded] / self.limits[self.bounded]
        utilities = -self.test.gains(columns) / self.unit
        for column, entries in zip(columns, np.hstack([columns, budgets, utilities]), strict=True):
            add_column(self.lp, 0.0, self.rows, entries)
            self.columns.append(column)

    def solve(self) -> tuple[float, FloatArray, _Prices]:
        """Return the value, the weights of the columns, and the prices, in nats."""
        value, weights, duals = solve(self.lp)
        letters, last = self.test.letters, 1 - len(self.limits)
        budgets = np.zeros(len(self.limits))
        budgets[self.bounded] = np.maximum(duals[letters:last], 0.0) / self.limits[self.bounded]
        utilities = np.maximum(duals[last:], 0.0)
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
        support = np.flatnonzero(weights > LP_TOLERANCE)
        basis = np.array([self.columns[j] for j in support]).T
        matrix = basis * weights[support]
        return Channel(matrix / matrix.sum(axis=1, keepdims=True))


def _any_outputs(
    test: HypothesisTest, limits: FloatArray, tolerance: float, max_rounds: int, start: Channel | None
) -> Optimum:
    # Revealing the letter with this probability, and nothing otherwise, keeps every limit.
    share = min(1.0, *(limits[test.entropies > 0] / test.entropies[test.entropies > 0]))
    least = min(test.hellinger(float(d)) for d in test.divergences)
    program = _Program(test, limits, unit=least * float(share))
    program.add(_grid(test.letters))
    if start is not None:
        matrix = start.matrix[:, start.matrix.sum(axis=0) > 0]
        program.add((matrix / matrix.mean(axis=0)).T)
    bound, rounds = math.inf, 0
    while True:
        value, weights, prices = program.solve()
        rounds += 1
        excess, columns = _price(test, prices, slack=0.1 * tolerance * value)
        bound = min(bound, program.bound(prices, excess))
        if bound - value <= 0.8 * tolerance * value or rounds >= max_rounds or not len(columns):
            break
        program.add(columns)
    channel = _feasible(test, limits, _tidy(test, program.channel(weights), 0.05 * tolerance))
    upper = test.divergence(bound) * BITS
    return _certified(channel, test.utility(channel), upper, tolerance, rounds)


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


def _price(test: HypothesisTest, prices: _Prices, slack: float) -> tuple[float, FloatArray]:
    """Bound the largest reduced cost from above to within `slack`; offer columns with a positive one.

    Branch and bound over simplices of columns, halved at their longest edge.
    """
    M = test.letters
    corners = M * np.eye(M)[None]
    convex = test.gains(corners) @ prices.utilities
    seen, worth = [corners[0]], [prices.reduced(test, corners[0])]
    best, bound = max(float(worth[0].max()), 0.0), 0.0
    first, second = np.triu_indices(M, 1)
    for _ in range(_DEPTH * (M - 1)):
        tangent = test.slopes(corners.mean(axis=1), prices.leakages) + prices.letters
        upper = (convex - (corners @ tangent[:, :, None])[..., 0]).max(axis=1)
        open_ = upper > best + max(slack, 0.1 * best)
        if open_.sum() > _MOST:
            open_ &= upper > np.partition(upper, -_MOST)[-_MOST]
        bound = max(bound, float(upper[~open_].max(initial=0.0)))
        if not open_.any():
            break
        corners, convex, upper = corners[open_], convex[open_], upper[open_]
        lengths = np.square(corners[:, first] - corners[:, second]).sum(axis=2)
        edge = lengths.argmax(axis=1)
        each, i, j = np.arange(len(corners)), first[edge], second[edge]
        middle = (corners[each, i] + corners[each, j]) / 2.0
        values = prices.reduced(test, middle)
        seen.append(middle)
        worth.append(values)
        best = max(best, float(values.max()))
        at_middle = test.gains(middle) @ prices.utilities
        left, right, left_values, right_values = corners.copy(), corners, convex.copy(), convex
        left[each, i], right[each, j] = middle, middle
        left_values[each, i], right_values[each, j] = at_middle, at_middle
        corners, convex = np.concatenate([left, right]), np.concatenate([left_values, right_values])
    else:
        bound = max(bound, float(upper.max()))
    columns, reduced = np.concatenate(seen), np.concatenate(worth)
    return max(bound, best), _spread(columns, reduced, 0.1 * slack)


def _spread(columns: FloatArray, reduced: FloatArray, worthwhile: float) -> FloatArray:
    """Choose the best columns, and the best of every cell of a coarse grid."""
    order = np.argsort(-reduced, kind="stable")
    order = order[reduced[order] > worthwhile]
    cells = np.unique(np.floor(columns[order] * 16.0), axis=0, return_index=True)[1]
    chosen = np.union1d(np.sort(cells)[:BATCH], np.arange(min(len(order), 8)))
    return columns[order[chosen]]


def _tidy(test: HypothesisTest, channel: Channel, loss: float) -> Channel:
    """Add up columns that are nearly proportional, as long as that costs at most this share of utility.

    The LP mixes neighbours among the columns it knows where one column between them is meant. Adding up
    columns is processing of the output, so no leakage grows.
    """
    floor = test.utility(channel) * (1.0 - loss)
    matrix = channel.matrix[:, channel.matrix.sum(axis=0) > 0]
    while matrix.shape[1] > 1:
        shapes = matrix / matrix.sum(axis=0)
        distance = np.abs(shapes[:, :, None] - shapes[:, None, :]).max(axis=0) + np.eye(matrix.shape[1])
        i, j = sorted(np.unravel_index(int(distance.argmin()), distance.shape))
        fewer = np.delete(matrix, j, axis=1)
        fewer[:, i] += matrix[:, j]
        if test.utility(Channel(fewer)) < floor:
            break
        matrix = fewer
    return Channel(matrix)


def _feasible(test: HypothesisTest, limits: FloatArray, channel: Channel) -> Channel:
    """Mix with as much of a constant channel as removes what the LP's tolerance leaves above a limit.

    A mutual information is convex in the channel and 0 at a constant one, so it falls by the share at least.
    """
    leaks = test.leakage(channel) / BITS
    share = float((1.0 - np.divide(limits, leaks, out=np.ones_like(leaks), where=leaks > limits)).max())
    if share <= 0:
        return channel
    share += ROUNDING
    return Channel((1.0 - share) * channel.matrix + share * channel.matrix.mean(axis=0))


# Two letters, two outputs ---------------------------------------------------------------------------------


def _two_by_two(test: HypothesisTest, limits: FloatArray, tolerance: float) -> Optimum:
    edges = np.linspace(0.0, 1.0, 65)
    left, right = _Boundary.at(test, limits, edges[:-1]), _Boundary.at(test, limits, edges[1:])
    bound = 0.0
    values = _binary_gains(test, left.a, left.b).min(axis=1)
    best, at = float(values.max()), left.pair(int(values.argmax()))
    for rounds in range(1, _DEPTH + 1):  # noqa: B007
        upper = _interval_bounds(test, left, right)
        open_ = upper > best * (1.0 + 0.5 * tolerance)
        bound = max(bound, float(upper[~open_].max(initial=0.0)))
        if not open_.any():
            break
        left, right, upper = left.take(open_), right.take(open_), upper[open_]
        middle = _Boundary.at(test, limits, (left.b + right.b) / 2.0)
        values = _binary_gains(test, middle.a, middle.b).min(axis=1)
        if values.max() > best:
            best, at = float(values.max()), middle.pair(int(values.argmax()))
        left, right = left.join(middle), middle.join(right)
    else:
        bound = max(bound, float(upper.max()))
    a, b = at
    channel = Channel(np.array([[a, 1.0 - a], [b, 1.0 - b]]))
    upper_bits = test.divergence(max(bound, best)) * BITS
    return _certified(channel, test.utility(channel), upper_bits, tolerance, rounds)


def _pairs(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the two columns of [[a, 1 - a], [b, 1 - b]], shape (n, 2, 2)."""
    ones = np.stack([a, b], axis=-1)
    return np.stack([ones, 1.0 - ones], axis=-2)


def _binary_gains(test: HypothesisTest, a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray(test.gains(_pairs(a, b)).sum(axis=-2))


def _binary_costs(test: HypothesisTest, a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray(test.costs(_pairs(a, b)).sum(axis=-2))


@dataclass(frozen=True, eq=False)
class _Boundary:
    """Points (a, b) with the largest feasible a, and lines height + slope (b' - b) above the feasible set."""

    a: FloatArray
    b: FloatArray
    height: FloatArray
    slope: FloatArray

    @classmethod
    def at(cls, test: HypothesisTest, limits: FloatArray, b: FloatArray) -> _Boundary:
        low, high = b.copy(), np.ones_like(b)
        feasible = (_binary_costs(test, high, b) <= limits).all(axis=1)
        low[feasible] = 1.0
        for _ in range(60):
            middle = (low + high) / 2.0
            fits = (_binary_costs(test, middle, b) <= limits).all(axis=1)
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        # The tangent of a leakage at any point bounds it from below; the point need not be on the boundary.
        a, inner = np.clip(low, 1e-300, 1.0 - 1e-15), np.clip(b, 1e-300, 1.0 - 1e-15)
        costs = _binary_costs(test, a, inner)
        active = np.argmax(costs / limits, axis=1)
        p = test.hypotheses[active]
        z = p[:, 0] * a + p[:, 1] * inner
        # So near 1, or where nothing binds, a <= 1 is all that is safe to say.
        loose = feasible | (z > 1.0 - 1e-14)
        z = np.minimum(z, 1.0 - 1e-14)
        odds = np.log(z) - np.log1p(-z)
        rise = p[:, 0] * (np.log(a) - np.log1p(-a) - odds)
        fall = p[:, 1] * (np.log(inner) - np.log1p(-inner) - odds)
        loose |= ~(rise > 0)
        rest = limits[active] - costs[np.arange(len(b)), active]
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.where(loose, 0.0, -fall / rise)
            height = np.where(loose, 1.0, a + rest / rise + slope * (b - inner))
        return cls(low, b, height, slope)

    def line(self, b: FloatArray) -> FloatArray:
        """Return the largest a at b that the lines allow."""
        return np.minimum(self.height + self.slope * (b - self.b), 1.0)

    def pair(self, index: int) -> tuple[float, float]:
        """Return one point."""
        return float(self.a[index]), float(self.b[index])

    def take(self, chosen: NDArray[np.bool_]) -> _Boundary:
        """Keep some of the points."""
        return _Boundary(self.a[chosen], self.b[chosen], self.height[chosen], self.slope[chosen])

    def join(self, other: _Boundary) -> _Boundary:
        """Put points behind each other."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return _Boundary(*(np.concatenate(pair) for pair in pairs))


def _interval_bounds(test: HypothesisTest, left: _Boundary, right: _Boundary) -> FloatArray:
    """Bound the least utility over the feasible channels between two values of b, shape (n,)."""
    start = [left.height - left.slope * left.b, right.height - right.slope * right.b]
    with np.errstate(divide="ignore", invalid="ignore"):
        kinks = [
            (start[1] - start[0]) / (left.slope - right.slope),
            (1.0 - start[0]) / left.slope,
            (1.0 - start[1]) / right.slope,
        ]
    # Places that are no kink do no harm.
    inside = [np.where(np.isfinite(kink), np.clip(kink, left.b, right.b), left.b) for kink in kinks]
    places = [left.b, right.b, *inside]
    b = np.stack(places, axis=1)
    a = np.stack([np.minimum(left.line(place), right.line(place)) for place in places], axis=1)
    return np.asarray(_binary_gains(test, np.maximum(a, b), b).max(axis=1).min(axis=1))
