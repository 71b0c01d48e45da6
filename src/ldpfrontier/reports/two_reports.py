"""Separate reports of S and of U, with the best division of the privacy level (lopuhaa2024, section 7)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ldpfrontier.base.types import FloatArray
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import excess
from ldpfrontier.model.mechanisms import unlimited_response
from ldpfrontier.model.optimum import UNKNOWN, Method, checked_epsilon
from ldpfrontier.numerics.arguments import as_distribution, as_instance
from ldpfrontier.numerics.jit import kernel
from ldpfrontier.uncertainty.renyi_ball import RenyiBall

_Function = Callable[[FloatArray], FloatArray]
Distance = Literal["published", "tight"]


@dataclass(frozen=True, eq=False)
class BudgetSplit:
    """The division of a privacy level between two reports, and the mechanism that both form together.

    Attributes
    ----------
    channel : Channel
        Kronecker product of a report of S at level `epsilon_1` and a report of U at level `delta_2`.
    epsilon_1, epsilon_2 : float
        Budgets of the reports of S and of U, in nats; their sum is the privacy level.
    delta_2 : float
        LDP level of the report of U, nats: above `epsilon_2`, as U tells about S only as far as they depend
        on each other; inf if U is released as it is.
    distance : float
        The d of lopuhaa2024, Theorem 5: a bound on ||P_{U|s} - P_{U|s'}||_1 over the ball.
    information : float
        I(X; Y) of `channel` at the prior, nats.
    method : Method
        What the reports were found with, if they are not randomized response.
    """

    channel: Channel
    epsilon_1: float
    epsilon_2: float
    delta_2: float
    distance: float
    information: float
    method: Method = UNKNOWN


def independent_reporting(
    ball: RenyiBall,
    epsilon: float,
    *,
    distance: Distance = "published",
    prior: ArrayLike | None = None,
) -> Channel:
    """Make the mechanism that reports S and U separately by randomized response, with the best division.

    Private at level epsilon over the ball (lopuhaa2024, Theorem 5). The parameters of the mechanism are those
    of `budget_split`, which takes the same arguments.

    Returns
    -------
    Channel
        Inputs and outputs are the pairs (s, u) in row-major order.

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    return budget_split(ball, epsilon, distance=distance, prior=prior).channel


def budget_split(
    ball: RenyiBall,
    epsilon: float,
    *,
    distance: Distance = "published",
    prior: ArrayLike | None = None,
) -> BudgetSplit:
    """Return the most informative reports by randomized response on S and on U of levels that give epsilon.

    S at level epsilon_1 = epsilon - epsilon_2, U at delta_2 = log(1 + 2 (e^epsilon_2 - 1) / d), where d
    bounds the l1 distance of the conditionals of two groups over the ball (lopuhaa2024, Theorem 5).
    epsilon_2 in [0, epsilon] maximizes I(X; Y): all local maxima of a grid that is fine both in epsilon_2 and
    in delta_2 are refined, so the ends and the steep rise near 0 at small d are covered.

    Parameters
    ----------
    ball : RenyiBall
        Uncertainty set of the distribution of (S, U).
    epsilon : float
        Privacy level in nats, 0, or 0.001 to 300.
    distance : {"published", "tight"}
        "published": d = min(2, max_s 2 d_s + max_{s,s'} ||P-hat_{U|s} - P-hat_{U|s'}||_1), the d_s being
        the bounds of Proposition 2. "tight": d = min(2, max over pairs s != s' of rad_s + rad_s' + ||.||_1)
        with the exact radii: the same guarantee with a smaller d.
    prior : array_like, shape (a1, a2), optional
        Distribution of (S, U) at which the information counts; the ball's centre by default.

    Returns
    -------
    BudgetSplit

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    as_instance(ball, RenyiBall, "The ball")
    epsilon = checked_epsilon(epsilon)
    p = as_distribution(ball.centre if prior is None else prior, "The prior")
    if p.shape != ball.centre.shape:
        raise ValueError(f"The prior has shape {p.shape}; the ball is over {ball.centre.shape}.")
    d, excesses = _distance(ball, distance), _excesses(p)

    def information(epsilon_2: FloatArray) -> FloatArray:
        return _report_information(excesses, epsilon - epsilon_2, _delta_2(epsilon_2, d))

    best = _maximize(information, epsilon, d)
    delta_2 = float(_delta_2(np.array([best]), d)[0])
    a1, a2 = p.shape
    channel = unlimited_response(a1, epsilon - best).kron(unlimited_response(a2, delta_2))
    return BudgetSplit(channel, epsilon - best, best, delta_2, d, float(information(np.array([best]))[0]))


def _distance(ball: RenyiBall, distance: Distance) -> float:
    if not isinstance(distance, str):
        distance_of = type(distance).__name__
        raise ValueError(f'distance is a {distance_of}; allowed are "published" and "tight".')
    R = ball.conditionals
    apart = np.abs(R[:, None] - R[None]).sum(axis=2)
    if distance == "published":
        return float(min(2.0, 2.0 * ball.radius_bounds.max() + apart.max()))
    if distance == "tight":
        pairs = apart + ball.radii[:, None] + ball.radii[None]
        return float(min(2.0, pairs[~np.eye(len(R), dtype=bool)].max(initial=0.0)))
    raise ValueError(f'distance is {distance!r}; allowed are "published" and "tight".')


def _delta_2(epsilon_2: FloatArray, d: float) -> FloatArray:
    """delta_2 of lopuhaa2024, Theorem 5; U says nothing about S if d = 0, and may be released as it is."""
    if d == 0:
        return np.full(np.shape(epsilon_2), np.inf)
    # The second branch is for an epsilon_2 whose exponential overflows.
    with np.errstate(over="ignore"):
        x = 2.0 * np.expm1(epsilon_2) / d
    return np.where(np.isfinite(x), np.log1p(x), epsilon_2 + math.log(2.0 / d))


def _excesses(p: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return by how much p, p_S and p_U exceed the uniform distribution, relatively."""
    a1, a2 = p.shape
    return a1 * a2 * p - 1.0, a1 * p.sum(axis=1) - 1.0, a2 * p.sum(axis=0) - 1.0


def _report_information(
    excesses: tuple[FloatArray, FloatArray, FloatArray], epsilon_1: FloatArray, delta_2: FloatArray
) -> FloatArray:
    """I(X; Y) of independent reporting for arrays of splits, shape (m,), in nats.

    Randomized response is the identity with probability l and uniform otherwise, so the output's relative
    excess over uniform is a combination of those of p, p_S and p_U. With D the divergence from uniform and
    rows of equal entropy, I = D(row of R1) + D(row of R2) - D(output), each D a sum of non-negative terms.
    """
    sizes = excesses[0].shape
    l1, l2 = (
        -np.expm1(-e) / (1.0 + (k - 1) * np.exp(-e)) for k, e in zip(sizes, (epsilon_1, delta_2), strict=True)
    )
    return np.asarray(_three_divergences(*excesses, l1, l2))


@kernel
def _three_divergences(
    joint: FloatArray, first: FloatArray, second: FloatArray, l1: FloatArray, l2: FloatArray
) -> FloatArray:
    """Return D(row of R1) + D(row of R2) - D(output) for shares l1, l2 of the identities."""
    a1, a2 = joint.shape
    result = np.empty(l1.size)
    for i in range(l1.size):
        both, one, other = l1[i] * l2[i], l1[i] * (1.0 - l2[i]), (1.0 - l1[i]) * l2[i]
        output = 0.0
        for s in range(a1):
            for u in range(a2):
                output += excess(both * joint[s, u] + one * first[s] + other * second[u])
        rows = (excess((a1 - 1) * l1[i]) + (a1 - 1) * excess(-l1[i])) / a1
        rows += (excess((a2 - 1) * l2[i]) + (a2 - 1) * excess(-l2[i])) / a2
        result[i] = rows - output / (a1 * a2)
    return result


def _maximize(function: _Function, epsilon: float, d: float) -> float:
    """Return a global maximizer on [0, epsilon], by a grid and zooming in on each of its local maxima."""
    if epsilon == 0 or d == 0:
        return 0.0
    even = np.linspace(0.0, epsilon, 129)
    last = float(_delta_2(np.array([epsilon]), d)[0])
    with np.errstate(over="ignore"):
        steep = np.log1p(0.5 * d * np.expm1(np.linspace(0.0, last, 129)[:-1]))
    grid = np.unique(np.clip(np.concatenate([even, steep[np.isfinite(steep)]]), 0.0, epsilon))
    values = function(grid)
    padded = np.concatenate([[-np.inf], values, [-np.inf]])
    peaks = np.flatnonzero((values >= padded[:-2]) & (values >= padded[2:]))
    best, top = float(grid[values.argmax()]), float(values.max())
    lo, hi = grid[np.maximum(peaks - 1, 0)], grid[np.minimum(peaks + 1, grid.size - 1)]
    for _ in range(8):
        zoom = np.linspace(lo, hi, 17, axis=1)
        heights = function(zoom.ravel()).reshape(zoom.shape)
        highest = int(heights.argmax())
        if heights.flat[highest] > top:
            best, top = float(zoom.flat[highest]), float(heights.flat[highest])
        j, each = heights.argmax(axis=1), np.arange(peaks.size)
        lo, hi = zoom[each, np.maximum(j - 1, 0)], zoom[each, np.minimum(j + 1, 16)]
    return best
