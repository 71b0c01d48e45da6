r"""Separation oracle of the cone of columns that are private under an uncertainty set.

A column v is in the cone if ::

    R_s . v_s <= e^eps R_t . v_t

for all pairs of conditional distributions (R_s, R_t) in the envelope: for s != t those that some P in F has
(``"exact"``; `budget_split` says which these are), or all pairs of the projections F_{U|s} and F_{U|t}
(``"projections"``, a larger envelope and a smaller cone). For a column outside, the oracle returns the
inequality that it violates most for every (s, t), a *cut*. Those returned so far make a polyhedron around the
cone (`cut_pool`).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from ldpfrontier.optimal.exact.budget_split import Accuracy, Ball, ComparedPairs, worst_pairs
from ldpfrontier.optimal.exact.settings import SETTINGS
from ldpfrontier.privacy import log_ratio
from ldpfrontier.types import FloatArray
from ldpfrontier.uncertainty.renyi_ball import RenyiBall

Conditionals = Literal["exact", "projections"]
Pairs = Literal["all", "distinct"]


@dataclass(frozen=True, eq=False)
class Oracle:
    """The cuts of a cone, found by their violation.

    Attributes
    ----------
    ball : RenyiBall
    epsilon : float
        Privacy level of the cone, in nats.
    envelope : {"exact", "projections"}
        Whether two sensitive values share the budget or each has all of it.
    pairs : {"all", "distinct"}
        Whether a sensitive value is also compared with itself, both sides at full budget.
    """

    ball: RenyiBall
    epsilon: float
    envelope: Conditionals = "exact"
    pairs: Pairs = "distinct"

    @cached_property
    def _pairs(self) -> ComparedPairs:
        a1 = range(len(self.ball.centre))
        chosen = [(s, t) for s, t in itertools.product(a1, a1) if s != t or self.pairs == "all"]
        s, t = np.array(chosen, dtype=np.intp).reshape(-1, 2).T
        return ComparedPairs(s, t, (s != t) & (self.envelope == "exact"))

    @cached_property
    def _ball(self) -> Ball:
        ball = self.ball
        return Ball(ball.conditionals, ball.sensitive, float(ball.radius), float(ball.order))

    def worst(self, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the most violated cut of every column and pair of sensitive values.

        Parameters
        ----------
        columns : ndarray, shape (m, a1 a2)

        Returns
        -------
        levels : ndarray, shape (m, pairs)
            Largest log R_s . v_s - log R_t . v_t, in nats.
        cuts : ndarray, shape (m, pairs, a1 a2)
            a with a . v <= 0 on the cone.
        """
        smooth = self.ball.order >= 1
        angle = SETTINGS.angle_accuracy if smooth else SETTINGS.kink_angle_accuracy
        means, cuts = self._cuts(columns, Accuracy(angle, 0.0, True))
        return log_ratio(means[..., 0], means[..., 1]), cuts

    def fast_cuts(self, columns: FloatArray) -> FloatArray:
        """Return cuts that are nearly the most violated ones, at little cost, shape (m, pairs, a1 a2)."""
        smooth = self.ball.order >= 1
        angle = SETTINGS.fast_angle_accuracy if smooth else SETTINGS.angle_accuracy
        return self._cuts(columns, Accuracy(angle, SETTINGS.unspent_share, False))[1]

    def _cuts(self, columns: FloatArray, accuracy: Accuracy) -> tuple[FloatArray, FloatArray]:
        """Return the two means, (m, pairs, 2), and the cut, (m, pairs, a1 a2), of every worst pair found."""
        m, shape = len(columns), self.ball.centre.shape
        factor = math.exp(self.epsilon)
        means, cuts = worst_pairs(columns.reshape(m, *shape), self._pairs, self._ball, factor, accuracy)
        return means, cuts.reshape(*means.shape[:2], -1)

    def levels(self, columns: FloatArray) -> FloatArray:
        """Return the realized levels of columns, in nats, shape (m,)."""
        return np.asarray(self.worst(columns)[0].max(axis=1, initial=0.0))

    def pull(self, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mix columns with the constant one, no more than needed for the level epsilon.

        Newton's method from outside: the weight is that of the most violated cut.

        Returns
        -------
        columns : ndarray, shape (m, inputs)
        cuts : ndarray, shape (any, inputs)
            The cuts met on the way.
        """
        inside, cuts = columns.copy(), []
        rows = np.arange(len(columns))
        for step in range(SETTINGS.max_pull_steps):
            # Levels over a tiny set are noisy: a wider margin, should the usual one not do.
            margin = SETTINGS.pull_margin * 2.0 ** max(step - 8, 0)
            slack = -math.expm1(self.epsilon - margin)
            levels, found = self.worst(inside[rows])
            over = levels > self.epsilon - 0.5 * SETTINGS.pull_margin
            cuts.append(found[over])
            bad = over.any(axis=1)
            rows, levels, found = rows[bad], levels[bad], found[bad]
            if rows.size == 0:
                return inside, np.concatenate(cuts)
            v = inside[rows]
            # a . v at the level epsilon - margin: the negative part of a belongs to the smaller side.
            excess = np.einsum("mpx,mx->mp", np.where(found > 0, found, found * math.exp(-margin)), v)
            excess = np.maximum(excess.max(axis=1, keepdims=True), 0.0)
            weight = excess / (excess - slack)
            inside[rows] = (1.0 - weight) * v + weight
        inside[rows] = 1.0
        return inside, np.concatenate(cuts)
