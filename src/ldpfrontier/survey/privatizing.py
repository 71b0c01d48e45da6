"""Privatization of the records of a file, read and written as streams."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np

from ldpfrontier.atomic import OWNER, USUAL, remove_abandoned, replacing
from ldpfrontier.numerics.arguments import as_flag, as_instance, check_callable
from ldpfrontier.survey.binning import translations_for
from ldpfrontier.survey.channel_file import PrivateChannel
from ldpfrontier.survey.counts import Codes
from ldpfrontier.survey.csv_text import without_formulas
from ldpfrontier.survey.memo import Draw, Memo
from ldpfrontier.survey.outputs import check_outputs
from ldpfrontier.survey.reading import like_counts
from ldpfrontier.survey.records import (
    Label,
    as_path,
    as_text,
    as_texts,
    read_chunks,
    said,
)
from ldpfrontier.survey.reports import REPORT, channel_column, ids_of
from ldpfrontier.survey.sampling import Sampler, Source
from ldpfrontier.survey.settings import SETTINGS


def privatize(
    private: PrivateChannel, records: Sequence[Label], *, source: Source | None = None
) -> list[str]:
    """Draw a report for every record.

    Parameters
    ----------
    private : PrivateChannel
    records : sequence of tuple of str
        The values of the columns that the channel is for, what is sensitive first.
    source : callable, optional
        As in `privatize_file`.

    Raises
    ------
    ValueError
        If a record is none that the channel knows.
    """
    as_instance(private, PrivateChannel, "The channel")
    if isinstance(records, str) or not isinstance(records, Sequence):
        raise ValueError(f"The records are a {type(records).__name__}; they must be a sequence of labels.")
    records = [as_texts(record, f"Record {number}") for number, record in enumerate(records, start=1)]
    attributes = private.table.attributes
    if wrong := [record for record in records if len(record) != len(attributes)]:
        raise ValueError(
            f"A record is {wrong[0]!r}; it must have the {len(attributes)} values of {said(attributes)}."
        )
    check_source(source)
    inputs = Codes("the records", attributes, private.table.labels)(records)
    sampler = Sampler(private.weights, source) if source else Sampler(private.weights)
    return [private.outputs[output] for output in sampler.draw(inputs)]


def check_source(source: Source | None) -> None:
    """Check that a source of random bytes, if one is given, is a function."""
    if source is not None:
        check_callable(source, "The source of random bytes")


@dataclass(frozen=True)
class Privatized:
    """A summary of a privatized file.

    Attributes
    ----------
    records : int
    designed_from : bool
        Whether the records have just the counts that the channel was designed from, as the same file has: the
        guarantee does not cover what is public in the channel file.
    removed : list of Path
        Unfinished files of runs for the same target that were killed: reports of the same records, which
        would have been a second report each if somebody had taken them for the first.
    again : int
        Records whose report is that of an earlier record of the same person, in this file or before.
    unmatched : int
        The number of people in the memo, if none of the records is of any of them: their ids may be written
        in another way. Otherwise 0.
    """

    records: int
    designed_from: bool
    removed: list[Path]
    again: int = 0
    unmatched: int = 0


def privatize_file(
    private: PrivateChannel,
    path: Path | str,
    target: Path | str,
    *,
    keep: Label = (),
    column: str = REPORT,
    missing: str | None = None,
    missing_codes: Sequence[str] = (),
    source: Source | None = None,
    progress: Callable[[int], None] | None = None,
    spreadsheet: bool = False,
) -> Privatized:
    """Write a report for every record of a file, in the order of the records.

    Parameters
    ----------
    private : PrivateChannel
    path : path
        A CSV or Parquet file with the columns that the channel is for, or ``-``, the standard input. Numbers
        go into the groups of the channel, if it was designed with some.
    target : path
        A CSV file; it is there in full, or as it was before.
    keep : tuple of str
        Columns that are copied as they are: what they tell of a record is not limited.
    column : str
        Of the reports; another one, with ``_channel`` at the end of its name, says which channel drew them.
    missing : str, optional
        A value of the channel that stands for missing ones.
    missing_codes : sequence of str
        Codes for missing values, as in `count_records`.
    source : callable, optional
        Takes a number and returns that many random bytes; by default those of the operating system. Anything
        else is no protection.
    progress : callable, optional
        Called with the number of records done.
    spreadsheet : bool
        Whether an apostrophe comes before what a spreadsheet program would take for a formula in a column
        that is kept.

    Raises
    ------
    ValueError
        If the file is no CSV file, lacks a column, has no records, or a value that the channel does not know,
        or looks like a table of counts; or if both paths are one file, or a column that is kept has the name
        of the reports.
    """
    as_instance(private, PrivateChannel, "The channel")
    check_source(source)
    drawing = nullcontext(Draw(private, source))
    columns = _Columns(keep, column, None, spreadsheet)
    return _written(private, path, target, columns, missing, missing_codes, drawing, progress)


def privatize_persons(
    private: PrivateChannel,
    path: Path | str,
    target: Path | str,
    memo: Memo,
    *,
    keep: Label = (),
    column: str = REPORT,
    missing: str | None = None,
    missing_codes: Sequence[str] = (),
    progress: Callable[[int], None] | None = None,
    spreadsheet: bool = False,
) -> Privatized:
    """Write a report for every record as `privatize_file` does, but repeat that of a known person.

    Parameters
    ----------
    private, path, target, keep, column, missing, missing_codes, progress, spreadsheet
        As in `privatize_file`.
    memo : Memo
        Keeps the reports. A person who is in it gives the same report again, whatever the record says now.
        Ids that differ in white space around them, or in the Unicode form of a letter, are one person.

    Raises
    ------
    ValueError
        As in `privatize_file`, and if the memo cannot be used, or a record has no id, or a number with
        decimals as its id.
    """
    as_instance(private, PrivateChannel, "The channel")
    as_instance(memo, Memo, "The memo")
    check_outputs([as_path(target), memo.path], [as_path(path)])
    if memo.column in private.table.attributes:
        raise ValueError(
            f"The column {memo.column!r} identifies people and is reported by the channel; it must be a"
            " column that the channel does not report."
        )
    columns = _Columns(keep, column, memo.column, spreadsheet)
    return _written(private, path, target, columns, missing, missing_codes, memo.drawing(private), progress)


@dataclass(frozen=True)
class _Columns:
    """The columns of the reports, and the one of the records that identifies people.

    Attributes
    ----------
    keep : tuple of str
        Columns of the records that are copied.
    report : str
    person : str or None
    spreadsheet : bool
        Whether what is copied must not be taken for a formula.

    Raises
    ------
    ValueError
        If a column of the reports has no name, or two have the same name.
    """

    keep: Label
    report: str
    person: str | None
    spreadsheet: bool

    def __post_init__(self) -> None:
        object.__setattr__(self, "keep", as_texts(self.keep, "keep"))
        as_text(self.report, "column")
        as_flag(self.spreadsheet, "spreadsheet")
        for name, what in (
            (self.report, "the reports"),
            (channel_column(self.report), "channels"),
        ):
            if name in self.keep:
                raise ValueError(
                    f"The column {name!r} cannot be kept, since the column of {what} has the same name; the"
                    " two must differ."
                )
        if not self.report:
            raise ValueError("The column of the reports is ''; it must have a name.")
        if twice := [name for name in self.keep if self.keep.count(name) > 1]:
            raise ValueError(f"The column {twice[0]!r} is kept twice; a column may be kept once.")

    def copied(self, cells: Sequence[str]) -> Sequence[str]:
        """Return the cells of a row as they are written."""
        return [without_formulas(cell) for cell in cells] if self.spreadsheet else cells


def _written(
    private: PrivateChannel,
    path: Path | str,
    target: Path | str,
    columns: _Columns,
    missing: str | None,
    missing_codes: Sequence[str],
    drawing: AbstractContextManager[Draw],
    progress: Callable[[int], None] | None,
) -> Privatized:
    """Write reports that a function draws, all or none."""
    path, target = as_path(path), as_path(target)
    check_outputs([target], [path])
    keep, person = columns.keep, columns.person
    attributes = private.table.attributes
    codes = Codes(path, attributes, private.table.labels)
    made = translations_for(path, attributes, private.table.labels, missing, missing_codes)
    cut, end = len(attributes), len(attributes) + len(keep)
    asked = (*attributes, *keep, *([] if person is None else [person]))
    counts = np.zeros(len(private.weights), dtype=np.int64)
    done = again = 0
    # A memo is saved before its reports are published; otherwise they could be drawn twice.
    mode = OWNER if keep else USUAL
    with replacing(target, mode) as partial, drawing as draw:
        with open(partial, "w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow([*columns.copied(keep), columns.report, channel_column(columns.report)])
            for chunk in read_chunks(
                path, asked, translations=made, progress=progress,
                on_counts=lambda name: _refuse_counts(path, name),
            ):  # fmt: skip
                inputs = codes([record[:cut] for record in chunk], done)
                counts += np.bincount(inputs, minlength=counts.size)
                ids = [] if person is None else ids_of(path, person, [record[-1] for record in chunk], done)
                outputs, kept = draw(ids, inputs)
                reports = map(private.outputs.__getitem__, outputs.tolist())
                writer.writerows(
                    (*columns.copied(record[cut:end]), report, private.id)
                    for record, report in zip(chunk, reports, strict=True)
                )
                done, again = done + len(chunk), again + kept
        removed = remove_abandoned(target)
    same = private.table.counted and bool((counts == private.table.counts.ravel()).all())
    return Privatized(done, same, removed, again, draw.unmatched)


def _refuse_counts(path: Path, name: str) -> NoReturn:
    """Refuse a file whose rows seem to be counts of records.

    Raises
    ------
    ValueError
    """
    raise ValueError(
        f"{like_counts(path, name)} A report is drawn for every row, which must be the record of one person;"
        " if the rows are records, remove this column from the file."
    )


def several_reports_text(private: PrivateChannel) -> tuple[str, bool]:
    """Return a sentence on the level of two reports of one person, and whether the promise bounds none.

    Levels of independent reports add up for anyone, and for those who know u. For acquaintances the largest
    odds ratio comes on top, once: given u, products of entries differ by a factor of at most e^E, E the sum
    of the levels given u, and the weights of two values of u by an odds ratio at most (docs/beyond.md,
    statement 11 (f)). What outsiders are promised says nothing of a second report.
    """
    levels, protects = private.certificate.levels, private.protects
    secret, known = said(private.table.sensitive), said(private.table.useful)
    odds, two = private.odds, "Two reports of a person, drawn independently,"
    together = 2.0 * levels.anyone
    if not known or levels.record <= private.certificate.epsilon:
        together, secret = 2.0 * levels.record, said(private.table.attributes)
    elif protects == "insider-only":
        together = 2.0 * levels.insider
    elif protects == "acquaintance" and odds is not None:
        together = min(together, 2.0 * levels.insider + math.log(float(odds.high.max())))
    limited = together <= SETTINGS.max_epsilon
    if limited:
        level = math.ceil(100.0 * together - 1e-6) / 100.0
        words = f"{two} have together a level of at most {level:g} for {secret}, for the same readers."
    else:
        words = f"{two} may give {secret} away."
    kept = protects != "outsider" or levels.anyone <= private.certificate.epsilon
    words += " If anybody is asked again, --memo FILE --id COLUMN repeats the first report, which keeps the"
    return f"{words} promise.", not (limited and kept)
