"""Utilities that are sums over the columns of a channel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from ldpfrontier.channel import Channel, FloatArray, as_distribution
from ldpfrontier.information import mutual_information

from .master import Columns


@dataclass(frozen=True, eq=False)
class MutualInformation:
    """The utility I(X;Y) in nats under a known prior.

    As a sum over columns, mu(v) = sum_x P_x v_x log v_x - Z log Z with Z = P . v (lopuhaa2024, (45);
    kairouz2016, section 5). Scaled to Z = 1, a column counts the divergence of the posterior from the prior.

    Parameters
    ----------
    prior : array_like, any shape
        Distribution of X; (a1, a2) arrays are flattened row-major.

    Raises
    ------
    ValueError
        If the prior is not a distribution.
    """

    prior: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", as_distribution(self.prior, "The prior").ravel())

    def __call__(self, channel: Channel) -> float:
        """Return I(X;Y) of the channel, in nats."""
        return mutual_information(self.prior, channel)

    def columns(self, vectors: FloatArray) -> Columns:
        """Scale columns (m, inputs) to Z = 1 and value them."""
        scaled = vectors / (vectors @ self.prior)[:, None]
        return Columns(scaled, np.asarray(xlogy(scaled, scaled) @ self.prior))
