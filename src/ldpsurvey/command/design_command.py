"""The command `design`."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from ldpfrontier import time_limit
from ldpfrontier.base.atomic import replacing
from ldpsurvey.base.layout import Progress, remark, without_formulas, wrapped
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.channel.channel_file import written_files
from ldpsurvey.channel.routing import is_questionnaire_asked
from ldpsurvey.command.exports import as_json, design_json, files_beside
from ldpsurvey.command.option_table import given, reading_of
from ldpsurvey.command.texts import design_text, pair_text
from ldpsurvey.data.groups import bins_text, parsed_bins
from ldpsurvey.data.outputs import check_new, check_outputs
from ldpsurvey.data.tables import CountTable, count_records
from ldpsurvey.data.value_lists import parsed_values, table_of_values, with_values
from ldpsurvey.data.weights import stated_people
from ldpsurvey.design.answer import answer_text
from ldpsurvey.design.design import design_channel
from ldpsurvey.design.detecting_channels import detecting_channels
from ldpsurvey.design.least_level import design_for_reports, least_epsilon
from ldpsurvey.design.methods import LONGEST
from ldpsurvey.design.own_methods import OwnFunction, loaded
from ldpsurvey.estimate.targets import is_formula, with_expected

#: The errors that numbers of reports are given for, unless one is asked for: of shares, and of coefficients.
USUAL_ERROR, USUAL_LOGIT_ERROR = 0.01, 0.1

#: Options that have no effect on two channels.
_NOT_OF_PAIRS = (
    "useful", "precise", "tables", "utility", "reports", "budget", "records", "compare", "details",
    "mechanism", "cone", "prove", "picture", "follow_up", "impossible",
)  # fmt: skip


def design(options: argparse.Namespace) -> int:
    """Design a channel."""
    sources = [source for source in (options.table, options.data) if source is not None]
    check_outputs([*written_files(options.out), *given(options.picture)], sources)
    if not options.force:
        check_new(written_files(options.out))
    if options.error is not None and not SETTINGS.rounding <= options.error < math.inf:
        raise ValueError(
            f"The error is {options.error:g}; it must be a finite number, at least {SETTINGS.rounding:g}."
        )
    if options.detect is not None:
        return _design_pair(options, sources)
    if is_questionnaire_asked(options):
        from ldpsurvey.command import questionnaire_command as command

        return command.design(options)
    for name in ("follow_up", "impossible", "tables"):
        if getattr(options, name) is not None:
            raise ValueError(
                f"--{name.replace('_', '-')} is for questionnaires, whose columns are all sensitive"
                " (--precise shares, pairs or triples)."
            )
    if options.picture is not None:
        from ldpsurvey.command.pictures import channel_picture, check_picture, draw

        check_picture(options.picture)
    options.precise = options.precise or ("U" if options.unasked else "cells")
    table = with_expected(_table(options, sources), options.expect)
    usual = USUAL_LOGIT_ERROR if is_formula(options.precise) else USUAL_ERROR
    choice = {"against": options.against, "precise": options.precise, "records": options.records}
    choice |= {"beta": options.beta, "order": options.alpha}
    choice |= {"radius_method": options.confidence_method, "radius_factor": options.radius_factor}
    # The number that has the error is what is asked for, and any number has the same mechanism.
    unknown = options.records is None and not table.counted and None not in (options.epsilon, options.error)
    if unknown:
        choice["records"] = 1
    named, own, cones = _own_functions(options)
    if (own or cones) and options.epsilon is None:
        raise ValueError(
            "With a mechanism or a cone of your own, --epsilon is needed: the least level is looked for among"
            " other mechanisms."
        )
    epsilon, most = options.epsilon, options.max_seconds
    with time_limit(most) as limit:
        if epsilon is None:
            search = Progress("looking for the least epsilon, at {:.3f}")
            aim = {"utility": options.utility, "error": options.error if options.utility is None else None}
            # Half of the time at most: the mechanisms at that level take some, too.
            aim |= {"max_seconds": most and most / 2}
            epsilon = least_epsilon(table, **aim, mechanism=named, progress=search, **choice)
            search.end()
        solving = Progress("solving for {}" + ("" if most is None else f" (at most {most:g} s)"), 0.0)
        choice |= {"mechanisms": None if named is None else [named], "own": own, "cones": cones}
        choice |= {"purpose": None if options.compare else options.purpose}
        choice |= {"progress": solving, "unasked": options.unasked}
        choice |= {} if options.prove is None else {"max_nodes": options.prove}
        if options.reports is None:
            made = design_channel(table, epsilon, budget=options.budget, **choice)
        else:
            made = design_for_reports(table, epsilon, options.reports, options.purpose, **choice)
        solving.end()
    if limit.reached:
        remark(
            f"the time limit of {limit.seconds:g} s ended the computation; there may be better mechanisms,"
            " and --max-seconds allows more time. On another machine, the mechanism may be another one."
        )
    best = made.best(options.purpose)
    if unknown and math.isfinite(needed := made.reports_for(best, options.error)):
        made = made.for_records(int(needed))
        best = made.best(options.purpose)
    private = made.private(best)
    for candidate in made.candidates:
        if options.purpose == "information" and candidate.name in LONGEST and candidate.channel is None:
            remark(f"{candidate.name}, which {candidate.title}, is not among the choice: {candidate.note}")
    if made.population is not None and options.alpha > 2.0:
        remark(
            f"at order {options.alpha:g}, F may contain the true distribution much less often than with"
            f" confidence {1.0 - options.beta:g}, since the quantile that determines the size of F is"
            " accurate for large tables only."
        )
    safe = {"spreadsheet": options.spreadsheet}
    with ExitStack() as stack:  # all or none
        if options.picture is not None:
            draw(channel_picture(private), stack.enter_context(replacing(options.picture)))
        paths = private.write(options.out, files_beside(private, **safe), **safe)
    paths += map(Path, given(options.picture))
    if options.json:
        print(design_json(made, best, private, list(map(str, paths))))
        return 0
    print(answer_text(made, best, private, options.error or usual, options.out))
    for line in bins_text(parsed_bins(options.bins, table.attributes)):
        print(wrapped(line, "  "))
    if not (options.details or options.compare):
        return 0
    print("\n" + design_text(made, best, options.error or usual))
    print(f"\nThe mechanism chosen for {options.purpose} is {best.name}, at epsilon {made.epsilon:g}.")
    print(wrapped(private.promise()))
    print(wrapped(f"Files written: {', '.join(map(str, paths))}."))
    return 0


def _design_pair(options: argparse.Namespace, sources: Sequence[str]) -> int:
    """Design two channels, drawn by lot, that show who always gives one report."""
    for name in _NOT_OF_PAIRS:
        if getattr(options, name) not in (None, False, []):
            option = {"picture": "plot"}.get(name, name.replace("_", "-"))
            raise ValueError(f"--{option} does not go with --detect.")
    if options.purpose == "information":
        raise ValueError("--detect is about estimates, and does not go with --for information.")
    second = Path(options.out).with_name(f"{Path(options.out).stem}-2.json")
    check_outputs(written_files(second), sources)
    if not options.force:
        check_new(written_files(second))
    table = with_expected(_table(options, sources), options.expect)
    error = options.error or USUAL_ERROR
    with time_limit(options.max_seconds) as limit:
        found = detecting_channels(table, options.epsilon, options.detect, error)
    if limit.reached:
        remark("the time limit ended the computation; one channel may need fewer people than is said.")
    safe, written = {"spreadsheet": options.spreadsheet}, list[str]()
    for private, path in zip(found.channels, (options.out, second), strict=True):
        written += map(str, private.write(path, files_beside(private, **safe), **safe))
    promise = found.channels[0].promise()
    if options.json:
        print(
            as_json(found.pair, people=found.to_frame().to_dict("records"), promise=promise, written=written)
        )
        return 0
    print(pair_text(found, (options.out, str(second)), error))
    print(wrapped(promise))
    return 0


def _table(options: argparse.Namespace, sources: Sequence[str]) -> CountTable:
    """Return the table of a design, from a file or from values alone, and print its hints."""
    names = [*options.sensitive, *options.useful]
    values, bins = parsed_values(options.values or (), names), parsed_bins(options.bins, names)
    if not sources:
        table = table_of_values(values, options.sensitive, options.useful, bins=bins)
    else:
        count = options.count or ("count" if options.table is not None and options.weight is None else None)
        weights = {"weight": options.weight, "cluster": options.cluster, "totals": options.table is not None}
        weights |= {"effective": stated_people(options.people, options.design_effect)}
        table = count_records(
            sources[0], options.sensitive, options.useful, count=count, bins=bins,
            **weights, **reading_of(options),
        )  # fmt: skip
        table = with_values(table, values) if values else table
    for hint in table.hints:
        remark(hint)
    cells = {cell for label in (table.attributes, *table.labels) for cell in label}
    if found := sorted(cell for cell in cells if without_formulas(cell) != cell and not options.spreadsheet):
        remark(
            f"a spreadsheet program would take {found[0]!r} in a CSV file for a formula; with --spreadsheet,"
            " an apostrophe comes before such texts."
        )
    return table


def _own_functions(
    options: argparse.Namespace,
) -> tuple[str | None, dict[str, OwnFunction], dict[str, OwnFunction]]:
    """Return the only mechanism to be considered, if one is named, and mechanisms and cones of the user's."""
    cones = {name: loaded(name) for name in options.cone or ()}
    name = options.mechanism or ""
    of_cones = name in cones or (bool(cones) and name.rpartition(" (")[0] == " & ".join(cones))
    is_own = ":" in name and not of_cones
    own = {options.mechanism: loaded(options.mechanism)} if is_own else {}
    return None if is_own else options.mechanism, own, cones
