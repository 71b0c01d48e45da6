"""What reports of a questionnaire say of a table, and add to the estimates of its entries (`Addition`)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpfrontier import Lot
from ldpfrontier.base.types import FloatArray, IntArray
from ldpsurvey.data.reading import Label
from ldpsurvey.estimate.additions import Addition
from ldpsurvey.estimate.estimates import Quantity
from ldpsurvey.questionnaire.lot_reports import LotReports, states
from ldpsurvey.questionnaire.questionnaire_channel import MOST_ASKED, QuestionnaireChannel
from ldpsurvey.questionnaire.questions import table_of_names

#: On which axis of the set of a lot each question of a table is asked, or None.
Axes = tuple[int | None, ...]


@dataclass(frozen=True, eq=False)
class TableStates:
    """The states of reports about the entries of a table: lots, axes, and images of an entry there.

    Reports that have none of the questions are in the state 0.
    """

    channel: QuestionnaireChannel
    reports: Sequence[LotReports]
    table: tuple[int, ...]

    @cached_property
    def blocks(self) -> list[tuple[Lot, Axes]]:
        """The lots, and on which axes the questions of the table may be, at least one of them."""
        return [block for lot in range(len(self.channel.weights)) for block in self._blocks_of(lot)]

    def _blocks_of(self, lot: int) -> Iterator[tuple[Lot, Axes]]:
        kinds, own = self.channel.mechanism.questionnaire.kinds, self.channel.mechanism.lots[lot]
        places = [[None, *(a for a, kind in enumerate(own.kinds) if kind == kinds[j])] for j in self.table]
        for axes in itertools.product(*places):
            used = [axis for axis in axes if axis is not None]
            if used and len(set(used)) == len(used):
                yield own, axes

    @cached_property
    def _parts(self) -> list[tuple[int, IntArray, list[tuple[int, int, NDArray[np.int8]]]]]:
        """First states, the numbers of the reports, and the places, sizes and images of their questions."""
        found, first, given = [], 1, {group.lot: group for group in self.reports}
        for lot in range(len(self.channel.weights)):
            seen = dict(states(given[lot], self.table)) if lot in given else {}
            for own, axes in self._blocks_of(lot):
                asked = [(place, axis) for place, axis in enumerate(axes) if axis is not None]
                sizes = [own.members.shape[axis] for _, axis in asked]
                if (rows := seen.get(axes)) is not None:
                    images = [given[lot].images[axis][rows] for _, axis in asked]
                    places = [place for place, _ in asked]
                    found.append(
                        (first, given[lot].numbers[rows], list(zip(places, sizes, images, strict=True)))
                    )
                first += math.prod(sizes)
        return found

    @cached_property
    def numbers(self) -> IntArray:
        """The numbers of the reports that have any of the questions."""
        return np.concatenate([np.zeros(0, dtype=np.int64), *(numbers for _, numbers, _ in self._parts)])

    @property
    def answers(self) -> Iterator[tuple[str, ...]]:
        """The answers of the entries."""
        return itertools.product(*(self.channel.answers[j] for j in self.table))

    def __iter__(self) -> Iterator[IntArray]:
        """Yield the states of these reports for each entry."""
        for entry in itertools.product(*(range(len(self.channel.answers[j])) for j in self.table)):
            found = [np.zeros(0, dtype=np.int64)]
            for first, numbers, asked in self._parts:
                at = np.zeros(len(numbers), dtype=np.int64)
                for place, size, images in asked:
                    at = at * size + images[:, entry[place]]
                found.append(at + first)
            yield np.concatenate(found)

    def additions(self, *, rates: bool = False) -> Iterator[Addition]:
        """Yield what reports add to each entry, or to the rates given the last question."""
        values, table, sizes = self.channel.mechanism.values, self.table, self._sizes
        added = [values(lot, axes, table) for lot, axes in self.blocks]
        over = np.concatenate([[1.0 / math.prod(sizes)], *map(np.ravel, added)])
        names = tuple(self.channel.names[j] for j in table)
        if not rates:
            for label, at in zip(self.answers, self, strict=True):
                yield Addition(Quantity(names, label), self.numbers, at, over)
            return
        alone = [values(lot, axes[-1:], table[-1:]) for lot, axes in self.blocks]
        each = [np.broadcast_to(own, of.shape).ravel() for own, of in zip(alone, added, strict=True)]
        under = np.concatenate([[1.0 / sizes[-1]], *each])
        for label, at in zip(self.answers, self, strict=True):
            about: dict[str, Any] = {"given_columns": names[-1:], "given": label[-1:]}
            yield Addition(Quantity(names[:-1], label[:-1]), self.numbers, at, over, under, **about)

    @property
    def _sizes(self) -> list[int]:
        return [len(self.channel.answers[j]) for j in self.table]

    def chances(self, number: int) -> FloatArray:
        """Return the chances of so many reports given each entry, (entries, reports), in units of the mean.

        What a report says of other questions is of no account: their answers have the same chances of all.
        """
        mechanism = self.channel.mechanism
        told = np.concatenate([[1.0], *(mechanism.chances(lot, axes).ravel() for lot, axes in self.blocks)])
        found = np.ones((math.prod(self._sizes), number))
        for row, at in zip(found, self, strict=True):
            row[self.numbers] = told[at]
        return found


def tables_of(channel: QuestionnaireChannel, more: Sequence[Label] = ()) -> list[tuple[int, ...]]:
    """Return all tables that a channel is designed for, some more, and parts of them, of fewer first.

    Those that the reports do not give are refused.
    """
    asked = [table_of_names(table, channel.names, MOST_ASKED) for table in more]
    for table in asked:
        check_shown(channel, table)
    found = {
        some
        for table in (*channel.mechanism.questionnaire.tables, *(tuple(sorted(one)) for one in asked))
        for order in range(1, len(table) + 1)
        for some in itertools.combinations(table, order)
    }
    return sorted(found, key=lambda table: (len(table), table))


def additions_of_columns(channel: QuestionnaireChannel, reports: Sequence[LotReports]) -> Iterator[Addition]:
    """Yield what reports add to the shares of the answers in each column of questions that have several.

    That of an answer is a sum of entries: those of the question's answers that have it. Of the sums that are
    possible, whether a report has them or not, there are the largest and the least of each lot.
    """
    for j, name in enumerate(channel.names):
        if name not in channel.combined:
            continue
        columns, labels = channel.combined[name]
        entries = list(TableStates(channel, reports, (j,)).additions())
        over, numbers = entries[0].over, entries[0].numbers
        # Of each place of a lot what its answers add, in order.
        lots = np.sort(over[1:].reshape(-1, len(labels)), axis=1)
        for place, column in enumerate(columns):
            for value in dict.fromkeys(label[place] for label in labels if label[place]):
                own = [one for one, label in zip(entries, labels, strict=True) if label[place] == value]
                sums = sum((one.over[one.states] for one in own), np.zeros(len(own[0].states)))
                ends = [lots[:, : len(own)].sum(axis=1), lots[:, len(lots[0]) - len(own) :].sum(axis=1)]
                found, states = np.unique(np.concatenate([*ends, sums]).round(12), return_inverse=True)
                states = states[2 * len(lots) :] + 1
                first = len(own) * over[:1]
                yield Addition(Quantity((column,), (value,)), numbers, states, np.concatenate([first, found]))


def additions_of_tables(
    channel: QuestionnaireChannel, reports: Sequence[LotReports], tables: Sequence[tuple[int, ...]]
) -> Iterator[Addition]:
    """Yield what reports add to the entries of tables."""
    for table in tables:
        yield from TableStates(channel, reports, table).additions()


def check_shown(channel: QuestionnaireChannel, table: Sequence[int]) -> None:
    """Refuse a table that the reports of a channel do not give."""
    if not channel.mechanism.shows(table):
        names = " and ".join(channel.names[j] for j in table)
        raise ValueError(
            f"The channel does not show the table of {names}, however many reports there are; one that is"
            " designed for it does (design --precise pairs or triples, or --tables)."
        )
