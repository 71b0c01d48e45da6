"""Privatize the records of a file: a stream of records in, a stream of reports out."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ldpfrontier.atomic import remove_abandoned, replacing
from ldpfrontier.numerics.arguments import as_instance, check_callable
from ldpfrontier.practice.binning import translations_for
from ldpfrontier.practice.channel_file import PrivateChannel
from ldpfrontier.practice.counts import Codes
from ldpfrontier.practice.estimation import REPORT
from ldpfrontier.practice.outputs import check_outputs
from ldpfrontier.practice.records import Label, as_path, as_text, as_texts, read_chunks, said
from ldpfrontier.practice.sampling import Sampler, Source


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
    """Check that random bytes, if not those of the operating system, come from a function."""
    if source is not None:
        check_callable(source, "The source of random bytes")


@dataclass(frozen=True)
class Privatized:
    """What was done.

    Attributes
    ----------
    records : int
    designed_from : bool
        Whether the records have just the counts that the channel was designed from, as the same file has: the
        guarantee does not cover what is public in the channel file.
    removed : list of Path
        Unfinished files of runs for the same target that were killed: reports of the same records, which
        would have been a second report each if somebody had taken them for the first.
    """

    records: int
    designed_from: bool
    removed: list[Path]


def privatize_file(
    private: PrivateChannel,
    path: Path | str,
    target: Path | str,
    *,
    keep: Label = (),
    column: str = REPORT,
    missing: str | None = None,
    source: Source | None = None,
    progress: Callable[[int], None] | None = None,
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
        Of the reports.
    missing : str, optional
        A value of the channel that stands for missing ones.
    source : callable, optional
        Takes a number and returns that many random bytes; by default those of the operating system. Anything
        else is no protection.
    progress : callable, optional
        Called with the number of records done.

    Raises
    ------
    ValueError
        If the file is no CSV file, lacks a column, has no records, or a value that the channel does not know;
        or if both paths are one file, or a column that is kept has the name of the reports.
    """
    as_instance(private, PrivateChannel, "The channel")
    path, target = as_path(path), as_path(target)
    keep, column = as_texts(keep, "keep"), as_text(column, "column")
    check_source(source)
    check_outputs([target], [path])
    if column in keep:
        raise ValueError(f"The column {column!r} cannot be kept; the reports have this name.")
    if not column:
        raise ValueError("The column of the reports is ''; it needs a name.")
    if twice := [name for name in keep if keep.count(name) > 1]:
        raise ValueError(f"The column {twice[0]!r} is to be kept twice; allowed is once.")
    attributes = private.table.attributes
    codes = Codes(path, attributes, private.table.labels)
    sampler = Sampler(private.weights, source) if source else Sampler(private.weights)
    made = translations_for(path, attributes, private.table.labels, missing)
    cut = len(attributes)
    counts = np.zeros(len(private.weights), dtype=np.int64)
    done = 0
    with replacing(target) as partial, open(partial, "w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([*keep, column])
        for chunk in read_chunks(path, (*attributes, *keep), translations=made, progress=progress):
            inputs = codes([record[:cut] for record in chunk], done)
            counts += np.bincount(inputs, minlength=counts.size)
            reports = map(private.outputs.__getitem__, sampler.draw(inputs).tolist())
            writer.writerows((*record[cut:], report) for record, report in zip(chunk, reports, strict=True))
            done += len(chunk)
        removed = remove_abandoned(target)
    return Privatized(done, bool((counts == private.table.counts.ravel()).all()), removed)
