"""The largest value of a function over the ball F = {P : D(P-hat || P) <= B}, by an interior-point method.

Nothing enters but the definition of F. The barrier problem

    f(P) + mu (log(1 - D(P-hat || P) / B) + sum_x log P_x) -> max,  sum_x P_x = 1,

is solved for mu from 0.1 down to 1e-12 by Newton steps, for several functions and starts at once (Boyd and
Vandenberghe, Convex Optimization, 2004, section 11.3). The functions are not concave: a step takes the
absolute values of the eigenvalues of the Hessian, leaves saddle points, and always ascends. It never leaves
F: what is found is attained there, and is a lower bound on the supremum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ldpfrontier.base.types import FloatArray
from ldpfrontier.uncertainty.renyi_ball import RenyiBall

#: Weights mu of the barrier: first, last, and each as a share of the one before. At the last one the value is
#: about mu (cells + 1) below the maximum.
_FIRST, _LAST, _SHARE = 0.1, 1e-12, 0.03
#: A barrier problem is solved when a Newton step promises less than this times mu.
_SOLVED = 0.3
#: Most Newton steps; about 40 are usual, and up to 100 for a function without a maximum.
_MAX_STEPS = 200
#: Least probability of a cell, for functions that have no maximum: they end where one is as small.
_LEAST = 1e-100
#: Step lengths that are tried, relative to the longest.
_LENGTHS = 0.5 ** np.arange(14.0)


class LogSums(NamedTuple):
    """Functions f_i(P) = sum_k c_ik log(sum_x w_ikx P_x^e) + constant of distributions P.

    The coefficients c have the shape (functions, terms), and the weights w (functions, terms, cells). Weights
    are at least 0, and not 0 for all cells of a term.
    """

    coefficients: FloatArray
    weights: FloatArray
    exponent: float = 1.0
    constant: float = 0.0

    def value(self, P: FloatArray) -> FloatArray:
        """Return f_i(P_i) for P of shape (..., functions, cells)."""
        sums = (self.weights * self._cells(P) ** self.exponent).sum(axis=-1)
        return np.asarray((self.coefficients * np.log(sums)).sum(axis=-1) + self.constant)

    def derivatives(self, P: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return gradients, shape (functions, cells), and Hessians, for P of shape (functions, cells)."""
        cells, c = self._cells(P), self.coefficients
        powers = self.weights * cells**self.exponent
        slopes = self.exponent * powers / cells / powers.sum(axis=-1, keepdims=True)
        hessians = -np.einsum("ik,ikx,iky->ixy", c, slopes, slopes)
        _diagonals(hessians)[...] += np.einsum("ik,ikx->ix", c, (self.exponent - 1.0) * slopes / cells)
        return np.einsum("ik,ikx->ix", c, slopes), hessians

    def _cells(self, P: FloatArray) -> FloatArray:
        # Where the weight is 0 a cell does not count, however small it is.
        return np.where(self.weights > 0.0, P[..., None, :], 1.0)


def divergence(r: FloatArray, order: float) -> LogSums:
    """Return D_order(r || P) as a function of P, for r of shape (cells,), by the definition."""
    if order == 1.0:
        occurs = r > 0.0
        entropy = float(r[occurs] @ np.log(r[occurs]))
        return LogSums(-r[None, occurs], np.eye(r.size)[None, occurs], 1.0, entropy)
    return LogSums(np.array([[1.0 / (order - 1.0)]]), r[None, None] ** order, 1.0 - order)


def largest_over_ball(functions: Sequence[LogSums], ball: RenyiBall, *, starts: int = 3) -> FloatArray:
    """Return the largest value over F that is found of every sum of functions, each at a point of F.

    The i-th functions of each of `functions` are added; they are of the cells of P in row-major order.
    Nothing but the centre, the radius (above 0) and the order of the ball is used. Starts are the centre,
    moved a little into the simplex, and random points of F.
    """
    if ball.radius <= 0.0:
        raise ValueError("The ball has the radius 0; an interior point is needed.")
    centre, number = ball.centre.ravel(), len(functions[0].coefficients)
    distance = divergence(centre, ball.order)
    repeated = [
        f._replace(
            coefficients=np.tile(f.coefficients, (starts, 1)), weights=np.tile(f.weights, (starts, 1, 1))
        )
        for f in functions
    ]
    P = np.repeat(_inner_points(distance, centre, ball.radius, starts), number, axis=0)
    values = _ascended(repeated, distance, ball.radius, P).reshape(starts, number)
    return np.asarray(values.max(axis=0))


def _inner_points(distance: LogSums, centre: FloatArray, radius: float, number: int) -> FloatArray:
    """Return points of F with positive cells, shape (number, cells)."""
    drawn = np.random.default_rng(0).dirichlet(np.ones(centre.size), number - 1)
    targets = np.vstack([np.full(centre.size, 1.0 / centre.size), drawn])
    share = np.full((number, 1), 0.5)
    while True:
        P: FloatArray = (1.0 - share) * centre + share * targets
        outside = distance.value(P) > 0.5 * radius
        if not outside.any():
            return P
        share[outside] *= 0.5


def _ascended(functions: Sequence[LogSums], distance: LogSums, radius: float, P: FloatArray) -> FloatArray:
    """Return the values to which the functions ascend from the points P, shape (functions, cells)."""
    number, cells = P.shape
    every, bounded = np.arange(number), math.isfinite(radius)
    # Directions along which the sum of the cells stays 1.
    basis = np.linalg.svd(np.ones((1, cells)))[2][1:].T
    mu = np.full(number, _FIRST)

    def barrier(P: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            inside = np.log(P).sum(axis=-1)
            if bounded:
                inside += np.log(1.0 - distance.value(P) / radius)
            value = sum(f.value(P) for f in functions) + mu * inside
        return np.where(np.isfinite(value) & (P.min(axis=-1) >= _LEAST), value, -np.inf)

    for _ in range(_MAX_STEPS):
        gradient, hessian = mu[:, None] / P, np.zeros((number, cells, cells))
        _diagonals(hessian)[...] = -gradient / P
        for f in functions:
            slope, curvature = f.derivatives(P)
            gradient, hessian = gradient + slope, hessian + curvature
        if bounded:
            slope, curvature = distance.derivatives(P)
            left = radius - distance.value(P)
            price = (mu / left)[:, None]
            gradient = gradient - price * slope
            outer = slope[:, :, None] * slope[:, None, :]
            hessian = hessian - price[..., None] * (curvature + outer / left[:, None, None])
        curvatures, vectors = np.linalg.eigh(basis.T @ hessian @ basis)
        sizes = abs(curvatures)
        sizes = np.maximum(sizes, 1e-12 * sizes.max(axis=1, keepdims=True))
        along = np.einsum("iab,ia->ib", vectors, gradient @ basis)
        # Where a function curves upwards, its step is long enough to leave a saddle point.
        least = np.sqrt(np.where(curvatures > 0.0, sizes * mu[:, None], 0.0))
        along = np.copysign(np.maximum(abs(along), least), along)
        step = np.einsum("iab,ib->ia", vectors, along / sizes) @ basis.T
        # At most 99% of the way to where a cell is 0.
        longest = 1.0 / np.maximum(1.0, (-step / P).max(axis=1) / 0.99)
        tried = P + (_LENGTHS[:, None] * longest)[..., None] * step
        values = barrier(tried)
        best = values.argmax(axis=0)
        better = values[best, every] > barrier(P)
        P = np.where(better[:, None], tried[best, every], P)
        solved = ((along**2 / sizes).sum(axis=1) <= _SOLVED * mu) | ~better
        if (solved & (mu <= _LAST)).all():
            break
        mu = np.where(solved, np.maximum(_SHARE * mu, _LAST), mu)
    return np.asarray(sum(f.value(P) for f in functions))


def _diagonals(matrices: FloatArray) -> FloatArray:
    """Return a view of the diagonals of matrices of shape (number, cells, cells)."""
    return np.asarray(np.einsum("ixx->ix", matrices))
