"""Entropy, mutual information and divergences of finite distributions, in nats or bits.

Conventions: 0 log 0 = 0, 0 log(0/0) = 0, x log(x/0) = inf for x > 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import rel_entr, xlog1py, xlogy

from ldpfrontier.base.types import FloatArray
from ldpfrontier.model.channel import Channel
from ldpfrontier.numerics.arguments import as_distribution, as_flag, as_instance, as_number
from ldpfrontier.numerics.jit import kernel


def _pair(p: ArrayLike, q: ArrayLike) -> tuple[FloatArray, FloatArray]:
    first, second = as_distribution(p, "p").ravel(), as_distribution(q, "q").ravel()
    if first.size != second.size:
        raise ValueError(f"p has {first.size} entries and q has {second.size}; they must be equally many.")
    return first, second


#: Bits in a nat.
BITS = 1.0 / math.log(2.0)


def _unit(nats: float, bits: bool) -> float:
    return nats * BITS if as_flag(bits, "bits") else nats


def entropy(p: ArrayLike, *, bits: bool = False) -> float:
    """Compute the Shannon entropy H(p) of a distribution of any shape, in nats or bits."""
    return _unit(-float(xlogy(q := as_distribution(p, "p"), q).sum()) + 0.0, bits)


def mutual_information(prior: ArrayLike, channel: Channel, *, bits: bool = False) -> float:
    r"""Compute the mutual information I(X;Y) between the input and the output of a channel.

    Computed as H(M) - sum_x p(x) H(Q(.|x)), M = p Q, unless most of that cancels: then as
    sum_xy p(x) M(y) phi(Q(y|x)/M(y) - 1) with phi(t) = (1 + t) log(1 + t) - t >= 0, which equals
    sum p Q log(Q/M) because the first-order terms cancel exactly: every term is non-negative, so a tiny
    I (small epsilon) keeps its relative accuracy.

    Parameters
    ----------
    prior : array_like, any shape
        Distribution of X; (a1, a2) arrays are flattened row-major.
    channel : Channel
    bits : bool
        Unit of the result; nats by default.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If the prior is not a distribution on the channel's inputs.
    """
    as_instance(channel, Channel, "The channel")
    p = channel.flat_prior(prior)
    p = p / p.sum()
    M = p @ channel.matrix
    nats = -float(xlogy(M, M).sum()) - float(p @ channel.row_entropies)
    if nats < LEAST_BY_ENTROPIES:
        # Rounding of M matters only to second order: the sum is stationary in M at M = p Q.
        nats = _mean_of_terms(p, channel.matrix, M)
    return _unit(nats, bits)


def relative_excess(t: FloatArray) -> FloatArray:
    """Return (1 + t) log(1 + t) - t >= 0, elementwise and without cancellation, for t >= -1.

    With t = p/q - 1 its mean under q is the divergence of p from q.
    """
    return power_excess(t, 1.0)


#: Mutual information, in nats, from which on a difference of entropies keeps eleven of its digits.
LEAST_BY_ENTROPIES = 1e-3

#: Below this probability of an output, Q / M is taken apart: it may be beyond the largest float.
LEAST_QUOTIENT = 1e-200

#: Entries of a channel whose terms are computed at once: so few stay in the cache.
_AT_ONCE = 8_000


def _mean_of_terms(p: FloatArray, Q: FloatArray, M: FloatArray) -> float:
    """Return sum_xy p(x) M(y) phi(Q(y|x) / M(y) - 1) over all x that have a probability."""
    total, occurs, step = 0.0, np.flatnonzero(p > 0.0), max(1, _AT_ONCE // M.size)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for start in range(0, occurs.size, step):
            some = occurs[start : start + step]
            total += float(p[some] @ _precise_terms(Q[some], M).sum(axis=1))
    return total


def _precise_terms(q: FloatArray, m: FloatArray) -> FloatArray:
    """Return m phi(q / m - 1) with all digits; 0 where m is."""
    terms = m * relative_excess((q - m) / m)
    rare = m < LEAST_QUOTIENT
    if rare.any():
        q, m = q[:, rare], m[rare]
        apart = xlogy(q, q) - q * np.log(m) - (q - m)
        terms[:, rare] = np.where(m > 0.0, apart, 0.0)
    return terms


@kernel
def excess(t: float) -> float:
    """Return `relative_excess` of one number, in compiled code."""
    if t <= -1.0:
        return 1.0
    if abs(t) >= 0.05:
        return (1.0 + t) * math.log1p(t) - t
    # Series sum_{k>=2} (-t)^k / (k (k - 1)); 14 terms leave less than 1e-18 of the first at |t| = 0.05.
    series = 0.0
    for k in range(15, 1, -1):
        series = series * -t + 1.0 / (k * (k - 1))
    return series * t * t


def power_excess(t: FloatArray, order: float) -> FloatArray:
    """Return ((1 + t)^order - 1 - order t) / (order - 1) >= 0, elementwise, for t >= -1 and an order above 0.

    Its mean under q with t = p/q - 1 is the Hellinger divergence of that order; at order 1 it is
    `relative_excess`, and near it nothing cancels.
    """
    t = np.maximum(t, -1.0)
    small = np.abs(t) < 0.05 / max(order, 1.0)
    number = np.count_nonzero(small)
    if number == t.size:
        return _small_excess(t, order)
    # By the formula for all, then by the series for the small ones: to select the others takes longer.
    found = _large_excess(t, order)
    if number:
        found[small] = _small_excess(t[small], order)
    return found


def _large_excess(t: FloatArray, order: float) -> FloatArray:
    """Return `power_excess` by its formula, for t that are far enough from 0 for nothing to cancel."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if order == 1.0:
            return np.asarray(xlog1py(1.0 + t, t) - t)
        power = np.expm1((order - 1.0) * np.log1p(t)) / (order - 1.0)
        return np.where(t == -1.0, 1.0, (1.0 + t) * power - t)


def _small_excess(t: FloatArray, order: float) -> FloatArray:
    """Return `power_excess` of small t as a series, whose last term is less than 1e-18 of the first."""
    if order == 1.0:
        # With s = t / (2 + t), log(1 + t) = 2 (s + s^3/3 + s^5/5 + ...): fewer terms than the binomial.
        s = t / (2.0 + t)
        square = s * s
        series = np.full_like(t, 1.0 / 13.0)
        for odd in (11.0, 9.0, 7.0, 5.0, 3.0):
            series *= square
            series += 1.0 / odd
        series *= s * (1.0 + s)
        series += 1.0
        series *= square
        series *= 2.0 + t
        return series
    *others, last = _coefficients(order)
    series = np.full_like(t, last)
    for coefficient in reversed(others):
        series *= t
        series += coefficient
    return np.asarray(t * t * series)


@lru_cache
def _coefficients(order: float) -> tuple[float, ...]:
    """Return the coefficients of t^2, t^3, ... in the series of `power_excess`."""
    return tuple(accumulate(range(3, 16), lambda c, k: c * (order - k + 1.0) / k, initial=order / 2.0))


@kernel
def excess_of_order(t: float, order: float) -> float:
    """Return `power_excess` of one number, in compiled code."""
    if order == 1.0:
        return excess(t)
    if t <= -1.0:
        return 1.0
    if abs(t) * max(order, 1.0) >= 0.05:
        return (1.0 + t) * math.expm1((order - 1.0) * math.log1p(t)) / (order - 1.0) - t
    # The binomial series; 14 terms leave less than 1e-18 of the first.
    series = 1.0
    for k in range(15, 2, -1):
        series = 1.0 + (order - k + 1.0) / k * t * series
    return order / 2.0 * t * t * series


def kl_divergence(p: ArrayLike, q: ArrayLike, *, bits: bool = False) -> float:
    """Kullback-Leibler divergence sum p log(p/q), in nats (or bits); inf if q misses mass of p."""
    first, second = _pair(p, q)
    nats = float(rel_entr(first, second).sum())
    if nats < 0.1:
        # Terms of both signs cancel; these are all positive.
        first, second = first / first.sum(), second / second.sum()
        shared = second > 0
        first, second = first[shared], second[shared]
        nats = float(second @ relative_excess((first - second) / second))
    return _unit(nats, bits)


def renyi_divergence(p: ArrayLike, q: ArrayLike, order: float, *, bits: bool = False) -> float:
    """Renyi divergence D_order(p || q) = log(sum p^order q^(1-order)) / (order - 1), in nats (or bits).

    Order 0 is -log q(p > 0), order 1 is Kullback-Leibler, order inf is log max p/q. It is inf if the supports
    are disjoint, or if q misses mass of p (order >= 1).
    """
    order = as_number(order, "The order of a Renyi divergence", "0 or more", least=0.0, infinite=True)
    first, second = _pair(p, q)
    if order == 1:
        return kl_divergence(first, second, bits=bits)
    support = first > 0
    a, b = first[support], second[support]
    if order > 1 and (b == 0).any():
        return math.inf
    with np.errstate(divide="ignore"):
        if math.isinf(order):
            return _unit(max(float(np.log(a / b).max()), 0.0), bits)
        far = float(np.abs(np.log(a) - np.log(b)).max())
        if order > 0 and abs(order - 1.0) * far <= 1.0 and math.isfinite(far):
            # Near order 1, and wherever p is near q, the logarithms below would cancel.
            a, b = first / first.sum(), second / second.sum()
            ratio, b = (a[b > 0] - b[b > 0]) / b[b > 0], b[b > 0]
            hellinger = float(b @ power_excess(ratio, order))
            return _unit(math.log1p((order - 1.0) * hellinger) / (order - 1.0), bits)
        terms = np.log(b) if order == 0 else order * np.log(a) + (1.0 - order) * np.log(b)
    top = float(terms.max())
    if math.isinf(top):
        return math.inf
    log_sum = top + math.log(float(np.exp(terms - top).sum()))
    return _unit(max(log_sum / (order - 1.0), 0.0), bits)


def f_divergence(p: ArrayLike, q: ArrayLike, f: Callable[[FloatArray], FloatArray]) -> float:
    """f-divergence sum q f(p/q) of a vectorized convex f on [0, inf) with f(1) = 0, in the unit of f.

    f(0) may be infinite. Where q = 0 < p the term is p lim f(t)/t, evaluated at t = 1e300; a slope that still
    grows with t counts as infinite.
    """
    first, second = _pair(p, q)
    both = second > 0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        value = float((second[both] * f(first[both] / second[both])).sum())
        escaped = float(first[~both].sum())
        if escaped > 0:
            far = np.array([1e150, 1e300])
            slopes = f(far) / far
            value += escaped * (float(slopes[1]) if slopes[1] - slopes[0] < 1e-9 else math.inf)
    return value


def total_variation(p: ArrayLike, q: ArrayLike) -> float:
    """Total variation distance, sum |p - q| / 2, in [0, 1]."""
    first, second = _pair(p, q)
    return float(np.abs(first - second).sum() / 2.0)
