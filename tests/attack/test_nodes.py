"""Single nodes of branch and bound against random points of random bodies.

A node is a box of letters, of t and of the two dual scalars (`engines.over_set.nodes`). Its bound must
hold for every point of the block that lies in the box and has a dual scalar of each kind in its intervals,
and a point above the goal must be in a node. Points are made here: rays, vectors with two values, vertices
with zeros and points of the boxes of nodes, moved into the body by its A and B, which `oracles.renyi_duality`
has on the safe side. A few thousand points by default, a million with ``--long``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.special import xlogy

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.over_set.branch_and_bound import BranchAndBound
from ldpfrontier.engines.over_set.majorant import Majorant, zero_majorant
from ldpfrontier.engines.products.geometry.ball_body import Body, polish
from oracles.renyi_duality import largest_mean, least_mean
from support.blocks import random_majorant

ORDERS = (0.25, 0.35, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0)
#: By how much, relative to the magnitudes in a value, a point may be above the bound of its node.
ROUNDING = 1e-9
#: Points are this far inside what their A and B allow, relative: more than these are rounded by at radii of
#: 1e-6, where they cancel.
INSIDE = 1e-11
#: By how much rounding may move the ends of nodes, relative: where means cancel at radii of 1e-6.
ENDS = 1e-11


@dataclass
class Problem:
    """A random block with its tree, of whose nodes points are compared with the bounds."""

    seed: int
    body: Body
    duals: FloatArray
    top: tuple[float, float]
    bottom: tuple[float, float]
    majorant: Majorant
    tree: BranchAndBound
    goal: float = -math.inf


@dataclass
class Found:
    """What the comparison of points with nodes came to."""

    points: int = 0
    in_a_node: int = 0  # points that are in a node at least
    comparisons: int = 0
    excess: float = -math.inf  # largest of a value above a bound, relative to the magnitudes
    closest: float = math.inf  # least distance of a bound above a value, relative
    worst: dict[str, object] = field(default_factory=dict)
    outside: int = 0  # points above the goal in no node

    def join(self, other: Found) -> None:
        self.points += other.points
        self.in_a_node += other.in_a_node
        self.comparisons += other.comparisons
        self.closest = min(self.closest, other.closest)
        self.outside += other.outside
        if other.excess > self.excess:
            self.excess, self.worst = other.excess, other.worst


def random_problem(seed: int) -> Problem:
    """A random body, with duals near which vertices compete, and a tree of some nodes."""
    rng = np.random.default_rng(seed)
    order = float(rng.choice(ORDERS))
    letters = int(rng.integers(2, 6)) if rng.random() < 0.8 else int(rng.integers(6, 9))
    r = rng.dirichlet(np.full(letters, rng.choice([0.3, 1.0, 3.0])))
    r = np.maximum(r, 1e-6)
    if letters > 2 and rng.random() < 0.25:
        r[rng.integers(letters)] = 0.0
    r /= r.sum()
    p, radius = rng.uniform(0.01, 0.9), 10 ** rng.uniform(-6, 0.3)
    epsilon = rng.uniform(0.05, 4.0)
    body = Body(r, radius, order, p * r, epsilon, scale=float(np.exp(-rng.uniform(0, 0.5))))
    duals = p * r * rng.uniform(0.3, 1.0 + epsilon, letters) + p * np.where(r > 0, 0.0, rng.uniform(0, 0.2))
    kind = int(rng.integers(4))
    top, bottom = (body.top,) * 2, (body.bottom,) * 2
    majorant = zero_majorant()
    if kind == 1:
        majorant = random_majorant(rng, int(rng.integers(1, 5)), 1)
    elif kind >= 2:
        # As along delta: the bound of A falls to that of B, or the bound of B falls.
        majorant = random_majorant(rng, int(rng.integers(1, 5)), int(rng.integers(2, 5)))
        if kind == 2:
            top = body.top, body.bottom * (1.0 + 1e-3)
        else:
            bottom = body.bottom, body.bottom**2 / body.top
    tree = BranchAndBound(body, duals, top, bottom, majorant)
    problem = Problem(seed, body, duals, top, bottom, majorant, tree)
    polish([body], [duals], 4, 2)
    w = body.best_folded(duals, 1)
    best = float(values(problem, w, np.zeros(len(w)))[0].max()) * float(body.prior.sum())
    spread = float(body.prior.sum()) * rng.uniform(-0.3, 0.2)
    for goal in (-math.inf, best + spread)[int(rng.integers(2)) :]:
        tree.bound(goal, int(rng.integers(50, 500)))
    problem.goal = goal
    return problem


def at(ends: tuple[float, float], t: FloatArray) -> FloatArray:
    return np.asarray(ends[0] + t * (ends[1] - ends[0]))


def majorant_values(majorant: Majorant, z: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The least of the pieces at z and t, and the largest magnitude in it."""
    knots = majorant.knots

    def ends(rows: FloatArray) -> FloatArray:
        if len(knots) == 1:
            return np.repeat(rows, len(t), axis=1)
        return np.array([np.interp(t, knots, row) for row in rows])

    lam, intercept, discount = ends(majorant.lam), ends(majorant.intercept), ends(majorant.discount)
    value = lam * z + intercept + discount * (z > majorant.low[:, None])
    value = np.where(z <= majorant.high[:, None], value, np.inf)
    size = (np.abs(lam) * z + np.abs(intercept) + np.abs(discount)).max(axis=0)
    return value.min(axis=0), size


def values(problem: Problem, w: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """f less the majorant, per unit of the prior, and the magnitudes that it is the difference of."""
    body = problem.body
    scale = float(body.prior.sum())
    prior, c = body.prior / scale, body.fold(problem.duals) / scale
    z = w @ prior
    U, size = majorant_values(problem.majorant, z, t)
    return xlogy(w, w) @ prior - w @ c - U, np.abs(xlogy(w, w)) @ prior + w @ np.abs(c) + size


def means(body: Body, w: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A from above and B from below of folded vectors."""
    r = np.broadcast_to(body.centre, w.shape)
    return largest_mean(r, w, body.radius, body.order)[0], least_mean(r, w, body.radius, body.order)[0]


def into_body(
    problem: Problem, w: FloatArray, t: FloatArray, how: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Points of the body made from vectors, by positive multiples and additions of constants, and their t.

    A(a + x w) = a + x A(w), and so for B. `how` is 0 for A at its bound and B above, 1 for B at its bound,
    2 for both; what is between is in between. Vectors from which no point can be made are left out.
    """
    body = problem.body
    A, B = means(body, w)
    top, bottom = at(problem.top, t) * (1.0 - INSIDE), at(problem.bottom, t) * (1.0 + INSIDE)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # Both at their bounds, if no letter becomes negative; or a multiple alone.
        x = (top - bottom) / (A - B)
        a = bottom - x * B
        both = np.isfinite(x) & (a + x * w.min(axis=1) >= 0.0)
        low, high = bottom / B, top / A
        multiple = np.isfinite(low) & (low <= high)
        share = np.clip(how, 0.0, 1.0)
        alone = high + share * (low - high)
    x = np.where(both & (~multiple | (how >= 1.5)), x, alone)
    a = np.where(both & (~multiple | (how >= 1.5)), a, 0.0)
    own = (both | multiple) & (top > bottom) & (np.abs(x) < 1e9) & (np.abs(a) < 1e9) & (A > 1e-9)
    a, x, w, t = (part[own] for part in (a, x, w, t))
    points = np.maximum(a[:, None] + x[:, None] * w, 0.0)
    # Rounding and the shift count: what is in is decided by the means of the points themselves.
    A, B = means(body, points)
    top, bottom = at(problem.top, t) * (1.0 - 0.5 * INSIDE), at(problem.bottom, t) * (1.0 + 0.5 * INSIDE)
    inside = (top >= A) & (bottom <= B)
    return points[inside], t[inside]


def scalar_intervals(
    problem: Problem, w: FloatArray, t: FloatArray, side: int
) -> tuple[FloatArray, FloatArray]:
    """Ends of the interval of xi (side 0) or eta (1) with which each point meets its constraint.

    sum r phi(1 + xi v) >= k, v = top - w or w - bottom, is concave in xi. Where rounding leaves no xi, the
    ends are those of an empty interval.
    """
    body = problem.body
    g = (body.order - 1.0) / body.order
    k = body.radius if g == 0.0 else math.expm1(g * body.radius) / g
    v = at(problem.top, t)[:, None] - w if side == 0 else w - at(problem.bottom, t)[:, None]
    r = np.broadcast_to(body.centre, w.shape)
    unit = 1.0 / at(problem.top, t)
    lowest = np.log(1e-9 * unit)
    with np.errstate(divide="ignore"):
        limit = np.where(v.min(axis=1) < 0.0, 1.0 / -np.minimum(v.min(axis=1), 0.0), np.inf)
    highest = np.log(np.minimum(limit, 1e9 * unit))

    def value(y: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # phi at 0 is finite for g > 0, and log and power are accurate where xi v is small.
            log = np.where(r > 0.0, np.log1p(np.maximum(np.exp(y)[:, None] * v, -1.0)), 0.0)
            phi = log if g == 0.0 else np.expm1(g * log) / g
            return np.asarray((r * phi).sum(axis=1) - k)

    a, b = lowest.copy(), highest.copy()
    golden = 0.5 * (math.sqrt(5.0) - 1.0)
    c, d = b - golden * (b - a), a + golden * (b - a)
    at_c, at_d = value(c), value(d)
    for _ in range(50):
        left = at_c >= at_d
        a, b = np.where(left, a, c), np.where(left, d, b)
        new = np.where(left, b - golden * (b - a), a + golden * (b - a))
        own = value(new)
        c, d = np.where(left, new, d), np.where(left, c, new)
        at_c, at_d = np.where(left, own, at_d), np.where(left, at_c, own)
    peak = np.where(at_c >= at_d, c, d)
    # At the end of the domain the constraint may be met, too.
    end = value(highest) >= np.maximum(at_c, at_d)
    peak = np.where(end, highest, peak)
    met = value(peak) >= 0.0
    ends = []
    for outer in (lowest, highest):
        inner, far = peak.copy(), outer.copy()
        for _ in range(44):
            middle = 0.5 * (inner + far)
            own = value(middle) >= 0.0
            inner, far = np.where(own, middle, inner), np.where(own, far, middle)
        inner = np.where(value(outer) >= 0.0, outer, inner)
        ends.append(np.exp(inner))
    # Beyond the last that is looked at, up to infinity where no letter forbids it, phi only grows.
    last = np.where(np.isinf(limit) & (ends[1] >= 0.999e9 * unit), np.inf, ends[1])
    return np.where(met, ends[0], np.inf), np.where(met, last, -np.inf)


def compare(problem: Problem, w: FloatArray, t: FloatArray) -> Found:
    """Compare points with the bounds of all nodes that they are in."""
    found, tree = Found(len(w)), problem.tree
    count = tree.node_count
    nodes = tree._nodes
    bound = nodes.bound[:count]
    goal = problem.goal / float(problem.body.prior.sum())
    real = problem.body.centre > 0.0
    value, size = values(problem, w, t)
    xi, eta = (scalar_intervals(problem, w, t, side) for side in (0, 1))
    # Points whose constraint is met within rounding only have no scalar of which one could be sure.
    sure = (xi[0] <= xi[1]) & (eta[0] <= eta[1])
    w, t, value, size = w[sure], t[sure], value[sure], size[sure]
    xi, eta = (tuple(x[sure] for x in pair) for pair in (xi, eta))
    for first in range(0, len(w), 500):
        part = slice(first, first + 500)
        v = w[part][:, None, real]
        inside = ((v >= nodes.low[:count]) & (v <= nodes.high[:count])).all(axis=2)
        s = t[part][:, None]
        inside &= (s >= nodes.t_interval[:count, 0]) & (s <= nodes.t_interval[:count, 1])
        for own, ends in ((xi, nodes.xi[:count]), (eta, nodes.eta[:count])):
            inside &= (own[0][part][:, None] <= ends[:, 1]) & (own[1][part][:, None] >= ends[:, 0])
        least = np.where(inside, bound, np.inf).min(axis=1)
        found.comparisons += int(inside.sum())
        held = inside.any(axis=1)
        found.in_a_node += int(held.sum())
        relative = (value[part] - least) / (size[part] + 1.0)
        if held.any():
            i = int(np.where(held, relative, -np.inf).argmax())
            found.closest = min(found.closest, float(np.abs(relative[held]).min()))
            if relative[i] > found.excess:
                found.excess = float(relative[i])
                n = int(np.where(inside[i], bound, np.inf).argmin())
                found.worst = {
                    "seed": problem.seed, "order": problem.body.order, "radius": problem.body.radius,
                    "w": w[part][i].tolist(), "t": float(t[part][i]), "value": float(value[part][i]),
                    "bound": float(least[i]), "node": n,
                }  # fmt: skip
        # What is above the goal must be in a node; rounding of the ends may put it just beside one.
        lost = ~held & (value[part] > goal + 1e-9 * (size[part] + 1.0))
        if lost.any():
            own_v = v[lost]
            near = (own_v >= nodes.low[:count] * (1.0 - ENDS)) & (own_v <= nodes.high[:count] * (1.0 + ENDS))
            near = near.all(axis=2)
            near &= (s[lost] >= nodes.t_interval[:count, 0]) & (s[lost] <= nodes.t_interval[:count, 1])
            for own, ends in ((xi, nodes.xi[:count]), (eta, nodes.eta[:count])):
                near &= own[0][part][lost, None] <= ends[:, 1] * (1.0 + ENDS)
                near &= own[1][part][lost, None] >= ends[:, 0] * (1.0 - ENDS)
            highest = np.where(near, bound, -np.inf).max(axis=1)
            lost[lost] = value[part][lost] > highest + ROUNDING * (size[part][lost] + 1.0)
        found.outside += int(lost.sum())
        if lost.any() and "lost" not in found.worst:
            i = int(np.flatnonzero(lost)[0])
            found.worst["lost"] = {
                "seed": problem.seed, "w": w[part][i].tolist(), "t": float(t[part][i]),
                "value": float(value[part][i]), "goal": goal,
                "xi": [float(x[part][i]) for x in xi], "eta": [float(x[part][i]) for x in eta],
            }  # fmt: skip
    return found


def random_points(problem: Problem, rng: np.random.Generator, number: int) -> tuple[FloatArray, FloatArray]:
    """Random points of the body: of rays, of two values, near vertices, and of the boxes of nodes."""
    body, tree = problem.body, problem.tree
    n, own = body.letters, number // 5
    real = body.centre > 0.0
    support = rng.random((own, n)) < rng.uniform(0.2, 0.9, (own, 1))
    rays = rng.exponential(size=(own, n)) ** rng.choice([0.5, 1.0, 3.0], (own, 1)) * support
    two = rng.integers(0, 2, (own, n)) + 10.0 ** rng.uniform(-3, 0, (own, 1)) * rng.integers(0, 2, (own, 1))
    listed = body.folded_vectors(rng.integers(0, len(body), own))
    best = body.best_folded(problem.duals, 8)
    listed[own // 2 :] = best[rng.integers(0, len(best), own - own // 2)]
    near = listed * np.exp(rng.normal(size=(own, n)) * 10.0 ** rng.uniform(-8, -0.5, (own, 1)))
    kinds = [rays, two.astype(float), near]
    times = [rng.uniform(0.0, 1.0, own) for _ in kinds]
    nodes, count = tree._nodes, tree.node_count
    # Of the loosest nodes more often than of others.
    order = np.argsort(-nodes.bound[:count])
    chosen = order[(count * rng.uniform(0, 1, 2 * own) ** rng.choice([1.0, 4.0], 2 * own)).astype(int)]
    low, high = nodes.low[chosen], nodes.high[chosen]
    share = rng.beta(0.4, 0.4, low.shape) * rng.choice([0.0, 1.0, 1.0], low.shape)
    boxes = np.zeros((2 * own, n))
    boxes[:, real] = low + share * (high - low)
    # Nodes above the goal have the points that their relaxation mixes.
    goal = problem.goal / float(body.prior.sum())
    if nodes.bound[order[0]] > goal:
        chosen[own:] = np.where(nodes.bound[chosen[own:]] > goal, chosen[own:], order[0])
        mixed = np.fmax(nodes.candidates[chosen[own:], rng.integers(0, 3, own)], 0.0)
        boxes[own:, real] = mixed * np.exp(0.01 * rng.normal(size=mixed.shape))
    boxes[:, ~real] = rng.uniform(0.0, 1.0, (2 * own, int((~real).sum()))) * boxes.max(axis=1)[:, None]
    intervals = nodes.t_interval[chosen]
    kinds.append(boxes)
    times.append(intervals[:, 0] + rng.uniform(0.0, 1.0, 2 * own) * (intervals[:, 1] - intervals[:, 0]))
    w, t = np.concatenate(kinds), np.concatenate(times)
    if problem.top[0] == problem.top[1] and problem.bottom[0] == problem.bottom[1]:
        t = np.zeros(len(w))
    else:
        ends = rng.random(len(w)) < 0.1
        knots = rng.choice(np.append(problem.majorant.knots, [0.0, 1.0]), len(w))
        t = np.where(ends & (np.arange(len(w)) < 3 * own), knots, t)
    used = w.max(axis=1) > 0.0
    how = rng.choice([0.0, 0.5, 1.0, 2.0], len(w)) * rng.choice([1.0, 1.0, rng.uniform(0.0, 1.0)], len(w))
    return into_body(problem, w[used], t[used], how[used])


def attack(seed: int, number: int) -> Found:
    """Compare random points of a random body with the nodes of its tree."""
    problem = random_problem(seed)
    w, t = random_points(problem, np.random.default_rng([seed, 1]), number)
    return compare(problem, w, t)


def check(found: Found) -> None:
    assert found.in_a_node > 0.2 * found.points, found
    assert found.excess <= ROUNDING, found.worst
    assert found.outside == 0, found.worst


def test_no_point_of_a_body_is_above_the_bound_of_a_node_that_it_is_in(long, capsys):
    seeds, number = (range(600), 2400) if long else (range(12), 600)
    total = Found()
    for seed in seeds:
        total.join(attack(seed, number))
    check(total)
    if long:
        with capsys.disabled():
            print(f"\n{len(seeds)} bodies, {total.points:,} points, {total.in_a_node:,} in a node,")
            print(f"{total.comparisons:,} comparisons, largest excess {total.excess:.1e} (relative)")


def test_bounds_that_are_too_low_are_noticed():
    problem = random_problem(12)
    w, t = random_points(problem, np.random.default_rng([12, 1]), 2400)
    check(compare(problem, w, t))
    nodes, count = problem.tree._nodes, problem.tree.node_count
    nodes.bound[:count] -= 1e-6
    assert compare(problem, w, t).excess > ROUNDING
    nodes.bound[:count] += 1e-6
    # So is a box that begins too late.
    nodes.low[:count] += 1e-3 * max(problem.top)
    assert compare(problem, w, t).outside > 0
