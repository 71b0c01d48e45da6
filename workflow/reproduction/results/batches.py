"""Tables in batches: one that is stored in parts is read part by part, so as not to fill the memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from reproduction.results.tables import select

#: A table: all of its rows, or its batches.
Rows = pd.DataFrame | Iterable[pd.DataFrame]


def batches_of(table: Rows) -> Iterable[pd.DataFrame]:
    """Return the batches of a table; a frame is one."""
    return [table] if isinstance(table, pd.DataFrame) else table


def gather(table: Rows, columns: Sequence[str], **values: Any) -> pd.DataFrame:
    """Return some columns of the rows that `select` takes of every batch, as one frame."""
    found = [select(batch, **values)[list(columns)] for batch in batches_of(table)]
    return pd.concat(found, ignore_index=True)
