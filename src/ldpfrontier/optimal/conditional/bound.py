r"""A bound on robust mechanisms with a conditional level, from their information on U and on S given U.

By the chain rule I(S, U; Y) = I(U; Y) + I(S; Y | U). A mechanism with the conditional level k is k-LDP for
S given any u, so that I(S; Y | U) <= sum_u P(u) OPT_LDP(P_{S|u}, k) (kairouz2016). And I(U; Y) is the utility
of the averages of its columns, whose cone has few variables (`public_columns`).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ldpfrontier.channel import Channel
from ldpfrontier.numerics.rounding import gamma
from ldpfrontier.optimal.conditional.public_columns import PublicOracle
from ldpfrontier.optimal.conditional.settings import SETTINGS
from ldpfrontier.optimal.exact.separation import Conditionals
from ldpfrontier.optimal.exact.settings import SETTINGS as EXACT
from ldpfrontier.optimal.exact.spatial_branch_and_bound import JointColumns, solve_jointly
from ldpfrontier.optimal.ldp.solve import optimal_ldp
from ldpfrontier.optimal.registry import LIMITS
from ldpfrontier.optimum import Optimum
from ldpfrontier.types import FloatArray, Pairs
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from ldpfrontier.utility import MutualInformation


def conditional_bound(ball: RenyiBall, epsilon: float, conditional_epsilon: float, max_nodes: int) -> float:
    """Return an upper bound on the utility of all mechanisms with both levels; inf where none is looked for.

    Parameters
    ----------
    ball : RenyiBall
    epsilon, conditional_epsilon : float
        Levels in nats, > 0 and >= 0.
    max_nodes : int
        Most nodes per pricing of the averages.
    """
    level, many = conditional_epsilon, ball.centre.shape[1] > LIMITS.max_joint_cells
    if many or level > SETTINGS.max_bounded_level:
        return math.inf
    cone = PublicOracle(ball, epsilon, conditional_epsilon=level)
    family = JointColumns(cone, MutualInformation(cone.prior), max_nodes)
    averages = solve_jointly(family, SETTINGS.public_tolerance, EXACT.joint_rounds)
    return (averages.upper_bound + sensitive_bound(ball.centre, level)) * (
        1.0 + gamma(2 * ball.centre.size + 16)
    )


def sensitive_bound(prior: FloatArray, level: float) -> float:
    """Return an upper bound on I(S; Y | U) under a prior, (a1, a2), at a conditional level, in nats."""
    if level == 0.0:
        return 0.0
    bounds = [
        p * optimal_ldp(MutualInformation(column / p), level).upper_bound
        for p, column in zip(prior.sum(axis=0), prior.T, strict=True)
        if p > 0.0
    ]
    return math.fsum(bounds)


def public_optimum(
    ball: RenyiBall, epsilon: float, envelope: Conditionals, pairs: Pairs, max_nodes: int
) -> Optimum:
    """Return the best mechanism that sees u alone, with a bound: the conditional level 0.

    Arguments are those of `Oracle` and `JointColumns`; the channel has an input for every pair (s, u).
    """
    cone = PublicOracle(ball, epsilon, envelope, pairs, 0.0)
    family = JointColumns(cone, MutualInformation(cone.prior), max_nodes)
    found = solve_jointly(family, SETTINGS.public_tolerance, EXACT.joint_rounds)
    channel = Channel(np.tile(found.channel.matrix, (len(ball.centre), 1)))
    return replace(found, channel=channel)
