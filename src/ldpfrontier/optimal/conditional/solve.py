r"""Robust mechanisms with a second level: of S for those who know the useful value u.

A mechanism that is (eps, F)-RLDP (lopuhaa2024) may give S away to one who knows u. With the conditional level
k its columns also satisfy ::

    v_{s,u} <= e^k v_{s',u}   for all u and s != s'.

That protects from everyone for whom S and U are independent given what he knows, whatever he believes of U:
if q is his distribution of U, then P(y|s) = sum_u q_u Q(y|s,u) <= e^k sum_u q_u Q(y|s',u) = e^k P(y|s'). At
k = 0 the mechanism sees u alone, and tells of s what u does, at most e^eps by (eps, F)-RLDP. At k = eps it is
still far from unconditional privacy, which compares different u as well.

Tables of few cells are solved jointly (`exact`), with a certificate. On larger ones columns are searched for
(`search`), and mechanisms that see u alone are solved jointly in their a2 variables (`public_columns`).
"""

from __future__ import annotations

import math

from ldpfrontier.channel import Channel
from ldpfrontier.mechanisms import randomized_response, secret_randomized_response
from ldpfrontier.optimal.conditional.bound import conditional_bound, public_optimum
from ldpfrontier.optimal.conditional.search import searched_mechanism
from ldpfrontier.optimal.exact.separation import Conditionals
from ldpfrontier.optimal.exact.settings import SETTINGS as EXACT
from ldpfrontier.optimal.exact.spatial_branch_and_bound import joint_optimum
from ldpfrontier.optimal.ldp.nonrobust import nonrobust_bound
from ldpfrontier.optimal.polyopt.settings import SETTINGS as POLYOPT
from ldpfrontier.optimal.polyopt.solve import allowed_level, check_class
from ldpfrontier.optimal.projections.budget_multiplier import check_level
from ldpfrontier.optimal.projections.frontier import frontier_bound
from ldpfrontier.optimal.registry import Call, choose, is_in_range
from ldpfrontier.optimum import Optimum, certified, fell_back, recorded_failure
from ldpfrontier.privacy import conditional_epsilon
from ldpfrontier.types import Pairs
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from ldpfrontier.utility import MutualInformation


def check_levels(
    channel: Channel, ball: RenyiBall, epsilon: float, level: float, envelope: Conditionals, pairs: Pairs
) -> None:
    """Check that a mechanism has both levels, the first one over the envelope.

    Raises
    ------
    ValueError
        If it does not.
    """
    conditional = conditional_epsilon(channel, ball.centre.shape)
    if conditional > allowed_level(level) + POLYOPT.level_rounding:
        raise ValueError(
            f"The start tells those who know the useful value up to {conditional:.9g} nats;"
            f" conditional_epsilon is {level:.9g}."
        )
    if envelope == "simplex":
        check_class(channel, ball.lower_bounds, epsilon, distinct=pairs == "distinct")
    else:
        check_level(channel, ball, epsilon, envelope)


def two_level_optimum(
    ball: RenyiBall,
    epsilon: float,
    level: float,
    *,
    envelope: Conditionals,
    pairs: Pairs,
    tolerance: float,
    max_rounds: int,
    max_nodes: int | None,
    start: Channel | None,
) -> Optimum:
    """Return a good mechanism with both levels, and a bound on all of them.

    Parameters
    ----------
    ball : RenyiBall
        With a positive radius and at least two sensitive values.
    epsilon, level : float
        In nats: eps > 0 over the envelope, and k >= 0 given u, finite.
    envelope, pairs, tolerance, max_rounds, max_nodes
        As in `optimal_robust`.
    start : Channel, optional
        A mechanism with both levels.
    """
    response = secret_randomized_response(len(ball.centre), ball.centre.shape[1], min(epsilon, level))
    channels, bound, rounds = [response, *([] if start is None else [start])], math.inf, 0
    nodes = EXACT.joint_nodes if max_nodes is None else max_nodes
    call = Call(
        ball.centre.size,
        ball.centre.shape[1],
        level=level,
        in_range=ball.radius < math.inf and is_in_range(ball.radius, ball.order, epsilon),
    )
    regime = choose("conditional level", call)
    # What linear programs cannot solve leaves the response and the start, with the bound of NR.
    with recorded_failure("secret randomized response or the start", ArithmeticError, RuntimeError):
        if regime.name == "response":
            fell_back("secret randomized response, as radius, level, order or size is out of range")
        elif regime.name == "joint":
            optimum = joint_optimum(
                ball,
                epsilon,
                envelope=envelope,
                pairs=pairs,
                tolerance=max(tolerance, EXACT.joint_tolerance),
                max_nodes=nodes,
                start=start,
                conditional_epsilon=level,
            )
            channels.append(optimum.channel)
            bound, rounds = optimum.upper_bound, optimum.iterations
        elif regime.name == "public":
            optimum = public_optimum(ball, epsilon, envelope, pairs, nodes)
            channels.append(optimum.channel)
            bound, rounds = optimum.upper_bound, optimum.iterations
        else:
            channel, rounds = searched_mechanism(
                ball, epsilon, level, envelope, tolerance=tolerance, max_rounds=max_rounds, start=start
            )
            channels.append(channel)
            if nodes > 0 and max_nodes is not None:
                bound = conditional_bound(ball, epsilon, level, nodes)
                bound = min(bound, frontier_bound(ball, epsilon, nodes))
    utility = MutualInformation(ball.centre)
    for channel in sorted(channels, key=utility, reverse=True):
        # Rounding may put a mechanism beyond its level.
        with recorded_failure("the next best mechanism", ValueError):
            check_levels(channel, ball, epsilon, level, envelope, pairs)
            best = channel
            break
    else:
        # Of all pairs, the secret response need not be in the class; this one is in every class.
        fell_back("randomized response of all cells, as no other mechanism is in the class")
        best = randomized_response(ball.centre.size, min(epsilon, level))
    bound = min(bound, nonrobust_bound(ball.centre, epsilon))
    return certified(best, utility(best), bound, tolerance, rounds, error=0.0, method=regime.method())
