"""What the commands say: tables of texts, and sentences."""

from __future__ import annotations

import csv
import io
import math
import textwrap

from ldpfrontier.practice.design import Candidate, Design
from ldpfrontier.practice.estimation import Estimate, Frequency

WIDTH = 100


def wrapped(text: str) -> str:
    """Break a paragraph into lines."""
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def design_text(made: Design, best: Candidate) -> str:
    """Return the table of mechanisms, the chosen one marked."""
    table = made.table
    groups = [table.attributes, table.sensitive, table.useful][: 3 if table.useful else 1]
    where = "over F" if table.useful else "for every distribution"
    size = f"{len(table.rows)} x {len(table.columns)}" if table.useful else f"{len(table.rows)}"
    head = [
        f"{table.source}: {table.records:,} records, {size} values of {', '.join(table.attributes)}",
        f"epsilon {made.epsilon:g}: no mechanism that is private {where} has an NMI above {made.bound:.4f}",
        f"error: root mean square error of frequencies estimated from {made.records:,} reports, by columns",
        "",
    ]
    lines = [["", "mechanism", "NMI", "bound", "realized", "rank"]]
    lines[0] += [f"error: {', '.join(group)}" for group in groups]
    lines[0] += ["what it is"]
    # By the NMI that is printed: rounding does not decide between equal ones.
    for c in sorted(made.candidates, key=lambda c: -round(c.nmi, 4) if c.channel else math.inf):
        mark = "->" if c is best else ""
        if c.channel is None:
            lines.append([mark, c.name, *["-"] * (4 + len(groups)), c.note])
            continue
        errors = [">1" if error > 1 else number(error, 4) for error in c.errors]
        bound = f"{made.bound:.4f}" if c.private else "-"
        numbers = [f"{c.nmi:.4f}", bound, number(c.level, 4), str(c.rank)]
        lines.append([mark, c.name, *numbers, *errors, c.title])
    return "\n".join(head) + columns(lines)


def estimate_text(found: Estimate) -> str:
    """Return the table of estimated frequencies."""
    lines = []
    percent = f"{found.confidence:.0%} interval"
    for group in dict.fromkeys(row.quantity.attributes for row in found.frequencies):
        lines.append([", ".join(group), "most likely", "unbiased", percent])
        lines += [[", ".join(row.quantity.value), *_shown(row)] for row in found.of(group)]
        lines.append([])
    text = f"{found.records:,} reports\n\n" + columns(lines).rstrip()
    if found.rank < found.inputs:
        text += "\n\n" + wrapped(
            f"The channel has rank {found.rank} with {found.inputs} values: what is not estimated (-) cannot"
            " be known from any number of its reports."
        )
    return text


def _shown(row: Frequency) -> list[str]:
    interval = "-" if math.isnan(row.low) else f"{row.low:.4f} to {row.high:.4f}"
    return [number(row.likely, 4), number(row.unbiased, 4), interval]


def estimate_csv(found: Estimate) -> str:
    """Return the estimates as CSV; what is not shown is empty."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["columns", "value", "likely", "unbiased", "low", "high"])
    for row in found.frequencies:
        numbers = ["" if math.isnan(x) else repr(x) for x in (row.likely, row.unbiased, row.low, row.high)]
        writer.writerow([", ".join(row.quantity.attributes), ", ".join(row.quantity.value), *numbers])
    return stream.getvalue()


def number(value: float, digits: int) -> str:
    """Return a number as a text: ``-`` if there is none, ``none`` if no limit holds."""
    return "-" if math.isnan(value) else "none" if math.isinf(value) else f"{value:.{digits}f}"


def columns(lines: list[list[str]]) -> str:
    """Return lines of cells as a table of texts; line ends within a cell become spaces."""
    lines = [[" ".join(cell.split()) for cell in line] for line in lines]
    widths = [max(len(line[i]) for line in lines if len(line) > i) for i in range(max(map(len, lines)))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=False)).rstrip()
        for line in lines
    )
