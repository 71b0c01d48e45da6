"""The verdicts on liao2017 with another nominal row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from papers.liao2017 import claims as checks
from papers.liao2017.summaries import OF_ANY, OF_TWO
from reproduction.ledger.claims import SENSITIVITY, Tables
from reproduction.ledger.claims import sensitivity as decided
from reproduction.results.tables import CHECKS, select


def sensitivity(
    statements: pd.DataFrame,
    searches: pd.DataFrame,
    high_privacy: pd.DataFrame,
    shares: pd.DataFrame,
    *,
    claims: Sequence[Mapping[str, Any]],
) -> pd.DataFrame:
    """Decide the statements on Figures 2 and 3 with the uniform nominal row and with the best one.

    Parameters
    ----------
    statements, searches, high_privacy, shares : DataFrame
        The tables of the same names.
    claims : sequence of mapping
        The entries of the claims.

    Returns
    -------
    DataFrame
        As `reproduction.ledger.claims.SENSITIVITY`.
    """
    tables = {
        "statements": statements,
        "searches": searches,
        "high_privacy": high_privacy,
        "shares": shares,
    }
    return SENSITIVITY.conform(decided(checks.PAPER, claims, _variants(tables)))


def _variants(tables: Mapping[str, pd.DataFrame]) -> Iterator[tuple[str, str, Tables]]:
    yield "nominal row", "uniform, as computed", tables
    yield "nominal row", "the best one", {**tables, "statements": _best_start(tables)}


def _best_start(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the statements that name a leakage, with the shares around the best nominal row there."""
    leakages = tables["searches"].drop_duplicates("instance").set_index("instance")["leakage"]
    shares = tables["shares"].assign(stated=lambda t: t["instance"].map(leakages))
    inside = shares[shares["leakage"] <= shares["stated"] * (1 + 1e-9)]
    rows = select(tables["statements"], instance=[*leakages.index])
    for column in ("optimal_2", "optimal"):
        least = (inside["eit_w0"] / inside[column]).groupby(inside["instance"]).min()
        of = rows["quantity"] == (OF_TWO if column == "optimal_2" else OF_ANY)
        rows = rows.assign(measured=np.where(of, rows["instance"].map(least), rows["measured"]))
    return CHECKS.conform(rows.assign(holds=rows["measured"] >= rows["limit"]))
