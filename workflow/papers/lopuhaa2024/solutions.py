"""The mechanisms of lopuhaa2024 for an uncertainty set, solved and certified."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType

from ldpfrontier.base.types import Intractable
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import mutual_information
from ldpfrontier.model.mechanisms import randomized_response, secret_randomized_response
from ldpfrontier.model.optimum import Optimum
from ldpfrontier.model.privacy import conditional_epsilon, rldp_epsilon
from ldpfrontier.promises.nonrobust import optimal_nonrobust
from ldpfrontier.promises.polyopt import optimal_polyopt
from ldpfrontier.reports.two_reports import independent_reporting
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from papers.lopuhaa2024.catalogue import COMPUTED, ESTIMATE, MECHANISMS, OWN, SET
from papers.lopuhaa2024.solution import Solution
from reproduction.own_channels import channel_of, require_private
from reproduction.results.tables import CLOSED_FORM, HEURISTIC, SKIPPED

#: Every mechanism that is solved here.
ALL = COMPUTED

# Mechanisms -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Problem:
    """The problem that a mechanism solves at one level, and the required accuracy, as of `optimal_polyopt`.

    Every mechanism here is private if P-hat is the truth, so the bound of NR is one for all. In `solved` are
    the mechanisms found so far: an optimum may start from one that its class contains.
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


def _polyopt(problem: Problem) -> Optimum:
    return optimal_polyopt(
        problem.ball, problem.epsilon, tolerance=problem.tolerance, max_rounds=problem.max_rounds
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


Solvers = Mapping[str, Callable[[Problem], Optimum | Channel]]

#: What makes each mechanism: an optimum, or a channel without a bound of its own. They are solved in this
#: order, in which a class comes after those that it contains.
SOLVERS: Solvers = {
    "polyopt": _polyopt,
    "nr": lambda problem: problem.nonrobust,
    "ir": lambda problem: independent_reporting(problem.ball, problem.epsilon),
    "ir_tight": lambda problem: independent_reporting(problem.ball, problem.epsilon, distance="tight"),
    "srr": _srr,
    "grr": lambda problem: randomized_response(problem.ball.centre.size, problem.epsilon),
    **{name: partial(_own, name=name) for name in OWN},
}


def solve(
    ball: RenyiBall,
    epsilons: Sequence[float],
    mechanisms: Sequence[str],
    *,
    tolerance: float,
    max_rounds: int,
    known: Mapping[tuple[str, float], Solution] = MappingProxyType({}),
    solvers: Solvers = SOLVERS,
) -> Iterator[Solution]:
    """Solve mechanisms for one uncertainty set, one privacy level after the other.

    Those that are `known`, by name and level, are taken from there.
    """
    if unknown := [name for name in mechanisms if name not in solvers]:
        raise ValueError(f"The mechanism is {unknown[0]!r}; allowed are {', '.join(solvers)}.")
    for epsilon in epsilons:
        problem = Problem.at(ball, epsilon, tolerance, max_rounds)
        for name in sorted(mechanisms, key=list(solvers).index):
            try:
                solution = known.get((name, epsilon)) or evaluate(name, problem, solvers)
            except (ArithmeticError, RuntimeError) as error:
                error.add_note(f"In {name} at epsilon {epsilon:g}.")
                raise
            if solution.channel is not None:
                problem.solved[name] = solution.channel
            yield solution


def evaluate(mechanism: str, problem: Problem, solvers: Solvers = SOLVERS) -> Solution:
    """Solve one mechanism; what is out of reach for its size gives a solution without a channel."""
    try:
        found = solvers[mechanism](problem)
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
        method=str(found.method) if isinstance(found, Optimum) else "",
    )


def _level(ball: RenyiBall, channel: Channel, private: str) -> float:
    """Return the level of a channel in nats, over the distributions that `Mechanism.private` names."""
    if private == ESTIMATE:
        return float(rldp_epsilon(channel, ball.conditionals))
    return ball.worst_case_epsilon(channel) if private == SET else ball.projected_epsilon(channel)
