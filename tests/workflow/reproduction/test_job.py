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
from reproduction.job import load, read_tables, stored_table
from reproduction.results.files import write_table
from reproduction.results.tables import CHECKS, RESULTS, Check, Result, TableError


def test_what_a_name_names_is_imported():
    assert load("math:pi") == math.pi
    assert load("reproduction.results.tables:CHECKS") is CHECKS
    with pytest.raises(ModuleNotFoundError, match=r"ldpfrontier\.nothing"):
        load("ldpfrontier.nothing:CHECKS")
    with pytest.raises(AttributeError, match="NOTHING"):
        load("reproduction.results.tables:NOTHING")


def made(configuration):
    return {"code_hash": "code", "configuration_hash": configuration}


def test_tables_are_read_each_from_as_many_files_as_it_has(tmp_path):
    parts = [RESULTS.table([Result("p", "e", f"00{i}", "rr", "tv", 0.5, unit="1")]) for i in range(3)]
    paths = [str(tmp_path / f"{i}.parquet") for i in range(4)]
    for part, path in zip(parts, paths, strict=False):
        write_table(part, path, made(path[-9]))
    checks = CHECKS.table([Check("p", "P-1", "000", "q", 1, "<=", 2)])
    write_table(checks, paths[3], made("3"), CHECKS)
    results, other = "reproduction.results.tables:RESULTS", "reproduction.results.tables:CHECKS"
    reads = [{"code": "code", "configurations": ["0", "1", "2"]}, {"code": "code", "configurations": ["3"]}]
    stored = stored_table(iter(paths[:3]), results, reads[0])
    assert [batch["instance"].tolist() for batch in stored] == [["000"], ["001"], ["002"]]
    call = {"tables": [{"name": "sweep", "schema": results}, {"name": "checks", "schema": other}]}
    first, second = read_tables(call, reads, paths)
    pd.testing.assert_frame_equal(first, pd.concat(parts, ignore_index=True))
    pd.testing.assert_frame_equal(second, checks)
    in_batches, again = read_tables(call, [reads[0] | {"batches": True}, reads[1]], paths)
    pd.testing.assert_frame_equal(pd.concat(in_batches, ignore_index=True), first)
    pd.testing.assert_frame_equal(again, checks)
    assert read_tables({"tables": []}, [], []) == []
    with pytest.raises(ValueError, match="shorter"):
        read_tables(call, reads[:1], paths)
    with pytest.raises(TableError, match=r"2\.parquet was made by another configuration"):
        read_tables(call, reads, [paths[0], paths[2], paths[1], paths[3]])


@pytest.mark.parametrize(
    ("ending", "said"),
    [("ValueError('too large')", "The job failed: too large"), ("KeyboardInterrupt", "")],
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
