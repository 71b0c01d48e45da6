r"""The least distortion of a t-private channel: a matrix game in 2M numbers instead of M^2 (kalantari2018).

Fix t = e^eps. A t-private channel with the diagonal q exists iff there are column minima m >= 0, of sum mu in
[1/t, 1], with m_i <= q_i <= min(t m_i, 1 - mu + m_i). *Necessary*: row i holds q_i and at least m_y in every
other column; a row sums to 1, between mu and t mu; outputs beyond the M letters can be merged into one of
them (Lemma 3). *Sufficient*: raise every q_i to that minimum (distortion only falls) and give the rest of row
i to the other columns in proportion to m: ``Q[i, y] = s_i m_y``, s_i = (1 - q_i)/(mu - m_i). Then 1 <= s_i
because q_i <= 1 - mu + m_i; and s_i <= t, as 1 <= t mu if q_i = t m_i, and s_i = 1 else. So ::

    v(t) = max { min_P sum_i P_i q_i : q_i <= t m_i, q_i <= 1 - mu + m_i, 1/t <= mu <= 1 }

is an LP, increasing in t: a t-private channel of distortion D exists iff v(t) >= 1 - D. By LP duality v(t) is
the minimum over p in the hull of the value v_p(t) for one known prior p.
"""

from __future__ import annotations

import numpy as np

from ldpfrontier.base.types import FloatArray
from ldpfrontier.model.channel import Channel
from ldpfrontier.numerics.highs import maximize


class Game:
    """The LP for v(t) of the module docstring, over u = t m, q and the value w, for distributions (J, M)."""

    def __init__(self, distributions: FloatArray) -> None:
        P = self._distributions = distributions
        J, M = P.shape
        eye = np.eye(M)
        self._A = np.zeros((J + 2 * M + 1, 2 * M + 1))
        self._A[:J, M:-1], self._A[:J, -1] = P, -1.0
        self._A[J : J + M, :M], self._A[J : J + M, M:-1] = eye, -eye
        self._A[J + M : -1, M:-1] = eye
        self._A[-1, :M] = 1.0
        self._rows, self._columns = slice(J + M, J + 2 * M), slice(0, M)
        self._cost = np.append(np.zeros(2 * M), 1.0)

    def solve(self, t: float) -> tuple[float, FloatArray, FloatArray]:
        """Return v(t), t >= 1, the mixture of the distributions that attains it, and the column minima m."""
        J, M = self._distributions.shape
        self._A[self._rows, self._columns] = (1.0 - np.eye(M)) / t
        lower = np.concatenate([np.zeros(J + M), np.full(M, -np.inf), [1.0]])
        upper = np.concatenate([np.full(J + M, np.inf), np.ones(M), [t]])
        solution = maximize(self._cost, self._A, lower, upper)
        if solution is None:  # pragma: no cover - uniform m is feasible
            raise ArithmeticError(f"The LP at t = {t} has no solution.")
        value, x, duals = solution
        weights = np.abs(duals[:J])
        m = np.maximum(x[:M], 0.0) / t
        return value, weights / weights.sum() @ self._distributions, m


def channel_from_minima(m: FloatArray, t: float) -> Channel:
    """Build the t-private channel with column minima m, shape (M,), and the largest diagonal."""
    mu = m.sum()
    if t == 1.0:
        return Channel(np.tile(m / mu, (len(m), 1)))
    m = m * min(max(1.0, 1.0 / (t * mu)), 1.0 / mu)
    rest = m.sum() - m
    q = np.minimum(t * m, 1.0 - rest)
    Q = np.divide(1.0 - q, rest, out=np.zeros_like(q), where=rest > 0)[:, None] * m
    np.fill_diagonal(Q, q)
    return Channel(Q)
