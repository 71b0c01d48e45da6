r"""Largest and least means over a Renyi ball, and privacy levels, by weak duality: bounds on the safe side.

For R with D(r || R) <= D, order alpha, g = (alpha - 1)/alpha and any x >= 0, Hoelder's inequality (reversed
for g < 0, and in the limit g = 0 the inequality of the weighted geometric mean) says ::

    R . x >= e^-D M(x),      M(x) = (sum_u r_u x_u^g)^(1/g).

So for every mu >= max w and every mu' <= min w, over all letters, those with r_u = 0 too ::

    R . w <= mu - e^-D M(mu - w),      R . w >= mu' + e^-D M(w - mu').

Whatever mu a search comes to, the number is on the safe side, up to the rounding of one formula; at the best
mu it is the extreme mean. Nothing of `ldpfrontier` is used.
"""

from __future__ import annotations

import math

import numpy as np

from ldpfrontier.types import FloatArray

_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
#: log of (mu - max w) in units of the range of w; beyond, mu - e^-D M cancels.
_LOG_RANGE = (-45.0, 12.0)


def power_mean(r: FloatArray, x: FloatArray, g: float) -> FloatArray:
    """Return M(x) along the last axis; `r` has sum 1, and x is 0 or more."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # In units of the largest x, so that no power overflows. Letters with r_u = 0 do not count.
        unit = np.where(r > 0.0, x, 0.0).max(axis=-1, keepdims=True)
        unit = np.where(unit > 0.0, unit, 1.0)
        y = np.where(r > 0.0, x / unit, 1.0)
        if g == 0.0:
            mean = np.exp((r * np.log(y)).sum(axis=-1))
        elif g == 0.5:
            mean = (r * np.sqrt(y)).sum(axis=-1) ** 2
        elif g == -1.0:
            mean = 1.0 / (r / y).sum(axis=-1)
        else:
            mean = (r * y**g).sum(axis=-1) ** (1.0 / g)
    return np.asarray(unit[..., 0] * np.where(np.isfinite(mean), mean, 0.0))


def largest_mean(
    r: FloatArray, w: FloatArray, radius: FloatArray | float, order: float, steps: int = 60
) -> tuple[FloatArray, FloatArray]:
    """Return upper bounds on max R . w, tight after the search, and the mu that give them.

    Parameters
    ----------
    r, w : ndarray, shape (..., letters)
    radius : ndarray, shape (...), or float
        In nats, 0 to infinity.
    order : float
    steps : int
        Of the golden section for log (mu - max w).
    """
    g = (order - 1.0) / order
    r, w = np.broadcast_arrays(r, w)
    shrink = np.exp(-np.broadcast_to(radius, w.shape[:-1]))
    top = w.max(axis=-1)
    span = top - w.min(axis=-1)
    unit = np.where(span > 0.0, span, 1.0)

    def value(y: FloatArray) -> FloatArray:
        mu = unit * np.exp(y)
        # mu - e^-D M with mu counted from the largest letter.
        return np.asarray(mu - shrink * power_mean(r, (top[..., None] - w) + mu[..., None], g))

    a, b = np.full(top.shape, _LOG_RANGE[0]), np.full(top.shape, _LOG_RANGE[1])
    c, d = b - _GOLDEN * (b - a), a + _GOLDEN * (b - a)
    at_c, at_d = value(c), value(d)
    for _ in range(steps):
        left = at_c <= at_d
        a, b = np.where(left, a, c), np.where(left, d, b)
        new = np.where(left, b - _GOLDEN * (b - a), a + _GOLDEN * (b - a))
        at = value(new)
        c, d = np.where(left, new, d), np.where(left, c, new)
        at_c, at_d = np.where(left, at, at_d), np.where(left, at_c, at)
    best = np.where(at_c <= at_d, c, d)
    least = np.minimum(at_c, at_d)
    # mu = max w is allowed as well, and R . w is never above max w.
    over = np.where((least < 0.0) & (span > 0.0), least, 0.0)
    return top + over, top + np.where(over < 0.0, unit * np.exp(best), 0.0)


def least_mean(
    r: FloatArray, w: FloatArray, radius: FloatArray | float, order: float, steps: int = 60
) -> tuple[FloatArray, FloatArray]:
    """Return lower bounds on min R . w, tight after the search, and the mu' that give them."""
    value, mu = largest_mean(r, -w, radius, order, steps)
    return -value, -mu


def divergence_cost(D: FloatArray | float, order: float) -> FloatArray:
    """Return k(D) = (e^(g D) - 1)/g, D at order 1."""
    g = (order - 1.0) / order
    return np.asarray(D if g == 0.0 else np.expm1(g * np.asarray(D)) / g)


def radius_of_cost(k: FloatArray, order: float) -> FloatArray:
    """Return D with k(D) = k; infinity where there is none."""
    g = (order - 1.0) / order
    if g == 0.0:
        return np.asarray(k)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(g * k > -1.0, np.log1p(np.maximum(g * k, -1.0)) / g, np.inf))
