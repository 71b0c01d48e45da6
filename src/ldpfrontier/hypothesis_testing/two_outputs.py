"""The best of the 2 x 2 channels for hypothesis testing under limits of leakage (liao2017, (2) and (32)).

With two letters and two outputs, W = [[a, 1 - a], [b, 1 - b]] and a >= b after exchanging the outputs.
Utility and leakage grow with a, so the optimum is on the curve of the largest feasible a over b. The feasible
set is convex: tangents at two points of the curve bound it in between, and a convex utility is largest at the
corners of that bound. Branch and bound halves the intervals of b.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray
from ldpfrontier.hypothesis_testing.hypotheses import Hypotheses
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import excess
from ldpfrontier.numerics.deadline import time_is_up
from ldpfrontier.numerics.jit import inner_kernel, kernel

#: Halvings, per dimension, after which branch and bound gives up on a simplex; it keeps the bound it has.
#: Sides are then near the distance of floats between 0 and 1.
HALVINGS = 48


def best_two_outputs(
    hypotheses: Hypotheses, limits: FloatArray, tolerance: float, max_rounds: int = HALVINGS
) -> tuple[Channel, float, int]:
    """Find the best 2 x 2 channel by branch and bound.

    Return it with an upper bound on the least sum of `Hypotheses.gains` of any, and the number of halvings.
    All divergences from the first hypothesis are positive and finite; limits are in nats and above 0; the
    search stops at a relative gap of `tolerance`.
    """
    edges = np.linspace(0.0, 1.0, 65)
    left, right = _Boundary.at(hypotheses, limits, edges[:-1]), _Boundary.at(hypotheses, limits, edges[1:])
    bound = 0.0
    values = _binary_gains(hypotheses, left.a, left.b).min(axis=1)
    best, at = float(values.max()), left.pair(int(values.argmax()))
    for rounds in range(1, max(1, min(max_rounds, HALVINGS)) + 1):  # noqa: B007
        upper = _interval_bounds(hypotheses, left, right)
        open_ = (upper > best * (1.0 + 0.5 * tolerance)) & (not time_is_up())
        bound = max(bound, float(upper[~open_].max(initial=0.0)))
        if not open_.any():
            break
        left, right, upper = left.take(open_), right.take(open_), upper[open_]
        middle = _Boundary.at(hypotheses, limits, (left.b + right.b) / 2.0)
        values = _binary_gains(hypotheses, middle.a, middle.b).min(axis=1)
        if values.max() > best:
            best, at = float(values.max()), middle.pair(int(values.argmax()))
        left, right = left.join(middle), middle.join(right)
    else:
        bound = max(bound, float(upper.max()))
    a, b = at
    channel = Channel(np.array([[a, 1.0 - a], [b, 1.0 - b]]))
    return channel, max(bound, best), rounds


def _pairs(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the two columns of [[a, 1 - a], [b, 1 - b]], shape (n, 2, 2)."""
    ones = np.stack([a, b], axis=-1)
    return np.stack([ones, 1.0 - ones], axis=-2)


def _binary_gains(hypotheses: Hypotheses, a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray(hypotheses.gains(_pairs(a, b)).sum(axis=-2))


def _binary_costs(hypotheses: Hypotheses, a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray(hypotheses.costs(_pairs(a, b)).sum(axis=-2))


@dataclass(frozen=True, eq=False)
class _Boundary:
    """Points (a, b) with the largest feasible a, and lines height + slope (b' - b) above the feasible set."""

    a: FloatArray
    b: FloatArray
    height: FloatArray
    slope: FloatArray

    @classmethod
    def at(cls, hypotheses: Hypotheses, limits: FloatArray, b: FloatArray) -> _Boundary:
        low = _largest(hypotheses.distributions, limits, b)
        feasible = low == 1.0
        # The tangent of a leakage at any point bounds it from below; the point need not be on the boundary.
        a, inside = np.clip(low, 1e-300, 1.0 - 1e-15), np.clip(b, 1e-300, 1.0 - 1e-15)
        costs = _binary_costs(hypotheses, a, inside)
        active = np.argmax(costs / limits, axis=1)
        p = hypotheses.distributions[active]
        z = p[:, 0] * a + p[:, 1] * inside
        # So near 1, or where nothing binds, a <= 1 is all that is safe to say.
        loose = feasible | (z > 1.0 - 1e-14)
        z = np.minimum(z, 1.0 - 1e-14)
        odds = np.log(z) - np.log1p(-z)
        rise = p[:, 0] * (np.log(a) - np.log1p(-a) - odds)
        fall = p[:, 1] * (np.log(inside) - np.log1p(-inside) - odds)
        loose |= ~(rise > 0)
        rest = limits[active] - costs[np.arange(len(b)), active]
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.where(loose, 0.0, -fall / rise)
            height = np.where(loose, 1.0, a + rest / rise + slope * (b - inside))
        return cls(low, b, height, slope)

    def line(self, b: FloatArray) -> FloatArray:
        """Return the largest a at b that the lines allow."""
        return np.minimum(self.height + self.slope * (b - self.b), 1.0)

    def pair(self, index: int) -> tuple[float, float]:
        """Return one point."""
        return float(self.a[index]), float(self.b[index])

    def take(self, chosen: NDArray[np.bool_]) -> _Boundary:
        """Keep some of the points."""
        return _Boundary(self.a[chosen], self.b[chosen], self.height[chosen], self.slope[chosen])

    def join(self, other: _Boundary) -> _Boundary:
        """Put points behind each other."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return _Boundary(*(np.concatenate(pair) for pair in pairs))


@kernel
def _largest(distributions: FloatArray, limits: FloatArray, b: FloatArray) -> FloatArray:
    """Return the largest feasible a for every b, by bisection; 1 only if that is feasible itself."""
    largest = np.empty(b.size)
    for i in range(b.size):
        low, high = b[i], 1.0
        if _fits(distributions, limits, high, low):
            largest[i] = 1.0
            continue
        for _ in range(60):
            middle = (low + high) / 2.0
            if _fits(distributions, limits, middle, b[i]):
                low = middle
            else:
                high = middle
        largest[i] = low
    return largest


@inner_kernel
def _fits(distributions: FloatArray, limits: FloatArray, a: float, b: float) -> bool:
    """Whether [[a, 1 - a], [b, 1 - b]] leaks no more than it may, of every distribution."""
    for k in range(limits.size):
        cost = 0.0
        for first, second in ((a, b), (1.0 - a, 1.0 - b)):
            z = distributions[k, 0] * first + distributions[k, 1] * second
            if z > 0.0:
                cost += z * distributions[k, 0] * excess((first - z) / z)
                cost += z * distributions[k, 1] * excess((second - z) / z)
        if cost > limits[k]:
            return False
    return True


def _interval_bounds(hypotheses: Hypotheses, left: _Boundary, right: _Boundary) -> FloatArray:
    """Bound the least utility over the feasible channels between two values of b, shape (n,)."""
    start = [left.height - left.slope * left.b, right.height - right.slope * right.b]
    with np.errstate(divide="ignore", invalid="ignore"):
        kinks = [
            (start[1] - start[0]) / (left.slope - right.slope),
            (1.0 - start[0]) / left.slope,
            (1.0 - start[1]) / right.slope,
        ]
    # Places that are no kink do no harm.
    inside = [np.where(np.isfinite(kink), np.clip(kink, left.b, right.b), left.b) for kink in kinks]
    places = [left.b, right.b, *inside]
    b = np.stack(places, axis=1)
    a = np.stack([np.minimum(left.line(place), right.line(place)) for place in places], axis=1)
    return np.asarray(_binary_gains(hypotheses, np.maximum(a, b), b).max(axis=1).min(axis=1))
