r"""The relaxation of one cell of a cover, compiled: see `covering` for what cells are.

In a cell with xi >= s, phi is concave in xi, so its tangent at s bounds it, and what a tangent gives is
largest at one of the ends: two corners for xi, two for eta. For each of the four, and for multipliers x of
the two constraints, ::

    sum_u r_u (w_u log w_u - gamma_u w_u)
        + x_0 (sum_u r_u phi(1 + xi (top - w_u)) - k) + x_1 (sum_u r_u phi(1 + eta (w_u - bottom)) - k)

separates over the letters. On every interval of a grid of values the convex part lies below its chord and the
concave parts below tangents, so the bound of a cell is a maximum over finitely many numbers, and holds for
any multipliers x >= 0. The best ones are looked for with Kelley's cutting planes, in two dimensions.
"""

from __future__ import annotations

import heapq
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.numerics.jit import inner, kernel
from ldpfrontier.numerics.kelley_2d import Planes, lowest
from ldpfrontier.optimal.certificate.majorant import below, level_at
from ldpfrontier.optimal.certificate.nodes import Cells, Problem, halve
from ldpfrontier.types import FloatArray

#: Intervals of the grid of a letter's values: least, and per letter, as cells are not cut in all of many
#: letters; exponent of their ends, which are denser at the lower end, where x log x bends.
GRID, FINER, DENSER = 8, 1.25, 1.4

#: Steps in which the multipliers of a cell are improved.
PLANES = 8

#: Multipliers are looked for up to this many times the best plus one; least argument of phi; least multiplier
#: in estimates of what is lost; share of the distance to the goal that is worth another step; how much more
#: what a rectangle loses counts than what a letter does.
REACH, TINY, LEAST, WORTH, FAVOUR = 4.0, 1e-9, 0.3, 0.02, 2.0

#: How much what a span of t loses counts.
SPAN = 1.0

#: Least width of a letter that is cut because lines are short of the level, relative to the letter.
NARROW = 1e-3


class Scratch(NamedTuple):
    """Space that every cell needs: what the two constraints give in two corners each, and planes."""

    spacing: FloatArray  # (intervals of the grid + 1,): their ends, as shares
    a: FloatArray  # (2, 2, n, 2 intervals): at the ends of t, in corners
    b: FloatArray
    base: FloatArray  # (2, n, 2 intervals)
    points: FloatArray
    places: NDArray[np.int64]  # (PLANES, n)
    ends: NDArray[np.int64]  # (PLANES,): of t
    trial: NDArray[np.int64]  # (n,)
    planes: Planes
    z: FloatArray  # (2 E + 2,): of the level's corners
    v: FloatArray
    span: FloatArray  # (2,)
    line: FloatArray  # (2, 2)


@inner
def _scratch(n: int, corners: int) -> Scratch:
    grid = max(GRID, int(FINER * n))
    spacing = np.empty(grid + 1)
    for j in range(grid + 1):
        spacing[j] = (j / grid) ** DENSER
    return Scratch(
        spacing,
        np.empty((2, 2, n, 2 * grid)),
        np.empty((2, 2, n, 2 * grid)),
        np.empty((2, n, 2 * grid)),
        np.empty((n, 2 * grid)),
        np.zeros((PLANES, n), dtype=np.int64),
        np.zeros(PLANES, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        Planes(
            np.empty(PLANES),
            np.empty((PLANES, 2)),
            np.empty((PLANES + 4, 3)),
            np.zeros(3, dtype=np.int64),
            np.zeros(3),
        ),
        np.empty(corners),
        np.empty(corners),
        np.empty(2),
        np.empty((2, 2)),
    )


@inner
def _phi(t: float, g: float) -> float:
    if g == 0.0:
        return math.log(t)
    if g == 0.5:
        return 2.0 * (math.sqrt(t) - 1.0)
    return float(t**g - 1.0) / g


@inner
def _slope(t: float, g: float) -> float:
    if g == 0.0:
        return 1.0 / t
    if g == 0.5:
        return 1.0 / math.sqrt(t)
    return float(t ** (g - 1.0))


@inner
def _xlogx(w: float) -> float:
    return w * np.log(w) if w > 0.0 else 0.0


@inner
def _between(ends: FloatArray, t: float) -> float:
    return float(ends[0] + t * (ends[1] - ends[0]))


@inner
def _tabulate(cells: Cells, c: int, problem: Problem, space: Scratch) -> int:
    """Fill in what letters contribute at the ends of their grid intervals; return the number of ends of t."""
    g, span, grid = problem.g, cells.span[c], space.spacing.size - 1
    count = 2 if span[1] > span[0] else 1
    center = 0.5 * (span[0] + span[1])
    for side in range(2):
        ends = cells.xi[c] if side == 0 else cells.eta[c]
        table, sign = (space.a, -1.0) if side == 0 else (space.b, 1.0)
        bound = problem.top if side == 0 else problem.bottom
        s, last, origin = ends[0], ends[1], _between(bound, center)
        moved = 0.5 * abs(bound[1] - bound[0]) * (span[1] - span[0])
        for u in range(problem.r.size):
            left = low = cells.low[c, u]
            width = cells.high[c, u] - low
            for j in range(grid):
                right = low + width * space.spacing[j + 1]
                middle, half = 0.5 * (left + right), 0.5 * (right - left)
                if side == 0:
                    space.points[u, j], space.points[u, grid + j] = left, right
                    for end in range(count):
                        gamma = problem.gamma[u] + cells.line[c, end, 0]
                        space.base[end, u, j] = _xlogx(left) - gamma * left
                        space.base[end, u, grid + j] = _xlogx(right) - gamma * right
                left = right
                if np.isinf(last):
                    for end in range(count):
                        for corner in range(2):
                            table[end, corner, u, j] = table[end, corner, u, grid + j] = 0.0
                    continue
                # Tangents in w and in the end of A or B, which moves with t: in the middle of their domain.
                v = sign * (middle - origin)
                v += 0.5 * max(half + moved - v - 1.0 / s, 0.0)
                t = max(1.0 + s * v, TINY)
                value, slope = _phi(t, g), _slope(t, g)
                second = slope * (last - s)
                bent = slope * s + second * (1.0 - (1.0 - g) * v * s / t)
                for end in range(count):
                    for way in range(2):
                        w = space.points[u, way * grid + j]
                        step = sign * (w - _between(bound, span[end])) - v
                        table[end, 0, u, way * grid + j] = value + step * slope * s
                        table[end, 1, u, way * grid + j] = value + v * second + step * bent
    return count


@inner
def _best(x: tuple[float, float], end: int, i: int, j: int, u: int, space: Scratch) -> tuple[float, int]:
    """Return the largest contribution of a letter in a corner at an end of t, and where."""
    base, a, b = space.base[end, u], space.a[end, i, u], space.b[end, j, u]
    largest, where = -np.inf, 0
    for p in range(base.size):
        value = base[p] + x[0] * a[p] + x[1] * b[p]
        if value > largest:
            largest, where = value, p
    return largest, where


@inner
def _evaluate(
    x: tuple[float, float],
    corners: tuple[int, int],
    count: int,
    line: FloatArray,
    r: FloatArray,
    space: Scratch,
    step: int,
) -> tuple[float, int]:
    """Return the relaxation at multipliers, without constants, and its corner; note the letters' places."""
    best, corner = -np.inf, 0
    for end in range(count):
        for i in range(corners[0]):
            for j in range(corners[1]):
                total = -line[end, 1]
                for u in range(r.size):
                    largest, space.trial[u] = _best(x, end, i, j, u, space)
                    total += r[u] * largest
                if total > best:
                    best, corner = total, 2 * i + j
                    space.ends[step] = end
                    for u in range(r.size):
                        space.places[step, u] = space.trial[u]
    return best, corner


@inner
def _inside(
    x: tuple[float, float],
    corners: tuple[int, int],
    share: float,
    line: FloatArray,
    r: FloatArray,
    space: Scratch,
) -> float:
    """Return the relaxation as `_evaluate`, inside the span of t."""
    best, grid = -np.inf, space.spacing.size - 1
    for i in range(corners[0]):
        for j in range(corners[1]):
            total = -_between(line[:, 1], share)
            for u in range(r.size):
                largest = -np.inf
                for p in range(2 * grid):
                    first = space.base[0, u, p] + x[0] * space.a[0, i, u, p] + x[1] * space.b[0, j, u, p]
                    second = space.base[1, u, p] + x[0] * space.a[1, i, u, p] + x[1] * space.b[1, j, u, p]
                    largest = max(largest, first + share * (second - first))
                total += r[u] * largest
            best = max(best, total)
    return best


@inner
def _bound(cells: Cells, c: int, problem: Problem, space: Scratch) -> None:
    """Bound one cell, and say where to cut it."""
    k, goal, r, span = problem.k, problem.goal, problem.r, cells.span[c]
    top = max(_between(problem.top, span[0]), _between(problem.top, span[1]))
    bottom = min(_between(problem.bottom, span[0]), _between(problem.bottom, span[1]))
    xi, eta, line = cells.xi[c], cells.eta[c], cells.line[c]
    least = most = 0.0
    for u in range(r.size):
        # phi has no argument below 0.
        cells.high[c, u] = min(cells.high[c, u], top + 1.0 / xi[0])
        cells.low[c, u] = max(cells.low[c, u], bottom - 1.0 / eta[0])
        if cells.low[c, u] > cells.high[c, u]:
            cells.bound[c] = -np.inf
            return
        least += r[u] * cells.low[c, u]
        most += r[u] * cells.high[c, u]
    below(problem.level, span, least, most, cells.focus[c], space.z, space.v, line)
    count = _tabulate(cells, c, problem, space)
    extra = max(-problem.rest * max(0.0, bottom - 1.0 / eta[0]), -problem.rest * (top + 1.0 / xi[0]))
    unit = 1.0 / xi[0], 1.0 / eta[0]
    # Without the last ends the constraints are not used, only the intervals that they leave.
    used = np.isfinite(xi[1]), np.isfinite(eta[1])
    corners = 1 + used[0], 1 + used[1]
    x = best_x = cells.multipliers[c, 0] * used[0], cells.multipliers[c, 1] * used[1]
    for p in range(3):
        space.planes.active[p], space.planes.weight[p] = 0, 1.0 if p == 0 else 0.0
    best = np.inf
    for step in range(PLANES):
        total, corner = _evaluate((x[0] * unit[0], x[1] * unit[1]), corners, count, line, r, space, step)
        first = second = -k
        end = space.ends[step]
        for u in range(r.size):
            first += r[u] * space.a[end, corner // 2, u, space.places[step, u]]
            second += r[u] * space.b[end, corner % 2, u, space.places[step, u]]
        first, second = first * unit[0] * used[0], second * unit[1] * used[1]
        value = total + extra - (x[0] * unit[0] + x[1] * unit[1]) * k
        if value < best:
            best, best_x = value, x
        space.planes.heights[step] = value - first * x[0] - second * x[1]
        space.planes.slopes[step, 0], space.planes.slopes[step, 1] = first, second
        if best <= goal or not (used[0] or used[1]) or step == PLANES - 1:
            break
        reach = REACH * (best_x[0] + 1.0) * used[0], REACH * (best_x[1] + 1.0) * used[1]
        x_0, x_1, model = lowest(step, reach, space.planes)
        if not model < best - WORTH * (best - goal):
            break
        x = x_0, x_1
    cells.bound[c] = min(cells.bound[c], best)
    for side in range(2):
        if used[side]:
            cells.multipliers[c, side] = best_x[side]
    if best > goal:
        x = best_x[0] * unit[0], best_x[1] * unit[1]
        constant = extra - (x[0] + x[1]) * k
        _choose(cells, c, problem, x, corners, best - constant, space)
        _shrink(cells, c, problem, x, (count, *corners), constant, space)


@inner
def _choose(
    cells: Cells,
    c: int,
    problem: Problem,
    x: tuple[float, float],
    corners: tuple[int, int],
    height: float,
    space: Scratch,
) -> None:
    """Find where a cell is loosest: in xi, eta or t, in a letter that hesitates, or in its line."""
    g, r, span, line = problem.g, problem.r, cells.span[c], cells.line[c]
    grid = space.spacing.size - 1
    largest = z = share = turned = least = most = width = 0.0
    rectangle = np.zeros(2)
    cells.cut[c] = widest = 0
    for p in range(3):
        share += space.planes.weight[p] * space.ends[space.planes.active[p]]
    t = _between(span, share)
    for u in range(r.size):
        mean = relaxed = 0.0
        low, high = r[u] * cells.low[c, u], r[u] * cells.high[c, u]
        least, most = least + low, most + high
        if high - low > width:
            width, widest = high - low, u
        for p in range(3):
            spot = space.places[space.planes.active[p], u]
            w = space.points[u, spot]
            cells.place[c, p, u] = w
            mean += w * space.planes.weight[p]
        z += r[u] * mean
        for p in range(3):
            spot = space.places[space.planes.active[p], u]
            relaxed += (_xlogx(space.points[u, spot]) - _xlogx(mean)) * space.planes.weight[p]
        for side in range(2):
            ends = cells.xi[c] if side == 0 else cells.eta[c]
            bound, sign = (problem.top, -1.0) if side == 0 else (problem.bottom, 1.0)
            s, last = ends[0], ends[1]
            v = sign * (mean - _between(bound, t))
            if np.isinf(last):
                if v < 0.0 and mean > 0.0:
                    steep = r[u] * abs(1.0 + np.log(mean) - problem.gamma[u])
                    rectangle[side] += steep / s
                    # The end may have moved as far within the span.
                    first, second = sign * _between(bound, span[0]), sign * _between(bound, span[1])
                    turned += steep * min(sign * _between(bound, t) - min(first, second), -v)
                continue
            table = space.a if side == 0 else space.b
            at = _phi(max(1.0 + s * v, TINY), g)
            for p in range(3):
                spot, end = space.places[space.planes.active[p], u], space.ends[space.planes.active[p]]
                w = space.points[u, spot]
                ahead = sign * (w - _between(bound, span[end]))
                lost = max(table[end, 0, u, spot] - _phi(max(1.0 + s * ahead, TINY), g), 0.0)
                ahead = sign * (w - _between(bound, t))
                own = _phi(max(1.0 + s * ahead, TINY), g)
                relaxed += space.planes.weight[p] * x[side] * (own - at)
                loss = space.planes.weight[p] * max(x[side], LEAST / s) * lost
                wide = space.points[u, grid + spot % grid] - space.points[u, spot % grid]
                # What the tangent loses, it does so where it is longest.
                if abs(bound[1] - bound[0]) * (span[1] - span[0]) > wide:
                    turned += r[u] * loss
                else:
                    relaxed += loss
                ahead = max(ahead, -0.95 / last)
                own = 1.0 + s * ahead
                bent = _phi(own, g) + (last - s) * ahead * _slope(own, g) - _phi(1.0 + last * ahead, g)
                rectangle[side] += max(x[side], LEAST / s) * bent * r[u] * space.planes.weight[p]
        if relaxed * r[u] > largest:
            largest = relaxed * r[u]
            cells.cut[c], cells.at[c] = 2 + u, mean
    for side in range(2):
        if FAVOUR * rectangle[side] > largest:
            cells.cut[c], largest = side, FAVOUR * rectangle[side]
    focus, cells.focus[c] = cells.focus[c], z
    level = level_at(problem.level, z, t)
    short = across = level - _between(line[:, 0], share) * z - _between(line[:, 1], share)
    if span[1] > span[0]:
        # What lines are short of the level at a single t, too, is not for t to mend.
        space.span[0] = space.span[1] = t
        below(problem.level, space.span, least, most, focus, space.z, space.v, space.line)
        across = level - space.line[0, 0] * z - space.line[0, 1]
        turned += short - across + height - _inside(x, corners, share, line, r, space)
        if SPAN * turned > largest:
            cells.cut[c], largest = -1, SPAN * turned
    if across > largest:
        middle = 0.5 * (cells.low[c, widest] + cells.high[c, widest])
        if width > NARROW * r[widest] * middle:
            cells.cut[c], cells.at[c] = 2 + widest, middle
        elif span[1] > span[0]:
            cells.cut[c] = -1


@inner
def _shrink(
    cells: Cells,
    c: int,
    problem: Problem,
    x: tuple[float, float],
    shape: tuple[int, int, int],
    constant: float,
    space: Scratch,
) -> None:
    """Cut off ends of the letters' intervals.

    With a letter in an interval of the grid, no point of the cell has a larger value than the relaxation with
    the other letters at their best. Where that is not above the goal, nothing above it is lost.
    """
    r, grid = problem.r, space.spacing.size - 1
    n = r.size
    total, most = np.empty((2, 2, 2)), np.empty((2, 2, 2, n))
    for end, i, j in np.ndindex(shape):
        total[end, i, j] = constant - cells.line[c, end, 1]
        for u in range(n):
            most[end, i, j, u] = _best(x, end, i, j, u, space)[0]
            total[end, i, j] += r[u] * most[end, i, j, u]
    for u in range(n):
        first, last = grid, -1
        for end, i, j in np.ndindex(shape):
            enough = (problem.goal - total[end, i, j]) / r[u] + most[end, i, j, u]
            for p in range(2 * grid):
                value = space.base[end, u, p] + x[0] * space.a[end, i, u, p] + x[1] * space.b[end, j, u, p]
                if value > enough:
                    first, last = min(first, p % grid), max(last, p % grid)
        if last >= 0:
            cells.low[c, u] = space.points[u, first]
            cells.high[c, u] = space.points[u, grid + last]


@kernel
def refine(cells: Cells, count: int, problem: Problem, most: int) -> int:
    """Bound cells, and halve the one with the largest bound again and again; return the new number of cells.

    Parameters
    ----------
    cells : Cells
        With room for `most` more.
    count : int
        Cells so far; those without a bound (inf) are bounded first.
    problem : Problem
        Cells with bounds up to its goal are left alone.
    most : int
        Most cells to add.
    """
    space = _scratch(problem.r.size, 2 * problem.level.edges.size + 2)
    for c in range(count):
        if cells.bound[c] == np.inf:
            _bound(cells, c, problem, space)
    heap = [(-cells.bound[c], c) for c in range(count) if cells.bound[c] > problem.goal]
    heapq.heapify(heap)
    stop = count + most
    while count < stop and len(heap) > 0:
        c = heapq.heappop(heap)[1]
        halve(cells, c, count, problem.g, problem.level.knots)
        for half in (c, count):
            _bound(cells, half, problem, space)
            if cells.bound[half] > problem.goal:
                heapq.heappush(heap, (-cells.bound[half], half))
        count += 1
    return count
