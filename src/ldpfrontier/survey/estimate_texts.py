"""What `estimate` prints and writes: tables of frequencies and rates, within 80 columns, and as CSV."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence

from ldpfrontier.survey.estimation import Estimate, Frequency
from ldpfrontier.survey.layout import WIDTH, columns, csv_text, key, number, reports_text, wrapped
from ldpfrontier.survey.rates import Rate, Rates
from ldpfrontier.survey.reading import said
from ldpfrontier.survey.scores import Score
from ldpfrontier.survey.settings import SETTINGS
from ldpfrontier.verify import visible

#: Letters of the longest label that has numbers beside it, however wide they are.
_LEAST = 16

#: Decimals: two digits of the narrowest interval, and these at least and at most.
_DECIMALS = (2, 6)

_UNKNOWN = "cannot be estimated"


def estimate_text(found: Estimate, rates: Rates | None = None, scores: Sequence[Score] = ()) -> str:
    """Return the tables of estimated frequencies, rates, means and cumulative shares."""
    percent = f"{100.0 * found.confidence:g}% interval"
    head_line = reports_text(found.records)
    if found.simultaneous:
        head_line += "; the confidence is that of all frequencies together (Bonferroni)"
        head_line += ", and that of all rates and comparisons together" * (rates is not None)
        head_line += ", and that of all means and cumulative shares together" * bool(scores)
    tables = []
    for group in dict.fromkeys(row.quantity.attributes for row in found.frequencies):
        some = found.of(group)
        digits = _digits(some)
        head = [said(group), "most likely", percent]
        tables.append([head, *([said(row.quantity.value), *_shown(row, digits)] for row in some)])
    if rates is not None:
        some_rates, given = rates.of("rate"), f"{said(rates.sensitive)} given {said(rates.useful)}"
        digits = _digits(some_rates)
        lines = [[_name(row), *_shown(row, digits)] for row in some_rates]
        tables.append([[given, "most likely", percent], *lines])
        if differences := rates.of("difference"):
            digits = _digits(differences)
            head = [f"compared with {said(rates.compared_with)}", "difference", "interval"]
            lines = [
                [_name(row), *_compared(row, digits), *_compared(ratio, 2)]
                for row, ratio in zip(differences, rates.of("ratio"), strict=True)
            ]
            tables.append([[*head, "ratio", "interval"], *lines])
    for measure, column in dict.fromkeys((s.measure, s.attribute * (s.measure != "mean")) for s in scores):
        some_scores = [s for s in scores if s.measure == measure and column in ("", s.attribute)]
        digits = _digits(some_scores)
        head = [f"{column}, up to" if column else "mean", "most likely", percent]
        lines = [[s.value if column else s.attribute, *_shown(s, digits)] for s in some_scores]
        tables.append([head, *lines])
    parts = [wrapped(head_line), *map(_table, tables), *_remarks(found, rates, scores)]
    return "\n\n".join(parts)


def _remarks(found: Estimate, rates: Rates | None, scores: Sequence[Score]) -> list[str]:
    """Return why some of what was asked for cannot be estimated; nothing if all can."""
    rows: list[Frequency | Rate | Score] = [*found.frequencies, *(rates.rows if rates else ()), *scores]
    lost = [row for row in rows if not row.estimable]
    words = []
    if found.rank < found.inputs:
        words.append(
            f"The channel has rank {found.rank} for {found.inputs} values: no number of reports determines"
            " what has no most likely value here (-). The intervals follow from other frequencies."
        )
    if any(not math.isnan(row.likely) for row in lost):
        words.append(
            f"With {reports_text(found.records)}, what {_UNKNOWN} and has a most likely value is not known"
            f" well: its interval is wider than {SETTINGS.uninformative_width:g}, or it is a rate among"
            " people of whom there may be none, or a ratio to a rate that may be 0."
        )
    return list(map(wrapped, words))


def _name(row: Rate) -> str:
    return f"{said(row.value)} given {said(row.given)}"


def _digits(rows: Iterable[Frequency | Rate | Score]) -> int:
    """Return how many decimals estimates are worth: two digits of the narrowest interval."""
    least, most = _DECIMALS
    width = min((row.high - row.low for row in rows if row.estimable), default=1.0)
    return min(max(math.ceil(-math.log10(width)) + 1, least), most)


def _shown(row: Frequency | Rate | Score, digits: int) -> list[str]:
    """Return the most likely value, the interval, and whether these are worth anything."""
    # Adding 0 makes 0 of -0.
    likely, low, high = (round(x, digits) + 0.0 for x in (row.likely, row.low, row.high))
    interval = f"{low:.{digits}f} to {high:.{digits}f}"
    return [number(likely, digits), interval, *([] if row.estimable else [_UNKNOWN])]


def _compared(row: Rate, digits: int) -> list[str]:
    """Return the same in two cells, so that two of them fit on a line."""
    return _shown(row, digits) if row.estimable else ["-", _UNKNOWN]


def _table(lines: list[list[str]]) -> str:
    """Return a table in which labels that leave no room for numbers have lines of their own, uncut.

    Labels that read alike, such as those of ("a, b", "c") and ("a", "b, c"), get the number of their row.
    """
    lines = [list(map(visible, line)) for line in lines]
    often = Counter(label for label, *_ in lines)
    labels = [label + f" [{i}]" * (often[label] > 1) for i, (label, *_) in enumerate(lines)]
    others = sum(
        2 + max(len(line[i]) for line in lines if len(line) > i) for i in range(1, max(map(len, lines)))
    )
    room = max(WIDTH - others, _LEAST)
    fits = [len(label) <= room for label in labels]
    beside = [label if fit else "" for label, fit in zip(labels, fits, strict=True)]
    rows = columns([[label, *rest] for label, (_, *rest) in zip(beside, lines, strict=True)]).splitlines()
    shown = []
    for label, fit, row in zip(labels, fits, rows, strict=True):
        above = [] if fit else textwrap.wrap(label, WIDTH, subsequent_indent="  ", break_on_hyphens=False)
        shown += [*above, row]
    return "\n".join(shown)


def estimate_csv(
    found: Estimate, rates: Rates | None = None, scores: Sequence[Score] = (), *, spreadsheet: bool = False
) -> str:
    """Return the estimates as CSV; what cannot be estimated, and a limit that does not exist, are empty.

    Parameters
    ----------
    found : Estimate
    rates : Rates, optional
    scores : sequence of Score
    spreadsheet : bool
        Whether an apostrophe comes before what a spreadsheet program would take for a formula.
    """
    head = ["columns", "value", "likely", "unbiased", "low", "high", "estimable"]
    head += ["measure", "given", "compared_with"]
    rows = []
    for row in found.frequencies:
        names = [key(row.quantity.attributes), key(row.quantity.value)]
        numbers = map(_cell, (row.likely, row.unbiased, row.low, row.high))
        rows.append([*names, *numbers, "yes" if row.estimable else "no", "frequency", "", ""])
    for rate in rates.rows if rates else ():
        names = [key(rates.sensitive), key(rate.value)] if rates else []
        numbers = map(_cell, (rate.likely, math.nan, rate.low, rate.high))
        other = "" if rate.compared_with is None else key(rate.compared_with)
        told = "yes" if rate.estimable else "no"
        rows.append([*names, *numbers, told, rate.measure, key(rate.given), other])
    for score in scores:
        names = [key((score.attribute,)), key((score.value,) if score.value else ())]
        numbers = map(_cell, (score.likely, score.unbiased, score.low, score.high))
        rows.append([*names, *numbers, "yes" if score.estimable else "no", score.measure, "", ""])
    return csv_text(head, rows, spreadsheet=spreadsheet)


def _cell(value: float) -> str:
    return repr(value) if math.isfinite(value) else ""
