"""The commands design, audit and estimate for questionnaires, and what they print."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ldpfrontier import verify
from ldpfrontier.base.atomic import replacing
from ldpfrontier.verify import visible
from ldpsurvey.base.layout import columns, counted, remark, reports_text, wrapped
from ldpsurvey.channel.promises import percent, raised, upwards
from ldpsurvey.channel.reports import first_reports
from ldpsurvey.channel.routing import given_for_tables
from ldpsurvey.command.estimate_texts import give_estimates
from ldpsurvey.command.option_table import OF_SAMPLES, given
from ldpsurvey.command.sample_estimates import (
    check_sample_options,
    give_sample,
    refuse_misfit,
    sample_columns,
)
from ldpsurvey.data.groups import bins_text, parsed_bins
from ldpsurvey.data.reading import Label, said
from ldpsurvey.data.value_lists import parsed_values
from ldpsurvey.design.answer import few_digits, next_text, points, several_text
from ldpsurvey.estimate.estimates import Estimated, rows_text
from ldpsurvey.estimate.weighted import read_sample
from ldpsurvey.questionnaire.comparison import compare_questionnaire, comparison_text
from ldpsurvey.questionnaire.designing import design_questionnaire
from ldpsurvey.questionnaire.fit import doubt
from ldpsurvey.questionnaire.lot_reports import ReportNumbers
from ldpsurvey.questionnaire.questionnaire_channel import (
    ORDERS,
    QuestionnaireChannel,
    read_questionnaire,
)
from ldpsurvey.questionnaire.questions import (
    QuestionList,
    parsed_tables,
    questions_of_records,
    questions_of_values,
)
from ldpsurvey.questionnaire.restrictions import parsed_follow_ups
from ldpsurvey.questionnaire.table_additions import tables_of
from ldpsurvey.questionnaire.table_estimates import QuestionnaireEstimate, estimate_questionnaire

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def design(options: argparse.Namespace) -> int:
    """Design a channel for a questionnaire, and write it."""
    precise = options.precise or ("pairs" if options.tables is None else "tables")
    if options.picture is not None:
        from ldpsurvey.command.pictures import check_picture

        check_picture(options.picture)
    if others := given_for_tables(options):
        raise ValueError(
            f"--{others[0].replace('_', '-')} is for the joint table of some columns (--precise cells, S, U"
            f" or rates); a design for {precise} protects the answers to all questions from anyone."
        )
    questions = _questions(options)
    for hint in questions.hints:
        remark(hint)
    records = questions.records if options.records is None else options.records
    tables = None if options.tables is None else parsed_tables(options.tables, questions.names)
    channel = design_questionnaire(
        questions, options.epsilon, ORDERS.get(precise, 1), tables=tables, reports=options.reports,
        budget=options.budget, error=options.error, records=records, impossible=options.impossible or (),
    )  # fmt: skip
    error, compared = options.error or 0.01, None
    if options.compare or options.details or options.picture is not None:
        compared = compare_questionnaire(channel, error)
    with ExitStack() as stack:  # all or none
        if options.picture is not None and compared is not None:
            from ldpsurvey.command.pictures import comparison_picture, draw

            draw(comparison_picture(compared), stack.enter_context(replacing(options.picture)))
        paths = channel.write(options.out)
    paths += map(Path, given(options.picture))
    if options.json:
        from ldpsurvey.command.exports import as_json

        about = {"names": questions.names, "answers": questions.answers, "level": channel.level}
        about |= {"people": channel.mechanism.people(error), "bound": channel.bound}
        about |= {} if compared is None else {"compared": compared}
        print(as_json(about, promise=channel.promise(), written=list(map(str, paths))))
        return 0
    print(_design_text(channel, records, error, options.out))
    for line in bins_text(parsed_bins(options.bins, options.sensitive)):
        print(wrapped(line, "  "))
    if compared is not None:
        print("\n" + comparison_text(compared, error))
    if options.details:
        print("\n" + _lots_text(channel))
        print("\n" + wrapped(channel.promise()))
    if options.picture is not None:
        print(visible(f"Picture written: {options.picture}."))
    return 0


def _questions(options: argparse.Namespace) -> QuestionList:
    names = options.sensitive
    values = parsed_values(options.values or (), names)
    bins = parsed_bins(options.bins, names)
    path, follow_ups = options.data or options.table, parsed_follow_ups(options.follow_up or [], names)
    if path is None:
        return questions_of_values(values, options.sensitive, bins=bins, follow_ups=follow_ups)
    count = options.count or (None if options.table is None else "count")
    return questions_of_records(
        path, options.sensitive, count=count, values=values, bins=bins, missing=options.missing,
        missing_codes=options.missing_codes, decimal=options.decimal, follow_ups=follow_ups,
    )  # fmt: skip


def audit(options: argparse.Namespace) -> int:
    """Say the level of the channel of a questionnaire, which is computed when its file is read."""
    if options.samples is not None or options.data is not None:
        raise ValueError(
            "--samples and --data are for channels of one table. The level of a questionnaire follows from"
            " the numbers in its file, whatever is drawn."
        )
    channel = read_questionnaire(options.channel)
    (proved,) = verify.check(channel.proof())
    if options.json:
        from ldpsurvey.command.exports import as_json

        about = {"level": channel.level, "epsilon": channel.epsilon, "promise": channel.promise()}
        print(as_json(about | {"proved": proved}))
        return 0
    print(wrapped(f"The promise: {channel.promise()}"))
    print(
        wrapped(
            f"The level is {upwards(channel.level, 6):.9g}, from the whole numbers in the file. The following"
            f" is proved in exact arithmetic: {proved}."
        )
    )
    return 0


def estimate(options: argparse.Namespace) -> int:
    """Estimate the tables of a questionnaire."""
    channel = read_questionnaire(options.channel)
    for name in ("compare_with", "mean", "cumulative", "deviating", "second"):
        if getattr(options, name) is not None:
            option = name.replace("_", "-")
            raise ValueError(f"--{option} is for channels of one table, and not for questionnaires.")
    numbers, rates = ReportNumbers(), None if options.rates is None else tuple(options.rates)
    joint = parsed_tables(options.tables or (), channel.names)
    if not all(getattr(options, name) is None for name in OF_SAMPLES):
        check_sample_options(options)
        sample = read_sample(channel.id, numbers, options.data, sample_columns(options))
        outputs, reports = numbers.counted(channel, sample.outputs)
        sample = replace(sample, outputs=outputs)
        refuse_misfit(options, doubt(channel, reports))

        def estimates(who: np.ndarray | None) -> list[Estimated]:
            found = estimate_questionnaire(
                channel, reports, options.confidence, rates=rates, more=joint, sample=sample, among=who
            )
            return [*found.entries, *found.rates]

        return give_sample(options, sample, estimates, channel.promise(), joint=joint)
    chunks = first_reports(options.data, channel.id, numbers, options.column, options.id)
    _, reports = numbers.counted(channel, np.concatenate([some for *_, some in chunks]))
    refuse_misfit(options, doubt(channel, reports))
    found = estimate_questionnaire(
        channel, reports, options.confidence, simultaneous=options.simultaneous, rates=rates, more=joint
    )
    rows = [("", row) for row in (*found.entries, *found.rates)]

    def picture() -> Figure:
        from ldpsurvey.command.pictures import questionnaire_picture

        return questionnaire_picture(found)

    return give_estimates(
        options, rows, _estimate_text(channel, found, joint), channel.promise(), picture, found
    )


# Texts -----------------------------------------------------------------------------------------------------

_TABLES = {1: "shares of each question", 2: "tables of two questions", 3: "tables of three questions"}


def _table_error(channel: QuestionnaireChannel, order: int) -> float:
    """Return the root mean square error of entries of tables of so many questions, for one report."""
    tables = [table for table in tables_of(channel) if len(table) == order]
    own = channel.mechanism
    return math.sqrt(own.error_of(tables) / own.questionnaire.entries_of(tables))


def _design_text(channel: QuestionnaireChannel, records: int | None, error: float, written: str) -> str:
    """Return what a design says: what can be estimated, what a report tells, and what was written."""
    questionnaire, mechanism = channel.mechanism.questionnaire, channel.mechanism
    asked = sorted({len(lot.kinds) for lot in mechanism.lots})
    span = f"{asked[0]}" if len(asked) == 1 else f"{asked[0]} to {asked[-1]}"
    answers = f"{min(questionnaire.sizes)} to {max(questionnaire.sizes)}"
    if len(set(questionnaire.sizes)) == 1:
        answers = str(questionnaire.sizes[0])
    tables = "shares" if channel.order == 1 else f"tables of up to {channel.order} questions"
    wanted = _TABLES[channel.order]
    if not questionnaire.has_all_tables:
        tables = f"the {counted(len(questionnaire.tables), 'table')} that were asked for, and their parts"
        wanted = "the tables that were asked for"
    lines = [
        f"{counted(len(channel.names), 'question')} with {answers} answers each:"
        f" {questionnaire.combinations:,} combinations, of which every one can be reported"
        f"{' unless it is impossible' if channel.impossible else ''}.",
        f"Each person is asked {span} of the questions, drawn by lot; the reports give {tables}.",
    ]
    if records is not None:
        errors = [
            f"{points(_table_error(channel, order) / math.sqrt(records))} in {_TABLES[order]}"
            for order in sorted(set(map(len, tables_of(channel))))
        ]
        lines.append(
            f"From {reports_text(records)}, entries have standard errors in percentage points of"
            f" {', '.join(errors)}, if all answers are equally frequent."
        )
    needed = few_digits(mechanism.people(error))
    give = "1 report gives" if needed == "1" else f"{needed} reports give"
    lines.append(
        f"{give} {points(error)} in {wanted}. No mechanism of this level needs fewer than"
        f" {math.floor(100.0 * channel.bound / mechanism.error)}% of them."
    )
    lines.append(
        f"A chance of {percent(0.1)} of anything about a person rises to at most {raised(0.1, channel.level)}"
        " with a report, whatever somebody knows or believes."
    )
    lines += filter(None, [several_text(channel, 0.1)])
    lines.append(f"Written: {visible(written)} and the files beside it. They contain no counts.")
    lines = [wrapped(line, "  ") for line in lines]
    return "\n".join([*lines, next_text(channel, written)])


def _lots_text(channel: QuestionnaireChannel) -> str:
    """Return the lots, with the sets of combinations of answers whose images are reported."""
    lots = [["lot", "share", "answers of its questions", "set", "of"]]
    for number, lot in enumerate(channel.mechanism.lots, start=1):
        sizes = " x ".join(map(str, lot.members.shape))
        lots.append(
            [f"L{number}", f"{lot.weight:.3f}", sizes, str(int(lot.members.sum())), str(lot.members.size)]
        )
    return columns(lots)


def _estimate_text(
    channel: QuestionnaireChannel, found: QuestionnaireEstimate, joint: Sequence[Label]
) -> str:
    """Return the shares of each question, and the tables and rates that were asked for."""
    head = reports_text(found.reports)
    if found.simultaneous:
        head += "; the confidence is that of all intervals of entries, and of all rates, together"
    parts = [head + "."]
    parts_of = {name: field.columns for name, field in channel.combined.items()}
    singles = [(one,) for name in channel.names for one in (name, *parts_of.get(name, ()))]
    tables = dict.fromkeys(table for table in (*singles, *joint) if found.of(table))
    parts += [rows_text(said(table), "share", found.of(table), found.confidence) for table in tables]
    if found.rates:
        parts.append(rows_text(found.title_of_rates, "rate", found.rates, found.confidence))
    if channel.order > 1:
        every = f"all tables of up to {channel.order} questions"
        every = every if channel.mechanism.questionnaire.has_all_tables else "all tables"
        parts.append(wrapped(f"--out writes {every}; --rates A B prints the rates of A given B."))
    return "\n\n".join(parts)
