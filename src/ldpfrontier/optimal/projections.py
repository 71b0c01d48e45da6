r"""Mechanisms private over the exact projections of the uncertainty set, and bounds on all that are.

The proof of privacy of PolyOpt (lopuhaa2024, Theorem 2) uses nothing of its simplices but that they contain
the projections, so products of bodies (`body_products`) are private too. With half of the budget for every
projection, distinct pairs, they contain every (eps, F)-RLDP mechanism.
"""

from __future__ import annotations

import math

from ldpfrontier.channel import Channel, FloatArray
from ldpfrontier.optimal.body_products import FEW, BodyProducts
from ldpfrontier.optimal.certificates import Certificate
from ldpfrontier.optimal.column_generation import best_channel, generate
from ldpfrontier.optimal.decomposition import Decomposition
from ldpfrontier.optimal.polyopt import LARGE, start_columns
from ldpfrontier.optimal.proximal import generate_near
from ldpfrontier.renyi_ball import RenyiBall
from ldpfrontier.utility import Columns, MutualInformation

#: Relative gap, to the vertices known, of the first pass and of the others; most rounds; most rounds of joint
#: columns with more than FEW sensitive values, and with more than LARGE vertices.
ROUGH, GAP, ROUNDS, JOINT, FEWER = 1e-3, 1e-4, 60, 30, 6

#: Passes of a certificate, each with its own prices; how far in all, relative to the bound, the covers of a
#: certificate may be above the vertices known.
PASSES, SLACK = 10, 2e-4

#: Deltas at which special bodies are looked at before a certificate, as parts of epsilon.
WIDE = (0.25, 0.5, 0.75, 0.875, 1.0)

#: Passes without a certificate, and the cells of each body that are looked at there, for better vertices;
#: those of the passes before a certificate.
HINTS, SCOUTED, SCOUTS = 2, 200, (200, 500, 1000, 2000)


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
    decomposition.solve(products.known, gap=ROUGH)
    bound = math.inf
    deltas = [products.epsilon * part for part in WIDE] if products.distinct and cells > 0 else []
    for scouted in (SCOUTED,) * HINTS if cells == 0 else SCOUTS:
        prices = decomposition.solve(products.explore, gap=gap, rounds=ROUNDS)
        certificate = Certificate(products, prices)
        gain = certificate.scout(scouted, deltas)
        new = [products.use(s0, delta) for s0, delta in certificate.missing()]
        if not any(new) and gain <= SLACK * float(prices.sum()):
            break
    passes = PASSES if cells > 0 else 0
    for last in range(passes - 1, -1, -1):
        prices = decomposition.solve(products.explore, gap=gap, rounds=ROUNDS)
        certificate = Certificate(products, prices)
        value = float(prices.sum())
        bound = min(bound, value + certificate.bound(cells >> min(last, 2), SLACK * value, last=last == 0))
        for s0, delta in certificate.missing():
            products.use(s0, delta)
    return decomposition, decomposition.solve(products.explore, gap=gap, rounds=ROUNDS), bound


def best_mixture(channel: Channel, other: Channel | None, utility: MutualInformation) -> Channel:
    """Return the best channel made of the columns of two, or of one."""
    if other is None:
        return channel
    return best_channel(Columns.join(c for given in (channel, other) for c in start_columns(given, utility)))
