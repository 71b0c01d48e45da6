"""Files that are written all or nothing: result tables with their metadata, and tables of texts."""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ldpfrontier.tables import RESULTS, Schema, TableError

_ARROW = {"str": pa.string(), "float64": pa.float64(), "Int64": pa.int64(), "bool": pa.bool_()}
_METADATA_KEY = b"ldpfrontier"


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


def write_text(text: str, path: Path | str) -> None:
    """Write a text as UTF-8 with its line ends as they are, all or nothing."""
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")


# Result tables --------------------------------------------------------------------------------------------


def write_table(
    frame: pd.DataFrame, path: Path | str, metadata: Mapping[str, Any], schema: Schema = RESULTS
) -> pd.DataFrame:
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

    Returns
    -------
    DataFrame
        The table as it was written: in the order, the types and the columns of the schema.

    Raises
    ------
    TableError
        If the table breaks the schema; nothing is written then.
    """
    checked = schema.conform(frame)
    fields = [pa.field(name, _ARROW[kind]) for name, kind in schema.columns.items()]
    arrow = pa.schema(fields, {_METADATA_KEY: json.dumps(dict(metadata), sort_keys=True).encode()})
    columns = [pa.array(checked[field.name], field.type, from_pandas=True) for field in arrow]
    with replacing(path) as partial:
        pq.write_table(pa.Table.from_arrays(columns, schema=arrow), partial, compression="zstd")
    return checked


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


def read_counts(path: Path | str) -> pd.DataFrame:
    """Read a table of counts, shape (a1, a2), with the labels as index and columns."""
    # Labels such as "?" and "NA" are labels, not missing values.
    return pd.read_csv(path, index_col=0, keep_default_na=False)


# Texts ----------------------------------------------------------------------------------------------------


def write_texts(frame: pd.DataFrame, path: Path | str) -> None:
    """Write a table in the form of the suffix, all or nothing.

    ``csv`` has floats that read back exactly; ``md`` and ``tex`` are for tables of texts to read.

    Raises
    ------
    ValueError
        If the suffix is none of the three.
    """
    writers = {".csv": csv, ".md": markdown, ".tex": latex}
    suffix = Path(path).suffix
    if suffix not in writers:
        raise ValueError(f"{path} ends in {suffix!r}; a table is written as {', '.join(writers)}.")
    write_text(writers[suffix](frame), path)


def csv(frame: pd.DataFrame) -> str:
    """Return a table as CSV."""
    return frame.to_csv(index=False, lineterminator="\n")


def markdown(frame: pd.DataFrame) -> str:
    """Return a table of texts as a Markdown table."""
    cells = frame.astype("str").map(lambda cell: cell.replace("|", r"\|"))
    rows = [list(map(str, frame.columns)), ["---"] * frame.shape[1], *cells.to_numpy().tolist()]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def latex(frame: pd.DataFrame) -> str:
    """Return a table of texts as a LaTeX tabular (booktabs): columns of numbers to the right."""
    texts = frame.astype("str")
    right = [all(re.fullmatch(r"|-|[-+]?[\d.,]+%?", cell) for cell in texts[name]) for name in texts.columns]
    escaped = texts.map(_latex_cell)
    head = [_latex_cell(str(name)) for name in texts.columns]
    lines = [" & ".join(row) + r" \\" for row in [head, *escaped.to_numpy().tolist()]]
    columns = "".join("r" if number else "l" for number in right)
    body = "\n".join([r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"])
    return f"\\begin{{tabular}}{{{columns}}}\n{body}\n\\end{{tabular}}\n"


def _latex_cell(text: str) -> str:
    text = re.sub(r"([%&#_$])", r"\\\1", text).replace(" x ", r" $\times$ ")
    return re.sub(r"^(alpha|beta|epsilon)\b", r"$\\\1$", text)
