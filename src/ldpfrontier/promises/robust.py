r"""Optimal robustly private mechanisms: PolyOpt (lopuhaa2024, section 5), and the optimum over F itself.

A mechanism is (eps, F)-RLDP if no output tells two sensitive values apart by more than e^eps, for every
distribution in the uncertainty set F. With R_s the distribution of U given s, that is a condition on every
column v ::

    sum_u R_s(u) v_{s,u} <= e^eps sum_u R_s'(u) v_{s',u}   for all s != s' and all R_s, R_s' that F allows.

PolyOpt asks it of all R_s in simplices around those of F, and of s' = s as well: that is easier to describe,
and has a smaller class of mechanisms. The utility is I(S, U; Y) under the centre of F, and the bound of NR
(`optimal_nonrobust`) holds for both classes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple, get_args

import numpy as np

from ldpfrontier.base.types import Intractable
from ldpfrontier.engines.joint.separation import Oracle
from ldpfrontier.engines.joint.settings import SETTINGS as JOINT
from ldpfrontier.engines.joint.spatial_branch_and_bound import joint_optimum, searched_mechanism
from ldpfrontier.engines.over_set.ball_family import BallFamily
from ldpfrontier.engines.products.geometry.settings import SETTINGS as GEOMETRY
from ldpfrontier.engines.products.product_optimum import allowed_level, check_class, polyopt
from ldpfrontier.engines.projections.budget_multiplier import check_level, shared_budget_mechanism
from ldpfrontier.engines.projections.frontier import frontier_bound
from ldpfrontier.engines.projections.solve import mechanism_without_bound
from ldpfrontier.engines.registry import LIMITS, Call, choose, is_in_range
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import entropy
from ldpfrontier.model.optimum import (
    Optimum,
    certified,
    check_start,
    checked_epsilon,
    fell_back,
    keeps_time_limit,
    records_fallbacks,
    uninformative,
)
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.numerics.arguments import as_count, as_instance, as_number, check_choice
from ldpfrontier.promises.closed_forms import best_closed_form, solved_in_time
from ldpfrontier.promises.nonrobust import nonrobust_bound, optimal_nonrobust
from ldpfrontier.promises.settings import SETTINGS
from ldpfrontier.uncertainty.renyi_ball import RenyiBall

Envelope = Literal["simplex", "exact"]

_MECHANISMS = {
    "simplex": "mechanisms private over the simplices around the projections of F (PolyOpt)",
    "exact": "all mechanisms private over F",
}


@records_fallbacks
@keeps_time_limit
def optimal_robust(
    ball: RenyiBall,
    epsilon: float,
    *,
    envelope: Envelope = "simplex",
    tolerance: float = 1e-7,
    max_rounds: int = 300,
    max_nodes: int | None = None,
    start: Channel | None = None,
    max_seconds: float | None = None,
) -> Optimum:
    r"""Find the best robustly private mechanism for an uncertainty set, with a certificate.

    Without `envelope`, that is PolyOpt as published; ``envelope="exact"`` asks for the best of all mechanisms
    with the guarantee. `Optimum.method` names the class. Every mechanism of either class satisfies
    (eps, F)-RLDP (lopuhaa2024, Theorem 2).

    Parameters
    ----------
    ball : RenyiBall
        The uncertainty set F around the estimate P-hat, under which the utility I(X;Y) is measured.
    epsilon : float
        Privacy level in nats, 0, or 0.001 to 30.
    envelope : {"simplex", "exact"}
        Whether the privacy condition is required of all R_s in a simplex around those of F, or of those of F.
    tolerance : float
        Relative gap at which to stop, 0 or more; over F on tables of up to 16 cells 1e-4 or more.
    max_rounds : int
        The largest number of linear programs over joint columns, or of times that columns are priced. If it
        is reached, the result has the status "bounded".
    max_nodes : int, optional
        The largest number of nodes of branch and bound, if the envelope is exact. On tables of up to 16 cells
        the limit is per pricing; the default of 20,000 mostly certifies 1e-3 within seconds. On larger tables
        it is per pass over the blocks of a bound on every robust mechanism (`robust_bound`); the default is
        none, and the bound that of `optimal_nonrobust`; 100,000 take minutes. The groups of the mechanism
        there share the budget of F at a few multipliers (`engines.projections.budget_multiplier`), and a
        search for joint columns follows on tables of up to 30 cells.
    start : Channel, optional
        A mechanism of the class at this epsilon, such as PolyOpt if the envelope is exact. Its columns are
        among the first ones that are considered, so that the result is at least as good. It is not used, and
        only its size is checked, if no linear program is solved: at epsilon 0, at radius 0 (see
        `optimal_nonrobust`), and over F with one sensitive value.
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
        If a number is out of range, `envelope` is none of those named, or `start` has another number of
        inputs or is not in the class.
    ArithmeticError
        If rounding defeats the linear programs.

    Notes
    -----
    The exact envelope is tried on tables of up to 60 sensitive values and 2^22 subsets of useful values in
    all, at levels from 0.01 to 15, orders from 1/4 to 4 and radii from 1e-20. Elsewhere the mechanism is
    PolyOpt, and the bound is that of `optimal_nonrobust`. On tables of more than 400 cells the weights of a
    relaxation are coupled into PolyOpt, without column generation.
    """
    as_instance(ball, RenyiBall, "The ball")
    epsilon = checked_epsilon(epsilon, SETTINGS.max_epsilon)
    tolerance = as_number(tolerance, "tolerance", "a relative gap, 0 or more", least=0.0)
    max_rounds = as_count(max_rounds, "max_rounds", "a whole number, 1 or more", least=1)
    if max_nodes is not None:
        max_nodes = as_count(max_nodes, "max_nodes", "a whole number, 0 or more")
    _check_choices(ball, envelope, start)
    cells, closed_form = ball.centre.size, choose("closed form").method(_MECHANISMS[envelope])
    if envelope == "exact" and len(ball.centre) == 1:  # nothing to hide: the identity is best
        h = entropy(ball.centre)
        return certified(Channel(np.eye(cells)), h, h, tolerance, method=closed_form)
    if ball.radius == 0:
        return optimal_nonrobust(ball.centre, epsilon, tolerance=tolerance, max_rounds=max_rounds)
    if epsilon == 0:
        return uninformative(cells, method=closed_form)
    call = _Arguments(ball, epsilon, tolerance, max_rounds, max_nodes, start)
    found = _polyopt(call) if envelope == "simplex" else _over_set(call)
    if found is None:
        found = best_closed_form(ball.centre, epsilon, start, tolerance, secret=envelope == "exact")
        found = replace(found, method=choose("any robust").method())
    found = _bounded_by_nonrobust(found, call)
    return replace(found, method=replace(found.method, mechanisms=_MECHANISMS[envelope]))


class _Arguments(NamedTuple):
    """The arguments of `optimal_robust`, checked."""

    ball: RenyiBall
    epsilon: float
    tolerance: float
    max_rounds: int
    max_nodes: int | None
    start: Channel | None


def _check_choices(ball: RenyiBall, envelope: str, start: Channel | None) -> None:
    """Refuse a start of the wrong size, an unknown envelope, and a table too large."""
    if start is not None:
        as_instance(start, Channel, "The start")
    check_start(start, ball.centre.size)
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


def _count_subsets(ball: RenyiBall) -> int:
    """Return the number of subsets of the useful values that occur with a sensitive one, over all of them."""
    occupied = (ball.centre > 0).sum(axis=1)
    return int((2 ** np.minimum(occupied, 40)).sum())


def _bounded_by_nonrobust(optimum: Optimum, call: _Arguments) -> Optimum:
    """Return an optimum with the bound of NR if that is lower."""
    centre = call.ball.centre
    # NR has the utility H(U|S) at least: below that, as usual, it need not be solved.
    if optimum.upper_bound <= entropy(centre) - entropy(centre.sum(axis=1)):
        return optimum
    bound = nonrobust_bound(centre, call.epsilon)
    if bound >= optimum.upper_bound:
        return optimum
    found = certified(optimum.channel, optimum.value, bound, call.tolerance, optimum.iterations, error=0.0)
    return replace(found, method=optimum.method)


def _polyopt(call: _Arguments) -> Optimum | None:
    """Return PolyOpt, or None where the time is up."""
    ball, epsilon, tolerance, max_rounds, _, start = call
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
        lambda: polyopt(centre, lower, epsilon, tolerance=tolerance, max_rounds=max_rounds, start=start),
        lambda channel: check_class(channel, lower, epsilon),
        "PolyOpt",
    )
    if optimum is None:
        return None
    value, bound, rounds = optimum.value, optimum.upper_bound, optimum.iterations
    found = certified(optimum.channel, value, bound, tolerance, rounds, noise=SETTINGS.bound_noise)
    return replace(found, prices=optimum.prices, method=optimum.method)


def _over_set(call: _Arguments) -> Optimum | None:
    """Return the optimum over F itself, or where it is not tried what is known; None where the time is up."""
    ball, epsilon, start = call.ball, call.epsilon, call.start
    if start is not None:
        check_level(start, ball, epsilon)
    subsets = _count_subsets(ball)
    small = len(ball.centre) <= LIMITS.max_sensitive and subsets <= LIMITS.max_subsets
    if small and is_in_range(ball.radius, ball.order, epsilon):
        regime = choose("F itself", Call(ball.centre.size))
        solve = _jointly if regime.name == "joint" else _by_products
        found = solved_in_time(
            lambda: solve(call), lambda channel: check_level(channel, ball, epsilon), "The class of F itself"
        )
        return None if found is None else replace(found, method=regime.method())
    fell_back("PolyOpt in place of F itself, as radius, level, order or size is out of range")
    optimum = _polyopt(call._replace(start=None))
    if optimum is None:
        return None
    known = [optimum.channel, *([] if start is None else [start])]
    best = max(known, key=MutualInformation(ball.centre))
    found = best_closed_form(ball.centre, epsilon, best, call.tolerance, secret=True)
    return replace(found, method=optimum.method)


def _jointly(call: _Arguments) -> Optimum:
    """Return the optimum over F on a small table, of joint columns."""
    # Without the columns of products to start from, a random 2 x 8 table of 200 records loses some percent.
    start, _ = _over_projections(call)
    return joint_optimum(
        call.ball,
        call.epsilon,
        tolerance=max(call.tolerance, JOINT.joint_tolerance),
        max_nodes=JOINT.joint_nodes if call.max_nodes is None else call.max_nodes,
        start=start,
        known_bound=nonrobust_bound(call.ball.centre, call.epsilon),
    )


def _by_products(call: _Arguments) -> Optimum:
    """Return a good mechanism over F on a larger table, of product columns, with the bound asked for."""
    ball, epsilon, tolerance, max_rounds, max_nodes, start = call
    inside = epsilon * (1.0 - SETTINGS.epsilon_margin)
    found = shared_budget_mechanism(ball, inside, tolerance=tolerance, max_rounds=max_rounds, start=start)
    if found is None:
        fell_back(
            "the projections of F in place of F itself, as no program with a price of the budget succeeded"
        )
        found = _over_projections(call)
    channel, rounds = found
    if ball.centre.size <= LIMITS.max_search_cells:
        better = searched_mechanism(Oracle(ball, inside), channel)
        # Rounding may put columns beyond the level, and never costs what there was.
        if ball.worst_case_epsilon(better) <= allowed_level(inside):
            channel = better
        else:
            fell_back("the shared budget without a search, whose mechanism is beyond the level by rounding")
    bound = nonrobust_bound(ball.centre, epsilon)
    if max_nodes:
        bound = min(bound, frontier_bound(ball, epsilon, max_nodes))
    value = MutualInformation(ball.centre)(channel)
    return certified(channel, value, bound, tolerance, rounds, error=0.0)


def _over_projections(call: _Arguments) -> tuple[Channel, int]:
    """Return a good mechanism of product columns over the projections of F, and the rounds."""
    products = BallFamily(call.ball, call.epsilon * (1.0 - SETTINGS.epsilon_margin), distinct=True)
    return mechanism_without_bound(
        products, tolerance=call.tolerance, max_rounds=call.max_rounds, start=call.start
    )
