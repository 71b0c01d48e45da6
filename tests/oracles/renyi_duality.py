r"""Largest and least means over a Renyi ball, and privacy levels, by weak duality: bounds on the safe side.

For R with D(r || R) <= D, order alpha, g = (alpha - 1)/alpha and any x >= 0, Hoelder's inequality (reversed
for g < 0, and in the limit g = 0 the inequality of the weighted geometric mean) says ::

    R . x >= e^-D M(x),      M(x) = (sum_u r_u x_u^g)^(1/g).

So for every mu >= max w and every mu' <= min w, over all letters, those with r_u = 0 too ::

    R . w <= mu - e^-D M(mu - w),      R . w >= mu' + e^-D M(w - mu').

Whatever mu a search comes to, the number is on the safe side, up to the rounding of one formula; at the best
mu it is the extreme mean. If R may cost k(D) = (e^(g D) - 1)/g at a price c per unit, then e^-D M becomes the
least of (1 + g k)^(-1/g) M + c k over the k that are allowed. Nothing of `ldpfrontier` is used.

Two groups share the budget of F: (R, R') are conditionals of one member iff p k(D) + p' k(D') <= k(B). With
y = p k(D)/k(B) and y' alike, y + y' <= 1, and any nu >= 0 ::

    R . v - e^eps R' . v' <= max (R . v - nu y) + nu - e^eps min (R' . v' + nu e^-eps y').
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ldpfrontier.types import FloatArray

_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
#: log of (mu - max w) in units of the range of w; beyond, mu - e^-D M cancels.
_LOG_RANGE = (-45.0, 12.0)


@njit(cache=True, error_model="numpy")
def _with_price(M: float, most: float, price: float, g: float) -> float:
    """Return the least of (1 + g k)^(-1/g) M + price k over k from 0 to `most`."""
    k = most
    if price > 0.0 and g > -1.0:
        # Where the derivative is 0: (1 + g k)^((1 + g)/g) = M / price.
        log = math.log(M / price) / (1.0 + g) if M > 0.0 else -np.inf
        k = log if g == 0.0 else math.expm1(g * log) / g
        k = min(max(k, 0.0), most) if price < M else 0.0
    rest = math.exp(-k) if g == 0.0 else math.exp(-math.log1p(g * k) / g) if g * k > -1.0 else 0.0
    value = rest * M + (price * k if price > 0.0 else 0.0)
    # Linear in k at order 1/2, concave below: the ends.
    return min(value, M) if g <= -1.0 and price > 0.0 else value


@njit(cache=True, error_model="numpy")
def _bound(y, r, x, unit, most, price, g):
    """Return mu - h(M(mu - w)), mu = unit e^y and w both counted from the largest letter, x its distance."""
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
    return mu - _with_price(M, most, price, g)


@njit(cache=True, error_model="numpy")
def _search(r, w, most, price, g, steps, bounds, mu):
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
        at_c = _bound(c, r[i], x, unit, most[i], price[i], g)
        at_d = _bound(d, r[i], x, unit, most[i], price[i], g)
        for _ in range(steps):
            if at_c <= at_d:
                b, d, at_d = d, c, at_c
                c = b - _GOLDEN * (b - a)
                at_c = _bound(c, r[i], x, unit, most[i], price[i], g)
            else:
                a, c, at_c = c, d, at_d
                d = a + _GOLDEN * (b - a)
                at_d = _bound(d, r[i], x, unit, most[i], price[i], g)
        # mu = max w is allowed as well, and R . w is never above max w.
        least = min(at_c, at_d)
        if least < 0.0:
            bounds[i], mu[i] = top + least, top + unit * math.exp(c if at_c <= at_d else d)


def largest_mean(
    r: FloatArray,
    w: FloatArray,
    radius: FloatArray | float,
    order: float,
    price: FloatArray | None = None,
    steps: int = 60,
) -> tuple[FloatArray, FloatArray]:
    """Return upper bounds on max R . w, less price k(D), tight after the search, and the mu that give them.

    r and w have the shape (..., letters), the radius in nats and the price of a unit of k(D) the shape (...).
    The golden section for log (mu - max w) has so many steps.
    """
    g = (order - 1.0) / order
    shape = np.broadcast_shapes(r.shape, w.shape)
    # Copies, as what is read-only would be compiled for once more.
    rows = [np.array(np.broadcast_to(x, shape), order="C").reshape(-1, shape[-1]) for x in (r, w)]
    most = np.broadcast_to(divergence_cost(radius, order), shape[:-1]).astype(float).ravel()
    cost = np.broadcast_to(0.0 if price is None else price, shape[:-1]).astype(float).ravel()
    bounds, mu = np.empty(len(cost)), np.empty(len(cost))
    _search(*rows, most, cost, g, steps, bounds, mu)
    return bounds.reshape(shape[:-1]), mu.reshape(shape[:-1])


def least_mean(
    r: FloatArray,
    w: FloatArray,
    radius: FloatArray | float,
    order: float,
    price: FloatArray | None = None,
    steps: int = 60,
) -> tuple[FloatArray, FloatArray]:
    """Return lower bounds on min R . w + price k(D), tight after the search, and the mu' of them."""
    value, mu = largest_mean(r, -w, radius, order, price, steps)
    return -value, -mu


def divergence_cost(D: FloatArray | float, order: float) -> FloatArray:
    """Return k(D) = (e^(g D) - 1)/g, D at order 1."""
    g = (order - 1.0) / order
    return np.asarray(D if g == 0.0 else np.expm1(g * np.asarray(D)) / g)
