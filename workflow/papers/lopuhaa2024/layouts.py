"""Tables of lopuhaa2024 to read: its tables laid out as texts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from papers.lopuhaa2024.catalogue import MECHANISMS
from papers.lopuhaa2024.summaries import NO, STATEMENTS, YES, best_first, require_one
from papers.lopuhaa2024.texts import name_columns, number_texts, sorted_rows


def orderings(table: pd.DataFrame) -> pd.DataFrame:
    """Lay the orderings of Figure 2 out: a row per pair of attributes and privacy level, small tables first.

    Parameters
    ----------
    table : DataFrame
        As `summaries.ORDERINGS`.
    """
    table = sorted_rows(table, "size")
    ranked = (best_first(values) for _, values in table[list(MECHANISMS)].iterrows())
    texts = name_columns(table) | {
        "best first": [" > ".join(MECHANISMS[name].label for name in names) for names in ranked],
    }
    return pd.DataFrame(texts | {words: table[name] for name, words in STATEMENTS.items()}, dtype="str")


def coverage(table: pd.DataFrame) -> pd.DataFrame:
    """Lay out how often confidence sets contain the truth: a row per pair, truth and number of records.

    Parameters
    ----------
    table : DataFrame
        As `summaries.COVERAGE`.
    """
    keys = ["size", "instance", "records", "truth"]
    sets = [f"{method}, order {x:g}" for method, x in zip(table["method"], table["order"], strict=True)]
    wide = sorted_rows(table.assign(set=sets).pivot_table("covered", keys, "set").reset_index(), *keys)
    texts: dict[str, Any] = {
        "sensitive, useful": wide["instance"],
        "size": wide["size"],
        "records": [f"{records:,}" for records in wide["records"]],
        "truth": wide["truth"],
    }
    texts |= {name: number_texts(wide[name], ".1%") for name in sorted(set(sets))}
    return pd.DataFrame(texts, dtype="str")


def table2(table: pd.DataFrame, digits: int = 4) -> pd.DataFrame:
    """Lay Table 2 out for print: a row per size and mechanism, a column per beta, NMI as text.

    Parameters
    ----------
    table : DataFrame
        As `summaries.TABLE2`, of one Renyi order and one privacy level.
    digits : int
        Printed decimals.

    Raises
    ------
    ValueError
        If the table has several orders or levels.
    """
    require_one(table, "order", "epsilon")
    wide = table.pivot_table("nmi", ["size", "mechanism"], "beta")
    wide = wide[sorted(wide.columns, reverse=True)]
    change = (wide.iloc[:, -1] / wide.iloc[:, 0] - 1.0).map(lambda x: f"{100 * x:+.2f}%")
    texts = wide.map(lambda x: "" if pd.isna(x) else f"{x:.{digits}f}")
    texts.columns = pd.Index([f"beta = {beta:g}" for beta in wide.columns])
    texts = sorted_rows(texts.assign(change=change).reset_index(), "size", "mechanism")
    return texts.assign(mechanism=[MECHANISMS[name].label for name in texts["mechanism"]])


def example(table: pd.DataFrame) -> pd.DataFrame:
    """Lay the worked example out, with one more digit than the paper prints.

    Parameters
    ----------
    table : DataFrame
        As `tables.PRINTED`.
    """
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
