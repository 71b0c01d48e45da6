"""How a quantile over 100 random tables scatters (lopuhaa2024, section 8.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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
    sizes: Sequence[Sequence[int]],
    concentrations: Mapping[str, Sequence[float]],
    tables: int,
    samples: Sequence[int],
    *,
    epsilon: float,
    first: int = 100,
    level: float = 0.75,
    mechanism: str = "nr",
    **setting: Any,
) -> pd.DataFrame:
    """Compute a quantile of eps* over many fresh tables, and how it scatters over samples of fewer.

    Parameters
    ----------
    sizes : sequence of (a1, a2)
    concentrations : mapping
        ``drawn``: those of the figures, ``others``: further ones, as in `synthetic.sample`.
    tables : int
        Fresh tables per size and concentration, those with the numbers from `first` on.
    samples : sequence of int
        Numbers of tables of a sample.
    epsilon : float
        Privacy level, nats.
    first, level, mechanism
        The first number, the level of the quantile, and what is computed.
    **setting
        `beta`, `order`, `records` and `seed`, as in `synthetic.study`.

    Returns
    -------
    DataFrame
        As `QUANTILES`.
    """
    rows = []
    beta = setting.pop("beta")
    for shape in sizes:
        for name, values in concentrations.items():
            for concentration in values:
                found = study(
                    shape, range(first, first + tables), [epsilon], betas=[beta], concentration=concentration,
                    mechanisms=[mechanism], **setting,
                )  # fmt: skip
                values_ = select(found, metric=REALIZED)["value"].to_numpy()
                for number in samples:
                    low, high = (quantile(values_, share) for share in shares(level, number))
                    rows.append(
                        {
                            "size": f"{shape[0]} x {shape[1]}",
                            "beta": beta,
                            "order": setting["order"],
                            "concentration": concentration,
                            "drawn": name == "drawn",
                            "mechanism": mechanism,
                            "epsilon": epsilon,
                            "level": level,
                            "tables": tables,
                            "quantile": quantile(values_, level),
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
