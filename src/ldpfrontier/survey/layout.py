"""Texts for a terminal: paragraphs, numbers and tables, in which every character can be seen.

Names and values may come from anybody. A line end in them must not begin a line of its own, and an escape
sequence or a change of direction must not alter what is printed. This module imports no other library.
"""

from __future__ import annotations

import math
import textwrap

from ldpfrontier.verify import visible

#: Letters of a line: a page shows what is printed, and has room for as many.
WIDTH = 80


def wrapped(text: str, indent: str = "") -> str:
    """Break a paragraph into lines, of which all but the first begin with an indent."""
    return textwrap.fill(
        visible(text), WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def number(value: float, digits: int) -> str:
    """Return a number as a text: ``-`` if there is none, ``none`` if no limit holds."""
    return "-" if math.isnan(value) else "none" if math.isinf(value) else f"{value:.{digits}f}"


def columns(lines: list[list[str]]) -> str:
    """Return lines of cells as a table of texts."""
    lines = [list(map(visible, line)) for line in lines]
    widths = [max(len(line[i]) for line in lines if len(line) > i) for i in range(max(map(len, lines)))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=False)).rstrip()
        for line in lines
    )
