r"""The least MI leakage at a Hamming distortion for any source set, with a bound (kalantari2018, (21)).

For a given diagonal q and output distribution r, the rest of row i is best spread in proportion to r: by the
log-sum inequality a row with the diagonal q_i has D(Q_i || r) >= d(q_i || r_i), attained by
Q[i, y] = (1 - q_i) r_y / (1 - r_i); and I(P; Q) = min_r sum_i P_i D(Q_i || r). So the leakage is ::

    min over q, r of max_P sum_i P_i d(q_i || r_i),   sum_i P_i q_i >= 1 - D for all P,

convex in 2M numbers, solved by a barrier method. Its multipliers, a mixture p of the sources and prices a_i
of the distortions (alpha_j per source, a = sum alpha_j P_j), give the lower bound ::

    min_r -sum_i p_i log(e^(-a_i/p_i) + r_i (1 - e^(-a_i/p_i))) - D sum_j alpha_j,

valid for any such p and alpha: the Lagrangian minimized over q in closed form, over r by water-filling.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import rel_entr

from ldpfrontier.base.types import FloatArray
from ldpfrontier.hamming.formulas import class_one_channel, class_one_information
from ldpfrontier.hamming.game import Game, channel_from_minima
from ldpfrontier.hamming.optimum import DISTORTION_ROUNDING, MECHANISMS, LeakageOptimum
from ldpfrontier.hamming.sources import (
    LEAST_DISTORTION,
    SourceSet,
    as_sources,
    check_size,
    checked_distortion,
)
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.optimum import Method, checked_effort, fell_back, keeps_time_limit, records_fallbacks
from ldpfrontier.numerics.deadline import TimeIsUp, time_is_up
from ldpfrontier.numerics.jit import inner_kernel, kernel

#: Most letters: a Newton step solves as many equations as twice that, and there may be hundreds.
MAX_LETTERS = 500

#: Gap, nats, at which the barrier method stops, if a smaller one is not asked for: it costs little.
BARRIER_GAP = 2e-11


@records_fallbacks
@keeps_time_limit
def information_leakage(
    sources: SourceSet | ArrayLike,
    distortion: float,
    *,
    tolerance: float = 1e-9,
    max_rounds: int = 100,
    max_seconds: float | None = None,
) -> LeakageOptimum:
    """Compute the least MI leakage min_Q max_P I(P; Q) of any source set (kalantari2018, (21)), in nats.

    A barrier method with a dual bound, see the module. It has no `start`: it has to begin in the interior,
    far from any optimum.

    Parameters
    ----------
    sources : SourceSet or array_like, shape (J, M)
        Distributions on up to 500 letters; the set is their convex hull.
    distortion : float
        Largest expected Hamming distortion, in [1e-9, 1).
    tolerance : float
        Largest gap value - bound of an "optimal" result, in nats: absolute, as the least leakage may be 0.
    max_rounds : int
        Most values of the barrier parameter, of up to 60 Newton steps each; double precision ends at 16.
    max_seconds : float, optional
        Seconds after which the best mechanism and bound found so far are returned, as "bounded"; 0 or more.

    Returns
    -------
    LeakageOptimum
        "bounded" if the gap is above the tolerance.

    Raises
    ------
    Intractable
        If there are more than 500 letters, or 100,000 probabilities.
    ValueError
        If the sources or the distortion are not valid.
    """
    sources, D = as_sources(sources), checked_distortion(distortion, LEAST_DISTORTION)
    check_size(sources, MAX_LETTERS)
    tolerance, max_rounds = checked_effort(tolerance, max_rounds)
    P = sources.distributions
    try:
        least, prior, minima = Game(P).solve(1.0)
    except TimeIsUp:  # every prior certifies the bound 0
        least, prior = -math.inf, P[0]
    if least >= 1.0 - D - DISTORTION_ROUNDING:
        silent, served = channel_from_minima(minima, 1.0), "a distortion that a channel with equal rows meets"
        return LeakageOptimum(
            silent,
            0.0,
            0.0,
            "optimal",
            0,
            prior=prior,
            distortion=sources.distortion(silent),
            method=Method(MECHANISMS, "closed form, equal rows", served),
        )
    barrier = _Barrier(P, D)
    value, bound, channel, rounds = math.inf, 0.0, class_one_channel(sources.letters, D), 0
    while value - bound > min(BARRIER_GAP, tolerance) and rounds < max_rounds and barrier.centre():
        rounds += 1
        q, r, weights, prices = barrier.point()
        attained = float((P @ _binary_divergence(q, r)).max())
        if attained < value:
            value = attained
            Q = ((1.0 - q) / (1.0 - r))[:, None] * r
            np.fill_diagonal(Q, q)
            channel = Channel(Q)
        certified = _information_bound(weights @ P, prices @ P, r) - D * float(prices.sum())
        if certified > bound:
            bound, prior = certified, weights @ P
    if math.isinf(value):
        value = class_one_information(sources.letters, D)
        fell_back("the channel of Theorem 1, as the barrier method made no step")
    value = max(value, bound)
    status = "optimal" if value - bound <= tolerance else "bounded"
    realized = sources.distortion(channel)
    method = Method(MECHANISMS, "barrier method with Newton steps", "smaller distortions")
    return LeakageOptimum(
        channel, value, bound, status, barrier.steps, prior=prior, distortion=realized, method=method
    )


def _binary_divergence(q: FloatArray, r: FloatArray) -> FloatArray:
    return np.asarray(rel_entr(q, r) + rel_entr(1.0 - q, 1.0 - r))


def _information_bound(p: FloatArray, a: FloatArray, r: FloatArray) -> float:
    """Return the minimum over r of -sum p log(e^-b + r (1 - e^-b)), b = a/p, less its rounding."""
    used = p > 0
    p, b = p[used], a[used] / p[used]
    # r_i = (p_i / theta - 1 / (e^b_i - 1))^+; letters enter in the falling order of p_i (e^b_i - 1).
    with np.errstate(over="ignore"):
        growth = np.expm1(b)
    order = np.argsort(-p * growth, kind="stable")
    with np.errstate(divide="ignore"):
        theta = np.cumsum(p[order]) / (1.0 + np.cumsum(1.0 / growth[order]))
        r = np.maximum(p / theta.max() - 1.0 / growth, 0.0)
    r = r / r.sum()
    inside = np.exp(-b) - r * np.expm1(-b)
    slope = p * -np.expm1(-b) / inside
    # Convexity: the minimum is at least the value here less the most the slope allows.
    return float(-p @ np.log(inside) - max(slope.max() - slope @ r, 0.0))


class _Barrier:
    """A log-barrier Newton method for the convex program of `information_leakage`, over z = (q, r, w)."""

    def __init__(self, P: FloatArray, D: float) -> None:
        self._P, self._D = P, D
        M = P.shape[1]
        q, r = np.full(M, 1.0 - D / 2.0), np.full(M, 1.0 / M)
        self._z = np.concatenate([q, r, [float((P @ _binary_divergence(q, r)).max()) + 1.0]])
        self._barrier_parameter, self.steps = 1.0, 0

    def point(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return q, r, the weights of the sources, shape (J,), and their prices alpha, shape (J,)."""
        q, r, w = self._split(self._z)
        r = r / r.sum()
        weights = 1.0 / (w - self._P @ _binary_divergence(q, r))
        return (
            q,
            r,
            weights / weights.sum(),
            1.0 / (self._barrier_parameter * (self._P @ q - (1.0 - self._D))),
        )

    def centre(self) -> bool:
        """Centre at the next barrier parameter; False if double precision is exhausted, or the time is up."""
        if self._barrier_parameter > 1e14:
            return False
        self._barrier_parameter *= 8.0
        M = self._P.shape[1]
        for _ in range(60):
            if time_is_up():
                return False
            gradient, hessian = self._derivatives()
            system = np.zeros((2 * M + 2, 2 * M + 2))
            system[:-1, :-1] = hessian
            system[M : 2 * M, -1] = system[-1, M : 2 * M] = 1.0
            # Scaled to a unit diagonal: variables that vanish have curvatures of 1e20.
            scale = np.append(1.0 / np.sqrt(np.diag(hessian)), 1.0)
            scale[-1] = 1.0 / np.linalg.norm(scale[M : 2 * M])
            right = np.append(-gradient, 1.0 - self._z[M : 2 * M].sum())
            step = (scale * np.linalg.solve(scale[:, None] * system * scale, scale * right))[:-1]
            self.steps += 1
            decrement = float(-gradient @ step)
            length, here = 1.0, self._potential(self._z)
            while self._potential(self._z + length * step) > here - 0.1 * length * decrement + 1e-12 * abs(
                here
            ):
                length /= 2.0
                if length < 1e-8:
                    return self._barrier_parameter > 1e9
            self._z = self._z + length * step
            if decrement < 1e-6:
                break
        return True

    def _split(self, z: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        M = self._P.shape[1]
        return z[:M], z[M : 2 * M], float(z[-1])

    def _potential(self, z: FloatArray) -> float:
        return float(_potential(self._P, self._D, self._barrier_parameter, z))

    def _derivatives(self) -> tuple[FloatArray, FloatArray]:
        M = self._P.shape[1]
        F, R, gradient, diagonals = _slopes(self._P, self._D, self._barrier_parameter, self._z)
        hessian = F.T @ F
        hessian[:M, :M] += R.T @ R
        i, k = np.arange(M), np.arange(M, 2 * M)
        hessian[i, i] += diagonals[0]
        hessian[k, k] += diagonals[1]
        hessian[i, k] -= diagonals[2]
        hessian[k, i] -= diagonals[2]
        return gradient, hessian


@kernel
def _potential(P: FloatArray, D: float, barrier_parameter: float, z: FloatArray) -> float:
    """Return the barrier's value at z = (q, r, w); inf outside."""
    M = P.shape[1]
    value = barrier_parameter * float(z[-1])
    for i in range(M):
        q, r = z[i], z[M + i]
        if not (0.0 < q < 1.0 and 0.0 < r < 1.0):
            return np.inf
        value -= math.log(q) + math.log(1.0 - q) + math.log(r)
    for j in range(P.shape[0]):
        slack, room = z[-1], D - 1.0
        for i in range(M):
            slack -= P[j, i] * _binary(z[i], z[M + i])
            room += P[j, i] * z[i]
        if slack <= 0.0 or room <= 0.0:
            return np.inf
        value -= math.log(slack) + math.log(room)
    return value


@kernel
def _slopes(
    P: FloatArray, D: float, barrier_parameter: float, z: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the factors of the gradient and of the Hessian of the barrier at z = (q, r, w).

    They are F, shape (J, 2M + 1), whose rows are the gradient of the leakage of source j, less w, times
    1/slack; R, shape (J, M), that of its distortion in q; the gradient, shape (2M + 1,); and, shape (3, M),
    what the second derivatives in q_i, in r_i, and minus that in both, have beside F^T F and R^T R.
    """
    J, M = P.shape
    F, R, gradient, diagonals = (
        np.empty((J, 2 * M + 1)),
        np.empty((J, M)),
        np.zeros(2 * M + 1),
        np.empty((3, M)),
    )
    p = np.zeros(M)
    gradient[-1] = barrier_parameter
    for j in range(J):
        slack, room = z[-1], D - 1.0
        for i in range(M):
            slack -= P[j, i] * _binary(z[i], z[M + i])
            room += P[j, i] * z[i]
        for i in range(M):
            q, r = z[i], z[M + i]
            F[j, i] = P[j, i] * (math.log(q / r) - math.log((1.0 - q) / (1.0 - r))) / slack
            F[j, M + i] = P[j, i] * (r - q) / (r * (1.0 - r)) / slack
            R[j, i] = P[j, i] / room
            p[i] += P[j, i] / slack
            gradient[i] += F[j, i] - R[j, i]
            gradient[M + i] += F[j, M + i]
        F[j, -1] = -1.0 / slack
        gradient[-1] += F[j, -1]
    for i in range(M):
        q, r = z[i], z[M + i]
        gradient[i] += 1.0 / (1.0 - q) - 1.0 / q
        gradient[M + i] -= 1.0 / r
        diagonals[0, i] = p[i] / (q * (1.0 - q)) + 1.0 / q**2 + 1.0 / (1.0 - q) ** 2
        diagonals[1, i] = p[i] * (q / r**2 + (1.0 - q) / (1.0 - r) ** 2) + 1.0 / r**2
        diagonals[2, i] = p[i] / (r * (1.0 - r))
    return F, R, gradient, diagonals


@inner_kernel
def _binary(q: float, r: float) -> float:
    """Return d(q || r), for both inside (0, 1)."""
    return q * math.log(q / r) + (1.0 - q) * math.log((1.0 - q) / (1.0 - r))
