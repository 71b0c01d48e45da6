"""The least Hamming distortion of private channels, by a linear program over all their entries."""

import numpy as np
from scipy.optimize import linprog


def hamming_lp(P: np.ndarray, t: float) -> float:
    """1 - the least distortion of a t-private channel, over all M^2 entries of Q."""
    J, M = P.shape
    rows = []
    for y in range(M):
        for i in range(M):
            for k in range(M):
                if i != k:
                    row = np.zeros(M * M + 1)
                    row[i * M + y], row[k * M + y] = 1.0, -t
                    rows.append(row)
    distortion = np.zeros((J, M * M + 1))
    distortion[:, [i * M + i for i in range(M)]] = -P
    distortion[:, -1] = 1.0
    sums = np.append(np.kron(np.eye(M), np.ones(M)), np.zeros((M, 1)), axis=1)
    cost = np.append(np.zeros(M * M), -1.0)
    A = np.vstack([*rows, distortion])
    found = linprog(cost, A, np.zeros(len(A)), sums, np.ones(M), bounds=(0, None), method="highs")
    return -float(found.fun)
