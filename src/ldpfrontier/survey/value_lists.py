"""Lists of values: tables of them alone, for designs without a table of counts, and their order in a table.

The promise of a mechanism that protects from anyone holds whatever the distribution of the population is, and
so needs no counts. Its errors and its information depend on the distribution; they are those of the uniform
one.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ldpfrontier.survey.binning import Bins, Groups
from ldpfrontier.survey.counts import CountTable
from ldpfrontier.survey.reading import close_name
from ldpfrontier.survey.records import Label, check_columns
from ldpfrontier.survey.settings import SETTINGS


def parsed_values(words: Iterable[str]) -> dict[str, Label]:
    """Return the values of columns that are written as ``COLUMN=VALUE,VALUE``, by their column.

    Parameters
    ----------
    words : iterable of str
        A word without an equals sign is the path of a file with such a text in every line. Values with commas
        stand in double quotation marks.

    Raises
    ------
    ValueError
        If one is written in another way, or a column has values twice.
    OSError
        If a file cannot be read.
    """
    found: dict[str, Label] = {}
    for word in words:
        for line in [word] if "=" in word else _lines(word):
            column, equals, text = line.partition("=")
            column = column.strip()
            if not equals or not column:
                raise ValueError(
                    f"--values has {line!r}; it must be COLUMN=VALUE,VALUE,... or the name of a file with"
                    " such lines."
                )
            if column in found:
                raise ValueError(f"--values names the column {column!r} twice; it may be named once.")
            try:
                (values,) = csv.reader([text], strict=True, skipinitialspace=True)
            except (csv.Error, ValueError):
                raise ValueError(
                    f"The values of {column!r} are {text!r}; they must be separated by commas, and those with"
                    " commas stand in double quotation marks."
                ) from None
            found[column] = tuple(value.strip() for value in values)
    return found


def _lines(path: str) -> list[str]:
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8; save it as UTF-8.") from None
    return [line for line in text.splitlines() if line.strip()]


def table_of_values(
    values: Mapping[str, Sequence[str]],
    sensitive: Sequence[str],
    useful: Sequence[str] = (),
    *,
    bins: Mapping[str, Bins] | None = None,
) -> CountTable:
    """Return a table of all combinations of values, of which nothing was counted.

    Parameters
    ----------
    values : mapping of str to sequence of str
        The values of every column, at least one.
    sensitive, useful : sequence of str
        Columns.
    bins : mapping of str to sequence of float, optional
        Columns of numbers, with the numbers at which groups begin; they need no values.

    Raises
    ------
    ValueError
        If a column has no values, or others than it may, or there are too many combinations.
    """
    check_columns(sensitive, useful, None)
    known = dict(values)
    for column, edges in (bins or {}).items():
        if isinstance(edges, int):
            raise ValueError(
                f"--bins {column}={edges} makes groups of the numbers in a table, and there is none; state"
                f" the numbers at which groups begin, as in {column}=18,40,65."
            )
        if column in known:
            raise ValueError(f"The column {column!r} has values and groups; it may have one of the two.")
        known[column] = Groups("the values", column, edges).labels
    check_listed(known, (*sensitive, *useful))
    for name in (*sensitive, *useful):
        if not known.get(name):
            raise ValueError(f"The column {name!r} has no values.{close_name(name, known)}")
    rows, columns = (
        tuple(itertools.product(*(known[name] for name in names))) for names in (sensitive, useful)
    )
    _check_size(rows, columns)
    counts = np.ones((len(rows), len(columns)), dtype=np.int64)
    return CountTable(tuple(sensitive), tuple(useful), rows, columns, counts, counted=False)


def with_values(table: CountTable, values: Mapping[str, Sequence[str]]) -> CountTable:
    """Return a table with the values of some columns in a given order, and with all combinations of them.

    What the table lacks has the count 0.

    Raises
    ------
    ValueError
        If the table has other values, or values are given for another column, or as they may not be.
    """
    check_listed(values, table.attributes)

    def listed(names: Label, labels: Sequence[Label]) -> Sequence[Label]:
        if not any(name in values for name in names):
            return labels
        had = [tuple(dict.fromkeys(parts)) for parts in zip(*labels, strict=True)]
        for name, parts in zip(names, had, strict=True):
            if name in values and (more := [part for part in parts if part not in values[name]]):
                raise ValueError(
                    f"{table.source} has {more[0]!r} as its {name}, which is not among the values listed for"
                    f" {name!r}; list all of them.{close_name(more[0], values[name])}"
                )
        return tuple(
            itertools.product(*(values.get(name, parts) for name, parts in zip(names, had, strict=True)))
        )

    rows, columns = listed(table.sensitive, table.rows), listed(table.useful, table.columns)
    _check_size(rows, columns)
    known = dict(zip(table.labels, table.counts.ravel().tolist(), strict=True))
    counts = np.array([[known.get(row + column, 0) for column in columns] for row in rows])
    return replace(table, rows=tuple(rows), columns=tuple(columns), counts=counts)


def check_listed(values: Mapping[str, Sequence[str]], columns: Sequence[str]) -> None:
    """Check that values are those of some columns, and what they may be.

    Raises
    ------
    ValueError
    """
    if unknown := [name for name in values if name not in columns]:
        raise ValueError(f"The column {unknown[0]!r} has values, but is neither sensitive nor useful.")
    for name, some in values.items():
        _check_values(name, some)


def _check_size(rows: Sequence[Label], columns: Sequence[Label]) -> None:
    if len(rows) * len(columns) > SETTINGS.max_values:
        raise ValueError(
            f"The values have {len(rows)} x {len(columns)} sensitive and useful combinations; at most"
            f" {SETTINGS.max_values} pairs are allowed."
        )


def _check_values(name: str, values: Sequence[str]) -> None:
    """Check that values have at least one letter each, and occur once."""
    for value in values:
        if not value or "\0" in value:
            raise ValueError(
                f"The values of {name!r} contain {value!r}; every value must be a text with letters."
            )
        if values.count(value) > 1:
            raise ValueError(f"The values of {name!r} contain {value!r} twice; every value must occur once.")
