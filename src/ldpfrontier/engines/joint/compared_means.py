"""What cones have in common whose cuts compare two means of the entries of a column."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.joint.settings import SETTINGS
from ldpfrontier.model.cones import BaseCone
from ldpfrontier.model.privacy import log_ratio

#: Given which comparisons are chosen, (m, k), their cuts, (any, inputs).
CutsOf = Callable[[NDArray[np.bool_]], FloatArray]


class ComparedMeans(BaseCone, ABC):
    """A cone of columns of which one mean is at most e^epsilon times another one, for many pairs of means.

    The weights of a mean sum to 1.
    """

    epsilon: float

    @abstractmethod
    def worst_comparisons(self, columns: FloatArray) -> tuple[FloatArray, CutsOf]:
        """Return the worst means of columns, (m, inputs), shape (m, k, 2), and what makes their cuts."""

    def constant_slack(self, cuts: FloatArray) -> float:
        """Return the slack of cuts (..., inputs) at the constant column, whose means are equal."""
        return math.expm1(self.epsilon)

    @property
    def least_constant_slack(self) -> float:
        """The least slack at the constant column of cuts whose largest coefficient is 1.

        It is (e^eps - 1) / e^eps, as no coefficient exceeds e^eps.
        """
        return -math.expm1(-self.epsilon)

    def pull(self, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return columns, (m, inputs), raised and mixed with the constant one, no more than the level needs.

        Newton's method from outside: the weight is that of the most violated cut. The cuts met on the way,
        (any, inputs), are returned, too.
        """
        epsilon = self.epsilon
        inside, cuts, rows = self.raised(columns).copy(), list[FloatArray](), np.arange(len(columns))
        # Levels over a tiny set are noisy: a wider margin, should the usual one not do, and the constant at
        # last.
        for step in range(60):
            margin = SETTINGS.pull_margin * 2.0 ** max(step - 8, 0)
            means, cuts_of = self.worst_comparisons(inside[rows])
            over = log_ratio(means[..., 0], means[..., 1]) > epsilon - 0.5 * SETTINGS.pull_margin
            cuts.append(cuts_of(over))
            bad = over.any(axis=1)
            rows, means = rows[bad], means[bad]
            if rows.size == 0:
                return inside, np.concatenate(cuts)
            v = inside[rows]
            excess = means[..., 0] - math.exp(epsilon - margin) * means[..., 1]
            excess = np.maximum(excess.max(axis=1, keepdims=True), 0.0)
            weight = excess / (excess + math.expm1(epsilon - margin))
            inside[rows] = (1.0 - weight) * v + weight
        inside[rows] = 1.0
        return inside, np.concatenate(cuts)
