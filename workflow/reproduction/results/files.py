"""Files of results: Parquet tables with what made them, tables of counts, and tables of texts to read.

All are written all or nothing. A Parquet file has the hash of its rows, and the hashes of the code and of the
configuration that made it; a reader says which it expects, and refuses another, an edited or a damaged file.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from csv import reader
from dataclasses import dataclass
from functools import partial
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ldpfrontier.atomic import replacing, write_text
from reproduction.results.batches import Prefix, Rows, at_least_one, batches_of, merge, prefix_of, whole
from reproduction.results.tables import RESULTS, Schema, TableError

_ARROW = {"str": pa.string(), "float64": pa.float64(), "Int64": pa.int64(), "bool": pa.bool_()}
_METADATA_KEY = b"ldpfrontier"

#: Rows of a row group, as pyarrow has it by default: a table of no more is in one. Rows read at a time.
_ROW_GROUP, _ROWS_READ = 1024 * 1024, 64 * 1024
_WORDS = {"configuration_hash": "configuration", "code_hash": "version of the code"}
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
    """Check a table and write it as Parquet, all or nothing.

    Parameters
    ----------
    table : DataFrame or iterable of DataFrame
        Rows in any order, or batches, of which each comes after the one before it by the columns
        `Schema.together`.
    path : path
        Target file. How the table is cut into batches does not change its bytes.
    metadata : mapping
        What made the table (hashes, versions, seed): anything JSON can hold, but no time and no machine.
        A hash of the content is added.
    schema : Schema
    csv_path : path, optional
        Target file of the same rows as CSV.

    Raises
    ------
    TableError
        If the table breaks the schema; nothing is written then.
    """
    fields = [pa.field(name, _ARROW[kind]) for name, kind in schema.columns.items()]
    arrow, digest = pa.schema(fields), hashlib.sha256()

    def described() -> dict[bytes, bytes]:
        content = {**metadata, "content_hash": digest.hexdigest()}
        return {_METADATA_KEY: json.dumps(content, sort_keys=True).encode()}

    with ExitStack() as stack:
        target = stack.enter_context(replacing(path))
        lines = stack.enter_context(_csv_lines(csv_path)) if csv_path is not None else None

        def arrow_batches() -> Iterator[pa.Table]:
            for batch in _checked(table, schema):
                digest.update(_row_hashes(batch))
                if lines is not None:
                    lines(batch)
                columns = [pa.array(batch[field.name], field.type, from_pandas=True) for field in arrow]
                yield pa.Table.from_arrays(columns, schema=arrow)

        groups = _row_groups(arrow_batches())
        first, second = next(groups), next(groups, None)
        # What is written first has the hash only if there is no more to come.
        stored = arrow.with_metadata(described()) if second is None else arrow
        options: dict[str, Any] = {"compression": "zstd", "write_page_checksum": True}
        with pq.ParquetWriter(target, stored, **options) as writer:
            for group in [first] if second is None else chain([first, second], groups):
                writer.write_table(group.replace_schema_metadata(stored.metadata), _ROW_GROUP)
            if second is not None:
                writer.add_key_value_metadata(described())


def _checked(table: Rows, schema: Schema) -> Iterator[pd.DataFrame]:
    """Yield the batches of a table as the schema has them, one at least, and in their order."""
    if isinstance(table, pd.DataFrame) or not schema.together:
        frames = list(batches_of(table))
        yield schema.conform(pd.concat(frames, ignore_index=True)) if frames else schema.table([])
        return
    before = None
    for frame in at_least_one(table, schema):
        batch = schema.conform(frame)
        if len(batch) and before is not None and prefix_of(batch, 0, schema) <= before:
            raise TableError(f"The {schema.name} table is not in the order of {', '.join(schema.together)}.")
        before = prefix_of(batch, -1, schema) if len(batch) else None
        yield batch


def _row_groups(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Yield tables of `_ROW_GROUP` rows, and one of the rest, each of one piece: a piece begins a page."""
    held: list[pa.Table] = []
    rows = 0
    for table in tables:
        held.append(table)
        rows += table.num_rows
        if rows > _ROW_GROUP:
            joined = pa.concat_tables(held).combine_chunks()
            for start in range(0, rows - _ROW_GROUP, _ROW_GROUP):
                yield joined.slice(start, _ROW_GROUP)
            held = [joined.slice((rows - 1) // _ROW_GROUP * _ROW_GROUP)]
            rows = held[0].num_rows
    yield pa.concat_tables(held).combine_chunks()


@contextmanager
def _csv_lines(path: Path | str) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Give a function that writes batches to a CSV file one after the other, all or nothing."""
    with replacing(path) as target, target.open("w", encoding="utf-8", newline="") as stream:

        def write(batch: pd.DataFrame) -> None:
            batch.to_csv(stream, index=False, lineterminator="\n", header=stream.tell() == 0)

        yield write


def _row_hashes(table: pd.DataFrame) -> bytes:
    """Hash the rows of a table, in their order; what is hashed of all batches is the hash of the content."""
    return pd.util.hash_pandas_object(table, index=False).to_numpy().tobytes()


@dataclass(frozen=True)
class StoredTable(Iterable[pd.DataFrame]):
    """A table in one file or in several, whose batches are read, and checked, whenever they are asked for.

    Parameters
    ----------
    files : sequence of (path, mapping of str to str)
        Every file with what its metadata must say, as of `read_batches`.
    schema : Schema
    """

    files: Sequence[tuple[Path | str, Mapping[str, str] | None]]
    schema: Schema

    def __iter__(self) -> Iterator[pd.DataFrame]:
        if len(self.files) == 1:
            ((path, expected),) = self.files
            return read_batches(path, self.schema, expected)
        return merge(
            (
                (_first_prefix(path, self.schema), partial(read_table, path, self.schema, expected))
                for path, expected in self.files
            ),
            self.schema,
        )

    def read(self) -> pd.DataFrame:
        """Return the whole table: the rows of the files in the order of these."""
        tables = [read_table(path, self.schema, expected) for path, expected in self.files]
        return pd.concat(tables, ignore_index=True)


def _first_prefix(path: Path | str, schema: Schema) -> Prefix:
    """Return the prefix of the first row; empty if there is none, or if what is wrong is said on reading."""
    try:
        with pq.ParquetFile(path) as file:
            batch = next(file.iter_batches(1, columns=list(schema.together)))
        return tuple(batch.column(name)[0].as_py() for name in schema.together)
    except FileNotFoundError:
        raise
    except (StopIteration, KeyError, pa.ArrowException, OSError, ValueError):
        return ()


def read_table(
    path: Path | str, schema: Schema = RESULTS, expected: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Read a table as `read_batches` does, as a whole."""
    batches = list(read_batches(path, schema, expected))
    return batches[0] if len(batches) == 1 else pd.concat(batches, ignore_index=True)


def read_batches(
    path: Path | str, schema: Schema = RESULTS, expected: Mapping[str, str] | None = None
) -> Iterator[pd.DataFrame]:
    """Read a table that `write_table` wrote batch by batch, and check it again.

    The hash of the content is checked after the last batch; until then, no result of earlier batches may be
    used.

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
    with ExitStack() as stack:
        with _refusing_damage(path):
            # Read ahead, a large file would be in memory as a whole.
            options = {"page_checksum_verification": True, "pre_buffer": False}
            file = stack.enter_context(pq.ParquetFile(path, **options))
            # The names of columns and the metadata are read here, and have no checksum.
            metadata, names = _metadata(file.metadata), file.schema_arrow.names
        for name, value in (expected or {}).items():
            if metadata.get(name) != value:
                raise TableError(
                    f"{path} was made by another {_WORDS.get(name, name)} than is asked for now"
                    f" ({name} {str(metadata.get(name))[:12]}, expected {value[:12]}). {_REMEDY}"
                )
        schema.require_columns(names)
        digest, before, key = hashlib.sha256(), None, list(schema.key)
        typed = map(schema.cast, _stored_frames(file, path))
        for frame in at_least_one(whole(typed, schema), schema):
            batch = schema.conform(frame)
            first = prefix_of(batch, 0, schema) if len(batch) else None
            ordered = before is None or first is None or before < first
            if not ordered or not batch[key].equals(frame[key]):
                raise TableError(f"The rows of {path} are not sorted by {', '.join(key)}. {_REMEDY}")
            before = prefix_of(batch, -1, schema) if len(batch) else None
            digest.update(_row_hashes(batch))
            yield batch
        if "content_hash" not in metadata:
            raise TableError(f"{path} was written by another program or an earlier version. {_REMEDY}")
        if metadata["content_hash"] != digest.hexdigest():
            raise TableError(f"{path} was changed after it was written. {_REMEDY}")


def _stored_frames(file: pq.ParquetFile, path: Path | str) -> Iterator[pd.DataFrame]:
    """Yield the rows of a file, some at a time."""
    with _refusing_damage(path):
        for batch in file.iter_batches(_ROWS_READ):
            yield batch.to_pandas()


@contextmanager
def _refusing_damage(path: Path | str) -> Iterator[None]:
    """Turn the errors of reading a damaged file into one that says what to do."""
    try:
        yield
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise TableError(f"{path} is not a complete Parquet file: {error}. {_REMEDY}") from None


def read_metadata(path: Path | str) -> dict[str, Any]:
    """Read the metadata that `write_table` put into the file; empty if there is none."""
    return _metadata(pq.read_metadata(path))


def _metadata(file: pq.FileMetaData) -> dict[str, Any]:
    return dict(json.loads((file.metadata or {}).get(_METADATA_KEY, b"{}")))


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
