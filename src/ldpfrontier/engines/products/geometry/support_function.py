r"""Support function of a Renyi ball: its largest and least mean, compiled, where divergence may have a price.

For a distribution r, D = D(r || R) of some order, g = 1 - 1/order and k(D) = (e^(g D) - 1)/g (see
`renyi_ball`: what groups of an uncertainty set share), sought are ::

    A(w) = max of R . w - nu k(D),      B(w) = min of R . w + nu k(D)      over R with D <= radius,

nu >= 0 being the budget multiplier, per unit of k(D). By stationarity the extreme R are of the family
R_u ~ r_u x_u^(-1/order), x = w - mu (for B) or mu - w (for A) the distances from a pole mu outside the range
of w. With z in [0, 1] what w is above its least value (for A, what it is below its largest one) as a share of
the range, and x ~ 1/t + z, one number is left: t, which grows with D. Either the radius binds, D = radius, or
the price does: the mean changes with k(D) by nu, which says ::

    R . x = nu e^(g D).

Newton's method finds log t from where the last search ended, as a step of an ascent changes t little.
`divergence.minimizers` is the accurate version, for radii of any size and without a price. Of a vector with
two values (`two_valued_vertices`) only the mass of a set matters: the ball is one of two letters.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray
from ldpfrontier.numerics.jit import borrowing_kernel, inner_kernel, kernel
from ldpfrontier.uncertainty.settings import SETTINGS as BALL_SETTINGS

# What compiled functions read of the settings.
_FIRST, _LAST = BALL_SETTINGS.log_t_range
_MAX_STEPS, _BISECTION_START = BALL_SETTINGS.max_steps, BALL_SETTINGS.bisection_start
_CANCELLING_ORDER = BALL_SETTINGS.cancelling_order
_LAST_STEP = 1e-7  # of a Newton iteration, which converges quadratically: the next one is rounding
_MAX_TWO_VALUED = 1e7  # the largest value of a vector of two values, in units of the top
_MAX_TWO_VALUED_STEPS = 30  # some 5 are usual


class ExtremeMean(NamedTuple):
    """A largest or least mean over the ball, and what attains it; n letters."""

    value: FloatArray  # (1,)
    log_t: FloatArray  # (1,): the start of the next search; nan for none
    R: FloatArray  # (n,)
    x: FloatArray  # (n,): distances from the pole; inf where all letters are alike
    budget_cost: FloatArray  # (1,): nu k(D)
    price_binds: NDArray[np.bool_]  # (1,): whether the price decides, and not the radius
    divergence: FloatArray  # (1,): D of what attains it


class Equation(IntEnum):
    """An equation for the value x of a vector that is x on a set of letters and 0 off it."""

    DIFFERENCE = 0  # A - B = top - bottom
    UPPER = 1  # A = top
    LOWER = 2  # B = bottom


def empty_extreme(n: int) -> ExtremeMean:
    """Return arrays for an extreme mean of n letters, without a start of the search."""
    found = ExtremeMean(
        np.zeros(1),
        np.zeros(1),
        np.empty(n),
        np.empty(n),
        np.zeros(1),
        np.zeros(1, dtype=np.bool_),
        np.zeros(1),
    )
    found.log_t[0] = np.nan
    return found


@inner_kernel
def _tilted_divergence(
    r: FloatArray, z: FloatArray, floor: float, log_t: float, order: float, R: FloatArray
) -> tuple[float, float, float]:
    """Return D(r || R), its derivative in log t, and R . (1/t + z), with R ~ r (1 + t z)^(-1/order).

    R is written, too; `floor` is the least z where r > 0: dividing by its factor keeps every sum in range.
    """
    inverse = np.exp(-log_t)
    unit = inverse + floor
    scale = 1.0 / unit
    g = 1.0 - 1.0 / order
    middle = abs(order - 1.0) < _CANCELLING_ORDER
    W = T = moment = bent = part = 0.0
    for u in range(r.size):
        R[u] = 0.0
        if r[u] > 0.0:
            v = (inverse + z[u]) * scale
            if order == 2.0:
                root = 1.0 / np.sqrt(v)
                R[u] = r[u] * root
                W += R[u]
                T += v * R[u]
                moment += z[u] * R[u]
                bent += z[u] * R[u] * (root * root)
                continue
            if middle:
                log = np.log(v)
                R[u] = r[u] * np.exp(-log / order)
                part += r[u] * (np.expm1(g * log) / g if g != 0.0 else log)
            else:
                R[u] = r[u] * v ** (-1.0 / order)
            W += R[u]
            T += v * R[u]
            moment += z[u] * R[u]
            bent += z[u] * R[u] / v
    if middle:
        if g != 0.0:
            part = (np.log1p(g * part) if g * part > -0.5 else np.log(T)) / g
        D = np.log(W) + part / order
    elif order == 2.0:
        D = np.log(W * T)
    else:
        D = np.log(W) + np.log(T) / (order - 1.0)
    scale = 1.0 / W
    for u in range(r.size):
        R[u] *= scale
    return D, (moment / T - bent / W) / (unit * order), unit * T / W


@inner_kernel
def _divergence_cost(D: float, g: float) -> float:
    """Return k(D)."""
    return float(np.expm1(g * D) / g if g != 0.0 else D)


@inner_kernel
def _spare_at_price(moment: float, nu: float, D: float, g: float) -> float:
    """Return by how much D could grow at the price nu, R . (1/t + z) = moment, to first order."""
    return float((np.log(moment / nu) - g * D) / (1.0 + g))


@inner_kernel
def _search(
    r: FloatArray,
    z: FloatArray,
    floor: float,
    radius: float,
    order: float,
    nu: float,
    start: float,
    R: FloatArray,
) -> tuple[float, float]:
    """Find log t of the least mean of z; return it, and what even the largest t leaves of the radius."""
    g, log_t = 1.0 - 1.0 / order, start
    low, high = _FIRST, _LAST
    for step in range(_MAX_STEPS):
        D, slope, moment = _tilted_divergence(r, z, floor, log_t, order, R)
        spare = radius - D
        change = np.log(D / radius) * D / slope
        if nu > 0.0:
            at_price = _spare_at_price(moment, nu, D, g)
            if at_price < spare:
                spare = at_price
                change = -at_price * (1.0 + g) / ((1.0 + g) * slope + np.exp(-log_t) / moment)
        if spare > 0.0:
            low = log_t
        else:
            high = log_t
        new = log_t - change
        if abs(new - log_t) <= _LAST_STEP + 1e-15 / radius:
            return new, 0.0
        if not low < new < high or (step > _BISECTION_START and step % 2):
            if high == _LAST:
                D, _, moment = _tilted_divergence(r, z, floor, _LAST, order, R)
                left = radius - D
                if nu > 0.0:
                    left = min(left, _spare_at_price(moment, nu, D, g))
                if left > 0.0:
                    return _LAST, left
                high = _LAST - 1.0
            new = 0.5 * (low + high)
        log_t = new
    return log_t, 0.0


@inner_kernel
def _move_to_least(R: FloatArray, z: FloatArray, left: float) -> None:
    """Use the radius that is left: move mass to the letters of least value, at the price -log(1 - mass)."""
    share, letters = -np.expm1(-left), 0
    for u in range(R.size):
        letters += z[u] == 0.0
    for u in range(R.size):
        R[u] = (1.0 - share) * R[u] + (share / letters if z[u] == 0.0 else 0.0)


@borrowing_kernel
def extreme_mean(
    r: FloatArray, w: FloatArray, sign: float, radius: float, order: float, nu: float, found: ExtremeMean
) -> None:
    """Find B(w), for the sign 1, or A(w), for the sign -1, and the R that attains it; both go to `found`.

    r is a distribution, and w >= 0, (n,) each. The radius is in nats, > 0 and finite, and nu the budget
    multiplier per unit of k(D), 0 or more. The search starts from the log t of `found`.
    """
    R, z = found.R, found.x
    found.budget_cost[0], found.price_binds[0], found.divergence[0] = 0.0, False, 0.0
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
    nu /= span
    start = found.log_t[0]
    if np.isnan(start):
        # Second order: D = t^2 Var(z) / (2 order), and R . (1/t + z) = 1/t.
        start = 0.5 * np.log(2.0 * order * radius / variance) if variance > 0.0 else _LAST
        if nu > 0.0:
            start = min(start, -np.log(nu))
    start = min(max(start, _FIRST + 1.0), 300.0)
    log_t, left = _search(r, z, floor, radius, order, nu, start, R)
    D = _tilted_divergence(r, z, floor, log_t, order, R)[0] + left
    found.log_t[0], found.divergence[0] = log_t, D
    if left > 0.0:
        _move_to_least(R, z, left)
    value, inverse = 0.0, np.exp(-log_t)
    for u in range(r.size):
        z[u] = span * (inverse + z[u])
        value += R[u] * w[u]
    if nu > 0.0:
        found.price_binds[0] = radius * (1.0 - _LAST_STEP) > D
        found.budget_cost[0] = nu * span * _divergence_cost(min(D, radius), 1.0 - 1.0 / order)
    found.value[0] = value + sign * found.budget_cost[0]


@inner_kernel
def _two_cell_cost(m: float, q: float, order: float) -> tuple[float, float, float]:
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
    second = order * (steep / (1.0 - q) + flat / q) - (order - 1.0) ** 2 / order * h * h / (1.0 + over)
    return k, scale * h, scale * second


@inner_kernel
def _solve_slope(m: float, slope: float, cap: float, order: float, start: float) -> tuple[float, float]:
    """Return q between m and a cap where the derivative of k(D) is `slope`, or the cap; and k(D) there."""
    k, first, _ = _two_cell_cost(m, cap, order)
    if abs(first) <= abs(slope):
        return cap, k
    low, high = min(m, cap), max(m, cap)
    q = start if low < start < high else m + 0.5 * (cap - m)
    for _ in range(_MAX_TWO_VALUED_STEPS):
        k, first, second = _two_cell_cost(m, q, order)
        if first > slope:
            high = q
        else:
            low = q
        new = q + (slope - first) / second
        if not low < new < high:
            new = 0.5 * (low + high)
        step = new - q
        q = new
        if abs(step) <= _LAST_STEP * min(q, 1.0 - q):
            break
    return q, _two_cell_cost(m, q, order)[0]


class _Solved(NamedTuple):
    """Solutions of the equations for one set, from which those for the next one are searched."""

    x: FloatArray  # (3,): by equation
    largest: FloatArray  # (3,): the extreme probabilities of the set
    least: FloatArray  # (3,)


@inner_kernel
def _start_anew_if_lost(
    mass: float,
    bounds: tuple[float, float],
    budget_multipliers: tuple[float, float],
    order: float,
    solved: _Solved,
) -> None:
    """Replace solutions that are none, or of a set of another kind, by first guesses."""
    top, bottom = bounds
    # Second order: A and B are d^2 Var / (2 order nu) from the mean.
    width = 2.0 * order * (top - bottom) / (1.0 / budget_multipliers[0] + 1.0 / budget_multipliers[1])
    most = _MAX_TWO_VALUED * top
    for equation in range(3):
        if 0.0 < solved.x[equation] < most and 0.0 < mass < 1.0:
            continue
        guess = min(np.sqrt(width / (mass * (1.0 - mass))), most)
        if equation == Equation.UPPER:
            guess = top
        elif equation == Equation.LOWER:
            guess = bottom
        solved.x[equation], solved.largest[equation], solved.least[equation] = guess, mass, mass


@inner_kernel
def _solve_two_valued(
    equation: Equation,
    mass: float,
    caps: tuple[float, float],
    bounds: tuple[float, float],
    budget_multipliers: tuple[float, float],
    order: float,
    solved: _Solved,
) -> tuple[float, float]:
    """Solve for the value x of a vector that is x on a set of some mass and 0 off it; return x and B (or 0).

    Newton's method; the extreme masses of the set, at most the caps, are the derivatives of A and B.
    """
    top, bottom = bounds
    target = top - bottom
    if equation == Equation.UPPER:
        target = top
    elif equation == Equation.LOWER:
        target = -bottom
    # B is at most x, and concave: from a larger x, a step may lead to where the equation says nothing.
    own, fewest, B = equation.value, bottom if equation == Equation.LOWER else 0.0, 0.0
    x, largest, least = solved.x[own], solved.largest[own], solved.least[own]
    for _ in range(_MAX_TWO_VALUED_STEPS):
        slope = value = 0.0
        if equation != Equation.LOWER:
            largest, k = _solve_slope(mass, x / budget_multipliers[0], caps[0], order, largest)
            slope, value = largest, largest * x - budget_multipliers[0] * k
        if equation != Equation.UPPER:
            least, k = _solve_slope(mass, -x / budget_multipliers[1], caps[1], order, least)
            B = least * x + budget_multipliers[1] * k
            slope, value = slope - least, value - B
        # Convex in x, or concave.
        before, x = x, _MAX_TWO_VALUED * top
        if slope != 0.0:
            x = min(max(before - (value - target) / slope, fewest), x)
        if abs(x - before) <= _LAST_STEP * before:
            B += least * (x - before) * (equation != Equation.UPPER)
            break
    solved.x[own], solved.largest[own], solved.least[own] = x, largest, least
    return x, B


@kernel
def two_valued_vertices(
    mass: FloatArray,
    caps: tuple[FloatArray, FloatArray],
    bounds: tuple[float, float],
    budget_multipliers: tuple[float, float],
    order: float,
) -> FloatArray:
    """Find the vectors with one value on a set of letters and another off it that meet A = top, B = bottom.

    Where the value off the set would be below 0 it is 0, and those that meet one of the two are found. Sets
    have a mass, (m,), best in rising order, as every search starts from the solution before; the caps are
    their largest and least probability over the ball, the bounds top and bottom, and the multipliers the
    prices of k(D) in A and in B, > 0.

    Returned are, (m, 4), how far the two values are apart, and the lower one; where it is below 0, the values
    on the set with A = top and with B = bottom, if the first one is larger. What there is not is nan.
    """
    found = np.full((mass.size, 4), np.nan)
    solved = _Solved(np.full(3, np.nan), np.full(3, np.nan), np.full(3, np.nan))
    for i in range(mass.size):
        own = caps[0][i], caps[1][i]
        _start_anew_if_lost(mass[i], bounds, budget_multipliers, order, solved)
        apart, low = _solve_two_valued(
            Equation.DIFFERENCE, mass[i], own, bounds, budget_multipliers, order, solved
        )
        if bounds[1] >= low:
            found[i, 0], found[i, 1] = apart, bounds[1] - low
            continue
        at_bottom = _solve_two_valued(
            Equation.LOWER, mass[i], own, bounds, budget_multipliers, order, solved
        )[0]
        at_top = _solve_two_valued(Equation.UPPER, mass[i], own, bounds, budget_multipliers, order, solved)[0]
        if at_top >= at_bottom:
            found[i, 2], found[i, 3] = at_top, at_bottom
    return found
