"""What `estimate` prints and writes."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from ldpfrontier.base.atomic import replacing
from ldpfrontier.verify import visible
from ldpsurvey.base.layout import reports_text, wrapped
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.data.reading import said
from ldpsurvey.estimate.distribution import Estimate
from ldpsurvey.estimate.estimates import UNKNOWN, Estimated, comparisons_text, estimates_csv, rows_text
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
