"""The commands design, apply and estimate for questionnaires."""

from __future__ import annotations

import argparse
import os
from bisect import bisect_left
from collections import Counter
from contextlib import nullcontext
from typing import TYPE_CHECKING

import numpy as np

from ldpfrontier import QuestionnaireOptimum, optimal_questionnaire
from ldpfrontier.survey.channel_file import written_files
from ldpfrontier.survey.estimate_texts import give_estimates
from ldpfrontier.survey.groups import parsed_bins, translations_for
from ldpfrontier.survey.layout import remark, wrapped
from ldpfrontier.survey.option_table import OF_SAMPLES
from ldpfrontier.survey.outputs import check_new
from ldpfrontier.survey.privatizing import write_reports
from ldpfrontier.survey.questionnaire.channel import ORDERS, read_questionnaire, sampled
from ldpfrontier.survey.questionnaire.estimation import estimate_questionnaire
from ldpfrontier.survey.questionnaire.questions import QuestionList, questions_of_file, questions_of_values
from ldpfrontier.survey.questionnaire.reports import draw_reports, read_reports
from ldpfrontier.survey.questionnaire.routing import given_for_tables
from ldpfrontier.survey.questionnaire.texts import comparison_text, design_text, estimate_text
from ldpfrontier.survey.reading import Translation, labels_of
from ldpfrontier.survey.reports import Codes, first_reports
from ldpfrontier.survey.sampling import Source
from ldpfrontier.survey.settings import SETTINGS
from ldpfrontier.survey.tables import parsed_values
from ldpfrontier.verify import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def design(options: argparse.Namespace) -> int:
    """Design a channel for a questionnaire, and write it."""
    precise = options.precise or "pairs"
    if given := given_for_tables(options):
        raise ValueError(
            f"--{given[0].replace('_', '-')} is for the joint table of some columns (--precise cells, S, U or"
            f" rates); a design for {precise} protects the answers to all questions from anyone."
        )
    questions = _questions(options)
    for hint in questions.hints:
        remark(hint)
    records = questions.records if options.records is None else options.records
    if records is not None and records < 1:
        raise ValueError(f"The number of records is {records}; it must be a whole number, at least 1.")
    sizes, order = tuple(map(len, questions.answers)), min(ORDERS[precise], len(questions.names))
    epsilon = options.epsilon
    if epsilon is not None and not SETTINGS.least_epsilon <= epsilon <= SETTINGS.max_epsilon:
        raise ValueError(
            f"epsilon is {epsilon}; it must be a number from {SETTINGS.least_epsilon:g} to"
            f" {SETTINGS.max_epsilon:g}."
        )
    if epsilon is None:
        found = _least_level(sizes, order, options.error, records)
    else:
        found = optimal_questionnaire(sizes, epsilon, order)
    channel = sampled(found, questions.names, questions.answers)
    if not options.force:
        check_new(channel.text(), written_files(options.out))
    paths = channel.write(options.out)
    if options.json:
        from ldpfrontier.survey.exports import as_json

        about = {"names": questions.names, "answers": questions.answers, "level": channel.level}
        error = {"people": channel.mechanism.people(options.error or 0.01), "bound": channel.bound}
        print(as_json(about, **error, promise=channel.promise(), written=list(map(str, paths))))
        return 0
    print(design_text(channel, records, options.error or 0.01, options.out))
    if options.details:
        print("\n" + comparison_text(channel))
        print("\n" + wrapped(channel.promise()))
    return 0


def _least_level(
    sizes: tuple[int, ...], order: int, error: float, records: int | None
) -> QuestionnaireOptimum:
    """Return the best mechanism at the least level, to 0.001, at which the error is at most that given."""
    if records is None:
        raise ValueError(
            "Without a file of records, the number of records is needed (--records) for the least level."
        )
    if not error > 0:
        raise ValueError(f"The error is {error}; it must be a number above 0.")
    most = round(SETTINGS.max_epsilon * SETTINGS.levels_per_nat)

    def at(place: int) -> QuestionnaireOptimum:
        return optimal_questionnaire(sizes, place / SETTINGS.levels_per_nat, order)

    def reached(place: int) -> bool:
        return at(place).mechanism.people(error) <= records

    if not reached(most):
        raise ValueError(
            f"At no level up to {SETTINGS.max_epsilon:g} do {records:,} reports give an error of {error:g}."
        )
    return at(bisect_left(range(most), True, 1, key=reached))


def _questions(options: argparse.Namespace) -> QuestionList:
    values, bins = parsed_values(options.values or ()), parsed_bins(options.bins)
    path = options.data or options.table
    if path is None:
        return questions_of_values(values, options.sensitive, bins=bins)
    count = options.count or (None if options.table is None else "count")
    return questions_of_file(
        path, options.sensitive, count=count, values=values, bins=bins, missing=options.missing,
        missing_codes=options.missing_codes, decimal=options.decimal,
    )  # fmt: skip


def apply(options: argparse.Namespace, source: Source | None) -> int:
    """Privatize records with the channel of a questionnaire."""
    channel = read_questionnaire(options.channel)
    if options.memo is not None or options.wave:
        raise ValueError(
            "--memo and --wave are for channels of one table; with a questionnaire each person reports once,"
            " and whoever collects reports has to see to it."
        )
    names = channel.names
    labels = [[(answer,) for answer in answers] for answers in channel.answers]
    codes = {name: Codes(options.data, (name,), some) for name, some in zip(names, labels, strict=True)}
    made = dict[str, Translation]()
    for name, some in zip(names, labels, strict=True):
        own = [code for code in options.missing_codes if "=" not in code or code.partition("=")[0] == name]
        made |= translations_for(
            options.data, (name,), some, _known(options.missing, some), own, options.decimal
        )
    done, _ = write_reports(
        options.data, options.out, names, channel.id, nullcontext(),
        lambda _, chunk, done: draw_reports(
            channel,
            np.column_stack([codes[name](labels_of(chunk, [name], made), done) for name in names]),
            source or os.urandom,
        ),
        keep=options.keep, column=options.column, spreadsheet=options.spreadsheet,
    )  # fmt: skip
    print(f"{done:,} {'record' if done == 1 else 'records'} privatized.")
    print(wrapped(channel.promise()))
    print(wrapped("Two reports of one person have together at most twice this level."))
    print(visible(f"File written: {options.out}."))
    return 0


def _known(missing: str | None, labels: list[tuple[str]]) -> str | None:
    """Return the name of missing values, if a question has it among its answers."""
    return missing if (missing,) in labels else None


def audit(options: argparse.Namespace) -> int:
    """Say the level of the channel of a questionnaire, which is computed when its file is read."""
    if options.samples is not None or options.data is not None:
        raise ValueError(
            "--samples and --data are for channels of one table. The level of a questionnaire follows from"
            " the numbers in its file, whatever is drawn."
        )
    channel = read_questionnaire(options.channel)
    if options.json:
        from ldpfrontier.survey.exports import as_json

        print(as_json({"level": channel.level, "epsilon": channel.epsilon, "promise": channel.promise()}))
        return 0
    print(
        wrapped(f"The level is {channel.level:.6g}, from the whole numbers in the file. {channel.promise()}")
    )
    return 0


def estimate(options: argparse.Namespace) -> int:
    """Estimate the tables of a questionnaire."""
    channel = read_questionnaire(options.channel)
    for name in ("compare_with", *OF_SAMPLES, "mean", "cumulative"):
        if getattr(options, name) is not None:
            option = name.replace("_", "-")
            raise ValueError(f"--{option} is for channels of one table, and not for questionnaires.")
    counts = Counter[str]()
    texts = first_reports(
        options.data, channel.id, lambda texts, _: np.array(texts, dtype=object), options.column, options.id
    )
    for _, some in texts:
        counts.update(some.tolist())
    found = estimate_questionnaire(
        channel, read_reports(channel, counts), options.confidence, simultaneous=options.simultaneous,
        rates=None if options.rates is None else tuple(options.rates),
    )  # fmt: skip
    rows = [("", row) for row in (*found.entries, *found.rates)]

    def picture() -> Figure:
        from ldpfrontier.survey.pictures import questionnaire_picture

        return questionnaire_picture(found)

    return give_estimates(options, rows, estimate_text(channel, found), channel.promise(), picture, found)
