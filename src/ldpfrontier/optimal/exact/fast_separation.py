r"""Inequalities of the cone of `cone` that a column nearly violates most, compiled.

They are those of the members R_s ~ r_u (1 + t z_u)^(-1/order) of `ldpfrontier.uncertainty.divergence`,
with t so that the
budget is spent but for a share of about 1e-6, never more than it; and the split of the budget is a fixed
point of what `cone.Oracle` finds by secants, to about 1e-3. So every inequality holds for the cone, and the
one found is violated nearly as much as the worst.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.numerics.jit import inner, kernel
from ldpfrontier.types import FloatArray

#: Share of a budget that is left unspent, within half of that; most steps towards it; ends of log t.
UNSPENT, STEPS, FIRST, LAST = 1e-6, 50, -80.0, 700.0

#: Accuracy of an angle that splits the budget; below order 1, where a group that may be anything from some
#: share on makes a kink. Most splits, and after how many of them intervals are halved; intervals to start in.
ANGLE, KINK, SPLITS, HALVED, PARTS = 1e-3, 1e-8, 40, 5, 8

#: Budgets beyond this many nats, times g, are taken for this many.
LARGEST = 500.0


@inner
def _tilt(r: FloatArray, z: FloatArray, t: float, order: float) -> tuple[float, float]:
    """Divergence of R_u ~ r_u (1 + t z_u)^(-1/order) from r, and its derivative in log t."""
    g = (order - 1.0) / order
    below = above = W = T = moment = bent = 0.0
    for u in range(r.size):
        if r[u] > 0.0:
            x = t * z[u]
            # h = (1 + x)^(-1/order) less 1, and (1 + x) h less 1, divided by g.
            if order == 2.0:
                root = math.sqrt(1.0 + x)
                h, vh = -x / (root * (1.0 + root)), 2.0 * x / (1.0 + root)
            else:
                log = math.log1p(x)
                h, vh = math.expm1(-log / order), math.expm1(g * log) / g if g else log
            below += r[u] * h
            above += r[u] * vh
            W += r[u] * (1.0 + h)
            T += r[u] * (1.0 + g * vh)
            moment += r[u] * z[u] * (1.0 + h)
            bent += r[u] * z[u] * (1.0 + h) / (1.0 + x)
    D = (math.log1p(below) if below > -0.5 else math.log(W)) + (
        above if g == 0.0 else (math.log1p(g * above) if g * above > -0.5 else math.log(T)) / g
    ) / order
    return D, (moment / T - bent / W) * t / order


@inner
def _spend(r: FloatArray, z: FloatArray, B: float, order: float, last: float) -> tuple[float, float]:
    """Return log t at which B is spent, up to `last`, and what is left there."""
    mean = variance = 0.0
    for u in range(r.size):
        mean += r[u] * z[u]
    for u in range(r.size):
        variance += r[u] * (z[u] - mean) ** 2
    target = B * (1.0 - UNSPENT)
    lo, hi = FIRST, last
    tau = min(max(0.5 * math.log(2.0 * order * B / variance), FIRST), last)
    for step in range(STEPS):
        D, slope = _tilt(r, z, math.exp(tau), order)
        if abs(D - target) <= 0.5 * UNSPENT * target:
            return tau, 0.0
        if target > D:
            if tau == last:
                return tau, target - D
            lo = tau
        else:
            hi = tau
        new = tau - math.log(D / target) * D / slope
        if target > D and new >= last:
            tau = last
        else:
            tau = new if lo < new < hi and step < STEPS // 2 else 0.5 * (lo + hi)
    return lo, 0.0


@inner
def _member(
    r: FloatArray, q: FloatArray, B: float, order: float, R: FloatArray, z: FloatArray
) -> tuple[float, float]:
    """Find a nearly least R . q within the budget; return it and minus its derivative in B."""
    least, floor, top = 0, np.inf, -np.inf
    for u in range(r.size):
        if q[u] < q[least]:
            least = u
        if r[u] > 0.0:
            floor, top = min(floor, q[u]), max(top, q[u])
    span = top - floor
    if np.isinf(B) or np.isinf(floor):
        for u in range(r.size):
            R[u] = 1.0 if u == least else 0.0
        return q[least], 0.0
    left, slope = B * (1.0 - UNSPENT), floor - q[least]
    for u in range(r.size):
        R[u] = r[u]
    if span > 0.0 and B > 0.0:
        for u in range(r.size):
            z[u] = (q[u] - floor) / span if r[u] > 0.0 else 0.0
        # Where an empty cell has the least q, it takes what is left when t is at its end.
        last = min(LAST, math.log(span / (floor - q[least]))) if floor > q[least] else LAST
        tau, left = _spend(r, z, B, order, last)
        t, total = math.exp(tau), 0.0
        for u in range(r.size):
            R[u] = r[u] * (1.0 + t * z[u]) ** (-1.0 / order)
            total += R[u]
        for u in range(r.size):
            R[u] /= total
        slope = span / t
    value = 0.0
    if floor > q[least]:
        share = -math.expm1(-left)
        for u in range(r.size):
            R[u] *= 1.0 - share
        R[least] += share
    for u in range(r.size):
        value += R[u] * q[u]
    return value, slope + value - floor


@inner
def _budget(share: float, total: float, p: float, g: float) -> tuple[float, float]:
    """Return the divergence that a group of weight p may have for a share, and its derivative in that."""
    x = share * total / p
    if p == 0.0 or np.isinf(x) or 1.0 + g * x <= 0.0:
        return np.inf, 0.0
    return math.log1p(g * x) / g if g else x, total / p / (1.0 + g * x)


@kernel
def rough_cuts(
    blocks: FloatArray,
    pairs: tuple[NDArray[np.intp], NDArray[np.intp]],
    shared: NDArray[np.bool_],
    conditionals: FloatArray,
    sensitive: FloatArray,
    radius: float,
    order: float,
    factor: float,
) -> FloatArray:
    """Find a nearly worst inequality for every column and pair of sensitive values.

    Parameters
    ----------
    blocks : ndarray, shape (m, a1, a2)
        Columns.
    pairs : two ndarrays, shape (pairs,)
        Sensitive values with the larger and the smaller mean.
    shared : ndarray of bool, shape (pairs,)
        Whether the two share the budget.
    conditionals, sensitive, radius, order
        As in `RenyiBall`.
    factor : float
        e^epsilon.

    Returns
    -------
    ndarray, shape (m, pairs, a1, a2)
        R_s at s, less factor R_t at t.
    """
    m, a1, a2 = blocks.shape
    g = (order - 1.0) / order
    total = math.expm1(min(g * radius, LARGEST)) / g if g and radius < np.inf else radius
    close = ANGLE if order >= 1.0 else KINK
    cuts = np.zeros((m, shared.size, a1, a2))
    top, bottom, q, z = np.empty(a2), np.empty(a2), np.empty(a2), np.empty(a2)
    for i in range(m):
        for k in range(shared.size):
            s, t = pairs[0][k], pairs[1][k]
            best = -np.inf
            # Below order 1/2 several local maxima are not excluded.
            parts = PARTS if order < 0.5 and shared[k] else 1
            for part in range(parts):
                lo, hi = part * math.pi / 2.0 / parts, (part + 1) * math.pi / 2.0 / parts
                angle = 0.5 * (lo + hi)
                for step in range(SPLITS):
                    sin, cos = (math.sin(angle), math.cos(angle)) if shared[k] else (1.0, 1.0)
                    B, rise = _budget(sin * sin, total, sensitive[s], g)
                    for u in range(a2):
                        q[u] = -blocks[i, s, u]
                    high, up = _member(conditionals[s], q, B, order, top, z)
                    B, fall = _budget(cos * cos, total, sensitive[t], g)
                    low, down = _member(conditionals[t], blocks[i, t], B, order, bottom, z)
                    ratio = -high / low
                    if ratio > best or best == -np.inf:
                        best = ratio
                        for u in range(a2):
                            cuts[i, k, t, u] = 0.0
                            cuts[i, k, s, u] = top[u]
                            cuts[i, k, t, u] -= factor * bottom[u]
                    # Half of the derivatives of the logarithms in the roots of the shares, as in `cone`.
                    up, down = up * rise * sin / -high, down * fall * cos / low
                    if not shared[k] or not 0.0 < up + down < np.inf:
                        break
                    new = math.atan2(up, down)
                    lo, hi = (angle, hi) if new > angle else (lo, angle)
                    if not lo < new < hi or step > HALVED:
                        new = 0.5 * (lo + hi)
                    if abs(new - angle) <= close:
                        break
                    angle = new
    return cuts
