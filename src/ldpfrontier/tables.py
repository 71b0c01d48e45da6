"""The schema of result tables, checked on write and on read, and files that are written all or nothing.

A result table is long: one row per (paper, experiment, instance, mechanism, epsilon, metric), with the
certificate of the value in the same row. Equal tables give equal bytes.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

PRIVACY_TOLERANCE = 1e-9
ROW_SUM_TOLERANCE = 1e-9

SKIPPED = "skipped"
MEASURED = "measured"
CLOSED_FORM = "closed form"

_ARROW = {"str": pa.string(), "float64": pa.float64(), "Int64": pa.int64(), "bool": pa.bool_()}
_METADATA_KEY = b"ldpfrontier"


class TableError(ValueError):
    """A table that breaks its schema, or a result whose certificate fails."""


@dataclass(frozen=True)
class Schema:
    """Columns, key and row rules of a table.

    Parameters
    ----------
    name : str
        What to call the table in an error.
    columns : mapping of str to {"str", "float64", "Int64", "bool"}
        The columns in their order; only Int64 and float64 admit missing values.
    key : tuple of str
        Columns whose values name a row: unique, and the order of the rows.
    rules : callable
        Yields, for a table of the right columns, a boolean array of the rows that break a rule, and the
        sentence to say about such a row, with the names of its columns in braces.
    """

    name: str
    columns: Mapping[str, str]
    key: tuple[str, ...]
    rules: Callable[[pd.DataFrame], Iterator[tuple[Any, str]]]

    def conform(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the frame in the order and the types of the schema, sorted and checked.

        Raises
        ------
        TableError
            With a sentence that names the column or the row.
        """
        if unknown := [name for name in frame.columns if name not in self.columns]:
            raise TableError(f"The {self.name} table has the unknown columns {', '.join(map(str, unknown))}.")
        if missing := [name for name in self.columns if name not in frame]:
            raise TableError(f"The {self.name} table lacks the columns {', '.join(missing)}.")
        typed = pd.DataFrame({name: self._cast(frame[name], kind) for name, kind in self.columns.items()})
        for name in self.key:
            if typed[name].isna().any():
                raise TableError(f"The {self.name} table has a row without {name}; every row needs one.")
        typed = typed.sort_values(list(self.key), kind="stable", ignore_index=True)
        twice = typed.duplicated(list(self.key)).to_numpy()
        for broken, sentence in [(twice, "is there more than once"), *self.rules(typed)]:
            rows = np.flatnonzero(np.asarray(broken, dtype=bool))
            if rows.size:
                row = typed.iloc[int(rows[0])]
                values = {str(name): value for name, value in row.items()}
                raise TableError(f"Row {self._named(row)} {sentence.format(**values)}.")
        return typed

    def _cast(self, column: pd.Series[Any], kind: str) -> pd.Series[Any]:
        # astype("str") would silently print numbers and missing values.
        if kind == "str" and not all(isinstance(value, str) for value in column):
            raise TableError(f"Column {column.name} of the {self.name} table has a value that is not text.")
        try:
            return column.astype(kind)  # type: ignore[call-overload, no-any-return]
        except (TypeError, ValueError):
            raise TableError(
                f"Column {column.name} of the {self.name} table has {column.dtype} values; it must be {kind}."
            ) from None

    def _named(self, row: pd.Series[Any]) -> str:
        return ", ".join(f"{name}={row[name]}" for name in self.key)

    def arrow(self, metadata: Mapping[str, Any]) -> pa.Schema:
        """Return the Arrow schema with the file metadata as one sorted JSON text."""
        fields = [pa.field(name, _ARROW[kind]) for name, kind in self.columns.items()]
        return pa.schema(fields, {_METADATA_KEY: json.dumps(dict(metadata), sort_keys=True).encode()})


def _result_rules(table: pd.DataFrame) -> Iterator[tuple[Any, str]]:
    skipped = table["status"] == SKIPPED
    certified = ~skipped & (table["status"] != MEASURED)
    yield table["status"] == "", "has no status"
    yield skipped & table["value"].notna(), "is skipped but has the value {value}"
    yield skipped & (table["note"] == ""), "is skipped without a reason in its note"
    yield ~skipped & table["value"].isna(), "has no value; only skipped rows may lack one"
    yield certified & ~np.isfinite(table["upper_bound"]), "has no upper bound; its certificate needs one"
    yield certified & (table["value"] > table["upper_bound"]), "has value {value} > bound {upper_bound}"
    yield certified & ~(table["gap"] >= 0), "has the gap {gap}; a gap is 0 or more"
    yield (
        ~skipped & ~(table["privacy"] <= table["privacy_limit"] + PRIVACY_TOLERANCE),
        "has the privacy level {privacy}; its limit is {privacy_limit}",
    )
    yield (
        ~skipped & ~(table["row_sum_error"] <= ROW_SUM_TOLERANCE),
        "has row sums that are off by {row_sum_error}; allowed is 1e-9",
    )


RESULTS = Schema(
    name="result",
    columns={
        "paper": "str",
        "experiment": "str",
        "instance": "str",
        "mechanism": "str",
        "epsilon": "float64",  # the level asked for, nats
        "metric": "str",
        "value": "float64",  # nats unless the metric is a ratio
        "upper_bound": "float64",  # of the best possible value, same unit
        "gap": "float64",  # (upper_bound - value) / upper_bound
        "status": "str",
        "outputs": "Int64",  # of the channel
        "iterations": "Int64",
        "privacy": "float64",  # what the channel is certified to guarantee, nats
        "privacy_limit": "float64",  # what it must guarantee
        "row_sum_error": "float64",
        "note": "str",
    },
    key=("paper", "experiment", "instance", "mechanism", "epsilon", "metric"),
    rules=_result_rules,
)


def _example_rules(table: pd.DataFrame) -> Iterator[tuple[Any, str]]:
    yield table["computed"].isna(), "has no computed value"
    yield (
        table["printed"].notna() & ~table["agrees"] & (table["note"] == ""),
        "differs from print without a note",
    )


EXAMPLES = Schema(
    name="worked example",
    columns={
        "example": "Int64",
        "order": "Int64",  # of the quantity in its example
        "quantity": "str",
        "computed": "float64",
        "printed": "float64",  # missing: the paper prints none
        "digits": "Int64",  # printed decimals
        "agrees": "bool",  # to the printed digits
        "note": "str",
    },
    key=("example", "order"),
    rules=_example_rules,
)


def relative_gap(value: float, upper_bound: float) -> float:
    """Return (upper_bound - value) / upper_bound, and 0 when both are 0."""
    return (upper_bound - value) / upper_bound if upper_bound != value else 0.0


@contextmanager
def replacing(path: Path | str) -> Iterator[Path]:
    """Give a temporary path that replaces `path` when the block succeeds and vanishes when it does not."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    # The suffix stays last because some writers choose the format by it.
    partial = target.with_name(f".{uuid.uuid4().hex}.{target.name}")
    try:
        yield partial
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def write_table(
    frame: pd.DataFrame, path: Path | str, metadata: Mapping[str, Any], schema: Schema = RESULTS
) -> None:
    """Check a table and write it as Parquet, all or nothing.

    Parameters
    ----------
    frame : DataFrame
        Rows in any order.
    path : path
        Target file.
    metadata : mapping
        What made the table (hashes, versions, seed): anything JSON can hold, but no time and no machine.
    schema : Schema

    Raises
    ------
    TableError
        If the table breaks the schema; nothing is written then.
    """
    checked, arrow = schema.conform(frame), schema.arrow(metadata)
    columns = [pa.array(checked[field.name], field.type, from_pandas=True) for field in arrow]
    with replacing(path) as partial:
        pq.write_table(pa.Table.from_arrays(columns, schema=arrow), partial, compression="zstd")


def read_table(path: Path | str, schema: Schema = RESULTS) -> pd.DataFrame:
    """Read a table that `write_table` wrote, and check it again.

    Raises
    ------
    TableError
        If the file is not Parquet, breaks the schema or is not sorted.
    """
    try:
        frame = pq.read_table(path).to_pandas()
    except pa.ArrowInvalid as error:
        raise TableError(f"{path} is not a complete Parquet file: {error}") from None
    checked = schema.conform(frame)
    key = list(schema.key)
    if not checked[key].equals(frame[key].astype(checked[key].dtypes.to_dict())):
        raise TableError(f"The rows of {path} are not sorted by {', '.join(key)}.")
    return checked


def read_metadata(path: Path | str) -> dict[str, Any]:
    """Read the metadata that `write_table` put into the file; empty if there is none."""
    stored = pq.read_schema(path).metadata or {}
    return dict(json.loads(stored.get(_METADATA_KEY, b"{}")))


def merge_metadata(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Merge the metadata of the parts of a table: what differs becomes a list of what was found."""
    merged: dict[str, Any] = {}
    parts = list(parts)
    for name in sorted({name for part in parts for name in part}):
        found = {json.dumps(part.get(name), sort_keys=True): part.get(name) for part in parts}
        merged[name] = next(iter(found.values())) if len(found) == 1 else [found[k] for k in sorted(found)]
    return merged


def to_csv(frame: pd.DataFrame, path: Path | str) -> None:
    """Write a table as CSV with floats that read back exactly, all or nothing."""
    with replacing(path) as partial:
        frame.to_csv(partial, index=False, lineterminator="\n")


def markdown(frame: pd.DataFrame) -> str:
    """Return a table of texts as a Markdown table."""
    rows = [list(map(str, frame.columns)), ["---"] * frame.shape[1], *frame.astype("str").to_numpy().tolist()]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def to_markdown(frame: pd.DataFrame, path: Path | str) -> None:
    """Write a table of texts as a Markdown table, all or nothing."""
    with replacing(path) as partial:
        partial.write_text(markdown(frame), encoding="utf-8")


def pair_text(counts: npt.ArrayLike, rows: Sequence[str], columns: Sequence[str]) -> str:
    """Return a table of counts as CSV, row labels first; equal counts give equal texts."""
    frame = pd.DataFrame(np.asarray(counts), index=list(rows), columns=list(columns))
    return frame.to_csv(lineterminator="\n")


def read_pair(path: Path | str) -> pd.DataFrame:
    """Read a table of counts, shape (a1, a2), that was written as `pair_text`."""
    # Labels such as "?" and "NA" are labels, not missing values.
    return pd.read_csv(path, index_col=0, keep_default_na=False)
