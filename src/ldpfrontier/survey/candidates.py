"""Mechanisms of a design with what they reveal to whom, what they tell, and the errors of estimates."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ldpfrontier import Channel, entropy, estimation_error, mutual_information, rate_target
from ldpfrontier.survey.attackers import Guess, Levels, best_guesses, measured_levels
from ldpfrontier.survey.estimation import inversion, quantities
from ldpfrontier.survey.methods import Method, Problem
from ldpfrontier.survey.settings import SETTINGS


@dataclass(frozen=True, eq=False)
class Candidate:
    """A mechanism for a table at one privacy level; one that was not computed has no channel, and a note.

    `nmi` is I(X; Y) / H(X) at the distribution of the table. `errors` are root mean square errors of the
    frequencies of all of a record, of what is sensitive and of what is useful (the first alone if nothing
    is), `rates` is that of the rates of S given U, and `asked` that of the tables, differences or
    coefficients that have to be precise, in units of `Target.scales`; NaN where the channel does not show
    some of them. `out_of_choice` says why it is for comparison alone, beside mechanisms or cones of the
    user's own.
    """

    name: str
    title: str
    private: bool
    channel: Channel | None
    nmi: float = math.nan
    levels: Levels | None = None
    guesses: tuple[Guess, ...] = ()
    rank: int = 0
    errors: tuple[float, ...] = ()
    asked: float = math.nan
    rates: float = math.nan
    note: str = ""
    method: str = ""
    out_of_choice: str = ""

    @property
    def error(self) -> float:
        """Root mean square error of the frequencies of whole records; NaN if they cannot be estimated."""
        return self.errors[0] if self.errors else math.nan


def measured(name: str, method: Method, channel: Channel, problem: Problem, records: int) -> Candidate:
    """Return a mechanism with what it reveals and what it is worth."""
    table, prior = problem.table, problem.prior
    linear = inversion(channel.matrix, table)
    shares = table.distribution if table.assumed is None else table.expected
    errors = linear.error(shares.ravel() @ channel.matrix, records)
    asked = [quantity.attributes for quantity in quantities(table)[0]]
    groups = [table.attributes, table.sensitive, table.useful][: 3 if table.useful else 1]
    squares = [np.mean([e**2 for e, a in zip(errors, asked, strict=True) if a == group]) for group in groups]
    levels = measured_levels(channel, table, problem.population)
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
