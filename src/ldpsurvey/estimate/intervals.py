"""Confidence intervals of frequencies, from counts of reports.

Reports are multinomial with the probabilities m = Q^T P, where Q is the channel and P the unknown
distribution of the inputs. An upper limit of a frequency c . P is made in two steps.

*Weights.* If Q w >= c in every entry, then c . P <= w . m for every distribution P: the mean of w over the
reports bounds the frequency. Weights with Q w = c, which exist if the channel shows the frequency, are
unbiased; others exist always, such as the constant max c. These are the strict bounds of Stark (1992,
*Inference in infinite-dimensional inverse problems: discretization and duality*), which use that P is
nonnegative. The weights depend on the table of the design and on the number of reports, not on the reports.

*The mean of the weights.* The upper limit of the mean of a bounded variable is that of Gaffke (2005, *Three
test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative variable*; see
Learned-Miller and Thomas, 2019): add one report with the largest weight, and take the quantile of
sum_y w_y D_y, D from the Dirichlet distribution whose parameters are the counts. This is the Bayesian
bootstrap of Rubin (1981) with one more report. For two outputs it is the limit of Clopper and Pearson (1934).
In general its coverage is a conjecture, which the tests support; it is exact in the limit of many reports.

The lower limit of c . P is the negative of the upper limit of -c . P.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from ldpfrontier.base.types import FloatArray
from ldpsurvey.base.settings import SETTINGS


def mean_limits(weights: FloatArray, counts: FloatArray, tail: float) -> FloatArray:
    """Return Gaffke's upper limits, (..., m), of means of weights, (m, outputs), over counts, (..., outputs).

    The quantile, which may be below the mean with probability `tail` < 1/2, is one of gamma variables:
    P(sum_y w_y D_y <= t) = P(sum_y (w_y - t) G_y <= 0), the G_y independent with the shapes a_y, the counts
    with the additional report. This probability is computed by the saddlepoint approximation of Lugannani and
    Rice (1980) in the form of Barndorff-Nielsen. With s = sum_y a_y / (g - w_y) / sum_y a_y the saddlepoint
    of t = g - 1/s is s itself, so that the limit is found by bisection in g, which is above all weights.
    """
    # Distances of the weights, and of g, from the largest weight, in units of the range of the weights.
    top, unit = weights.max(axis=1), np.maximum(np.ptp(weights, axis=1), np.finfo(float).tiny)
    d = (top[:, None] - weights) / unit[:, None]
    a = counts[..., None, :] + (np.arange(weights.shape[1]) == weights.argmax(axis=1)[:, None])
    total = a.sum(axis=-1)

    def at(log_gap: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the normal quantile of the probability, and the distance of t from the largest weight."""
        above = d + np.exp(log_gap)[..., None]
        ratio = a / above
        s = ratio.sum(axis=-1)
        below = (ratio * d).sum(axis=-1) / s
        s /= total
        beside = d - below[..., None]
        exponent = (a * np.log1p(s[..., None] * beside)).sum(axis=-1)
        spread = np.sqrt((ratio * beside**2 / above).sum(axis=-1))
        r = np.sqrt(2.0 * np.maximum(exponent, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            # The quotient is 0 / 0 at the mean of D.
            return np.where(r > 1e-4, r + np.log(spread / r) / r, 0.0), below

    # g is at most about sqrt(total) ranges above the weights; at the other end the limit is the largest one.
    low, high = np.full(total.shape, -20.0), 0.5 * np.log(total) + 5.0
    for _ in range(26):  # to 40 / 2^26 of the half width
        middle = 0.5 * (low + high)
        beyond = at(middle)[0] > -ndtri(tail)
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
    return np.asarray(top - unit * at(low)[1])


def _strict_weights(
    matrix: FloatArray, vectors: FloatArray, prior: FloatArray, records: int, tail: float
) -> FloatArray:
    """Return weights w with Q w >= c whose limits are low at the prior, for each of the vectors c.

    Minimizes w . m + eta/2 sum_y d_y (w_y - c . p)^2, m the probabilities of the reports at the prior p and
    d_y = m_y + 1/n: one more report may be any. With eta the normal quantile of the tail over sqrt(n) and the
    standard deviation of w this has the same optimum as w . m plus so many standard errors; the deviation is
    that of the weights before. The dual is a least-squares problem over nonnegative vectors. Whatever its
    accuracy, a constant is added at last that makes Q w >= c hold.
    """
    from scipy.optimize import nnls

    mean = prior @ matrix
    moment = mean + 1.0 / records
    # The triangular factor stands for the matrix of the least-squares problem, which has a row per report.
    size, ridge = len(matrix), math.sqrt(SETTINGS.limit_ridge)
    orthogonal, triangle = np.linalg.qr(np.vstack([(matrix / np.sqrt(moment)).T, ridge * np.eye(size)]))
    constant = mean / np.sqrt(moment) @ orthogonal[:-size]
    multiplier = max(-float(ndtri(tail)), 0.1) / math.sqrt(records)
    found = np.repeat(vectors.max(axis=1), matrix.shape[1]).reshape(len(vectors), -1)
    for c, weights in zip(vectors, found, strict=True):
        slope, deviation = (c - c @ prior) @ orthogonal[-size:] / ridge, 1.0
        for _ in range(SETTINGS.limit_programs):
            eta = multiplier / deviation
            try:
                dual = nnls(triangle, constant + eta * slope)[0]
            except RuntimeError:  # Too many iterations: what was found before has to do.
                break
            weights[:] = (dual @ matrix - mean) / (moment * eta)
            weights += (c - matrix @ weights).max()
            deviation = math.sqrt(max(float((weights - weights @ mean) ** 2 @ moment), 1e-12))
    return found


def limit_weights(
    matrix: FloatArray,
    vectors: FloatArray,
    prior: FloatArray,
    unbiased: FloatArray,
    records: int,
    tail: float,
) -> FloatArray:
    """Return weights w, (m, outputs), with Q w >= c for upper limits of c . P, each c a row of (m, inputs).

    They are low at the positive prior for so many records. The unbiased weights, NaN if there are none, are
    taken if others are not much better there, so that limits are good at other distributions, too.
    """
    # Rounding of the unbiased weights must not cost coverage either.
    exact = unbiased + np.maximum((vectors - unbiased @ matrix.T).max(axis=1), 0.0)[:, None]
    shown = np.isfinite(exact).all(axis=1)
    biased = _strict_weights(matrix, vectors, prior, records, tail)
    most, truth, counts = vectors.max(axis=1), vectors @ prior, records * (prior @ matrix)
    excess = np.minimum(mean_limits(biased, counts, tail), most) - truth
    # The constant is left where nothing is better.
    biased = np.where((excess < most - truth)[:, None], biased, most[:, None])
    found = np.where(shown[:, None], exact, biased)
    usual = np.minimum(mean_limits(found, counts, tail), most) - truth
    worth = excess < (1.0 - SETTINGS.limit_gain) * usual
    return np.where(worth[:, None], biased, found)


def upper_limits(weights: FloatArray, counts: FloatArray, fitted: FloatArray, tail: float) -> FloatArray:
    """Return upper confidence limits of the means of weights, (m,), which fail with probability `tail`.

    Reports that no distribution explains well may have a limit below all possible means. A limit is therefore
    never closer to the mean of the weights at the fitted counts than half of the distance that it has for
    these counts, after the power-constrained limits of Cowan, Cranmer, Gross and Vitells (2011).
    """
    seen, expected = mean_limits(weights, np.stack([counts, fitted]), tail)
    limits = np.maximum(seen, 0.5 * (expected + weights @ fitted / fitted.sum()))
    # Rounding must not close the gap that very many reports leave.
    return np.asarray(limits + 16.0 * np.finfo(float).eps * np.abs(weights).max(axis=1))
