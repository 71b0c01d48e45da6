"""Designs of channels for questionnaires: of a level, of one of several reports, or of the least level."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from ldpfrontier import QuestionnaireOptimum, optimal_questionnaire
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.channel.allowance import Allowance, check_several
from ldpsurvey.data.reading import Label
from ldpsurvey.questionnaire.questionnaire_channel import QuestionnaireChannel, sampled


def design_questionnaire(
    names: Label,
    answers: tuple[Label, ...],
    epsilon: float | None,
    order: int = 2,
    *,
    tables: Sequence[tuple[int, ...]] | None = None,
    reports: int | None = None,
    budget: float | None = None,
    error: float | None = None,
    records: int | None = None,
    **more: Any,
) -> QuestionnaireChannel:
    """Return the channel of the best mechanism found for all tables of so many questions.

    Parameters
    ----------
    names : tuple of str
        The questions.
    answers : tuple of tuple of str
        The answers to each of them.
    epsilon : float or None
        The level, nats: of all `reports` of a person together, if several are asked for. Without it, the
        least level, to 0.001, at which so many `records` give the entries of the tables the root mean square
        error `error`.
    order : int
        How many questions the tables have: 1, 2 or 3.
    tables : sequence of tuple of int, optional
        The numbers of the questions of each table, if others are wanted; every question is in one.
    reports : int, optional
        How often a person may report; each report has the same share of the level, since levels for anyone
        add up.
    budget : float, optional
        What the levels of the reports of a person, by this and other channels of this budget, may add up to.
    **more
        Further attributes of the channel.

    Raises
    ------
    ValueError
        If an argument is out of range, or no level gives the error.
    """
    sizes, order = tuple(map(len, answers)), min(order, len(names))
    if tables is not None:
        if unused := [name for j, name in enumerate(names) if all(j not in table for table in tables)]:
            raise ValueError(f"The question {unused[0]!r} is in no table, so that nobody would be asked it.")
        tables = sorted(set(tables), key=lambda table: (len(table), table))
    allowance, least = None, SETTINGS.least_epsilon * (reports or 1)
    if reports is not None:
        check_several("anyone", reports)
    if epsilon is not None and not least <= epsilon <= SETTINGS.max_epsilon:
        of = "" if reports is None else f" for {reports} reports of a person"
        raise ValueError(
            f"epsilon is {epsilon}{of}; it must be a number from {least:g} to {SETTINGS.max_epsilon:g}."
        )
    if epsilon is None:
        found = _least_level(sizes, order, tables, error, records)
    else:
        if reports is not None or budget is not None:
            allowance = Allowance(epsilon if budget is None else budget, reports)
        found = optimal_questionnaire(sizes, epsilon / (reports or 1), order, tables)
    return sampled(found, names, answers, allowance=allowance, **more)


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
