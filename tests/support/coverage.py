"""How often intervals of frequencies have the truth, in simulated reports."""

import math

import numpy as np

from ldpfrontier import CountTable
from ldpfrontier.practice.estimation import inversion, quantities, table_prior
from ldpfrontier.practice.intervals import limit_weights, mean_limits

#: Probability with which either end of a 95% interval may fail.
TAIL = 0.025


def signed_weights(matrix, table: CountTable, n, sign, tail=TAIL):
    """Return the weights of the upper limits of all frequencies, or, with sign -1, of their negatives."""
    linear = inversion(matrix, table)
    unbiased = np.where(linear.shown[:, None], sign * linear.weights, math.nan)
    return limit_weights(matrix, sign * quantities(table)[1], table_prior(table), unbiased, n, tail)


def coverage(matrix, table: CountTable, n, repetitions, *, truth=None, seed=1, tail=TAIL):
    """Return how often each interval covers, shape (quantities,), and all together.

    Most likely distributions, which take longest, are left out: they make intervals only wider.
    """
    truth = table.distribution.ravel() if truth is None else truth
    counts = np.random.default_rng(seed).multinomial(n, truth @ matrix, size=repetitions)
    covered = np.ones((repetitions, len(quantities(table)[0])), dtype=bool)
    for sign in (-1, 1):
        weights = signed_weights(matrix, table, n, sign, tail)
        true = sign * quantities(table)[1] @ truth
        chunk = max(1, 2_000_000 // weights.size)
        for start in range(0, repetitions, chunk):
            limits = mean_limits(weights, counts[start : start + chunk], tail)
            covered[start : start + chunk] &= limits >= true - 1e-12
    return covered.mean(axis=0), covered.all(axis=1).mean()
