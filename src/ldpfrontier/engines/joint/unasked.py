r"""Cones of columns that are the same for every sensitive value: mechanisms that see U alone.

S is not asked; what links it to U is what the cone for (S, U) was made of. A column w with an entry for every
useful value is allowed if the column v_{s,u} = w_u is (docs/beyond/theorems.md, statement 18). Every cut a of
the cone of v is one of w, with the coefficients sum_s a_{s,u}.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.joint.association_cone import AssociationCone
from ldpfrontier.model.comparisons import ROUNDING
from ldpfrontier.model.cones import BaseCone, Cone, PolyhedralCone, check_cone
from ldpfrontier.numerics.rounding import gamma


@dataclass(frozen=True, eq=False)
class UnaskedCone(BaseCone):
    """The columns of U alone that a cone of columns of (S, U) allows; attributes and methods as of `Cone`."""

    cone: Cone

    @property
    def shape(self) -> tuple[int, int]:
        """One, and the number of useful values."""
        return 1, self.cone.shape[1]

    def _summed(self, cuts: FloatArray) -> FloatArray:
        """Return cuts (..., a1 a2) of columns that are equal for all s, (..., a2)."""
        return np.asarray(cuts.reshape(*cuts.shape[:-1], *self.cone.shape).sum(axis=-2))

    def _repeated(self, columns: FloatArray) -> FloatArray:
        return np.tile(columns, (1, self.cone.shape[0]))

    @cached_property
    def inequalities(self) -> FloatArray:
        """Those of the cone, summed over s, shape (m, a2)."""
        return summed_inequalities(self.cone)

    def separate(self, columns: FloatArray, *, exact: bool = False) -> FloatArray:
        """Return the cuts of the cone, summed over s, shape (m, any, a2)."""
        return self._summed(self.cone.separate(self._repeated(columns), exact=exact))

    @property
    def least_constant_slack(self) -> float:
        """That of the cone over a1: a sum over s has coefficients at most a1 times as large."""
        return self.cone.least_constant_slack / self.cone.shape[0]

    @property
    def cuts_kept(self) -> int:
        """As of the cone."""
        return self.cone.cuts_kept

    def pull(self, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return columns moved into the cone, which leaves them equal for all s, and the cuts met."""
        inside, cuts = self.cone.pull(self._repeated(columns))
        return inside[:, : columns.shape[1]].copy(), self._summed(cuts)


def summed_inequalities(cone: Cone) -> FloatArray:
    """Return the inequalities of a cone at columns that are equal for all s, (m, a2), without empty ones."""
    rows = cone.inequalities.reshape(-1, *cone.shape)
    summed, sizes = rows.sum(axis=1), np.abs(rows).sum(axis=(1, 2))
    return np.asarray(summed[np.abs(summed).max(axis=1, initial=0.0) > ROUNDING * sizes])


def unasked_cone(cone: Cone) -> Cone:
    """Return the columns of mechanisms that see U alone and keep the promise of a cone for (S, U).

    Such a mechanism asks for U and not for S; what links the two is what the cone was made of
    (docs/beyond/theorems.md, statement 18).

    Parameters
    ----------
    cone : Cone
        Of columns with inputs (s, u), such as `robust_cone`, `association_cone` or `polyopt_cone`.

    Returns
    -------
    Cone
        Of columns with inputs u.

    Raises
    ------
    ValueError
        If the argument is no cone.

    Examples
    --------
    >>> from ldpfrontier import RenyiBall, polyopt_cone, unasked_cone
    >>> ball = RenyiBall.confidence([[30, 20, 10], [10, 40, 10]])
    >>> unasked_cone(polyopt_cone(ball.lower_bounds, 1.0)).shape
    (1, 3)
    """
    check_cone(cone)
    if isinstance(cone, AssociationCone):
        return unasked_association(cone)
    return (
        PolyhedralCone(summed_inequalities(cone)) if isinstance(cone, PolyhedralCone) else UnaskedCone(cone)
    )


def unasked_association(cone: AssociationCone) -> PolyhedralCone:
    r"""Return the columns w of U alone that are private for all who know anything about U alone.

    They are those with w_u <= r w_u' for every pair of letters, and tanh(log(r)/4) tanh(log(1/rho)/4) =
    tanh(eps/4), where rho is the least odds ratio of the two over all pairs of sensitive values. There is no
    limit if rho >= e^-eps.
    """
    compared = cone.odds.comparisons
    n, rows = cone.shape[1], []
    least = np.ones((n, n))
    np.minimum.at(least, (compared.u, compared.w), compared.rho)
    for u, w in itertools.permutations(range(n), 2):
        rho = least[u, w]  # the same as that of w, u
        told, allowed = (1.0 - math.sqrt(rho)) / (1.0 + math.sqrt(rho)), math.tanh(cone.epsilon / 4.0)
        if told > allowed:
            row = np.zeros(n)
            row[u], row[w] = 1.0, -math.exp(4.0 * math.atanh(allowed / told)) * (1.0 - gamma(64))
            rows.append(row)
    return PolyhedralCone(np.array(rows).reshape(-1, n))
