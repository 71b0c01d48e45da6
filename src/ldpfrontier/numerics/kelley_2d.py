r"""Kelley's cutting planes in two dimensions, compiled: the lowest point of a few planes over a box.

The problem is ::

    minimize over x in [0, X] x [0, Y]   max_i  h_i + g_i . x.

A minimum is where two of three functions meet: the last plane, which is active as it was the last to be
added, equals another one, or x is on the boundary of the box. So all intersections of two such lines are
tried, which for the few planes of a node is faster than a linear program. The weights of the active planes,
whose weighted slopes cancel, are the dual solution.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray
from ldpfrontier.numerics.jit import borrowing_kernel, inner_kernel

#: Relative distance to the box, and relative determinant of parallel lines, for rounding.
_OUTSIDE, _PARALLEL = 1e-9, 1e-10


class CuttingPlanes(NamedTuple):
    """Room for m planes, and the dual solution of the last minimization."""

    heights: FloatArray  # (m,): h, the values at the origin
    slopes: FloatArray  # (m, 2): g
    lines: FloatArray  # (m + 4, 3): space; a, b, c of a x + b y = c
    active: NDArray[np.int64]  # (3,): planes that are active, the last one first
    weight: FloatArray  # (3,): their weights, which add up to 1

    @classmethod
    def of(cls, m: int) -> CuttingPlanes:
        """Return room for m planes."""
        active = np.zeros(3, dtype=np.int64)
        return cls(np.empty(m), np.empty((m, 2)), np.empty((m + 4, 3)), active, np.zeros(3))


@inner_kernel
def _set_weights(last: int, across: bool, planes: CuttingPlanes) -> None:
    """Set the weights at which slopes of the active planes cancel, those along one axis if two are active."""
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


@borrowing_kernel
def minimize_planes(
    last: int, limits: tuple[float, float], planes: CuttingPlanes
) -> tuple[float, float, float]:
    """Minimize the largest of planes over a box, at a point where the one that was added last is active.

    Return x, y and the minimum over planes 0 to `last`; the active planes and their weights are set.
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
            lines[row, 2] = end * limits[side]
    best, best_x, best_y = np.inf, 0.0, 0.0
    outside = _OUTSIDE * (1.0 + limits[0]), _OUTSIDE * (1.0 + limits[1])
    for i in range(last + 4):
        for j in range(i + 1, last + 4):
            p, q = lines[i], lines[j]
            det = p[0] * q[1] - p[1] * q[0]
            if abs(det) <= _PARALLEL * (abs(p[0]) + abs(p[1])) * (abs(q[0]) + abs(q[1])):
                continue
            x, y = (p[2] * q[1] - p[1] * q[2]) / det, (p[0] * q[2] - p[2] * q[0]) / det
            if x < -outside[0] or y < -outside[1] or x > limits[0] + outside[0] or y > limits[1] + outside[1]:
                continue
            x, y = min(max(x, 0.0), limits[0]), min(max(y, 0.0), limits[1])
            height = -np.inf
            for plane in range(last + 1):
                height = max(height, heights[plane] + slopes[plane, 0] * x + slopes[plane, 1] * y)
                if height >= best:
                    break
            if height < best:
                best, best_x, best_y = height, x, y
                active[0], active[1], active[2] = last, min(i, last), min(j, last)
    _set_weights(last, 0.0 < best_x < limits[0] and not 0.0 < best_y < limits[1], planes)
    return best_x, best_y, best
