r"""Bounds on every (eps, F)-RLDP mechanism, by classes that contain all of them.

If the shares of the budget of F that two groups s != s' get add up to at most 1, F allows both to be as far
from their centres at once. So a robust mechanism is private over the balls of radii k^-1(x_s k(B) / p_s), for
distinct pairs, if x_s + x_s' <= 1 for all s != s': at half budgets, x_s = 1/2, or with more for a single
group, which is best where that group is the easiest to recognize (docs/beyond.md, statement 9 (b)). The same
holds for any sets within these balls, such as balls of order 1 below that order (9 (d)).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress

import numpy as np

from ldpfrontier.numerics.deadline import TimeIsUp
from ldpfrontier.numerics.subset_sums import subset_sums
from ldpfrontier.optimal.polyopt.settings import SETTINGS as POLYOPT
from ldpfrontier.optimal.products.ball_family import BallFamily
from ldpfrontier.optimal.projections.settings import SETTINGS
from ldpfrontier.optimal.projections.solve import bounded_class, first_decomposition
from ldpfrontier.types import FloatArray
from ldpfrontier.uncertainty.divergence import renyi_divergences, two_cell_range
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from ldpfrontier.uncertainty.settings import SETTINGS as UNCERTAINTY


def frontier_bound(ball: RenyiBall, epsilon: float, max_nodes: int, *, choose_shares: bool = False) -> float:
    """Return an upper bound on the utility of every (eps, F)-RLDP mechanism, in nats; inf if the time is up.

    Parameters
    ----------
    ball : RenyiBall
        With radius > 0 and at least two sensitive values.
    epsilon : float
        In nats, > 0.
    max_nodes : int
        Nodes to look at, see `Certificate`; below order 1 as many again.
    choose_shares : bool
        Whether one group may have more than half of the budget. That is a smaller class, and on larger tables
        takes more nodes.
    """
    bound, shares = math.inf, np.full(len(ball.centre), 0.5)
    with suppress(TimeIsUp):
        if choose_shares:
            shares = best_shares(ball.sensitive, lambda x: _estimate(_class_at(ball, epsilon, x)))
        families = [_class_at(ball, epsilon, shares)]
        if ball.order < 1:
            # At few nodes that of order 1 may be the lower one, although it is the larger class.
            inner = RenyiBall(ball.centre, ball.radius, 1.0)
            families.append(BallFamily(inner, epsilon, distinct=True, radii=inscribed_radii(ball, shares)))
        for own in families:
            bound = min(bound, bounded_class(own, SETTINGS.finest_gap, max_nodes, only_bound=True).bound)
    return bound


def _class_at(ball: RenyiBall, epsilon: float, shares: FloatArray) -> BallFamily:
    """Return the class of distinct pairs at shares (a1,) of the budget."""
    return BallFamily(ball, epsilon, distinct=True, radii=ball.radius_at(shares, ball.sensitive))


def _estimate(family: BallFamily) -> float:
    """Return about the optimum of a class: that of its relaxation, at the vertices known at once."""
    return float(first_decomposition(family, POLYOPT.start_gap)[1].sum())


def best_shares(sensitive: FloatArray, estimate: Callable[[FloatArray], float]) -> FloatArray:
    """Return shares x of the budget, (a1,), of any two groups at most 1, with a class of little utility.

    Larger shares are smaller classes, so at best all groups have 1 - x but for one with x >= 1/2. That is
    taken to be the most frequent one, as the same share allows it the least distance.

    Parameters
    ----------
    sensitive : ndarray, shape (a1,)
        The probabilities of the groups.
    estimate : callable
        About the optimum of the class of given shares. Shares are chosen by it; a bound holds for any.
    """
    leader = np.arange(sensitive.size) == sensitive.argmax()

    def shares(rest: float) -> FloatArray:
        return np.where(leader, 1.0 - rest, rest)

    values = {rest: estimate(shares(rest)) for rest in (0.5, 0.25)}
    # Halved as long as that is better, and then by the root of 2 either way.
    while values[rest := min(values)] < (1.0 - POLYOPT.start_gap) * values[2.0 * rest]:
        values[0.5 * rest] = estimate(shares(0.5 * rest))
    best = min(values, key=values.__getitem__)
    for rest in (best * math.sqrt(2.0), best / math.sqrt(2.0)):
        if rest < 0.5:
            values[rest] = estimate(shares(rest))
    return shares(min(values, key=values.__getitem__))


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

    Parameters
    ----------
    ball : RenyiBall
        Of an order below 1, with radius > 0.
    shares : ndarray, shape (a1,)
        Of the budget of F.
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
