"""Result tables, as their files describe them."""

from __future__ import annotations

import hashlib

import pandas as pd


def content_hash(table: pd.DataFrame) -> str:
    """Hash the rows of a table, in their order."""
    return hashlib.sha256(pd.util.hash_pandas_object(table, index=False).to_numpy().tobytes()).hexdigest()
