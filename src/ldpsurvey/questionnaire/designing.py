"""Designs of channels for questionnaires: of a level, of one of several reports, or of the least level."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

from ldpfrontier import QuestionnaireOptimum, optimal_questionnaire
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.channel.allowance import Allowance, check_several
from ldpsurvey.channel.kinds import asked_values
from ldpsurvey.questionnaire.questionnaire_channel import ORDERS, QuestionnaireChannel, sampled
from ldpsurvey.questionnaire.questions import QuestionList, table_of_names
from ldpsurvey.questionnaire.restrictions import parsed_impossible


def design_questionnaire(
    questions: QuestionList,
    epsilon: float | None = None,
    order: int = 2,
    *,
    tables: Sequence[Sequence[str]] | None = None,
    reports: int | None = None,
    budget: float | None = None,
    error: float | None = None,
    records: int | None = None,
    impossible: Sequence[Sequence[str]] = (),
) -> QuestionnaireChannel:
    """Return the channel of the best mechanism found for all tables of so many questions.

    Parameters
    ----------
    questions : QuestionList
        With their answers.
    epsilon : float, optional
        The level, nats: of all `reports` of a person together, if several are asked for. Without it, the
        least level, to 0.001, at which so many `records`, by default those that were read, give the entries
        of the tables the root mean square error `error`.
    order : int
        How many questions the tables have: 1, 2 or 3.
    tables : sequence of tuple of str, optional
        The questions of each table, if others are wanted; every question is in one.
    reports : int, optional
        How often a person may report; each report has the same share of the level, since levels for anyone
        add up.
    budget : float, optional
        What the levels of the reports of a person, by this and other channels of this budget, may add up to.
    impossible : sequence of tuple of str
        Answers that nobody gives together, each as ``("age=15-17", "children=2,3")``.

    Raises
    ------
    ValueError
        If an argument is out of range, or no level gives the error.
    """
    names, answers = questions.names, questions.answers
    sizes, order, numbers = tuple(map(len, answers)), min(order, len(names)), None
    records = questions.records if records is None else records
    if records is not None and records < 1:
        raise ValueError(f"The number of records is {records}; it must be a whole number, at least 1.")
    if tables is not None:
        if unused := [name for name in names if all(name not in table for table in tables)]:
            raise ValueError(f"The question {unused[0]!r} is in no table, so that nobody would be asked it.")
        most = max(ORDERS.values())
        found_tables = {table_of_names(table, names, most) for table in tables}
        numbers = sorted(found_tables, key=lambda table: (len(table), table))
    allowance, least = None, SETTINGS.least_epsilon * (reports or 1)
    if reports is not None:
        check_several("anyone", reports)
    if epsilon is not None and not least <= epsilon <= SETTINGS.max_epsilon:
        of = "" if reports is None else f" for {reports} reports of a person"
        raise ValueError(
            f"epsilon is {epsilon}{of}; it must be a number from {least:g} to {SETTINGS.max_epsilon:g}."
        )
    if epsilon is None:
        found = _least_level(sizes, order, numbers, error, records)
    else:
        if reports is not None or budget is not None:
            allowance = Allowance(epsilon if budget is None else budget, reports)
        found = optimal_questionnaire(sizes, epsilon / (reports or 1), order, numbers)
    channel = sampled(
        found, names, answers, allowance=allowance, missing=questions.missing, combined=questions.combined
    )
    return replace(channel, impossible=parsed_impossible(impossible, asked_values(channel)))


def _least_level(
    sizes: tuple[int, ...],
    order: int,
    tables: Sequence[tuple[int, ...]] | None,
    error: float | None,
    records: int | None,
) -> QuestionnaireOptimum:
    """Return the best mechanism at the least level, to 0.001, at which the error is at most that given."""
    if records is None or error is None:
        raise ValueError(
            "There is no file of records, which would tell how many people will report; --records N is needed"
            " for the least level."
        )
    most = round(SETTINGS.max_epsilon * SETTINGS.levels_per_nat)

    def at(place: int) -> QuestionnaireOptimum:
        return optimal_questionnaire(sizes, place / SETTINGS.levels_per_nat, order, tables)

    def reached(place: int) -> bool:
        return at(place).mechanism.people(error) <= records

    if not reached(most):
        raise ValueError(
            f"At no level up to {SETTINGS.max_epsilon:g} do {records:,} reports give an error of {error:g}."
        )
    return at(bisect_left(range(most), True, 1, key=reached))
