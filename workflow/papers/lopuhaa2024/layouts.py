"""Tables of lopuhaa2024 to read: its tables laid out as texts."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from papers.lopuhaa2024.catalogue import MECHANISMS
from papers.lopuhaa2024.summaries import NO, YES, require_one, small_first


def table2(table: pd.DataFrame, digits: int = 4) -> pd.DataFrame:
    """Lay Table 2 out for print: a row per size and mechanism, a column per beta, NMI as text."""
    require_one(table, "order", "epsilon")
    wide = table.pivot_table("nmi", ["size", "mechanism"], "beta")
    wide = wide[sorted(wide.columns, reverse=True)]
    change = (wide.iloc[:, -1] / wide.iloc[:, 0] - 1.0).map(lambda x: f"{100 * x:+.2f}%")
    texts = wide.map(lambda x: "" if pd.isna(x) else f"{x:.{digits}f}")
    texts.columns = pd.Index([f"beta = {beta:g}" for beta in wide.columns])
    rows = sorted(texts.index, key=lambda row: (small_first(row[0]), [*MECHANISMS].index(row[1])))
    texts = texts.assign(change=change).loc[rows].reset_index()
    return texts.assign(mechanism=[MECHANISMS[name].label for name in texts["mechanism"]])


def example(table: pd.DataFrame) -> pd.DataFrame:
    """Lay the worked example out, with one more digit than the paper prints."""
    digits = table["digits"]
    return pd.DataFrame(
        {
            "where": table["where"],
            "quantity": table["quantity"],
            "computed": [f"{x:.{d + 1}f}" for x, d in zip(table["computed"], digits, strict=True)],
            "printed": [
                "-" if math.isnan(x) else f"{x:.{d}f}" for x, d in zip(table["printed"], digits, strict=True)
            ],
            "agrees": np.where(table["printed"].isna(), "", np.where(table["agrees"], YES, NO)),
            "note": table["note"],
        }
    )
