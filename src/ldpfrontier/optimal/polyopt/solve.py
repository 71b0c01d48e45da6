r"""PolyOpt, the optimal mechanism over a polyhedral envelope of the uncertainty set (lopuhaa2024, section 5).

A mechanism is in the class if all its columns v satisfy A_s(v) <= e^eps B_s'(v), with ::

    A_s(v) = (1 - S_s) max_u v_{s,u} + L_s . v_s,     B_s(v) = (1 - S_s) min_u v_{s,u} + L_s . v_s,

L the least conditional probabilities over the set and S their sums, for all pairs (s, s') in the class as
published, and for s != s' only in the class of *distinct pairs*, which has the same guarantee. Scaled to
min_s B_s = 1, the columns of all pairs are products of blocks (`geometry.polytope`); those of distinct pairs
are such products for every special value s0, that of the least B, and every delta (`distinct_pairs`).

The rays of both cones are products of block vertices, too many to list. Three steps avoid that:

1. **Decomposition** (`products.decomposition`): an upper bound with its duals, from one small LP.
2. **Coupling**: the block weights of that LP are coupled into columns: a mechanism.
3. **Column generation** over the joint columns from that start, where the coupling leaves a gap: to the exact
   optimum on small tables (`smoothed`), near the best duals on larger ones (`proximal_bundle`), where the
   decomposition is refined first.

With distinct pairs on larger tables the third step and a search of all deltas for more products take turns.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np

from ldpfrontier.channel import Channel
from ldpfrontier.information import entropy
from ldpfrontier.mechanisms import secret_randomized_response
from ldpfrontier.numerics.deadline import TimeIsUp, check_time, time_is_up
from ldpfrontier.optimal.column_generation.proximal_bundle import Proximal, generate_proximal
from ldpfrontier.optimal.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.optimal.column_generation.smoothed import basic_channel, generate
from ldpfrontier.optimal.geometry.polytope import Block
from ldpfrontier.optimal.geometry.vertex_list import VertexList
from ldpfrontier.optimal.ldp.nonrobust import nonrobust_bound
from ldpfrontier.optimal.polyopt.distinct_pairs import DistinctPairsFamily
from ldpfrontier.optimal.polyopt.settings import SETTINGS
from ldpfrontier.optimal.products.decomposition import Decomposition
from ldpfrontier.optimal.products.pricing import BlockProduct, ProductFamily
from ldpfrontier.optimal.products.pricing_error import pricing_error
from ldpfrontier.optimal.products.settings import SETTINGS as PRODUCTS
from ldpfrontier.optimal.registry import LIMITS, Call, choose
from ldpfrontier.optimum import Optimum, certified, fell_back, one_line, recorded_failure
from ldpfrontier.privacy import log_ratio
from ldpfrontier.types import FloatArray
from ldpfrontier.utility import Columns, MutualInformation, SublinearUtility


def allowed_level(epsilon: float) -> float:
    """Return the privacy level that a start for `epsilon` may have, rounding included, in nats."""
    return epsilon + SETTINGS.start_rounding * min(1.0, epsilon)


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
    if distinct:
        # Of all s' != s the least B is the least of all, or the second least where that is the one of s.
        least = np.sort(B, axis=0)[:2]
        B = np.where(np.arange(len(B))[:, None] == B.argmin(axis=0), least[1], least[0])
    else:
        A, B = A.max(axis=0), B.min(axis=0)
    if (worst := max(float(log_ratio(A, B).max()), 0.0)) > allowed_level(epsilon) + SETTINGS.level_rounding:
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
        Channel with at most a1 a2 outputs, inputs in row-major order, and the prices of the bound.
    """
    utility = MutualInformation(centre)
    blocks = list[VertexList]()
    for L, P in zip(lower, centre, strict=True):
        check_time()
        blocks.append(Block(L, P, epsilon))
    product = BlockProduct(blocks, centre)
    return _published(product, epsilon, utility, start, tolerance, max_rounds)


def _published(
    product: BlockProduct,
    epsilon: float,
    utility: MutualInformation,
    start: Channel | None,
    tolerance: float,
    max_rounds: int,
) -> Optimum:
    """Return the optimum of PolyOpt as published, with the prices of its bound."""
    regime = choose("simplex, all pairs", Call(product.centre.size, vertices=product.size))
    tall = regime.name == "coupled"
    decomposition = Decomposition(product, epsilon, SETTINGS.max_simplex_work if tall else math.inf)
    fine = max(PRODUCTS.finest_gap, GENERATION.inner_share * tolerance)
    found = None
    if not tall:
        # Where the time is up before a restricted master is solved, there is the coupling.
        with suppress(TimeIsUp):
            found = _generated(
                product,
                decomposition,
                utility,
                start,
                fine,
                tolerance,
                max_rounds,
                proximal=regime.name == "proximal",
            )
    if found is None:
        found = _coupled(product, decomposition, utility, start, fine, tolerance)
    return replace(found, method=regime.method())


def _generated(
    product: BlockProduct,
    decomposition: Decomposition,
    utility: MutualInformation,
    start: Channel | None,
    fine: float,
    tolerance: float,
    max_rounds: int,
    *,
    proximal: bool,
) -> Optimum:
    """Return the optimum by column generation from a decomposition, with the prices of its bound."""
    share, error = GENERATION.inner_share, partial(pricing_error, [product])
    first = start_columns(start, utility)
    if proximal:
        aim = max(tolerance, GENERATION.finest_gap)
        duals = decomposition.solve(product.explore, gap=max(SETTINGS.start_gap, fine)).ravel()
        if decomposition.coupling_loss() <= aim:
            duals = decomposition.solve(product.explore, gap=fine).ravel()
            first.append(decomposition.columns())
            found = generate_proximal(
                product, Columns.join(first), utility, [duals], tolerance=tolerance, max_rounds=1, error=error
            )
            if found.gap <= aim or max_rounds == 1:
                return found
        first.append(decomposition.columns())
        with recorded_failure("more rounds without a refinement", RuntimeError):
            duals = decomposition.refine(gap=share * aim).ravel()
            first.append(decomposition.columns())
        return generate_proximal(
            product,
            Columns.join(first),
            utility,
            [duals],
            tolerance=tolerance,
            max_rounds=max_rounds,
            error=error,
        )
    duals = decomposition.solve(product.explore, gap=fine).ravel()
    columns = Columns.join([decomposition.columns(), *first])
    product.resolution = share * tolerance * float(duals.sum())
    return generate(
        product,
        columns,
        utility,
        tolerance=tolerance,
        max_rounds=max_rounds,
        stable_duals=duals,
        error=error,
    )


def _coupled(
    product: BlockProduct,
    decomposition: Decomposition,
    utility: MutualInformation,
    start: Channel | None,
    gap: float,
    tolerance: float,
) -> Optimum:
    """Return the mechanism of the coupling, without a restricted master, with the prices of its bound.

    A dense program of so many rows takes minutes, and of so many values little is lost in coupling.
    """
    duals = decomposition.solve(product.explore, gap=gap).ravel()
    bound, noise = min(float(duals.sum()), entropy(product.centre)), pricing_error([product], duals)
    channels = [] if start is None else [start]
    channels.append(basic_channel(*decomposition.weighted_columns()))
    best, aim = max(channels, key=utility), max(tolerance, GENERATION.finest_gap)
    if bound - utility(best) > aim * bound and not time_is_up():
        errors = ArithmeticError, RuntimeError, ValueError
        with recorded_failure("the coupling before its refinement", *errors):
            refined = decomposition.refine(gap=GENERATION.inner_share * aim).ravel()
            product.resolution = GENERATION.inner_share * aim * bound
            excess = product.price(refined, 0)[0]
            raised = refined + excess * product.scale
            noise = max(noise, pricing_error([product], raised))
            if raised.sum() < duals.sum():
                duals = raised
            bound = min(bound, float(refined.sum()) + excess)
            best = max(best, basic_channel(*decomposition.weighted_columns()), key=utility)
    return replace(certified(best, utility(best), bound, tolerance, noise=noise), prices=duals)


def polyopt_distinct(
    centre: FloatArray,
    lower: FloatArray,
    epsilon: float,
    *,
    tolerance: float,
    max_rounds: int,
    start: Channel | None = None,
) -> Optimum:
    """Solve PolyOpt over distinct pairs, with a certificate.

    Arguments and result are those of `polyopt_published`. Beyond `max_exact_vertices` block vertices the gap
    aimed at is the `finest_gap` of column generation or more.
    """
    utility = MutualInformation(centre)
    family = DistinctPairsFamily(centre, lower, epsilon)
    call, cone = Call(centre.size, sensitive=len(centre)), "simplex, distinct pairs"
    if (regime := choose(cone, call)).name == "all pairs":
        found = _distinct_from_all_pairs(family, epsilon, utility, start, tolerance)
        return replace(found, method=regime.method())
    all_pairs, first = family.all_pairs, start_columns(start, utility)
    # Without critical deltas inside (0, epsilon) there is a product per special value and no interval.
    kept = all_pairs.size <= LIMITS.max_kept_vertices
    intervals = kept and any(len(x) != 2 for x in family.deltas)
    regime = choose(cone, replace(call, vertices=all_pairs.size, intervals=intervals))
    if regime.name == "in turns":
        found = _in_turns(family, epsilon, utility, start, tolerance, max_rounds)
        return replace(found, method=regime.method())
    decomposition = Decomposition(all_pairs, epsilon)
    decomposition.solve(all_pairs.explore)
    duals = decomposition.solve(family.search, gap=SETTINGS.start_gap).ravel()
    family.resolution = GENERATION.inner_share * tolerance * float(duals.sum())
    try:
        found = generate(
            family,
            Columns.join([decomposition.columns(), *first]),
            utility,
            tolerance=tolerance,
            max_rounds=max_rounds,
            stable_duals=duals,
            smoothing=(0.0,) if regime.name == "exact" else GENERATION.smoothing,
            error=family.error,
        )
    except TimeIsUp:  # the coupling needs no restricted master
        channels = [basic_channel(*decomposition.weighted_columns()), *([] if start is None else [start])]
        best, noise = max(channels, key=utility), family.error(duals)
        found = certified(best, utility(best), float(duals.sum()), tolerance, noise=noise)
    return replace(found, method=regime.method())


def _distinct_from_all_pairs(
    family: DistinctPairsFamily,
    epsilon: float,
    utility: MutualInformation,
    start: Channel | None,
    tolerance: float,
) -> Optimum:
    """Return the best mechanism of all pairs, with a bound on those of distinct pairs at its duals.

    Every sensitive value has products of its own, whose programs have a row for every other one.
    """
    optimum = _published(family.all_pairs, epsilon, utility, None, tolerance, 1)
    duals = optimum.prices
    a1, a2 = family.centre.shape
    channels = [optimum.channel, secret_randomized_response(a1, a2, epsilon)]
    best = max([*channels, *([] if start is None else [start])], key=utility)
    try:
        excess = family.search_by_tangents(duals, tolerance * optimum.value)
    except TimeIsUp:
        return _bounded_by_nonrobust(best, family, tolerance)
    noise = family.error(duals + excess * family.scale)
    bound = min(float(duals.sum()) + excess, entropy(family.centre))
    return certified(best, utility(best), bound, tolerance, noise=noise)


def _bounded_by_nonrobust(channel: Channel, family: DistinctPairsFamily, tolerance: float) -> Optimum:
    """Return a mechanism with the bound of NR."""
    value, bound = MutualInformation(family.centre)(channel), nonrobust_bound(family.centre, family.epsilon)
    return certified(channel, value, bound, tolerance, error=0.0)


def _in_turns(
    family: DistinctPairsFamily,
    epsilon: float,
    utility: MutualInformation,
    start: Channel | None,
    tolerance: float,
    max_rounds: int,
) -> Optimum:
    """Solve PolyOpt over distinct pairs on a large table, by column generation over the products in use.

    In turns, all deltas are searched at the best duals for products to add, which bounds all columns, and
    columns are generated. That starts from the optimum of all pairs, and as long as hardly anything is lost
    in coupling, the decomposition gives duals and columns to go on from.
    """
    aim = max(tolerance, GENERATION.finest_gap)
    all_pairs, first = family.all_pairs, start_columns(start, utility)
    used, bound = ProductFamily([all_pairs]), math.inf
    decomposition = Decomposition(all_pairs, epsilon)
    decomposition.solve(all_pairs.explore, gap=SETTINGS.start_gap)
    if decomposable := decomposition.coupling_loss() <= SETTINGS.start_gap:
        duals = decomposition.solve(all_pairs.explore).ravel()
        first.append(decomposition.columns())
    else:
        optimum = _published(all_pairs, epsilon, utility, None, tolerance, max_rounds)
        duals = optimum.prices
        first += start_columns(optimum.channel, utility)
    generation = Proximal(used, Columns.join(first), utility)
    try:
        optimum = generation.improve([duals], tolerance=tolerance, max_rounds=max_rounds)
    except TimeIsUp:  # the coupling needs no restricted master
        channel = basic_channel(*decomposition.weighted_columns()) if decomposable else optimum.channel
        best = max([channel, *([] if start is None else [start])], key=utility)
        return _bounded_by_nonrobust(best, family, tolerance)
    duals = optimum.prices
    rounds = optimum.iterations
    # What the search may leave open is little of what the columns are generated to.
    slack_share = GENERATION.inner_share * 0.5 * aim
    for _ in range(SETTINGS.max_searches):
        enough = (1.0 + aim) * optimum.value - float(duals.sum())
        excess, products = family.search(duals, slack_share * optimum.value, enough)
        noise = family.error(duals + excess * family.scale)
        bound = min(bound, float(duals.sum()) + excess + noise)
        if bound - optimum.value <= aim * optimum.value or rounds >= max_rounds:
            break
        used.members += [product for product in products if product not in used.members]
        # Half of the tolerance is for the columns, half for the products to come.
        starts, left = [duals], max(0.5 * aim, GENERATION.inner_share * min(excess / optimum.value, 1.0))
        if decomposable:
            with recorded_failure("more rounds without the duals of a decomposition", RuntimeError):
                gap = GENERATION.inner_share * left
                starts.append(decomposition.solve(used.explore, gap=gap).ravel())
                generation.add(decomposition.columns())
                decomposable = decomposition.coupling_loss() <= SETTINGS.start_gap
        try:
            optimum = generation.improve(starts, tolerance=left, max_rounds=max_rounds - rounds)
        except RuntimeError as error:  # the bound and the mechanism so far hold
            fell_back(f"the bound and the mechanism so far, as a program failed: {one_line(error)}")
            break
        duals = optimum.prices
        rounds += optimum.iterations
    return certified(optimum.channel, optimum.value, bound, tolerance, rounds)


def start_columns(start: Channel | None, utility: SublinearUtility) -> list[Columns]:
    """Return the columns of a start with their values, without outputs that never occur; [] for no start."""
    if start is None:
        return []
    return [utility.columns(np.compress(start.matrix.any(axis=0), start.matrix, axis=1).T)]
