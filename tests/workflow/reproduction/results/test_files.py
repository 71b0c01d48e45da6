import hashlib
import math
import random

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ldpfrontier.atomic import write_text
from reproduction.data.catalogue import Contingency
from reproduction.results.files import (
    csv,
    latex,
    markdown,
    merge_metadata,
    read_counts,
    read_metadata,
    read_table,
    write_table,
    write_texts,
)
from reproduction.results.tables import CHECKS, OPTIMAL, RESULTS, SKIPPED, Check, Result, TableError
from support.results import content_hash


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
    metadata = {"seed": 1, "code_hash": "abc", "content_hash": content_hash(back)}
    assert read_metadata(path) == metadata


def test_a_table_that_was_made_otherwise_or_changed_is_refused_by_name(tmp_path):
    path = tmp_path / "t.parquet"
    frame = RESULTS.table([row()])
    write_table(frame, path, {"code_hash": "abc", "configuration_hash": "def"})
    read_table(path, expected={"code_hash": "abc", "configuration_hash": "def"})
    with pytest.raises(TableError, match=r"t\.parquet was made by another version of the code"):
        read_table(path, expected={"code_hash": "ABC"})
    with pytest.raises(TableError, match="was made by another configuration"):
        read_table(path, expected={"code_hash": "abc", "configuration_hash": "DEF"})
    stored = pq.read_table(path)
    edited = stored.set_column(stored.schema.get_field_index("note"), "note", pa.array(["edited"]))
    pq.write_table(edited.replace_schema_metadata(stored.schema.metadata), path)
    with pytest.raises(TableError, match="was changed after it was written"):
        read_table(path)
    # One that this project did not write says nothing of its content.
    frame.to_parquet(path)
    with pytest.raises(TableError, match="was written by another program or an earlier version"):
        read_table(path)


def test_counts_that_are_not_those_expected_are_refused(tmp_path):
    path = tmp_path / "pair.csv"
    path.write_text(",a,b\nx,1,2\n", encoding="utf-8")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert read_counts(path, digest).loc["x", "b"] == 2
    path.write_text(",a,b\nx,1,3\n", encoding="utf-8")
    with pytest.raises(TableError, match="does not have the counts that are asked for"):
        read_counts(path, digest)


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


def test_a_table_that_breaks_its_schema_is_not_written(tmp_path):
    with pytest.raises(TableError, match="beyond its bound"):
        write_table(pd.DataFrame([row(0.75)]), tmp_path / "t.parquet", {})
    assert list(tmp_path.iterdir()) == []


def test_reading_checks_too(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame([row(0.75)]).to_parquet(path)
    with pytest.raises(TableError, match="has value"):
        read_table(path)
    assert read_metadata(path) == {}
    RESULTS.table([row(), row(epsilon=2.0)])[::-1].to_parquet(path, index=False)
    with pytest.raises(TableError, match="not sorted by paper, experiment,"):
        read_table(path)
    with pytest.raises(FileNotFoundError, match=r"none\.parquet"):
        read_table(tmp_path / "none.parquet")


def test_a_damaged_file_is_found(tmp_path):
    """Cut short, or with other bytes among the data: never another table, and never another kind of error."""
    path, chance = tmp_path / "t.parquet", random.Random(1)
    written = RESULTS.table([row(epsilon=float(i)) for i in range(1, 50)])
    write_table(written, path, {})
    sound = path.read_bytes()
    damaged = [sound[:0], sound[:4], sound[: len(sound) // 2], sound[:-20], sound[:-1], b"a,b\n1,2\n"]
    for _ in range(100):
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
    assert refused > 80


def test_metadata_of_parts_keeps_what_differs():
    merged = merge_metadata([{"code": "a", "v": 1}, {"code": "a", "v": 2}, {"code": "a", "v": 1}])
    assert merged == {"code": "a", "v": [1, 2]}
    assert merge_metadata([{"v": {"b": 1, "a": 2}}, {"v": {"a": 2, "b": 1}}]) == {"v": {"a": 2, "b": 1}}
    assert merge_metadata([{"v": 1}, {}]) == {"v": [1, None]}
    assert merge_metadata([]) == {}


# Counts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        (["?", "NA"], ["null", "10th"]),
        (["01", "1"], ["1", "1.0"]),
        (["True", "nan"], ["", "a, b"]),
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


def test_markdown(tmp_path):
    frame = pd.DataFrame({"a": ["1", "x|y"], "b": ["x", "z"]})
    write_texts(frame, tmp_path / "t.md")
    text = "| a | b |\n| --- | --- |\n| 1 | x |\n| x\\|y | z |\n"
    assert (tmp_path / "t.md").read_text() == markdown(frame) == text


def test_latex(tmp_path):
    frame = pd.DataFrame({"size": ["2 x 5", "a_b & c"], "beta 0.5": ["0.5", "-"], "change": ["+1.5%", ""]})
    write_texts(frame, tmp_path / "t.tex")
    assert (tmp_path / "t.tex").read_text() == latex(frame)
    assert latex(frame).splitlines() == [
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"size & $\beta$ 0.5 & change \\",
        r"\midrule",
        r"2 $\times$ 5 & 0.5 & +1.5\% \\",
        r"a\_b \& c & - &  \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_another_suffix_is_refused(tmp_path):
    with pytest.raises(
        ValueError, match=r"t\.txt ends in '\.txt'; a table is written as \.csv, \.md, \.tex\."
    ):
        write_texts(pd.DataFrame(), tmp_path / "t.txt")


def test_missing_values_are_empty_in_markdown():
    frame = pd.DataFrame(
        {"text": ["a|b", None], "n": pd.array([2, None], dtype="Int64"), "x": [0.5, math.nan]}
    )
    assert markdown(frame).splitlines()[2:] == [r"| a\|b | 2 | 0.5 |", "|  |  |  |"]
