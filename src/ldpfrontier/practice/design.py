"""Mechanisms for a table of counts: how much each tells, what it keeps, how well it can be estimated from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Literal

import numpy as np

from ldpfrontier.channel import Channel
from ldpfrontier.information import entropy, mutual_information
from ldpfrontier.mechanisms import binary_mechanism, randomized_response, secret_randomized_response
from ldpfrontier.numerics.arguments import as_count, as_instance, as_number
from ldpfrontier.optimal.improved_reporting import improved_reporting
from ldpfrontier.optimal.ldp.nonrobust import optimal_nonrobust
from ldpfrontier.optimal.ldp.solve import optimal_ldp
from ldpfrontier.optimal.robust import optimal_robust
from ldpfrontier.optimum import Optimum, checked_epsilon
from ldpfrontier.practice.channel_file import Certificate, PrivateChannel, ball_of, private_weights
from ldpfrontier.practice.counts import CountTable
from ldpfrontier.practice.estimation import inversion, quantities
from ldpfrontier.practice.records import as_text, as_texts
from ldpfrontier.practice.sampling import sampled_channel, sampled_level
from ldpfrontier.privacy import ldp_epsilon
from ldpfrontier.two_reports import independent_reporting
from ldpfrontier.types import FloatArray, Intractable
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from ldpfrontier.utility import MutualInformation

Preference = Literal["utility", "frequencies"]

#: When an optimum is good enough: relative gap, and rounds.
TOLERANCE, ROUNDS = 1e-3, 30

#: Cells of a table up to which PolyOpt is solved unless it is asked for: above, it may take minutes.
POLYOPT_CELLS = 120

#: Largest privacy level that is offered, nats.
MOST = 20.0

#: Levels that `least_epsilon` tells apart, per nat.
STEPS = 1000


@dataclass(frozen=True, eq=False)
class Problem:
    """What mechanisms are made for; the uncertainty set is None if all of a record is sensitive."""

    prior: FloatArray
    ball: RenyiBall | None
    epsilon: float
    solved: dict[str, Channel] = field(default_factory=dict)

    @property
    def robust(self) -> RenyiBall:
        """The uncertainty set, of mechanisms that need one."""
        assert self.ball is not None
        return self.ball

    def ldp(self) -> Optimum:
        """Solve for the best mechanism that is private for every distribution and all of a record."""
        return optimal_ldp(MutualInformation(self.prior), self.epsilon)

    def polyopt(self) -> Optimum:
        """Solve for PolyOpt."""
        return optimal_robust(self.robust, self.epsilon, tolerance=TOLERANCE, max_rounds=ROUNDS)

    def exact(self) -> Optimum:
        """Solve for the best mechanism that is private over F, not worse than PolyOpt if that is solved."""
        return optimal_robust(
            self.robust, self.epsilon, envelope="exact", tolerance=TOLERANCE, max_rounds=ROUNDS,
            start=self.solved.get("polyopt"),
        )  # fmt: skip


@dataclass(frozen=True)
class Method:
    """A mechanism that is offered: what it is in words, how it is made, and whether it keeps the level."""

    title: str
    solve: Callable[[Problem], Optimum | Channel]
    private: bool = True


def _secret(problem: Problem) -> Channel:
    a1, a2 = problem.robust.centre.shape
    return secret_randomized_response(a1, a2, problem.epsilon)


_RESPONSE = Method("randomized response", lambda p: randomized_response(p.prior.size, p.epsilon))

#: What is offered if all of a record is sensitive.
LDP_METHODS: Mapping[str, Method] = {
    "ldp": Method("best that is private for every distribution", Problem.ldp),
    "binary": Method("one bit", lambda p: binary_mechanism(MutualInformation(p.prior), p.epsilon)),
    "grr": _RESPONSE,
}

#: What is offered if some of it is not; PolyOpt first, from which the optimum over F starts.
ROBUST_METHODS: Mapping[str, Method] = {
    "polyopt": Method("PolyOpt", Problem.polyopt),
    "exact": Method("best that is private over F", Problem.exact),
    "ir": Method("independent reports", lambda p: independent_reporting(p.robust, p.epsilon)),
    "ir_optimal": Method(
        "independent reports, improved", lambda p: improved_reporting(p.robust, p.epsilon).channel
    ),
    "srr": Method("secret randomized response", _secret),
    "grr": _RESPONSE,
    "ldp": LDP_METHODS["ldp"],
    "nr": Method(
        "not private over F", lambda p: optimal_nonrobust(p.robust.centre, p.epsilon), private=False
    ),
}


@dataclass(frozen=True, eq=False)
class Candidate:
    """A mechanism for a table at one privacy level.

    Attributes
    ----------
    name : str
    title : str
        What it is.
    private : bool
        Whether it keeps the level asked for.
    channel : Channel or None
        None if it is out of reach; `note` says why.
    nmi : float
        I(X; Y) / H(X) at the distribution of the table.
    level : float
        Level it really has, nats: over F, or for every distribution if nothing is useful.
    rank : int
        Of the channel.
    errors : tuple of float
        Root mean square errors of the unbiased estimates of the frequencies of all of a record, of what is
        sensitive and of what is useful (the first alone if nothing is); NaN if the channel does not show
        some of them.
    note : str
    """

    name: str
    title: str
    private: bool
    channel: Channel | None
    nmi: float = math.nan
    level: float = math.nan
    rank: int = 0
    errors: tuple[float, ...] = ()
    note: str = ""


@dataclass(frozen=True, eq=False)
class Design:
    """Mechanisms for a table at one privacy level.

    Attributes
    ----------
    table : CountTable
    epsilon : float
        Nats.
    beta, order : float or None
        Significance level and Renyi order of the uncertainty set F; None if all of a record is sensitive.
    records : int
        For which the errors are.
    candidates : list of Candidate
    bound : float
        No mechanism that keeps the level has a larger normalized mutual information.
    """

    table: CountTable
    epsilon: float
    beta: float | None
    order: float | None
    records: int
    candidates: list[Candidate]
    bound: float

    @cached_property
    def ball(self) -> RenyiBall | None:
        """The uncertainty set."""
        return ball_of(self.table, self.beta, self.order)

    def best(self, prefer: Preference = "utility") -> Candidate:
        """Return the best candidate that keeps the level.

        Parameters
        ----------
        prefer : {"utility", "frequencies"}
            What tells most, or from what the frequencies of all of a record are estimated best.

        Raises
        ------
        ValueError
            If there is none.
        """
        usable = [c for c in self.candidates if c.channel is not None and c.private]
        if prefer == "frequencies":
            usable = [c for c in usable if math.isfinite(c.errors[0])]
        if not usable:
            why = "; ".join(
                f"{c.name}: {c.note or 'not private, or of too small a rank'}" for c in self.candidates
            )
            raise ValueError(f"No mechanism is left to choose from ({why}).")
        return max(usable, key=lambda c: c.nmi if prefer == "utility" else -c.errors[0])

    def private(self, candidate: Candidate) -> PrivateChannel:
        """Make a candidate a channel to sample from, and verify its level.

        Raises
        ------
        ValueError
            If it does not keep the level.
        """
        if candidate.channel is None:
            raise ValueError(f"{candidate.name} is out of reach here. {candidate.note}")
        weights = private_weights(candidate.channel, self.ball, self.epsilon)
        prior = self.table.distribution.ravel()
        certificate = Certificate(
            mechanism=candidate.name,
            epsilon=self.epsilon,
            level=math.nan,
            ldp_level=sampled_level(weights),
            beta=self.beta,
            order=self.order,
            nmi=mutual_information(prior, sampled_channel(weights)) / entropy(prior),
            bound=self.bound,
            code_version=import_module("ldpfrontier").__version__,
        )
        return PrivateChannel(self.table, weights, certificate).verified()


def design_channel(
    table: CountTable,
    epsilon: float,
    *,
    mechanisms: Sequence[str] | None = None,
    beta: float = 0.05,
    order: float = 2.0,
    records: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Design:
    """Solve mechanisms for a table at one privacy level.

    Without useful columns a mechanism is private if it is epsilon-LDP; with them if it is
    (epsilon, F)-RLDP, F the confidence set of the distribution of the table (lopuhaa2024, Definition 1).

    Parameters
    ----------
    table : CountTable
        What is known publicly: the level holds for records that are privatized later, not for this table.
    epsilon : float
        Nats, above 0 and at most 20.
    mechanisms : sequence of str, optional
        Of `LDP_METHODS` or `ROBUST_METHODS`; by default all, but PolyOpt on tables with more than 120 cells.
    beta, order : float
        As in `RenyiBall.confidence`.
    records : int, optional
        How many records are to be privatized; as many as were counted by default.
    progress : callable, optional
        Called with the name of every mechanism before it is solved.

    Raises
    ------
    ValueError
        If an argument is out of range or a mechanism unknown.
    """
    as_instance(table, CountTable, "The table")
    if mechanisms is not None:
        mechanisms = as_texts(mechanisms, "mechanisms")
    epsilon = checked_epsilon(epsilon)
    if not 0 < epsilon <= MOST:
        raise ValueError(f"epsilon is {epsilon:g}; a design needs one above 0 and at most {MOST:g}.")
    if beta is None or order is None:
        raise ValueError(f"beta is {beta} and the order is {order}; both must be numbers.")
    records = table.records if records is None else records
    records = as_count(records, "The number of records", "a whole number, at least 1", least=1)
    methods = ROBUST_METHODS if table.useful else LDP_METHODS
    if unknown := [name for name in mechanisms or () if name not in methods]:
        raise ValueError(f"The mechanism is {unknown[0]!r}; allowed are {', '.join(methods)}.")
    prior = table.distribution
    h = entropy(prior)
    if h == 0:
        raise ValueError("All records are equal; there is nothing to report.")
    ball = ball_of(table, beta, order)
    problem = Problem(prior.ravel(), ball, epsilon)
    bound = min(optimal_nonrobust(prior, epsilon).upper_bound, h)
    candidates = []
    for name, method in methods.items():
        if mechanisms is not None and name not in mechanisms:
            continue
        if mechanisms is None and name == "polyopt" and prior.size > POLYOPT_CELLS:
            continue
        if progress:
            progress(name)
        try:
            found = method.solve(problem)
        except Intractable as reason:
            candidates.append(Candidate(name, method.title, method.private, None, note=str(reason)))
            continue
        channel = found.channel if isinstance(found, Optimum) else found
        problem.solved[name] = channel
        if isinstance(found, Optimum) and name == "exact":
            bound = min(bound, found.upper_bound)
        candidates.append(_measured(name, method, channel, table, ball, records))
    beta_of, order_of = (beta, order) if table.useful else (None, None)
    return Design(table, epsilon, beta_of, order_of, records, candidates, bound / h)


def _measured(
    name: str, method: Method, channel: Channel, table: CountTable, ball: RenyiBall | None, records: int
) -> Candidate:
    prior = table.distribution.ravel()
    linear = inversion(channel.matrix, table)
    errors = linear.error(prior @ channel.matrix, records)
    asked = [quantity.attributes for quantity in quantities(table)[0]]
    groups = [table.attributes, table.sensitive, table.useful][: 3 if table.useful else 1]
    squares = [np.mean([e**2 for e, a in zip(errors, asked, strict=True) if a == group]) for group in groups]
    return Candidate(
        name=name,
        title=method.title,
        private=method.private,
        channel=channel,
        nmi=mutual_information(prior, channel) / entropy(prior),
        level=ldp_epsilon(channel) if ball is None else ball.worst_case_epsilon(channel),
        rank=linear.rank,
        errors=tuple(math.sqrt(square) for square in squares),
    )


def least_epsilon(
    table: CountTable,
    utility: float,
    *,
    mechanism: str | None = None,
    beta: float = 0.05,
    order: float = 2.0,
    progress: Callable[[float], None] | None = None,
) -> float:
    """Find the least privacy level at which a mechanism reaches a utility, to 0.001.

    The utility of the optima grows with epsilon, and that of the closed forms does as well wherever it was
    looked at; bisection rests on that.

    Parameters
    ----------
    table : CountTable
    utility : float
        Normalized mutual information I(X; Y) / H(X) to reach, in (0, 1).
    mechanism : str, optional
        By default the optimum.
    beta, order : float
        As in `RenyiBall.confidence`.
    progress : callable, optional
        Called with every level tried.

    Returns
    -------
    float
        A multiple of 0.001, in nats: the utility is reached there, and not 0.001 below.

    Raises
    ------
    ValueError
        If the utility is out of range, or is not reached at any level up to 16.
    """
    as_instance(table, CountTable, "The table")
    if mechanism is not None:
        as_text(mechanism, "mechanism")
    utility = as_number(utility, "The utility", "a number strictly between 0 and 1")
    if not 0 < utility < 1:
        raise ValueError(f"The utility is {utility}; it must lie strictly between 0 and 1.")
    names = [mechanism] if mechanism is not None else ["polyopt", "exact"] if table.useful else ["ldp", "grr"]
    if mechanism is None and table.useful and table.counts.size > POLYOPT_CELLS:
        names = ["exact"]
    h = entropy(table.distribution)

    def reached(step: int) -> bool:
        level = step / STEPS
        if progress:
            progress(level)
        if min(optimal_nonrobust(table.distribution, level).upper_bound / h, 1.0) < utility:
            return False
        made = (design_channel(table, level, mechanisms=[name], beta=beta, order=order) for name in names)
        # One after the other: the last one takes longest, and mostly the first one tells.
        return any(c.nmi >= utility for design in made for c in design.candidates)

    # From above: levels near 0 take longest.
    low, high = 0, STEPS
    if not reached(high):
        while not reached(2 * high):
            high *= 2
            if 2 * high > MOST * STEPS:
                raise ValueError(
                    f"A utility of {utility} is not reached at any level up to {high / STEPS:g}."
                )
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high / STEPS
