"""The commands design, apply and estimate for questionnaires."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from typing import Protocol

import numpy as np

from ldpfrontier import QuestionnaireOptimum, optimal_questionnaire
from ldpfrontier.atomic import replacing
from ldpfrontier.survey.analysis_options import OF_SAMPLES
from ldpfrontier.survey.channel_file import written_files
from ldpfrontier.survey.groups import parsed_bins, translations_for
from ldpfrontier.survey.layout import wrapped
from ldpfrontier.survey.outputs import check_new
from ldpfrontier.survey.privatizing import write_reports
from ldpfrontier.survey.questionnaire.channel import ORDERS, read_questionnaire, sampled
from ldpfrontier.survey.questionnaire.estimation import estimate_questionnaire
from ldpfrontier.survey.questionnaire.questions import QuestionList, questions_of_file, questions_of_values
from ldpfrontier.survey.questionnaire.reports import draw_reports, read_reports
from ldpfrontier.survey.questionnaire.routing import given_for_tables
from ldpfrontier.survey.questionnaire.texts import comparison_text, design_text, estimate_csv, estimate_text
from ldpfrontier.survey.reading import Memory, labels_of, read_chunks, shown
from ldpfrontier.survey.reports import Codes, channel_column, ids_of
from ldpfrontier.survey.sampling import Source
from ldpfrontier.survey.settings import SETTINGS
from ldpfrontier.survey.tables import parsed_values
from ldpfrontier.verify import visible


class Progress(Protocol):
    """A line of progress."""

    def __call__(self, done: object) -> None:
        """Show how far it is."""

    def end(self) -> None:
        """Remove the line."""


def design(options: argparse.Namespace, warn: Callable[[str], None], counting: Progress) -> int:
    """Design a channel for a questionnaire, and write it."""
    precise = options.precise or "pairs"
    if given := given_for_tables(options):
        raise ValueError(
            f"--{given[0].replace('_', '-')} is for the joint table of some columns (--precise cells, S, U or"
            f" rates); a design for {precise} protects the answers to all questions from anyone."
        )
    questions = _questions(options, warn, counting)
    for hint in questions.hints:
        warn(hint)
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
    """Return the mechanism of the least level, to 0.001, that has an error."""
    if records is None:
        raise ValueError(
            "Without a file of records, the number of records is needed (--records) for the least level."
        )
    if not error > 0:
        raise ValueError(f"The error is {error}; it must be a number above 0.")
    low, high = 0, round(SETTINGS.max_epsilon * SETTINGS.levels_per_nat)

    def at(place: int) -> QuestionnaireOptimum:
        return optimal_questionnaire(sizes, place / SETTINGS.levels_per_nat, order)

    if (best := at(high)).mechanism.people(error) > records:
        raise ValueError(
            f"At no level up to {SETTINGS.max_epsilon:g} do {records:,} reports give an error of {error:g}."
        )
    while high - low > 1:
        middle = (low + high) // 2
        found = at(middle)
        if found.mechanism.people(error) <= records:
            high, best = middle, found
        else:
            low = middle
    return best


def _questions(options: argparse.Namespace, warn: Callable[[str], None], counting: Progress) -> QuestionList:
    values, bins = parsed_values(options.values or ()), parsed_bins(options.bins)
    if both := [name for name in values if name in bins]:
        raise ValueError(f"The column {both[0]!r} has values and groups; it may have one of the two.")
    path = options.data or options.table
    if path is None:
        return questions_of_values(values, options.sensitive, bins=bins)
    count = options.count or (None if options.table is None else "count")
    found = questions_of_file(
        path, options.sensitive, count=count, values=values, bins=bins, missing=options.missing,
        missing_codes=options.missing_codes, decimal=options.decimal, progress=counting, remark=warn,
    )  # fmt: skip
    counting.end()
    return found


def apply(options: argparse.Namespace, working: Progress, source: Source | None) -> int:
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
    made = dict[str, Memory]()
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
        keep=options.keep, column=options.column, spreadsheet=options.spreadsheet, progress=working,
    )  # fmt: skip
    working.end()
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


def estimate(options: argparse.Namespace, warn: Callable[[str], None], reading: Progress) -> int:
    """Estimate the tables of a questionnaire."""
    channel = read_questionnaire(options.channel)
    for name in ("compare_with", *OF_SAMPLES, "mean", "cumulative"):
        if getattr(options, name) is not None:
            option = name.replace("_", "-")
            raise ValueError(f"--{option} is for channels of one table, and not for questionnaires.")
    column, person = options.column, options.id
    counts, seen, done, again = Counter[str](), set[str](), 0, 0
    asked = [column] if person is None else [column, person]
    for chunk in read_chunks(options.data, asked, optional=[channel_column(column)], progress=reading):
        named = chunk[channel_column(column)].tolist()
        if other := next((name for name in named if name not in (channel.id, "")), None):
            raise ValueError(
                f"{shown(options.data)} has reports of the channel {other!r}, and this channel is"
                f" {channel.id!r}."
            )
        texts = chunk[column].tolist()
        if person is not None:
            ids = ids_of(options.data, person, chunk[person].tolist(), done)
            new = [place for place, name in enumerate(ids) if not (name in seen or seen.add(name))]  # type: ignore[func-returns-value]
            again += len(ids) - len(new)
            texts = [texts[place] for place in new]
        counts.update(texts)
        done += len(chunk)
    reading.end()
    if again:
        warn(f"{again:,} of {done:,} reports are further ones of the same people; the first of each counts.")
    found = estimate_questionnaire(
        channel, read_reports(channel, counts), options.confidence, simultaneous=options.simultaneous,
        rates=None if options.rates is None else tuple(options.rates),
    )  # fmt: skip
    with ExitStack() as stack:  # both or none
        if options.out is not None:
            text = estimate_csv(found, spreadsheet=options.spreadsheet)
            partial = stack.enter_context(replacing(options.out))
            partial.write_text(text, encoding="utf-8", newline="\n")
        if options.picture is not None:
            from ldpfrontier.survey.pictures import check_picture, draw, questionnaire_picture

            check_picture(options.picture)
            draw(questionnaire_picture(found), stack.enter_context(replacing(options.picture)), warn)
    if options.json:
        from ldpfrontier.survey.exports import as_json

        print(as_json(found))
        return 0
    print(estimate_text(channel, found))
    print("\n" + wrapped(f"The promise to the people who reported: {channel.promise()}"))
    if written := [path for path in (options.out, options.picture) if path is not None]:
        print("\n" + visible(f"Files written: {', '.join(written)}."))
    return 0
