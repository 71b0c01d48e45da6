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

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.over_set.majorant import affine_minorant, evaluate
from ldpfrontier.engines.over_set.nodes import (
    ENDS,
    XI,
    BlockProblem,
    Nodes,
    T,
    pop_node,
    positive_linear,
    push_node,
    restrict_letters,
    split_node,
    z_range,
)
from ldpfrontier.engines.over_set.settings import SETTINGS
from ldpfrontier.engines.over_set.tabulated_lagrangian import (
    best_point,
    lagrangian,
    lagrangian_at,
    linear,
    phi,
    phi_slope,
    tabulate,
    tabulate_constraint,
    xlogx,
)
from ldpfrontier.engines.over_set.workspace import Corners, Workspace
from ldpfrontier.numerics.jit import borrowing_kernel, inner_kernel
from ldpfrontier.numerics.kelley_2d import minimize_planes

# Least share of the distance to the goal that is worth another cutting plane.
_MAX_PLANES, _PLANE_GAIN = SETTINGS.max_planes, 0.02
_MIN_MULTIPLIER = 0.3  # the least one, times xi or eta, in estimates of what is lost
_RECTANGLE_WEIGHT = 2.0  # of what a rectangle loses
_MULTIPLIER_GROWTH, _ZERO = SETTINGS.wide_ratio, SETTINGS.zero

#: Places in `Workspace.loss`, after xi and eta: t, and the letter that is looked at.
_T, _LETTER = 2, 3


class _Constraint(NamedTuple):
    """One of the two constraints of a node: that on xi and the top, or that on eta and the bottom."""

    ends: FloatArray  # (2,): of xi, or of eta
    multiplier: float
    table: FloatArray  # of tangents, as in `Tables`
    sign: float  # of a letter's value
    bound: float  # the top, or the bottom, at the t of the mixture
    at_ends: tuple[float, float]  # the same at the ends of the node's interval of t
    moves: float  # by how much it moves between them


@inner_kernel
def _bound_node(nodes: Nodes, c: int, problem: BlockProblem, space: Workspace) -> None:
    """Bound one node; if that is above the goal, tighten its intervals and say what to branch on."""
    t, minorant, low, high = nodes.t_interval[c], nodes.minorant[c], nodes.low[c], nodes.high[c]
    xi, eta, rounding, tables = nodes.xi[c], nodes.eta[c], problem.rounding, space.tables
    top = max(positive_linear(problem.top, t[0]), positive_linear(problem.top, t[1])) * (1.0 + ENDS)
    bottom = min(positive_linear(problem.bottom, t[0]), positive_linear(problem.bottom, t[1]))
    bottom *= 1.0 - ENDS
    above, below = 1.0 / xi[0], 1.0 / eta[0]
    least, most = bottom - below - ENDS * (bottom + below), (top + above) * (1.0 + ENDS)
    if not restrict_letters(low, high, least, most):
        nodes.bound[c] = -np.inf
        return
    z = z_range(problem.r, low, high, rounding)
    affine_minorant(problem.majorant, t, z[0], z[1], nodes.z_focus[c], space.z, space.v, minorant)
    count = 2 if t[1] > t[0] else 1
    tabulate(low, high, count, minorant, problem.gamma, rounding, tables)
    tabulate_constraint(tables.a, xi, problem.top, -1.0, t, problem.g, rounding, tables.points)
    tabulate_constraint(tables.b, eta, problem.bottom, 1.0, t, problem.g, rounding, tables.points)
    farthest = (top + above) * (1.0 + ENDS)
    rest = max(-problem.rest * max(0.0, bottom - 1.0 / eta[1]), -problem.rest * farthest)
    rest += rounding * abs(problem.rest) * farthest
    # Without the last ends only the intervals that they leave are used.
    used = np.isfinite(xi[1]), np.isfinite(eta[1])
    corners = Corners(count, 1 + used[0], 1 + used[1])
    multipliers, unit = nodes.multipliers[c], (above, below)
    best, x = _minimize_lagrangian(multipliers, unit, minorant, problem, corners, rest, space)
    nodes.bound[c] = min(nodes.bound[c], best)
    for side in range(2):
        if used[side]:
            multipliers[side] = x[side]
    if best > problem.goal:
        scaled = x[0] * above, x[1] * below
        costs = (scaled[0] + scaled[1]) * problem.k
        constant = rest - costs + rounding * (abs(rest) + costs)
        _choose_branch(nodes, c, problem, scaled, corners, best - constant, space)
        _tighten_letters(low, high, minorant, problem, scaled, corners, constant, space)


@inner_kernel
def _minimize_lagrangian(
    start: FloatArray,
    unit: tuple[float, float],
    minorant: FloatArray,
    problem: BlockProblem,
    corners: Corners,
    rest: float,
    space: Workspace,
) -> tuple[float, tuple[float, float]]:
    """Minimize over the multipliers by cutting planes, until the goal is met; return the least and where.

    Multipliers are per `unit`, 1 / xi and 1 / eta.
    """
    k, r, goal, planes, tables = problem.k, problem.r, problem.goal, space.planes, space.tables
    size = max(abs(minorant[0, 1]), abs(minorant[1, 1])) + abs(rest)
    used = corners.xi > 1, corners.eta > 1
    x = best_x = start[0] * used[0], start[1] * used[1]
    for p in range(3):
        planes.active[p], planes.weight[p] = 0, 1.0 if p == 0 else 0.0
    best = np.inf
    for step in range(_MAX_PLANES):
        points = space.argmax[step]
        scaled = x[0] * unit[0], x[1] * unit[1]
        total, corner, end = lagrangian(scaled, corners, minorant, r, tables, space.trial, points)
        space.argmax_t[step] = end
        first = second = -k
        a, b = tables.a[end, corner // 2], tables.b[end, corner % 2]
        for u in range(r.size):
            first += r[u] * a[u, points[u]]
            second += r[u] * b[u, points[u]]
        first, second = first * unit[0] * used[0], second * unit[1] * used[1]
        costs = (scaled[0] + scaled[1]) * k
        value = total + rest - costs + problem.rounding * (size + costs)
        if value < best:
            best, best_x = value, x
        planes.heights[step] = value - first * x[0] - second * x[1]
        planes.slopes[step, 0], planes.slopes[step, 1] = first, second
        if best <= goal or not (used[0] or used[1]) or step == _MAX_PLANES - 1:
            break
        limits = (
            _MULTIPLIER_GROWTH * (best_x[0] + 1.0) * used[0],
            _MULTIPLIER_GROWTH * (best_x[1] + 1.0) * used[1],
        )
        x_0, x_1, model = minimize_planes(step, limits, planes)
        if not model < best - _PLANE_GAIN * (best - goal):
            break
        x = x_0, x_1
    return best, best_x


@inner_kernel
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
    share, planes, losses = 0.0, space.planes, space.loss
    for p in range(3):
        share += planes.weight[p] * space.argmax_t[planes.active[p]]
        losses[p] = 0.0
    nodes.branch_on[c] = XI
    z, largest = _score_letters(nodes, c, problem, x, linear(nodes.t_interval[c], share), space)
    for side in range(2):
        loss = _RECTANGLE_WEIGHT * losses[side]
        if loss > largest:
            nodes.branch_on[c], largest = side, loss
    # Inside the interval of t the Lagrangian may be lower than at its ends.
    inside = height
    if corners.t > 1:
        inside = lagrangian_at(x, corners, share, nodes.minorant[c], problem.r, space.tables)
    _score_minorant(nodes, c, problem, (z, share), (height, inside, largest), space)


@inner_kernel
def _score_letters(
    nodes: Nodes, c: int, problem: BlockProblem, x: tuple[float, float], t: float, space: Workspace
) -> tuple[float, float]:
    """Branch on the letter that loses most; return the mean of the mixture, and that loss.

    Losses in xi, eta and t are added up in the workspace.
    """
    r, interval, losses = problem.r, nodes.t_interval[c], space.loss
    top, bottom = _bound_in_t(problem.top, t, interval), _bound_in_t(problem.bottom, t, interval)
    xi = _Constraint(nodes.xi[c], x[0], space.tables.a, -1.0, top[0], top[1], top[2])
    eta = _Constraint(nodes.eta[c], x[1], space.tables.b, 1.0, bottom[0], bottom[1], bottom[2])
    z = largest = 0.0
    for u in range(r.size):
        mean = _score_curve(u, nodes.candidates[c], space)
        z += r[u] * mean
        for side in range(2):
            constraint = xi if side == 0 else eta
            if np.isinf(constraint.ends[1]):
                _score_unused(side, constraint, u, mean, problem, losses)
            else:
                _score_tangents(side, constraint, u, mean, problem, space)
        loss = losses[_LETTER] * r[u]
        if loss > largest:
            largest = loss
            nodes.branch_on[c], nodes.branch_at[c] = 2 + u, mean
    return z, largest


@inner_kernel
def _bound_in_t(
    bound: FloatArray, t: float, interval: FloatArray
) -> tuple[float, tuple[float, float], float]:
    """Return a bound that is linear in t, at t and the ends of an interval, and how far it moves there."""
    at_ends = linear(bound, interval[0]), linear(bound, interval[1])
    return linear(bound, t), at_ends, abs(bound[1] - bound[0]) * (interval[1] - interval[0])


@inner_kernel
def _score_curve(u: int, candidates: FloatArray, space: Workspace) -> float:
    """Begin with what a letter loses: that w log w is below its mean over the points; return their mean."""
    planes, points, loss = space.planes, space.tables.points, space.loss
    mean = loss[_LETTER] = 0.0
    for p in range(3):
        w = points[u, space.argmax[planes.active[p], u]]
        candidates[p, u] = w
        mean += w * planes.weight[p]
    for p in range(3):
        loss[_LETTER] += (xlogx(candidates[p, u]) - xlogx(mean)) * planes.weight[p]
    return mean


@inner_kernel
def _score_unused(
    side: int,
    constraint: _Constraint,
    u: int,
    mean: float,
    problem: BlockProblem,
    losses: FloatArray,
) -> None:
    """Add what is lost without a constraint that has no last end, where the mean of a letter violates it."""
    sign, bound = constraint.sign, constraint.bound
    v = sign * (mean - bound)
    if v < 0.0 and mean > 0.0:
        first, second = sign * constraint.at_ends[0], sign * constraint.at_ends[1]
        steep = problem.r[u] * abs(1.0 + np.log(mean) - problem.gamma[u])
        losses[side] += steep / constraint.ends[0]
        # The bound may have moved as far within the interval of t.
        losses[_T] += steep * min(sign * bound - min(first, second), -v)


@inner_kernel
def _score_tangents(
    side: int,
    constraint: _Constraint,
    u: int,
    mean: float,
    problem: BlockProblem,
    space: Workspace,
) -> None:
    """Add what the tangents of a constraint lose at the points of a letter, in xi or eta, in t, and in it."""
    s, last, x = constraint.ends[0], constraint.ends[1], constraint.multiplier
    sign, bound = constraint.sign, constraint.bound
    r, g, planes, losses = problem.r[u], problem.g, space.planes, space.loss
    points, grid = space.tables.points[u], space.tables.spacing.size - 1
    at_mean = phi(max(1.0 + s * (sign * (mean - bound)), _ZERO), g)
    multiplier = max(x, _MIN_MULTIPLIER / s)
    for p in range(3):
        plane, weight = planes.active[p], planes.weight[p]
        spot, end = space.argmax[plane, u], space.argmax_t[plane]
        w = points[spot]
        v, v_end = sign * (w - bound), sign * (w - constraint.at_ends[end])
        value, lost, bent = _tangent_losses(s, last, g, v, v_end, constraint.table[end, 0, u, spot])
        losses[_LETTER] += weight * x * (value - at_mean)
        # What the tangent in w and t loses, it does so where it is longest.
        if constraint.moves > points[grid + spot % grid] - points[spot % grid]:
            losses[_T] += r * (weight * multiplier * lost)
        else:
            losses[_LETTER] += weight * multiplier * lost
        losses[side] += multiplier * bent * r * weight


@inner_kernel
def _tangent_losses(
    s: float, last: float, g: float, v: float, v_end: float, tangent: float
) -> tuple[float, float, float]:
    """Return phi(1 + s v), and what the tangents in w, at v_end, and in xi or eta, at `last`, lose."""
    lost = max(tangent - phi(max(1.0 + s * v_end, _ZERO), g), 0.0)
    value = phi(max(1.0 + s * v, _ZERO), g)
    v = max(v, -0.95 / last)
    first = 1.0 + s * v
    return value, lost, phi(first, g) + (last - s) * v * phi_slope(first, g) - phi(1.0 + last * v, g)


@inner_kernel
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
    low, high, losses = nodes.low[c], nodes.high[c], space.loss
    t = linear(t_interval, share)
    focus, nodes.z_focus[c] = nodes.z_focus[c], z
    value = evaluate(problem.majorant, z, t)
    short = short_at_t = value - linear(minorant[:, 0], share) * z - linear(minorant[:, 1], share)
    if t_interval[1] > t_interval[0]:
        # What the minorant is short of the majorant at a single t, too, is not for t to mend.
        least, most = z_range(r, low, high, problem.rounding)
        space.t[0] = space.t[1] = t
        affine_minorant(problem.majorant, space.t, least, most, focus, space.z, space.v, space.minorant)
        short_at_t = value - space.minorant[0, 0] * z - space.minorant[0, 1]
        losses[_T] += short - short_at_t + height - inside
        if losses[_T] > largest:
            nodes.branch_on[c], largest = T, losses[_T]
    if short_at_t > largest:
        widest, width = 0, 0.0
        for u in range(r.size):
            own = r[u] * high[u] - r[u] * low[u]
            if own > width:
                widest, width = u, own
        middle = 0.5 * (low[widest] + high[widest])
        if width > _ZERO * r[widest] * middle:
            nodes.branch_on[c], nodes.branch_at[c] = 2 + widest, middle
        elif t_interval[1] > t_interval[0]:
            nodes.branch_on[c] = T


@inner_kernel
def _tighten_letters(
    low: FloatArray,
    high: FloatArray,
    minorant: FloatArray,
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
    r, tables, total, most, goal = problem.r, space.tables, space.total, space.most, problem.goal
    points, base, n, grid = tables.points, tables.base, problem.r.size, tables.spacing.size - 1
    for end in range(corners.t):
        for i in range(corners.xi):
            for j in range(corners.eta):
                whole = constant - minorant[end, 1]
                size = abs(goal) + abs(constant) + abs(minorant[end, 1])
                for u in range(n):
                    largest = best_point(x, end, i, j, u, tables)[0]
                    most[end, i, j, u] = largest
                    whole += r[u] * largest
                    size += r[u] * abs(largest)
                if size < np.inf:
                    whole += problem.rounding * size
                total[end, i, j] = whole
    for u in range(n):
        first, last = grid, -1
        for end in range(corners.t):
            for i in range(corners.xi):
                for j in range(corners.eta):
                    enough = (goal - total[end, i, j]) / r[u] + most[end, i, j, u]
                    a, b, own = tables.a[end, i, u], tables.b[end, j, u], base[end, u]
                    for p in range(own.size):
                        if own[p] + x[0] * a[p] + x[1] * b[p] > enough:
                            first, last = min(first, p % grid), max(last, p % grid)
        if last >= 0:
            low[u], high[u] = points[u, first], points[u, grid + last]


@borrowing_kernel
def search_best_first(
    nodes: Nodes,
    count: int,
    problem: BlockProblem,
    max_new: int,
    space: Workspace,
    heap: NDArray[np.int64],
) -> int:
    """Bound nodes, and split the one with the largest bound again and again; return the new number of nodes.

    There is room for `max_new` more, the most that are added; of the first `count` those without a bound
    (inf) are bounded first. Nodes with bounds up to the goal of the problem are left alone. The heap, (count
    + max_new + 1,), is space.
    """
    stop, bound = count + max_new, nodes.bound
    heap[0] = 0
    for c in range(count):
        if problem.goal < bound[c] < np.inf:
            push_node(heap, bound, c)
    # The nodes without a bound at first, and then the two that a node was split in.
    first, step, is_split = 0, 1, False
    while True:
        for c in range(first, count, step):
            if is_split or bound[c] == np.inf:
                _bound_node(nodes, c, problem, space)
                if bound[c] > problem.goal:
                    push_node(heap, bound, c)
        if count == stop or heap[0] == 0:
            return count
        first = pop_node(heap, bound)
        split_node(nodes, first, count, problem.g, problem.majorant.knots)
        step, count, is_split = count - first, count + 1, True
