r"""Columns of mechanisms that see U alone, private over simplices around the conditionals of U.

S is not asked; what links it to U is a table (docs/beyond/theorems.md, statement 18). A column w has an entry
for every useful value. Over the simplices {R : R >= L_s} the largest and the least mean are ::

    A_s(w) = (1 - S_s) max w + L_s . w,     B_s(w) = (1 - S_s) min w + L_s . w,     S_s = sum_u L_{u|s},

and A_s(w) <= e^eps B_t(w) are a1^2 a2^2 inequalities of w, many of which differ by rounding alone. With two
more variables, m <= w_u <= M in place of min w and max w, they are a1^2 + 2 a2, and w is allowed if and only
if some m and M are. So the extreme rays in (w, m, M) have all of w among them, and others that are allowed.
Conditionals that are known are simplices of one point, S_s = 1, which need neither m nor M.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.engines.listed.double_description import DoubleDescription
from ldpfrontier.engines.registry import LIMITS
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.cones import BaseCone
from ldpfrontier.model.optimum import fell_back, one_line
from ldpfrontier.numerics.rounding import gamma

#: Violation of an inequality by a ray, as a share of its magnitudes, up to which it is rounding.
_EQUALITY = 1e-13
#: 1 - S_s below which a simplex is one point.
_ONE_POINT = 1e-14


@dataclass(frozen=True, eq=False)
class SimplexColumns(BaseCone):
    """The columns of U alone with A_s <= e^epsilon B_t for all s, t; methods as of `Cone`.

    `lower` has the least conditional probabilities of U, (a1, a2); the level is in nats, 0 or more.
    """

    lower: FloatArray
    epsilon: float

    @property
    def shape(self) -> tuple[int, int]:
        """One, and the number of useful values."""
        return 1, self.lower.shape[1]

    @cached_property
    def _ratio(self) -> float:
        return math.nextafter(math.exp(self.epsilon), 0.0) if self.epsilon else 1.0

    @cached_property
    def _rest(self) -> FloatArray:
        """1 - S_s, shape (a1,)."""
        rest = np.maximum(1.0 - self.lower.sum(axis=1), 0.0)
        return np.where(rest < _ONE_POINT, 0.0, rest)

    @property
    def inequalities(self) -> FloatArray:
        """None to begin with: cuts come from columns outside, shape (0, inputs)."""
        return np.zeros((0, self.lower.shape[1]))

    @property
    def least_constant_slack(self) -> float:
        """(e^eps - 1) / e^eps, as no coefficient exceeds e^eps."""
        return -math.expm1(-self.epsilon)

    def separate(self, columns: FloatArray, *, exact: bool = False) -> FloatArray:
        """Return the most violated cut of columns, (m, inputs), and all pairs, (m, pairs, inputs)."""
        unit = np.eye(columns.shape[1])
        larger, smaller = (
            self.lower + self._rest[:, None] * unit[end][:, None]
            for end in (columns.argmax(axis=1), columns.argmin(axis=1))
        )
        cuts = larger[:, :, None] - self._ratio * smaller[:, None]
        return np.asarray(cuts.reshape(len(columns), -1, columns.shape[1]))

    def _shares_of_constant(self, columns: FloatArray) -> FloatArray:
        """Return the weights of their means with which columns, (m, inputs), are inside, (m,)."""
        means = columns @ self.lower.T
        most = (means + np.outer(columns.max(axis=1), self._rest)).max(axis=1)
        least = (means + np.outer(columns.min(axis=1), self._rest)).min(axis=1)
        if self.epsilon == 0.0:  # met to rounding, as the constant column meets it
            return np.zeros(len(columns))
        excess = np.maximum(most * (1.0 + gamma(8)) - self._ratio * least, 0.0)
        return np.asarray(excess / (excess + columns.mean(axis=1) * (self._ratio - 1.0) + 1e-300))

    def pull(self, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mix columns with the constant one, no more than needed; there are no cuts to return."""
        share = self._shares_of_constant(columns)[:, None]
        inside = (1.0 - share) * columns + share * columns.mean(axis=1, keepdims=True)
        return inside, np.zeros((0, columns.shape[1]))

    def mix_inside(self, channel: Channel) -> Channel:
        """Mix a channel with one that tells nothing, no more than needed for all its columns to be inside."""
        columns = channel.matrix.T
        share = float(self._shares_of_constant(columns).max(initial=0.0))
        return Channel(((1.0 - share) * columns + share * columns.mean(axis=1, keepdims=True)).T)

    @cached_property
    def rays(self) -> FloatArray | None:
        """Columns of which all others are sums, (rays, inputs), or None where they are too many.

        They are exact for a cone that is at most `_EQUALITY` larger. Of known conditionals, an extreme ray
        has at most as many letters as there are sensitive values, so that more useful values are taken.
        """
        n = self.lower.shape[1]
        lifted = bool(self._rest.any())
        if n > (LIMITS.max_ray_inputs if lifted else LIMITS.max_known_inputs):
            return None
        rows = (self.lower[:, None] - self._ratio * self.lower).reshape(-1, n)
        cone = DoubleDescription(n + 2 * lifted)
        try:
            if lifted:
                s, t = np.repeat(self._rest, len(self.lower)), np.tile(self._rest, len(self.lower))
                rows = np.column_stack([rows, -self._ratio * t, s])
                unit = np.eye(n + 2)
                for u in range(n):
                    cone.cut(unit[u] - unit[n + 1])
                    cone.cut(unit[n] - unit[u])
            sizes = np.abs(rows)
            while True:
                outside = (cone.points @ rows.T / np.maximum(cone.points @ sizes.T, 1e-300)).max(axis=0)
                if outside.max() <= _EQUALITY:
                    break
                cone.cut(rows[outside.argmax()])
        except Intractable as error:
            fell_back(f"spatial branch and bound, as the list of rays is too long: {one_line(error)}")
            return None
        points = cone.points[:, :n]
        points = points[points.any(axis=1)]
        return np.asarray(np.unique(points / points.max(axis=1, keepdims=True), axis=0))
