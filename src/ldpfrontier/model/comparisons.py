"""Linear inequalities that compare weighted sums in groups: few numbers say what many inequalities do.

A promise of privacy compares every value with every other, so that there are many more inequalities than
sums which they compare. Of P_i . v <= N_j . v, for all i of one group and all j of another, the largest
P_i . v and the smallest N_j . v are enough.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from ldpfrontier.base.types import FloatArray, IntArray

#: Rounding that inequalities may have at the constant column, as a share of their coefficients.
ROUNDING = 1e-12
#: Rounding of an inequality at a column, as a share of its magnitudes, by which it counts as larger.
_MARGIN = 4e-16


@dataclass(frozen=True, eq=False)
class Comparisons:
    """The inequalities P_i . v <= N_j . v of the compared groups of i and of j.

    The P_i are the rows of `larger`, the N_j those of `smaller`, shape (sums, inputs), not negative, those of
    a group one after another from its entry in the `starts`. A pair is a group of the P_i and one of the N_j.
    """

    larger: FloatArray
    smaller: FloatArray
    larger_starts: IntArray
    smaller_starts: IntArray
    pairs: IntArray

    @classmethod
    def of(cls, inequalities: FloatArray) -> Comparisons:
        """Return the positive and negative parts of inequalities B v <= 0, (m, inputs), as compared sums."""
        larger, i = _distinct(np.maximum(inequalities, 0.0))
        smaller, j = _distinct(np.maximum(-inequalities, 0.0))
        larger, larger_starts, group_of_i = _grouped(larger, i, j)
        smaller, smaller_starts, group_of_j = _grouped(smaller, j, i)
        pairs = np.unique(np.stack([group_of_i[i], group_of_j[j]], axis=1), axis=0)
        return cls(larger, smaller, larger_starts, smaller_starts, pairs)

    def sums(self, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the largest P . v and the smallest N . v of each compared pair, two arrays (columns, m)."""
        if not len(self.pairs):
            return np.zeros((len(columns), 0)), np.zeros((len(columns), 0))
        most = np.maximum.reduceat(columns @ self.larger.T, self.larger_starts, axis=1)
        least = np.minimum.reduceat(columns @ self.smaller.T, self.smaller_starts, axis=1)
        return most[:, self.pairs[:, 0]], least[:, self.pairs[:, 1]]

    @property
    def local_level(self) -> float:
        """A level of local differential privacy, in nats, whose columns keep all inequalities; inf if all do.

        Entries between 1 and e^level have P . v <= e^level P . 1 and N . v >= N . 1.
        """
        of_more, of_less = (sums[0] for sums in self.sums(np.ones((1, self.larger.shape[1]))))
        compared = of_more > 0.0
        return math.log(max(float((of_less[compared] / of_more[compared]).min(initial=math.inf)), 1.0))

    def shares_of_constant(self, columns: FloatArray) -> FloatArray:
        """Return the weights of the constant column with which columns, (m, inputs), keep all of it, (m,).

        Inequalities that hold with equality at the constant column are met to rounding as they are.
        """
        ones = np.ones((1, columns.shape[1]))
        (of_more, of_less), (most, least) = self.sums(ones), self.sums(columns)
        rise = (of_less - of_more)[0]
        proper = rise > ROUNDING * (of_less + of_more)[0]
        excess = np.maximum(most - least + _MARGIN * (most + least), 0.0)[:, proper]
        total = excess + columns.mean(axis=1, keepdims=True) * rise[proper]
        shares = np.divide(excess, total, out=np.zeros_like(excess), where=total > 0)
        return np.asarray(shares.max(axis=1, initial=0.0))


def implied_levels(inequalities: FloatArray) -> FloatArray:
    """Return bounds on log(v_x / v_y) of columns with B v <= 0, in nats, shape (inputs, inputs); inf if none.

    They are those of inequalities with one negative coefficient, one after another.
    """
    n = inequalities.shape[1]
    levels = np.full((n, n), math.inf)
    np.fill_diagonal(levels, 0.0)
    rows = inequalities[(inequalities < 0.0).sum(axis=1) == 1]
    row, x = np.nonzero(rows > 0.0)
    y = rows.argmin(axis=1)[row]
    np.minimum.at(levels, (x, y), np.log(-rows[row, y] / rows[row, x]))
    for z in range(n):  # Floyd and Warshall
        levels = np.minimum(levels, levels[:, z, None] + levels[z])
    return np.asarray(levels * (1.0 + ROUNDING) + ROUNDING)


def _distinct(rows: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the distinct rows in their order, and the place of each row among them."""
    places = dict[bytes, int]()
    of_row = [places.setdefault(row.tobytes(), len(places)) for row in rows + 0.0]  # no -0.0
    _, first = np.unique(of_row, return_index=True)
    return rows[first], np.array(of_row, dtype=np.int64)


def _grouped(sums: FloatArray, mine: IntArray, others: IntArray) -> tuple[FloatArray, IntArray, IntArray]:
    """Return sums one group after another, the first of each, and the group of each sum as it was given.

    Those of a group are compared with the same others, and equal at the constant column but for rounding.
    """
    compared: list[set[int]] = [set() for _ in sums]
    for own, other in zip(mine.tolist(), others.tolist(), strict=True):
        compared[own].add(other)
    groups = dict[Hashable, int]()
    totals = [f"{total:.12g}" for total in sums.sum(axis=1)]
    keys = [(frozenset(them), total) for them, total in zip(compared, totals, strict=True)]
    group = np.array([groups.setdefault(key, len(groups)) for key in keys], dtype=np.int64)
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(len(groups)))
    return sums[order], starts.astype(np.int64), group
