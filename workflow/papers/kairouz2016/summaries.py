"""What the figures and the claims of kairouz2016 both read off its tables."""

from __future__ import annotations

import numpy as np
import pandas as pd

from reproduction.results.tables import select


def ratios(table: pd.DataFrame, utility: str) -> pd.DataFrame:
    """Return value / OPT of every mechanism at positive epsilon (at 0, OPT is 0).

    Parameters
    ----------
    table : DataFrame
        Of `papers.kairouz2016.experiments.sweep`.
    utility : str
        The metric.

    Returns
    -------
    DataFrame
        A column per mechanism; the index has the levels size, instance and epsilon.
    """
    rows = select(table, metric=utility)
    rows = rows[np.isfinite(rows["epsilon"]) & (rows["epsilon"] > 0)]
    shares = rows.assign(ratio=rows["value"] / rows["bound"])
    return pd.DataFrame(shares.pivot_table("ratio", ["size", "instance", "epsilon"], "mechanism"))
