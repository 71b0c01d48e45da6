r"""What sets of answers tell.

A person is asked some of the questions, and reports a set Y of combinations of their answers, drawn with a
probability that is e^epsilon times as large if the own answers are in it than if not. The set is an image of
a given one, S, under permutations of the answers to each question, all equally likely. Such a mechanism tells

    m_T = (e^epsilon - 1)^2 |P_T 1_S|^2 / (dim T (1 + (e^epsilon - 1) a)^2)

of the interaction T, |.|^2 the mean of squares and a the share of the combinations that are in S: at the
uniform distribution n MSE is the sum over T of c_T / m_T, c_T what is wanted of T (docs/beyond/theorems.md).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray, IntArray
from ldpfrontier.questionnaires.interactions import Questions
from ldpfrontier.questionnaires.settings import SETTINGS


@dataclass(frozen=True, eq=False)
class Sets:
    """Sets of combinations of answers to questions of these sizes that differ in what they tell.

    `axes` are the interactions T, as sets of these questions, the empty one left out; `energies`, (m,
    interactions), are |P_T 1_S|^2 of each set, and `shares`, (m,), say of how many of the combinations it is.
    The functions of `made` return the sets, as arrays of bool with an axis for each question.
    """

    sizes: tuple[int, ...]
    axes: tuple[Questions, ...]
    energies: FloatArray
    shares: FloatArray
    made: Sequence[Callable[[], NDArray[np.bool_]]]

    def told_in_all(self, epsilon: float) -> FloatArray:
        """Return m_T of each set times dim T, shape (m, interactions)."""
        gain = math.expm1(epsilon)
        return np.asarray(self.energies * ((gain / (1.0 + gain * self.shares)) ** 2)[:, None])

    def distinct(self) -> Sets:
        """Return one set of those that tell the same, and none that leaves a question out of account."""
        told = np.column_stack([self.energies, self.shares]).round(12)
        places = np.sort(np.unique(told, axis=0, return_index=True)[1])
        for question in range(len(self.sizes)):
            about = [axis for axis, some in enumerate(self.axes) if question in some]
            places = places[told[places][:, about].any(axis=1)]
        made = [self.made[place] for place in places]
        return Sets(self.sizes, self.axes, self.energies[places], self.shares[places], made)


@cache
def candidate_sets(sizes: tuple[int, ...]) -> Sets:
    """Return sets of combinations of answers to one or more questions: all of up to 16.

    Of more combinations, these are the sets that are a function of whether each answer is among a given
    number of the answers to its question, such as products of sets and their complements, and some at random,
    which tell about as much of every interaction.
    """
    cells = math.prod(sizes)
    if len(sizes) > 1 and cells <= SETTINGS.listed_cells:
        every = np.arange(1, 2**cells - 1)[:, None] >> np.arange(cells) & 1
        return _of_arrays(sizes, every).distinct()
    numbers = itertools.product(*(_counts(size, every=len(sizes) == 1) for size in sizes))
    found = [_of_memberships(sizes, counts) for counts in numbers]
    if len(sizes) > 1 and cells <= SETTINGS.random_cells:
        found.append(_of_arrays(sizes, _random_sets(cells)))
    return Sets(
        sizes,
        found[0].axes,
        np.concatenate([one.energies for one in found]),
        np.concatenate([one.shares for one in found]),
        [make for one in found for make in one.made],
    ).distinct()


def _of_arrays(sizes: tuple[int, ...], sets: IntArray) -> Sets:
    """Return sets that are given by entries of 0 and 1, (m, combinations)."""
    # Mean squares of the means given the answers to T, of which energies are the differences.
    arrays = sets.reshape(-1, *sizes).astype(np.float64)
    squares = dict[Questions, FloatArray]()
    for some in _subsets(len(sizes)):
        rest = tuple(axis + 1 for axis in range(len(sizes)) if axis not in some)
        means = arrays.mean(axis=rest) if rest else arrays
        squares[some] = (means.reshape(len(sets), -1) ** 2).mean(axis=1)
    made = [partial(_array, row, sizes) for row in sets]
    return Sets(sizes, *_energies(squares), sets.mean(axis=1), made)


def _array(row: IntArray, sizes: tuple[int, ...]) -> NDArray[np.bool_]:
    return np.asarray(row.reshape(sizes) > 0)


def _random_sets(cells: int) -> IntArray:
    """Return sets of several sizes, always the same ones, (m, combinations)."""
    rng = np.random.default_rng(0)
    sizes = np.unique((0.5 * cells * np.geomspace(1.0, 2.0 / cells, 16)).round().astype(int))
    ranks = rng.random((8, cells)).argsort(axis=1)
    return np.concatenate([ranks < size for size in sizes if size]).astype(np.int64)


def _subsets(axes: int) -> list[Questions]:
    orders = (itertools.combinations(range(axes), order) for order in range(axes + 1))
    return list(itertools.chain.from_iterable(orders))


def _energies(squares: dict[Questions, FloatArray]) -> tuple[tuple[Questions, ...], FloatArray]:
    """Return the interactions and their energies, (m, interactions)."""
    axes = tuple(T for T in squares if T)
    parts = [sum((-1) ** (len(T) - len(U)) * squares[U] for U in squares if set(U) <= set(T)) for T in axes]
    return axes, np.maximum(np.column_stack(parts), 0.0)


def _counts(size: int, *, every: bool) -> list[int]:
    """Return numbers of answers that are tried as members: at most half, as the others are the complement."""
    half, some = size // 2, SETTINGS.set_sizes
    if every or half <= some:
        return list(range(1, half + 1))
    return sorted({round(half ** (i / (some - 1))) for i in range(some)})


def _of_memberships(sizes: tuple[int, ...], counts: tuple[int, ...]) -> Sets:
    """Return the sets that are a function of whether each answer is among the first ones of its question."""
    g, cells = len(sizes), 2 ** len(sizes)
    values = np.arange(1, 2**cells - 1)[:, None] >> np.arange(cells) & 1
    bits = np.arange(cells)[:, None] >> np.arange(g) & 1
    shares = np.array(counts) / sizes
    p = np.where(bits, shares, 1.0 - shares).prod(axis=1)
    squares = dict[Questions, FloatArray]()
    for some in _subsets(g):
        place = (bits[:, list(some)] << np.arange(len(some))).sum(axis=1)
        group = np.zeros((cells, 2 ** len(some)))
        group[np.arange(cells), place] = p
        squares[some] = ((values @ group) ** 2 / group.sum(axis=0)).sum(axis=1)
    made = [partial(_membership_array, row, sizes, counts) for row in values]
    return Sets(sizes, *_energies(squares), values @ p, made)


def _membership_array(row: IntArray, sizes: tuple[int, ...], counts: tuple[int, ...]) -> NDArray[np.bool_]:
    place = np.zeros(sizes, dtype=np.int64)
    for axis, (size, count) in enumerate(zip(sizes, counts, strict=True)):
        shape = [-1 if other == axis else 1 for other in range(len(sizes))]
        place += (np.arange(size) < count).astype(np.int64).reshape(shape) << axis
    return np.asarray(row[place] > 0)
