r"""Robust mechanisms for degenerate inputs, where general solvers lose their digits, with bounds that hold.

**Tiny levels.** Let A_s(v) and B_s(v) be the largest and the least mean of a column v over the simplex of s,
as in `polyopt.solve`, and k = 1 for all pairs, 2 for distinct ones. Write v = 1 + d with P . d = 0. Then
A_s(v) <= e^eps B_s'(v) implies e^(-k eps) <= B_s(v) <= A_s(v) <= e^(k eps), and A_s(d) - B_s(d) is
(1 - S_s) (max d_s - min d_s), so that |d| <= r(eps), see `_largest_deviation`. For eps < eps_0 this has two
consequences:

- 1 + c d with c = min (e^eps - 1) / (A_s(d) - e^eps B_s'(d)) is in the class of eps if 1 + d is in some
  class: mixing all columns with the constant one scales a mechanism of eps_0 down to eps.
- From eps up to eps_0, d may be multiplied by m = (e^eps_0 - 1) / (e^eps - 1 + (e^eps_0 - e^eps)
  (1 - e^(-k eps))) >= 1, as long as m r < 1. The value of a column is sum P phi(d), phi'' = 1/(1 + d), so it
  grows by at least m^2 (1 - m r) / (1 + m r), which bounds the optimum of eps by that of eps_0.

**Where an LP fails**, as its entries span more than 1e12, the best mechanism that is known to be in the class
is taken, and the bound is that of `optimal_nonrobust`, which holds for every robust mechanism.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from ldpfrontier.channel import Channel
from ldpfrontier.mechanisms import randomized_response, secret_randomized_response
from ldpfrontier.numerics.deadline import check_time
from ldpfrontier.optimal.ldp.nonrobust import nonrobust_bound
from ldpfrontier.optimal.settings import SETTINGS
from ldpfrontier.optimum import Optimum, certified, fell_back, one_line
from ldpfrontier.types import FloatArray, Intractable
from ldpfrontier.utility import MutualInformation


def solve_or_none(
    solve: Callable[[], Optimum], check: Callable[[Channel], None], name: str
) -> Optimum | None:
    """Return an optimum whose mechanism passes a check, or None if rounding defeats the solver.

    The arguments have been checked before, so an error on the way is the solver's own: rows that do not sum
    to 1, a basis that is singular, a value above its bound, a level above epsilon; or the time is up. It is
    recorded as the reason of a fallback from what is called `name`.
    """
    try:
        check_time()
        with np.errstate(all="ignore"):
            optimum = solve()
        check(optimum.channel)
    except Intractable:
        raise
    except (ArithmeticError, RuntimeError, ValueError) as error:
        fell_back(f"{name} failed: {one_line(error)}")
        return None
    return optimum


def perturbed_bounds(lower: FloatArray, sign: int) -> FloatArray | None:
    """Perturb the largest lower bound of every s with 1 - S_s close to 0; None if there is no such s.

    Parameters
    ----------
    lower : ndarray, shape (a1, a2)
        L_{u|s}.
    sign : {-1, 1}
        Down, for a smaller class of mechanisms; up, for a larger one.
    """
    rest = 1.0 - lower.sum(axis=1)
    rows = np.flatnonzero(rest < SETTINGS.least_rest)
    if rows.size == 0 or lower.shape[1] == 1:
        return None
    shifted = lower.copy()
    step = SETTINGS.bound_step
    shifted[rows, lower[rows].argmax(axis=1)] += sign * np.minimum(
        step, np.maximum(rest[rows], 0.0) / 2 + step * (sign < 0)
    )
    return shifted


def best_fallback(
    centre: FloatArray,
    epsilon: float,
    channels: Iterable[Channel],
    *,
    distinct: bool,
    tolerance: float,
    bound: float = math.inf,
) -> Optimum:
    """Return the best of given robust mechanisms and the closed forms, with the bound of NR.

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
        bound = min(bound, nonrobust_bound(centre, epsilon))
    return certified(best, utility(best), bound, tolerance, noise=SETTINGS.bound_noise)


def scaled_down(
    fine: Optimum, centre: FloatArray, lower: FloatArray, epsilon: float, *, distinct: bool
) -> tuple[Channel, float]:
    """Scale an optimum of the level `scaling_epsilon` down to epsilon: a mechanism of its class, and a bound.

    Parameters
    ----------
    fine : Optimum
        At the level `scaling_epsilon`; its bound is one on the class.
    centre, lower : ndarray, shape (a1, a2)
        P-hat and L_{u|s}.
    epsilon : float
        In nats, between 0 and `scaling_epsilon`.
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
    top = SETTINGS.scaling_epsilon
    factor = math.expm1(top) / (
        math.expm1(epsilon) - math.exp(epsilon) * math.expm1(top - epsilon) * math.expm1(-k * epsilon)
    )
    deviation = factor * _largest_deviation(lower, epsilon, k)
    # Absolute rounding of the bound at the level above is relative here.
    bound = fine.upper_bound + SETTINGS.bound_noise
    if deviation < 1.0:
        # Twice, as the square may overflow; up by the least number, as the result may be below all others.
        bound = bound * (1.0 + deviation) / (1.0 - deviation) / factor / factor + math.ulp(0.0)
    return channel, bound


def _largest_deviation(lower: FloatArray, epsilon: float, k: int) -> float:
    """Return r(eps), a bound on |d| of a column 1 + d: from A_s or B_s by at most max d_s - min d_s."""
    rest = float((1.0 - lower.sum(axis=1)).min())
    return math.expm1(k * epsilon) + 2.0 * math.sinh(k * epsilon) / rest if rest > 0 else math.inf
