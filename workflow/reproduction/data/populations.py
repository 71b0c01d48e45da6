"""Random populations as tables: a rule draws the instances of an experiment, and the experiment reads them.

An instance is one or more distributions (a prior, a pair P0 and P1, a source set), or one distribution on the
cells of a table of counts with the records that were sampled from it. Every instance is drawn by a random
stream of its own, `ldpfrontier.base.priors.generator(seed, population, size, instance)`, so that it depends
neither on which others are drawn nor on how they are cut into files. What a stream draws beside the
distributions (records, a distortion) is stored with them: whoever reads a population need not draw on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ldpfrontier.base.types import FloatArray
from reproduction.results.tables import Schema

#: Of the sum of a distribution.
_ROUNDING = 1e-9

#: What names an instance.
INSTANCE = ("population", "size", "concentration", "instance")


def _distributions(table: pd.DataFrame) -> Iterator[tuple[Any, str]]:
    probability = table["probability"]
    yield ~probability.between(0.0, 1.0 + _ROUNDING), "has the probability {probability}; allowed is 0 to 1"
    whole = probability.groupby([table[name] for name in INSTANCE]).transform("sum")
    row = probability.groupby([table[name] for name in (*INSTANCE, "row")]).transform("sum")
    wrong = ((whole - 1.0).abs() > _ROUNDING) & ((row - 1.0).abs() > _ROUNDING)
    yield wrong, "is of a distribution that does not sum to 1"
    yield (table["count"] < 0).fillna(False), "has the count {count}; a count is 0 or more"


#: A row per probability.
POPULATION = Schema(
    name="population",
    columns={
        "population": "str",  # name of its random streams, as in "kairouz2016/pair"
        "size": "str",  # of the instance, as in "6" or "2 x 5"
        "concentration": "float64",  # of the symmetric Dirichlet distribution that it is drawn from
        "instance": "Int64",  # from 0
        "row": "Int64",  # which distribution of the instance, or which row of its table; from 0
        "column": "Int64",  # which letter, or which column of the table; from 0
        "probability": "float64",
        "count": "Int64",  # of the records sampled from the distribution; missing if none were
        "seed": "Int64",  # root of the streams
    },
    key=(*INSTANCE, "row", "column"),
    rules=_distributions,
)


def with_columns(**columns: str) -> Schema:
    """Return the schema of a population that has more columns, each of a kind that `Schema` knows."""
    return Schema(POPULATION.name, {**POPULATION.columns, **columns}, POPULATION.key, rules=POPULATION.rules)


def rows_of(instances: Sequence[int], probabilities: Iterable[Any], **columns: Any) -> pd.DataFrame:
    """Return the rows of n instances of one shape, from probabilities of shape (n, rows, columns).

    The other columns of `POPULATION` are a value for all, or an array that repeats to the shape of
    `probabilities`; without a ``count`` there are no records.
    """
    drawn = np.asarray(probabilities, dtype=np.float64)
    number, row, column = np.indices(drawn.shape).reshape(3, -1)
    values = {
        name: np.broadcast_to(value, drawn.shape).ravel() if isinstance(value, np.ndarray) else value
        for name, value in {"count": math.nan, **columns}.items()
    }
    places = {"instance": np.asarray(instances, dtype=np.int64)[number], "row": row, "column": column}
    return pd.DataFrame({**places, "probability": drawn.ravel(), **values})


def arrays(table: pd.DataFrame, column: str = "probability") -> FloatArray:
    """Return the probabilities, or the counts, of instances of one shape, in the order of their numbers.

    The table has all rows of one or more instances, in the order of the schema; the result has the shape
    (instances, rows, columns).
    """
    rows, columns = (int(table[name].max()) + 1 for name in ("row", "column"))
    return table[column].to_numpy(dtype=np.float64).reshape(-1, rows, columns)
