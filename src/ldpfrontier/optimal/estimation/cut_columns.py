"""Columns of a cone that is known by its cuts, found by searches along gradients."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ldpfrontier.cones import Cone
from ldpfrontier.optimal.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.optimal.estimation.quadratic_utility import QuadraticUtility
from ldpfrontier.optimal.estimation.weights import Prices
from ldpfrontier.optimal.exact.spatial_branch_and_bound import JointColumns
from ldpfrontier.types import FloatArray


@dataclass(eq=False)
class CutColumns:
    """Columns of a cone, priced by search: a `Pricing` without a bound.

    Parameters
    ----------
    cone : Cone
    p : ndarray, shape (inputs,)
        Positive.
    tolerance : float
        Excess that is not looked for, as a share of the sum of prices.
    """

    cone: Cone
    p: FloatArray
    tolerance: float
    exact: bool = field(default=False, init=False)
    _family: JointColumns = field(init=False)

    def __post_init__(self) -> None:
        utility = QuadraticUtility(self.p, np.eye(self.p.size))
        self._family = JointColumns(self.cone, utility, 0)

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

    def search(self, prices: Prices, known: FloatArray) -> FloatArray:
        """Return columns found from those known, with changes, and from random ones, (m, inputs)."""
        family = self._family
        family.utility = QuadraticUtility(self.p, prices.W)
        family.found = family.utility.columns(np.ones((1, self.p.size)))
        family.set_accuracy(0.0, self.tolerance * float(prices.lam.sum()))
        found = family.search(prices.lam, family.starts(known[: GENERATION.batch])).vectors
        return np.asarray(found[np.argsort(-prices.excess(found), kind="stable")])

    def excess(self, prices: Prices) -> float:
        """Return inf, as nothing is proved."""
        return math.inf

    def _inside(self, columns: FloatArray) -> FloatArray:
        inside, _ = self.cone.pull(columns)
        return np.asarray(inside / (inside @ self.p)[:, None])
