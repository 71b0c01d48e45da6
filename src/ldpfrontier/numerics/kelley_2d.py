"""Kelley's cutting planes in two dimensions, compiled: the lowest point of a few planes over a box."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.numerics.jit import inner, kernel
from ldpfrontier.types import FloatArray


class Planes(NamedTuple):
    """Room for m planes, and what is found out about them."""

    heights: FloatArray  # (m,): at the origin
    slopes: FloatArray  # (m, 2)
    lines: FloatArray  # (m + 4, 3)
    active: NDArray[np.int64]  # (3,)
    weight: FloatArray  # (3,)


@inner
def _weigh(last: int, across: bool, planes: Planes) -> None:
    """Weigh the active planes so that their slopes vanish: along one axis if only two are active."""
    active, weight = planes.active, planes.weight
    weight[0], weight[1], weight[2] = 1.0, 0.0, 0.0
    p, q, o = planes.slopes[last], planes.slopes[active[1]], planes.slopes[active[2]]
    if active[1] != last and active[2] != last:
        first, second = q[0] * o[1] - q[1] * o[0], o[0] * p[1] - o[1] * p[0]
        third = p[0] * q[1] - p[1] * q[0]
        total = first + second + third
        if total != 0.0 and min(first * total, second * total, third * total) >= 0.0:
            weight[0], weight[1], weight[2] = first / total, second / total, third / total
    elif active[1] != last or active[2] != last:
        which, axis = 1 if active[1] != last else 2, 0 if across else 1
        other = planes.slopes[active[which], axis]
        total = p[axis] - other
        if total != 0.0 and -other * total >= 0.0 and p[axis] * total >= 0.0:
            weight[0], weight[which] = -other / total, p[axis] / total


@kernel
def lowest(last: int, reach: tuple[float, float], planes: Planes) -> tuple[float, float, float]:
    """Minimize the largest of planes 0 to last over a box, at a point where the last one is active.

    The point is an intersection of two lines, on which the last plane equals another or which are edges of
    the box. Notes the active planes and the weights with which their slopes cancel.
    """
    heights, slopes, lines, active = planes.heights, planes.slopes, planes.lines, planes.active
    for i in range(last):
        for axis in range(2):
            lines[i, axis] = slopes[i, axis] - slopes[last, axis]
        lines[i, 2] = heights[last] - heights[i]
    for side in range(2):
        for end in range(2):
            row = last + 2 * side + end
            lines[row, side], lines[row, 1 - side] = 1.0, 0.0
            lines[row, 2] = end * reach[side]
    best, best_x, best_y = np.inf, 0.0, 0.0
    edge = 1e-9 * (1.0 + reach[0]), 1e-9 * (1.0 + reach[1])
    for i in range(last + 4):
        for j in range(i + 1, last + 4):
            p, q = lines[i], lines[j]
            det = p[0] * q[1] - p[1] * q[0]
            if abs(det) <= 1e-10 * (abs(p[0]) + abs(p[1])) * (abs(q[0]) + abs(q[1])):
                continue
            x, y = (p[2] * q[1] - p[1] * q[2]) / det, (p[0] * q[2] - p[2] * q[0]) / det
            if x < -edge[0] or y < -edge[1] or x > reach[0] + edge[0] or y > reach[1] + edge[1]:
                continue
            x, y = min(max(x, 0.0), reach[0]), min(max(y, 0.0), reach[1])
            height = -np.inf
            for plane in range(last + 1):
                height = max(height, heights[plane] + slopes[plane, 0] * x + slopes[plane, 1] * y)
                if height >= best:
                    break
            if height < best:
                best, best_x, best_y = height, x, y
                active[0], active[1], active[2] = last, min(i, last), min(j, last)
    _weigh(last, 0.0 < best_x < reach[0] and not 0.0 < best_y < reach[1], planes)
    return best_x, best_y, best
