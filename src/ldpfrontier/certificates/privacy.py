r"""Proofs of the level of a channel over the uncertainty set F, by weak duality.

Let g = 1 - 1 / order > 0, r = P-hat given s, p the probability of s, M the power mean under r of the power g,
and X = e^(g D) of a divergence D. In units of the range of a block v, with V = max v - v or V = v - min v,
every R with D(r || R) <= D has, for all h >= 0 ::

    R . V >= X^(-1/g) M(V + h) - h.

All P in F have sum_s p_s (X_s - 1) <= E = e^(g radius) - 1. A price k of that budget separates the groups:
with

    gain(c) = min over X >= 1 of max over h of X^(-1/g) M(V + h) - h + c (X - 1)

for c = k p in the units of the block, R_i . v_i - t R_j . v_j <= U_i - t L_j + k E. Where h > 0, X = M'^g and
c = M M'^(-1-g) / g at the best h, both monotone in h, which is found by Newton's method. The bound is convex
in k, and its slope is what the groups leave of E: k is found by halvings, tangents and secants. The price
itself is not in the proof: its h and X are (`ldpfrontier.verify.privacy_over_f`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray
from ldpfrontier.certificates.numbers import WholeRows, level_text, ratio_texts, text
from ldpfrontier.certificates.settings import SETTINGS
from ldpfrontier.uncertainty.renyi_ball import RenyiBall


def check_ball(ball: RenyiBall) -> None:
    """Refuse an F that the checker has no rules for: its order is not above 1, or its radius not finite."""
    if ball.order <= 1.0 or not math.isfinite(ball.radius):
        raise ValueError(
            f"F has the order {ball.order:g} and the radius {ball.radius:g}; certificates are for orders"
            " above 1 and finite radii."
        )


def uncertainty_claim(ball: RenyiBall, epsilon: float, rows: WholeRows) -> dict[str, Any]:
    """Return the claim that a channel is private over F, with proofs for all reports, if it is."""
    check_ball(ball)
    numerators = np.array([[*map(float, row)] for row in rows])
    blocks = numerators.reshape(*ball.centre.shape, -1).transpose(2, 0, 1)  # output, s, u
    return {
        "kind": "privacy over F",
        "epsilon": level_text(epsilon),
        "t": ratio_texts(epsilon)[0],
        "order": level_text(ball.order),
        "radius": level_text(ball.radius),
        "reports": [[_written(hints) for hints in proofs] for proofs in _proofs(ball, epsilon, blocks)],
    }


def _written(hints: FloatArray) -> list[list[str]]:
    """Write a proof, shape (a1, 4): h of the largest and of the least mean, and X of both."""
    digits = SETTINGS.scalar_digits
    return [[*(text(h, digits) for h in row[:2]), *(text(x, 15) for x in row[2:])] for row in hints.tolist()]


def _proofs(ball: RenyiBall, epsilon: float, blocks: FloatArray) -> list[list[FloatArray]]:
    """Return proofs for every report: at no price, at the best one of all pairs, or of some pairs each."""
    every = _Reports(ball, epsilon, blocks / blocks.max(axis=(1, 2), keepdims=True))
    first = every.at(np.zeros(len(blocks)))
    pairs = len(ball.centre) * (len(ball.centre) - 1)
    proofs = [
        [hints] if left.sum() < max(pairs, 1) else []
        for hints, left in zip(first.hints, first.unproved, strict=True)
    ]
    left, aims = first.unproved, first.unproved.copy()
    while (reports := np.flatnonzero(aims.any(axis=(1, 2)))).size:
        some = every.some(reports)
        found = some.at(some.best_prices(aims[reports]))
        for y, hints, excess, unproved in zip(
            reports, found.hints, found.excess, found.unproved, strict=True
        ):
            if (left[y] & ~unproved).any():
                proofs[y] = [*proofs[y], hints] if unproved.any() else [hints]
                left[y] &= unproved
                aims[y] = left[y]
            else:  # the worst pair alone; if it was alone, it has no proof
                worst, alone = np.where(aims[y], excess, -math.inf).argmax(), aims[y].sum() == 1
                aims[y] = False
                aims[y].flat[worst] = not alone
    return [found or [hints] for found, hints in zip(proofs, first.hints, strict=True)]


def _rounded(x: FloatArray, digits: int) -> FloatArray:
    """Round to significant digits."""
    unit = 10.0 ** (np.floor(np.log10(np.where(x > 0.0, x, 1.0))) - digits + 1)
    return np.asarray(np.rint(x / unit) * unit)


def _meeting(at: FloatArray, heights: FloatArray, slopes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return where two lines meet, and their height there, given points on them, of shape (2, reports)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        levels = heights - slopes * at
        place = (levels[0] - levels[1]) / (slopes[1] - slopes[0])
    return place, levels[0] + slopes[0] * place


class _Found(NamedTuple):
    """Proofs of reports at some prices."""

    hints: FloatArray  # (reports, a1, 4)
    excess: FloatArray  # (reports, a1, a1): the bound on R_s . v_s - t R_s' . v_s'
    budget: FloatArray  # (reports, a1, a1): the part of E that two groups leave
    unproved: NDArray[np.bool_]


class _Reports:
    """Blocks of reports, shape (reports, a1, a2), in units of the largest entry of each."""

    def __init__(self, ball: RenyiBall, epsilon: float, blocks: FloatArray) -> None:
        self.ball, self.epsilon, self.blocks = ball, epsilon, blocks
        self.g, self.t = (ball.order - 1.0) / ball.order, math.exp(epsilon)
        self.spare, self.p = (
            math.expm1(self.g * ball.radius),
            np.where(ball.sensitive > 0, ball.sensitive, 1.0),
        )
        #: Largest X of every s; no R of an empty one is nearer than any other.
        self.ends = np.where(ball.sensitive > 0, 1.0 + self.spare / self.p, 1.0)
        high, low = blocks.max(axis=2), blocks.min(axis=2)
        self.high, self.low, self.span = high, low, np.where(high > low, high - low, 1.0)
        #: Of the largest and of the least mean, shape (2, reports, a1, a2).
        self.distance = np.array([high[..., None] - blocks, blocks - low[..., None]]) / self.span[..., None]

    def some(self, chosen: NDArray[np.int64]) -> _Reports:
        """Return some of the reports."""
        return _Reports(self.ball, self.epsilon, self.blocks[chosen])

    def _mean(self, h: FloatArray) -> FloatArray:
        """Return M(V + h), shape (2, reports, a1)."""
        means = ((self.distance + h[..., None]) ** self.g * self.ball.conditionals).sum(axis=-1)
        return np.asarray(means ** (1.0 / self.g))

    def _scalars(self, c: FloatArray) -> FloatArray:
        """Return h of the proofs, all of the shape (2, reports, a1), by Newton's method in log h.

        Where a step leaves the interval in which log h is known to be, the interval is halved.
        """
        a2, g = self.distance.shape[-1], self.g
        V, r = self.distance.reshape(-1, a2), np.broadcast_to(self.ball.conditionals, self.distance.shape)
        r, aim, most = r.reshape(-1, a2), g * c.ravel(), np.broadcast_to(self.ends, c.shape).ravel()
        low, high = (np.full(aim.size, end) for end in SETTINGS.scalar_range)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            place = np.clip(np.log(aim), low, high)
            # Where not even the least scalar is too small, it is 0.
            todo = np.flatnonzero(self._is_small(V, r, low, aim, most)[0])
            place[np.setdiff1d(np.arange(aim.size), todo)] = low[0]
            # Steps of Newton's method, or halvings, for the logarithm of a scalar.
            for _ in range(30):
                small, newton = self._is_small(V[todo], r[todo], place[todo], aim[todo], most[todo])
                low[todo[small]], high[todo[~small]] = place[todo[small]], place[todo[~small]]
                # At the root itself, rounding decides which end of the interval it is.
                near = np.clip(newton, low[todo], high[todo])
                inside = abs(newton - near) <= SETTINGS.scalar_step
                moved = np.where(inside, near, 0.5 * (low[todo] + high[todo]))
                far = abs(moved - place[todo]) > SETTINGS.scalar_step
                place[todo] = moved
                todo = todo[far]
                if not todo.size:
                    break
        return np.where(place > SETTINGS.scalar_range[0], np.exp(place), 0.0).reshape(c.shape)

    def _is_small(
        self, V: FloatArray, r: FloatArray, place: FloatArray, aim: FloatArray, most: FloatArray
    ) -> tuple[NDArray[np.bool_], FloatArray]:
        """Return whether h is too small, given its logarithm, and where Newton's method goes from there.

        It is too small if c is not reached, or if X is beyond its end: the larger of both roots is sought.
        """
        g, h = self.g, np.exp(place)
        x = V + h[:, None]
        weighted = x**g * r
        mean = weighted.sum(axis=1) ** (1.0 / g)
        weighted /= x
        first = weighted.sum(axis=1)
        weighted /= x
        slope = first * mean ** (1.0 - g)
        found, slope_rate, first_rate = mean * slope ** (-1.0 - g), slope / mean, weighted.sum(axis=1) / first
        by_price = np.log(found / aim) / (g * g * slope_rate + (1.0 - g * g) * first_rate)
        by_end = np.log(slope / most ** (1.0 / g)) / ((1.0 - g) * (slope_rate - first_rate))
        return (found < aim) | (slope**g > most), place - np.minimum(by_price, by_end) / h

    def at(self, prices: FloatArray) -> _Found:
        """Return proofs at a price of the budget for every report."""
        g, p, most = self.g, self.p, self.ends
        c = np.array([prices[:, None] * p, prices[:, None] * p / self.t]) / self.span
        h = self._scalars(c)
        h = _rounded(np.where(self.ball.sensitive > 0, h, 0.0), SETTINGS.scalar_digits)
        mean = self._mean(h)
        # The slopes of the tangents fit each other, whatever is wrong with h: its error counts squared.
        with np.errstate(divide="ignore", invalid="ignore"):
            X = (mean / (g * c)) ** (g / (1.0 + g))
        X = np.clip(np.where(np.isnan(X), 1.0, X), 1.0, most)
        gain = np.where(self.ball.sensitive > 0, X ** (-1.0 / g) * mean - h, 0.0) * self.span
        used = p * (X - 1.0)
        upper = self.high - gain[0] - prices[:, None] * used[0]
        lower = self.low + gain[1] + prices[:, None] * used[1] / self.t
        excess = upper[:, :, None] - self.t * lower[:, None, :] + (prices * self.spare)[:, None, None]
        excess[:, np.eye(len(p), dtype=bool)] = -math.inf
        left = self.spare - used[0][:, :, None] - used[1][:, None, :]
        hints = np.stack([h[0], h[1], X[0], X[1]], axis=-1)
        return _Found(hints, excess, left, excess > -SETTINGS.level_margin)

    def best_prices(self, pairs: NDArray[np.bool_]) -> FloatArray:
        """Return prices of all reports at which the largest excess of some pairs is least, or low enough."""
        # Range of the price of all of the budget, in units of the largest entry of a report.
        ends = np.array([[math.log(x / self.spare)] * len(self.blocks) for x in (1e-9, 1e3)])
        # Of both ends: the largest excess and its slope in the price, 0 where it is not known yet.
        heights, slopes = np.zeros(ends.shape), np.zeros(ends.shape)
        prices, todo = np.exp(ends.mean(axis=0)), np.arange(len(self.blocks))
        # Steps of the search for the price of the budget: halvings of its logarithm, tangents and secants.
        for step in range(40):
            found = self.some(todo).at(prices[todo])
            excess = np.where(pairs[todo], found.excess, -math.inf).reshape(len(todo), -1)
            worst, rows = excess.argmax(axis=1), np.arange(len(todo))
            slope = found.budget.reshape(len(todo), -1)[rows, worst]
            dear = (slope > 0.0).astype(np.int64)
            ends[dear, todo], heights[dear, todo] = np.log(prices[todo]), excess[rows, worst]
            slopes[dear, todo] = slope
            meeting, least = _meeting(np.exp(ends[:, todo]), heights[:, todo], slopes[:, todo])
            # Convex functions are above their tangents: there is no price if these do not meet low enough.
            hopeless = slopes[:, todo].all(axis=0) & (least > -0.5 * SETTINGS.level_margin)
            left = (excess[rows, worst] > -SETTINGS.level_margin) & ~hopeless
            todo, meeting = todo[left], meeting[left]
            if not todo.size:
                break
            (low, high), (falling, rising) = ends[:, todo], slopes[:, todo]
            with np.errstate(divide="ignore", invalid="ignore"):
                secant = low - falling * (high - low) / (rising - falling)
                tried = (0.5 * (low + high), np.log(meeting), secant)[step % 3]
            prices[todo] = np.exp(np.where(falling * rising < 0.0, tried, 0.5 * (low + high)))
        return np.asarray(prices)
