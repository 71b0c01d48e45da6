"""Random populations as tables: arrays come out as they went in, and bad distributions are refused."""

import numpy as np
import pandas as pd
import pytest

from reproduction.data.populations import POPULATION, arrays, rows_of, with_columns
from reproduction.results.files import read_table, write_table
from reproduction.results.tables import TableError, select

NAMED = {"population": "p", "size": "3", "concentration": 1.0, "seed": 4}


def drawn(n=12, rows=2, columns=3):
    return np.random.default_rng(0).dirichlet(np.full(columns, 0.1), (n, rows))


def test_what_is_read_is_what_was_drawn(tmp_path):
    numbers, P = [*range(5, 17)], drawn()
    table = POPULATION.conform(rows_of(numbers, P, **NAMED))
    write_table(table, tmp_path / "p.parquet", {}, POPULATION)
    found = read_table(tmp_path / "p.parquet", POPULATION)
    pd.testing.assert_frame_equal(found, table)
    assert np.array_equal(arrays(found), P)
    assert found["instance"].unique().tolist() == numbers
    # Some instances, in the order of their numbers, and the layout that whoever draws them has.
    some = arrays(select(found, instance=[11, 7]))
    assert np.array_equal(some, P[[2, 6]])
    assert some.flags["C_CONTIGUOUS"]
    assert found["count"].isna().all()


def test_counts_and_further_columns():
    schema = with_columns(limit="float64")
    counts = np.arange(6).reshape(1, 2, 3)
    joint = drawn(1, 1, 6).reshape(1, 2, 3)
    table = schema.conform(rows_of([0], joint, count=counts, limit=0.5, **NAMED))
    assert np.array_equal(arrays(table, "count"), counts)
    assert set(table["limit"]) == {0.5}
    assert [*table.columns] == [*POPULATION.columns, "limit"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"probability": -0.1}, r"row=0, column=0 has the probability -0\.1; allowed is 0 to 1"),
        ({"probability": 0.2}, "is of a distribution that does not sum to 1"),
        ({"count": -1}, "has the count -1; a count is 0 or more"),
        ({"row": 1, "column": 2}, "is there more than once"),
    ],
)
def test_bad_populations_get_a_sentence(change, sentence):
    table = POPULATION.conform(rows_of([0], [[[0.5, 0.25, 0.25], [0.1, 0.2, 0.7]]], **NAMED))
    for column, value in change.items():
        table.loc[0, column] = value
    with pytest.raises(TableError, match=sentence):
        POPULATION.conform(table)
