"""What the scripts of the workflow share: names that are imported, and tables that are in several files."""

import math
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import ldpfrontier
import reproduction
from reproduction.job import load, read_tables
from reproduction.results.files import write_table
from reproduction.results.tables import CHECKS, RESULTS, Check, Result


def test_what_a_name_names_is_imported():
    assert load("math:pi") == math.pi
    assert load("reproduction.results.tables:CHECKS") is CHECKS
    with pytest.raises(ModuleNotFoundError, match=r"ldpfrontier\.nothing"):
        load("ldpfrontier.nothing:CHECKS")
    with pytest.raises(AttributeError, match="NOTHING"):
        load("reproduction.results.tables:NOTHING")


def test_tables_are_read_each_from_as_many_files_as_it_has(tmp_path):
    parts = [RESULTS.table([Result("p", "e", f"00{i}", "rr", "tv", 0.5, unit="1")]) for i in range(3)]
    paths = [str(tmp_path / f"{i}.parquet") for i in range(4)]
    for part, path in zip(parts, paths, strict=False):
        write_table(part, path, {})
    checks = CHECKS.table([Check("p", "P-1", "000", "q", 1, "<=", 2)])
    write_table(checks, paths[3], {}, CHECKS)
    tables = [["reproduction.results.tables:RESULTS", 3], ["reproduction.results.tables:CHECKS", 1]]
    first, second = read_tables({"tables": tables, "batches": False}, paths)
    pd.testing.assert_frame_equal(first, pd.concat(parts, ignore_index=True))
    pd.testing.assert_frame_equal(second, checks)
    in_batches, _ = read_tables({"tables": tables, "batches": True}, paths)
    assert [batch["instance"].tolist() for batch in in_batches] == [["000"], ["001"], ["002"]]
    assert read_tables({"tables": [], "batches": False}, []) == []


@pytest.mark.parametrize(
    ("ending", "said"), [("ValueError('too large')", "The job failed: too large"), ("KeyboardInterrupt", "")]
)
def test_a_failure_is_on_the_terminal_and_an_interrupt_in_the_log_alone(ending, said, tmp_path):
    log = tmp_path / "logs/job.log"
    code = f"from reproduction.job import start\nstart({str(log)!r})\nraise {ending}"
    paths = os.pathsep.join(str(Path(package.__file__).parents[1]) for package in (ldpfrontier, reproduction))
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True
    )
    assert done.returncode
    assert (said in done.stderr) if said else "Traceback" not in done.stderr
    assert (said or "Interrupted.") in log.read_text()
