r"""Mechanisms private over the exact projections of the uncertainty set, and bounds on all that are.

The proof of privacy of PolyOpt (lopuhaa2024, Theorem 2) uses nothing of its simplices but that they contain
the projections, so products of bodies (`body_products`) are private too. With half of the budget for every
projection, distinct pairs, they contain every (eps, F)-RLDP mechanism.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.channel import Channel
from ldpfrontier.optimal.certificate.delta_sweep import Profiles
from ldpfrontier.optimal.certificate.dual_certificate import Certificate, Frame
from ldpfrontier.optimal.column_generation.proximal_bundle import Proximal, ProximalFamily, generate_proximal
from ldpfrontier.optimal.column_generation.smoothed import best_channel, generate
from ldpfrontier.optimal.polyopt.solve import LARGE, start_columns
from ldpfrontier.optimal.products.ball_family import FEW, BallFamily
from ldpfrontier.optimal.products.decomposition import Decomposition
from ldpfrontier.optimal.products.pricing import BlockProduct
from ldpfrontier.types import FloatArray
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from ldpfrontier.utility import Columns, MutualInformation

#: Relative gap, to the vertices known, of the first pass and of the others; most rounds; most rounds of joint
#: columns with more than FEW sensitive values, and with more than LARGE vertices.
ROUGH, GAP, ROUNDS, JOINT, FEWER = 1e-3, 1e-4, 60, 30, 6

#: Most passes of a certificate; how far above the vertices known levels are in all, relative to the bound: in
#: the first pass, and in the last ones of all pairs and of distinct ones; how much less after a pass that
#: closes, and how many times as far above them the bound of such a pass may be.
PASSES, LOOSEST, SLACK, WIDE, CLOSER, CLOSED = 16, 3e-2, 2e-4, 4e-4, 3.0, 1.5

#: How many times as far above known vertices points found may be in a pass that goes on until it closes.
HOPEFUL = 1.25

#: Portions of the cells of a pass, after each of which it may end.
PORTIONS = 8

#: Rounds of joint prices between two passes, and after the last one; share of the gap asked for there.
NEARER, LAST, FINER = 20, 100, 0.3

#: Share of the slack that lines may need; share of the value that those of distinct pairs may, however little
#: the slack is: where z is split, ends that vertices pass between two deltas take many cells.
SHARED, WORTH = 0.3, 3e-4

#: Share of what a body may be above known vertices by that a kink between two knots may be above them.
KINK = 1.0

#: Cells in all for each asked for: of all pairs, and of distinct ones, as they cover all deltas.
PARTED, ALONG = 6.0, 13.0

#: Knots of the deltas that a certificate starts with, and those without one.
FINE, COARSE = 17, 7

#: Passes without a certificate over all pairs (over distinct ones there is one), and the cells of each body
#: that are looked at there, for better vertices.
HINTS, SCOUTED = 2, 200


class Products(ProximalFamily, Protocol):
    """Products of bodies that a decomposition can explore (see `BallFamily`)."""

    @property
    def ball(self) -> RenyiBall:
        """The uncertainty set."""

    @property
    def epsilon(self) -> float:
        """In nats."""

    def product(self, s0: int, delta: float) -> BlockProduct:
        """Return a product; (0, 0) is the one that a decomposition starts with."""

    def explore_all_pairs(self, prices: FloatArray, slack: float) -> tuple[float, list[BlockProduct]]:
        """Explore the vertices known of that product."""

    def explore(self, prices: FloatArray, slack: float) -> tuple[float, list[BlockProduct]]:
        """Improve the vertices, and name other products worth having."""

    def keep_best(self, prices: FloatArray, used: Sequence[Collection[int]]) -> list[NDArray[np.int64]]:
        """Keep the best vertices at some prices, and those used of the first product."""


def projected_mechanism(
    products: BallFamily, *, tolerance: float, max_rounds: int, max_nodes: int, start: Channel | None = None
) -> tuple[Channel, float, int]:
    """Find a good mechanism made of bodies, private over F, and a bound on all of its class.

    Parameters
    ----------
    products : BallFamily
    tolerance, max_rounds
        As in `generate`, for the joint columns.
    max_nodes : int
        Cells to look at for the bound, see `Certificate`; with none, bodies are looked at for better vertices
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
    tolerance = max(GAP, tolerance)
    coupled, prices, bound = _decomposed(products, tolerance, max_nodes)
    channel, rounds = _joint(products, coupled, prices, tolerance, max_rounds, start)
    return channel, bound, rounds


def mechanism_without_bound(
    products: Products, *, tolerance: float, max_rounds: int, start: Channel | None = None
) -> tuple[Channel, int]:
    """Find a good mechanism as `projected_mechanism` does, of what exploring finds, without a bound."""
    tolerance = max(GAP, tolerance)
    decomposition = _started(products, tolerance)
    prices = decomposition.solve_refined(products.explore, gap=tolerance, rounds=ROUNDS)
    return _joint(products, decomposition.columns(), prices, tolerance, max_rounds, start)


def _joint(
    products: Products,
    coupled: Columns,
    prices: FloatArray,
    tolerance: float,
    max_rounds: int,
    start: Channel | None,
) -> tuple[Channel, int]:
    """Generate joint columns of known vertices near some prices; return the mechanism, and the rounds."""
    utility = MutualInformation(products.ball.centre)
    # No known column has a positive reduced cost at these.
    prices = prices + products.price(prices.ravel(), 0)[0] * products.ball.centre
    few = products.ball.sensitive.size <= FEW
    joint = generate(
        products,
        coupled,
        utility,
        tolerance=tolerance,
        max_rounds=max_rounds if few else 1,
        stable_duals=prices.ravel(),
    )
    if not few and joint.gap > tolerance:
        rounds = min(max_rounds, JOINT if products.product(0, 0.0).size <= LARGE else FEWER)
        joint, _ = generate_proximal(
            products, coupled, utility, [prices.ravel()], tolerance=tolerance, max_rounds=rounds
        )
    return best_mixture(joint.channel, start, utility), joint.iterations


def frontier_bound(ball: RenyiBall, epsilon: float, max_nodes: int) -> float:
    """Bound the utility of every (eps, F)-RLDP mechanism, in nats.

    With half of the budget each, any two groups can have theirs at once, so a robust mechanism is private
    over the projections of half budgets, for distinct pairs: their class contains it.

    Parameters
    ----------
    ball : RenyiBall
        With radius > 0 and at least two sensitive values.
    epsilon : float
        In nats, > 0.
    max_nodes : int
        Cells to look at, see `Certificate`.
    """
    return _decomposed(BallFamily(ball, epsilon, distinct=True, share=0.5), GAP, max_nodes)[2]


def _decomposed(products: BallFamily, gap: float, max_nodes: int) -> tuple[Columns, FloatArray, float]:
    """Decompose the class across the sensitive values.

    Returns good columns, prices, and a bound from `max_nodes` nodes.
    """
    decomposition, long = _started(products, gap), products.product(0, 0.0).size > LARGE
    groups = len(products.ball.centre)
    single = not products.distinct or groups == 1
    if max_nodes > 0:
        passes = _Passes(max_nodes, int((PARTED if single else ALONG) * max_nodes))
        return _bounded(products, decomposition, gap, passes, 1 if single else FINE)
    bound = math.inf
    if single or not long:  # what a few cells find of long lists of distinct pairs is not worth their time
        scouts = _Scouts(groups * SCOUTED, 0, HINTS) if single else _Scouts(groups * SCOUTED, 0, 1, WIDE)
        bound = _bounded(products, decomposition, gap, scouts, 1 if single else COARSE)[2]
    prices = decomposition.solve_refined(products.explore, gap=gap, rounds=ROUNDS)
    return decomposition.columns(), prices, bound


def _started(products: Products, gap: float) -> Decomposition:
    """Decompose the first product, its list shortened where it is long, and explore others."""
    decomposition = Decomposition(products.product(0, 0.0), products.epsilon)
    prices = decomposition.solve(products.explore_all_pairs, gap=ROUGH)
    if products.product(0, 0.0).size > LARGE:
        decomposition.renumber_vertices(products.keep_best(prices, decomposition.vertices_in_use()))
    decomposition.solve(products.explore, gap=gap, rounds=ROUNDS)
    return decomposition


@dataclass
class _Passes:
    """The passes of a certificate, each with its own prices, closer and closer to the vertices known.

    Attributes
    ----------
    most, left : int
        Cells of a pass that does not close, and of all passes.
    number : int
        Passes left.
    slack : float
        How far above the vertices known the levels of the next pass are, relative to the bound.
    bound : float
        In nats, the best so far.
    """

    most: int
    left: int
    number: int = PASSES
    slack: float = LOOSEST
    bound: float = math.inf
    exact: ClassVar[bool] = True

    def certified(self, products: BallFamily, prices: FloatArray, frame: Frame) -> Certificate:
        """Compare the bodies with levels that the slack allows."""
        value, least = float(prices.sum()), WIDE if products.distinct else SLACK
        certificate, aim = _certificate(products, prices, frame, self.slack)
        excess, size = math.inf, -1
        while size < certificate.size < self.left:
            size = certificate.size
            excess = certificate.bound(min(math.ceil(self.most / PORTIONS), self.left - size))
            spent = certificate.size >= self.most
            if excess <= CLOSED * aim and (spent or self.slack > least):
                break
            if spent and certificate.known > HOPEFUL * aim:
                break
        self.bound, self.number = min(self.bound, value + excess), self.number - 1
        self.left -= certificate.size
        closed = excess <= CLOSED * aim
        if self.left <= 0 or (closed and self.slack <= least):
            self.number = 0
        if closed:
            self.slack = max(self.slack / CLOSER, least)
        return certificate


class _Scouts(_Passes):
    """Passes that look for vertices only."""

    exact = False

    def certified(self, products: BallFamily, prices: FloatArray, frame: Frame) -> Certificate:
        certificate, _ = _certificate(products, prices, frame, WIDE if products.distinct else SLACK)
        self.bound = min(self.bound, float(prices.sum()) + certificate.bound(self.most))
        self.number -= 1
        return certificate


def _certificate(
    products: BallFamily, prices: FloatArray, frame: Frame, share: float
) -> tuple[Certificate, float]:
    """Return a certificate with levels above known vertices by a share of the value, and what they say."""
    slack = share * float(prices.sum())
    aim = max(slack, float(frame.kappa().max()) + 0.5 * slack)
    return Certificate(products, prices, frame.raised(aim, _shares(products)), slack / len(prices)), aim


def _shares(products: BallFamily) -> FloatArray:
    """Return the shares of the slack that sensitive values have, shape (a1,)."""
    shares = np.sqrt(products.ball.sensitive)
    return np.asarray(shares / shares.sum())


def _bounded(
    products: BallFamily, decomposition: Decomposition, gap: float, passes: _Passes, knots: int
) -> tuple[Columns, FloatArray, float]:
    """Bound the class along so many deltas at first; return good columns and the last prices, too.

    Where the coupling of the decomposition loses, prices are those of joint columns from then on.
    """
    profiles, skipped = Profiles(products, knots), passes.number
    utility, shares = MutualInformation(products.ball.centre), _shares(products)
    joint: Proximal | None = None
    while passes.number > 0:
        if joint is None:
            prices = decomposition.solve(products.explore, gap=gap, rounds=ROUNDS)
            if passes.exact and decomposition.coupling_loss() > gap:
                prices = decomposition.solve_refined(products.explore, gap=gap, rounds=ROUNDS)
                joint = Proximal(products, decomposition.columns(), utility)
        if joint is not None:
            _, prices = _nearer(products, joint, prices, gap, NEARER)
        value = float(prices.sum())
        kinks = KINK * passes.slack * value * shares if passes.exact else None
        profiles.look(prices, 0.1 * WIDE * value, kinks)
        new = profiles.use(prices, 0.3 * WIDE * value)
        # Prices of what was known before are not worth a certificate.
        if (new or (passes.exact and profiles.excess > SHARED * passes.slack * value)) and skipped > 1:
            skipped -= 1
            continue
        frame = profiles.frame(max(SHARED * passes.slack, WORTH if knots > 1 else 0.0) * value)
        if profiles.learn(passes.certified(products, prices, frame)):
            profiles.improve(prices)
    columns = list[Columns]()
    if joint is not None:
        channel, prices = _nearer(products, joint, prices, FINER * gap, LAST)
        columns += start_columns(channel, utility)
    return Columns.join([decomposition.columns(), *columns]), prices, passes.bound


def _nearer(
    products: BallFamily, joint: Proximal, prices: FloatArray, gap: float, rounds: int
) -> tuple[Channel, FloatArray]:
    """Go on with joint columns from some prices; return the mechanism and the prices."""
    products.polish(prices)
    found, alpha = joint.improve([prices.ravel()], tolerance=gap, max_rounds=rounds)
    return found.channel, alpha.reshape(prices.shape)


def best_mixture(channel: Channel, other: Channel | None, utility: MutualInformation) -> Channel:
    """Return the best channel made of the columns of two, or of one."""
    if other is None:
        return channel
    return best_channel(Columns.join(c for given in (channel, other) for c in start_columns(given, utility)))
