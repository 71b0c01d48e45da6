"""The verdicts on kairouz2016 for other priors of the instances and other levels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from papers.kairouz2016 import claims as checks
from papers.kairouz2016.summaries import COLUMNS
from reproduction.ledger.claims import SENSITIVITY, Tables
from reproduction.ledger.claims import sensitivity as decided
from reproduction.results.batches import Rows, batches_of, gather

#: The tables of the figures whose minima are stated.
FIGURES = ("fig3", "fig4", "fig6", "fig7")


def sensitivity(*tables: Rows, claims: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Decide the minima of Figures 3, 4, 6 and 7 with other priors and other ends of the grid.

    The tables are those of `FIGURES`, and the populations; the claims are as in ``paper.yaml``.
    """
    *figures, populations = tables
    named = dict(zip(FIGURES, map(_compared_rows, figures), strict=True))
    fresh = pd.concat(batches_of(populations))
    return SENSITIVITY.conform(decided(checks.PAPER, claims, _variants(named, fresh)))


def _compared_rows(figure: Rows) -> pd.DataFrame:
    """Return the rows that minima of a figure are found in, with texts as categories to save memory."""
    rows = gather(figure, COLUMNS, metric=["kl", "mutual_information"], mechanism=["binary", "rr"])
    return rows.astype({name: "category" for name in COLUMNS if name not in ("epsilon", "value", "bound")})


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
