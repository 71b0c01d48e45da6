"""Values of columns that are listed: of tables without counts, and of those that may be reported as well."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ldpsurvey.base.names import close_name, split_column
from ldpsurvey.data.csv_files import text_lines
from ldpsurvey.data.groups import Bins, with_groups
from ldpsurvey.data.reading import Label
from ldpsurvey.data.tables import CountTable, check_columns, combinations_of


def parsed_values(
    words: Iterable[str], columns: Sequence[str] = (), option: str = "--values"
) -> dict[str, Label]:
    """Return the values of columns that are written as ``COLUMN=VALUE,VALUE``, by their column.

    Columns that are known may have ``=`` in their names (`split_column`). A word without an equals sign is
    the path of a file with such a text in every line. Values with commas stand in double quotation marks.
    """
    found: dict[str, Label] = {}
    for word in words:
        for line in [word] if "=" in word else text_lines(word):
            column, rest = split_column(line, columns)
            text = (rest or "").strip()
            if rest is None or not column or column in found:
                raise ValueError(
                    f"{option} has {line!r}; it must be COLUMN=VALUE,VALUE,... or the name of a file with"
                    " such lines, once for each column."
                )
            try:
                (values,) = csv.reader([text], strict=True, skipinitialspace=True)
            except (csv.Error, ValueError):
                raise ValueError(
                    f"The values of {column!r} are {text!r}; they must be separated by commas, and those with"
                    " commas stand in double quotation marks."
                ) from None
            found[column] = tuple(value.strip() for value in values)
    return found


def table_of_values(
    values: Mapping[str, Sequence[str]],
    sensitive: Sequence[str],
    useful: Sequence[str] = (),
    *,
    bins: Mapping[str, Bins] | None = None,
) -> CountTable:
    """Return a table of all combinations of values, of which nothing was counted.

    The promise of a mechanism that protects from anyone holds whatever the distribution of the population is,
    and needs no counts. Its errors and its information are then those of the uniform one.

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
    names, known = check_columns(sensitive, useful), with_groups(values, bins or {})
    _check_listed(known, names)
    for name in names:
        if not known.get(name):
            raise ValueError(f"The column {name!r} has no values.{close_name(name, known)}")
    rows, columns = combinations_of(names, *([known[name] for name in some] for some in (sensitive, useful)))
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
    _check_listed(values, table.attributes)
    listed = []
    for name, parts in zip(table.attributes, zip(*table.labels, strict=True), strict=True):
        had = tuple(dict.fromkeys(parts))
        listed.append(values.get(name, had))
        if more := [part for part in had if part not in listed[-1]]:
            raise ValueError(
                f"{table.source} has {more[0]!r} as its {name}, which is not among the values listed for"
                f" {name!r}; list all of them.{close_name(more[0], values[name])}"
            )
    cut = len(table.sensitive)
    rows, columns = combinations_of(table.attributes, listed[:cut], listed[cut:])
    known = dict(zip(table.labels, table.counts.ravel().tolist(), strict=True))
    counts = np.array([[known.get(row + column, 0) for column in columns] for row in rows])
    return replace(table, rows=rows, columns=columns, counts=counts)


def _check_listed(values: Mapping[str, Sequence[str]], columns: Sequence[str]) -> None:
    """Check that values are those of some columns, texts with letters, and that none occurs twice."""
    for name, some in values.items():
        if name not in columns:
            raise ValueError(
                f"The column {name!r} has values, but is neither sensitive nor useful."
                f"{close_name(name, columns)}"
            )
        if "" in some or len(set(some)) < len(some):
            raise ValueError(
                f"The values of {name!r} are {', '.join(map(repr, some))}; each must have letters, and occur"
                " once."
            )
