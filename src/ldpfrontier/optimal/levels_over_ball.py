"""Small levels over an uncertainty set, and small levels of S given U, of channels as they are stored."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ldpfrontier.channel import Channel
from ldpfrontier.numerics.rounding import gamma
from ldpfrontier.optimal.polyopt.solve import allowed_level
from ldpfrontier.optimal.settings import SETTINGS
from ldpfrontier.optimum import STORED_EPSILON, Optimum, certified
from ldpfrontier.privacy import conditional_epsilon, unconditional_epsilon
from ldpfrontier.small_levels import constant_rows, is_surely_at_most, mixed_until_private, with_stored_level
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from ldpfrontier.utility import MutualInformation


def with_stored_level_over_ball(
    optimum: Optimum, ball: RenyiBall, epsilon: float, tolerance: float, level: float = math.inf
) -> Optimum:
    """Return an optimum over an uncertainty set with a channel that has small levels as stored.

    Parameters
    ----------
    optimum, epsilon, tolerance
        As for `with_stored_level`, at any level epsilon.
    ball : RenyiBall
    level : float
        The level of S given U, in nats, 0 or more; inf is no demand.
    """
    if min(epsilon, level) >= STORED_EPSILON:
        return optimum
    a1, a2 = ball.centre.shape
    noise = 4.0 * gamma(2 * a2 + 16)
    allowed = epsilon if epsilon < STORED_EPSILON else allowed_level(epsilon)

    def keeps_level(channel: Channel) -> bool:
        return level >= STORED_EPSILON or is_surely_at_most(conditional_epsilon(channel, (a1, a2)), level)

    def is_private(channel: Channel) -> bool:
        return keeps_level(channel) and (
            is_surely_at_most(unconditional_epsilon(channel, (a1, a2)), allowed)
            or ball.worst_case_epsilon(channel) * (1.0 + SETTINGS.level_accuracy) + noise <= allowed
        )

    channel, utility = optimum.channel, MutualInformation(ball.centre)
    if level < STORED_EPSILON:
        # The mean over s, which tells nothing of S given U.
        total = ball.centre.sum(axis=0)
        share = np.divide(ball.centre, total, out=np.full((a1, a2), 1.0 / a1), where=total > 0)
        mean = np.einsum("su,suy->uy", share, channel.matrix.reshape(a1, a2, -1))
        mean /= mean.sum(axis=1, keepdims=True)
        channel = mixed_until_private(channel, np.tile(mean, (a1, 1)), level, keeps_level)
    found = replace(optimum, channel=channel)
    if epsilon >= STORED_EPSILON:
        channel = mixed_until_private(channel, constant_rows(channel, utility.prior), epsilon, is_private)
        value = utility(channel)
        found = certified(channel, value, optimum.bound, tolerance, optimum.iterations, error=0.0)
        return replace(found, method=optimum.method)
    return with_stored_level(found, utility, epsilon, tolerance, is_private)
