r"""Optimal robustly private mechanisms: PolyOpt (lopuhaa2024, section 5), and classes with more utility.

A mechanism is (eps, F)-RLDP if no output tells two sensitive values apart by more than e^eps, for every
distribution in the uncertainty set F. With R_s the distribution of U given s, that is a condition on every
column v ::

    sum_u R_s(u) v_{s,u} <= e^eps sum_u R_s'(u) v_{s',u}   for all s != s' and all R_s, R_s' that F allows.

The classes of mechanisms here differ in which R_s, R_s' the condition is asked for: a larger set is easier to
describe and has a smaller class. The utility is I(S, U; Y) under the centre of F, and the bound of NR
(`optimal_nonrobust`) holds for all classes.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from ldpfrontier.channel import Channel
from ldpfrontier.information import entropy
from ldpfrontier.numerics.arguments import as_count, as_instance, as_number, check_choice
from ldpfrontier.optimal.closed_forms import best_closed_form, solved_in_time
from ldpfrontier.optimal.exact.joint_ascent import ascended_mechanism
from ldpfrontier.optimal.exact.separation import Oracle
from ldpfrontier.optimal.exact.settings import SETTINGS as EXACT
from ldpfrontier.optimal.exact.spatial_branch_and_bound import joint_optimum
from ldpfrontier.optimal.geometry.settings import SETTINGS as GEOMETRY
from ldpfrontier.optimal.ldp.nonrobust import nonrobust_bound, optimal_nonrobust
from ldpfrontier.optimal.polyopt.solve import allowed_level, check_class, polyopt_distinct, polyopt_published
from ldpfrontier.optimal.products.ball_family import BallFamily
from ldpfrontier.optimal.projections.budget_multiplier import check_level, shared_budget_mechanism
from ldpfrontier.optimal.projections.frontier import frontier_bound
from ldpfrontier.optimal.projections.solve import mechanism_without_bound, projected_mechanism
from ldpfrontier.optimal.registry import LIMITS, Call, choose, is_in_range
from ldpfrontier.optimal.settings import SETTINGS
from ldpfrontier.optimum import (
    Optimum,
    certified,
    check_start,
    checked_epsilon,
    fell_back,
    keeps_time_limit,
    records_fallbacks,
    uninformative,
)
from ldpfrontier.types import FloatArray, Intractable, Pairs
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from ldpfrontier.utility import MutualInformation

Envelope = Literal["simplex", "projections", "exact"]


_ENVELOPES = {"projections": "projections", "exact": "F itself"}


@records_fallbacks
@keeps_time_limit
def optimal_robust(
    ball: RenyiBall,
    epsilon: float,
    *,
    envelope: Envelope = "simplex",
    pairs: Pairs = "all",
    tolerance: float = 1e-7,
    max_rounds: int = 300,
    max_nodes: int | None = None,
    start: Channel | None = None,
    max_seconds: float | None = None,
) -> Optimum:
    r"""Find the best robustly private mechanism of a class for an uncertainty set, with a certificate.

    Without `envelope`, the class is PolyOpt as published; ``envelope="exact"`` asks for the best of all
    mechanisms with the guarantee. `Optimum.method` names the class.

    Every mechanism of every class satisfies (eps, F)-RLDP (lopuhaa2024, Theorem 2). The envelope is the set
    of pairs of conditional distributions (R_s, R_s') of U for which the privacy condition is required. A
    smaller envelope gives a larger class:

    - ``"simplex"``: every R_s lies in a simplex around its projection F_{U|s} (PolyOpt as published);
    - ``"projections"``: every R_s lies in F_{U|s} itself;
    - ``"exact"``: both belong to the same P in F; these are all mechanisms that are private.

    With ``pairs="distinct"`` the class is larger, too: its inequalities compare s with s' != s only, which
    is all that the guarantee requires. The exact envelope always has distinct pairs.

    Parameters
    ----------
    ball : RenyiBall
        The uncertainty set F around the estimate P-hat, under which the utility I(X;Y) is measured.
    epsilon : float
        Privacy level in nats, 0, or 0.001 to 30.
    envelope : {"simplex", "projections", "exact"}
    pairs : {"all", "distinct"}
        The published class, or the larger one.
    tolerance : float
        Relative gap at which to stop, 0 or more.
    max_rounds : int
        The largest number of linear programs over joint columns, or of times that columns are priced. If it
        is reached, the result has the status "bounded".
    max_nodes : int, optional
        The largest number of nodes of branch and bound, if the envelope is not the simplex. On tables of up
        to 16 cells the limit is per pricing; the default of 20,000 mostly certifies 1e-3 within seconds. On
        larger tables it is per pass over the blocks, and the default is none; 100,000 take 10 to 20 s, and
        minutes with distinct pairs. With none, the bound is that of `optimal_nonrobust`, or for projections
        that of a few nodes if it is lower. For the exact envelope on larger tables, the groups of the
        mechanism share the budget of F at a few multipliers (`projections.budget_multiplier`), and joint
        ascent improves it on tables of up to 30 cells (`exact.joint_ascent`). With nodes, there is also a
        bound on every robust mechanism that is lower than that of `optimal_nonrobust`.
    start : Channel, optional
        A mechanism of the class at this epsilon, such as the published optimum if the pairs are distinct.
        Its columns are among the first ones that are considered, so that the result is at least as good. It
        is not used, and only its size is checked, if no linear program is solved: at epsilon 0, at radius 0
        (see `optimal_nonrobust`), and with distinct pairs of one sensitive value.
    max_seconds : float, optional
        Seconds after which the best mechanism and bound found so far are returned, as "bounded"; 0 or more.

    Returns
    -------
    Optimum
        Inputs (s, u) in row-major order; at most a1 a2 outputs (lopuhaa2024, Theorem 3).

    Raises
    ------
    Intractable
        If the table has more than 1000 cells, or more than 20 useful values occur together with one
        sensitive value, or 20 of them with more than 20 sensitive values (so many subsets are listed), or the
        simplices of PolyOpt are smaller than 1e-7, as with 10^12 records.
    ValueError
        If a number is out of range, `envelope` or `pairs` is none of those named, or `start` has another
        number of inputs or is not in the class.
    ArithmeticError
        If rounding defeats the linear programs.

    Notes
    -----
    Larger classes than the published one are tried on tables of up to 30 sensitive values, and up to 2^20
    subsets of useful values in all; envelopes other than the simplex also at levels from 0.01 to 15, orders
    from 1/4 to 4 and radii from 1e-20 alone. Elsewhere the mechanism is PolyOpt, and the bound is that of
    `optimal_nonrobust`. On tables of more than 400 cells the weights of a relaxation are
    coupled into a mechanism, without column generation, and of more than 30 sensitive values distinct pairs
    add a bound alone.
    """
    as_instance(ball, RenyiBall, "The ball")
    epsilon = checked_epsilon(epsilon, SETTINGS.max_epsilon)
    tolerance = as_number(tolerance, "tolerance", "a relative gap, 0 or more", least=0.0)
    max_rounds = as_count(max_rounds, "max_rounds", "a whole number, 1 or more", least=1)
    if max_nodes is not None:
        max_nodes = as_count(max_nodes, "max_nodes", "a whole number, 0 or more")
    _check_choices(ball, envelope, pairs, start)
    distinct = pairs == "distinct" or envelope == "exact"
    mechanisms = _mechanisms(envelope, pairs)
    if distinct and ball.centre.shape[0] == 1:
        # With one sensitive value there is nothing to hide: the identity is best.
        h = entropy(ball.centre)
        method = choose("no secret").method(mechanisms)
        return certified(Channel(np.eye(ball.centre.size)), h, h, tolerance, method=method)
    if ball.radius == 0:
        return optimal_nonrobust(ball.centre, epsilon, tolerance=tolerance, max_rounds=max_rounds)
    if epsilon == 0:
        return uninformative(ball.centre.size, method=choose("no information").method(mechanisms))
    if envelope == "simplex":
        if start is not None:
            check_class(start, ball.lower_bounds, epsilon, distinct=distinct)
    else:
        if start is not None:
            check_level(start, ball, epsilon, envelope)
        if _envelope_is_tried(ball, epsilon):
            optimum = solved_in_time(
                lambda: _beyond_simplex(
                    ball, epsilon, envelope, distinct, tolerance, max_rounds, max_nodes, start
                ),
                lambda channel: check_level(channel, ball, epsilon, envelope),
                f"The class of {_ENVELOPES[envelope]}",
            )
            if optimum is not None:
                return replace(optimum, method=replace(optimum.method, mechanisms=mechanisms))
        else:
            fell_back(
                f"PolyOpt in place of {_ENVELOPES[envelope]}, as radius, level, order or size is out of range"
            )
    found = _within_simplex(ball, epsilon, envelope == "simplex", distinct, tolerance, max_rounds, start)
    found = _bounded_by_nonrobust(found, ball.centre, epsilon, tolerance)
    return replace(found, method=replace(found.method, mechanisms=mechanisms))


def _check_choices(ball: RenyiBall, envelope: str, pairs: str, start: Channel | None) -> None:
    """Refuse a start of the wrong size, an unknown envelope or kind of pairs, and a table too large."""
    if start is not None:
        as_instance(start, Channel, "The start")
    check_start(start, ball.centre.size)
    check_choice(pairs, "pairs", get_args(Pairs))
    check_choice(envelope, "envelope", get_args(Envelope))
    if ball.centre.size > SETTINGS.max_cells:
        raise Intractable(
            f"The table has {ball.centre.shape[0]} x {ball.centre.shape[1]} cells; at most"
            f" {SETTINGS.max_cells:,} are supported, as each is a row of a linear program."
        )
    # More letters are refused by the blocks themselves.
    few = (ball.centre > 0).sum(axis=1).max() <= GEOMETRY.max_letters
    if few and (subsets := _count_subsets(ball)) > SETTINGS.max_block_subsets:
        raise Intractable(
            f"The useful values that occur with a sensitive one have {subsets:,} subsets in all; at most"
            f" {SETTINGS.max_block_subsets:,} are supported, those of"
            f" {SETTINGS.max_block_subsets >> GEOMETRY.max_letters} x {GEOMETRY.max_letters} cells, as all"
            " are listed."
        )


def _larger_classes_are_tried(ball: RenyiBall) -> bool:
    """Tell whether a table is small enough for more than the published class."""
    return len(ball.centre) <= LIMITS.max_sensitive and _count_subsets(ball) <= LIMITS.max_subsets


def _count_subsets(ball: RenyiBall) -> int:
    """Return the number of subsets of the useful values that occur with a sensitive one, over all of them."""
    occupied = (ball.centre > 0).sum(axis=1)
    return int((2 ** np.minimum(occupied, 40)).sum())


def _envelope_is_tried(ball: RenyiBall, epsilon: float) -> bool:
    """Tell whether table, radius, level and order allow for another envelope than the simplex."""
    return is_in_range(ball.radius, ball.order, epsilon) and _larger_classes_are_tried(ball)


def _within_simplex(
    ball: RenyiBall,
    epsilon: float,
    polyopt_asked: bool,
    distinct: bool,
    tolerance: float,
    max_rounds: int,
    start: Channel | None,
) -> Optimum:
    """Solve PolyOpt, or return the best mechanism that is known to be in the class.

    Parameters
    ----------
    polyopt_asked : bool
        Whether the class asked for is that of PolyOpt, whose bound then holds; `start` is of that class.
    """
    centre = ball.centre
    tall = centre.size > LIMITS.max_master_cells and _count_subsets(ball) <= LIMITS.max_subsets
    tried = tall or _larger_classes_are_tried(ball)
    polyopt = _polyopt(
        ball, epsilon, distinct and tried, tolerance, max_rounds, start if polyopt_asked else None
    )
    if distinct and not tried:
        fell_back("all pairs in place of distinct ones, as the table is too large for these")
    if polyopt is not None and polyopt_asked and (tried or not distinct):
        return polyopt
    known = [q for q in (start, None if polyopt is None else polyopt.channel) if q is not None]
    best = max(known, key=MutualInformation(centre), default=None)
    found = best_closed_form(centre, epsilon, best, tolerance, secret=distinct)
    return replace(found, method=choose("any robust").method() if polyopt is None else polyopt.method)


def _bounded_by_nonrobust(optimum: Optimum, centre: FloatArray, epsilon: float, tolerance: float) -> Optimum:
    """Return an optimum with the bound of NR if that is lower."""
    # NR has the utility H(U|S) at least: below that, as usual, it need not be solved.
    if optimum.upper_bound <= entropy(centre) - entropy(centre.sum(axis=1)):
        return optimum
    bound = nonrobust_bound(centre, epsilon)
    if bound >= optimum.upper_bound:
        return optimum
    found = certified(optimum.channel, optimum.value, bound, tolerance, optimum.iterations, error=0.0)
    return replace(found, method=optimum.method)


def _polyopt(
    ball: RenyiBall, epsilon: float, distinct: bool, tolerance: float, max_rounds: int, start: Channel | None
) -> Optimum | None:
    """Return PolyOpt, or None where the time is up."""
    centre, lower = ball.centre, ball.lower_bounds
    rest = float((1.0 - lower.sum(axis=1)).min())
    if rest < SETTINGS.least_rest and lower.shape[1] > 1:
        raise Intractable(
            f"A simplex around a projection of F has the width 1 - S = {rest:.3g}; below"
            f" {SETTINGS.least_rest:g} rounding could cost privacy. A larger radius, or 0, is solved."
        )
    polyopt = polyopt_distinct if distinct else polyopt_published
    optimum = solved_in_time(
        lambda: polyopt(centre, lower, epsilon, tolerance=tolerance, max_rounds=max_rounds, start=start),
        lambda channel: check_class(channel, lower, epsilon, distinct=distinct),
        f"PolyOpt, {'distinct' if distinct else 'all'} pairs",
    )
    if optimum is None:
        return None
    value, bound, rounds = optimum.value, optimum.upper_bound, optimum.iterations
    found = certified(optimum.channel, value, bound, tolerance, rounds, noise=SETTINGS.bound_noise)
    return replace(found, prices=optimum.prices, method=optimum.method)


def _beyond_simplex(
    ball: RenyiBall,
    epsilon: float,
    envelope: Literal["projections", "exact"],
    distinct: bool,
    tolerance: float,
    max_rounds: int,
    max_nodes: int | None,
    start: Channel | None,
) -> Optimum:
    """Solve the class of the projections or of F itself: by blocks, then jointly on small tables."""
    regime = choose(_ENVELOPES[envelope], Call(ball.centre.size))
    margin = SETTINGS.epsilon_margin
    products = BallFamily(ball, epsilon * (1.0 - margin), distinct=distinct, margin=margin)
    nodes, bound = 0 if max_nodes is None else max_nodes, math.inf
    if regime.name == "joint":
        # Small tables have a bound of their own.
        channel, _ = mechanism_without_bound(
            products, tolerance=tolerance, max_rounds=max_rounds, start=start
        )
        found = joint_optimum(
            ball,
            epsilon,
            envelope=envelope,
            pairs="distinct" if distinct else "all",
            tolerance=max(tolerance, EXACT.joint_tolerance),
            max_nodes=EXACT.joint_nodes if max_nodes is None else max_nodes,
            start=channel,
        )
        return replace(found, method=regime.method())
    if envelope == "projections":
        channel, bound, rounds = projected_mechanism(
            products, tolerance=tolerance, max_rounds=max_rounds, max_nodes=nodes, start=start
        )
    else:
        few = regime.name == "ascent"
        channel, rounds = _over_f(ball, products, few, tolerance, max_rounds, start)
        if few:
            channel = _ascended(ball, products.epsilon, channel)
        bound = frontier_bound(ball, epsilon, nodes, choose_shares=few) if nodes > 0 else math.inf
    value = MutualInformation(ball.centre)(channel)
    bound = min(bound, nonrobust_bound(ball.centre, epsilon))
    return certified(channel, value, bound, tolerance, rounds, error=0.0, method=regime.method())


def _over_f(
    ball: RenyiBall, products: BallFamily, few: bool, tolerance: float, max_rounds: int, start: Channel | None
) -> tuple[Channel, int]:
    """Return a good mechanism private over F, and the rounds; `products` are those over the projections.

    With few cells, of which an ascent follows, columns over the projections are found for themselves first:
    it starts from more of them. Otherwise they are those at the multiplier 0, beside the others.
    """
    first, before = None, 0
    if ball.order < 1.0:
        # There a bound is computed, which does not hold over F, for the vertices that its nodes find.
        first, _, before = projected_mechanism(
            products, tolerance=tolerance, max_rounds=max_rounds, max_nodes=0, start=start
        )
    elif few:
        first, before = mechanism_without_bound(
            products, tolerance=tolerance, max_rounds=max_rounds, start=start
        )
    found = shared_budget_mechanism(
        ball,
        products.epsilon,
        tolerance=tolerance,
        max_rounds=max_rounds,
        start=start if first is None else first,
        with_zero=first is None,
    )
    if found is not None:
        return found[0], before + found[1]
    fell_back("the projections of F in place of F itself, as no program with a price of the budget succeeded")
    if first is not None:
        return first, before
    return mechanism_without_bound(products, tolerance=tolerance, max_rounds=max_rounds, start=start)


def _ascended(ball: RenyiBall, epsilon: float, channel: Channel) -> Channel:
    """Return a better mechanism private over F by joint ascent, or the one given."""
    found = ascended_mechanism(Oracle(ball, epsilon), channel)
    # Rounding may put columns beyond the level, and never costs what there was.
    if ball.worst_case_epsilon(found) <= allowed_level(epsilon):
        return found
    fell_back("the shared budget without joint ascent, whose mechanism is beyond the level by rounding")
    return channel


def _mechanisms(envelope: str, pairs: str) -> str:
    """Return the class of mechanisms in words."""
    over = {
        "simplex": "mechanisms private over the simplices around the projections of F (PolyOpt)",
        "projections": "mechanisms private over the projections of F",
        "exact": "all mechanisms private over F",
    }[envelope]
    compared = "" if envelope == "exact" else f", {pairs} pairs"
    return f"{over}{compared}"
