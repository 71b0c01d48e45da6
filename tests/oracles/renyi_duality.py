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
from numba import njit

from ldpfrontier.base.types import FloatArray

_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
#: log of (mu - max w) in units of the range of w; beyond, mu - e^-D M cancels.
_LOG_RANGE = (-45.0, 12.0)


@njit(cache=True, error_model="numpy")
def _bound(y, r, x, unit, D, g):
    """Return mu - e^-D M(mu - w), mu = unit e^y and w counted from the largest letter, x its distance."""
    mu, total = unit * math.exp(y), 0.0
    for u in range(r.size):
        if r[u] > 0.0:
            # In units of mu or of the range, so that no power overflows.
            v = (x[u] + mu) / unit
            if g == 0.0:
                total += r[u] * math.log(v)
            elif g == 0.5:
                total += r[u] * math.sqrt(v)
            elif g == -1.0:
                total += r[u] / v
            else:
                total += r[u] * v**g
    M = unit * (math.exp(total) if g == 0.0 else total ** (1.0 / g))
    return mu - math.exp(-D) * M


@njit(cache=True, error_model="numpy")
def _search(r, w, D, g, steps, bounds, mu):
    """Fill in the least bounds of rows, by golden sections in log mu, and the mu that give them."""
    first, last = _LOG_RANGE
    x = np.empty(w.shape[1])
    for i in range(len(w)):
        top, low = w[i].max(), w[i].min()
        bounds[i], mu[i] = top, top
        if not top > low:
            continue
        for u in range(x.size):
            x[u] = top - w[i, u]
        unit = top - low
        a, b = first, last
        c, d = b - _GOLDEN * (b - a), a + _GOLDEN * (b - a)
        at_c = _bound(c, r[i], x, unit, D[i], g)
        at_d = _bound(d, r[i], x, unit, D[i], g)
        for _ in range(steps):
            if at_c <= at_d:
                b, d, at_d = d, c, at_c
                c = b - _GOLDEN * (b - a)
                at_c = _bound(c, r[i], x, unit, D[i], g)
            else:
                a, c, at_c = c, d, at_d
                d = a + _GOLDEN * (b - a)
                at_d = _bound(d, r[i], x, unit, D[i], g)
        # mu = max w is allowed as well, and R . w is never above max w.
        least = min(at_c, at_d)
        if least < 0.0:
            bounds[i], mu[i] = top + least, top + unit * math.exp(c if at_c <= at_d else d)


def largest_mean(
    r: FloatArray,
    w: FloatArray,
    radius: FloatArray | float,
    order: float,
    steps: int = 60,
) -> tuple[FloatArray, FloatArray]:
    """Return upper bounds on max R . w, tight after the search, and the mu that give them.

    r and w have the shape (..., letters), and the radius in nats the shape (...). The golden section for
    log (mu - max w) has so many steps.
    """
    g = (order - 1.0) / order
    shape = np.broadcast_shapes(r.shape, w.shape)
    # Copies, as what is read-only would be compiled for once more.
    rows = [np.array(np.broadcast_to(x, shape), order="C").reshape(-1, shape[-1]) for x in (r, w)]
    D = np.broadcast_to(radius, shape[:-1]).astype(float).ravel()
    bounds, mu = np.empty(len(D)), np.empty(len(D))
    _search(*rows, D, g, steps, bounds, mu)
    return bounds.reshape(shape[:-1]), mu.reshape(shape[:-1])


def least_mean(
    r: FloatArray,
    w: FloatArray,
    radius: FloatArray | float,
    order: float,
    steps: int = 60,
) -> tuple[FloatArray, FloatArray]:
    """Return lower bounds on min R . w, tight after the search, and the mu' of them."""
    value, mu = largest_mean(r, -w, radius, order, steps)
    return -value, -mu


def divergence_cost(D: FloatArray | float, order: float) -> FloatArray:
    """Return k(D) = (e^(g D) - 1)/g, D at order 1."""
    g = (order - 1.0) / order
    return np.asarray(D if g == 0.0 else np.expm1(g * np.asarray(D)) / g)
