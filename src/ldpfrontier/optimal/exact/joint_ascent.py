r"""Ascent of a whole mechanism, all of its columns at once, among those private under an uncertainty set.

With w_j = theta_j v_j, a weight times a column, the column LP is ::

    maximize sum_j mu(w_j)   subject to   sum_j w_j = 1,  w_j in C,

C the cone of private columns (`separation`). As mu is sublinear, mu(w) >= grad mu(v) . w for all w, with
equality at the multiples of v. So the linear program over all w_j together, with the gradients at the present
columns in place of mu, has a solution that is worth at least as much as they are: a step of the
convex-concave procedure. Of C the program knows cuts, and every column has its own: those that were violated
near it. Cuts are added until mixing the w_j with constants, to move them into the cone, costs next to nothing
(Kelley's method). The columns reached join a restricted master, so that no step loses.

Unlike in column generation no prices have to settle, which takes most of the rounds there when columns fill
a smooth cone. But columns only move to where their gradients point. After the ascent, new ones are therefore
found by column generation with its search, as on small tables (`spatial_branch_and_bound`).
"""

from __future__ import annotations

import math

import highspy
import numpy as np
from numpy.typing import NDArray

from ldpfrontier.channel import Channel
from ldpfrontier.numerics.deadline import TimeIsUp
from ldpfrontier.numerics.highs import add_columns, add_rows, new_lp, solve
from ldpfrontier.numerics.settings import SETTINGS as NUMERICS
from ldpfrontier.optimal.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.optimal.column_generation.smoothed import Master, best_channel
from ldpfrontier.optimal.exact.separation import Oracle
from ldpfrontier.optimal.exact.settings import SETTINGS
from ldpfrontier.optimal.exact.spatial_branch_and_bound import JointColumns, generate_by_search
from ldpfrontier.optimal.polyopt.solve import start_columns
from ldpfrontier.types import FloatArray
from ldpfrontier.utility import Columns, MutualInformation


class MechanismAscent:
    """Columns of a cone with the cuts that hold next to them, and the best mechanism made of them.

    Parameters
    ----------
    oracle : Oracle
        Of the cone.

    Attributes
    ----------
    value : float
        Utility of the best mixture of the columns, in nats; 0 at first, that of the constant column.
    """

    def __init__(self, oracle: Oracle) -> None:
        self.family = JointColumns(oracle, MutualInformation(oracle.prior), max_nodes=0)
        self.oracle, self.utility = oracle, self.family.utility
        self._master = Master(self.utility.prior.size)
        self._cuts = list[FloatArray]()  # of every column of the master, (cuts, a1 a2) each
        self.value = 0.0
        self._weights = np.zeros(0)
        self.add(self.family.found)

    def add(self, columns: Columns) -> bool:
        """Add columns of the cone; return whether the value rises."""
        return self._add(columns, list(self.oracle.separate(columns.vectors)))

    def _add(self, columns: Columns, cuts: list[FloatArray]) -> bool:
        """Add columns of the cone with cuts that hold next to them; return whether the value rises."""
        before = self.value
        self._master.add(columns)
        self._cuts += cuts
        self.value, self._weights, _ = self._master.solve()
        return self.value > before * (1.0 + SETTINGS.joint_tolerance)

    @property
    def channel(self) -> Channel:
        """The best mechanism made of the columns."""
        return self._master.channel(self._weights)

    @property
    def support(self) -> FloatArray:
        """The columns of that mechanism, shape (m, a1 a2)."""
        return np.array([self._master.vectors[j] for j in self._used()])

    def _used(self) -> list[int]:
        """Return the numbers of the columns in use."""
        return [int(j) for j in np.flatnonzero(self._weights > SETTINGS.least_used)]

    def rise(self, max_steps: int) -> bool:
        """Move all columns once along their gradients; return whether the value rises."""
        prior, v = self.utility.prior, self.support
        cuts = [self._cuts[j] for j in self._used()]
        m, n = v.shape
        lp = new_lp()
        # Cuts are added to a solved program, which keeps its basis dual feasible.
        lp.setOptionValue("simplex_strategy", 1)
        for _ in range(n):
            lp.addRow(1.0, 1.0, 0, np.empty(0, dtype=np.int32), np.empty(0))
        slopes = prior * np.log(np.maximum(v, NUMERICS.gradient_floor))
        add_columns(lp, slopes.ravel(), np.tile(np.eye(n), (m, 1)))
        for j, own in enumerate(cuts):
            _add_cuts(lp, own, np.full(len(own), j), m)
        for _ in range(max_steps):
            w = np.maximum(solve(lp)[1].reshape(m, n), 0.0)
            z = w @ prior
            live = np.flatnonzero(z > SETTINGS.least_used)
            ends = w[live] / z[live, None]
            found = self.oracle.separate(ends)
            excess = np.maximum(np.einsum("mpx,mx->mp", found, ends), 0.0)
            mixed = excess / (excess + math.expm1(self.oracle.epsilon))
            largest = mixed.max(axis=1, keepdims=True)
            # Cuts that hardly ask for a mixture would make the program longer, and its solution no better.
            least = GENERATION.inner_share * SETTINGS.mixed_share / len(live)
            violated = (mixed > GENERATION.inner_share * largest) & (mixed * z[live, None] > least)
            rows, _ = np.nonzero(violated)
            if float(largest[:, 0] @ z[live]) <= SETTINGS.mixed_share or not rows.size:
                break
            for k in np.unique(rows):
                cuts[live[k]] = np.vstack([cuts[live[k]], found[k][violated[k]]])
            _add_cuts(lp, found[violated], live[rows], m)
        inside, _ = self.oracle.pull(ends)
        return self._add(self.utility.columns(inside), [cuts[j] for j in live])


def _add_cuts(lp: highspy.Highs, cuts: FloatArray, owners: NDArray[np.integer], m: int) -> None:
    """Require that cuts, (k, n), hold for the columns of these numbers among m, (k,)."""
    k, n = cuts.shape
    rows = np.zeros((k, m, n))
    rows[np.arange(k), owners] = -cuts / np.abs(cuts).max(axis=1, keepdims=True)
    add_rows(lp, np.zeros(k), rows.reshape(k, m * n))


def ascended_mechanism(oracle: Oracle, start: Channel) -> Channel:
    """Return a mechanism of columns of a cone, at least as good as one given, by an ascent and searches.

    The work is limited by numbers of linear programs, never by time.

    Parameters
    ----------
    oracle : Oracle
        Of the cone.
    start : Channel
        A mechanism of columns of the cone, as far as rounding allows.

    Returns
    -------
    Channel
        The start where linear programs fail, or the time is up, before anything better is found.
    """
    try:
        ascent, mechanisms = MechanismAscent(oracle), [start]
    except TimeIsUp:
        return start
    try:
        for columns in start_columns(start, ascent.utility):
            inside, _ = oracle.pull(columns.vectors)
            ascent.add(ascent.utility.columns(inside))
        while ascent.rise(SETTINGS.max_search_steps):
            pass
        family = ascent.family
        family.found = Columns.join([family.found, ascent.utility.columns(ascent.support)])
        generate_by_search(family, SETTINGS.joint_tolerance, GENERATION.usual_rounds)
        mechanisms.append(best_channel(family.found))
    except RuntimeError:  # HiGHS gives up some programs
        pass
    return max((ascent.channel, *mechanisms), key=ascent.utility)
