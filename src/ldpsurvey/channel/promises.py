"""What channels promise to those who report: levels, conditions and words, each from one place.

A sentence about privacy has a number, says for whom it holds, and on what condition. All three are those of
one `Kept`; the functions ``kept_by_...`` compute it, and every text of the commands is made from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.channel.allowance import Allowance
from ldpsurvey.channel.attackers import Attacker, Levels, Population, scope_of
from ldpsurvey.data.reading import Label, said
from ldpsurvey.data.tables import CountTable


@dataclass(frozen=True, kw_only=True)
class StatedLevels:
    """What a channel of any kind states: verified for the exact probabilities that are sampled.

    The level `epsilon`, nats, was asked for against an attacker, and `levels` were found. Without a
    population all of a record is sensitive, or nothing was counted; without an allowance a person reports
    once.
    """

    against: Attacker
    epsilon: float
    levels: Levels
    population: Population | None = None
    allowance: Allowance | None = None

    @property
    def level(self) -> float:
        """The level for the attackers that the channel protects from, in nats."""
        return self.levels.against(self.against)


@dataclass(frozen=True, kw_only=True)
class ChannelCertificate(StatedLevels):
    """What the file of a channel of one table states, as its certificate.

    `nmi` is the normalized information at the distribution of the table, and `bound` what that of no such
    mechanism passes.
    """

    mechanism: str
    nmi: float
    bound: float
    code_version: str = ""


@dataclass(frozen=True)
class QuestionNames:
    """Names for sentences, of a channel that protects all it asks, and for which nothing was counted."""

    sensitive: Label
    useful: Label = ()
    effective: float | None = None

    @property
    def attributes(self) -> Label:
        """All of them."""
        return self.sensitive


class Promising(Protocol):
    """What is asked of a channel: what it states, and of what."""

    @property
    def certificate(self) -> StatedLevels:
        """What the file states."""

    @property
    def table(self) -> CountTable | QuestionNames:
        """The table that the channel was designed for, or questions of which there is none."""

    @property
    def is_unasked(self) -> bool:
        """Whether reports depend on the useful value alone."""

    @property
    def protects(self) -> Attacker:
        """The strongest attacker for whom the level asked for holds."""


#: The condition of a level of several reports where a useful value that changes may tell the sensitive one.
SAME = "if the answers are the same each time"


@dataclass(frozen=True)
class Kept:
    """A level, nats, that reports keep: of the values of which columns, for whom, and on what condition.

    With a condition, of several reports, the level holds for those who know the useful value each time even
    where it is not met; without one, whether the answers of a person change or not.
    """

    level: float
    secret: Label
    against: Attacker
    condition: str = ""


# Conditions and numbers -----------------------------------------------------------------------------------


def kept_by_one(private: Promising) -> Kept | None:
    """Return the strongest promise that one report keeps; None if nothing is promised."""
    stated, levels, table = private.certificate, private.certificate.levels, private.table
    if math.isinf(stated.epsilon):
        return None
    if levels.record <= stated.epsilon:
        return Kept(levels.record, table.attributes, "anyone")
    return Kept(levels.against(private.protects), table.sensitive, private.protects)


def kept_by_all(private: Promising) -> Kept | None:
    """Return what all reports of a person keep together; None if the channel is for one report.

    Where the sensitive value is the same at a report, the useful one may still tell it at another report, so
    that each report counts with the level of the whole record (docs/beyond/theorems.md, statement 11 (f)): so
    many times that level have to be allowed. Of a budget, other channels may be used, whose levels of the
    record are not known here. For those who know the useful value each time, the levels given it add up.
    """
    stated, table = private.certificate, private.table
    allowance = stated.allowance
    if allowance is None:
        return None
    if allowance.reports is not None and allowance.reports * stated.levels.record <= allowance.level:
        return Kept(allowance.level, table.attributes, "anyone")
    if not table.useful or stated.against == "insider-only":
        return Kept(allowance.level, table.sensitive, stated.against)
    condition = SAME
    if allowance.reports is None and stated.levels.record <= stated.epsilon:
        condition += " or all of these channels protect the whole record, as this one does"
    return Kept(allowance.level, table.sensitive, stated.against, condition)


def kept_by_two(private: Promising) -> Kept:
    """Return what two reports of the same answers keep, of a channel for one; the level inf is no limit.

    Independent reports have at most the sum of their levels for anyone, and for insiders. For
    acquaintances the largest odds ratio comes on top, once: given u, products of entries differ by a factor
    of at most e^E, E the sum of the conditional levels, and the weights of two values of u by at most an odds
    ratio (docs/beyond/theorems.md, statement 11 (f)). What outsiders are promised says nothing of a second
    report.
    """
    stated, levels, table = private.certificate, private.certificate.levels, private.table
    if not table.useful or levels.record <= stated.epsilon:
        return Kept(2.0 * levels.record, table.attributes, "anyone")
    together, who = 2.0 * levels.anyone, private.protects
    if who == "insider-only":
        together = 2.0 * levels.insider
    elif who == "acquaintance" and stated.population is not None and isinstance(table, CountTable):
        largest = float(stated.population.odds(table).high.max())
        together = min(together, 2.0 * levels.insider + math.log(largest))
    return Kept(together if together <= SETTINGS.max_epsilon else math.inf, table.sensitive, who)


def protects_all(private: Promising) -> bool:
    """Return whether the whole record is protected, by one report and by all that a person may give."""
    one, every = kept_by_one(private), kept_by_all(private)
    whole = one is not None and one.secret == private.table.attributes
    allowance = private.certificate.allowance
    several = allowance is not None and allowance.reports is not None
    return whole and not (several and every is not None and every.secret != private.table.attributes)


# Words ----------------------------------------------------------------------------------------------------


def promise_of_channel(private: Promising) -> str:
    """Return the strongest promise that is kept, and what is not promised."""
    parts = [_promise_of_one_report(private), _basis_of_unasked(private), promise_of_all(private)]
    return " ".join(filter(None, parts))


def rests_on_table(private: Promising) -> bool:
    """Tell whether the sensitive value is not asked, and only the table links it to a report.

    A level under every distribution, and one of the whole record, need no table.
    """
    kept = kept_by_one(private)
    if not private.is_unasked or kept is None:
        return False
    return kept.secret != private.table.attributes and kept.against != "anyone"


def _basis_of_unasked(private: Promising) -> str:
    """Return what the promise rests on if the sensitive value is not asked; nothing if on no table."""
    kept, table = kept_by_one(private), private.table
    if kept is None or not rests_on_table(private):
        return ""
    secret, known = said(table.sensitive), said(table.useful)
    among = "F" if kept.against == "outsider" else "the intervals of odds ratios"
    return (
        f"{secret} is not asked, and a report tells of it what {known} does: the promise holds as far as"
        f" {among}, made of the table of the design, contain what is true of those who report."
    )


def _promise_of_one_report(private: Promising) -> str:
    """Return the promise of one report, and from whom it does not protect."""
    kept, stated, table = kept_by_one(private), private.certificate, private.table
    if kept is None:
        return "Nothing is promised: some report rules an answer out, or gives it away."
    scope = scope_of(kept.against, table.useful, stated.population, table.effective)
    promised = (
        f"A report changes the odds between any two values of {said(kept.secret)} by at most a factor of"
        f" {factor_text(kept.level)}, {scope}."
    )
    if kept.secret == table.attributes:
        return promised
    known, levels = said(table.useful), stated.levels
    if kept.against == "insider-only":
        return (
            f"{promised} It does not protect {known}, nor from what {known} tells about"
            f" {said(table.sensitive)}."
        )
    if kept.against != "outsider":
        return promised
    who, level = f"knows {known}", levels.insider
    if level <= stated.epsilon:
        who, level = (
            f"knows something about {known}, such as that it is one of two values",
            levels.acquaintance,
        )
    return f"{promised} It does not protect from someone who {who}: {level_text(level)}."


def promise_of_all(private: Promising) -> str:
    """Return what all reports of a person keep together, in words; nothing if the channel is for one."""
    kept, stated = kept_by_all(private), private.certificate
    if kept is None or stated.allowance is None:
        return ""
    level = f"the level {upwards(kept.level):g} for {readers_of(private, kept)}"
    if stated.allowance.reports is not None:
        return (
            f"{stated.allowance.reports} reports of a person by this channel, and none by another one, have"
            f" at most {level}."
        )
    return (
        f"All reports of a person by channels of this budget, as long as their levels, of which that of"
        f" this one is {stated.epsilon:g}, add up to no more, have together at most {level}."
    )


def readers_of(private: Promising, kept: Kept) -> str:
    """Return whom a level of several reports holds for, with its condition."""
    useful = private.table.useful
    if kept.condition:
        known = reader_of("insider-only", useful)
        return f"{reader_of(kept.against, useful)}, {kept.condition}; if not, for {known}"
    return f"{reader_of(kept.against, useful)}, whether the answers change or not"


def several_reports_text(private: Promising) -> tuple[str, bool]:
    """Return what is known of several reports of one person, and whether that has to be a warning.

    It has to be one if two reports have no limit, or a repeated one does not keep the promise.
    """
    if private.certificate.allowance is not None:
        more = "--memo FILE --id COLUMN --wave NAME keeps an account of what each person has reported."
        return f"{promise_of_all(private)} {more}", False
    kept, stated = kept_by_two(private), private.certificate
    two, secret = "Two reports of the same answers, drawn independently,", said(kept.secret)
    limited = not math.isinf(kept.level)
    words = f"{two} may give {secret} away."
    if limited:
        words = (
            f"{two} have together a level of at most {upwards(kept.level):g} for {secret}, for the same"
            " readers."
        )
    lasting = kept.against != "outsider" or stated.levels.anyone <= stated.epsilon
    words += " If anybody is asked again, --memo FILE --id COLUMN repeats the first report, which keeps the"
    return f"{words} promise.", not (limited and lasting)


def reader_of(against: Attacker, useful: Label) -> str:
    """Return whom a level of several reports holds for, in few words."""
    known = said(useful)
    if not useful or against == "anyone":
        return "anyone, whatever they know or believe"
    return {
        "outsider": "whoever knows nothing else about the person",
        "insider-only": f"whoever knows {known} each time, and nothing else",
        "acquaintance": f"whoever knows something about {known}, and nothing else",
    }[against]


# Numbers in words: all of them are limits, and rounded upwards --------------------------------------------


def upwards(level: float, decimals: int = 2) -> float:
    """Return a level with some decimals, or two digits, that is not below it by more than rounding."""
    digits = max(decimals, 1 - math.floor(math.log10(level))) if 0.0 < level < math.inf else decimals
    return level if math.isinf(level) else math.ceil(level * (1.0 - 1e-9) * 10.0**digits) / 10.0**digits


def factor_text(level: float) -> str:
    """Return a level as a factor and as a number, such as ``2.719 (level 1)``.

    Both are limits, and agree: the factor is e to the power of the level that is printed, rounded upwards.
    """
    printed = upwards(level, 3)
    return f"{factor_of(printed):.4g} (level {printed:g})"


def factor_of(level: float, digits: int = 4) -> float:
    """Return e to the power of a level, rounded upwards to some digits."""
    factor = math.exp(min(level, 700.0))
    unit = 10.0 ** (math.floor(math.log10(factor)) + 1 - digits)
    return math.ceil(factor / unit * (1.0 - 1e-9)) * unit


def level_text(level: float) -> str:
    """Return a level of somebody from whom nothing is promised: a number, or that there is no limit."""
    return "no limit" if level > SETTINGS.max_epsilon else f"level {upwards(level):g}"


def raised(chance: float, level: float) -> str:
    """Return the largest chance that a report of a level may lead to.

    It is the limit of the chance that `percent` prints as well, if that is larger.
    """
    if level > SETTINGS.max_epsilon:
        return "100%"
    unit = _unit(chance)
    chance = min(max(chance, round(chance / unit) * unit, 0.001), 1.0)
    odds = chance / (1.0 - chance) * math.exp(level) if chance < 1.0 else math.inf
    return percent(1.0 if math.isinf(odds) else odds / (1.0 + odds), up=True)


def _unit(share: float) -> float:
    """Return to what multiples a share is rounded: whole percents, and tenths below 1%."""
    return 0.01 if share >= 0.01 else 0.001


def percent(share: float, *, up: bool = False) -> str:
    """Return a share in percent, without decimals above 1%; a limit is rounded upwards."""
    unit = 100.0 * _unit(share)
    whole = 100.0 * share / unit
    rounded = (math.ceil(whole - 1e-6) if up else round(whole)) * unit
    return f"{min(rounded, 100.0):g}%" if rounded else "under 0.1%"
