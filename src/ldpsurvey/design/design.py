"""Mechanisms for a table of counts, compared by their privacy, information and errors of estimation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ldpfrontier import (
    BudgetSplit,
    Channel,
    Intractable,
    Optimum,
    entropy,
    estimation_error,
    mutual_information,
    optimal_nonrobust,
    rate_target,
    time_limit,
)
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.channel.allowance import Allowance, check_several
from ldpsurvey.channel.attackers import (
    Attacker,
    OfferedRadius,
    best_guesses,
    levels_of,
    population_of,
)
from ldpsurvey.channel.promises import upwards
from ldpsurvey.data.tables import CountTable
from ldpsurvey.design.candidates import Candidate, Design
from ldpsurvey.design.methods import (
    BOUNDING,
    FOR_ESTIMATES,
    LONGEST,
    SLOW,
    DesignProblem,
    OfferedMechanism,
    Purpose,
    attacker_of,
    check_unasked,
    methods_for,
)
from ldpsurvey.design.own_methods import OwnFunction, Refused, made_cones, own_methods, refusal
from ldpsurvey.estimate.distribution import inversion, quantities
from ldpsurvey.estimate.targets import check_precise


# More than eight parameters, all but two with a usual value: they are the options of the command.
def design_channel(
    table: CountTable,
    epsilon: float,
    *,
    against: Attacker | None = None,
    mechanisms: Sequence[str] | None = None,
    own: Mapping[str, OwnFunction] | None = None,
    cones: Mapping[str, OwnFunction] | None = None,
    purpose: Purpose | None = None,
    precise: str = "cells",
    beta: float = 0.05,
    order: float = 2.0,
    radius_method: OfferedRadius = "asymptotic",
    radius_factor: float = 1.0,
    records: int | None = None,
    budget: float | None = None,
    progress: Callable[[str], None] | None = None,
    max_seconds: float | None = None,
    max_nodes: int = SETTINGS.estimate_nodes,
    unasked: bool = False,
) -> Design:
    """Compute mechanisms for a table at one privacy level.

    At a level L, a report changes the odds between two sensitive values by at most a factor e^L. Without
    useful columns the whole record is sensitive, and the level holds whatever an attacker knows
    (epsilon-LDP). With useful columns, the level holds for outsiders, who know nothing else about a person,
    over the confidence set F of the distribution of the table ((epsilon, F)-RLDP, lopuhaa2024, Definition
    1); for acquaintances, who know nothing, something or all of the useful value, over confidence intervals
    of odds ratios (docs/beyond/theorems.md, statement 11); for anyone (lopuhaa2024, section 6); or for
    insiders only, who know the useful value, which is local label differential privacy.

    Parameters
    ----------
    table : CountTable
        A table that is public. The level holds for records that are privatized later, and not for this
        table.
    epsilon : float
        The level in nats, from 0.001 to 20.
    against : {"insider-only", "outsider", "acquaintance", "anyone"}, optional
        The attacker for whom the level has to hold. By default acquaintances; anyone if no people were
        sampled. It has no effect without useful columns.
    mechanisms : sequence of str, optional
        Names from `methods_for`. By default all that serve the purpose are computed, except, on tables with
        more than 120 cells, those that may take minutes there.
    own, cones : mapping of str to callable, optional
        Functions of your own, which get F or, if the whole record is sensitive, a `MutualInformation`, and
        epsilon, and return a matrix or a `Cone`. With mechanisms of your own, one of these is the best, and
        with cones one whose columns are in all of them; others are computed for comparison. The name of a
        cone in `mechanisms` stands for its own two.
    purpose : {"frequencies", "information"}, optional
        What the mechanism is for. For frequencies, the design of the least error is computed for the promise
        (`optimal_estimation`), beside the closed form of LDP with the least error; for information, the other
        mechanisms are. By default all are.
    precise : str
        What the design for frequencies makes precise: the frequencies of whole records ("cells"), of the
        sensitive ("S") or the useful values ("U"), the "rates" of sensitive values given useful ones
        (`rate_target`), their "differences" from those given the most frequent one, the entries of all
        tables of one column ("shares"), of two ("pairs") or of three ("triples"), sensitive and useful ones
        alike, or coefficients of a logistic regression (`logit_target`), by a formula such as
        "illness ~ age".
    beta, order, radius_method, radius_factor : float, float, str, float
        As beta, order, method and factor of `RenyiBall.confidence`; beta is also that of the intervals of
        odds ratios, which are exact ones, or normal ones of weighted or clustered samples and on tables for
        which that takes long.
    records : int, optional
        The number of records that will be privatized. By default it is the number of counted records.
    budget : float, optional
        Level in nats, from epsilon to 20, of all reports that a person will give with mechanisms designed so,
        whose levels epsilon add up to no more, even if each is chosen after the reports before it were seen.
        Against acquaintances the intervals are widened for that.
    progress : callable, optional
        A function that is called with the name of every mechanism before it is computed.
    max_seconds : float, optional
        Seconds after which the mechanisms that are computed by a solver are the best found so far; 0 or more.
        `Candidate.method` says where that was so.
    max_nodes : int
        As of `optimal_estimation`: what is spent on the bound of the least error, which at times finds a
        slightly better mechanism.
    unasked : bool
        Whether mechanisms see the useful value alone, so that S need not be asked; the table links the two.

    Raises
    ------
    ValueError
        If an argument is out of range or a mechanism unknown.
    """
    least, most = SETTINGS.least_epsilon, SETTINGS.max_epsilon
    if not least <= epsilon <= most:
        raise ValueError(f"epsilon is {epsilon}; it must be a number from {least:g} to {most:g}.")
    against = attacker_of(table, against)
    if records is None and not table.counted:
        found = f"{table.source} has shares" if table.source else "There are values alone"
        raise ValueError(
            f"{found}, which do not tell how many people will report; --records N is needed, for the errors."
        )
    records = table.records if records is None else records
    if records < 1:
        raise ValueError(f"The number of records is {records}; it must be a whole number, at least 1.")
    check_precise(table, precise)
    if unasked:
        check_unasked(table, against, precise, own=bool(own or cones))
    if entropy(table.distribution) == 0:
        raise ValueError("All records are equal; at least two different records are needed.")
    whom = against if table.useful else "anyone"
    population = population_of(table, beta, order, radius_method, radius_factor)
    if (radius_method, radius_factor) != ("asymptotic", 1.0) and (whom != "outsider" or population is None):
        raise ValueError(
            f"The radius of F is {radius_method}, times {radius_factor:g}, but the promise against {whom} is"
            " about no F; with useful columns, against outsider, F may have another radius."
        )
    if population is not None:  # refused where they are out of range
        _ = population.ball(table), population.odds(table)
    allowance = None
    if budget is not None:
        allowance = _budget(budget, epsilon, whom)
        if population is not None and whom == "acquaintance":
            population = replace(population, widened=2.0 * (budget - epsilon))
    problem = DesignProblem(table, epsilon, whom, population, precise, max_nodes, unasked)
    chosen, asked_for = _chosen(problem, mechanisms, own, cones, purpose)
    with time_limit(max_seconds):
        candidates, bound = _computed(problem, chosen, asked_for, own, cones, records, progress)
    return Design(table, epsilon, whom, population, records, candidates, bound, precise, allowance)


def _budget(budget: float, epsilon: float, against: Attacker) -> Allowance:
    """Return what one person may report within a budget."""
    check_several(against, None)
    if not epsilon <= budget <= SETTINGS.max_epsilon:
        raise ValueError(
            f"The budget is {budget}; it must be a number from epsilon, {epsilon:g}, to"
            f" {SETTINGS.max_epsilon:g}."
        )
    return Allowance(float(budget), None)


def _chosen(
    problem: DesignProblem,
    mechanisms: Sequence[str] | None,
    own: Mapping[str, OwnFunction] | None,
    cones: Mapping[str, OwnFunction] | None,
    purpose: Purpose | None,
) -> tuple[dict[str, OfferedMechanism], Sequence[str]]:
    """Return the mechanisms to be computed in the order of tables, and those that were named."""
    added = own_methods(own, cones)
    table, against = problem.table, problem.against
    methods = {**methods_for(table, against, unasked=problem.unasked), **added}
    if unknown := [name for name in mechanisms or () if name not in methods and name not in (cones or {})]:
        whom = f" against {against}" if table.useful else ""
        offered = [name for name, method in methods.items() if method.private]
        raise ValueError(f"The mechanism is {unknown[0]!r}; allowed{whom} are {', '.join(offered)}.")
    asked_for = mechanisms or ()
    if mechanisms is None and purpose is not None:
        mechanisms = [name for name in methods if (name in FOR_ESTIMATES) == (purpose == "frequencies")]
        if added:  # others are for comparison alone: those that take no time
            mechanisms = [name for name in mechanisms if methods[name].closed_form]
        added = {name: method for name, method in added.items() if method.purpose in (None, purpose)}
    kept = methods if mechanisms is None else {*mechanisms, *added}
    return {name: method for name, method in methods.items() if name in kept}, asked_for


def _computed(
    problem: DesignProblem,
    methods: Mapping[str, OfferedMechanism],
    asked_for: Sequence[str],
    own: Mapping[str, OwnFunction] | None,
    cones: Mapping[str, OwnFunction] | None,
    records: int,
    progress: Callable[[str], None] | None,
) -> tuple[list[Candidate], float]:
    """Return what mechanisms are found, and a bound of the normalized information of all."""
    h, bounding = entropy(problem.prior), "unasked" if problem.unasked else BOUNDING[problem.against]
    bound = information_bound(problem.table, problem.epsilon, problem.against)
    kept = made_cones(cones or {}, problem)
    found_by_name = dict[str, Candidate]()
    # What takes longest is the last, so that a time limit cuts that short and nothing else.
    for name in sorted(methods, key=lambda name: (name in LONGEST, not methods[name].closed_form)):
        method = methods[name]
        missing = Candidate(name, method.title, method.private, None)
        most = SETTINGS.max_quick_cells
        if name not in asked_for and name in SLOW and problem.cells > most:
            note = (
                f"not computed, since it may take minutes on tables of more than {most} cells; this table has"
                f" {problem.cells}, and --mechanism {name} computes it"
            )
            found_by_name[name] = replace(missing, note=note)
            continue
        if progress:
            progress(name)
        try:
            found = method.solve(problem)
            channel = found if isinstance(found, Channel) else found.channel
            made = _measured(name, method, channel, problem, records)
            why = refusal(name, channel, own, kept)
        except Refused:
            raise
        except (Intractable, ArithmeticError, RuntimeError, ValueError) as reason:
            # What cannot be computed is a row; the others go on.
            found_by_name[name] = replace(missing, note=str(reason))
            continue
        title = f"{method.title} (for comparison: {why})" if why else method.title
        found_by_name[name] = replace(made, title=title, method=_ran(found), out_of_choice=why)
        if isinstance(found, Optimum) and name == bounding and problem.table.useful:
            bound = min(bound, found.upper_bound)
    return [found_by_name[name] for name in methods], bound / h


def _measured(
    name: str, method: OfferedMechanism, channel: Channel, problem: DesignProblem, records: int
) -> Candidate:
    """Return a mechanism with what it reveals and what it is worth."""
    table, prior = problem.table, problem.prior
    linear = inversion(channel.matrix, table)
    shares = table.distribution if table.assumed is None else table.expected
    errors = linear.error(shares.ravel() @ channel.matrix, records)
    asked = [quantity.attributes for quantity in quantities(table)[0]]
    groups = [table.attributes, table.sensitive, table.useful][: 3 if table.useful else 1]
    squares = [np.mean([e**2 for e, a in zip(errors, asked, strict=True) if a == group]) for group in groups]
    levels = levels_of(channel.matrix, table, problem.population)
    allowed = problem.epsilon + SETTINGS.rounding
    of_rates = (
        estimation_error(channel, table.expected, rate_target(table.expected)) if table.useful else math.inf
    )
    of_asked = math.nan
    if problem.precise not in ("cells", "rates", "S", "U"):
        square = estimation_error(channel, table.expected, problem.target)
        of_asked = _root_mean_square(square, len(np.asarray(problem.target)), records)
    return Candidate(
        name=name,
        title=method.title,
        private=method.private and levels.against(problem.against) <= allowed,
        channel=channel,
        nmi=mutual_information(prior, channel) / entropy(prior),
        levels=levels,
        guesses=best_guesses(channel, table.distribution) if table.useful else (),
        rank=linear.rank,
        errors=tuple(math.sqrt(square) for square in squares),
        asked=of_asked,
        rates=_root_mean_square(of_rates, problem.cells, records),
    )


def _root_mean_square(square: float, entries: int, records: int) -> float:
    """Return the root mean square error of entries, of which the squares sum to that from one report."""
    return math.sqrt(square / entries / records) if math.isfinite(square) else math.nan


def information_bound(table: CountTable, epsilon: float, against: Attacker) -> float:
    """Return what the information of no mechanism passes, in nats: the bound of NR where that holds.

    A mechanism for insiders only need not be private for the estimate.
    """
    h = entropy(table.distribution)
    return (
        h if against == "insider-only" else min(optimal_nonrobust(table.distribution, epsilon).upper_bound, h)
    )


def _ran(found: Optimum | BudgetSplit | Channel) -> str:
    """Return what an optimum was found with, and the gap of an error; of two reports, fallbacks alone."""
    if isinstance(found, Channel):
        return ""
    if not isinstance(found, Optimum):
        return "; ".join(f"fallback: {text}" for text in found.method.fallbacks)
    if found.direction == "max" or not found.method.engine:
        return str(found.method)
    above = math.sqrt(found.value / found.bound) - 1.0 if found.bound > 0.0 else math.inf
    lower = upwards(max(100.0 * (1.0 - 1.0 / (1.0 + above)), 0.0), 1)
    gap = f"no mechanism of the class has an error more than {lower:g}% lower"
    regime = f"{found.method.regime}; {gap if above < math.inf else 'no bound'}"
    return str(replace(found.method, regime=regime))
