r"""Bounds on the class of the projections, by a sequence of dual bounds.

If no column of the class has a reduced cost above kappa per unit of Z at duals alpha, then ::

    utility of any mechanism of the class <= sum(alpha) + kappa

(`products.decomposition`). A dual bound proves a kappa for all products of bodies, at every delta at once
(`engines.over_set`). It is the cheaper, the larger the kappa; and every point that it finds above its affine
bounds is a better vertex, which changes the duals. So there are passes, each of which

1. updates the duals by the decomposition, refined once the coupling of its weights loses more than the gap;
2. searches for vertices along delta, at these duals;
3. fits affine bounds to them, with a slack that shrinks from pass to pass;
4. verifies these by branch and bound, and takes over the vertices found.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.engines.over_set.ball_family import BallFamily
from ldpfrontier.engines.products.decomposition import Decomposition
from ldpfrontier.engines.projections.settings import SETTINGS
from ldpfrontier.numerics.deadline import TimeIsUp, time_is_up
from ldpfrontier.numerics.rounding import sum_bound

if TYPE_CHECKING:
    from ldpfrontier.engines.over_set.delta_sweep import DeltaSweep
    from ldpfrontier.engines.over_set.dual_bound import DualBound


def certified_bound(family: BallFamily, decomposition: Decomposition, gap: float, max_nodes: int) -> float:
    """Return a bound on the mechanisms of a class, in nats, given its decomposition; inf where none is known.

    The duals have a relative gap, and a pass that does not close has so many nodes.
    """
    from ldpfrontier.engines.over_set.delta_sweep import DeltaSweep

    deltas, bound = _covers_deltas(family), math.inf
    # Nodes of all passes, as a multiple of those of one.
    nodes_left = min((13 if deltas else 6) * max_nodes, 2**62)
    # How far the affine bounds of a pass are above the vertices found, in all.
    slack, passes_left = 3e-2, SETTINGS.max_passes
    sweep, repeats = DeltaSweep(family, SETTINGS.knots if deltas else 1), SETTINGS.max_passes
    with suppress(TimeIsUp):  # the bounds so far hold
        while passes_left > 0 and nodes_left > 0:
            duals = decomposition.solve_refined(family.explore, gap=gap)
            value = float(duals.sum())
            new = _search_deltas(sweep, duals, slack * value * _shares(family))
            # Duals of what was known before are not worth a dual bound.
            if (new or sweep.excess > GENERATION.inner_share * slack * value) and repeats > 1:
                repeats -= 1
                continue
            dual_bound, aim = _dual_bound(family, sweep, duals, slack)
            is_final, closing = slack <= SETTINGS.final_slack, 1.25 * aim  # until then a pass goes on
            excess = _excess(dual_bound, closing, max_nodes, nodes_left, is_final)
            bound = min(bound, sum_bound(duals, excess, family.scale))
            passes_left, nodes_left = passes_left - 1, nodes_left - dual_bound.node_count
            if sweep.add_violations(dual_bound):
                sweep.polish(duals)
            if excess <= closing:
                if is_final:
                    break
                slack = max(slack / 3.0, SETTINGS.final_slack)
    return bound


def _excess(dual_bound: DualBound, closing: float, pass_nodes: int, nodes_left: int, is_final: bool) -> float:
    """Return the reduced cost that a dual bound proves, near what closes it or far from it for good."""
    # Equal portions of the nodes of a pass, after each of which it may end.
    excess, size, portion = math.inf, -1, math.ceil(pass_nodes / 8)
    while size < dual_bound.node_count < nodes_left and not time_is_up():
        size = dual_bound.node_count
        excess = dual_bound.bound(min(portion, nodes_left - size))
        spent = dual_bound.node_count >= pass_nodes
        if excess <= closing and (spent or not is_final):
            break
        if spent and dual_bound.known_kappa > closing:
            break
    return excess


def _covers_deltas(family: BallFamily) -> bool:
    """Return whether the class has products at several deltas, for distinct pairs of sensitive values."""
    return family.distinct and len(family.ball.centre) > 1


def _search_deltas(sweep: DeltaSweep, duals: FloatArray, least_excess: FloatArray) -> bool:
    """Search for vertices along delta; return whether products are used that were not before."""
    tolerance = SETTINGS.final_slack
    sweep.search(duals, 0.1 * tolerance * float(duals.sum()), least_excess)
    return sweep.activate_products(duals, GENERATION.inner_share * tolerance * float(duals.sum()))


def _dual_bound(
    family: BallFamily, sweep: DeltaSweep, duals: FloatArray, slack: float
) -> tuple[DualBound, float]:
    """Return a dual bound by affine bounds with a slack, and the reduced cost that these are to prove."""
    from ldpfrontier.engines.over_set.dual_bound import DualBound

    value, least_loss = float(duals.sum()), SETTINGS.final_slack if _covers_deltas(family) else 0.0
    room, bounds = slack * value, sweep.affine_bounds(max(GENERATION.inner_share * slack, least_loss) * value)
    aim = max(room, float(bounds.kappa().max()) + 0.5 * room)
    return DualBound(family, duals, bounds.with_slack(aim, _shares(family)), room / len(duals)), aim


def _shares(family: BallFamily) -> FloatArray:
    """Return the shares of the slack that sensitive values have, shape (a1,)."""
    shares = np.sqrt(family.ball.sensitive)
    return np.asarray(shares / shares.sum())
