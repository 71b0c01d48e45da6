r"""Targets of estimates that are no linear functions of probabilities: rates, and coefficients of a logit.

The rows of such a target are gradients at the distribution that is expected, so that for many people the
error of A p is that of what is estimated (the delta method), and a mechanism of least error, with its bound,
is one for the rate or the coefficient. The coefficients of the logit P(s | u) ~ exp(x_u . b_s), b_0 = 0, of
which the expected score sum_{s, u} p(s, u) x_u (1{s = r} - P(r | u)) is 0 for every r > 0, have as gradients
the influence functions H^-1 (1{s = r} - P(r | u)) x_u, H = sum_u p_u (diag P(. | u) - P P') (x) x_u x_u'.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.designs.settings import SETTINGS
from ldpfrontier.numerics.arguments import as_distribution, as_numbers

#: Coefficients beyond this, of covariates of at most 1, count as growing without limit.
_LARGEST_LOGIT = 30.0


def rate_target(prior: ArrayLike) -> FloatArray:
    """Return the target of the rates P(s | u), for `estimation_error` and `optimal_estimation`.

    A rate is no linear function of probabilities. The rows are its gradients at the prior, so that for many
    people the error is that of the rates that follow from the estimated probabilities (the delta method).

    Parameters
    ----------
    prior : array_like, shape (a1, a2)
        The distribution of the sensitive (rows) and the useful values (columns), at which rates are expected.

    Returns
    -------
    ndarray, shape (a1 a2, a1 a2)
        A row for each rate, s before u, and a column for each pair of values.

    Raises
    ------
    ValueError
        If it is no table of a distribution, or a useful value has the probability 0.

    Examples
    --------
    >>> from ldpfrontier import rate_target
    >>> rate_target([[0.25, 0.1], [0.25, 0.4]]).round(3).tolist()[0]
    [1.0, 0.0, -1.0, 0.0]
    """
    p = as_distribution(prior, "The prior")
    if p.ndim != 2:
        raise ValueError(
            f"The prior has the shape {p.shape}; rates need a table with a row for each sensitive value and a"
            " column for each useful one."
        )
    mass = p.sum(axis=0)
    if not (mass > 0).all():
        raise ValueError(
            f"Useful value {int(mass.argmin())} has the probability 0; rates given it are not defined."
        )
    a1, a2 = p.shape
    same = np.eye(a1)[:, None, :, None] - (p / mass)[:, :, None, None]
    gradients = same * np.eye(a2)[None, :, None, :] / mass[None, :, None, None]
    return np.asarray(gradients.reshape(a1 * a2, a1 * a2))


def logit_coefficients(prior: ArrayLike, design: ArrayLike) -> FloatArray:
    """Return the coefficients of the logistic regression of the sensitive value on the useful one.

    They are those that many records of a distribution would give.

    Parameters
    ----------
    prior : array_like, shape (a1, a2)
        The distribution of the sensitive (rows) and the useful values (columns).
    design : array_like, shape (a2, k)
        The covariates of every useful value, one of them the constant 1 if there is an intercept.

    Returns
    -------
    ndarray, shape (a1 - 1, k)
        Logarithms of ratios of odds against the first sensitive value.

    Raises
    ------
    ValueError
        If the prior is no table of a distribution, the design does not fit, its columns are not independent,
        or some coefficient grows without limit.

    Examples
    --------
    >>> from ldpfrontier import logit_coefficients
    >>> logit_coefficients([[0.25, 0.4], [0.25, 0.1]], [[1, 0], [1, 1]]).round(3).tolist()
    [[0.0, -1.386]]
    """
    return _fitted(prior, design)[0]


def logit_target(prior: ArrayLike, design: ArrayLike) -> FloatArray:
    """Return the target of the coefficients of a logit, for `estimation_error` and `optimal_estimation`.

    Parameters
    ----------
    prior, design
        As of `logit_coefficients`.

    Returns
    -------
    ndarray, shape ((a1 - 1) k, a1 a2)
        A row for each coefficient, sensitive values before covariates, and a column for each pair of values.

    Raises
    ------
    ValueError
        As `logit_coefficients`.

    Examples
    --------
    >>> from ldpfrontier import logit_target
    >>> logit_target([[0.25, 0.4], [0.25, 0.1]], [[1, 0], [1, 1]]).round(2).tolist()[1]
    [4.0, -2.5, -4.0, 10.0]
    """
    coefficients, p, x = _fitted(prior, design)
    chances = _chances(coefficients, x)
    residuals = np.eye(len(p))[1:, :, None] - chances[1:, None, :]  # r, s, u
    scores = np.einsum("rsu,uk->rksu", residuals, x).reshape(coefficients.size, -1)
    return np.asarray(np.linalg.solve(_information(chances, p.sum(axis=0), x), scores))


def _chances(coefficients: FloatArray, x: FloatArray) -> FloatArray:
    """Return P(s | u), shape (a1, a2)."""
    return np.asarray(softmax(np.vstack([np.zeros(len(x)), coefficients @ x.T]), axis=0))


def _information(chances: FloatArray, mass: FloatArray, x: FloatArray) -> FloatArray:
    """Return H, shape ((a1 - 1) k, (a1 - 1) k)."""
    rest = chances[1:]
    spread = np.eye(len(rest))[:, :, None] * rest[:, None, :] - rest[:, None, :] * rest[None, :, :]
    size = len(rest) * x.shape[1]
    return np.asarray(np.einsum("rtu,u,uk,ul->rktl", spread, mass, x, x).reshape(size, size))


def _fitted(prior: ArrayLike, design: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return coefficients, the prior and the design, checked."""
    p, x = as_distribution(prior, "The prior"), as_numbers(design, "The design")
    if p.ndim != 2 or len(p) < 2:
        raise ValueError(
            f"The prior has the shape {p.shape}; it must be a table with a row for each sensitive value, at"
            " least two, and a column for each useful one."
        )
    if x.ndim != 2 or len(x) != p.shape[1] or x.shape[1] == 0:
        raise ValueError(
            f"The design has the shape {x.shape}; it must have a row for each of the {p.shape[1]} useful"
            " values and a column for each covariate."
        )
    units = np.abs(x).max(axis=0)
    if not (units <= SETTINGS.largest_weight).all():
        raise ValueError(
            f"The design has an entry that is not a number between -{SETTINGS.largest_weight:g} and"
            f" {SETTINGS.largest_weight:g}."
        )
    mass = p.sum(axis=0)
    if np.linalg.matrix_rank(x[mass > 0] / np.where(units > 0, units, 1.0)) < x.shape[1]:
        raise ValueError(
            "The columns of the design are not independent, so that coefficients are not determined."
        )
    scaled, found = x / units, np.zeros((len(p) - 1, x.shape[1]))

    def likelihood(coefficients: FloatArray) -> float:
        logs = np.log(np.maximum(_chances(coefficients, scaled), np.finfo(float).tiny))
        return float((p * logs).sum())

    for _ in range(100):  # Newton's, shortened where they go too far
        chances = _chances(found, scaled)
        slope = ((p[1:] - mass * chances[1:]) @ scaled).ravel()
        step = np.linalg.lstsq(_information(chances, mass, scaled), slope, rcond=None)[0].reshape(found.shape)
        size = 1.0
        # Less its rounding: else the last steps, which gain less, are not taken.
        least = likelihood(found) - 1e-13
        while likelihood(found + size * step) < least and size > np.finfo(float).eps:
            size *= 0.5
        found = found + size * step
        if np.abs(step).max() <= 1e-12 or np.abs(found).max() > _LARGEST_LOGIT:
            break
    if np.abs(found).max() > _LARGEST_LOGIT or np.abs(slope).max() > 1e-9:  # the mean score is 0
        raise ValueError(
            "A coefficient grows without limit: some covariates tell a sensitive value for certain. Use fewer"
            " covariates, or a prior without zeros."
        )
    return found / units, p, x
