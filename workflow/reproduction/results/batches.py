"""Tables in batches: what is too long for the memory is read, checked and written some rows at a time.

The batches of a table follow each other in the order of its key, and there is at least one. Rows that agree
in the columns `Schema.together`, as those of an instance do, are in one batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from reproduction.results.tables import Schema, select

#: A table: all of its rows, or its batches.
Rows = pd.DataFrame | Iterable[pd.DataFrame]

#: The prefix of a row: its values in the columns `Schema.together`, the first ones of the key.
Prefix = tuple[str, ...]


def batches_of(table: Rows) -> Iterable[pd.DataFrame]:
    """Return the batches of a table; a frame is one."""
    return [table] if isinstance(table, pd.DataFrame) else table


def gather(table: Rows, columns: Sequence[str], **values: Any) -> pd.DataFrame:
    """Return some columns of the rows that `select` takes of every batch, as one frame."""
    found = [select(batch, **values)[list(columns)] for batch in batches_of(table)]
    return pd.concat(found, ignore_index=True)


def prefix_of(frame: pd.DataFrame, row: int, schema: Schema) -> Prefix:
    """Return the prefix of a row, counted from 0 or, below 0, from the end."""
    return tuple(str(frame[name].iloc[row]) for name in schema.together)


def at_least_one(batches: Iterable[pd.DataFrame], schema: Schema) -> Iterator[pd.DataFrame]:
    """Yield the batches that have rows, or one without rows."""
    empty = True
    for batch in batches:
        if len(batch):
            empty = False
            yield batch
    if empty:
        yield schema.table([])


def whole(frames: Iterable[pd.DataFrame], schema: Schema) -> Iterator[pd.DataFrame]:
    """Cut a sorted table, given in pieces of any length, so that rows with one prefix are in one batch."""
    held: list[pd.DataFrame] = []  # rows with one prefix
    for frame in frames:
        if held and prefix_of(held[-1], -1, schema) != prefix_of(frame, 0, schema):
            yield pd.concat(held, ignore_index=True)
            held = []
        start = _count_before(frame, prefix_of(frame, -1, schema), schema)
        if start:
            yield pd.concat([*held, frame.iloc[:start]], ignore_index=True)
            held = []
        held.append(frame.iloc[start:])
    if held:
        yield pd.concat(held, ignore_index=True)


def merge(
    parts: Iterable[tuple[Prefix, Callable[[], pd.DataFrame]]], schema: Schema
) -> Iterator[pd.DataFrame]:
    """Merge tables, each sorted and checked, into the batches of one.

    Parameters
    ----------
    parts : iterable of (prefix of the first row, function that returns the table)
        The prefix of a table without rows is empty. A table is asked for when rows before its first one are
        complete, and given up when its last one is returned: few are held at a time if few prefixes are in
        several of them.
    schema : Schema

    Raises
    ------
    TableError
        If a row is in several tables, or they break a rule together.
    """
    ordered = sorted(parts, key=lambda part: part[0])
    held: list[pd.DataFrame] = []
    for following, (_, read) in enumerate(ordered, start=1):
        held.append(read())
        if following < len(ordered):
            ends = [_count_before(part, ordered[following][0], schema) for part in held]
        else:
            ends = [len(part) for part in held]
        ready = [part.iloc[:end] for part, end in zip(held, ends, strict=True) if end]
        held = [part.iloc[end:] for part, end in zip(held, ends, strict=True) if end < len(part)]
        if len(ready) == 1:
            yield ready[0].reset_index(drop=True)
        elif ready:
            yield schema.conform(pd.concat(ready, ignore_index=True))


def _count_before(frame: pd.DataFrame, prefix: Prefix, schema: Schema) -> int:
    """Count the rows before a prefix; none is before the empty one."""
    before, equal = np.zeros(len(frame), dtype=bool), np.ones(len(frame), dtype=bool)
    for name, value in zip(schema.together, prefix, strict=False):
        before |= equal & (frame[name] < value).to_numpy(dtype=bool)
        equal &= (frame[name] == value).to_numpy(dtype=bool)
    return int(before.sum())
