"""The verdicts on lopuhaa2024 for other pairs, grids, priors of P* and numbers of repetitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from papers.lopuhaa2024 import claims as checks
from reproduction.ledger.claims import SENSITIVITY, Tables
from reproduction.ledger.claims import sensitivity as decided

#: The claims on orderings, and on a quantile.
ORDERED, SAMPLED = ("L-S81b", "L-S81c", "L-S82"), ("L-S83b",)

_AS_COMPUTED = ", as computed"


def sensitivity(
    orderings: pd.DataFrame,
    mean_orderings: pd.DataFrame,
    quantiles: pd.DataFrame,
    *,
    claims: Sequence[Mapping[str, Any]],
    ends: Sequence[float],
    sample: int,
) -> pd.DataFrame:
    """Decide the orderings for one pair at a time and with other ends of the grid, the quantile for others.

    The claims are the entries of `ORDERED` and `SAMPLED`. Within each of the `ends` of the grid, nats, the
    statements are to hold as they stand. The paper has `sample` tables.
    """
    ordered = [entry for entry in claims if entry["id"] in ORDERED]
    sampled = [entry for entry in claims if entry["id"] in SAMPLED]
    parts = [
        decided(checks.PAPER, ordered, _pairs(orderings)),
        decided(checks.PAPER, ordered, _ends(orderings, mean_orderings, ends), {"ends": []}),
    ]
    for (concentration, drawn, number), part in quantiles.groupby(["concentration", "drawn", "sample"]):
        tables = {"quantiles": part.assign(drawn=True)}
        usual = _AS_COMPUTED if drawn and number == sample else ""
        choices = {"prior of P*": (f"Dirichlet({concentration:g})", number == sample)}
        choices["repetitions"] = (f"{number} tables", bool(drawn))
        variants = [
            (choice, f"{name}{usual}", tables) for choice, (name, wanted) in choices.items() if wanted
        ]
        parts.append(decided(checks.PAPER, sampled, variants, {"instances": number}))
    return SENSITIVITY.conform(pd.concat(parts))


def _pairs(orderings: pd.DataFrame) -> Iterator[tuple[str, str, Tables]]:
    for (instance, size), part in orderings.groupby(["instance", "size"]):
        yield "pairs", f"{instance} ({size})", {"orderings": part}


def _ends(
    orderings: pd.DataFrame, means: pd.DataFrame, ends: Sequence[float]
) -> Iterator[tuple[str, str, Tables]]:
    for end in ends:
        cut = {
            name: table[table["epsilon"] <= end * (1 + 1e-9)]
            for name, table in (("orderings", orderings), ("mean_orderings", means))
        }
        yield "end of the grid", f"ε up to {end:g}", cut
