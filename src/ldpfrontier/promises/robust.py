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
from typing import Literal, get_args

import numpy as np

from ldpfrontier.engines.joint.separation import Oracle
from ldpfrontier.engines.joint.settings import SETTINGS as JOINT
from ldpfrontier.engines.joint.spatial_branch_and_bound import joint_optimum, searched_mechanism
from ldpfrontier.engines.over_set.ball_family import BallFamily
from ldpfrontier.engines.products.product_optimum import allowed_level
from ldpfrontier.engines.projections.budget_multiplier import check_level, shared_budget_mechanism
from ldpfrontier.engines.projections.pair_balls import pair_balls_bound
from ldpfrontier.engines.projections.projection_class import mechanism_without_bound
from ldpfrontier.engines.registry import LIMITS, Call, choose, is_in_range
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import entropy
from ldpfrontier.model.optimum import (
    NO_ERROR,
    Optimum,
    certified,
    fell_back,
    keeps_time_limit,
    records_fallbacks,
    uninformative,
)
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.numerics.arguments import as_count, as_flag, check_choice
from ldpfrontier.promises.closed_forms import best_closed_form, solved_in_time
from ldpfrontier.promises.least import least_robust
from ldpfrontier.promises.nonrobust import (
    Observed,
    check_observed,
    nonrobust_bound,
    optimal_nonrobust,
)
from ldpfrontier.promises.polyopt import (
    RobustArguments,
    best_polyopt,
    bounded_by_nonrobust,
    checked_arguments,
    count_subsets,
    polyopt_in_time,
)
from ldpfrontier.promises.settings import SETTINGS
from ldpfrontier.promises.unasked import unasked_robust
from ldpfrontier.uncertainty.renyi_ball import RenyiBall

Envelope = Literal["simplex", "exact"]

_MECHANISMS = "all mechanisms private over F"


@records_fallbacks
@keeps_time_limit
def optimal_robust(
    ball: RenyiBall,
    epsilon: float,
    *,
    envelope: Envelope = "simplex",
    observed: Observed = "both",
    least: bool = False,
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
    observed : {"both", "useful"}
        What the mechanism sees: S and U, or U alone, where S is not asked and `ball` comes from another table
        (docs/beyond/theorems.md, statement 18). Of U alone there are up to 16 values.
    least : bool
        Whether the utility is the least I(X;Y) over all members of F, not the one under the centre
        (statement 19). `Optimum.value` is what the mechanism is proved to have, and `Optimum.bound` what no
        mechanism exceeds. From about 8 cells on they are close where F is small alone.
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
        Inputs (s, u) in row-major order; at most a1 a2 outputs (lopuhaa2024, Theorem 3). If U alone is
        observed, inputs u, and the utility is I(U; Y).

    Raises
    ------
    Intractable
        If the table has more than 1000 cells, or more than 20 useful values occur together with one
        sensitive value, or 20 of them with more than 20 sensitive values (so many subsets are listed), or the
        simplices of PolyOpt are smaller than 1e-7, as with 10^12 records.
    ValueError
        If a number is out of range, `envelope` or `observed` is none of those named, or `start` has another
        number of inputs, is not in the class, or is given where U alone is observed.
    ArithmeticError
        If rounding defeats the linear programs.

    Notes
    -----
    The exact envelope is tried on tables of up to 60 sensitive values and 2^22 subsets of useful values in
    all, at levels from 0.01 to 15, orders from 1/4 to 4 and radii from 1e-20. Elsewhere the mechanism is
    PolyOpt, and the bound is that of `optimal_nonrobust`. On tables of more than 400 cells the weights of a
    relaxation are coupled into PolyOpt, without column generation.
    """
    check_choice(envelope, "envelope", get_args(Envelope))
    call = checked_arguments(ball, epsilon, tolerance, max_rounds, start)
    if max_nodes is not None:
        max_nodes = as_count(max_nodes, "max_nodes", "a whole number, 0 or more")
    if as_flag(least, "least"):
        _check_least(observed, start)
        return least_robust(ball, call.epsilon, call.tolerance, envelope == "exact", max_rounds, max_nodes)
    if check_observed(observed, start):
        exact = envelope == "exact"
        return unasked_robust(ball, call.epsilon, call.tolerance, exact, max_rounds, max_nodes)
    if envelope == "simplex":
        return best_polyopt(call)
    cells, closed_form = ball.centre.size, choose("closed form").method(_MECHANISMS)
    if len(ball.centre) == 1:  # nothing to hide: the identity is best
        h = entropy(ball.centre)
        return certified(Channel(np.eye(cells)), h, h, call.tolerance, method=closed_form)
    if ball.radius == 0:
        return optimal_nonrobust(ball.centre, call.epsilon, tolerance=call.tolerance, max_rounds=max_rounds)
    if call.epsilon == 0:
        return uninformative(cells, method=closed_form)
    found = _over_set(call, max_nodes)
    if found is None:
        found = best_closed_form(ball.centre, call.epsilon, start, call.tolerance, secret=True)
        found = replace(found, method=choose("any robust").method())
    found = bounded_by_nonrobust(found, call)
    return replace(found, method=replace(found.method, mechanisms=_MECHANISMS))


def _check_least(observed: str, start: Channel | None) -> None:
    """Refuse what the least information is not found with."""
    if check_observed(observed) or start is not None:
        given = "a start" if start is not None else 'observed="useful"'
        raise ValueError(f"The least information over F was asked for with {given}; it is found without.")


def _over_set(call: RobustArguments, max_nodes: int | None) -> Optimum | None:
    """Return the optimum over F itself, or where it is not tried what is known; None where the time is up."""
    ball, epsilon, start = call.ball, call.epsilon, call.start
    if start is not None:
        check_level(start, ball, epsilon)
    subsets = count_subsets(ball)
    small = len(ball.centre) <= LIMITS.max_sensitive and subsets <= LIMITS.max_subsets
    if small and is_in_range(ball.radius, ball.order, epsilon):
        regime = choose("over F", Call(ball.centre.size))
        solve = _jointly if regime.name == "joint" else _by_products
        found = solved_in_time(
            lambda: solve(call, max_nodes),
            lambda channel: check_level(channel, ball, epsilon),
            "The class of F itself",
        )
        return None if found is None else replace(found, method=regime.method())
    fell_back("PolyOpt in place of F itself, as radius, level, order or size is out of range")
    optimum = polyopt_in_time(call._replace(start=None))
    if optimum is None:
        return None
    known = [optimum.channel, *([] if start is None else [start])]
    best = max(known, key=MutualInformation(ball.centre))
    found = best_closed_form(ball.centre, epsilon, best, call.tolerance, secret=True)
    return replace(found, method=optimum.method)


def _jointly(call: RobustArguments, max_nodes: int | None) -> Optimum:
    """Return the optimum over F on a small table, of joint columns."""
    # Without the columns of products to start from, a random 2 x 8 table of 200 records loses some percent.
    start, _ = _over_projections(call)
    return joint_optimum(
        call.ball,
        call.epsilon,
        tolerance=max(call.tolerance, JOINT.joint_tolerance),
        max_nodes=JOINT.joint_nodes if max_nodes is None else max_nodes,
        start=start,
        known_bound=nonrobust_bound(call.ball.centre, call.epsilon),
    )


def _by_products(call: RobustArguments, max_nodes: int | None) -> Optimum:
    """Return a good mechanism over F on a larger table, of product columns, with the bound asked for."""
    ball, epsilon, tolerance, max_rounds, start = call
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
        bound = min(bound, pair_balls_bound(ball, epsilon, max_nodes))
    value = MutualInformation(ball.centre)(channel)
    return certified(channel, value, bound, tolerance, rounds, error=NO_ERROR)


def _over_projections(call: RobustArguments) -> tuple[Channel, int]:
    """Return a good mechanism of product columns over the projections of F, and the rounds."""
    products = BallFamily(call.ball, call.epsilon * (1.0 - SETTINGS.epsilon_margin), distinct=True)
    return mechanism_without_bound(
        products, tolerance=call.tolerance, max_rounds=call.max_rounds, start=call.start
    )
