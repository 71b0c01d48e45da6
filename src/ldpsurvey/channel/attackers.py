"""Privacy levels of a channel for attackers with different knowledge, over what a table leaves open.

An *outsider* knows nothing else about a person; what matters for outsiders is the level of the sensitive S
over the uncertainty set F (lopuhaa2024, Definition 1). An *insider* knows the useful U of the person; what
matters is the level of S given U (docs/beyond/theorems.md, statement 10), which alone is local label
differential privacy. An *acquaintance* knows nothing, something or everything about U, and nothing else; what
matters is the level of S for all Z with Z - U - S, over all distributions with odds ratios in intervals
(statement 11). *Anyone* may believe anything about the person; what matters is the level of S under every
distribution of (S, U) (lopuhaa2024, section 6). A level L means that a report changes the odds of two values
of S by at most a factor e^L.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from ldpfrontier import (
    Channel,
    OddsRatios,
    RenyiBall,
    association_epsilon,
)
from ldpfrontier.base.types import FloatArray, IntArray
from ldpsurvey.base.sampling import sampled_channel, sampled_level
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.data.reading import Label, said
from ldpsurvey.data.tables import CountTable

#: For whom a level holds that depends on nothing else.
ANYONE = "whatever anyone knows or believes about the person"

Attacker = Literal["insider-only", "outsider", "acquaintance", "anyone"]

#: The attackers from whom a design can protect, the weakest first.
ATTACKERS: tuple[Attacker, ...] = get_args(Attacker)

#: Those for whom a level is that of the channel alone, without a population.
WITHOUT_TABLE: tuple[Attacker, ...] = ("insider-only", "anyone")

#: Methods that designs offer of intervals of odds ratios (`OddsRatios.confidence`), and of the radius of F.
OfferedIntervals = Literal["exact", "bonferroni"]
OfferedRadius = Literal["asymptotic", "finite"]

#: How intervals of odds ratios are called in a promise, by their method.
_INTERVALS: Mapping[OfferedIntervals, str] = {
    "exact": "exact intervals",
    "bonferroni": "normal intervals (Bonferroni)",
}

#: When the set F has its confidence, by the method of its radius.
_RADII: Mapping[OfferedRadius, str] = {
    "asymptotic": "with many records",
    "finite": "with any number of records",
}


# What a table leaves open about the population ------------------------------------------------------------


@dataclass(frozen=True)
class Population:
    """How the set F and the intervals of odds ratios are chosen around a table, both at a significance beta.

    F has the Renyi order `order`, and its level with many records or with any number of them (`method`); its
    radius is multiplied by `factor`, above 1 for a population that may have changed. Both ends of the
    intervals are moved outwards by `widened` nats, for what other reports of a person may have told.
    """

    beta: float = 0.05
    order: float = 2.0
    intervals: OfferedIntervals = "exact"
    method: OfferedRadius = "asymptotic"
    factor: float = 1.0
    widened: float = 0.0

    def ball(self, table: CountTable) -> RenyiBall:
        """Return the set F around a table."""
        return RenyiBall.confidence(
            table.counts, self.beta, self.order, method=self.method, factor=self.factor,
            effective=table.effective, freedom=table.freedom,
        )  # fmt: skip

    def odds(self, table: CountTable) -> OddsRatios:
        """Return the intervals of the odds ratios of a table."""
        counts = tuple(map(tuple, table.counts.tolist()))
        sure = (table.effective, table.freedom)
        return _intervals(counts, self.beta, self.intervals, self.widened, *sure)


@functools.lru_cache(maxsize=4)
def _intervals(
    counts: tuple[tuple[int, ...], ...],
    beta: float,
    method: OfferedIntervals,
    widened: float,
    effective: float | None,
    freedom: float | None,
) -> OddsRatios:
    """Return the intervals of odds ratios: a design and the levels of its channel need the same ones."""
    if widened:
        return _intervals(counts, beta, method, 0.0, effective, freedom).widened(widened)
    return OddsRatios.confidence(counts, beta, method, effective=effective, freedom=freedom)


def population_of(
    table: CountTable,
    beta: float = 0.05,
    order: float = 2.0,
    method: OfferedRadius = "asymptotic",
    factor: float = 1.0,
) -> Population | None:
    """Return what is chosen around a table, with exact intervals of odds ratios if they are quick.

    Those of weighted and clustered samples are normal ones. None if all of a record is sensitive, or it is
    not known how sure the shares are: no promise is about a population then.
    """
    if not table.useful or not table.sampled:
        return None
    (a1, a2), records = table.counts.shape, table.records
    ratios = max(math.comb(a1, 2) * math.comb(a2, 2), 1_000)
    quick = table.counted and records * ratios <= SETTINGS.max_exact_work
    return Population(beta, order, "exact" if quick else "bonferroni", method, factor)


# Levels ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Levels:
    """Privacy levels of a channel in nats, rounded upwards; inf if some report rules a value out.

    For an outsider that of S over F, for an insider that given U, for an acquaintance that given anything
    about U with odds ratios in intervals, for anyone that under every distribution, and that of the whole
    record (S, U).
    """

    outsider: float
    insider: float
    acquaintance: float
    anyone: float
    record: float

    def against(self, attacker: Attacker) -> float:
        """Return the level that holds for an attacker.

        For acquaintances, who may know nothing or all of U, it is a level over the distributions with odds
        ratios in the intervals, which F does not enter.
        """
        return float(getattr(self, "insider" if attacker == "insider-only" else attacker))

    def strongest(self, epsilon: float) -> Attacker | None:
        """Return the strongest attacker for whom a level in nats holds; None if it holds for nobody."""
        return next((who for who in reversed(ATTACKERS) if self.against(who) <= epsilon), None)


def levels_of(entries: IntArray | FloatArray, table: CountTable, population: Population | None) -> Levels:
    """Return the levels of a channel, (inputs, outputs), of whole numbers or of chances, rounded upwards.

    Without a population, the level for anyone is that for outsiders and acquaintances.
    """
    record, (a1, a2) = sampled_level(entries), table.counts.shape
    if not table.useful:
        return Levels(*[record] * 5)
    blocks = entries.reshape(a1, a2, -1)
    insider = sampled_level(blocks.reshape(a1, -1))
    # Of each value the largest entries, beside the least ones of other values: of all, or the second least.
    most, least = blocks.max(axis=1), blocks.min(axis=1)
    first, second = np.partition(least, 1, axis=0)[:2]
    others = np.where(np.arange(a1)[:, None] == least.argmin(axis=0), second, first)
    anyone = sampled_level(np.stack([most.ravel(), others.ravel()]))
    if population is None:
        return Levels(anyone, insider, anyone, anyone, record)
    whole = np.issubdtype(entries.dtype, np.integer)
    channel = sampled_channel(entries.astype(np.int64)) if whole else Channel(entries.astype(np.float64))
    outsider, acquaintance, error = 0.0, anyone, SETTINGS.level_error
    # What holds for every distribution holds for those of F and of odds ratios, in spite of what is added.
    if anyone > 0.0:
        worst = population.ball(table).worst_case_epsilon(channel)
        outsider = min(anyone, worst + error * min(1.0, worst) + SETTINGS.level_rounding)
    if insider < anyone:
        worst = association_epsilon(channel, population.odds(table)) + error
        acquaintance = min(max(worst, insider), anyone)
    return Levels(outsider, insider, acquaintance, anyone, record)


@dataclass(frozen=True)
class Guess:
    """How often the best guess of S is right, without a report and with one."""

    before: float
    after: float


def best_guesses(channel: Channel, joint: FloatArray) -> tuple[Guess, Guess]:
    """Return how often outsiders and insiders guess S right at a distribution.

    Without a report an outsider is right with probability max_s P(s), an insider with sum_u max_s P(s, u);
    with one it is sum_y max_s P(s, y) and sum_{u, y} max_s P(s, u) Q(y | s, u): their Bayes vulnerability.
    """
    together = joint[:, :, None] * channel.matrix.reshape(*joint.shape, -1)
    outsider = Guess(float(joint.sum(axis=1).max()), float(together.sum(axis=1).max(axis=0).sum()))
    insider = Guess(float(joint.max(axis=0).sum()), float(together.max(axis=0).sum()))
    return outsider, insider


# Whom a level holds for, in words --------------------------------------------------------------------------


def scope_of(
    against: Attacker, useful: Label, population: Population | None, effective: float | None = None
) -> str:
    """Return whom a level holds for, in words; a table counts for `effective` people drawn at random."""
    known = said(useful)
    if useful and against == "insider-only":
        return f"for someone who knows the person's {known}, under every distribution"
    if population is None or against == "anyone":
        return ANYONE
    confidence = f"confidence {1.0 - population.beta:g}"
    sample = ""
    if effective is not None:
        sample = f", as if {effective:,.0f} people had been drawn at random"
    if against == "acquaintance":
        wider = f", widened by a factor of e^{population.widened:g}" if population.widened else ""
        return (
            f"for anyone whose knowledge about the person concerns {known} alone (nothing, the value, or"
            " something between, such as that it is one of two values), under every distribution with odds"
            f" ratios in their {_INTERVALS[population.intervals]} ({confidence}{sample}){wider}"
        )
    times = "" if population.factor == 1.0 else f", {population.factor:g} times the radius"
    order = "" if population.order == 2.0 else f", Rényi order {population.order:g}"
    return (
        "for someone who knows nothing else about the person, under every distribution in F"
        f" ({confidence} {_RADII[population.method]}{order}{times}{sample})"
    )
