"""Records and counts in files, read as streams, without a numerical library.

Columns are read as texts, as they are: ``"01"`` and ``"1"`` are two values.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path

from ldpfrontier.survey.numerals import as_finite, as_whole, is_ambiguous_whole
from ldpfrontier.survey.reading import Digest, like_counts, read_columns, shown
from ldpfrontier.survey.settings import SETTINGS
from ldpfrontier.survey.values import check_totals, without_missing

#: A value of one attribute, or of several together: a text per column.
Label = tuple[str, ...]

#: Records held in memory at a time.
CHUNK = 16_384

#: Makes one value of another, such as a group of a number.
Translation = Callable[[str], str]


def said(label: Label) -> str:
    """Return a label as one text: its parts, separated by commas."""
    return ", ".join(label)


def as_path(value: object) -> Path:
    """Return the path of a file; anything but a text or a path is refused with a ValueError."""
    if not isinstance(value, (str, PathLike)):
        raise ValueError(f"The path is a {type(value).__name__}; it must be a text or a Path.")
    if "\0" in str(value):
        raise ValueError(f"The path is {str(value)!r}; it must not contain a NUL character.")
    return Path(value)


def as_text(value: object, name: str) -> str:
    """Return a text; a ValueError for anything else."""
    if not isinstance(value, str):
        raise ValueError(f"{name} is a {type(value).__name__}; it must be a text.")
    return value


def as_texts(values: object, name: str) -> Label:
    """Return texts in their order; a ValueError for anything else, such as one text alone."""
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise ValueError(f"{name} is a {type(values).__name__}; it must be a sequence of texts.")
    for value in values:
        if not isinstance(value, str):
            raise ValueError(f"{name} contains a {type(value).__name__}; it must be a sequence of texts.")
    return tuple(values)


def count_values(
    path: Path | str,
    sensitive: Sequence[str],
    useful: Sequence[str] = (),
    *,
    count: str | None = None,
    weighted: bool = False,
    translations: Mapping[str, Translation] | None = None,
    missing: str | None = None,
    digest: Digest | None = None,
    progress: Callable[[int], None] | None = None,
    remark: Callable[[str], None] | None = None,
) -> dict[Label, float]:
    """Count how often each combination of values occurs in a file.

    Parameters
    ----------
    path : path
        A CSV file in UTF-8 with a row of column names, or a Parquet file; ``-`` is the standard input.
    sensitive, useful : sequence of str
        Columns of the values, in their order.
    count : str, optional
        Column that says how often a row occurs: a whole number. Rows with the same values are added up, and a
        count of 0 makes values known. Without it every row occurs once.
    weighted : bool
        Whether that column has weights, which are numbers, 0 or more; else counts are whole numbers.
    translations : mapping of str to callable, optional
        What becomes of the values of a column.
    missing : str, optional
        What becomes of missing values, as `without_missing` accepts it; by default they are refused.
    digest : optional
        A hash, which is fed with the bytes of the file.
    progress : callable, optional
        Called with the number of rows read so far.
    remark : callable, optional
        Called with a sentence if the file looks like a table of counts, and is not read as one, or if records
        are left out.

    Raises
    ------
    ValueError
        If the file is no such file, lacks a column or a value, has no records, or more than 1000 combinations
        of a sensitive and a useful value, or if a count is no whole number, 0 or more.
    """
    sensitive = as_texts(sensitive, "The names of the sensitive columns")
    useful = as_texts(useful, "The names of the useful columns")
    if count is not None:
        as_text(count, "count")
    columns = (*sensitive, *useful)
    check_columns(sensitive, useful, count)
    found = Counter[Label]()
    amount: Callable[[Path | str, int, str], float] = weight_of if weighted else whole_count
    done = 0
    asked = columns if count is None else (*columns, count)

    def notice(name: str) -> None:
        if remark is not None and count is None:
            option = "" if name == "count" else f" --count {shlex.quote(name)}"
            remark(
                f"{like_counts(path, name)} Each row is taken for one record; --table"
                f" {shlex.quote(str(path))}{option} in the place of --data reads the counts."
            )

    for chunk in read_chunks(
        path, asked, translations=translations, digest=digest, progress=progress, on_counts=notice
    ):
        if count is None:
            found.update(chunk)
        else:
            for row, (*values, number) in enumerate(chunk, start=done + 1):
                found[tuple(values)] += amount(path, row, number)  # type: ignore[assignment]
        done += len(chunk)
        _check_number(path, sensitive, useful, found)
    check_totals(shown(path), columns, found)
    left, sentence = without_missing(shown(path), columns, found, missing)
    if remark is not None and sentence:
        remark(sentence)
    for label in left:
        _check_letters(path, columns, label)
    return left


def whole_count(path: Path | str, row: int, number: str) -> int:
    """Return the count of a row.

    Raises
    ------
    ValueError
        If it is no whole number.
    """
    whole = as_whole(number)
    if whole is not None:
        return whole
    if is_ambiguous_whole(number):
        raise ValueError(
            f"Row {row} of {shown(path)} has the count {number!r}, whose point may be a decimal point or may"
            " separate thousands; whole numbers must be written without a point."
        )
    raise ValueError(
        f"Row {row} of {shown(path)} has the count {number!r}; counts must be whole numbers, 0 or more, of at"
        " most 15 digits; only commas, spaces or apostrophes may separate thousands. If the numbers are"
        " weights and not people, name their column with --weight."
    )


def weight_of(path: Path | str, row: int, number: str) -> float:
    """Return the weight of a row.

    Raises
    ------
    ValueError
        If it is no number, 0 or more.
    """
    weight = as_finite(number)
    if weight is None or weight < 0:
        raise ValueError(
            f"Row {row} of {shown(path)} has the weight {number!r}; weights must be numbers, 0 or more, with"
            " a decimal point or comma, and without separators of thousands."
        )
    return weight


def read_chunks(
    path: Path | str,
    columns: Sequence[str],
    size: int = CHUNK,
    *,
    optional: Sequence[str] = (),
    translations: Mapping[str, Translation] | None = None,
    digest: Digest | None = None,
    progress: Callable[[int], None] | None = None,
    on_counts: Callable[[str], None] | None = None,
) -> Iterator[list[Label]]:
    """Yield the values of some columns of a file, a chunk of records at a time.

    Parameters
    ----------
    path : path
        A CSV file in UTF-8 with a row of column names, or a Parquet file; ``-`` is the standard input. Fields
        may be quoted; empty lines do not count.
    columns : sequence of str
        At least one.
    size : int
        Records in a chunk.
    optional : sequence of str
        Further columns, whose values are empty if the file does not have them.
    translations : mapping of str to callable, optional
        What becomes of the values of a column where it is named first.
    digest : optional
        A hash, which is fed with the bytes of the file.
    progress : callable, optional
        Called with the number of records yielded so far, when the next are asked for.
    on_counts : callable, optional
        Called with the name of the column of counts if the file looks like a table of counts.

    Raises
    ------
    ValueError
        If the file is neither, lacks a column or has it twice, has no records, or a record has another number
        of fields than there are columns.
    """
    done = 0
    columns = as_texts(columns, "The names of the columns")
    as_path(path)
    memories = {columns.index(name): _Memory(made) for name, made in (translations or {}).items()}
    for values in read_columns(path, columns, size, digest, on_counts, as_texts(optional, "optional")):
        chunk = list(zip(*_translated(values, memories), strict=True))
        done += len(chunk)
        yield chunk
        if progress:
            progress(done)


def _translated(values: list[Iterable[str]], memories: Mapping[int, _Memory]) -> list[Iterable[str]]:
    return [
        map(memories[place].__getitem__, texts) if place in memories else texts
        for place, texts in enumerate(values)
    ]


class _Memory(dict[str, str]):
    """A cache of translated values, since most columns contain few different values."""

    def __init__(self, translation: Translation) -> None:
        super().__init__()
        self._translation = translation

    def __missing__(self, value: str) -> str:
        if len(self) >= CHUNK:
            self.clear()
        return self.setdefault(value, self._translation(value))


def _check_letters(path: Path | str, columns: Sequence[str], label: Label) -> None:
    """Refuse a label with a character that no file of a channel may have.

    Raises
    ------
    ValueError
    """
    for name, value in zip(columns, label, strict=True):
        if "\0" in value:
            raise ValueError(
                f"{shown(path)} has {value!r} as a {name}; a value must not contain a NUL character."
            )


def check_columns(sensitive: Sequence[str], useful: Sequence[str], count: str | None) -> None:
    """Check that there is a sensitive column, and that no column is named twice or contains the counts.

    Raises
    ------
    ValueError
    """
    names = [*sensitive, *useful]
    if not sensitive:
        raise ValueError("No column is sensitive; at least one must be.")
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(
            f"The column {twice!r} is named twice; it may be named once, as sensitive or as useful."
        )
    if count in names:
        raise ValueError(
            f"The column {count!r} contains the counts; it must be neither sensitive nor useful."
        )


def numeric_hint(name: str, values: Iterable[str]) -> str:
    """Return a sentence for a column that has many values, nearly all of them numbers; nothing for others."""
    texts = set(values)
    numbers = sum(as_finite(text) is not None for text in texts)
    if numbers < SETTINGS.many_numbers or numbers < 0.9 * len(texts):
        return ""
    option = f"{name}=5"
    quoted = f"'{option}'" if re.search(r"[^\w=.-]", option) else option
    return f"{numbers} values of {name} are numbers: --bins {quoted} makes 5 groups of them."


def _check_number(
    path: Path | str, sensitive: Sequence[str], useful: Sequence[str], found: Mapping[Label, int]
) -> None:
    """Refuse a table with too many values as soon as this is noticed.

    Raises
    ------
    ValueError
    """
    cut, columns = len(sensitive), (*sensitive, *useful)
    rows, others = ({label[part] for label in found} for part in (slice(cut), slice(cut, None)))
    if len(rows) * len(others) <= SETTINGS.max_values:
        return
    values = {name: {label[place] for label in found} for place, name in enumerate(columns)}
    name = max(values, key=lambda name: len(values[name]))
    advice = numeric_hint(name, values[name]) or "Merge values into groups first."
    if len(columns) > 2:
        advice += (
            " Or design a channel for fewer columns each, with --against anyone: the levels of all reports of"
            " a person add up, and remain that of one report if every person uses one channel, drawn by lot."
        )
    if len(found) > SETTINGS.max_values:
        raise ValueError(
            f"{shown(path)} has more than {SETTINGS.max_values} combinations of {said(columns)} ({name} alone"
            f" has {len(values[name])} values or more). {advice}"
        )
    raise ValueError(
        f"{shown(path)} has {len(rows)} x {len(others)} sensitive and useful values or more; at most"
        f" {SETTINGS.max_values} pairs are allowed. {advice}"
    )
