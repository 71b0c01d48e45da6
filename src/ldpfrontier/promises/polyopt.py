r"""PolyOpt, the optimal mechanism over a polyhedral envelope of the uncertainty set (lopuhaa2024, section 5).

A mechanism is in the class if all its columns v satisfy A_s(v) <= e^eps B_s'(v), with ::

    A_s(v) = (1 - S_s) max_u v_{s,u} + L_s . v_s,     B_s(v) = (1 - S_s) min_u v_{s,u} + L_s . v_s,

L the least conditional probabilities over the set and S their sums, for all pairs (s, s'), s = s' included.
Scaled to min_s B_s = 1, the columns are products of blocks (`engines.products.geometry.polytope`), of which
`engines.products.product_optimum` finds the best.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.engines.products.geometry.settings import SETTINGS as GEOMETRY
from ldpfrontier.engines.products.product_optimum import allowed_level, block_product, over_products
from ldpfrontier.engines.products.settings import SETTINGS as PRODUCTS
from ldpfrontier.engines.registry import Call, choose
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import entropy
from ldpfrontier.model.optimum import (
    NO_ERROR,
    BoundError,
    Optimum,
    certified,
    check_start,
    checked_epsilon,
    keeps_time_limit,
    records_fallbacks,
    uninformative,
)
from ldpfrontier.model.privacy import log_ratio
from ldpfrontier.numerics.arguments import as_count, as_instance, as_number
from ldpfrontier.promises.closed_forms import best_closed_form, solved_in_time
from ldpfrontier.promises.nonrobust import nonrobust_bound, optimal_nonrobust
from ldpfrontier.promises.settings import SETTINGS
from ldpfrontier.uncertainty.renyi_ball import RenyiBall

_MECHANISMS = "mechanisms private over the simplices around the projections of F (PolyOpt)"


@records_fallbacks
@keeps_time_limit
def optimal_polyopt(
    ball: RenyiBall,
    epsilon: float,
    *,
    tolerance: float = 1e-7,
    max_rounds: int = 300,
    start: Channel | None = None,
    max_seconds: float | None = None,
) -> Optimum:
    """Find PolyOpt as published, the best mechanism of its class, with a certificate.

    Every mechanism of the class satisfies (eps, F)-RLDP (lopuhaa2024, Theorem 2). `optimal_robust` without an
    envelope is the same; it can also ask for the best of all mechanisms with the guarantee.

    Parameters
    ----------
    ball, epsilon, tolerance, max_rounds, start
        As of `optimal_robust`; the start must be in the smaller class.
    max_seconds : float, optional
        As of `optimal_robust`.

    Returns
    -------
    Optimum
        As of `optimal_robust`.

    Raises
    ------
    Intractable, ValueError, ArithmeticError
        As `optimal_robust`.
    """
    return best_polyopt(checked_arguments(ball, epsilon, tolerance, max_rounds, start))


class RobustArguments(NamedTuple):
    """Arguments of robust optima, checked."""

    ball: RenyiBall
    epsilon: float
    tolerance: float
    max_rounds: int
    start: Channel | None


def checked_arguments(
    ball: RenyiBall, epsilon: float, tolerance: float, max_rounds: int, start: Channel | None
) -> RobustArguments:
    """Return the arguments of `optimal_polyopt`; refuse a table too large, and a start of the wrong size."""
    as_instance(ball, RenyiBall, "The ball")
    epsilon = checked_epsilon(epsilon, SETTINGS.max_epsilon)
    tolerance = as_number(tolerance, "tolerance", "a relative gap, 0 or more", least=0.0)
    max_rounds = as_count(max_rounds, "max_rounds", "a whole number, 1 or more", least=1)
    if start is not None:
        as_instance(start, Channel, "The start")
    check_start(start, ball.centre.size)
    if ball.centre.size > SETTINGS.max_cells:
        raise Intractable(
            f"The table has {ball.centre.shape[0]} x {ball.centre.shape[1]} cells; at most"
            f" {SETTINGS.max_cells:,} are supported, as each is a row of a linear program."
        )
    # More letters are refused by the blocks themselves.
    few = (ball.centre > 0).sum(axis=1).max() <= GEOMETRY.max_letters
    if few and (subsets := count_subsets(ball)) > SETTINGS.max_block_subsets:
        raise Intractable(
            f"The useful values that occur with a sensitive one have {subsets:,} subsets in all; at most"
            f" {SETTINGS.max_block_subsets:,} are supported, those of"
            f" {SETTINGS.max_block_subsets >> GEOMETRY.max_letters} x {GEOMETRY.max_letters} cells, as all"
            " are listed."
        )
    return RobustArguments(ball, epsilon, tolerance, max_rounds, start)


def best_polyopt(call: RobustArguments) -> Optimum:
    """Return what `optimal_polyopt` finds."""
    ball, epsilon = call.ball, call.epsilon
    if ball.radius == 0:
        return optimal_nonrobust(ball.centre, epsilon, tolerance=call.tolerance, max_rounds=call.max_rounds)
    if epsilon == 0:
        return uninformative(ball.centre.size, method=choose("closed form").method(_MECHANISMS))
    found = polyopt_in_time(call)
    if found is None:
        found = best_closed_form(ball.centre, epsilon, call.start, call.tolerance, secret=False)
        found = replace(found, method=choose("any robust").method())
    found = bounded_by_nonrobust(found, call)
    return replace(found, method=replace(found.method, mechanisms=_MECHANISMS))


def polyopt_in_time(call: RobustArguments) -> Optimum | None:
    """Return PolyOpt, or None where the time is up."""
    ball, epsilon, tolerance, max_rounds, start = call
    centre, lower = ball.centre, ball.lower_bounds
    if start is not None:
        check_class(start, lower, epsilon)
    rest = float((1.0 - lower.sum(axis=1)).min())
    if rest < SETTINGS.least_rest and lower.shape[1] > 1:
        raise Intractable(
            f"A simplex around a projection of F has the width 1 - S = {rest:.3g}; below"
            f" {SETTINGS.least_rest:g} rounding could cost privacy. A larger radius, or 0, is solved."
        )
    optimum = solved_in_time(
        lambda: _solve(centre, lower, epsilon, tolerance=tolerance, max_rounds=max_rounds, start=start),
        lambda channel: check_class(channel, lower, epsilon),
        "PolyOpt",
    )
    if optimum is None:
        return None
    value, bound, rounds = optimum.value, optimum.upper_bound, optimum.iterations
    noise = BoundError(noise=SETTINGS.bound_noise)
    found = certified(optimum.channel, value, bound, tolerance, rounds, error=noise)
    return replace(found, prices=optimum.prices, method=optimum.method)


def _solve(
    centre: FloatArray,
    lower: FloatArray,
    epsilon: float,
    *,
    tolerance: float,
    max_rounds: int,
    start: Channel | None = None,
) -> Optimum:
    """Solve PolyOpt as published (lopuhaa2024, Theorem 3), with a certificate and the prices of the bound.

    The utility is I under the estimate P-hat, `centre`, (a1, a2), rows = sensitive; `lower` has the L_{u|s},
    every row of which sums to less than one. The level is above 0; other arguments are those of `generate`,
    with the columns of a start of the class among the first. The channel has at most a1 a2 outputs.
    """
    product = block_product(lower, centre, epsilon)
    regime = choose("simplex", Call(product.centre.size, vertices=product.size))
    found = over_products(
        product,
        product,
        product.explore,
        epsilon,
        [] if start is None else [start],
        tolerance=tolerance,
        max_rounds=max_rounds if regime.name == "exact" else 1,
        refine=regime.name == "coupled",
    )
    return replace(found, method=regime.method())


def check_class(channel: Channel, lower: FloatArray, epsilon: float) -> None:
    """Raise a ValueError unless a mechanism satisfies the inequalities of PolyOpt, at a level in nats.

    Inputs (s, u) are in row-major order, and `lower` has the L_{u|s}, (a1, a2).
    """
    blocks = channel.matrix.reshape(*lower.shape, -1)
    mean = np.einsum("su,suy->sy", lower, blocks)
    rest = np.maximum(1.0 - lower.sum(axis=1), 0.0)[:, None]
    A, B = rest * blocks.max(axis=1) + mean, rest * blocks.min(axis=1) + mean
    worst = max(float(log_ratio(A.max(axis=0), B.min(axis=0)).max()), 0.0)
    if worst > allowed_level(epsilon) + PRODUCTS.level_rounding:
        raise ValueError(
            f"The start is private at level {worst:.9g} by the inequalities of its class; epsilon is"
            f" {epsilon:.9g}."
        )


def count_subsets(ball: RenyiBall) -> int:
    """Return the number of subsets of the useful values that occur with a sensitive one, over all of them."""
    occupied = (ball.centre > 0).sum(axis=1)
    return int((2 ** np.minimum(occupied, 40)).sum())


def bounded_by_nonrobust(optimum: Optimum, call: RobustArguments) -> Optimum:
    """Return an optimum with the bound of NR if that is lower."""
    centre = call.ball.centre
    # NR has the utility H(U|S) at least: below that, as usual, it need not be solved.
    if optimum.upper_bound <= entropy(centre) - entropy(centre.sum(axis=1)):
        return optimum
    bound = nonrobust_bound(centre, call.epsilon)
    if bound >= optimum.upper_bound:
        return optimum
    value, rounds = optimum.value, optimum.iterations
    found = certified(optimum.channel, value, bound, call.tolerance, rounds, error=NO_ERROR)
    return replace(found, method=optimum.method)
