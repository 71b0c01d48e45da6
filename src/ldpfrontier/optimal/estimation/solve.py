r"""The mechanism from whose reports a table is estimated with the least error.

Over the columns v_j of a cone C that a promise allows, scaled to p . v_j = 1, this is an optimal design in
the sense of Kiefer (1974), A-optimality with the row sums of a channel as one more condition::

    minimize phi(M) = tr(A M^-1 A')   subject to   M = sum_j theta_j v_j v_j',  sum_j theta_j v_j = 1.

It is convex in theta. For any matrix W, with equality at W = A M^-1,

    phi(M) >= 2 tr(A W') - tr(W M W') = 2 tr(A W') - sum_j theta_j |W v_j|^2,

so that prices lam with lam . v >= |W v|^2 / (p . v) on C, the dual prices of the column program with that
utility, bound the error of every mechanism: for the best multiple of W,

    phi(M) >= tr(A W')^2 / sum(lam).

|W v|^2 / (p . v) is convex and homogeneous, and lam . v exceeds it on C if it does at the extreme rays, which
are listed without rounding (`ldpfrontier.optimal.general`). A is centred here, A p = 0, so that phi is n MSE.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ldpfrontier.channel import Channel
from ldpfrontier.cones import Cone, PolyhedralCone, check_cone
from ldpfrontier.numerics.arguments import as_distribution
from ldpfrontier.numerics.deadline import TimeIsUp
from ldpfrontier.numerics.rounding import gamma
from ldpfrontier.optimal.estimation.error import (
    centred,
    estimation_error,
    input_units,
    is_outside,
    orthonormal_span,
    target_rows,
)
from ldpfrontier.optimal.estimation.interior_point import Weights, a_optimal
from ldpfrontier.optimal.estimation.settings import SETTINGS
from ldpfrontier.optimal.general.solve import listed_rays, quick_mechanism
from ldpfrontier.optimal.registry import LIMITS
from ldpfrontier.optimum import BROKEN, ROUNDING, Optimum, checked_effort, limited, records_fallbacks
from ldpfrontier.types import FloatArray, Intractable


@records_fallbacks
@limited
def optimal_estimation(
    prior: ArrayLike,
    cone: Cone,
    target: ArrayLike | None = None,
    *,
    tolerance: float = SETTINGS.tolerance,
    max_rounds: int = SETTINGS.max_rounds,
    max_seconds: float | None = None,
) -> Optimum:
    """Find the mechanism whose reports need the fewest people for an estimate, with a certificate.

    The error is that of the best unbiased estimate at the prior, times the number of people
    (`estimation_error`). At other distributions the mechanism is as private, and its error is another one.

    Parameters
    ----------
    prior : array_like, any shape
        The distribution of the records that is expected, flattened row-major.
    cone : Cone
        The columns that are allowed: a `PolyhedralCone`, such as those of `ldpfrontier.cones`.
    target : {"sensitive", "useful"} or array_like, shape (k, inputs), optional
        What is estimated: probabilities of all inputs if None, the distribution of the sensitive or of the
        useful value of a table, or the products of this matrix with the probabilities of the inputs.
    tolerance : float
        Relative gap at which to stop, 0 or more.
    max_rounds : int
        Most steps of the interior-point method.
    max_seconds : float, optional
        Seconds after which the best mechanism and bound found so far are returned, as "bounded"; 0 or more.

    Returns
    -------
    Optimum
        The unit is "1" and the direction is "min".

    Raises
    ------
    Intractable
        If the cone is not polyhedral, or has too many inputs or extreme rays to list.
    ValueError
        If an argument is of another kind or out of range, no mechanism in the cone allows an estimate, or a
        column of the cone has the probability 0.

    Examples
    --------
    >>> from ldpfrontier import local_cone, optimal_estimation
    >>> best = optimal_estimation([0.2, 0.3, 0.5], local_cone(3, 1.0))
    >>> best.status, round(best.value, 3)
    ('optimal', 5.034)
    """
    check_cone(cone)
    tolerance, max_rounds = checked_effort(tolerance, max_rounds)
    p = as_distribution(prior, "The prior")
    inputs = math.prod(cone.shape)
    if p.size != inputs:
        raise ValueError(f"The prior has {p.size} entries and the cone has {inputs} inputs; they must agree.")
    shape = cone.shape if cone.shape[0] > 1 else p.shape
    table = (shape[0], shape[1]) if len(shape) == 2 else None
    p = p.ravel() / p.sum()
    rows = target_rows(target, inputs, table)
    size = max(float(np.abs(rows).max()), 1e-300)
    wanted = centred(rows / size, p)
    if not wanted.any():  # known without a report
        return Optimum(Channel(np.ones((inputs, 1))), 0.0, 0.0, "optimal", 0, "1", "min")
    try:
        rays = listed_rays(cone) if (patterns := staircase_rays(cone)) is None else patterns
    except TimeIsUp:
        channel = quick_mechanism(cone)
        value, least = (estimation_error(own, p, rows) for own in (channel, Channel(np.eye(inputs))))
        return Optimum(channel, value, min(least * (1.0 - BROKEN), value), "bounded", 0, "1", "min")
    if rays is None or not isinstance(cone, PolyhedralCone):
        raise Intractable(
            "The error of estimates is minimized over cones of which all extreme rays can be listed: those of"
            f" finitely many inequalities, with at most {LIMITS.max_ray_inputs} inputs and"
            f" {LIMITS.max_rays:,} rays."
        )
    vectors = _columns(cone, rays, p)
    units = input_units(p)
    frame = _frame((vectors - 1.0) * units, wanted * units) * units[:, None]
    c = (vectors - 1.0) @ frame
    gap = max(SETTINGS.inner_gap * tolerance, SETTINGS.finest_gap)
    weights = a_optimal(c, wanted @ frame, gap, max_rounds)
    channel = cone.mix_inside(_channel(vectors, c, wanted @ frame, weights.theta, tolerance))
    value = estimation_error(channel, p, rows)
    bound = _bound(vectors, p, rows / size, wanted, *_prices(frame, weights, p)) * size**2
    if not bound <= value * (1.0 + BROKEN):
        raise ArithmeticError(f"The value {value!r} is below its bound {bound!r}; the certificate fails.")
    bound = min(bound, value)
    status = "optimal" if value - bound <= tolerance * value else "bounded"
    return Optimum(channel, value, bound, status, weights.rounds, "1", "min")


def _columns(cone: PolyhedralCone, rays: FloatArray, p: FloatArray) -> FloatArray:
    """Return the extreme rays of a cone that a mechanism can have as columns, with p . v = 1, (m, inputs)."""
    # What the constant column meets with equality, all columns of a mechanism meet with equality.
    B = cone.inequalities
    sizes = np.abs(B).sum(axis=1)
    tight = B.sum(axis=1) >= -SETTINGS.equality * sizes
    slack = rays @ B[tight].T
    rays = rays[(slack >= -SETTINGS.equality * (rays @ np.abs(B[tight]).T)).all(axis=1)]
    mass = rays @ p
    if not (mass > 0).all():
        cell = int(rays[int(mass.argmin())].argmax())
        raise ValueError(
            f"The prior is 0 at input {cell}, and the cone has a column that occurs with such inputs only:"
            " the least error is then not the error of a mechanism. Every input needs a probability above 0."
        )
    return np.asarray(rays / mass[:, None])


def staircase_rays(cone: Cone) -> FloatArray | None:
    """Return the extreme rays of a cone of local differential privacy, (2^n - 2, n); None for other cones.

    They are 1 on a set of inputs and e^-epsilon elsewhere (kairouz2016, Theorem 4).
    """
    if not isinstance(cone, PolyhedralCone):
        return None
    B, n = cone.inequalities, math.prod(cone.shape)
    if not 1 < n <= SETTINGS.max_staircase_inputs or len(B) != n * (n - 1):
        return None
    ratio = -float(B.min(initial=0.0))
    over, under = B.argmax(axis=1), B.argmin(axis=1)
    same = np.zeros_like(B)
    same[np.arange(len(B)), under], same[np.arange(len(B)), over] = -ratio, 1.0
    distinct = np.unique(over * n + under).size == len(B)
    if ratio <= 1.0 or not distinct or not np.array_equal(same, B):
        return None
    inside = (np.arange(1, 2**n - 1)[:, None] >> np.arange(n)) & 1
    return np.where(inside == 1, 1.0, 1.0 / ratio)


def _frame(deviations: FloatArray, wanted: FloatArray) -> FloatArray:
    """Return a matrix, (inputs, r), by which columns are expressed in the r dimensions that they span.

    Raises
    ------
    ValueError
        If what is wanted is not in their span.
    """
    sizes = np.linalg.norm(deviations, axis=1)
    used = sizes > 1e-14 * sizes.max(initial=1e-300)
    basis = np.zeros((0, wanted.shape[1]))
    if used.any():
        basis, spread = orthonormal_span(deviations[used] / sizes[used, None])
    if is_outside(wanted, wanted @ basis.T @ basis):
        raise ValueError(
            "No mechanism of the cone allows an unbiased estimate of the target: its columns do not tell the"
            " inputs apart that the target does, or by no more than rounding."
        )
    return np.asarray(basis.T / spread * math.sqrt(int(used.sum())))


def _channel(
    vectors: FloatArray, c: FloatArray, alpha: FloatArray, theta: FloatArray, tolerance: float
) -> Channel:
    """Return a channel with few of the columns, at little more than the error of all."""
    sides = np.hstack([np.ones((len(c), 1)), c])
    every = _adjusted_weights(theta, sides)
    most = _phi(c, alpha, every) * (1.0 + SETTINGS.dropped * tolerance)
    if not most < math.inf:  # rows do not sum to 1 yet: what they lack is a column, which the caller moves
        sums = theta @ vectors
        share = 1.0 / float(sums.max())
        return Channel(np.vstack([share * theta[:, None] * vectors, 1.0 - share * sums]).T)
    for exponent in range(2, 16):
        kept = theta > 10.0**-exponent * theta.max()
        fewer = _adjusted_weights(theta[kept], sides[kept])
        if _phi(c[kept], alpha, fewer) <= most:
            return Channel((vectors[kept] * fewer[:, None])[fewer > 0].T)
    return Channel((vectors * every[:, None])[every > 0].T)


def _adjusted_weights(theta: FloatArray, sides: FloatArray) -> FloatArray:
    """Return weights as close to these as can be with which rows sum to 1."""
    target = np.zeros(sides.shape[1])
    target[0] = 1.0
    for _ in range(3):
        gram = (sides * theta[:, None]).T @ sides
        theta = theta * (1.0 + sides @ np.linalg.lstsq(gram, target - sides.T @ theta, rcond=None)[0])
    return theta


def _phi(c: FloatArray, alpha: FloatArray, theta: FloatArray) -> float:
    """Return tr(alpha S^-1 alpha'); inf if a weight is negative, rows do not sum to 1, or S is singular."""
    off = abs(float(theta.sum()) - 1.0) + float(np.abs(c.T @ theta).max(initial=0.0))
    if (theta < 0).any() or not off < SETTINGS.row_sums:
        return math.inf
    basis, sizes = orthonormal_span(c * np.sqrt(theta)[:, None])
    if is_outside(alpha, alpha @ basis.T @ basis):
        return math.inf
    return float(((alpha @ basis.T / sizes) ** 2).sum())


def _prices(frame: FloatArray, weights: Weights, p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return W, (k, inputs), and prices of inputs, (inputs,)."""
    W = weights.beta @ frame.T
    W -= np.outer(W.sum(axis=1), p)  # W 1 = 0
    slopes = frame @ weights.prices[1:]
    return W, slopes + (weights.prices[0] - slopes.sum()) * p


def _bound(
    vectors: FloatArray,
    p: FloatArray,
    rows: FloatArray,
    wanted: FloatArray,
    W: FloatArray,
    prices: FloatArray,
) -> float:
    """Return tr(A W')^2 / sum(lam), with the prices raised to what columns are worth, less its rounding."""
    n, k = p.size, len(rows)
    values, sizes = np.abs(vectors @ W.T), vectors @ np.abs(W).T
    worth = ((values + gamma(2 * n + 8) * sizes) ** 2).sum(axis=1) * (1.0 + gamma(n + k + 8))
    missing = worth - vectors @ prices + gamma(2 * n + 8) * (vectors @ np.abs(prices))
    lift = float(missing.max())
    size = np.abs(prices).sum() + abs(lift)
    total = float(prices.sum()) + lift + gamma(n + 8) * float(size)
    rounding = gamma(k * n + 40 * n) * float(((np.abs(rows) + np.abs(rows) @ p[:, None]) * np.abs(W)).sum())
    product = float((wanted * W).sum()) - rounding
    if not (product > 0 and total > 0):
        return 0.0
    return product**2 / total * (1.0 - ROUNDING)
