r"""Newton's method for the vertices of bodies, compiled: one row of letters at a time (see `ball_body`).

Sought are the local maxima of the convex f(w) = sum_u P_u w_u log w_u - c . w over the body
{w >= 0 : A(w) <= top, B(w) >= bottom}. Letters at 0 stay there; with
multipliers X, Y >= 0 the others solve ::

    grad f = X grad A - Y grad B,     A = top if X > 0,     B = bottom if Y > 0.

A step solves the linearization of these equations, with the curvature of f, and without it, as f pushes
outwards; the vector it leads to is pulled into the body, and counts if f has grown. The gradients of A and B
are the R that attain the largest and the least mean over the ball (`support_function`).

If all letters of w rise by the same, or are scaled, these R stay, so what pulls a trial into its body also
gives the next step its derivatives. Where k(D) has a price they stay if letters rise, but not if they are
scaled.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.products.geometry.settings import SETTINGS
from ldpfrontier.engines.products.geometry.support_function import ExtremeMean, empty_extreme, extreme_mean
from ldpfrontier.numerics.jit import inner_kernel, kernel

# What compiled functions read of the settings.
_TOLERANCE, _LEAST_GAIN = SETTINGS.tolerance, SETTINGS.least_gain
_END_TOLERANCE = 1e-12  # relative: by how much a vector that is pulled into its body may lie outside it
_RESTORATION_STEPS = 6  # by which a vector outside its body is brought near it, or into it
_TRUST_RADIUS = 0.5  # the largest change of a letter by a step, relative to the largest letter
_STEP_SHRINKAGE = 0.3  # the part of a step that is tried if all of it gains nothing


class Restore(IntEnum):
    """Where a start is moved, letters at 0 kept, before it is pulled into its body."""

    NONE = 0
    FEASIBLE = 1  # to where both constraints hold
    BOTH_TIGHT = 2  # to where both hold with equality, if it can be


class BodyRows(NamedTuple):
    """Bodies, b of them, with up to n letters each; places beyond the letters of a body are not looked at."""

    letters: NDArray[np.int64]  # (b,)
    r: FloatArray  # (b, n): centres
    prior: FloatArray  # (b, n)
    prices: FloatArray  # (b, n)
    radius: FloatArray  # (b,): 0 < radius < inf
    top: FloatArray  # (b,): e^eps, times the scale
    bottom: FloatArray  # (b,): < top
    budget_multipliers: FloatArray  # (b, 2): price of k(D) in A and in B
    order: float


class _Ball(NamedTuple):
    """A body's ball, and the prices of k(D) in A and in B."""

    r: FloatArray
    radius: float
    order: float
    budget_multipliers: FloatArray  # (2,)


class _Point(NamedTuple):
    """A vector, and what attains A and B of it."""

    w: FloatArray
    A: ExtremeMean
    b: ExtremeMean


class _Workspace(NamedTuple):
    """Space for ascents of up to n letters, of which all use the same."""

    A: ExtremeMean
    b: ExtremeMean
    trial: _Point
    letters: NDArray[np.int64]  # (n,): those that move
    system: FloatArray  # (n + 2, n + 2): of a step without the curvature of f
    right: FloatArray  # (n + 2,)
    curvature: FloatArray  # (n,): of f
    matrix: FloatArray  # (n + 2, n + 2): what is solved
    step: FloatArray  # (n + 2,)


@inner_kernel
def _copy_extreme(target: ExtremeMean, source: ExtremeMean) -> None:
    """Copy what was found."""
    target.value[0], target.log_t[0] = source.value[0], source.log_t[0]
    target.budget_cost[0], target.price_binds[0] = source.budget_cost[0], source.price_binds[0]
    for u in range(target.R.size):
        target.R[u], target.x[u] = source.R[u], source.x[u]


@inner_kernel
def _copy_point(target: _Point, source: _Point) -> None:
    """Copy a vector, and what attains A and B."""
    for u in range(target.w.size):
        target.w[u] = source.w[u]
    _copy_extreme(target.A, source.A)
    _copy_extreme(target.b, source.b)


@inner_kernel
def _copy_start(target: _Point, source: _Point) -> None:
    """Copy a vector, and from where A and B are searched."""
    for u in range(target.w.size):
        target.w[u] = source.w[u]
    target.A.log_t[0], target.b.log_t[0] = source.A.log_t[0], source.b.log_t[0]


@inner_kernel
def _find_extremes(ball: _Ball, point: _Point) -> None:
    """Find A and B of the vector of a point."""
    prices = ball.budget_multipliers
    extreme_mean(ball.r, point.w, -1.0, ball.radius, ball.order, prices[0], point.A)
    extreme_mean(ball.r, point.w, 1.0, ball.radius, ball.order, prices[1], point.b)


@inner_kernel
def _largest(w: FloatArray) -> float:
    """Return the largest absolute value."""
    most = 0.0
    for u in range(w.size):
        most = max(most, abs(w[u]))
    return most


@inner_kernel
def _value(w: FloatArray, prior: FloatArray, prices: FloatArray) -> float:
    """Return f(w)."""
    total = 0.0
    for u in range(w.size):
        if w[u] != 0.0:
            total += w[u] * (prior[u] * np.log(w[u]) - prices[u])
    return total


@inner_kernel
def _pull(ball: _Ball, point: _Point, top: float, bottom: float) -> None:
    """Move a vector into its body: raise all letters alike until A / B is low enough, then scale."""
    w, A, b = point.w, point.A, point.b
    if _largest(w) == 0.0:
        for u in range(w.size):
            w[u] = 1.0
    _find_extremes(ball, point)
    if ball.budget_multipliers[0] > 0.0 or ball.budget_multipliers[1] > 0.0:
        _pull_step_by_step(ball, point, top, bottom)
        return
    ratio = top / bottom
    # A and B grow by as much as all letters do.
    lift = max((A.value[0] - ratio * b.value[0]) / (ratio - 1.0), 0.0)
    most, fewest = A.value[0] + lift, b.value[0] + lift
    scale = min(max(1.0, bottom / fewest), top / most)
    A.value[0], b.value[0] = most * scale, fewest * scale
    for u in range(w.size):
        w[u] = (w[u] + lift) * scale
        A.x[u] *= scale
        b.x[u] *= scale


@inner_kernel
def _pull_step_by_step(ball: _Ball, point: _Point, top: float, bottom: float) -> None:
    """Move a vector into a body where k(D) has a price: scale it, and raise all letters alike if need be.

    The derivatives of A and B by the scale are the means R . w, which are A + nu k(D) and B - nu k(D).
    """
    w, A, b = point.w, point.A, point.b
    for _ in range(_RESTORATION_STEPS):
        over, under = A.value[0] - top, bottom - b.value[0]
        if over <= _END_TOLERANCE * top and under <= _END_TOLERANCE * bottom:
            return
        most, fewest = A.value[0] + A.budget_cost[0], b.value[0] - b.budget_cost[0]
        scale, lift = (1.0 - over / most if over > _END_TOLERANCE * top else 1.0 + under / fewest), 0.0
        if max(over + (scale - 1.0) * most, under - (scale - 1.0) * fewest) > _END_TOLERANCE * top:
            scale = max(1.0 - (over + under) / (most - fewest), 0.1)
            lift = max(-over - (scale - 1.0) * most, 0.0)
        for u in range(w.size):
            w[u] = scale * w[u] + lift
        _find_extremes(ball, point)
    # The last bit of the way is towards a constant inside, as the body is convex.
    over, under, middle = A.value[0] - top, bottom - b.value[0], 0.5 * (top + bottom)
    share = max(over / (A.value[0] - middle), under / (middle - b.value[0]), 0.0)
    for u in range(w.size):
        w[u] += share * (middle - w[u])
    _find_extremes(ball, point)


@inner_kernel
def _subtract_hessian(
    system: FloatArray, place: NDArray[np.int64], found: ExtremeMean, weight: float, order: float
) -> None:
    """Subtract weight times the Hessian of A (or of -B) from the Newton matrix of the letters `place`.

    With v = R / x, rho = 1 / (R . x) and q = v - rho R it is (diag(v) - rho R R^T - q q^T / sum q) / order.
    """
    R, x = found.R, found.x
    if not np.isfinite(x[0]):
        return
    moment = total = 0.0
    for u in range(R.size):
        moment += R[u] * x[u]
    if found.price_binds[0]:
        _subtract_hessian_at_price(system, place, found, weight, order, moment)
        return
    rho = 1.0 / moment if moment > 0.0 else 0.0
    for u in range(R.size):
        total += R[u] / max(x[u], _TOLERANCE) - rho * R[u]
    for i in range(place.size):
        u = place[i]
        v = R[u] / max(x[u], _TOLERANCE)
        q = v - rho * R[u]
        system[i, i] -= weight * v / order
        for j in range(place.size):
            y = place[j]
            other = R[y] / max(x[y], _TOLERANCE) - rho * R[y]
            rest = rho * R[u] * R[y]
            if total > 1e-300:
                rest += q * other / total
            system[i, j] += weight * rest / order


@inner_kernel
def _subtract_hessian_at_price(
    system: FloatArray,
    place: NDArray[np.int64],
    found: ExtremeMean,
    weight: float,
    order: float,
    moment: float,
) -> None:
    """Subtract weight times the Hessian where the price binds: R . x = nu e^(g D) moves with w, too.

    With v = R / x, that and sum R = 1 make the change of the pole mu the mean of that of w, weighted by
    (order - 1)^2 R + (2 order - 1) (R . x) v.
    """
    R, x = found.R, found.x
    plain, steep = (order - 1.0) ** 2, (2.0 * order - 1.0) * moment
    total = 0.0
    for u in range(R.size):
        total += R[u] / max(x[u], _TOLERANCE)
    whole = plain + steep * total
    plain, steep = plain / whole, steep / whole
    for i in range(place.size):
        u = place[i]
        v = R[u] / max(x[u], _TOLERANCE)
        system[i, i] -= weight * v / order
        for j in range(place.size):
            y = place[j]
            other = R[y] / max(x[y], _TOLERANCE)
            rest = plain * (R[u] * other + v * R[y] - total * R[u] * R[y]) + steep * v * other
            system[i, j] += weight * rest / order


@inner_kernel
def _eliminate(system: FloatArray, right: FloatArray) -> bool:
    """Solve a linear system in place, pivots by columns; return whether it has a solution."""
    n = right.size
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(system[i, k]) > abs(system[p, k]):
                p = i
        if not abs(system[p, k]) > 0.0:
            return False
        if p != k:
            for j in range(k, n):
                system[k, j], system[p, j] = system[p, j], system[k, j]
            right[k], right[p] = right[p], right[k]
        for i in range(k + 1, n):
            factor = system[i, k] / system[k, k]
            if factor != 0.0:
                for j in range(k + 1, n):
                    system[i, j] -= factor * system[k, j]
                right[i] -= factor * right[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            right[k] -= system[k, j] * right[j]
        right[k] /= system[k, k]
    return True


@inner_kernel
def _solve_pair(aa: float, ab: float, bb: float, a: float, b: float) -> tuple[float, float]:
    """Solve two symmetric equations; a zero normal has no part in them."""
    if aa <= 0.0 or bb <= 0.0:
        return (a / aa if aa > 0.0 else 0.0), (b / bb if bb > 0.0 else 0.0)
    aa, bb = aa * (1.0 + _TOLERANCE), bb * (1.0 + _TOLERANCE)
    det = aa * bb - ab * ab
    return (a * bb - b * ab) / det, (b * aa - a * ab) / det


@inner_kernel
def _restore(ball: _Ball, point: _Point, top: float, bottom: float, tight: bool) -> None:
    """Move a vector to its body by relative changes of its letters: what is zero stays zero.

    If `tight`, to where both constraints are met with equality, if it can be.
    """
    w, A, b = point.w, point.A, point.b
    for _ in range(_RESTORATION_STEPS):
        _find_extremes(ball, point)
        over, under = top - A.value[0], bottom - b.value[0]
        if not tight:
            over, under = min(over, 0.0), max(under, 0.0)
        if over == 0.0 and under == 0.0:
            break
        aa = ab = bb = 0.0
        for u in range(w.size):
            aa += (A.R[u] * w[u]) ** 2
            ab += A.R[u] * b.R[u] * w[u] ** 2
            bb += (b.R[u] * w[u]) ** 2
        x, y = _solve_pair(aa, ab, bb, over, under)
        for u in range(w.size):
            w[u] *= 1.0 + min(max((x * A.R[u] + y * b.R[u]) * w[u], -0.5), 0.5)


@inner_kernel
def _linearize(
    rows: BodyRows,
    s: int,
    point: _Point,
    place: NDArray[np.int64],
    system: FloatArray,
    right: FloatArray,
    curvature: FloatArray,
) -> None:
    """Write matrix and right side of a step of the letters `place` without the curvature of f, and that.

    The last two unknowns are X and Y; a constraint that is not met with equality has none.
    """
    w, A, b = point.w, point.A, point.b
    m, top, bottom = place.size, rows.top[s], rows.bottom[s]
    upper, lower = A.value[0] >= top * (1.0 - _TOLERANCE), b.value[0] <= bottom * (1.0 + _TOLERANCE)
    for i in range(m + 2):
        for j in range(m + 2):
            system[i, j] = 0.0
    aa = ab = bb = a_slope = b_slope = 0.0
    for i in range(m):
        u = place[i]
        a_normal, b_normal = A.R[u] * upper, -b.R[u] * lower
        slope = rows.prior[s, u] * (np.log(w[u]) + 1.0) - rows.prices[s, u]
        aa += a_normal * a_normal
        ab += a_normal * b_normal
        bb += b_normal * b_normal
        a_slope += a_normal * slope
        b_slope += b_normal * slope
        system[i, i] = -_TOLERANCE * rows.prior[s, u]
        system[i, m] = system[m, i] = a_normal
        system[i, m + 1] = system[m + 1, i] = b_normal
        right[i] = -slope
        curvature[i] = rows.prior[s, u] / w[u]
    X, Y = _solve_pair(aa, ab, bb, a_slope, b_slope)
    if X > 0.0:
        _subtract_hessian(system, place, A, X, rows.order)
    if Y > 0.0:
        _subtract_hessian(system, place, b, Y, rows.order)
    system[m, m] = -1e-14 if upper else 1.0
    system[m + 1, m + 1] = -1e-14 if lower else 1.0
    right[m] = top - A.value[0] if upper else 0.0
    right[m + 1] = b.value[0] - bottom if lower else 0.0


@inner_kernel
def _nonzero_letters(w: FloatArray, r: FloatArray, least: float, letters: NDArray[np.int64]) -> int:
    """Write the letters above `least` that have probability to `letters`; return how many there are."""
    m = 0
    for u in range(w.size):
        if w[u] > least and r[u] > 0.0:
            letters[m] = u
            m += 1
    return m


@kernel
def _part(found: ExtremeMean, n: int) -> ExtremeMean:
    """Return the first n letters of some space, in which the next search has no start."""
    found.log_t[0] = np.nan
    return ExtremeMean(
        found.value,
        found.log_t,
        found.R[:n],
        found.x[:n],
        found.budget_cost,
        found.price_binds,
        found.divergence,
    )


@kernel
def _ascend(rows: BodyRows, s: int, w: FloatArray, restore: int, max_steps: int, space: _Workspace) -> float:
    """Take steps from one vector until none gains; change the vector, and return its value.

    A step is the best of four trials: all of it and a part of it, with the curvature of f and without.
    """
    n, top, bottom = w.size, rows.top[s], rows.bottom[s]
    prior, prices = rows.prior[s, :n], rows.prices[s, :n]
    ball = _Ball(rows.r[s, :n], rows.radius[s], rows.order, rows.budget_multipliers[s])
    point = _Point(w, _part(space.A, n), _part(space.b, n))
    trial = _Point(space.trial.w[:n], _part(space.trial.A, n), _part(space.trial.b, n))
    if restore != Restore.NONE:
        _restore(ball, point, top, bottom, restore == Restore.BOTH_TIGHT)
    _pull(ball, point, top, bottom)
    value = _value(w, prior, prices)
    for _ in range(max_steps):
        m = _nonzero_letters(w, ball.r, _TOLERANCE * top, space.letters)
        place, d = space.letters[:m], space.step[: m + 2]
        system, matrix = space.system[: m + 2, : m + 2], space.matrix[: m + 2, : m + 2]
        _linearize(rows, s, point, place, system, space.right, space.curvature)
        before, reach = value, _TRUST_RADIUS * _largest(w)
        for curved in (True, False):
            for i in range(m + 2):
                d[i] = space.right[i]
                for j in range(m + 2):
                    matrix[i, j] = system[i, j]
            if curved:
                for i in range(m):
                    matrix[i, i] += space.curvature[i]
            if not _eliminate(matrix, d):
                continue
            share = min(reach / max(_largest(d[:m]), 1e-300), 1.0)
            for _ in range(2):
                _copy_start(trial, point)
                for i in range(m):
                    trial.w[place[i]] = max(w[place[i]] + share * d[i], 0.0)
                _pull(ball, trial, top, bottom)
                new = _value(trial.w, prior, prices)
                if new > value + _LEAST_GAIN * abs(value):
                    value = new
                    _copy_point(point, trial)
                share *= _STEP_SHRINKAGE
        if value == before:
            break
    return value


def ascend_all(
    rows: BodyRows, own: NDArray[np.int64], w: FloatArray, restore: int, max_steps: int
) -> FloatArray:
    """Ascend from every start, (m, n), and return the values that are reached, (m,).

    `own` has the body of every start, (m,). The starts are replaced by the vectors that are reached, in their
    bodies: with no steps they are moved there only. `restore` is a `Restore`, as a number, which compiled
    functions read faster. A value is sum_u P_u w_u log w_u - prices . w.
    """
    values, n = np.empty(own.size), rows.r.shape[1]
    trial = _Point(np.empty(n), empty_extreme(n), empty_extreme(n))
    space = _Workspace(
        empty_extreme(n),
        empty_extreme(n),
        trial,
        np.empty(n, dtype=np.int64),
        np.empty((n + 2, n + 2)),
        np.empty(n + 2),
        np.empty(n),
        np.empty((n + 2, n + 2)),
        np.empty(n + 2),
    )
    _ascend_rows(rows, own, w, restore, max_steps, space, values)
    return values


@kernel
def _ascend_rows(
    rows: BodyRows,
    own: NDArray[np.int64],
    w: FloatArray,
    restore: int,
    max_steps: int,
    space: _Workspace,
    values: FloatArray,
) -> None:
    """Write the values of `ascend_all`."""
    for i in range(own.size):
        s = own[i]
        values[i] = _ascend(rows, s, w[i, : rows.letters[s]], restore, max_steps, space)
