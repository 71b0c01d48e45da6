r"""Mechanisms private over the uncertainty set itself, by a multiplier for the budget that its groups share.

Of an output, F allows a group to be far from its estimate as long as no other one is. Let x be the share of
the budget that R in F_{U|s} needs, nu >= 0 a multiplier, and ::

    A_s(v) = max of R . v_s - nu x,      B_s(v) = min of R . v_s + nu e^-eps x      over R in F_{U|s}.

A column with A_s(v) + nu <= e^eps B_s'(v) is private over F: where F allows R and R' together, x + x' <= 1,
and ::

    R . v_s <= A_s + nu x <= e^eps B_s' - nu x' <= e^eps R' . v_s'.

By the duality of convex programs every private column has such multipliers, one for each pair (s, s'), from
order 1/2 on. Columns with one multiplier for all pairs are products of bodies again (`over_set.ball_family`);
at nu = 0 they are those of the projections. Several multipliers take part in one decomposition: the larger
the set and the smaller epsilon, the larger are those that count.
"""

from __future__ import annotations

import math

from ldpfrontier.engines.over_set.ball_family import BallFamily, FamilyUnion
from ldpfrontier.engines.products.product_optimum import allowed_level
from ldpfrontier.engines.projections.projection_class import mechanism_without_bound
from ldpfrontier.engines.projections.settings import SETTINGS
from ldpfrontier.engines.registry import LIMITS
from ldpfrontier.model.channel import Channel
from ldpfrontier.numerics.deadline import time_is_up
from ldpfrontier.uncertainty.renyi_ball import RenyiBall


def multiplier_families(ball: RenyiBall, epsilon: float, most: int = SETTINGS.multipliers) -> FamilyUnion:
    """Return the products of bodies at multipliers of the budget, each half of the one before, and at 0."""
    letters = int((ball.centre > 0).sum(axis=1).max())
    # Of many letters all pairs only, and one multiplier less: there these add little and take long.
    long = len(ball.centre) * 2**letters > LIMITS.max_kept_vertices
    # Up to 2 nats the largest one is the best to leading order (docs/beyond/theorems.md, 8); then it falls.
    largest = 0.5 * min(2.0 / epsilon, 1.0) ** 0.75
    multipliers = [largest * 0.5**n for n in range(max(most - 1, 1) if long else most)]
    # Last, the columns that are private over the projections.
    return FamilyUnion(
        [BallFamily(ball, epsilon, distinct=not long, budget_multiplier=own) for own in (*multipliers, 0.0)]
    )


def shared_budget_mechanism(
    ball: RenyiBall,
    epsilon: float,
    *,
    tolerance: float,
    max_rounds: int,
    start: Channel | None = None,
) -> tuple[Channel, int] | None:
    """Return a good mechanism private over F, of columns with one multiplier for all pairs, and the rounds.

    The radius is above 0, and there are at least two sensitive values; tolerance and rounds are those of
    `generate`, for the joint columns, and the columns of a start are used, too. It is None below order 1/2 or
    without a finite radius, where multipliers mean nothing, and where linear programs fail, the columns are
    beyond the level, or the time is up.
    """
    # Order of the divergence from which on k(D) is convex, so that multipliers are those of the duality.
    if ball.order < 0.5 or ball.radius == math.inf or time_is_up():
        return None
    for most in (SETTINGS.multipliers, 1):
        family = multiplier_families(ball, epsilon, most)
        try:
            found = mechanism_without_bound(family, tolerance=tolerance, max_rounds=max_rounds, start=start)
        except RuntimeError:  # HiGHS gives up some programs, fewer at one multiplier
            continue
        # Rounding may put columns beyond the level.
        if ball.worst_case_epsilon(found[0]) <= allowed_level(epsilon):
            return found
    return None


def check_level(channel: Channel, ball: RenyiBall, epsilon: float) -> None:
    """Raise a ValueError unless a mechanism is private over F."""
    limit = allowed_level(epsilon)
    # Over the projections the level is no less, and found at once.
    if ball.projected_epsilon(channel) > limit and (level := ball.worst_case_epsilon(channel)) > limit:
        raise ValueError(
            f"The start is private at level {level:.9g} over the uncertainty set; epsilon is {epsilon:.9g}."
        )
