r"""Sums of one choice per block: dynamic programming over the blocks, on a grid of partial sums.

A column made of one vertex from every block is worth U + sum_s l_s - phi(Z), Z = sum_s z_s, with losses
l_s <= 0 and phi >= 0 convex, 0 at one value of Z (see `products`). The kernels tabulate, for every block and
every cell of a grid of partial sums of Z, the least loss so far and the best worth still to come; together
they give the best column with any given vertex.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.numerics.jit import inner, inner_without_nan, kernel
from ldpfrontier.types import FloatArray

IntArray = NDArray[np.int64]


@inner
def _table(rows: int, cells: int) -> FloatArray:
    table = np.empty((rows, cells))
    for s in range(rows):
        for x in range(cells):
            table[s, x] = -np.inf
    return table


@inner
def _joined(
    table: FloatArray, s: int, t: int, low: IntArray, high: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return the cells before block s and after it that a step t joins."""
    a = max(low[s], low[s + 1] - t)
    b = max(a, min(high[s], high[s + 1] - t) + 1)  # there may be none
    return table[s, a:b], table[s + 1, a + t : b + t]


@inner
def _raise(target: FloatArray, source: FloatArray, loss: float) -> None:
    for x in range(target.size):
        target[x] = max(target[x], source[x] + loss)


@inner
def _trace(
    choice: IntArray,
    blocks: int,
    x: int,
    step: IntArray,
    loss: FloatArray,
    first: IntArray,
    low: IntArray,
    high: IntArray,
    forward: FloatArray,
) -> None:
    """Note the choices of the first blocks that make up the least loss in cell x."""
    for s in range(blocks - 1, -1, -1):
        for i in range(first[s], first[s + 1]):
            before = x - step[i]
            if low[s] <= before <= high[s] and forward[s, before] + loss[i] == forward[s + 1, x]:
                choice[s], x = i, before
                break


@kernel
def _forward(step: IntArray, loss: FloatArray, first: IntArray, low: IntArray, high: IntArray) -> FloatArray:
    """Return the least loss of the first blocks at every partial sum, shape (blocks + 1, cells)."""
    table = _table(first.size, high[-1] + 1)
    table[0, 0] = 0.0
    for s in range(first.size - 1):
        for i in range(first[s], first[s + 1]):
            here, there = _joined(table, s, step[i], low, high)
            _raise(there, here, loss[i])
    return table


@kernel
def _backward(
    step: IntArray, loss: FloatArray, first: IntArray, low: IntArray, high: IntArray, last: FloatArray
) -> FloatArray:
    """Return the best worth still to come before each block, given that of the last cells."""
    blocks = first.size - 1
    table = _table(first.size, high[-1] + 1)
    for x in range(last.size):
        table[blocks, low[blocks] + x] = last[x]
    for s in range(blocks - 1, -1, -1):
        for i in range(first[s], first[s + 1]):
            here, there = _joined(table, s, step[i], low, high)
            _raise(here, there, loss[i])
    return table


# -inf meets only -inf and finite numbers.
@inner_without_nan
def _most(before: FloatArray, after: FloatArray) -> float:
    """Return the largest sum of a number before and one after."""
    most = -np.inf
    for x in range(before.size):
        most = max(most, before[x] + after[x])
    return most


@kernel
def _marginals(
    step: IntArray,
    loss: FloatArray,
    first: IntArray,
    low: IntArray,
    high: IntArray,
    forward: FloatArray,
    backward: FloatArray,
) -> FloatArray:
    """Return the worth of the best column with each vertex, less U."""
    best = np.empty(step.size)
    for s in range(first.size - 1):
        for i in range(first[s], first[s + 1]):
            a = max(low[s], low[s + 1] - step[i])
            b = max(a, min(high[s], high[s + 1] - step[i]) + 1)
            best[i] = loss[i] + _most(forward[s, a:b], backward[s + 1, a + step[i] : b + step[i]])
    return best


@kernel
def _traced(
    step: IntArray,
    loss: FloatArray,
    first: IntArray,
    low: IntArray,
    high: IntArray,
    forward: FloatArray,
    backward: FloatArray,
    vertices: IntArray,
) -> IntArray:
    """Return the choices of the best columns with some vertices, shape (vertices, blocks)."""
    blocks = first.size - 1
    choice = np.zeros((vertices.size, blocks), dtype=np.int64)
    for k in range(vertices.size):
        i = vertices[k]
        s = np.searchsorted(first, i, side="right") - 1
        t, at, best = step[i], 0, -np.inf
        for x in range(max(low[s], low[s + 1] - t), min(high[s], high[s + 1] - t) + 1):
            worth = forward[s, x] + backward[s + 1, x + t]
            if worth > best:
                best, at = worth, x
        choice[k, s] = i
        _trace(choice[k], s, at, step, loss, first, low, high, forward)
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
    """List the vertices that no other of their block replaces at a gain.

    Parameters
    ----------
    order : ndarray of int
        The vertices to look at, in order of rising z.
    z, value : ndarray
        Of every vertex.
    left, right : float
        A vertex whose z is smaller by x is better unless its value is by more than left x smaller; one whose
        z is larger by x, unless its value is not by more than right x larger.

    Returns
    -------
    ndarray of int
        In order of rising z.
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
    return keep[start:].copy()


@kernel
def discard_by_tangent(
    z: FloatArray, f: FloatArray, first: IntArray, c: float
) -> tuple[float, IntArray, FloatArray, IntArray]:
    """Leave out the vertices of no column with sum f - Z log Z > 0, by the tangent of z log z at c.

    Returns
    -------
    U : float
        No column is worth more.
    kept : ndarray of int
        The places of the others, in their order.
    losses : ndarray
        What they have less than the best of their block, as numbers <= 0.
    first : ndarray of int, shape (blocks + 1,)
        Where blocks begin among them.
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
    return U, kept[:count].copy(), losses[:count].copy(), starts


@kernel
def _rounded(
    z: FloatArray, losses: FloatArray, first: IntArray, high: float, cells: int
) -> tuple[float, float, float, IntArray, IntArray, IntArray, IntArray, IntArray]:
    """Round the z of vertices, in rising order within each block, to a grid up to `high`.

    Returns
    -------
    base, width, error : float
        The least sum of z, the width of a cell, and how far the sum of a column is from that of its cells.
    order : ndarray of int, shape (blocks,)
        The blocks, the ones with the widest range of z first: then few partial sums are such that the blocks
        to come can reach the end.
    starts : ndarray of int, shape (blocks + 1,)
        Where blocks begin, in that order, in what is kept.
    kept : ndarray of int
        Of the vertices of a block that move the grid equally far, the one with the least loss: only it
        matters.
    steps : ndarray of int
        How far the ones that are kept move the grid.
    places : ndarray of int
        Of every vertex, where it or the one in its stead is in what is kept.
    """
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
    return base, width, error, order, starts, kept[:count].copy(), steps[:count].copy(), places


@dataclass(eq=False)
class PartialSumTable:
    """One choice per block, tabulated by the sum of z.

    Parameters
    ----------
    z, losses : ndarray
        Of the candidates of all blocks, those of a block in order of rising z.
    first : ndarray of int, shape (blocks + 1,)
        Where those of each block begin.
    low, high : float
        Sums of z that matter.
    cells : int
        Cells of the grid, from the least sum to `high`.

    Attributes
    ----------
    sums : ndarray
        Sums of z of the last cells.
    least : ndarray
        The least loss in each of them, as a number <= 0; -inf if there is no column.
    error : float
        A column's sum of z is at most so far from that of its cell.
    size : int
        Additions that the table takes.
    """

    z: FloatArray
    losses: FloatArray
    first: IntArray
    low: float
    high: float
    cells: int

    def __post_init__(self) -> None:
        base, width, self.error, self._order, starts, self._kept, step, self._places = _rounded(
            self.z, self.losses, self.first, self.high, self.cells
        )
        # Steps rise within a block.
        widest = np.cumsum(np.append(0, step[starts[1:] - 1]))
        last = int((self.high - base + self.error) / width) + 1
        top = np.minimum(widest, last)
        bottom = int((self.low - base - self.error) / width) - (widest[-1] - widest)
        bottom = np.maximum(bottom, 0)
        self.size = len(step) * int(top[-1])
        self._arguments = step, self.losses[self._kept], starts, bottom, top
        if (bottom > top).any():
            self.sums = self.least = np.empty(0)
            return
        self._forward = _forward(*self._arguments)
        self.sums = base + width * np.arange(bottom[-1], top[-1] + 1)
        self.least = self._forward[-1, bottom[-1] :]

    def search(self, worth: FloatArray, number: int) -> tuple[FloatArray, IntArray]:
        """Find the best column with each vertex.

        Parameters
        ----------
        worth : ndarray
            What is added to the losses of a column, at every element of `sums`.
        number : int
            Most choices.

        Returns
        -------
        marginals : ndarray
            The largest sum of losses and worth with every candidate.
        choices : ndarray of int, shape (choices, blocks)
            One candidate per block: what attains it with the `number` best ones.
        """
        backward = _backward(*self._arguments, worth)
        marginals = _marginals(*self._arguments, self._forward, backward)
        best = np.argsort(-marginals, kind="stable")[:number]
        rows = _traced(*self._arguments, self._forward, backward, best[np.isfinite(marginals[best])])
        choices = np.empty_like(rows)
        choices[:, self._order] = self._kept[rows]
        every = marginals[self._places] - self._arguments[1][self._places] + self.losses
        return every, np.unique(choices, axis=0)
