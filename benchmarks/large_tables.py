"""Memory and time of the jobs that collect or read large tables, at multiples of the instances of a run.

PYTHONPATH=workflow:src python benchmarks/large_tables.py [--run FOLDER] [--times 1 10] [--jobs JOB ...]

The parts of the tables are those of a finished run, repeated under other names of the instances; random
instances themselves are drawn, as many as asked for. Every job is a process of its own; memory is the largest
that it had in use at once. A job reads what jobs before it wrote.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

from reproduction.job import load
from reproduction.ledger.claims import ResultTables, claims_of, decide
from reproduction.planning.paper import Call, Paper, Table
from reproduction.planning.plan import Plan, plan_of
from reproduction.results.files import StoredTable, read_table, write_table

#: Paper, kind and name, in an order in which they can be made.
JOBS = (
    "kairouz2016/tables/fig3",
    "kairouz2016/tables/fig4",
    "kairouz2016/tables/fig6",
    "kairouz2016/tables/fig7",
    "kairouz2016/tables/theorems",
    "kairouz2016/tables/sensitivity",
    "kairouz2016/figures/fig3",
    "kairouz2016/figures/fig4",
    "kairouz2016/claims/K-F3b",
    "kairouz2016/claims/K-F4",
    "lopuhaa2024/tables/synthetic",
    "lopuhaa2024/tables/fig4",
    "lopuhaa2024/tables/gain",
    "lopuhaa2024/tables/mean_orderings",
    "lopuhaa2024/figures/fig5",
    # From random instances.
    "kairouz2016/tables/fig5",
    "kairouz2016/tables/fig8",
    "kairouz2016/tables/expansions",
    "kalantari2018/tables/random",
)


def multiplied(plan: Plan, times: int) -> Plan:
    """Return the plan with `times` as many random instances."""
    configuration = deepcopy(dict(plan.configuration))
    configuration["kairouz2016"]["instances"] *= times
    configuration["kalantari2018"]["random"] *= times
    return Plan(plan.papers, configuration, "resources")


def draw_inputs(plan: Plan, call: Call, folder: Path) -> None:
    """Draw the random instances that a job reads, if they are not there."""
    for table in plan.input_tables(call):
        for part in (plan.parts(table) if table.parts else [None]) if table.population else ():
            path = folder / plan.output(table).format(part=part)
            if path in input_files(plan, call, folder) and not path.exists():
                drawn = load(table.function_name)(**plan.arguments(table, part))
                write_table(drawn, path, {}, load(table.schema_name))


def input_files(plan: Plan, call: Call, folder: Path) -> list[Path]:
    """Return the files that a job reads, in a folder."""
    return [folder / file for file in plan.input_files(call)]


def multiply(parts: list[Path], folder: Path, schema: str, times: int) -> None:
    """Write parts of `times` as many instances."""
    number = 1 + max(int(read_table(part, load(schema))["instance"].astype(int).max()) for part in parts)
    for place, part in enumerate(parts):
        rows = read_table(part, load(schema))
        instance = rows["instance"].astype(int)
        for copy in range(times):
            names = (instance + copy * number).map("{:03d}".format).astype("str")
            write_table(rows.assign(instance=names), folder / f"{copy}-{place}.parquet", {}, load(schema))


def files_of(plan: Plan, table: Table, run: Path, folder: Path) -> list[Path]:
    """Return the files of a table: its parts, what a job before made of them, or those of the run."""
    made = folder / table.paper / "tables" / f"{table.name}.parquet"
    parts = sorted((folder / table.paper / "parts" / table.name).glob("*.parquet"))
    return [made] if made.exists() else parts or [run / file for file in plan.table_files(table)]


def multiply_inputs(plan: Plan, paper: Paper, call: Call, run: Path, folder: Path, times: int) -> None:
    """Write the parts that a job reads, if they are not there."""
    own = [call] if isinstance(call, Table) and call.whole and call.parts else []
    for table in (*plan.input_tables(call), *own):
        target = folder / paper.key / "parts" / table.name
        if table.parts and table.schema == "RESULTS" and not target.exists():
            multiply([run / file for file in plan.part_files(table)], target, table.schema_name, times)


def draws(plan: Plan, call: Call) -> bool:
    """Return whether a job computes a whole table from random instances alone."""
    is_table = isinstance(call, Table) and not call.parts
    return is_table and all(table.population for table in plan.input_tables(call))


def run_job(plan: Plan, job: str, run: Path, folder: Path, times: int) -> int:
    """Do a job, and return the number of rows that it read."""
    key, kind, name = job.split("/")
    paper, rows = plan.papers[key], 0

    def counted(table: Table, files: list[Path]) -> StoredTable:
        return Counted([(file, None) for file in files], load(table.schema_name))

    class Counted(StoredTable):
        def __iter__(self) -> Iterator:
            nonlocal rows
            for batch in super().__iter__():
                rows += len(batch)
                yield batch

    if kind == "claims":
        (claim,) = (claim for claim in claims_of(paper) if claim.id == name)
        schemas = {n: load(t.schema_name) for n, t in paper.tables.items() if not t.population}
        for other in claim.tables:
            target = folder / key / "tables" / f"{other}.parquet"
            if not target.exists():
                target.symlink_to(run / f"results/tables/{key}/{other}.parquet")
        tables = ResultTables(folder / key / "tables", schemas)
        decide(claim, tables)
        return sum(len(batch) for other in claim.tables for batch in tables.batches(other))
    call = getattr(paper, kind)[name]
    target = folder / key / kind / name
    if draws(plan, call):
        plan = multiplied(plan, times)
        (table,) = plan.input_tables(call)
        files = [(file, None) for file in input_files(plan, call, folder)]
        stored = StoredTable(files, load(table.schema_name)).read()
        rows = len(stored)
        chosen = {n: value for n, value in plan.arguments(call).items() if n != table.name}
        found = load(call.function_name)(stored, **chosen)
    elif kind == "tables" and call.parts:
        found = counted(call, files_of(plan, call, run, folder))
    else:
        read = [counted(table, files_of(plan, table, run, folder)) for table in plan.input_tables(call)]
        found = load(call.function_name)(*read, **plan.arguments(call))
    if kind == "tables":
        path = target.with_suffix(".parquet")
        write_table(found, path, {}, load(call.schema_name), csv_path=target.with_suffix(".csv"))
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        found.savefig(target.with_suffix(".png"), dpi=100)
    return rows


def peak_memory() -> int:
    """Return the largest memory that this process has had, MB."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) // 1000


def main() -> None:
    """Print a line per job and multiple."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--run", type=Path, default=Path("."), help="folder of a finished run")
    parser.add_argument("--times", type=int, nargs="+", default=[1, 10], help="multiples of the instances")
    parser.add_argument("--jobs", nargs="+", default=JOBS, help="as in kairouz2016/tables/fig4")
    parser.add_argument("--folder", type=Path, help="where parts and tables are kept; else they are deleted")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    run = given.run.resolve()
    plan = plan_of(resources=run / "resources")
    if given.one:
        (job,), (times,) = given.jobs, given.times
        start = time.perf_counter()
        rows = run_job(plan, job, run, given.folder, times)
        print(f"| `{job}` | {rows} | {peak_memory()} | {time.perf_counter() - start:.0f} |", flush=True)
        return
    print("| times | job | rows | MB | s |\n|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        for times in given.times:
            folder = (given.folder or Path(scratch)) / str(times)
            for job in given.jobs:
                key, kind, name = job.split("/")
                if kind != "claims":
                    paper = plan.papers[key]
                    call = getattr(paper, kind)[name]
                    if draws(plan, call):
                        draw_inputs(multiplied(plan, times), call, folder)
                    else:
                        multiply_inputs(plan, paper, call, run, folder, times)
                print(f"| {times} ", end="", flush=True)
                command = [
                    sys.executable,
                    __file__,
                    "--one",
                    "--run",
                    run,
                    "--folder",
                    folder,
                    "--times",
                    times,
                ]
                subprocess.run([*map(str, command), "--jobs", job], check=True)


if __name__ == "__main__":
    main()
