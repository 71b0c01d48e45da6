"""What a report adds to the estimate of a share: the notion that all kinds of channels have in common.

The unbiased estimate of a share is the mean of a number that each report adds. Reports are numbered; each of
them is in one of few states, and its state says what it adds. For the channel of one table the states are
its outputs, and the same for all shares; for a questionnaire they are, of each share, where the questions
were asked and where the answers are sent. A rate is the ratio of two shares, which have the same states.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldpfrontier.base.types import FloatArray, IntArray
from ldpsurvey.channel.channel_file import PrivateChannel
from ldpsurvey.data.reading import Label
from ldpsurvey.estimate.distribution import inversion, quantities
from ldpsurvey.estimate.estimates import Quantity


@dataclass(frozen=True, eq=False)
class Addition:
    """What reports add to the estimate of a share or, with `given`, to both shares of a rate.

    Attributes
    ----------
    quantity : Quantity
    numbers : ndarray of int or None
        The numbers of the reports that `states` is about, once each; all others are in the state 0. None if
        it is about all reports, in their order.
    states : ndarray of int
    over : ndarray, shape (states,)
        What a report adds. All states are possible, whether a report is in them or not.
    under : ndarray, shape (states,), optional
        The same for the share of what is given; of a share it is 1.
    shown : bool
        Whether the channel shows it.
    given_columns, given : tuple of str
        What a rate is given.
    """

    quantity: Quantity
    numbers: IntArray | None
    states: IntArray
    over: FloatArray
    under: FloatArray | None = None
    shown: bool = True
    given_columns: Label = ()
    given: Label = ()

    @property
    def about(self) -> dict[str, Any]:
        """What the estimate of a rate says of itself."""
        if self.under is None:
            return {}
        return {"measure": "rate", "given_columns": self.given_columns, "given": self.given}

    def counts(self, times: FloatArray) -> FloatArray:
        """Return how many reports are in each state, (states,), if they are given so many times."""
        own = times if self.numbers is None else times[self.numbers]
        found = np.bincount(self.states[: len(own)], weights=own, minlength=len(self.over))
        if self.numbers is not None:
            found[0] += times.sum() - own.sum()
        return np.asarray(found, dtype=np.float64)

    def of_reports(self, number: int) -> FloatArray:
        """Return what each of so many reports adds to a share."""
        if self.numbers is None:
            return self.over[self.states]
        found = np.full(number, self.over[0])
        found[self.numbers] = self.over[self.states]
        return found


def additions_of(private: PrivateChannel) -> Iterator[Addition]:
    """Yield all shares of a table, as `quantities` has them, then the rates given its useful values.

    The number of a report is that of its output.
    """
    table, matrix = private.table, private.channel.matrix
    linear, asked, drawn = inversion(matrix, table), quantities(table)[0], matrix.any(axis=0)
    states, weights = np.cumsum(drawn) - 1, linear.weights[:, drawn]
    for quantity, over, shown in zip(asked, weights, linear.shown.tolist(), strict=True):
        yield Addition(quantity, None, states, over, shown=shown)
    place = {(q.attributes, q.value): i for i, q in enumerate(asked)}
    for value, given in itertools.product(table.rows, table.columns if table.useful else ()):
        cell, column = place[table.attributes, value + given], place[table.useful, given]
        if linear.shown[cell] and linear.shown[column]:
            rate, over, under = Quantity(table.sensitive, value), weights[cell], weights[column]
            yield Addition(rate, None, states, over, under, given_columns=table.useful, given=given)


class Totals:
    """Sums over people, by label, of weights times what their reports add.

    `weights`, (reports, labels), has the sums of the weights of the people of each label who gave a report,
    as an array or a sparse matrix.
    """

    def __init__(self, weights: Any) -> None:
        self._weights, self.all = weights, np.asarray(weights.sum(axis=0), dtype=np.float64).ravel()
        self._numbers: IntArray | None = None
        self._part = weights

    def __call__(self, addition: Addition, values: FloatArray) -> FloatArray:
        """Return the sums, (labels,), if a report in a state adds `values`, (states,)."""
        if addition.numbers is None:
            return np.asarray(self._weights.T @ values[addition.states])
        if addition.numbers is not self._numbers:  # the same of all entries of a table
            self._numbers, self._part = addition.numbers, self._weights[addition.numbers]
        rest = float(values[0])
        return np.asarray(self._part.T @ (values[addition.states] - rest) + rest * self.all)
