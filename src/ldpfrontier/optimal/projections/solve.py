r"""Mechanisms private over the projections of the uncertainty set, and bounds on all that are.

With A_s and B_s the largest and the least mean of v_s over the projection F_{U|s}, the problem is ::

    maximize I(S, U; Y)   over mechanisms of columns v with A_s(v) <= e^eps B_s'(v),

for all pairs (s, s') or for s != s' only. The proof of privacy of PolyOpt (lopuhaa2024, Theorem 2) uses
nothing of its simplices but that they contain the projections, so these mechanisms are private too. The
columns are products of convex bodies (`products.ball_family`), and the steps are those of PolyOpt:
a decomposition, whose weights are coupled into columns, column generation from these, and certificates
(`schedule`) where a bound is asked for. For distinct pairs, with half of the budget for every projection, the
class contains every (eps, F)-RLDP mechanism.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.channel import Channel
from ldpfrontier.numerics.subset_sums import subset_sums
from ldpfrontier.optimal.column_generation.proximal_bundle import ProximalFamily, generate_proximal
from ldpfrontier.optimal.column_generation.smoothed import best_channel, generate
from ldpfrontier.optimal.geometry.ball_body import Body
from ldpfrontier.optimal.geometry.block_key import BlockKey
from ldpfrontier.optimal.polyopt.settings import SETTINGS as POLYOPT
from ldpfrontier.optimal.polyopt.solve import start_columns
from ldpfrontier.optimal.products.ball_family import BallFamily
from ldpfrontier.optimal.products.decomposition import Decomposition
from ldpfrontier.optimal.products.pricing import BlockProduct
from ldpfrontier.optimal.products.settings import SETTINGS as PRODUCTS
from ldpfrontier.optimal.projections.schedule import ClassBound, certified_bound, searched_bound
from ldpfrontier.optimal.projections.settings import SETTINGS
from ldpfrontier.types import FloatArray
from ldpfrontier.uncertainty.divergence import renyi_divergences, two_cell_range
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from ldpfrontier.uncertainty.settings import SETTINGS as UNCERTAINTY
from ldpfrontier.utility import Columns, MutualInformation


class DecomposableFamily(ProximalFamily, Protocol):
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


def projected_mechanism(
    family: BallFamily, *, tolerance: float, max_rounds: int, max_nodes: int, start: Channel | None = None
) -> tuple[Channel, float, int]:
    """Return a good mechanism private over the projections, a bound on all of its class, and the rounds.

    Parameters
    ----------
    family : BallFamily
    tolerance, max_rounds
        As in `generate`, for the joint columns.
    max_nodes : int
        Nodes to look at for the bound, see `Certificate`; with none, bodies are looked at for better vertices
        only.
    start : Channel, optional
        A mechanism whose columns may be used.

    Returns
    -------
    channel : Channel
    bound : float
        In nats; inf where none is known.
    rounds : int
    """
    tolerance = max(SETTINGS.finest_gap, tolerance)
    columns, duals, bound = _bounded_class(family, tolerance, max_nodes)
    channel, rounds = _generate_joint(family, columns, duals, tolerance, max_rounds, start)
    return channel, bound, rounds


def mechanism_without_bound(
    family: DecomposableFamily, *, tolerance: float, max_rounds: int, start: Channel | None = None
) -> tuple[Channel, int]:
    """Return a good mechanism of the columns of a family, and the rounds, as `projected_mechanism` does."""
    tolerance = max(SETTINGS.finest_gap, tolerance)
    decomposition = _first_decomposition(family, tolerance)
    duals = decomposition.solve_refined(family.explore, gap=tolerance)
    return _generate_joint(family, decomposition.columns(), duals, tolerance, max_rounds, start)


def frontier_bound(ball: RenyiBall, epsilon: float, max_nodes: int) -> float:
    """Return an upper bound on the utility of every (eps, F)-RLDP mechanism, in nats.

    With half of the budget each, any two groups can have theirs at once, so a robust mechanism is private
    over the projections of half budgets, for distinct pairs: their class contains it. So does that of any
    sets within these. Below order 1 balls of order 1 within the half budgets take their place: certificates
    of the half budgets themselves hardly came below the bound of `optimal_nonrobust` with 40,000 nodes.

    Parameters
    ----------
    ball : RenyiBall
        With radius > 0 and at least two sensitive values.
    epsilon : float
        In nats, > 0.
    max_nodes : int
        Nodes to look at, see `Certificate`.
    """
    if ball.order >= 1:
        family = BallFamily(ball, epsilon, distinct=True, share=0.5)
    else:
        family = InscribedFamily(
            RenyiBall(ball.centre, ball.radius, 1.0), epsilon, True, radii=inscribed_radii(ball)
        )
    return _bounded_class(family, SETTINGS.finest_gap, max_nodes).bound


@dataclass(eq=False)
class InscribedFamily(BallFamily):
    """As `BallFamily`, but with given radii of the projections, nats, shape (a1,)."""

    radii: FloatArray = field(default_factory=lambda: np.zeros(0))

    def _new_body(self, key: BlockKey) -> Body:
        """Return a new body, with its first vertices."""
        (s, _, _), ball, shift = key, self.ball, key.shift
        ratio, scale = self.epsilon + shift, math.exp(-0.5 * shift)
        return Body(ball.conditionals[s], float(self.radii[s]), ball.order, ball.centre[s], ratio, scale)


def inscribed_radii(ball: RenyiBall) -> FloatArray:
    r"""Return radii, (a1,), of balls of order 1 within the projections at half budget, of a lower order.

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
    """
    halves = ball.radius_at(np.full(len(ball.centre), 0.5), ball.sensitive)
    found = [
        _radius_within(r, float(rho), ball.order) for r, rho in zip(ball.conditionals, halves, strict=True)
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


def _first_decomposition(family: DecomposableFamily, gap: float) -> Decomposition:
    """Decompose the product of all pairs, its lists of vertices shortened if long, and then the family."""
    decomposition = Decomposition(family.product(0, 0.0), family.epsilon)
    duals = decomposition.solve(family.explore_all_pairs, gap=POLYOPT.start_gap)
    if family.product(0, 0.0).size > POLYOPT.max_kept_vertices:
        decomposition.renumber_vertices(family.keep_best(duals, decomposition.vertices_in_use()))
    decomposition.solve(family.explore, gap=gap)
    return decomposition


def _bounded_class(family: BallFamily, gap: float, max_nodes: int) -> ClassBound:
    """Return good columns, good duals and a bound, from so many nodes."""
    decomposition = _first_decomposition(family, gap)
    if max_nodes > 0:
        return certified_bound(family, decomposition, gap, max_nodes)
    bound = searched_bound(family, decomposition, gap)
    duals = decomposition.solve_refined(family.explore, gap=gap)
    return ClassBound(decomposition.columns(), duals, bound)


def _generate_joint(
    family: DecomposableFamily,
    columns: Columns,
    duals: FloatArray,
    tolerance: float,
    max_rounds: int,
    start: Channel | None,
) -> tuple[Channel, int]:
    """Generate joint columns of known vertices near some duals; return the mechanism, and the rounds."""
    utility = MutualInformation(family.ball.centre)
    # No known column has a positive reduced cost at these.
    duals = duals + family.price(duals.ravel(), 0)[0] * family.ball.centre
    few = family.ball.sensitive.size <= PRODUCTS.few_groups
    joint = generate(
        family,
        columns,
        utility,
        tolerance=tolerance,
        max_rounds=max_rounds if few else 1,
        stable_duals=duals.ravel(),
    )
    if not few and joint.gap > tolerance:
        rounds = min(max_rounds, SETTINGS.joint_rounds)
        joint = generate_proximal(
            family, columns, utility, [duals.ravel()], tolerance=tolerance, max_rounds=rounds
        )
    return _best_mixture(joint.channel, start, utility), joint.iterations


def _best_mixture(channel: Channel, other: Channel | None, utility: MutualInformation) -> Channel:
    """Return the best channel made of the columns of two, or of one."""
    if other is None:
        return channel
    return best_channel(Columns.join(c for given in (channel, other) for c in start_columns(given, utility)))
