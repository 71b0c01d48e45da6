"""Pricing of all 2^k staircase columns of an f-divergence, by chords of f.

A column v with entries 1 on T and e^-eps off it has the utility z1 f(z0 / z1), z_i = P_i . v. On an interval
of z0 / z1 no convex f exceeds its chord, with which the utility is linear in v: the best T takes every input
that the chord values above its price. So an interval of ratios costs O(k): halved until the chords leave
nothing, they are a bound over all columns, whatever the prices.

Few intervals need it. The best column of ratio t takes the inputs that the tangent of f at t values above
their price, by a gain that rises with t up to the input's own ratio P0 / P1 and falls from there on. So on an
interval without that ratio it is between the gains by the chords before and after the interval. Where these
agree, in sign, on all inputs but one at most, two columns are left, and each has its exact reduced cost.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.numerics.subset_sums import subset_sums
from ldpfrontier.types import FloatArray
from ldpfrontier.utility import FDivergence

#: Intervals of ratios that a pricing starts with, most at a time, and most halvings.
INTERVALS, MAX_INTERVALS, HALVINGS = 128, 4096, 60

#: Columns offered where all are listed.
BATCH = 8

#: By how much, relatively, the range of ratios is widened for its rounding.
REACH = 1e-9

#: Relative rounding of the ends of a chord.
CHORD_ROUNDING = 4 * np.finfo(float).eps

#: Utilities, asked for at one epsilon after the other, whose order of the inputs is remembered.
REMEMBERED = 8


def excess(
    utility: FDivergence, epsilon: float, prices: FloatArray, resolution: float, total: float | None = None
) -> tuple[float, NDArray[np.bool_]]:
    """Bound the reduced costs of all 2^k columns, scaled to prior . v = 1, to within a resolution.

    Parameters
    ----------
    utility : FDivergence
    epsilon : float
        In nats, > 0.
    prices : ndarray, shape (k,)
    resolution : float
        In the unit of the utility.
    total : float, optional
        What the prices add up to, where that is known better than from the prices: at small epsilon they are
        1 / epsilon times as large as their sum.

    Returns
    -------
    excess : float
        No column has a larger reduced cost, to rounding; at least the resolution.
    subsets : ndarray of bool, shape (m, k)
        Columns that have a positive one, the best in their neighbourhood.
    """
    total = float(prices.sum()) if total is None else total
    return Pricing(utility, epsilon).excess(prices, resolution, total)


class Pricing:
    """The chords of f at one epsilon, with which all columns are priced, at any prices.

    Parameters
    ----------
    utility : FDivergence
    epsilon : float
        In nats, > 0.
    """

    def __init__(self, utility: FDivergence, epsilon: float) -> None:
        self._utility, self._epsilon = utility, epsilon
        self._floor, self._share = math.exp(-epsilon), -math.expm1(-epsilon)
        self._masses = self._share * np.stack([utility.p0 - utility.p1, utility.p1])
        low, high = _reach(utility, self._floor, self._share)
        self._own = own_ratio(utility)
        # One more interval on either side, for those at the ends to have neighbours.
        step = (high - low) / INTERVALS
        edges = np.linspace(low - step, high + step, INTERVALS + 3)
        # A generator's kink at 1 lies between two intervals.
        inner = edges[2:-2]
        inner[np.abs(inner).argmin()] = 0.0
        self._first = edges[:-1], edges[1:], self._chords(edges[:-1], edges[1:])

    def _chords(self, a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the chords between log ratios a and b, shape (n, 3), and the rounding of gains, (n, k)."""
        slope, at_one, error = chord(self._utility, a, b)
        errors = error[:, None] * np.column_stack([np.ones_like(a), np.expm1(np.where(a >= 0.0, a, b))])
        return np.column_stack([slope, at_one, -np.ones_like(a)]), np.abs(errors) @ np.abs(self._masses)

    def excess(self, prices: FloatArray, resolution: float, total: float) -> tuple[float, NDArray[np.bool_]]:
        """Return what the function of this name does, which has the same arguments."""
        level = step = resolution
        found = [np.zeros((0, len(prices)), dtype=bool)]
        while True:
            # At prices raised by level * prior, no reduced cost above zero means none above the level.
            worst, top, subsets = self._scan(prices + level * self._utility.prior, total + level)
            found.append(subsets)
            if not 0.0 < top < math.inf:
                return level + max(worst, 0.0) * math.exp(self._epsilon), np.concatenate(found)
            step *= 2.0
            level += top + step

    def _scan(self, prices: FloatArray, total: float) -> tuple[float, float, NDArray[np.bool_]]:
        """Search for columns of positive reduced cost, by chords of f.

        Returns a bound of the reduced costs of all columns with entries 1 and e^-eps where none above zero is
        found (no more than rounding, unless it was too much work), the largest one found per unit of
        prior . v, and subsets with a positive one. The search stops where it finds any.
        """
        u, floor = self._utility, self._floor
        terms = np.vstack([self._masses, self._share * prices])
        a, b, (chords, rounding) = self._first
        gains = chords @ terms
        signs = _signs(gains, rounding)
        before, after, (a, b, chords, gains) = signs[:-2], signs[2:], (x[1:-1] for x in (a, b, chords, gains))
        worst = -math.inf
        for halving in range(HALVINGS):
            # In the interval z0 <= e^b and z1 <= e^-a, which an input may pass alone.
            allowed = self._share * u.p0 <= np.exp(b)[:, None]
            allowed &= self._share * u.p1 <= np.exp(-a)[:, None]
            taken = (gains > 0.0) & allowed
            bound = floor * (chords[:, 1] - total) + np.einsum("ix,ix->i", taken.astype(float), gains)
            bound = np.where(np.isnan(bound), np.inf, bound)  # where f is not finite
            reduced, ratio = self._reduced(taken, terms, total)
            if (top := float(ratio.max())) > 0.0:
                beside = np.pad(ratio, 1, constant_values=-np.inf)
                peaks = (ratio > 0.0) & (ratio >= beside[:-2]) & (ratio >= beside[2:])
                return math.inf, top, taken[peaks if halving == 0 else ratio == top]
            loose = np.flatnonzero(~(bound <= 0.0))
            turns = (before[loose] != after[loose]) | (before[loose] == 0)
            turns |= (a[loose, None] < self._own) & (self._own < b[loose, None])
            turns &= allowed[loose]
            other = taken[loose] ^ turns
            also, ratio = self._reduced(other, terms, total)
            if (top := float(ratio.max(initial=0.0))) > 0.0:
                return math.inf, top, other[ratio == top]
            few = turns.sum(axis=1) <= 1
            bound[loose[few]] = np.maximum(reduced[loose], also)[few]
            middle = (a + b) / 2.0
            halved = np.zeros(len(a), dtype=bool)
            halved[loose[~few]] = True
            halved &= (a < middle) & (middle < b)
            worst = max(worst, float(bound[~halved].max(initial=-math.inf)))
            if not halved.any():
                break
            if 2 * halved.sum() > MAX_INTERVALS or halving == HALVINGS - 1:
                worst = max(worst, float(bound[halved].max()))
                break
            a, b = (np.column_stack(pair)[halved].ravel() for pair in ((a, middle), (middle, b)))
            chords, rounding = self._chords(a, b)
            gains = chords @ terms
            signs = _signs(gains, rounding)
            before = np.stack([before[halved], signs[::2]], axis=1).reshape(gains.shape)
            after = np.stack([signs[1::2], after[halved]], axis=1).reshape(gains.shape)
        return worst, 0.0, np.zeros((0, len(prices)), dtype=bool)

    def _reduced(
        self, subsets: NDArray[np.bool_], terms: FloatArray, total: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return the reduced costs of columns with entries 1 and e^-eps, and those per unit of prior . v."""
        apart, z1, cost = terms @ subsets.T.astype(float)
        z1 += self._floor
        reduced = self._utility.perspective(z1, apart) - self._floor * total - cost
        return reduced, reduced / (z1 + apart / 2.0)


class Listing:
    """All 2^k columns at one epsilon: what `Pricing` does, exactly, and for few inputs faster."""

    def __init__(self, utility: FDivergence, epsilon: float) -> None:
        self._floor, self._share = math.exp(-epsilon), -math.expm1(-epsilon)
        self._inputs = np.arange(len(utility.prior))
        self._z, self._values = utility.patterns(epsilon)

    def excess(self, prices: FloatArray, resolution: float, total: float) -> tuple[float, NDArray[np.bool_]]:
        """Return what the function of this name does, which has the same arguments."""
        reduced = self._values - (self._floor * total + self._share * subset_sums(prices)) / self._z
        better = np.flatnonzero(reduced > resolution)
        better = better[np.argsort(-reduced[better], kind="stable")[:BATCH]]
        return max(float(reduced.max()), resolution), (better[:, None] >> self._inputs & 1).astype(bool)


def _signs(gains: FloatArray, rounding: FloatArray) -> NDArray[np.int8]:
    """Return 1 for a gain and -1 for a loss, and 0 for what may be either."""
    return np.asarray((gains > rounding).astype(np.int8) - (gains <= -rounding))


def _reach(utility: FDivergence, floor: float, share: float) -> tuple[float, float]:
    """Return the least and the largest log(z0 / z1) of all columns, a little widened.

    They belong to the inputs before, and from, some place in the order of P0 / P1 (kairouz2016, Lemma 24).
    """
    inputs = np.stack([order := by_ratio(utility), order[::-1]])
    sums = np.cumsum(np.stack([utility.p0, utility.p1, utility.p0 - utility.p1])[:, inputs], axis=-1)
    before, after = log_ratio(floor, share, *sums)
    low, high = float(before.min()), float(after.max())
    wider = REACH * max(high, -low, 0.0)
    return min(low, 0.0) - wider, max(high, 0.0) + wider


def log_ratio(floor: float, share: float, *sums: FloatArray) -> FloatArray:
    """Return log(z0 / z1), z_i = floor + share p_i, from p0, p1 and p0 - p1: all digits where it is small."""
    p0, p1, difference = sums
    z0, z1 = floor + share * p0, floor + share * p1
    ratio = share * difference / z1
    near = np.abs(ratio) < 0.5
    return np.where(near, np.log1p(np.where(near, ratio, 0.0)), np.log(z0) - np.log(z1))


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
        return z1, apart, utility.perspective(z1, apart)

    (x, d, f), (y, e, g) = direction(low), direction(high)
    span = np.exp(np.minimum(high, 0.0) - np.maximum(low, 0.0)) * -np.expm1(low - high)
    slack = CHORD_ROUNDING * (np.abs(x * g) + np.abs(y * f))
    slope = (x * g - y * f + np.where(low >= 0.0, slack, -slack)) / span
    return slope, np.where(low >= 0.0, (f - slope * d) / x, (g - slope * e) / y), 2.0 * slack / span


@lru_cache(maxsize=REMEMBERED)
def by_ratio(utility: FDivergence) -> NDArray[np.int64]:
    """Return the inputs in the order of P0 / P1; those with probability 0 under both come first."""
    ratio = own_ratio(utility)
    never = np.isnan(ratio)
    # Beside one that never occurs, an input of ratio 0 would come second.
    return np.lexsort((np.where(never, -np.inf, ratio), ~never))


@lru_cache(maxsize=REMEMBERED)
def own_ratio(utility: FDivergence) -> FloatArray:
    """Return log(P0 / P1) of every input; nan with probability 0 under both."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(utility.p0) - np.log(utility.p1))
