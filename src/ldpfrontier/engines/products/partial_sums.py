r"""Dynamic programming over the blocks, on a grid of partial sums.

A choice of one vertex per block is worth U + sum_s l_s - phi(Z), Z = sum_s z_s, with losses l_s <= 0, and
phi >= 0 convex, 0 at one value of Z (see `pricing`). With z rounded to steps of a grid, kernels tabulate ::

    forward[s, x] = max { l_1 + ... + l_s : steps up to s add up to x },
    backward[s, x] = max { l_s+1 + ... + last[y] : steps from there add up to y - x },

in place of 2^(number of blocks) or more combinations. Together they give the best choice with any given
vertex. Rounding moves Z by at most `error`, which bounds must allow for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ldpfrontier.base.types import FloatArray, IntArray
from ldpfrontier.numerics.jit import inner_kernel, kernel


class Steps(NamedTuple):
    """The choices of every block as steps on a grid of partial sums, and the cells that matter."""

    step: IntArray  # of all vertices, those of a block in rising order
    loss: FloatArray
    first: IntArray  # (blocks + 1,): where the vertices of each block begin
    low: IntArray  # (blocks + 1,): the least and the last cell before each block, and after the last one
    high: IntArray


@kernel
def _table(rows: int, cells: int) -> FloatArray:
    """Return a table of -inf, shape (rows, cells)."""
    table = np.empty((rows, cells))
    for s in range(rows):
        for x in range(cells):
            table[s, x] = -np.inf
    return table


@kernel
def _joined(
    table: FloatArray, s: int, t: int, low: IntArray, high: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return the parts of rows s and s + 1 of a table whose cells a step t of block s connects."""
    a = max(low[s], low[s + 1] - t)
    b = max(a, min(high[s], high[s + 1] - t) + 1)  # there may be none
    return table[s, a:b], table[s + 1, a + t : b + t]


@inner_kernel
def _maximize(target: FloatArray, source: FloatArray, loss: float) -> None:
    """Replace every number of the target by that of the source plus a loss, if that is larger."""
    for x in range(target.size):
        target[x] = max(target[x], source[x] + loss)


@inner_kernel
def _trace_back(choice: IntArray, blocks: int, x: int, steps: Steps, forward: FloatArray) -> None:
    """Fill in the choices of the first blocks that attain the least loss in cell x."""
    step, loss, first, low, high = steps
    for s in range(blocks - 1, -1, -1):
        for i in range(first[s], first[s + 1]):
            before = x - step[i]
            if low[s] <= before <= high[s] and forward[s, before] + loss[i] == forward[s + 1, x]:
                choice[s], x = i, before
                break


@kernel
def _forward(steps: Steps) -> FloatArray:
    """Return the least loss of the first blocks at every partial sum, shape (blocks + 1, cells)."""
    step, loss, first, low, high = steps
    table = _table(first.size, high[-1] + 1)
    table[0, 0] = 0.0
    for s in range(first.size - 1):
        for i in range(first[s], first[s + 1]):
            here, there = _joined(table, s, step[i], low, high)
            _maximize(there, here, loss[i])
    return table


@kernel
def _backward(steps: Steps, last: FloatArray) -> FloatArray:
    """Return the best worth of the blocks to come at every partial sum, given that of the last cells."""
    step, loss, first, low, high = steps
    blocks = first.size - 1
    table = _table(first.size, high[-1] + 1)
    for x in range(last.size):
        table[blocks, low[blocks] + x] = last[x]
    for s in range(blocks - 1, -1, -1):
        for i in range(first[s], first[s + 1]):
            here, there = _joined(table, s, step[i], low, high)
            _maximize(here, there, loss[i])
    return table


# -inf meets only -inf and finite numbers.
@inner_kernel
def _largest_sum(before: FloatArray, after: FloatArray) -> float:
    """Return the largest sum of two numbers at the same place."""
    most = -np.inf
    for x in range(before.size):
        most = max(most, before[x] + after[x])
    return most


@kernel
def _marginals(steps: Steps, forward: FloatArray, backward: FloatArray) -> FloatArray:
    """Return the worth of the best choice with each vertex, less U."""
    step, loss, first, low, high = steps
    best = np.empty(step.size)
    for s in range(first.size - 1):
        for i in range(first[s], first[s + 1]):
            a = max(low[s], low[s + 1] - step[i])
            b = max(a, min(high[s], high[s + 1] - step[i]) + 1)
            best[i] = loss[i] + _largest_sum(forward[s, a:b], backward[s + 1, a + step[i] : b + step[i]])
    return best


@kernel
def _best_choices(steps: Steps, forward: FloatArray, backward: FloatArray, vertices: IntArray) -> IntArray:
    """Return the best choice with each of some vertices, shape (vertices, blocks)."""
    step, loss, first, low, high = steps
    blocks = first.size - 1
    choice = np.zeros((vertices.size, blocks), dtype=np.int64)
    for k in range(vertices.size):
        i, s = vertices[k], 0
        while first[s + 1] <= i:
            s += 1
        t, at, best = step[i], 0, -np.inf
        for x in range(max(low[s], low[s + 1] - t), min(high[s], high[s + 1] - t) + 1):
            worth = forward[s, x] + backward[s + 1, x + t]
            if worth > best:
                best, at = worth, x
        choice[k, s] = i
        _trace_back(choice[k], s, at, steps, forward)
        x = at + t
        for r in range(s + 1, blocks):
            for j in range(first[r], first[r + 1]):
                after = x + step[j]
                if low[r + 1] <= after <= high[r + 1] and backward[r + 1, after] + loss[j] == backward[r, x]:
                    choice[k, r], x = j, after
                    break
    return choice


@kernel
def pareto_vertices(order: IntArray, z: FloatArray, value: FloatArray, left: float, right: float) -> IntArray:
    """Return the vertices of a block that no other vertex replaces at a gain, whatever is chosen elsewhere.

    Vertex j replaces i at a gain if value_j - value_i >= left (z_i - z_j) and z_j <= z_i, or if value_j -
    value_i >= right (z_j - z_i) and z_j >= z_i. Those to look at are given in order of rising z, and so are
    those returned.
    """
    keep = np.empty(order.size, dtype=np.int64)
    count, best = 0, -np.inf
    for i in order:
        if value[i] + left * z[i] > best:
            best = value[i] + left * z[i]
            keep[count] = i
            count += 1
    start, best = order.size, -np.inf
    for k in range(count - 1, -1, -1):
        i = keep[k]
        if value[i] - right * z[i] > best:
            best = value[i] - right * z[i]
            start -= 1
            keep[start] = i
    return keep[start:]


@kernel
def discard_by_tangent(
    z: FloatArray, f: FloatArray, first: IntArray, c: float
) -> tuple[float, IntArray, FloatArray, IntArray]:
    """Discard every vertex that is part of no choice with sum f - Z log Z > 0.

    The tangent of z log z at c, lam = 1 + log c, bounds a choice by U + sum_s loss_s, with U = c + sum_s max
    (f_s - lam z_s), and loss_s <= 0 the distance of f_s - lam z_s from that maximum. So a vertex with loss <
    -U is in none. Returned are U, the places and losses of the vertices that are left, in their order, and
    where blocks begin among them, (blocks + 1,).
    """
    blocks = first.size - 1
    lam, U = 1.0 + np.log(c), c
    tops = np.empty(blocks)
    for s in range(blocks):
        tops[s] = -np.inf
        for i in range(first[s], first[s + 1]):
            tops[s] = max(tops[s], f[i] - lam * z[i])
        U += tops[s]
    kept, losses = np.empty(z.size, dtype=np.int64), np.empty(z.size)
    starts = np.zeros(blocks + 1, dtype=np.int64)
    count = 0
    for s in range(blocks):
        for i in range(first[s], first[s + 1]):
            loss = f[i] - lam * z[i] - tops[s]
            if loss >= -U:
                kept[count], losses[count] = i, loss
                count += 1
        starts[s + 1] = count
    return U, kept[:count], losses[:count], starts


class Rounded(NamedTuple):
    """The z of vertices rounded to a grid; of those with equal steps, the one with the least loss is kept."""

    base: float  # the least sum of z
    width: float  # of a cell
    error: float  # how far the Z of a choice is at most from that of its cell
    order: IntArray  # (blocks,): the ones with the widest range of z first, for few partial sums
    first: IntArray  # (blocks + 1,): where blocks begin, in that order, among the vertices kept
    kept: IntArray
    step: IntArray  # of the vertices kept
    places: IntArray  # of every vertex: where it, or the one in its stead, is among those kept


@kernel
def _rounded(z: FloatArray, losses: FloatArray, first: IntArray, high: float, cells: int) -> Rounded:
    """Round the z of vertices, in rising order within each block, to a grid up to `high`."""
    blocks = first.size - 1
    base, error = 0.0, 0.0
    order = np.empty(blocks, dtype=np.int64)
    for s in range(blocks):
        base += z[first[s]]
        k = s  # inserted behind those at least as wide
        while k > 0:
            r = order[k - 1]
            if z[first[r + 1] - 1] - z[first[r]] >= z[first[s + 1] - 1] - z[first[s]]:
                break
            order[k] = r
            k -= 1
        order[k] = s
    width = max((high - base) / cells, 1e-15 * high)
    starts = np.zeros(blocks + 1, dtype=np.int64)
    kept, places = np.empty(z.size, dtype=np.int64), np.empty(z.size, dtype=np.int64)
    steps = np.empty(z.size, dtype=np.int64)
    count = 0
    for n in range(blocks):
        s, farthest = order[n], 0.0
        least, last = z[first[s]], -1
        for i in range(first[s], first[s + 1]):
            step = int(np.rint((z[i] - least) / width))
            farthest = max(farthest, abs(z[i] - least - step * width))
            if step > last:
                kept[count], steps[count], last = i, step, step
                count += 1
            elif losses[i] > losses[kept[count - 1]]:
                kept[count - 1] = i
            places[i] = count - 1
        error += farthest
        starts[n + 1] = count
    return Rounded(base, width, error, order, starts, kept[:count], steps[:count], places)


@dataclass(eq=False)
class PartialSumTable:
    """The choices of one vertex per block, tabulated by their rounded sum of z."""

    z: FloatArray  # of the vertices of all blocks, those of a block in order of rising z
    losses: FloatArray  # of the same vertices
    first: IntArray  # (blocks + 1,): where those of each block begin
    low: float  # the least sum of z that matters
    high: float  # the largest one
    cells: int  # of the grid, from the least sum to `high`

    #: Sums of z of the last cells, and the least loss in each, as a number <= 0; -inf if there is no choice.
    sums: FloatArray = field(init=False)
    least: FloatArray = field(init=False)
    error: float = field(init=False)  # how far the sum of z of a choice is from that of its cell at most
    size: int = field(init=False)  # additions that the table takes

    def __post_init__(self) -> None:
        self._rounded = grid = _rounded(self.z, self.losses, self.first, self.high, self.cells)
        self.error = grid.error
        low, high = self._cells_that_matter()
        self._steps = Steps(grid.step, self.losses[grid.kept], grid.first, low, high)
        self.size = len(grid.step) * int(high[-1])
        if (low > high).any():
            self.sums = self.least = np.empty(0)
            return
        self._forward = _forward(self._steps)
        self.sums = grid.base + grid.width * np.arange(low[-1], high[-1] + 1)
        self.least = self._forward[-1, low[-1] :]

    def _cells_that_matter(self) -> tuple[IntArray, IntArray]:
        """Return the least and the last cell before each block, and after the last one, (blocks + 1,) each.

        From there a choice can end between `low` and `high`; the least may be beyond the last one.
        """
        grid = self._rounded
        steps = grid.step[grid.first[1:] - 1]  # the largest of each block, as they rise within it
        so_far = np.cumsum(np.append(0, steps))
        first = int((self.low - grid.base - grid.error) / grid.width)
        last = int((self.high - grid.base + grid.error) / grid.width) + 1
        to_come = so_far[-1] - so_far
        return np.maximum(first - to_come, 0), np.minimum(so_far, last)

    def search(self, worth: FloatArray, number: int) -> tuple[FloatArray, IntArray]:
        """Find the best choice with each vertex, given the worth that is added at every element of `sums`.

        The largest sum of losses and worth with every vertex is returned, and the choices, (number, blocks)
        at most, that attain the largest ones.
        """
        steps, rounded = self._steps, self._rounded
        backward = _backward(steps, worth)
        marginals = _marginals(steps, self._forward, backward)
        best = np.argsort(-marginals, kind="stable")[:number]
        rows = _best_choices(steps, self._forward, backward, best[np.isfinite(marginals[best])])
        choices = np.empty_like(rows)
        choices[:, rounded.order] = rounded.kept[rows]
        every = marginals[rounded.places] - steps.loss[rounded.places] + self.losses
        return every, np.unique(choices, axis=0)
