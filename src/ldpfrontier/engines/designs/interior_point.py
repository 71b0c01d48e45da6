r"""A-optimal weights of listed columns, by a primal-dual interior-point method.

The program is ::

    minimize phi = tr(alpha S^-1 alpha')   with   S = sum_j theta_j c_j c_j'
    subject to   sum_j theta_j = 1,   sum_j theta_j c_j = 0,   theta >= 0.

It is convex in theta, and depends on theta through the entries of S and the row sums alone. Newton's
equations are therefore solved in these few numbers, r(r + 1)/2 + r + 1 for c_j in r dimensions, however many
columns there are, after one QR decomposition of the matrix of all c_j c_j' and (1, c_j); or for each column,
if there are fewer. Its rows are scaled by sqrt(theta / s), s the slacks of the dual constraints

    s_j = lambda . (1, c_j) - |beta c_j|^2 >= 0,   beta = alpha S^-1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.blas import dtrsm, dtrsv
from scipy.linalg.lapack import dpotrf

from ldpfrontier.base.types import FloatArray, IntArray
from ldpfrontier.engines.designs.settings import SETTINGS
from ldpfrontier.model.optimum import fell_back
from ldpfrontier.numerics.deadline import time_is_up

#: Share of the present complementarity that a step aims at after a short one, and at first.
_SHORT_STEP_CENTERING = 0.6


@dataclass(frozen=True, eq=False)
class DesignWeights:
    """Weights of columns, and what bounds the error of all others."""

    theta: FloatArray  # (m,)
    beta: FloatArray  # (k, r): alpha S^-1, with alpha scaled
    prices: FloatArray  # (r + 1,): lambda, for (1, c_j)
    value: float  # phi of alpha scaled, tr(alpha beta')
    rounds: int


def a_optimal(c: FloatArray, alpha: FloatArray, gap: float, max_rounds: int) -> DesignWeights:
    """Minimize tr(alpha S^-1 alpha') over weights of columns c, (m, r), to a relative gap.

    The columns span all r dimensions, and alpha, (k, r), is not 0. Where the gap is not reached before rounds
    or time are used up, the best weights so far are returned.
    """
    m, r = c.shape
    start = _inverse(c.T @ c / m)
    if start is None:
        raise ArithmeticError("The columns do not span their space in floating point.")
    alpha = alpha / np.sqrt((alpha @ start * alpha).sum())  # phi is 1 at the start
    sides = np.hstack([np.ones((m, 1)), c])
    # Columns, as a share of the numbers that the error depends on, up to which Newton's equations have an
    # unknown for each column.
    few = m < 3.0 * (r * (r + 1) // 2 + r + 1)
    i, j = np.triu_indices(r)
    lifted = sides if few else np.hstack([c[:, i] * c[:, j], sides])
    space = np.empty((2, m, m) if few else 0)
    target = np.zeros(r + 1)
    target[0] = 1.0
    theta, slack, prices = np.full(m, 1.0 / m), np.ones(m), np.zeros(r + 1)
    centering = _SHORT_STEP_CENTERING
    best: DesignWeights | None = None
    least = np.inf
    for rounds in range(max_rounds + 1):
        inverse = _inverse((c * theta[:, None]).T @ c)
        if inverse is None:
            break
        beta = alpha @ inverse
        worth = ((c @ beta.T) ** 2).sum(axis=1)
        off = target - sides.T @ theta
        raised = prices.copy()
        raised[0] += max(float((worth - sides @ prices).max()), 0.0)
        value, residual = float((alpha * beta).sum()), float(np.abs(off).max())
        reached = raised[0] / value - 1.0 if residual < SETTINGS.row_sums else np.inf
        if best is None or reached < least:
            best, least = DesignWeights(theta, beta, raised, value, rounds), reached
        if reached <= gap or rounds == max_rounds or time_is_up():
            break
        aim = centering * float(theta @ slack) / m
        weights, right = theta / slack, worth - sides @ prices + aim / theta
        if few:
            step = _newton_by_columns(c, sides, weights, right, off, beta, inverse, space)
        else:
            step = _newton(lifted, sides, weights, right, off, _curvature(beta, inverse, i, j))
        if step is None:
            break
        move, turn = _with_row_sums(step[0], theta, sides, off), step[1]
        fall = aim / theta - slack - slack / theta * move
        length = min(
            1.0, SETTINGS.boundary * min(_step_to_boundary(theta, move), _step_to_boundary(slack, fall))
        )
        theta, slack, prices = theta + length * move, slack + length * fall, prices + length * turn
        # After a long step it aims lower.
        centering = 0.1 if length > 0.8 else _SHORT_STEP_CENTERING
    assert best is not None
    if np.isinf(least) and not time_is_up():
        fell_back("weights with which rows do not sum to 1 yet, as the interior-point method ended")
    return best


def _inverse(matrix: FloatArray) -> FloatArray | None:
    try:
        return np.asarray(cho_solve(cho_factor(matrix), np.eye(len(matrix))))
    except np.linalg.LinAlgError:
        return None


def _step_to_boundary(values: FloatArray, moves: FloatArray) -> float:
    """Return how many times the moves can be made before a value is 0."""
    down = moves < 0
    return float((values[down] / -moves[down]).min(initial=np.inf))


def _curvature(beta: FloatArray, inverse: FloatArray, i: IntArray, j: IntArray) -> FloatArray:
    """Return the second derivatives of phi in the entries i <= j of S: 2 tr(G dS S^-1 dS)."""
    G, S = beta.T @ beta, inverse
    ends = [(i, j), (j, i)]
    half = sum(G[np.ix_(a, c)] * S[np.ix_(b, d)] for a, b in ends for c, d in ends)
    once = np.where(i == j, 0.5, 1.0)  # an entry of the diagonal was counted twice
    half = half * once[:, None] * once
    return np.asarray(half + half.T)


def _newton(
    lifted: FloatArray,
    sides: FloatArray,
    weights: FloatArray,
    right: FloatArray,
    off: FloatArray,
    curvature: FloatArray,
) -> tuple[FloatArray, FloatArray] | None:
    """Solve (W H W' + D) dtheta + U dlambda = right, U' dtheta = off, with D = 1 / weights."""
    n, sums = len(curvature), sides.shape[1]
    root = np.sqrt(weights)[:, None]
    R = np.asarray(np.linalg.qr(np.hstack([lifted, right[:, None]]) * root, mode="r"))
    inner, P, b = R[:, :n], R[:, n:-1], R[:, -1]
    E = inner @ curvature @ inner.T + np.eye(len(R))
    try:
        factor = cho_factor(E)
        solved = cho_solve(factor, np.column_stack([P, b]))
        turn = np.linalg.solve(P.T @ solved[:, :sums], P.T @ solved[:, sums] - off)
    except np.linalg.LinAlgError:
        return None
    z = solved[:, sums] - solved[:, :sums] @ turn
    rise = curvature @ (inner.T @ z)
    return weights * (right - sides @ turn - lifted[:, :n] @ rise), np.asarray(turn)


def _newton_by_columns(
    c: FloatArray,
    sides: FloatArray,
    weights: FloatArray,
    right: FloatArray,
    off: FloatArray,
    beta: FloatArray,
    inverse: FloatArray,
    space: FloatArray,
) -> tuple[FloatArray, FloatArray] | None:
    """Solve the equations of `_newton` in as many unknowns as there are columns, in a space of (2, m, m)."""
    E, other = space
    root = np.sqrt(weights)
    try:
        half, rooted = math.sqrt(2.0) * root[:, None] * (c @ beta.T), c @ np.linalg.cholesky(inverse)
        np.matmul(half, half.T, out=E)
        np.matmul(rooted, rooted.T, out=other)
        E *= other
        E[np.diag_indices_from(E)] += 1.0
        # LAPACK stores matrices by columns: this is the lower factor of a symmetric matrix in its place.
        factor, failed = dpotrf(E.T, lower=1, overwrite_a=1, clean=0)
        if failed:
            return None
        # L^-1 [P b].
        sums = np.vstack([sides.T, right]) * root
        solved = dtrsm(1.0, factor, sums.T, lower=1, overwrite_b=1)
        gram = solved[:, :-1].T @ solved
        turn = np.linalg.solve(gram[:, :-1], gram[:, -1] - off)
    except np.linalg.LinAlgError:
        return None
    z = dtrsv(factor, solved[:, -1] - solved[:, :-1] @ turn, lower=1, trans=1)
    return np.asarray(root * z), np.asarray(turn)


def _with_row_sums(move: FloatArray, theta: FloatArray, sides: FloatArray, off: FloatArray) -> FloatArray:
    """Return a move with the right row sums: rounding is as large as the weights of the equations."""
    gram = (sides * theta[:, None]).T @ sides
    missing = np.linalg.lstsq(gram, off - sides.T @ move, rcond=None)[0]
    return np.asarray(move + theta * (sides @ missing))
