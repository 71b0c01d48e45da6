r"""The dual simplex method for linear programs with a few variables and thousands of inequalities, compiled.

The programs are ::

    maximize cost . v   subject to   scale . v = 1,  lo <= v <= hi,  a . v <= 0 for all a of a pool

in some ten variables. A basis is n constraints that its vertex meets with equality: the first one, bounds and
inequalities. Without inequalities the best vertex is known (a fractional knapsack); inequalities and bounds
that it violates enter the basis one by one, and a bound in the way is exchanged for the opposite one as long
as that pays. The objective falls throughout, so a program that only has to be shown to be worth less than
some number ends early. The bound that is returned is computed from the multipliers of the inequalities alone:
it holds whatever rounding did to the basis.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ldpfrontier.channel import FloatArray

#: Inequalities that are taken to work at a time; most steps of a program.
ADDED, STEPS = 6, 400

#: Violations that are rounding; least pivot.
TINY, PIVOT = 1e-10, 1e-10

#: The equality in a basis. Bounds have the numbers of their variables; working inequalities follow.
EQUALITY = -1


class Pool(NamedTuple):
    """Inequalities a . v <= 0, of which every step of a program looks at the working ones only."""

    scale: FloatArray  # (n,)
    rows: FloatArray  # (n, room): the inequalities, one per column
    needed: NDArray[np.int64]  # (room,): when they were last needed
    working: NDArray[np.int64]  # (places,): which of them work, more than n places
    copied: FloatArray  # (n, places): these
    violation: FloatArray  # (places,): scratch
    counts: NDArray[np.int64]  # (3,): how many there are; how many work; the programs solved


class Basis(NamedTuple):
    """Constraints that are met with equality."""

    active: NDArray[np.int64]  # (n,): which
    inverse: FloatArray  # (n, n): that of the matrix of their normals, transposed
    y: FloatArray  # (n,): their multipliers
    v: FloatArray  # (n,): the vertex
    weights: FloatArray  # (n,): of them in the normal of the constraint that enters
    inside: NDArray[np.bool_]  # (n,): whether a variable is at none of its bounds
    upper: NDArray[np.bool_]  # (n,): or at the upper one


@njit(cache=True, error_model="numpy")
def _knapsack(scale: FloatArray, cost: FloatArray, lo: FloatArray, hi: FloatArray) -> Basis:
    """Solve the program without inequalities: variables of the largest cost per scale first."""
    n = cost.size
    order = np.argsort(np.where(scale > 0.0, -cost / scale, 0.0))
    v = np.where((scale == 0.0) & (cost > 0.0), hi, lo)
    left, split = 1.0 - np.dot(scale, v), EQUALITY
    for j in order:
        if scale[j] > 0.0:
            split = j
            v[j] = min(hi[j], lo[j] + left / scale[j])
            if v[j] < hi[j]:
                break
            left -= scale[j] * (hi[j] - lo[j])
    # Should all bounds together be too low or too high, the vertex is outside one of them.
    others = np.dot(scale, v) - scale[split] * v[split]
    v[split] = (1.0 - others) / scale[split]
    active, inverse, inside = np.arange(n), np.eye(n), np.zeros(n, dtype=np.bool_)
    active[split], inside[split] = EQUALITY, True
    inverse[:, split] = -scale / scale[split]
    inverse[split, split] = 1.0 / scale[split]
    price = cost[split] / scale[split]
    y = cost - price * scale
    y[split] = price
    return Basis(active, inverse, y, v, np.zeros(n), inside, v == hi)


@njit(cache=True, error_model="numpy")
def _violations(rows: FloatArray, first: int, end: int, v: FloatArray, violation: FloatArray) -> None:
    violation[: end - first] = 0.0
    for j in range(v.size):
        x, row = v[j], rows[j, first:end]
        if x != 0.0:
            for i in range(end - first):
                violation[i] += x * row[i]


@njit(cache=True, error_model="numpy")
def _entering(pool: Pool, basis: Basis, lo: FloatArray, hi: FloatArray) -> tuple[int, float]:
    """Find the bound or working inequality that the vertex violates most, and by how much."""
    n, v = lo.size, basis.v
    which, most = EQUALITY, TINY
    for j in range(n):
        if basis.inside[j] and max(v[j] - hi[j], lo[j] - v[j]) > most:
            which, most = j, max(v[j] - hi[j], lo[j] - v[j])
    _violations(pool.copied, 0, pool.counts[1], v, pool.violation)
    for i in range(pool.counts[1]):
        if pool.violation[i] > most:
            which, most = n + i, pool.violation[i]
    return which, most


@njit(cache=True, error_model="numpy")
def _leaving(basis: Basis, excess: float, lo: FloatArray, hi: FloatArray) -> int:
    """Find the place of the constraint that leaves, or -1; flip bounds before it while `excess` is left."""
    n = lo.size
    while True:
        least, place = np.inf, -1
        for i in range(n):
            w, kind = basis.weights[i], basis.active[i]
            if abs(w) <= PIVOT or kind == EQUALITY or (kind < n and lo[kind] == hi[kind]):
                continue
            # Multipliers of lower bounds are at most 0, all others at least 0.
            if (w < 0.0) == (kind < n and not basis.upper[kind]):
                ratio = max(basis.y[i] / w, 0.0)
                if ratio < least or (ratio == least and abs(w) > abs(basis.weights[place])):
                    least, place = ratio, i
        kind = basis.active[place]
        if place < 0 or kind >= n:
            return place
        width = hi[kind] - lo[kind]
        excess -= abs(basis.weights[place]) * width
        if excess <= TINY:
            return place
        basis.v[:] += (-width if basis.upper[kind] else width) * basis.inverse[place]
        basis.upper[kind] = not basis.upper[kind]
        basis.v[kind] = hi[kind] if basis.upper[kind] else lo[kind]


@njit(cache=True, error_model="numpy")
def _exchange(
    basis: Basis, place: int, which: int, sign: float, normal: FloatArray, end: float, lo: FloatArray
) -> None:
    """Exchange the constraint at a place of the basis for the one that enters, normal . v = end."""
    n, old = lo.size, basis.active[place]
    step = basis.y[place] / basis.weights[place]
    basis.y[:] -= step * basis.weights
    basis.y[place] = sign * step
    pivot = sign * basis.weights[place]
    direction = basis.inverse[place] / pivot
    basis.v[:] -= (np.dot(normal, basis.v) - end) * direction
    for i in range(n):
        if basis.weights[i] != 0.0:
            basis.inverse[i] -= sign * basis.weights[i] * direction
    basis.inverse[place] = direction
    basis.active[place] = which
    if 0 <= old < n:
        basis.inside[old] = True
    if which < n:
        basis.inside[which], basis.upper[which] = False, sign > 0.0
        basis.v[which] = end


@njit(cache=True, error_model="numpy")
def _bound(
    pool: Pool, cost: FloatArray, active: NDArray[np.int64], y: FloatArray, lo: FloatArray, hi: FloatArray
) -> tuple[float, FloatArray]:
    """Bound the program from the multipliers of the inequalities; the reduced costs of the bound."""
    n, bound, reduced = cost.size, 0.0, cost.copy()
    for i in range(n + 1):
        if active[i] == EQUALITY:
            bound += y[i]
            reduced -= y[i] * pool.scale
        elif active[i] >= n and y[i] > 0.0:
            row = active[i] - n
            pool.needed[pool.working[row]] = pool.counts[2]
            reduced -= y[i] * pool.copied[:, row]
    for j in range(n):
        bound += reduced[j] * (hi[j] if reduced[j] > 0.0 else lo[j])
    return bound, reduced


@njit(cache=True, error_model="numpy")
def _employ(pool: Pool, basis: Basis, slack: float) -> bool:
    """Take the inequalities that the vertex violates most to work, in the place of those not needed for long.

    Returns whether there are any.
    """
    n, size = basis.v.size, pool.violation.size
    worst, most = np.zeros(ADDED, dtype=np.int64), np.full(ADDED, max(slack, 2.0 * TINY))
    for first in range(0, pool.counts[0], size):
        end = min(first + size, pool.counts[0])
        _violations(pool.rows, first, end, basis.v, pool.violation)
        for i in range(end - first):
            if pool.violation[i] > most[-1]:
                place = ADDED - 1
                while place > 0 and pool.violation[i] > most[place - 1]:
                    most[place], worst[place] = most[place - 1], worst[place - 1]
                    place -= 1
                most[place], worst[place] = pool.violation[i], first + i
    found = most > max(slack, 2.0 * TINY)
    for row in worst[found]:
        place = pool.counts[1]
        if place < pool.working.size:
            pool.counts[1] += 1
        else:
            oldest = pool.counts[2] + 1
            for i in range(place):
                if pool.needed[pool.working[i]] < oldest and not (basis.active == n + i).any():
                    oldest, place = pool.needed[pool.working[i]], i
        pool.working[place], pool.needed[row] = row, pool.counts[2]
        pool.copied[:, place] = pool.rows[:, row]
    return bool(found[0])


@njit(cache=True, error_model="numpy")
def maximize(
    pool: Pool, cost: FloatArray, lo: FloatArray, hi: FloatArray, slack: float, enough: float
) -> tuple[float, FloatArray, FloatArray]:
    """Solve a program, unless its value is shown to be at most `enough`.

    Parameters
    ----------
    pool : Pool
    cost, lo, hi : ndarray, shape (n,)
    slack : float
        Violations up to this are ignored.
    enough : float

    Returns
    -------
    bound : float
        On the value; -inf if no v is allowed.
    v : ndarray, shape (n,)
        The vertex, within its bounds.
    reduced : ndarray, shape (n,)
        Reduced costs of the bound.
    """
    n = cost.size
    pool.counts[2] += 1
    basis = _knapsack(pool.scale, cost, lo, hi)
    active, y, normal = np.full(n + 1, EQUALITY), np.zeros(n + 1), np.zeros(n)
    for _ in range(STEPS):
        which, excess = _entering(pool, basis, lo, hi)
        if which == EQUALITY:
            if not _employ(pool, basis, slack):
                break
            continue
        sign, end = 1.0, 0.0
        if which < n:
            normal[:] = 0.0
            normal[which] = 1.0
            sign = 1.0 if basis.v[which] > hi[which] else -1.0
            end = hi[which] if sign > 0.0 else lo[which]
        else:
            normal[:] = pool.copied[:, which - n]
        basis.weights[:] = sign * np.dot(basis.inverse, normal)
        place = _leaving(basis, excess, lo, hi)
        if place < 0:
            # More of the entering constraint, less of the others: the bound falls without end.
            active[:n], y[:n] = basis.active, -basis.weights
            active[n], y[n] = which, sign
            if _bound(pool, np.zeros(n), active, y, lo, hi)[0] < 0.0:
                return -np.inf, basis.v, cost
            break
        _exchange(basis, place, which, sign, normal, end, lo)
        if np.dot(cost, basis.v) <= enough:
            active[:n], y[:n], y[n] = basis.active, basis.y, 0.0
            bound, reduced = _bound(pool, cost, active, y, lo, hi)
            if bound <= enough:
                return bound, basis.v, reduced
    active[:n], y[:n], y[n] = basis.active, basis.y, 0.0
    active[n] = EQUALITY
    bound, reduced = _bound(pool, cost, active, y, lo, hi)
    return bound, np.minimum(np.maximum(basis.v, lo), hi), reduced
