"""Estimated numbers with their confidence intervals, of every kind, and how they are printed and written."""

from __future__ import annotations

import math
import textwrap
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ldpfrontier.verify import visible
from ldpsurvey.base.layout import WIDTH, columns, counted, csv_text, key, number
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.base.tabular import Tabular, frame_of
from ldpsurvey.data.reading import Label, said

if TYPE_CHECKING:
    import pandas as pd

Measure = Literal["frequency", "rate", "difference", "ratio", "mean", "cumulative"]

#: Letters of the longest label that has numbers beside it, however wide they are.
_LEAST = 16

#: Decimals: two digits of the narrowest interval, and these at least and at most.
_DECIMALS = (2, 6)

UNKNOWN = "cannot be estimated"


@dataclass(frozen=True)
class Quantity:
    """What is estimated: a value of some columns together; a mean has no value."""

    attributes: Label
    value: Label


@dataclass(frozen=True)
class Estimated:
    """An estimated number with its confidence interval, which has the most likely value.

    A frequency is that of its value, a rate that of the value among people with another one, `given`; a
    difference is the rate minus that given `compared_with`, a ratio their quotient, and a cumulative share
    that of the people with the value or one before it.

    The estimate is under a most likely distribution, so that a frequency is never below 0 or above 1; of a
    sample of people it is the unbiased one, of a questionnaire that of consistent tables. `unbiased` is right
    on average and sometimes below 0, and `error` its standard error. A number that was not computed, or is
    not shown, is NaN; the upper end of a ratio may be infinite. `estimable` says whether the channel shows
    it, and the interval says something.
    """

    quantity: Quantity
    estimate: float
    low: float
    high: float
    unbiased: float = math.nan
    error: float = math.nan
    _: KW_ONLY
    estimable: bool = True
    measure: Measure = "frequency"
    given_columns: Label = ()
    given: Label = ()
    compared_with: Label = ()

    @property
    def label(self) -> str:
        """The value in words, with the one that it is given."""
        words = said(self.quantity.value or self.quantity.attributes)
        return f"{words} given {said(self.given)}" if self.given else words


@dataclass(frozen=True)
class Bounded(Estimated):
    """A share, a rate or a difference of rates, of which only bounds are known.

    The reports have the sharp bounds `least` and `most` if a share `deviating` of the people may report
    anything; the interval has the sampling error as well. It is about `everybody`, or about those who follow
    the rule. There is no estimate: all numbers between the bounds fit the reports equally well.
    """

    _: KW_ONLY
    least: float
    most: float
    deviating: float
    everybody: bool


class EstimateTable(Tabular):
    """A result with estimates, from so many reports, `records`."""

    records: int

    @abstractmethod
    def _estimates(self) -> Iterable[tuple[str, Estimated]]:
        """Return the estimates, each with the group of people that it is about ("" for all)."""

    def to_frame(self) -> pd.DataFrame:
        """Return the estimates, a row each, in the columns that `estimate --out` writes."""
        return frame_of(_cells(group, row) for group, row in self._estimates())

    def _about(self) -> str:
        number = sum(1 for _ in self._estimates())
        return f"{counted(number, 'estimate')} from {counted(self.records, 'report')}"


def is_estimable(estimate: float, width: float) -> bool:
    """Tell whether a value from 0 to 1 is shown, with an interval that says something."""
    return math.isfinite(estimate) and width < SETTINGS.uninformative_width


def interval_head(confidence: float) -> str:
    """Return what a column of intervals is called."""
    return f"{100.0 * confidence:g}% interval"


def rows_text(title: str, head: str, rows: Sequence[Estimated], confidence: float) -> str:
    """Return a table of estimates within 80 columns; `head` is what they are called."""
    digits = _digits(rows)
    return table_text(
        [[title, head, interval_head(confidence)], *([row.label, *_shown(row, digits)] for row in rows)]
    )


def comparisons_text(title: str, differences: Sequence[Estimated], ratios: Sequence[Estimated]) -> str:
    """Return a table of differences of rates with their ratios beside them."""
    digits, lines = _digits(differences), [[title, "difference", "interval", "ratio", "interval"]]
    for pair in zip(differences, ratios, strict=True):
        cells = [
            _shown(row, own) if row.estimable else ["-", UNKNOWN]
            for row, own in zip(pair, (digits, 2), strict=True)
        ]
        lines.append([pair[0].label, *cells[0], *cells[1]])
    return table_text(lines)


def bounds_table(title: str, rows: Sequence[tuple[Bounded, Bounded]], confidence: float) -> str:
    """Return a table of bounds and intervals of those who follow the rule, and of intervals of everybody."""
    digits = _digits([row for row, _ in rows])
    lines = [[title, "bounds", interval_head(confidence), "of everybody"]]
    for own, of_all in rows:
        ends = (own.least, own.most), (own.low, own.high), (of_all.low, of_all.high)
        cells = [f"{low + 0.0:.{digits}f} to {high + 0.0:.{digits}f}" for low, high in np.round(ends, digits)]
        lines.append([own.label, *cells])
    return table_text(lines)


def _digits(rows: Iterable[Estimated]) -> int:
    """Return how many decimals estimates are worth: two digits of the narrowest interval."""
    least, most = _DECIMALS
    width = min((row.high - row.low for row in rows if row.estimable), default=1.0)
    return min(max(math.ceil(-math.log10(width)) + 1, least), most) if width > 0.0 else most


def _shown(row: Estimated, digits: int) -> list[str]:
    """Return the estimate, the interval, and whether these are worth anything."""
    # Adding 0 makes 0 of -0.
    estimate, low, high = (round(x, digits) + 0.0 for x in (row.estimate, row.low, row.high))
    interval = [] if math.isnan(low) else [f"{low:.{digits}f} to {high:.{digits}f}"]
    return [number(estimate, digits), *interval, *([] if row.estimable else [UNKNOWN])]


def table_text(lines: list[list[str]]) -> str:
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


def estimates_csv(rows: Iterable[tuple[str, Estimated]], *, spreadsheet: bool = False) -> str:
    """Return estimates, each with the group of people that it is about ("" for all), as CSV.

    A number that there is not, and a limit that does not exist, are empty.
    """
    return cells_csv([_cells(group, row) for group, row in rows], spreadsheet=spreadsheet)


def cells_csv(found: Sequence[dict[str, Any]], *, spreadsheet: bool = False) -> str:
    """Return rows of cells by the names of their columns as CSV."""
    head = list(dict.fromkeys(name for cells in found for name in cells))
    lines = [[_csv_cell(name, cells.get(name, "")) for name in head] for cells in found]
    return csv_text(head, lines, spreadsheet=spreadsheet)


def _cells(group: str, row: Estimated) -> dict[str, Any]:
    """Return the cells of an estimate by the names of their columns."""
    cells = {
        "columns": row.quantity.attributes, "value": row.quantity.value, "estimate": row.estimate,
        "unbiased": row.unbiased, "standard_error": row.error, "low": row.low, "high": row.high,
        "estimable": row.estimable, "measure": row.measure, "given_columns": row.given_columns,
        "given": row.given, "compared_with": row.compared_with, "group": group,
    }  # fmt: skip
    if isinstance(row, Bounded):
        who = "everybody" if row.everybody else "who follow the rule"
        cells |= {"least": row.least, "most": row.most, "deviating": row.deviating, "people": who}
    return cells


def _csv_cell(name: str, cell: Any) -> str:
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        return repr(cell) if math.isfinite(cell) else ""
    if isinstance(cell, tuple):
        return key(cell) if cell or name in ("columns", "value") else ""
    return str(cell)
