r"""Newton's method for the vertices of bodies, compiled: one row of letters at a time (see `bodies`).

If all letters of w rise by the same, or are scaled, the R that attain the largest and the least mean over a
ball stay (`extremes`), so what pulls a trial into its body also gives the next step its derivatives. With
tolls they stay if letters rise, but not if they are scaled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.numerics.jit import inner, kernel
from ldpfrontier.optimal.geometry.support_function import Extreme, extreme, least
from ldpfrontier.types import FloatArray

#: Newton steps from a start, how far (relative) a step may move a letter, and the part of a step that is
#: tried if all of it gains nothing.
STEPS, TRUST, PART = 12, 0.5, 0.3

#: Least gain, relative to the value, that is worth another step.
GAIN = 1e-10

#: Steps in which a vector outside its body is brought near it.
RESTORING = 6

#: Letters below this share of the top level count as zero; ends this near (relative) are met.
ZERO, TOUCH = 1e-9, 1e-9

#: Most times that a vector is pulled towards a body with tolls; how near its ends is near enough.
PULLS, THERE = 6, 1e-12


class Rows(NamedTuple):
    """Bodies, b of them, with up to n letters each; places beyond the letters of a body are not looked at."""

    letters: NDArray[np.int64]  # (b,)
    r: FloatArray  # (b, n): centres
    prior: FloatArray  # (b, n)
    prices: FloatArray  # (b, n)
    radius: FloatArray  # (b,): 0 < radius < inf
    top: FloatArray  # (b,): e^eps, times the scale
    bottom: FloatArray  # (b,): < top
    tolls: FloatArray  # (b, 2): of A and of B
    order: float


class Ball(NamedTuple):
    """What the extremes of one row are over."""

    r: FloatArray
    radius: float
    order: float
    tolls: FloatArray  # (2,)


@inner
def _copy(target: Extreme, source: Extreme) -> None:
    target.value[0], target.tau[0] = source.value[0], source.tau[0]
    target.paid[0], target.free[0] = source.paid[0], source.free[0]
    for u in range(target.R.size):
        target.R[u], target.x[u] = source.R[u], source.x[u]


@inner
def _extremes(ball: Ball, w: FloatArray, A: Extreme, b: Extreme) -> None:
    least(ball.r, w, -1.0, ball.radius, ball.order, ball.tolls[0], A)
    least(ball.r, w, 1.0, ball.radius, ball.order, ball.tolls[1], b)


@inner
def _largest(w: FloatArray) -> float:
    most = 0.0
    for u in range(w.size):
        most = max(most, abs(w[u]))
    return most


@inner
def _pull(ball: Ball, w: FloatArray, top: float, bottom: float, A: Extreme, b: Extreme) -> None:
    """Move a vector into its body: raise all letters alike until A / B is low enough, then scale."""
    if _largest(w) == 0.0:
        for u in range(w.size):
            w[u] = 1.0
    _extremes(ball, w, A, b)
    if ball.tolls[0] > 0.0 or ball.tolls[1] > 0.0:
        _pull_step_by_step(ball, w, top, bottom, A, b)
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


@inner
def _pull_step_by_step(ball: Ball, w: FloatArray, top: float, bottom: float, A: Extreme, b: Extreme) -> None:
    """Move a vector into a body with tolls: scale it, and raise all letters alike if that is not enough.

    The means say how A and B change with the scale.
    """
    for _ in range(PULLS):
        over, under = A.value[0] - top, bottom - b.value[0]
        if over <= THERE * top and under <= THERE * bottom:
            return
        most, fewest = A.value[0] + A.paid[0], b.value[0] - b.paid[0]
        scale, lift = (1.0 - over / most if over > THERE * top else 1.0 + under / fewest), 0.0
        if max(over + (scale - 1.0) * most, under - (scale - 1.0) * fewest) > THERE * top:
            scale = max(1.0 - (over + under) / (most - fewest), 0.1)
            lift = max(-over - (scale - 1.0) * most, 0.0)
        for u in range(w.size):
            w[u] = scale * w[u] + lift
        _extremes(ball, w, A, b)
    # The last bit of the way is towards a constant inside, as the body is convex.
    over, under, middle = A.value[0] - top, bottom - b.value[0], 0.5 * (top + bottom)
    share = max(over / (A.value[0] - middle), under / (middle - b.value[0]), 0.0)
    for u in range(w.size):
        w[u] += share * (middle - w[u])
    _extremes(ball, w, A, b)


@inner
def _value(w: FloatArray, prior: FloatArray, prices: FloatArray) -> float:
    total = 0.0
    for u in range(w.size):
        if w[u] != 0.0:
            total += w[u] * (prior[u] * np.log(w[u]) - prices[u])
    return total


@inner
def _bend(system: FloatArray, place: NDArray[np.int64], found: Extreme, weight: float, order: float) -> None:
    """Take weight times the second derivatives of A, or of -B, from the system of the letters at `place`."""
    R, x = found.R, found.x
    if not np.isfinite(x[0]):
        return
    moment = total = 0.0
    for u in range(R.size):
        moment += R[u] * x[u]
    if found.free[0]:
        _bend_free(system, place, found, weight, order, moment)
        return
    rho = 1.0 / moment if moment > 0.0 else 0.0
    for u in range(R.size):
        total += R[u] / max(x[u], 1e-9) - rho * R[u]
    for i in range(place.size):
        u = place[i]
        v = R[u] / max(x[u], 1e-9)
        flat = v - rho * R[u]
        system[i, i] -= weight * v / order
        for j in range(place.size):
            y = place[j]
            other = R[y] / max(x[y], 1e-9) - rho * R[y]
            bent = rho * R[u] * R[y]
            if total > 1e-300:
                bent += flat * other / total
            system[i, j] += weight * bent / order


@inner
def _bend_free(
    system: FloatArray,
    place: NDArray[np.int64],
    found: Extreme,
    weight: float,
    order: float,
    moment: float,
) -> None:
    """Do so where the toll decides: R . x = toll e^(g D) moves with w, too.

    With v = R / x, that and sum R = 1 make the change of the pole mu the mean of that of w, weighted by
    (order - 1)^2 R + (2 order - 1) (R . x) v.
    """
    R, x = found.R, found.x
    plain, steep = (order - 1.0) ** 2, (2.0 * order - 1.0) * moment
    total = 0.0
    for u in range(R.size):
        total += R[u] / max(x[u], 1e-9)
    whole = plain + steep * total
    plain, steep = plain / whole, steep / whole
    for i in range(place.size):
        u = place[i]
        v = R[u] / max(x[u], 1e-9)
        system[i, i] -= weight * v / order
        for j in range(place.size):
            y = place[j]
            other = R[y] / max(x[y], 1e-9)
            bent = plain * (R[u] * other + v * R[y] - total * R[u] * R[y]) + steep * v * other
            system[i, j] += weight * bent / order


@inner
def _eliminated(system: FloatArray, right: FloatArray) -> bool:
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


@inner
def _pair(aa: float, ab: float, bb: float, a: float, b: float) -> tuple[float, float]:
    """Solve two symmetric equations; a zero normal has no part in them."""
    if aa <= 0.0 or bb <= 0.0:
        return (a / aa if aa > 0.0 else 0.0), (b / bb if bb > 0.0 else 0.0)
    aa, bb = aa * (1.0 + 1e-9), bb * (1.0 + 1e-9)
    det = aa * bb - ab * ab
    return (a * bb - b * ab) / det, (b * aa - a * ab) / det


@inner
def _restore(
    ball: Ball, w: FloatArray, ends: tuple[float, float], touch: bool, A: Extreme, b: Extreme
) -> None:
    """Move a vector to its body by relative changes of its letters: what is zero stays zero.

    With `touch`, to where both constraints are met with equality, if it can be.
    """
    for _ in range(RESTORING):
        _extremes(ball, w, A, b)
        over, under = ends[0] - A.value[0], ends[1] - b.value[0]
        if not touch:
            over, under = min(over, 0.0), max(under, 0.0)
        if over == 0.0 and under == 0.0:
            break
        aa = ab = bb = 0.0
        for u in range(w.size):
            aa += (A.R[u] * w[u]) ** 2
            ab += A.R[u] * b.R[u] * w[u] ** 2
            bb += (b.R[u] * w[u]) ** 2
        x, y = _pair(aa, ab, bb, over, under)
        for u in range(w.size):
            w[u] *= 1.0 + min(max((x * A.R[u] + y * b.R[u]) * w[u], -0.5), 0.5)


@inner
def _linearized(
    rows: Rows, s: int, w: FloatArray, A: Extreme, b: Extreme, place: NDArray[np.int64]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the equations of a step of the letters at `place`, and the curvature of the objective."""
    m, top, bottom = place.size, rows.top[s], rows.bottom[s]
    upper, lower = A.value[0] >= top * (1.0 - TOUCH), b.value[0] <= bottom * (1.0 + TOUCH)
    system, right, convex = np.zeros((m + 2, m + 2)), np.zeros(m + 2), np.empty(m)
    aa = ab = bb = one_slope = two_slope = 0.0
    for i in range(m):
        u = place[i]
        one, two = A.R[u] * upper, -b.R[u] * lower
        slope = rows.prior[s, u] * (np.log(w[u]) + 1.0) - rows.prices[s, u]
        aa += one * one
        ab += one * two
        bb += two * two
        one_slope += one * slope
        two_slope += two * slope
        system[i, i] = -1e-9 * rows.prior[s, u]
        system[i, m] = system[m, i] = one
        system[i, m + 1] = system[m + 1, i] = two
        right[i] = -slope
        convex[i] = rows.prior[s, u] / w[u]
    X, Y = _pair(aa, ab, bb, one_slope, two_slope)
    if X > 0.0:
        _bend(system, place, A, X, rows.order)
    if Y > 0.0:
        _bend(system, place, b, Y, rows.order)
    system[m, m] = -1e-14 if upper else 1.0
    system[m + 1, m + 1] = -1e-14 if lower else 1.0
    right[m] = top - A.value[0] if upper else 0.0
    right[m + 1] = b.value[0] - bottom if lower else 0.0
    return system, right, convex


@inner
def _ascend(rows: Rows, s: int, w: FloatArray, restore: int, steps: int) -> float:
    """Take steps from one row until none gains; change the row, and return its value."""
    n = w.size
    r, prior, prices = rows.r[s, :n], rows.prior[s, :n], rows.prices[s, :n]
    top, bottom, ball = rows.top[s], rows.bottom[s], Ball(r, rows.radius[s], rows.order, rows.tolls[s])
    A, b, new_A, new_b = extreme(n), extreme(n), extreme(n), extreme(n)
    if restore:
        _restore(ball, w, (top, bottom), restore == 2, A, b)
    _pull(ball, w, top, bottom, A, b)
    best = _value(w, prior, prices)
    trial, letters = np.empty(n), np.empty(n, dtype=np.int64)
    for _ in range(steps):
        m = 0
        for u in range(n):
            if w[u] > ZERO * top and r[u] > 0.0:
                letters[m] = u
                m += 1
        place = letters[:m]
        system, right, convex = _linearized(rows, s, w, A, b, place)
        last, most = best, TRUST * _largest(w)
        for kind in range(4):
            if kind % 2 == 0:
                # With the curvature of the objective, and without.
                matrix, d = system.copy(), right.copy()
                if kind == 0:
                    for i in range(m):
                        matrix[i, i] += convex[i]
                solved = _eliminated(matrix, d)
                part = min(most / max(_largest(d[:m]), 1e-300), 1.0)
            else:
                part *= PART
            if not solved:
                continue
            for u in range(n):
                trial[u] = w[u]
            for i in range(m):
                trial[place[i]] = max(w[place[i]] + part * d[i], 0.0)
            _copy(new_A, A)
            _copy(new_b, b)
            _pull(ball, trial, top, bottom, new_A, new_b)
            value = _value(trial, prior, prices)
            if value > best + GAIN * abs(best):
                best = value
                for u in range(n):
                    w[u] = trial[u]
                _copy(A, new_A)
                _copy(b, new_b)
        if best == last:
            break
    return best


@kernel
def climb(rows: Rows, own: NDArray[np.int64], w: FloatArray, restore: int, steps: int = STEPS) -> FloatArray:
    """Climb from every start, and return the values reached.

    A step solves the linearization of grad f = X grad A - Y grad B within the non-zero letters, with and
    without the curvature of f, and is pulled into the body.

    Parameters
    ----------
    rows : Rows
    own : ndarray of int, shape (m,)
        The body of every start.
    w : ndarray, shape (m, n)
        The starts, which the vectors that are reached, in their bodies, take the place of.
    restore : int
        Whether the starts are brought near their bodies before, zeros kept: 1, or 2 to where both constraints
        are met with equality.
    steps : int
        Most steps; with none, the starts are moved into their bodies only.

    Returns
    -------
    ndarray, shape (m,)
        sum_u P_u w_u log w_u - prices . w.
    """
    values = np.empty(own.size)
    for i in range(own.size):
        s = own[i]
        values[i] = _ascend(rows, s, w[i, : rows.letters[s]], restore, steps)
    return values
