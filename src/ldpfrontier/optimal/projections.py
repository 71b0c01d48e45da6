r"""Mechanisms private over the exact projections of the uncertainty set, and bounds on all that are.

The proof of privacy of PolyOpt (lopuhaa2024, Theorem 2) uses nothing of its simplices but that they contain
the projections, so products of bodies (`body_products`) are private too. With half of the budget for every
projection, distinct pairs, they contain every (eps, F)-RLDP mechanism.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ldpfrontier.channel import Channel, FloatArray
from ldpfrontier.optimal.body_products import FEW, BodyProducts
from ldpfrontier.optimal.certificates import Certificate, Frame
from ldpfrontier.optimal.column_generation import best_channel, generate
from ldpfrontier.optimal.decomposition import Decomposition
from ldpfrontier.optimal.polyopt import LARGE, start_columns
from ldpfrontier.optimal.profiles import Profiles
from ldpfrontier.optimal.proximal import generate_near
from ldpfrontier.renyi_ball import RenyiBall
from ldpfrontier.utility import Columns, MutualInformation

#: Relative gap, to the vertices known, of the first pass and of the others; most rounds; most rounds of joint
#: columns with more than FEW sensitive values, and with more than LARGE vertices.
ROUGH, GAP, ROUNDS, JOINT, FEWER = 1e-3, 1e-4, 60, 30, 6

#: Passes of a certificate, each with its own prices; how far above the vertices known the covers may be in
#: all, relative to the bound: of all pairs, and of distinct ones.
PASSES, SLACK, WIDE = 10, 2e-4, 3e-4

#: Cells of distinct pairs for each asked for, as they cover all deltas: in the last pass, where bounds fall
#: steeply with them, and in the others, which look for vertices.
ALONG, BEFORE = 7.0, 0.7

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
        passes = [groups * SCOUTED] * HINTS if cells == 0 else _passes(cells)
        return _parted(products, decomposition, gap, passes)
    if cells == 0 and long:  # what a few cells find there is not worth their time
        return decomposition, _final(products, decomposition, gap), math.inf
    if cells == 0:
        return _along(products, decomposition, gap, [groups * SCOUTED], COARSE)
    passes = [int(BEFORE * cells)] * (PASSES - 1) + [int(ALONG * cells)]
    return _along(products, decomposition, gap, passes, FINE)


def _passes(cells: int) -> list[int]:
    """List the cells of every pass: the last ones, at the best prices, have the most."""
    return [cells >> min(last, 2) for last in range(PASSES - 1, -1, -1)]


def _parted(
    products: BodyProducts, decomposition: Decomposition, gap: float, passes: Sequence[int]
) -> tuple[Decomposition, FloatArray, float]:
    """Bound all pairs by the parts of their product, with passes of so many cells."""
    product, bound, split, settled = products.product(0, 0.0), math.inf, False, False
    for n, work in enumerate(passes):
        if settled and n < len(passes) - 1:
            continue
        if split:
            prices = decomposition.settle(gap=gap, rounds=ROUNDS)
        else:
            prices = decomposition.solve(products.explore, gap=gap, rounds=ROUNDS)
        # Parts are worth their work once the vertices are good.
        if not split and n >= HINTS and decomposition.loss() > gap:
            prices, split = decomposition.refine(gap=gap), True
        frame = Frame.of_parts(decomposition.lines(product))
        certificate, found = _certified(products, prices, frame, SLACK * float(prices.sum()), work)
        bound = min(bound, found)
        for (s, _), (_, w) in certificate.found.items():
            products.body((s, 0.0, False)).append(w)
        product.forget()
        settled = n > HINTS and not certificate.found
    return decomposition, _final(products, decomposition, gap), bound


def _certified(
    products: BodyProducts, prices: FloatArray, frame: Frame, slack: float, work: int
) -> tuple[Certificate, float]:
    """Compare the bodies with levels that the slack allows; return the certificate and the bound in nats."""
    frame = frame.raised(max(slack, float(frame.kappa().max()) + 0.5 * slack))
    certificate = Certificate(products, prices, frame, slack / len(prices))
    return certificate, float(prices.sum()) + certificate.bound(work)


def _final(products: BodyProducts, decomposition: Decomposition, gap: float) -> FloatArray:
    """Solve the last LP, refined where the coupling of its weights would lose; return the prices."""
    if not decomposition.split:
        prices = decomposition.solve(products.explore, gap=gap, rounds=ROUNDS)
        if decomposition.loss() <= gap:
            return prices
        decomposition.refine(gap=gap)
    return decomposition.settle(gap=gap, rounds=ROUNDS)


def _along(
    products: BodyProducts, decomposition: Decomposition, gap: float, passes: Sequence[int], knots: int
) -> tuple[Decomposition, FloatArray, float]:
    """Bound distinct pairs along all deltas, with passes of so many cells, from so many knots on."""
    profiles, bound = Profiles(products, knots), math.inf
    for n, work in enumerate(passes):
        prices = decomposition.solve(products.explore, gap=gap, rounds=ROUNDS)
        frame, slack = profiles.frame(prices), WIDE * float(prices.sum())
        if profiles.use(prices, frame, 0.3 * slack) and n < len(passes) - 1:
            continue
        certificate, found = _certified(products, prices, frame, slack, work)
        bound = min(bound, found)
        if profiles.learn(certificate):
            profiles.improve(prices)
    return decomposition, _final(products, decomposition, gap), bound


def best_mixture(channel: Channel, other: Channel | None, utility: MutualInformation) -> Channel:
    """Return the best channel made of the columns of two, or of one."""
    if other is None:
        return channel
    return best_channel(Columns.join(c for given in (channel, other) for c in start_columns(given, utility)))
