"""CSV files as texts, with keys that no two labels share, and without formulas where a user wants none."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence

from ldpfrontier.survey.numerals import as_finite
from ldpfrontier.survey.records import Label

#: What a formula begins with, ASCII or full width: at the start of a cell, or after what a program with
#: another separator takes for the start of one, such as Excel's semicolon in many countries.
_FORMULA = re.compile("((?:^|[;\t\r\n]) *)(?=[=+\\-@\uff1d\uff0b\uff0d\uff20].)")


def key(label: Label) -> str:
    """Return a label as a list in JSON, without spaces between its parts."""
    return json.dumps(label, ensure_ascii=False, separators=(",", ":"))


def without_formulas(cell: str) -> str:
    """Return a cell with an apostrophe before what a spreadsheet program would take for a formula.

    Numbers and single signs are none, such as -5 and +.
    """
    return cell if as_finite(cell) is not None else _FORMULA.sub(r"\1'", cell)


def csv_text(head: Sequence[str], rows: Iterable[Sequence[str]], *, spreadsheet: bool = False) -> str:
    """Return the text of a CSV file.

    Parameters
    ----------
    head : sequence of str
        Names of the columns.
    rows : iterable of sequence of str
    spreadsheet : bool
        Whether cells are written as `without_formulas` returns them.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    for row in (head, *rows):
        writer.writerow(map(without_formulas, row) if spreadsheet else row)
    return stream.getvalue()
