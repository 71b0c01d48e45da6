"""Results as tables: data frames for programs, a line as their repr, and HTML for notebooks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import fields
from html import escape
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pandas as pd

Row = TypeVar("Row")


class Tabular(ABC):
    """A result that has a table."""

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """Return the table; a number that there is not is NaN, and several names are one text with commas."""

    @abstractmethod
    def _about(self) -> str:
        """Return what the result is, in a few words."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._about()}>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self._about())}</p>\n{self.to_frame().to_html(index=False)}"


class TableRows(list[Row], Tabular):
    """A list of rows, dataclasses of one kind, that is a table as well."""

    def __init__(self, rows: Iterable[Row], about: str) -> None:
        super().__init__(rows)
        self._words = about

    def to_frame(self) -> pd.DataFrame:
        """Return the table, a column for each field of the rows."""
        return frame_of({field.name: getattr(row, field.name) for field in fields(row)} for row in self)  # type: ignore[arg-type]

    def _about(self) -> str:
        return self._words

    __repr__ = Tabular.__repr__


def frame_of(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return rows as a data frame, labels as texts."""
    import pandas as pd

    return pd.DataFrame([
        {name: ", ".join(cell) if isinstance(cell, tuple) else cell for name, cell in row.items()}
        for row in rows
    ])  # fmt: skip
