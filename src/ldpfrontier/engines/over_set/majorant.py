r"""A piecewise affine majorant of the function of a block, compiled: its values and affine minorants.

A majorant is a function of z >= 0 and of t: the least, over the pieces p with z <= high_p, of ::

    U(z, t) = min_p  lam_p(t) z + h_p(t) + (beta_p(t) if z > low_p),        beta_p <= 0,

with lam, h and beta linear between knots of t. A node of branch and bound has an interval of z and one of t,
and compares its function with a minorant of U there that is affine in z at either end of the interval of t
and linear in t in between.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.over_set.settings import SETTINGS
from ldpfrontier.numerics.jit import borrowing_kernel, inner_kernel
from ldpfrontier.numerics.rounding import gamma

_END_SHARE = SETTINGS.end_share
#: Of a value between two knots, and of a line above points.
_ROUNDING = gamma(24)


class Majorant(NamedTuple):
    """A majorant of P pieces with K knots."""

    knots: FloatArray  # (K,): rising, from 0 to 1; or one alone
    low: FloatArray  # (P,)
    high: FloatArray  # (P,): one at least is infinite
    discount: FloatArray  # (P, K): beta <= 0
    lam: FloatArray  # (P, K)
    intercept: FloatArray  # (P, K): h
    breakpoints: FloatArray  # (E,): rising; where pieces begin or end

    @classmethod
    def of(
        cls,
        knots: FloatArray,
        low: FloatArray,
        high: FloatArray,
        discount: FloatArray,
        lam: FloatArray,
        intercept: FloatArray,
    ) -> Majorant:
        """Return the majorant of some pieces."""
        ends = np.unique(np.append(low, high))
        return cls(knots, low, high, discount, lam, intercept, ends[(ends > 0.0) & np.isfinite(ends)])


def zero_majorant() -> Majorant:
    """Return the majorant that is 0 for all t and z."""
    zero, nothing = np.zeros(1), np.zeros((1, 1))
    return Majorant.of(zero, zero, np.full(1, np.inf), nothing, nothing, nothing)


@inner_kernel
def _knot(majorant: Majorant, t: float) -> tuple[int, float]:
    """Return the knot at or before t, and how far t is on the way to the next, as a share."""
    knots = majorant.knots
    k, after = 0, knots.size - 1
    if after == 0:
        return 0, 0.0
    while after - k > 1:
        middle = (k + after) >> 1
        if knots[middle] <= t:
            k = middle
        else:
            after = middle
    return k, (t - knots[k]) / (knots[k + 1] - knots[k])


@inner_kernel
def _interpolated(values: FloatArray, k: int, share: float) -> float:
    """Return the value a share of the way from knot k to the next."""
    return float(values[k] + share * (values[k + 1] - values[k]) if share > 0.0 else values[k])


@inner_kernel
def _value(majorant: Majorant, z: float, k: int, share: float, side: float) -> float:
    """Return the majorant at z (side 0), or its limit from the right (1), between two knots: from below."""
    # A bool that is literal would be a type of its own, for which all of this is compiled again.
    least, from_right = np.inf, side > 0.0
    for p in range(majorant.low.size):
        if z < majorant.high[p] or (z == majorant.high[p] and not from_right):
            lam, value = majorant.lam[p], majorant.intercept[p]
            slope, level = _interpolated(lam, k, share), _interpolated(value, k, share)
            size = (abs(lam[k]) + abs(slope)) * z + abs(value[k]) + abs(level)
            level += slope * z
            if z > majorant.low[p] or (z == majorant.low[p] and from_right):
                value = majorant.discount[p]
                discount = _interpolated(value, k, share)
                level, size = level + discount, size + abs(value[k]) + abs(discount)
            least = min(least, level - _ROUNDING * size)
    return least


@borrowing_kernel
def evaluate(majorant: Majorant, z: float, t: float) -> float:
    """Return the majorant at one z and t."""
    k, share = _knot(majorant, t)
    return _value(majorant, z, k, share, 0.0)


@inner_kernel
def _list_corners(majorant: Majorant, t: float, low: float, high: float, z: FloatArray, v: FloatArray) -> int:
    """List points (z, v) such that a line below all is below the majorant from low to high; return how many.

    Between breakpoints the majorant is concave, so its ends there are enough.
    """
    k, share = _knot(majorant, t)
    z[0], z[1] = low, high
    v[0] = min(
        _value(majorant, low, k, share, 0.0), _value(majorant, low, k, share, 1.0 if high > low else 0.0)
    )
    v[1] = _value(majorant, high, k, share, 0.0)
    count = 2
    for breakpoint_z in majorant.breakpoints:
        if low < breakpoint_z < high:
            z[count] = z[count + 1] = breakpoint_z
            v[count] = _value(majorant, breakpoint_z, k, share, 0.0)
            v[count + 1] = _value(majorant, breakpoint_z, k, share, 1.0)
            count += 2
    return count


@inner_kernel
def _largest_excess(z: FloatArray, v: FloatArray, count: int, slope: float, intercept: float) -> float:
    """Return how far a line is above points at most; below 0 if it is below all."""
    most = -np.inf
    for i in range(count):
        most = max(most, slope * z[i] + intercept - v[i])
    return most


@inner_kernel
def _supporting_slope(z: FloatArray, v: FloatArray, count: int, focus: float) -> float:
    """Return the slope of the lower convex hull of points at the focus."""
    best, slope = np.inf, 0.0
    for i in range(count):
        if z[i] > focus:
            continue
        for j in range(count):
            if z[j] < focus:
                continue
            width = z[j] - z[i]
            rise = (v[j] - v[i]) / width if width > 0.0 else 0.0
            at = v[i] + rise * (focus - z[i]) if width > 0.0 else min(v[i], v[j])
            if at < best or (at == best and width > 0.0):
                best, slope = at, rise
    return slope


@inner_kernel
def _minorant_at(
    majorant: Majorant, t: float, low: float, high: float, focus: float, z: FloatArray, v: FloatArray
) -> tuple[float, float]:
    """Return slope and intercept of a line below the majorant from low to high at one t."""
    if majorant.low.size == 1 and majorant.breakpoints.size == 0:
        k, share = _knot(majorant, t)
        slope = _interpolated(majorant.lam[0], k, share)
        # Below the majorant at both ends, so in between.
        at_low, at_high = _value(majorant, low, k, share, 1.0), _value(majorant, high, k, share, 1.0)
        return slope, min(at_low - slope * low, at_high - slope * high)
    count = _list_corners(majorant, t, low, high, z, v)
    margin = _END_SHARE * (high - low)
    slope = _supporting_slope(z, v, count, min(max(focus, low + margin), high - margin))
    return slope, -_largest_excess(z, v, count, slope, 0.0)


@borrowing_kernel
def affine_minorant(
    majorant: Majorant,
    t_interval: FloatArray,
    low: float,
    high: float,
    focus: float,
    z: FloatArray,
    v: FloatArray,
    minorant: FloatArray,
) -> None:
    """Find a minorant of a majorant for z from low to high and t in an interval, tight near the focus.

    At a fixed z the majorant is concave in t between knots, so that what is linear between two lines below it
    at the ends of the interval is below it everywhere, if it is at the knots inside. z and v, (2 E + 2,), are
    space; the minorant, (2, 2), gets slope and intercept at both ends of the interval.
    """
    largest = 0.0
    for end in range(2):
        if end == 1 and t_interval[1] == t_interval[0]:
            minorant[1, 0], minorant[1, 1] = minorant[0, 0], minorant[0, 1]
            break
        minorant[end, 0], minorant[end, 1] = _minorant_at(majorant, t_interval[end], low, high, focus, z, v)
        largest = max(largest, abs(minorant[end, 1]) + abs(minorant[end, 0]) * high)
    lowered = 0.0
    for k in range(majorant.knots.size):
        t = majorant.knots[k]
        if t_interval[0] < t < t_interval[1]:
            count = _list_corners(majorant, t, low, high, z, v)
            share = (t - t_interval[0]) / (t_interval[1] - t_interval[0])
            slope = minorant[0, 0] + share * (minorant[1, 0] - minorant[0, 0])
            intercept = minorant[0, 1] + share * (minorant[1, 1] - minorant[0, 1])
            lowered = max(lowered, _largest_excess(z, v, count, slope, intercept))
    lowered += _ROUNDING * largest
    minorant[0, 1] -= lowered
    minorant[1, 1] -= lowered
