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
the number of inputs. With everybody alone the bound is the value of randomized response.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.information import excess, relative_excess
from ldpfrontier.types import FloatArray


@dataclass(frozen=True, eq=False)
class Converse:
    """An upper bound on the mutual information of every eps-LDP mechanism, with the duals that prove it.

    Attributes
    ----------
    bound : float
        In nats.
    duals : ndarray, shape (k,)
        No staircase column has a positive reduced cost, to rounding; their sum is the bound.
    target : float
        q, or r if that is less: the probability that a set of inputs that are not alone should have.
    alone : ndarray of bool, shape (k,)
    """

    bound: float
    duals: FloatArray
    target: float
    alone: NDArray[np.bool_]


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

    def __call__(self, p: FloatArray) -> FloatArray:
        """Return m(p) of an array."""
        return np.asarray(p * self.slope_at_zero - relative_excess(self.rise * p))

    def at(self, p: float) -> float:
        """Return m(p) of one p."""
        return p * self.slope_at_zero - excess(self.rise * p)

    def slope(self, p: float) -> float:
        """Return m'(p)."""
        return self.slope_at_zero - self.rise * math.log1p(self.rise * p)

    def inverse_slope(self, slopes: FloatArray) -> FloatArray:
        """Return the p at which m has the given slopes; below 0 for slopes above m'(0)."""
        with np.errstate(over="ignore"):
            return np.asarray(
                np.expm1(np.minimum((self.slope_at_zero - slopes) / self.rise, 700.0)) / self.rise
            )


def converse(prior: FloatArray, epsilon: float) -> Converse:
    """Bound the mutual information of all eps-LDP mechanisms, in O(k log k).

    The bound of a q is the larger of A and a function that falls in A; the best q is where the A at which
    both agree, within its limits, leaves its lower one, found by bisection.

    Parameters
    ----------
    prior : ndarray, shape (k,)
    epsilon : float
        In nats, > 0.
    """
    value = ColumnValue(epsilon)
    falling = np.sort(prior)[::-1]
    total = np.append(0.0, np.cumsum(value(falling)))
    left = np.append(np.cumsum(falling[::-1])[::-1], 0.0)  # from the least on: 1 less the others loses digits

    def at(q: float) -> tuple[float, float, float, float]:
        """Return the best A, its excess over the least before it is clipped, lam and the bound."""
        alone = int(np.searchsorted(-falling, -q))
        rest, lam = float(left[alone]), value.slope(q)
        least, most = (value.at(s) - lam * s for s in (min(q, rest), q))
        equal = (lam * rest + float(total[alone])) / (value.rise + alone)
        A = min(max(equal, least), most)
        return A, equal - least, lam, max(A, (lam * rest + float(total[alone]) - alone * A) / value.rise)

    low, high = 0.0, value.slope_at_zero / value.rise**2
    while low < (middle := (low + high) / 2.0) < high:
        low, high = (middle, high) if at(middle)[1] >= 0.0 else (low, middle)
    q = min(low, high, key=lambda q: at(q)[3])
    A, _, lam, bound = at(q)
    alone = prior > q
    duals = np.where(alone, value(prior) - A, lam * prior) / value.rise
    duals = duals + max(bound - float(duals.sum()), 0.0) * prior
    return Converse(bound, duals, min(q, float(prior[~alone].sum())), alone)
