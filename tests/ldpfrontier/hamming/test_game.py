"""The matrix game of the least distortion, against a program in all entries of the channel."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from ldpfrontier.hamming.game import Game, channel_from_minima


def largest_by_all_entries(P, t):
    """max w: P_j . diag Q >= w for all j, rows of Q sum to 1, Q[i, y] <= t Q[k, y]."""
    M = P.shape[1]
    cost = np.zeros(M * M + 1)
    cost[-1] = -1.0
    rows = []
    for p in P:
        row = np.zeros(M * M + 1)
        row[np.arange(M) * (M + 1)], row[-1] = -p, 1.0
        rows.append(row)
    for y in range(M):
        for i in range(M):
            for k in range(M):
                if i != k:
                    row = np.zeros(M * M + 1)
                    row[i * M + y], row[k * M + y] = 1.0, -t
                    rows.append(row)
    sums = np.hstack([np.kron(np.eye(M), np.ones(M)), np.zeros((M, 1))])
    bounds = [(0, 1)] * (M * M) + [(None, None)]
    found = linprog(
        cost, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=sums, b_eq=np.ones(M), bounds=bounds
    )
    return -found.fun


@pytest.mark.parametrize("seed", range(8))
def test_the_value_is_that_of_the_program_in_all_entries(seed):
    rng = np.random.default_rng(seed)
    J, M = int(rng.integers(1, 4)), int(rng.integers(2, 6))
    P = rng.dirichlet(np.ones(M), size=J)
    game = Game(P)
    for t in (1.0, 1.3, math.e, 20.0):
        value, worst, minima = game.solve(t)
        assert value == pytest.approx(largest_by_all_entries(P, t), abs=1e-8)
        assert worst.sum() == pytest.approx(1.0)
        # The channel of the minima is private, and attains the value for every distribution.
        Q = channel_from_minima(minima, t).matrix
        assert (P @ np.diag(Q)).min() >= value - 1e-8
        assert (Q.max(axis=0) <= t * (1 + 1e-9) * Q.min(axis=0)).all()
