"""A utility of one's own: a sublinear function of the columns of a channel."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

import numpy as np

from ldpfrontier.base.types import FloatArray
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.optimum import Unit
from ldpfrontier.model.utility import Columns, MutualInformation, SublinearUtility
from ldpfrontier.numerics.arguments import check_callable, check_choice


@dataclass(frozen=True, eq=False)
class ColumnUtility(SublinearUtility):
    """A utility of one's own, sum_y mu(Q_y) over the columns Q_y of the channel.

    Parameters
    ----------
    prior : array_like, any shape
        A distribution on the inputs, positive where mu depends on the input: columns are scaled to P . v = 1.
    function : callable
        mu: maps columns, an array of shape (m, inputs) with entries 0 or more, to their values, shape (m,).
        It must be homogeneous, mu(t v) = t mu(v), and convex, which together is called sublinear.
    unit : {"nats", "bits", "1"}

    Raises
    ------
    ValueError
        If the prior is not a distribution, or the function is seen not to be sublinear (at random columns).

    Examples
    --------
    The chi-squared information sum_y sum_x P(x) (Q(y|x) - q(y))^2 / q(y):

    >>> import numpy as np
    >>> from ldpfrontier import ColumnUtility
    >>> p = np.array([0.2, 0.3, 0.5])
    >>> chi2 = ColumnUtility(p, lambda v: (v**2 @ p) / (v @ p) - v @ p)
    """

    prior: FloatArray
    function: Callable[[FloatArray], FloatArray]
    unit: Unit = "1"

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", MutualInformation(self.prior).prior)
        check_callable(self.function, "The function")
        check_choice(self.unit, "unit", get_args(Unit))
        self._check_sublinear()

    def _check_sublinear(self) -> None:
        """Check at random columns that the function is homogeneous and convex."""
        rng = np.random.default_rng(0)
        v, w = rng.gamma(0.5, size=(2, 64, self.prior.size)) + 1e-9
        values, other, both, scaled = (self._evaluated(x) for x in (v, w, v + w, 3.0 * v))
        size = np.abs(values) + np.abs(other) + np.abs(both)
        if (np.abs(scaled - 3.0 * values) > 1e-9 * (np.abs(scaled) + size)).any():
            raise ValueError(
                "The function is not homogeneous: at three times a column it is not three times as large."
            )
        if (bad := both > values + other + 1e-9 * size).any():
            row = int(bad.argmax())
            raise ValueError(
                f"The function is not convex: at the sum of two columns it is {both[row]:.6g}, more than"
                f" {values[row]:.6g} + {other[row]:.6g}, what it is at both."
            )

    def _evaluated(self, columns: FloatArray) -> FloatArray:
        values = np.asarray(self.function(columns), dtype=np.float64)
        if values.shape != (len(columns),) or not np.isfinite(values).all():
            raise ValueError(
                f"The function must map columns of shape {columns.shape} to {len(columns)} finite numbers."
            )
        return values

    def __call__(self, channel: Channel) -> float:
        """Return the utility of the channel, in its unit."""
        return float(self.homogeneous_values(channel.matrix.T).sum())

    def columns(self, vectors: FloatArray) -> Columns:
        """Scale columns (m, inputs) to P . v = 1 and value them."""
        scaled = vectors / (vectors @ self.prior)[:, None]
        return Columns(scaled, self._evaluated(scaled))

    def patterns(self, epsilon: float | FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return P . v and mu(v) / P . v of all 2^k staircase columns, as of `Utility`."""
        n = self.prior.size
        inside = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(bool)
        rows = [np.where(inside, 1.0, math.exp(-e)) for e in np.ravel(epsilon)]
        z = np.array([v @ self.prior for v in rows])
        values = np.array([self.columns(v).values for v in rows])
        return (z, values) if np.ndim(epsilon) else (z[0], values[0])
