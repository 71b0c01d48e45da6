r"""Columns and linear estimates with the least error if a share of the people report whatever they like.

Let an estimate of A p be the mean of weights A p + G_y over n reports, unbiased if all follow the rule. A
share g that deviates moves it by g times the mean of their G_y: at most by g m, m = max |G_y|, and all may
report the same y. With the columns v_j of a cone scaled to p . v_j = 1, and A centred, the program is ::

    minimize  V + c m^2,  V = sum_j theta_j |G_j|^2,  c = n g^2,
    subject to  sum_j theta_j G_j v_j' = A,  sum_j theta_j v_j = 1,  |G_j| <= m.

For each x = 1 / m it is convex in theta and H_j = theta_j G_j / m, with x A on the right and
|H_j| <= theta_j. Let psi(x) be the least V / m^2 = sum_j |H_j|^2 / theta_j. As x is on the right alone, psi
is convex. For any W, and prices lam with lam . v >= h(|W v|) at every extreme column v,

    psi(x) >= 2 x tr(A W') - sum(lam),    h(s) = max_{0 <= u <= 1} (2 u s - u^2) = s^2 or 2 s - 1,

the function of Huber (1964): the best weights are W v, shortened to m. What is sought is the least
(psi(x) + c) / x^2. With lines 2 T x - L below psi it is at least 2 T m + (c - L) m^2, which is concave or
increasing in m: the least of these is at a vertex of the lines, or an end of the range of x. Lines are added
where it is least. The range ends where lam . v >= |W v| and tr(A W') = 1 show that x <= sum(lam).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.designs.column_weights import EstimationProblem
from ldpfrontier.engines.designs.error import estimation_error, target_rows
from ldpfrontier.engines.designs.settings import SETTINGS
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.optimum import ROUNDING, fell_back, one_line
from ldpfrontier.numerics.arguments import as_count, as_instance, as_number
from ldpfrontier.numerics.deadline import time_is_up

#: Square of the length of a step of Newton, up to which it is a full one, and the point is near the centre.
_NEAR = 0.25


@dataclass(frozen=True, eq=False)
class DeviatingEstimate:
    """An unbiased linear estimate, and its error if some people report whatever they like."""

    error: float  # variance + people * bias^2
    variance: float  # times the number of people, if all follow the rule
    bias: float  # the largest one
    weights: FloatArray  # (k, outputs): the estimate is their mean over the reports


def deviating_estimate(
    channel: Channel, prior: ArrayLike, deviating: float, people: int, target: ArrayLike | None = None
) -> DeviatingEstimate:
    """Return the linear estimate with the least error if a share of the people deviates from the rule.

    It is unbiased if all follow the rule. What others report moves it by the share times the largest distance
    of its weights from what is estimated, at most; all of them may give the report of this distance. The
    square of this bias and the variance are the error: the estimate with the least variance has more bias.

    Parameters
    ----------
    channel : Channel
        With which every person reports once.
    prior : array_like, any shape
        The distribution of the records of those who follow the rule, flattened row-major.
    deviating : float
        The largest share of people who report anything at all, 0 or more and below 1.
    people : int
        How many people report.
    target : {"sensitive", "useful"} or array_like, shape (k, inputs), optional
        As of `estimation_error`.

    Returns
    -------
    DeviatingEstimate
        To a relative error of 1e-6. The error and the variance are times the number of people; the mean
        square error is lower by the part of the variance of those who deviate, at most.

    Raises
    ------
    ValueError
        If an argument is of another kind or out of range, no estimate is unbiased, or a report has next to
        no probability.

    Examples
    --------
    >>> from ldpfrontier import deviating_estimate, randomized_response
    >>> found = deviating_estimate(randomized_response(2, 1.0), [0.3, 0.7], 0.05, 1000)
    >>> round(found.variance, 3), round(found.bias, 3)
    (2.261, 0.091)
    """
    as_instance(channel, Channel, "The channel")
    c = deviating_factor(deviating, people)
    p, shape = channel.flat_prior(prior), np.shape(prior)
    p = p / p.sum()
    rows = target_rows(target, p.size, (shape[0], shape[1]) if len(shape) == 2 else None)
    if math.isinf(estimation_error(channel, p, rows)):
        raise ValueError("No estimate from reports of the channel is unbiased.")
    q = p @ channel.matrix
    if not (q > SETTINGS.least_report).all():
        raise ValueError(
            f"Report {int(q.argmin())} has the probability {q.min():.3g} at the prior; every report needs"
            f" more than {SETTINGS.least_report:g}, as what it counts for is not known otherwise."
        )
    problem = EstimationProblem(p, rows)
    G = _weights_of(problem, channel, q, c) if problem.wanted.any() else np.zeros((len(rows), len(q)))
    sizes = (G**2).sum(axis=0)
    variance, most = float(q @ sizes), float(sizes.max())
    return DeviatingEstimate(
        variance + c * most, variance, deviating * math.sqrt(most), G + (rows @ p)[:, None]
    )  # fmt: skip


#: Beyond so many people the variance is lost in the rounding of the bias.
MOST_PEOPLE = 10**12


def deviating_factor(deviating: float, people: int) -> float:
    """Return n g^2; ValueError if an argument is of another kind or out of range."""
    share = as_number(deviating, "deviating", "a number, 0 or more and below 1", least=0.0)
    if share >= 1.0:
        raise ValueError(f"deviating is {share:g}; it must be a number, 0 or more and below 1.")
    allowed = f"a whole number, 1 to {MOST_PEOPLE:.0e}"
    return as_count(people, "people", allowed, least=1, most=MOST_PEOPLE) * share**2


def _weights_of(problem: EstimationProblem, channel: Channel, q: FloatArray, c: float) -> FloatArray:
    """Return G of a channel, (k, outputs), with the least V + c m^2."""
    vectors = (channel.matrix / q).T
    frame = problem.frame(vectors)
    y, wanted = np.hstack([np.ones((len(q), 1)), (vectors - 1.0) @ frame]), problem.wanted @ frame
    wanted = np.hstack([np.zeros((len(wanted), 1)), wanted])
    roots = np.sqrt(q)[:, None]
    # The least variance: unless the share is 0, where the search starts, and what makes it exactly unbiased.
    usual = np.linalg.lstsq((roots * y).T, wanted.T, rcond=None)[0] / roots
    V = float((q * (usual**2).sum(axis=1)).sum())
    if c == 0.0 or len(q) == y.shape[1]:
        return np.asarray(usual.T)
    turned, alpha = reduced(wanted[:, 1:] / math.sqrt(V))
    found = BoundedWeights(y[:, 1:], alpha, q).least(c, 1.0, 1e-6, SETTINGS.max_rounds)
    G = math.sqrt(V) * found.weights @ turned.T
    missing = wanted.T - (y * q[:, None]).T @ G
    G += np.linalg.lstsq((roots * y).T, missing, rcond=None)[0] / roots
    least = [float((q * s).sum() + c * s.max()) for s in ((G**2).sum(axis=1), (usual**2).sum(axis=1))]
    return np.asarray((G if least[0] < least[1] else usual).T)


def reduced(wanted: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return orthonormal columns O, (k, d), and alpha, (d, r), with O alpha = wanted, d its rank."""
    turned, sizes, basis = np.linalg.svd(wanted, full_matrices=False)
    kept = sizes > SETTINGS.rank * sizes.max()
    return turned[:, kept], sizes[kept, None] * basis[kept]


class SupportingLine(NamedTuple):
    """The line 2 T x - L below psi, and a point of the program that is little above it."""

    T: float
    L: float
    x: float
    psi: float
    u: FloatArray  # (m, 1 + d): theta and H


class DeviatingSolution(NamedTuple):
    """The least V + c m^2 that was found, a bound of it, theta, and G, (m, d)."""

    value: float
    bound: float
    theta: FloatArray
    weights: FloatArray
    rounds: int


class BoundedWeights:
    """The program for weights of bounded length: columns c, (m, r), with probabilities given or sought."""

    def __init__(self, c: FloatArray, alpha: FloatArray, theta: FloatArray | None = None) -> None:
        self.y = np.hstack([np.ones((len(c), 1)), c])
        self.alpha = np.hstack([np.zeros((len(alpha), 1)), alpha])
        self.first = 0 if theta is None else 1  # of theta and H, the first variable that is free
        start = np.full(len(c), 1.0 / len(c)) if theta is None else theta
        self.centre, self.start = np.hstack([start[:, None], np.zeros((len(c), len(alpha)))]), 0.0

    def least(self, c: float, lowest: float, tolerance: float, max_rounds: int) -> DeviatingSolution:
        """Minimize V + c m^2 with c above 0 to a relative tolerance, given that no V is below `lowest`."""
        inner, lines = 0.1 * tolerance, list[SupportingLine]()
        best = self.line(0.5, 0.0, 0.0, max(inner, 1e-6))
        end, value = best.L / (2.0 * best.T), _value(best, c)
        # V is at most m^2, and at least what it is without a share that deviates.
        slope, bound = value * best.x, lowest * (1.0 + c)
        while bound < value * (1.0 - tolerance) and len(lines) < max_rounds and not time_is_up():
            try:
                lines.append(self.line(slope, 1.0, c, inner))
            except ArithmeticError as error:
                fell_back(f"weights with little bias of the lines so far: {one_line(error)}")
                break
            if (new := _value(lines[-1], c)) < value:
                best, value = lines[-1], new
            # Before the start, lowest + c / x^2 is above the value.
            start = min(math.sqrt(c / (value - lowest)), end) if value > lowest else end
            found, slope = _next(lines, c, start, end)
            bound = max(bound, found)
        theta, H = best.u[:, 0], best.u[:, 1:]
        bound = min(bound * (1.0 - ROUNDING), value)
        return DeviatingSolution(value, bound, theta, H / (theta * best.x)[:, None], len(lines))

    def line(self, slope: float, spread: float, c: float, gap: float) -> SupportingLine:
        """Return a line of a slope T that is nearly as high as any; with spread 0 the end of psi, L / 2 T.

        The gap is that of the bound, relative.
        """
        m, t = len(self.y), float(len(self.y))
        u, x = self.centre, self.start
        found = SupportingLine(slope, math.inf, x, 0.0, u)
        for _ in range(300):
            try:
                u, x, multipliers, near = self._step(u, x, t, spread, slope)
            except np.linalg.LinAlgError:  # nearer to the end than rounding allows
                break
            if not near:
                continue
            if self.start == 0.0:
                self.centre, self.start = u, x
            psi = float(((u[:, 1:] ** 2).sum(axis=1) / u[:, 0]).sum())
            T, L = self._line(multipliers / t, spread)
            if L < found.L:
                found = SupportingLine(T, L, x, psi, u)
            if 2.0 * m / t <= gap * (psi + c if spread else 2.0 * slope * x) or time_is_up():
                return found
            t *= 10.0
        if math.isinf(found.L):
            raise ArithmeticError("No weights were found with which the bias is bounded.")
        return found

    def _line(self, multipliers: FloatArray, spread: float) -> tuple[float, float]:
        """Return T and L of the line of W and prices, which are raised until they bound every column."""
        W = -0.5 * multipliers[1:]
        s = np.sqrt(((self.y @ W.T) ** 2).sum(axis=1))
        worth = np.where(s <= spread, s**2, 2.0 * s - spread)
        if self.first:
            total = float(self.centre[:, 0] @ worth)
        else:
            total = float(multipliers[0, 0] + (worth - self.y @ multipliers[0]).max())
        return float((W * self.alpha).sum()), total

    def _step(
        self, u: FloatArray, x: float, t: float, spread: float, slope: float
    ) -> tuple[FloatArray, float, FloatArray, bool]:
        """Make a step of Newton for t (spread V - 2 slope x) - sum_j log(theta_j^2 - |H_j|^2).

        Returns theta and H, x, the multipliers of the equations, and whether the centre is near.
        """
        y, first, (m, r), n = self.y, self.first, self.y.shape, u.shape[1] - self.first
        ts = 2.0 * t * spread
        grad, hess = _gradient(u, ts)[:, first:], _hessian(u, ts)[:, first:, first:]
        inverse = np.linalg.inv(hess)
        target = np.vstack([np.eye(1, r), x * self.alpha])[first:]
        side = np.vstack([np.zeros((1, r)), self.alpha])[first:].ravel()
        off = target - u[:, first:].T @ y
        squares = (y[:, :, None] * y[:, None, :]).reshape(m, r * r)
        S = (inverse.reshape(m, n * n).T @ squares).reshape(n, n, r, r).transpose(0, 2, 1, 3)
        right = -np.einsum("jab,jb->ja", inverse, grad).T @ y - off
        S = S.reshape(n * r, n * r)
        if not (S.diagonal() > 0.0).all():
            raise np.linalg.LinAlgError("Rounding has taken the equations.")
        units = 1.0 / np.sqrt(S.diagonal())
        sides = np.column_stack([right.ravel(), side]) * units[:, None]
        solved = np.linalg.solve(S * units * units[:, None], sides) * units[:, None]
        dx = float((side @ solved[:, 0] + 2.0 * t * slope) / (side @ solved[:, 1]))
        multipliers = (solved[:, 0] - dx * solved[:, 1]).reshape(n, r)
        move = -np.einsum("jab,jb->ja", inverse, grad + y @ multipliers.T)
        size = float(np.einsum("ja,jab,jb->", move, hess, move))
        if not math.isfinite(size):
            raise np.linalg.LinAlgError("The step is not finite.")
        move = np.hstack([np.zeros((m, first)), move])
        multipliers = np.vstack([np.zeros((first, r)), multipliers])
        length = 1.0 if size <= _NEAR else 1.0 / (1.0 + math.sqrt(size))
        while not _inside(u + length * move):
            length *= 0.7
        met = float(np.abs(off).max()) <= SETTINGS.row_sums
        # Longer steps, as far as the function falls; where the equations are not met yet, it says nothing.
        while met and length < 1.0 and _inside(ahead := u + min(2.0 * length, 1.0) * move):
            if float((_gradient(ahead, ts) * move).sum()) > 2.0 * t * slope * dx:
                break
            length = min(2.0 * length, 1.0)
        return u + length * move, x + length * dx, multipliers, met and size <= _NEAR


def _gradient(u: FloatArray, ts: float) -> FloatArray:
    """Return the gradient of ts |H|^2 / (2 theta) - log(theta^2 - |H|^2) for each column, (m, 1 + d)."""
    theta, size = u[:, 0], (u[:, 1:] ** 2).sum(axis=1)
    q = theta**2 - size
    own = -0.5 * ts * size / theta**2 - 2.0 * theta / q
    return np.hstack([own[:, None], (ts / theta + 2.0 / q)[:, None] * u[:, 1:]])


def _hessian(u: FloatArray, ts: float) -> FloatArray:
    """Return the second derivatives of the same, (m, 1 + d, 1 + d)."""
    theta, H, size = u[:, 0], u[:, 1:], (u[:, 1:] ** 2).sum(axis=1)
    q = theta**2 - size
    hess = np.empty((*u.shape, u.shape[1]))
    hess[:, 0, 0] = ts * size / theta**3 - 2.0 / q + 4.0 * theta**2 / q**2
    hess[:, 0, 1:] = hess[:, 1:, 0] = -(ts / theta**2 + 4.0 * theta / q**2)[:, None] * H
    hess[:, 1:, 1:] = (4.0 / q**2)[:, None, None] * H[:, :, None] * H[:, None, :]
    hess[:, 1:, 1:] += (ts / theta + 2.0 / q)[:, None, None] * np.eye(H.shape[1])
    return hess


def _inside(u: FloatArray) -> bool:
    return bool((u[:, 0] > 0.0).all() and ((u[:, 1:] ** 2).sum(axis=1) < u[:, 0] ** 2).all())


def _value(line: SupportingLine, c: float) -> float:
    """Return V + c m^2 at the point of a line."""
    most = float(((line.u[:, 1:] ** 2).sum(axis=1) / line.u[:, 0] ** 2).max())
    return (line.psi + c * most) / line.x**2 if line.x > 0.0 else math.inf


def _next(lines: list[SupportingLine], c: float, start: float, end: float) -> tuple[float, float]:
    """Return a bound of the value for x from start to end, and the slope of a line that may raise it."""
    T, L = np.array([line.T for line in lines]), np.array([line.L for line in lines])
    i, j = np.triu_indices(len(T), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        meet = (L[i] - L[j]) / (2.0 * (T[i] - T[j]))
    x = np.concatenate([[start, end], meet[(meet > start) & (meet < end)]])
    least = (np.maximum((2.0 * np.outer(x, T) - L).max(axis=1), 0.0) + c) / x**2
    at = float(x[least.argmin()])
    left = max((line for line in lines if line.x <= at), key=lambda line: line.x, default=None)
    right = min((line for line in lines if line.x > at), key=lambda line: line.x, default=None)
    if left is None or right is None:
        slope = 3.0 * T.max() if right is None else 0.5 * T.min()
    else:
        slope = 0.5 * (right.psi - left.psi) / (right.x - left.x)
    return float(least.min()), float(slope)
