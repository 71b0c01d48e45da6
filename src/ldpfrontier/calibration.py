"""Mechanisms at equal realized privacy: the nominal level at which a family leaks as much as is allowed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ldpfrontier.channel import Channel
from ldpfrontier.numerics.arguments import as_instance, as_number, check_callable
from ldpfrontier.optimum import MAX_EPSILON, checked_epsilon
from ldpfrontier.privacy import conditional_epsilon as measured_conditional
from ldpfrontier.privacy import ldp_epsilon
from ldpfrontier.uncertainty.renyi_ball import RenyiBall

#: What `RenyiBall.worst_case_epsilon` may lack, nats, or that share of it below 1 nat, and what rounding may:
#: both are added to be on the safe side.
ACCURACY, ROUNDING = 1e-10, 1e-14
#: Largest nominal level tried if none is named, nats: randomized response then lies with probability 2e-9.
MOST = 20.0
#: Cells into which the bracket is cut to find the last stretch of feasible levels.
CELLS = 32


@dataclass(frozen=True, eq=False)
class Calibration:
    """A member of a family of mechanisms, chosen by what it really leaks.

    Attributes
    ----------
    nominal : float
        Level in nats at which the family was asked for it.
    realized : float
        Its worst realized epsilon over the uncertainty set in nats, with 1e-10 of the smaller of it and 1,
        and 1e-14, added for rounding unless it is 0; never above the level allowed.
    channel : Channel
    conditional : float
        Its level for those who know the useful value (`privacy.conditional_epsilon`), in nats, with up to
        1e-14 taken for 0.
    """

    nominal: float
    realized: float
    channel: Channel
    conditional: float


# Longer than other functions: the search keeps its state in local variables.
def calibrated(
    family: Callable[[float], Channel],
    ball: RenyiBall,
    epsilon: float,
    *,
    most: float | None = None,
    tol: float = 1e-6,
    conditional_epsilon: float | None = None,
) -> Calibration:
    """Find the largest nominal level at which a family is really private at level epsilon over the ball.

    The guarantee of a mechanism may be loose: over F it can leak less than its nominal level. Whatever that
    guarantee is, a channel whose `RenyiBall.worst_case_epsilon` is at most epsilon is (epsilon, F)-RLDP
    (lopuhaa2024, Definition 1), so mechanisms calibrated to one epsilon are compared at equal privacy.

    The realized level need not grow with the nominal one: that of randomized response does, those of secret
    randomized response and of a split budget may fall again. The result is feasible in any case. "Largest"
    is the upper end of the last stretch of feasible levels that the search sees: the nominal level is doubled
    from epsilon on until it is infeasible twice in succession; from there down to the last feasible one (or
    0) 32 even cells are scanned; the first cell with a feasible lower end is bisected. For a family with a
    growing realized level this is the supremum, to `tol` and to the 1e-10 of the safe side. Otherwise a
    stretch within one cell may be missed, or one above two infeasible doublings, and levels below the result
    may be infeasible.

    With a second level, `conditional_epsilon`, a nominal level is feasible only if the channel also keeps S
    from those who know the useful value U, at that level. What is said above then holds for both together.

    Parameters
    ----------
    family : callable
        Takes a nominal level in nats, from 0 to `most`, and returns a channel whose inputs are the pairs
        (s, u) in row-major order.
    ball : RenyiBall
        Uncertainty set F of the distribution of (S, U).
    epsilon : float
        Realized level allowed, in nats, 0 to 300.
    most : float, optional
        Largest nominal level tried, in nats, 0 to 300, and the result if it is feasible, as for a family that
        leaks little at every level; by default 20, or epsilon if that is larger.
    tol : float
        Accuracy of the nominal level, relative to the larger of epsilon and the level (to the larger of 1
        and the level if epsilon is 0).
    conditional_epsilon : float, optional
        Level allowed of S for those who know U (`privacy.conditional_epsilon`), in nats, 0 to 300; by
        default, as for inf, there is no such demand.

    Returns
    -------
    Calibration
        Its nominal level is below epsilon if the family leaks more than it says, and just below (by `tol`)
        if it leaks exactly that.

    Raises
    ------
    ValueError
        If an argument is out of range, a channel has not one input for every pair (s, u), or no level tried
        is feasible, not even 0.
    """
    as_instance(ball, RenyiBall, "The ball")
    check_callable(family, "The family")
    epsilon = checked_epsilon(epsilon, MAX_EPSILON)
    top = max(MOST, epsilon)
    if most is not None:
        top = as_number(
            most,
            "most",
            f"a finite number, 0 or more, and at most {MAX_EPSILON:g}",
            least=0,
            most=MAX_EPSILON,
        )
    tol = as_number(tol, "tol", "a number strictly between 0 and 1")
    if not 0 < tol < 1:
        raise ValueError(f"tol is {tol}; it must lie strictly between 0 and 1.")
    limit = math.inf
    if conditional_epsilon is not None:
        limit = as_number(
            conditional_epsilon, "conditional_epsilon", "a privacy level, 0 or more", least=0.0, infinite=True
        )
        if MAX_EPSILON < limit < math.inf:
            raise ValueError(
                f"conditional_epsilon is {limit}; it must be at most {MAX_EPSILON:g} nats, or inf."
            )

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
    high, misses = min(max(epsilon, ACCURACY), top), 0
    while True:
        found = at(high)
        best, misses = (found, 0) if feasible(found) else (best, misses + 1)
        if misses == 2 or high == top:
            break
        high = min(2.0 * high, top)
    if best is found:
        return best

    for level in np.linspace(best.nominal if best else 0.0, high, CELLS + 1)[-2:0:-1].tolist():
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
    while high - best.nominal > tol * max(epsilon or 1.0, best.nominal):
        middle = 0.5 * (best.nominal + high)
        if not best.nominal < middle < high:
            break
        found = at(middle)
        if feasible(found):
            best = found
        else:
            high = middle
    return best
