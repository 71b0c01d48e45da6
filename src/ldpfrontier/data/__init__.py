"""Tables of counts by name: ``catalogue.yaml`` says what there is.

Needs no numerical library, so that a workflow can be planned without one.
"""

from __future__ import annotations

import csv
import hashlib
import importlib
import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

COLUMNS = ("attribute_a", "attribute_b", "value_a", "value_b", "count")


class DataError(ValueError):
    """Data that are not those of the catalogue, or not all of them."""


@dataclass(frozen=True)
class DataSet:
    """An entry of the catalogue.

    Attributes
    ----------
    counts : str
        Name of the file of pair counts that the project ships.
    sha256 : str
        Of that file; every source of the data must give the same.
    attributes : tuple of str
    loader : str
        ``module:function`` of this folder, or empty.
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
        return f"{__name__}.{self.loader}" if self.loader else f"{__name__}:DataSet"

    def load(self) -> Callable[..., tuple[str, dict[str, Any]]]:
        """Return the function that gets the counts as the text of their file, and where they come from.

        Its arguments are the section of the configuration with the name of the data set, and ``bundled``, the
        path of the file that the project ships.
        """
        if not self.loader:
            return self._bundled
        module, _, name = self.loader.partition(":")
        function: Callable[..., tuple[str, dict[str, Any]]] = getattr(
            importlib.import_module(f"{__name__}.{module}"), name
        )
        return function

    def _bundled(self, *, bundled: Path) -> tuple[str, dict[str, Any]]:
        text = self.read(bundled)
        return text, {"requested": "bundled", "used": "bundled", "counts_sha256": self.sha256}

    def read(self, path: Path | str) -> str:
        """Return the text of a file of pair counts.

        Raises
        ------
        DataError
            If the file does not exist or is not that of the data set.
        """
        path = Path(path)
        if not path.is_file():
            raise DataError(f"{path} is not a file; a CSV table of the {self.name} pair counts is needed.")
        text = path.read_text(encoding="utf-8", errors="replace")
        self.check(text, str(path))
        return text

    def check(self, text: str, origin: str) -> None:
        """Refuse pair counts that are not those of the data set.

        Raises
        ------
        DataError
            With both hashes.
        """
        digest = hashlib.sha256(text.encode()).hexdigest()
        if digest != self.sha256:
            raise DataError(
                f"The pair counts of {origin} have the sha256 {digest}; "
                f"those of {self.name} have {self.sha256}."
            )

    def contingency(self, text: str, sensitive: str, public: str) -> Contingency:
        """Cut the table of one pair of attributes out of the text of all pair counts.

        Parameters
        ----------
        text : str
            As `read` returns it.
        sensitive, public : str
            Two different attributes, in either order.

        Raises
        ------
        ValueError
            If an attribute is unknown or both are the same.
        """
        for name in (sensitive, public):
            if name not in self.attributes:
                raise ValueError(
                    f"{name!r} is not an attribute of {self.name}; allowed are {_listed(self.attributes)}."
                )
        if sensitive == public:
            raise ValueError(
                f"The sensitive and the public attribute are both {public!r}; "
                f"allowed are two different ones of {_listed(self.attributes)}."
            )
        cells: dict[tuple[str, str], int] = {}
        for row in csv.DictReader(io.StringIO(text)):
            if (row["attribute_a"], row["attribute_b"]) == (sensitive, public):
                cells[row["value_a"], row["value_b"]] = int(row["count"])
            elif (row["attribute_a"], row["attribute_b"]) == (public, sensitive):
                cells[row["value_b"], row["value_a"]] = int(row["count"])
        rows, columns = (tuple(sorted({cell[i] for cell in cells})) for i in (0, 1))
        return Contingency(rows, columns, tuple(tuple(cells[r, c] for c in columns) for r in rows))


@dataclass(frozen=True)
class Contingency:
    """A table of counts with its labels, sorted.

    Attributes
    ----------
    rows, columns : tuple of str
        The values of the sensitive and of the public attribute.
    counts : tuple of tuple of int, shape (a1, a2)
    """

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

    def digest(self) -> str:
        """Return the SHA-256 of the text, 64 hexadecimal digits."""
        return hashlib.sha256(self.text().encode()).hexdigest()


@cache
def catalogue() -> dict[str, DataSet]:
    """Return the data sets by name."""
    entries = yaml.safe_load(Path(__file__).with_name("catalogue.yaml").read_text(encoding="utf-8"))
    return {
        name: DataSet(name=name, **{**entry, "attributes": tuple(entry["attributes"])})
        for name, entry in entries.items()
    }


def data_set(name: str) -> DataSet:
    """Return a data set.

    Raises
    ------
    ValueError
        If there is none of that name.
    """
    if name not in catalogue():
        raise ValueError(f"{name!r} is not a data set; allowed are {_listed(catalogue())}.")
    return catalogue()[name]


def attributes(data: str) -> tuple[str, ...]:
    """Return the attributes of a data set; raise a ValueError as `data_set`."""
    return data_set(data).attributes


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)
