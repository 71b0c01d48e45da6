"""Tables in files, read a chunk of records at a time: CSV in UTF-8, Parquet, the standard input, data frames.

Every value is a text, as it is in the file: ``"01"`` and ``"1"`` are two values. `statistics_files` reads the
files of statistics programs. Records are numbered from 1, without headers and empty lines.
"""

from __future__ import annotations

import hashlib
import io
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from fnmatch import fnmatchcase
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Any

from ldpfrontier.base.extras import extra
from ldpsurvey.base.names import close_name
from ldpsurvey.data.csv_files import csv_blocks
from ldpsurvey.data.statistics_files import column_names, read_answers, reader_of

with extra("survey"):
    import pandas as pd

#: A value of one attribute, or of several together: a text per column.
Label = tuple[str, ...]

#: What becomes of a value of a column.
Translation = Callable[[str], str]

#: Where records are: in a file, the standard input (``-``), or a data frame of pandas.
Records = Path | str | pd.DataFrame

#: Records held in memory at a time.
CHUNK = 16_384

#: Stands for the standard input where the path of a file is asked for.
STANDARD_INPUT = "-"

#: Bytes of a file that are looked at before it is read: its header must lie in them to be recognised.
START = 1 << 16

#: What files begin with that are no tables yet, what they are, and how to make a CSV file of one.
_OTHERS = (
    (b"PK\x03\x04", "a spreadsheet, such as .xlsx, or another zip archive", "save the sheet as 'CSV UTF-8'"),
    (b"\xd0\xcf\x11\xe0", "an old spreadsheet, such as .xls", "save the sheet as 'CSV UTF-8'"),
    (b"\x1f\x8b", "packed by gzip", "unpack it: gunzip -c FILE | ldp-frontier ... -"),
    (b"\x28\xb5\x2f\xfd", "packed by zstd", "unpack it: zstd -dc FILE | ldp-frontier ... -"),
    (b"\xff\xfe", "a text in UTF-16", "iconv -f UTF-16 -t UTF-8 FILE > NEW makes a CSV file in UTF-8"),
    (b"\xfe\xff", "a text in UTF-16", "iconv -f UTF-16 -t UTF-8 FILE > NEW makes a CSV file in UTF-8"),
)

#: Names that a column of counts often has, and a column of survey weights.
_COUNTS = {"count", "counts", "freq", "frequency", "n", "number", "total", "records"}
_WEIGHTS = {
    *("weight", "weights", "wt", "wgt", "wts", "pweight", "aweight", "perwt", "hhwt", "fnlwgt", "finalwt"),
    *("asecwt", "pwgtp", "weighted", "weighted_count", "weighted_n", "svywt"),
}

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
#: Maybe as a measurement, such as 16.0; what has three zeros behind a point may be thousands.
_WHOLE = re.compile(r"([0-9]{1,15})(?:\.(?:0{0,2}|0{4,}))?")


def said(label: Label) -> str:
    """Return a label as one text: its parts, separated by commas."""
    return ", ".join(label)


def shown(path: Records) -> str:
    """Return how a file is named in sentences."""
    if isinstance(path, pd.DataFrame):
        return "the data frame"
    return "the standard input" if is_standard_input(path) else str(path)


def is_standard_input(path: object) -> bool:
    """Tell whether a path stands for the standard input."""
    return isinstance(path, (str, PathLike)) and str(path) == STANDARD_INPUT


def as_number(text: str, decimal: str = ".") -> float | None:
    """Return the finite number that a text is; None for any other, such as one with thousands set apart."""
    plain = text.strip()
    if decimal != ".":
        plain = plain.replace(".", " ").replace(decimal, ".")
    number = float(plain) if _NUMBER.fullmatch(plain) else float("inf")
    return number if abs(number) < float("inf") else None


def as_whole(text: str) -> int | None:
    """Return the whole number that a text is, maybe as a measurement (16.0); None for any other."""
    whole = _WHOLE.fullmatch(text.strip())
    return int(whole[1]) if whole else None


def has_weights(name: str) -> bool:
    """Tell whether a column has the name of survey weights."""
    return name.strip().casefold() in _WEIGHTS


def like_counts(path: Records, name: str) -> str:
    """Return the sentence that a file looks like a table of counts, which are in the column of a name."""
    return (
        f"{shown(path)} looks like a table of counts: the column {name!r} has whole numbers, and no two rows"
        " are alike without it."
    )


def digest_of(path: Records) -> str:
    """Return the SHA-256 of a file; nothing for the standard input, which is read once, and for a frame."""
    if isinstance(path, pd.DataFrame) or is_standard_input(path):
        return ""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_chunks(
    path: Records,
    columns: Sequence[str],
    *,
    optional: Sequence[str] = (),
    patterns: Sequence[str] = (),
    on_counts: Callable[[str], None] | None = None,
    on_weights: Callable[[str], object] | None = None,
) -> Iterator[pd.DataFrame]:
    """Yield some columns of a file, a chunk of records at a time; the index has the numbers of the records.

    Values are texts. A column whose values have an order in the file is an ordered categorical one. The file
    may be CSV in UTF-8 with a row of column names and commas, semicolons, tabs or vertical bars, Parquet, or
    a file of SPSS, Stata or SAS; ``-`` is the standard input. Empty lines do not count. A data frame is read
    as a Parquet file with its columns is.

    Optional columns are empty if the file does not have them; `patterns` such as ``w*`` name further ones, at
    least one each. `on_counts` is called with the column of counts if the file looks like a table of counts,
    and `on_weights` with each column that has the name of survey weights.
    """
    done = 0
    for frame in _frames(path, columns, optional, patterns):
        if not len(frame):
            continue
        if on_counts and not done and (name := _column_of_counts(frame, columns)) is not None:
            on_counts(name)
        header = list(map(str, frame))
        for name in filter(has_weights, header if on_weights and not done else ()):
            on_weights(name)  # type: ignore[misc]
        if none := [pattern for pattern in patterns if not _matching(header, [pattern])]:
            raise ValueError(f"No column of {shown(path)} is called {none[0]!r}.")
        names = dict.fromkeys([*columns, *optional, *_matching(header, patterns)])
        asked = frame.reindex(columns=list(names), fill_value="")
        asked.index = pd.RangeIndex(done + 1, done + 1 + len(asked))
        done += len(asked)
        yield asked
    if not done:
        raise ValueError(f"{shown(path)} has no records; at least one is needed.")


def remembered(translation: Translation) -> Translation:
    """Return a translation with a memory: most columns have few different values."""
    return lru_cache(CHUNK)(translation)


class UnreadableValue(ValueError):
    """A value that a translation cannot take; its text follows the number of a record."""


def labels_of(chunk: pd.DataFrame, columns: Sequence[str], made: Mapping[str, Translation]) -> list[Label]:
    """Return the values of some columns of records, translated where there is a translation."""
    values = [translated(chunk[name], made[name]) if name in made else chunk[name] for name in columns]
    return list(zip(*values, strict=True))


def translated(values: pd.Series[Any], made: Translation) -> list[str]:
    """Return what becomes of the values of a column; an error names the record."""
    try:
        return list(map(made, values))
    except UnreadableValue as error:
        for row, value in values.items():
            try:
                made(value)
            except UnreadableValue:
                raise ValueError(f"Record {row} of {error}") from None
        raise


def _matching(header: Iterable[str], patterns: Sequence[str]) -> list[str]:
    return [name for name in header if any(fnmatchcase(name, pattern) for pattern in patterns)]


def _frames(
    path: Records, columns: Sequence[str], optional: Sequence[str], patterns: Sequence[str]
) -> Iterator[pd.DataFrame]:
    """Yield the records of a file as texts, with at least the columns that are asked for."""
    if isinstance(path, pd.DataFrame):
        yield from _data_frames(path, columns, optional, patterns)
        return
    if not isinstance(path, (str, PathLike)):
        raise ValueError(
            f"The records are {type(path).__name__}; they must be the path of a file, or a data frame of"
            " pandas."
        )
    with ExitStack() as stack:
        if is_standard_input(path):
            if sys.stdin is None:
                raise ValueError("The standard input is closed; there is nothing to read.")
            raw: Any = sys.stdin.buffer
        else:
            raw = stack.enter_context(open(path, "rb"))
        stream = io.BufferedReader(raw, START)
        start = stream.peek(START)[:START]
        if start.startswith(b"PAR1"):
            yield from _parquet_frames(path, columns, optional, patterns)
        elif reader := reader_of(start):
            yield from _statistics_frames(path, reader, columns, optional, patterns)
        elif other := next((words for begin, *words in _OTHERS if start.startswith(begin)), None):
            raise ValueError(f"{shown(path)} is {other[0]}, and no text in UTF-8; {other[1]}.")
        elif b"\0" in start:
            raise ValueError(
                f"{shown(path)} is no text in UTF-8, and no Parquet file; save it as CSV in UTF-8."
            )
        else:
            blocks = csv_blocks(shown(path), stream, start, [*columns, *optional], CHUNK)
            (header,) = next(blocks)
            check_header(path, header, columns, optional, patterns)
            places = {name: header.index(name) for name in _read_columns(header, columns, optional, patterns)}
            for block in blocks:
                part = {name: [row[place] for row in block] for name, place in places.items()}
                yield pd.DataFrame(part, dtype=object)


def check_header(
    path: Records,
    header: Sequence[str],
    columns: Sequence[str],
    optional: Sequence[str] = (),
    patterns: Sequence[str] = (),
) -> None:
    """Check that columns are in a header, and no further ones are there twice."""
    for name in dict.fromkeys((*columns, *optional, *_matching(header, patterns))):
        times = header.count(name)
        if times > 1 or (not times and name in columns):
            found = "twice" if times else "not"
            has = f"The column {name!r} is {found} in {shown(path)}; its columns are {', '.join(header)}."
            raise ValueError(has + ("" if times else close_name(name, header)))


def _data_frames(
    frame: pd.DataFrame, columns: Sequence[str], optional: Sequence[str], patterns: Sequence[str]
) -> Iterator[pd.DataFrame]:
    """Yield columns of a data frame, as the texts that Python has for them; a missing value is empty."""
    header = list(map(str, frame))
    check_header(frame, header, columns, optional, patterns)
    some = _read_columns(header, columns, optional, patterns)
    for first in range(0, len(frame), CHUNK):
        part = frame.iloc[first : first + CHUNK]
        yield pd.DataFrame({name: _frame_texts(part.iloc[:, header.index(name)]) for name in some})


def _frame_texts(values: pd.Series[Any]) -> pd.Series[Any]:
    """Return the texts of a column of a data frame; categories are the order of its values."""
    gone = values.isna()
    texts = pd.Series(
        ["" if no else str(value) for no, value in zip(gone, values, strict=True)], dtype=object
    )
    if not isinstance(values.dtype, pd.CategoricalDtype):
        return texts
    listed = [*map(str, values.cat.categories), ""]
    return texts.astype(pd.CategoricalDtype(list(dict.fromkeys(listed)), ordered=True))


def _parquet_frames(
    path: Path | str, columns: Sequence[str], optional: Sequence[str], patterns: Sequence[str]
) -> Iterator[pd.DataFrame]:
    """Yield columns of a Parquet file, as the texts that Python has for them; a missing value is empty."""
    _check_named(path, "a Parquet file")
    with extra("parquet"):
        import pyarrow
        import pyarrow.parquet
    try:
        with open(path, "rb") as stream, pyarrow.parquet.ParquetFile(stream) as table:
            header = table.schema_arrow.names
            check_header(path, header, columns, optional, patterns)
            some = _read_columns(header, columns, optional, patterns)
            for name in set(some).intersection((*columns, *optional, *_matching(header, patterns))):
                kind = table.schema_arrow.field(name).type
                if pyarrow.types.is_nested(kind) or pyarrow.types.is_binary(kind):
                    raise ValueError(
                        f"The column {name!r} of {path} is of type {kind}; values must be texts, numbers or"
                        " dates."
                    )
            for batch in table.iter_batches(CHUNK, columns=some):
                yield pd.DataFrame({name: _texts(batch.column(name)) for name in some})
    except pyarrow.ArrowException as error:
        raise ValueError(f"{path} is not a Parquet file that can be read: {error}") from None


def _statistics_frames(
    path: Path | str, reader: str, columns: Sequence[str], optional: Sequence[str], patterns: Sequence[str]
) -> Iterator[pd.DataFrame]:
    """Yield columns of a file of a statistics program; those that are asked for are read at once."""
    _check_named(path, "a file of a statistics program")
    header = column_names(path, reader)
    check_header(path, header, columns, optional, patterns)
    frame = read_answers(path, reader, _read_columns(header, columns, optional, patterns))
    for first in range(0, len(frame), CHUNK):
        yield frame.iloc[first : first + CHUNK]


def _check_named(path: Path | str, what: str) -> None:
    """Refuse what cannot be read from a pipe."""
    if is_standard_input(path):
        raise ValueError(f"The standard input is {what}, which cannot be read from a pipe; name it.")


def _read_columns(
    header: Sequence[str], columns: Sequence[str], optional: Sequence[str], patterns: Sequence[str]
) -> list[str]:
    """Return the columns that are read: those that are asked for, and all if one may have counts."""
    has_counts = any(name.strip().casefold() in _COUNTS for name in header)
    asked = {*columns, *optional, *_matching(header, patterns)}
    return [name for name in header if has_counts or name in asked or has_weights(name)]


def _texts(column: Any) -> pd.Series[Any]:
    """Return the texts of a column of Arrow; a dictionary is the order of its values."""
    texts = pd.Series([_as_text(value) for value in column.to_pylist()], dtype=object)
    if not hasattr(column, "dictionary"):
        return texts
    listed = map(_as_text, column.dictionary.to_pylist())
    return texts.astype(pd.CategoricalDtype(list(dict.fromkeys([*listed, ""])), ordered=True))


def _as_text(value: object) -> str:
    return "" if value is None else str(value)


def _column_of_counts(frame: pd.DataFrame, columns: Sequence[str]) -> str | None:
    """Return the column of counts if records look like those of a table of counts, else None.

    They do if a column has the name of counts and whole numbers, and no two rows are alike in the others. A
    column that is not asked for and has no value twice is left aside: its values are numbers of rows.
    """
    for name in map(str, frame):
        if name.strip().casefold() not in _COUNTS or name in columns or len(frame) < 2:
            continue
        others = [
            other
            for other in frame
            if other in columns or (other != name and frame[other].duplicated().any())
        ]
        whole = all(as_whole(value) is not None for value in frame[name])
        if whole and not frame.duplicated(others).any():
            return name
    return None
