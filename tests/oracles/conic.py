r"""Privacy levels over a Renyi ball by convex programs in the joint distribution, and by weak duality.

The former are right to 1e-6 or so, the latter to nearly all digits. `ldpfrontier.uncertainty.divergence` is
used by neither, and the budget condition of `ldpfrontier.uncertainty.renyi_ball` by the latter alone.

A member of F = {P : D(P-hat || P) <= B} is written P = m_s R_su, m the distribution of S. Then

    sum P-hat^alpha P^(1-alpha) = sum P-hat^alpha m^(1-alpha) R^(1-alpha),

and m^(1-alpha) R^(1-alpha) is jointly convex for alpha > 1 (its logarithm is), jointly concave for
1/2 <= alpha < 1 (a product of powers of degree 2 - 2 alpha <= 1); and -log m - log R is convex (alpha = 1).
Hence F is convex in (m, R) for alpha >= 1/2, P(y|s) = R_s . q_s is linear, and a level is the largest ratio
of two linear functions over a convex set: one conic program after the scaling of Charnes and Cooper.
"""

from __future__ import annotations

import math
import warnings
from itertools import permutations

import cvxpy as cp
import numpy as np

from ldpfrontier.base.types import FloatArray, IntArray
from ldpfrontier.model.channel import Channel
from ldpfrontier.numerics.golden_section import golden_section
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from oracles.renyi_duality import divergence_cost, largest_mean, least_mean

#: Tolerances of the interior-point method: beyond what it reaches, so that it goes as far as it can.
TIGHT = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-13) | dict.fromkeys(
    ("reduced_tol_gap_abs", "reduced_tol_gap_rel", "reduced_tol_feas"), 1e-8
)


def solved(problem: cp.Problem) -> float:
    """Optimum of a program, as exact as the solver gets it; NaN if it does not."""
    for settings in (TIGHT, {}):
        with warnings.catch_warnings():
            # That it stops short of the tolerances is what they are for.
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            try:
                problem.solve(solver=cp.CLARABEL, **settings)
            except cp.SolverError:
                continue
        if problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
            return float(problem.value)
    return math.nan


def scales(centre: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Units of m and R in which they are 1 at P-hat; 1 where P-hat is 0.  Shapes (..., a1), (..., a1, a2)."""
    p = centre.sum(axis=-1)
    unit = np.where(p > 0, p, 1.0)
    return unit, np.where(centre > 0, centre / unit[..., None], 1.0)


def can_vanish(centre: FloatArray, radius: float, order: float, s: int, q: FloatArray) -> bool:
    """Whether P(y|s) = R_s . q is 0 for some P in the closure of F.

    The cells with q > 0 must then be empty under P. Given that, the least divergence is that of P-hat
    conditioned on the other cells, alpha/(alpha - 1) log of their probability (order 1 and above: infinite).
    """
    if not (q == 0).any():
        return False
    lost = float(centre[s][q > 0].sum())
    if lost == 0:
        return True
    return order < 1 and order / (order - 1) * math.log1p(-lost) <= radius


def conic_level(
    centre: FloatArray, radius: float, order: float, s1: int, q1: FloatArray, s2: int, q2: FloatArray
) -> float:
    """Largest log of R_1 . q1 / R_2 . q2 over P in F, by one conic program; order 1/2 or more."""
    m_unit, R_unit = scales(centre)
    # All variables times the unknown factor tau.
    m, R, tau = cp.Variable(m_unit.size, nonneg=True), cp.Variable(centre.shape, nonneg=True), cp.Variable()
    constraints = [m_unit @ m == tau, cp.sum(cp.multiply(R_unit, R), axis=1) == tau]
    s, u = np.nonzero(centre)
    weight = centre[s, u]
    if order == 1:
        groups = np.flatnonzero(centre.sum(axis=1))
        ones = tau * np.ones(len(s))
        spent = cp.rel_entr(tau * np.ones(groups.size), m[groups]) @ centre.sum(axis=1)[groups]
        constraints.append(spent + cp.rel_entr(ones, R[s, u]) @ weight <= radius * tau)
    else:
        ones = tau * np.ones(len(s))
        mean = cp.Variable(len(s), nonneg=True)
        power = cp.Variable(len(s), nonneg=True)
        constraints.append(cp.PowCone3D(m[s], R[s, u], mean, np.full(len(s), 0.5)))
        limit = math.expm1((order - 1) * radius) * tau
        if order > 1:
            share = np.full(len(s), 1 / (2 * order - 1))
            constraints += [cp.PowCone3D(power, mean, ones, share), weight @ (power - ones) <= limit]
        elif order == 0.5:
            constraints.append(weight @ (mean - ones) >= limit)
        else:
            share = np.full(len(s), 2 - 2 * order)
            constraints += [cp.PowCone3D(mean, ones, power, share), weight @ (power - ones) >= limit]
    high, low = R_unit[s1] * q1, R_unit[s2] * q2
    constraints.append((low / low.sum()) @ R[s2] == 1)
    problem = cp.Problem(cp.Maximize((high / high.sum()) @ R[s1]), constraints)
    return math.log(solved(problem)) + math.log(high.sum()) - math.log(low.sum())


def questions(ball: RenyiBall, channel: Channel) -> list[tuple[int, FloatArray, int, FloatArray]] | None:
    """List (s1, q1, s2, q2) for all outputs and pairs of groups; None if a ratio is unbounded over F."""
    a1, a2 = ball.centre.shape
    found = []
    for q in channel.matrix.T.reshape(-1, a1, a2):
        for s1, s2 in permutations(range(a1), 2):
            if not q[s1].any():
                continue
            if can_vanish(ball.centre, ball.radius, ball.order, s2, q[s2]):
                return None
            found.append((s1, q[s1], s2, q[s2]))
    return found


def whole_simplex(asked: list[tuple[int, FloatArray, int, FloatArray]]) -> float:
    """Level if every distribution is in F."""
    return max((math.log(q1.max()) - math.log(q2.min()) for _, q1, _, q2 in asked), default=0.0)


def conic_epsilon(ball: RenyiBall, channel: Channel) -> tuple[float, int]:
    """`RenyiBall.worst_case_epsilon` by conic programs, for order 1/2 and above.

    Returned are the level over the questions that the solver could answer, and how many it could not.
    """
    asked = questions(ball, channel)
    if asked is None:
        return math.inf, 0
    if math.isinf(ball.radius):
        return max(0.0, whole_simplex(asked)), 0
    levels = np.array([conic_level(ball.centre, ball.radius, ball.order, *question) for question in asked])
    return float(np.nanmax([0.0, *levels])), int(np.isnan(levels).sum())


def duality_epsilon(ball: RenyiBall, channel: Channel) -> float:
    """`RenyiBall.worst_case_epsilon` for order 1/2 and above, with extreme means by weak duality.

    Two groups share the budget, sum_s p_s k(D_s) <= k(B) (`renyi_ball`). Over the share of one of them the
    ratio is that of a concave and a convex function, so that a golden section finds its maximum.
    """
    asked = questions(ball, channel)
    if asked is None:
        return math.inf
    if math.isinf(ball.radius) or not asked:
        return max(0.0, whole_simplex(asked))
    s1, q1, s2, q2 = (np.array(column) for column in zip(*asked, strict=True))
    p = ball.centre.sum(axis=1)
    # An empty group may have any conditional.
    r = np.array([(row if row.any() else np.ones_like(row)) / (row.sum() or row.size) for row in ball.centre])
    g, budget = (ball.order - 1.0) / ball.order, divergence_cost(ball.radius, ball.order)

    def radius(share: FloatArray, s: IntArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            cost = share * budget / p[s]
            D = cost if g == 0.0 else np.log1p(np.maximum(g * cost, -1.0)) / g
        return np.where(p[s] > 0.0, D, math.inf)

    def value(angle: FloatArray) -> FloatArray:
        share = np.sin(angle) ** 2
        high = largest_mean(r[s1], q1, radius(share, s1), ball.order)[0]
        low = least_mean(r[s2], q2, radius(1.0 - share, s2), ball.order)[0]
        with np.errstate(divide="ignore"):
            return np.log(high) - np.log(np.maximum(low, 0.0))

    ends = np.zeros(len(asked)), np.full(len(asked), 0.5 * math.pi)
    return max(0.0, float(golden_section(value, *ends, steps=60)[1].max()))


SHAPES = ((2, 2), (2, 3), (3, 2), (2, 6), (3, 3), (3, 4))


def random_case(rng: np.random.Generator, shape: tuple[int, int], order: float) -> tuple[RenyiBall, Channel]:
    """Draw a table (empty cells and groups, skew, 20 to 10^6 samples) and a column with its complement.

    The column's entries span up to nine powers of ten; some are 0.
    """
    p = rng.dirichlet(np.full(shape[0] * shape[1], rng.choice([0.1, 0.5, 2.0]))).reshape(shape)
    if rng.random() < 0.25:
        p *= rng.random(shape) < 0.7
    if rng.random() < 0.15:
        p[rng.integers(shape[0])] = 0.0
    if not p.sum() > 0:
        p[0, 0] = 1.0
    counts = rng.multinomial(round(20 * 50000 ** rng.random()), (p / p.sum()).ravel()).reshape(shape)
    ball = RenyiBall.confidence(counts, float(rng.choice([0.05, 0.05, 0.5, 0.01, 1e-6, 0.999])), order)
    v = 10.0 ** rng.uniform(-rng.choice([0.1, 1.0, 3.0, 9.0]), 0.0, size=shape[0] * shape[1])
    v *= rng.choice([1e-3, 0.5, 0.999, 1.0]) / v.max()
    if rng.random() < 0.1:
        v[rng.integers(v.size)] = 0.0
    return ball, Channel(np.column_stack([v, 1.0 - v]))
