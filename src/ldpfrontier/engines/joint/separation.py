r"""Separation oracle of the cone of columns that are private under an uncertainty set.

A column v is in the cone if ::

    R_s . v_s <= e^eps R_t . v_t

for all s != t and all pairs of conditional distributions (R_s, R_t) that some P in F has: `worst_pairs` says
which these are. For a column outside, the oracle returns the inequality that it violates most for every
(s, t), a *cut*. Those returned so far make a polyhedron around the cone (`cut_pool`).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.joint.compared_means import ComparedMeans, CutsOf
from ldpfrontier.engines.joint.settings import SETTINGS
from ldpfrontier.engines.joint.worst_pairs import Accuracy, BallArrays, ComparedPairs, worst_pairs
from ldpfrontier.model.privacy import log_ratio
from ldpfrontier.numerics.arguments import as_instance, as_number
from ldpfrontier.numerics.rounding import gamma
from ldpfrontier.uncertainty.divergence import allowed_probabilities
from ldpfrontier.uncertainty.renyi_ball import RenyiBall


@dataclass(frozen=True, eq=False)
class Oracle(ComparedMeans):
    """The cone of an uncertainty set (`ldpfrontier.model.cones.Cone`), by the cuts that columns violate."""

    ball: RenyiBall
    epsilon: float  # privacy level of the cone, in nats

    @property
    def prior(self) -> FloatArray:
        """Distribution of the inputs of columns, under which their utility counts, shape (a1, a2)."""
        return self.ball.centre

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of sensitive and useful values."""
        a1, a2 = self.prior.shape
        return a1, a2

    def entry_bounds(self, scale: FloatArray) -> FloatArray:
        """Return upper bounds on the entries of columns v with scale . v = 1, shape (a1 a2,)."""
        if not np.array_equal(scale, self.prior.ravel()):
            return super().entry_bounds(scale)
        # Averages of two groups differ by at most e^eps and have the mean 1: R . v_s <= e^(2 eps).
        return math.exp(2.0 * self.epsilon) * (1.0 + gamma(16)) / self._largest_probabilities.ravel()

    @cached_property
    def _largest_probabilities(self) -> FloatArray:
        """The largest R_s(u) over the projections, rounded downwards, shape (a1, a2)."""
        ball = self.ball
        return allowed_probabilities(ball.conditionals, ball.projected_radii[:, None], ball.order)

    @property
    def inequalities(self) -> FloatArray:
        """None to begin with: all cuts come from columns outside, shape (0, inputs)."""
        return np.zeros((0, self.prior.size))

    @cached_property
    def _pairs(self) -> ComparedPairs:
        chosen = list(itertools.permutations(range(len(self.ball.centre)), 2))
        s, t = np.array(chosen, dtype=np.intp).reshape(-1, 2).T
        return ComparedPairs(s, t)

    @cached_property
    def _ball(self) -> BallArrays:
        ball = self.ball
        return BallArrays(ball.conditionals, ball.sensitive, float(ball.radius), float(ball.order))

    def worst(self, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the most violated cut of every column, (m, a1 a2), and pair of sensitive values.

        The levels, (m, pairs), are the largest log R_s . v_s - log R_t . v_t in nats, and cuts, (m, pairs, a1
        a2), have a . v <= 0 on the cone.
        """
        means, cuts = self._worst_cuts(columns)
        return log_ratio(means[..., 0], means[..., 1]), cuts

    def _worst_cuts(self, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return `_cuts` as exactly as they are found."""
        smooth = self.ball.order >= 1
        # Below order 1 the ratio has kinks: a group may be anything from some share on.
        angle = SETTINGS.angle_accuracy if smooth else 1e-12
        return self._cuts(columns, Accuracy(angle, 0.0, True))

    def separate(self, columns: FloatArray, *, exact: bool = False) -> FloatArray:
        """Return cuts that are nearly the most violated ones, at little cost, shape (m, pairs, a1 a2)."""
        if exact:
            return self._worst_cuts(columns)[1]
        smooth = self.ball.order >= 1
        # Accuracy of the angle for cuts that need not be the worst, where the ratio is smooth.
        angle = 1e-3 if smooth else SETTINGS.angle_accuracy
        # Share of the budget that cuts that need not be the worst leave unspent, so that rounding cannot
        # exceed it.
        return self._cuts(columns, Accuracy(angle, 1e-6, False))[1]

    def _cuts(self, columns: FloatArray, accuracy: Accuracy) -> tuple[FloatArray, FloatArray]:
        """Return the two means, (m, pairs, 2), and the cut, (m, pairs, a1 a2), of every worst pair found."""
        m, shape = len(columns), self.ball.centre.shape
        # A copy, as what is compiled depends on how an array lies in memory.
        blocks = np.array(columns.reshape(m, *shape), order="C")
        means, cuts = worst_pairs(blocks, self._pairs, self._ball, math.exp(self.epsilon), accuracy)
        return means, cuts.reshape(*means.shape[:2], -1)

    def levels(self, columns: FloatArray) -> FloatArray:
        """Return the realized levels of columns, in nats, shape (m,)."""
        return np.asarray(self.worst(columns)[0].max(axis=1, initial=0.0))

    def worst_comparisons(self, columns: FloatArray) -> tuple[FloatArray, CutsOf]:
        """Return the means of the worst pairs, (m, pairs, 2), and what makes cuts of those chosen."""
        means, found = self._worst_cuts(columns)
        return means, found.__getitem__


def robust_cone(ball: RenyiBall, epsilon: float) -> Oracle:
    """Return the columns that are private over an uncertainty set (lopuhaa2024, Definition 1).

    Those of PolyOpt are a `polyopt_cone`.

    Parameters
    ----------
    ball : RenyiBall
    epsilon : float
        Level in nats, above 0 and at most 30.

    Raises
    ------
    ValueError
        If an argument is of another kind or out of range.
    """
    as_instance(ball, RenyiBall, "The ball")
    level = as_number(epsilon, "epsilon", "a number of nats, above 0 and at most 30", least=1e-300, most=30.0)
    return Oracle(ball, level)
