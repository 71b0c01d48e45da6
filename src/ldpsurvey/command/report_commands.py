"""The commands about reports: `apply`, `estimate` and `change`."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ldpfrontier.base.atomic import replacing
from ldpfrontier.base.types import IntArray
from ldpfrontier.verify import visible
from ldpsurvey.analysis.any_channel import change_between
from ldpsurvey.base.layout import Remark, counted, remark, wrapped
from ldpsurvey.base.sampling import RandomSource
from ldpsurvey.channel.channel_file import PrivateChannel, read_channel
from ldpsurvey.channel.memo import Memo
from ldpsurvey.channel.privatizing import privatize_file, remark_on_files
from ldpsurvey.channel.promises import several_reports_text
from ldpsurvey.channel.reports import count_refusals, count_reports, decoder
from ldpsurvey.channel.routing import is_questionnaire
from ldpsurvey.command.estimate_texts import bounds_text, estimate_text, give_estimates, two_channels_text
from ldpsurvey.command.option_table import OF_SAMPLES, given, reading_of
from ldpsurvey.command.sample_estimates import (
    check_sample_options,
    give_sample,
    refuse_misfit,
    sample_columns,
)
from ldpsurvey.data.outputs import check_outputs, check_unwritten
from ldpsurvey.data.reading import Label, is_standard_input
from ldpsurvey.design.two_channels import estimate_two_channels
from ldpsurvey.estimate.change import change_text
from ldpsurvey.estimate.deviating import DeviatingReports
from ldpsurvey.estimate.deviating_samples import DeviatingSample
from ldpsurvey.estimate.deviation_bounds import DeviationBounds, bounds_of
from ldpsurvey.estimate.distribution import FittedReports, check_confidence
from ldpsurvey.estimate.estimates import Estimated, cells_csv
from ldpsurvey.estimate.rates import rates_of, reference
from ldpsurvey.estimate.scores import estimate_scores
from ldpsurvey.estimate.weighted import read_sample, weighted_estimates
from ldpsurvey.questionnaire.questionnaire_channel import QuestionnaireChannel, read_any_channel
from ldpsurvey.questionnaire.questions import parsed_tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def apply(options: argparse.Namespace) -> int:
    """Privatize records."""
    check_outputs([options.out, *given(options.memo)], [options.channel, options.data])
    check_unwritten(options.out, options.force)
    source: RandomSource | None = None
    if options.insecure:
        if options.seed < 0:
            raise ValueError(f"The seed is {options.seed}; it must be a whole number, 0 or more.")
        remark("INSECURE: whoever guesses the seed can undo the reports.")
        remark("INSECURE: they protect nobody; a seed is for tests alone.")
        source = np.random.default_rng(options.seed).bytes
    private = read_any_channel(options.channel)
    replaced = options.memo is None and Path(options.out).is_file()
    memo = None if options.memo is None else Memo(options.memo, options.id, source, options.wave)
    done = privatize_file(
        private, options.data, options.out, memo=memo, keep=options.keep, column=options.column,
        spreadsheet=options.spreadsheet, source=source, no_memo=options.no_memo, force=options.force,
        **reading_of(options),
    )  # fmt: skip
    print(f"{counted(done.records, 'record')} privatized.")
    if memo is not None:
        kind = "New memo" if done.new_memo else "Memo"
        print(
            visible(f"{kind}: {options.memo}. It repeated earlier reports for {done.again:,} of the records.")
        )
    print(wrapped(private.promise()))
    if memo is None:
        several, more = several_reports_text(private)
        if more or replaced:
            remark(several)
        else:
            print(wrapped(several))
    print(visible(f"File written: {options.out}."))
    if done.unmatched:
        remark(
            f"the memo {options.memo} has the reports of {done.unmatched:,} people, and none of them is among"
            " these records. If some of them are, their ids are written in another way now: write the ids as"
            " they were written before, or these people report twice."
        )
    if done.designed_from:
        remark(
            "the counts of these records are exactly those that the channel was designed from. The guarantee"
            f" does not cover these people, since {options.channel} contains their counts."
        )
    remark_on_files(options.out, done.removed, options.keep, replaced)
    return 0


def estimate(options: argparse.Namespace) -> int:
    """Estimate a distribution."""
    check_outputs([*given(options.out), *given(options.picture)], [options.channel, options.data])
    if options.picture is not None:
        from ldpsurvey.command.pictures import check_picture

        check_picture(options.picture)
    if is_questionnaire(options.channel):
        from ldpsurvey.command import questionnaire_command as command

        return command.estimate(options)
    private = read_channel(options.channel).verified()
    if options.rates is not None:
        raise ValueError("--rates is for questionnaires; other rates are estimated anyway.")
    if options.tables is not None:
        raise ValueError("--tables is for questionnaires; the joint table is estimated anyway.")
    is_sample = not all(getattr(options, name) is None for name in OF_SAMPLES)
    if is_sample and options.deviating is None:
        return _estimate_sample(options, private)
    confidence = check_confidence(options.confidence)
    has_rates = bool(private.table.useful) or options.compare_with is not None
    place = reference(private, options.compare_with) if has_rates else None
    if options.second is not None:
        return _estimate_two_channels(options, private)
    if options.deviating is not None:
        return _bound_estimates(options, private, place, is_sample)
    counts = count_reports(private, options.data, column=options.column, person=options.id)
    fit, together = _fitted_reports(options, private, counts), options.simultaneous
    found = fit.distribution(confidence, simultaneous=together)
    rates = None if place is None else rates_of(fit, place, confidence, simultaneous=together)
    asked = options.mean or (), options.cumulative or ()
    scores = estimate_scores(fit, *asked, confidence, simultaneous=together)
    rows = [*found.frequencies, *(rates.rows if rates else ()), *scores]

    def picture() -> Figure:
        from ldpsurvey.command.pictures import estimate_picture

        return estimate_picture(found, rates)

    return give_estimates(
        options, [("", row) for row in rows], estimate_text(found, rates, scores), private.promise(),
        picture, found, rates=rates, scores=scores,
    )  # fmt: skip


def _bound_estimates(
    options: argparse.Namespace, private: PrivateChannel, place: int | None, is_sample: bool
) -> int:
    """Bound shares, rates and differences if some people do not follow the rule."""
    for name in ("mean", "cumulative"):
        if getattr(options, name) is not None:
            raise ValueError(f"--{name} does not go with --deviating.")
    groups = dict[str, list[list[DeviationBounds]]]()
    for name, fit_of in _deviating_fits(options, private, is_sample):
        for share in options.deviating:
            fits = [fit_of(share, everybody) for everybody in (False, True)]
            if fits[0].doubt:
                if not options.despite_misfit:
                    raise ValueError(f"{fits[0].doubt}. --despite-misfit computes bounds all the same.")
                remark(f"{fits[0].doubt}.")
            groups.setdefault(name, []).append([
                bounds_of(fit, place, options.confidence, simultaneous=options.simultaneous) for fit in fits
            ])  # fmt: skip
    rows = [
        (name, row) for name, found in groups.items() for pair in found for some in pair for row in some.rows
    ]
    if len(groups) > 1 and options.picture is not None:
        raise ValueError("--plot does not go with --by: it is of all people.")

    def picture() -> Figure:
        from ldpsurvey.command.pictures import bounds_picture

        return bounds_picture(groups[""])

    texts = [
        (f"{options.by} = {name}.\n\n" if name else "") + bounds_text(found, options.weight is not None)
        for name, found in groups.items()
    ]
    about = {"bounds": groups[""], "groups": {name: found for name, found in groups.items() if name}}
    return give_estimates(options, rows, "\n\n".join(texts), private.promise(), picture, about)


def _deviating_fits(
    options: argparse.Namespace, private: PrivateChannel, is_sample: bool
) -> Iterator[tuple[str, Callable[[float, bool], DeviatingReports]]]:
    """Yield the names of groups, first "" for all people, and what fits their reports.

    The latter takes the share of people who deviate, and whether everybody is asked about.
    """
    always = options.always
    if not is_sample:
        refusals, columns = 0, {"column": options.column, "person": options.id}
        with warnings.catch_warnings():
            if options.refusals:
                if is_standard_input(options.data):
                    raise ValueError("--refusals reads the file twice, which the standard input cannot be.")
                refusals = count_refusals(options.data, **columns)
                warnings.filterwarnings("ignore", ".* have no report, and were left out", Remark)
            counts = count_reports(private, options.data, **columns)
        yield (
            "",
            lambda share, all_people: DeviatingReports(
                private, counts, share, everybody=all_people, always=always, refusals=refusals
            ),
        )
        return
    check_sample_options(options)
    if options.refusals:
        raise ValueError("--refusals does not go with --weight, --strata, --cluster and --by.")
    decode = decoder(private, options.data, options.column)
    sample = read_sample(private.id, decode, options.data, sample_columns(options))

    def among(who: np.ndarray | None) -> Callable[[float, bool], DeviatingReports]:
        return lambda share, all_people: DeviatingSample(
            private, sample, share, among=who, everybody=all_people, always=always
        )

    for name, who in sample.all_and_groups(options.by):
        yield name, among(who)


def _estimate_two_channels(options: argparse.Namespace, private: PrivateChannel) -> int:
    """Estimate shares from reports by two channels, and the share of people who always give one report."""
    for name in ("compare_with", "picture", "mean", "cumulative", "deviating"):
        if getattr(options, name) is not None:
            option = {"picture": "plot"}.get(name, name.replace("_", "-"))
            raise ValueError(f"--{option} does not go with --second.")
    path, data = options.second
    if Path(data).resolve() == Path(options.data).resolve():
        raise ValueError(f"{data} is given for both channels; each needs a file of its own.")
    other = read_channel(path).verified()
    first, second = (
        count_reports(one, file, column=options.column, person=options.id)
        for one, file in ((private, options.data), (other, data))
    )
    found = estimate_two_channels(
        (private, other), (first, second), options.always, confidence=options.confidence,
        simultaneous=options.simultaneous, check_fit=not options.despite_misfit,
    )  # fmt: skip
    rows = [("", row) for row in found.estimate.frequencies]
    promise = f"{private.promise()} Of the second channel: {other.promise()}"
    return give_estimates(options, rows, two_channels_text(found), promise, None, found)


def _fitted_reports(options: argparse.Namespace, private: PrivateChannel, counts: IntArray) -> FittedReports:
    """Return fitted counts of reports; refuse ones that do not fit, or remark upon them if that is asked."""
    fit = FittedReports(private, counts)
    refuse_misfit(options, fit.doubt)
    return fit


def _estimate_sample(options: argparse.Namespace, private: PrivateChannel) -> int:
    """Estimate shares and rates of a weighted or stratified sample, or of groups."""
    check_sample_options(options)
    decode = decoder(private, options.data, options.column)
    sample = read_sample(private.id, decode, options.data, sample_columns(options))
    _fitted_reports(options, private, np.bincount(sample.outputs, minlength=len(private.outputs)))

    def estimates(who: np.ndarray | None) -> list[Estimated]:
        return weighted_estimates(private, sample, options.confidence, who)

    return give_sample(options, sample, estimates, private.promise())


def change(options: argparse.Namespace) -> int:
    """Estimate what has changed between two waves."""
    check_outputs(given(options.out), [*options.channel, *options.data])
    names = ("column", "confidence", "simultaneous", "weight", "strata", "cluster")
    about = {name: getattr(options, name) for name in names}
    channels = list(map(read_any_channel, options.channel))
    joint: list[Label] | None = None
    if isinstance(channels[0], QuestionnaireChannel):
        joint = parsed_tables(options.tables or (), channels[0].names)
    elif options.tables is not None:
        raise ValueError("--tables is for questionnaires; the joint table is estimated anyway.")
    found = change_between(channels, options.data, person=options.id, tables=joint or (), **about)
    if options.out is not None:
        with replacing(options.out) as partial:
            written = cells_csv(found.cells(), spreadsheet=options.spreadsheet)
            partial.write_text(written, encoding="utf-8", newline="\n")
    if options.json:
        from ldpsurvey.command.exports import as_json

        print(as_json(found))
        return 0
    print(change_text(found, joint))
    if options.out is not None:
        print("\n" + visible(f"File written: {options.out}."))
    return 0


COMMANDS = {"apply": apply, "estimate": estimate, "change": change}
