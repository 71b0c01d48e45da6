r"""Linear programs over the columns that are private for acquaintances.

The cone is that of `joint.association_cone`: the conditional level, and for all s != t and u != w with least
odds ratio rho < 1 and all shares a of u given s the cuts ::

    a v_su + (1 - a) v_sw  <=  e^eps (a' v_tu + (1 - a') v_tw),       a' = rho a / (rho a + 1 - a).

On large tables these are many thousand comparisons, of which few bind: programs start with the level given
U, c_u <= v_su <= e^eps c_u, and get the cuts that their solutions violate most. Each has four cells, and the
worst share has a closed form.
"""

from __future__ import annotations

import math

import numpy as np

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.engines.columns.settings import SETTINGS
from ldpfrontier.engines.joint.association_cone import AssociationCone
from ldpfrontier.engines.joint.settings import SETTINGS as JOINT
from ldpfrontier.numerics.warm_simplex import WarmSimplex


class AssociationProgram:
    """The programs of one cone of a level above 0, in the variables c and y = v - c >= 0.

    Columns have scale . v = 1, scale of shape (a1, a2). Where it does not see some u, entries have no bound
    but `largest`. A step has some programs, with cuts added between them.
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
        whole, x = np.concatenate([scale.sum(axis=0), self.prior]), np.arange(n)
        rise = np.full(n, -math.expm1(cone.epsilon))
        nothing = np.zeros(n)
        # y >= 0, and y at most (e^eps - 1) c.
        places = [np.stack([a2 + x, a2 + x], axis=1), np.stack([a2 + x, x % a2], axis=1)]
        entries = [np.stack([-np.ones(n), nothing], axis=1), np.stack([np.ones(n), rise], axis=1)]
        right = np.zeros(2 * n)
        if math.isfinite(largest):
            every = np.arange(n + a2)
            places.append(np.stack([every, every], axis=1))
            entries.append(np.stack([np.ones(n + a2), np.zeros(n + a2)], axis=1))
            right = np.concatenate([right, np.full(n + a2, largest)])
        # Cuts added after a program, and cuts above which unused ones are dropped.
        self._added, self._kept = math.ceil(0.5 * n), 3 * n
        # The first vertex has one positive entry of c, and no y.
        others = np.delete(np.arange(a2), whole[:a2].argmax())
        self._lp = WarmSimplex(
            whole,
            np.concatenate(places),
            np.concatenate(entries),
            right,
            np.concatenate([x, n + others]),
            self._kept + (max(programs, GENERATION.usual_rounds) + 1) * n,
        )
        self._largest = largest
        # Of the variables of a cut.
        su, sw, tu, tw = cone.places
        self._places = np.stack([su % a2, sw % a2, a2 + su, a2 + sw, a2 + tu, a2 + tw], axis=1)

    def step(self, cost: FloatArray) -> FloatArray:
        """Return a column of the cone and a solution to go on from, by programs, as `ConeProgram.step`."""
        objective: FloatArray | None = self._objective(cost)
        for _ in range(self._programs):
            v, objective = self._solution(objective), None
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
        gap = gap * (1.0 + SETTINGS.mixing_margin) + JOINT.pull_margin * ratio * float(raised.max())
        return np.asarray(raised + gap / math.expm1(self.cone.epsilon))

    def upper_bound(self, cost: FloatArray, programs: int) -> float:
        """Return an upper bound on cost . v over the columns of the cone, after some programs."""
        objective: FloatArray | None = self._objective(cost)
        for _ in range(programs):
            v, objective = self._solution(objective), None
            value = self._lp.value
            if self._add_cuts(v, self.prior.size) <= SETTINGS.association_tolerance:
                break
        return value

    @property
    def reaches_box(self) -> bool:
        """Whether the last solution has a variable at its largest value."""
        return bool(self._lp.x.max() >= self._largest * (1.0 - 1e-6))

    def _objective(self, cost: FloatArray) -> FloatArray:
        """Return the objective, and drop the cuts that do not bind, if there are many."""
        if self._lp.added > self._kept:
            self._lp.drop()
        return np.concatenate([cost.reshape(self.shape).sum(axis=0), cost])

    def _solution(self, objective: FloatArray | None) -> FloatArray:
        """Return the column that solves the program, shape (a1 a2,)."""
        found, a2 = self._lp.maximize(objective), self.shape[1]
        return np.maximum(found[:a2] + found[a2:].reshape(self.shape), 0.0).ravel()

    def _add_cuts(self, v: FloatArray, most: int) -> float:
        """Add the cuts that a column violates most; return the largest violation."""
        cone, ratio = self.cone, math.exp(self.cone.epsilon)
        shares = cone.worst_shares(v[None])
        means = cone.means(v[None], shares)[0]
        excess = means[:, 0] - ratio * means[:, 1]
        chosen = np.flatnonzero(excess > SETTINGS.association_tolerance)
        if chosen.size > most:
            chosen = chosen[np.argpartition(-excess[chosen], most - 1)[:most]]
        if chosen.size:
            of_s, of_t, rest = (of_all[0, chosen] for of_all in shares)
            entries = np.empty((chosen.size, 6))
            entries[:, 2], entries[:, 3] = of_s, 1.0 - of_s
            entries[:, 4], entries[:, 5] = -ratio * of_t, -ratio * rest
            np.add(entries[:, 2:4], entries[:, 4:], out=entries[:, :2])
            self._lp.add(self._places[chosen], entries)
        return float(excess.max(initial=-math.inf))
