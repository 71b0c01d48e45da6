"""Files of reports: their columns, the channel that they name, and one report for each person."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from ldpfrontier.numerics.arguments import as_instance, check_callable
from ldpfrontier.survey.channel_file import PrivateChannel
from ldpfrontier.survey.counts import Codes
from ldpfrontier.survey.numerals import as_finite, is_ambiguous
from ldpfrontier.survey.reading import shown
from ldpfrontier.survey.records import as_text, read_chunks
from ldpfrontier.survey.values import is_missing
from ldpfrontier.types import IntArray

#: The column that reports are written to.
REPORT = "report"

#: A column that is taken to identify people if nobody says which one does.
PERSON = "id"


def channel_column(column: str) -> str:
    """Return the name of the column that has the id of the channel of every report."""
    return f"{column}_channel"


def check_channel(private: PrivateChannel, path: Path | str, named: Sequence[str], done: int) -> None:
    """Check the ids of channels that reports name; an empty one is that of any channel.

    Parameters
    ----------
    private : PrivateChannel
        That the reports should come from.
    path : path
        Of the reports, for errors.
    named : sequence of str
    done : int
        Reports that come before.

    Raises
    ------
    ValueError
        If one is that of another channel.
    """
    if set(named) <= {private.id, ""}:
        return
    place = next(place for place, name in enumerate(named) if name not in (private.id, ""))
    raise ValueError(
        f"Record {done + place + 1} of {shown(path)} is a report of the channel {named[place]!r}, and this"
        f" channel is {private.id!r}; reports are estimated with the channel that drew them, whose file has"
        f' this "id".'
    )


def normal_id(text: str) -> str:
    """Return the normal form of an id: Unicode NFC, without white space around it.

    Digits stay as they are written: ``01`` and ``1`` are two people.
    """
    return unicodedata.normalize("NFC", text).strip()


def ids_of(path: Path | str, person: str, texts: Sequence[str], done: int) -> list[str]:
    """Return the normal form of the ids of records, of which `done` come before.

    Raises
    ------
    ValueError
        If a record has no id, or a number with decimals.
    """
    names = list(map(normal_id, texts))
    for number, name in enumerate(names, start=done + 1):
        where = f"the column {person!r}, which identifies the person"
        if is_missing(name):
            raise ValueError(
                f"Record {number} of {shown(path)} has no value in {where}; every record needs one."
            )
        if not name.lstrip("+-").isdigit() and (as_finite(name) is not None or is_ambiguous(name)):
            raise ValueError(
                f"Record {number} of {shown(path)} has {name!r} in {where}. A number with decimals or an"
                " exponent is no id, since programs write the same number in several ways; write ids as whole"
                " numbers or as other texts."
            )
    return names


def count_reports(
    private: PrivateChannel,
    path: Path | str,
    *,
    column: str = REPORT,
    person: str | None = None,
    progress: Callable[[int], None] | None = None,
    remark: Callable[[str], None] | None = None,
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
    progress : callable, optional
        Called with the number of reports read so far.
    remark : callable, optional
        Called with a sentence if reports are left out.

    Returns
    -------
    ndarray of int, shape (outputs,)

    Raises
    ------
    ValueError
        If the file is no table, lacks a column, has no records, one that is no report of the channel, a
        report of another channel, or several reports of a person if nobody says so.
    """
    as_instance(private, PrivateChannel, "The channel")
    if remark is not None:
        check_callable(remark, "remark")
    asked = [as_text(column, "column")] + ([] if person is None else [as_text(person, "person")])
    if person == column:
        raise ValueError(f"The column {column!r} contains the reports; it cannot identify people as well.")
    more = [channel_column(column)] + ([PERSON] if person is None and column != PERSON else [])
    codes = Codes(path, (column,), [(report,) for report in private.outputs])
    counts = np.zeros(len(private.outputs), dtype=np.int64)
    seen = set[str]()
    done = again = 0
    for chunk in read_chunks(path, asked, optional=more, progress=progress):
        outputs = codes([record[:1] for record in chunk], done)
        check_channel(private, path, [record[len(asked)] for record in chunk], done)
        if person is None:
            names = [normal_id(record[-1]) for record in chunk] if PERSON in more else []
            # Whoever has no id in a column that nobody named is another person.
            names = [name or f" {place}" for place, name in enumerate(names, start=done)]
        else:
            names = ids_of(path, person, [record[1] for record in chunk], done)
        if names:
            first = {name: place for place, name in reversed(list(enumerate(names)))}
            new = [place for name, place in first.items() if name not in seen]
            again += len(names) - len(new)
            seen.update(first)
            outputs = outputs[new]
        counts += np.bincount(outputs, minlength=counts.size)
        done += len(chunk)
    if again and person is None:
        raise ValueError(
            f"{shown(path)} has {done:,} reports, and {again:,} of them repeat a value of its column"
            f" {PERSON!r}. If it identifies people, --id {PERSON} counts each of them once; if it does not,"
            " give it another name."
        )
    if again and remark is not None:
        remark(
            f"{again:,} of {done:,} reports are further ones of the same people, by the column {person!r};"
            " only the first of each person counts."
        )
    return counts
