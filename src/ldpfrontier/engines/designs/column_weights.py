r"""Weights of given columns, the channel that they make, and the bound that prices of inputs are.

In the notation of `promises.estimation`: over given columns v_j with p . v_j = 1, phi is least at the weights
of `interior_point`, which also has W = A M^-1 and prices lam with lam . v_j >= |W v_j|^2. How far other
columns of a cone are above that, the excess, raises the prices by as many times p. ::

    phi >= tr(A W')^2 / (sum(lam) + excess).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.designs.error import centred, input_units, is_outside, orthonormal_span
from ldpfrontier.engines.designs.interior_point import a_optimal
from ldpfrontier.engines.designs.settings import SETTINGS
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.optimum import ROUNDING
from ldpfrontier.numerics.rounding import gamma


@dataclass(frozen=True, eq=False)
class EstimationProblem:
    """What is estimated, and at which distribution."""

    p: FloatArray  # (inputs,): the distribution of the records
    rows: FloatArray  # (k, inputs): A, with the largest entry 1

    @property
    def wanted(self) -> FloatArray:
        """A - A p 1', shape (k, inputs)."""
        return centred(self.rows, self.p)

    def frame(self, vectors: FloatArray) -> FloatArray:
        """Return a matrix, (inputs, r), by which columns are expressed in the r dimensions that they span."""
        units = input_units(self.p)
        return _frame((vectors - 1.0) * units, self.wanted * units) * units[:, None]

    def bound(self, prices: Prices, excess: float) -> float:
        """Return a lower bound of phi, given that |W v|^2 - lam . v <= excess where p . v = 1."""
        W, lam, n, k = prices.W, prices.lam, self.p.size, len(self.rows)
        total = float(lam.sum()) + excess + gamma(n + 8) * float(np.abs(lam).sum() + abs(excess))
        sizes = (np.abs(self.rows) + np.abs(self.rows) @ self.p[:, None]) * np.abs(W)
        product = float((self.wanted * W).sum()) - gamma(k * n + 40 * n) * float(sizes.sum())
        if not (product > 0 and 0 < total < math.inf):
            return 0.0
        return product**2 / total * (1.0 - ROUNDING)


@dataclass(frozen=True, eq=False)
class Prices:
    """W, and prices of inputs."""

    W: FloatArray  # (k, inputs), with W 1 = 0
    lam: FloatArray  # (inputs,)

    def excess(self, vectors: FloatArray) -> FloatArray:
        """Return |W v|^2 - lam . v of columns, (m, inputs), raised by its rounding, shape (m,)."""
        n, k = self.lam.size, len(self.W)
        values, sizes = np.abs(vectors @ self.W.T), vectors @ np.abs(self.W).T
        worth = ((values + gamma(2 * n + 8) * sizes) ** 2).sum(axis=1) * (1.0 + gamma(n + k + 8))
        return np.asarray(
            worth - vectors @ self.lam + gamma(2 * n + 8) * (np.abs(vectors) @ np.abs(self.lam))
        )


@dataclass(frozen=True, eq=False)
class Weighted:
    """Columns with the best weights."""

    problem: EstimationProblem
    vectors: FloatArray  # (m, inputs), with p . v = 1
    frame: FloatArray  # (inputs, r)
    theta: FloatArray  # (m,)
    phi: float  # at these weights
    prices: Prices
    rounds: int  # steps of the interior-point method

    def channel(self, lost: float) -> Channel:
        """Return a channel with few of the columns; `lost` is the share of the error that this may cost."""
        c = (self.vectors - 1.0) @ self.frame
        return _channel(self.vectors, c, self.problem.wanted @ self.frame, self.theta, lost)


def best_weights(
    problem: EstimationProblem, vectors: FloatArray, frame: FloatArray, gap: float, max_rounds: int
) -> Weighted:
    """Minimize phi to a gap over weights of columns, (m, inputs), that span all that a frame spans."""
    p = problem.p
    found = a_optimal((vectors - 1.0) @ frame, problem.wanted @ frame, gap, max_rounds)
    W = found.beta @ frame.T
    W -= np.outer(W.sum(axis=1), p)  # W 1 = 0
    slopes = frame @ found.prices[1:]
    prices = Prices(W, slopes + (found.prices[0] - slopes.sum()) * p)
    phi = float((problem.wanted * W).sum()) ** 2 / found.value
    return Weighted(problem, vectors, frame, found.theta, phi, prices, found.rounds)


def _frame(deviations: FloatArray, wanted: FloatArray) -> FloatArray:
    """Return a matrix, (inputs, r), by which columns are expressed in the r dimensions that they span.

    ValueError is raised if what is wanted is not in their span.
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
    vectors: FloatArray, c: FloatArray, alpha: FloatArray, theta: FloatArray, lost: float
) -> Channel:
    """Return a channel with few of the columns, at little more than the error of all."""
    sides = np.hstack([np.ones((len(c), 1)), c])
    every = adjusted_weights(theta, sides)
    most = _phi(c, alpha, every) * (1.0 + lost)
    if not most < math.inf:  # rows do not sum to 1 yet: what they lack is a column, which the caller moves
        sums = theta @ vectors
        share = 1.0 / float(sums.max())
        return Channel(np.vstack([share * theta[:, None] * vectors, 1.0 - share * sums]).T)
    for exponent in range(2, 16):
        kept = theta > 10.0**-exponent * theta.max()
        fewer = adjusted_weights(theta[kept], sides[kept])
        if _phi(c[kept], alpha, fewer) <= most:
            return Channel((vectors[kept] * fewer[:, None])[fewer > 0].T)
    return Channel((vectors * every[:, None])[every > 0].T)


def adjusted_weights(theta: FloatArray, sides: FloatArray) -> FloatArray:
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
