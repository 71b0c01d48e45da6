r"""Mechanisms that see the useful value alone, and what they say of those that see little more.

A column with the conditional level k has v_{s,u} <= e^k v_{s',u} for all u and s != s'. Its averages ::

    w_u = sum_s P(s|u) v_{s,u}     has     w_u / upper_{s,u} <= v_{s,u} <= w_u lower_{s,u},
    upper_{s,u} = p + (1 - p) e^k,     lower_{s,u} = 1 / (p + (1 - p) e^-k),     p = P(s|u),

so w is in the cone of all w >= 0 with ::

    sum_u R_s(u) w_u / upper_{s,u} <= e^eps sum_u R_t(u) w_u lower_{t,u}

for all (R_s, R_t) that the envelope allows. It has as many variables as there are useful values, so that the
column LP over it can be solved with a certificate on large tables (`exact`). At k = 0 this is no relaxation:
all v_{s,u} are w_u, and the mechanism reports u alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldpfrontier.numerics.rounding import gamma
from ldpfrontier.optimal.exact.budget_split import Accuracy, Ball, ComparedPairs, worst_pairs
from ldpfrontier.optimal.exact.separation import Oracle
from ldpfrontier.types import FloatArray


@dataclass(frozen=True, eq=False)
class PublicOracle(Oracle):
    """The cuts of the cone of averages w; columns have shape (a2,).

    Attributes are those of `Oracle`, and the conditional level in nats.
    """

    conditional_epsilon: float = 0.0

    @property
    def prior(self) -> FloatArray:
        """The distribution of U under P-hat, shape (1, a2)."""
        return np.asarray(self.ball.centre.sum(axis=0, keepdims=True))

    @cached_property
    def _factors(self) -> tuple[FloatArray, FloatArray]:
        """1 / upper and lower, (a1, a2) each."""
        total, a1 = self.prior, len(self.ball.centre)
        # 1 - p as a sum, in which nothing cancels.
        rest = (1.0 - np.eye(a1)) @ self.ball.centre
        rest = np.where(total > 0, rest / np.where(total > 0, total, 1.0), 1.0 - 1.0 / a1)
        k, error = self.conditional_epsilon, gamma(2 * a1 + 16)
        shrunk, grown = 1.0 / (1.0 + rest * math.expm1(k)), 1.0 / (1.0 + rest * math.expm1(-k))
        # Outwards: the cone has all averages. At k = 0 both are 1.
        return (shrunk * (1.0 - error), grown * (1.0 + error)) if k > 0.0 else (shrunk, grown)

    def entry_bounds(self, scale: FloatArray) -> FloatArray:
        """Return upper bounds on the entries of w with P_U . w = 1, which is the scale, shape (a2,)."""
        shrunk, grown = self._factors
        # Some group t has r_t . w <= 1. Two steps between groups, each e^eps max(lower) at most, and one of
        # max(upper) in between, bound the mean of w_u / upper_{s,u} of every group.
        most = (math.exp(self.epsilon) * grown.max()) ** 2 / shrunk.min()
        top = most / (self._largest_probabilities * shrunk).max(axis=0)
        top = np.minimum(top, 1.0 / np.maximum(self.prior[0], 1e-300))
        return np.asarray(top * (1.0 + gamma(2 * self.ball.centre.size + 64)))

    def _cuts(self, columns: FloatArray, accuracy: Accuracy) -> tuple[FloatArray, FloatArray]:
        """Return the two means, (m, pairs, 2), and the cut, (m, pairs, a2), of every worst pair found."""
        m, a1 = len(columns), len(self.ball.centre)
        shrunk, grown = self._factors
        larger, smaller = columns[:, None, :] * shrunk, columns[:, None, :] * grown
        s, t, shared = self._pairs
        ratio = math.exp(self.epsilon)
        if self.envelope == "simplex":
            means, of_larger, of_smaller = self._simplex_cuts(larger, smaller, ratio)
            return means, (of_larger * shrunk + of_smaller * grown).sum(axis=2)
        ball = self._ball
        doubled = Ball(
            np.tile(ball.conditionals, (2, 1)), np.tile(ball.sensitive, 2), ball.radius, ball.order
        )
        both, pairs = np.concatenate([larger, smaller], axis=1), ComparedPairs(s, t + a1, shared)
        means, cuts = worst_pairs(both, pairs, doubled, ratio, accuracy)
        return means, (cuts.reshape(m, len(s), 2 * a1, -1) * np.concatenate([shrunk, grown])).sum(axis=2)
