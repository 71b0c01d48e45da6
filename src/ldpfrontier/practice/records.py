"""Records and counts in CSV files, read as streams, without a numerical library.

Columns are read as texts, as they are: ``"01"`` and ``"1"`` are two values.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from os import PathLike
from pathlib import Path

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


def as_path(value: object) -> Path:
    """Return the path of a file; a ValueError for what is no text and no path, such as a number."""
    if not isinstance(value, (str, PathLike)):
        raise ValueError(f"The path is a {type(value).__name__}; it must be a text or a Path.")
    if "\0" in str(value):
        raise ValueError(f"The path is {str(value)!r}; no name of a file has a NUL character.")
    return Path(value)


def as_text(value: object, name: str) -> str:
    """Return a text; a ValueError for anything else."""
    if not isinstance(value, str):
        raise ValueError(f"{name} is a {type(value).__name__}; it must be a text.")
    return value


def as_texts(values: object, name: str) -> Label:
    """Return texts in their order; a ValueError for anything else, such as one text alone."""
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise ValueError(f"{name} is a {type(values).__name__}; it must be a sequence of texts.")
    for value in values:
        if not isinstance(value, str):
            raise ValueError(f"{name} has a {type(value).__name__}; it must be a sequence of texts.")
    return tuple(values)


def count_values(
    path: Path | str,
    sensitive: Sequence[str],
    useful: Sequence[str] = (),
    *,
    count: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> dict[Label, int]:
    """Count how often each combination of values occurs in a CSV file.

    Parameters
    ----------
    path : path
        A CSV file in UTF-8 with a row of column names.
    sensitive, useful : sequence of str
        Columns of the values, in their order.
    count : str, optional
        Column that says how often a row occurs: a whole number. Rows with the same values are added up, and a
        count of 0 makes values known. Without it every row occurs once.
    progress : callable, optional
        Called with the number of rows read so far.

    Raises
    ------
    ValueError
        If the file is no CSV file, lacks a column or a value, has no records, or more than 1000 combinations
        of a sensitive and a useful value, or if a count is no whole number, 0 or more.
    """
    sensitive = as_texts(sensitive, "The names of the sensitive columns")
    useful = as_texts(useful, "The names of the useful columns")
    if count is not None:
        as_text(count, "count")
    columns = (*sensitive, *useful)
    check_columns(sensitive, useful, count)
    found = Counter[Label]()
    done = 0
    for chunk in read_chunks(path, columns if count is None else (*columns, count), progress=progress):
        if count is None:
            found.update(chunk)
        else:
            for row, (*values, number) in enumerate(chunk, start=done + 1):
                if not _WHOLE.fullmatch(number.strip()) or len(number) > 15:
                    raise ValueError(
                        f"Row {row} of {path} has the count {number!r}; counts must be whole numbers, 0 or"
                        " more."
                    )
                found[tuple(values)] += int(number)
        done += len(chunk)
        _check_number(path, columns, found)
    for label in found:
        check_present(path, columns, label)
    cut = len(sensitive)
    rows, others = ({label[part] for label in found} for part in (slice(cut), slice(cut, None)))
    if len(rows) * len(others) > MOST_VALUES:
        raise ValueError(
            f"{path} has {len(rows)} x {len(others)} sensitive and useful values; at most {MOST_VALUES}"
            " pairs are allowed. Merge values into groups first."
        )
    return dict(found)


def read_chunks(
    path: Path | str,
    columns: Sequence[str],
    size: int = CHUNK,
    *,
    progress: Callable[[int], None] | None = None,
) -> Iterator[list[Label]]:
    """Yield the values of some columns of a CSV file, a chunk of records at a time.

    Parameters
    ----------
    path : path
        A CSV file in UTF-8 with a row of column names. Fields may be quoted; empty lines do not count.
    columns : sequence of str
        At least one.
    size : int
        Records in a chunk.
    progress : callable, optional
        Called with the number of records yielded so far, when the next are asked for.

    Raises
    ------
    ValueError
        If the file is not UTF-8, is empty, lacks a column or has it twice, has no records, or a record has
        another number of fields than there are columns.
    """
    done = 0
    as_texts(columns, "The names of the columns")
    as_path(path)
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
                if progress:
                    progress(done)
            if not done:
                raise ValueError(f"{path} has no records; at least one is needed.")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path} is not UTF-8: it has the byte 0x{error.object[error.start]:02x} after record {done};"
                " save it as UTF-8."
            ) from None
        except csv.Error as error:
            raise ValueError(f"{path} is not a CSV file: {error}, after record {done}.") from None


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
        if "\0" in value:
            raise ValueError(f"{path} has {value!r} as a {name}; a NUL character is no part of a text.")


def _places(path: Path | str, header: Sequence[str] | None, columns: Sequence[str]) -> list[int]:
    if header is None:
        raise ValueError(f"{path} is empty; a row of column names is needed.")
    for name in columns:
        if (times := header.count(name)) != 1:
            found = "twice" if times else "not"
            raise ValueError(f"The column {name!r} is {found} in {path}; it has {', '.join(header)}.")
    return [header.index(name) for name in columns]


def check_columns(sensitive: Sequence[str], useful: Sequence[str], count: str | None) -> None:
    """Refuse no sensitive column, and one that is named twice or has the counts.

    Raises
    ------
    ValueError
    """
    names = [*sensitive, *useful]
    if not sensitive:
        raise ValueError("No column is sensitive; at least one must be.")
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"The column {twice!r} is named twice; allowed is once, as sensitive or as useful.")
    if count in names:
        raise ValueError(f"The column {count!r} has the counts; it can be neither sensitive nor useful.")


def _check_number(path: Path | str, columns: Sequence[str], found: Mapping[Label, int]) -> None:
    if len(found) <= MOST_VALUES:
        return
    sizes = {name: len({label[place] for label in found}) for place, name in enumerate(columns)}
    name = max(sizes, key=sizes.__getitem__)
    raise ValueError(
        f"{path} has more than {MOST_VALUES} combinations of {said(tuple(columns))} ({name} alone has"
        f" {sizes[name]} values or more); merge values into groups first."
    )
