"""Hypotheses and limits of leakage (liao2017), with the utility and the leakage of a channel.

Utility and leakage are both sums over the columns v of a channel of sublinear functions g_k and psi_k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ldpfrontier.base.types import FloatArray
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import BITS, entropy, excess, excess_of_order, renyi_divergence
from ldpfrontier.numerics.arguments import as_distribution, as_number, as_numbers
from ldpfrontier.numerics.jit import kernel

#: Range of orders, and the largest (order - 1) D(p_k || p_1): their exponentials and products are floats.
LEAST_ORDER, MOST_ORDER, MOST_EXPONENT = 0.01, 100.0, 300.0
ORDERS = f"a number from {LEAST_ORDER:g} to {MOST_ORDER:g}"


def as_hypotheses(hypotheses: ArrayLike) -> FloatArray:
    """Return two or more hypotheses as an array, a distribution per row, shape (m, M)."""
    table = as_numbers(hypotheses, "The table of hypotheses")
    if table.ndim != 2 or len(table) < 2:
        raise ValueError(
            f"The hypotheses have shape {table.shape}; they must be (m, M): a row per hypothesis, m >= 2."
        )
    return np.array([as_distribution(row, f"Hypothesis {k}") for k, row in enumerate(table, start=1)])


def as_limits(leakage: ArrayLike, count: int, *, finite: bool = False) -> FloatArray:
    """Return limits of leakage in nats, shape (count,), given in bits, one for all hypotheses or one each."""
    limits = as_numbers(leakage, "The leakage")
    if limits.shape not in ((), (count,)):
        raise ValueError(
            f"The leakage has shape {limits.shape}; it must be a number or one per hypothesis, ({count},)."
        )
    if not ((np.isfinite(limits) | (not finite)) & (limits >= 0)).all():
        allowed = "a finite number, 0 or more" if finite else "0 or more"
        raise ValueError(f"The leakage is {leakage!r}; every limit must be {allowed}.")
    return np.asarray(np.broadcast_to(limits / BITS, (count,)), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Hypotheses:
    """Hypotheses to distinguish, with the utility and the leakage of channels as sums over columns, in nats.

    The first of the distributions, shape (m, M), is told apart from the others, by the Renyi divergence of an
    order from 0.01 to 100; 1 is relative entropy.
    """

    distributions: FloatArray
    order: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "distributions", as_hypotheses(self.distributions))
        order = as_number(self.order, "The order", ORDERS, least=LEAST_ORDER, most=MOST_ORDER)
        object.__setattr__(self, "order", order)
        if not (order - 1.0) * self._farthest <= MOST_EXPONENT:
            raise ValueError(
                f"The order is {order:g}, with a divergence of {self._farthest:g} nats; (order - 1) times the"
                f" divergence may be at most {MOST_EXPONENT:g}, as its exponential overflows."
            )

    @property
    def _farthest(self) -> float:
        """The largest divergence that is finite."""
        return float(self.divergences[np.isfinite(self.divergences)].max(initial=0.0))

    @property
    def letters(self) -> int:
        """Number of letters M."""
        return int(self.distributions.shape[1])

    @cached_property
    def entropies(self) -> FloatArray:
        """H(p_k), nats, shape (m,)."""
        return np.array([entropy(p) for p in self.distributions])

    @cached_property
    def divergences(self) -> FloatArray:
        """D(p_k || p_1) of the order asked for, k >= 2, nats, shape (m - 1,): the utility without privacy."""
        first, *others = self.distributions
        return np.array([renyi_divergence(p, first, self.order) for p in others])

    def gains(self, columns: FloatArray) -> FloatArray:
        """Return g_k of columns (..., M), shape (..., m - 1): their sum over a channel is `hellinger`."""
        flat = self._flat(columns)
        return np.asarray(_gains(flat, self.distributions, self.order)).reshape(*columns.shape[:-1], -1)

    def costs(self, columns: FloatArray) -> FloatArray:
        """Return psi_k of columns (..., M), shape (..., m): their sum over a channel is its leakage."""
        flat = self._flat(columns)
        return np.asarray(_costs(flat, self.distributions)).reshape(*columns.shape[:-1], -1)

    def slopes(self, columns: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the gradient of weights . psi at columns (..., M) > 0, shape (..., M)."""
        flat = self._flat(columns)
        return np.asarray(_slopes(flat, self.distributions, weights)).reshape(columns.shape)

    def _flat(self, columns: FloatArray) -> FloatArray:
        """Return a copy of columns (..., M) as (n, M), of one layout, for which kernels are compiled."""
        return np.array(columns, dtype=np.float64, order="C").reshape(-1, self.letters)

    def divergence(self, hellinger: float) -> float:
        """Turn a sum of `gains` into the divergence, nats; increasing."""
        if self.order == 1:
            return hellinger
        argument = max((self.order - 1.0) * hellinger, -1.0)
        return math.log1p(argument) / (self.order - 1.0) if argument > -1 else math.inf

    def hellinger(self, divergence: float) -> float:
        """Invert `divergence`."""
        if self.order == 1:
            return divergence
        return math.expm1((self.order - 1.0) * divergence) / (self.order - 1.0)

    def utility(self, channel: Channel) -> float:
        """Return min_k D(p_k W || p_1 W) in bits."""
        return self.divergence(float(self.gains(channel.matrix.T).sum(axis=0).min())) * BITS

    def leakage(self, channel: Channel) -> FloatArray:
        """Return I(p_k, W) in bits, shape (m,)."""
        return np.asarray(self.costs(channel.matrix.T).sum(axis=0) * BITS)


@kernel
def _gains(columns: FloatArray, distributions: FloatArray, order: float) -> FloatArray:
    n, m = len(columns), len(distributions) - 1
    gains = np.empty((n, m))
    for j in range(n):
        z = 0.0
        for i in range(columns.shape[1]):
            z += distributions[0, i] * columns[j, i]
        for k in range(m):
            difference = 0.0
            for i in range(columns.shape[1]):
                difference += (distributions[k + 1, i] - distributions[0, i]) * columns[j, i]
            if z > 0.0:
                gains[j, k] = z * excess_of_order(difference / z, order)
            else:  # only an order below 1 lets p_1 miss a letter
                gains[j, k] = difference * order / (1.0 - order) if order < 1.0 else 0.0
    return gains


@kernel
def _costs(columns: FloatArray, distributions: FloatArray) -> FloatArray:
    costs = np.zeros((len(columns), len(distributions)))
    for j in range(len(columns)):
        for k in range(len(distributions)):
            z = 0.0
            for i in range(columns.shape[1]):
                z += distributions[k, i] * columns[j, i]
            if z > 0.0:
                for i in range(columns.shape[1]):
                    if distributions[k, i] > 0.0:
                        costs[j, k] += distributions[k, i] * z * excess((columns[j, i] - z) / z)
    return costs


@kernel
def _slopes(columns: FloatArray, distributions: FloatArray, weights: FloatArray) -> FloatArray:
    slopes = np.zeros(columns.shape)
    for j in range(len(columns)):
        for k in range(len(distributions)):
            z = 0.0
            for i in range(columns.shape[1]):
                z += distributions[k, i] * columns[j, i]
            if z > 0.0:  # a hypothesis that does not see a column has nothing to weigh
                for i in range(columns.shape[1]):
                    slopes[j, i] += weights[k] * distributions[k, i] * math.log(columns[j, i] / z)
    return slopes
