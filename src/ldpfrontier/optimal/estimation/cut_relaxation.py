"""The semidefinite bound on a quadratic form over zeros and ones, as of maximum cuts."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ldpfrontier.numerics.rounding import gamma
from ldpfrontier.optimal.estimation.settings import SETTINGS
from ldpfrontier.types import FloatArray


def cut_bound(form: FloatArray, accuracy: float) -> float:
    """Return an upper bound of w' F w over w = (1, x), x in {0, 1}^n.

    With x = (1 + s) / 2 it is the largest s' C s over signs, which is at most the sum of y if Diag(y) - C is
    positive semidefinite. The y are those of an interior-point method for max <C, Y>, Y psd with the diagonal
    1 (Helmberg, Rendl, Vanderbei and Wolkowicz 1996), and what they lack is added.

    Parameters
    ----------
    form : ndarray, shape (n + 1, n + 1)
        F, symmetric.
    accuracy : float
        Of the bound.
    """
    n = len(form)
    change = np.eye(n)
    change[1:, 1:] *= 0.5
    change[1:, 0] = 0.5
    C = change.T @ form @ change
    return dual_diagonal(0.5 * (C + C.T), accuracy)[1]


def dual_diagonal(C: FloatArray, accuracy: float) -> tuple[FloatArray, float]:
    """Return y with the least sum with which Diag(y) - C is positive semidefinite, and a bound on the sum.

    Parameters
    ----------
    C : ndarray, shape (n, n)
        Symmetric.
    accuracy : float
        Of the sum.

    Returns
    -------
    y : ndarray, shape (n,)
    total : float
        An upper bound on s' C s over signs s.
    """
    n = len(C)
    Y, y = np.eye(n), np.abs(C).sum(axis=1) * 1.1 + 1e-300
    best = _proved(C, y)
    Z = np.diag(y) - C
    for _ in range(SETTINGS.relaxation_steps):
        mu = float((Y * Z).sum()) / (2.0 * n)
        inverse = cho_solve(cho_factor(Z), np.eye(n))
        dy = np.linalg.solve(inverse * Y, mu * np.diag(inverse) - 1.0)
        dY = mu * inverse - Y - inverse @ (dy[:, None] * Y)
        dY = 0.5 * (dY + dY.T)
        Y = Y + _length(Y, dY) * dY
        y = y + _length(Z, np.diag(dy)) * dy
        Z = np.diag(y) - C
        found = _proved(C, y)
        best = found if found[1] < best[1] else best
        if float((Y * Z).sum()) <= accuracy:
            break
    return best


def _length(matrix: FloatArray, move: FloatArray) -> float:
    """Return a length of a move, 1 at most, after which a matrix is positive definite."""
    length = 1.0
    while length > 1e-12:
        try:
            np.linalg.cholesky(matrix + length * move)
        except np.linalg.LinAlgError:
            length *= 0.8
        else:
            return length if length == 1.0 else 0.95 * length
    return 0.0


def _proved(C: FloatArray, y: FloatArray) -> tuple[FloatArray, float]:
    """Return y raised to where Diag(y) - C is positive semidefinite, and a bound on its sum."""
    n = len(y)
    least = float(np.linalg.eigvalsh(np.diag(y) - C)[0])
    size = float(np.linalg.norm(C) + np.linalg.norm(y))
    raised = y + max(-least + gamma(16 * n) * size, 0.0)
    return raised, float(raised.sum()) + gamma(n + 4) * float(np.abs(raised).sum())
