"""Columns of texts: what the tables to read of lopuhaa2024, and of what builds on it, are made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import Any

import pandas as pd

from papers.lopuhaa2024.catalogue import LABELS, PROMISES
from papers.lopuhaa2024.summaries import small_first


def sorted_rows(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Sort a table by columns: small sizes first, mechanisms as in legends."""
    keys: dict[Hashable, Callable[[Any], Any]] = {
        "size": small_first,
        "mechanism": [*LABELS].index,
        "promise": [*PROMISES].index,
    }
    return table.sort_values(
        list(columns),
        key=lambda column: column.map(keys[column.name]) if column.name in keys else column,
        kind="stable",
        ignore_index=True,
    )


def name_columns(table: pd.DataFrame) -> dict[str, pd.Series[str]]:
    """Return the columns that name a row, as texts."""
    return {
        "sensitive, useful": table["instance"],
        "size": table["size"],
        "epsilon": table["epsilon"].map("{:.4g}".format),
    }


def number_texts(column: pd.Series[float], form: str) -> pd.Series[str]:
    """Return numbers as texts, and what is missing as a dash."""
    return column.map(lambda x: "-" if math.isnan(x) else format(x, form))


def level_texts(column: pd.Series[float], form: str) -> pd.Series[str]:
    """Return privacy levels as texts, an infinite one as its sign."""
    return number_texts(column, form).replace("inf", "∞")
