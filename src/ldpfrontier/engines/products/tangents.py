r"""Tangents of Z log Z, which bound the reduced costs of product columns block by block.

With Z log Z >= lam Z - e^(lam - 1) the maximum over the columns separates over the blocks. The bound of slope
lam on [sum_s f_s(w_s) - Z log Z] / Z (`pricing`) is the kappa with ::

    F(lam) = e^(lam - 1 - kappa),      F(lam) = -sum_s max_w [f_s(w) - lam z_s(w)],

and the best lam is found by Newton's method, as F is concave and piecewise affine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ldpfrontier.base.types import FloatArray
from ldpfrontier.numerics.jit import borrowing_kernel, inner_kernel, kernel


@inner_kernel
def _largest_of_four(f: FloatArray, z: FloatArray, lam: float, i: int) -> float:
    """Return the largest f - lam z of places i to i + 3: neither pair waits for the other."""
    first = max(f[i] - lam * z[i], f[i + 1] - lam * z[i + 1])
    return float(max(first, max(f[i + 2] - lam * z[i + 2], f[i + 3] - lam * z[i + 3])))


@borrowing_kernel
def conjugate(f: FloatArray, z: FloatArray, lam: float) -> tuple[float, float]:
    """Return the largest f - lam z of a list of vertices, and the z of the first vertex that attains it."""
    best, own, place, n = -np.inf, 0.0, 0, len(f)
    whole = n - n % 8
    for i in range(0, whole, 8):
        largest = max(_largest_of_four(f, z, lam, i), _largest_of_four(f, z, lam, i + 4))
        if largest > best:
            best, place = largest, i
    for i in range(place + 7 if whole else -1, place - 1, -1):
        if f[i] - lam * z[i] == best:
            own = z[i]
    for i in range(whole, n):
        value = f[i] - lam * z[i]
        if value > best:
            best, own = value, z[i]
    return best, own


@kernel
def tangent_bound(lam: float, total: float) -> float:
    """Return the bound on reduced costs by a tangent of slope lam, if sum_s max (f_s - lam z_s) is `total`.

    That is the kappa with total = -e^(lam - 1 - kappa), inf unless total < 0 (`BlockProduct.best_tangent`).
    """
    return lam - 1.0 - math.log(-total) if total < 0.0 else np.inf


def best_tangent(z: Sequence[FloatArray], f: Sequence[FloatArray], lam: float) -> tuple[float, float]:
    """Return the least kappa that tangents prove of reduced costs, and its slope, from z and f."""

    def at(lam: float) -> tuple[float, float]:
        F = Z = 0.0
        for z_s, f_s in zip(z, f, strict=True):
            value, own = conjugate(f_s, z_s, lam)
            F -= value
            Z += own
        return F, Z

    return least_tangent_bound(at, lam)


def least_tangent_bound(at: Callable[[float], tuple[float, float]], lam: float) -> tuple[float, float]:
    """Return the least kappa of tangents, and its slope lam, by Newton's method from a slope on.

    Given a slope, `at` returns F, concave and piecewise affine, and its own slope Z there.
    """
    below = above = (0.0, 0.0, 0.0)  # lam, F and its slope Z on either side of the least kappa
    low, high = -math.inf, math.inf
    best = (math.inf, 1.0)
    for _ in range(20):  # steps of Newton's method, each with a bound that holds
        F, Z = at(lam)
        best = min(best, (tangent_bound(lam, -F), lam))
        # Kappa is least where F = Z, or F crosses Z.
        following = lam + 1.0 - F / Z
        if Z > F:
            low, below = lam, (lam, F, Z)
        else:
            high, above = lam, (lam, F, Z)
        if not low < following < high:
            (x, p, slope), (y, q, other) = below, above
            following = (q - p + slope * x - other * y) / (slope - other) if slope > other else lam
        if abs(following - lam) < 1e-12 or not low < following < high:
            break
        lam = following
    return best
