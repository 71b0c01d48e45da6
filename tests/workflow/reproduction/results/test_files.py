import math
import random
import shutil

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from ldpfrontier.base.atomic import write_text
from reproduction.data.catalogue import Contingency
from reproduction.results.batches import gather
from reproduction.results.files import (
    StoredTable,
    csv,
    made_by,
    read_counts,
    read_metadata,
    read_table,
    write_table,
    write_texts,
)
from reproduction.results.tables import CHECKS, OPTIMAL, RESULTS, SKIPPED, Check, Result, TableError


def row(value=0.25, **changes):
    plain = {"unit": "1", "epsilon": 0.5, "direction": "max", "bound": 0.5, "status": OPTIMAL}
    return Result("p", "e", "sex, race", "polyopt", "nmi", value, size="2 x 5", **plain | changes)


OUT = {"status": SKIPPED, "note": "Too large.", "beta": 0.05, "bound": math.nan}


# Result tables --------------------------------------------------------------------------------------------


def test_round_trip_sorts_and_keeps_types_missing_values_and_infinities(tmp_path):
    path = tmp_path / "deep/t.parquet"
    rows = [
        row(epsilon=2.0),
        row(),
        row(math.nan, **OUT),
        row(math.inf, beta=0.5, direction="-", bound=math.nan, status="measured"),
    ]
    frame = pd.DataFrame(rows)
    write_table(frame, path, {"seed": 1, "code_hash": "abc"})
    back = read_table(path)
    pd.testing.assert_frame_equal(back, RESULTS.conform(frame))
    assert back["epsilon"].tolist() == [0.5, 0.5, 0.5, 2.0]
    assert back["outputs"].isna().all()
    assert math.isinf(back["value"].max())
    assert read_metadata(path).items() >= {"seed": 1, "code_hash": "abc"}.items()


def test_tables_of_every_schema_and_of_no_rows(tmp_path):
    path = tmp_path / "t.parquet"
    write_table(CHECKS.table([Check("p", "P-1", "000", "outputs", 1.0, "<=", 2.0)]), path, {}, CHECKS)
    assert read_table(path, CHECKS)["holds"].tolist() == [True]
    with pytest.raises(TableError, match="The result table has the unknown columns claim, quantity"):
        read_table(path)
    write_table(CHECKS.table([]), path, {}, CHECKS)
    pd.testing.assert_frame_equal(read_table(path, CHECKS), CHECKS.table([]))


def test_equal_tables_give_equal_bytes_in_any_row_order(tmp_path):
    frame = pd.DataFrame([row(), row(epsilon=2.0), row(math.nan, **OUT)])
    write_table(frame, tmp_path / "a.parquet", {"b": 1, "a": 2})
    write_table(frame[::-1], tmp_path / "b.parquet", {"a": 2, "b": 1})
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


def test_a_table_in_several_files_is_read_file_by_file_or_at_once(tmp_path):
    parts = [
        RESULTS.table([row(epsilon=level), row(math.nan, **OUT | {"epsilon": level})]) for level in (1.0, 2.0)
    ]
    for name, part in zip("ab", parts, strict=True):
        write_table(part, tmp_path / name, {})
    stored, whole = (
        StoredTable([tmp_path / "a", tmp_path / "b"], RESULTS),
        pd.concat(parts, ignore_index=True),
    )
    pd.testing.assert_frame_equal(stored.read(), whole)
    assert [len(batch) for batch in stored] == [2, 2]
    for table in (stored, whole):
        assert gather(table, ["epsilon"], status=OPTIMAL)["epsilon"].tolist() == [1.0, 2.0]
        write_table(table, tmp_path / "t.parquet", {}, csv_path=tmp_path / "t.csv")
        pd.testing.assert_frame_equal(read_table(tmp_path / "t.parquet"), RESULTS.conform(whole))
    assert (tmp_path / "t.csv").read_text() == csv(RESULTS.conform(whole))


def test_a_table_that_breaks_its_schema_is_not_written(tmp_path):
    with pytest.raises(TableError, match="beyond its bound"):
        write_table(pd.DataFrame([row(0.75)]), tmp_path / "t.parquet", {}, csv_path=tmp_path / "t.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_is_found(tmp_path):
    """Cut short, or with other bytes among the data: never another table, and never another kind of error."""
    path, chance = tmp_path / "t.parquet", random.Random(1)
    written = RESULTS.table([row(epsilon=float(i)) for i in range(1, 50)])
    write_table(written, path, {})
    sound = path.read_bytes()
    damaged = [sound[:0], sound[:4], sound[: len(sound) // 2], sound[:-20], sound[:-1], b"a,b\n1,2\n"]
    for _ in range(30):
        place = chance.randrange(len(sound))
        damaged.append(
            sound[:place] + bytes([sound[place] ^ (1 + chance.randrange(255))]) + sound[place + 1 :]
        )
    refused = 0
    for data in damaged:
        path.write_bytes(data)
        try:
            back = read_table(path)
        except TableError as error:
            refused += str(path) in str(error)
        else:
            # A byte that nobody reads, as in the statistics of a column.
            pd.testing.assert_frame_equal(back, written)
    assert refused > 25


# Counts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        (["?", "NA"], ["null", "10th"]),
        (['say "no"', "two\nlines"], [" x", "x"]),
    ],
)
def test_counts_keep_labels_that_look_like_something_else(tmp_path, rows, columns):
    write_text(Contingency(tuple(rows), tuple(columns), ((1, 0), (2, 3))).text(), tmp_path / "p.csv")
    frame = read_counts(tmp_path / "p.csv")
    assert frame.to_numpy().tolist() == [[1, 0], [2, 3]]
    assert frame.to_numpy().dtype == np.int64
    assert list(frame.index) == rows
    assert list(frame.columns) == columns


@pytest.mark.parametrize(
    "data",
    [b"", b",a,b\n", b",a,b\nx,1\n", b",a\nx,1,2\n", b",a\nx,1.5\n", b",a\nx,\n", b",a\n\xff,1\n", b",a\n\n"],
)
def test_what_is_no_table_of_counts_gets_a_sentence(tmp_path, data):
    (tmp_path / "p.csv").write_bytes(data)
    with pytest.raises(TableError, match=r"p\.csv is not a table of counts; it must have a row of labels,"):
        read_counts(tmp_path / "p.csv")


# Texts ----------------------------------------------------------------------------------------------------


def test_csv_floats_read_back_exactly(tmp_path):
    frame = RESULTS.table([row(0.1 + 0.2 - 1e-17, bound=np.nextafter(0.5, 1))])
    write_texts(frame, tmp_path / "t.csv")
    back = pd.read_csv(tmp_path / "t.csv", dtype=str)
    for name in ("value", "bound"):
        assert [float(text) for text in back[name]] == frame[name].tolist()
    assert (tmp_path / "t.csv").read_text() == csv(frame)


def test_another_suffix_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"t\.txt ends in '\.txt'; a table is written as \.csv, \.md"):
        write_texts(pd.DataFrame(), tmp_path / "t.txt")


def rewritten(path, change):
    """Change a table of Arrow in its file, and keep the metadata."""
    old = pq.read_table(path)
    pq.write_table(change(old).replace_schema_metadata(old.schema.metadata), path)


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table[:-1],
        lambda table: table.set_column(table.schema.get_field_index("note"), "note", [["edited", ""]]),
        lambda table: table.set_column(table.schema.get_field_index("iterations"), "iterations", [[9, 9]]),
    ],
)
def test_values_that_were_changed_are_refused(tmp_path, change):
    path = tmp_path / "t.parquet"
    write_table(RESULTS.table([row(), row(epsilon=2.0)]), path, {})
    rewritten(path, change)
    with pytest.raises(TableError, match=r"t\.parquet has other values than were written"):
        read_table(path)


def test_a_file_without_a_hash_or_of_another_table_is_refused(tmp_path):
    one, two = tmp_path / "p/one.parquet", tmp_path / "p/two.parquet"
    write_table(RESULTS.table([row()]), one, made_by("hash", one))
    assert len(read_table(one)) == 1
    shutil.copy(one, two)
    with pytest.raises(TableError, match=r"two\.parquet is the table p/one\. Delete the file and run"):
        read_table(two)
    pq.write_table(pq.read_table(one).replace_schema_metadata(None), one)
    with pytest.raises(TableError, match=r"one\.parquet has no hash of its values\. Delete the file and run"):
        read_table(one)
    two.unlink()
    two.mkdir()
    with pytest.raises(TableError, match=r"two\.parquet is a folder; it must be the file of a table"):
        read_table(two)


def test_reading_checks_too(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame([row(0.75)]).to_parquet(path)
    with pytest.raises(TableError, match="has value"):
        read_table(path)
    assert read_metadata(path) == {}
    with pytest.raises(FileNotFoundError, match=r"none\.parquet"):
        read_table(tmp_path / "none.parquet")
