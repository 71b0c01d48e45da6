"""Tables of counts of sensitive and useful values, from files."""

from __future__ import annotations

import itertools
import math
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ldpfrontier.base.types import FloatArray, IntArray
from ldpsurvey.base.layout import counted, remark
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.base.tabular import Tabular, frame_of
from ldpsurvey.data.groups import Bins, ValueOrder, translations_of
from ldpsurvey.data.reading import (
    Label,
    Records,
    as_whole,
    digest_of,
    has_weights,
    is_standard_input,
    labels_of,
    like_counts,
    read_chunks,
    said,
    shown,
)
from ldpsurvey.data.values import (
    Missing,
    check_totals,
    first_rows,
    look_alikes,
    missing_rules,
    unused_codes,
    without_missing,
)
from ldpsurvey.data.weights import Evidence, clusters_of, weight_of

if TYPE_CHECKING:
    import pandas as pd

#: Parts of a distribution that is known by weights.
SHARES = 1_000_000

#: What helps if a table has too many values.
_FEWER = (
    "Merge values into groups (of numbers with --bins), use fewer columns, or ask each person some of the"
    " questions (--precise pairs, with all columns in --sensitive)."
)


@dataclass(frozen=True, eq=False, repr=False)
class CountTable(Tabular):
    """A table that says how often each pair of a sensitive and a useful value occurs.

    Attributes
    ----------
    sensitive, useful : tuple of str
        Columns that are sensitive, and those that are not; without the latter, all of a record is sensitive.
    rows, columns : tuple of tuple of str
        The values of either, a text per column, in the order of the file if it has one, else sorted; one
        empty value if nothing is useful.
    counts : ndarray of int, shape (rows, columns)
    source, sha256 : str
        Name and hash of the file that was counted.
    counted : bool
        Whether records were counted. Else the counts are parts of a distribution: those of weights, or 1 each
        without a file.
    effective : float or None
        For how many people drawn at random the shares of a weighted or clustered sample count
        (`data.weights`); None if not known.
    freedom : float or None
        The degrees of freedom of that number if it was estimated from the sample; None if it was stated.
    doubt : str
        Why no promise can rest on the shares, although there is a sample; they have no number then.
    assumed : ndarray, shape (rows, columns), optional
        The distribution of those who will report, if it is another one.
    missing : mapping of str to Missing
        What was missing in columns, and what became of it, where it was said.

    Raises
    ------
    ValueError
        If the labels do not fit the columns or are not all different, the counts do not fit the labels, or
        there is nothing to hide, or no record.
    """

    sensitive: tuple[str, ...]
    useful: tuple[str, ...]
    rows: tuple[Label, ...]
    columns: tuple[Label, ...]
    counts: IntArray
    source: str = ""
    sha256: str = ""
    counted: bool = True
    effective: float | None = None
    freedom: float | None = None
    doubt: str = ""
    assumed: FloatArray | None = None
    missing: Mapping[str, Missing] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, parts in (
            ("sensitive", ()),
            ("useful", ()),
            ("rows", self.sensitive),
            ("columns", self.useful),
        ):
            texts = tuple(getattr(self, name))
            if name in ("rows", "columns"):
                texts = tuple(map(tuple, texts))
                wrong = [label for label in texts if len(label) != len(parts)]
                if wrong or len(set(texts)) < len(texts):
                    raise ValueError(
                        f"{name} has labels that are alike, or none of {len(parts)} texts: {wrong or texts}."
                    )
            object.__setattr__(self, name, texts)
        counts = np.array(self.counts)
        whole = counts.dtype.kind in "iuf" and bool((counts >= 0).all() and (counts == np.rint(counts)).all())
        # 2^53: as `RenyiBall.confidence`.
        if not whole or counts.shape != (len(self.rows), len(self.columns)) or counts.sum() > 2**53:
            raise ValueError(
                f"The counts have shape {counts.shape}; they must be whole numbers, 0 or more and 2^53 at"
                f" most together, for {len(self.rows)} x {len(self.columns)} pairs of values."
            )
        counts = counts.astype(np.int64)
        if counts.sum() == 0:
            raise ValueError(f"{self.source or 'The table'} contains no records; at least one is needed.")
        if len(self.rows) == 1:
            raise ValueError(
                f"{said(self.sensitive)} has the single value {said(self.rows[0])!r}; at least two values are"
                " needed, since otherwise there is nothing to protect."
            )
        if self.effective is not None and (self.counted or not 1.0 <= self.effective <= 2**53):
            raise ValueError(
                f"The shares count for {self.effective} people; they must be weighted ones, for 1 or more."
            )
        counts.flags.writeable = False
        object.__setattr__(self, "counts", counts)
        if self.freedom is not None and not self.doubt and not counts.all():
            empty = said(self.labels[int(np.argmin(counts))])
            doubt = f"{self.source} has nobody with {empty!r}; each combination of values needs people."
            object.__setattr__(self, "doubt", doubt)
        if self.doubt:
            object.__setattr__(self, "effective", None)
            object.__setattr__(self, "freedom", None)
        elif self.freedom is not None and not self.freedom > 0.0:
            raise ValueError(f"The shares have {self.freedom} degrees of freedom; they must be above 0.")

    def to_frame(self) -> pd.DataFrame:
        """Return the counts of all pairs of values, a row each."""
        rows = zip(self.labels, self.counts.ravel().tolist(), strict=True)
        names = self.attributes
        return frame_of({**dict(zip(names, label, strict=True)), "count": count} for label, count in rows)

    def _about(self) -> str:
        return f"{counted(self.counts.size, 'combination')} of values of {said(self.attributes)}"

    @property
    def sampled(self) -> bool:
        """Whether it is known how sure the shares are, so that a promise can rest on them."""
        return self.counted or self.effective is not None

    @property
    def attributes(self) -> tuple[str, ...]:
        """All columns, the sensitive ones first."""
        return self.sensitive + self.useful

    @property
    def values(self) -> dict[str, Label]:
        """The values of each column, in their order."""
        parts = zip(*self.labels, strict=True)
        return {name: tuple(dict.fromkeys(some)) for name, some in zip(self.attributes, parts, strict=True)}

    @property
    def labels(self) -> tuple[Label, ...]:
        """The values of a record, in row-major order: the inputs of a channel."""
        return tuple(row + column for row in self.rows for column in self.columns)

    @property
    def hints(self) -> tuple[str, ...]:
        """Hints of values that look alike, and of combinations without a record."""
        hints = look_alikes(self.attributes, self.labels)
        if absent := [said(label) for label, n in zip(self.labels, self.counts.flat, strict=True) if n == 0]:
            some = [*map(repr, absent[: SETTINGS.named_values]), "..."][: len(absent)]
            hints.append(
                f"{len(absent)} of {len(self.labels)} combinations of {said(self.attributes)} have no record:"
                f" {'; '.join(some)}. They can be reported as well."
            )
        return tuple(hints)

    @property
    def records(self) -> int:
        """The number of records that were counted."""
        return int(self.counts.sum())

    @property
    def most_frequent(self) -> int:
        """The place of the most frequent useful value."""
        return int(self.counts.sum(axis=0).argmax())

    @property
    def distribution(self) -> FloatArray:
        """The relative frequencies, shape (rows, columns)."""
        return np.asarray(self.counts / self.counts.sum())

    @property
    def expected(self) -> FloatArray:
        """A positive distribution near what is expected: with half a record more everywhere, or assumed."""
        if self.assumed is not None:
            positive = np.maximum(self.assumed, SETTINGS.least_expected / self.counts.size)
            return np.asarray(positive / positive.sum())
        return np.asarray((self.counts + 0.5) / (self.records + 0.5 * self.counts.size))


def count_records(
    path: Records,
    sensitive: Sequence[str],
    useful: Sequence[str] = (),
    *,
    count: str | None = None,
    weight: str | None = None,
    cluster: str | None = None,
    totals: bool = False,
    effective: float | None = None,
    missing: str | Sequence[str] | None = None,
    missing_codes: Sequence[str] = (),
    bins: Mapping[str, Bins] | None = None,
    decimal: str = ".",
) -> CountTable:
    """Count the records of a file.

    Parameters
    ----------
    path : path or DataFrame
        A file, as of `read_chunks`, or a data frame of pandas.
    sensitive, useful : sequence of str
        Columns; several together are one attribute, whose values are all combinations of theirs, so that
        everybody can report.
    count : str, optional
        Column that says how many people a row stands for. Rows with the same values are added up, and a count
        of 0 makes values known. Without it every row is one record.
    weight : str, optional
        Column of survey weights, numbers of 0 or more. The table has the shares of the weights then, in
        millionths.
    cluster : str, optional
        Column of the clusters, such as villages or schools, that people were drawn in; with a row for each
        cluster and combination, of totals, too.
    totals : bool
        Whether weights are totals of several people. Otherwise a row is a person. Weights of people and
        clusters tell how sure the shares are (`data.weights`).
    effective : float, optional
        For how many people drawn at random the shares count, if less than the sample tells, or if it has
        nothing but totals, on which no promise can rest otherwise.
    missing : str or sequence of str, optional
        What becomes of missing values, which are empty fields, ``nan``, and texts such as ``NA``, ``None``,
        ``?`` and ``-``: ``drop`` leaves these records out, ``keep`` takes the texts for answers, any other
        name takes their place; without it they are refused. ``COLUMN=drop`` and so on is for one column, and
        ``keep,drop`` or ``keep,unknown`` is for columns with such answers whose empty fields are missing.
    missing_codes : sequence of str
        Codes for missing values, such as ``99``, or ``age=99`` for one column: they count as empty fields.
    bins : mapping of str to int or sequence of float, optional
        Columns of numbers that are put into groups: how many, of about as many records each, or the numbers
        at which they begin. A group is named by its interval, as in ``[18,40)``.
    decimal : {".", ","}
        What the decimals of numbers follow.

    Warns
    -----
    Remark
        If the file looks like a table of counts, has fewer groups than wanted, or records are left out, or
        the counts are many.

    Raises
    ------
    ValueError
        If the file is no such file, lacks a column or a value, has no records, a count is no whole number, or
        there are more than 1000 combinations of values.
    """
    if count is not None and has_weights(count):
        raise ValueError(
            f"The column {count!r} has the name of weights, which do not tell how many people were asked;"
            f" --weight {count} reads them as weights. If they are numbers of people, rename the column."
        )
    numbers = count if weight is None else weight
    columns = check_columns(sensitive, useful, numbers)
    others = [name for name in (numbers, cluster) if name is not None]
    rules = missing_rules(missing, missing_codes, columns)

    def amount(row: int, text: str) -> float:
        if weight is None:
            return whole_count(path, str(count), row, text)
        return weight_of(path, weight, row, text, decimal)

    amounts = None if numbers is None else (numbers, amount)
    made = translations_of(path, bins or {}, rules, decimal, amounts)
    found, evidence, order = Counter[Label](), Evidence[Label](), ValueOrder(columns)
    places, records = dict[Label, int](), Counter[Label]()
    for chunk in read_chunks(
        path, (*columns, *others), on_counts=partial(notice_counts, path) if numbers is None else None
    ):
        labels = labels_of(chunk, columns, made)
        order.read(chunk, labels)
        places |= first_rows(chunk, labels, places)
        if numbers is None:
            times = [1.0] * len(labels)
            found.update(labels)
        else:
            times = [amount(row, text) for row, text in zip(chunk.index, chunk[numbers], strict=True)]
            for label, number in zip(labels, times, strict=True):
                found[label] += number  # type: ignore[assignment]
            if weight is not None:
                records.update(labels)
        if weight is not None or cluster is not None:
            evidence.add(labels, times, [] if cluster is None else clusters_of(path, chunk[cluster]))
        if len(found) > SETTINGS.max_values:  # noticed before a column of ids fills the memory
            size, name = max((len({label[i] for label in found}), name) for i, name in enumerate(columns))
            raise ValueError(
                f"{shown(path)} has more than {SETTINGS.max_values} combinations of values, {name} alone"
                f" {size} values or more; at most {SETTINGS.max_values} are allowed. {_FEWER}"
            )
    check_totals(shown(path), columns, found)
    left, sentence = without_missing(shown(path), found, rules, places, records or None)
    given = dict(zip(columns, map(set, zip(*found, strict=True)), strict=True))
    for said_of in filter(None, [sentence, *unused_codes(shown(path), missing_codes, given)]):
        remark(said_of)
    # Every combination has a row, with or without records: a person whom no row fits could not report.
    values = [order(name, texts) for name, texts in zip(columns, zip(*left, strict=True), strict=True)]
    cut = len(sensitive)
    rows, answers = combinations_of(columns, values[:cut], values[cut:])
    counts = np.array([[left.get(row + other, 0) for other in answers] for row in rows])
    freedom, doubt = None, ""
    if counts.sum() > 0 and (cluster is not None or (weight is not None and not totals)):
        sure = evidence.renamed(
            lambda cell, some: without_missing(shown(path), {some: 0, cell: 1}, rules)[0], left
        ).sureness(lambda cell: repr(said(cell)), weighted=weight is not None, persons=not totals)
        effective, freedom = min(effective or sure.people, sure.people), sure.freedom
        doubt = sure.doubt and f"{shown(path)} has {sure.doubt}."
    if weight is not None and counts.sum() > 0:
        # A share that is above 0 stays so.
        counts = np.maximum(np.rint(counts / counts.sum() * SHARES), counts > 0).astype(np.int64)
    elif count is not None and counts.sum() > SETTINGS.many_people:
        remark(
            f"the confidence is that for {counts.sum():,} people, the sum of the column {count!r}. If these"
            f" are totals of weights, give --weight {shlex.quote(count)} in the place of the counts, with"
            " --people and --design-effect."
        )
    return CountTable(
        tuple(sensitive), tuple(useful), rows, answers, counts, _name(path), digest_of(path),
        weight is cluster is None, effective, freedom, doubt,
        missing={name: rule for name, rule in rules.items() if rule != Missing()},
    )  # fmt: skip


def notice_counts(path: Records, name: str) -> None:
    """Warn that a file whose rows are taken for records looks like a table of counts."""
    option = "" if name == "count" else f" --count {shlex.quote(name)}"
    remark(
        f"{like_counts(path, name)} Each row is taken for one record; --table"
        f" {shlex.quote(shown(path))}{option} in the place of --data reads the counts."
    )


def whole_count(path: Records, column: str, row: int, text: str) -> int:
    """Return a count of a row, a whole number; a `ValueError` if the text is none."""
    if (whole := as_whole(text)) is None:
        raise ValueError(
            f"Row {row} of {shown(path)} has the count {text!r} in the column {column!r}; counts must be"
            " whole numbers, 0 or more, of at most 15 digits, and without separators of thousands. If the"
            " numbers are weights and not people, name their column with --weight."
        )
    return whole


def _name(path: Records) -> str:
    """Return the name of a file as a text that can be written, whatever its bytes are."""
    if not isinstance(path, (str, Path)) or is_standard_input(path):
        return shown(path)
    return Path(path).name.encode("utf-8", "backslashreplace").decode("utf-8")


def check_columns(sensitive: Sequence[str], useful: Sequence[str], numbers: str | None = None) -> Label:
    """Return all columns; one must be sensitive, none named twice, and none that of the counts."""
    names = (*sensitive, *useful)
    if isinstance(sensitive, str) or isinstance(useful, str) or not sensitive:
        raise ValueError("The sensitive and the useful columns are lists of names, with a sensitive one.")
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(
            f"The column {twice!r} is named twice; it may be named once, as sensitive or as useful."
        )
    if numbers in names:
        raise ValueError(
            f"The column {numbers!r} contains the counts; it must be neither sensitive nor useful."
        )
    return names


def combinations_of(
    columns: Label, *parts: Sequence[Sequence[str]]
) -> tuple[tuple[Label, ...], tuple[Label, ...]]:
    """Return all combinations of the values of the sensitive columns, and of the useful ones."""
    sizes = [len(texts) for values in parts for texts in values]
    if (size := math.prod(sizes)) > SETTINGS.max_values:
        raise ValueError(
            f"The values of {said(columns)} have {' x '.join(map(str, sizes))} = {size:,} combinations, and"
            f" people may report all of them; at most {SETTINGS.max_values} are allowed. {_FEWER}"
        )
    rows, others = (tuple(itertools.product(*values)) for values in parts)
    return rows, others
