r"""The mechanism whose least information over F is largest: robust in its utility, too (statement 19).

F says what the true distribution may be, and privacy holds over all of it. Sought is ::

    max over mechanisms of min over P in F of I_P(S, U; Y).

Extreme columns suffice for all P at once, so that the least of finitely many members is one program
(`engines.column_generation.several`), and a bound. Members at which its mechanism tells least are added,
until the bound is near what that mechanism is proved to tell over F (`engines.over_set.least_information`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.engines.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.engines.column_generation.several import least_of
from ldpfrontier.engines.joint.separation import Oracle
from ldpfrontier.engines.joint.settings import SETTINGS as JOINT
from ldpfrontier.engines.joint.spatial_branch_and_bound import JointColumns, solve_jointly
from ldpfrontier.engines.over_set.least_information import LeastInformation
from ldpfrontier.engines.registry import LIMITS, choose, is_in_range
from ldpfrontier.model.average_utility import AverageInformation, AverageUtility
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.cones import check_inside, polyopt_cone
from ldpfrontier.model.optimum import NO_ERROR, Optimum, certified, uninformative
from ldpfrontier.model.utility import MutualInformation, SublinearUtility
from ldpfrontier.numerics.arguments import as_instance, as_number
from ldpfrontier.numerics.deadline import time_is_up
from ldpfrontier.promises.listed_rays import listed_optimum, listed_rays
from ldpfrontier.promises.settings import SETTINGS
from ldpfrontier.uncertainty.renyi_ball import RenyiBall


def least_robust(
    ball: RenyiBall, epsilon: float, tolerance: float, exact: bool, rounds: int, max_nodes: int | None
) -> Optimum:
    """Return the mechanism with the largest least information, as `optimal_robust`."""
    private = "private over F" if exact else "private over the simplices of PolyOpt"
    cells, closed = ball.centre.size, choose("closed form").method(f"mechanisms {private}")
    if epsilon == 0.0 and (not exact or len(ball.centre) > 1):
        return uninformative(cells, method=closed)
    tolerance = max(tolerance, SETTINGS.least_tolerances[exact])
    if exact and len(ball.centre) == 1:  # nothing to hide, and a channel tells no more than its input
        channel = Channel(np.eye(cells))
        known = LeastInformation(ball).least(channel, 0.5 * tolerance * math.log(cells))
        return certified(channel, known.bound, known.value, tolerance, error=NO_ERROR, method=closed)
    if exact:
        solver = _over_set(ball, epsilon, tolerance, max_nodes)
    else:
        solver = _over_simplices(ball, epsilon, tolerance)
    found = _saddle(ball, solver, tolerance, min(rounds, SETTINGS.least_rounds))
    return replace(found, method=choose("least over F").method(f"mechanisms {private}"))


@dataclass(frozen=True, eq=False)
class _Solver:
    """How the optimum of one utility is found, and what undoes the rounding of a channel."""

    solve: Callable[[SublinearUtility], Optimum]
    allowed: Callable[[Channel], Channel]


def _over_simplices(ball: RenyiBall, epsilon: float, tolerance: float) -> _Solver:
    cone = polyopt_cone(ball.lower_bounds, epsilon)
    rays = listed_rays(cone)
    if rays is None:
        raise Intractable(
            f"The table has {ball.centre.shape[0]} x {ball.centre.shape[1]} cells; for the least information"
            f" over F all extreme columns are listed, for up to {LIMITS.max_ray_inputs} cells and"
            f" {LIMITS.max_rays:,} columns."
        )

    def solve(utility: SublinearUtility) -> Optimum:
        found = listed_optimum(utility, cone, GENERATION.inner_share * tolerance, rays)
        assert found is not None
        return found

    return _Solver(solve, cone.mix_inside)


def _over_set(ball: RenyiBall, epsilon: float, tolerance: float, max_nodes: int | None) -> _Solver:
    if ball.centre.size > LIMITS.max_joint_cells or not is_in_range(ball.radius, ball.order, epsilon):
        raise Intractable(
            f"The table has {ball.centre.size} cells; over F itself the least information is found for up to"
            f" {LIMITS.max_joint_cells}, at radius from {LIMITS.least_radius:g}, level from"
            f" {LIMITS.epsilons[0]:g} to {LIMITS.epsilons[1]:g} and order from {LIMITS.orders[0]:g} to"
            f" {LIMITS.orders[1]:g}."
        )
    each = max(GENERATION.inner_share * tolerance, JOINT.joint_tolerance)
    cone, nodes = Oracle(ball, epsilon), JOINT.joint_nodes if max_nodes is None else max_nodes

    def solve(utility: SublinearUtility) -> Optimum:
        if isinstance(utility, AverageUtility):
            utility = AverageInformation(utility.utilities, utility.weights)
        return solve_jointly(JointColumns(cone, utility, nodes), each, GENERATION.usual_rounds)

    def allowed(channel: Channel) -> Channel:
        check_inside(cone, channel)
        return channel

    return _Solver(solve, allowed)


def _saddle(ball: RenyiBall, solver: _Solver, tolerance: float, rounds: int) -> Optimum:
    """Return the best mechanism, with the least information that is proved and the least bound of members."""
    over_set, singles = LeastInformation(ball), dict[int, Optimum]()

    def solve(utility: SublinearUtility) -> Optimum:
        if not isinstance(utility, MutualInformation):
            return solver.solve(utility)
        if id(utility) not in singles:  # the pool keeps the utility
            singles[id(utility)] = solver.solve(utility)
        return singles[id(utility)]

    pool, share, done = [MutualInformation(ball.centre)], GENERATION.inner_share * tolerance, 0
    channel, told, bound = Channel(np.ones((ball.centre.size, 1))), -math.inf, math.inf
    while done < rounds:
        done += 1
        found = least_of(pool, solve, solver.allowed, tolerance=share, max_rounds=rounds)
        bound = min(bound, found.bound)
        seen = over_set.least(found.channel, math.inf)  # without a proof
        if seen.value > told:
            channel, told = found.channel, seen.value
        new = [p for p in seen.members if _is_new(p, pool)][: SETTINGS.least_members]
        close = bound - told <= 0.5 * tolerance * bound or seen.value >= found.value - 0.1 * share * bound
        if close or not new or time_is_up():
            break
        pool += [MutualInformation(p) for p in new]
    value = over_set.least(channel, 0.5 * tolerance * bound).bound
    return certified(channel, value, bound, tolerance, done, error=NO_ERROR)


def _is_new(member: FloatArray, pool: list[MutualInformation]) -> bool:
    """Return whether a member of F differs from those of the pool by more than rounding."""
    return all(np.abs(member - known.prior).max() > 1e-9 for known in pool)


def least_information(ball: RenyiBall, channel: Channel, *, tolerance: float = 1e-4) -> tuple[float, float]:
    """Bound the least I(S, U; Y) of a mechanism over an uncertainty set, from both sides.

    Parameters
    ----------
    ball : RenyiBall
    channel : Channel
        Its inputs are the pairs (s, u) in row-major order.
    tolerance : float
        Gap at which to stop, as a share of the information under the centre; 0 or more. From about 8 cells
        on the gap may stay larger.

    Returns
    -------
    tuple of two floats
        In nats: what all members of the set have at least, and what one of them has.

    Raises
    ------
    ValueError
        If an argument is of another kind or out of range, or the channel has another number of inputs.

    Examples
    --------
    >>> from ldpfrontier import RenyiBall, least_information, randomized_response
    >>> ball = RenyiBall.confidence([[30, 20], [10, 40]])
    >>> least, most = least_information(ball, randomized_response(4, 1.0))
    >>> least <= most
    True
    """
    as_instance(ball, RenyiBall, "The ball")
    as_instance(channel, Channel, "The channel")
    gap = as_number(tolerance, "tolerance", "a relative gap, 0 or more", least=0.0)
    if channel.n_inputs != ball.centre.size:
        raise ValueError(
            f"The channel has {channel.n_inputs} inputs; the ball is over {ball.centre.size} pairs."
        )
    found = LeastInformation(ball).least(channel, gap * MutualInformation(ball.centre)(channel))
    return found.bound, found.value
