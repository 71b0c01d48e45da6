"""Share of each rule in the run time of a finished run, from the `benchmark:` files of its jobs.

python benchmarks/pipeline.py [DIRECTORY [PAPER]]
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pandas as pd


def rule_of(path: Path) -> str:
    """Name the rule of a benchmark file by its path, without sizes, names and numbers of chunks."""
    parts = [part for part in path.with_suffix("").parts if not re.fullmatch(r"\d+", part)]
    return "/".join(parts[:2]) if len(parts) > 2 else "/".join(parts)


def main(directory: Path, paper: str) -> None:
    """Print seconds, share, number of jobs and largest memory by rule."""
    logs = directory / "logs"
    tables = [
        pd.read_csv(path, sep="\t").assign(rule=rule_of(path.relative_to(logs)))
        for path in sorted(logs.glob(f"{paper}/**/*.tsv"))
    ]
    if not tables:
        raise SystemExit(f"There are no benchmark files in {logs / paper}; run the pipeline first.")
    jobs = pd.concat(tables)
    table = jobs.groupby("rule").agg(
        jobs=("s", "size"), seconds=("s", "sum"), longest=("s", "max"), mb=("max_rss", "max")
    )
    table["share"] = table["seconds"] / table["seconds"].sum()
    print(table.sort_values("seconds", ascending=False).to_string(float_format=lambda x: f"{x:.3g}"))
    print(f"total {table['seconds'].sum():.0f} s in {len(jobs)} jobs")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."), sys.argv[2] if len(sys.argv) > 2 else "*")
