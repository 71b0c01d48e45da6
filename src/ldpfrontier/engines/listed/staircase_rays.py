"""The extreme rays of local differential privacy, which are known: staircase columns."""

from __future__ import annotations

import math

import numpy as np

from ldpfrontier.base.types import FloatArray
from ldpfrontier.model.cones import Cone, PolyhedralCone


def local_ratio(cone: Cone) -> float | None:
    """Return e^epsilon of a cone of `local_cone` with epsilon > 0; None for other cones."""
    n = math.prod(cone.shape)
    if not isinstance(cone, PolyhedralCone) or n < 2 or len(cone.inequalities) != n * (n - 1):
        return None
    B = cone.inequalities
    ratio = -float(B.min(initial=0.0))
    over, under = B.argmax(axis=1), B.argmin(axis=1)
    same = np.zeros_like(B)
    same[np.arange(len(B)), under], same[np.arange(len(B)), over] = -ratio, 1.0
    distinct = np.unique(over * n + under).size == len(B)
    return ratio if ratio > 1.0 and distinct and np.array_equal(same, B) else None


def staircase_rays(inputs: int, ratio: float) -> FloatArray:
    """Return the extreme rays of epsilon-LDP, (2^n - 2, n): 1 on a set of inputs and e^-epsilon elsewhere.

    The source is kairouz2016, Theorem 4; `ratio` is e^epsilon.
    """
    inside = (np.arange(1, 2**inputs - 1)[:, None] >> np.arange(inputs)) & 1
    return np.where(inside == 1, 1.0, 1.0 / ratio)
