r"""What is wanted of a questionnaire, in interactions of questions.

A record has an answer to each of d questions. A function of records is the sum of its interactions, one for
each set T of questions: the projections P_T, the product of I - J / k over the questions in T and of J / k
over the others, J the matrix of ones. A table of the questions H needs the interactions T within H alone, and
if a mechanism treats all answers of a question alike, it estimates each interaction with errors of its own.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ldpfrontier.base.types import FloatArray
from ldpfrontier.numerics.arguments import as_count, excerpt
from ldpfrontier.questionnaires.settings import SETTINGS

#: Numbers of questions, in their order.
Questions = tuple[int, ...]

#: The kinds of the questions of a set, in their order: sets of the same kinds are treated alike.
Kinds = tuple[int, ...]


@dataclass(frozen=True)
class Questionnaire:
    """Questions, and the tables of some of them that are wanted.

    Attributes
    ----------
    sizes : tuple of int
        The number of answers to each question, at least 2.
    tables : tuple of tuple of int
        The questions of each table, numbers from 0 in increasing order: (0,) for the shares of the answers to
        the first question, (0, 2) for its table with the third one.
    """

    sizes: tuple[int, ...]
    tables: tuple[Questions, ...]

    def __post_init__(self) -> None:
        """Refuse sizes and tables that are no whole numbers, or out of range."""
        most, order = SETTINGS.max_answers, SETTINGS.max_order
        sizes = tuple(
            as_count(size, "The number of answers", f"a whole number from 2 to {most}", least=2, most=most)
            for size in _sizes(self.sizes)
        )
        last = len(sizes) - 1
        tables = tuple(
            tuple(
                as_count(j, "A question of a table", f"a whole number from 0 to {last}", most=last)
                for j in _sequence(table, "A table")
            )
            for table in _sequence(self.tables, "The tables")
        )
        if not tables:
            raise ValueError("No table is wanted; at least one is needed.")
        for table in tables:
            if list(table) != sorted(set(table)) or not 0 < len(table) <= order:
                raise ValueError(
                    f"A table is of the questions {table}; it must have 1 to {order} different numbers, in"
                    " increasing order."
                )
        object.__setattr__(self, "sizes", sizes)
        object.__setattr__(self, "tables", tables)

    @classmethod
    def of_order(cls, sizes: Sequence[int], order: int) -> Questionnaire:
        """Return the questionnaire of which all tables of so many questions are wanted; 1 for shares."""
        most = SETTINGS.max_order
        order = as_count(order, "order", f"a whole number from 1 to {most}", least=1, most=most)
        sizes = _sizes(sizes)  # first, as there are about as many tables as this to the power of the order
        return cls(sizes, tuple(itertools.combinations(range(len(sizes)), min(order, len(sizes)))))

    @property
    def combinations(self) -> int:
        """The number of records that there can be."""
        return math.prod(self.sizes)

    @cached_property
    def has_all_tables(self) -> bool:
        """Whether all tables of so many questions are wanted, and no others."""
        every = itertools.combinations(range(len(self.sizes)), len(self.tables[0]))
        return set(self.tables) == set(every)

    @cached_property
    def kinds(self) -> tuple[int, ...]:
        """The kind of each question: exchanging questions of one kind changes nothing of what is wanted."""
        if not self.has_all_tables:
            return tuple(range(len(self.sizes)))
        kinds = sorted(set(self.sizes))
        return tuple(map(kinds.index, self.sizes))

    @cached_property
    def members(self) -> tuple[Questions, ...]:
        """The questions of each kind."""
        return tuple(
            tuple(j for j, kind in enumerate(self.kinds) if kind == one) for one in range(max(self.kinds) + 1)
        )

    def sizes_of(self, kinds: Kinds) -> tuple[int, ...]:
        """Return the numbers of answers to questions of some kinds."""
        return tuple(self.sizes[self.members[kind][0]] for kind in kinds)

    def classes(self, most: int) -> list[Kinds]:
        """Return the kinds of all sets of up to so many questions."""
        distinct = range(len(self.members))
        sets = itertools.chain.from_iterable(
            itertools.combinations_with_replacement(distinct, number) for number in range(1, most + 1)
        )
        return [kinds for kinds in sets if all(n <= len(self.members[k]) for k, n in Counter(kinds).items())]

    def are_connected(self, questions: Questions) -> bool:
        """Tell whether questions do not fall into two parts of which no table has questions of both."""
        reached, left = {questions[0]}, set(questions[1:])
        while new := {j for j in left if any(j in table and reached & {*table} for table in self.tables)}:
            reached, left = reached | new, left - new
        return not left

    def sets_of(self, kinds: Kinds) -> int:
        """Return how many sets of questions have these kinds."""
        return math.prod(math.comb(len(self.members[k]), n) for k, n in Counter(kinds).items())

    def choices(self, kinds: Kinds) -> int:
        """Return in how many ways questions of some kinds are drawn, each for its place."""
        return math.prod(math.perm(len(self.members[k]), n) for k, n in Counter(kinds).items())

    @cached_property
    def wanted(self) -> dict[Kinds, float]:
        """By the kinds of an interaction, what an error of 1 of each of its coordinates costs, for all such.

        With n people, the sum of the squared errors of all entries of all tables is 1/n times the sum over
        kinds of wanted / m_T, m_T what a mechanism tells of each T of these (`QuestionnaireMechanism.told`).
        """
        return self.costs(self.tables)

    def costs(self, tables: Sequence[Questions]) -> dict[Kinds, float]:
        """Return what `wanted` is for some tables, of the kinds that questions have here."""
        costs = dict[Kinds, float]()
        for table in tables:
            entries = math.prod(self.sizes[j] for j in table)
            for order in range(1, len(table) + 1):
                for some in itertools.combinations(table, order):
                    kinds = tuple(sorted(self.kinds[j] for j in some))
                    costs[kinds] = costs.get(kinds, 0.0) + self.dimension(kinds) / entries
        return costs

    def dimension(self, kinds: Kinds) -> int:
        """Return the number of free coordinates of an interaction."""
        return math.prod(size - 1 for size in self.sizes_of(kinds))

    @property
    def entries(self) -> int:
        """The number of entries of all tables."""
        return self.entries_of(self.tables)

    def entries_of(self, tables: Sequence[Questions]) -> int:
        """Return the number of entries of some tables."""
        return sum(math.prod(self.sizes[j] for j in table) for table in tables)


def _sizes(values: Any) -> tuple[Any, ...]:
    """Return the numbers of answers, of no more questions than are possible."""
    sizes = _sequence(values, "The numbers of answers")
    if not 0 < len(sizes) <= SETTINGS.max_questions:
        raise ValueError(f"There are {len(sizes)} questions; 1 to {SETTINGS.max_questions} are possible.")
    return sizes


def _sequence(values: Any, name: str) -> tuple[Any, ...]:
    """Return a list, a tuple, a range or an array as a tuple."""
    values = values.tolist() if isinstance(values, np.ndarray) else values
    if not isinstance(values, list | tuple | range):
        raise ValueError(f"{name} are {excerpt(values)}; they must be a list or a tuple.")
    return tuple(values)


def interactions_of(array: FloatArray) -> dict[Questions, FloatArray]:
    """Return the values of P_T of a function of g answers, (k_1, ..., k_g), by T, in arrays with the axes T.

    The empty set of axes is among them.
    """
    found = dict[Questions, FloatArray]()
    axes = range(array.ndim)
    for order in range(array.ndim + 1):
        for some in itertools.combinations(axes, order):
            rest = tuple(axis for axis in axes if axis not in some)
            left = np.asarray(array.mean(axis=rest) if rest else array, dtype=np.float64)
            for fewer in (T for T in found if set(T) <= set(some)):
                shape = [array.shape[j] if j in fewer else 1 for j in some]
                left = left - found[fewer].reshape(shape)
            found[some] = left
    return found
