"""How often intervals of frequencies have the truth, in simulated reports."""

import math

import numpy as np

from ldpsurvey import CountTable, PrivateChannel
from ldpsurvey.estimate.distribution import FittedReports, inversion, quantities
from ldpsurvey.estimate.intervals import limit_weights, mean_limits
from ldpsurvey.estimate.rates import rates_of

#: Probability with which either end of a 95% interval may fail.
TAIL = 0.025


def signed_weights(matrix, table: CountTable, n, sign, tail=TAIL):
    """Return the weights of the upper limits of all frequencies, or, with sign -1, of their negatives."""
    linear = inversion(matrix, table)
    unbiased = np.where(linear.shown[:, None], sign * linear.weights, math.nan)
    return limit_weights(matrix, sign * quantities(table)[1], table.expected.ravel(), unbiased, n, tail)


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


def rate_coverage(private: PrivateChannel, n, repetitions, *, truth=None, seed=1):
    """Return how often 95% intervals as a user makes them cover: cells, marginals, rates and the rest."""
    table = private.table
    truth = table.distribution if truth is None else truth
    a1, a2 = truth.shape
    rates = truth / truth.sum(axis=0)
    base = int(table.counts.sum(axis=0).argmax())
    others = [u for u in range(a2) if u != base]
    kinds = {"cell": truth, "rate": rates}
    kinds["marginal"] = np.concatenate([truth.sum(axis=1), truth.sum(axis=0)])
    kinds["difference"] = (rates - rates[:, [base]])[:, others]
    kinds["ratio"] = (rates / rates[:, [base]])[:, others]
    covered = {kind: np.zeros(true.size) for kind, true in kinds.items()}
    drawn = np.random.default_rng(seed).multinomial(n, truth.ravel() @ private.channel.matrix, repetitions)
    for counts in drawn:
        fit = FittedReports(private, counts)
        frequencies = fit.distribution(0.95, simultaneous=False).frequencies
        found = rates_of(fit, base, 0.95, simultaneous=False)
        rows = {"cell": frequencies[: a1 * a2], "marginal": frequencies[a1 * a2 :]}
        rows |= {measure: found.of(measure) for measure in ("rate", "difference", "ratio")}
        for kind, true in kinds.items():
            ends = np.array([(row.low, row.high) for row in rows[kind]]).reshape(-1, 2)
            covered[kind] += (ends[:, 0] <= true.ravel()) & (true.ravel() <= ends[:, 1])
    return {kind: times / repetitions for kind, times in covered.items()}
