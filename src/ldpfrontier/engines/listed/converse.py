r"""A converse for mutual information: an upper bound for every prior and any number of inputs, in O(k log k).

Write t = e^eps and phi(x) = (1 + x) log(1 + x) - x. A staircase column with entries t on T and 1 off it has
the value m(P(T)), a concave function of the probability of T alone ::

    m(p) = p phi(t - 1) - phi((t - 1) p),        m(0) = 0.

**Theorem.** If A >= m(P(T)) - beta(T) for every T, every eps-LDP mechanism has
I(X;Y) <= max(A, sum(beta) / (t - 1)). Take any z in (1, t], q = (z - 1) / (t - 1) and lam = m'(q). Inputs
above q are *alone*, with beta_x = m(P_x) - A; the rest, of probability r, have beta_x = lam P_x. Let A be at
least the largest m(s) - lam s with s <= r, and at most m(q) - lam q = z - 1 - log z. Then A is large enough:

- A set of inputs of the rest has m(s) - lam s <= A.
- The set {x} of an input alone has m(P_x) - beta_x = A. Beyond P_x > q the slope of m is at most lam, so that
  no input of the rest adds to it. Nor does another alone, y: m(P_x + P_y) - m(P_x) <= m(q + P_y) - m(q) by
  concavity, at most m(P_y) - m(q) + lam q <= m(P_y) - A = beta_y, as the slope beyond P_y is at most lam.

With nobody alone, the best z = eps t / (t - 1) gives I(X;Y) <= C(eps) = z - 1 - log z, whatever the prior and
the number of inputs: the logarithm of Specht's ratio at t (docs/reproduction/kairouz2016.md). With everybody
alone the bound is the value of randomized response.

**Digits.** Nothing here is a difference of numbers much larger than itself. The value of a likely set comes
from the probability s of all others, m(1 - s) = t (s phi(1 / t - 1) - phi((1 / t - 1) s)). With x = (t - 1) s
and y = (t - 1) q, m(s) - lam s = x log(1 + (y - x) / (1 + x)) + x - log(1 + x). Only lam is a difference of
larger numbers. But every q proves a bound, and one that is larger by the rounding makes A the larger number
of the two, which does not depend on lam.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray
from ldpfrontier.model.information import excess, relative_excess
from ldpfrontier.numerics.rounding import EXCESS, UNIT_ROUNDOFF, column_value, gamma, normalization

#: The least that `brentq` takes: relative, of q.
_ROOT_TOLERANCE = 8.0 * UNIT_ROUNDOFF


@dataclass(frozen=True, eq=False)
class Converse:
    """An upper bound on the mutual information of every eps-LDP mechanism, with the duals that prove it."""

    bound: float  # in nats, raised by the error of its evaluation
    #: (k,): no staircase column has a positive reduced cost, to rounding; their sum is the bound.
    duals: FloatArray
    #: The probability that a set of inputs that are not alone should have: q, or r if that is less.
    target: float
    alone: NDArray[np.bool_]  # (k,)


@dataclass(frozen=True, eq=False)
class ColumnValue:
    """The value m(p) of a staircase column with entries e^eps and 1, by the probability p of its set."""

    epsilon: float

    @cached_property
    def rise(self) -> float:
        """e^eps - 1."""
        return math.expm1(self.epsilon)

    @cached_property
    def slope_at_zero(self) -> float:
        """m'(0)."""
        return excess(self.rise)

    def __call__(self, p: FloatArray, others: FloatArray | None = None) -> FloatArray:
        """Return m(p) of an array; with all digits beyond 1/2 if the probability of the others is given."""
        if others is None:
            return np.asarray(p * self.slope_at_zero - relative_excess(self.rise * p))
        likely = p > 0.5
        s, fall = np.where(likely, others, p), math.expm1(-self.epsilon)
        change, factor = np.where(likely, fall, self.rise), np.where(likely, math.exp(self.epsilon), 1.0)
        phi = np.where(likely, excess(fall), self.slope_at_zero)
        return np.asarray(factor * (s * phi - relative_excess(change * s)))

    def of_inputs(self, prior: FloatArray) -> FloatArray:
        """Return m(P_x) of all inputs, with all digits."""
        others = 1.0 - prior
        likeliest = int(prior.argmax())
        others[likeliest] = np.delete(prior, likeliest).sum()
        return self(prior, others)

    def per_unit(self, p: float, others: float) -> float:
        """Return m(p) / Z, Z = 1 + (e^eps - 1) p, where 1 - p is the probability of the others."""
        return float(self(np.array([p]), np.array([others]))[0]) / (1.0 + self.rise * p)

    def slope(self, p: float) -> float:
        """Return m'(p)."""
        return self.slope_at_zero - self.rise * math.log1p(self.rise * p)

    def above_tangent(self, s: float, q: float) -> float:
        """Return m(s) - m'(q) s for s <= q: at s = q, where the tangent in q meets the axis."""
        x, y = self.rise * s, self.rise * q
        return x * math.log1p((y - x) / (1.0 + x)) + (1.0 + x) * excess(-x / (1.0 + x))

    def inverse_slope(self, slopes: FloatArray) -> FloatArray:
        """Return the p at which m has the given slopes; below 0 for slopes above m'(0)."""
        with np.errstate(over="ignore"):
            return np.asarray(
                np.expm1(np.minimum((self.slope_at_zero - slopes) / self.rise, 700.0)) / self.rise
            )


class _Proof(NamedTuple):
    """What a q proves: A, lam, the bound raised by its error, and how far A is above its lower limit."""

    A: float
    lam: float
    bound: float
    above: float


def _pieces(
    value: ColumnValue, falling: FloatArray, left: FloatArray, total: FloatArray, width: float
) -> list[tuple[float, float, float]]:
    """Return the pieces of q with the same inputs alone: what each may prove, nearly, the least first.

    Within a piece A falls in q, and its limits rise: the best q is an end, or where A leaves its lower limit.
    A piece is a lower bound of what is proved, and both ends. Positive probabilities, (k,), fall; `left` and
    `total` have the sum of all but the first j of them and the values of these, and ends are moved into their
    pieces by a relative width.
    """
    alone, rise = np.arange(len(falling) + 1), value.rise
    # With nobody alone A leaves it there, at z = eps t / (t - 1).
    last = value.slope_at_zero / rise / rise
    low = np.append(falling * (1.0 + width), 0.0)
    high = np.append(max(last, low[0]), falling * (1.0 - width))
    is_piece = low <= high
    q, alone = np.stack([low, high])[:, is_piece], alone[is_piece]
    rest, number = left[alone], rise + alone
    x, y = rise * np.minimum(q, rest), rise * q
    least, most = x * np.log1p((y - x) / (1.0 + x)) + x - np.log1p(x), y - np.log1p(y)
    equal = ((value.slope_at_zero - rise * np.log1p(y)) * rest + total[alone]) / number
    # At the least levels the factor is infinite, and a piece without an estimate comes last.
    with np.errstate(over="ignore", invalid="ignore"):
        proved = np.maximum(equal, least) + np.maximum(equal - most, 0.0) * (number / rise - 1.0)
    leaves = (equal > least)[0] & (equal < least)[1]
    least_bound = np.where(leaves, np.maximum(equal[1], least[0]), proved.min(axis=0))
    order = np.argsort(least_bound, kind="stable")
    return list(zip(*(part[order].tolist() for part in (least_bound, *q)), strict=True))


def converse(prior: FloatArray, epsilon: float) -> Converse:
    """Bound the mutual information of all eps-LDP mechanisms, eps > 0 in nats, in O(k log k).

    The bound of a q is the larger of A and a function that falls in A, best where both agree, within the
    limits of A. The best q of all is looked for (`_pieces`).
    """
    value = ColumnValue(epsilon)
    order = np.argsort(-prior, kind="stable")
    falling, values = prior[order], value.of_inputs(prior)
    # Lists, as the search reads one number at a time.
    rising = (-falling).tolist()
    sums = np.append(0.0, np.cumsum(values[order]))
    # From the least on: 1 less the others loses digits.
    rests = np.append(np.cumsum(falling[::-1])[::-1], 0.0)
    total, left = sums.tolist(), rests.tolist()
    # Operations of a sum of probabilities, with the rounding of the prior, and of the two numbers around A.
    mass = len(prior) + 4.0 + 2.0 * normalization(prior) / UNIT_ROUNDOFF
    of_values, of_limits = gamma(column_value(epsilon) + mass), gamma(EXCESS + 30.0 + 2.0 * mass)
    of_slope, of_mass, of_few = gamma(EXCESS + 8.0), gamma(mass), gamma(8.0)

    def at(q: float) -> _Proof:
        # An input in doubt is not alone: the proof needs more of those that are.
        alone = bisect_left(rising, -q * (1.0 + of_mass))
        rest, lam = left[alone], value.slope(q)
        least, most = (value.above_tangent(s, q) for s in (min(q, rest), q))
        number = value.rise + alone
        equal = (lam * rest + total[alone]) / number
        error = of_slope * rest * (2.0 * value.slope_at_zero - lam) + of_values * total[alone]
        error = (error + of_mass * abs(lam) * rest) / number + of_few * abs(equal)
        bound, over = max(equal + error, least * (1.0 + of_limits)), equal + error - most * (1.0 - of_limits)
        if over > 0.0:
            bound = most * (1.0 + of_limits) + number / value.rise * (1.0 + of_few) * over
        return _Proof(min(max(equal, least), most), lam, bound, equal - least)

    best = math.inf, 0.0
    for least_bound, low, high in _pieces(value, falling[falling > 0.0], rests, sums, 4.0 * of_mass):
        if least_bound >= best[0]:
            break
        first, last = at(low), at(high)
        best = min(best, (first.bound, low), (last.bound, high))
        if first.above > 0.0 > last.above:
            from scipy.optimize import brentq

            root = brentq(lambda q: at(q).above, low, high, xtol=1e-300, rtol=_ROOT_TOLERANCE)
            best = min(best, (at(root).bound, root))
    # Some roundings beyond a root A is the larger number, which has more digits.
    near = [best[1] * (1.0 + 2.0**n * UNIT_ROUNDOFF) for n in range(5, 16)]
    q = min(best, *((at(q).bound, q) for q in near))[1]
    A, lam, bound, _ = at(q)
    alone = prior > q * (1.0 + of_mass)
    duals = np.where(alone, values - A, lam * prior) / value.rise
    duals = duals + max(bound - float(duals.sum()), 0.0) * prior
    return Converse(bound, duals, min(q, float(prior[~alone].sum())), alone)
