r"""Levels that covers compare a function with: least ones of lines in z, along an interval of t.

A level is a function of z >= 0 and of t: the least, over some pieces p with z <= high_p, of ::

    slope_p(t) z + height_p(t) + (bonus_p if z > low_p),     bonus_p <= 0,

with slopes and heights linear between knots of t. A cell of a cover has an interval of z and one of t, and
needs a function below the level that is bilinear there: a line in z at either end of t.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ldpfrontier.channel import FloatArray
from ldpfrontier.compiled import inner, kernel

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
    bonus: FloatArray  # (P,): <= 0
    slope: FloatArray  # (P, K)
    height: FloatArray  # (P, K)


def constant(height: float = 0.0, slope: float = 0.0) -> Level:
    """Return a level of one line for all t."""
    return Level(
        np.zeros(1),
        np.zeros(1),
        np.full(1, np.inf),
        np.zeros(1),
        np.full((1, 1), slope),
        np.full((1, 1), height),
    )


@inner
def _knot(level: Level, t: float) -> tuple[int, float]:
    """Return the knot at or before t, and how far t is on the way to the next, as a share."""
    last = level.knots.size - 1
    if last == 0:
        return 0, 0.0
    k = min(max(int(np.searchsorted(level.knots, t, side="right")) - 1, 0), last - 1)
    return k, (t - level.knots[k]) / (level.knots[k + 1] - level.knots[k])


@inner
def _piece(level: Level, p: int, k: int, share: float) -> tuple[float, float]:
    """Return the slope and the height of a piece between two knots."""
    slope, height = level.slope[p, k], level.height[p, k]
    if share > 0.0:
        slope += share * (level.slope[p, k + 1] - slope)
        height += share * (level.height[p, k + 1] - height)
    return slope, height


@kernel
def level_at(level: Level, z: float, t: float) -> float:
    """Return the level at one z and t."""
    k, share = _knot(level, t)
    least = np.inf
    for p in range(level.low.size):
        if z <= level.high[p]:
            slope, height = _piece(level, p, k, share)
            least = min(least, slope * z + height + (level.bonus[p] if z > level.low[p] else 0.0))
    return least


@inner
def _corners(level: Level, t: float, low: float, high: float, z: FloatArray, v: FloatArray) -> int:
    """List points such that a line below all of them is below the level from low to high; return how many."""
    k, share = _knot(level, t)
    count = 0
    for p in range(level.low.size):
        if level.high[p] < low:
            continue
        slope, height = _piece(level, p, k, share)
        middle = min(max(level.low[p], low), high)
        last = min(level.high[p], high)
        if middle > low or level.low[p] >= high:
            z[count], z[count + 1] = low, middle
            v[count], v[count + 1] = slope * low + height, slope * middle + height
            count += 2
        if last > level.low[p]:
            height += level.bonus[p]
            z[count], z[count + 1] = middle, last
            v[count], v[count + 1] = slope * middle + height, slope * last + height
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
    z, v : ndarray, shape (4 P,)
        Space.
    line : ndarray, shape (2, 2)
        The result: slope and height at both ends.
    """
    single = level.low.size == 1 and level.low[0] == 0.0 and level.bonus[0] == 0.0
    largest = 0.0
    for end in range(2):
        if end == 1 and span[1] == span[0]:
            line[1, 0], line[1, 1] = line[0, 0], line[0, 1]
            break
        if single:
            k, share = _knot(level, span[end])
            line[end, 0], line[end, 1] = _piece(level, 0, k, share)
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
