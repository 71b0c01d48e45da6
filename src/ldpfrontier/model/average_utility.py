"""Several utilities of one mechanism: their average with weights, and what a list of them has to meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy

from ldpfrontier.base.types import FloatArray
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.optimum import Unit
from ldpfrontier.model.utility import Columns, MutualInformation, SublinearUtility, check_utility
from ldpfrontier.numerics.arguments import as_distribution, excerpt
from ldpfrontier.numerics.rounding import gamma
from ldpfrontier.numerics.settings import SETTINGS as NUMERICS

#: Most utilities of a list: all pairs of eleven hypotheses.
MAX_UTILITIES = 110


@dataclass(frozen=True, eq=False)
class AverageUtility(SublinearUtility):
    """The average of several utilities, such as that of f-divergences over pairs of hypotheses.

    Parameters
    ----------
    utilities : sequence of SublinearUtility
        At most 110, on the same inputs and in the same unit.
    weights : array_like, shape (m,), optional
        A distribution on the utilities; by default all count alike.

    Raises
    ------
    ValueError
        If the utilities are not of that kind, or the weights are no distribution on them.

    Examples
    --------
    >>> from ldpfrontier import AverageUtility, FDivergence, optimal_ldp
    >>> pairs = [FDivergence([0.6, 0.4], [0.5, 0.5]), FDivergence([0.5, 0.5], [0.1, 0.9])]
    >>> optimal_ldp(AverageUtility(pairs), 1.0).status
    'optimal'
    """

    utilities: Sequence[SublinearUtility]
    weights: ArrayLike | None = None

    def __post_init__(self) -> None:
        several = checked_utilities(self.utilities)
        object.__setattr__(self, "utilities", several)
        share = self.weights if self.weights is not None else np.full(len(several), 1.0 / len(several))
        weights = as_distribution(share, "The weights of the utilities")
        if weights.shape != (len(several),):
            raise ValueError(
                f"The weights of the utilities have shape {weights.shape}; there must be {len(several)}."
            )
        object.__setattr__(self, "weights", weights)

    @cached_property
    def prior(self) -> FloatArray:
        """The mean of the distributions that normalize the columns of each utility, shape (inputs,)."""
        return np.asarray(np.mean([utility.prior.ravel() for utility in self.utilities], axis=0))

    @property
    def unit(self) -> Unit:
        """The unit that all utilities have."""
        return self.utilities[0].unit

    @property
    def _parts(self) -> list[tuple[float, SublinearUtility]]:
        """The utilities that count, with their weights."""
        weights = np.asarray(self.weights, dtype=np.float64).tolist()
        return [(share, utility) for share, utility in zip(weights, self.utilities, strict=True) if share > 0]

    def __call__(self, channel: Channel) -> float:
        """Return the average of the utilities of the channel, in their unit."""
        return sum(share * utility(channel) for share, utility in self._parts)

    def columns(self, vectors: FloatArray) -> Columns:
        """Scale columns (m, inputs) to prior . v = 1 and value them."""
        scaled = vectors / (vectors @ self.prior)[:, None]
        values = np.array([share * each.homogeneous_values(scaled) for share, each in self._parts])
        return Columns(scaled, values.sum(axis=0))

    def patterns(self, epsilon: float | FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return prior . v and mu(v) / prior . v of all 2^k staircase columns, as of `Utility`."""
        masses, values = (
            np.array(x) for x in zip(*(u.patterns(epsilon) for u in self.utilities), strict=True)
        )
        mass = masses.mean(axis=0)
        return mass, np.tensordot(np.asarray(self.weights), masses * values, axes=1) / mass


@dataclass(frozen=True, eq=False)
class AverageInformation(AverageUtility):
    """The average of mutual informations under several distributions of the input; attributes as above.

    Its bounds over boxes are secants of each v_x log v_x and, as the masses Z = P . v of a column are not all
    1, tangents of each -Z log Z, which is concave.
    """

    @cached_property
    def _weighted(self) -> tuple[FloatArray, FloatArray]:
        """The distributions, (m, inputs), and their weights, (m,), of those that count."""
        shares, parts = zip(*self._parts, strict=True)
        return np.array([part.prior.ravel() for part in parts]), np.array(shares)

    def gradient(self, columns: FloatArray) -> FloatArray:
        """Return the gradient of mu, shape (m, inputs); small entries count as larger."""
        P, shares = self._weighted
        logs = np.log(np.maximum(columns, NUMERICS.gradient_floor))
        mass = np.log(np.maximum(columns @ P.T, NUMERICS.gradient_floor))
        return np.asarray(logs * (shares @ P) - (mass * shares) @ P)

    def majorant(self, lo: FloatArray, hi: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return slopes and constants, (inputs,) each, of lines above mu, as of `SublinearUtility`."""
        P, shares = self._weighted
        whole = float(shares.sum())
        slopes, constants = MutualInformation(shares @ P / whole).majorant(lo, hi)
        middle = np.maximum(P @ (lo + hi) / 2.0, 1e-300)
        # -Z log Z <= z - (log z + 1) Z at any z.
        logs = shares * (np.log(middle) + 1.0)
        rest = float(shares @ middle) + gamma(8 * P.size) * float(np.abs(logs) @ (P @ hi) + shares @ middle)
        return whole * slopes - logs @ P, whole * constants + rest / lo.size

    def gaps(self, v: FloatArray, lo: FloatArray, hi: FloatArray) -> FloatArray:
        """Return by how much the majorant exceeds mu at v, as a sum over the inputs, shape (inputs,)."""
        P, shares = self._weighted
        whole = float(shares.sum())
        of_secants = whole * MutualInformation(shares @ P / whole).gaps(v, lo, hi)
        middle, mass = np.maximum(P @ (lo + hi) / 2.0, 1e-300), P @ v
        of_tangents = shares * np.maximum(middle - (np.log(middle) + 1.0) * mass + xlogy(mass, mass), 0.0)
        moved = P * (hi - lo)
        total = np.maximum(moved.sum(axis=1, keepdims=True), 1e-300)
        return np.asarray(of_secants + of_tangents @ (moved / total))


def checked_utilities(utilities: object) -> tuple[SublinearUtility, ...]:
    """Return a sequence of utilities on the same inputs and in the same unit as a tuple."""
    if isinstance(utilities, str) or not isinstance(utilities, Sequence):
        raise ValueError(f"The utilities are {excerpt(utilities)}; they must be a sequence of utilities.")
    if not 1 <= len(utilities) <= MAX_UTILITIES:
        raise ValueError(f"There are {len(utilities)} utilities; there must be 1 to {MAX_UTILITIES}.")
    for utility in utilities:
        check_utility(utility)
    sizes = {utility.prior.size for utility in utilities}
    if len(sizes) > 1:
        raise ValueError(f"The utilities have {min(sizes)} to {max(sizes)} inputs; all must have as many.")
    if len(units := sorted({utility.unit for utility in utilities})) > 1:
        raise ValueError(f"The utilities have the units {' and '.join(units)}; all must have the same.")
    return tuple(utilities)
