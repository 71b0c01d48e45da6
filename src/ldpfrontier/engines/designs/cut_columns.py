"""Columns of a cone that is known by its cuts, found by searches and by branch and bound."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.engines.designs.branch_and_bound import ExcessBound
from ldpfrontier.engines.designs.column_weights import Prices
from ldpfrontier.engines.designs.quadratic_utility import QuadraticUtility
from ldpfrontier.engines.designs.settings import SETTINGS
from ldpfrontier.engines.joint.spatial_branch_and_bound import JointColumns
from ldpfrontier.model.cones import Cone


@dataclass(eq=False)
class CutColumns:
    """A `SquareFamily` priced by search, and by branch and bound where searches find no column."""

    cone: Cone
    p: FloatArray  # (inputs,), positive
    tolerance: float  # relative gap of the error, of which weights of columns have a part
    max_nodes: int  # of branch and bound, for all prices; with 0, nothing is proved
    exact: bool = field(default=False, init=False)
    left: int = field(init=False)  # nodes
    _family: JointColumns = field(init=False)

    def __post_init__(self) -> None:
        utility = QuadraticUtility(self.p, np.eye(self.p.size))
        self._family, self.left = JointColumns(self.cone, utility, 0), self.max_nodes

    def start(self) -> FloatArray:
        """Return columns that span those of the cone, and of which a channel can be made, (m, inputs)."""
        family, n = self._family, self.p.size
        costs = np.vstack([np.eye(n), np.random.default_rng(0).normal(size=(2 * n, n))])
        found = [family.pool.maximize(cost, np.zeros(n), family.top) for cost in costs]
        ends = np.array([end[1] for end in found if end is not None])
        columns = self._inside(np.vstack([ends, family.revealing_columns()]))
        # Less of a column than of the constant one: with all of these, rows have equal sums.
        lacking = 1.0 - 0.5 * columns / columns.max(axis=1, keepdims=True)
        return np.vstack([columns, self._inside(lacking), np.ones((1, n))])

    def price(self, prices: Prices, known: FloatArray) -> tuple[float, FloatArray]:
        """Return the bound of branch and bound if it comes to that, and columns found from known ones."""
        family, total = self._family, float(prices.lam.sum())
        family.utility = QuadraticUtility(self.p, prices.W)
        family.found = family.utility.columns(np.ones((1, self.p.size)))
        family.set_accuracy(0.0, SETTINGS.inner_gap * self.tolerance * total)
        starts = known[: GENERATION.batch]
        found = family.search(prices.lam, family.starts(starts)).vectors
        best = max(float(prices.excess(found).max()), 0.0)
        target, bound = (1.0 - SETTINGS.outer_share) * self.tolerance * total, math.inf
        if self.left > 0 and best <= target:
            tree = ExcessBound(family, prices, target, starts, best)
            bound = tree.bound(self.left)
            self.left -= tree.nodes
            found = np.vstack([found, *tree.found])
            if tree.found:
                # Near them are more, which cost less to find. As many starts as `JointColumns.price` has.
                new = found[np.argsort(-prices.excess(found), kind="stable")[:8]]
                found = np.vstack([found, family.search(prices.lam, family.starts(new)).vectors])
        return bound, found[np.argsort(-prices.excess(found), kind="stable")]

    def _inside(self, columns: FloatArray) -> FloatArray:
        inside, _ = self.cone.pull(columns)
        return np.asarray(inside / (inside @ self.p)[:, None])
