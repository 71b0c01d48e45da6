r"""A bound on the error under local differential privacy for many inputs, by one semidefinite program.

Staircase columns have v_i = h or v_i = t h for some h > 0, so that (v_i - h)(v_i - t h) = 0 for all i, and
(v_i - h)(v_j - h) >= 0 for all i and j. Prices lam and a matrix W bound the error by tr(A_c W')^2 / sum(lam)
(`column_weights`) if there are d and N >= 0 with ::

    (lam . v)(p . v) + sum_i d_i (v_i - h)(v_i - t h) - sum_ij N_ij (v_i - h)(v_j - h) >= |W v|^2

for all numbers h and vectors v, that is if a matrix is positive semidefinite. The left-hand side is least at
some h, where it is v' T v with the Schur complement T of its matrix S, and the best W with W'W <= T has
tr(A_c W') = tr((A_c T A_c')^(1/2)), which is concave in lam, d and N at once. Newton's method maximizes ::

    2 tr((A_c T A_c')^(1/2)) - sum(lam) + tau (log det S + sum log N)

for a falling tau. Pairs (i, j) are those that the solution without N would have with negative products.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ldpfrontier.base.types import FloatArray, IntArray
from ldpfrontier.engines.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.engines.designs.column_weights import EstimationProblem, Prices
from ldpfrontier.engines.designs.error import orthonormal_span
from ldpfrontier.engines.designs.settings import SETTINGS
from ldpfrontier.numerics.deadline import check_time, time_is_up
from ldpfrontier.numerics.rounding import gamma


def relaxed_bound(
    problem: EstimationProblem, ratio: float, enough: float = math.inf, *, rounds: int = 3
) -> float:
    """Return a lower bound of phi under local differential privacy; 0 where none is found.

    The ratio is e^eps, and `enough` the bound at which to stop. Without a round of a semidefinite program, as
    for more inputs than these can have, the bound is that of a point in closed form.
    """
    p, wanted, n = problem.p, problem.wanted, problem.p.size
    basis, sizes = orthonormal_span(wanted)
    pairs, best = np.zeros((0, 2), dtype=np.int64), 0.0
    if rounds == 0 or n > SETTINGS.max_relaxed_inputs:
        program = _Program(p, basis * sizes[:, None], ratio, pairs)
        return _proved(problem, program, program.start(1e-6))  # near the border, where it is best
    for _ in range(rounds):
        program = _Program(p, basis * sizes[:, None], ratio, pairs)
        z = program.solve(program.extended(program.start(0.1)))
        if z is None:
            break
        best = max(best, _proved(problem, program, z))
        if best >= enough or time_is_up():
            break
        moments = program.moments(z)
        moments[pairs[:, 0], pairs[:, 1]] = 0.0
        i, j = np.triu_indices(n, 1)
        # New pairs of inputs, for each input.
        order = np.argsort(moments[i, j], kind="stable")[: 4 * n]
        # Product of two inputs, as a share of the largest, above which it counts as none.
        order = order[moments[i, j][order] < -1e-3 * np.abs(moments).max()]
        if not order.size:
            break
        pairs = np.vstack([pairs, np.column_stack([i, j])[order]])
    return best


def _proved(problem: EstimationProblem, program: _Program, z: FloatArray) -> float:
    """Return the bound of a point, with prices raised by what the matrix lacks to be semidefinite."""
    n, t = program.p.size, program.t
    S, T, _ = program.matrices(z)
    lam = z[:n]
    # W = Q P^(-1/2) R T of the problem's own rows A_c, with the polar part of A_c T A_c'.
    P = problem.wanted @ T @ problem.wanted.T
    w, U = np.linalg.eigh(P)
    kept = w > SETTINGS.rank * w[-1]
    root = (U[:, kept] / np.sqrt(w[kept])) @ U[:, kept].T
    W = root @ problem.wanted @ T
    # In coordinates of signs, v = m h + r s, columns have h^2 + |s|^2 = (1 + n) h^2 <= (1 + n) (p . v)^2.
    signs = np.zeros((n + 1, n + 1))
    signs[0, 0], signs[1:, 0] = 1.0, (1.0 + t) / 2.0
    signs[1:, 1:] = np.eye(n) * (t - 1.0) / 2.0
    whole = S.copy()
    whole[1:, 1:] -= W.T @ W
    size = np.abs(S)
    size[1:, 1:] += np.abs(W).T @ np.abs(W)
    form, size = signs.T @ whole @ signs, np.abs(signs).T @ size @ np.abs(signs)
    least = float(np.linalg.eigvalsh(0.5 * (form + form.T))[0])
    least -= gamma(16 * n + 64) * float(np.linalg.norm(size))
    return problem.bound(Prices(W, lam), max(-least, 0.0) * (1.0 + n))


@dataclass(eq=False)
class _Program:
    """The program with some pairs; a point is z = (lam, d, N), with d and N in units of their size."""

    p: FloatArray  # (n,)
    rows: FloatArray  # (r, n), with the same rows' products as A_c, and linearly independent
    t: float  # e^eps
    pairs: IntArray  # (m, 2)

    def __post_init__(self) -> None:
        n, m, eye = self.p.size, len(self.pairs), np.eye(self.p.size + 1)
        # S is the sum of z_a (x_a y_a' + y_a x_a') / 2, in coordinates (h, v).
        x, y = np.zeros((2, 2 * n + m, n + 1))
        unit = 4.0 * self.t / (self.t - 1.0) ** 2
        x[:n], y[:n, 1:] = eye[1:], self.p
        x[n : 2 * n], y[n : 2 * n] = unit * (eye[1:] - eye[0]), eye[1:] - self.t * eye[0]
        x[2 * n :] = -unit * (eye[1 + self.pairs[:, 0]] - eye[0])
        y[2 * n :] = eye[1 + self.pairs[:, 1]] - eye[0]
        self._x, self._y = x, y

    def start(self, slack: float) -> FloatArray:
        """Return a point inside, without pairs; with no slack it would be on the border."""
        n = self.p.size
        lam = self.p if self.p.min() > 0 else 0.5 * self.p + 0.5 / n
        return np.append(lam, (1.0 - slack) * 0.5 * (lam + self.p))

    def extended(self, z: FloatArray) -> FloatArray:
        """Return a point with new pairs, of little weight."""
        n = self.p.size
        new = np.full(2 * n + len(self.pairs) - len(z), float(z[:n].sum()) / n**2)
        while new.size and new[0] > 1e-12 and not self.dual_objective(np.append(z, new), 0.0) > -math.inf:
            new *= 0.1
        return np.append(z, new)

    def matrices(self, z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return S, (n + 1, n + 1), its Schur complement T, (n, n), and F with F dS F' = dT, (n, n + 1)."""
        S: FloatArray = (self._x * z[:, None]).T @ self._y
        S = 0.5 * (S + S.T)
        F = np.hstack([-S[1:, :1] / S[0, 0], np.eye(len(S) - 1)])
        T = np.asarray(S[1:, 1:] - np.outer(S[1:, 0], S[1:, 0]) / S[0, 0])
        return S, T, F

    def dual_objective(self, z: FloatArray, tau: float) -> float:
        """Return the dual objective with a logarithmic barrier of weight tau, -inf outside its domain."""
        n = self.p.size
        if not (z[2 * n :] > 0).all():
            return -math.inf
        S, T, _ = self.matrices(z)
        try:
            logs = 2.0 * np.log(np.diag(np.linalg.cholesky(S))).sum() + np.log(z[2 * n :]).sum()
        except np.linalg.LinAlgError:
            return -math.inf
        w = np.linalg.eigvalsh(self.rows @ T @ self.rows.T)
        return float(2.0 * np.sqrt(w).sum() - z[:n].sum() + tau * logs) if w[0] > 0 else -math.inf

    def solve(self, z: FloatArray) -> FloatArray | None:
        """Return about the best point, from one inside; None if that is outside to rounding."""
        w = np.linalg.eigvalsh(self.rows @ self.matrices(z)[1] @ self.rows.T)
        if not w[0] > 0:
            return None
        n, size = self.p.size, float(np.sqrt(w).sum()) ** 2 / float(z[: self.p.size].sum())
        z = z * (size / float(z[:n].sum()))  # where 2 f - sum(lam) is largest, of all multiples
        # The last gap and the first one, as shares of the value.
        last, tau = 1e-5 * size / len(z), 0.1 * size / len(z)
        while not time_is_up():
            for _ in range(GENERATION.max_interior_steps):
                check_time()
                moved = self._moved(z, tau)
                if moved is None:
                    return None
                z, gain = moved
                if gain <= SETTINGS.relaxation_centre * tau:
                    break
            if tau <= last:
                break
            tau = max(tau * SETTINGS.relaxation_fall, last)
        return z

    def _moved(self, z: FloatArray, tau: float) -> tuple[FloatArray, float] | None:
        """Return a point after a step of Newton's method, and the gain that its model has."""
        n, before = self.p.size, self.dual_objective(z, tau)
        if before == -math.inf:
            return None
        try:
            gradient, hessian = self._derivatives(z, tau)
            step = cho_solve(cho_factor(-hessian), gradient)
        except (np.linalg.LinAlgError, ValueError):  # as near to the border as rounding allows
            return z, 0.0
        gain, length = float(gradient @ step), 1.0
        down = step[2 * n :] < 0
        if down.any():
            length = min(1.0, 0.95 * float((z[2 * n :][down] / -step[2 * n :][down]).min()))
        while length > 1e-12:
            if self.dual_objective(z + length * step, tau) >= before + 0.1 * length * gain:
                return z + length * step, gain
            length *= 0.5
        return z, 0.0

    def _derivatives(self, z: FloatArray, tau: float) -> tuple[FloatArray, FloatArray]:
        """Return the gradient and the matrix of second derivatives."""
        n, x, y = self.p.size, self._x, self._y
        S, T, F = self.matrices(z)
        w, U = np.linalg.eigh(self.rows @ T @ self.rows.T)
        a = np.sqrt(w)
        C = U.T @ self.rows @ F
        left, right = x @ C.T, y @ C.T
        i, j = np.triu_indices(len(a))
        weight = np.where(i == j, 1.0, 2.0) / (a[i] * a[j] * (a[i] + a[j]))
        moves = 0.5 * (left[:, i] * right[:, j] + right[:, i] * left[:, j]) * np.sqrt(weight)
        bent = 0.5 * (left * y[:, :1] + right * x[:, :1]) * np.sqrt(2.0 / S[0, 0] / a)
        inverse = np.linalg.inv(S)
        xx, yy, xy = x @ inverse @ x.T, y @ inverse @ y.T, x @ inverse @ y.T
        gradient = (left * right / a).sum(axis=1) + tau * np.diag(xy)
        gradient[:n] -= 1.0
        gradient[2 * n :] += tau / z[2 * n :]
        hessian = -(moves @ moves.T) - bent @ bent.T - 0.5 * tau * (xx * yy + xy * xy.T)
        hessian[np.arange(2 * n, len(z)), np.arange(2 * n, len(z))] -= tau / z[2 * n :] ** 2
        return gradient, hessian

    def moments(self, z: FloatArray) -> FloatArray:
        """Return the sums of the products (v_i - h)(v_j - h) over the columns of the relaxation, (n, n)."""
        _, T, F = self.matrices(z)
        w, U = np.linalg.eigh(self.rows @ T @ self.rows.T)
        C = U.T @ self.rows @ F
        C = C[:, 1:] - C[:, :1]
        return np.asarray((C / np.sqrt(w)[:, None]).T @ C)
