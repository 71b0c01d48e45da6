"""Optimal locally differentially private mechanisms: staircase columns (kairouz2016, Theorems 2 and 4)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import xlogy

from ldpfrontier.channel import FloatArray

from .blocks import subset_sums
from .master import BATCH, Columns, Intractable, Optimum, generate
from .utility import MutualInformation

#: All patterns are priced at once; 2^20 of them take about 20 ms.
MAX_INPUTS = 20


def optimal_ldp(
    utility: MutualInformation, epsilon: float, *, tolerance: float = 1e-9, max_rounds: int = 1000
) -> Optimum:
    """Find the best eps-locally differentially private mechanism, with a certificate.

    Parameters
    ----------
    utility : MutualInformation
        The utility, with its prior on k inputs.
    epsilon : float
        Privacy level in nats, >= 0.
    tolerance : float
        Relative gap at which to stop.
    max_rounds : int
        Most restricted LPs to solve.

    Returns
    -------
    Optimum
        Channel with at most k outputs, whose columns have entries in ratio 1 or e^eps.

    Raises
    ------
    Intractable
        For more than 20 inputs, as all patterns are priced.
    ValueError
        If epsilon is negative or not finite.
    """
    check_epsilon(epsilon)
    k = len(utility.prior)
    if k > MAX_INPUTS:
        raise Intractable(f"The prior has {k} inputs; at most {MAX_INPUTS} are supported.")
    family = Staircase(utility, epsilon)
    start = 1.0 + (math.exp(epsilon) - 1.0) * np.eye(k)
    return generate(family, utility.columns(start), utility, tolerance=tolerance, max_rounds=max_rounds)


def check_epsilon(epsilon: float) -> None:
    """Raise a ValueError unless epsilon is a finite number >= 0."""
    if not (math.isfinite(epsilon) and epsilon >= 0):
        raise ValueError(f"epsilon is {epsilon}; it must be a finite number, 0 or more.")


@dataclass(frozen=True, eq=False)
class Staircase:
    """Columns with entries 1 and e^eps, one for every subset T of inputs that carries e^eps.

    Attributes
    ----------
    utility : MutualInformation
    epsilon : float
    """

    utility: MutualInformation
    epsilon: float
    efforts: int = 1

    @property
    def scale(self) -> FloatArray:
        """The prior, shape (k,)."""
        return self.utility.prior

    @cached_property
    def _values(self) -> tuple[FloatArray, FloatArray]:
        """Z = 1 + (e^eps - 1) P(T) and mu / Z for every subset, shape (2^k,)."""
        mass = np.clip(subset_sums(self.scale), 0.0, 1.0)
        z = 1.0 + math.expm1(self.epsilon) * mass
        return z, math.exp(self.epsilon) * self.epsilon * mass / z - np.log(z)

    def price(self, prices: FloatArray, effort: int) -> tuple[float, Columns]:
        """Return the largest reduced cost over all subsets, exactly, and the best subsets."""
        z, values = self._values
        reduced = values - (prices.sum() + math.expm1(self.epsilon) * subset_sums(prices)) / z
        few = min(BATCH, len(reduced))
        best = np.argpartition(-reduced, few - 1)[:few]
        bits = best[:, None] >> np.arange(len(prices)) & 1
        vectors = (1.0 + math.expm1(self.epsilon) * bits) / z[best][:, None]
        return float(reduced.max()), Columns(vectors, np.asarray(xlogy(vectors, vectors) @ self.scale))
