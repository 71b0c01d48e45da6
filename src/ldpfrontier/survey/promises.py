"""What the channels of one table promise to those who report, as sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ldpfrontier.survey.attackers import ANYONE, promise_of, reader_of, scope_of, upwards
from ldpfrontier.survey.reading import said

if TYPE_CHECKING:
    from ldpfrontier.survey.channel_file import PrivateChannel


def promise_of_channel(private: PrivateChannel) -> str:
    """Return the strongest promise that is kept, and what is not promised."""
    return " ".join(filter(None, [_promise_of_one_report(private), promise_of_all(private)]))


def _promise_of_one_report(private: PrivateChannel) -> str:
    """Return the promise of one report, and from whom it does not protect."""
    stated, levels, table = private.certificate, private.certificate.levels, private.table
    if math.isinf(stated.epsilon):
        return "Nothing is promised: some report rules an answer out, or gives it away."
    if levels.record <= stated.epsilon:
        return promise_of(levels.record, table.attributes, ANYONE)
    scope = scope_of(private.protects, table.useful, stated.population, table.effective)
    promised = promise_of(levels.against(private.protects), table.sensitive, scope)
    known = said(table.useful)
    if table.useful and private.protects == "insider-only":
        return (
            f"{promised} It does not protect {known}, nor from what {known} tells about"
            f" {said(table.sensitive)}."
        )
    if not table.useful or private.protects != "outsider":
        return promised
    who, level = f"knows {known}", levels.insider
    if level <= stated.epsilon:
        who, level = (
            f"knows something about {known}, such as that it is one of two values",
            levels.acquaintance,
        )
    limit = "no level" if math.isinf(level) else f"level {level:.2f}"
    return f"{promised} It does not protect from someone who {who}: {limit}."


def is_for_same_answers(private: PrivateChannel) -> bool:
    """Return whether what several reports have together is a promise about answers that do not change.

    Where s changes, u may tell it at another report, at which s is the same: that report counts with the
    level of the whole record (docs/beyond.md, statement 11 (f)).
    """
    stated = private.certificate
    if not private.table.useful or stated.against == "insider-only":
        return False
    return stated.levels.record > stated.epsilon


def promise_of_all(private: PrivateChannel) -> str:
    """Return what all reports of a person keep together; nothing if the channel is for one report."""
    stated, allowance = private.certificate, private.certificate.allowance
    if allowance is None:
        return ""
    level = f"the level {upwards(allowance.level):g} for {reader_of(stated.against, private.table.useful)}"
    if is_for_same_answers(private):
        known = said(private.table.useful)
        level += (
            f", if the answers are the same each time; if not, for whoever knows {known} each time, and"
            f" nothing else"
        )
    if allowance.reports is not None:
        return (
            f"{allowance.reports} reports of a person by this channel, and none by another one, have at"
            f" most {level}."
        )
    return (
        f"All reports of a person by channels of this budget, as long as their levels, of which that of"
        f" this one is {stated.epsilon:g}, add up to no more, have together at most {level}."
    )
