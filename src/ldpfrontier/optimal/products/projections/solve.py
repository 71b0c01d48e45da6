r"""Mechanisms private over the projections of the uncertainty set, and bounds on all that are.

With A_s and B_s the largest and the least mean of v_s over the projection F_{U|s}, the problem is ::

    maximize I(S, U; Y)   over mechanisms of columns v with A_s(v) <= e^eps B_s'(v),

for all pairs (s, s') or for s != s' only. The proof of privacy of PolyOpt (lopuhaa2024, Theorem 2) uses
nothing of its simplices but that they contain the projections, so these mechanisms are private too. The
columns are products of convex bodies (`products.ball_family`), and the steps are those of PolyOpt: a
decomposition, whose weights are coupled into columns, and column generation from these. A class that contains
all private mechanisms (`frontier`) has a bound by certificates (`schedule`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.channel import Channel
from ldpfrontier.numerics.deadline import TimeIsUp, time_is_up
from ldpfrontier.optimal.column_generation.smoothed import Family, basic_channel, best_channel, generate
from ldpfrontier.optimal.products.ball_family import BallFamily
from ldpfrontier.optimal.products.decomposition import Decomposition
from ldpfrontier.optimal.products.polyopt import start_columns
from ldpfrontier.optimal.products.pricing import BlockProduct
from ldpfrontier.optimal.products.projections.schedule import certified_bound
from ldpfrontier.optimal.products.projections.settings import SETTINGS
from ldpfrontier.optimal.products.settings import SETTINGS as PRODUCTS
from ldpfrontier.optimal.registry import LIMITS
from ldpfrontier.types import FloatArray
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from ldpfrontier.utility import Columns, MutualInformation


class DecomposableFamily(Family, Protocol):
    """A family of products of bodies that a decomposition can start with and explore (see `BallFamily`)."""

    @property
    def ball(self) -> RenyiBall:
        """The uncertainty set."""

    @property
    def epsilon(self) -> float:
        """In nats."""

    def product(self, s0: int, delta: float) -> BlockProduct:
        """Return a product; (0, 0) is the one that a decomposition starts with."""

    def explore_all_pairs(self, duals: FloatArray, slack: float) -> tuple[float, list[BlockProduct]]:
        """Bound the reduced costs of that product, with the vertices it has."""

    def explore(self, duals: FloatArray, slack: float) -> tuple[float, list[BlockProduct]]:
        """Improve the vertices, and name other products worth having."""

    def keep_best(self, duals: FloatArray, used: Sequence[Collection[int]]) -> list[NDArray[np.int64]]:
        """Keep the best vertices at some duals, and those used of the first product."""


def mechanism_without_bound(
    family: DecomposableFamily, *, tolerance: float, max_rounds: int, start: Channel | None = None
) -> tuple[Channel, int]:
    """Return a good mechanism of the columns of a family, and the rounds.

    Parameters
    ----------
    family : DecomposableFamily
    tolerance, max_rounds
        As in `generate`, for the joint columns.
    start : Channel, optional
        A mechanism whose columns may be used.
    """
    tolerance = max(SETTINGS.finest_gap, tolerance)
    decomposition, _ = first_decomposition(family, tolerance)
    duals = decomposition.solve_refined(family.explore, gap=tolerance)
    columns = decomposition.columns()
    return _generate_joint(family, decomposition, columns, duals, tolerance, max_rounds, start)


def first_decomposition(family: DecomposableFamily, gap: float) -> tuple[Decomposition, FloatArray]:
    """Decompose the product of all pairs, its lists of vertices shortened if long, and then the family.

    Returns
    -------
    decomposition : Decomposition
    duals : ndarray, shape (a1, a2)
        Of all known vertices, to the gap: their sum is about the optimum of the class, or above it.
    """
    decomposition = Decomposition(family.product(0, 0.0), family.epsilon)
    duals = decomposition.solve(family.explore_all_pairs, gap=PRODUCTS.start_gap)
    if family.product(0, 0.0).size > LIMITS.max_kept_vertices:
        decomposition.renumber_vertices(family.keep_best(duals, decomposition.vertices_in_use()))
    return decomposition, decomposition.solve(family.explore, gap=gap)


def class_bound(family: BallFamily, gap: float, max_nodes: int) -> float:
    """Return a bound on the mechanisms of a class, in nats, from so many nodes."""
    return certified_bound(family, first_decomposition(family, gap)[0], gap, max_nodes)


def _generate_joint(
    family: DecomposableFamily,
    decomposition: Decomposition,
    columns: Columns,
    duals: FloatArray,
    tolerance: float,
    max_rounds: int,
    start: Channel | None,
) -> tuple[Channel, int]:
    """Generate joint columns of known vertices near some duals; return the mechanism, and the rounds."""
    utility = MutualInformation(family.ball.centre)
    try:
        return _generated(family, columns, duals, utility, tolerance, max_rounds, start)
    except TimeIsUp:  # the coupling needs no restricted master
        channels = [basic_channel(*decomposition.weighted_columns()), *([] if start is None else [start])]
        return max(channels, key=utility), 0


def _generated(
    family: DecomposableFamily,
    columns: Columns,
    duals: FloatArray,
    utility: MutualInformation,
    tolerance: float,
    max_rounds: int,
    start: Channel | None,
) -> tuple[Channel, int]:
    """Do as `_generate_joint`, with restricted masters."""
    # No known column has a positive reduced cost at these.
    duals = duals + family.price(duals.ravel(), 0)[0] * family.ball.centre
    few = family.ball.sensitive.size <= PRODUCTS.few_groups
    joint = generate(
        family,
        columns,
        utility,
        tolerance=tolerance,
        max_rounds=max_rounds if few else min(max_rounds, SETTINGS.joint_rounds),
        stable_duals=duals.ravel(),
    )
    return _best_mixture(joint.channel, start, utility), joint.iterations


def _best_mixture(channel: Channel, other: Channel | None, utility: MutualInformation) -> Channel:
    """Return the best channel made of the columns of two, or of one."""
    if other is None:
        return channel
    if time_is_up():
        return max(channel, other, key=utility)
    return best_channel(Columns.join(c for given in (channel, other) for c in start_columns(given, utility)))
