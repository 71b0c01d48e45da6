"""Tables that are read, merged and written in batches: the same bytes as at once, and the same refusals."""

import json
import math
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reproduction.data.populations import POPULATION
from reproduction.results import files
from reproduction.results.batches import gather, merge, prefix_of, whole
from reproduction.results.files import (
    StoredTable,
    csv,
    read_batches,
    read_metadata,
    read_table,
    write_table,
)
from reproduction.results.tables import OPTIMAL, RESULTS, Result, Schema, TableError
from support.results import content_hash

INSTANCES = ("000", "001", "010", "100", "1000", "101", "été")
NUMBERS = st.floats(allow_nan=False)

rows = st.builds(
    Result,
    st.just("p"),
    st.sampled_from(["kl", "tv"]),
    st.sampled_from(INSTANCES),
    st.sampled_from(["binary", "rr"]),
    st.just("nmi"),
    NUMBERS,
    unit=st.just("nats"),
    size=st.sampled_from(["", "12", "3"]),
    beta=st.sampled_from([0.05, math.nan]),
    epsilon=st.sampled_from([0.5, 2.0]),
    outputs=st.none() | st.integers(1, 9),
    note=st.sampled_from(["", 'a, "b"', "two\nlines", "ε"]),
)
tables = st.lists(
    rows, max_size=20, unique_by=lambda row: tuple(str(getattr(row, name)) for name in RESULTS.key)
)


def optimum(instance="000", epsilon=0.5, value=0.25, **changes):
    plain = {"unit": "1", "size": "3", "direction": "max", "bound": 0.5, "status": OPTIMAL}
    return Result("p", "e", instance, "optimal", "nmi", value, epsilon=epsilon, **plain | changes)


def written(parts, folder, metadata=None):
    """Write every part to a file, and return the table that they make up."""
    paths = [folder / f"{number}.parquet" for number in range(len(parts))]
    for path, part in zip(paths, parts, strict=True):
        write_table(RESULTS.table(part), path, metadata or {})
    return StoredTable([(path, metadata) for path in paths], RESULTS)


def write_at_once(frame, path, metadata):
    """Write a table without batches."""
    kinds = {"str": pa.string(), "float64": pa.float64(), "Int64": pa.int64(), "bool": pa.bool_()}
    frame = RESULTS.conform(frame)
    described = json.dumps(metadata | {"content_hash": content_hash(frame)}, sort_keys=True).encode()
    schema = pa.schema(
        [(name, kinds[kind]) for name, kind in RESULTS.columns.items()], {b"ldpfrontier": described}
    )
    columns = [pa.array(frame[field.name], field.type, from_pandas=True) for field in schema]
    table = pa.Table.from_arrays(columns, schema=schema)
    pq.write_table(table, path, compression="zstd", write_page_checksum=True)


def check_cut(found, data):
    """Parts of a table in a random cut make the same bytes as the whole."""
    number = data.draw(st.integers(1, 5))
    places = data.draw(st.lists(st.integers(0, number - 1), min_size=len(found), max_size=len(found)))
    parts = [[row for row, at in zip(found, places, strict=True) if at == n] for n in range(number)]
    table = RESULTS.table(found)
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        folder = Path(name)
        write_at_once(table, folder / "whole.parquet", {"seed": 1})
        patch.setattr(files, "_ROWS_READ", data.draw(st.integers(1, 9)))
        stored = written(parts, folder)
        target, text = folder / "collected.parquet", folder / "collected.csv"
        write_table(stored, target, {"seed": 1}, csv_path=text)
        assert target.read_bytes() == (folder / "whole.parquet").read_bytes()
        assert text.read_text(encoding="utf-8") == csv(table)
        pd.testing.assert_frame_equal(read_table(target), table)
        # In several row groups, as tables of more than a million rows.
        patch.setattr(files, "_ROW_GROUP", data.draw(st.integers(1, 9)))
        write_table(stored, target, {"seed": 1})
        assert pq.read_metadata(target).num_row_groups == max(1, -(-len(table) // files._ROW_GROUP))
        assert read_metadata(target) == {"seed": 1, "content_hash": content_hash(table)}
        batches = list(read_batches(target))
        pd.testing.assert_frame_equal(pd.concat(batches, ignore_index=True), table)
        ends = [(prefix_of(x, 0, RESULTS), prefix_of(x, -1, RESULTS)) for x in batches if len(x)]
        assert all(before[1] < after[0] for before, after in pairwise(ends))
        values = gather(read_batches(target), ["value"], mechanism="rr")["value"]
        assert values.tolist() == table.loc[table["mechanism"] == "rr", "value"].tolist()


def test_parts_in_any_cut_make_the_bytes_of_the_whole(long):
    settings(max_examples=30 if long else 5)(given(tables, st.data())(check_cut))()


def test_batches_of_a_table_in_pieces_have_whole_instances(long):
    settings(max_examples=100 if long else 25)(given(tables, st.data())(check_pieces))()


def check_pieces(found, data):
    """Whatever the pieces are, every batch has all rows of its instances."""
    table, schema = RESULTS.table(found), RESULTS
    pieces, start = [], 0
    while start < len(table):
        end = start + data.draw(st.integers(1, 7))
        pieces.append(table.iloc[start:end])
        start = end
    batches = list(whole(pieces, schema))
    prefixes = [{prefix_of(batch, row, schema) for row in range(len(batch))} for batch in batches]
    assert sum(map(len, prefixes)) == len(set().union(*prefixes))
    if batches:
        pd.testing.assert_frame_equal(pd.concat(batches, ignore_index=True), table)


def test_few_parts_are_held_where_names_of_instances_interleave():
    """Sorted as texts, 1000 to 1099 lie between 100 and 101."""
    parts = {n: RESULTS.table(optimum(f"{i:03d}") for i in range(100 * n, 100 * n + 100)) for n in range(20)}
    read = []

    def reader(number):
        return lambda: read.append(number) or parts[number]

    batches = merge([(prefix_of(parts[n], 0, RESULTS), reader(n)) for n in parts], RESULTS)
    seen, most = 0, 0
    for batch in batches:
        seen += len(batch)
        most = max(most, 100 * len(read) - seen)
    assert seen == 2000
    assert most <= 200
    assert read[:4] == [0, 1, 10, 11]


# What is refused ------------------------------------------------------------------------------------------


def test_a_row_in_two_parts_is_refused(tmp_path):
    stored = written(
        [[optimum("000"), optimum("001")], [optimum("001", epsilon=2.0), optimum("001")]], tmp_path
    )
    with pytest.raises(TableError, match=r"instance=001, .*epsilon=0\.5, .* is there more than once"):
        write_table(stored, tmp_path / "t.parquet", {}, csv_path=tmp_path / "t.csv")
    assert not list(tmp_path.glob("t.*"))


def test_rules_hold_for_the_rows_of_several_parts(tmp_path):
    stored = written([[optimum(epsilon=0.5)], [optimum(epsilon=2.0, value=0.2)]], tmp_path)
    with pytest.raises(TableError, match="less than a smaller level has"):
        write_table(stored, tmp_path / "t.parquet", {})


@pytest.mark.parametrize("rows_read", [1, 3, 100])
def test_a_part_that_is_edited_or_unsorted_is_refused_by_name(rows_read, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_ROWS_READ", rows_read)
    parts = [[optimum(f"{n}{i}") for i in range(4)] for n in range(3)]
    stored = written(parts, tmp_path, {"code_hash": "abc"})
    assert len(pd.concat(stored)) == 12
    path = tmp_path / "1.parquet"
    sound = pq.read_table(path)
    edited = sound.set_column(sound.schema.get_field_index("note"), "note", pa.array(["", "", "", "edited"]))
    for table, word in [
        (edited, "was changed after it was written"),
        (sound.slice(0, 3), "was changed after it was written"),
        (sound.take([3, 0, 1, 2]), "are not sorted"),
        (sound.take([0, 1, 3, 2]), "are not sorted"),
        (sound.drop_columns("note"), "lacks the columns note"),
        (sound.replace_schema_metadata({}), "was made by another version of the code"),
    ]:
        kept = table.schema.metadata or {}
        pq.write_table(table.replace_schema_metadata(kept), path)
        with pytest.raises(TableError, match=word) as error:
            write_table(stored, tmp_path / "t.parquet", {})
        assert str(path) in str(error.value) or "lacks" in word
    path.write_bytes(b"PAR1")
    with pytest.raises(TableError, match=r"1\.parquet is not a complete Parquet file"):
        write_table(stored, tmp_path / "t.parquet", {})
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"1\.parquet"):
        write_table(stored, tmp_path / "t.parquet", {})
    assert not (tmp_path / "t.parquet").exists()


def test_batches_in_another_order_are_not_written(tmp_path):
    batches = [RESULTS.table([optimum("001")]), RESULTS.table([optimum("000")])]
    with pytest.raises(TableError, match="is not in the order of paper, experiment, size, instance"):
        write_table(iter(batches), tmp_path / "t.parquet", {})
    write_table(batches[::-1], tmp_path / "t.parquet", {})
    assert read_table(tmp_path / "t.parquet")["instance"].tolist() == ["000", "001"]
    assert not list(tmp_path.glob(".*"))


def test_a_table_whose_rules_compare_any_rows_is_one_batch(tmp_path):
    """Half of a distribution in a file does not sum to 1; both do."""
    names = {"population": "p", "size": "2", "concentration": 1.0, "seed": 1, "count": None}
    cells = [(i, j) for i in range(3) for j in range(2)]
    table = POPULATION.table(
        {**names, "instance": i, "row": 0, "column": j, "probability": 0.5} for i, j in cells
    )
    write_table([table.iloc[3:], table.iloc[:3]], tmp_path / "t.parquet", {}, POPULATION)
    (batch,) = read_batches(tmp_path / "t.parquet", POPULATION)
    pd.testing.assert_frame_equal(batch, table)


@pytest.mark.parametrize("together", [("size",), ("name", "count")])
def test_rows_are_kept_together_by_texts_that_the_key_begins_with(together):
    columns = {"name": "str", "size": "str", "count": "Int64"}
    with pytest.raises(ValueError, match="Rows of things are kept together by texts that its key"):
        Schema("things", columns, ("name", "count", "size"), together=together)
