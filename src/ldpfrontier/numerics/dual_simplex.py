r"""Dual simplex method for linear programs with some ten variables and thousands of inequalities, compiled.

The programs are ::

    maximize cost . v   subject to   scale . v = 1,  lo <= v <= hi,  a . v <= 0 for all a of a pool.

A basis is n constraints that its vertex v meets with equality; its multipliers y are their weights in `cost`,
and it is dual feasible if they have the right signs. The steps are those of a textbook: the constraint that v
violates most enters, the ratio test on y decides which one leaves, and bounds before it are flipped as long
as the violation lasts (long-step rule). The first basis solves the program without inequalities, a fractional
knapsack. Every step looks at the *working* inequalities alone; violated ones of the pool join them.

The objective falls throughout, so a program that only has to be shown to be worth little ends early. The
bound that is returned is computed from the multipliers of the inequalities alone, by weak duality: it holds
whatever rounding did to the basis. For what is rounded in it, it is raised by gamma(3 n + 32) times the sum
of its magnitudes: that of multipliers and reduced costs, and of costs and inequalities wrong by 2 n + 16 u.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray
from ldpfrontier.numerics.jit import borrowing_kernel, inner_kernel
from ldpfrontier.numerics.rounding import UNIT_ROUNDOFF

# Inequalities that join the working ones at a time; tuned.
_BATCH = 6

# Most steps of a program; the bound holds after any number of them.
_MAX_STEPS = 400

# Violations and pivots up to here are rounding.
_TOLERANCE = 1e-10

# Twice the unit roundoff: (3 n + 32) of it are more than gamma(3 n + 32).
_UNIT = 2.0 * UNIT_ROUNDOFF

# The number of the equality in a basis. Bounds have those of their variables; working inequalities follow.
_EQUALITY = -1


class Space(NamedTuple):
    """Space for programs of n variables, made once: to make it for each took as long as a program."""

    numbers: FloatArray  # (n + 6, n)
    integers: NDArray[np.int64]  # (n + _BATCH,)
    flags: NDArray[np.bool_]  # (2, n)
    most: FloatArray  # (_BATCH,)

    @classmethod
    def of(cls, n: int) -> Space:
        """Return space for n variables."""
        integers, flags = np.empty(n + _BATCH, dtype=np.int64), np.empty((2, n), dtype=np.bool_)
        return cls(np.empty((n + 6, n)), integers, flags, np.empty(_BATCH))


class Pool(NamedTuple):
    """Inequalities a . v <= 0, of which every step of a program looks at the working ones only."""

    scale: FloatArray  # (n,)
    rows: FloatArray  # (n, room): the inequalities, one per column
    needed: NDArray[np.int64]  # (room,): when they were last needed
    working: NDArray[np.int64]  # (places,): the numbers of the working ones, more than n places
    copied: FloatArray  # (n, places): the working ones
    violation: FloatArray  # (places,): scratch
    counts: NDArray[np.int64]  # (3,): of inequalities, of working ones, of programs solved
    space: Space


class Basis(NamedTuple):
    """Constraints that are met with equality, and what follows from them."""

    active: NDArray[np.int64]  # (n,): their numbers
    inverse: FloatArray  # (n, n): the inverse of the matrix of their normals, transposed
    y: FloatArray  # (n,): their multipliers
    v: FloatArray  # (n,): the vertex
    weights: FloatArray  # (n,): their weights in the normal of the constraint that enters
    inside: NDArray[np.bool_]  # (n,): whether a variable is at none of its bounds
    upper: NDArray[np.bool_]  # (n,): whether it is at the upper bound


@inner_kernel
def _dot(a: FloatArray, b: FloatArray) -> float:
    total = 0.0
    for j in range(a.size):
        total += a[j] * b[j]
    return total


@inner_kernel
def _add(target: FloatArray, factor: float, source: FloatArray) -> None:
    for j in range(target.size):
        target[j] += factor * source[j]


@inner_kernel
def _find_knapsack_basis(
    basis: Basis, scale: FloatArray, cost: FloatArray, lo: FloatArray, hi: FloatArray
) -> None:
    """Find the best basis without inequalities: variables with the largest cost per scale first."""
    n, v, y, inverse, upper = cost.size, basis.v, basis.y, basis.inverse, basis.upper
    active, inside = basis.active, basis.inside
    for j in range(n):
        basis.weights[j], inside[j], upper[j] = 0.0, False, False
        for i in range(n):
            inverse[i, j] = 0.0
    for j in range(n):
        active[j], inverse[j, j] = j, 1.0
        v[j] = hi[j] if scale[j] == 0.0 and cost[j] > 0.0 else lo[j]
    left, split = 1.0 - _dot(scale, v), _EQUALITY
    while True:
        best, most = _EQUALITY, -np.inf
        for j in range(n):
            if scale[j] > 0.0 and not upper[j] and (cost[j] / scale[j] > most or best == _EQUALITY):
                best, most = j, cost[j] / scale[j]
        if best == _EQUALITY:
            break
        split = best
        v[split] = min(hi[split], lo[split] + left / scale[split])
        if v[split] < hi[split]:
            break
        upper[split] = True
        left -= scale[split] * (hi[split] - lo[split])
    # Should all bounds together be too low or too high, the vertex is outside one of them.
    v[split] += (1.0 - _dot(scale, v)) / scale[split]
    price = cost[split] / scale[split]
    for j in range(n):
        inverse[j, split] = -scale[j] / scale[split]
        y[j] = cost[j] - price * scale[j]
        upper[j] = v[j] == hi[j]
    inverse[split, split] = 1.0 / scale[split]
    active[split], inside[split], y[split] = _EQUALITY, True, price


@inner_kernel
def _violations(rows: FloatArray, count: int, end: int, v: FloatArray, violation: FloatArray) -> None:
    """Write a . v of the last `count` inequalities before `end`."""
    n, first = v.size, end - count
    for i in range(count):
        violation[i] = 0.0
    # Four variables at a time: the sums are read and written less often.
    for j in range(0, n - n % 4, 4):
        x0, x1, x2, x3 = v[j], v[j + 1], v[j + 2], v[j + 3]
        a0, a1 = rows[j, first:end], rows[j + 1, first:end]
        a2, a3 = rows[j + 2, first:end], rows[j + 3, first:end]
        for i in range(count):
            violation[i] += x0 * a0[i] + x1 * a1[i] + x2 * a2[i] + x3 * a3[i]
    for j in range(n - n % 4, n):
        x, row = v[j], rows[j, first:end]
        if x != 0.0:
            for i in range(count):
                violation[i] += x * row[i]


@inner_kernel
def _most_violated(pool: Pool, basis: Basis, lo: FloatArray, hi: FloatArray) -> tuple[int, float]:
    """Return the bound or working inequality that the vertex violates most, and by how much."""
    n, v, count = lo.size, basis.v, pool.counts[1]
    which, most = _EQUALITY, _TOLERANCE
    for j in range(n):
        if basis.inside[j] and max(v[j] - hi[j], lo[j] - v[j]) > most:
            which, most = j, max(v[j] - hi[j], lo[j] - v[j])
    _violations(pool.copied, count, count, v, pool.violation)
    for i in range(count):
        if pool.violation[i] > most:
            which, most = n + i, pool.violation[i]
    return which, most


@inner_kernel
def _ratio_test(basis: Basis, excess: float, lo: FloatArray, hi: FloatArray) -> int:
    """Return the place of the constraint that leaves, or -1; flip bounds before it while `excess` lasts."""
    n = lo.size
    while True:
        least, place = np.inf, -1
        for i in range(n):
            w, kind = basis.weights[i], basis.active[i]
            if abs(w) <= _TOLERANCE or kind == _EQUALITY or (kind < n and lo[kind] == hi[kind]):
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
        if excess <= _TOLERANCE:
            return place
        _add(basis.v, -width if basis.upper[kind] else width, basis.inverse[place])
        basis.upper[kind] = not basis.upper[kind]
        basis.v[kind] = hi[kind] if basis.upper[kind] else lo[kind]


@inner_kernel
def _pivot(
    basis: Basis, place: int, which: int, sign: float, normal: FloatArray, end: float, lo: FloatArray
) -> None:
    """Exchange the constraint at a place of the basis for the one that enters, normal . v = end."""
    n, old = lo.size, basis.active[place]
    step = basis.y[place] / basis.weights[place]
    _add(basis.y, -step, basis.weights)
    basis.y[place] = sign * step
    pivot = sign * basis.weights[place]
    direction = basis.inverse[place]
    for j in range(n):
        direction[j] /= pivot
    _add(basis.v, end - _dot(normal, basis.v), direction)
    for i in range(n):
        if i != place and basis.weights[i] != 0.0:
            _add(basis.inverse[i], -sign * basis.weights[i], direction)
    basis.active[place] = which
    if 0 <= old < n:
        basis.inside[old] = True
    if which < n:
        basis.inside[which], basis.upper[which] = False, sign > 0.0
        basis.v[which] = end


@inner_kernel
def _bound(
    pool: Pool,
    cost: FloatArray,
    basis: Basis,
    y: FloatArray,
    which: int,
    last: float,
    lo: FloatArray,
    hi: FloatArray,
    reduced: FloatArray,
    size: FloatArray,
) -> float:
    """Return the bound of weak duality from the multipliers of the inequalities; write its reduced costs.

    The constraints of the basis have the multipliers y; one more, `which`, has the multiplier `last`.
    """
    n, bound, total = cost.size, 0.0, 0.0
    for j in range(n):
        reduced[j], size[j] = cost[j], abs(cost[j])
    for i in range(n + 1):
        kind, multiplier = (basis.active[i], y[i]) if i < n else (which, last)
        if kind == _EQUALITY:
            bound += multiplier
            total += abs(multiplier)
            _add(reduced, -multiplier, pool.scale)
            _add(size, abs(multiplier), pool.scale)
        elif kind >= n and multiplier > 0.0:
            pool.needed[pool.working[kind - n]] = pool.counts[2]
            for j in range(n):
                product = multiplier * pool.copied[j, kind - n]
                reduced[j] -= product
                size[j] += abs(product)
    for j in range(n):
        bound += reduced[j] * (hi[j] if reduced[j] > 0.0 else lo[j])
        total += size[j] * max(abs(hi[j]), abs(lo[j]))
    return bound + (3 * n + 32) * _UNIT * total


@inner_kernel
def _in_basis(basis: Basis, which: int) -> bool:
    found = False
    for kind in basis.active:
        found |= kind == which
    return found


@inner_kernel
def _add_working(pool: Pool, basis: Basis, slack: float) -> bool:
    """Let the inequalities that the vertex violates most join the working ones; return whether there are any.

    They take the places of those that were not needed for long.
    """
    n, size, slack = basis.v.size, pool.violation.size, max(slack, 2.0 * _TOLERANCE)
    worst, most, count = pool.space.integers[n:], pool.space.most, 0
    for first in range(0, pool.counts[0], size):
        end = min(first + size, pool.counts[0])
        _violations(pool.rows, end - first, end, basis.v, pool.violation)
        for i in range(end - first):
            if pool.violation[i] > (most[_BATCH - 1] if count == _BATCH else slack):
                place = count = min(count + 1, _BATCH)
                while place > 1 and pool.violation[i] > most[place - 2]:
                    place -= 1
                    most[place], worst[place] = most[place - 1], worst[place - 1]
                most[place - 1], worst[place - 1] = pool.violation[i], first + i
    for k in range(count):
        row, place = worst[k], pool.counts[1]
        if place < pool.working.size:
            pool.counts[1] += 1
        else:
            oldest = pool.counts[2] + 1
            for i in range(place):
                if pool.needed[pool.working[i]] < oldest and not _in_basis(basis, n + i):
                    oldest, place = pool.needed[pool.working[i]], i
        pool.working[place], pool.needed[row] = row, pool.counts[2]
        for j in range(n):
            pool.copied[j, place] = pool.rows[j, row]
    return count > 0


def maximize(
    pool: Pool, cost: FloatArray, lo: FloatArray, hi: FloatArray, slack: float, enough: float
) -> tuple[float, FloatArray, FloatArray]:
    """Return bound and solution of a program, unless its value is shown to be at most `enough`.

    Violations up to `slack` are ignored. The bound on the value is -inf if no v is allowed; v is the vertex,
    within its bounds, and the reduced costs are those of the bound.
    """
    bound, numbers = _maximize(pool, cost, lo, hi, slack, enough), pool.space.numbers
    return bound, numbers[0].copy(), numbers[1].copy()


@borrowing_kernel
def _maximize(
    pool: Pool, cost: FloatArray, lo: FloatArray, hi: FloatArray, slack: float, enough: float
) -> float:
    """Return the bound of a program; the first two rows of the space are its solution and reduced costs."""
    n, numbers, flags, which = cost.size, pool.space.numbers, pool.space.flags, _EQUALITY
    v, reduced, normal, size = numbers[0], numbers[1], numbers[2], numbers[3]
    basis = Basis(pool.space.integers[:n], numbers[6:], numbers[4], v, numbers[5], flags[0], flags[1])
    pool.counts[2] += 1
    _find_knapsack_basis(basis, pool.scale, cost, lo, hi)
    for _ in range(_MAX_STEPS):
        which, excess = _most_violated(pool, basis, lo, hi)
        if which == _EQUALITY:
            if not _add_working(pool, basis, slack):
                break
            continue
        sign, end = 1.0, 0.0
        for j in range(n):
            normal[j] = pool.copied[j, which - n] if which >= n else 0.0
        if which < n:
            normal[which] = 1.0
            sign = 1.0 if basis.v[which] > hi[which] else -1.0
            end = hi[which] if sign > 0.0 else lo[which]
        for i in range(n):
            basis.weights[i] = sign * _dot(basis.inverse[i], normal)
        place = _ratio_test(basis, excess, lo, hi)
        if place < 0:
            # More of the entering constraint, less of the others: the bound falls without end.
            for i in range(n):
                basis.weights[i] *= -1.0
                normal[i] = 0.0
            if _bound(pool, normal, basis, basis.weights, which, sign, lo, hi, reduced, size) < 0.0:
                for j in range(n):
                    reduced[j] = cost[j]
                return -np.inf
            break
        _pivot(basis, place, which, sign, normal, end, lo)
        if _dot(cost, basis.v) <= enough:
            bound = _bound(pool, cost, basis, basis.y, which, 0.0, lo, hi, reduced, size)
            if bound <= enough:
                return bound
    bound = _bound(pool, cost, basis, basis.y, which, 0.0, lo, hi, reduced, size)
    for j in range(n):
        basis.v[j] = min(max(basis.v[j], lo[j]), hi[j])
    return bound
