r"""The bound of a node by Lagrangian relaxation, and best-first branch and bound, compiled.

For what a node is, see `branch_and_bound`. If xi >= s in a node, phi(1 + xi v) is concave in xi, so its
tangent at s bounds it, and is largest at one of the two ends of xi; so for eta. For each of these four
corners, at both ends of t, and for any multipliers x >= 0 of the two constraints ::

    max over w of  sum_u r_u (w_u log w_u - gamma_u w_u) - minorant(z(w))
        + x_0 (sum_u r_u phi(1 + xi (top - w_u)) - k) + x_1 (sum_u r_u phi(1 + eta (w_u - bottom)) - k)

is an upper bound, and separates over the letters. On every interval of a grid of values of a letter the
convex part lies below its chord and the concave parts below tangents, so the maximum is one over the ends of
finitely many intervals, tabulated with upward rounding (`workspace`). The best multipliers are looked for
with Kelley's cutting planes.
"""

from __future__ import annotations

import heapq
import math

import numpy as np

from ldpfrontier.numerics.jit import inlined, inner, kernel
from ldpfrontier.numerics.kelley_2d import minimize_planes
from ldpfrontier.numerics.rounding import gamma
from ldpfrontier.optimal.certificate.majorant import affine_minorant, evaluate
from ldpfrontier.optimal.certificate.nodes import (
    ENDS,
    XI,
    BlockProblem,
    Nodes,
    T,
    positive_linear,
    restrict_letters,
    split_node,
    z_range,
)
from ldpfrontier.optimal.certificate.settings import SETTINGS
from ldpfrontier.optimal.certificate.workspace import Corners, Workspace
from ldpfrontier.types import FloatArray

_MAX_PLANES, _PLANE_GAIN = SETTINGS.max_planes, SETTINGS.plane_gain
_MIN_MULTIPLIER, _MULTIPLIER_GROWTH = SETTINGS.min_multiplier, SETTINGS.wide_ratio
_RECTANGLE_WEIGHT, _ZERO = SETTINGS.rectangle_weight, SETTINGS.zero

#: Place of t in `Workspace.loss`, after xi and eta.
_T = 2
#: Relative error of x^g - 1 next to x^g + 1, and of a tangent next to l phi'(x) (`workspace`).
_DIFFERENCE, _TANGENT = gamma(8), gamma(64)


@inner
def _phi(t: float, g: float) -> float:
    """Return (t^g - 1) / g, or log t."""
    if g == 0.0:
        return math.log(t)
    if g == 0.5:
        return 2.0 * (math.sqrt(t) - 1.0)
    return float(t**g - 1.0) / g


@inner
def _phi_slope(t: float, g: float) -> float:
    """Return the derivative of phi."""
    if g == 0.0:
        return 1.0 / t
    if g == 0.5:
        return 1.0 / math.sqrt(t)
    return float(t ** (g - 1.0))


@inner
def _xlogx(w: float) -> float:
    """Return w log w, 0 at 0."""
    return w * np.log(w) if w > 0.0 else 0.0


@inner
def _linear(ends: FloatArray, t: float) -> float:
    """Return the value at t of what is linear from t = 0 to 1."""
    return float(ends[0] + t * (ends[1] - ends[0]))


@inlined
def _tabulate(nodes: Nodes, c: int, problem: BlockProblem, space: Workspace) -> int:
    """Fill in what letters contribute at the ends of their grid intervals; return the number of ends of t."""
    t, grid = nodes.t_interval[c], space.spacing.size - 1
    count = 2 if t[1] > t[0] else 1
    for u in range(problem.r.size):
        left = low = nodes.low[c, u]
        high, price = nodes.high[c, u], problem.gamma[u]
        at_left = _xlogx(left)
        for j in range(grid):
            right = low + (high - low) * space.spacing[j + 1] if j + 1 < grid else high
            at_right = _xlogx(right)
            space.points[u, j], space.points[u, grid + j] = left, right
            for end in range(count):
                slope = price + nodes.minorant[c, end, 0]
                steep = problem.rounding * (abs(price) + abs(nodes.minorant[c, end, 0]))
                space.base[end, u, j] = at_left + problem.rounding * abs(at_left) + (steep - slope) * left
                raised = at_right + problem.rounding * abs(at_right)
                space.base[end, u, grid + j] = raised + (steep - slope) * right
            left, at_left = right, at_right
    for side in range(2):
        _tabulate_constraint(nodes, c, problem, side, count, space)
    return count


@inlined
def _tabulate_constraint(
    nodes: Nodes, c: int, problem: BlockProblem, side: int, count: int, space: Workspace
) -> None:
    """Fill in the tangents of phi of the constraint on A (0) or B (1), rounded upwards."""
    g, t, grid, rounding = problem.g, nodes.t_interval[c], space.spacing.size - 1, problem.rounding
    ends = nodes.xi[c] if side == 0 else nodes.eta[c]
    table, sign = (space.a, -1.0) if side == 0 else (space.b, 1.0)
    bound = problem.top if side == 0 else problem.bottom
    s, last, origin = ends[0], ends[1], _linear(bound, 0.5 * (t[0] + t[1]))
    if np.isinf(last):
        for end in range(count):
            for corner in range(2):
                table[end, corner] = 0.0
        return
    moved = 0.5 * abs(bound[1] - bound[0]) * (t[1] - t[0])
    at_ends = positive_linear(bound, t[0]), positive_linear(bound, t[1])
    ratio, difference = last / s - 1.0, 0.0 if g == 0.0 else 2.0 * _DIFFERENCE / abs(g)
    share = (2.0 - g) / (3.0 - g)
    for u in range(problem.r.size):
        for j in range(grid):
            left, right = space.points[u, j], space.points[u, grid + j]
            middle, half = 0.5 * (left + right), 0.5 * (right - left)
            # Tangents in w and in the bound of A or B, which moves with t: not too near to the pole of phi.
            center = sign * (middle - origin)
            argument = max(1.0 + s * center, share * (1.0 + s * (center + half + moved)), _ZERO)
            v = (argument - 1.0) / s
            value, slope = _phi(argument, g), _phi_slope(argument, g)
            second = slope * (last - s)
            per_argument = (1.0 - g) / argument
            bent = slope * s + second * (1.0 - per_argument * v * s)
            steep = _TANGENT * slope * (1.0 + s * (right + abs(origin) + moved))
            reach = s * (half + moved + abs(v - center))
            first_value = value + difference + rounding * (abs(value) + slope * reach) + steep
            farther = abs(s * v) + reach * (1.0 + per_argument * abs(s * v))
            error = steep * (3.0 - g + 2.0 * per_argument) + rounding * slope * farther
            second_value = first_value + v * second + ratio * error
            for end in range(count):
                for p in (j, grid + j):
                    step = sign * (space.points[u, p] - at_ends[end]) - v
                    table[end, 0, u, p] = first_value + step * slope * s
                    table[end, 1, u, p] = second_value + step * bent


@inner
def _best_point(
    x: tuple[float, float], end: int, i: int, j: int, u: int, space: Workspace
) -> tuple[float, int]:
    """Return the largest contribution of a letter in a corner at an end of t, and its point."""
    base, a, b = space.base[end, u], space.a[end, i, u], space.b[end, j, u]
    largest, where = -np.inf, 0
    for p in range(base.size):
        value = base[p] + x[0] * a[p] + x[1] * b[p]
        if value > largest:
            largest, where = value, p
    return largest, where


@inner
def _lagrangian(
    x: tuple[float, float],
    corners: Corners,
    minorant: FloatArray,
    r: FloatArray,
    space: Workspace,
    step: int,
) -> tuple[float, int]:
    """Return the Lagrangian at multipliers, without constants, and its corner; store where it is attained."""
    best, corner = -np.inf, 0
    for end in range(corners.t):
        for i in range(corners.xi):
            for j in range(corners.eta):
                total = -minorant[end, 1]
                for u in range(r.size):
                    largest, space.trial[u] = _best_point(x, end, i, j, u, space)
                    total += r[u] * largest
                if total > best:
                    best, corner = total, 2 * i + j
                    space.argmax_t[step] = end
                    for u in range(r.size):
                        space.argmax[step, u] = space.trial[u]
    return best, corner


@inner
def _lagrangian_at(
    x: tuple[float, float],
    corners: Corners,
    share: float,
    minorant: FloatArray,
    r: FloatArray,
    space: Workspace,
) -> float:
    """Return the Lagrangian without constants at one t, a share of the way from one end to the other."""
    best, grid = -np.inf, space.spacing.size - 1
    for i in range(corners.xi):
        for j in range(corners.eta):
            total = -_linear(minorant[:, 1], share)
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
def _bound_node(nodes: Nodes, c: int, problem: BlockProblem, space: Workspace) -> None:
    """Bound one node; if that is above the goal, tighten its intervals and say what to branch on."""
    t, minorant = nodes.t_interval[c], nodes.minorant[c]
    top = max(positive_linear(problem.top, t[0]), positive_linear(problem.top, t[1])) * (1.0 + ENDS)
    bottom = min(positive_linear(problem.bottom, t[0]), positive_linear(problem.bottom, t[1]))
    bottom *= 1.0 - ENDS
    if not restrict_letters(nodes, c, top, bottom):
        nodes.bound[c] = -np.inf
        return
    z = z_range(nodes, c, problem)
    affine_minorant(problem.majorant, t, z[0], z[1], nodes.z_focus[c], space.z, space.v, minorant)
    count = _tabulate(nodes, c, problem, space)
    s = nodes.xi[c, 0], nodes.eta[c, 0]
    farthest = (top + 1.0 / s[0]) * (1.0 + ENDS)
    rest = max(-problem.rest * max(0.0, bottom - 1.0 / s[1]), -problem.rest * farthest)
    rest += problem.rounding * abs(problem.rest) * farthest
    # Without the last ends only the intervals that they leave are used.
    used = np.isfinite(nodes.xi[c, 1]), np.isfinite(nodes.eta[c, 1])
    corners = Corners(count, 1 + used[0], 1 + used[1])
    best, x = _minimize_lagrangian(nodes, c, problem, corners, rest, space)
    nodes.bound[c] = min(nodes.bound[c], best)
    for side in range(2):
        if used[side]:
            nodes.multipliers[c, side] = x[side]
    if best > problem.goal:
        scaled = x[0] * (1.0 / s[0]), x[1] * (1.0 / s[1])
        costs = (scaled[0] + scaled[1]) * problem.k
        constant = rest - costs + problem.rounding * (abs(rest) + costs)
        _choose_branch(nodes, c, problem, scaled, corners, best - constant, space)
        _tighten_letters(nodes, c, problem, scaled, corners, constant, space)


@inlined
def _minimize_lagrangian(
    nodes: Nodes, c: int, problem: BlockProblem, corners: Corners, rest: float, space: Workspace
) -> tuple[float, tuple[float, float]]:
    """Minimize over the multipliers by cutting planes, until the goal is met; return the least and where."""
    k, r, planes, minorant = problem.k, problem.r, space.planes, nodes.minorant[c]
    size = max(abs(minorant[0, 1]), abs(minorant[1, 1])) + abs(rest)
    unit = 1.0 / nodes.xi[c, 0], 1.0 / nodes.eta[c, 0]
    used = corners.xi > 1, corners.eta > 1
    x = best_x = nodes.multipliers[c, 0] * used[0], nodes.multipliers[c, 1] * used[1]
    for p in range(3):
        planes.active[p], planes.weight[p] = 0, 1.0 if p == 0 else 0.0
    best = np.inf
    for step in range(_MAX_PLANES):
        total, corner = _lagrangian((x[0] * unit[0], x[1] * unit[1]), corners, minorant, r, space, step)
        first = second = -k
        end = space.argmax_t[step]
        for u in range(r.size):
            first += r[u] * space.a[end, corner // 2, u, space.argmax[step, u]]
            second += r[u] * space.b[end, corner % 2, u, space.argmax[step, u]]
        first, second = first * unit[0] * used[0], second * unit[1] * used[1]
        costs = (x[0] * unit[0] + x[1] * unit[1]) * k
        value = total + rest - costs + problem.rounding * (size + costs)
        if value < best:
            best, best_x = value, x
        planes.heights[step] = value - first * x[0] - second * x[1]
        planes.slopes[step, 0], planes.slopes[step, 1] = first, second
        if best <= problem.goal or not (used[0] or used[1]) or step == _MAX_PLANES - 1:
            break
        limits = (
            _MULTIPLIER_GROWTH * (best_x[0] + 1.0) * used[0],
            _MULTIPLIER_GROWTH * (best_x[1] + 1.0) * used[1],
        )
        x_0, x_1, model = minimize_planes(step, limits, planes)
        if not model < best - _PLANE_GAIN * (best - problem.goal):
            break
        x = x_0, x_1
    return best, best_x


@inlined
def _choose_branch(
    nodes: Nodes,
    c: int,
    problem: BlockProblem,
    x: tuple[float, float],
    corners: Corners,
    height: float,
    space: Workspace,
) -> None:
    """Branch on what loses most where the relaxation is attained, a mixture of up to three points.

    That is a letter on which the points differ, xi or eta, t, or the widest letter where the minorant falls
    short of the majorant.
    """
    share = 0.0
    for p in range(3):
        share += space.planes.weight[p] * space.argmax_t[space.planes.active[p]]
    for i in range(3):
        space.loss[i] = 0.0
    nodes.branch_on[c] = XI
    z, largest = _score_letters(nodes, c, problem, x, _linear(nodes.t_interval[c], share), space)
    for side in range(2):
        loss = _RECTANGLE_WEIGHT * space.loss[side]
        if loss > largest:
            nodes.branch_on[c], largest = side, loss
    # Inside the interval of t the Lagrangian may be lower than at its ends.
    inside = height
    if corners.t > 1:
        inside = _lagrangian_at(x, corners, share, nodes.minorant[c], problem.r, space)
    _score_minorant(nodes, c, problem, (z, share), (height, inside, largest), space)


@inlined
def _score_letters(
    nodes: Nodes, c: int, problem: BlockProblem, x: tuple[float, float], t: float, space: Workspace
) -> tuple[float, float]:
    """Branch on the letter that loses most; return the mean of the mixture, and that loss.

    Losses in xi, eta and t are added up in the workspace.
    """
    r, t_interval, planes, grid = problem.r, nodes.t_interval[c], space.planes, space.spacing.size - 1
    z = largest = 0.0
    for u in range(r.size):
        mean = loss = 0.0
        for p in range(3):
            w = space.points[u, space.argmax[planes.active[p], u]]
            nodes.candidates[c, p, u] = w
            mean += w * planes.weight[p]
        z += r[u] * mean
        for p in range(3):
            w = space.points[u, space.argmax[planes.active[p], u]]
            loss += (_xlogx(w) - _xlogx(mean)) * planes.weight[p]
        for side in range(2):
            ends, table = (nodes.xi[c], space.a) if side == 0 else (nodes.eta[c], space.b)
            bound, sign = (problem.top, -1.0) if side == 0 else (problem.bottom, 1.0)
            s, last = ends[0], ends[1]
            first, second = sign * _linear(bound, t_interval[0]), sign * _linear(bound, t_interval[1])
            v = sign * (mean - _linear(bound, t))
            if np.isinf(last):
                # Without a last end the constraint is not used, although the mean violates it.
                if v < 0.0 and mean > 0.0:
                    steep = r[u] * abs(1.0 + np.log(mean) - problem.gamma[u])
                    space.loss[side] += steep / s
                    # The bound may have moved as far within the interval of t.
                    space.loss[_T] += steep * min(sign * _linear(bound, t) - min(first, second), -v)
                continue
            at_mean = _phi(max(1.0 + s * v, _ZERO), problem.g)
            multiplier = max(x[side], _MIN_MULTIPLIER / s)
            for p in range(3):
                spot, end = space.argmax[planes.active[p], u], space.argmax_t[planes.active[p]]
                w, weight = space.points[u, spot], planes.weight[p]
                v, v_end = sign * (w - _linear(bound, t)), sign * (w - _linear(bound, t_interval[end]))
                value, lost, bent = _tangent_losses(s, last, problem.g, v, v_end, table[end, 0, u, spot])
                loss += weight * x[side] * (value - at_mean)
                width = space.points[u, grid + spot % grid] - space.points[u, spot % grid]
                # What the tangent in w and t loses, it does so where it is longest.
                if abs(bound[1] - bound[0]) * (t_interval[1] - t_interval[0]) > width:
                    space.loss[_T] += r[u] * (weight * multiplier * lost)
                else:
                    loss += weight * multiplier * lost
                space.loss[side] += multiplier * bent * r[u] * weight
        if loss * r[u] > largest:
            largest = loss * r[u]
            nodes.branch_on[c], nodes.branch_at[c] = 2 + u, mean
    return z, largest


@inlined
def _tangent_losses(
    s: float, last: float, g: float, v: float, v_end: float, tangent: float
) -> tuple[float, float, float]:
    """Return phi(1 + s v), and what the tangents in w, at v_end, and in xi or eta, at `last`, lose."""
    lost = max(tangent - _phi(max(1.0 + s * v_end, _ZERO), g), 0.0)
    value = _phi(max(1.0 + s * v, _ZERO), g)
    v = max(v, -0.95 / last)
    first = 1.0 + s * v
    return value, lost, _phi(first, g) + (last - s) * v * _phi_slope(first, g) - _phi(1.0 + last * v, g)


@inlined
def _score_minorant(
    nodes: Nodes,
    c: int,
    problem: BlockProblem,
    point: tuple[float, float],
    values: tuple[float, float, float],
    space: Workspace,
) -> None:
    """Branch on t or the widest letter, if they lose more than what is largest so far.

    The point is z where the relaxation is attained, and t as a share of its interval; the values are the
    Lagrangian, without constants, at the ends of t and at that t, and the largest loss so far.
    """
    z, share = point
    height, inside, largest = values
    r, t_interval, minorant = problem.r, nodes.t_interval[c], nodes.minorant[c]
    t = _linear(t_interval, share)
    focus, nodes.z_focus[c] = nodes.z_focus[c], z
    value = evaluate(problem.majorant, z, t)
    short = short_at_t = value - _linear(minorant[:, 0], share) * z - _linear(minorant[:, 1], share)
    if t_interval[1] > t_interval[0]:
        # What the minorant is short of the majorant at a single t, too, is not for t to mend.
        least, most = z_range(nodes, c, problem)
        space.t[0] = space.t[1] = t
        affine_minorant(problem.majorant, space.t, least, most, focus, space.z, space.v, space.minorant)
        short_at_t = value - space.minorant[0, 0] * z - space.minorant[0, 1]
        space.loss[_T] += short - short_at_t + height - inside
        if space.loss[_T] > largest:
            nodes.branch_on[c], largest = T, space.loss[_T]
    if short_at_t > largest:
        widest, width = 0, 0.0
        for u in range(r.size):
            own = r[u] * nodes.high[c, u] - r[u] * nodes.low[c, u]
            if own > width:
                widest, width = u, own
        middle = 0.5 * (nodes.low[c, widest] + nodes.high[c, widest])
        if width > _ZERO * r[widest] * middle:
            nodes.branch_on[c], nodes.branch_at[c] = 2 + widest, middle
        elif t_interval[1] > t_interval[0]:
            nodes.branch_on[c] = T


@inner
def _tighten_letters(
    nodes: Nodes,
    c: int,
    problem: BlockProblem,
    x: tuple[float, float],
    corners: Corners,
    constant: float,
    space: Workspace,
) -> None:
    """Cut off ends of the letters' intervals.

    With a letter in an interval of the grid, no point of the node has a larger value than the relaxation with
    the other letters at their best. Where that is not above the goal, nothing above it is lost.
    """
    r, grid = problem.r, space.spacing.size - 1
    n, shape, total, most = r.size, (corners.t, corners.xi, corners.eta), space.total, space.most
    for end, i, j in np.ndindex(shape):
        total[end, i, j] = constant - nodes.minorant[c, end, 1]
        size = abs(problem.goal) + abs(constant) + abs(nodes.minorant[c, end, 1])
        for u in range(n):
            most[end, i, j, u] = _best_point(x, end, i, j, u, space)[0]
            total[end, i, j] += r[u] * most[end, i, j, u]
            size += r[u] * abs(most[end, i, j, u])
        if size < np.inf:
            total[end, i, j] += problem.rounding * size
    for u in range(n):
        first, last = grid, -1
        for end, i, j in np.ndindex(shape):
            enough = (problem.goal - total[end, i, j]) / r[u] + most[end, i, j, u]
            for p in range(2 * grid):
                value = space.base[end, u, p] + x[0] * space.a[end, i, u, p] + x[1] * space.b[end, j, u, p]
                if value > enough:
                    first, last = min(first, p % grid), max(last, p % grid)
        if last >= 0:
            nodes.low[c, u] = space.points[u, first]
            nodes.high[c, u] = space.points[u, grid + last]


@kernel
def search_best_first(nodes: Nodes, count: int, problem: BlockProblem, max_new: int, space: Workspace) -> int:
    """Bound nodes, and split the one with the largest bound again and again; return the new number of nodes.

    Parameters
    ----------
    nodes, count : Nodes, int
        With room for `max_new` more; of the first `count` those without a bound (inf) are bounded first.
    problem, space : BlockProblem, Workspace
        Nodes with bounds up to its goal are left alone; space is for its letters and majorant.
    max_new : int
        Most nodes to add.
    """
    heap = [(-nodes.bound[c], c) for c in range(count) if problem.goal < nodes.bound[c] < np.inf]
    heapq.heapify(heap)
    unbounded, stop = [c for c in range(count) if nodes.bound[c] == np.inf], count + max_new
    while True:
        for c in unbounded:
            _bound_node(nodes, c, problem, space)
            if nodes.bound[c] > problem.goal:
                heapq.heappush(heap, (-nodes.bound[c], c))
        if count == stop or len(heap) == 0:
            return count
        c = heapq.heappop(heap)[1]
        split_node(nodes, c, count, problem.g, problem.majorant.knots)
        unbounded = [c, count]
        count += 1
