"""Texts for terminals and files: paragraphs, numbers, tables and CSV.

Names and values may come from anybody. A line end in them must not begin a line of its own, and an escape
sequence or a change of direction must not alter what is printed. This module imports no other library.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
import textwrap
import time
import warnings
from collections.abc import Iterable, Sequence

from ldpfrontier.verify import visible

#: Letters of a line: a page shows what is printed, and has room for as many.
WIDTH = 80

#: Begins a text in UTF-8 that a spreadsheet program is to read.
BYTE_ORDER_MARK = "\ufeff"

#: What a formula begins with, ASCII or full width: at the start of a cell, or after what a program with
#: another separator takes for the start of one, such as Excel's semicolon in many countries.
_FORMULA = re.compile("((?:^|[;\t\r\n]) *)(?=[=+\\-@\uff1d\uff0b\uff0d\uff20].)")
_NUMBER = re.compile(r"[+-]?[0-9]*[.,]?[0-9]+(?:[eE][+-]?[0-9]+)?")


class Remark(UserWarning):
    """Something about the data or the computation that whoever reads the result should know."""


def remark(sentence: str) -> None:
    """Warn; the command prints the sentence."""
    warnings.warn(sentence, Remark, stacklevel=3)


class Progress:
    """A line of progress on the terminal, which is omitted if there is no terminal, or with `quiet`."""

    quiet = False

    def __init__(self, words: str, pause: float = 0.1) -> None:
        self._words, self._pause, self._next, self._shown = words, pause, 0.0, False

    def __call__(self, done: object) -> None:
        """Show how far it is, unless the pause since the last time was too short."""
        if not self.quiet and sys.stderr.isatty() and time.monotonic() >= self._next:
            print(f"\r\x1b[K{self._words.format(done)}", end="", file=sys.stderr, flush=True)
            self._next, self._shown = time.monotonic() + self._pause, True

    def end(self) -> None:
        """Remove the line."""
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def wrapped(text: str, indent: str = "") -> str:
    """Break a paragraph into lines, of which all but the first begin with an indent."""
    return textwrap.fill(
        visible(text), WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def number(value: float, digits: int) -> str:
    """Return a number as a text: ``-`` if there is none, ``none`` if no limit holds."""
    return "-" if math.isnan(value) else "none" if math.isinf(value) else f"{value:.{digits}f}"


def counted(number: int, what: str) -> str:
    """Return a number of things in words, such as ``1 report`` or ``2,000 reports``."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def reports_text(number: int) -> str:
    """Return a number of reports in words."""
    return counted(number, "report")


def columns(lines: list[list[str]]) -> str:
    """Return lines of cells as a table of texts."""
    lines = [list(map(visible, line)) for line in lines]
    widths = [max(len(line[i]) for line in lines if len(line) > i) for i in range(max(map(len, lines)))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=False)).rstrip()
        for line in lines
    )


def key(label: Sequence[str]) -> str:
    """Return a label as a list in JSON, without spaces between its parts: no two labels share it."""
    return json.dumps(label, ensure_ascii=False, separators=(",", ":"))


def without_formulas(cell: str) -> str:
    """Return a cell with an apostrophe before what a spreadsheet program would take for a formula.

    Numbers and single signs are none, such as -5 and +.
    """
    return cell if _NUMBER.fullmatch(cell.strip()) else _FORMULA.sub(r"\1'", cell)


def csv_text(head: Sequence[str], rows: Iterable[Sequence[str]], *, spreadsheet: bool = False) -> str:
    """Return the text of a CSV file; with `spreadsheet`, of cells as `without_formulas` returns them.

    It begins with a byte order mark then, without which Excel takes UTF-8 for another encoding.
    """
    stream = io.StringIO()
    stream.write(BYTE_ORDER_MARK * spreadsheet)
    writer = csv.writer(stream, lineterminator="\n")
    for row in (head, *rows):
        writer.writerow(map(without_formulas, row) if spreadsheet else row)
    return stream.getvalue()
