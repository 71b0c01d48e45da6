r"""Least odds ratios over a Renyi ball.

The odds ratio rho = P_1 P_2 / (P_3 P_4) of four cells is to be least over F = {P : D(P-hat || P) <= B}, with
q = P-hat. In the logarithms of P it is linear, and for an order alpha above 1 the conditions ::

    sum_i P_i <= 1,      sum_i q_i^alpha P_i^(1-alpha) <= c = e^((alpha-1) B)

are convex; a P of smaller sum may be scaled up. So the multipliers are those of the optimum. As the signs of
the four logarithms add up to 0, the sum of P_i times the stationarity conditions leaves one multiplier, and
with P_i = q_i c^(-1/alpha) e^(y_i) they are ::

    q_i (e^(y_i) - e^((1-alpha) y_i)) = -tau (i = 1, 2),  tau (i = 3, 4),      y_i = 0 for all others,
    sum_i q_i (e^(y_i) - 1) = e^(g B) - 1,      g = (alpha - 1) / alpha.

Both sides of the last line rise with tau >= 0, which is found by bisection. At order 1 the same steps give
P_i = q_i - tau and q_i + tau, with D(q || P) = B. Where q_1 or q_2 is 0, the least odds ratio is 0.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np

from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from ldpfrontier.uncertainty.settings import SETTINGS


def least_odds_ratios(ball: RenyiBall) -> FloatArray:
    """Return the least odds ratios rho(s, t, u, w) over F, shape (a1, a1, a2, a2); 1 where s = t or u = w.

    Up to order 1.001, the ball of order 1, which contains F, stands for it. Intractable if the order is below
    1, where F is not convex in logarithms.
    """
    if ball.order < 1.0:
        raise Intractable(
            f"The ball has the order {ball.order:g}; odds ratios over a ball are found for orders of 1 and"
            " more."
        )
    a1, a2 = ball.centre.shape
    low = np.ones((a1, a1, a2, a2))
    pairs = itertools.product(itertools.combinations(range(a1), 2), itertools.permutations(range(a2), 2))
    places = np.array([(s, t, u, w) for (s, t), (u, w) in pairs], dtype=np.intp).reshape(-1, 4)
    s, t, u, w = places.T
    q = ball.centre
    cells = np.array([q[t, u], q[s, w], q[t, w], q[s, u]])
    ends = np.zeros(len(places))
    positive = (cells[:2] > 0.0).all(axis=0) & math.isfinite(ball.radius)
    ends[positive] = _least(cells[:, positive], ball.radius, ball.order)
    low[s, t, u, w] = low[t, s, w, u] = ends
    return low


def _least(q: FloatArray, radius: float, order: float) -> FloatArray:
    """Return the least q_1 q_2 / (q_3 q_4) over F for cells (4, k), the first two of which are positive."""
    if radius == 0.0:
        with np.errstate(divide="ignore"):
            return np.asarray(q[0] * q[1] / q[2] / q[3])
    # Order up to which the ball of order 1 stands for a ball, as the budget would cancel.
    if order < 1.001:
        shift = _bisected(lambda tau: _kullback_leibler(q, tau) - radius, np.minimum(q[0], q[1]))
        logs = np.log(np.concatenate([q[:2] - shift, q[2:] + shift]))
    else:
        with np.errstate(over="ignore"):
            budget = float(np.expm1((order - 1.0) / order * radius))
        tau = _bisected(lambda tau: _spent(q, tau, order) - budget, np.full(q.shape[1], math.inf))
        logs = _log_cells(q, tau, order)
    with np.errstate(under="ignore"):
        ends = np.exp(logs[0] + logs[1] - logs[2] - logs[3] - SETTINGS.odds_margin)
    return np.where(np.isnan(ends), 0.0, ends)


def _bisected(excess: Callable[[FloatArray], FloatArray], most: FloatArray) -> FloatArray:
    """Return the least tau > 0 found, below `most`, at which a rising function is positive, shape (k,).

    It is nan where the function is positive nowhere, as far as floats go.
    """
    # The share of the largest one, or the logarithm of tau, from the ends of the floats on.
    bounded = np.isfinite(most)

    def at(place: FloatArray) -> FloatArray:
        return np.asarray(np.where(bounded, most * -np.expm1(-np.exp(place)), np.exp(place)))

    # Range of the logarithm of the multiplier of an odds ratio.
    low, high = (np.full(most.shape, end) for end in (-200.0, 200.0))
    # Close to its end, a share of the largest one is rounded to it.
    high = np.where(bounded, SETTINGS.log_share_end, high)
    with np.errstate(over="ignore"):
        somewhere = excess(at(high)) > 0.0
        for _ in range(70):  # to 400 / 2^70, below its rounding
            middle = 0.5 * (low + high)
            positive = excess(at(middle)) > 0.0
            low, high = np.where(positive, low, middle), np.where(positive, middle, high)
        return np.where(somewhere, at(high), math.nan)


def _kullback_leibler(q: FloatArray, tau: FloatArray) -> FloatArray:
    """Return D(q || P), P = q - tau at the first two cells and q + tau at the others, shape (k,)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        changes = np.log1p(np.array([-1.0, -1.0, 1.0, 1.0])[:, None] * tau / q)
    return np.asarray(-(q * np.where(q > 0.0, changes, 0.0)).sum(axis=0))


def _spent(q: FloatArray, tau: FloatArray, order: float) -> FloatArray:
    """Return the sum of q_i (e^(y_i) - 1), shape (k,)."""
    fall, rise = q[:2] * np.expm1(-_root(tau / q[:2], order - 1.0, 1.0)), np.zeros((2, q.shape[1]))
    for own, cells in zip(rise, q[2:], strict=True):
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            own[:] = np.where(cells > 0.0, cells * np.expm1(_root(tau / cells, 1.0, order - 1.0)), tau)
    return np.asarray(fall.sum(axis=0) + rise.sum(axis=0))


def _log_cells(q: FloatArray, tau: FloatArray, order: float) -> FloatArray:
    """Return log q_i + y_i, shape (4, k); of an empty cell, log tau."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        less = np.log(q[:2]) - _root(tau / q[:2], order - 1.0, 1.0)
        more = np.log(q[2:]) + _root(tau / q[2:], 1.0, order - 1.0)
    return np.concatenate([less, np.where(q[2:] > 0.0, more, np.log(tau))])


def _root(r: FloatArray, a: float, b: float) -> FloatArray:
    """Return z >= 0 with e^(a z) - e^(-b z) = r, where a, b > 0, by Newton's method in a bracket."""
    if a == b:
        return np.asarray(np.arcsinh(0.5 * r) / a)
    low, high = np.zeros(r.shape), np.log1p(r) / a
    z = np.minimum(high, r / (a + b))
    for _ in range(SETTINGS.root_steps):
        up, down = np.exp(a * z), np.exp(-b * z)
        excess = up - down - r
        low, high = np.where(excess < 0.0, z, low), np.where(excess < 0.0, high, z)
        step = z - excess / (a * up + b * down)
        moved = np.where((step >= low) & (step <= high), step, 0.5 * (low + high))
        if (np.abs(moved - z) <= 1e-15 * z).all():
            break
        z = moved
    return z
