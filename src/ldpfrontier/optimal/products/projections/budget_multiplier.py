r"""Mechanisms private over the uncertainty set itself, by a multiplier for the budget that its groups share.

Of an output, F allows a group to be far from its estimate as long as no other one is. Let x be the share of
the budget that R in F_{U|s} needs, nu >= 0 a multiplier, and ::

    A_s(v) = max of R . v_s - nu x,      B_s(v) = min of R . v_s + nu e^-eps x      over R in F_{U|s}.

A column with A_s(v) + nu <= e^eps B_s'(v) is private over F: where F allows R and R' together, x + x' <= 1,
and ::

    R . v_s <= A_s + nu x <= e^eps B_s' - nu x' <= e^eps R' . v_s'.

By the duality of convex programs every private column has such multipliers, one for each pair (s, s'), from
order 1/2 on. Columns with one multiplier for all pairs are products of bodies again (`products.ball_family`);
at nu = 0 they are those of the projections. Several multipliers take part in one decomposition: the larger
the set and the smaller epsilon, the larger are those that count.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.channel import Channel
from ldpfrontier.numerics.deadline import time_is_up
from ldpfrontier.optimal.products.ball_family import BallFamily
from ldpfrontier.optimal.products.polyopt import allowed_level
from ldpfrontier.optimal.products.pricing import BlockProduct
from ldpfrontier.optimal.products.projections.settings import SETTINGS
from ldpfrontier.optimal.products.projections.solve import mechanism_without_bound
from ldpfrontier.optimal.registry import LIMITS
from ldpfrontier.types import FloatArray
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from ldpfrontier.utility import Columns


class BudgetMultiplierFamily:
    """Products of bodies at several multipliers of the budget, each half of the one before, as one family.

    Parameters
    ----------
    ball : RenyiBall
    epsilon : float
        In nats, > 0.
    most : int
        Most multipliers above 0.

    Attributes
    ----------
    resolution : float
        As for `BallFamily`.
    """

    efforts = BlockProduct.efforts

    def __init__(self, ball: RenyiBall, epsilon: float, most: int = SETTINGS.multipliers) -> None:
        self.ball, self.epsilon, self.resolution = ball, epsilon, 0.0
        letters = int((ball.centre > 0).sum(axis=1).max())
        # Of many letters all pairs only, and one multiplier less: there these add little and take long.
        long = len(ball.centre) * 2**letters > LIMITS.max_kept_vertices
        # Level in nats up to which the largest multiplier is constant.
        # The power of epsilon with which the largest multiplier falls beyond that level.
        largest = SETTINGS.max_multiplier * min(2.0 / epsilon, 1.0) ** 0.75
        multipliers = [largest * 0.5**n for n in range(max(most - 1, 1) if long else most)]
        self._families = [
            BallFamily(ball, epsilon, distinct=not long, budget_multiplier=multiplier)
            # Last, the columns that are private over the projections.
            for multiplier in (*multipliers, 0.0)
        ]

    @property
    def scale(self) -> FloatArray:
        """P-hat, row-major, shape (a1 a2,)."""
        return self._families[0].scale

    def product(self, s0: int, delta: float) -> BlockProduct:
        """Return a product at the largest multiplier."""
        return self._families[0].product(s0, delta)

    def explore_all_pairs(self, duals: FloatArray, slack: float) -> tuple[float, list[BlockProduct]]:
        """Bound the reduced costs of the product of all pairs at the largest multiplier."""
        return self._families[0].explore_all_pairs(duals, slack)

    def keep_best(self, duals: FloatArray, used: Sequence[Collection[int]]) -> list[NDArray[np.int64]]:
        """Keep the best vertices, as `BallFamily.keep_best` does."""
        first, *others = self._families
        for family in others:
            family.keep_best(duals, [()] * len(used))
        return first.keep_best(duals, used)

    def explore(self, duals: FloatArray, slack: float) -> tuple[float, list[BlockProduct]]:
        """Improve the vertices at every multiplier, and name products worth having."""
        found = [family.explore(duals, slack) for family in self._families]
        return max(excess for excess, _ in found), [product for _, new in found for product in new]

    def price(self, duals: FloatArray, effort: int) -> tuple[float, Columns]:
        """Bound the reduced costs of joint columns of known vertices; offer the best ones found."""
        found = []
        for family in self._families:
            family.resolution = self.resolution
            found.append(family.price(duals, effort))
        return max(excess for excess, _ in found), Columns.join([columns for _, columns in found])


def shared_budget_mechanism(
    ball: RenyiBall,
    epsilon: float,
    *,
    tolerance: float,
    max_rounds: int,
    start: Channel | None = None,
) -> tuple[Channel, int] | None:
    """Return a good mechanism private over F, of columns with one multiplier for all pairs, and the rounds.

    Parameters
    ----------
    ball : RenyiBall
        With radius > 0 and at least two sensitive values.
    epsilon : float
        In nats, > 0.
    tolerance, max_rounds
        As in `column_generation.smoothed.generate`, for the joint columns.
    start : Channel, optional
        A mechanism whose columns are used, too.

    Returns
    -------
    channel : Channel
    rounds : int
        None in place of both below order 1/2 or without a finite radius, where multipliers mean nothing, and
        where linear programs fail, the columns are beyond the level, or the time is up.
    """
    # Order of the divergence from which on k(D) is convex, so that multipliers are those of the duality.
    if ball.order < 0.5 or ball.radius == math.inf or time_is_up():
        return None
    for most in (SETTINGS.multipliers, 1):
        family = BudgetMultiplierFamily(ball, epsilon, most)
        try:
            found = mechanism_without_bound(family, tolerance=tolerance, max_rounds=max_rounds, start=start)
        except RuntimeError:  # HiGHS gives up some programs, fewer at one multiplier
            continue
        # Rounding may put columns beyond the level.
        if ball.worst_case_epsilon(found[0]) <= allowed_level(epsilon):
            return found
    return None


def check_level(channel: Channel, ball: RenyiBall, epsilon: float) -> None:
    """Check that a mechanism is private over F.

    Raises
    ------
    ValueError
        If it is not.
    """
    limit = allowed_level(epsilon)
    # Over the projections the level is no less, and found at once.
    if ball.projected_epsilon(channel) > limit and (level := ball.worst_case_epsilon(channel)) > limit:
        raise ValueError(
            f"The start is private at level {level:.9g} over the uncertainty set; epsilon is {epsilon:.9g}."
        )
