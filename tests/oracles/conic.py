r"""Privacy levels over a Renyi ball by convex programs in the joint distribution: a test of `RenyiBall`.

Nothing of `ldpfrontier.uncertainty.divergence` or of the budget condition of
`ldpfrontier.uncertainty.renyi_ball` is used. A member of
F = {P : D(P-hat || P) <= B} is written P = m_s R_su, m the distribution of S. Then

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

from ldpfrontier.channel import Channel
from ldpfrontier.types import FloatArray, IntArray
from ldpfrontier.uncertainty.renyi_ball import RenyiBall

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
    """Largest log of R_1 . q1 / R_2 . q2 over P in F, by one conic program.

    Parameters
    ----------
    centre : ndarray, shape (a1, a2)
    radius : float
        Positive and finite.
    order : float
        1/2 or more.
    q1, q2 : ndarray, shape (a2,)
        The column of the output in the two groups.
    """
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


def barrier_levels(
    centre: FloatArray,
    radius: FloatArray,
    order: float,
    s1: IntArray,
    q1: FloatArray,
    s2: IntArray,
    q2: FloatArray,
    gap: float = 1e-10,
    growth: float = 4.0,
    rounds: int = 60,
) -> tuple[FloatArray, FloatArray]:
    """Largest logs of R_1 . q1 / R_2 . q2 over P in F, many at once, and the P that attain them.

    Dinkelbach's method, R_1 . q1 - t R_2 . q2 over F with t the last ratio, by the barrier method in (m, R):
    Newton's method for theta times the objective plus the logs of m, R and of the slack of F, theta rising.

    Parameters
    ----------
    centre : ndarray, shape (N, a1, a2)
    radius : ndarray, shape (N,)
        Positive and finite.
    order : float
        1/2 or more.
    s1, s2 : ndarray of int, shape (N,)
    q1, q2 : ndarray, shape (N, a2)
    gap : float
        Suboptimality of the logs.
    growth, rounds : float, int
        By how much theta grows, and the most steps of Newton's method between.

    Returns
    -------
    tuple of ndarrays, shapes (N,), (N, a1, a2)
        NaN where Newton's method did not arrive: slower growth and more rounds may.
    """
    N, a1, a2 = centre.shape
    case = np.arange(N)
    m_unit, R_unit = scales(centre)
    unit = np.concatenate([m_unit, R_unit.reshape(N, -1)], axis=1)
    full = np.concatenate([centre.sum(axis=2) > 0, (centre > 0).reshape(N, -1)], axis=1)
    n = unit.shape[1]
    # Rows of the equations sum_s m_s = 1 and sum_u R_su = 1.
    blocks = np.zeros((a1 + 1, n))
    blocks[0, :a1] = 1.0
    blocks[1 + np.repeat(np.arange(a1), a2), a1 + np.arange(a1 * a2)] = 1.0
    A = blocks * unit[:, None, :]
    objective = np.zeros((2, N, n))
    for row, s, q in ((objective[0], s1, q1), (objective[1], s2, q2)):
        for u in range(a2):
            row[case, a1 + s * a2 + u] = unit[case, a1 + s * a2 + u] * q[:, u]
    objective /= objective.sum(axis=2, keepdims=True)
    weight = centre.reshape(N, -1)
    limit = radius if order == 1 else np.expm1((order - 1) * radius) / (order - 1)
    # J maps log x to log P.
    J = np.zeros((a1 * a2, n))
    J[np.arange(a1 * a2), np.repeat(np.arange(a1), a2)] = 1.0
    J[np.arange(a1 * a2), a1 + np.arange(a1 * a2)] = 1.0

    def inside(x: FloatArray, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the powers (P-hat / P)^(alpha - 1) and the slack of F relative to `limit`."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            log = np.where(full, np.where(np.abs(d) < 0.5, np.log1p(d), np.log(x)), 0.0) @ J.T
            log = np.where(weight > 0, log, 0.0)
            rise = -log if order == 1 else np.expm1((1 - order) * log) / (order - 1)
            power = np.exp((1 - order) * log)
            return power, 1.0 - np.where(weight > 0, weight * rise, 0.0).sum(axis=1) / limit

    # Empty cells and groups receive a little, paid for by the others; A d = 0 but for an empty group, where
    # the R_su start from nothing.
    held = np.einsum("ij,nj->ni", blocks, full)
    target = np.where(held > 0, 0.0, 1.0)
    little = np.minimum(0.01, 0.1 * limit)[:, None] / n
    d = np.where(full, 0.0, np.where(target @ blocks > 0, 1.0 / a2, little))
    d -= np.where(full, (np.einsum("nij,nj->ni", A, d) - target) @ blocks, 0.0)
    # Held twice, as 1 + d and as x: one is exact near P-hat, the other near 0.
    x = full + d
    theta, settled = 1.0, np.ones(N, dtype=np.bool_)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        while True:
            ratio = (objective * x).sum(axis=2)
            t = ratio[0] / ratio[1]
            scaled = theta / ratio[0]
            gradient_0 = scaled[:, None] * (objective[0] - t[:, None] * objective[1])
            for _ in range(rounds):
                power, slack = inside(x, d)
                wp = weight * power
                # Slack: gradient (w P^(1-alpha)) J / x, Hessian by the chain rule through log x.
                first = (wp @ J) / x / limit[:, None]
                curved = np.einsum("nc,ci,cj->nij", wp * (1 - order), J, J) / limit[:, None, None]
                curved /= x[:, :, None] * x[:, None, :]
                H = (
                    curved / slack[:, None, None]
                    - first[:, :, None] * first[:, None, :] / slack[:, None, None] ** 2
                )
                diagonal = -first / x / slack[:, None] - 1.0 / x**2
                H[:, np.arange(n), np.arange(n)] += diagonal
                g = gradient_0 + first / slack[:, None] + 1.0 / x
                # Steps leave the sums alone: the largest variable of each sum makes up for the others.
                pivot = ((unit * x)[:, None, :] * blocks).argmax(axis=2) @ blocks.astype(np.intp)
                Z = np.broadcast_to(np.eye(n), (N, n, n)).copy()
                Z[case[:, None], pivot, np.arange(n)] -= unit / np.take_along_axis(unit, pivot, axis=1)
                fixed = (pivot == np.arange(n)).astype(np.float64)
                # In units of the barrier's own curvature the system is well conditioned.
                H = np.einsum("nji,njk,nkl->nil", Z, H, Z, optimize=True)
                H[:, np.arange(n), np.arange(n)] -= fixed
                # A case that is lost stays where it is, and in no other's way.
                H[~settled], g[~settled] = -np.eye(n), 0.0
                size = 1.0 / np.sqrt(-np.einsum("nii->ni", H))
                right = -np.einsum("nji,nj->ni", Z, g) * size
                # The diagonal is -1 now; a little more keeps a lost case from stopping the others.
                H = H * size[:, :, None] * size[:, None, :] - 1e-14 * np.eye(n)
                step = np.linalg.solve(H, right[:, :, None])[:, :, 0] * size
                step = np.einsum("nij,nj->ni", Z, step)
                decrement = (g * step).sum(axis=1)
                # The damped step of self-concordant functions, shortened to stay inside.
                length = np.where(decrement > 0.1, 1.0 / (1.0 + np.sqrt(np.maximum(decrement, 0.0))), 1.0)
                for _ in range(60):
                    y = x + length[:, None] * step
                    outside = ~((y > 0).all(axis=1) & (inside(y, d + length[:, None] * step)[1] > 0))
                    if not outside.any():
                        break
                    length = np.where(outside, 0.5 * length, length)
                step *= np.where(outside, 0.0, length)[:, None]
                x, d = x + step, d + step
                settled &= np.isfinite(decrement) & (decrement > -1e-3)
                if (decrement[settled] < 1e-6).all():
                    break
            settled &= decrement < 1e-3
            if theta > 2 * n / gap:
                break
            theta *= growth
    P = (x[:, :a1] * m_unit)[:, :, None] * (x[:, a1:] * unit[:, a1:]).reshape(N, a1, a2)
    R = P / P.sum(axis=2, keepdims=True)
    high, low = (R[case, s1] * q1).sum(axis=1), (R[case, s2] * q2).sum(axis=1)
    return np.where(settled, np.log(high) - np.log(low), np.nan), P


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
    return max(math.log(q1.max()) - math.log(q2.min()) for _, q1, _, q2 in asked)


def conic_epsilon(ball: RenyiBall, channel: Channel) -> tuple[float, int]:
    """`RenyiBall.worst_case_epsilon` by conic programs, for order 1/2 and above.

    Returns
    -------
    float and int
        The level over the questions that the solver could answer, and how many it could not.
    """
    asked = questions(ball, channel)
    if asked is None:
        return math.inf, 0
    if math.isinf(ball.radius):
        return max(0.0, whole_simplex(asked)), 0
    levels = np.array([conic_level(ball.centre, ball.radius, ball.order, *question) for question in asked])
    return float(np.nanmax([0.0, *levels])), int(np.isnan(levels).sum())


def barrier_epsilons(balls: list[RenyiBall], channels: list[Channel]) -> tuple[FloatArray, list[FloatArray]]:
    """`RenyiBall.worst_case_epsilon` by the barrier method; balls of one order and shape, order >= 1/2.

    Returns
    -------
    ndarray, shape (N,), and a list of N arrays of shape (questions, a1, a2)
        Levels, and for each ball the members of F that the method ended at (none if the level is infinite or
        F the simplex).
    """
    asked = [questions(ball, channel) for ball, channel in zip(balls, channels, strict=True)]
    values = np.zeros(len(balls))
    members = [np.zeros((0, *ball.centre.shape)) for ball in balls]
    owner, rows = [], []
    for i, (ball, listed) in enumerate(zip(balls, asked, strict=True)):
        if listed is None:
            values[i] = math.inf
        elif math.isinf(ball.radius):
            values[i] = max(0.0, whole_simplex(listed))
        else:
            owner += [i] * len(listed)
            rows += listed
    if rows:
        which = np.array(owner)
        s1, q1, s2, q2 = (np.array(column) for column in zip(*rows, strict=True))
        centre = np.array([balls[i].centre for i in owner])
        radius = np.array([balls[i].radius for i in owner])
        found, P = barrier_levels(centre, radius, balls[0].order, s1, q1, s2, q2)
        for growth, rounds in ((1.5, 1000), (1.2, 3000)):
            i = np.isnan(found)
            if i.any():
                lost = (centre[i], radius[i], balls[0].order, s1[i], q1[i], s2[i], q2[i])
                found[i], P[i] = barrier_levels(*lost, growth=growth, rounds=rounds)
        for i in np.flatnonzero(np.isnan(found)):
            found[i] = conic_level(centre[i], radius[i], balls[0].order, *rows[i])
            P[i] = centre[i]
        np.maximum.at(values, which, found)
        for i in np.unique(which):
            members[i] = P[which == i]
    return values, members


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
