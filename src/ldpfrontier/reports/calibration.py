"""Calibration of mechanisms: the largest nominal level whose realized level is still the allowed one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ldpfrontier.model.channel import Channel
from ldpfrontier.model.optimum import (
    LEAST_EPSILON,
    UNKNOWN,
    Method,
    checked_epsilon,
    keeps_time_limit,
    records_fallbacks,
)
from ldpfrontier.model.privacy import conditional_epsilon as measured_conditional
from ldpfrontier.model.privacy import ldp_epsilon
from ldpfrontier.numerics.arguments import as_instance, as_number, check_callable
from ldpfrontier.numerics.deadline import time_is_up
from ldpfrontier.uncertainty.renyi_ball import RenyiBall

#: What `RenyiBall.worst_case_epsilon` may lack, nats, or that share of it below 1 nat, and what rounding may:
#: both are added to be on the safe side.
ACCURACY, ROUNDING = 1e-10, 1e-14
#: Largest nominal level tried if none is named, nats: randomized response then lies with probability 2e-9.
MOST = 20.0
#: Cells into which the bracket is cut to find the last stretch of feasible levels. A shorter one may be
#: missed, which costs utility and never privacy; every cell is a call of the family.
CELLS = 32


@dataclass(frozen=True, eq=False)
class Calibration:
    """A member of a family of mechanisms, chosen by the level that it really reaches.

    Attributes
    ----------
    nominal : float
        The nominal level at which the family made the channel, in nats.
    realized : float
        The largest realized level over the uncertainty set, in nats. Unless it is 0, it is rounded up by
        1e-10 times the smaller of itself and 1, plus 1e-14. It never exceeds the level that is allowed.
    channel : Channel
    conditional : float
        The level for people who know the useful value (`privacy.conditional_epsilon`), in nats; values of
        up to 1e-14 are treated as 0.
    method : Method
        Its fallbacks say if the time limit ended the search.
    """

    nominal: float
    realized: float
    channel: Channel
    conditional: float
    method: Method = UNKNOWN


# Longer than other functions: the search keeps its state in local variables.
@records_fallbacks
@keeps_time_limit
def calibrated(
    family: Callable[[float], Channel],
    ball: RenyiBall,
    epsilon: float,
    *,
    most: float | None = None,
    tol: float = 1e-6,
    conditional_epsilon: float | None = None,
    max_seconds: float | None = None,
) -> Calibration:
    """Find the largest nominal level at which the realized level over the ball is at most epsilon.

    The guarantee of a mechanism may be loose: over F, its level can be lower than its nominal level. A
    channel whose `RenyiBall.worst_case_epsilon` is at most epsilon is (epsilon, F)-RLDP (lopuhaa2024,
    Definition 1), whatever its nominal level. Mechanisms that are calibrated to the same epsilon are
    therefore compared at equal privacy.

    The realized level does not always grow with the nominal level: it does for randomized response, but for
    secret randomized response and for two separate reports it may decrease again. The result satisfies the
    condition in any case. The search doubles the nominal level, starting from epsilon, until it violates
    the condition twice in succession. It then scans 32 equal cells, from there down to the last level that
    satisfied the condition (or to 0), and bisects the first cell whose lower end satisfies it. If the
    realized level of the family grows, the result is the supremum, up to `tol` and a safety margin of
    1e-10. Otherwise the search may miss feasible levels within one cell, or above two infeasible doublings,
    and some levels below the result may violate the condition.

    With `conditional_epsilon`, a nominal level satisfies the condition only if the channel also protects S,
    at that level, from people who know the useful value U.

    Parameters
    ----------
    family : callable
        A function of the nominal level in nats, from 0 to `most`, that returns a channel whose inputs are
        the pairs (s, u) in row-major order.
    ball : RenyiBall
        Uncertainty set F of the distribution of (S, U).
    epsilon : float
        The largest realized level that is allowed, in nats, 0, or 0.001 to 300.
    most : float, optional
        The largest nominal level to try, in nats, 0, or 0.001 to 300. It is the result if it satisfies the
        condition, as happens for a family whose realized level is always low. The default is 20, or epsilon
        if that is larger.
    tol : float
        Accuracy of the nominal level, relative to the larger of epsilon and the level (to the larger of 1
        and the level if epsilon is 0).
    conditional_epsilon : float, optional
        The largest level of S that is allowed for people who know U (`privacy.conditional_epsilon`), in
        nats, 0, or 0.001 to 300. By default, as for inf, this level is not limited.
    max_seconds : float, optional
        Seconds after which no further level is tried; 0 or more. The best of those tried is the result, and 0
        is tried if none satisfied the condition.

    Returns
    -------
    Calibration
        Its nominal level is below epsilon if the family exceeds its nominal levels, and just below epsilon
        (by `tol`) if it reaches them exactly.

    Raises
    ------
    ValueError
        If an argument is out of range, a channel has not one input for every pair (s, u), or no level tried
        is feasible, not even 0.
    """
    as_instance(ball, RenyiBall, "The ball")
    check_callable(family, "The family")
    epsilon = checked_epsilon(epsilon)
    top = max(MOST, epsilon)
    if most is not None:
        top = checked_epsilon(most, name="most")
    tol = as_number(tol, "tol", "a number strictly between 0 and 1")
    if not 0 < tol < 1:
        raise ValueError(f"tol is {tol}; it must lie strictly between 0 and 1.")
    limit = math.inf
    if conditional_epsilon is not None:
        number = "a privacy level, 0 or more"
        limit = as_number(conditional_epsilon, "conditional_epsilon", number, least=0.0, infinite=True)
    if limit < math.inf:
        limit = checked_epsilon(limit, name="conditional_epsilon")

    def at(nominal: float) -> Calibration:
        channel = family(nominal)
        as_instance(channel, Channel, "What the family returns")
        worst = ball.worst_case_epsilon(channel)
        # Two upper bounds that are exact where nothing is told, of anything or of S.
        silent = worst <= ACCURACY and 0.0 in (ldp_epsilon(channel), ball.projected_epsilon(channel))
        realized = 0.0 if silent else worst + ACCURACY * min(1.0, worst) + ROUNDING
        conditional = measured_conditional(channel, ball.centre.shape)
        return Calibration(nominal, realized, channel, 0.0 if conditional <= ROUNDING else conditional)

    def feasible(found: Calibration) -> bool:
        return found.realized <= epsilon and found.conditional <= limit

    best: Calibration | None = None
    high, misses = min(max(epsilon, LEAST_EPSILON), top), 0
    while True:
        found = at(high)
        best, misses = (found, 0) if feasible(found) else (best, misses + 1)
        if misses == 2 or high == top or time_is_up():
            break
        high = min(2.0 * high, top)
    if best is found:
        return best

    for level in np.linspace(best.nominal if best else 0.0, high, CELLS + 1)[-2:0:-1].tolist():
        if time_is_up() or level < LEAST_EPSILON:
            break
        found = at(level)
        if feasible(found):
            best = found
            break
        high = level
    best = best or at(0.0)
    if not feasible(best):
        to = "" if best.realized > epsilon else " to those who know the useful value"
        leak, allowed = (best.conditional, limit) if to else (best.realized, epsilon)
        raise ValueError(
            f"The family leaks {leak:.6g} nats{to} at the nominal level 0, and more than the"
            f" {allowed:g} allowed at every level tried; a family that tells nothing at 0 can be calibrated."
        )
    while high - best.nominal > tol * max(epsilon or 1.0, best.nominal) and not time_is_up():
        middle = max(0.5 * (best.nominal + high), LEAST_EPSILON)
        if not best.nominal < middle < high:
            break
        found = at(middle)
        if feasible(found):
            best = found
        else:
            high = middle
    return best
