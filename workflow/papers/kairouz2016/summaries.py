"""What the figures and the claims of kairouz2016 both read off its tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from reproduction.results.batches import Rows, batches_of
from reproduction.results.tables import select

#: Statements without a theorem of their own (`statements`).
LEMMA_26, LEMMA_27 = "optimum over the bound of Lemma 26", "ratio of Lemma 27"
EFFECTIVE_ORDER, EFFECTIVE_SHARE = "order in ε of the effective share of n", "effective share of n over ε²"
FIRST_BOUND, PINSKER = "exponent over its first bound, up to ε*", "second over first side by Pinsker"
SECOND_BOUND = "loss of randomized response over e^-ε"

#: The columns of a sweep that the shares of the optimum follow from.
COLUMNS = ("size", "instance", "mechanism", "epsilon", "metric", "value", "bound")


def of_sizes(table: Rows, sizes: int | Sequence[int], **values: Sequence[str]) -> Iterator[pd.DataFrame]:
    """Select the rows of one or more alphabet sizes, and, by column, of the values given, batch by batch."""
    wanted = [sizes] if isinstance(sizes, int) else sizes
    return (select(batch, size=[str(size) for size in wanted], **values) for batch in batches_of(table))


def ratios(table: Rows, utility: str, **values: Any) -> pd.DataFrame:
    """Return value / OPT of a utility at positive epsilon (at 0, OPT is 0), a column per mechanism.

    The rows to take are those that `select` takes for `values`; the index has the levels size, instance and
    epsilon.
    """
    found = pd.concat(_shares(batch, metric=utility, **values) for batch in batches_of(table))
    return found.sort_index(axis=1).rename_axis(columns="mechanism")


def _shares(table: pd.DataFrame, **values: Any) -> pd.DataFrame:
    """Return `ratios` of one batch, the columns not yet in order."""
    rows = select(table[list(COLUMNS)], **values)
    rows = rows[np.isfinite(rows["epsilon"]) & (rows["epsilon"] > 0)]
    shares = rows.assign(ratio=rows["value"] / rows["bound"])
    return pd.DataFrame(shares.pivot_table("ratio", ["size", "instance", "epsilon"], "mechanism"))
