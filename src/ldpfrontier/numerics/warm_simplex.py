r"""Simplex method for programs whose cost changes and that get more inequalities, compiled.

The programs are ::

    maximize cost . x   subject to   scale . x = 1,  a . x <= b for some a of few places,

with some hundred variables. A basis is as many constraints as variables, the equality among them, which the
vertex x meets with equality. Its inverse is kept as a dense matrix; inequalities have at most six places, so
that the update of that matrix is most of a step. At another cost the vertex is still allowed, and the primal
method goes on from there (prices by reference weights: Forrest and Goldfarb 1992); with more inequalities
the multipliers are still allowed, and the dual method does. Both ratio tests are those of Harris (1973).

Right sides are raised a little, each by another amount: cones have many inequalities that meet at one vertex,
and steps of no length could go round in circles. The value is then an upper bound, to the rounding of a basis
of condition 1e3, and whoever needs a solution inside corrects it by as much.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray, IntArray
from ldpfrontier.numerics.deadline import check_time
from ldpfrontier.numerics.jit import borrowing_kernel, inner_kernel

#: By how much right sides are raised at most; at least it is half of that.
PERTURBATION = 1e-7

#: Places of an inequality at most, and of those that the program has from the beginning.
WIDTH, SHORT_WIDTH = 6, 2

# Weights, rates and pivots up to here are rounding.
_LEAST_PIVOT = 1e-8

# Multipliers up to this share of the largest cost count as 0.
_LEAST_PRICE = 1e-10

# By how much an inequality may be violated in a ratio test, and in a solution.
_TOLERANCE = 1e-9

# The number of the equality in a basis.
_EQUALITY = -1

# Steps after which a program has no end, and after which the inverse is computed anew.
_MAX_STEPS, _REINVERT_AFTER = 5000, 200


class ConstraintRows(NamedTuple):
    """Inequalities a . x <= b, and numbers that the methods write; unused places have the entry 0."""

    places: NDArray[np.uint64]  # (room, WIDTH)
    entries: FloatArray  # (room, WIDTH)
    right: FloatArray  # (room,)
    is_active: NDArray[np.bool_]  # (room,)
    slack: FloatArray  # (room,)
    rate: FloatArray  # (room,)


class WarmBasis(NamedTuple):
    """Constraints that are met with equality, and what follows from them."""

    active: NDArray[np.int64]  # (n,): their numbers
    inverse: FloatArray  # (n, n): by how much the vertex moves with the right side of each
    x: FloatArray  # (n,): the vertex
    y: FloatArray  # (n,): multipliers
    weights: FloatArray  # (n,): of the constraints in the normal of the one that enters
    reference: FloatArray  # (n,): squared sizes of edges, nearly


@inner_kernel
def _negative_products(rows: ConstraintRows, count: int, short: int, x: FloatArray) -> None:
    """Write -a . x of the inequalities, of which the first ones are short, as rates."""
    for k in range(count):
        places, entries, total = rows.places[k], rows.entries[k], 0.0
        for j in range(SHORT_WIDTH if k < short else WIDTH):
            total -= entries[j] * x[places[j]]
        rows.rate[k] = total


@inner_kernel
def _ratio_test(values: FloatArray, rates: FloatArray, start: int, count: int, tolerance: float) -> int:
    """Return the index of the value that falls to 0 first, of several the one of the largest rate, or -1."""
    longest, which, steepest = np.inf, -1, _LEAST_PIVOT
    for k in range(start, count):
        if rates[k] > _LEAST_PIVOT:
            length = (values[k] + tolerance if values[k] > 0.0 else tolerance) / rates[k]
            if length < longest:
                longest = length
    if longest < np.inf:
        for k in range(start, count):
            if rates[k] > steepest and values[k] <= longest * rates[k]:
                which, steepest = k, rates[k]
    return which


@inner_kernel
def _weigh(rows: ConstraintRows, basis: WarmBasis, which: int) -> None:
    """Write the weights of the basis in the normal of an inequality."""
    places, entries = rows.places[which], rows.entries[which]
    for i in range(basis.x.size):
        row, total = basis.inverse[i], 0.0
        for j in range(WIDTH):
            total += entries[j] * row[places[j]]
        basis.weights[i] = total


@inner_kernel
def _exchange(rows: ConstraintRows, basis: WarmBasis, place: int, which: int) -> None:
    """Exchange the constraint at a place of the basis for an inequality."""
    n, inverse, weights, direction = basis.x.size, basis.inverse, basis.weights, basis.inverse[place]
    places, entries, length, pivot = (
        rows.places[which],
        rows.entries[which],
        rows.right[which],
        weights[place],
    )
    for j in range(WIDTH):
        length -= entries[j] * basis.x[places[j]]
    for j in range(n):
        direction[j] /= pivot
        basis.x[j] += length * direction[j]
    basis.y[place] /= pivot
    basis.reference[place] /= pivot * pivot
    weights[place] = 0.0
    price, size = basis.y[place], basis.reference[place]
    for i in range(n):
        weight, row = weights[i], inverse[i]
        if weight != 0.0:
            for j in range(n):
                row[j] -= weight * direction[j]
            basis.y[i] -= weight * price
            if basis.reference[i] < weight * weight * size:
                basis.reference[i] = weight * weight * size
    rows.is_active[basis.active[place]], rows.is_active[which] = False, True
    basis.active[place] = which


@borrowing_kernel
def advance(rows: ConstraintRows, count: int, short: int, basis: WarmBasis, least_price: float) -> int:
    """Go on from a vertex to a solution, in place; return the steps, or -1 where there is no end.

    The primal method goes on until no price is below the least one (minus infinity: none at all), and the
    dual one until all inequalities are met. The first inequalities are short: they have at most `SHORT_WIDTH`
    places. Slacks are infinite where an inequality does not end a step of the primal method.
    """
    n, y, slack, rate = basis.x.size, basis.y, rows.slack, rows.rate
    for step in range(_MAX_STEPS):
        # The first place is that of the equality.
        place, which, most = -1, -1, 0.0
        for i in range(1, n):
            if y[i] < least_price and (y[i] - least_price) ** 2 > most * basis.reference[i]:
                place, most = i, (y[i] - least_price) ** 2 / basis.reference[i]
        if place >= 0:
            _negative_products(rows, count, short, basis.inverse[place])
            which = _ratio_test(slack, rate, 0, count, _TOLERANCE)
            if which < 0:
                return -1
            length = slack[which] / rate[which]
            for k in range(count):
                slack[k] -= length * rate[k]
                if slack[k] < 0.0:
                    slack[k] = 0.0
            slack[basis.active[place]], slack[which] = length, np.inf
            _weigh(rows, basis, which)
        else:
            least_price, most = -np.inf, _TOLERANCE
            _negative_products(rows, count, short, basis.x)
            for k in range(count):
                if -rate[k] - rows.right[k] > most and not rows.is_active[k]:
                    which, most = k, -rate[k] - rows.right[k]
            if which < 0:
                return step
            _weigh(rows, basis, which)
            place = _ratio_test(y, basis.weights, 1, n, _LEAST_PRICE)
            if place < 0:
                return -1
        _exchange(rows, basis, place, which)
    return -1


class WarmSimplex:
    """A program that goes on from its last vertex.

    `places` and `entries`, shape (m, SHORT_WIDTH), are of the inequalities of the beginning, which stay; a
    first vertex meets the n - 1 in `active` with equality. `room` is for further inequalities.
    """

    def __init__(
        self,
        scale: FloatArray,
        places: IntArray,
        entries: FloatArray,
        right: FloatArray,
        active: IntArray,
        room: int,
    ) -> None:
        self._scale, self._first, self._short = scale, active, len(right)
        total, n = len(right) + room, len(scale)
        # Fractions of multiples of an irrational number are spread evenly.
        amounts = PERTURBATION * (1.0 - 0.5 * (np.arange(total) * (np.sqrt(5.0) / 2.0) % 1.0))
        self._rows = rows = ConstraintRows(
            np.zeros((total, WIDTH), dtype=np.uint64),
            np.zeros((total, WIDTH)),
            amounts,
            np.zeros(total, dtype=np.bool_),
            np.zeros(total),
            np.zeros(total),
        )
        short = slice(self._short)
        rows.places[short, :SHORT_WIDTH], rows.entries[short, :SHORT_WIDTH] = places, entries
        rows.right[short] += right
        numbers = np.zeros(n, dtype=np.int64)
        self._basis = WarmBasis(numbers, np.zeros((n, n)), np.zeros(n), np.zeros(n), np.zeros(n), np.ones(n))
        self._reset()

    @property
    def x(self) -> FloatArray:
        """The vertex, shape (n,)."""
        return self._basis.x

    @property
    def value(self) -> float:
        """The value by the multipliers, of the program with the right sides raised."""
        return float(self._basis.y @ self._right)

    @property
    def added(self) -> int:
        """The number of inequalities that were added."""
        return self._count - self._short

    @property
    def _right(self) -> FloatArray:
        active = self._basis.active
        return np.where(active == _EQUALITY, 1.0, self._rows.right[active])

    def _reset(self) -> None:
        """Go back to the first vertex, without what was added."""
        self._count = self._short
        self._basis.active[:] = [_EQUALITY, *self._first]
        self._rows.is_active[:] = False
        self._rows.is_active[self._first] = True
        self._refresh()

    def _refresh(self) -> None:
        """Compute the inverse and the vertex from the constraints."""
        active, n = self._basis.active, len(self._scale)
        normals, each = np.zeros((n, n)), np.arange(n)
        for j in range(WIDTH):
            np.add.at(
                normals, (each, self._rows.places[active, j].astype(np.intp)), self._rows.entries[active, j]
            )
        normals[active == _EQUALITY] = self._scale
        self._basis.inverse[:] = np.linalg.inv(normals).T
        self._basis.x[:] = self._right @ self._basis.inverse
        self._steps = 0

    def maximize(self, cost: FloatArray | None = None) -> FloatArray:
        """Return the solution for a cost, by default the last one, both of shape (n,).

        RuntimeError if the value has no bound, or rounding leaves no way on; what was added is then dropped.
        """
        check_time()
        if self._steps > _REINVERT_AFTER:
            self._refresh()
        least_price = -np.inf if cost is None else self._set_cost(cost)
        steps = advance(self._rows, self._count, self._short, self._basis, least_price)
        if steps < 0:
            self._reset()
            raise RuntimeError("The simplex method found no optimum.")
        self._steps += steps
        return self.x

    def _set_cost(self, cost: FloatArray) -> float:
        """Write the multipliers of a cost, and slacks; return above which ones no step is worth it."""
        rows, basis, count = self._rows, self._basis, self._count
        basis.y[:] = basis.inverse @ cost
        basis.reference[:] = (basis.inverse**2).sum(axis=1)
        entries, places = rows.entries[:count], rows.places[:count].view(np.int64)
        slack = rows.right[:count] - (entries * basis.x[places]).sum(axis=1)
        # Inequalities that are not met yet, new ones, are for the dual method.
        slack[self._short :][slack[self._short :] < -10.0 * _TOLERANCE] = np.inf
        rows.slack[:count] = np.maximum(slack, 0.0)
        rows.slack[basis.active[1:]] = np.inf
        return -_LEAST_PRICE * float(np.abs(cost).max())

    def add(self, places: IntArray, entries: FloatArray) -> None:
        """Add inequalities with the right side 0, shape (k, WIDTH) each; the next solution meets them."""
        new = slice(self._count, self._count + len(places))
        self._rows.places[new], self._rows.entries[new] = places, entries
        self._count += len(places)

    def drop(self) -> None:
        """Drop of what was added all that the vertex does not meet with equality."""
        rows, active, short = self._rows, self._basis.active, self._short
        kept = short + np.flatnonzero(rows.is_active[short : self._count])
        self._count = end = short + len(kept)
        numbers = np.arange(len(rows.right))
        numbers[kept] = np.arange(short, end)
        active[:] = np.where(active == _EQUALITY, _EQUALITY, numbers[active])
        rows.places[short:end], rows.entries[short:end] = rows.places[kept], rows.entries[kept]
        # Each keeps its own right side, on which the vertex depends; the rest stay different.
        rows.right[short:] = np.concatenate([rows.right[kept], np.delete(rows.right[short:], kept - short)])
        rows.is_active[short:] = False
        rows.is_active[short:end] = True
