"""The verdicts on kairouz2016 for other priors of the instances and other levels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from papers.kairouz2016 import claims as checks
from reproduction.ledger.claims import SENSITIVITY, Tables
from reproduction.ledger.claims import sensitivity as decided

#: The tables of the figures whose minima are stated.
FIGURES = ("fig3", "fig4", "fig6", "fig7")


def sensitivity(*tables: pd.DataFrame, claims: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Decide the minima of Figures 3, 4, 6 and 7 with other priors and other ends of the grid.

    Parameters
    ----------
    *tables : DataFrame
        Those of `FIGURES`, and the populations.
    claims : sequence of mapping
        The entries of the claims.

    Returns
    -------
    DataFrame
        As `reproduction.ledger.claims.SENSITIVITY`.
    """
    *figures, populations = tables
    named = dict(zip(FIGURES, figures, strict=True))
    return SENSITIVITY.conform(decided(checks.PAPER, claims, _variants(named, populations)))


def _variants(
    figures: Mapping[str, pd.DataFrame], populations: pd.DataFrame
) -> Iterator[tuple[str, str, Tables]]:
    usual = populations[populations["drawn"]]
    for (concentration, levels, drawn), part in populations.groupby(["concentration", "range", "drawn"]):
        other = {"prior": f"Dirichlet({concentration:g})", "privacy levels": f"ε from {levels}"}
        same = {"prior": usual["concentration"], "privacy levels": usual["range"]}
        values = {"prior": concentration, "privacy levels": levels}
        for choice, setting in other.items():
            if drawn or not (same[choice] == values[choice]).any():
                shown = f"{setting}, as computed" if drawn else setting
                yield choice, shown, {**figures, "populations": part.assign(drawn=True)}
