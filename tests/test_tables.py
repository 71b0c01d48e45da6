import math
import re

import numpy as np
import pandas as pd
import pytest

from ldpfrontier.tables import (
    EXAMPLES,
    RESULTS,
    TableError,
    merge_metadata,
    pair_text,
    read_metadata,
    read_pair,
    read_table,
    relative_gap,
    replacing,
    to_csv,
    to_markdown,
    write_table,
)


def row(**changes):
    return {
        "paper": "p",
        "experiment": "e",
        "instance": "sex, race (2 x 5)",
        "mechanism": "polyopt",
        "epsilon": 0.5,
        "metric": "nmi",
        "value": 0.25,
        "upper_bound": 0.5,
        "gap": 0.5,
        "status": "optimal",
        "outputs": 4,
        "iterations": 3,
        "privacy": 0.5,
        "privacy_limit": 0.5,
        "row_sum_error": 1e-16,
        "note": "",
        **changes,
    }


SKIPPED = {
    "mechanism": "polyopt_distinct",
    "status": "skipped",
    "note": "Too large.",
    "outputs": None,
    "iterations": None,
    **dict.fromkeys(["value", "upper_bound", "gap", "privacy", "privacy_limit", "row_sum_error"], math.nan),
}
MEASURED = {"metric": "worst_case_epsilon", "status": "measured", "value": 7.0, "upper_bound": math.nan}


def table(*changes):
    return pd.DataFrame([row(**change) for change in changes])


def test_round_trip_sorts_and_keeps_types_missing_values_and_infinities(tmp_path):
    frame = table({"epsilon": 2.0}, {}, SKIPPED, {**MEASURED, "value": math.inf, "gap": math.nan})
    write_table(frame, tmp_path / "deep/t.parquet", {"seed": 1, "code_hash": "abc"})
    back = read_table(tmp_path / "deep/t.parquet")
    pd.testing.assert_frame_equal(back, RESULTS.conform(frame))
    assert list(back["epsilon"]) == [0.5, 0.5, 2.0, 0.5]
    assert back["outputs"].isna().sum() == 1
    assert math.isinf(back["value"].max())
    assert read_metadata(tmp_path / "deep/t.parquet") == {"seed": 1, "code_hash": "abc"}


def test_equal_tables_give_equal_bytes_in_any_row_order(tmp_path):
    frame = table({}, {"epsilon": 2.0}, SKIPPED)
    write_table(frame, tmp_path / "a.parquet", {"b": 1, "a": 2})
    write_table(frame[::-1], tmp_path / "b.parquet", {"a": 2, "b": 1})
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"value": 0.6}, "has value 0.6 > bound 0.5"),
        ({"value": math.nan}, "has no value"),
        ({"upper_bound": math.nan}, "has no upper bound"),
        ({"upper_bound": math.inf}, "has no upper bound"),
        ({"gap": -1e-9}, "has the gap -1e-09"),
        ({"privacy": 0.5 + 2e-9}, "has the privacy level"),
        ({"privacy": math.nan}, "has the privacy level nan"),
        ({"row_sum_error": 2e-9}, "has row sums that are off by 2e-09"),
        ({"status": ""}, "has no status"),
        ({"status": "skipped"}, "is skipped but has the value 0.25"),
        ({**SKIPPED, "note": ""}, "is skipped without a reason"),
        ({**MEASURED, "privacy": 0.6}, "has the privacy level 0.6"),
    ],
)
def test_a_certificate_that_fails_is_an_error_naming_the_row(tmp_path, change, sentence):
    with pytest.raises(TableError, match=re.escape("instance=sex, race (2 x 5)")) as error:
        write_table(table({"epsilon": 0.1, "privacy_limit": 0.6}, change), tmp_path / "t.parquet", {})
    assert sentence in str(error.value)
    assert "epsilon=0.5" in str(error.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("frame", "sentence"),
    [
        (table({}).assign(colour="red"), "has the unknown columns colour"),
        (table({}).drop(columns=["gap", "note"]), "lacks the columns gap, note"),
        (table({}, {}), "is there more than once"),
        (table({"epsilon": math.nan}), "a row without epsilon"),
        (table({}).assign(value="much"), "Column value"),
        (table({}).assign(paper=2024), "Column paper of the result table has a value that is not text"),
        (table({"outputs": 2.5}), "Column outputs"),
    ],
)
def test_a_table_of_another_shape_is_refused(frame, sentence):
    with pytest.raises(TableError, match=re.escape(sentence)):
        RESULTS.conform(frame)


def test_reading_checks_too(tmp_path):
    path = tmp_path / "t.parquet"
    table({"value": 0.9}).to_parquet(path)
    with pytest.raises(TableError, match="has value"):
        read_table(path)
    RESULTS.conform(table({}, {"epsilon": 2.0}))[::-1].to_parquet(path, index=False)
    with pytest.raises(TableError, match="not sorted"):
        read_table(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(TableError, match="not a complete Parquet file"):
        read_table(path)


def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("old")

    def interrupted():
        with replacing(path) as partial:
            partial.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_csv_floats_read_back_exactly(tmp_path):
    frame = RESULTS.conform(table({"value": 0.1 + 0.2 - 1e-17, "upper_bound": np.nextafter(0.5, 1)}))
    to_csv(frame, tmp_path / "t.csv")
    back = pd.read_csv(tmp_path / "t.csv", dtype=str)
    for name in ("value", "upper_bound"):
        assert [float(text) for text in back[name]] == frame[name].tolist()


def test_markdown(tmp_path):
    to_markdown(pd.DataFrame({"a": ["1"], "b": ["x"]}), tmp_path / "t.md")
    assert (tmp_path / "t.md").read_text() == "| a | b |\n| --- | --- |\n| 1 | x |\n"


def test_metadata_of_parts_keeps_what_differs():
    merged = merge_metadata([{"code": "a", "v": 1}, {"code": "a", "v": 2}, {"code": "a", "v": 1}])
    assert merged == {"code": "a", "v": [1, 2]}


def test_relative_gap():
    assert relative_gap(0.0, 0.0) == 0.0
    assert relative_gap(1.0, 2.0) == 0.5
    assert math.isnan(relative_gap(math.nan, math.nan))


def test_pair_keeps_labels_that_look_like_missing_values(tmp_path):
    text = pair_text([[1, 0], [2, 3]], ["?", "NA"], ["null", "10th"])
    (tmp_path / "p.csv").write_text(text)
    frame = read_pair(tmp_path / "p.csv")
    assert frame.to_numpy().tolist() == [[1, 0], [2, 3]]
    assert list(frame.index) == ["?", "NA"]
    assert list(frame.columns) == ["null", "10th"]


def test_an_example_that_differs_needs_a_note():
    entry = {
        "example": 1,
        "order": 0,
        "quantity": "B",
        "computed": 1.0,
        "printed": 2.0,
        "digits": 4,
        "agrees": False,
    }
    with pytest.raises(TableError, match="without a note"):
        EXAMPLES.conform(pd.DataFrame([{**entry, "note": ""}]))
    EXAMPLES.conform(pd.DataFrame([{**entry, "note": "Because."}]))
