"""Numbers that a text quotes, looked up in the result tables: an aggregate of a column over chosen rows.

A text has ``{names}`` in place of its numbers, so that it cannot go stale unnoticed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from reproduction.base.entries import from_entry
from reproduction.planning.paper import Paper, PaperError

#: How a number that is stated relates to that of the tables.
RELATIONS = ("about", "at most")

#: By how much a rounded number may differ from the number of a table, in units of its last digit: half a
#: unit, and a little more, because the last digits of two machines differ.
HALF = 0.55

#: So many standard errors are added for a number that was drawn at random.
_ERRORS = 3.0

_TAKES = ("only", "min", "median", "mean", "max", "sum", "count")


@dataclass(frozen=True)
class Quote:
    """A number of a table of the same paper, and how it is written.

    `column` is a column, or an expression of several, as ``value / bound``; `rows` a condition of columns, as
    ``size == '2 x 5' and epsilon < 1``, all if it is empty. Of these the quote takes ``only`` (they all
    agree), ``min``, ``median``, ``mean``, ``max``, ``sum`` or ``count`` (how many there are). `form` is as
    `format` takes it.
    """

    table: str
    column: str
    rows: str = ""
    take: str = "only"
    form: str = "g"

    def __post_init__(self) -> None:
        if self.take not in _TAKES:
            raise ValueError(f"A quote takes {self.take!r}; allowed are {', '.join(_TAKES)}.")

    def number(self, table: pd.DataFrame) -> float:
        """Return the number, of which there must be one, or one of equal ones; else raise a ValueError."""
        rows = table.query(self.rows) if self.rows else table
        values = pd.Series(rows.eval(self.column, engine="python"), dtype="float64").dropna()
        if self.take == "count":
            return float(len(values))
        if values.empty:
            raise ValueError(
                f"The table {self.table} has no number {self.column} where {self.rows or 'any'}."
            )
        if self.take == "only":
            numbers = values.unique()
            if len(numbers) > 1:
                raise ValueError(
                    f"The table {self.table} has {len(numbers)} numbers {self.column} where"
                    f" {self.rows or 'any'}; say which one to take."
                )
            return float(numbers[0])
        return float(getattr(values, self.take)())

    def text(self, table: pd.DataFrame) -> str:
        """Return the number as it is written."""
        # As it is printed elsewhere: 1e-9, not 1e-09.
        return re.sub(r"e([-+])0(?=\d$)", r"e\1", format(self.number(table), self.form))


@dataclass(frozen=True)
class Stated(Quote):
    """A number that a claim states, with the number of a table that must agree with it.

    `said` is as it is written: ``1.92``, ``2,035`` or ``82%``. The relation is one of `RELATIONS`: a number
    that is about the one of the table is rounded from it. A number that was drawn at random has a
    `standard_error`, a column or an expression of several.
    """

    said: str = ""
    relation: str = "about"
    standard_error: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.relation not in RELATIONS:
            raise ValueError(f"The relation is {self.relation!r}; allowed are {', '.join(RELATIONS)}.")
        read_number(self.said)

    def agrees(self, table: pd.DataFrame) -> bool:
        """Tell whether the number is that of the table, or bounds it; errors as of `number`."""
        said, unit = read_number(self.said)
        found = self.number(table)
        if self.relation == "at most":
            return found <= said
        drawn = replace(self, column=self.standard_error).number(table) if self.standard_error else 0.0
        return abs(found - said) <= HALF * unit + _ERRORS * drawn


def read_number(text: str) -> tuple[float, float]:
    """Return a number as it is written, and the unit of its last digit: of ``37.1%``, 0.371 and 0.001."""
    digits, scale = text.replace(",", "").removesuffix("%"), 0.01 if text.endswith("%") else 1.0
    mantissa, _, exponent = digits.partition("e")
    return scale * float(digits), scale * 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def fill_names(text: str, named: Mapping[str, str]) -> str:
    """Return a text with others in place of ``{names}``; braces around anything else are those of LaTeX."""
    return re.sub(r"\{(\w+)\}", lambda name: named.get(name[1], name[0]), text)


@dataclass(frozen=True)
class Highlight:
    """What a reader should know first: what a paper says, what was found, and why it matters.

    By default `stated` and `found` are the statement and the explanation of the claim, an id. `lead` is a
    sentence for the top of the page. It and `found` have ``{names}`` in place of `numbers`, which are entries
    of quotes by name. `figure` is the name of one that shows it.
    """

    paper: str
    matters: str
    stated: str = ""
    found: str = ""
    lead: str = ""
    numbers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    claim: str = ""
    figure: str = ""

    def quotes(self) -> dict[str, Quote]:
        """Return the numbers by name."""
        name = f"a highlight of {self.paper}"
        return {
            key: from_entry(Quote, entry, f"{key} of {name}", PaperError)
            for key, entry in self.numbers.items()
        }

    def fill(self, text: str, tables: Mapping[str, pd.DataFrame]) -> str | None:
        """Return a text with its numbers; None if a table or a row of them is not there."""
        named = {key: quote for key, quote in self.quotes().items() if f"{{{key}}}" in text}
        try:
            numbers = {key: quote.text(tables[quote.table]) for key, quote in named.items()}
        except (KeyError, ValueError):
            return None
        return fill_names(text, numbers)


def highlights_of(paper: Paper) -> list[Highlight]:
    """Return the highlights of a paper.

    An entry is refused that is incomplete, names a table or a figure that is not there, or names no claim and
    lacks a text.
    """
    found = []
    for number, entry in enumerate(paper.highlights, start=1):
        name = f"Highlight {number} of {paper.key}"
        highlight = from_entry(Highlight, entry, name, PaperError, paper=paper.key)
        if unknown := [q.table for q in highlight.quotes().values() if q.table not in paper.published_tables]:
            raise PaperError(
                f"{name} quotes the table {unknown[0]}; {paper.key} has {', '.join(paper.published_tables)}."
            )
        if not highlight.claim and not (highlight.stated and highlight.found):
            raise PaperError(f"{name} names no claim, so it must say what is stated and what was found.")
        if highlight.figure and highlight.figure not in paper.figures:
            raise PaperError(
                f"{name} names the figure {highlight.figure}; {paper.key} has {', '.join(paper.figures)}."
            )
        found.append(highlight)
    return found
