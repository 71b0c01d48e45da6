"""What one person may report with a channel, and the level that all of it keeps together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ldpfrontier import Channel, levels_of_reports
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.channel.attackers import Attacker, Population
from ldpsurvey.data.tables import CountTable


@dataclass(frozen=True)
class Allowance:
    """What one person may report, and the level in nats of all of it for those who are protected from.

    With `reports`, so many by this channel and none by another one. Without, reports by all channels with
    this budget for the same table may be mixed in any order, and each may be chosen after the reports before
    it were seen, as long as the levels that were asked for add up to no more than `level`.
    """

    level: float
    reports: int | None = None

    def __post_init__(self) -> None:
        whole = type(self.reports) is int or self.reports is None
        if type(self.level) not in (int, float) or not whole:
            raise ValueError("The allowance of a person is no level with a number of reports.")

    def cost(self, epsilon: float) -> tuple[float, float]:
        """Return what a report at a level costs a person, and what the reports of a person may cost."""
        return (epsilon, self.level) if self.reports is None else (1.0, float(self.reports))


def level_of_reports(
    channel: Channel, reports: int, table: CountTable, population: Population | None, against: Attacker
) -> float:
    """Return the level, or a bound, of several reports by one channel together for an attacker, in nats.

    For acquaintances it is that over the intervals of the table, rounded upwards by what may be lacking.
    """
    odds = None
    if against == "acquaintance" and population is not None:
        odds = replace(population, widened=0.0).odds(table)
    found = levels_of_reports([channel] * reports, table.counts.shape, odds=odds)
    level = found.insiders if against == "insider-only" else found.anyone
    if found.acquaintances is not None:
        level = found.acquaintances
    return level + SETTINGS.level_error * max(1.0, level)


def check_several(against: Attacker, reports: int | None) -> None:
    """Refuse several reports of a person against outsiders, or too many; None are those in a budget."""
    if against == "outsider":
        raise ValueError(
            "A promise to outsiders says nothing about a second report of a person; several reports need"
            " protection against acquaintance, insider-only or anyone."
        )
    if reports is not None and not 2 <= reports <= SETTINGS.max_reports:
        raise ValueError(
            f"The number of reports of a person is {reports}; it must be from 2 to {SETTINGS.max_reports}."
        )


def check_allowance(
    allowance: Allowance,
    against: Attacker,
    epsilon: float,
    together: Callable[[int], float],
    population: Population | None = None,
) -> None:
    """Refuse what a person may report, with a `ValueError`, if all of it together does not keep its level.

    The function `together` returns the level, nats, of so many reports by the channel. Reports of the same
    answers have at most the sum of their levels for anyone, and for insiders. For acquaintances they do if
    each report protects over intervals of the odds ratios that are widened at both ends by twice the levels
    of all others (docs/beyond/theorems.md, statement 11 (f)).
    """
    level, reports = allowance.level, allowance.reports
    check_several(against, reports)
    if not epsilon <= level <= SETTINGS.max_epsilon:
        raise ValueError(
            f"The level of all reports of a person is {level:g}; it must be at least that of one,"
            f" {epsilon:g}, and at most {SETTINGS.max_epsilon:g}."
        )
    if reports is None:
        widened = 0.0 if population is None else population.widened
        if against == "acquaintance" and widened < 2.0 * (level - epsilon) * (1.0 - 1e-12):
            raise ValueError(
                f"The intervals are widened by {widened:g} nats; for a budget of {level:g} and reports of"
                f" the level {epsilon:g} they must be by {2.0 * (level - epsilon):g}."
            )
        return
    found = together(reports)
    if not found <= level:
        raise ValueError(
            f"The level of {reports} reports together is {found:.9g}; the channel allows {level:.9g}."
        )
