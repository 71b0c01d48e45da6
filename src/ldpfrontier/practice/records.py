"""Records and counts in CSV files, read as streams; a table of counts of what is sensitive and useful.

Columns are read as texts, as they are: ``"01"`` and ``"1"`` are two values.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import NoReturn

import numpy as np

from ldpfrontier.channel import FloatArray, IntArray

#: A value of one attribute, or of several together: a text per column.
Label = tuple[str, ...]

#: Records held in memory at a time.
CHUNK = 16_384

#: Most values of a table: what is solved and stored grows with the square of it.
MOST_VALUES = 1_000

_WHOLE = re.compile(r"[0-9]+")
_MISSING = {"", "nan"}


def said(label: Label) -> str:
    """Return a label as one text: its parts, separated by commas."""
    return ", ".join(label)


@dataclass(frozen=True, eq=False)
class CountTable:
    """How often each pair of a sensitive and a useful value occurs.

    Attributes
    ----------
    sensitive, useful : tuple of str
        Columns that are sensitive, and those that are not; without the latter, all of a record is sensitive.
    rows, columns : tuple of tuple of str
        The values of either, sorted, a text per column; one empty value if nothing is useful.
    counts : ndarray of int, shape (rows, columns)
    source, sha256 : str
        Name and hash of the file that was counted.

    Raises
    ------
    ValueError
        If there is nothing to hide, or no record.
    """

    sensitive: tuple[str, ...]
    useful: tuple[str, ...]
    rows: tuple[Label, ...]
    columns: tuple[Label, ...]
    counts: IntArray
    source: str = ""
    sha256: str = ""

    def __post_init__(self) -> None:
        counts = np.array(self.counts, dtype=np.int64)
        if counts.shape != (len(self.rows), len(self.columns)) or (counts < 0).any():
            raise ValueError(
                f"The counts have shape {counts.shape}; they must be whole numbers, 0 or more, for"
                f" {len(self.rows)} x {len(self.columns)} pairs of values."
            )
        if counts.sum() == 0:
            raise ValueError(f"{self.source or 'The table'} counts no record; at least one is needed.")
        if len(self.rows) == 1:
            raise ValueError(
                f"{said(self.sensitive)} has the single value {said(self.rows[0])!r}; there is nothing to"
                " hide."
            )
        counts.flags.writeable = False
        object.__setattr__(self, "counts", counts)

    @property
    def attributes(self) -> tuple[str, ...]:
        """All columns: the sensitive ones first."""
        return self.sensitive + self.useful

    @property
    def labels(self) -> tuple[Label, ...]:
        """The values of a record, in row-major order: the inputs of a channel."""
        return tuple(row + column for row in self.rows for column in self.columns)

    @property
    def records(self) -> int:
        """How many records were counted."""
        return int(self.counts.sum())

    @property
    def distribution(self) -> FloatArray:
        """The relative frequencies, shape (rows, columns)."""
        return np.asarray(self.counts / self.counts.sum())


def count_records(
    path: Path | str,
    sensitive: Sequence[str],
    useful: Sequence[str] = (),
    *,
    progress: Callable[[int], None] | None = None,
) -> CountTable:
    """Count the records of a CSV file.

    Parameters
    ----------
    path : path
        A CSV file in UTF-8 with a row of column names.
    sensitive, useful : sequence of str
        Columns; several together are one attribute, whose values are the combinations that occur.
    progress : callable, optional
        Called with the number of records read so far.

    Raises
    ------
    ValueError
        If the file is no CSV file, lacks a column or a value, has no records, or more than 1000 values.
    """
    _check_columns(sensitive, useful)
    found = Counter[Label]()
    done = 0
    for chunk in read_chunks(path, (*sensitive, *useful)):
        found.update(chunk)
        done += len(chunk)
        _check_values(path, (*sensitive, *useful), found)
        if progress:
            progress(done)
    return _table(path, sensitive, useful, found)


def read_count_table(
    path: Path | str, sensitive: Sequence[str], useful: Sequence[str] = (), *, count: str = "count"
) -> CountTable:
    """Read a CSV file of counts: a row for every combination of values, with how often it occurs.

    Parameters
    ----------
    path : path
        Rows that differ in other columns only are added up; a count of 0 makes a value known.
    sensitive, useful : sequence of str
        As in `count_records`.
    count : str
        Column of the counts.

    Raises
    ------
    ValueError
        As in `count_records`, and if a count is no whole number, 0 or more.
    """
    _check_columns(sensitive, useful)
    if count in (*sensitive, *useful):
        raise ValueError(f"The column {count!r} has the counts; it can be neither sensitive nor useful.")
    found = Counter[Label]()
    done = 0
    for chunk in read_chunks(path, (*sensitive, *useful, count)):
        for *label, number in chunk:
            done += 1
            if not _WHOLE.fullmatch(number.strip()) or len(number) > 15:
                raise ValueError(
                    f"Row {done} of {path} has the count {number!r}; counts must be whole numbers, 0 or more."
                )
            found[tuple(label)] += int(number)
        _check_values(path, (*sensitive, *useful), found)
    return _table(path, sensitive, useful, found)


def read_chunks(path: Path | str, columns: Sequence[str], size: int = CHUNK) -> Iterator[list[Label]]:
    """Yield the values of some columns of a CSV file, a chunk of records at a time.

    Parameters
    ----------
    path : path
        A CSV file in UTF-8 with a row of column names. Fields may be quoted; empty lines do not count.
    columns : sequence of str
        At least one.
    size : int
        Records in a chunk.

    Raises
    ------
    ValueError
        If the file is not UTF-8, is empty, lacks a column or has it twice, or a record has another number of
        fields than there are columns.
    """
    done = 0
    with open(path, encoding="utf-8-sig", newline="") as stream:
        # Strict: else a quote that is never closed swallows the rest of the file.
        rows = filter(None, csv.reader(stream, strict=True))
        try:
            header = next(rows, None)
            places = _places(path, header, columns)
            width = len(header or ())
            while chunk := list(islice(rows, size)):
                if set(map(len, chunk)) != {width}:
                    place = next(place for place, row in enumerate(chunk) if len(row) != width)
                    raise ValueError(
                        f"Record {done + place + 1} of {path} has {len(chunk[place])} fields; its header has"
                        f" {width}."
                    )
                done += len(chunk)
                yield list(zip(*(map(itemgetter(place), chunk) for place in places), strict=True))
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path} is not UTF-8: it has the byte 0x{error.object[error.start]:02x} after record {done};"
                " save it as UTF-8."
            ) from None
        except csv.Error as error:
            raise ValueError(f"{path} is not a CSV file: {error}, after record {done}.") from None


class Codes:
    """Numbers of labels that are known, for records of a file.

    Parameters
    ----------
    path : path
        The file, for errors.
    columns : tuple of str
        Where the parts of a label come from.
    labels : sequence of tuple of str
        In the order of their numbers.
    """

    def __init__(self, path: Path | str, columns: Label, labels: Sequence[Label]) -> None:
        self._path, self._columns = path, columns
        self._numbers = {label: number for number, label in enumerate(labels)}

    def __call__(self, labels: Sequence[Label], done: int = 0) -> IntArray:
        """Return the numbers of labels, shape (labels,), of which `done` records come before.

        Raises
        ------
        ValueError
            If one is not known.
        """
        try:
            return np.fromiter(map(self._numbers.__getitem__, labels), dtype=np.int64, count=len(labels))
        except KeyError:
            place = next(place for place, label in enumerate(labels) if label not in self._numbers)
            self._refuse(labels[place], done + place + 1)

    def _refuse(self, label: Label, record: int) -> NoReturn:
        check_present(self._path, self._columns, label, record)
        for place, (name, value) in enumerate(zip(self._columns, label, strict=True)):
            known = sorted({other[place] for other in self._numbers})
            if value not in known:
                shown = ", ".join(map(repr, known[:6])) + (", ..." if len(known) > 6 else "")
                raise ValueError(
                    f"Record {record} of {self._path} has {value!r} as its {name}; the channel knows {shown}."
                )
        raise ValueError(
            f"Record {record} of {self._path} is {said(label)!r}, a combination that the table from which the"
            " channel was designed does not have; a row with the count 0 makes one known."
        )


def check_present(path: Path | str, columns: Sequence[str], label: Label, record: int | None = None) -> None:
    """Refuse a label that lacks a value: what is missing needs a name, or it would be guessed from one.

    Raises
    ------
    ValueError
    """
    for name, value in zip(columns, label, strict=True):
        if value.strip().lower() in _MISSING:
            where = f"Record {record}" if record else "A record"
            raise ValueError(
                f"{where} of {path} has {value!r} as its {name}; missing values need a name of their own,"
                " such as 'unknown'."
            )


def _places(path: Path | str, header: Sequence[str] | None, columns: Sequence[str]) -> list[int]:
    if header is None:
        raise ValueError(f"{path} is empty; a row of column names is needed.")
    for name in columns:
        if (times := header.count(name)) != 1:
            found = "twice" if times else "not"
            raise ValueError(f"The column {name!r} is {found} in {path}; it has {', '.join(header)}.")
    return [header.index(name) for name in columns]


def _check_columns(sensitive: Sequence[str], useful: Sequence[str]) -> None:
    names = [*sensitive, *useful]
    if not sensitive:
        raise ValueError("No column is sensitive; at least one must be.")
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"The column {twice!r} is named twice; allowed is once, as sensitive or as useful.")


def _check_values(path: Path | str, columns: Sequence[str], found: Mapping[Label, int]) -> None:
    if len(found) <= MOST_VALUES:
        return
    sizes = {name: len({label[place] for label in found}) for place, name in enumerate(columns)}
    name = max(sizes, key=sizes.__getitem__)
    raise ValueError(
        f"{path} has more than {MOST_VALUES} combinations of {said(tuple(columns))} ({name} alone has"
        f" {sizes[name]} values or more); merge values into groups first."
    )


def _table(
    path: Path | str, sensitive: Sequence[str], useful: Sequence[str], found: Mapping[Label, int]
) -> CountTable:
    for label in found:
        check_present(path, (*sensitive, *useful), label)
    if not found:
        raise ValueError(f"{path} has no records; at least one is needed.")
    cut = len(sensitive)
    rows = tuple(sorted({label[:cut] for label in found}))
    columns = tuple(sorted({label[cut:] for label in found}))
    if len(rows) * len(columns) > MOST_VALUES:
        raise ValueError(
            f"{path} has {len(rows)} x {len(columns)} sensitive and useful values; at most {MOST_VALUES}"
            " pairs are allowed. Merge values into groups first."
        )
    counts = [[found.get(row + column, 0) for column in columns] for row in rows]
    with open(path, "rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return CountTable(
        tuple(sensitive), tuple(useful), rows, columns, np.array(counts), Path(path).name, digest
    )
