r"""Bounds on every (eps, F)-RLDP mechanism, by classes that contain all of them.

If the shares of the budget of F that two groups s != s' get add up to at most 1, F allows both to be as far
from their centres at once. So a robust mechanism is private over the balls of radii k^-1(x_s k(B) / p_s), for
distinct pairs, if x_s + x_s' <= 1 for all s != s' (docs/beyond/theorems.md, statement 9 (b)); here at half
budgets, x_s = 1/2. The same holds for any sets within these balls, such as balls of order 1 below that order
(9 (d)).
"""

from __future__ import annotations

import math
from contextlib import suppress

import numpy as np

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.over_set.ball_family import BallFamily
from ldpfrontier.engines.projections.projection_class import class_bound
from ldpfrontier.engines.projections.settings import SETTINGS
from ldpfrontier.numerics.deadline import TimeIsUp
from ldpfrontier.numerics.subset_sums import subset_sums
from ldpfrontier.uncertainty.divergence import renyi_divergences, two_cell_range
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from ldpfrontier.uncertainty.settings import SETTINGS as UNCERTAINTY


def pair_balls_bound(ball: RenyiBall, epsilon: float, max_nodes: int) -> float:
    """Return an upper bound on the utility of every (eps, F)-RLDP mechanism, in nats; inf if the time is up.

    The radius is above 0, and there are at least two sensitive values. Below order 1 there are as many nodes
    again.
    """
    shares = np.full(len(ball.centre), 0.5)
    families = [BallFamily(ball, epsilon, distinct=True, radii=ball.radius_at(shares, ball.sensitive))]
    bound = math.inf
    with suppress(TimeIsUp):
        if ball.order < 1:
            # At few nodes that of order 1 may be the lower one, although it is the larger class.
            inner = RenyiBall(ball.centre, ball.radius, 1.0)
            families.append(BallFamily(inner, epsilon, distinct=True, radii=inscribed_radii(ball, shares)))
        for own in families:
            bound = min(bound, class_bound(own, SETTINGS.finest_gap, max_nodes))
    return bound


def inscribed_radii(ball: RenyiBall, shares: FloatArray) -> FloatArray:
    r"""Return radii, (a1,), of balls of order 1 within the projections at given shares, of a lower order.

    For one group with centre r, the least D_1(r || R) is sought among all R beyond the radius, those with
    D_alpha(r || R) >= rho. At the least one D_alpha = rho, as both divergences fall on the way to r; and with
    x = r/R the Lagrange condition is ::

        x_u - l x_u^alpha = m     for all u with R_u > 0,

    l >= 0. The left-hand side is convex in x_u, so x_u has at most two values: on a set T of letters and off
    it. Such R are determined by R(T), the least or the largest one within the radius, and their divergences
    are those of two cells. So the least of these over all T is a radius of order 1 within rho. It is at least
    rho, as Renyi divergences do not fall with the order, and about rho/alpha if rho is small; with an empty
    cell off T and no other, where all orders agree, it is rho.
    """
    radii = ball.radius_at(shares, ball.sensitive)
    found = [
        _radius_within(r, float(rho), ball.order) for r, rho in zip(ball.conditionals, radii, strict=True)
    ]
    return np.array(found)


def _radius_within(r: FloatArray, radius: float, order: float) -> float:
    """Return the largest radius of order 1 within one of a lower order, or that radius for many letters."""
    if math.isinf(radius) or (r == 0).any() or r.size > UNCERTAINTY.max_subset_values:
        return radius
    mass = np.clip(subset_sums(r)[1:-1], 0.0, 1.0)
    least = two_cell_range(mass, np.full(mass.size, radius), order)[0]
    # Sets that may vanish have an infinite divergence of order 1. The largest R(T) is the least one off T.
    mass, least = mass[least > 0], least[least > 0]
    pairs = np.stack([mass, 1.0 - mass], axis=1), np.stack([least, 1.0 - least], axis=1)
    within = float(renyi_divergences(*pairs, 1.0).min(initial=math.inf))
    return max(radius, within * (1.0 - 1e-9))  # rounding errs on the side of less
