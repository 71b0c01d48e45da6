"""What jobs need on a cluster: the tables of docs/cluster.md, and what the pages say a whole run costs.

`python tools/make_docs.py` renews them, from the papers, the files of config/, the times of jobs in
resources/run_times*.csv, by which runs are announced as well, and resources/measured.csv.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from artifact import MEASURED, plan_of, replace_between

from reproduction.planning.plan import Plan
from reproduction.planning.run_times import Job, expected_times, read_times, shipped

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/cluster.md"
_START, _END = "<!-- jobs -->\n", "<!-- /jobs -->"
_COSTS, _END_OF_COSTS = "<!-- costs -->\n", "<!-- /costs -->"
#: The configurations whose cost is stated, by the file that changes the default one.
CONFIGURATIONS = {"default": [], "`config/smoke.yaml`": ["smoke"], "`config/beyond.yaml`": ["beyond"]}


def table() -> str:
    """Return the jobs that are submitted, by rule, those where Snakemake runs, and what all cost."""
    papers = plan_of().papers
    times = pd.read_csv(ROOT / "resources/run_times.csv")
    memory = pd.read_csv(MEASURED).set_index("name")["memory"]
    head = "| rule | jobs | longest, s | all, s | most memory, MB | requested, MB | requested, min |"
    lines, submitted = [head, "|---|---|---|---|---|---|---|"], []
    for paper in papers.values():
        for call in paper.tables.values():
            name = f"logs/{paper.key}/{call.name}"
            parts = times[times["job"].str.startswith(f"{name}/") if call.parts else times["job"] == name]
            if call.brief or parts.empty:
                continue
            submitted.append(parts)
            rule = f"{paper.key}_{call.name}" + "_part" * bool(call.parts)
            most = memory.get(f"{paper.key}/{call.name}", "-")
            lines.append(f"| `{rule}` | {_amount(parts)} | {most} | {call.memory} | {call.minutes} |")
    jobs = pd.concat(submitted)
    rest = times.drop(jobs.index)
    for what, rows in (("all that are submitted", jobs), ("the rest, where Snakemake runs", rest)):
        lines.append(f"| {what} | {_amount(rows)} | | | |")
    hours = [rows["seconds"].sum() / 3600 for rows in (jobs, rest)]
    lines += [
        "",
        f"The full configuration takes {len(jobs)} jobs with {hours[0]:.2f} core hours,"
        f" and {hours[1]:.2f} core hours where Snakemake runs.",
        "",
    ]
    return "\n".join(lines)


def _amount(jobs: pd.DataFrame) -> str:
    """Return three cells: how many jobs, the longest of them, and all together, in seconds."""
    seconds = jobs["seconds"]
    return f"{len(jobs)} | {seconds.max():.0f} | {seconds.sum():.0f}"


def table_jobs(plan: Plan) -> Iterator[Job]:
    """Yield the jobs that compute tables and their parts."""
    for table in plan.tables:
        name = f"logs/{table.paper}/{table.name}"
        for part in plan.parts(table) if table.parts else [None]:
            told = plan.job_description(table, plan.arguments(table, part))
            yield Job.from_benchmark(f"{name}/{part}.tsv" if part else f"{name}.tsv", told)


def costs() -> str:
    """Return how many such jobs every configuration has, how many were measured, and what they take."""
    lines = ["| configuration | jobs | measured | core hours |", "|---|---|---|---|"]
    for shown, names in CONFIGURATIONS.items():
        times = read_times(*shipped(ROOT / "resources", names))
        expected = expected_times(table_jobs(plan_of(*names)), times)
        measured = sum(of.is_measured for of in expected)
        hours = sum(of.seconds for of in expected) / 3600
        about = "" if measured == len(expected) else "about "
        amount = f"{hours:.2f}" if hours < 1 else f"{hours:.0f}"
        lines.append(f"| {shown} | {len(expected)} | {measured} | {about}{amount} |")
    return "\n".join([*lines, ""])


def page() -> str:
    """Return the page with its tables renewed."""
    text = replace_between(PAGE.read_text(encoding="utf-8"), _START, _END, table(), PAGE)
    return replace_between(text, _COSTS, _END_OF_COSTS, costs(), PAGE)
