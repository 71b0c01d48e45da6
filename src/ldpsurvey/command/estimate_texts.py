"""What `estimate` prints and writes."""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from ldpfrontier.base.atomic import replacing
from ldpfrontier.verify import visible
from ldpsurvey.base.layout import reports_text, wrapped
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.data.reading import Label, said
from ldpsurvey.design.two_channels import TwoChannels
from ldpsurvey.estimate.deviation_bounds import DeviationBounds
from ldpsurvey.estimate.distribution import Estimate
from ldpsurvey.estimate.estimates import (
    UNKNOWN,
    Bounded,
    Estimated,
    bounds_table,
    comparisons_text,
    estimates_csv,
    rows_text,
)
from ldpsurvey.estimate.rates import Rates

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def estimate_text(found: Estimate, rates: Rates | None = None, scores: Sequence[Estimated] = ()) -> str:
    """Return the tables of estimated frequencies, rates, means and cumulative shares."""
    head = reports_text(found.records)
    if found.simultaneous:
        head += "; the confidence is that of all frequencies together (Bonferroni)"
        head += ", and that of all rates and comparisons together" * (rates is not None)
        head += ", and that of all means and cumulative shares together" * bool(scores)
    parts = [wrapped(head)]
    for group in dict.fromkeys(row.quantity.attributes for row in found.frequencies):
        parts.append(rows_text(said(group), "most likely", found.of(group), found.confidence))
    if rates is not None:
        title = f"{said(rates.sensitive)} given {said(rates.useful)}"
        parts.append(rows_text(title, "most likely", rates.of("rate"), rates.confidence))
        if differences := rates.of("difference"):
            title = f"compared with {said(rates.compared_with)}"
            parts.append(comparisons_text(title, differences, rates.of("ratio")))
    if means := [row for row in scores if row.measure == "mean"]:
        parts.append(rows_text("mean", "most likely", means, found.confidence))
    others = [row for row in scores if row.measure == "cumulative"]
    for group in dict.fromkeys(row.quantity.attributes for row in others):
        some = [row for row in others if row.quantity.attributes == group]
        parts.append(rows_text(f"{said(group)}, up to", "most likely", some, found.confidence))
    return "\n\n".join([*parts, *_remarks(found, [*(rates.rows if rates else ()), *scores])])


def bounds_text(found: Sequence[Sequence[DeviationBounds]], weighted: bool = False) -> str:
    """Return tables of bounds, of those who follow the rule and of everybody, for each share that may not.

    Shares may be those of survey weights.
    """
    people = "people, by their weights," if weighted else "people"
    first = found[0][0]
    parts = [reports_text(first.records)]
    for followers, everybody in found:
        how = "report whatever they like"
        if followers.always is not None:
            how = f"report {followers.always} whatever they are told, and all others follow the rule"
        head = f"If at most {100.0 * followers.deviating:.3g}% of the {people} {how}:"
        parts.append(wrapped(head))
        if followers.needed > followers.deviating + SETTINGS.rounding:
            parts.append(wrapped(
                f"As they are, the reports need at least {100.0 * followers.needed:.3g}%; it may be chance."
                " The bounds are those of the nearest reports that do not."
            ))  # fmt: skip
        pairs = list(zip(followers.rows, everybody.rows, strict=True))
        for (names, measure), some in itertools.groupby(pairs, _table_of):
            rows = list(some)
            parts.append(bounds_table(_title(names, measure, rows), rows, first.confidence))
    words = (
        "The bounds are those of the people who follow the rule, as far as the reports tell; the interval has"
        " their sampling error as well. The last column is that interval for everybody, whatever the answers"
        " of the others are. No number between the bounds is more likely than another one."
    )
    if refusals := found[0][1].refusals:
        words += f" Among everybody are {refusals:,} who gave no report."
    rule = "The reports do not show that anybody has not followed the rule."
    if first.at_least > 0.0:
        rule = (
            f"At least {100.0 * first.at_least:.2g}% of the people cannot have followed the rule: a test with"
            f" {100.0 * first.confidence:g}% confidence rejects every smaller share."
        )
    return "\n\n".join([*parts, wrapped(words), wrapped(rule)])


def _table_of(pair: tuple[Bounded, Bounded]) -> tuple[Label, str]:
    """Return what a table is about."""
    return pair[0].quantity.attributes, pair[0].measure


def _title(names: Label, measure: str, rows: Sequence[tuple[Bounded, Bounded]]) -> str:
    """Return the title of a table of bounds."""
    first = rows[0][0]
    if measure == "rate":
        return f"{said(names)} given {said(first.given_columns)}"
    return f"compared with {said(first.compared_with)}" if measure == "difference" else said(names)


def two_channels_text(found: TwoChannels) -> str:
    """Return the table of shares with that of people who always give one report, and the test of these."""
    test = (
        f"(always {found.always}) are people who give this report whatever they are told. That"
        f" there are none is tested by the likelihood ratio: p = {found.p_value:.2g}. The other"
        " shares are of all people, and nothing tells what the answers of these people are. Nobody may"
        " deviate in another way."
    )
    return "\n\n".join([estimate_text(found.estimate), wrapped(test)])


def _remarks(found: Estimate, more: Sequence[Estimated]) -> list[str]:
    """Return why some of what was asked for cannot be estimated; nothing if all can."""
    words = []
    if found.rank < found.inputs:
        words.append(
            f"The channel has rank {found.rank} for {found.inputs} values: no number of reports determines"
            " what has no most likely value here (-). The intervals follow from other frequencies."
        )
    if any(not row.estimable and not math.isnan(row.estimate) for row in (*found.frequencies, *more)):
        words.append(
            f"With {reports_text(found.records)}, what {UNKNOWN} and has a most likely value is not known"
            f" well: its interval is wider than {SETTINGS.uninformative_width:g}, or it is a rate among"
            " people of whom there may be none, or a ratio to a rate that may be 0."
        )
    return list(map(wrapped, words))


def give_estimates(
    options: argparse.Namespace,
    rows: Iterable[tuple[str, Estimated]],
    text: str,
    promise: str,
    picture: Callable[[], Figure] | None,
    found: Any,
    **more: Any,
) -> int:
    """Write and print estimates as options of `estimate` say, and return the exit status.

    `rows` are written as by `estimates_csv`, `text` and the promise are printed, or `found` and `more` as
    JSON.
    """
    with ExitStack() as stack:  # both or none
        if options.out is not None:
            partial = stack.enter_context(replacing(options.out))
            written = estimates_csv(rows, spreadsheet=options.spreadsheet)
            partial.write_text(written, encoding="utf-8", newline="\n")
        if options.picture is not None and picture is not None:
            from ldpsurvey.command.pictures import draw

            draw(picture(), stack.enter_context(replacing(options.picture)))
    if options.json:
        from ldpsurvey.command.exports import as_json

        print(as_json(found, **more))
        return 0
    print(text)
    print("\n" + wrapped(f"The promise to the people who reported: {promise}"))
    if files := [path for path in (options.out, options.picture) if path is not None]:
        print("\n" + visible(f"Files written: {', '.join(files)}."))
    return 0
