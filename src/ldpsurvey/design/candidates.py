"""The mechanisms that were computed for a table at one privacy level, and the choice among them."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING

from ldpfrontier import Channel, entropy, mutual_information
from ldpsurvey.base.layout import counted
from ldpsurvey.base.sampling import sampled_channel
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.base.tabular import Tabular, frame_of
from ldpsurvey.channel.allowance import Allowance
from ldpsurvey.channel.attackers import Attacker, Guess, Levels, Population
from ldpsurvey.channel.channel_file import PrivateChannel, private_weights
from ldpsurvey.channel.promises import ChannelCertificate
from ldpsurvey.data.reading import said
from ldpsurvey.data.tables import CountTable
from ldpsurvey.design.methods import Purpose, nearly_least

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
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

    def __repr__(self) -> str:
        return f"<Candidate: {self.name}>"

    @property
    def error(self) -> float:
        """Root mean square error of the frequencies of whole records; NaN if they cannot be estimated."""
        return self.errors[0] if self.errors else math.nan


@dataclass(frozen=True, eq=False, repr=False)
class Design(Tabular):
    """The mechanisms computed for a table at one privacy level.

    Attributes
    ----------
    table : CountTable
    epsilon : float
        Nats.
    against : {"insider-only", "outsider", "acquaintance", "anyone"}
        The attacker for whom the level has to hold.
    population : Population or None
        What the table leaves open; None if all of a record is sensitive, or that is not known.
    records : int
        The number of reports for which the errors are computed.
    candidates : list of Candidate
    bound : float
        No mechanism of this level has a larger normalized mutual information.
    precise : str
        What has to be precise, as of `design_channel`.
    allowance : Allowance or None
        What one person may report; None for one report.
    """

    table: CountTable
    epsilon: float
    against: Attacker
    population: Population | None
    records: int
    candidates: list[Candidate]
    bound: float
    precise: str = "cells"
    allowance: Allowance | None = None

    def to_frame(self) -> pd.DataFrame:
        """Return the mechanisms, a row each, with the error of what has to be precise, and their levels.

        `people` is how many reports give an error of 0.01, by `reports_for`.
        """
        return frame_of(
            {
                "mechanism": one.name, "private": one.private, "error": self.error_of(one),
                "people": self.reports_for(one, 0.01), "nmi": one.nmi, "rank": one.rank,
                **({} if one.levels is None else asdict(one.levels)), "note": one.note or one.out_of_choice,
            }
            for one in self.candidates
        )  # fmt: skip

    def _about(self) -> str:
        return (
            f"{counted(len(self.candidates), 'mechanism')} for {said(self.table.attributes)} at level"
            f" {self.epsilon:g} against {self.against}"
        )

    def error_of(self, candidate: Candidate) -> float:
        """Return the root mean square error of what has to be precise; NaN if it cannot be estimated."""
        if self.precise == "rates":
            return candidate.rates
        if self.precise not in ("cells", "S", "U"):
            return candidate.asked
        place = ("cells", "S", "U").index(self.precise)
        return candidate.errors[place] if len(candidate.errors) > place else math.nan

    def best(self, purpose: Purpose = "frequencies") -> Candidate:
        """Return the best candidate that has the required level; a `ValueError` says why there is none.

        It has the smallest error of what has to be precise, or the largest information. Of errors that are
        nearly equal, that of the sensitive value decides, and then the level for the whole record. With
        mechanisms of the user's own it is one of these, and with cones one that is in all of them.
        """
        usable = [c for c in self.candidates if c.channel is not None and c.private and not c.out_of_choice]
        if purpose == "frequencies":
            usable = [c for c in usable if math.isfinite(self.error_of(c))]
        if not usable:
            why = "; ".join(f"{c.name}: {self._why_not(c)}" for c in self.candidates)
            raise ValueError(f"No mechanism is left to choose from ({why}).")
        if purpose == "information":
            return max(usable, key=lambda c: c.nmi)
        place = 0 if self.precise == "S" or not self.table.useful else 1

        def of_sensitive(candidate: Candidate) -> float:
            error = candidate.errors[place]
            return math.inf if math.isnan(error) else error

        def of_record(candidate: Candidate) -> float:
            # Levels that differ by rounding are the same.
            return round(candidate.levels.record, 6) if candidate.levels else math.inf

        # Each of two errors is known to a gap.
        gap = SETTINGS.error_tolerance
        near = nearly_least(nearly_least(usable, self.error_of, 2.0 * gap), of_sensitive, gap)
        return min(near, key=lambda c: (of_record(c), self.error_of(c)))

    def _why_not(self, candidate: Candidate) -> str:
        """Return why a candidate cannot be chosen for frequencies, and for what it may be."""
        if candidate.note or candidate.out_of_choice:
            return candidate.note or candidate.out_of_choice
        if not candidate.private:
            level = candidate.levels.against(self.against) if candidate.levels else math.nan
            if not level > self.epsilon:
                return "it is for comparison"
            return (
                f"its level is {level:.4g} against {self.against}, and allowed is the level {self.epsilon:g}"
            )
        others = [replace(self, precise=name) for name in ("S", "U", "rates")] if self.table.useful else []
        shown = [f"--precise {one.precise}" for one in others if math.isfinite(one.error_of(candidate))]
        takes = " or ".join([*shown, "--for information"])
        return (
            f"it has rank {candidate.rank} for {self.table.counts.size} values, and its reports do not show"
            f" what has to be precise ({self.precise}); {takes} takes it"
        )

    def reports_for(self, candidate: Candidate, error: float) -> float:
        """Return how many reports give what has to be precise a root mean square error; inf if none do."""
        own = self.error_of(candidate)
        if not math.isfinite(own):
            return math.inf
        return max(math.ceil(self.records * (own / error) ** 2), 1)

    def for_records(self, records: int) -> Design:
        """Return the same mechanisms with the errors of another number of reports."""
        share = math.sqrt(self.records / records)
        scaled = [
            replace(
                c,
                errors=tuple(share * error for error in c.errors),
                rates=share * c.rates,
                asked=share * c.asked,
            )
            for c in self.candidates
        ]
        return replace(self, records=records, candidates=scaled)

    def private(self, candidate: Candidate) -> PrivateChannel:
        """Return a candidate as a channel that can be sampled; a `ValueError` if its level is too large."""
        if candidate.channel is None:
            raise ValueError(f"There is no channel for {candidate.name}. {candidate.note}")
        weights, levels = private_weights(
            candidate.channel, self.table, self.population, self.epsilon, self.against
        )
        prior = self.table.distribution.ravel()
        certificate = ChannelCertificate(
            mechanism=candidate.name,
            against=self.against,
            epsilon=self.epsilon,
            levels=levels,
            population=self.population,
            nmi=mutual_information(prior, sampled_channel(weights)) / entropy(prior),
            bound=self.bound,
            code_version=import_module("ldpfrontier").__version__,
            allowance=self.allowance,
        )
        private = PrivateChannel(self.table, weights, certificate)
        private.check_levels(levels)
        return private
