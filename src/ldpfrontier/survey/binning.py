"""Preparation of values before they are counted: groups of numbers, and a name for missing values.

A group of numbers is named by its interval, closed on the left, as in ``[18,40)``; the first and the last one
have no end, so that every number is in a group. The names say all there is to know: who has the labels of a
channel can put a number into its group.
"""

from __future__ import annotations

import math
import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from ldpfrontier.numerics.arguments import as_count, as_number
from ldpfrontier.survey.numerals import as_finite, is_ambiguous
from ldpfrontier.survey.reading import is_standard_input, shown
from ldpfrontier.survey.records import Translation, as_text, as_texts, read_chunks, weight_of, whole_count
from ldpfrontier.survey.settings import SETTINGS
from ldpfrontier.survey.values import DROP, KEEP, as_code, declared_codes, may_be_missing

#: Number of groups of about as many records each, or the numbers at which groups begin.
Bins = int | Sequence[float]

_INTERVAL = re.compile(r"(?:\(-inf|\[([^,\[\]()]+)),(?:inf|([^,\[\]()]+))\)")


class Groups:
    """Puts numbers into intervals.

    Parameters
    ----------
    path : path
        Of the records, for errors.
    column : str
    edges : sequence of float
        Where a new interval begins: rising, at least one.
    missing : str, optional
        What a missing value becomes; without it, it stays what it is.

    Raises
    ------
    ValueError
        If the edges are none.
    """

    def __init__(
        self, path: Path | str, column: str, edges: Sequence[float], missing: str | None = None
    ) -> None:
        self._path, self._column, self._missing = path, column, missing
        allowed = "a finite number"
        self._edges = [as_number(edge, f"The beginning of a group of {column!r}", allowed) for edge in edges]
        rising = all(low < high for low, high in pairwise(self._edges))
        if not self._edges or not rising:
            raise ValueError(
                f"The groups of {column!r} begin at {', '.join(map(_short, edges)) or 'no number'}; they must"
                " begin at one or more numbers in increasing order."
            )
        ends = ["-inf", *map(_short, self._edges), "inf"]
        self.labels = tuple(
            f"{'[' if place else '('}{low},{high})" for place, (low, high) in enumerate(pairwise(ends))
        )

    def __call__(self, value: str) -> str:
        """Return the interval of a number.

        Raises
        ------
        ValueError
            If it is none.
        """
        number = as_finite(value)
        if number is not None:
            return self.labels[bisect_right(self._edges, number)]
        if may_be_missing(value):
            return value if self._missing is None else self._missing
        why = "they must be finite numbers with a decimal point or comma, and without separators of thousands"
        if is_ambiguous(value):
            before, after = value.strip().split(",")
            why = f"it may mean {before}{after} or {before}.{after}; decimals must follow a point"
        raise ValueError(
            f"{shown(self._path)} has {value!r} as its {self._column}, whose values are put into groups;"
            f" {why}."
        )


def interval_start(label: str) -> float | None:
    """Return the lower end of the interval that a text names; None if it names none."""
    if not (found := _INTERVAL.fullmatch(label)) or not any(found.groups()):
        return None
    low, high = (None if text is None else as_finite(text) for text in found.groups())
    if (low is None and found[1] is not None) or (high is None and found[2] is not None):
        return None
    return -math.inf if low is None else low


def in_order(label: Sequence[str]) -> list[tuple[float, str]]:
    """Return a key to sort labels by: intervals by where they begin, and then texts."""
    starts = map(interval_start, label)
    return [(math.inf if start is None else start, text) for start, text in zip(starts, label, strict=True)]


def parsed_bins(words: Iterable[str]) -> dict[str, Bins]:
    """Return groups that are written as ``COLUMN=5`` or ``COLUMN=18,40,65``, by their column.

    Raises
    ------
    ValueError
        If one is written in another way, or a column has groups twice.
    """
    found: dict[str, Bins] = {}
    for word in words:
        column, equals, text = word.rpartition("=")
        numbers = [as_finite(part) for part in text.removesuffix(",").split(",")]
        if not equals or not column or None in numbers:
            raise ValueError(
                f"--bins has {word!r}; it must be COLUMN=N, where N is the number of groups, or"
                " COLUMN=A,B,..., the numbers at which groups begin (for a single number COLUMN=A, with the"
                " comma)."
            )
        if column in found:
            raise ValueError(f"--bins names the column {column!r} twice; it may be named once.")
        edges = [number for number in numbers if number is not None]
        found[column] = edges if "," in text else _groups(column, edges[0])
    return found


def _groups(column: str, number: object) -> int:
    allowed = f"a whole number from 2 to {SETTINGS.max_groups:,}"
    return as_count(number, f"The number of groups of {column!r}", allowed, least=2, most=SETTINGS.max_groups)


def translations_of(
    path: Path | str,
    columns: Sequence[str],
    *,
    bins: Mapping[str, Bins] | None = None,
    count: str | None = None,
    weighted: bool = False,
    codes: Sequence[str] = (),
    progress: Callable[[int], None] | None = None,
    remark: Callable[[str], None] | None = None,
) -> dict[str, Translation]:
    """Return the translation of the values of every column, by its name.

    Parameters
    ----------
    path : path
        Of the records: if groups are to have about as many records each, it is read once more.
    columns : sequence of str
    bins : mapping of str to int or sequence of float, optional
        By column: how many groups, or where they begin.
    count : str, optional
        Column of the counts of a table of counts, or of weights.
    weighted : bool
        Whether these are weights.
    codes : sequence of str
        Codes for missing values, as `declared_codes` takes them: they become empty fields.
    progress : callable, optional
        Called with the number of records read.
    remark : callable, optional
        Called with a sentence for a column that has fewer groups than wanted.

    Raises
    ------
    ValueError
        If a column with groups is not among those that are read, or has values that are no numbers.
    """
    declared = declared_codes(as_texts(codes, "The codes for missing values"), columns)
    made: dict[str, Translation] = {name: _without(some) for name, some in declared.items()}
    if bins is not None and not isinstance(bins, Mapping):
        raise ValueError(f"bins is a {type(bins).__name__}; it must be a mapping from columns to groups.")
    for column, wanted in (bins or {}).items():
        if column not in columns:
            raise ValueError(
                f"The values of the column {column!r} cannot be put into groups, since it is neither"
                f" sensitive nor useful; allowed are {', '.join(columns)}."
            )
        if isinstance(wanted, Sequence) and not isinstance(wanted, str):
            made[column] = _without(declared.get(column, ()), Groups(path, column, wanted))
            continue
        number = _groups(column, wanted)
        edges = _quantiles(path, column, number, count, weighted, made, progress)
        groups = Groups(path, column, edges)
        made[column] = _without(declared.get(column, ()), groups)
        if remark and len(groups.labels) < number:
            remark(
                f"the values of {column} are put into {len(groups.labels)} groups, not {number}, since too"
                f" many records have equal numbers: {' '.join(groups.labels)}."
            )
    return made


def translations_for(
    path: Path | str,
    attributes: Sequence[str],
    labels: Sequence[Sequence[str]],
    missing: str | None = None,
    codes: Sequence[str] = (),
) -> dict[str, Translation]:
    """Return what becomes of the values of a channel's columns: numbers go into the channel's groups.

    Parameters
    ----------
    path : path
        Of the records, for errors.
    attributes : sequence of str
        The columns of the channel.
    labels : sequence of tuple of str
        What it knows, a value per column.
    missing : str, optional
        The name that missing values become; values of the channel stay what they are, even if they are called
        NA.
    codes : sequence of str
        Codes for missing values, as `declared_codes` takes them.

    Raises
    ------
    ValueError
        If the name of missing values is one of them, or they are to be left out.
    """
    missing = missing_name(missing)
    if missing == DROP:
        raise ValueError(
            "--missing drop is possible in a design only: a person without a report would be known to have a"
            " missing value. Remove these people from the file, or give missing values a name."
        )
    missing = None if missing == KEEP else missing
    declared = declared_codes(as_texts(codes, "The codes for missing values"), attributes)
    made: dict[str, Translation] = {}
    for place, column in enumerate(attributes):
        values = {label[place] for label in labels}
        if missing is not None:
            made[column] = _named(missing, values)
        starts = {start for value in values if (start := interval_start(value)) is not None}
        if -math.inf not in starts or len(starts) == 1:
            continue
        groups = Groups(path, column, sorted(starts - {-math.inf}), missing)
        if values.issuperset(groups.labels):
            made[column] = _unless_known(groups, values)
    for column, some in declared.items():
        made[column] = _without(some, made.get(column))
    return made


def _without(codes: Collection[float | str], then: Translation | None = None) -> Translation:
    """Return a translation that takes some codes for empty fields, before another one."""

    def made(value: str) -> str:
        value = "" if as_code(value) in codes else value
        return value if then is None else then(value)

    return made


def _unless_known(groups: Groups, values: set[str]) -> Translation:
    # A value of the channel stays what it is, as does what is no number: it is refused with its record.
    return lambda value: value if value in values or not _grouped(value) else groups(value)


def _grouped(value: str) -> bool:
    return as_finite(value) is not None or is_ambiguous(value) or may_be_missing(value)


def _named(name: str, values: set[str]) -> Translation:
    return lambda value: name if may_be_missing(value) and value not in values else value


def missing_name(missing: object) -> str | None:
    """Return what becomes of missing values, if it is no name of a missing value itself.

    Raises
    ------
    ValueError
    """
    if missing is None:
        return None
    name = as_text(missing, "The name of missing values")
    if may_be_missing(name) or "\0" in name:
        raise ValueError(
            f"The name of missing values is {name!r}, which itself means a missing value; it must be a"
            " name such as 'unknown'."
        )
    return name


def _quantiles(
    path: Path | str,
    column: str,
    number: int,
    count: str | None,
    weighted: bool,
    codes: Mapping[str, Translation],
    progress: Callable[[int], None] | None,
) -> list[float]:
    """Return numbers of a column at which groups of about as many records each begin."""
    if is_standard_input(path):
        raise ValueError(
            f"To form groups of {column!r} with as many records each, the records are read twice, but the"
            " standard input can be read only once; state where the groups begin, or name a file."
        )
    values, times = array("d"), array("d")
    check, amount = Groups(path, column, [0.0]), weight_of if weighted else whole_count
    asked, codes = (
        (column,) if count is None else (column, count),
        {n: codes[n] for n in codes if n == column},
    )
    for chunk in read_chunks(path, asked, translations=codes, progress=progress):
        for row, (text, *counts) in enumerate(chunk, start=len(values) + 1):
            value = as_finite(text)
            if value is None:
                check(text)  # raises unless it is missing
            values.append(math.nan if value is None else value)
            times.append(amount(path, row, counts[0]) if counts else 1)
    known = np.frombuffer(values)
    order = np.argsort(known, kind="stable")[: int(np.isfinite(known).sum())]
    known, total = known[order], np.cumsum(np.frombuffer(times)[order])
    if not known.size or known[0] == known[-1]:
        raise ValueError(
            f"{shown(path)} has fewer than two numbers in the column {column}; at least two are needed for"
            " groups."
        )
    places = np.searchsorted(total, total[-1] * np.arange(1, number) / number, side="right")
    edges = np.unique(known[np.minimum(places, known.size - 1)])
    return [float(edge) for edge in edges if edge > known[0]] or [float(known[known > known[0]][0])]


def _short(edge: object) -> str:
    return repr(edge).removesuffix(".0") if isinstance(edge, float) else str(edge)
