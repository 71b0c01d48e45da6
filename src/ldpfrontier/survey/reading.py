"""Readers for CSV files with any usual separator, Parquet files and the standard input.

What a file is is told by its first bytes, not by its name. A CSV file is read once and as a stream, so that a
pipe will do.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from difflib import get_close_matches
from itertools import chain, islice, product, repeat
from operator import itemgetter
from os import PathLike
from pathlib import Path
from typing import Protocol

from ldpfrontier.extras import extra
from ldpfrontier.survey.numerals import as_whole

#: Stands for the standard input where the path of a file is asked for.
STANDARD_INPUT = "-"

#: Separators of fields that are recognised, with their names; the first one if several fit.
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}

#: A first line with which Excel is told the separator: sep=; for semicolons.
_DECLARED = re.compile(r"\"?sep=([^\w\s\"']|\t)\"?(?:\r\n|\r|\n)")

#: How JSON begins that may be a table: an object with a name, or a list of objects, lists or texts.
_JSON = re.compile(r"\{\s*(?:\"|$)|\[\s*(?:[\[{\"]|$)")

#: Bytes of a file that are looked at before it is read: its header must lie in them to be recognised.
START = 1 << 16

#: First bytes of files that are no text: what they are, and what helps.
_SIGNATURES = {
    b"PK\x03\x04": "a zip archive, as .xlsx and .ods files are; save the sheet as CSV in UTF-8.",
    b"\xd0\xcf\x11\xe0": "an old Excel file (.xls); save the sheet as CSV in UTF-8.",
    b"\x1f\x8b": "compressed with gzip; name the file '-' and pipe the output of gunzip -c into it.",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; name the file '-' and pipe the output of zstd -dc into it.",
    b"$FL2": "an SPSS file (.sav); save it as CSV in UTF-8.",
    b"<stata_dta>": "a Stata file (.dta); save it as CSV in UTF-8.",
    # The formats of Stata 8 to 12: a number, the order of bytes, and 1.
    **{
        bytes([version, order, 1]): "a Stata file (.dta); save it as CSV in UTF-8."
        for version in (113, 114, 115)
        for order in (1, 2)
    },
    b"SQLite format 3\0": "an SQLite database; write the table to a CSV file.",
    b"\xff\xfe": "no UTF-8 but UTF-16, as Excel's 'Unicode text' is; save it as UTF-8.",
    b"\xfe\xff": "no UTF-8 but UTF-16, as Excel's 'Unicode text' is; save it as UTF-8.",
}

#: Names that a column of counts often has.
_COUNTS = {"count", "counts", "freq", "frequency", "n", "number", "total", "records"}

#: Names that a column of survey weights often has.
_WEIGHTS = {
    *("weight", "weights", "wt", "wgt", "wts", "pweight", "aweight", "perwt", "hhwt", "fnlwgt", "finalwt"),
    *("asecwt", "pwgtp", "weighted", "weighted_count", "weighted_n", "svywt"),
}


class Digest(Protocol):
    """A hash that receives bytes, such as those of `hashlib`."""

    def update(self, data: bytes, /) -> None:
        """Take more bytes in."""


class _Hashed(io.RawIOBase):
    """The bytes of another stream, which go through a hash on their way."""

    def __init__(self, stream: io.RawIOBase | io.BufferedIOBase, digest: Digest | None) -> None:
        self._stream, self._digest = stream, digest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        size = self._stream.readinto(buffer) or 0
        if self._digest is not None:
            self._digest.update(bytes(buffer[:size]))
        return size


def shown(path: Path | str) -> str:
    """Return how a file is named in sentences."""
    return "the standard input" if is_standard_input(path) else str(path)


def is_standard_input(path: object) -> bool:
    """Tell whether a path stands for the standard input."""
    return isinstance(path, (str, PathLike)) and str(path) == STANDARD_INPUT


def read_columns(
    path: Path | str,
    columns: Sequence[str],
    size: int,
    digest: Digest | None = None,
    on_counts: Callable[[str], None] | None = None,
    optional: Sequence[str] = (),
) -> Iterator[list[Iterable[str]]]:
    """Yield the values of some columns of a table, a chunk of records at a time.

    Parameters
    ----------
    path : path
        A CSV file in UTF-8 with a row of column names, or a Parquet file; ``-`` is the standard input.
    columns : sequence of str
        At least one.
    size : int
        Most records in a chunk.
    digest : optional
        Fed with the bytes of the file.
    on_counts : callable, optional
        Called with the name of the column of counts if the first chunk looks like a table of counts.
    optional : sequence of str
        Further columns, whose values are empty if the file does not have them.

    Yields
    ------
    list of iterable of str
        The values of each column, which can be iterated over once.

    Raises
    ------
    ValueError
        If the file is neither, lacks a column or has it twice, has no records, or a record has another number
        of fields than there are columns.
    """
    with ExitStack() as stack:
        raw: io.RawIOBase | io.BufferedIOBase
        if is_standard_input(path):
            if sys.stdin is None:
                raise ValueError("The standard input is closed; there is nothing to read.")
            raw = sys.stdin.buffer  # type: ignore[assignment]
        else:
            raw = stack.enter_context(open(path, "rb", buffering=0))
        stream = stack.enter_context(io.BufferedReader(_Hashed(raw, digest), START))
        start = stream.peek(START)[:START]
        if start.startswith(b"PAR1"):
            yield from _parquet_columns(path, columns, size, on_counts, optional)
            while stream.read(START):  # for the hash; the library reads the file in its own order
                pass
            return
        for signature, sentence in _SIGNATURES.items():
            if start.startswith(signature):
                raise ValueError(f"{shown(path)} is {sentence}")
        text = stack.enter_context(io.TextIOWrapper(stream, encoding="utf-8-sig", newline=""))
        yield from _csv_columns(text, path, start, columns, size, on_counts, optional)


def like_counts(path: Path | str, name: str) -> str:
    """Return the sentence that a file looks like a table of counts, which are in the column of a name."""
    return (
        f"{shown(path)} looks like a table of counts: the column {name!r} has whole numbers, and no two rows"
        " are alike without it."
    )


def close_name(name: str, known: Iterable[str]) -> str:
    """Return a question for the name that may be meant, with a space before it; nothing if none is close."""
    names = {other.strip().casefold(): other for other in reversed(list(known))}
    found = get_close_matches(name.strip().casefold(), names, n=1)
    return f" Did you mean {names[found[0]]!r}?" if found else ""


def places_of(path: Path | str, header: Sequence[str] | None, columns: Sequence[str]) -> list[int]:
    """Return where columns are in a header.

    Raises
    ------
    ValueError
        If there is no header, or a column is not in it, or twice.
    """
    if header is None:
        raise ValueError(f"{shown(path)} is empty; a row of column names is needed.")
    for name in columns:
        if (times := header.count(name)) != 1:
            found = "twice" if times else "not"
            has = f"The column {name!r} is {found} in {shown(path)}; its columns are {', '.join(header)}."
            raise ValueError(has + ("" if times else _meant(name, header)))
    return [header.index(name) for name in columns]


def _optional_places(path: Path | str, header: Sequence[str], optional: Sequence[str]) -> list[int | None]:
    """Return where columns are in a header, None for those that are not; a ValueError for one twice."""
    return [places_of(path, header, [name])[0] if name in header else None for name in optional]


def _has_counts(name: str) -> bool:
    return name.strip().casefold() in _COUNTS


def has_weights(name: str) -> bool:
    """Tell whether a column has the name of survey weights."""
    return name.strip().casefold() in _WEIGHTS


def _meant(name: str, header: Sequence[str]) -> str:
    for option, known in (("count", _has_counts), ("weight", has_weights)):
        numbers = [other for other in header if known(other)]
        if name == "count" and len(numbers) == 1:
            return f" Did you mean {numbers[0]!r}, as in --{option} {numbers[0]}?"
    return close_name(name, header)


# CSV files ------------------------------------------------------------------------------------------------


def _csv_columns(
    text: io.TextIOWrapper,
    path: Path | str,
    start: bytes,
    columns: Sequence[str],
    size: int,
    on_counts: Callable[[str], None] | None,
    optional: Sequence[str],
) -> Iterator[list[Iterable[str]]]:
    """Yield the values of columns of a CSV file whose first bytes are known."""
    known = start.decode("utf-8-sig", errors="replace")
    _check_text(path, known.lstrip())
    declared = _DECLARED.match(known)
    if declared:
        text.readline()
    separator, quote = _dialect(known[declared.end() :] if declared else known, columns, declared)
    # Strict: else a quote that is never closed swallows the rest of the file.
    reader = csv.reader(text, strict=True, delimiter=separator, quotechar=quote)
    rows: Iterator[list[str]] = filter(None, reader)
    done = 0
    try:
        header = next(rows, None)
        if header is not None and not set(columns) <= set(header):
            with suppress(csv.Error, UnicodeDecodeError):
                _check_kind(path, header, columns, list(islice(rows, 100)))
        places = [*places_of(path, header, columns), *_optional_places(path, header or (), optional)]
        width = len(header or ())
        first = list(islice(rows, 2))
        if len(first) == 2 and first[1][0].startswith('{"ImportId":'):
            raise ValueError(
                f"{shown(path)} comes from Qualtrics: its first two records are the texts and the ids of the"
                " questions, and no answers. Remove them, as pandas.read_csv(file, skiprows=[1, 2]) does."
            )
        rows = chain(first, rows)
        while chunk := list(islice(rows, size)):
            if set(map(len, chunk)) != {width}:
                place = next(place for place, row in enumerate(chunk) if len(row) != width)
                by = (
                    "" if separator == "," else f", separated by {SEPARATORS.get(separator, repr(separator))}"
                )
                raise ValueError(
                    f"Record {done + place + 1} of {shown(path)} has {len(chunk[place])} fields; its header"
                    f" has {width}{by}."
                )
            if on_counts and not done:
                _notice_counts(header or (), columns, chunk, on_counts)
            done += len(chunk)
            yield [
                repeat("", len(chunk)) if place is None else map(itemgetter(place), chunk) for place in places
            ]
        if not done:
            raise ValueError(f"{shown(path)} has no records; at least one is needed.")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{shown(path)} is not UTF-8: it has the byte 0x{error.object[error.start]:02x} after record"
            f" {done}; CSV files in UTF-8 and Parquet files are read."
        ) from None
    except csv.Error as error:
        raise ValueError(f"{shown(path)} is not a CSV file: {error}, after record {done}.") from None


def _dialect(text: str, columns: Sequence[str], declared: re.Match[str] | None) -> tuple[str, str]:
    """Return the separator and the quotation mark with which the header has most of the columns."""
    wanted = set(columns)

    def fits(dialect: tuple[str, str]) -> tuple[int, bool]:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=dialect[0], quotechar=dialect[1])
        try:
            header = next(filter(None, rows), [])
        except csv.Error:
            return 0, False
        found = len(wanted.intersection(header))
        if dialect[1] == "'" and found < len(wanted):
            return 0, False
        return found, dialect[1] == '"' and len(header) > 1

    # The first one of the best: commas and double quotation marks if nothing is better.
    return max(product(declared[1] if declared else SEPARATORS, "\"'"), key=fits)


def _notice_counts(
    header: Sequence[str],
    columns: Sequence[str],
    records: Sequence[Sequence[str]],
    on_counts: Callable[[str], None],
) -> None:
    """Call a function with the name of a column if records look like those of a table of its counts.

    They do if a column has the name of counts and whole numbers, and no two rows are alike in the others. A
    column that is not asked for and has no value twice is left aside: its values are numbers of rows.
    """
    width = len(header)
    values = [{row[place] for row in records} for place in range(width)]
    kept = [i for i in range(width) if header[i] in columns or len(values[i]) < len(records)]
    for place in range(width):
        if not _has_counts(header[place]) or header[place] in columns or len(records) < 2:
            continue
        alike = len({tuple(row[i] for i in kept if i != place) for row in records}) < len(records)
        if alike or any(as_whole(value) is None for value in values[place]):
            continue
        on_counts(header[place])
        return


def _check_text(path: Path | str, start: str) -> None:
    """Say what a text that is no table is, from its beginning.

    Raises
    ------
    ValueError
    """
    if _JSON.match(start):
        raise ValueError(f"{shown(path)} is JSON, not a table; CSV and Parquet files are read.")
    if start[:9].lower() == "<!doctype" or start[:5].lower() in ("<html", "<?xml"):
        raise ValueError(f"{shown(path)} is a page (HTML or XML), not a table; CSV and Parquet are read.")


def _check_kind(
    path: Path | str, header: Sequence[str], columns: Sequence[str], records: Sequence[Sequence[str]]
) -> None:
    """Say that a file without the right columns may be a table that is wide.

    Raises
    ------
    ValueError
    """
    more = [place for place, name in enumerate(header) if name not in columns]
    numbers = [
        place for place in more if all(len(row) > place and row[place].strip().isdigit() for row in records)
    ]
    lacks_counts = any(_has_counts(name) and name not in header for name in columns)
    if lacks_counts and records and len(numbers) > 1:
        some = [header[place] for place in numbers]
        lacking = next((name for name in columns if name not in header and not _has_counts(name)), None)
        if lacking is not None and not close_name(lacking, header):
            names = ", ".join(map(repr, some[:3])) + (", ..." if len(some) > 3 else "")
            raise ValueError(
                f"The column {lacking!r} is not in {shown(path)}, whose columns {names} have whole numbers:"
                " it looks like a cross table, with a column per value. A table of counts has a row per"
                f" combination of values, with the columns {', '.join(columns)}; pandas.melt and R's"
                " as.data.frame(table) make one."
            )


# Parquet files --------------------------------------------------------------------------------------------


def _parquet_columns(
    path: Path | str,
    columns: Sequence[str],
    size: int,
    on_counts: Callable[[str], None] | None,
    optional: Sequence[str],
) -> Iterator[list[Iterable[str]]]:
    """Yield the values of columns of a Parquet file, as the texts that Python has for them."""
    if is_standard_input(path):
        raise ValueError("The standard input is a Parquet file, which cannot be read from a pipe; name it.")
    with extra("parquet"):
        import pyarrow
        import pyarrow.parquet
    try:
        with open(path, "rb") as stream, pyarrow.parquet.ParquetFile(stream) as table:
            header = table.schema_arrow.names
            places_of(path, header, columns)
            _optional_places(path, header, optional)
            found = [*columns, *(name for name in optional if name in header)]
            for name in found:
                kind = table.schema_arrow.field(name).type
                if pyarrow.types.is_nested(kind) or pyarrow.types.is_binary(kind):
                    raise ValueError(
                        f"The column {name!r} of {path} is of type {kind}; values must be texts, numbers or"
                        " dates."
                    )
            if not table.metadata.num_rows:
                raise ValueError(f"{path} has no records; at least one is needed.")
            if on_counts and any(map(_has_counts, header)):
                first = next(table.iter_batches(size))
                texts = [map(_as_text, column.to_pylist()) for column in first.columns]
                _notice_counts(header, columns, list(zip(*texts, strict=True)), on_counts)
            for batch in table.iter_batches(size, columns=found):
                yield [
                    map(_as_text, batch.column(name).to_pylist()) if name in found else repeat("", len(batch))
                    for name in (*columns, *optional)
                ]
    except pyarrow.ArrowException as error:
        raise ValueError(f"{path} is not a Parquet file that can be read: {error}") from None


def _as_text(value: object) -> str:
    """Return a value as a CSV file would contain it; a missing value is empty."""
    return "" if value is None else str(value)
