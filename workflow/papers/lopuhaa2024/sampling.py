"""The random variation of a quantile over 100 random tables (lopuhaa2024, section 8.3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import betaincinv

from papers.lopuhaa2024.summaries import quantile
from papers.lopuhaa2024.synthetic import REALIZED, study
from reproduction.results.tables import Schema, select

QUANTILES = Schema(
    name="quantiles",
    columns={
        "size": "str",
        "beta": "float64",
        "order": "float64",
        "concentration": "float64",  # of the Dirichlet distribution of P*
        "drawn": "bool",  # whether that is the one of the figures
        "mechanism": "str",
        "epsilon": "float64",
        "level": "float64",  # of the quantile of eps*
        "tables": "Int64",  # computed
        "quantile": "float64",  # over all of them, nats
        "sample": "Int64",  # number of tables of a sample
        "low": "float64",  # ends of the range that holds the quantile of 95% of the samples of that number
        "high": "float64",
    },
    key=("size", "beta", "order", "concentration", "mechanism", "epsilon", "level", "sample"),
)

#: Probability that the quantile of a sample is in its range.
_COVERED = 0.95


def quantiles(
    fresh_tables: pd.DataFrame,
    samples: Sequence[int],
    *,
    drawn: float,
    epsilon: float,
    beta: float,
    order: float,
    level: float = 0.75,
    mechanism: str = "nr",
) -> pd.DataFrame:
    """Compute a quantile of eps* over many fresh tables, and how it scatters over samples of fewer.

    The numbers of tables in `samples` are those of a sample, and `drawn` is the concentration of the tables
    of the figures. The other arguments are columns of the result.
    """
    rows = []
    for (size, concentration), tables in fresh_tables.groupby(["size", "concentration"]):
        numbers = tables["instance"].unique().tolist()
        found = study(tables, numbers, [epsilon], betas=[beta], order=order, mechanisms=[mechanism])
        leaks = select(found, metric=REALIZED)["value"].to_numpy()
        for number in samples:
            low, high = (quantile(leaks, share) for share in shares(level, number))
            rows.append(
                {
                    "size": size,
                    "beta": beta,
                    "order": order,
                    "concentration": concentration,
                    "drawn": concentration == drawn,
                    "mechanism": mechanism,
                    "epsilon": epsilon,
                    "level": level,
                    "tables": len(numbers),
                    "quantile": quantile(leaks, level),
                    "sample": number,
                    "low": low,
                    "high": high,
                }
            )
    return QUANTILES.table(rows)


def shares(level: float, sample: int) -> tuple[float, float]:
    """Return which shares of the distribution lie below the ends of the range of a sample's quantile.

    The quantile of a sample is its order statistic of number 1 + level (sample - 1), which has a beta
    distribution on the scale of shares whatever is sampled.
    """
    place = 1.0 + level * (sample - 1)
    tail = (1.0 - _COVERED) / 2.0
    low, high = betaincinv(place, sample + 1.0 - place, np.array([tail, 1.0 - tail]))
    return float(low), float(high)
