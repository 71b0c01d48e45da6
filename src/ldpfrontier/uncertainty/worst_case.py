r"""The worst-case level of a channel over a Renyi ball, over all divisions of the budget.

Sought is, over outputs y, groups s1 != s2 and members P of F, ::

    max of log P(y|s1) - log P(y|s2) = max over x in [0, 1] of log A(x) - log B(x),

with A(x) the largest P(y|s1) where s1 receives the share x of the budget, and B(x) the least P(y|s2) where s2
receives 1 - x (`RenyiBall.worst_case_epsilon`). A is concave and B convex for order >= 1/2, so their tangents
at any x0 bound the ratio by that of two linear functions, which is largest at an end; at the best x0, which
the secant method finds, the tangents are in proportion, and the bound is the ratio. What tangents leave open
is bounded on intervals of x, as A and B rise, and found by golden sections.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray
from ldpfrontier.numerics.golden_section import golden_section
from ldpfrontier.uncertainty.divergence import divergence_cost, least_mean, minimizers
from ldpfrontier.uncertainty.settings import SETTINGS


class Ball(Protocol):
    """What is asked of a Renyi ball."""

    @property
    def order(self) -> float:
        """The order of the divergence."""

    @property
    def radius(self) -> float:
        """The radius, in nats."""

    @property
    def exponent(self) -> float:
        """The exponent of the budget condition."""

    @property
    def sensitive(self) -> FloatArray:
        """The probabilities of the groups, (a1,)."""

    @property
    def conditionals(self) -> FloatArray:
        """The distributions of U in the groups, (a1, a2)."""

    def radius_at(self, share: FloatArray, p: FloatArray) -> FloatArray:
        """Return the divergence that a group of weight `p` may have with a share of the budget."""


def worst_log_ratio(ball: Ball, blocks: FloatArray, bounds: FloatArray, tol: float) -> float:
    """Return the largest log ratio of the probabilities of an output for two groups over a ball, in nats.

    `blocks` are a channel, shape (a1, a2, outputs); `bounds`, shape (a1, a1, outputs), are bounds on the log
    ratios, 0 for a group with itself. `tol` is in nats, relative below 1 nat.
    """
    best = 0.0
    tol *= min(1.0, float(bounds.max(initial=0.0)))
    concave = ball.order >= SETTINGS.least_tangent_order and math.isfinite(ball.radius)
    if concave:
        bounds, best = _bounds_at_half_budget(ball, blocks, bounds)
    order = np.argsort(bounds, axis=None)[::-1]
    flat = bounds.ravel()[order]
    # Comparisons at a time, at first and at most: memory and time alone depend on it.
    position, (size, most) = 0, (64, 1024)
    while position < flat.size and flat[position] > best + tol:
        chosen = order[position : position + size]
        chosen = chosen[bounds.ravel()[chosen] > best + tol]
        position, size = position + size, min(2 * size, most)
        s1, s2, y = np.unravel_index(chosen, bounds.shape)
        comparisons = _Comparisons(ball, s1, s2, blocks[s1, :, y], blocks[s2, :, y])
        if concave:
            comparisons, best = _search_by_tangents(comparisons, best, tol)
        best = _search_by_intervals(comparisons, best, tol)
    return best


def _bounds_at_half_budget(ball: Ball, blocks: FloatArray, bounds: FloatArray) -> tuple[FloatArray, float]:
    """Return bounds by tangents where both groups have half of the budget, and the largest log ratio there.

    At the same share for all, every group needs one largest and one least mean for all of its pairs.
    """
    groups, _, outputs = blocks.shape
    s = np.repeat(np.arange(groups), outputs)
    q = blocks.transpose(0, 2, 1).reshape(s.size, -1)
    radii = ball.radius_at(np.full(s.shape, 0.5), ball.sensitive[s])
    ends = (least_mean_slope(ball, s, sign * q, radii) for sign in (-1.0, 1.0))
    (A, a), (B, b) = (
        (end.value.reshape(groups, outputs), end.decrease.reshape(groups, outputs)) for end in ends
    )
    values, tangents = _tangent_bounds(-A[:, None], a[:, None], B, b, 0.5)
    other = ~np.eye(groups, dtype=np.bool_)[:, :, None]
    return np.minimum(bounds, tangents), float(np.where(other, values, 0.0).max(initial=0.0))


def _tangent_bounds(
    A: FloatArray, a: FloatArray, B: FloatArray, b: FloatArray, share: FloatArray | float
) -> tuple[FloatArray, FloatArray]:
    """Return log A - log B at a share, and the largest value that tangents of slopes a and -b allow."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        value = np.where(A > 0, np.log(A) - np.log(B), 0.0)
        rest = 1.0 - share
        ends = [(A + a * rest) / (B + b * rest), (A - a * share) / np.maximum(B - b * share, 0.0)]
        return value, np.log(np.fmax(*np.where(np.isnan(ends), np.inf, ends)))


def _search_by_tangents(comparisons: _Comparisons, best: float, tol: float) -> tuple[_Comparisons, float]:
    """Move to where tangents are in proportion; return the comparisons left open, and the best value.

    The tangents at an angle are in proportion to those at another one, and the best angle is where the two
    are equal: the secant method finds it, inside a bracket.
    """
    angle = np.full(comparisons.size, math.pi / 4)
    before, change_before = np.full((2, comparisons.size), math.nan)
    low, high = np.zeros(comparisons.size), np.full(comparisons.size, math.pi / 2)
    for _ in range(SETTINGS.max_steps):
        if comparisons.size == 0 or math.isinf(best):
            break
        values, bounds, better = comparisons.tangents(angle)
        best = max(best, float(values.max()))
        change = better - angle
        low, high = np.where(change > 0, angle, low), np.where(change > 0, high, angle)
        with np.errstate(divide="ignore", invalid="ignore"):
            new = angle - change * (angle - before) / (change - change_before)
        new = np.where((low < new) & (new < high), new, better)
        new = np.where((low <= new) & (new <= high), new, 0.5 * (low + high))
        left = bounds > best + tol
        comparisons = comparisons.take(left)
        # Where next to nothing is told, rounding is more than the tolerance: nothing moves any more.
        moves = ((change != 0) & (low < high))[left]
        before, change_before, angle, low, high = (x[left] for x in (angle, change, new, low, high))
        if not moves.any():
            break
    return comparisons, best


def _search_by_intervals(comparisons: _Comparisons, best: float, tol: float) -> float:
    """Bound ratios on finer and finer intervals, then use golden sections; return the best value."""
    if comparisons.size == 0:
        return best
    for intervals in SETTINGS.share_intervals:
        angles = np.linspace(0.0, math.pi / 2, intervals + 1)
        top, low = comparisons.logs(np.repeat(angles[:, None], comparisons.size, axis=1))
        values = _difference(top, low)
        best = max(best, float(values.max()))
        # The maximum rises and the minimum falls with the share, so the ends of an interval bound it.
        left = _difference(top[1:], low[:-1]).max(axis=0) > best + tol
        comparisons = comparisons.take(left)
        if math.isinf(best) or comparisons.size == 0:
            return best
    peak = values[:, left].argmax(axis=0)
    lo, hi = angles[np.maximum(peak - 1, 0)], angles[np.minimum(peak + 1, len(angles) - 1)]
    return max(best, float(golden_section(comparisons.value, lo, hi)[1].max()))


class LeastMeanSlope(NamedTuple):
    """Least R . q of m groups, the R, and how fast it falls with the share of the budget."""

    value: FloatArray  # (m,)
    R: FloatArray  # (m, a2)
    decrease: FloatArray  # (m,)


def least_mean_slope(ball: Ball, s: NDArray[np.intp], q: FloatArray, B: FloatArray) -> LeastMeanSlope:
    """Return the least R . q of groups s within radii B, and its derivative in the share of the budget."""
    value, R, distance = minimizers(ball.conditionals[s], q, B, ball.order)
    lowest = q.argmin(axis=1)[:, None]
    far = np.take_along_axis(distance, lowest, 1)[:, 0]
    # By the envelope theorem the derivative in B is mu - value, mu = q - distance.
    decrease = np.where(np.isfinite(far), value - q.min(axis=1) + far, 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        share = divergence_cost(ball.radius, ball.order) / ball.sensitive[s] * np.exp(-ball.exponent * B)
        return LeastMeanSlope(value, R, np.nan_to_num(decrease * share))


def _difference(high: FloatArray, low: FloatArray) -> FloatArray:
    """Return a difference of logarithms; 0 where nothing is possible: 0/0 = 1."""
    possible = high > -np.inf
    return np.where(possible, np.where(possible, high, 0.0) - low, 0.0)


class _Comparisons:
    """Pairs of groups, of an output each, whose probabilities are compared: the share of s1 is sin^2(angle).

    The square root of a share is what moves an extreme mean, so an angle makes both ends smooth.
    """

    def __init__(
        self, ball: Ball, s1: NDArray[np.intp], s2: NDArray[np.intp], q1: FloatArray, q2: FloatArray
    ) -> None:
        self.ball, self.s1, self.s2, self.q1, self.q2, self.size = ball, s1, s2, q1, q2, len(s1)

    def take(self, rows: NDArray[np.bool_]) -> _Comparisons:
        """Return the comparisons of a mask, shape (m,)."""
        return _Comparisons(self.ball, self.s1[rows], self.s2[rows], self.q1[rows], self.q2[rows])

    def _radii(self, angle: FloatArray) -> FloatArray:
        """Return the divergences that the two groups may have, shape (..., 2, m)."""
        ball, share = self.ball, np.sin(angle) ** 2
        rest = np.where(angle < math.pi / 2, 1.0 - share, 0.0)
        p = ball.sensitive
        return np.stack([ball.radius_at(share, p[self.s1]), ball.radius_at(rest, p[self.s2])], axis=-2)

    def logs(self, angle: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the logs of the largest P(y|s1) and of the least P(y|s2), shape (..., m)."""
        ball, B = self.ball, self._radii(angle)
        # Both at once: rows are cheap, calls are not.
        r, q = (
            np.stack([ball.conditionals[self.s1], ball.conditionals[self.s2]]),
            np.stack([-self.q1, self.q2]),
        )
        r, q = (np.broadcast_to(x, (*B.shape, x.shape[-1])).reshape(-1, x.shape[-1]) for x in (r, q))
        ends = least_mean(r, q, B.ravel(), ball.order).reshape(B.shape)
        with np.errstate(divide="ignore"):
            return np.log(-ends[..., 0, :]), np.log(ends[..., 1, :])

    def value(self, angle: FloatArray) -> FloatArray:
        """Return the log ratios."""
        return _difference(*self.logs(angle))

    def tangents(self, angle: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the log ratios at some angles, bounds on those at all, and angles nearer to the best."""
        ball, B = self.ball, self._radii(angle).ravel()
        s, q = np.concatenate([self.s1, self.s2]), np.concatenate([-self.q1, self.q2])
        least, _, decrease = least_mean_slope(ball, s, q, B)
        a, b = decrease.reshape(2, -1)
        A, low = -least[: self.size], least[self.size :]
        value, bound = _tangent_bounds(A, a, low, b, np.sin(angle) ** 2)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            better = np.arctan2(a * np.sin(angle) / A, b * np.cos(angle) / low)
        return value, bound, np.where(np.isfinite(better), better, angle)
