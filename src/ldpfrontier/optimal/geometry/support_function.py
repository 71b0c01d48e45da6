r"""The largest and the least mean over a Renyi ball, compiled, where a divergence may have its price.

Those over the ball are `renyi.least_members`, from where the last ones were, as a step of a climb changes
them little. With a toll they are, over all R with D = D(r || R) <= B, ::

    A(w) = max of R . w - toll k(D),      B(w) = min of R . w + toll k(D),

k as in `renyi_ball`: what groups of an uncertainty set share. The R are of the same family,
r (1 + t z)^(-1/order) scaled, and x = mu - w or w - mu the distances from its pole: where the radius does not
decide, t is where the mean changes with k(D) by the toll, ::

    R . x = toll e^(g D).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.numerics.jit import inner, kernel
from ldpfrontier.types import FloatArray

#: Ends of log t; a step of it after which (the convergence is quadratic) the next one is rounding; most
#: steps, and those after which every other one halves the bracket.
FIRST, LAST, SHORT, MOST, HALVES = -80.0, 700.0, 1e-7, 100, 20

#: Orders this near to 1 divide what cancels by order - 1.
MIDDLE = 0.1

#: Most steps to a vector with two values, relative change after which they end, and its largest value in
#: units of the top.
TWO, FINE, FARTHEST = 30, 1e-7, 1e7


class Extreme(NamedTuple):
    """What attains a largest or least mean over the ball, n letters."""

    value: FloatArray  # (1,)
    tau: FloatArray  # (1,): log t, the start of the next search; nan for none
    R: FloatArray  # (n,)
    x: FloatArray  # (n,): distances as in `renyi.least_members`
    paid: FloatArray  # (1,): toll times k(D)
    free: NDArray[np.bool_]  # (1,): whether the toll decides, and not the radius


@kernel
def extreme(n: int) -> Extreme:
    """Return space for an extreme of n letters, which says nothing of where to start."""
    found = Extreme(
        np.zeros(1), np.zeros(1), np.empty(n), np.empty(n), np.zeros(1), np.zeros(1, dtype=np.bool_)
    )
    found.tau[0] = np.nan
    return found


@inner
def _tilt(
    r: FloatArray, z: FloatArray, floor: float, tau: float, order: float, h: FloatArray
) -> tuple[float, float, float]:
    """Return D(r || R), its derivative in log t, and R . (1/t + z), with R ~ r (1 + t z)^(-1/order).

    R goes to h; `floor` is the least z where r > 0: dividing by its factor keeps every sum within range.
    """
    inverse = np.exp(-tau)
    unit = inverse + floor
    g = 1.0 - 1.0 / order
    middle = abs(order - 1.0) < MIDDLE
    W = T = moment = bent = part = 0.0
    for u in range(r.size):
        h[u] = 0.0
        if r[u] > 0.0:
            v = (inverse + z[u]) / unit
            if order == 2.0:
                h[u] = r[u] / np.sqrt(v)
            elif middle:
                log = np.log(v)
                h[u] = r[u] * np.exp(-log / order)
                part += r[u] * (np.expm1(g * log) / g if g != 0.0 else log)
            else:
                h[u] = r[u] * v ** (-1.0 / order)
            W += h[u]
            T += v * h[u]
            moment += z[u] * h[u]
            bent += z[u] * h[u] / v
    if middle:
        if g != 0.0:
            part = (np.log1p(g * part) if g * part > -0.5 else np.log(T)) / g
        D = np.log(W) + part / order
    else:
        D = np.log(W) + np.log(T) / (order - 1.0)
    for u in range(r.size):
        h[u] /= W
    return D, (moment / T - bent / W) / (unit * order), unit * T / W


@inner
def _budget(D: float, g: float) -> float:
    """Return k(D)."""
    return float(np.expm1(g * D) / g if g != 0.0 else D)


@inner
def _worth(ahead: float, toll: float, D: float, g: float) -> float:
    """Return how much further D is worth its toll, with R . (1/t + z) ahead."""
    return float((np.log(ahead / toll) - g * D) / (1.0 + g))


@kernel
def least(
    r: FloatArray, w: FloatArray, sign: float, B: float, order: float, toll: float, found: Extreme
) -> None:
    """Find the least mean of sign * w, as `renyi.least_members` does; its value is that of w.

    Parameters
    ----------
    r, w : ndarray, shape (n,)
        A distribution, and letters >= 0.
    sign : float
        1 for the least mean of w, -1 for the largest.
    B, order : float
        Radius in nats, > 0 and finite, and order.
    toll : float
        What a unit of k(D) costs, 0 or more.
    found : Extreme
        The result; its tau is where to start.
    """
    R, z, g = found.R, found.x, 1.0 - 1.0 / order
    found.paid[0], found.free[0] = 0.0, False
    low = high = sign * w[0]
    for u in range(r.size):
        low, high = min(low, sign * w[u]), max(high, sign * w[u])
    span = high - low
    if not span > 0.0:
        for u in range(r.size):
            R[u], z[u] = r[u], np.inf
        found.value[0] = w[0]
        return
    floor, mean, variance = 1.0, 0.0, 0.0
    for u in range(r.size):
        z[u] = (sign * w[u] - low) / span
        if r[u] > 0.0:
            floor = min(floor, z[u])
            mean += r[u] * z[u]
    for u in range(r.size):
        variance += r[u] * (z[u] - mean) ** 2
    toll /= span
    # Second order: D = t^2 Var(z) / (2 order), and R . (1/t + z) = 1/t.
    guess = 0.5 * np.log(2.0 * order * B / variance) if variance > 0.0 else LAST
    if toll > 0.0:
        guess = min(guess, -np.log(toll))
    tau = min(max(guess if np.isnan(found.tau[0]) else found.tau[0], FIRST + 1.0), 300.0)
    lo, hi, left = FIRST, LAST, 0.0
    for step in range(MOST):
        D, slope, ahead = _tilt(r, z, floor, tau, order, R)
        spare = B - D
        change = np.log(D / B) * D / slope
        if toll > 0.0:
            worth = _worth(ahead, toll, D, g)
            if worth < spare:
                spare = worth
                change = -worth * (1.0 + g) / ((1.0 + g) * slope + np.exp(-tau) / ahead)
        if spare > 0.0:
            lo = tau
        else:
            hi = tau
        new = tau - change
        if abs(new - tau) <= SHORT + 1e-15 / B:
            tau = new
            break
        if not lo < new < hi or (step > HALVES and step % 2):
            if hi == LAST:
                # Whether the budget can be used up at all.
                D, _, ahead = _tilt(r, z, floor, LAST, order, R)
                left = B - D
                if toll > 0.0:
                    left = min(left, _worth(ahead, toll, D, g))
                if left > 0.0:
                    tau = LAST
                    break
                hi = LAST - 1.0
            new = 0.5 * (lo + hi)
        tau = new
    left = max(left, 0.0)
    D = _tilt(r, z, floor, tau, order, R)[0] + left
    found.tau[0] = tau
    inverse = np.exp(-tau)
    if left > 0.0:
        # What is left of the budget moves to the cells of least value.
        share, cells = -np.expm1(-left), 0
        for u in range(r.size):
            cells += z[u] == 0.0
        for u in range(r.size):
            R[u] = (1.0 - share) * R[u] + (share / cells if z[u] == 0.0 else 0.0)
    value = 0.0
    for u in range(r.size):
        z[u] = span * (inverse + z[u])
        value += R[u] * w[u]
    if toll > 0.0:
        found.free[0] = D < B * (1.0 - SHORT)
        found.paid[0] = toll * span * _budget(min(D, B), g)
    found.value[0] = value + sign * found.paid[0]


@inner
def _two_cells(m: float, q: float, order: float) -> tuple[float, float, float]:
    """Return k(D) of (m, 1 - m) and (q, 1 - q), and its first and second derivative in q."""
    a, b = m / q, (1.0 - m) / (1.0 - q)
    if order == 2.0:
        steep, flat = b * b, a * a
        over = m * (a - 1.0) + (1.0 - m) * (b - 1.0)
        root = np.sqrt(1.0 + over)
        k, scale = 2.0 * over / (root + 1.0), 1.0 / root
    else:
        log_a, log_b = np.log(a), np.log(b)
        steep, flat = np.exp(order * log_b), np.exp(order * log_a)
        g, over = 1.0 - 1.0 / order, 0.0
        if g == 0.0:
            k = m * log_a + (1.0 - m) * log_b
        else:
            over = m * np.expm1((order - 1.0) * log_a) + (1.0 - m) * np.expm1((order - 1.0) * log_b)
            k = np.expm1(np.log1p(over) / order) / g
        scale = np.exp(-g * np.log1p(over))
    h = steep - flat
    bend = order * (steep / (1.0 - q) + flat / q) - (order - 1.0) ** 2 / order * h * h / (1.0 + over)
    return k, scale * h, scale * bend


@inner
def _reached(m: float, pull: float, cap: float, order: float, start: float) -> tuple[float, float]:
    """Return q between m and a cap where the derivative of k(D) is `pull`, or the cap; and k(D) there."""
    k, slope, _ = _two_cells(m, cap, order)
    if abs(slope) <= abs(pull):
        return cap, k
    low, high = min(m, cap), max(m, cap)
    q = start if low < start < high else m + 0.5 * (cap - m)
    for _ in range(TWO):
        k, slope, bend = _two_cells(m, q, order)
        if slope > pull:
            high = q
        else:
            low = q
        new = q + (pull - slope) / bend
        if not low < new < high:
            new = 0.5 * (low + high)
        step = new - q
        q = new
        if abs(step) <= FINE * min(q, 1.0 - q):
            break
    return q, _two_cells(m, q, order)[0]


@inner
def _met(
    case: int,
    mass: float,
    start: float,
    caps: tuple[float, float],
    ends: tuple[float, float],
    tolls: tuple[float, float],
    order: float,
) -> tuple[float, float]:
    """Find x with A - B (0), A (1) or B (2) of (x, 0) as those of the ends; return it and B, or 0."""
    target = (ends[0] - ends[1], ends[0], -ends[1])[case]
    x, B = start, 0.0
    above = below = mass
    for _ in range(TWO):
        slope = value = 0.0
        if case < 2:
            above, k = _reached(mass, x / tolls[0], caps[0], order, above)
            slope, value = above, above * x - tolls[0] * k
        if case != 1:
            below, k = _reached(mass, -x / tolls[1], caps[1], order, below)
            B = below * x + tolls[1] * k
            slope, value = slope - below, value - B
        # Convex in x, or concave; means are slopes.
        before, x = x, FARTHEST * ends[0]
        if slope != 0.0:
            x = min(before - (value - target) / slope, x)
        if abs(x - before) <= FINE * before:
            B += below * (x - before) * (case != 1)
            break
    return x, B


@kernel
def two_valued(
    mass: FloatArray,
    caps: tuple[FloatArray, FloatArray],
    ends: tuple[float, float],
    tolls: tuple[float, float],
    order: float,
) -> FloatArray:
    """Find the vectors with one value on a set of letters and another off it that meet A = top, B = bottom.

    Where the other one would be below 0 it is 0, and those that meet one of the two are found.

    Parameters
    ----------
    mass : ndarray, shape (m,)
        Probabilities of the sets.
    caps : tuple of ndarray, shape (m,)
        The largest and the least probability of the sets over the ball.
    ends, tolls : tuple of float
        Top and bottom, and the tolls of A and of B, > 0.
    order : float

    Returns
    -------
    ndarray, shape (m, 4)
        How far the two values are apart, and the lower one; where it is below 0, the values on the set with
        A = top and with B = bottom, if the first one is larger. What there is not is nan.
    """
    found = np.full((mass.size, 4), np.nan)
    # Second order: A and B are d^2 Var / (2 order toll) from the mean.
    width = 2.0 * order * (ends[0] - ends[1]) / (1.0 / tolls[0] + 1.0 / tolls[1])
    for i in range(mass.size):
        m, own = mass[i], (caps[0][i], caps[1][i])
        start = min(np.sqrt(width / (m * (1.0 - m))), FARTHEST * ends[0])
        apart, low = _met(0, m, start, own, ends, tolls, order)
        if ends[1] >= low:
            found[i, 0], found[i, 1] = apart, ends[1] - low
            continue
        last = _met(2, m, ends[1], own, ends, tolls, order)[0]
        first = _met(1, m, ends[0], own, ends, tolls, order)[0]
        if first >= last:
            found[i, 2], found[i, 3] = first, last
    return found
