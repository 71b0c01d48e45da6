"""What all kinds of channels have: that of one table, and that of a questionnaire.

A record has a field for each thing that a report is drawn from: all columns of a table together are one, and
each question of a questionnaire is one. Privatization, its memo and its account need nothing else of a
channel, so that what holds for one kind holds for the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, Protocol

from ldpfrontier.base.types import IntArray
from ldpsurvey.base.sampling import RandomSource
from ldpsurvey.channel.promises import Promising
from ldpsurvey.data.reading import Label
from ldpsurvey.data.values import Missing


class Field(NamedTuple):
    """A part of a record: its columns, and the values that these may have together.

    Where one of them is not asked, its value is empty.
    """

    columns: Label
    labels: tuple[Label, ...]


class ReportingChannel(Promising, Protocol):
    """A channel of any kind, as those who draw and keep reports see it."""

    @property
    def id(self) -> str:
        """A short name, which its reports carry."""

    @property
    def sha256(self) -> str:
        """The hash of what a report means."""

    @property
    def basis(self) -> str:
        """What channels must share whose reports count against one budget."""

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields of a record."""

    @property
    def missing(self) -> Mapping[str, Missing]:
        """What was missing in the columns of the design, and what became of it."""

    @property
    def public_counts(self) -> IntArray | None:
        """The counts of the values of the only field in the design, if they are in the file."""

    def wrong_record(self, records: IntArray) -> tuple[int, str] | None:
        """Return the place of the first record that cannot be, and why; None if there is none."""

    def drawing(self, source: RandomSource | None = None) -> Callable[[IntArray], list[str]]:
        """Return what draws a report for each record, (m, fields), places among the values of its fields.

        Any source of random bytes but the default is no protection.
        """

    def unknown_report(self, reports: Iterable[str]) -> str | None:
        """Return the first text that is no report of the channel; None if there is none."""

    def promise(self) -> str:
        """Return the promise to those who report."""


def asked_columns(channel: ReportingChannel) -> Label:
    """Return the columns whose values a report is drawn from."""
    return tuple(name for field in channel.fields for name in field.columns)


def asked_values(channel: ReportingChannel) -> dict[str, Label]:
    """Return the values of each of these columns, in their order."""
    return {
        name: tuple(dict.fromkeys(filter(None, values)))
        for columns, labels in channel.fields
        for name, values in zip(columns, zip(*labels, strict=True), strict=True)
    }
