"""Exact conditional intervals of odds ratios: Clopper-Pearson for Fisher's noncentral distribution."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.special import gammaln, ndtri_exp

from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.uncertainty.settings import SETTINGS


def exact_ends(table: FloatArray, possible: FloatArray, log_beta: float) -> FloatArray:
    """Return the least odds ratios of exact conditional intervals, shape (a1, a1, a2, a2).

    They are 1 where one of the four cells is not possible, for others to replace. `log_beta` is the logarithm
    of the level at which a single interval may fail. Intractable if the margins of a 2 x 2 table leave too
    many possible counts.
    """
    a1, a2 = table.shape
    low = np.ones((a1, a1, a2, a2))
    for (s, t), (u, w) in itertools.product(
        itertools.permutations(range(a1), 2), itertools.combinations(range(a2), 2)
    ):
        if not possible[np.ix_([s, t], [u, w])].all():
            continue
        end = _least_odds_ratio(table[t, u], table[t, w], table[s, u], table[s, w], log_beta - math.log(2.0))
        low[s, t, u, w] = low[t, s, w, u] = end
    return low


def _least_odds_ratio(tu: float, tw: float, su: float, sw: float, log_tail: float) -> float:
    """Return the odds ratio tu sw / (tw su) at which so large a count tu has a small probability.

    Given the margins the count k of the cell (t, u) has the weights C(t, k) C(s, tu + su - k) rho^k.
    """
    of_t, of_s, of_u = tu + tw, su + sw, tu + su
    least, most = max(0.0, of_u - of_s), min(of_t, of_u)
    if tu == least:
        return 0.0
    if most - least > SETTINGS.max_support:
        raise Intractable(
            f"The margins of a 2 x 2 table leave {most - least:.6g} counts to exact intervals; at most"
            f" {SETTINGS.max_support:,} are supported. With so many samples the method 'bonferroni' is as"
            " good."
        )
    k = np.arange(least, most + 1.0)
    weights = -(gammaln(k + 1) + gammaln(of_t - k + 1) + gammaln(of_u - k + 1) + gammaln(of_s - of_u + k + 1))
    beyond = int(tu - least)

    def excess(log_rho: float) -> tuple[float, float]:
        """Return the logarithm of the chance of a count so large, less that of the tail, and its slope."""
        terms = weights + (k - tu) * log_rho
        chances = np.exp(terms - terms.max())
        total, tail = float(chances.sum()), float(chances[beyond:].sum())
        mean = float(k @ chances) / total
        if tail > 1e-280 * total:  # no term of the tail that counts has underflowed
            return math.log(tail / total) - log_tail, float(k[beyond:] @ chances[beyond:]) / tail - mean
        # So far from the mean, nearly all of the tail is at its first count.
        return _log_sum(terms[beyond:]) - _log_sum(terms) - log_tail, tu - mean

    # Weights are log-concave in k, so the excess is concave in log rho: Newton's method converges from below.
    log_rho = math.log((tu + 0.5) * (sw + 0.5) / ((tw + 0.5) * (su + 0.5)))
    log_rho += float(ndtri_exp(log_tail)) * math.sqrt(sum(1.0 / (n + 0.5) for n in (tu, tw, su, sw)))
    for _ in range(SETTINGS.root_steps):
        above, slope = excess(log_rho)
        step = above / slope
        log_rho -= step
        if abs(step) <= SETTINGS.odds_accuracy:
            break
    return math.exp(log_rho - 2.0 * SETTINGS.odds_accuracy)


def _log_sum(terms: FloatArray) -> float:
    """Return the logarithm of the sum of exponentials: what SciPy does, without its checks."""
    largest = float(terms.max())
    return largest + math.log(float(np.exp(terms - largest).sum()))
