"""How long jobs took, and what a run says before it starts and after it ends.

For jobs with times t_j on c cores it announces max(sum t_j / c, max t_j), a lower bound of every schedule.
The times are those of the last run here with the same arguments, else those that the project ships.

Needs no numerical library: it runs where the workflow is planned.
"""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reproduction.planning.provenance import configuration_hash

_COLUMNS = ("job", "settings", "seconds")

Times = dict[tuple[str, str], float]


@dataclass(frozen=True)
class Job:
    """A job of a plan: the file that its run time goes to, and a hash of its arguments."""

    name: str
    settings: str

    @classmethod
    def from_benchmark(cls, benchmark: Path | str, arguments: Mapping[str, Any] | None) -> Job:
        """Return the job of a benchmark file, as Snakemake writes it, and of its arguments."""
        return cls(Path(benchmark).with_suffix("").as_posix(), configuration_hash(dict(arguments or {}))[:16])


def read_times(*paths: Path | str) -> Times:
    """Read run times in seconds by job and settings; of several files, the first that has a job counts.

    A file that is missing has none, and a row that is not complete is skipped: the times are only announced.
    """
    times: Times = {}
    for path in paths:
        if Path(path).is_file():
            for row in csv.DictReader(io.StringIO(Path(path).read_text(encoding="utf-8", errors="replace"))):
                with suppress(KeyError, TypeError, ValueError):
                    times.setdefault((row["job"], row["settings"]), float(row["seconds"]))
    return times


def benchmark_seconds(benchmark: Path) -> list[float]:
    """Return the run times in a benchmark file of Snakemake, in seconds; none if the file is missing."""
    if not benchmark.is_file():
        return []
    rows = csv.DictReader(io.StringIO(benchmark.read_text(encoding="utf-8")), delimiter="\t")
    return [float(row["s"]) for row in rows]


def record_times(jobs: Iterable[tuple[Job, Path]], path: Path | str) -> None:
    """Add the run times of finished jobs, each with its benchmark file, to a CSV file."""
    times = read_times(path)
    for job, benchmark in jobs:
        if spent := benchmark_seconds(benchmark):
            times[job.name, job.settings] = max(spent)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows([*key, f"{times[key]:.1f}"] for key in sorted(times))
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{os.getpid()}.{target.name}")
    partial.write_text(stream.getvalue(), encoding="utf-8")
    os.replace(partial, target)


def announcement(jobs: Iterable[Job], times: Times, cores: int | None) -> str:
    """Return the text printed before a run: its jobs, about how long they take, and where results go.

    Parameters
    ----------
    jobs : iterable of Job
        What is to be done.
    times : mapping
        As `read_times` returns it.
    cores : int, optional
        How many jobs run side by side; None if that is not known, as on a cluster.
    """
    jobs = list(jobs)
    if not jobs:
        return "Nothing has to be computed."
    measured = [times[job.name, job.settings] for job in jobs if (job.name, job.settings) in times]
    unknown = len(jobs) - len(measured)
    if not measured:
        expected = "no run with these settings has been measured yet"
    else:
        total = sum(measured)
        where = f"on {cores} {_plural(cores, 'core')}" if cores else "of one core"
        expected = f"about {_duration(max(total / cores, max(measured)) if cores else total)} {where}"
        if unknown:
            expected += f", and {unknown} {_plural(unknown, 'job')} that nobody has measured yet"
    return (
        f"{len(jobs)} {_plural(len(jobs), 'job')}; expected: {expected}.\n"
        "Results go to results/, the log of every job to logs/. If it is interrupted, run the same again."
    )


def summary(results: Path | str) -> str:
    """Return a few lines on finished results: figures and tables made, claims by verdict, where to look."""
    results = Path(results)
    made = {
        kind: len({path.with_suffix("") for path in results.glob(f"{kind}/*/*.*")})
        for kind in ("figures", "tables")
    }
    counted = [f"{n} {_plural(n, kind[:-1])} in {results}/{kind}/<paper>/" for kind, n in made.items()]
    lines = [f"{', '.join(counted)}."]
    claims = results / "claims.csv"
    if claims.is_file():
        rows = csv.DictReader(io.StringIO(claims.read_text(encoding="utf-8")))
        verdicts = Counter(row["verdict"] for row in rows)
        found = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
        claimed = f"{verdicts.total()} {_plural(verdicts.total(), 'claim')}"
        lines.append(f"{claimed}: {found} ({results}/claims.md).")
    if (results / "report/index.html").is_file():
        lines.append(f"All of it on one page: {results}/report/index.html")
    return "\n".join(lines)


def _plural(count: int | None, word: str) -> str:
    return word if count == 1 else f"{word}s"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
