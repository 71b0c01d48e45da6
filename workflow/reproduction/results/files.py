"""Files of results: Parquet tables with what made them, tables of counts, and tables of texts to read.

All are written all or nothing, and checked by their schema whenever they are written or read.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from csv import reader
from dataclasses import dataclass
from hashlib import sha256
from importlib import metadata as installed
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ldpfrontier.base.atomic import replacing, write_text
from reproduction.results.batches import Rows, batches_of
from reproduction.results.tables import RESULTS, Schema, TableError

_ARROW = {"str": pa.string(), "float64": pa.float64(), "Int64": pa.int64(), "bool": pa.bool_()}
_METADATA_KEY = b"ldpfrontier"

#: Keys of the metadata: hashes of the values and of the CSV file, and which table it is.
_VALUES, _CSV, _PLACE = "values_hash", "csv_hash", "table"

#: The packages that compute and write results.
PACKAGES = ("clarabel", "cvxpy", "highspy", "matplotlib", "numpy", "pandas", "pyarrow", "scipy")

_REMEDY = "Delete the file and run the workflow again; it is made anew."


# Result tables --------------------------------------------------------------------------------------------


def write_table(
    table: Rows,
    path: Path | str,
    metadata: Mapping[str, Any],
    schema: Schema = RESULTS,
    *,
    csv_path: Path | str | None = None,
) -> None:
    """Check a table and write it as Parquet, and to `csv_path` as CSV, all or nothing.

    The order of the rows, and how they are cut into frames, does not change the bytes. The metadata say what
    made the table (hashes, versions): anything JSON can hold, but no time and no machine. Hashes of the
    values and of the CSV file are added, by which one that was changed afterwards is found.
    """
    frames = list(batches_of(table))
    frame = schema.conform(pd.concat(frames, ignore_index=True)) if frames else schema.table([])
    text = "" if csv_path is None else csv(frame)
    hashes = {_VALUES: hash_of_values(frame)} | ({_CSV: _hash(text.encode())} if text else {})
    arrow = pa.Table.from_arrays(
        [pa.array(frame[name], _ARROW[kind], from_pandas=True) for name, kind in schema.columns.items()],
        schema=pa.schema(
            [pa.field(name, _ARROW[kind]) for name, kind in schema.columns.items()],
            {_METADATA_KEY: json.dumps({**metadata, **hashes}, sort_keys=True).encode()},
        ),
    )
    if csv_path is not None:
        write_text(text, csv_path)
    with replacing(path) as target:
        pq.write_table(arrow, target, compression="zstd", write_page_checksum=True)


def hash_of_values(frame: pd.DataFrame) -> str:
    """Return a hash of the columns and values of a table, the same for every version of pandas and Arrow."""
    whole = sha256()
    for name, column in frame.items():
        if pd.api.types.is_numeric_dtype(column):
            numbers = column.to_numpy(dtype="<f8", na_value=np.nan)
            # There are many numbers that are none.
            values = np.where(np.isnan(numbers), np.nan, numbers).tobytes()
        else:
            values = json.dumps(column.to_list()).encode()
        whole.update(json.dumps([name, len(values)]).encode() + values)
    return whole.hexdigest()


def _hash(content: bytes) -> str:
    return sha256(content).hexdigest()


def made_by(code: str, path: Path | str) -> dict[str, Any]:
    """Return the metadata of a result file: `code` is the hash that its rule has in ``params``."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = installed.version(name)
        except installed.PackageNotFoundError:
            versions[name] = "not installed"
    # Not by an import statement: the list of exports is no part of what a job runs.
    own = importlib.import_module("ldpfrontier").__version__
    return {"code_hash": code, "code_version": own, "packages": versions, _PLACE: _place(path)}


def _place(path: Path | str) -> str:
    """Return what a file is by its folder and its name, as ``paper/table`` or ``table/part``."""
    return "/".join(Path(path).with_suffix("").parts[-2:])


@dataclass(frozen=True)
class StoredTable(Iterable[pd.DataFrame]):
    """A table in one file or in several, which are read, and checked, one by one as they are asked for."""

    files: Sequence[Path | str]
    schema: Schema

    def __iter__(self) -> Iterator[pd.DataFrame]:
        return (read_table(path, self.schema) for path in self.files)

    def read(self) -> pd.DataFrame:
        """Return the whole table: the rows of the files in the order of these."""
        return pd.concat(self, ignore_index=True)


def read_table(path: Path | str, schema: Schema = RESULTS) -> pd.DataFrame:
    """Read a table that `write_table` wrote, and check it again.

    A file is refused that is damaged or was changed, and one that is another table than its name says.
    """
    if Path(path).is_dir():
        raise TableError(f"{path} is a folder; it must be the file of a table. {_REMEDY}")
    try:
        # Read ahead, a large file would be in memory as a whole.
        frame = pq.read_table(path, page_checksum_verification=True, pre_buffer=False).to_pandas()
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise TableError(f"{path} is not a complete Parquet file: {error}. {_REMEDY}") from None
    table, metadata = schema.conform(frame), read_metadata(path)
    if metadata.get(_VALUES) != hash_of_values(table):
        found = "has other values than were written" if _VALUES in metadata else "has no hash of its values"
        raise TableError(f"{path} {found}. {_REMEDY}")
    if metadata.get(_PLACE, _place(path)) != _place(path):
        raise TableError(f"{path} is the table {metadata[_PLACE]}. {_REMEDY}")
    return table


def require_csv(csv_path: Path | str, path: Path | str) -> None:
    """Refuse a CSV file that is not as it was written beside the file of a table."""
    if read_metadata(path).get(_CSV) != _hash(Path(csv_path).read_bytes()):
        raise TableError(f"{csv_path} does not have the values of {path}. {_REMEDY}")


def read_metadata(path: Path | str) -> dict[str, Any]:
    """Read the metadata that `write_table` put into the file; empty if there is none."""
    return dict(json.loads((pq.read_metadata(path).metadata or {}).get(_METADATA_KEY, b"{}")))


def read_counts(path: Path | str) -> pd.DataFrame:
    """Read a table of counts, shape (a1, a2), with the labels, as texts, as index and columns."""
    text = Path(path).read_bytes()
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

    ``csv`` has floats that read back exactly; ``md`` is for tables of texts to read.
    """
    writers = {".csv": csv, ".md": markdown}
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
