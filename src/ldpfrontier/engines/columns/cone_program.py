r"""Linear programs over the columns that are private over an uncertainty set and for insiders.

Let x be the share of the budget of F that R in F_{U|s} needs. A column v is private at eps over F, and at the
conditional level k, if there are numbers b, nu >= 0 and c_u with ::

    R . v_s + nu (1 - x) <= e^eps b,     R . v_s + nu e^-eps x >= b     for all s and all R in F_{U|s},
    c_u <= v_{s,u} <= e^k c_u                                           for all s and u:

for (R, R') that F allows together have x + x' <= 1, so that R . v_s <= e^eps b - nu (1 - x) <=
e^eps b - nu x' <= e^eps R' . v_s' (`engines.projections.budget_multiplier`; here nu is a variable).
All conditions are linear in (v, b, nu, c), and for given (v, nu) the R that violate one most are those of the
extreme means of `products.geometry.support_function`: the programs are solved by cutting planes, with cuts
that hold for all of them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import highspy
import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.columns.settings import SETTINGS
from ldpfrontier.engines.products.geometry.support_function import ExtremeMean, empty_extreme, extreme_mean
from ldpfrontier.numerics.highs import new_lp, solve
from ldpfrontier.numerics.jit import kernel
from ldpfrontier.uncertainty.divergence import divergence_cost
from ldpfrontier.uncertainty.renyi_ball import RenyiBall

_INFINITE = highspy.kHighsInf


class Extremes(NamedTuple):
    """Extreme means of every group, and what attains them; the share is x of the module's formulas."""

    mean: FloatArray  # (a1,): R . v_s less, or more, nu times what the share counts
    R: FloatArray  # (a1, a2)
    share: FloatArray  # (a1,)


@kernel
def _ball_extremes(
    v: FloatArray,
    sign: float,
    price: float,
    r: FloatArray,
    radii: FloatArray,
    units: FloatArray,
    order: float,
    space: ExtremeMean,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the largest (sign -1) or least (sign 1) R . v_s -+ price x, its R and x for every group."""
    a1, a2 = v.shape
    mean, R, share = np.empty(a1), np.empty((a1, a2)), np.ones(a1)
    for s in range(a1):
        space.log_t[0] = np.nan
        extreme_mean(r[s], v[s], sign, radii[s], order, price * units[s], space)
        mean[s] = space.value[0]
        R[s] = space.R
        if price > 0.0 and space.price_binds[0]:
            share[s] = space.budget_cost[0] / price
    return mean, R, share


class ConeProgram:
    """The programs of one cone, in the variables c, y = v - c >= 0, b and nu.

    The level eps in nats is above 0, and the conditional one, k, 0 or more and finite.
    """

    def __init__(self, ball: RenyiBall, epsilon: float, conditional_epsilon: float) -> None:
        self.ball, self.epsilon, self._level = ball, epsilon, conditional_epsilon
        self._ratio = math.exp(epsilon)
        a1, a2 = ball.centre.shape
        self.shape, self.prior = (a1, a2), ball.centre.ravel()
        self._units = ball.sensitive / divergence_cost(ball.radius, ball.order)
        n = a1 * a2
        self._variables = n + a2 + 2
        self._lp = lp = new_lp()
        # Objectives change between programs, and cuts are added to solved ones.
        lp.setOptionValue("simplex_strategy", 1)
        lp.addVars(self._variables, np.zeros(self._variables), np.full(self._variables, _INFINITE))
        scale = np.concatenate([ball.centre.sum(axis=0), self.prior])
        lp.addRow(1.0, 1.0, n + a2, np.arange(n + a2, dtype=np.int32), scale)
        for x in range(n):
            places = np.array([a2 + x, x % a2], dtype=np.int32)
            lp.addRow(-_INFINITE, 0.0, 2, places, np.array([1.0, -math.expm1(conditional_epsilon)]))
        self._permanent = lp.getNumRow()
        v = np.ones((a1, a2))
        self._add_cuts(
            self._extremes(v, 1.0, 0.0), self._extremes(v, -1.0, 0.0), np.ones((2, a1), dtype=bool)
        )

    def _extremes(self, v: FloatArray, sign: float, price: float) -> Extremes:
        """Return the largest (sign -1) or least (sign 1) means of v, (a1, a2), at a price of the budget."""
        ball, a2 = self.ball, v.shape[1]
        end = v.argmin(axis=1) if sign > 0 else v.argmax(axis=1)
        # A group that may have any distribution counts as using none of the budget.
        free = ~np.isfinite(ball.projected_radii)
        radii = np.where(free, 1.0, ball.projected_radii)
        r = np.where(free[:, None], 1.0 / a2, ball.conditionals)
        mean, R, share = _ball_extremes(v, sign, price, r, radii, self._units, ball.order, empty_extreme(a2))
        R[free], share[free], mean[free] = np.eye(a2)[end[free]], 0.0, v[free, end[free]]
        return Extremes(mean, R, share)

    def _add_cuts(self, least: Extremes, largest: Extremes, chosen: NDArray[np.bool_]) -> None:
        """Add the cuts of chosen groups, (2, a1): those of the least means, and those of the largest."""
        a1, a2 = self.shape
        ends = (self._variables - 2, self._variables - 1)
        for s in range(a1):
            places = np.concatenate([np.arange(a2), a2 + s * a2 + np.arange(a2), ends]).astype(np.int32)
            if chosen[0][s]:
                row = np.concatenate([least.R[s], least.R[s], [-1.0, least.share[s] / self._ratio]])
                self._lp.addRow(0.0, _INFINITE, len(row), places, row)
            if chosen[1][s]:
                row = np.concatenate([largest.R[s], largest.R[s], [-self._ratio, 1.0 - largest.share[s]]])
                self._lp.addRow(-_INFINITE, 0.0, len(row), places, row)

    def _drop_cuts(self) -> None:
        """Drop the cuts without a multiplier, if there are many."""
        rows, recent = self._lp.getNumRow(), 2 * self.shape[0]
        if rows - self._permanent > SETTINGS.max_cuts:
            duals = np.asarray(self._lp.getSolution().row_dual)
            idle = self._permanent + np.flatnonzero(duals[self._permanent : len(duals) - recent] == 0.0)
            if idle.size:
                self._lp.deleteRows(len(idle), idle.astype(np.int32))

    def step(self, cost: FloatArray) -> FloatArray:
        """Return a column of the cone for which cost . v is nearly largest, and the solution that it is from.

        The program knows some cuts only. Those that its solution violates are added, and the solution is
        mixed with the constant column until it is in the cone and has P-hat . v = 1. The shape is (2, a1 a2);
        RuntimeError is raised if the solver gives up.
        """
        (a1, a2), lp = self.shape, self._lp
        objective = np.concatenate([cost.reshape(a1, a2).sum(axis=0), cost, np.zeros(2)])
        self._drop_cuts()
        lp.changeColsCost(self._variables, np.arange(self._variables, dtype=np.int32), objective)
        _, found, _ = solve(lp)
        v = np.maximum(found[:a2] + found[a2:-2].reshape(a1, a2), 0.0)
        inside, least, largest = self._mixed(v, max(float(found[-1]), 0.0))
        b, nu = found[-2:]
        # Violation of a cut, relative to the scale P-hat . v = 1, from which on it is added to the program.
        tolerance = 1e-5
        chosen = np.array([least.mean < b - tolerance, largest.mean + nu > self._ratio * b + tolerance])
        self._add_cuts(least, largest, chosen)
        return np.stack([inside, v.ravel()])

    def _mixed(self, v: FloatArray, nu: float) -> tuple[FloatArray, Extremes, Extremes]:
        """Return the column of the cone next to v, (a1, a2), at a multiplier, and the extreme means of v."""
        v = np.maximum(v, math.exp(-self._level) * v.max(axis=0))
        least, largest = self._extremes(v, 1.0, nu / self._ratio), self._extremes(v, -1.0, nu)
        gap = max(largest.mean.max() + nu - self._ratio * least.mean.min(), 0.0)
        mixed = v.ravel() + gap / math.expm1(self.epsilon) * (1.0 + SETTINGS.mixing_margin)
        return mixed / (mixed @ self.prior), least, largest
