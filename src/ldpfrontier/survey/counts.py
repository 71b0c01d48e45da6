"""Tables of counts of sensitive and useful values."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np

from ldpfrontier.numerics.arguments import are_counts, as_flag, as_instance, as_numbers, check_callable
from ldpfrontier.survey.binning import Bins, in_order, missing_name, translations_of
from ldpfrontier.survey.reading import close_name, has_weights, is_standard_input, shown
from ldpfrontier.survey.records import (
    Label,
    as_text,
    as_texts,
    check_columns,
    count_values,
    numeric_hint,
    said,
)
from ldpfrontier.survey.settings import SETTINGS
from ldpfrontier.survey.values import look_alikes, may_be_missing
from ldpfrontier.types import FloatArray, IntArray

#: Parts of a distribution that is known by weights.
SHARES = 1_000_000


@dataclass(frozen=True, eq=False)
class CountTable:
    """A table that says how often each pair of a sensitive and a useful value occurs.

    Attributes
    ----------
    sensitive, useful : tuple of str
        Columns that are sensitive, and those that are not; without the latter, all of a record is sensitive.
    rows, columns : tuple of tuple of str
        The values of either, sorted, a text per column; one empty value if nothing is useful.
    counts : ndarray of int, shape (rows, columns)
    source, sha256 : str
        Name and hash of the file that was counted.
    counted : bool
        Whether records were counted. Else the counts are parts of a distribution, and nothing is known of the
        number of people: those of weights, or 1 each without a file.

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
    counted: bool = True

    def __post_init__(self) -> None:
        for name in ("sensitive", "useful"):
            object.__setattr__(self, name, as_texts(getattr(self, name), f"The names of the {name} columns"))
        for name, columns in (("rows", self.sensitive), ("columns", self.useful)):
            object.__setattr__(self, name, _labels(getattr(self, name), name, len(columns)))
        as_instance(self.source, str, "The source")
        as_instance(self.sha256, str, "The hash")
        as_flag(self.counted, "counted")
        table = as_numbers(self.counts, "The table of counts")
        fits = table.shape == (len(self.rows), len(self.columns))
        # 2^53: as `RenyiBall.confidence`.
        if not fits or not are_counts(table):
            raise ValueError(
                f"The counts have shape {table.shape}; they must be whole numbers, 0 or more and 2^53 at most"
                f" together, for {len(self.rows)} x {len(self.columns)} pairs of values."
            )
        counts = table.astype(np.int64)
        if counts.sum() == 0:
            raise ValueError(f"{self.source or 'The table'} contains no records; at least one is needed.")
        if len(self.rows) == 1:
            raise ValueError(
                f"{said(self.sensitive)} has the single value {said(self.rows[0])!r}; at least two values are"
                " needed, since otherwise there is nothing to protect."
            )
        counts.flags.writeable = False
        object.__setattr__(self, "counts", counts)

    @property
    def attributes(self) -> tuple[str, ...]:
        """All columns, the sensitive ones first."""
        return self.sensitive + self.useful

    @property
    def labels(self) -> tuple[Label, ...]:
        """The values of a record, in row-major order: the inputs of a channel."""
        return tuple(row + column for row in self.rows for column in self.columns)

    @property
    def hints(self) -> tuple[str, ...]:
        """Hints: of columns of numbers, of values that look alike, of combinations without a record."""
        values = zip(*self.labels, strict=True)
        hints = [numeric_hint(name, texts) for name, texts in zip(self.attributes, values, strict=True)]
        hints += look_alikes(self.attributes, self.labels)
        if absent := [label for label, n in zip(self.labels, self.counts.flat, strict=True) if n == 0]:
            some = "; ".join(repr(said(label)) for label in absent[: SETTINGS.named_values])
            more = "; ..." if len(absent) > SETTINGS.named_values else ""
            hints.append(
                f"{len(absent)} of {len(self.labels)} combinations of {said(self.attributes)} have no record:"
                f" {some}{more}. They can be reported as well."
            )
        return tuple(filter(None, hints))

    @property
    def records(self) -> int:
        """The number of records that were counted."""
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
    weight: str | None = None,
    missing: str | None = None,
    missing_codes: Sequence[str] = (),
    bins: Mapping[str, Bins] | None = None,
    progress: Callable[[int], None] | None = None,
    remark: Callable[[str], None] | None = None,
) -> CountTable:
    """Count the records of a file.

    Parameters
    ----------
    path : path
        A CSV file in UTF-8 with a row of column names, whose fields are separated by commas, semicolons, tabs
        or vertical bars, or a Parquet file; ``-`` is the standard input.
    sensitive, useful : sequence of str
        Columns; several together are one attribute, whose values are all combinations of theirs, so that
        everybody can report.
    weight : str, optional
        Column of survey weights, numbers of 0 or more. The table has the shares of the weights then, in
        millionths, and not `counted`: how sure they are is not known, and no promise can rest on them.
    missing : str, optional
        What becomes of missing values, which are empty fields, ``nan``, and texts such as ``NA``, ``None``,
        ``?`` and ``-``: ``drop`` leaves these records out, ``keep`` takes the texts for answers, any other
        name takes their place; without it they are refused.
    missing_codes : sequence of str
        Codes for missing values, such as ``99``, or ``age=99`` for one column: they count as empty fields.
    bins : mapping of str to int or sequence of float, optional
        Columns of numbers that are put into groups: how many, of about as many records each, or the numbers
        at which they begin. A group is named by its interval, as in ``[18,40)``.
    progress : callable, optional
        Called with the number of records read so far.
    remark : callable, optional
        Called with a sentence if the file looks like a table of counts, has fewer groups than wanted, or
        records are left out.

    Raises
    ------
    ValueError
        If the file is no such file, lacks a column or a value, has no records, or more than 1000 combinations
        of values.
    """
    return _counted(
        path, sensitive, useful, None, weight,
        missing=missing, codes=missing_codes, bins=bins, progress=progress, remark=remark,
    )  # fmt: skip


def read_count_table(
    path: Path | str,
    sensitive: Sequence[str],
    useful: Sequence[str] = (),
    *,
    count: str = "count",
    weight: str | None = None,
    missing: str | None = None,
    missing_codes: Sequence[str] = (),
    bins: Mapping[str, Bins] | None = None,
    remark: Callable[[str], None] | None = None,
) -> CountTable:
    """Read a file of counts, with a row for every combination of values.

    Parameters
    ----------
    path : path
        Rows that differ in other columns only are added up; a count of 0 makes a value known.
    sensitive, useful : sequence of str
        As in `count_records`.
    count : str
        Column of the counts, of people and not of weights.
    weight, missing, missing_codes, bins
        As in `count_records`.
    remark : callable, optional
        Called with a sentence if a column has fewer groups than wanted, or records are left out.

    Raises
    ------
    ValueError
        As in `count_records`, and if a count is no whole number, 0 or more.
    """
    return _counted(
        path, sensitive, useful, count, weight, missing=missing, codes=missing_codes, bins=bins, remark=remark
    )


def _counted(
    path: Path | str,
    sensitive: Sequence[str],
    useful: Sequence[str],
    count: str | None,
    weight: str | None,
    *,
    missing: str | None,
    codes: Sequence[str],
    bins: Mapping[str, Bins] | None,
    progress: Callable[[int], None] | None = None,
    remark: Callable[[str], None] | None = None,
) -> CountTable:
    sensitive = as_texts(sensitive, "The names of the sensitive columns")
    useful = as_texts(useful, "The names of the useful columns")
    count = None if count is None else as_text(count, "count")
    if weight is not None:
        count = as_text(weight, "weight")
    elif count is not None and has_weights(count):
        raise ValueError(
            f"The column {count!r} has the name of weights, which do not tell how many people were asked;"
            f" --weight {count} reads them as weights. If they are numbers of people, rename the column."
        )
    weighted = weight is not None
    check_columns(sensitive, useful, count)
    missing = missing_name(missing)
    if remark is not None:
        check_callable(remark, "remark")
    made = translations_of(
        path, (*sensitive, *useful), bins=bins, count=count, weighted=weighted, codes=codes,
        progress=progress, remark=remark,
    )  # fmt: skip
    digest = hashlib.sha256()
    found = count_values(
        path, sensitive, useful, count=count, weighted=weighted, translations=made, missing=missing,
        digest=digest, progress=progress, remark=remark,
    )  # fmt: skip
    cut, asked = len(sensitive), (*sensitive, *useful)
    values = [{label[place] for label in found} for place in range(len(asked))]
    # Every combination has a row, with or without records: a person whom no row fits could not report.
    if (size := math.prod(map(len, values))) > SETTINGS.max_values:
        numbers = " x ".join(str(len(texts)) for texts in values)
        raise ValueError(
            f"The values of {said(asked)} have {numbers} = {size:,} combinations, and people may report all"
            f" of them; at most {SETTINGS.max_values} are allowed. Merge values into groups, or use fewer"
            " columns."
        )
    rows = tuple(sorted(itertools.product(*values[:cut]), key=in_order))
    columns = tuple(sorted(itertools.product(*values[cut:]), key=in_order))
    counts = np.array([[found.get(row + column, 0) for column in columns] for row in rows])
    if weighted and counts.sum() > 0:
        # A share that is above 0 stays so.
        counts = np.maximum(np.rint(counts / counts.sum() * SHARES), counts > 0).astype(np.int64)
    elif remark is not None and counts.sum() > SETTINGS.many_people:
        remark(
            f"the counts of {shown(path)} are taken for {counts.sum():,} people who were asked. If they are"
            " sums of weights, all promises that rest on the table are void; --weight reads weights."
        )
    return CountTable(
        sensitive, useful, rows, columns, counts, _name(path), digest.hexdigest(), counted=not weighted
    )


def _labels(values: Sequence[Label], name: str, parts: int) -> tuple[Label, ...]:
    """Return labels, each a text per column, no two alike; a ValueError for anything else."""
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise ValueError(f"{name} is a {type(values).__name__}; it must be a sequence of labels.")
    labels = tuple(as_texts(value, f"A label of {name}") for value in values)
    if wrong := [label for label in labels if len(label) != parts]:
        raise ValueError(f"{name} has the label {wrong[0]!r}; it must have {parts} texts, one per column.")
    if twice := [label for label, times in Counter(labels).items() if times > 1]:
        raise ValueError(f"{name} contains the label {twice[0]!r} twice; every label must occur once.")
    return labels


def _name(path: Path | str) -> str:
    """Return the name of a file as a text that can be written, whatever its bytes are."""
    if is_standard_input(path):
        return shown(path)
    return Path(path).name.encode("utf-8", "backslashreplace").decode("utf-8")


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
        for place, (name, value) in enumerate(zip(self._columns, label, strict=True)):
            known = sorted({other[place] for other in self._numbers})
            if value not in known:
                some = ", ".join(map(repr, known[:6])) + (", ..." if len(known) > 6 else "")
                if may_be_missing(value):
                    raise ValueError(
                        f"Record {record} of {shown(self._path)} has {value!r} as {name}; missing values must"
                        " be left out of the file, unless the channel was designed with a name for them"
                        f" (--missing NAME); its values are {some}."
                    )
                raise ValueError(
                    f"Record {record} of {shown(self._path)} has {value!r} as its {name}; the channel accepts"
                    f" {some}.{close_name(value, known)}"
                )
        raise ValueError(
            f"Record {record} of {shown(self._path)} is {said(label)!r}. The channel has no row for this"
            " combination; design it again, so that all combinations can be reported."
        )
