r"""The cone of columns that are private for acquaintances, who know anything about U alone.

A column v is in the cone (docs/beyond/theorems.md, statement 11) if, for all s != t and all u != w with the
least odds ratio rho < 1, and all shares a of u given s, ::

    a v_su + (1 - a) v_sw  <=  e^eps (a' v_tu + (1 - a') v_tw),       a' = rho a / (rho a + 1 - a).

Each of these is linear in v: a cut. With g = 1 - (1 - rho) a the difference of the sides is a constant
minus ::

    ((v_su - v_sw) g + e^eps rho (v_tu - v_tw) / g) / (1 - rho),

so that the most violated cut of a column has g^2 = e^eps rho (v_tu - v_tw) / (v_su - v_sw), or is at an end.
The ends a = 0 and a = 1 are the conditional level. At rho = 0 the condition is v_su <= e^eps v_tw.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray, IntArray
from ldpfrontier.engines.joint.compared_means import ComparedMeans, CutsOf
from ldpfrontier.engines.joint.settings import SETTINGS
from ldpfrontier.model.cones import raised_to_level
from ldpfrontier.numerics.arguments import as_instance, as_number
from ldpfrontier.numerics.rounding import gamma
from ldpfrontier.uncertainty.odds_ratios import OddsRatios

#: Comparisons, times columns, that are looked at together: so few stay in the cache.
_AT_ONCE = 8_000


class FourCells(NamedTuple):
    """The cells (s, u), (s, w), (t, u), (t, w) of comparisons, as inputs in row-major order, (k,) each."""

    su: IntArray
    sw: IntArray
    tu: IntArray
    tw: IntArray


class Shares(NamedTuple):
    """The shares of u among u and w, a given s and a' given t, and 1 - a' to full precision, (m, k)."""

    of_s: FloatArray
    of_t: FloatArray
    rest_of_t: FloatArray


@dataclass(frozen=True, eq=False)
class AssociationCone(ComparedMeans):
    """The columns that are private for acquaintances; methods as of `Cone`.

    Entries of impossible cells meet the conditional level as well, although nothing asks for it: that costs
    no utility, as no other condition has them, and the entry of another s with the same u will do. The
    level is in nats, 0 or more.
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
        """The conditional level, and the conditions of odds ratios that may be 0, shape (m, a1 a2)."""
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
    def places(self) -> FourCells:
        """The cells (s, u), (s, w), (t, u), (t, w) of all comparisons, shape (k,) each."""
        cells, (s, t, u, w, _) = self._cells, self.odds.comparisons
        return FourCells(cells[s, u], cells[s, w], cells[t, u], cells[t, w])

    @cached_property
    def _rho(self) -> FloatArray:
        return self.odds.comparisons.rho

    @cached_property
    def _ratios(self) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
        """Least odds ratios rho, e^eps rho and 1 - rho, shape (k,) each, and where rho is 0."""
        rho = self._rho
        return rho, math.exp(self.epsilon) * rho, 1.0 - rho, np.flatnonzero(rho == 0.0)

    def worst_shares(self, columns: FloatArray) -> Shares:
        """Return the shares of u at which columns, (m, a1 a2), violate the comparisons most, (m, k) each."""
        rho, scaled, spread, never = self._ratios
        of_su, of_sw, of_tu, of_tw = (columns.take(cells, axis=1) for cells in self.places)
        rise, below = of_su - of_sw, of_tu - of_tw
        # Where the rise is not positive, no share violates more than the ends.
        g = np.zeros_like(rise)
        np.divide(below, rise, out=g, where=(rise > 0.0) & (below > 0.0))
        g = np.minimum(np.maximum(np.sqrt(scaled * g), rho), 1.0)
        share = np.minimum((1.0 - g) / spread, 1.0)
        # At rho = 0 the worst one is 1, as a limit: then nobody with t has u.
        if never.size:
            share[:, never] = 1.0
        smaller, others = rho * share, 1.0 - share
        total = smaller + others  # in this order a' is at most 1, however small rho is
        if never.size:
            total[:, never] = others[:, never] = 1.0
        return Shares(share, smaller / total, others / total)

    def means(self, columns: FloatArray, shares: Shares) -> FloatArray:
        """Return the two means of all comparisons at some shares, shape (m, k, 2)."""
        su, sw, tu, tw = (columns.take(cells, axis=1) for cells in self.places)
        means = np.empty((*shares.of_s.shape, 2))
        means[..., 0] = shares.of_s * su + (1.0 - shares.of_s) * sw
        means[..., 1] = shares.of_t * tu + shares.rest_of_t * tw
        return means

    def separate(self, columns: FloatArray, *, exact: bool = False) -> FloatArray:
        """Return the most violated cut of every comparison with rho > 0, shape (m, comparisons, a1 a2)."""
        chosen = np.broadcast_to(self._rho > 0.0, (len(columns), len(self._rho)))
        return self._cuts(self.worst_shares(columns), chosen).reshape(len(columns), -1, columns.shape[1])

    def violation(self, columns: FloatArray) -> float:
        """Return `BaseCone.violation`, from the means of comparisons: their cuts are too many."""
        of_known = (columns @ self.inequalities.T).max(axis=1, initial=0.0)  # the largest coefficient is 1
        known = float((of_known / np.maximum(columns.max(axis=1), 1e-300)).max(initial=0.0))
        step = max(1, _AT_ONCE // max(len(self._rho), 1))
        few = (columns[first : first + step] for first in range(0, len(columns), step))
        return max(known, *map(self._violation_of_means, few), 0.0)

    def _violation_of_means(self, columns: FloatArray) -> float:
        """Return the largest violation of a comparison."""
        most, ratio = columns.max(axis=1, keepdims=True), math.exp(self.epsilon)
        shares = self.worst_shares(columns)
        means = self.means(columns, shares)
        sizes = np.maximum(shares.of_s, 1.0 - shares.of_s)
        np.maximum(sizes, ratio * np.maximum(shares.of_t, shares.rest_of_t), out=sizes)
        of_means = (means[..., 0] - ratio * means[..., 1]) / np.maximum(sizes * most, 1e-300)
        return float(of_means.max(initial=0.0))

    def _cuts(self, shares: Shares, chosen: NDArray[np.bool_]) -> FloatArray:
        """Return the cuts of the comparisons that a mask, (m, k), chooses at some shares, (any, a1 a2)."""
        k = np.nonzero(chosen)[1]
        cuts, rows = np.zeros((len(k), self._cells.size)), np.arange(len(k))
        # Any share is a cut; its coefficients are weakened by their rounding.
        larger, smaller = 1.0 - gamma(16), math.exp(self.epsilon) * (1.0 + gamma(32))
        share, shifted, rest = (shares_of[chosen] for shares_of in shares)
        su, sw, tu, tw = (cells[k] for cells in self.places)
        cuts[rows, su], cuts[rows, sw] = larger * share, larger * (1.0 - share)
        cuts[rows, tu], cuts[rows, tw] = -smaller * shifted, -smaller * rest
        return cuts

    @property
    def cuts_kept(self) -> int:
        """Fewer than of other cones: cuts of a comparison differ by one share, and few bound it closely."""
        return SETTINGS.max_cuts[1]

    def raised(self, columns: FloatArray) -> FloatArray:
        """Return columns, (m, a1 a2), with entries raised until they meet the conditional level."""
        return raised_to_level(columns, self.shape, self.epsilon)

    def worst_comparisons(self, columns: FloatArray) -> tuple[FloatArray, CutsOf]:
        """Return the means of all comparisons, (m, k, 2), and what makes cuts of those chosen."""
        shares = self.worst_shares(columns)
        return self.means(columns, shares), lambda over: self._cuts(shares, over)

    def entry_bounds(self, scale: FloatArray) -> FloatArray:
        """Return upper bounds on the entries of columns v with scale . v = 1, shape (a1 a2,)."""
        masses = scale.reshape(self.shape)
        # The scale sees v_su, and v_tu >= e^-eps v_su for all other t.
        seen = masses + math.exp(-self.epsilon) * (masses.sum(axis=0) - masses)
        with np.errstate(divide="ignore"):
            return np.asarray((1.0 / seen * (1.0 + gamma(2 * len(masses) + 8))).ravel())


def association_cone(odds: OddsRatios, epsilon: float) -> AssociationCone:
    """Return the columns that are private for acquaintances, who know anything about U alone.

    Parameters
    ----------
    odds : OddsRatios
        The least odds ratios of the distributions that may be the true one.
    epsilon : float
        Level in nats, above 0 and at most 30.

    Raises
    ------
    ValueError
        If an argument is of another kind or out of range.
    """
    as_instance(odds, OddsRatios, "The odds ratios")
    level = as_number(epsilon, "epsilon", "a number of nats, above 0 and at most 30", least=1e-300, most=30.0)
    return AssociationCone(odds, level)
