"""The tables of a run, by name."""

import pytest

from reproduction.ledger.claims import NotComputed
from reproduction.ledger.result_tables import ResultTables, result_tables
from reproduction.planning.paper import papers
from reproduction.results.files import write_table
from reproduction.results.tables import CHECKS, RESULTS, Check, TableError

ROWS = CHECKS.table([Check("p", "P-1", "000", "outputs", 1.0, "<=", 2.0)])


def test_tables_are_read_by_name_and_checked(tmp_path):
    write_table(ROWS, tmp_path / "checks.parquet", {}, CHECKS)
    write_table(ROWS, tmp_path / "stray.parquet", {}, CHECKS)
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    tables = ResultTables(tmp_path, {"broken": RESULTS, "checks": CHECKS, "late": RESULTS})
    assert list(tables) == ["broken", "checks"]
    assert len(tables) == 2
    assert "checks" in tables
    assert "late" not in tables
    assert tables["checks"] is tables["checks"]
    assert tables["checks"]["holds"].tolist() == [True]
    with pytest.raises(TableError, match="not a complete Parquet file"):
        tables["broken"]
    for name in ("late", "stray"):
        with pytest.raises(NotComputed, match=rf"The table {name} is missing\."):
            tables[name]


def test_tables_of_other_papers_are_named_with_their_paper(tmp_path):
    known = papers()
    (tmp_path / "liao2017").mkdir()
    write_table(ROWS, tmp_path / "liao2017/theorems.parquet", {}, CHECKS)
    assert list(result_tables(tmp_path, "liao2017", known)) == ["theorems"]
    assert list(result_tables(tmp_path, "kairouz2016", known)) == ["liao2017/theorems"]
