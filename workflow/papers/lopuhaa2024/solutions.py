"""The mechanisms of lopuhaa2024 for an uncertainty set, certified, and their rows in tables of results."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import TypedDict

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ldpfrontier.channel import Channel
from ldpfrontier.information import entropy, mutual_information
from ldpfrontier.mechanisms import randomized_response, secret_randomized_response
from ldpfrontier.optimal.listed.nonrobust import optimal_nonrobust
from ldpfrontier.optimal.registry import LIMITS
from ldpfrontier.optimal.robust import optimal_robust
from ldpfrontier.optimum import UNKNOWN, Method, Optimum
from ldpfrontier.privacy import conditional_epsilon, ldp_epsilon, rldp_epsilon, unconditional_epsilon
from ldpfrontier.two_reports import independent_reporting
from ldpfrontier.types import Intractable
from ldpfrontier.uncertainty.odds_ratios import OddsRatios, association_epsilon
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from papers.lopuhaa2024.catalogue import (
    ANY_INPUTS,
    ESTIMATE,
    EVERYWHERE,
    MECHANISMS,
    OPTIMA,
    OVER_SET,
    OWN,
    SET,
    WITH_INTERVALS,
    WITH_ODDS,
)
from papers.lopuhaa2024.reported import measures
from reproduction.own_channels import channel_of, require_private
from reproduction.results.tables import CLOSED_FORM, HEURISTIC, SKIPPED, Result

PAPER = "lopuhaa2024"

#: Every mechanism of the catalogue.
ALL = tuple(MECHANISMS)

_log = logging.getLogger(__name__)


class Place(TypedDict):
    """The columns of `RESULTS` that all rows of one uncertainty set share."""

    experiment: str
    size: str
    instance: str
    beta: float
    order: float


# Mechanisms -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Problem:
    """The problem that a mechanism solves at one level, and the required accuracy, as of `optimal_robust`.

    Every mechanism here is private if P-hat is the truth, so the bound of NR is one for all. In `solved` are
    the mechanisms found so far: an optimum starts from the best one that its class contains.
    """

    ball: RenyiBall
    epsilon: float
    nonrobust: Optimum
    tolerance: float
    max_rounds: int
    solved: dict[str, Channel] = field(default_factory=dict)

    @classmethod
    def at(cls, ball: RenyiBall, epsilon: float, tolerance: float, max_rounds: int) -> Problem:
        """Make the problem of one privacy level, with nothing solved but NR."""
        return cls(ball, epsilon, optimal_nonrobust(ball.centre, epsilon), tolerance, max_rounds)


def _optimum(problem: Problem, name: str) -> Optimum:
    smaller = [*OPTIMA][: [*OPTIMA].index(name)]
    return optimal_robust(
        problem.ball,
        problem.epsilon,
        envelope=OPTIMA[name],
        tolerance=problem.tolerance,
        max_rounds=problem.max_rounds,
        # A class does at least as well as one within it, also where a solve stops early.
        start=next((problem.solved[other] for other in smaller if other in problem.solved), None),
        # The bounds of large tables are a table of their own.
        max_nodes=0 if name == "exact" and problem.ball.centre.size > LIMITS.max_joint_cells else None,
    )


def _srr(problem: Problem) -> Channel:
    a1, a2 = problem.ball.centre.shape
    return secret_randomized_response(a1, a2, problem.epsilon)


def _own(problem: Problem, name: str) -> Channel:
    """Call a mechanism of the user's own with F and the level, and refuse one that is not private over F."""
    own, ball, epsilon = OWN[name], problem.ball, problem.epsilon
    channel = channel_of(own, ball, epsilon, ball.centre.size)
    require_private(own, ball.worst_case_epsilon(channel), epsilon, "over F")
    return channel


#: What makes each mechanism of the catalogue: an optimum, or a channel without a bound of its own. They are
#: solved in this order, in which a class comes after those that it contains.
SOLVERS: Mapping[str, Callable[[Problem], Optimum | Channel]] = {
    **{name: partial(_optimum, name=name) for name in OPTIMA},
    "nr": lambda problem: problem.nonrobust,
    "ir": lambda problem: independent_reporting(problem.ball, problem.epsilon),
    "ir_tight": lambda problem: independent_reporting(problem.ball, problem.epsilon, distance="tight"),
    "srr": _srr,
    "grr": lambda problem: randomized_response(problem.ball.centre.size, problem.epsilon),
    **{name: partial(_own, name=name) for name in OWN},
}


@dataclass(frozen=True, eq=False)
class Solution:
    """One mechanism at one privacy level, with the certificate of its mutual information.

    There is no channel if the mechanism is out of reach for this size; the note then says why. `value` is
    I(X; Y) under P-hat and `bound` what no mechanism of the class can pass, in nats: the bound of an optimum
    is that of its own class; closed forms and heuristics have NR's. The level `privacy` is guaranteed over
    the product of the projections of F; of the optimum over F, over F; of NR, under P-hat alone.
    `conditional_epsilon` is the level given U asked for (inf: no demand), and `conditional_privacy` the one
    that the channel has.
    """

    mechanism: str
    epsilon: float
    channel: Channel | None
    status: str
    value: float = math.nan
    bound: float = math.nan
    privacy: float = math.nan
    iterations: int | None = None
    conditional_epsilon: float = math.inf
    conditional_privacy: float = math.nan
    note: str = ""
    optimum: Optimum | None = None

    @property
    def method(self) -> Method:
        """What the optimum was found with; unknown of what is none."""
        return UNKNOWN if self.optimum is None else self.optimum.method

    def certified(self, place: Place, h: float) -> Iterator[Result]:
        """Yield the rows of the mutual information, in nats, and of the NMI, for H(X) = `h`."""
        information = self._row(place, "mutual_information", self.value, "nats", self.bound)
        yield information
        # With H(X) = 0 there is nothing to report and every mechanism reports it.
        scale = h if h > 0 else 1.0
        yield self._row(place, "nmi", information.value / scale, "1", information.bound / scale)

    def _row(self, place: Place, metric: str, value: float, unit: str, bound: float) -> Result:
        return Result(
            PAPER, mechanism=self.mechanism, metric=metric, value=value, unit=unit, epsilon=self.epsilon,
            direction="max", bound=bound, status=self.status, channel=self.channel,
            iterations=self.iterations, method=self.method, privacy=self.privacy,
            privacy_limit=math.nan if self.channel is None else self.epsilon,
            conditional_epsilon=self.conditional_epsilon, conditional_privacy=self.conditional_privacy,
            note=self.note, **place,
        )  # fmt: skip

    def measured(self, place: Place, metric: str, value: float, unit: str, note: str = "") -> Result:
        """Return the row of a metric that is measured and not limited by epsilon."""
        return Result(
            PAPER, mechanism=self.mechanism, metric=metric, value=value, unit=unit, epsilon=self.epsilon,
            channel=self.channel, iterations=self.iterations, method=self.method, privacy=self.privacy,
            conditional_epsilon=self.conditional_epsilon, conditional_privacy=self.conditional_privacy,
            note=note, **place,
        )  # fmt: skip


def solve(
    ball: RenyiBall,
    epsilons: Sequence[float],
    mechanisms: Sequence[str],
    *,
    tolerance: float,
    max_rounds: int,
) -> Iterator[Solution]:
    """Solve mechanisms for one uncertainty set, one privacy level after the other."""
    if unknown := [name for name in mechanisms if name not in SOLVERS]:
        raise ValueError(f"The mechanism is {unknown[0]!r}; allowed are {', '.join(SOLVERS)}.")
    for epsilon in epsilons:
        problem = Problem.at(ball, epsilon, tolerance, max_rounds)
        for name in sorted(mechanisms, key=list(SOLVERS).index):
            try:
                solution = evaluate(name, problem)
            except (ArithmeticError, RuntimeError) as error:
                error.add_note(f"In {name} at epsilon {epsilon:g}.")
                raise
            if name in OPTIMA and solution.channel is not None:
                problem.solved[name] = solution.channel
            yield solution


def evaluate(mechanism: str, problem: Problem) -> Solution:
    """Solve one mechanism; what is out of reach for its size gives a solution without a channel."""
    try:
        found = SOLVERS[mechanism](problem)
    except Intractable as reason:
        return Solution(mechanism, problem.epsilon, None, SKIPPED, note=str(reason))
    ball, bound = problem.ball, problem.nonrobust.upper_bound
    listed = MECHANISMS[mechanism]
    if isinstance(found, Optimum):
        channel, status, iterations = found.channel, found.status, found.iterations
        bound = min(bound, found.upper_bound)
    else:
        channel, status, iterations = found, HEURISTIC if listed.heuristic else CLOSED_FORM, None
    return Solution(
        mechanism=mechanism,
        epsilon=problem.epsilon,
        channel=channel,
        status=status,
        value=mutual_information(ball.centre, channel),
        bound=bound,
        privacy=_level(ball, channel, listed.private),
        iterations=iterations,
        conditional_privacy=conditional_epsilon(channel, ball.centre.shape),
        optimum=found if isinstance(found, Optimum) else None,
    )


def _level(ball: RenyiBall, channel: Channel, private: str) -> float:
    """Return the level of a channel in nats, over the distributions that `Mechanism.private` names."""
    if private == ESTIMATE:
        return float(rldp_epsilon(channel, ball.conditionals))
    return ball.worst_case_epsilon(channel) if private == SET else ball.projected_epsilon(channel)


Levels = Mapping[str, Callable[[RenyiBall, Channel], float]]

#: What a channel promises for S to other attackers than those of its guarantee, by metric.
FIG2_LEVELS: Levels = {
    OVER_SET: lambda ball, channel: ball.worst_case_epsilon(channel),
    EVERYWHERE: lambda ball, channel: unconditional_epsilon(channel, ball.centre.shape),
    ANY_INPUTS: lambda ball, channel: ldp_epsilon(channel),
}


def odds_of(counts: ArrayLike | pd.DataFrame, beta: float) -> dict[str, OddsRatios]:
    """Return the odds ratios of a table by the metric of the level for acquaintances: known, in intervals."""
    table = np.asarray(counts)
    # Exact ones of more records take long.
    intervals = OddsRatios.confidence(table, beta, "exact" if table.sum() <= 1e6 else "bonferroni")
    return {WITH_ODDS: OddsRatios.known(intervals.prior), WITH_INTERVALS: intervals}


def acquaintance_level(channel: Channel, odds: OddsRatios) -> float:
    """Return the level for acquaintances in nats, at once where it is that given U and that for anyone."""
    least, most = conditional_epsilon(channel, odds.shape), unconditional_epsilon(channel, odds.shape)
    return most if least == most else min(association_epsilon(channel, odds), most)


def place_of(experiment: str, instance: str, beta: float, ball: RenyiBall) -> Place:
    """Return the columns that all rows of an uncertainty set share; the size is as in ``"2 x 5"``."""
    size = " x ".join(map(str, ball.centre.shape))
    return Place(experiment=experiment, size=size, instance=instance, beta=beta, order=ball.order)


# Rows -----------------------------------------------------------------------------------------------------


def rows_of_fig2(
    ball: RenyiBall,
    place: Place,
    solutions: Iterable[Solution],
    counts: ArrayLike | pd.DataFrame,
    beta: float,
) -> Iterator[Result]:
    """Yield the rows of Figure 2 of solutions, with all that is measured of their channels."""
    yield from rows_of(ball, place, solutions, levels=FIG2_LEVELS, odds=odds_of(counts, beta), reported=True)


def rows_of(
    ball: RenyiBall,
    place: Place,
    solutions: Iterable[Solution],
    *,
    levels: Levels = MappingProxyType({}),
    odds: Mapping[str, OddsRatios] = MappingProxyType({}),
    reported: bool = False,
) -> Iterator[Result]:
    """Yield the rows of solutions: their NMI, certified, and what they leak over F.

    By metric, `levels` has the levels of S to measure; over F it is measured in any case of what is not
    robust. `odds` has the odds ratios for which the level for acquaintances is measured. With `reported`,
    what `reported.measures` yields is measured as well.
    """
    h = entropy(ball.centre)
    for solution in solutions:
        rows = list(solution.certified(place, h))
        yield from rows
        channel = solution.channel
        if channel is not None:
            # The optima of promises are in no catalogue, and robust.
            listed = MECHANISMS.get(solution.mechanism)
            always = {} if listed is None or listed.robust else {OVER_SET: FIG2_LEVELS[OVER_SET]}
            for metric, measure in (always | dict(levels)).items():
                known = metric == OVER_SET and listed is not None and listed.private == SET
                level = solution.privacy if known else measure(ball, channel)
                yield solution.measured(place, metric, level, "nats")
            for metric, ratios in odds.items():
                yield solution.measured(place, metric, acquaintance_level(channel, ratios), "nats")
            for told in measures(channel, ball.centre) if reported else ():
                yield solution.measured(place, *told)
        given = solution.conditional_epsilon
        _log.info(
            "%s, order %g, epsilon %g%s: %s is %s, nmi %.6f <= %.6f %s",
            place["instance"], ball.order, solution.epsilon,
            f", level {given:g} given U" if given < math.inf else "", solution.mechanism, solution.status,
            rows[1].value, rows[1].bound, solution.note,
        )  # fmt: skip
