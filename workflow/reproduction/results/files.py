"""Files of results: Parquet tables with what made them, tables of counts, and tables of texts to read.

All are written all or nothing. A Parquet file has the hash of its rows, and the hashes of the code and of the
configuration that made it; a reader says which it expects, and refuses another, an edited or a damaged file.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from csv import reader
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ldpfrontier.atomic import replacing, write_text
from reproduction.results.tables import RESULTS, Schema, TableError

_ARROW = {"str": pa.string(), "float64": pa.float64(), "Int64": pa.int64(), "bool": pa.bool_()}
_METADATA_KEY = b"ldpfrontier"
_WORDS = {"configuration_hash": "configuration", "code_hash": "version of the code"}
_REMEDY = "Delete the file and run the workflow again; it is made anew."


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
        A hash of the content is added.
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
    described = {**metadata, "content_hash": content_hash(checked)}
    arrow = pa.schema(fields, {_METADATA_KEY: json.dumps(described, sort_keys=True).encode()})
    columns = [pa.array(checked[field.name], field.type, from_pandas=True) for field in arrow]
    with replacing(path) as partial:
        table = pa.Table.from_arrays(columns, schema=arrow)
        pq.write_table(table, partial, compression="zstd", write_page_checksum=True)
    return checked


def content_hash(table: pd.DataFrame) -> str:
    """Hash the rows of a table, in their order; 64 hexadecimal digits."""
    rows = pd.util.hash_pandas_object(table, index=False).to_numpy()
    return hashlib.sha256(rows.tobytes()).hexdigest()


def read_table(
    path: Path | str, schema: Schema = RESULTS, expected: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Read a table that `write_table` wrote, and check it again.

    Parameters
    ----------
    path : path
    schema : Schema
    expected : mapping of str to str, optional
        What the metadata must say, such as the hash of the configuration that is asked for.

    Raises
    ------
    TableError
        If the file is damaged or no Parquet file, breaks the schema, is not sorted, was changed after it was
        written, or was made by something else than what is expected.
    """
    try:
        stored = pq.read_table(path, page_checksum_verification=True)
        # The names of columns and the metadata are read here, and have no checksum.
        metadata, frame = _metadata(stored.schema), stored.to_pandas()
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise TableError(f"{path} is not a complete Parquet file: {error}. {_REMEDY}") from None
    for name, value in (expected or {}).items():
        if metadata.get(name) != value:
            raise TableError(
                f"{path} was made by another {_WORDS.get(name, name)} than is asked for now"
                f" ({name} {str(metadata.get(name))[:12]}, expected {value[:12]}). {_REMEDY}"
            )
    checked = schema.conform(frame)
    key = list(schema.key)
    if not checked[key].equals(frame[key].astype(checked[key].dtypes.to_dict())):
        raise TableError(f"The rows of {path} are not sorted by {', '.join(key)}. {_REMEDY}")
    if "content_hash" not in metadata:
        raise TableError(f"{path} was written by another program or an earlier version. {_REMEDY}")
    if metadata["content_hash"] != content_hash(checked):
        raise TableError(f"{path} was changed after it was written. {_REMEDY}")
    return checked


def read_metadata(path: Path | str) -> dict[str, Any]:
    """Read the metadata that `write_table` put into the file; empty if there is none."""
    return _metadata(pq.read_schema(path))


def _metadata(schema: pa.Schema) -> dict[str, Any]:
    return dict(json.loads((schema.metadata or {}).get(_METADATA_KEY, b"{}")))


def merge_metadata(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Merge the metadata of the parts of a table, their content aside: what differs becomes a list."""
    merged: dict[str, Any] = {}
    parts = [{name: value for name, value in part.items() if name != "content_hash"} for part in parts]
    for name in sorted({name for part in parts for name in part}):
        found = {json.dumps(part.get(name), sort_keys=True): part.get(name) for part in parts}
        merged[name] = next(iter(found.values())) if len(found) == 1 else [found[k] for k in sorted(found)]
    return merged


def read_counts(path: Path | str, digest: str | None = None) -> pd.DataFrame:
    """Read a table of counts, shape (a1, a2), with the labels, as texts, as index and columns.

    Parameters
    ----------
    path : path
    digest : str, optional
        SHA-256 that the file must have.

    Raises
    ------
    TableError
        If the file is not a rectangle of whole numbers with labels, or not the one expected.
    """
    text = Path(path).read_bytes()
    if digest is not None and hashlib.sha256(text).hexdigest() != digest:
        raise TableError(f"{path} does not have the counts that are asked for. {_REMEDY}")
    # The reader of pandas would turn labels such as "NA", "true" or "01" into something else.
    try:
        with StringIO(text.decode("utf-8"), newline="") as stream:
            head, first, *more = reader(stream)
        rows = [first, *more]
        counts = [[int(count) for _, count in zip(head[1:], row[1:], strict=True)] for row in rows]
        return pd.DataFrame(counts, index=[row[0] for row in rows], columns=head[1:])
    except (ValueError, IndexError):
        raise TableError(
            f"{path} is not a table of counts; it must have a row of labels, and rows of a label and numbers."
        ) from None


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
    """Return a table as a Markdown table; missing values are empty."""
    cells = frame.map(lambda cell: "" if pd.isna(cell) else str(cell).replace("|", r"\|"))
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
