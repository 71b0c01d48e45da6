"""Privatization of the records of a file, read and written as streams."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from ldpfrontier.base.atomic import OWNER, USUAL, remove_abandoned, replacing
from ldpfrontier.base.types import IntArray
from ldpsurvey.base.layout import BYTE_ORDER_MARK, remark, without_formulas
from ldpsurvey.base.sampling import RandomSource
from ldpsurvey.channel.kinds import ReportingChannel, asked_columns, asked_values
from ldpsurvey.channel.memo import Draw, Memo, check_account
from ldpsurvey.channel.reports import REPORT, Codes, channel_column, ids_of
from ldpsurvey.data.groups import translations_for
from ldpsurvey.data.outputs import check_outputs, check_unwritten
from ldpsurvey.data.reading import Label, Records, labels_of, like_counts, read_chunks, said, shown

if TYPE_CHECKING:
    import pandas as pd

#: Suffixes of other tables.
_NOT_WRITTEN = (".parquet", ".sav", ".zsav", ".dta", ".xlsx", ".xls", ".sas7bdat", ".rds")


def privatize(
    private: ReportingChannel,
    records: Sequence[Label],
    *,
    source: RandomSource | None = None,
    no_memo: bool = False,
) -> list[str]:
    """Draw a report for every record.

    Parameters
    ----------
    private : PrivateChannel or QuestionnaireChannel
    records : sequence of tuple of str
        The values of the columns that are asked: those of a table (`PrivateChannel.asked`), what is sensitive
        first, or the answers to all questions.
    source : callable, optional
    no_memo : bool
        As in `privatize_file`; there is no memo here.

    Raises
    ------
    ValueError
        If a record is none that the channel knows, or the channel is for several reports of a person, unless
        `no_memo` says that no account of them is kept.
    """
    check_account(private, None, no_memo)
    attributes = asked_columns(private)
    if wrong := [record for record in records if isinstance(record, str) or len(record) != len(attributes)]:
        raise ValueError(
            f"A record is {wrong[0]!r}; it must have the {len(attributes)} values of {said(attributes)}."
        )
    places = record_codes(private, "the records")(list(map(tuple, records)), range(1, len(records) + 1))
    return private.drawing(source)(places)


def record_codes(
    private: ReportingChannel, path: Records
) -> Callable[[Sequence[Label], Sequence[int]], IntArray]:
    """Return what gives the places of the values of records among those of their fields, (m, fields).

    It takes the values of all columns that are asked, and the numbers of the records; `path` is for errors.
    """
    codes = [Codes(path, *field, private.missing) for field in private.fields]

    def places(labels: Sequence[Label], rows: Sequence[int]) -> IntArray:
        found, first = list[IntArray](), 0
        for code, (columns, _) in zip(codes, private.fields, strict=True):
            last = first + len(columns)
            found.append(code([label[first:last] for label in labels], rows))
            first = last
        records = np.column_stack(found)
        if wrong := private.wrong_record(records):
            raise ValueError(f"Record {rows[wrong[0]]} of {shown(path)} {wrong[1]}.")
        return records

    return places


@dataclass(frozen=True)
class Privatized:
    """A summary of a privatized file.

    `designed_from` says whether the records have just the counts that the channel was designed from, which
    are public. `removed` are unfinished files of runs that were killed: somebody may have taken their reports
    for the first ones. `again` counts repeated reports, and `unmatched` the people in the memo if none of the
    records is of any of them, as if ids were written in another way now. `new_memo` says whether nobody
    had a report in the memo before.
    """

    records: int
    designed_from: bool
    removed: list[Path]
    again: int = 0
    unmatched: int = 0
    new_memo: bool = False


def privatize_file(
    private: ReportingChannel,
    path: Path | str,
    target: Path | str,
    *,
    memo: Memo | None = None,
    keep: Sequence[str] = (),
    column: str = REPORT,
    missing: str | Sequence[str] | None = None,
    missing_codes: Sequence[str] = (),
    decimal: str = ".",
    source: RandomSource | None = None,
    spreadsheet: bool = False,
    no_memo: bool = False,
    force: bool = False,
) -> Privatized:
    """Write a report for every record of a file, in the order of the records.

    Parameters
    ----------
    private : PrivateChannel or QuestionnaireChannel
    path : path
        As of `read_chunks`, with the columns that the channel is for. Numbers go into the groups of the
        channel, if it was designed with some.
    target : path
        A CSV file; it is there in full, or as it was before.
    memo : Memo, optional
        Needed if the channel is for several reports of a person, unless `no_memo` says that none is kept.
        Keeps the reports. A person who is in it gives the same report again, whatever the record says now.
        Ids that differ in white space around them, or in the Unicode form of a letter, are one person.
    keep : sequence of str
        Columns that are copied as they are: what they tell of a record is not limited.
    column : str
        Of the reports; another one, with ``_channel`` at the end of its name, says which channel drew them.
    missing : str or sequence of str, optional
        Values of the channel that stand for missing ones, of all columns or, as ``COLUMN=unknown``, of one.
        By default what is missing is what was missing in the design of the channel, with the same name.
    missing_codes, decimal
        As in `count_records`; codes of the design stay.
    source : callable, optional
        Takes a number and returns that many random bytes; by default those of the operating system. Anything
        else is no protection.
    spreadsheet : bool
        Whether an apostrophe comes before what a spreadsheet program would take for a formula in a column
        that is kept.
    no_memo : bool
        Whether reports of a channel for several of a person are drawn without an account.
    force : bool
        Whether a file that is there is replaced.

    Raises
    ------
    ValueError
        If the target is there, or the file is no CSV file, lacks a column, has no records, or a value that
        the channel does not know, or looks like a table of counts; or if both paths are one file, or a column
        that is kept has the name of the reports; or if the memo cannot be used, or a record has no id, or a
        number with decimals as its id.
    """
    path, target = Path(path), Path(target)
    check_outputs([target] if memo is None else [target, memo.path], [path])
    drawn = _Reports(private, path, memo, no_memo, (missing, missing_codes, decimal))
    done, removed = write_reports(
        ReportFile(target, keep, column, spreadsheet, force), path, drawn.columns, private.id,
        drawn.drawing(source), drawn,
    )  # fmt: skip
    return Privatized(done, drawn.designed_from, removed, drawn.again, drawn.unmatched, drawn.new_memo)


def privatize_frame(
    private: ReportingChannel,
    records: pd.DataFrame,
    *,
    memo: Memo | None = None,
    keep: Sequence[str] = (),
    column: str = REPORT,
    missing: str | Sequence[str] | None = None,
    missing_codes: Sequence[str] = (),
    decimal: str = ".",
    source: RandomSource | None = None,
    no_memo: bool = False,
) -> pd.DataFrame:
    """Return a report for every record of a data frame, with its index.

    Arguments and errors are those of `privatize_file`; the columns are those that it writes.
    """
    import pandas as pd

    heads = report_heads(keep, column)
    drawn = _Reports(private, records, memo, no_memo, (missing, missing_codes, decimal))
    texts = list[str]()
    with drawn.drawing(source) as own:
        for chunk in read_chunks(
            records, drawn.columns, on_counts=lambda name: _refuse_counts(records, name)
        ):
            texts += drawn(own, chunk)
    found = pd.DataFrame({column: texts, channel_column(column): private.id}, index=records.index)
    return pd.concat([records[list(keep)], found], axis=1)[heads]


class _Reports:
    """Draws reports of records, a chunk at a time, and counts what `Privatized` has."""

    def __init__(
        self,
        private: ReportingChannel,
        records: Records,
        memo: Memo | None,
        no_memo: bool,
        reading: tuple[str | Sequence[str] | None, Sequence[str], str],
    ) -> None:
        check_account(private, memo, no_memo)
        self.asked = asked_columns(private)
        person = None if memo is None else memo.column
        if person in self.asked:
            raise ValueError(
                f"The column {person!r} identifies people and is reported by the channel; it must be another"
                " column."
            )
        self.columns = list(self.asked) if person is None else [*self.asked, person]
        self._private, self._records, self._memo, self._person = private, records, memo, person
        self._codes, self._known = record_codes(private, records), private.public_counts
        self._made = translations_for(records, asked_values(private), *reading, private.missing)
        self._counts = None if self._known is None else np.zeros_like(self._known)
        self.again, self.unmatched, self.new_memo = 0, 0, False

    def drawing(self, source: RandomSource | None) -> AbstractContextManager[Draw]:
        """Return what provides the draws, of the memo if there is one."""
        if self._memo is None:
            return nullcontext(Draw(self._private, source))
        return self._memo.drawing(self._private)

    def __call__(self, own: Draw, chunk: pd.DataFrame) -> Iterable[str]:
        """Return the reports of some records."""
        rows = chunk.index.tolist()
        places = self._codes(labels_of(chunk, self.asked, self._made), rows)
        if self._counts is not None:
            self._counts += np.bincount(places[:, 0], minlength=self._counts.size)
        person = self._person
        ids = [] if person is None else ids_of(self._records, person, chunk[person].tolist(), rows)
        drawn, kept = own(ids, places)
        self.again, self.unmatched, self.new_memo = self.again + kept, own.unmatched, own.is_new
        return drawn

    @property
    def designed_from(self) -> bool:
        """Whether the records have just the counts that the channel was designed from."""
        return self._counts is not None and bool((self._counts == self._known).all())


@dataclass(frozen=True)
class ReportFile:
    """The CSV file that reports are written to, as in `privatize_file`."""

    path: Path
    keep: Sequence[str]
    column: str
    spreadsheet: bool
    force: bool


def write_reports(
    target: ReportFile,
    records: Path | str,
    asked: Sequence[str],
    channel: str,
    drawing: AbstractContextManager[Draw],
    draw: Callable[[Draw, pd.DataFrame], Iterable[str]],
) -> tuple[int, list[Path]]:
    """Write a report for every record of a file; return how many there are, and files as of `Privatized`.

    `drawing` ends before the reports are published: if a memo was not saved, they could be drawn twice. What
    it provides, and some records with the columns of `asked`, are given to `draw`, which returns a report for
    each. Errors are as in `privatize_file`.
    """
    keep, spreadsheet = target.keep, target.spreadsheet
    heads = report_heads(keep, target.column)
    if target.path.suffix.lower() in _NOT_WRITTEN:
        raise ValueError(
            f"Reports are written as CSV, and {target.path} would be taken for another kind of file."
        )
    done, records = 0, Path(records)
    check_unwritten(target.path, target.force)
    with replacing(target.path, OWNER if keep else USUAL) as partial, drawing as own:
        with open(partial, "w", encoding="utf-8", newline="") as stream:
            stream.write(BYTE_ORDER_MARK * spreadsheet)
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(map(without_formulas, heads) if spreadsheet else heads)
            for chunk in read_chunks(
                records,
                list(dict.fromkeys([*asked, *keep])),
                on_counts=lambda name: _refuse_counts(records, name),
            ):
                reports = draw(own, chunk)
                copied = [map(without_formulas, chunk[name]) if spreadsheet else chunk[name] for name in keep]
                writer.writerows(zip(*copied, reports, repeat(channel, len(chunk)), strict=True))
                done += len(chunk)
        check_unwritten(target.path, target.force)  # another run may have written it meanwhile
        removed = remove_abandoned(target.path)
    return done, removed


def report_heads(keep: Sequence[str], column: str) -> list[str]:
    """Return the columns of a file of reports; refuse equal ones."""
    heads = [*keep, column, channel_column(column)]
    if not column or len(set(heads)) < len(heads):
        raise ValueError(
            f"The columns of the reports would be {', '.join(heads)}; their names must differ, so a column"
            " that is kept needs another name than the reports and their channels."
        )
    return heads


def remark_on_files(target: str, removed: Sequence[Path], keep: Sequence[str], replaced: bool) -> None:
    """Warn of what the files of reports may tell that is not in the promise of one report.

    `removed` are files as of `Privatized`, and `replaced` says that another file was there, without a memo.
    """
    if replaced:
        remark(f"{target} was replaced; people who had a report in it have given two.")
    if removed:
        remark(
            f"an earlier run for {target} was killed. The reports that it left behind were removed:"
            f" {', '.join(map(str, removed))}. If they had been passed on, these people have reported twice."
        )
    if keep:
        remark(f"{target} contains {', '.join(keep)} of each record without any protection.")


def _refuse_counts(path: Records, name: str) -> NoReturn:
    """Refuse a file whose rows seem to be counts of records."""
    raise ValueError(
        f"{like_counts(path, name)} A report is drawn for every row, which must be the record of one person;"
        " if the rows are records, remove this column from the file."
    )
