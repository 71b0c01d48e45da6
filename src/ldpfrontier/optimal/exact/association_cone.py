r"""The cone of columns that are private for all who know anything about U alone (docs/beyond.md, 11).

A column v is in the cone if, for all s != t and all u != w with the least odds ratio rho < 1, and all shares
a of u given s, ::

    a v_su + (1 - a) v_sw  <=  e^eps (a' v_tu + (1 - a') v_tw),       a' = rho a / (rho a + 1 - a).

Each of these is linear in v: a cut. With g = 1 - (1 - rho) a the difference of the sides is a constant
minus ::

    ((v_su - v_sw) g + e^eps rho (v_tu - v_tw) / g) / (1 - rho),

so that the most violated cut of a column has g^2 = e^eps rho (v_tu - v_tw) / (v_su - v_sw), or is at an end.
The ends a = 0 and a = 1 are the level given U. At rho = 0 the condition is v_su <= e^eps v_tw.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.cones import BaseCone
from ldpfrontier.numerics.rounding import gamma
from ldpfrontier.optimal.exact.separation import raised_to_level
from ldpfrontier.optimal.exact.settings import SETTINGS
from ldpfrontier.types import FloatArray
from ldpfrontier.uncertainty.odds_ratios import Comparisons, OddsRatios


@dataclass(frozen=True, eq=False)
class AssociationCone(BaseCone):
    """The columns that are private for all who know anything about U alone; methods as of `Cone`.

    Attributes
    ----------
    odds : OddsRatios
    epsilon : float
        Level in nats, 0 or more.
    """

    odds: OddsRatios
    epsilon: float

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of sensitive and useful values."""
        return self.odds.shape

    @property
    def _cells(self) -> NDArray[np.intp]:
        return np.arange(math.prod(self.shape)).reshape(self.shape)

    @cached_property
    def inequalities(self) -> FloatArray:
        """The level given U, and the conditions of odds ratios that may be 0, shape (m, a1 a2)."""
        cells, compared = self._cells, self.odds.comparisons
        pairs = [(cells[s], cells[t]) for s, t in itertools.permutations(range(len(cells)), 2)]
        zero = compared.rho == 0.0
        larger = [first for first, _ in pairs] + [cells[compared.s, compared.u][zero]]
        smaller = [second for _, second in pairs] + [cells[compared.t, compared.w][zero]]
        x, y = np.concatenate(larger), np.concatenate(smaller)
        cuts, rows = np.zeros((len(x), cells.size)), np.arange(len(x))
        cuts[rows, x] = math.exp(-self.epsilon) * (1.0 - gamma(4))
        cuts[rows, y] = -1.0
        return cuts

    @cached_property
    def _curved(self) -> Comparisons:
        """The comparisons with odds ratios between 0 and 1."""
        compared = self.odds.comparisons
        return compared.those(compared.rho > 0.0)

    def separate(self, columns: FloatArray, *, exact: bool = False) -> FloatArray:
        """Return the most violated cut of every comparison, shape (m, comparisons, a1 a2)."""
        return self._cuts(columns, math.exp(self.epsilon) * (1.0 + gamma(16)))

    def _cuts(self, columns: FloatArray, factor: float) -> FloatArray:
        """Return the most violated cuts of another cone, with `factor` in the place of e^eps."""
        cells, (s, t, u, w, rho) = self._cells, self._curved
        su, sw, tu, tw = cells[s, u], cells[s, w], cells[t, u], cells[t, w]
        rise, below = columns[:, su] - columns[:, sw], columns[:, tu] - columns[:, tw]
        # Where the rise is not positive, no share violates more than the ends.
        square = np.divide(below, rise, out=np.zeros_like(rise), where=(rise > 0.0) & (below > 0.0))
        g = np.clip(np.sqrt(factor * rho * square), rho, 1.0)
        share = np.clip((1.0 - g) / (1.0 - rho), 0.0, 1.0)
        cuts, k = np.zeros((len(columns), len(rho), cells.size)), np.arange(len(rho))
        # Any share is a cut; its coefficients are weakened by their rounding.
        larger = 1.0 - gamma(16)
        smaller = factor / (rho * share + 1.0 - share)
        cuts[:, k, su], cuts[:, k, sw] = larger * share, larger * (1.0 - share)
        cuts[:, k, tu], cuts[:, k, tw] = -smaller * rho * share, -smaller * (1.0 - share)
        return cuts

    def constant_slack(self, cuts: FloatArray) -> float:
        """Return the slack of cuts (..., a1 a2) at the constant column, whose means are equal."""
        return math.expm1(self.epsilon)

    @property
    def least_constant_slack(self) -> float:
        """The least slack at the constant column of cuts whose largest coefficient is 1.

        It is (e^eps - 1) / e^eps, as no coefficient exceeds e^eps.
        """
        return -math.expm1(-self.epsilon)

    def raised(self, columns: FloatArray) -> FloatArray:
        """Return columns, (m, a1 a2), with entries raised until they meet the level given U."""
        return raised_to_level(columns, self.shape, self.epsilon)

    def pull(self, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Raise entries to meet the level given U, and mix with the constant column, no more than needed.

        Newton's method from outside: the weight is that of the most violated cut.

        Returns
        -------
        columns : ndarray, shape (m, a1 a2)
        cuts : ndarray, shape (any, a1 a2)
            The cuts met on the way.
        """
        inside, cuts = self.raised(columns).copy(), list[FloatArray]()
        rows, linear = np.arange(len(columns)), self.inequalities * math.exp(self.epsilon)
        # Stricter by a margin, so that rounding does not lift columns above the level.
        factor = math.exp(self.epsilon - SETTINGS.pull_margin)
        for _ in range(SETTINGS.max_pull_steps):
            v = inside[rows]
            curved = self._cuts(v, factor)
            larger = np.hstack(
                [np.einsum("mpx,mx->mp", np.maximum(curved, 0.0), v), v @ np.maximum(linear, 0.0).T]
            )
            smaller = np.hstack(
                [np.einsum("mpx,mx->mp", np.minimum(curved, 0.0), v), v @ np.minimum(linear, 0.0).T]
            )
            excess = larger + smaller
            over = excess > 0.5 * SETTINGS.pull_margin * larger
            cuts.append(self.separate(v)[over[:, : curved.shape[1]]])
            bad = over.any(axis=1)
            rows, v, excess = rows[bad], v[bad], excess[bad].max(axis=1, keepdims=True)
            if rows.size == 0:
                return inside, np.concatenate(cuts)
            weight = excess / (excess + factor - 1.0)
            inside[rows] = (1.0 - weight) * v + weight
        inside[rows] = 1.0
        return inside, np.concatenate(cuts)

    def entry_bounds(self, scale: FloatArray) -> FloatArray:
        """Return upper bounds on the entries of columns v with scale . v = 1, shape (a1 a2,)."""
        masses = scale.reshape(self.shape)
        # The scale sees v_su, and v_tu >= e^-eps v_su for all other t.
        seen = masses + math.exp(-self.epsilon) * (masses.sum(axis=0) - masses)
        with np.errstate(divide="ignore"):
            return np.asarray((1.0 / seen * (1.0 + gamma(2 * len(masses) + 8))).ravel())
