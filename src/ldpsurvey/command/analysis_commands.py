"""The commands about channels and surveys: `audit`, `channel`, `level`, `people` and `regress`."""

from __future__ import annotations

import argparse
import math

from ldpfrontier.verify import visible
from ldpsurvey.analysis.any_channel import plan_people
from ldpsurvey.analysis.any_channel import regress as regress_reports
from ldpsurvey.base.layout import Progress, remark, wrapped
from ldpsurvey.channel.channel_file import read_channel, written_files
from ldpsurvey.channel.routing import is_questionnaire
from ldpsurvey.channel.together import changing_levels, levels_together, read_channels, together_text
from ldpsurvey.command.exports import as_json, files_beside
from ldpsurvey.command.option_table import given, reading_of
from ldpsurvey.command.texts import audit_text, kept_promise
from ldpsurvey.data.outputs import check_new, check_outputs
from ldpsurvey.data.reading import said
from ldpsurvey.data.value_lists import parsed_values, table_of_values
from ldpsurvey.data.values import shortened
from ldpsurvey.design.known_channels import (
    classical_matrix,
    hidden_values,
    known_channel,
    level_text,
    parameter,
    read_matrix,
)
from ldpsurvey.estimate.auditing import audit_channel, count_pairs
from ldpsurvey.estimate.distribution import check_confidence
from ldpsurvey.estimate.people import Aim, people_text
from ldpsurvey.questionnaire.questionnaire_channel import read_any_channel


def audit(options: argparse.Namespace) -> int:
    """Audit a channel."""
    if is_questionnaire(options.channel):
        from ldpsurvey.command import questionnaire_command as command

        return command.audit(options)
    private = read_channel(options.channel)
    pairs = None
    if options.data:
        pairs = count_pairs(private, options.data, column=options.column, **reading_of(options))
    found = audit_channel(private, samples=options.samples or 0, pairs=pairs, confidence=options.confidence)
    if options.json:
        print(as_json(found, promise=kept_promise(found, private)))
        return int(bool(found.problems))
    if options.quiet:
        for problem in found.problems:
            remark(problem)
    print(audit_text(found, private))
    return int(bool(found.problems))


def channel(options: argparse.Namespace) -> int:
    """Write the channel of a survey that was taken already."""
    check_outputs(written_files(options.out), given(options.matrix))
    if not options.force:
        check_new(written_files(options.out))
    values = parsed_values(options.values)
    table = table_of_values(values, list(values))
    texts = {name: getattr(options, name) for name in ("p", "q", "yes", "no", "cards")}
    if options.matrix is not None:
        if unused := [name for name, text in texts.items() if text is not None]:
            raise ValueError(f"--{unused[0]} is a parameter of a design, and does not go with --matrix.")
        matrix, reports = read_matrix(options.matrix, table.attributes, table.labels)
    else:
        numbers = {name: parameter(text) for name, text in texts.items() if text is not None}
        matrix, reports = classical_matrix(options.design, numbers, len(table.labels))
        if not reports and matrix.shape[1] == len(table.labels):
            reports = tuple(map(said, table.labels))
    private = known_channel(table, matrix, options.reports or reports, options.design or "known matrix")
    if hidden := hidden_values(private):
        names = shortened("; ".join(hidden), 60)
        remark(f"the reports do not show the shares of {names}, however many there are.")
    paths = private.write(options.out, files_beside(private))
    print(wrapped(f"{level_text(private)} {private.promise()}"))
    print(visible(f"Files written: {', '.join(map(str, paths))}."))
    return 0


def level(options: argparse.Namespace) -> int:
    """Compute what several reports of one person reveal together."""
    privates = read_channels(options.files, read_any_channel)
    if options.json:
        about = {"files": options.files, "levels": levels_together(privates)}
        print(as_json(about, if_answers_change=changing_levels(privates)))
    else:
        print(together_text(options.files, privates))
    return 0


def people(options: argparse.Namespace) -> int:
    """Compute how many people have to report."""
    private = read_any_channel(options.channel)
    about = ("error", "width", "power", "probability", "value", "confidence")
    aim = Aim(**{name: getattr(options, name) for name in about})
    drawing = Progress("drawing surveys of {:,} people", 0.0)
    found = plan_people(private, aim, precise=options.precise, expected=options.expect, progress=drawing)
    drawing.end()
    print(as_json({"estimates": found}) if options.json else people_text(found, aim, options.precise or ""))
    return 0


def regress(options: argparse.Namespace) -> int:
    """Fit a logistic regression to reports."""
    check_confidence(options.confidence)
    found = regress_reports(
        options.formula, read_any_channel(options.channel), options.data, column=options.column,
        person=options.id, weight=options.weight, strata=options.strata, cluster=options.cluster,
    )  # fmt: skip
    if options.json:
        low, high = found.conf_int(1.0 - options.confidence).T
        rows = {"names": found.names, "params": found.params, "bse": found.bse, "pvalues": found.pvalues}
        about = {"outcome": found.outcome, "nobs": found.nobs, "llf": found.llf}
        if found.freedom < math.inf:
            about["degrees_of_freedom"] = found.freedom
        print(as_json({**about, **rows, "low": low, "high": high}))
        return 0
    print(found.summary(options.confidence))
    return 0


COMMANDS = {"audit": audit, "channel": channel, "level": level, "people": people, "regress": regress}
