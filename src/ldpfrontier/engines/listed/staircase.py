r"""All 2^k staircase columns, priced by listing them (kairouz2016, Theorem 2).

A column v has v_x = 1 for the inputs x of a set T and v_x = e^-eps for all others. At dual prices alpha, its
reduced cost per unit of Z(T) = prior . v is ::

    [mu(v) - e^-eps sum_x alpha_x - (1 - e^-eps) sum_{x in T} alpha_x] / Z(T),

which subset sums give for all T at once. If it is at most c for every T, sum(alpha) + c bounds the utility of
every eps-LDP mechanism.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.model.utility import Columns, Utility
from ldpfrontier.numerics.subset_sums import subset_sums


@dataclass(frozen=True, eq=False)
class Staircase:
    """Columns with two values in ratio e^eps, one for every subset T of inputs that has the larger one.

    The level is in nats, above 0; for several of them, (n, 1), `response_duals` and `reduced_costs` have a
    row each.
    """

    utility: Utility
    epsilon: float | FloatArray
    efforts: int = 1

    @property
    def scale(self) -> FloatArray:
        """The prior of the utility, shape (k,)."""
        return self.utility.prior

    @cached_property
    def _values(self) -> tuple[FloatArray, FloatArray]:
        return self.utility.patterns(self.epsilon)

    @property
    def response_duals(self) -> FloatArray:
        """Duals at which the columns of randomized response have reduced cost 0 (kairouz2016, (82))."""
        z, values = self._values
        single = 1 << np.arange(len(self.scale))
        mu, floor = values[..., single] * z[..., single], np.exp(-self.epsilon)
        total = mu.sum(axis=-1, keepdims=True) / (1.0 + (len(single) - 1) * floor)
        return np.asarray((mu - floor * total) / -np.expm1(-self.epsilon))

    def reduced_costs(self, duals: FloatArray) -> FloatArray:
        """Return the reduced costs of all columns per unit of Z, shape (2^k,)."""
        z, values = self._values
        cost = np.exp(-self.epsilon) * duals.sum(axis=-1, keepdims=True)
        cost = cost - np.expm1(-self.epsilon) * subset_sums(duals)
        return np.asarray(values - cost / z)

    def bound(self, duals: FloatArray) -> float:
        """Return the bound on the utility that some duals prove, exact over all columns."""
        return float(duals.sum() + self.reduced_costs(duals).max())

    def price(self, duals: FloatArray, effort: int) -> tuple[float, Columns]:
        """Return the largest reduced cost over all subsets, exactly, and the columns of the best subsets."""
        reduced = self.reduced_costs(duals)
        few = min(GENERATION.batch, len(reduced))
        best = np.argpartition(-reduced, few - 1)[:few]
        bits = best[:, None] >> np.arange(len(duals)) & 1
        vectors = np.where(bits == 1, 1.0, np.exp(-self.epsilon))
        return float(reduced.max()), self.utility.columns(vectors)
