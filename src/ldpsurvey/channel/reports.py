"""Files of reports: their columns, the channel that they name, and one report for each person."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import IntArray
from ldpsurvey.base.layout import remark
from ldpsurvey.base.names import close_name
from ldpsurvey.channel.channel_file import PrivateChannel
from ldpsurvey.data.reading import Label, Records, as_number, like_counts, read_chunks, said, shown
from ldpsurvey.data.values import Missing, is_missing, may_be_missing

if TYPE_CHECKING:
    import pandas as pd

#: The column that reports are written to.
REPORT = "report"

#: A column that is taken to identify people if nobody says which one does.
PERSON = "id"


class Codes:
    """Numbers of labels that are known, in their order, for records of a file; its path is for errors.

    Labels may be those `of_reports`, of which no option says what becomes of missing ones. Where a column is
    not asked, and its value among the labels is empty, whatever is `missing` is the same as an empty one.
    """

    def __init__(
        self,
        path: Records,
        columns: Label,
        labels: Sequence[Label],
        missing: Mapping[str, Missing] | None = None,
        *,
        of_reports: bool = False,
    ) -> None:
        self._path, self._columns, self._of_reports = path, columns, of_reports
        self._numbers = {label: number for number, label in enumerate(labels)}
        self._names = [(missing or {}).get(name, Missing()).becomes for name in columns]
        self._skips = any("" in label for label in labels)

    def __call__(self, labels: Sequence[Label], rows: Sequence[int]) -> IntArray:
        """Return the numbers of labels, (labels,), of records with these numbers in the file."""
        labels = [self._skipped(label) for label in labels] if self._skips else labels
        numbers = [self._numbers.get(label, -1) for label in labels]
        if -1 in numbers:
            place = numbers.index(-1)
            raise ValueError(self._unknown(labels[place], rows[place]))
        return np.array(numbers, dtype=np.int64)

    def _skipped(self, label: Label) -> Label:
        """Return a label with empty values for missing ones, if that is known and the label is not."""
        if label in self._numbers:
            return label
        pairs = zip(label, self._names, strict=True)
        empty = tuple("" if may_be_missing(value) or value == name else value for value, name in pairs)
        return empty if empty in self._numbers else label

    def _unknown(self, label: Label, record: int) -> str:
        where = f"Record {record} of {shown(self._path)}"
        for place, (name, value) in enumerate(zip(self._columns, label, strict=True)):
            known = sorted({other[place] for other in self._numbers})
            if value in known:
                continue
            some = ", ".join(map(repr, known[:6])) + (", ..." if len(known) > 6 else "")
            if may_be_missing(value) and self._of_reports:
                return (
                    f"{where} has {value!r} as {name}, which may be a missing value. A record without a"
                    f" report has an empty field there, and is left out; the channel gives {some}."
                )
            if may_be_missing(value):
                return (
                    f"{where} has {value!r} as {name}, which may be a missing value. Leave the record out, or"
                    f" name the value of the channel that stands for those, if it has one (--missing"
                    f" {name}=VALUE); its values are {some}."
                )
            return (
                f"{where} has {value!r} as its {name}; the channel accepts {some}.{close_name(value, known)}"
            )
        if self._skips:
            alike = [other for other in self._numbers if other[0] == label[0]]
            allowed = [sorted({other[place] for other in alike}) for place in range(len(label))]
            pairs = zip(label, allowed, strict=True)
            place = next(place for place, (value, some) in enumerate(pairs) if value not in some)
            must = "empty" if allowed[place] == [""] else f"one of {', '.join(map(repr, allowed[place]))}"
            after = f"{label[0]!r} as {self._columns[0]}"
            return f"{where} has {label[place]!r} as {self._columns[place]} after {after}; it must be {must}."
        return (
            f"{where} is {said(label)!r}. The channel has no row for this combination; design it again, so"
            " that all combinations can be reported."
        )


def report_place(report: str, known: Sequence[str]) -> int:
    """Return the place of a report among those that a channel gives; refuse one that it does not."""
    if report not in known:
        some = ", ".join(known[:6]) + (", ..." if len(known) > 6 else "")
        raise ValueError(
            f"The channel gives no report {report!r}; it gives {some}.{close_name(report, known)}"
        )
    return list(known).index(report)


def channel_column(column: str) -> str:
    """Return the name of the column that has the id of the channel of every report."""
    return f"{column}_channel"


def check_channel(channel: str, path: Records, named: Sequence[str], rows: Sequence[int]) -> None:
    """Refuse records, with their numbers, that name another channel; an empty id is that of any."""
    other = next((place for place, name in enumerate(named) if name not in (channel, "")), None)
    if other is not None:
        raise ValueError(
            f"Record {rows[other]} of {shown(path)} is a report of the channel {named[other]!r}, and"
            f" this channel is {channel!r}; reports are estimated with the channel that drew them, whose"
            f' file has this "id".'
        )


def normal_id(text: str) -> str:
    """Return the normal form of an id: Unicode NFC, without white space around it.

    Digits stay as they are written: ``01`` and ``1`` are two people.
    """
    return unicodedata.normalize("NFC", text).strip()


#: Letters that show nothing although Python takes them for printable: fillers and selectors of variants.
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0]")


def checked_name(text: str, what: str) -> str:
    """Return the normal form of an id or of the name of a wave; refuse one with characters that show nothing.

    With those, two names that look the same would be two people, or two occasions. `what` is for the error.
    """
    name = normal_id(text)
    if hidden := sorted({letter for letter in name if not letter.isprintable() or _BLANK.match(letter)}):
        raise ValueError(
            f"{what} is {name!r}, with the invisible character U+{ord(hidden[0]):04X}; names that look alike"
            " would be different ones. Write it without such characters."
        )
    return name


def ids_of(path: Records, person: str, texts: Sequence[str], rows: Sequence[int]) -> list[str]:
    """Return the normal form of the ids of records with these numbers; refuse gaps and decimals."""
    names = []
    for number, text in zip(rows, texts, strict=True):
        where = f"the column {person!r}, which identifies the person"
        name = checked_name(text, f"The {person!r} of record {number} of {shown(path)}")
        names.append(name)
        if is_missing(name):
            raise ValueError(
                f"Record {number} of {shown(path)} has no value in {where}; every record needs one."
            )
        decimals = as_number(name) is not None or as_number(name, ",") is not None
        if decimals and not name.lstrip("+-").isdigit():
            raise ValueError(
                f"Record {number} of {shown(path)} has {name!r} in {where}. A number with decimals or an"
                " exponent is no id, since programs write the same number in several ways; write ids as whole"
                " numbers or as other texts."
            )
    return names


def count_reports(
    private: PrivateChannel,
    path: Records,
    *,
    column: str = REPORT,
    person: str | None = None,
) -> IntArray:
    """Count the reports in a file.

    Parameters
    ----------
    private : PrivateChannel
        What they were drawn from. Where the file says which channel that was, it must be this one.
    path : path
        A CSV or Parquet file, or ``-``, the standard input.
    column : str
        Of the reports.
    person : str, optional
        The column that identifies people, of each of whom the first report is counted. Without it, a file
        with a column ``id`` in which a value occurs twice is refused: estimates take every report for that of
        another person.

    Returns
    -------
    ndarray of int, shape (outputs,)

    Warns
    -----
    Remark
        If reports are left out: empty ones, and further ones of a person.

    Raises
    ------
    ValueError
        If the file is no table, looks like one of counts, lacks a column, has no records, one that is no
        report of the channel, a report of another channel, or several reports of a person if nobody says so.
    """
    counts = np.zeros(len(private.outputs), dtype=np.int64)
    for _, _, outputs in first_reports(path, private.id, decoder(private, path, column), column, person):
        counts += np.bincount(outputs, minlength=counts.size)
    return counts


def reports_of_people(
    channel: str,
    decode: Decoder,
    path: Records,
    *,
    column: str = REPORT,
    person: str | None = None,
    on_weights: Callable[[str], object] | None = None,
) -> dict[str, int]:
    """Return the first report of every person in a file, as its number, by the id of the person.

    Without a column that identifies people, every report is that of another person, who has a value of the
    column ``id`` if the file has one, and otherwise an id that is in no other file.
    """
    found = dict[str, int]()
    for _, names, outputs in first_reports(path, channel, decode, column, person, on_weights=on_weights):
        every = [name or unnamed(path, len(found) + place) for place, name in enumerate(names)]
        found.update(zip(every, outputs.tolist(), strict=True))
    return found


def unnamed(path: Records, place: int) -> str:
    """Return an id, which is in no other file, of a person in a file without ids."""
    return f" {id(path)} {place}"


def remark_on_weights(names: Collection[str]) -> None:
    """Remark upon the first of columns that have the name of survey weights and are not used."""
    for name in list(names)[:1]:
        remark(
            f"the column {name!r} has the name of survey weights and is not used, so that all people count"
            f" alike; --weight {shlex.quote(name)} uses it."
        )


def count_refusals(path: Records, *, column: str = REPORT, person: str | None = None) -> int:
    """Count the people without a report in a file, which has an empty one for them.

    With a column that identifies people, those who have a report in another record are left out.
    """
    asked = {True: set[str](), False: set[str]()}  # by whether there is no report
    for chunk in read_chunks(path, [column] if person is None else [column, person]):
        gone, rows = (chunk[column].map(str.strip) == "").tolist(), chunk.index.tolist()
        names = map(str, rows) if person is None else ids_of(path, person, chunk[person].tolist(), rows)
        for name, none in zip(names, gone, strict=True):
            asked[none].add(name)
    return len(asked[True] - asked[False])


#: Takes the texts of reports, and the numbers of their records, and returns what they stand for.
Decoder = Callable[[Sequence[str], Sequence[int]], NDArray[Any]]


def decoder(private: PrivateChannel, path: Records, column: str) -> Decoder:
    """Return what gives the numbers of the outputs of a channel; `path` is for errors."""
    codes = Codes(path, (column,), [(report,) for report in private.outputs], of_reports=True)
    return lambda texts, rows: codes([(text,) for text in texts], rows)


def report_chunks(
    path: Records,
    channel: str,
    decode: Decoder,
    column: str,
    columns: Sequence[str] = (),
    *,
    optional: Sequence[str] = (),
    patterns: Sequence[str] = (),
    on_weights: Callable[[str], object] | None = None,
) -> Iterator[tuple[pd.DataFrame, NDArray[Any]]]:
    """Yield further columns of a file of reports, as `read_chunks` does, and the reports, decoded.

    Records without a report are left out, with a remark. A file in which no report occurs twice, and which
    looks like a table of counts, is refused.
    """
    marks, counts = channel_column(column), list[str]()
    asked = list(dict.fromkeys([column, *columns]))
    done = empty = 0
    for chunk in read_chunks(
        path,
        asked,
        optional=[marks, *optional],
        patterns=patterns,
        on_counts=counts.append,
        on_weights=on_weights,
    ):
        if counts and not done and not chunk[column].duplicated().any():
            raise ValueError(
                f"{like_counts(path, counts[0])} Every row must be one report; if the rows are, give this"
                " column another name."
            )
        check_channel(channel, path, chunk[marks].tolist(), chunk.index.tolist())
        gone = (chunk[column].map(str.strip) == "").to_numpy(dtype=bool)
        done, empty = done + len(chunk), empty + int(gone.sum())
        chunk = chunk[~gone].drop(columns=marks)
        if len(chunk):
            yield chunk, decode(chunk[column].tolist(), chunk.index.tolist())
    if empty == done:
        raise ValueError(f"{shown(path)} has no report in the column {column!r}; at least one is needed.")
    if empty:
        remark(f"{empty:,} of {done:,} records of {shown(path)} have no report, and were left out.")


def first_reports(
    path: Records,
    channel: str,
    decode: Decoder,
    column: str,
    person: str | None,
    columns: Sequence[str] = (),
    *,
    patterns: Sequence[str] = (),
    on_weights: Callable[[str], object] | None = None,
) -> Iterator[tuple[pd.DataFrame, list[str], NDArray[Any]]]:
    """Yield further columns, ids, empty if there is none, and the first report of each person, decoded.

    The columns that identify people are no further ones, unless they are asked for by their names. What is
    called `on_weights` is as of `read_chunks`.
    """
    if person == column:
        raise ValueError(f"The column {column!r} contains the reports; it cannot identify people as well.")
    identity = person or PERSON
    asked = [] if person is None else [person]
    more = [PERSON] if person is None and column != PERSON else []
    seen = set[str]()
    done = again = 0
    unasked = {column, *asked, *more} - {*columns}
    asked += columns
    for chunk, outputs in report_chunks(
        path, channel, decode, column, asked, optional=more, patterns=patterns, on_weights=on_weights
    ):
        done += len(chunk)
        texts = [""] * len(chunk) if identity == column else chunk[identity].tolist()
        names = [""] * len(chunk)
        if any(texts) or person is not None:
            if person is None:  # whoever has no id in a column that nobody named is another person
                each = zip(chunk.index, texts, strict=True)
                names = [normal_id(text) or f" {row}" for row, text in each]
            else:
                names = ids_of(path, person, texts, chunk.index.tolist())
            first = {name: place for place, name in reversed(list(enumerate(names)))}
            new = sorted(place for name, place in first.items() if name not in seen)
            again += len(names) - len(new)
            seen.update(first)
            names, outputs = ["" if names[place][0] == " " else names[place] for place in new], outputs[new]
            chunk = chunk.iloc[new]
        yield chunk.drop(columns=list(unasked)), names, outputs
    if again and person is None:
        raise ValueError(
            f"{shown(path)} has {done:,} reports, and {again:,} of them repeat a value of its column"
            f" {PERSON!r}. If it identifies people, --id {PERSON} counts each of them once; if it does not,"
            " give it another name."
        )
    if again:
        remark(
            f"{again:,} of {done:,} reports are further ones of the same people, by the column {person!r};"
            " only the first of each person counts."
        )
