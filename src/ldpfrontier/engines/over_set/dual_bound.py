r"""Bounds on the reduced costs of all columns of a class, for every delta at once, at given duals.

For duals c let kappa be such that every column v has a reduced cost mu(v) - c . v of at most kappa Z. Then by
weak duality of the column LP the optimum is at most sum(c) + kappa. The columns are products of the blocks of
`block_family`, and `affine_bounds` says which kappa follows if every f_s is below its bounds, hence below the
least of them, the majorant U_s of the block. What branch and bound leaves above it,

    e_s >= max over t and w in K_s(t) of  f_s(w) - U_s(z(w), t),

counts against the sum: kappa follows from H + sum_s e_s in place of H. Nodes go to the product with the
largest sum of e_s, and there to the block where another one is worth most. Points with f_s > U_s that turn
up on the way, violations, are new vertices for the next dual bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.special import xlogy

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.over_set.affine_bounds import AffineBounds
from ldpfrontier.engines.over_set.ball_family import BallFamily
from ldpfrontier.engines.over_set.block_family import (
    BlockPoints,
    body_between,
    interpolate,
    mean_bounds,
)
from ldpfrontier.engines.over_set.branch_and_bound import BranchAndBound
from ldpfrontier.engines.over_set.majorant import Majorant, evaluate
from ldpfrontier.engines.over_set.settings import SETTINGS
from ldpfrontier.engines.products.geometry.ball_body import Body, climb_or_restore
from ldpfrontier.engines.products.settings import SETTINGS as PRODUCTS
from ldpfrontier.numerics.deadline import check_time, time_is_up
from ldpfrontier.numerics.rounding import gamma


@dataclass(eq=False)
class _Block:
    """A block, its tree (none if all its vertices are listed), and by how much it exceeds its majorant."""

    body: Body  # at t = 0
    majorant: Majorant
    scale: float
    tree: BranchAndBound | None = None
    excess: float = math.inf  # bound
    violation: float = 0.0  # the largest that is known
    searched: float = 0.0  # nodes when violations were looked for last

    @property
    def slack(self) -> float:
        """How much better the bound on the excess may become."""
        return 0.0 if self.tree is None else self.excess - self.violation

    @property
    def worth(self) -> float:
        """What another node is worth, as bounds fall with a power of the nodes."""
        return 0.0 if self.tree is None else self.slack / (self.tree.node_count + SETTINGS.nodes_per_visit)


@dataclass(eq=False)
class DualBound:
    """The proof of affine bounds at some duals."""

    family: BallFamily
    duals: FloatArray  # (a1, a2)
    bounds: AffineBounds
    tolerance: float  # how far a block may exceed its majorant before it matters
    #: By the index of a block, points above its majorant.
    violations: dict[int, BlockPoints] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.blocks = [self._block(n) for n in range(len(self.bounds.labels))]

    def _block(self, n: int) -> _Block:
        """Return a block with a tree of its own."""
        (s, special), knots = self.bounds.labels[n], len(self.bounds.knots)
        body = self.family.body(s)
        if not body.improvable:
            return _Block(body, self.bounds.majorant(n, 1.0), 1.0, None, self._excess_of_listed(n, body))
        # Trees know the mean of w, which is z per unit of the prior.
        scale = float(body.prior.sum())
        majorant = self.bounds.majorant(n, scale)
        ends = mean_bounds(self.family.epsilon, special, knots)
        return _Block(body, majorant, scale, BranchAndBound(body, self.duals[s], *ends, majorant))

    def bound(self, max_nodes: int) -> float:
        """Return kappa, a bound on the reduced costs of all columns per unit of Z, by more nodes.

        It is inf if none is known; TimeIsUp is raised if it is up before all trees have their first nodes.
        """
        for block in self.blocks:
            check_time()
            if block.tree is not None and block.tree.node_count == 0:
                block.excess = block.tree.bound(0.0, 0)
        while max_nodes > 0 and not time_is_up():
            rows = self.bounds.products.tolist()
            row = max(rows, key=lambda own: sum(self.blocks[n].excess for n in own))
            slack, known = sum(self.blocks[n].slack for n in row), sum(self.blocks[n].violation for n in row)
            n = max(row, key=lambda n: self.blocks[n].worth)
            block = self.blocks[n]
            if block.tree is None or slack <= SETTINGS.negligible_share * known + 1e-12 * self.tolerance:
                break
            before = block.tree.node_count
            block.excess = block.tree.bound(0.0, SETTINGS.nodes_per_visit)
            max_nodes -= max(block.tree.node_count - before, 1)
            grown = block.tree.node_count >= 1.5 * block.searched
            if block.excess > block.violation and grown:
                block.searched = block.tree.node_count
                self._search(n)
        return self._kappa()

    def _kappa(self) -> float:
        """Return the kappa that the bounds on the excess imply, the largest of any two neighbouring knots."""
        K = len(self.bounds.knots)
        count = max(K - 1, 1)
        excess = [self._excess_between_knots(block, count) for block in self.blocks]
        products = self.bounds.products
        # Any product, and any class in it: (products, 1, intervals).
        totals = np.array([[np.sum([excess[m] for m in row], axis=0)] for row in products])
        totals *= 1.0 + gamma(products.shape[1])
        worst = -math.inf
        for first in range(min(2, K)):
            kappa = self.bounds.kappa(np.pad(totals, ((0, 0), (0, 0), (first, K - first - count))))
            worst = max(worst, float(kappa[:, :, first : first + count].max()))
        return worst

    @property
    def node_count(self) -> int:
        """Number of nodes of all trees."""
        return sum(block.tree.node_count for block in self.blocks if block.tree is not None)

    @property
    def known_kappa(self) -> float:
        """The kappa that the violations found imply: about the least bound to hope for."""
        totals = np.array([sum(self.blocks[n].violation for n in row) for row in self.bounds.products])
        return float(self.bounds.kappa(totals[:, None, None]).max())

    def _excess_between_knots(self, block: _Block, count: int) -> FloatArray:
        """Return how far a block may exceed its majorant between any two knots, shape (count,)."""
        if block.tree is None:
            return np.full(count, block.excess)
        return block.tree.bounds_between(self.bounds.knots) if block.excess > 0.0 else np.zeros(count)

    def _excess_of_listed(self, n: int, base: Body) -> float:
        """Return how far a block whose vertices are all known may exceed its majorant.

        The vertices move linearly with t, and f is convex: above its chord between knots is only the product
        of lam and z, by a quarter of the product of their changes.
        """
        bounds, (s, special) = self.bounds, self.bounds.labels[n]
        pairs = mean_bounds(self.family.epsilon, special, len(bounds.knots))
        tops, bottoms = (interpolate(pair, bounds.knots) for pair in pairs)
        bodies = [body_between(self.family, s, *both) for both in zip(tops, bottoms, strict=True)]
        z, f = (np.array(x) for x in ([b.z for b in bodies], [b.reduced(self.duals[s]) for b in bodies]))
        # Every vertex has few roundings, as has what is computed of it.
        entropy = max(float((b.g + b.prior.sum()).max()) for b in bodies)
        size = entropy + max(float(b.dot(np.abs(self.duals[s])).max()) for b in bodies)
        error = gamma(8 * self.duals.shape[1] + 64)
        # Between two knots a class counts, and its discount does, if it does at either of them.
        first, last = (z[:-1], z[1:]) if len(z) > 1 else (z, z)
        nearest, farthest = np.minimum(first, last), np.maximum(first, last)
        most = 0.0
        for p in np.flatnonzero(bounds.classes_of(n)):
            own, discounted = nearest <= bounds.high[p], farthest > bounds.low[p]
            for k in range(len(z)):
                over = f[k] - bounds.lam[p, k] * z[k] - bounds.intercepts[n, p, k]
                over += error * (size + abs(bounds.lam[p, k]) * z[k] + abs(bounds.intercepts[n, p, k]))
                for i in {max(k - 1, 0), min(k, len(own) - 1)}:
                    excess = (over - bounds.discount[p, k] * discounted[i])[own[i]]
                    most = max(most, float(excess.max(initial=0.0)))
        change = max(abs(b - a) for a, b in pairs)
        bend = np.abs(np.diff(bounds.lam, axis=1)) * np.diff(bounds.knots)
        return most + 0.25 * float(bend.max(initial=0.0)) * change * float(base.prior.sum())

    def _search(self, n: int) -> None:
        """Look for violations of block n, from the candidates of its tree."""
        block, (s, special) = self.blocks[n], self.bounds.labels[n]
        assert block.tree is not None
        body, c = block.body, self.duals[s]
        w, t, lam = block.tree.candidates()
        if not len(w):
            return
        top, bottom = mean_bounds(self.family.epsilon, special, len(self.bounds.knots))
        w = climb_or_restore(body, c, w, lam, interpolate(top, t), interpolate(bottom, t))
        t, lam = (np.tile(x, len(w) // len(x)) for x in (t, lam))
        f = xlogy(w, w) @ body.prior - w @ body.fold(c)
        z = w @ body.prior / block.scale
        majorant = [evaluate(block.majorant, x, y) for x, y in zip(z, t, strict=True)]
        over = f - block.scale * np.array(majorant)
        # Nodes are not split for what no split mends, however little it is.
        block.violation = max(block.violation, float(over.max()))
        best = np.argsort(-over, kind="stable")
        best = best[over[best] > SETTINGS.negligible_share * self.tolerance]
        best = best[np.append(True, np.diff(over[best]) < -1e-9)[: len(best)]][: PRODUCTS.polished // 2]
        if best.size:
            new = BlockPoints(t[best], w[best], lam[best])
            self.violations[n] = self.violations[n].joined(new) if n in self.violations else new
