"""What jobs need on a cluster: the table of docs/cluster.md, and what the pages say a whole run costs.

`python tools/make_docs.py` renews it, from the papers, the default configuration, resources/run_times.csv and
resources/measured.csv, which are those of a run at full scale.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from artifact import MEASURED, plan_of, replace_between

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/cluster.md"
_START, _END = "<!-- jobs -->\n", "<!-- /jobs -->"


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


def page() -> str:
    """Return the page with its table renewed."""
    return replace_between(PAGE.read_text(encoding="utf-8"), _START, _END, table(), PAGE)
