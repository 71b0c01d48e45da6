r"""Mechanisms private over the projections of the uncertainty set, and bounds on all that are.

With A_s and B_s the largest and the least mean of v_s over the projection F_{U|s}, the problem is ::

    maximize I(S, U; Y)   over mechanisms of columns v with A_s(v) <= e^eps B_s'(v),

for all pairs (s, s') or for s != s' only. The proof of privacy of PolyOpt (lopuhaa2024, Theorem 2) uses
nothing of its simplices but that they contain the projections, so these mechanisms are private too. The
columns are products of convex bodies (`engines.over_set.ball_family`), and the steps are those of PolyOpt: a
decomposition, whose weights are coupled into columns, and column generation from these. A class that contains
all private mechanisms (`pair_balls`) has a dual bound (`schedule`).
"""

from __future__ import annotations

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.column_generation.smoothed import (
    basic_channel,
    best_channel,
    generate,
    start_columns,
)
from ldpfrontier.engines.over_set.ball_family import BallFamily, FamilyUnion
from ldpfrontier.engines.products.decomposition import Decomposition
from ldpfrontier.engines.products.settings import SETTINGS as PRODUCTS
from ldpfrontier.engines.projections.schedule import certified_bound
from ldpfrontier.engines.projections.settings import SETTINGS
from ldpfrontier.engines.registry import LIMITS
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.utility import Columns, MutualInformation
from ldpfrontier.numerics.deadline import TimeIsUp, time_is_up

#: A family of products of bodies, which a decomposition starts with and explores.
ProductFamily = BallFamily | FamilyUnion


def mechanism_without_bound(
    family: ProductFamily, *, tolerance: float, max_rounds: int, start: Channel | None = None
) -> tuple[Channel, int]:
    """Return a good mechanism of the columns of a family, and those of a start, and the rounds.

    Tolerance and rounds are those of `generate`, for the joint columns.
    """
    tolerance = max(SETTINGS.finest_gap, tolerance)
    decomposition, _ = first_decomposition(family, tolerance)
    duals = decomposition.solve_refined(family.explore, gap=tolerance)
    columns, utility = decomposition.columns(), MutualInformation(family.ball.centre)
    few = family.ball.sensitive.size <= PRODUCTS.few_groups
    try:
        # No known column has a positive reduced cost at these.
        duals = duals + family.price(duals.ravel(), 0)[0] * family.ball.centre
        joint = generate(
            family,
            columns,
            utility,
            tolerance=tolerance,
            max_rounds=max_rounds if few else min(max_rounds, 20),
            stable_duals=duals.ravel(),
        )
        return _best_mixture(joint.channel, start, utility), joint.iterations
    except TimeIsUp:  # the coupling needs no restricted master
        channels = [basic_channel(*decomposition.weighted_columns()), *([] if start is None else [start])]
        return max(channels, key=utility), 0


def first_decomposition(family: ProductFamily, gap: float) -> tuple[Decomposition, FloatArray]:
    """Decompose the product of all pairs, its lists of vertices shortened if long, and then the family.

    The duals are those of all known vertices, (a1, a2), to the gap: their sum is about the optimum of the
    class, or above it.
    """
    decomposition = Decomposition(family.product(0, 0.0), family.epsilon)
    duals = decomposition.solve(family.product(0, 0.0).explore, gap=PRODUCTS.start_gap)
    if family.product(0, 0.0).size > LIMITS.max_kept_vertices:
        decomposition.renumber_vertices(family.keep_best(duals, decomposition.vertices_in_use()))
    return decomposition, decomposition.solve(family.explore, gap=gap)


def class_bound(family: BallFamily, gap: float, max_nodes: int) -> float:
    """Return a bound on the mechanisms of a class, in nats, from so many nodes."""
    return certified_bound(family, first_decomposition(family, gap)[0], gap, max_nodes)


def _best_mixture(channel: Channel, other: Channel | None, utility: MutualInformation) -> Channel:
    """Return the best channel made of the columns of two, or of one."""
    if other is None:
        return channel
    if time_is_up():
        return max(channel, other, key=utility)
    return best_channel(Columns.join(c for given in (channel, other) for c in start_columns(given, utility)))
