"""CSV files in UTF-8, read in blocks of rows: what is wrong in one is named by its record and its column."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from ldpsurvey.base.names import plain_name

#: Separators of fields that are recognised; the first one if several fit.
SEPARATORS = ",;\t|"

#: Most letters of a field: a quotation mark that is not closed makes one field of all that follows.
LONGEST_FIELD = 1 << 24

#: What becomes of bytes that are not UTF-8 while a file is read: no text in UTF-8 has these letters.
_NOT_UTF8 = re.compile("[\udc80-\udcff]")


def csv_blocks(
    source: str, stream: io.BufferedReader[Any], start: bytes, columns: Sequence[str], size: int
) -> Iterator[list[list[str]]]:
    """Yield the header of a CSV file, as a block of its own, and then its records in blocks.

    `start` is what the file begins with, by which the separator of its fields is recognised, and `source` its
    name for errors. Every record has as many fields as the header; empty lines are left out.
    """
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_FIELD))
    separator = _separator(start.decode("utf-8-sig", errors="replace"), columns)
    lines = _Lines(stream)
    # Strict: a quotation mark that is never closed is an error.
    rows = csv.reader(lines, delimiter=separator, strict=True)
    header, done = list[str](), 0
    while True:
        block, problem = list[list[str]](), ""
        try:
            block.extend(islice(rows, size))
        except csv.Error as error:  # what was read before stays in the block
            problem = f"cannot be read as CSV: {error} (line {rows.line_num} of the file)"
        if not block and not problem:
            break
        block = [row for row in block if row]
        if not header and block:
            header = block.pop(0)
            if any(map(_NOT_UTF8.search, header)):
                raise _not_utf8(f"The header of {source}", [], header)
            yield [header]
            block = block[_further_headers(source, block) :]
        for place, row in enumerate(block, start=done + 1):
            if lines.wrong and any(map(_NOT_UTF8.search, row)):
                raise _not_utf8(f"Record {place} of {source}", header, row)
            if len(row) != len(header):
                raise ValueError(
                    f"Record {place} of {source} has {len(row)} fields; its header has {len(header)}."
                )
        if problem:
            where = f"Record {done + len(block) + 1}" if header else "The header"
            raise ValueError(f"{where} of {source} {problem}.")
        done += len(block)
        yield block
    if not header:
        raise ValueError(f"{source} is empty; a row of column names is needed.")


class _Lines:
    """The lines of a text that should be UTF-8, with a note whether some of those read so far is not."""

    def __init__(self, stream: io.BufferedReader[Any]) -> None:
        self._text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
        self.wrong = False

    def __iter__(self) -> Iterator[str]:
        for line in self._text:
            self.wrong = self.wrong or (not line.isascii() and _NOT_UTF8.search(line) is not None)
            yield line
        self._text.detach()  # whoever opened the stream closes it


def _not_utf8(where: str, header: Sequence[str], row: Sequence[str]) -> ValueError:
    """Return the error of a byte that is not UTF-8 in a row, or in a header or a line by itself."""
    place, found = next((i, match) for i, text in enumerate(row) if (match := _NOT_UTF8.search(text)))
    name = f" in the column {header[place]!r}" if place < len(header) else ""
    return ValueError(
        f"{where} is not UTF-8: it has the byte 0x{ord(found[0]) - 0xDC00:02x}{name}. Save the file in UTF-8;"
        " iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW converts what most programs on Windows write."
    )


def text_lines(path: str) -> list[str]:
    """Return the lines of a text in UTF-8 that are not empty."""
    with open(path, "rb") as stream:
        lines = list(_Lines(io.BufferedReader(stream)))
    for place, line in enumerate(lines, start=1):
        if _NOT_UTF8.search(line):
            raise _not_utf8(f"Line {place} of {path}", [], [line])
    return [line.rstrip("\r\n") for line in lines if line.strip()]


def _further_headers(source: str, rows: Sequence[Sequence[str]]) -> int:
    """Return how many of the first records are texts and ids of questions, as Qualtrics writes them.

    The second line of a header, as SurveyMonkey writes it, is refused.
    """
    if len(rows) > 1 and rows[1][0].startswith('{"ImportId":'):
        return 2
    if rows and rows[0][0] == "" and not {"Response", "Open-Ended Response"}.isdisjoint(rows[0]):
        raise ValueError(
            f"The first record of {source} is no answer, but looks like the second line of a header, as"
            " SurveyMonkey writes it; remove it, as pandas.read_csv(file, skiprows=[1]) does."
        )
    return 0


def _separator(start: str, columns: Sequence[str]) -> str:
    """Return the separator with which the header has most of the columns that are asked for.

    If none has any, names that differ in spaces and case count, and then the number of all names.
    """

    def fit(separator: str) -> tuple[int, int, int]:
        rows = csv.reader(io.StringIO(start, newline=""), delimiter=separator)
        names = next(filter(None, rows), [])
        alike = set(map(plain_name, columns)).intersection(map(plain_name, names))
        return len(set(columns).intersection(names)), len(alike), len(names)

    return max(SEPARATORS, key=fit)
