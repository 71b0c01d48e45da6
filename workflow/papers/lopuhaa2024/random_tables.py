"""The random tables of lopuhaa2024: a distribution P*, and a table of records that are sampled from it.

P* is drawn from Dirichlet(c, ..., c) on the cells (c = 1/2 is the Jeffreys prior of section 8.2), or, around
a table of counts n, from Dirichlet(n + c), its posterior. A random table is named by its population, which
has the size in its name, and its number, and depends on nothing else but the seed and c: the same numbers are
the same tables in every experiment.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ldpfrontier.base.priors import generator
from ldpfrontier.base.types import FloatArray
from reproduction.data.populations import POPULATION, arrays, rows_of


class RandomTable(NamedTuple):
    """A random table: its number, P*, and the counts of the records sampled from P*."""

    number: int
    truth: FloatArray
    counts: FloatArray


def random_tables(
    sensitive: int,
    useful: int,
    numbers: Iterable[int],
    *,
    records: int = 32561,
    concentration: float = 0.5,
    seed: int,
) -> pd.DataFrame:
    """Draw the tables with some numbers, of one size, from a symmetric Dirichlet distribution.

    Every instance has P* as probabilities, and so many records sampled from it as counts.
    """
    if min(sensitive, useful) < 1:
        raise ValueError(f"The size is {sensitive} x {useful}; it must be two numbers, 1 or more.")
    name = f"lopuhaa2024 {sensitive} x {useful}"
    weights = _weights(np.zeros((sensitive, useful)), concentration)
    return _drawn(name, weights, numbers, records, concentration=concentration, seed=seed)


def fresh_tables(
    sensitive: int,
    useful: int,
    tables: int,
    *,
    first: int = 100,
    records: int = 32561,
    concentration: float = 0.5,
    seed: int,
) -> pd.DataFrame:
    """Draw so many tables as `random_tables` does, from the number `first` on."""
    numbers = range(first, first + tables)
    return random_tables(sensitive, useful, numbers, records=records, concentration=concentration, seed=seed)


def tables_around(
    counts: ArrayLike | pd.DataFrame,
    numbers: Iterable[int],
    *,
    name: str,
    concentration: float = 0.5,
    seed: int,
) -> pd.DataFrame:
    """Draw random tables that a table of counts makes plausible, each of as many records as that has.

    The size of the result has the name of the table of counts in brackets.
    """
    given = np.asarray(counts, dtype=np.float64)
    if given.ndim != 2 or given.sum() < 1:
        raise ValueError(f"The counts have shape {given.shape}; they must be (sensitive, other), not all 0.")
    drawn = _drawn(
        f"lopuhaa2024 around {name}", _weights(given, concentration), numbers, int(given.sum()),
        concentration=concentration, seed=seed,
    )  # fmt: skip
    return drawn.assign(size=drawn["size"] + f" ({name})")


def theorem_tables(tables: Sequence[tuple[Sequence[int], int]], *, seed: int) -> pd.DataFrame:
    """Draw one table from the Jeffreys prior for every size (a1, a2) and number of records.

    The number of a table is that of its records.
    """
    drawn = []
    for (sensitive, useful), records in tables:
        weights = _weights(np.zeros((sensitive, useful)), 0.5)
        name = f"lopuhaa2024 theorems {sensitive} x {useful}"
        drawn.append(_drawn(name, weights, [records], records, concentration=0.5, seed=seed))
    return POPULATION.conform(pd.concat(drawn))


def tables_of(population: pd.DataFrame, numbers: Sequence[int] | None = None) -> Iterator[RandomTable]:
    """Yield the tables of a population of one size, or those with some numbers, all of which it must have."""
    if numbers is not None:
        population = population[population["instance"].isin(list(numbers))]
        if missing := sorted({*numbers} - {*population["instance"]}):
            raise ValueError(f"The population lacks the table {missing[0]}.")
    found = population["instance"].unique().tolist()
    for number, truth, counts in zip(found, arrays(population), arrays(population, "count"), strict=True):
        yield RandomTable(number, truth, counts)


def _weights(counts: FloatArray, concentration: float) -> FloatArray:
    if not (math.isfinite(concentration) and concentration > 0):
        raise ValueError(f"The concentration is {concentration}; it must be a positive number.")
    return counts + concentration


def _drawn(
    name: str, weights: FloatArray, numbers: Iterable[int], records: int, **columns: float
) -> pd.DataFrame:
    """Draw P* from Dirichlet(weights) and a sample from P*, by the stream of every number."""
    if records < 1:
        raise ValueError(f"The number of records is {records}; at least one is needed.")
    numbers, truths, samples = list(numbers), [], []
    for number in numbers:
        rng = generator(int(columns["seed"]), name, weights.size, number)
        truths.append(rng.dirichlet(weights.ravel()).reshape(weights.shape))
        samples.append(rng.multinomial(records, truths[-1].ravel()).reshape(weights.shape))
    size = " x ".join(map(str, weights.shape))
    rows = rows_of(numbers, truths, count=np.array(samples), population=name, size=size, **columns)
    return POPULATION.conform(rows)
