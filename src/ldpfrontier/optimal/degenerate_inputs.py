r"""Robust mechanisms where general solvers lose their digits, with bounds that hold there too.

**Tiny levels.** Write a column as 1 + d with P . d = 0, and A_s, B_s as in `polyopt`; k is 1 for all pairs, 2
for distinct ones. A_s(v) <= e^eps B_s'(v) implies e^(-k eps) <= B_s(v) <= A_s(v) <= e^(k eps), and
A_s(d) - B_s(d) = (1 - S_s) (max d_s - min d_s), so that |d| <= r(eps), see `_reach`. For eps < eps_0 this has
two consequences:

- 1 + c d with c = min (e^eps - 1) / (A_s(d) - e^eps B_s'(d)) is in the class of eps if 1 + d is in some
  class: mixing all columns with the constant one scales a mechanism of eps_0 down to eps.
- From eps up to eps_0, d may be multiplied by m = (e^eps_0 - 1) / (e^eps - 1 + (e^eps_0 - e^eps)
  (1 - e^(-k eps))) >= 1, as long as m r < 1. The value of a column is sum P phi(d), phi'' = 1/(1 + d), so it
  grows by at least m^2 (1 - m r) / (1 + m r), which bounds the optimum of eps by that of eps_0.

**Where an LP fails.** Entries that span more than 1e12 defeat it. Then the best mechanism that is known to
be in the class is taken, and the bound is that of `optimal_nonrobust`, which holds for every robust one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from ldpfrontier.channel import Channel
from ldpfrontier.mechanisms import randomized_response, secret_randomized_response
from ldpfrontier.optimal.ldp.nonrobust import optimal_nonrobust
from ldpfrontier.optimum import Optimum, certified
from ldpfrontier.types import FloatArray, Intractable
from ldpfrontier.utility import MutualInformation

#: Below this level, nats, mechanisms and bounds are scaled from it: there, 1e-6 of the utility cancels.
FINE = 1e-4

#: Absolute rounding of bounds that are sums of prices, nats.
NOISE = 4e-15

#: Where 1 - S, what is not known of a group, is less than this, it is known too badly to be relied on: lower
#: bounds are then lowered by so much for the mechanism, and raised for the bound.
UNKNOWN, STEP = 1e-7, 1e-15

#: Least cells of the distributions for which an LP is tried again after it has failed.
MENDED = (1e-8, 1e-5)


def guarded(solve: Callable[[], Optimum], check: Callable[[Channel], None]) -> Optimum | None:
    """Solve and check the mechanism; None where the numbers are too far apart for it.

    The arguments have been checked before, so whatever is refused on the way is the solver's own work: rows
    that do not sum to 1, a basis that is singular, a value above its bound, a level above epsilon.
    """
    try:
        with np.errstate(all="ignore"):
            found = solve()
        check(found.channel)
    except Intractable:
        raise
    except (ArithmeticError, RuntimeError, ValueError):
        return None
    return found


def moved(lower: FloatArray, way: int) -> FloatArray | None:
    """Move the largest lower bound of every group that is nearly known by a step; None if there is none.

    Parameters
    ----------
    lower : ndarray, shape (a1, a2)
    way : {-1, 1}
        Down, for a smaller class; up, for a larger one.
    """
    rest = 1.0 - lower.sum(axis=1)
    rows = np.flatnonzero(rest < UNKNOWN)
    if rows.size == 0 or lower.shape[1] == 1:
        return None
    shifted = lower.copy()
    shifted[rows, lower[rows].argmax(axis=1)] += way * np.minimum(
        STEP, np.maximum(rest[rows], 0.0) / 2 + STEP * (way < 0)
    )
    return shifted


def best_known(
    centre: FloatArray,
    epsilon: float,
    channels: Iterable[Channel],
    *,
    distinct: bool,
    tolerance: float,
    bound: float = math.inf,
) -> Optimum:
    """Return the best of some robust mechanisms and the closed forms, with a bound on every one.

    Parameters
    ----------
    centre : ndarray, shape (a1, a2)
    epsilon : float
        In nats, > 0.
    channels : iterable of Channel
        Mechanisms of the class.
    distinct : bool
        Whether secret randomized response is in the class.
    tolerance : float
    bound : float
        Another bound on the class, in nats.
    """
    a1, a2 = centre.shape
    every = [*channels, randomized_response(a1 * a2, epsilon)]
    if distinct:
        every.append(secret_randomized_response(a1, a2, epsilon))
    utility = MutualInformation(centre)
    best = max(every, key=utility)
    with np.errstate(all="ignore"):
        bound = min(bound, optimal_nonrobust(centre, epsilon).upper_bound)
    return certified(best, utility(best), bound, tolerance, noise=NOISE)


def mended(centre: FloatArray, floor: float) -> FloatArray:
    """Raise the positive cells of a distribution to a least size."""
    raised = np.where(centre > 0, np.maximum(centre, floor), 0.0)
    return np.asarray(raised / raised.sum())


def scaled_down(
    fine: Optimum, centre: FloatArray, lower: FloatArray, epsilon: float, *, distinct: bool
) -> tuple[Channel, float]:
    """Scale an optimum of the level `FINE` down: a mechanism of the same class at epsilon, and a bound.

    Parameters
    ----------
    fine : Optimum
        At the level `FINE`; its bound is one on the class.
    centre, lower : ndarray, shape (a1, a2)
        P-hat and L_{u|s}.
    epsilon : float
        In nats, between 0 and `FINE`.
    distinct : bool
        Whether pairs s != s' only are compared.
    """
    Q = fine.channel.matrix
    marginal = centre.ravel() @ Q
    Q, marginal = Q[:, marginal > 0], marginal[marginal > 0]
    d = (Q / marginal - 1.0).reshape(*lower.shape, -1)
    rest = np.maximum(1.0 - lower.sum(axis=1), 0.0)[:, None]
    mean = np.einsum("su,suy->sy", lower, d)
    A, B = rest * d.max(axis=1) + mean, rest * d.min(axis=1) + mean
    # The pair that is least private: the largest A with the least B, of another value if pairs are distinct.
    excess = A[:, None] - math.exp(epsilon) * B[None]
    if distinct:
        excess[np.diag_indices(len(lower))] = -np.inf
    worst = float(excess.max())
    share = min(math.expm1(epsilon) / worst, 1.0) if worst > 0 else 1.0
    channel = Channel(marginal * (1.0 + share * d.reshape(len(Q), -1)))
    k = 2 if distinct else 1
    up = math.expm1(FINE) / (
        math.expm1(epsilon) - math.exp(epsilon) * math.expm1(FINE - epsilon) * math.expm1(-k * epsilon)
    )
    reach = up * _reach(lower, epsilon, k)
    # What cancels in the bound of the fine level, too, is relative here.
    bound = fine.upper_bound + NOISE
    if reach < 1.0:
        bound *= (1.0 + reach) / (1.0 - reach) / up**2
    return channel, bound


def _reach(lower: FloatArray, epsilon: float, k: int) -> float:
    """Largest |d| of a column 1 + d of the class: from some A_s or B_s by at most the width of d_s."""
    rest = float((1.0 - lower.sum(axis=1)).min())
    return math.expm1(k * epsilon) + 2.0 * math.sinh(k * epsilon) / rest if rest > 0 else math.inf
