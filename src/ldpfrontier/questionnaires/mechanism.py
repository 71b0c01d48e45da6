r"""Mechanisms that ask each person some of the questions by lot, and what their reports tell of the tables.

A person draws a lot, the questions of its kinds, and a permutation of the answers to each of them. The image
of the own answers is in the set S of the lot or not; the report, which is everything that was drawn, has a
probability that is e^epsilon times as large if it is. So the level is epsilon for all answers together,
whatever is known: each column has two values, and lots and questions do not depend on the answers.

An unbiased estimate of a table of the questions H is, for its entry h, the mean over reports of

    (1 + sum_T (e^epsilon - 1) / (1 + (e^epsilon - 1) a) (P_T 1_Y)(h) / m_T) / |H|

over the interactions T within H of which questions were asked, Y the set that was reported, a its share, |H|
the number of entries. It is that of the least variance at the uniform distribution (Gauss and Markov). Shares
of a question are the same in all its tables, since each interaction is estimated once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.model.channel import Channel
from ldpfrontier.questionnaires.interactions import Kinds, Questionnaire, Questions, interactions_of

#: What is told by rounding alone: with so little, some 10^12 reports would tell a share to 1.
_NOTHING = 1e-12

#: Entries of a channel that is listed.
_LISTED = 2**22


@dataclass(frozen=True, eq=False)
class Lot:
    """What some of the people are asked.

    Attributes
    ----------
    weight : float
        The share of the people.
    kinds : tuple of int
        The kinds of the questions that they are asked, each of which is drawn among those of its kind.
    members : ndarray of bool, an axis for each question
        The set of combinations of answers whose images are reported.
    """

    weight: float
    kinds: Kinds
    members: NDArray[np.bool_]

    @property
    def share(self) -> float:
        """The share of the combinations that are in the set."""
        return float(self.members.mean())

    @cached_property
    def interactions(self) -> dict[Questions, FloatArray]:
        """The interactions of the indicator of the set, by its axes."""
        return interactions_of(self.members.astype(np.float64))


@dataclass(frozen=True, eq=False)
class QuestionnaireMechanism:
    """A mechanism for a questionnaire: lots, of which every person draws one.

    Attributes
    ----------
    questionnaire : Questionnaire
    epsilon : float
        Nats; the level for all answers of a person, whatever somebody knows (epsilon-LDP).
    lots : tuple of Lot
        Their weights sum to 1.
    """

    questionnaire: Questionnaire
    epsilon: float
    lots: tuple[Lot, ...]

    def factor(self, lot: Lot) -> float:
        """Return by how much an entry of a column is above 1 in the set, less what it is elsewhere."""
        gain = math.expm1(self.epsilon)
        return gain / (1.0 + gain * lot.share)

    @cached_property
    def told(self) -> dict[Kinds, float]:
        """m_T of all interactions, wanted or not, by the kinds of T (`ldpfrontier.questionnaires.sets`)."""
        found = dict.fromkeys(self.questionnaire.wanted, 0.0)
        for lot in self.lots:
            for axes, values in lot.interactions.items():
                kinds = tuple(sorted(lot.kinds[axis] for axis in axes))
                if kinds:
                    more = lot.weight * self.factor(lot) ** 2 * float((values**2).mean())
                    found[kinds] = found.get(kinds, 0.0) + more
        number = self.questionnaire.sets_of
        return {k: told / (number(k) * self.questionnaire.dimension(k)) for k, told in found.items()}

    def shows(self, table: Sequence[int]) -> bool:
        """Tell whether the reports give the table of some questions: they tell all of its interactions."""
        kinds = [self.questionnaire.kinds[j] for j in table]
        parts = (itertools.combinations(kinds, order) for order in range(1, len(kinds) + 1))
        return all(
            self.told.get(tuple(sorted(part)), 0.0) > _NOTHING
            for part in itertools.chain.from_iterable(parts)
        )

    @property
    def error(self) -> float:
        """The number of people times the sum of the mean square errors of entries, at uniform answers."""
        return self.error_of(self.questionnaire.tables)

    def error_of(self, tables: Sequence[Questions]) -> float:
        """Return the same for other tables, which the reports give (`shows`)."""
        return sum(cost / self.told[kinds] for kinds, cost in self.questionnaire.costs(tables).items())

    def people(self, error: float) -> float:
        """Return how many people give the entries of the tables this root mean square error."""
        return self.error / (self.questionnaire.entries * error**2)

    def values(self, lot: Lot, axes: Sequence[int | None], table: Sequence[int]) -> FloatArray:
        """Return what a report adds to the estimate of an entry of a table; an axis for each question asked.

        `axes` has, of each question of the table, the axis of the set where it is asked, or None. The values
        are for the image of the entry.
        """
        entries = math.prod(self.questionnaire.sizes[question] for question in table)
        return np.asarray(self._sums(lot, axes, self.told) / entries)

    def chances(self, lot: Lot, axes: Sequence[int | None]) -> FloatArray:
        """Return the chances of a report given the images of answers to some questions, as units of the mean.

        `axes` are those of `values`; answers to other questions have the same chances of all images.
        """
        return self._sums(lot, axes, None)

    def _sums(self, lot: Lot, axes: Sequence[int | None], told: Mapping[Kinds, float] | None) -> FloatArray:
        """Return 1 and the interactions of a column, each divided by what is told of it, if that is given."""
        asked = [axis for axis in axes if axis is not None]
        found = np.ones([lot.members.shape[axis] for axis in asked])
        for order in range(1, len(asked) + 1):
            for some in itertools.combinations(range(len(asked)), order):
                own = [asked[place] for place in some]
                part = np.transpose(lot.interactions[tuple(sorted(own))], np.argsort(np.argsort(own)))
                shape = [found.shape[place] if place in some else 1 for place in range(len(asked))]
                unit = 1.0 if told is None else told[tuple(sorted(lot.kinds[axis] for axis in own))]
                found = found + self.factor(lot) / unit * part.reshape(shape)
        return np.asarray(found)

    def channel(self) -> Channel:
        """Return the channel of all combinations of answers, equal reports as one; or `Intractable`."""
        sizes, columns = self.questionnaire.sizes, dict[tuple[bytes, float], float]()
        inputs = math.prod(sizes)
        for lot in self.lots:
            places, factor = self._places(lot), self.factor(lot)
            orders = [list(itertools.permutations(range(size))) for size in lot.members.shape]
            number = len(places) * math.prod(map(len, orders))
            if number * inputs > _LISTED:
                raise Intractable(
                    f"The mechanism has {number:,} reports of one lot for {inputs:,} combinations of answers;"
                    f" a channel is listed up to {_LISTED:,} entries."
                )
            for questions, chosen in itertools.product(places, itertools.product(*orders)):
                shape = [sizes[j] if j in questions else 1 for j in range(len(sizes))]
                image = lot.members[np.ix_(*chosen)].transpose(np.argsort(questions)).reshape(shape)
                key = np.ascontiguousarray(np.broadcast_to(image, sizes)).tobytes(), factor
                columns[key] = columns.get(key, 0.0) + lot.weight / number
        matrix = np.empty((inputs, len(columns)))
        for place, ((entries, factor), weight) in enumerate(columns.items()):
            inside = np.frombuffer(entries, dtype=np.bool_)
            matrix[:, place] = weight * (1.0 + factor * (inside - inside.mean()))
        return Channel(matrix / matrix.sum(axis=1, keepdims=True))

    def _places(self, lot: Lot) -> list[Questions]:
        """Return all choices of questions of the kinds of a lot, in their places."""
        members = self.questionnaire.members
        choices = itertools.product(*(members[kind] for kind in lot.kinds))
        return [questions for questions in choices if len(set(questions)) == len(questions)]
