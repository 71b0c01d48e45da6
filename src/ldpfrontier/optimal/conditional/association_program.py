r"""Linear programs over the columns that are private for all who know anything about U alone.

The cone is that of `exact.association_cone`: the level given U, and for all s != t and u != w with the least
odds ratio rho < 1 and all shares a of u given s the cuts ::

    a v_su + (1 - a) v_sw  <=  e^eps (a' v_tu + (1 - a') v_tw),       a' = rho a / (rho a + 1 - a).

On large tables these are many thousand comparisons, of which few bind: programs start with the level given
U, c_u <= v_su <= e^eps c_u, and get the cuts that their solutions violate most. Each has four cells, and the
worst share has a closed form.
"""

from __future__ import annotations

import math

import highspy
import numpy as np

from ldpfrontier.numerics.highs import new_lp, solve
from ldpfrontier.optimal.conditional.settings import SETTINGS
from ldpfrontier.optimal.exact.association_cone import AssociationCone
from ldpfrontier.optimal.exact.settings import SETTINGS as EXACT
from ldpfrontier.types import FloatArray

_INFINITE = highspy.kHighsInf


class AssociationProgram:
    """The programs of one cone, in the variables c and y = v - c >= 0.

    Parameters
    ----------
    cone : AssociationCone
        Of a level above 0.
    scale : ndarray, shape (a1, a2)
        Columns have scale . v = 1.
    largest : float
        The largest entry of y and c; where the scale does not see some u, entries have no bound.
    programs : int
        Those of a step, with cuts added between them.
    """

    def __init__(
        self,
        cone: AssociationCone,
        scale: FloatArray,
        largest: float = math.inf,
        *,
        programs: int = SETTINGS.association_programs,
    ) -> None:
        self._programs = programs
        self.cone, self.shape, self.prior = cone, cone.shape, scale.ravel()
        a2, n = self.shape[1], scale.size
        self._variables = n + a2
        self._lp = lp = new_lp()
        # Objectives change between programs, and cuts are added to solved ones.
        lp.setOptionValue("simplex_strategy", 1)
        self._largest = top = min(largest, _INFINITE)
        lp.addVars(self._variables, np.zeros(self._variables), np.full(self._variables, top))
        whole = np.concatenate([scale.sum(axis=0), self.prior])
        lp.addRow(1.0, 1.0, self._variables, np.arange(self._variables, dtype=np.int32), whole)
        rise = math.expm1(cone.epsilon)
        for x in range(n):
            places = np.array([a2 + x, x % a2], dtype=np.int32)
            lp.addRow(-_INFINITE, 0.0, 2, places, np.array([1.0, -rise]))
        self._permanent = lp.getNumRow()
        added, kept = SETTINGS.association_cuts
        self._added, self._kept = math.ceil(added * n), math.ceil(kept * n)

    def step(self, cost: FloatArray) -> FloatArray:
        """Return a column of the cone for which cost . v is nearly largest.

        Cuts are added to the program that its solution violates, a few times, and the last solution is mixed
        with the constant column until it is in the cone.

        Parameters
        ----------
        cost : ndarray, shape (a1 a2,)

        Returns
        -------
        ndarray, shape (2, a1 a2)
            The column, with scale . v = 1, and the solution of the program, to go on from.

        Raises
        ------
        RuntimeError
            If HiGHS gives up.
        """
        self._set_cost(cost)
        for _ in range(self._programs):
            v = self._solution()
            excess = self._add_cuts(v, self._added)
            if excess <= SETTINGS.association_tolerance:
                break
        inside = self._mixed(v, excess)
        return np.stack([inside / (inside @ self.prior), v])

    def _mixed(self, v: FloatArray, excess: float) -> FloatArray:
        """Return a column mixed with the constant one until it is in the cone, given its largest excess.

        The constant column has the same slack, e^eps - 1, in all cuts.
        """
        raised, ratio = self.cone.raised(v[None])[0], math.exp(self.cone.epsilon)
        gap = max(excess, 0.0) + (1.0 + ratio) * float((raised - v).max())
        gap = gap * (1.0 + SETTINGS.mixing_margin) + EXACT.pull_margin * ratio * float(raised.max())
        return np.asarray(raised + gap / math.expm1(self.cone.epsilon))

    def upper_bound(self, cost: FloatArray, programs: int) -> float:
        """Return an upper bound on cost . v over the columns of the cone, after some programs."""
        self._set_cost(cost)
        for _ in range(programs):
            if self._add_cuts(self._solution(), self._kept) <= SETTINGS.association_tolerance:
                break
        return float(self._lp.getInfo().objective_function_value)

    @property
    def reaches_box(self) -> bool:
        """Whether the last solution has a variable at its largest value."""
        return bool(max(self._lp.getSolution().col_value) >= self._largest * (1.0 - 1e-6))

    def _set_cost(self, cost: FloatArray) -> None:
        """Change the objective, and drop the cuts without a multiplier, if there are many."""
        lp = self._lp
        rows = lp.getNumRow()
        if rows - self._permanent > self._kept:
            duals = np.asarray(lp.getSolution().row_dual)
            idle = self._permanent + np.flatnonzero(duals[self._permanent : rows] == 0.0)
            if idle.size:
                lp.deleteRows(len(idle), idle.astype(np.int32))
        objective = np.concatenate([cost.reshape(self.shape).sum(axis=0), cost])
        lp.changeColsCost(self._variables, np.arange(self._variables, dtype=np.int32), objective)

    def _solution(self) -> FloatArray:
        """Return the column that solves the program, shape (a1 a2,)."""
        found, a2 = solve(self._lp)[1], self.shape[1]
        return np.maximum(found[:a2] + found[a2:].reshape(self.shape), 0.0).ravel()

    def _add_cuts(self, v: FloatArray, most: int) -> float:
        """Add the cuts that a column violates most; return the largest violation."""
        cone, a2 = self.cone, self.shape[1]
        shares = cone.worst_shares(v[None])
        means, ratio = cone.means(v[None], shares)[0], math.exp(cone.epsilon)
        excess = means[:, 0] - ratio * means[:, 1]
        largest = float(excess.max(initial=-math.inf))
        chosen = np.flatnonzero(excess > SETTINGS.association_tolerance)
        if not chosen.size:
            return largest
        chosen = chosen[np.argsort(-excess[chosen], kind="stable")[:most]]
        of_s = shares.of_s[0, chosen]
        of_t, rest = ratio * shares.of_t[0, chosen], ratio * shares.rest_of_t[0, chosen]
        su, sw, tu, tw = (cells[chosen] for cells in cone.places)
        entries = [of_s - of_t, 1.0 - of_s - rest, of_s, 1.0 - of_s, -of_t, -rest]
        places = [su % a2, sw % a2, a2 + su, a2 + sw, a2 + tu, a2 + tw]
        count, width = len(chosen), len(places)
        self._lp.addRows(
            count,
            np.full(count, -_INFINITE),
            np.zeros(count),
            count * width,
            np.arange(0, count * width, width, dtype=np.int32),
            np.stack(places, axis=1).astype(np.int32).ravel(),
            np.stack(entries, axis=1).ravel(),
        )
        return largest
