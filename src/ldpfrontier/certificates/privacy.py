r"""Scalars that prove the level of a channel over the uncertainty set F, by weak duality.

With g = 1 - 1 / order > 0, M_s the power mean under P-hat given s of the power g, and X = e^(g D) of a
divergence D, every R with D(P-hat_s || R) <= D has, for all m >= max v and m' <= min v ::

    R . v <= m - X^(-1/g) M_s(m - v),        R . v >= m' + X^(-1/g) M_s(v - m').

Two groups of one P in F have p_s (X_s - 1) + p_s' (X_s' - 1) <= e^(g radius) - 1. Each bound is convex or
concave in its scalar, so that a search by golden sections finds the best one: for groups that may each use up
all of the radius, and where that does not prove the level, for two that share it as is worst for the channel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ldpfrontier.certificates.numbers import level_text, ratio_texts, text
from ldpfrontier.certificates.settings import SETTINGS
from ldpfrontier.types import FloatArray
from ldpfrontier.uncertainty.renyi_ball import RenyiBall

_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


def uncertainty_claim(ball: RenyiBall, epsilon: float, channel: dict[str, Any]) -> dict[str, Any]:
    """Return the claim that a channel is private over F, with the scalars that prove it if it is.

    Parameters
    ----------
    ball : RenyiBall
        F, of an order above 1 and a finite radius.
    epsilon : float
        In nats.
    channel : dict
        As documents have it.

    Raises
    ------
    ValueError
        If the order or the radius is another.
    """
    if ball.order <= 1.0 or not math.isfinite(ball.radius):
        raise ValueError(
            f"F has the order {ball.order:g} and the radius {ball.radius:g}; certificates are for orders"
            " above 1 and finite radii."
        )
    a1, a2 = ball.centre.shape
    numerators = np.array([[float(n) for n in row] for row in channel["rows"]])
    blocks = numerators.reshape(a1, a2, -1).transpose(2, 0, 1)  # output, s, u
    unit = blocks.max(axis=(1, 2), keepdims=True)
    bounds = _Means(ball, blocks / unit)
    above, below = bounds.scalars(np.broadcast_to(bounds.ends, blocks.shape[:2]))
    least, most = bounds.means(above, below, bounds.ends)
    ratio = math.exp(epsilon) * (1.0 - SETTINGS.pair_margin)
    doubtful = np.argwhere((most[:, :, None] > ratio * least[:, None, :]) & ~np.eye(a1, dtype=bool))
    found = bounds.shared(doubtful, math.exp(epsilon))
    entries = np.array([[int(n) for n in row] for row in channel["rows"]], dtype=object)
    whole = entries.reshape(a1, a2, -1).transpose(2, 0, 1)
    highest, lowest = whole.max(axis=2), whole.min(axis=2)

    def scalars(y: int, i: int, j: int, m: float, lower: float) -> list[str]:
        """Write scalars of two groups as whole numbers that are not within the range of their entries."""
        size = float(unit[y, 0, 0])
        return [str(max(highest[y, i], round(m * size))), str(min(lowest[y, j], round(lower * size)))]

    reports: list[dict[str, Any]] = []
    for y in range(len(blocks)):
        every = [scalars(y, s, s, float(above[y, s]), float(below[y, s])) for s in range(a1)]
        reports.append({"scalars": every, "pairs": []})
    for (y, i, j), (m, lower, x, other) in zip(doubtful.tolist(), found.tolist(), strict=True):
        reports[y]["pairs"].append([str(i), str(j), *scalars(y, i, j, m, lower), text(x), text(other)])
    return {
        "kind": "privacy over F",
        "epsilon": level_text(epsilon),
        "t": ratio_texts(epsilon)[0],
        "order": level_text(ball.order),
        "radius": level_text(ball.radius),
        "reports": reports,
    }


class _Means:
    """Bounds on the means of the blocks of a channel, in units of the largest entry of their column.

    Parameters
    ----------
    ball : RenyiBall
    blocks : ndarray, shape (outputs, a1, a2)
    """

    def __init__(self, ball: RenyiBall, blocks: FloatArray) -> None:
        self.power = (ball.order - 1.0) / ball.order
        self.blocks, self.weights = blocks, ball.conditionals
        self.high, self.low = blocks.max(axis=2), blocks.min(axis=2)
        #: Largest X of every s; that of an empty one is not used.
        spare = math.expm1(self.power * ball.radius)
        occurs = ball.sensitive > 0
        self.ends = 1.0 + spare / np.where(occurs, ball.sensitive, 1.0)
        self.occurs = occurs

    def mean(self, x: FloatArray, s: Any) -> FloatArray:
        """Return M_s of the last axis of x; 0 of an empty s."""
        return np.asarray(
            (self.weights[s] * np.maximum(x, 0.0) ** self.power).sum(axis=-1) ** (1 / self.power)
        )

    def means(self, above: FloatArray, below: FloatArray, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the least and the largest means, shape (outputs, a1), at some X."""
        every, left = np.arange(len(self.ends)), X ** (-1.0 / self.power)
        least = below + left * self.mean(self.blocks - below[..., None], every)
        return least, above - left * self.mean(above[..., None] - self.blocks, every)

    def scalars(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the best scalars for all outputs and s, shape (outputs, a1)."""
        every, left = np.arange(len(self.ends)), X ** (-1.0 / self.power)
        return self._best(self.blocks, every, left)

    def _best(self, v: FloatArray, s: Any, left: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the m >= max v of the least bound from above, and the m' of the largest from below."""
        high, low = v.max(axis=-1), v.min(axis=-1)
        span = np.maximum(high - low, 0.0)

        def upper(apart: FloatArray) -> FloatArray:
            return np.asarray(left * self.mean((high + apart)[..., None] - v, s) - apart)

        def lower(apart: FloatArray) -> FloatArray:
            return np.asarray(left * self.mean(v - (low - apart)[..., None], s) - apart)

        # The end itself, at 0, may be the best there is.
        zero, found = np.zeros(span.shape), []
        for gain in (upper, lower):
            apart = span * np.exp(_largest(partial(_at_log, gain, span), span.shape))
            found.append(np.where((gain(apart) > gain(zero)) & self.occurs[s], apart, zero))
        return high + found[0], low - found[1]

    def shared(self, doubtful: Any, t: float) -> FloatArray:
        """Return m, m', x and x' for pairs (output, s, s') that share the radius, shape (pairs, 4)."""
        y, i, j = doubtful.T
        first, second = self.blocks[y, i], self.blocks[y, j]

        def split(share: FloatArray) -> tuple[FloatArray, FloatArray]:
            return 1.0 + share * (self.ends[i] - 1.0), 1.0 + (1.0 - share) * (self.ends[j] - 1.0)

        def scalars(share: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
            left = [x ** (-1.0 / self.power) for x in split(share)]
            m, lower = self._best(first, i, left[0])[0], self._best(second, j, left[1])[1]
            most = m - left[0] * self.mean(m[:, None] - first, i)
            least = lower + left[1] * self.mean(second - lower[:, None], j)
            return m, lower, most - t * least

        share = _largest(lambda log: scalars(1.0 / (1.0 + np.exp(-log)))[2], y.shape, 40)
        share = 1.0 / (1.0 + np.exp(-share))
        m, lower, _ = scalars(share)
        # Tangents at these x and x' are least where either group uses all, and equally so.
        first_mean, second_mean = self.mean(m[:, None] - first, i), self.mean(second - lower[:, None], j)
        E = [self.ends[i] - 1.0, self.ends[j] - 1.0]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            factor = (t * second_mean * E[1] / (first_mean * E[0])) ** (self.power / (1.0 + self.power))
            x = (1.0 + 1.0 / E[0] + 1.0 / E[1]) / (1.0 / E[0] + factor / E[1])
        x = np.clip(np.where(np.isnan(x), 1.0, x), 1.0, self.ends[i])
        return np.column_stack([m, lower, x, np.maximum(1.0 + E[1] * (1.0 - (x - 1.0) / E[0]), 1.0)])


def _at_log(gain: Callable[[FloatArray], FloatArray], span: FloatArray, log: FloatArray) -> FloatArray:
    """Return a function of span e^log."""
    return gain(span * np.exp(log))


def _largest(function: Callable[[FloatArray], FloatArray], shape: Any, steps: int = 60) -> FloatArray:
    """Return where unimodal functions are largest, by golden sections on [-30, 14], for all at a time."""
    low, high = np.full(shape, -30.0), np.full(shape, 14.0)
    a, b = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_a, at_b = function(a), function(b)
    for _ in range(steps):
        left = at_a >= at_b
        low, high = np.where(left, low, a), np.where(left, b, high)
        new = np.where(left, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low))
        a, b = np.where(left, new, b), np.where(left, a, new)
        at_new = function(new)
        at_a, at_b = np.where(left, at_new, at_b), np.where(left, at_a, at_new)
    return (low + high) / 2.0
