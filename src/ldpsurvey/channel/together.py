"""What several reports of one person, drawn independently, reveal together, and to whom."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from ldpfrontier import levels_of_reports
from ldpsurvey.base.layout import columns, reports_text, wrapped
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.base.tabular import TableRows
from ldpsurvey.channel.attackers import Attacker
from ldpsurvey.channel.channel_file import PrivateChannel
from ldpsurvey.channel.kinds import Field
from ldpsurvey.channel.promises import Promising, reader_of, upwards
from ldpsurvey.data.reading import said


class QuestionsChannel(Promising, Protocol):
    """A channel of a questionnaire, as those who ask for levels of several reports see it."""

    @property
    def telling(self) -> frozenset[Field]:
        """The questions of which one answer alone can change the chance of a report by its whole level."""


#: A channel of either kind.
Channels = PrivateChannel | QuestionsChannel


@dataclass(frozen=True)
class LevelTogether:
    """The level, nats, of several reports of a person for somebody, rounded up; a bound if not `exact`."""

    against: Attacker
    level: float
    exact: bool


def read_channels(
    paths: Sequence[Path | str], read: Callable[[str], Channels]
) -> list[PrivateChannel] | list[QuestionsChannel]:
    """Read the channels of several reports of one person: of the same table, or of any questionnaires."""
    files = {path: read(path) for path in dict.fromkeys(map(str, paths))}
    tables = {path: one for path, one in files.items() if isinstance(one, PrivateChannel)}
    questionnaires = {path: one for path, one in files.items() if not isinstance(one, PrivateChannel)}
    if tables and questionnaires:
        own, another = next(iter(questionnaires)), next(iter(tables))
        raise ValueError(
            f"{own} is the channel of a questionnaire, and {another} is not."
            " How their answers belong together is in no file; levels for anyone of the whole record add up."
        )
    if questionnaires:
        return [questionnaires[str(path)] for path in paths]
    (first, one), *others = tables.items()
    for path, other in others:
        if (other.table.attributes, other.table.labels) != (one.table.attributes, one.table.labels):
            raise ValueError(
                f"{path} is about {said(other.table.attributes)}, and {first} about"
                f" {said(one.table.attributes)}, or their values differ. Levels of reports on different"
                " answers depend on how these belong together, which no file says."
            )
        if (other.table.sensitive, other.basis) != (one.table.sensitive, one.basis):
            raise ValueError(
                f"{path} and {first} were designed with different sensitive columns, counts or intervals;"
                " their levels are about different populations, and say nothing about both reports together."
            )
    return [tables[str(path)] for path in paths]


def levels_together(
    privates: Sequence[PrivateChannel] | Sequence[QuestionsChannel],
) -> TableRows[LevelTogether]:
    """Return the levels of one report by each of several channels together, for each attacker.

    Of questionnaires the levels add up. The sum is reached if all reports tell about one question: by two
    records that differ in its answer alone, and by reports that each have the larger of two chances for one.
    """
    error, about = SETTINGS.level_error, f"levels of {len(privates)} reports of one person together"
    tables = [private for private in privates if isinstance(private, PrivateChannel)]
    if len(tables) < len(privates):
        together = changing_levels(privates)["anyone"]
        others = [private.telling for private in privates if not isinstance(private, PrivateChannel)]
        exact = bool(frozenset.intersection(*others))
        rows = [LevelTogether("anyone", together + error * max(1.0, together), exact)]
        return TableRows(rows, about)
    found = _of_tables(tables)
    return TableRows((replace(one, level=one.level + error * max(1.0, one.level)) for one in found), about)


def _of_tables(privates: Sequence[PrivateChannel]) -> list[LevelTogether]:
    """Return levels of reports by channels of one table, as they are computed."""
    table, population = privates[0].table, privates[0].certificate.population
    once = {private.sha256: private.channel for private in privates}
    odds = ball = None
    if population is not None:
        odds, ball = replace(population, widened=0.0).odds(table), population.ball(table)
    found = levels_of_reports(
        [once[private.sha256] for private in privates], table.counts.shape, odds=odds, ball=ball
    )
    levels = [LevelTogether("anyone", found.anyone, True)]
    if table.useful:
        levels.insert(0, LevelTogether("insider-only", found.insiders, True))
    if found.acquaintances is not None and found.outsiders is not None:
        levels.insert(1, LevelTogether("acquaintance", found.acquaintances, found.exact))
        levels.insert(0, LevelTogether("outsider", found.outsiders, found.exact))
    return levels


def changing_levels(privates: Sequence[Promising]) -> dict[Attacker, float]:
    """Return the levels, nats, of one report by each of several channels if the answers of a person change.

    For whoever knows the useful value each time, and for anyone: those of each, given U and of the whole
    record, add up (docs/beyond/theorems.md, statement 11 (f)). For others the level is that for anyone.
    """
    stated = [private.certificate.levels for private in privates]
    found: dict[Attacker, float] = {"anyone": math.fsum(one.record for one in stated)}
    if privates[0].table.useful:
        found = {"insider-only": math.fsum(one.insider for one in stated), **found}
    return found


def together_text(
    paths: Sequence[str], privates: Sequence[PrivateChannel] | Sequence[QuestionsChannel]
) -> str:
    """Return what the reports of one person reveal together, to whom, as a paragraph and a table."""
    table = privates[0].table
    numbers = Counter(paths)
    files = ", ".join(f"{number} by {path}" for path, number in numbers.items())
    secret = "; ".join(dict.fromkeys(said(private.table.sensitive) for private in privates))
    changing = []
    for who, level in changing_levels(privates).items():
        is_or_has = "is at most" if _is_limited(level) else "has"
        changing.append(f"{is_or_has} {_level_text(level)} for {reader_of(who, table.useful)}")
    head = (
        f"{reports_text(len(paths))} of the same answers, drawn independently: {files}. Together they change"
        f" the odds between any two values of {secret} by at most a factor of e^level. If a person's answers"
        f" change, the level {', and '.join(changing)}."
    )
    lines = [["level", "", "for"]]
    for one in levels_together(privates):
        kind = "exact" if one.exact else "at most"
        kind = kind if _is_limited(one.level) else ""
        lines.append([_level_text(one.level), kind, reader_of(one.against, table.useful)])
    return wrapped(head) + "\n\n" + columns(lines)


def _level_text(level: float) -> str:
    """Return a level in nats, rounded up to two decimals, or that there is no limit."""
    return f"{upwards(level):.2f}" if _is_limited(level) else "no limit"


def _is_limited(level: float) -> bool:
    """Tell whether a level, nats, limits anything: none above the largest that can be designed does."""
    return level <= SETTINGS.max_epsilon
