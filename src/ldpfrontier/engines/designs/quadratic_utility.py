"""The utility |W v|^2 / (p . v) of a column, for searches along gradients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldpfrontier.base.types import FloatArray
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.optimum import Unit
from ldpfrontier.model.utility import Columns, SublinearUtility


@dataclass(frozen=True, eq=False)
class QuadraticUtility(SublinearUtility):
    """The utility |W v|^2 / (p . v), a quadratic form where p . v = 1."""

    prior: FloatArray  # p, (n,), positive
    W: FloatArray  # (k, n)

    @property
    def unit(self) -> Unit:
        """The unit, which is always "1"."""
        return "1"

    def __call__(self, channel: Channel) -> float:
        """Return the utility of the channel."""
        return float(self.homogeneous_values(channel.matrix.T).sum())

    def columns(self, vectors: FloatArray) -> Columns:
        """Scale columns (m, n) to p . v = 1 and value them."""
        scaled = vectors / (vectors @ self.prior)[:, None]
        return Columns(scaled, self.values(scaled))

    def values(self, columns: FloatArray) -> FloatArray:
        """Return |W v|^2 of columns, (m, n), with p . v = 1, shape (m,)."""
        return np.asarray(((columns @ self.W.T) ** 2).sum(axis=1))

    def gradient(self, columns: FloatArray) -> FloatArray:
        """Return 2 W' W v of columns, shape (m, n)."""
        return np.asarray(2.0 * (columns @ self.W.T) @ self.W)

    def patterns(self, epsilon: float | FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return `Utility.patterns` of all 2^n staircase columns at one level, in nats."""
        n = self.prior.size
        inside = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        v = np.where(inside == 1, 1.0, np.exp(-float(np.ravel(epsilon)[0])))
        return v @ self.prior, self.columns(v).values
