r"""Pricing of all 2^k staircase columns of an f-divergence, by chords of f.

A column v with entries 1 on T and e^-eps off it has the value z1 f(z0 / z1), z_i = P_i . v. At dual prices
alpha, the largest reduced cost ::

    max_T [z1 f(z0 / z1) - alpha . v] / (prior . v)

is wanted. On an interval of ratios z0 / z1 no convex f exceeds its chord, with which the value is linear in
v: the best T takes every input that the chord values above its price. So an interval costs O(k), and
intervals are halved until their chords prove that no reduced cost is positive.

Few intervals need to be halved. The best column of ratio t takes the inputs that the tangent of f at t values
above their price, by a gain that rises with t up to the input's own ratio P0 / P1 and falls from there on. So
on an interval without that ratio it is between the gains by the chords before and after the interval. Where
these agree in sign on all inputs but one at most, two columns are left, and each has its exact reduced cost.

A bound is raised by what rounding does to prices and to chords, k operations times the sum of what is added
up. Values of columns are right to a factor that is left to the caller, unless inputs of both signs of P0 -
P1 cancel in z0 - z1 (`ldpfrontier.numerics.rounding`).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.numerics.deadline import time_is_up
from ldpfrontier.numerics.rounding import gamma
from ldpfrontier.numerics.subset_sums import subset_sums
from ldpfrontier.optimal.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.optimal.ldp.settings import SETTINGS
from ldpfrontier.types import FloatArray
from ldpfrontier.utility import FDivergence

#: Size in values of columns up to which their rounding is a factor.
VALUE_SIZE = 8.0


def bound_reduced_costs(
    utility: FDivergence, epsilon: float, duals: FloatArray, resolution: float, total: float | None = None
) -> tuple[float, NDArray[np.bool_]]:
    """Bound the reduced costs of all 2^k columns, scaled to prior . v = 1, to within a resolution.

    Parameters
    ----------
    utility : FDivergence
    epsilon : float
        In nats, > 0.
    duals : ndarray, shape (k,)
    resolution : float
        In the unit of the utility.
    total : float, optional
        The sum of the duals, where it is known better than from the duals: at small epsilon they are
        1 / epsilon times as large as their sum.

    Returns
    -------
    bound : float
        No column has a larger reduced cost; at least the resolution, and inf if the time is up before one is
        known.
    subsets : ndarray of bool, shape (m, k)
        Columns that have a positive one, the best in their neighbourhood.
    """
    total = float(duals.sum()) if total is None else total
    return ChordPricing(utility, epsilon).bound(duals, resolution, total)


class _Intervals(NamedTuple):
    """Intervals of the log ratio log(z0 / z1), n of them, with the chord of f on each.

    Attributes
    ----------
    low, high : ndarray, shape (n,)
    chords : ndarray, shape (n, 3)
    gains : ndarray, shape (n, k)
        What the chord values every input above its price.
    before, after : ndarray of int, shape (n, k)
        The sign of the gain by the chord before the interval, and after it; 0 if rounding hides it.
    """

    low: FloatArray
    high: FloatArray
    chords: FloatArray
    gains: FloatArray
    before: NDArray[np.int8]
    after: NDArray[np.int8]


class ChordPricing:
    """The chords of f at one epsilon, with which all columns are priced, at any duals.

    Parameters
    ----------
    utility : FDivergence
    epsilon : float
        In nats, > 0.
    """

    def __init__(self, utility: FDivergence, epsilon: float) -> None:
        self._utility, self._epsilon = utility, epsilon
        self._floor, self._share = math.exp(-epsilon), -math.expm1(-epsilon)
        self._masses = self._share * np.stack([utility.difference, utility.p1])
        low, high = log_ratio_range(utility, epsilon)
        self._own = input_log_ratios(utility)
        # One more interval on either side, so that those at the ends have neighbours.
        number = SETTINGS.first_intervals
        step = (high - low) / number
        ends = np.linspace(low - step, high + step, number + 3)
        # The point 1, where a generator may not be smooth, lies between two intervals.
        inner = ends[2:-2]
        inner[np.abs(inner).argmin()] = 0.0
        self._first = ends[:-1], ends[1:], self._chords(ends[:-1], ends[1:])

    def _chords(self, a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the chords between log ratios a and b, shape (n, 3), and the rounding of gains, (n, k)."""
        slope, at_one, error = chord(self._utility, a, b)
        errors = error[:, None] * np.column_stack([np.ones_like(a), np.expm1(np.where(a >= 0.0, a, b))])
        return np.column_stack([slope, at_one, -np.ones_like(a)]), np.abs(errors) @ np.abs(self._masses)

    def bound(self, duals: FloatArray, resolution: float, total: float) -> tuple[float, NDArray[np.bool_]]:
        """Bound the reduced costs of all columns; arguments and result are those of `bound_reduced_costs`."""
        level = step = resolution
        error = _price_error(duals, total, self._share)
        found = [np.zeros((0, len(duals)), dtype=bool)]
        while not time_is_up():
            # At duals raised by level * prior, no reduced cost above zero means none above the level.
            worst, top, subsets = self._search(duals + level * self._utility.prior, total + level)
            found.append(subsets)
            if not 0.0 < top < math.inf:
                return level + max(worst, 0.0) + error, np.concatenate(found)
            step *= 2.0
            level += top + step
        return math.inf, np.concatenate(found)

    def _search(self, duals: FloatArray, total: float) -> tuple[float, float, NDArray[np.bool_]]:
        """Search for columns of positive reduced cost, by chords of f.

        Returns a bound of the reduced costs of all columns, per unit of prior . v, where none above zero is
        found (no more than rounding, unless it was too much work), the largest one found, and subsets with a
        positive one. The search stops where it finds any.
        """
        terms = np.vstack([self._masses, self._share * duals])
        now, worst = self._first_intervals(terms), -math.inf
        sizes, rounding = np.abs(terms[:2]), gamma(len(duals) + 24)
        most = SETTINGS.max_channel_entries // len(duals)  # gains are as many numbers as a channel may have
        for halving in range(SETTINGS.max_halvings):
            possible = self._possible(now)
            taken = (now.gains > 0.0) & possible
            bound = self._floor * (now.chords[:, 1] - total)
            bound = bound + np.einsum("ix,ix->i", taken.astype(float), now.gains)
            size = np.abs(now.chords[:, :2]) @ sizes
            size = np.einsum("ix,ix->i", (taken | (np.abs(now.gains) <= gamma(6) * size)).astype(float), size)
            bound = bound + rounding * (size + self._floor * np.abs(now.chords[:, 1]))
            bound = np.where(np.isnan(bound), np.inf, bound)  # where f is not finite
            ratio, errors = self._reduced_costs(taken, terms, total)
            highest = ratio + errors
            if (top := float(ratio.max())) > 0.0:
                return math.inf, top, taken[_peaks(ratio) if halving == 0 else ratio == top]
            loose = np.flatnonzero(~(bound <= 0.0))
            undecided = self._undecided(now, loose) & possible[loose]
            other = taken[loose] ^ undecided
            ratio, errors = self._reduced_costs(other, terms, total)
            if (top := float(ratio.max(initial=0.0))) > 0.0:
                return math.inf, top, other[ratio == top]
            exact = undecided.sum(axis=1) <= 1
            # No column has less than the entries e^-eps, and so no smaller prior . v.
            bound = np.where(bound > 0.0, bound / self._floor, bound)
            bound[loose[exact]] = np.maximum(highest[loose], ratio + errors)[exact]
            halved = np.zeros(len(bound), dtype=bool)
            halved[loose[~exact]] = True
            middle = (now.low + now.high) / 2.0
            halved &= (now.low < middle) & (middle < now.high)
            worst = max(worst, float(bound[~halved].max(initial=-math.inf)))
            if not halved.any():
                break
            if 2 * halved.sum() > most or halving == SETTINGS.max_halvings - 1 or time_is_up():
                worst = max(worst, float(bound[halved].max()))
                break
            now = self._halves(now, halved, terms)
        return worst, 0.0, np.zeros((0, len(duals)), dtype=bool)

    def _first_intervals(self, terms: FloatArray) -> _Intervals:
        """Return the intervals that a search starts with."""
        low, high, (chords, rounding) = self._first
        gains = chords @ terms
        signs = _signs(gains, rounding)
        return _Intervals(low[1:-1], high[1:-1], chords[1:-1], gains[1:-1], signs[:-2], signs[2:])

    def _halves(self, now: _Intervals, halved: NDArray[np.bool_], terms: FloatArray) -> _Intervals:
        """Return both halves of some intervals."""
        a, b, middle = now.low, now.high, (now.low + now.high) / 2.0
        low, high = (np.column_stack(pair)[halved].ravel() for pair in ((a, middle), (middle, b)))
        chords, rounding = self._chords(low, high)
        gains = chords @ terms
        signs = _signs(gains, rounding)
        before = np.stack([now.before[halved], signs[::2]], axis=1).reshape(gains.shape)
        after = np.stack([signs[1::2], now.after[halved]], axis=1).reshape(gains.shape)
        return _Intervals(low, high, chords, gains, before, after)

    def _possible(self, now: _Intervals) -> NDArray[np.bool_]:
        """Tell which inputs a column of the interval can take: z0 <= e^high and z1 <= e^-low there."""
        possible = self._share * self._utility.p0 <= np.exp(now.high)[:, None]
        possible &= self._share * self._utility.p1 <= np.exp(-now.low)[:, None]
        return possible

    def _undecided(self, now: _Intervals, loose: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Tell of which inputs the gain may change its sign within some of the intervals."""
        undecided = (now.before[loose] != now.after[loose]) | (now.before[loose] == 0)
        undecided |= (now.low[loose, None] < self._own) & (self._own < now.high[loose, None])
        return np.asarray(undecided)

    def _reduced_costs(
        self, subsets: NDArray[np.bool_], terms: FloatArray, total: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return the reduced costs of columns per unit of prior . v, and their errors."""
        inside = subsets.T.astype(float)
        apart, z1, cost = terms @ inside
        z0, z1 = self._floor + self._share * (self._utility.p0 @ inside), self._floor + z1
        values, z = self._utility.perspective(z1, apart, z0), z1 + apart / 2.0
        size = np.abs(terms[0]) @ inside * self._utility.slope(z1, apart, z0)
        reduced = values - self._floor * total - cost
        return reduced / z, _value_error(len(inside), values, size) / z


class ListedPricing:
    """All 2^k columns at one epsilon: what `ChordPricing` does, exactly, and for few inputs faster."""

    def __init__(self, utility: FDivergence, epsilon: float) -> None:
        self._floor, self._share = math.exp(-epsilon), -math.expm1(-epsilon)
        self._inputs = np.arange(len(utility.prior))
        self._z, self._values = utility.patterns(epsilon)
        p0, p1, apart, size = self._share * utility.masses
        size = size * utility.slope(self._floor + p1, apart, self._floor + p0) / self._z
        self._errors = _value_error(len(utility.prior), self._values, size)

    def bound(self, duals: FloatArray, resolution: float, total: float) -> tuple[float, NDArray[np.bool_]]:
        """Bound the reduced costs of all columns; arguments and result are those of `bound_reduced_costs`."""
        reduced = self._values - (self._floor * total + self._share * subset_sums(duals)) / self._z
        better = np.flatnonzero(reduced > resolution)
        better = better[np.argsort(-reduced[better], kind="stable")[: GENERATION.batch]]
        bound = float((reduced + self._errors).max()) + _price_error(duals, total, self._share)
        return max(bound, resolution), (better[:, None] >> self._inputs & 1).astype(bool)


def _price_error(duals: FloatArray, total: float, share: float) -> float:
    """Return what prices are wrong by, and what duals cost that add up to more than the total."""
    size = share * float(np.abs(duals).sum()) + abs(total)
    return share * max(math.fsum(duals) - total, 0.0) + gamma(2 * len(duals) + 24) * size


def _value_error(inputs: int, values: FloatArray, size: FloatArray) -> FloatArray:
    """Return the error of values beyond `VALUE_SIZE` times their own size, where z0 - z1 has lost digits."""
    return gamma(inputs + 24) * np.maximum(2.0 * size - VALUE_SIZE * values, 0.0)


def _signs(gains: FloatArray, rounding: FloatArray) -> NDArray[np.int8]:
    """Return 1 for a gain and -1 for a loss, and 0 for what may be either."""
    return np.asarray((gains > rounding).astype(np.int8) - (gains <= -rounding))


def _peaks(values: FloatArray) -> NDArray[np.bool_]:
    """Tell which positive values are no less than their neighbours."""
    padded = np.pad(values, 1, constant_values=-np.inf)
    return np.asarray((values > 0.0) & (values >= padded[:-2]) & (values >= padded[2:]))


def log_ratio_range(utility: FDivergence, epsilon: float) -> tuple[float, float]:
    """Return the least and the largest log(z0 / z1) of all columns, a little widened.

    They belong to the inputs before, and from, some place in the order of P0 / P1 (kairouz2016, Lemma 24).
    """
    inputs = np.stack([order := likelihood_ratio_order(utility), order[::-1]])
    sums = np.cumsum(np.stack([utility.p0, utility.p1, utility.difference])[:, inputs], axis=-1)
    before, after = column_log_ratio(math.exp(-epsilon), -math.expm1(-epsilon), *sums)
    low, high = float(before.min()), float(after.max())
    wider = SETTINGS.range_widening * max(high, -low, 0.0)
    return min(low, 0.0) - wider, max(high, 0.0) + wider


def column_log_ratio(floor: float, share: float, *sums: FloatArray) -> FloatArray:
    """Return log(z0 / z1) with z_i = floor + share P_i(T), from P_0(T), P_1(T) and their difference."""
    p0, p1, difference = sums
    z0, z1 = floor + share * p0, floor + share * p1
    ratio = share * difference / z1
    small = np.abs(ratio) < 0.5  # where the difference has digits that the logarithms lose
    return np.where(small, np.log1p(np.where(small, ratio, 0.0)), np.log(z0) - np.log(z1))


def chord(
    utility: FDivergence, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the chords of f between two log ratios as slope (z0 - z1) + at_one z1, and the slope's rounding.

    They are exact at the end that is nearer to 1, and by rounding too high at the other. Beyond that other
    end nothing is amplified; beyond the near one, where z0 and z1 can be e^eps times larger, they are low.
    """

    def direction(ratio: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        # (z0, z1) = (t, 1) or (1, 1 / t), so that neither end of the ratios is lost.
        z1, apart = np.exp(-np.maximum(ratio, 0.0)), np.sign(ratio) * -np.expm1(-np.abs(ratio))
        return z1, apart, utility.perspective(z1, apart, np.exp(np.minimum(ratio, 0.0)))

    (x, d, f), (y, e, g) = direction(low), direction(high)
    span = np.exp(np.minimum(high, 0.0) - np.maximum(low, 0.0)) * -np.expm1(low - high)
    slack = SETTINGS.rounding * (np.abs(x * g) + np.abs(y * f))
    slope = (x * g - y * f + np.where(low >= 0.0, slack, -slack)) / span
    return slope, np.where(low >= 0.0, (f - slope * d) / x, (g - slope * e) / y), 2.0 * slack / span


@lru_cache
def likelihood_ratio_order(utility: FDivergence) -> NDArray[np.int64]:
    """Return the inputs in the order of P0 / P1; those with probability 0 under both come first."""
    ratio = input_log_ratios(utility)
    never = np.isnan(ratio)
    # Beside one that never occurs, an input of ratio 0 would come second.
    return np.lexsort((np.where(never, -np.inf, ratio), ~never))


@lru_cache
def input_log_ratios(utility: FDivergence) -> FloatArray:
    """Return log(P0 / P1) of every input; nan with probability 0 under both."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = utility.difference / utility.p1
        small = np.abs(ratio) < 0.01  # where the logarithms lose digits
        return np.where(small, np.log1p(np.where(small, ratio, 0.0)), np.log(utility.p0) - np.log(utility.p1))
