"""Tables of counts by name, which ``catalogue.yaml`` and the configuration list.

Needs no numerical library, so that a workflow can be planned without one.
"""

from __future__ import annotations

import csv
import hashlib
import importlib
import io
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from reproduction.base.entries import from_entry, parse_yaml

CATALOGUE = Path(__file__).with_name("catalogue.yaml")
COLUMNS = ("attribute_a", "attribute_b", "value_a", "value_b", "count")


class DataError(ValueError):
    """The error for data that differ from those of the catalogue, or are incomplete."""


@dataclass(frozen=True)
class DataSet:
    """An entry of the catalogue.

    `counts` is the name of the file of pair counts that the project ships, and `sha256` that of its content,
    the same for every source of the data; `loader` is ``module:function`` of this folder, or empty.
    """

    name: str
    title: str
    citation: str
    licence: str
    counts: str
    sha256: str
    attributes: tuple[str, ...]
    doi: str = ""
    loader: str = ""

    @property
    def loader_name(self) -> str:
        """The loader as ``module:function``, to import it; the shipped counts are read by this module."""
        return f"{__package__}.{self.loader}" if self.loader else f"{__name__}:DataSet"

    def load(self) -> Callable[..., tuple[str, dict[str, Any]]]:
        """Return the function that gets the counts as the text of their file, and where they come from.

        Its arguments are the section of the configuration with the name of the data set, and ``bundled``, the
        path of the file that the project ships.
        """
        if not self.loader:
            return self._load_bundled
        module, _, name = self.loader.partition(":")
        function: Callable[..., tuple[str, dict[str, Any]]] = getattr(
            importlib.import_module(f"{__package__}.{module}"), name
        )
        return function

    def _load_bundled(self, *, bundled: Path) -> tuple[str, dict[str, Any]]:
        text = self.read(bundled)
        return text, {"requested": "bundled", "used": "bundled", "counts_sha256": self.sha256}

    def path(self, resources: Path) -> Path:
        """Return the path of the file of counts, with the folder of what the project ships."""
        return resources / self.counts

    def read(self, path: Path | str) -> str:
        """Return the text of a file of pair counts; one that is not that of the data set is refused."""
        path = Path(path)
        if not path.is_file():
            raise DataError(f"{path} is not a file; a CSV table of the {self.name} pair counts is needed.")
        text = path.read_text(encoding="utf-8", errors="replace")
        self.check(text, str(path))
        return text

    def check(self, text: str, origin: str) -> None:
        """Refuse pair counts that are not those of the data set, with both hashes."""
        digest = hashlib.sha256(text.encode()).hexdigest()
        if digest != self.sha256:
            raise DataError(
                f"The pair counts of {origin} have the sha256 {digest}; "
                f"those of {self.name} have {self.sha256}."
            )

    def contingency(self, text: str, sensitive: str, useful: str) -> Contingency:
        """Return the table of two different attributes, in either order, from the text of all pair counts.

        A text that lacks the pair, or a cell of it, or has one twice, or a count that is no whole number, is
        refused.
        """
        for name in (sensitive, useful):
            if name not in self.attributes:
                raise ValueError(
                    f"{name!r} is not an attribute of {self.name}; allowed are {_join(self.attributes)}."
                )
        if sensitive == useful:
            raise ValueError(
                f"The sensitive and the useful attribute are both {useful!r}; "
                f"allowed are two different ones of {_join(self.attributes)}."
            )
        counts, cells = f"The pair counts of {self.name}", dict[tuple[str, str], int]()
        rows = csv.DictReader(io.StringIO(text))
        if missing := [name for name in COLUMNS if name not in (rows.fieldnames or ())]:
            raise DataError(f"{counts} lack the columns {', '.join(missing)}.")
        for row in rows:
            pair, cell = (row["attribute_a"], row["attribute_b"]), (row["value_a"], row["value_b"])
            if pair not in ((sensitive, useful), (useful, sensitive)):
                continue
            cell = cell if pair == (sensitive, useful) else cell[::-1]
            if cell in cells or not (row["count"] or "").isdecimal():
                raise DataError(
                    f"{counts} repeat a pair of values in line {rows.line_num}, or have no number there."
                )
            cells[cell] = int(row["count"])
        labels, columns = (tuple(sorted({cell[i] for cell in cells})) for i in (0, 1))
        if not cells or len(cells) < len(labels) * len(columns):
            raise DataError(
                f"{counts} have {len(cells)} pairs of values of {sensitive} and {useful}; all"
                f" {len(labels)} x {len(columns)} are needed, with 0 for one that does not occur."
            )
        return Contingency(labels, columns, tuple(tuple(cells[r, c] for c in columns) for r in labels))


@dataclass(frozen=True)
class OwnTable(DataSet):
    """A table of the user's own: an entry of ``data`` of the configuration, with two attributes.

    `count` is the column of the counts, None for a file of records. `missing` says what becomes of missing
    values: ``drop`` leaves their rows out, ``keep`` takes texts such as NA for values, and any other name
    takes their place; None refuses them.
    """

    count: str | None = "count"
    missing: str | None = None

    @classmethod
    def from_entry(cls, name: str, entry: Mapping[str, Any]) -> OwnTable:
        """Make the table of an entry."""
        return cls(
            name=name,
            title=name,
            citation="",
            licence="",
            counts=entry["file"],
            sha256="",
            attributes=(entry["sensitive"], entry["useful"]),
            count=entry.get("count", "count"),
            missing=entry.get("missing"),
        )

    def path(self, resources: Path) -> Path:
        """Return the path of the user's file, relative to the working directory."""
        return Path(self.counts)

    def read(self, path: Path | str) -> str:
        """Count the user's file, and return the counts as the text of a file of pair counts."""
        a, b = self.attributes
        try:
            found = _count_values(Path(path), a, b, self.count, self.missing)
        except OSError as problem:
            raise DataError(f"{path}: {problem.strerror}.") from None
        except ValueError as problem:
            raise DataError(str(problem)) from None
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        rows, columns = (sorted({label[i] for label in found}) for i in (0, 1))
        writer.writerows([a, b, r, c, found.get((r, c), 0)] for r in rows for c in columns)
        return stream.getvalue()

    def _load_bundled(self, *, bundled: Path) -> tuple[str, dict[str, Any]]:
        text = self.read(bundled)
        source = hashlib.sha256(Path(bundled).read_bytes()).hexdigest()
        counts = hashlib.sha256(text.encode()).hexdigest()
        return text, {"used": str(bundled), "file_sha256": source, "counts_sha256": counts}


#: Texts that stand for missing values, or may do so.
_MISSING = {"", "nan", "na", "n/a", "null", "none", "?", "-", "."}


def _count_values(
    path: Path, a: str, b: str, count: str | None, missing: str | None
) -> dict[tuple[str, str], int]:
    """Count the pairs of values in a CSV file with commas; a ValueError says what is wrong with it."""
    found = Counter[tuple[str, str]]()
    with open(path, encoding="utf-8-sig", newline="") as stream:
        rows = csv.DictReader(stream, strict=True)
        for name in filter(None, (a, b, count)):
            if name not in (header := rows.fieldnames or []):
                raise ValueError(
                    f"The column {name!r} is not in {path}; its columns are {', '.join(header)}."
                )
        for number, row in enumerate(rows, start=1):
            values = [row[name] or "" for name in (a, b)]
            lacking = [missing != "keep" and value.strip().lower() in _MISSING for value in values]
            if missing is None and any(lacking):
                value, name = next((v, n) for v, n, no in zip(values, (a, b), lacking, strict=True) if no)
                raise ValueError(
                    f"Row {number} of {path} has {value!r} as {name}; missing values must be given a name"
                    " (missing: unknown), left out (missing: drop) or kept (missing: keep)."
                )
            times = "1" if count is None else (row[count] or "").strip()
            if not times.isdecimal():
                raise ValueError(
                    f"Row {number} of {path} has the count {times!r}; counts must be whole numbers."
                )
            if not (missing == "drop" and any(lacking)):
                first, second = (
                    str(missing) if no else value for no, value in zip(lacking, values, strict=True)
                )
                found[first, second] += int(times)
    if not found.total():
        raise ValueError(f"{path} has no records; at least one is needed.")
    return dict(found)


@dataclass(frozen=True)
class Contingency:
    """A table of counts, shape (a1, a2), with the sorted values of the sensitive and the useful attribute."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]

    def text(self) -> str:
        """Return the table as CSV, row labels first; equal tables give equal texts."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["", *self.columns])
        writer.writerows([label, *row] for label, row in zip(self.rows, self.counts, strict=True))
        return stream.getvalue()


@cache
def catalogue() -> dict[str, DataSet]:
    """Return the data sets by name."""
    entries = parse_yaml(CATALOGUE.read_text(encoding="utf-8"))
    return {
        name: from_entry(DataSet, entry, f"{name} in {CATALOGUE}", DataError, name=name)
        for name, entry in entries.items()
    }


def data_set(name: str, configuration: Mapping[str, Any] | None = None) -> DataSet:
    """Return a data set of the catalogue or of the ``data`` of a configuration; refuse an unknown name."""
    known = {**own_tables(configuration or {}), **catalogue()}
    if name not in known:
        raise ValueError(f"{name!r} is not a data set; allowed are {_join(known)}.")
    return known[name]


def own_tables(configuration: Mapping[str, Any]) -> dict[str, OwnTable]:
    """Return the user's own tables by name."""
    return {name: OwnTable.from_entry(name, entry) for name, entry in configuration.get("data", {}).items()}


def attributes(data: str, configuration: Mapping[str, Any] | None = None) -> tuple[str, ...]:
    """Return the attributes of a data set; arguments and errors as of `data_set`."""
    return data_set(data, configuration).attributes


def _join(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)
