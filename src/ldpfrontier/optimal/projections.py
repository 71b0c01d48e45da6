r"""Mechanisms private over the exact projections of the uncertainty set, and bounds on all that are.

The proof of privacy of PolyOpt (lopuhaa2024, Theorem 2) uses nothing of its simplices but that they contain
the projections, so products of bodies (`body_products`) are private too. With half of the budget for every
projection, distinct pairs, they contain every (eps, F)-RLDP mechanism.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ldpfrontier.channel import Channel, FloatArray
from ldpfrontier.optimal.body_products import FEW, BodyProducts
from ldpfrontier.optimal.certificates import Certificate, Frame
from ldpfrontier.optimal.column_generation import best_channel, generate
from ldpfrontier.optimal.decomposition import Decomposition
from ldpfrontier.optimal.lines import joined
from ldpfrontier.optimal.polyopt import LARGE, start_columns
from ldpfrontier.optimal.profiles import Profiles
from ldpfrontier.optimal.proximal import generate_near
from ldpfrontier.renyi_ball import RenyiBall
from ldpfrontier.utility import Columns, MutualInformation

#: Relative gap, to the vertices known, of the first pass and of the others; most rounds; most rounds of joint
#: columns with more than FEW sensitive values, and with more than LARGE vertices.
ROUGH, GAP, ROUNDS, JOINT, FEWER = 1e-3, 1e-4, 60, 30, 6

#: Most passes of a certificate; how far above the vertices known levels are in all, relative to the bound: in
#: the first pass, and in the last ones of all pairs and of distinct ones; how much less after a pass that
#: closes, and how many times as far above them the bound of such a pass may be.
PASSES, LOOSEST, SLACK, WIDE, CLOSER, CLOSED = 12, 3e-2, 2e-4, 3e-4, 4.0, 1.5

#: Share of that which the lines that products of distinct pairs share may need.
SHARED = 0.5

#: Cells in all for each asked for: of all pairs, and of distinct ones, as they cover all deltas.
PARTED, ALONG = 4.0, 13.0

#: Knots of the deltas that a certificate starts with, and those without one.
FINE, COARSE = 17, 7

#: Passes without a certificate over all pairs (over distinct ones there is one), and the cells of each body
#: that are looked at there, for better vertices.
HINTS, SCOUTED = 2, 200


def projected_mechanism(
    products: BodyProducts, *, tolerance: float, max_rounds: int, cells: int, start: Channel | None = None
) -> tuple[Channel, float, int]:
    """Find a good mechanism made of bodies, private over F, and a bound on all of its class.

    Parameters
    ----------
    products : BodyProducts
    tolerance, max_rounds
        As in `generate`, for the joint columns.
    cells : int
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
    utility = MutualInformation(products.ball.centre)
    decomposition, prices, bound = _decomposed(products, max(GAP, tolerance), cells)
    coupled, tolerance = decomposition.columns(), max(GAP, tolerance)
    # No known column has a positive reduced cost at these.
    prices = prices + products.price(prices.ravel(), 0)[0] * products.ball.centre
    few = products.ball.sensitive.size <= FEW
    joint = generate(
        products,
        coupled,
        utility,
        tolerance=tolerance,
        max_rounds=max_rounds if few else 1,
        stable_prices=prices.ravel(),
    )
    if not few and joint.gap > tolerance:
        rounds = min(max_rounds, JOINT if products.product(0, 0.0).size <= LARGE else FEWER)
        joint, _ = generate_near(
            products, coupled, utility, [prices.ravel()], tolerance=tolerance, max_rounds=rounds
        )
    return best_mixture(joint.channel, start, utility), bound, joint.iterations


def frontier_bound(ball: RenyiBall, epsilon: float, cells: int) -> float:
    """Bound the utility of every (eps, F)-RLDP mechanism, in nats.

    With half of the budget each, any two groups can have theirs at once, so a robust mechanism is private
    over the projections of half budgets, for distinct pairs: their class contains it.

    Parameters
    ----------
    ball : RenyiBall
        With radius > 0 and at least two sensitive values.
    epsilon : float
        In nats, > 0.
    cells : int
        Cells to look at, see `Certificate`.
    """
    return _decomposed(BodyProducts(ball, epsilon, distinct=True, share=0.5), GAP, cells)[2]


def _decomposed(products: BodyProducts, gap: float, cells: int) -> tuple[Decomposition, FloatArray, float]:
    """Decompose the class across the sensitive values.

    Returns its last LP with its prices, and a bound from `cells` cells.
    """
    decomposition = Decomposition(products.product(0, 0.0), products.epsilon)
    prices = decomposition.solve(products.known, gap=ROUGH)
    long = products.product(0, 0.0).size > LARGE
    if long:
        decomposition.renumber(products.focus(prices, decomposition.known()))
    prices = decomposition.solve(products.explore, gap=gap, rounds=ROUNDS)
    groups = len(products.ball.centre)
    if not products.distinct or groups == 1:
        passes = _Passes(cells, int(PARTED * cells)) if cells > 0 else _Scouts(groups * SCOUTED, 0, HINTS)
        return _parted(products, decomposition, gap, passes)
    if cells == 0 and long:  # what a few cells find there is not worth their time
        return decomposition, _final(products, decomposition, gap), math.inf
    if cells == 0:
        return _along(products, decomposition, gap, _Scouts(groups * SCOUTED, 0, 1, WIDE), COARSE)
    return _along(products, decomposition, gap, _Passes(cells, int(ALONG * cells)), FINE)


@dataclass
class _Passes:
    """The passes of a certificate, each with its own prices, closer and closer to the vertices known.

    Attributes
    ----------
    most, left : int
        Cells of a pass that finds points above its levels, and of all passes.
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

    def certified(self, products: BodyProducts, prices: FloatArray, frame: Frame) -> Certificate:
        """Compare the bodies with levels that the slack allows."""
        value, least = float(prices.sum()), WIDE if products.distinct else SLACK
        certificate, aim = _certificate(products, prices, frame, self.slack)
        excess = certificate.bound(self.most)
        left = self.left - certificate.size
        if excess > CLOSED * aim and certificate.known <= CLOSED * aim and left > 0:
            excess = certificate.bound(left)
            left = self.left - certificate.size
        self.bound, self.left, self.number = min(self.bound, value + excess), left, self.number - 1
        closed = excess <= CLOSED * aim
        if left <= 0 or (closed and self.slack <= least):
            self.number = 0
        if closed:
            self.slack = max(self.slack / CLOSER, least)
        return certificate


class _Scouts(_Passes):
    """Passes that look for vertices only."""

    def certified(self, products: BodyProducts, prices: FloatArray, frame: Frame) -> Certificate:
        certificate, _ = _certificate(products, prices, frame, WIDE if products.distinct else SLACK)
        self.bound = min(self.bound, float(prices.sum()) + certificate.bound(self.most))
        self.number -= 1
        return certificate


def _certificate(
    products: BodyProducts, prices: FloatArray, frame: Frame, share: float
) -> tuple[Certificate, float]:
    """Return a certificate with levels above known vertices by a share of the value, and what they say."""
    slack = share * float(prices.sum())
    aim = max(slack, float(frame.kappa().max()) + 0.5 * slack)
    return Certificate(products, prices, frame.raised(aim), slack / len(prices)), aim


def _parted(
    products: BodyProducts, decomposition: Decomposition, gap: float, passes: _Passes
) -> tuple[Decomposition, FloatArray, float]:
    """Bound all pairs by the parts of their product."""
    product, split, first = products.product(0, 0.0), False, passes.number
    while passes.number > 0:
        if split:
            prices = decomposition.settle(gap=gap, rounds=ROUNDS)
        else:
            prices = decomposition.solve(products.explore, gap=gap, rounds=ROUNDS)
        # Parts are worth their work once the vertices are good.
        if not split and passes.number <= first - HINTS and decomposition.loss() > gap:
            prices, split = decomposition.refine(gap=gap), True
        enough = 0.5 * passes.slack * float(prices.sum())
        lines = joined(decomposition.lines(product), product, prices, enough)
        certificate = passes.certified(products, prices, Frame.of_parts(lines))
        for (s, _), (_, w) in certificate.found.items():
            products.body((s, 0.0, False)).append(w)
        product.forget()
    return decomposition, _final(products, decomposition, gap), passes.bound


def _final(products: BodyProducts, decomposition: Decomposition, gap: float) -> FloatArray:
    """Solve the last LP, refined where the coupling of its weights would lose; return the prices."""
    if not decomposition.split:
        prices = decomposition.solve(products.explore, gap=gap, rounds=ROUNDS)
        if decomposition.loss() <= gap:
            return prices
        decomposition.refine(gap=gap)
    return decomposition.settle(gap=gap, rounds=ROUNDS)


def _along(
    products: BodyProducts, decomposition: Decomposition, gap: float, passes: _Passes, knots: int
) -> tuple[Decomposition, FloatArray, float]:
    """Bound distinct pairs along all deltas, from so many knots on."""
    profiles, skipped = Profiles(products, knots), passes.number
    while passes.number > 0:
        prices = decomposition.solve(products.explore, gap=gap, rounds=ROUNDS)
        frame = profiles.frame(prices, SHARED * passes.slack * float(prices.sum()))
        if profiles.use(prices, 0.3 * WIDE * float(prices.sum())) and skipped > 1:
            skipped -= 1
            continue
        if profiles.learn(passes.certified(products, prices, frame)):
            profiles.improve(prices)
    return decomposition, _final(products, decomposition, gap), passes.bound


def best_mixture(channel: Channel, other: Channel | None, utility: MutualInformation) -> Channel:
    """Return the best channel made of the columns of two, or of one."""
    if other is None:
        return channel
    return best_channel(Columns.join(c for given in (channel, other) for c in start_columns(given, utility)))
