r"""PolyOpt, the optimal mechanism over a polyhedral envelope of the uncertainty set (lopuhaa2024, section 5).

A column v is allowed if A_s(v) <= e^eps B_s'(v), with ::

    A_s(v) = (1 - S_s) max_u v_{s,u} + L_s . v_s,     B_s(v) = (1 - S_s) min_u v_{s,u} + L_s . v_s,

for all pairs (s, s') in the class as published, for s != s' only in the class with *distinct pairs*, which
has the same guarantee. Scaled to min_s B_s = 1, the published columns are a product of blocks
(`blocks.Block`). With distinct pairs one special value s0 may have the least B, tau = e^-delta, and the
others at least 1: then A_s <= tau e^eps for s != s0 and A_s0 <= e^eps, which is a product of blocks again,
for every s0 and every delta in [0, eps]. At delta = 0 it is the published one.

The rays of both are products of block vertices, too many to list. Three steps avoid that:

1. **Decomposition** (`decomposition`): an upper bound with its prices, from one small LP.
2. **Coupling**: the block weights of that LP are coupled into columns: a mechanism.
3. **Column generation** over the joint columns from that start, where the coupling leaves a gap: to the
   exact optimum on small tables (`column_generation`), near the best prices on larger ones (`proximal`),
   where the decomposition is refined first.

With distinct pairs on larger tables the third step and a search of all deltas for more products take turns.
"""

from __future__ import annotations

import math
from contextlib import suppress

import numpy as np

from ldpfrontier.channel import Channel
from ldpfrontier.optimal.column_generation.proximal_bundle import Proximal, generate_proximal
from ldpfrontier.optimal.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.optimal.column_generation.smoothed import generate
from ldpfrontier.optimal.geometry.polytope import Block
from ldpfrontier.optimal.polyopt.distinct_pairs import DistinctPairsFamily
from ldpfrontier.optimal.products.decomposition import Decomposition
from ldpfrontier.optimal.products.pricing import BlockProduct, ProductFamily
from ldpfrontier.optimal.products.settings import SETTINGS as PRODUCTS
from ldpfrontier.optimum import Optimum, certified
from ldpfrontier.privacy import log_ratio
from ldpfrontier.types import FloatArray
from ldpfrontier.utility import Columns, MutualInformation

#: Block vertices of a table. Up to SMALL, joint columns are priced for every interval of deltas, which ends
#: in the exact optimum; up to LARGE, also without any deltas inside (0, epsilon).
SMALL, LARGE = 1_500, 50_000

#: Relative gap of the decomposition where it is a start only; elsewhere, and for the search over the deltas,
#: a share of the tolerance.
ROUGH, SHARE = 1e-3, 0.3

#: A start whose coupling loses up to this multiple of the tolerance is worth completing.
LOSS = 2.0

#: Over distinct pairs on large tables: up to which loss in coupling the decomposition is the start, and is
#: gone on with; shares of the tolerance, and of what the last search of all deltas found, that columns are
#: generated to; the share of the tolerance that a search may leave open; most searches, and rounds between.
TIGHT, LOOSE, INNER, OUTER, FINE, SEARCHES, TURN = 1e-4, 1e-2, 0.5, 0.2, 0.15, 20, 50

#: By how many nats a start may exceed epsilon, for rounding; below 1 nat, by that share of it.
START_ROUNDING, ROUNDING = 1e-9, 1e-14


def allowed(epsilon: float) -> float:
    """Return the level that a mechanism may have up to rounding, in nats."""
    return epsilon + START_ROUNDING * min(1.0, epsilon)


def check_class(channel: Channel, lower: FloatArray, epsilon: float, *, distinct: bool) -> None:
    """Check that a mechanism satisfies the inequalities of PolyOpt.

    Parameters
    ----------
    channel : Channel
        Inputs (s, u) in row-major order.
    lower : ndarray, shape (a1, a2)
        L_{u|s}.
    epsilon : float
        Privacy level in nats.
    distinct : bool
        Whether pairs s != s' only are compared.

    Raises
    ------
    ValueError
        If it does not.
    """
    blocks = channel.matrix.reshape(*lower.shape, -1)
    mean = np.einsum("su,suy->sy", lower, blocks)
    rest = np.maximum(1.0 - lower.sum(axis=1), 0.0)[:, None]
    A, B = rest * blocks.max(axis=1) + mean, rest * blocks.min(axis=1) + mean
    ratios = log_ratio(*np.broadcast_arrays(A[:, None], B[None]))
    if distinct:
        ratios[np.diag_indices(len(lower))] = 0.0
    if (worst := float(ratios.max())) > allowed(epsilon) + ROUNDING:
        raise ValueError(
            f"The start is private at level {worst:.9g} by the inequalities of its class; epsilon is"
            f" {epsilon:.9g}."
        )


def polyopt_published(
    centre: FloatArray,
    lower: FloatArray,
    epsilon: float,
    *,
    tolerance: float,
    max_rounds: int,
    start: Channel | None = None,
) -> Optimum:
    """Solve PolyOpt as published (lopuhaa2024, Theorem 3), with a certificate.

    Parameters
    ----------
    centre : ndarray, shape (a1, a2)
        The estimate P-hat, rows = sensitive; the utility is I under it.
    lower : ndarray, shape (a1, a2)
        L_{u|s}; every row sums to less than one.
    epsilon : float
        Privacy level in nats, > 0.
    tolerance, max_rounds
        See `generate`.
    start : Channel, optional
        A mechanism of the class, whose columns are among the first.

    Returns
    -------
    Optimum
        Channel with at most a1 a2 outputs, inputs in row-major order.
    """
    utility = MutualInformation(centre)
    product = BlockProduct([Block(L, P, epsilon) for L, P in zip(lower, centre, strict=True)], centre)
    return _published(product, epsilon, utility, start, tolerance, max_rounds)[0]


def _published(
    product: BlockProduct,
    epsilon: float,
    utility: MutualInformation,
    start: Channel | None,
    tolerance: float,
    max_rounds: int,
) -> tuple[Optimum, FloatArray]:
    """Solve PolyOpt as published; return the optimum and good prices."""
    decomposition = Decomposition(product, epsilon)
    fine, known = max(PRODUCTS.finest_gap, SHARE * tolerance), start_columns(start, utility)
    if product.size > SMALL:
        aim = max(tolerance, GENERATION.finest_gap)
        prices = decomposition.solve(product.explore, gap=max(ROUGH, fine)).ravel()
        if decomposition.coupling_loss() <= LOSS * aim:
            prices = decomposition.solve(product.explore, gap=fine).ravel()
            known.append(decomposition.columns())
            found = generate_proximal(
                product, Columns.join(known), utility, [prices], tolerance=tolerance, max_rounds=1
            )
            if found[0].gap <= aim or max_rounds == 1:
                return found
        known.append(decomposition.columns())
        with suppress(RuntimeError):  # without a refinement there are more rounds
            prices = decomposition.refine(gap=SHARE * aim).ravel()
            known.append(decomposition.columns())
        return generate_proximal(
            product, Columns.join(known), utility, [prices], tolerance=tolerance, max_rounds=max_rounds
        )
    prices = decomposition.solve(product.explore, gap=fine).ravel()
    columns = Columns.join([decomposition.columns(), *known])
    product.resolution = SHARE * tolerance * float(prices.sum())
    optimum = generate(
        product, columns, utility, tolerance=tolerance, max_rounds=max_rounds, stable_duals=prices
    )
    return optimum, prices


def polyopt_distinct(
    centre: FloatArray,
    lower: FloatArray,
    epsilon: float,
    *,
    tolerance: float,
    max_rounds: int,
    start: Channel | None = None,
) -> Optimum:
    """Solve PolyOpt over distinct pairs.

    Arguments and result are those of `polyopt_published`. Beyond `SMALL` block vertices no finer gap than
    `finest_gap` is worked for.
    """
    utility = MutualInformation(centre)
    family = DistinctPairsFamily(centre, lower, epsilon)
    published = family.product(0, 0.0)
    known = start_columns(start, utility)
    # Without deltas inside (0, epsilon) there is a product per special value and no interval.
    few = published.size <= LARGE and all(len(deltas) == 2 for deltas in family.deltas)
    if published.size > SMALL and not few:
        return _beyond(family, epsilon, utility, known, tolerance, max_rounds)
    decomposition = Decomposition(published, epsilon)
    decomposition.solve(published.explore)
    prices = decomposition.solve(family.explore, gap=ROUGH)
    family.resolution = SHARE * tolerance * float(prices.sum())
    return generate(
        family,
        Columns.join([decomposition.columns(), *known]),
        utility,
        tolerance=tolerance,
        max_rounds=max_rounds,
        stable_duals=prices.ravel(),
        smoothing=(0.0,) if published.size <= SMALL else GENERATION.smoothing,
    )


def _beyond(
    family: DistinctPairsFamily,
    epsilon: float,
    utility: MutualInformation,
    known: list[Columns],
    tolerance: float,
    max_rounds: int,
) -> Optimum:
    """Solve PolyOpt over distinct pairs on a large table, by column generation over the products in use.

    In turns, all deltas are searched at the best prices for products to add, which bounds all columns, and
    columns are generated. That starts from the published optimum, and as long as hardly anything is lost in
    coupling, the decomposition gives prices and columns to go on from.
    """
    aim = max(tolerance, GENERATION.finest_gap)
    published = family.product(0, 0.0)
    used, bound = ProductFamily([published]), math.inf
    decomposition = Decomposition(published, epsilon)
    decomposition.solve(published.explore, gap=ROUGH)
    if tight := decomposition.coupling_loss() <= TIGHT:
        prices = decomposition.solve(published.explore).ravel()
        known.append(decomposition.columns())
    else:
        optimum, prices = _published(published, epsilon, utility, None, tolerance, max_rounds)
        known += start_columns(optimum.channel, utility)
    generation = Proximal(used, Columns.join(known), utility)
    optimum, near = generation.improve([prices], tolerance=tolerance, max_rounds=max_rounds)
    rounds = optimum.iterations
    for _ in range(SEARCHES):
        enough = (1.0 + aim) * optimum.value - float(near.sum())
        excess, products = family.search(near, FINE * aim * optimum.value, enough)
        bound = min(bound, float(near.sum()) + excess)
        if bound - optimum.value <= aim * optimum.value or rounds >= max_rounds:
            break
        used.members += [product for product in products if product not in used.members]
        starts, left = [near], max(INNER * aim, OUTER * min(excess / optimum.value, 1.0))
        if tight:
            with suppress(RuntimeError):  # without its prices there are more rounds
                starts.append(decomposition.solve(used.explore, gap=SHARE * left).ravel())
                generation.add(decomposition.columns())
                tight = decomposition.coupling_loss() <= LOOSE
        turn = min(TURN, max_rounds - rounds)
        try:
            optimum, near = generation.improve(starts, tolerance=left, max_rounds=turn)
        except RuntimeError:  # a linear program failed: what is known holds
            break
        rounds += optimum.iterations
    return certified(optimum.channel, optimum.value, bound, tolerance, rounds)


def start_columns(start: Channel | None, utility: MutualInformation) -> list[Columns]:
    """Value the columns of a start, if there is one; outputs that never occur are left out."""
    if start is None:
        return []
    return [utility.columns(np.compress(start.matrix.any(axis=0), start.matrix, axis=1).T)]
