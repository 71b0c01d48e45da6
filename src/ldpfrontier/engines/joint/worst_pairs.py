r"""The division of the budget for which a column distinguishes two sensitive values best.

A distribution P with conditionals R_s is in F if they share its budget B (`uncertainty.renyi_ball`) ::

    sum_s p_s k(D(r_s || R_s)) <= k(B),     k(D) = (e^(g D) - 1) / g,  g = 1 - 1/order.

For a column v and two values s, t the largest ratio of R_s . v_s to R_t . v_t is sought. With the share sin^2
of the budget for s and cos^2 for t, at an angle in [0, pi/2], both means are support functions of balls
(`products.geometry.support_function`), and the derivative of the log ratio in the angle is, up to 2, ::

    c_s cos - c_t sin,     c_s = (dA/dshare) sin / A,   c_t = -(dB/dshare) cos / B.

c_s and c_t hardly depend on the angle if the budget is small, so that the root of atan2(c_s, c_t) - angle is
found by secants in a bracket. From order 1/2 on, the log ratio is quasi-concave in the share of s; below,
several brackets are searched. Every pair (R_s, R_t) that is looked at is in F, the worst or not. All of this
is compiled.

**Rounding.** A cut is of no use if it cuts off a column of the cone. With n letters the divergence of an R is
right to gamma(4 n + 64) (2 + D + max_u log(R_u / r_u) + 1 / |order - 1|): it is a sum of two logarithms, of
means that are right to some n roundings, the first of which is -max log(R_u / r_u); the second is divided by
order - 1, unless that is small and another formula is used. Should an R be beyond its share of the budget
within that, it is mixed with r: divergence is convex in R. Then R_s is rounded downwards, and R_t upwards.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.products.geometry.support_function import ExtremeMean, empty_extreme, extreme_mean
from ldpfrontier.numerics.jit import borrowing_kernel, inner_kernel
from ldpfrontier.numerics.rounding import UNIT_ROUNDOFF
from ldpfrontier.uncertainty.settings import SETTINGS as BALL

#: Twice the unit roundoff: so many operations of it are more than their gamma.
_UNIT = 2.0 * UNIT_ROUNDOFF

# Most steps for an angle, and after how many every other one halves the bracket: to 2^-46 of it in the end.
_MAX_STEPS, _SECANTS_ALONE = 100, 8
# Brackets of the angle below order 1/2, where there may be several local maxima.
_LOW_ORDER_BRACKETS = 8
# Above this exponent of the budget 1 hardly counts beside e^exponent, which may overflow.
_LARGEST_EXPONENT = 500.0
_CANCELLING_ORDER = BALL.cancelling_order


class ComparedPairs(NamedTuple):
    """The pairs (s, t) of sensitive values whose means a privacy inequality compares."""

    larger: NDArray[np.intp]  # (pairs,): s, with the largest mean
    smaller: NDArray[np.intp]  # (pairs,): t, with the least mean


class BallArrays(NamedTuple):
    """The data of a `RenyiBall` that compiled functions need."""

    conditionals: FloatArray  # (a1, a2): r_s
    sensitive: FloatArray  # (a1,): p_s
    radius: float  # B in nats
    order: float


class Accuracy(NamedTuple):
    """The accuracy with which the worst pair is found."""

    angle: float
    unspent: float  # share of each divergence that is not used up
    ends: bool  # whether angles 0 and pi/2 are looked at, too


class _Worst(NamedTuple):
    """The worst pair of conditionals found so far."""

    ratio: FloatArray  # (1,)
    means: FloatArray  # (2,): R_s . v_s and R_t . v_t
    R: FloatArray  # (2, a2)


@inner_kernel
def _divergence_of_share(share: float, p: float, radius: float, g: float) -> tuple[float, float]:
    """Return the divergence in nats that a group of weight p may have for a share, and its derivative."""
    if p == 0.0 or np.isinf(radius):
        return np.inf, 0.0
    if g == 0.0:
        return share * radius / p, radius / p
    if g * radius > _LARGEST_EXPONENT:
        return max(math.log(share / p) + g * radius, 0.0) / g, 1.0 / (g * share)
    slope = math.expm1(g * radius) / (g * p)
    x = g * share * slope
    return (math.log1p(x) / g, slope / (1.0 + x)) if x > -1.0 else (np.inf, 0.0)


@inner_kernel
def _solve_mean(
    r: FloatArray, w: FloatArray, sign: float, radius: float, order: float, found: ExtremeMean
) -> float:
    """Find the least mean of w over a ball, or the largest for the sign -1; return its rate of change.

    That is how fast it falls, or rises, with the radius: mu - value by the envelope theorem.
    """
    lowest = 0
    for u in range(w.size):
        if sign * w[u] < sign * w[lowest]:
            lowest = u
    if 0.0 < radius < np.inf:
        extreme_mean(r, w, sign, radius, order, 0.0, found)
        rate = sign * (found.value[0] - w[lowest]) + found.x[lowest]
        return rate if rate < np.inf else 0.0
    found.value[0] = found.divergence[0] = 0.0
    for u in range(w.size):
        found.R[u] = r[u] if radius == 0.0 else (1.0 if u == lowest else 0.0)
        found.value[0] += found.R[u] * w[u]
    return 0.0


@inner_kernel
def _share_outside(r: FloatArray, found: ExtremeMean, radius: float, order: float) -> float:
    """Return the share of r that must be mixed with an extreme distribution to be surely within a radius."""
    g, D, largest = (order - 1.0) / order, float(found.divergence[0]), 1.0
    if not D > 0.0:
        return 0.0
    for u in range(r.size):
        if r[u] > 0.0:
            largest = max(largest, found.R[u] / r[u])
    size = 2.0 + D + np.log(largest)
    if abs(order - 1.0) >= _CANCELLING_ORDER:
        size += 1.0 / abs(order - 1.0)
    most = D + (4 * r.size + 64) * _UNIT * size
    # The radius is that of a share of the budget: k(D) is right to some roundings.
    lost = (16 + r.size) * (1.0 + np.exp(min(-g * radius, 700.0)) + abs(g) * radius)
    return float(max(1.0 - radius * max(1.0 - lost * _UNIT, 0.0) / most, 0.0))


@inner_kernel
def _means_at_angle(
    column: FloatArray,
    pair: tuple[int, int],
    angle: float,
    ball: BallArrays,
    unspent: float,
    extremes: tuple[ExtremeMean, ExtremeMean],
    worst: _Worst,
) -> float:
    """Keep the two extreme means at a split of the budget, if their ratio is the largest so far.

    Returns the step to the angle at which the ratio would be stationary at the rates of change here, or 0.
    """
    (s, t), (top, bottom) = pair, extremes
    sin, cos = math.sin(angle), (math.cos(angle) if angle < 0.5 * math.pi else 0.0)
    g = (ball.order - 1.0) / ball.order
    r_s, r_t = ball.conditionals[s], ball.conditionals[t]
    D_s, per_share = _divergence_of_share(sin * sin, ball.sensitive[s], ball.radius, g)
    rise = per_share * _solve_mean(r_s, column[s], -1.0, D_s * (1.0 - unspent), ball.order, top)
    D_t, per_share = _divergence_of_share(cos * cos, ball.sensitive[t], ball.radius, g)
    fall = per_share * _solve_mean(r_t, column[t], 1.0, D_t * (1.0 - unspent), ball.order, bottom)
    high, low = top.value[0], bottom.value[0]
    ratio = high / low if high > 0.0 else (1.0 if low == 0.0 else 0.0)
    if ratio > worst.ratio[0]:
        worst.ratio[0], worst.means[0], worst.means[1] = ratio, high, low
        x, y = _share_outside(r_s, top, D_s, ball.order), _share_outside(r_t, bottom, D_t, ball.order)
        error = (2 * r_s.size + 48) * _UNIT
        for u in range(top.R.size):
            worst.R[0, u] = (1.0 - error) * (top.R[u] + x * (r_s[u] - top.R[u]))
            worst.R[1, u] = (1.0 + error) * (bottom.R[u] + y * (r_t[u] - bottom.R[u]))
    c_s, c_t = rise * sin / high, fall * cos / low
    return math.atan2(c_s, c_t) - angle if 0.0 < c_s + c_t < np.inf else 0.0


@inner_kernel
def _search_bracket(
    column: FloatArray,
    pair: tuple[int, int],
    ends: tuple[float, float],
    ball: BallArrays,
    accuracy: Accuracy,
    extremes: tuple[ExtremeMean, ExtremeMean],
    worst: _Worst,
) -> None:
    """Look for the worst pair of conditionals at angles in a bracket, from its middle.

    That is where the step of `_means_at_angle` changes from upwards to downwards, found by secants.
    """
    lo, hi = ends
    angle = angle_before = 0.5 * (lo + hi)
    step_before = -np.inf  # so that there is no secant at first
    for k in range(_MAX_STEPS):
        step = _means_at_angle(column, pair, angle, ball, accuracy.unspent, extremes, worst)
        if step == 0.0:
            return
        if step > 0.0:
            lo = angle
        else:
            hi = angle
        change = step - step_before
        following = angle - step * (angle - angle_before) / change if change < 0.0 else angle + step
        halves = k > _SECANTS_ALONE and k % 2 == 0
        if halves or not lo < following < hi:
            following = 0.5 * (lo + hi)
        if abs(following - angle) <= accuracy.angle:
            return
        angle_before, step_before, angle = angle, step, following


def worst_pairs(
    columns: FloatArray, pairs: ComparedPairs, ball: BallArrays, factor: float, accuracy: Accuracy
) -> tuple[FloatArray, FloatArray]:
    """Find the worst pair of conditionals for every column, (m, a1, a2), and pair of sensitive values.

    Returned are the means R_s . v_s and R_t . v_t, (m, pairs, 2), and cuts, (m, pairs, a1, a2): R_s at s,
    less the factor e^eps times R_t at t, of which the products with columns of the cone are at most 0.
    """
    m, a1, a2 = columns.shape
    count = pairs.larger.size
    # What numpy makes here need not be compiled.
    means, cuts = np.zeros((m, count, 2)), np.zeros((m, count, a1, a2))
    extremes, worst = (
        (empty_extreme(a2), empty_extreme(a2)),
        _Worst(np.empty(1), np.empty(2), np.empty((2, a2))),
    )
    _write_worst_pairs(columns, pairs, ball, factor, accuracy, extremes, worst, means, cuts)
    return means, cuts


@borrowing_kernel
def _write_worst_pairs(
    columns: FloatArray,
    pairs: ComparedPairs,
    ball: BallArrays,
    factor: float,
    accuracy: Accuracy,
    extremes: tuple[ExtremeMean, ExtremeMean],
    worst: _Worst,
    means: FloatArray,
    cuts: FloatArray,
) -> None:
    """Write means and cuts of `worst_pairs`, which are zero before."""
    quarter = 0.5 * math.pi
    for i in range(len(columns)):
        for k in range(pairs.larger.size):
            s, t = pairs.larger[k], pairs.smaller[k]
            pair, worst.ratio[0] = (s, t), -1.0
            extremes[0].log_t[0] = extremes[1].log_t[0] = np.nan
            if accuracy.ends:
                for angle in (0.0, quarter):
                    _means_at_angle(columns[i], pair, angle, ball, accuracy.unspent, extremes, worst)
            brackets = _LOW_ORDER_BRACKETS if ball.order < 0.5 else 1
            for part in range(brackets):
                ends = quarter * part / brackets, quarter * (part + 1) / brackets
                _search_bracket(columns[i], pair, ends, ball, accuracy, extremes, worst)
            means[i, k, 0], means[i, k, 1] = worst.means[0], worst.means[1]
            for u in range(columns.shape[2]):
                cuts[i, k, s, u] = worst.R[0, u]
                cuts[i, k, t, u] -= factor * worst.R[1, u]
