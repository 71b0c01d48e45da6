"""Preparation of values before they are counted: groups of numbers, and names and codes of missing values.

A group of numbers is named by its interval, closed on the left, as in ``[18,40)``; the first and the last one
have no end, so that every number is in a group. The names say all there is to know: who has the labels of a
channel can put a number into its group.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from ldpfrontier.base.extras import extra
from ldpfrontier.base.types import FloatArray
from ldpsurvey.base.layout import remark
from ldpsurvey.base.names import close_name, split_column
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.data.reading import (
    Label,
    Records,
    Translation,
    UnreadableValue,
    as_number,
    is_standard_input,
    read_chunks,
    remembered,
    shown,
    translated,
)
from ldpsurvey.data.values import DROP, KEEP, Missing, may_be_missing, missing_rules

with extra("survey"):
    import pandas as pd

#: Number of groups of about as many records each, or the numbers at which groups begin.
Bins = int | Sequence[float]

_INTERVAL = re.compile(r"(?:\(-inf|\[([^,\[\]()]+)),(?:inf|([^,\[\]()]+))\)")


class Groups:
    """Puts numbers into the intervals that begin at rising edges; the path is for errors."""

    def __init__(self, path: Records, column: str, edges: Sequence[float], decimal: str = ".") -> None:
        self._path, self._column, self._decimal, self._edges = path, column, decimal, list(map(float, edges))
        rising = all(low < high for low, high in pairwise([-math.inf, *self._edges, math.inf]))
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
        """Return the interval of a number; a missing value stays what it is, and anything else is refused."""
        number = as_number(value, self._decimal)
        if number is not None:
            return self.labels[bisect_right(self._edges, number)]
        if may_be_missing(value):
            return value
        mark = "a decimal point (or a comma with --decimal ,)" if self._decimal == "." else "a decimal comma"
        raise UnreadableValue(
            f"{shown(self._path)} has {value!r} as its {self._column}, whose values are put into groups; they"
            f" must be finite numbers with {mark}, and without separators of thousands."
        )


def _short(edge: float) -> str:
    return repr(float(edge)).removesuffix(".0")


def interval_start(label: str) -> float | None:
    """Return where the interval begins that a value is the name of; None if it is no such name."""
    if not (found := _INTERVAL.fullmatch(label)) or not any(found.groups()):
        return None
    low, high = (None if text is None else as_number(text) for text in found.groups())
    if (low is None and found[1] is not None) or (high is None and found[2] is not None):
        return None
    return -math.inf if low is None else low


def in_order(label: Sequence[str]) -> list[tuple[float, str]]:
    """Return a key to sort labels by: numbers, and intervals by where they begin, and then texts."""
    starts = [as_number(text) if (start := interval_start(text)) is None else start for text in label]
    return [(math.inf if start is None else start, text) for start, text in zip(starts, label, strict=True)]


class ValueOrder:
    """Sorts the values of columns as their file lists them; what it does not list is sorted by `in_order`."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._places: dict[str, dict[str, int]] = {name: {} for name in columns}

    def read(self, chunk: pd.DataFrame, labels: Sequence[Sequence[str]]) -> None:
        """Take the orders of the categorical columns of records, and what their values have become."""
        for (name, places), texts in zip(self._places.items(), zip(*labels, strict=True), strict=True):
            if isinstance(chunk[name].dtype, pd.CategoricalDtype):
                for place, text in sorted(set(zip(chunk[name].cat.codes, texts, strict=True))):
                    places.setdefault(text, int(place))

    def __call__(self, name: str, values: Iterable[str]) -> Label:
        """Return the values of a column without repetition, in their order."""
        places = self._places[name]
        return tuple(sorted(set(values), key=lambda text: (places.get(text, math.inf), in_order([text]))))


def parsed_bins(words: Iterable[str], columns: Sequence[str] = ()) -> dict[str, Bins]:
    """Return groups that are written as ``COLUMN=5`` or ``COLUMN=18,40,65``, by their column.

    Columns that are known may have ``=`` in their names (`split_column`).
    """
    found: dict[str, Bins] = {}
    for word in words:
        column, text = split_column(word, columns)
        numbers = [as_number(part) for part in (text or "").strip().removesuffix(",").split(",")]
        edges = [number for number in numbers if number is not None]
        if text is None or not column or len(edges) < len(numbers):
            raise ValueError(
                f"--bins has {word!r}; it must be COLUMN=N, where N is the number of groups, or"
                " COLUMN=A,B,..., the numbers at which groups begin (for a single number COLUMN=A, with the"
                " comma)."
            )
        if column in found:
            raise ValueError(f"--bins names the column {column!r} twice; it may be named once.")
        found[column] = edges if "," in text else _number_of_groups(column, edges[0])
    return found


def bins_text(bins: Mapping[str, Bins]) -> list[str]:
    """Return sentences that say what groups were asked for."""
    lines = []
    for column, wanted in bins.items():
        begin = f"groups of {column} that begin at {{}} are --bins {column}={{}}"
        if isinstance(wanted, int):
            meant = f"--bins {column}={wanted} is {wanted} groups with about as many records each"
            lines.append(f"{meant}; {begin.format(wanted, f'{wanted},')}.")
        else:
            cuts = ", ".join(map(_short, wanted))
            lines.append(
                f"--bins: the groups of {column} begin at {cuts}, and the first one has no lower end."
            )
    return lines


def with_groups(values: Mapping[str, Sequence[str]], bins: Mapping[str, Bins]) -> dict[str, Label]:
    """Return the values of columns without a table, and the names of groups that begin at given numbers."""
    known = {name: tuple(some) for name, some in values.items()}
    for column, edges in bins.items():
        if isinstance(edges, int):
            raise ValueError(
                f"--bins {column}={edges} makes groups of the numbers in a table, and there is none; state"
                f" the numbers at which groups begin, as in {column}=18,40,65."
            )
        if column in known:
            raise ValueError(f"The column {column!r} has values and groups; it may have one of the two.")
        known[column] = Groups("the values", column, edges).labels
    return known


def _number_of_groups(column: str, number: float) -> int:
    if not 2 <= number <= SETTINGS.max_values or number != int(number):
        raise ValueError(
            f"The number of groups of {column!r} is {number:g}; it must be a whole number from 2 to"
            f" {SETTINGS.max_values:,}."
        )
    return int(number)


def translations_of(
    path: Records,
    bins: Mapping[str, Bins],
    missing: Mapping[str, Missing],
    decimal: str,
    amounts: tuple[str, Callable[[int, str], float]] | None = None,
) -> dict[str, Translation]:
    """Return what puts the numbers of columns with bins into groups; quantiles read a file once more.

    `missing` has all columns, with what is missing there and stays what it is. `amounts` is the column of
    counts or weights, and what gives the number of a record and its text.
    """
    made = {}
    for column, wanted in bins.items():
        if column not in missing:
            raise ValueError(
                f"The values of the column {column!r} cannot be put into groups, since it is neither"
                f" sensitive nor useful; allowed are {', '.join(missing)}.{close_name(column, missing)}"
            )
        rule = missing[column]
        number = _number_of_groups(column, wanted) if isinstance(wanted, int) else 0
        edges = (
            _quantiles(path, column, number, decimal, amounts, rule) if isinstance(wanted, int) else wanted
        )
        groups = Groups(path, column, edges, decimal)
        made[column] = _grouped(groups, rule)
        if len(groups.labels) < number:
            remark(
                f"the values of {column} are put into {len(groups.labels)} groups, not {number}, since too"
                f" many records have equal numbers: {' '.join(groups.labels)}."
            )
    return made


def _grouped(groups: Groups, rule: Missing) -> Translation:
    return remembered(lambda value: value if rule(value) else groups(value))


def translations_for(
    path: Records,
    values: Mapping[str, Collection[str]],
    missing: str | Sequence[str] | None = None,
    codes: Sequence[str] = (),
    decimal: str = ".",
    known: Mapping[str, Missing] | None = None,
) -> dict[str, Translation]:
    """Return what becomes of the values of a channel's columns: numbers go into the channel's groups.

    Missing values, by the rules that are `known` and as `missing` and `codes` say (`missing_rules`), get
    their name; values of the channel stay what they are, even if they are called NA. A name for all columns
    is that of those which have it.
    """
    rules = missing_rules(missing, codes, list(values), known)
    words = [missing] if isinstance(missing, str) else list(missing or ())
    if any(word.rpartition("=")[2].removeprefix(f"{KEEP},") == DROP for word in words):
        raise ValueError(
            "--missing drop is possible in a design only: a person without a report would be known to have a"
            " missing value. Remove these people from the file, or give missing values a name."
        )
    names = {rule.becomes for rule in rules.values()} - {None, DROP}
    every = {value for some in values.values() for value in some}
    if words and (other := sorted(str(name) for name in names if name not in every)):
        raise ValueError(
            f"--missing names {other[0]!r}, which is no value of the channel for {', '.join(values)}."
            f"{close_name(other[0], every)}"
        )
    return {
        column: _of_channel(path, column, set(some), rules[column], decimal)
        for column, some in values.items()
    }


def _of_channel(path: Records, column: str, values: set[str], rule: Missing, decimal: str) -> Translation:
    """Return what becomes of the values of one column of a channel, which has some values."""
    starts = {start for value in values if (start := interval_start(value)) is not None}
    groups = None
    if -math.inf in starts and len(starts) > 1:
        groups = Groups(path, column, sorted(starts - {-math.inf}), decimal)
        groups = groups if values.issuperset(groups.labels) else None

    def made(value: str) -> str:
        if value in values:  # stays what it is, as does what is neither number nor missing
            return value
        if rule(value):
            return rule.becomes if rule.becomes in values else value
        looks_numeric = groups is not None and any(letter.isdigit() for letter in value)
        return groups(value) if groups is not None and looks_numeric else value

    return remembered(made)


def _quantiles(
    path: Records,
    column: str,
    number: int,
    decimal: str,
    amounts: tuple[str, Callable[[int, str], float]] | None,
    rule: Missing,
) -> list[float]:
    """Return numbers of a column at which groups of about as many records each begin."""
    if is_standard_input(path):
        raise ValueError(
            f"To form groups of {column!r} with as many records each, the records are read twice, but the"
            " standard input can be read only once; state where the groups begin, or name a file."
        )
    check = Groups(path, column, [0.0], decimal)
    asked = (column,) if amounts is None else (column, amounts[0])
    values, weights = list[FloatArray](), list[FloatArray]()
    for chunk in read_chunks(path, asked):
        texts = pd.Series(["" if rule(text) else text for text in chunk[column]], chunk.index, dtype=object)
        translated(texts, check)  # refuses what is neither a number nor missing
        numbers = {text: as_number(text, decimal) for text in dict.fromkeys(texts)}
        values.append(np.array([numbers[text] for text in texts], dtype=float))
        each = None if amounts is None else list(map(amounts[1], chunk.index, chunk[amounts[0]]))
        weights.append(np.ones(len(chunk)) if each is None else np.array(each, dtype=float))
    known, times = np.concatenate(values), np.concatenate(weights)
    order = np.argsort(known)[: int(np.isfinite(known).sum())]
    known, total = known[order], np.cumsum(times[order])
    if not known.size or known[0] == known[-1]:
        raise ValueError(
            f"{shown(path)} has fewer than two numbers in the column {column}; at least two are needed for"
            " groups."
        )
    places = np.searchsorted(total, total[-1] * np.arange(1, number) / number, side="right")
    edges = np.unique(known[np.minimum(places, known.size - 1)])
    return [float(edge) for edge in edges if edge > known[0]] or [float(known[known > known[0]][0])]
