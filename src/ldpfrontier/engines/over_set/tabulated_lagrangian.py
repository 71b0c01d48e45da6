r"""The Lagrangian of a node at given multipliers, from tables of what letters contribute, compiled.

For what it bounds, see `lagrangian_relaxation`, and for how it is rounded, `workspace`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.over_set.nodes import positive_linear
from ldpfrontier.engines.over_set.settings import SETTINGS
from ldpfrontier.engines.over_set.workspace import Corners, LetterTables
from ldpfrontier.numerics.jit import borrowing_kernel
from ldpfrontier.numerics.rounding import gamma

_ZERO = SETTINGS.zero

#: Relative error of x^g - 1 next to x^g + 1, and of a tangent next to l phi'(x) (`workspace`).
_DIFFERENCE, _TANGENT = gamma(8), gamma(64)


@borrowing_kernel
def phi(t: float, g: float) -> float:
    """Return (t^g - 1) / g, or log t."""
    if g == 0.0:
        return math.log(t)
    if g == 0.5:
        return 2.0 * (math.sqrt(t) - 1.0)
    return float(t**g - 1.0) / g


@borrowing_kernel
def phi_slope(t: float, g: float) -> float:
    """Return the derivative of phi."""
    if g == 0.0:
        return 1.0 / t
    if g == 0.5:
        return 1.0 / math.sqrt(t)
    return float(t ** (g - 1.0))


@borrowing_kernel
def xlogx(w: float) -> float:
    """Return w log w, 0 at 0."""
    return w * np.log(w) if w > 0.0 else 0.0


@borrowing_kernel
def linear(ends: FloatArray, t: float) -> float:
    """Return the value at t of what is linear from t = 0 to 1."""
    return float(ends[0] + t * (ends[1] - ends[0]))


@borrowing_kernel
def tabulate(
    low: FloatArray,
    high: FloatArray,
    count: int,
    minorant: FloatArray,
    gamma: FloatArray,
    rounding: float,
    tables: LetterTables,
) -> None:
    """Fill in the ends of the letters' grid intervals and their base, at `count` ends of t."""
    spacing, points, base = tables.spacing, tables.points, tables.base
    grid = spacing.size - 1
    for u in range(low.size):
        left, price = low[u], gamma[u]
        at_left = xlogx(left)
        for j in range(grid):
            right = low[u] + (high[u] - low[u]) * spacing[j + 1] if j + 1 < grid else high[u]
            at_right = xlogx(right)
            points[u, j], points[u, grid + j] = left, right
            for end in range(count):
                lam = minorant[end, 0]
                slope, steep = price + lam, rounding * (abs(price) + abs(lam))
                base[end, u, j] = at_left + rounding * abs(at_left) + (steep - slope) * left
                base[end, u, grid + j] = at_right + rounding * abs(at_right) + (steep - slope) * right
            left, at_left = right, at_right


@borrowing_kernel
def tabulate_constraint(
    table: FloatArray,
    ends: FloatArray,
    bound: FloatArray,
    sign: float,
    t: FloatArray,
    g: float,
    rounding: float,
    points: FloatArray,
) -> None:
    """Fill in the tangents of phi of the constraint on A (sign -1) or B (1), rounded upwards."""
    n, grid, count = points.shape[0], points.shape[1] // 2, 2 if t[1] > t[0] else 1
    s, last, origin = ends[0], ends[1], linear(bound, 0.5 * (t[0] + t[1]))
    if np.isinf(last):
        for end in range(count):
            for corner in range(2):
                for u in range(n):
                    for p in range(2 * grid):
                        table[end, corner, u, p] = 0.0
        return
    moved = 0.5 * abs(bound[1] - bound[0]) * (t[1] - t[0])
    at_ends = positive_linear(bound, t[0]), positive_linear(bound, t[1])
    ratio, difference = last / s - 1.0, 0.0 if g == 0.0 else 2.0 * _DIFFERENCE / abs(g)
    share = (2.0 - g) / (3.0 - g)
    for u in range(n):
        for j in range(grid):
            left, right = points[u, j], points[u, grid + j]
            middle, half = 0.5 * (left + right), 0.5 * (right - left)
            # Tangents in w and in the bound of A or B, which moves with t: not too near to the pole of phi.
            center = sign * (middle - origin)
            argument = max(1.0 + s * center, share * (1.0 + s * (center + half + moved)), _ZERO)
            v = (argument - 1.0) / s
            value, slope = phi(argument, g), phi_slope(argument, g)
            second = slope * (last - s)
            per_argument = (1.0 - g) / argument
            bent = slope * s + second * (1.0 - per_argument * v * s)
            steep = _TANGENT * slope * (1.0 + s * (right + abs(origin) + moved))
            reach = s * (half + moved + abs(v - center))
            first_value = value + difference + rounding * (abs(value) + slope * reach) + steep
            farther = abs(s * v) + reach * (1.0 + per_argument * abs(s * v))
            error = steep * (3.0 - g + 2.0 * per_argument) + rounding * slope * farther
            second_value = first_value + v * second + ratio * error
            for end in range(count):
                for p in (j, grid + j):
                    step = sign * (points[u, p] - at_ends[end]) - v
                    table[end, 0, u, p] = first_value + step * slope * s
                    table[end, 1, u, p] = second_value + step * bent


@borrowing_kernel
def best_point(
    x: tuple[float, float], end: int, i: int, j: int, u: int, tables: LetterTables
) -> tuple[float, int]:
    """Return the largest contribution of a letter in a corner at an end of t, and its point."""
    base, a, b = tables.base[end, u], tables.a[end, i, u], tables.b[end, j, u]
    largest, where = -np.inf, 0
    for p in range(base.size):
        value = base[p] + x[0] * a[p] + x[1] * b[p]
        if value > largest:
            largest, where = value, p
    return largest, where


@borrowing_kernel
def lagrangian(
    x: tuple[float, float],
    corners: Corners,
    minorant: FloatArray,
    r: FloatArray,
    tables: LetterTables,
    trial: NDArray[np.int64],
    argmax: NDArray[np.int64],
) -> tuple[float, int, int]:
    """Return the Lagrangian at multipliers, without constants, its corner and end of t; store its points."""
    best, corner, best_end = -np.inf, 0, 0
    for end in range(corners.t):
        for i in range(corners.xi):
            for j in range(corners.eta):
                total = -minorant[end, 1]
                for u in range(r.size):
                    largest, trial[u] = best_point(x, end, i, j, u, tables)
                    total += r[u] * largest
                if total > best:
                    best, corner, best_end = total, 2 * i + j, end
                    for u in range(r.size):
                        argmax[u] = trial[u]
    return best, corner, best_end


@borrowing_kernel
def lagrangian_at(
    x: tuple[float, float],
    corners: Corners,
    share: float,
    minorant: FloatArray,
    r: FloatArray,
    tables: LetterTables,
) -> float:
    """Return the Lagrangian without constants at one t, a share of the way from one end to the other."""
    best, base, a, b = -np.inf, tables.base, tables.a, tables.b
    for i in range(corners.xi):
        for j in range(corners.eta):
            total = -linear(minorant[:, 1], share)
            for u in range(r.size):
                largest = -np.inf
                for p in range(base.shape[2]):
                    first = base[0, u, p] + x[0] * a[0, i, u, p] + x[1] * b[0, j, u, p]
                    second = base[1, u, p] + x[0] * a[1, i, u, p] + x[1] * b[1, j, u, p]
                    largest = max(largest, first + share * (second - first))
                total += r[u] * largest
            best = max(best, total)
    return best
