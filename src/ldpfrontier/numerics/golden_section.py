"""Golden section search for the maxima of unimodal functions, many at once (Kiefer 1953)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ldpfrontier.base.types import FloatArray


def golden_section(
    function: Callable[[FloatArray], FloatArray], lo: FloatArray, hi: FloatArray, steps: int = 40
) -> tuple[FloatArray, FloatArray]:
    """Return maximizers and maxima of unimodal functions on [lo, hi], elementwise, ends included.

    Every step leaves 0.618 of an interval, at the price of one value.
    """
    ratio = (math.sqrt(5.0) - 1.0) / 2.0
    left, right = hi - ratio * (hi - lo), lo + ratio * (hi - lo)
    points = [lo, hi, left, right]
    values = [function(x) for x in points]
    f_left, f_right = values[2:]
    for _ in range(steps):
        up = f_left < f_right
        lo, hi = np.where(up, left, lo), np.where(up, hi, right)
        new = np.where(up, lo + ratio * (hi - lo), hi - ratio * (hi - lo))
        f_new = function(new)
        points.append(new)
        values.append(f_new)
        left, right = np.where(up, right, new), np.where(up, new, left)
        f_left, f_right = np.where(up, f_right, f_new), np.where(up, f_new, f_left)
    best = np.argmax(values, axis=0)[None]
    return np.take_along_axis(np.array(points), best, 0)[0], np.take_along_axis(np.array(values), best, 0)[0]
