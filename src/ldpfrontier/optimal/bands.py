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

from ldpfrontier.channel import FloatArray
from ldpfrontier.optimal.compiled import inner, kernel

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
def _marginals(
    step: IntArray,
    loss: FloatArray,
    first: IntArray,
    low: IntArray,
    high: IntArray,
    forward: FloatArray,
    last: FloatArray,
) -> tuple[FloatArray, IntArray]:
    """Return the worth of the best column with each vertex, less U, and its choice for every block."""
    blocks = first.size - 1
    table = _table(blocks + 1, high[-1] + 1)
    for x in range(last.size):
        table[blocks, low[blocks] + x] = last[x]
    best, choice = np.empty(step.size), np.zeros((step.size, blocks), dtype=np.int64)
    for s in range(blocks - 1, -1, -1):
        for i in range(first[s], first[s + 1]):
            here, there = _joined(table, s, step[i], low, high)
            _raise(here, there, loss[i])
    for s in range(blocks):
        for i in range(first[s], first[s + 1]):
            t, best[i] = step[i], -np.inf
            at = start = max(low[s], low[s + 1] - t)
            for x in range(start, min(high[s], high[s + 1] - t) + 1):
                worth = forward[s, x] + table[s + 1, x + t] + loss[i]
                if worth > best[i]:
                    best[i], at = worth, x
            if best[i] == -np.inf:
                continue
            choice[i, s] = i
            _trace(choice[i], s, at, step, loss, first, low, high, forward)
            x = at + t
            for r in range(s + 1, blocks):
                for j in range(first[r], first[r + 1]):
                    after = x + step[j]
                    if low[r + 1] <= after <= high[r + 1] and table[r + 1, after] + loss[j] == table[r, x]:
                        choice[i, r], x = j, after
                        break
    return best, choice


@kernel
def _traced(
    step: IntArray,
    loss: FloatArray,
    first: IntArray,
    low: IntArray,
    high: IntArray,
    forward: FloatArray,
    cells: IntArray,
) -> IntArray:
    """Return the choices that make up the least losses in some of the last cells, shape (cells, blocks)."""
    blocks = first.size - 1
    choice = np.zeros((cells.size, blocks), dtype=np.int64)
    for k in range(cells.size):
        _trace(choice[k], blocks, cells[k], step, loss, first, low, high, forward)
    return choice


@kernel
def undominated(order: IntArray, z: FloatArray, value: FloatArray, left: float, right: float) -> IntArray:
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


@dataclass(eq=False)
class Grid:
    """One choice per block, tabulated by the sum of z.

    Parameters
    ----------
    vertices : list of ndarray of int
        Candidates of every block.
    z, losses : list of ndarray
        Theirs.
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

    vertices: list[IntArray]
    z: list[FloatArray]
    losses: list[FloatArray]
    low: float
    high: float
    cells: int

    def __post_init__(self) -> None:
        least = [float(z.min()) for z in self.z]
        base = sum(least)
        width = max((self.high - base) / self.cells, 1e-15 * self.high)
        steps = [np.rint((z - b) / width).astype(np.int64) for z, b in zip(self.z, least, strict=True)]
        self.error = sum(
            float(np.abs(z - b - t * width).max()) for z, b, t in zip(self.z, least, steps, strict=True)
        )
        # With the widest blocks first, few partial sums are such that the blocks to come can reach the end.
        self._order = np.argsort([-float(np.ptp(z)) for z in self.z], kind="stable")
        kept = []
        for s in self._order:
            # Of the vertices that move the grid equally far, only the one with the least loss matters.
            ranked = np.lexsort((-self.losses[s], steps[s]))
            kept.append(ranked[np.append(True, np.diff(steps[s][ranked]) > 0)])
        pairs = list(zip(self._order, kept, strict=True))
        self._indices = np.concatenate([self.vertices[s][i] for s, i in pairs])
        step = np.concatenate([steps[s][i] for s, i in pairs])
        loss = np.concatenate([self.losses[s][i] for s, i in pairs])
        first = np.cumsum([0, *(len(i) for i in kept)])
        widest = np.cumsum([0, *(int(steps[s].max()) for s in self._order)])
        last = int((self.high - base + self.error) / width) + 1
        top = np.minimum(widest, last)
        bottom = int((self.low - base - self.error) / width) - (widest[-1] - widest)
        bottom = np.maximum(bottom, 0)
        self.size = len(step) * int(top[-1])
        self._arguments = step, loss, first, bottom, top
        if (bottom > top).any():
            self.sums = self.least = np.empty(0)
            return
        self._forward = _forward(*self._arguments)
        self.sums = base + width * np.arange(bottom[-1], top[-1] + 1)
        self.least = self._forward[-1, bottom[-1] :]

    def best(self, phi: FloatArray, number: int) -> IntArray:
        """Return the choices, one vertex per block, that are best in some of the last cells, the best ones.

        Parameters
        ----------
        phi : ndarray
            At every element of `sums`.
        number : int
            Most choices.

        Returns
        -------
        ndarray of int, shape (choices, blocks)
        """
        worth = self.least - phi
        cells = np.argsort(-worth, kind="stable")[:number]
        cells = cells[np.isfinite(worth[cells])] + self._arguments[3][-1]
        return self._choices(_traced(*self._arguments, self._forward, cells))

    def best_with(self, phi: FloatArray, number: int) -> IntArray:
        """Return the choices that are best with some vertex, one for each of the `number` best vertices."""
        worth, choice = _marginals(*self._arguments, self._forward, -phi)
        ranked = np.argsort(-worth, kind="stable")[:number]
        return self._choices(np.unique(choice[ranked[np.isfinite(worth[ranked])]], axis=0))

    def _choices(self, rows: IntArray) -> IntArray:
        result = np.empty_like(rows)
        result[:, self._order] = self._indices[rows]
        return result
