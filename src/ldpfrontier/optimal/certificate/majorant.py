r"""Levels that covers compare a function with: least ones of lines in z, along an interval of t.

A level is a function of z >= 0 and of t: the least, over some pieces p with z <= high_p, of ::

    slope_p(t) z + height_p(t) + (bonus_p(t) if z > low_p),     bonus_p <= 0,

with slopes, heights and bonuses linear between knots of t. A cell of a cover has an interval of z and one of
t, and needs a function below the level that is bilinear there: a line in z at either end of t.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ldpfrontier.numerics.jit import inner, kernel
from ldpfrontier.types import FloatArray

#: Slopes of lines are at most this many times the steepest of the level.
STEEP = 3.0

#: Share of an interval of z that the focus is kept away from its ends.
INSIDE = 0.1

#: Share of the largest height by which lines are lowered, for rounding.
ROUNDING = 1e-14


class Level(NamedTuple):
    """P pieces at K knots."""

    knots: FloatArray  # (K,): rising, from 0 to 1; or one alone
    low: FloatArray  # (P,)
    high: FloatArray  # (P,): one at least is infinite
    bonus: FloatArray  # (P, K): <= 0
    slope: FloatArray  # (P, K)
    height: FloatArray  # (P, K)
    edges: FloatArray  # (E,): rising; where pieces begin or end

    @classmethod
    def of(
        cls,
        knots: FloatArray,
        low: FloatArray,
        high: FloatArray,
        bonus: FloatArray,
        slope: FloatArray,
        height: FloatArray,
    ) -> Level:
        """Return the level of some pieces."""
        ends = np.unique(np.append(low, high))
        return cls(knots, low, high, bonus, slope, height, ends[(ends > 0.0) & np.isfinite(ends)])


def constant(height: float = 0.0, slope: float = 0.0) -> Level:
    """Return a level of one line for all t."""
    none, one = np.zeros(1), np.ones((1, 1))
    return Level.of(none, none, np.full(1, np.inf), 0.0 * one, slope * one, height * one)


@inner
def _knot(level: Level, t: float) -> tuple[int, float]:
    """Return the knot at or before t, and how far t is on the way to the next, as a share."""
    last = level.knots.size - 1
    if last == 0:
        return 0, 0.0
    k = min(max(int(np.searchsorted(level.knots, t, side="right")) - 1, 0), last - 1)
    return k, (t - level.knots[k]) / (level.knots[k + 1] - level.knots[k])


@inner
def _part(values: FloatArray, k: int, share: float) -> float:
    """Return what is between two knots."""
    return float(values[k] + share * (values[k + 1] - values[k]) if share > 0.0 else values[k])


@inner
def _least(level: Level, z: float, k: int, share: float, beyond: bool) -> float:
    """Return the level at z, or the limit of what follows, between two knots."""
    least = np.inf
    for p in range(level.low.size):
        if z < level.high[p] or (z == level.high[p] and not beyond):
            value = _part(level.slope[p], k, share) * z + _part(level.height[p], k, share)
            if z > level.low[p] or (z == level.low[p] and beyond):
                value += _part(level.bonus[p], k, share)
            least = min(least, value)
    return least


@kernel
def level_at(level: Level, z: float, t: float) -> float:
    """Return the level at one z and t."""
    k, share = _knot(level, t)
    return _least(level, z, k, share, False)


@inner
def _corners(level: Level, t: float, low: float, high: float, z: FloatArray, v: FloatArray) -> int:
    """List points such that a line below all of them is below the level from low to high; return how many.

    Between edges the level is concave.
    """
    k, share = _knot(level, t)
    z[0], z[1] = low, high
    v[0] = min(_least(level, low, k, share, False), _least(level, low, k, share, high > low))
    v[1] = _least(level, high, k, share, False)
    count = 2
    for edge in level.edges:
        if low < edge < high:
            z[count] = z[count + 1] = edge
            v[count] = _least(level, edge, k, share, False)
            v[count + 1] = _least(level, edge, k, share, True)
            count += 2
    return count


@inner
def _short(z: FloatArray, v: FloatArray, count: int, slope: float, height: float) -> float:
    """Return how far a line is above the lowest of some points; below 0 if below all."""
    most = -np.inf
    for i in range(count):
        most = max(most, slope * z[i] + height - v[i])
    return most


@inner
def _hull(z: FloatArray, v: FloatArray, count: int, focus: float) -> float:
    """Return the slope of the line below some points that is highest at the focus."""
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


@kernel
def below(
    level: Level,
    span: FloatArray,
    low: float,
    high: float,
    focus: float,
    z: FloatArray,
    v: FloatArray,
    line: FloatArray,
) -> None:
    """Find lines below a level for z from low to high and t along a span, high at the focus.

    At a fixed z the level is concave in t between knots, so what lies between lines that are below at the
    ends of the span is below the level, if it is at the knots.

    Parameters
    ----------
    level : Level
    span : ndarray, shape (2,)
    low, high, focus : float
    z, v : ndarray, shape (2 E + 2,)
        Space.
    line : ndarray, shape (2, 2)
        The result: slope and height at both ends.
    """
    single = level.low.size == 1 and level.edges.size == 0
    largest = 0.0
    for end in range(2):
        if end == 1 and span[1] == span[0]:
            line[1, 0], line[1, 1] = line[0, 0], line[0, 1]
            break
        if single:
            k, share = _knot(level, span[end])
            line[end, 0] = _part(level.slope[0], k, share)
            line[end, 1] = _part(level.height[0], k, share) + _part(level.bonus[0], k, share)
        else:
            count = _corners(level, span[end], low, high, z, v)
            steepest = 0.0
            for p in range(level.low.size):
                for k in range(level.knots.size):
                    steepest = max(steepest, abs(level.slope[p, k]))
            margin = INSIDE * (high - low)
            slope = _hull(z, v, count, min(max(focus, low + margin), high - margin))
            # Where the level jumps, a line may be as steep as it likes.
            slope = min(max(slope, -STEEP * steepest), STEEP * steepest)
            line[end, 0] = slope
            line[end, 1] = -_short(z, v, count, slope, 0.0)
        largest = max(largest, abs(line[end, 1]) + abs(line[end, 0]) * high)
    lowered = ROUNDING * largest
    for k in range(level.knots.size):
        t = level.knots[k]
        if span[0] < t < span[1]:
            count = _corners(level, t, low, high, z, v)
            share = (t - span[0]) / (span[1] - span[0])
            slope = line[0, 0] + share * (line[1, 0] - line[0, 0])
            height = line[0, 1] + share * (line[1, 1] - line[0, 1])
            lowered = max(lowered, _short(z, v, count, slope, height))
    line[0, 1] -= lowered
    line[1, 1] -= lowered
