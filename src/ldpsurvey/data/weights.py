r"""How sure the shares of a weighted or clustered sample are, as a number of people drawn at random.

With W_k and Q_k the sums of the weights, and of their squares, of the people in cell k, and p_k = W_k / W the
shares, linearisation gives a contrast sum c_k log p_k (sum c_k = 0) the variance sum c_k^2 Q_k / W_k^2, and a
mean of v over the cells sum (v_k - v-bar)^2 Q_k / W^2. Neither is above that of n simple random people,
sum c_k^2 / (n p_k) and sum (v_k - v-bar)^2 p_k / n, if ::

    n = W / max_k (Q_k / W_k).

**Clusters.** With T_ck the sum of the weights of cluster c in cell k, and T_c its sum over the cells, the m
clusters, taken as drawn with replacement, give the shares the covariance matrix V = m / (m - 1) sum_c z_c
z_c', z_ck = (T_ck - p_k T_c) / W. The eigenvalues of (diag p - p p')^-1 V times a number of people are their
generalized design effects (Rao and Scott 1981, *The analysis of categorical data from complex sample
surveys*, JASA 76): no share and no contrast has a variance above that of ::

    n = 1 / lambda_max(diag(p)^(-1/2) V diag(p)^(-1/2))

people. Design effects of the shares alone are means of these eigenvalues, and may be far smaller, as may the
overall one of weights, N sum w^2 / W^2 (Kish). So the intervals of odds ratios and the radius of F are right,
or too wide, for n people, by quantiles of Student's t and of F for a variance that is estimated. Strata make
variances smaller, which is not used.

**A few weights.** The variance of a cell is estimated by its squares, of which the largest weights decide.
(sum T)^2 / sum T^2 is for how many people, or clusters, of equal weights those of a cell count. Where they
are too few, so that weights which the sample happens to lack would change the share by more than its interval
says, no promise rests on the table. One more person with the largest weight of the sample is counted in, and
one more cluster, as large as the largest, all of it in the cell.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
from scipy.sparse import csr_array

from ldpfrontier.base.types import FloatArray
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.data.reading import Records, as_number, shown
from ldpsurvey.data.values import may_be_missing

if TYPE_CHECKING:
    import pandas as pd

Cell = TypeVar("Cell", bound=Hashable)
Sums = TypeVar("Sums", float, FloatArray)


@dataclass(frozen=True)
class Sureness:
    """For how many people drawn at random shares count, and the degrees of freedom of their variances.

    `doubt` says why no promise can rest on them; nothing if one can.
    """

    people: float
    freedom: float
    doubt: str = ""


def effective_number(total: Sums, squares: Sums, more: float = 0.0) -> Sums:
    """Return for how many of equal weights some count, by the sums of weights and squares, with one more."""
    return (total + more) ** 2 / (squares + more**2)


@dataclass
class Cellwise:
    """The people in a cell: their number, the sums of their weights and squares, and the largest weight."""

    people: int = 0
    total: float = 0.0
    squares: float = 0.0
    largest: float = 0.0

    def equal(self, more: float = 0.0) -> float:
        """Return for how many people of equal weights these count, with one more of a weight."""
        return effective_number(self.total, self.squares, more)


@dataclass
class Evidence(Generic[Cell]):
    """What a sample tells about the variances of shares: sums over each cell, and over each cluster in it."""

    cells: dict[Cell, Cellwise] = field(default_factory=lambda: defaultdict(Cellwise))
    clusters: dict[tuple[str, Cell], float] = field(default_factory=lambda: defaultdict(float))

    def add(self, cells: Iterable[Cell], weights: Iterable[float], clusters: Sequence[str]) -> None:
        """Take in people, or totals of people, with their clusters if there are any."""
        for place, (cell, weight) in enumerate(zip(cells, weights, strict=True)):
            if weight > 0:
                own = self.cells[cell]
                own.people, own.total = own.people + 1, own.total + weight
                own.squares, own.largest = own.squares + weight**2, max(own.largest, weight)
                if clusters:
                    self.clusters[clusters[place], cell] += weight

    def renamed(
        self, merge: Callable[[Cell, Cell], Mapping[Cell, float]], left: Iterable[Cell]
    ) -> Evidence[Cell]:
        """Return the sample with the cells that are left.

        `merge` returns the counts of what becomes of one of them, with none, and of a cell, with one.
        """
        some, found = next(iter(left)), Evidence[Cell]()
        names = {cell: [new for new, n in merge(cell, some).items() if n] for cell in self.cells}
        for cell, sums in self.cells.items():
            for new in names[cell]:
                own = found.cells[new]
                own.people, own.total = own.people + sums.people, own.total + sums.total
                own.squares, own.largest = own.squares + sums.squares, max(own.largest, sums.largest)
        for (cluster, cell), total in self.clusters.items():
            for new in names[cell]:
                found.clusters[cluster, new] += total
        return found

    def sureness(self, told: Callable[[Cell], str], *, weighted: bool, persons: bool) -> Sureness:
        """Return how sure the shares are; `told` says what a cell is called.

        Unless all of a sample is `persons`, with a weight of each, it is totals, of which clusters tell all.
        """
        sums, doubts = list(self.cells.values()), []
        people, freedom = math.inf if weighted else sum(own.total for own in sums), math.inf
        if weighted and persons:
            people = effective_people(
                {cell: own.total for cell, own in self.cells.items()},
                {cell: own.squares for cell, own in self.cells.items()},
            )
            freedom = min(own.equal() for own in sums) - 1.0
            largest = max(own.largest for own in sums)
            thin = min(self.cells, key=lambda cell: self.cells[cell].equal(largest))
            count = self.cells[thin].equal(largest)
            if count < SETTINGS.least_weighted:
                doubts.append(
                    f"{self.cells[thin].people:,} people with {told(thin)}. With one more of the largest"
                    f" weight, {largest:.4g}, they count for {count:.1f} of equal weights; at least"
                    f" {SETTINGS.least_weighted} are needed in each combination of values, since otherwise a"
                    " few weights decide"
                )
        if self.clusters:
            totals, places = self._of_clusters()
            sizes, squares = totals.sum(axis=0), (totals * totals).sum(axis=0)
            largest = totals.sum(axis=1).max()
            equal = effective_number(sizes, squares, largest)
            people = min(people, people_of_clusters(totals))
            freedom = min(freedom, effective_number(sizes, squares).min() - 1.0)
            if math.isinf(people):
                doubts.append("the same shares in all clusters, which are no sample therefore")
            if equal.min() < SETTINGS.least_clusters:
                thin = places[int(equal.argmin())]
                held = sum(cell == thin for _, cell in self.clusters)
                doubts.append(
                    f"people with {told(thin)} in {held:,} cluster{'s' * (held != 1)}. With one more, as"
                    f" large as the largest and all of it of this kind, they count for {equal.min():.1f} of"
                    f" equal size; at least {SETTINGS.least_clusters} are needed in each combination of"
                    " values, since otherwise a few clusters decide"
                )
        return Sureness(people, freedom, "; and ".join(doubts))

    def _of_clusters(self) -> tuple[csr_array, list[Cell]]:
        """Return the sums of weights over clusters and cells, shape (clusters, cells), and the cells."""
        cells = list(self.cells)
        of_cell = {cell: place for place, cell in enumerate(cells)}
        of_cluster = {name: i for i, name in enumerate(dict.fromkeys(name for name, _ in self.clusters))}
        rows = [of_cluster[name] for name, _ in self.clusters]
        columns = [of_cell[cell] for _, cell in self.clusters]
        shape = (len(of_cluster), len(cells))
        return csr_array((list(self.clusters.values()), (rows, columns)), shape=shape), cells


def people_of_clusters(totals: csr_array | FloatArray) -> float:
    """Return for how many people drawn at random the shares of a clustered sample count, 1 or more.

    `totals` are the sums of weights over clusters and cells, shape (m, k), each cell with one above 0.
    """
    T = csr_array(totals)
    number, size = T.shape[0], np.asarray(T.sum(axis=1))
    if number < 2:
        return 1.0
    p = np.asarray(T.sum(axis=0)) / size.sum()
    cross = np.outer(p, T.T @ size)
    V = ((T.T @ T).toarray() - cross - cross.T + size @ size * np.outer(p, p)) / size.sum() ** 2
    scale = 1.0 / np.sqrt(p)
    largest = float(np.linalg.eigvalsh(V * np.outer(scale, scale))[-1]) * number / (number - 1.0)
    return max(1.0 / largest, 1.0) if largest > 0.0 else math.inf


def weight_of(path: Records, column: str, row: int, text: str, decimal: str) -> float:
    """Return the weight of a row of a file, a number of 0 or more."""
    weight = as_number(text, decimal)
    if weight is None or weight < 0:
        raise ValueError(
            f"Row {row} of {shown(path)} has the weight {text!r} in the column {column!r}; weights must be"
            " numbers, 0 or more, without separators of thousands (with decimal commas, --decimal ,)."
        )
    return weight


def clusters_of(path: Records, texts: pd.Series[str], what: str = "cluster") -> list[str]:
    """Return the clusters, or strata, of some rows of a file; a `ValueError` if one has none.

    Rows with a text such as NA would be one of them, whatever they have in common.
    """
    found = [text.strip() for text in texts]
    for row, name in zip(texts.index, found, strict=True):
        if may_be_missing(name):
            has = f"{name!r}, which may be a missing value," if name else "nothing"
            raise ValueError(
                f"Row {row} of {shown(path)} has {has} in the column {texts.name!r}; each row needs a {what}."
            )
    return found


def effective_people(sums: Mapping[Cell, float], squares: Mapping[Cell, float]) -> float:
    """Return for how many people drawn at random the weighted shares of cells count, 1 or more."""
    largest = max(squares[cell] / total for cell, total in sums.items() if total > 0)
    return max(sum(sums.values()) / largest, 1.0)  # below 1 by rounding alone


def stated_people(people: float | None, design_effect: float | None) -> float | None:
    """Return the number of people divided by the design effect; None if neither is stated."""
    if people is None and design_effect is None:
        return None
    if people is None or design_effect is None:
        raise ValueError(
            "--people and --design-effect must be given together: neither the number of people who were asked"
            " nor the design effect alone tells how sure weighted shares are."
        )
    if not (1.0 <= design_effect <= people < float("inf")):
        raise ValueError(
            f"The design effect is {design_effect:g} for {people:g} people; it must be at least 1, and at"
            " most the number of people."
        )
    return people / design_effect
