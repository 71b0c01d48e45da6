r"""The worst level of a channel over a Renyi ball: the shares of the budget at which two groups leak most.

See `RenyiBall.worst_case_epsilon`. At share x the largest A(x) of P(y|s1) is concave, and at share 1 - x the
least B(x) of P(y|s2) convex (order >= 1/2). So tangents at any x0 bound their ratio by that of two linear
functions, which is largest at an end; at the best x0 they are in proportion, and the bound is the ratio.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.types import FloatArray
from ldpfrontier.uncertainty.divergence import budget, golden_section, least_mean, least_members

if TYPE_CHECKING:
    from ldpfrontier.uncertainty.renyi_ball import RenyiBall

#: Times that tangents are moved towards the best share; least order: below, slopes are lost where a group may
#: nearly be anything.
TANGENTS, LEAST_ORDER = 14, 1.0

#: Into how many cells the shares of a budget are divided, as long as two groups may leak more than the worst.
CELLS = (2, 4, 8, 16)

#: Comparisons at a time, at first and at most.
FEW, MANY = 64, 1024


def worst_level(ball: RenyiBall, blocks: FloatArray, bounds: FloatArray, tol: float) -> float:
    """Find the largest log ratio of the probabilities of an output for two groups over a ball, in nats.

    Parameters
    ----------
    ball : RenyiBall
    blocks : ndarray, shape (a1, a2, outputs)
        A channel.
    bounds : ndarray, shape (a1, a1, outputs)
        Bounds on the log ratios, 0 for a group with itself.
    tol : float
        Accuracy in nats, relative below 1 nat.
    """
    order = np.argsort(bounds, axis=None)[::-1]
    flat = bounds.ravel()[order]
    best = 0.0
    if flat.size == 0 or flat[0] <= 0:
        return best
    tol *= min(1.0, float(flat[0]))
    position, size = 0, FEW
    while position < flat.size and flat[position] > best + tol:
        chosen = order[position : position + size]
        chosen = chosen[bounds.ravel()[chosen] > best + tol]
        position, size = position + size, min(2 * size, MANY)
        s1, s2, y = np.unravel_index(chosen, bounds.shape)
        split = _Split(ball, s1, s2, blocks[s1, :, y], blocks[s2, :, y])
        if ball.order >= LEAST_ORDER and math.isfinite(ball.radius):
            split, best = _by_tangents(split, best, tol)
        best = _by_cells(split, best, tol)
    return best


def _by_tangents(split: _Split, best: float, tol: float) -> tuple[_Split, float]:
    """Compare where tangents say the ratio is largest; return what they leave open, and the best value."""
    angle = np.full(split.size, math.pi / 4)
    for _ in range(TANGENTS):
        if split.size == 0 or math.isinf(best):
            break
        values, bounds, better = split.tangents(angle)
        best = max(best, float(values.max()))
        open_ = bounds > best + tol
        split, angle = split.take(open_), better[open_]
    return split, best


def _by_cells(split: _Split, best: float, tol: float) -> float:
    """Compare at the corners of finer and finer cells, then by golden sections; return the best value."""
    if split.size == 0:
        return best
    for cells in CELLS:
        angles = np.linspace(0.0, math.pi / 2, cells + 1)
        top, low = split.logs(np.repeat(angles[:, None], split.size, axis=1))
        values = _apart(top, low)
        best = max(best, float(values.max()))
        # The maximum rises and the minimum falls with the share, so a cell's corners bound it.
        open_ = _apart(top[1:], low[:-1]).max(axis=0) > best + tol
        split = split.take(open_)
        if math.isinf(best) or split.size == 0:
            return best
    peak = values[:, open_].argmax(axis=0)
    lo, hi = angles[np.maximum(peak - 1, 0)], angles[np.minimum(peak + 1, len(angles) - 1)]
    return max(best, float(golden_section(split.value, lo, hi)[1].max()))


def falling(
    ball: RenyiBall, s: NDArray[np.intp], q: FloatArray, B: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Find the least R . q of groups within radii, its R, and how fast it falls with the share of the budget.

    Parameters
    ----------
    ball : RenyiBall
    s : ndarray of int, shape (m,)
    q : ndarray, shape (m, a2)
    B : ndarray, shape (m,)
        In nats.
    """
    value, R, distances = least_members(ball.conditionals[s], q, B, ball.order)
    lowest = q.argmin(axis=1)[:, None]
    far = np.take_along_axis(distances, lowest, 1)[:, 0]
    # By the envelope theorem the derivative in B is mu - value, mu = q - distance.
    falls = np.where(np.isfinite(far), value - q.min(axis=1) + far, 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        share = budget(ball.radius, ball.order) / ball.sensitive[s] * np.exp(-ball.exponent * B)
        return value, R, np.nan_to_num(falls * share)


def _apart(high: FloatArray, low: FloatArray) -> FloatArray:
    """Difference of logarithms; 0 where nothing is possible: 0/0 = 1."""
    possible = high > -np.inf
    return np.where(possible, np.where(possible, high, 0.0) - low, 0.0)


class _Split:
    """Log extremes of two groups' output probabilities when the budget is split cos^2 : sin^2.

    The square root of a share is what moves a support value, so an angle makes both ends smooth.
    """

    def __init__(
        self, ball: RenyiBall, s1: NDArray[np.intp], s2: NDArray[np.intp], q1: FloatArray, q2: FloatArray
    ) -> None:
        self.ball, self.s1, self.s2, self.q1, self.q2, self.size = ball, s1, s2, q1, q2, len(s1)

    def take(self, rows: NDArray[np.bool_]) -> _Split:
        return _Split(self.ball, self.s1[rows], self.s2[rows], self.q1[rows], self.q2[rows])

    def _radii(self, angle: FloatArray) -> FloatArray:
        """Return the divergences that the two groups may have, shape (..., 2, m)."""
        ball, share = self.ball, np.sin(angle) ** 2
        rest = np.where(angle < math.pi / 2, 1.0 - share, 0.0)
        p = ball.sensitive
        return np.stack([ball.radius_at(share, p[self.s1]), ball.radius_at(rest, p[self.s2])], axis=-2)

    def logs(self, angle: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log of the largest P(y|s1) at share sin^2 and of the least P(y|s2) at share cos^2; (..., m)."""
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
        high, low = self.logs(angle)
        return _apart(high, low)

    def tangents(self, angle: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the log ratios at some angles, bounds on them at all, and angles nearer to the best ones."""
        ball, B = self.ball, self._radii(angle).ravel()
        s, q = np.concatenate([self.s1, self.s2]), np.concatenate([-self.q1, self.q2])
        least, _, falls = falling(ball, s, q, B)
        a, b = falls.reshape(2, -1)
        A, low = -least[: self.size], least[self.size :]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            share, rest = np.sin(angle) ** 2, np.cos(angle) ** 2
            value = np.where(A > 0, np.log(A) - np.log(low), 0.0)
            ends = [(A + a * rest) / (low + b * rest), (A - a * share) / np.maximum(low - b * share, 0.0)]
            bound = np.log(np.fmax(*np.where(np.isnan(ends), np.inf, ends)))
            better = np.arctan2(a * np.sin(angle) / A, b * np.cos(angle) / low)
        return value, bound, np.where(np.isfinite(better), better, angle)
