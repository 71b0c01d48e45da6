r"""Duals near the best ones known, for a search whose columns are not all that there are.

The duals of a restricted master minimize the largest of the affine minorants ``sum(alpha) + mu(v_j) - alpha .
v_j`` of the bound, one for each column found so far, and oscillate. Here the next duals minimize ::

    sum(alpha) + sum_x (alpha_x - stable_x)^2 / (2 tau P_x)   subject to   alpha . v_j >= mu(v_j),

where P is the scale of the columns and `stable` are the duals of the best bound so far: a step of a proximal
bundle method. With the smoothing of `column_generation.smoothed` in its place, the mechanisms that are found
against acquaintances on a random 3 x 6 table are worth 1% less. The program is solved approximately, by an
interior point method (Mehrotra's predictor and corrector); the multipliers of its inequalities are weights of
columns, which show which ones matter.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.blas import dsyrk

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.model.utility import Columns


def proximal_duals(
    columns: Columns, stable: FloatArray, scale: FloatArray, metric: FloatArray, accuracy: float
) -> tuple[FloatArray, FloatArray]:
    """Minimize sum(alpha) + sum (alpha - stable)^2 / (2 metric) subject to alpha . v_j >= mu(v_j).

    Returned are the duals, (inputs,), which meet all inequalities, and the multipliers of these, (n,). The
    accuracy is that of the objective, relative to its minimum.
    """
    A, c, Q = np.ascontiguousarray(columns.vectors.T), columns.values, 1.0 / metric
    n, total = c.size, abs(float(stable.sum()))
    # Scaled columns have scale . v = 1, so duals raised by a multiple of the scale meet every inequality.
    shift = max(0.0, float((c - stable @ A).max())) + 1e-3 * total
    duals = stable + shift * scale
    slack = duals @ A - c
    weights = 1.0 / slack
    weights /= weights.sum()
    for _ in range(GENERATION.max_interior_steps):
        residual = 1.0 + Q * (duals - stable) - A @ weights
        gap = float(weights @ slack)
        if np.abs(residual).max() < 1e-6 and gap < accuracy * total:
            break
        normal = dsyrk(1.0, A * np.sqrt(weights / slack))
        normal[np.diag_indices_from(normal)] += Q
        factor = cho_factor(normal, overwrite_a=True, check_finite=False)
        _, d_weights, d_slack = _newton_step(factor, A, weights, slack, residual, -weights * slack)
        step = _longest_step(weights, d_weights, slack, d_slack)
        ahead = float((weights + step * d_weights) @ (slack + step * d_slack))
        aim = max((ahead / gap) ** 3, 1e-3) * gap / n - weights * slack - d_weights * d_slack
        d_duals, d_weights, d_slack = _newton_step(factor, A, weights, slack, residual, aim)
        step = 0.95 * _longest_step(weights, d_weights, slack, d_slack)
        duals, weights = duals + step * d_duals, weights + step * d_weights
        slack = duals @ A - c
    return duals, weights


def _newton_step(
    factor: tuple[FloatArray, bool],
    A: FloatArray,
    weights: FloatArray,
    slack: FloatArray,
    residual: FloatArray,
    target: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the Newton step of duals, weights and slack that changes weights x slack by `target`."""
    d_duals = cho_solve(factor, A @ (target / slack) - residual, check_finite=False)
    d_slack = d_duals @ A
    return d_duals, (target - weights * d_slack) / slack, d_slack


def _longest_step(
    weights: FloatArray, d_weights: FloatArray, slack: FloatArray, d_slack: FloatArray
) -> float:
    """Return the largest step, 1 / 0.95 at most, that leaves weights and slack nonnegative."""
    fall = max(float((-d_weights / weights).max()), float((-d_slack / slack).max()), 0.95)
    return 1.0 / fall
