"""What rounding does to bounds of nodes, against 60 digits: never more than they are raised by."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest
from mpmath import expm1, fsum, log, mpf

from ldpfrontier.engines.over_set.branch_and_bound import BranchAndBound
from ldpfrontier.engines.over_set.lagrangian_relaxation import _ZERO, search_best_first
from ldpfrontier.engines.over_set.majorant import Majorant, affine_minorant
from ldpfrontier.engines.products.geometry.ball_body import Body
from oracles.high_precision import xlogx
from support.blocks import random_majorant

EPSILONS = (0.1, 1.0, 4.0, 15.0)
ORDERS = (0.25, 0.5, 0.7, 1.0, 1.001, 2.0, 3.0, 4.0)


def tree_of(seed, epsilon, order, moving, shift=0.0):
    """The tree of a random block at duals near which vertices compete, and its arguments.

    The majorant, and so all bounds, may be shifted.
    """
    rng = np.random.default_rng(seed)
    letters = int(rng.integers(2, 7))
    r = np.maximum(rng.dirichlet(np.full(letters, rng.choice([0.3, 1.0, 3.0]))), 1e-6)
    if letters > 2 and seed % 4 == 0:
        r[rng.integers(letters)] = 0.0
    r /= r.sum()
    p, radius = rng.uniform(0.01, 0.9), 10 ** rng.uniform(-5, 0.0)
    body = Body(r, radius, order, p * r, epsilon)
    duals = p * r * rng.uniform(0.3, 1.0 + epsilon, letters) + p * np.where(
        r > 0, 0.0, rng.uniform(-0.1, 0.2)
    )
    majorant = random_majorant(rng, int(rng.integers(1, 4)), int(rng.integers(2, 5)) if moving else 1)
    majorant = majorant._replace(intercept=majorant.intercept + shift)
    top, bottom = (body.top, 1.0 if moving and seed % 2 else body.top), (1.0, 1.0)
    if moving and not seed % 2:
        bottom = 1.0, math.exp(-epsilon)
    tree = BranchAndBound(body, duals, top, bottom, majorant)
    tree.bound(-math.inf, int(rng.integers(20, 300)))
    return tree, body, duals


def evaluated(tree, chosen, rounding):
    """Chosen nodes with their bounds at the multipliers they have, of `rounding` per operation."""
    nodes = type(tree._nodes)(*(x[chosen].copy() for x in tree._nodes))
    nodes.bound[:] = np.inf
    # Any bound is good enough: there is no search for multipliers, and nothing is cut off.
    problem = tree._problem._replace(goal=np.inf, rounding=rounding)
    search_best_first(nodes, len(chosen), problem, 0, tree._space, np.empty(len(chosen) + 1, dtype=np.int64))
    return nodes


class Exact:
    """Bounds of nodes with exact arithmetic from the data of a block."""

    def __init__(self, tree, body, duals):
        real = body.centre > 0.0
        prior, costs = body.prior[real], body.fold(duals)
        self.problem, self.spacing = tree._problem, tree._space.tables.spacing.tolist()
        self.P = [mpf(x) for x in prior.tolist()]
        self.r = [x / fsum(self.P) for x in self.P]
        self.c = [mpf(x) for x in costs[real].tolist()]
        self.scale = mpf(tree._prior)
        order = mpf(body.order)
        self.g = (order - 1) / order
        radius = mpf(body.radius)
        self.k = radius if self.g == 0 else expm1(self.g * radius) / self.g
        self.rest = fsum(map(mpf, costs[~real].tolist())) / self.scale

    def phi(self, x):
        return (log(x), 1 / x) if self.g == 0 else ((x**self.g - 1) / self.g, x ** (self.g - 1))

    def tangents(self, side, ends, t, left, right):
        """Those of phi at both ends of an interval: by end of t, corner and point."""
        bound = (self.problem.top, self.problem.bottom)[side].tolist()
        sign, (s, last) = (-1.0, 1.0)[side], ends
        if math.isinf(last):
            return {key: mpf(0) for key in product(range(2), range(2), range(2))}
        origin = bound[0] + 0.5 * (t[0] + t[1]) * (bound[1] - bound[0])
        moved = 0.5 * abs(bound[1] - bound[0]) * (t[1] - t[0])
        center, half, g = sign * (0.5 * (left + right) - origin), 0.5 * (right - left), float(self.problem.g)
        share = (2.0 - g) / (3.0 - g)
        x = max(1.0 + s * center, share * (1.0 + s * (center + half + moved)), _ZERO)
        s, last, x = mpf(s), mpf(last), mpf(x)
        v = (x - 1) / s
        value, slope = self.phi(x)
        second = slope * (last - s)
        bent = slope * s + second * (1 - (1 - self.g) * v * s / x)
        found = {}
        for end, point in product(range(2), range(2)):
            w = mpf((left, right)[point])
            step = sign * (w - (mpf(bound[0]) + mpf(t[end]) * (mpf(bound[1]) - mpf(bound[0])))) - v
            found[end, 0, point] = value + step * slope * s
            found[end, 1, point] = value + v * second + step * bent
        return found

    def bound(self, nodes, c):
        """The Lagrangian of a node at its multipliers."""
        xi, eta, t = (x[c].tolist() for x in (nodes.xi, nodes.eta, nodes.t_interval))
        minorant = [[mpf(x) for x in row] for row in nodes.minorant[c].tolist()]
        used = [math.isfinite(ends[1]) for ends in (xi, eta)]
        unit = 1.0 / xi[0], 1.0 / eta[0]
        x = [
            mpf(float(m) * u) if own else mpf(0)
            for m, u, own in zip(nodes.multipliers[c], unit, used, strict=True)
        ]
        grid, points = len(self.spacing) - 1, []
        for low, high in zip(nodes.low[c].tolist(), nodes.high[c].tolist(), strict=True):
            between = [low + (high - low) * share for share in self.spacing[1:-1]]
            points.append([low, *between, high])
        best = -mpf("inf")
        tables = [
            [(self.tangents(0, xi, t, a, b), self.tangents(1, eta, t, a, b)) for a, b in pairwise(own)]
            for own in points
        ]
        for end, i, j in product(range(1 + (t[1] > t[0])), range(1 + used[0]), range(1 + used[1])):
            total = -minorant[end][1]
            for u, own in enumerate(points):
                most = -mpf("inf")
                for n, point in product(range(grid), range(2)):
                    w, (a, b) = mpf(own[n + point]), tables[u][n]
                    value = (
                        self.P[u] / self.scale * (xlogx(w) - minorant[end][0] * w)
                        - self.c[u] / self.scale * w
                    )
                    value += self.r[u] * (x[0] * a[end, i, point] + x[1] * b[end, j, point])
                    most = max(most, value)
                total += most
            best = max(best, total)
        top, bottom = (
            [mpf(y[0]) + mpf(s) * (mpf(y[1]) - mpf(y[0])) for s in t]
            for y in (self.problem.top.tolist(), self.problem.bottom.tolist())
        )
        ends = (
            max(mpf(0), min(bottom) - (0 if math.isinf(eta[1]) else 1 / mpf(eta[1]))),
            max(top) + 1 / mpf(xi[0]),
        )
        return best + max(-self.rest * y for y in ends) - (x[0] + x[1]) * self.k


@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_bounds_of_nodes(epsilon, moving, long):
    ratios, raises = [], []
    for seed in range(60 if long else 2):
        order = ORDERS[(seed + 3 * EPSILONS.index(epsilon)) % len(ORDERS)]
        tree, body, duals = tree_of(seed, epsilon, order, moving)
        rng = np.random.default_rng(seed)
        chosen = rng.permutation(tree.node_count)[: 12 if long else 4]
        nodes, plain = (evaluated(tree, chosen, rounding) for rounding in (tree._problem.rounding, 0.0))
        exact = Exact(tree, body, duals)
        for c in range(len(chosen)):
            if nodes.bound[c] == -np.inf:
                continue
            true, raised = exact.bound(nodes, c), mpf(float(nodes.bound[c]))
            assert true <= raised
            error = raised - mpf(float(plain.bound[c]))
            if error > 0:
                ratios.append(float((true - mpf(float(plain.bound[c]))) / error))
                raises.append(float(error))
    print(f"eps {epsilon}: ratio {max(ratios):.3f}, raises {np.quantile(raises, [0.5, 0.9, 1.0])}")
    assert max(ratios) <= 1.0


def test_constants_of_nodes():
    """Next to a large majorant all else is small, and what it is raised by is nothing."""
    for seed in range(12):
        tree, body, duals = tree_of(seed, 1.0, 2.0, False, shift=1e9)
        nodes, exact = evaluated(tree, np.arange(3), tree._problem.rounding), Exact(tree, body, duals)
        for c in range(3):
            assert exact.bound(nodes, c) <= mpf(float(nodes.bound[c]))


@pytest.mark.parametrize("pieces", [1, 3])
def test_minorants(pieces, long):
    for seed in range(400 if long else 40):
        rng = np.random.default_rng(seed)
        majorant = random_majorant(rng, pieces, 1 + seed % 4)
        # As of classes at knots that they are not for.
        if pieces > 1 and len(majorant.knots) > 2:
            majorant.intercept[1:, -1] = 1e3
        low, high = np.sort(rng.uniform(0.0, 4.0, 2))
        t = np.sort(rng.uniform(0.0, 1.0, 2)) if len(majorant.knots) > 1 else np.zeros(2)
        minorant, room = np.empty((2, 2)), np.empty(2 * majorant.breakpoints.size + 2)
        affine_minorant(majorant, t, low, high, rng.uniform(low, high), room, room.copy(), minorant)
        ends = [x for x in {*majorant.low.tolist(), *majorant.high.tolist()} if low < x < high]
        z = [low, high, *ends, *np.nextafter(ends, np.inf).tolist()]
        for y, share in product(z, (0.0, 0.3, 1.0)):
            own = mpf(t[0]) + mpf(share) * (mpf(t[1]) - mpf(t[0]))
            line = [mpf(a) + mpf(share) * (mpf(b) - mpf(a)) for a, b in minorant.T.tolist()]
            assert line[0] * mpf(y) + line[1] <= exact_majorant(majorant, mpf(y), own)


def exact_majorant(majorant: Majorant, z, t):
    knots = [mpf(x) for x in majorant.knots.tolist()]
    k = max((n for n, x in enumerate(knots[:-1]) if x <= t), default=0)
    share = (t - knots[k]) / (knots[k + 1] - knots[k]) if len(knots) > 1 else mpf(0)

    def at(row):
        own = [mpf(x) for x in row.tolist()]
        return own[k] + share * (own[k + 1] - own[k]) if share else own[k]

    rows = zip(
        majorant.low.tolist(), majorant.high.tolist(), majorant.lam, majorant.intercept, majorant.discount,
        strict=True,
    )  # fmt: skip
    return min(
        at(lam) * z + at(h) + (at(beta) if z > low else 0) for low, high, lam, h, beta in rows if z <= high
    )
