"""What a run says before it starts and after it ends, and how long its jobs took.

Needs no numerical library: it runs where the workflow is planned.
"""

from __future__ import annotations

import csv
import io
import logging
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ldpfrontier.provenance import configuration_hash

_COLUMNS = ("job", "settings", "seconds")

Times = dict[tuple[str, str], float]


@dataclass(frozen=True)
class Job:
    """A job of a plan: the file that its run time goes to, and a hash of what it was told."""

    name: str
    settings: str

    @classmethod
    def of(cls, benchmark: Path | str, told: Mapping[str, Any] | None) -> Job:
        """Name a job by its benchmark file, as Snakemake writes it, and by its arguments."""
        return cls(Path(benchmark).with_suffix("").as_posix(), configuration_hash(dict(told or {}))[:16])


def read_times(*paths: Path | str) -> Times:
    """Read run times in seconds; what an earlier file has counts first, and a missing file has nothing."""
    times: Times = {}
    for path in paths:
        if Path(path).is_file():
            for row in csv.DictReader(io.StringIO(Path(path).read_text(encoding="utf-8"))):
                times.setdefault((row["job"], row["settings"]), float(row["seconds"]))
    return times


def record_times(jobs: Iterable[tuple[Job, Path]], path: Path | str) -> None:
    """Enter the run times of finished jobs, each with its benchmark file, into a CSV file."""
    times = read_times(path)
    for job, benchmark in jobs:
        if benchmark.is_file():
            header, *lines = benchmark.read_text(encoding="utf-8").splitlines()
            place = header.split("\t").index("s")
            spent = [float(line.split("\t")[place]) for line in lines if line]
            if spent:
                times[job.name, job.settings] = max(spent)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows([*key, f"{times[key]:.1f}"] for key in sorted(times))
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(stream.getvalue(), encoding="utf-8")


def announcement(jobs: Iterable[Job], times: Times, cores: int | None) -> str:
    """Say what a run is about to do: how many jobs, about how long, and where to look.

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
    known = [times[job.name, job.settings] for job in jobs if (job.name, job.settings) in times]
    unknown = len(jobs) - len(known)
    if not known:
        expected = "no run with these settings has been measured yet"
    else:
        total = sum(known)
        where = f"on {cores} {_plural(cores, 'core')}" if cores else "of one core"
        expected = f"about {_duration(max(total / cores, max(known)) if cores else total)} {where}"
        if unknown:
            expected += f", and {unknown} {_plural(unknown, 'job')} that nobody has measured yet"
    return (
        f"{len(jobs)} {_plural(len(jobs), 'job')}; expected: {expected}.\n"
        "Results go to results/, the log of every job to logs/. If it is interrupted, run the same again."
    )


class Concise(logging.Filter):
    """Two short lines per job on the terminal: what it does, and how much is done.

    Snakemake's own log file keeps the rest.
    """

    _SILENT = ("Select jobs to execute...", "Finished jobid:", "Execute ")

    def filter(self, record: logging.LogRecord) -> bool:
        """Drop what says no more than the lines that are kept."""
        message = record.getMessage()
        return bool(message.strip()) and not message.startswith(self._SILENT)

    @classmethod
    def install(cls, logger: logging.Logger) -> None:
        """Make the terminal of Snakemake concise, if it writes to one itself."""
        for handler in logger.handlers:
            if handler.name == "DefaultStreamHandler":
                handler.addFilter(cls())
                handler.setFormatter(_OneLine(handler.formatter or logging.Formatter()))


class _OneLine(logging.Formatter):
    """Puts the time and the message of a rule on one line, and leaves the rest to another formatter."""

    def __init__(self, other: logging.Formatter) -> None:
        super().__init__()
        self._other = other

    def format(self, record: logging.LogRecord) -> str:
        message = getattr(record, "rule_msg", None)
        if message and record.levelno == logging.INFO:
            return f"[{time.strftime('%H:%M:%S')}] {message}"
        return self._other.format(record)


def summary(results: Path | str) -> str:
    """Return a few lines on finished results: figures and tables made, claims by verdict, where to look."""
    results = Path(results)
    made = {
        kind: len({path.with_suffix("") for path in results.glob(f"{kind}/*/*.*")})
        for kind in ("figures", "tables")
    }
    lines = [
        f"{made['figures']} figures in {results}/figures/<paper>/, {made['tables']} tables in"
        f" {results}/tables/<paper>/."
    ]
    claims = results / "claims.csv"
    if claims.is_file():
        rows = csv.DictReader(io.StringIO(claims.read_text(encoding="utf-8")))
        verdicts = Counter(row["verdict"] for row in rows)
        found = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
        lines.append(f"{verdicts.total()} claims: {found} ({results}/claims.md).")
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
