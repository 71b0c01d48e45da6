r"""The least information of a mechanism over an uncertainty set, with a proven lower bound.

I_P(X; Y) of a channel Q is concave in the distribution P of its input. Its least value over F is attained on
the border, and there may be many local ones. Two bounds from below hold, whatever was searched:

- A polytope around F, made by supporting halfspaces a . P <= b of F. A concave function is least at one of
  its vertices. The vertex where it is least is cut off by a halfspace of the border of F next to it, until
  the least value is near that of a member of F. Vertices are those of a cone to which inequalities are added
  (`listed.double_description`), and serve every channel.
- Of I_P = sum_x P_x sum_y Q_xy log Q_xy - sum_y M_y log M_y, with M = P Q, every term -M log M is at least
  its secant between the least and the largest M_y over F. What remains is linear in P, and its least value
  over F is known. That is close where F is small, for any number of inputs.

Members of F with little information are found by descent: P <- the least member of the tangent at P, from
vertices. They bound the least value from above.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.engines.listed.double_description import DoubleDescription
from ldpfrontier.engines.over_set.settings import SETTINGS
from ldpfrontier.model.channel import Channel
from ldpfrontier.numerics.deadline import time_is_up
from ldpfrontier.numerics.rounding import gamma
from ldpfrontier.uncertainty.divergence import least_mean, minimizers, push_out
from ldpfrontier.uncertainty.renyi_ball import RenyiBall

#: Errors of least means, as a share of the range of what is averaged, and of members, mixed with the centre.
_MEAN_ERROR, _INSIDE = 1e-12, 1e-12


class Least(NamedTuple):
    """Members of F, (m, inputs), the least information at one of them, and a bound on that of all; nats."""

    members: FloatArray
    value: float
    bound: float


@dataclass(eq=False)
class LeastInformation:
    """A set F, and the polytope around it."""

    ball: RenyiBall
    _cone: DoubleDescription = field(init=False)

    def __post_init__(self) -> None:
        n = self.ball.centre.size
        self._cone = DoubleDescription(n, SETTINGS.max_vertices)
        for normal in np.eye(n):  # which leaves a simplex
            self._cut(normal)

    @property
    def _vertices(self) -> FloatArray:
        points = self._cone.points
        return np.asarray(points / points.sum(axis=1, keepdims=True))

    def _least_means(self, q: FloatArray) -> FloatArray:
        """Return lower bounds of the least P . q over F, q of shape (m, inputs)."""
        r, B = np.broadcast_to(self.ball.centre.ravel(), q.shape), np.full(len(q), self.ball.radius)
        return np.asarray(least_mean(r, q, B, self.ball.order) - _MEAN_ERROR * np.ptp(q, axis=1))

    def _cut(self, normal: FloatArray) -> bool:
        """Add the halfspace of F on whose border the least P . normal is; tell whether there was room."""
        # The least mean of what is left has all digits, however small F is.
        rest = normal - float(normal @ self.ball.centre.ravel())
        row = float(self._least_means(rest[None])[0]) - rest
        unit = 2.0**-40 * float(np.abs(row).max())
        if unit > 0.0:
            try:
                self._cone.cut(np.floor(row / unit) * 2.0**-40)
            except Intractable:
                return False
        return True

    def _descended(self, channel: Channel, starts: FloatArray) -> FloatArray:
        """Return members of F with less information than starts, (m, inputs), have."""
        centre, Q = self.ball.centre.ravel(), channel.matrix
        r, B = np.broadcast_to(centre, starts.shape), np.full(len(starts), self.ball.radius)
        members, values = starts, np.full(len(starts), np.inf)
        for _ in range(SETTINGS.descent_steps):
            now = informations(members, channel)
            if not (values - now > 1e-13 * now).any():
                break
            values = now
            M = np.maximum(members @ Q, 1e-300)
            slopes = xlogy(Q, Q).sum(axis=1) - np.log(M) @ Q.T
            members = minimizers(r, np.maximum(slopes, 0.0), B, self.ball.order).R
            members = (1.0 - _INSIDE) * members + _INSIDE * centre
        return members

    def secant_bound(self, channel: Channel) -> float:
        """Return the bound by secants, which needs no polytope."""
        Q = channel.matrix
        low = np.maximum(self._least_means(Q.T), 0.0)
        high = np.minimum(-self._least_means(-Q.T), 1.0)
        width = np.maximum(high - low, 0.0)
        ends = -xlogy(low, low), -xlogy(high, high)
        slope = np.divide(ends[1] - ends[0], width, out=np.zeros_like(width), where=width > 1e-9 * high)
        # Where an interval has next to no width, the lower one of both ends is a bound.
        start = np.where(width > 1e-9 * high, ends[0] - slope * low, np.minimum(*ends))
        linear = xlogy(Q, Q).sum(axis=1) + Q @ slope
        found = float(self._least_means(linear[None])[0]) + float(start.sum())
        size = float(np.abs(linear).max() + np.abs(start).sum())
        return found - gamma(4 * Q.size) * size

    def least(self, channel: Channel, gap: float) -> Least:
        """Return the least information of a channel, to an absolute gap in nats if that is within reach."""
        vertices = self._vertices
        first = np.argsort(informations(vertices, channel), kind="stable")[: SETTINGS.descent_starts]
        centre, r = self.ball.centre.ravel(), self.ball.centre.reshape(1, -1)
        members = self._descended(channel, np.vstack([r, self._pushed(vertices[first])]))
        bound = max(self.secant_bound(channel), 0.0)
        while True:
            at = informations(members, channel)
            members, value = members[np.argsort(at, kind="stable")], float(at.min())
            values = informations(vertices, channel) - gamma(8 * channel.matrix.size)
            lowest = int(values.argmin())
            bound = max(bound, float(values[lowest]))
            if value - bound <= gap or time_is_up():
                break
            border = self._pushed(vertices[lowest : lowest + 1])
            if informations(border, channel)[0] < value:
                members = np.vstack([members, self._descended(channel, border)])
            towards = (centre / np.maximum(border[0], 1e-9)) ** self.ball.order
            room, before = self._cut(towards), vertices
            vertices = self._vertices
            if not room or np.array_equal(vertices, before):  # or nothing was cut off, but for rounding
                break
        return Least(members[: SETTINGS.descent_starts], value, min(bound, value))

    def _pushed(self, points: FloatArray) -> FloatArray:
        """Return the last members of F on rays from the centre to points, (m, inputs)."""
        r = np.broadcast_to(self.ball.centre.ravel(), points.shape)
        return push_out(r, points, np.full(len(points), self.ball.radius), self.ball.order)


def informations(P: FloatArray, channel: Channel) -> FloatArray:
    """Return I_P(X; Y) for distributions P of the input, (m, inputs), shape (m,)."""
    Q = channel.matrix
    M = P @ Q
    return np.asarray(P @ xlogy(Q, Q).sum(axis=1) - xlogy(M, M).sum(axis=1))
