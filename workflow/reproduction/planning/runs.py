"""What a run says before it starts and after it ends, and how long its jobs took.

Needs no numerical library: it runs where the workflow is planned.
"""

from __future__ import annotations

import csv
import io
import json
import logging
import os
import socket
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from reproduction.planning.provenance import configuration_hash

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
    """Read run times in seconds; what an earlier file has counts first, and a missing file has nothing.

    A row that is not complete is skipped: the times only tell how long a run may take.
    """
    times: Times = {}
    for path in paths:
        if Path(path).is_file():
            for row in csv.DictReader(io.StringIO(Path(path).read_text(encoding="utf-8", errors="replace"))):
                with suppress(KeyError, TypeError, ValueError):
                    times.setdefault((row["job"], row["settings"]), float(row["seconds"]))
    return times


def seconds(benchmark: Path) -> list[float]:
    """Return the run times that a benchmark file of Snakemake has, in seconds; a missing file has none."""
    if not benchmark.is_file():
        return []
    rows = csv.DictReader(io.StringIO(benchmark.read_text(encoding="utf-8")), delimiter="\t")
    return [float(row["s"]) for row in rows]


def record_times(jobs: Iterable[tuple[Job, Path]], path: Path | str) -> None:
    """Enter the run times of finished jobs, each with its benchmark file, into a CSV file."""
    times = read_times(path)
    for job, benchmark in jobs:
        if spent := seconds(benchmark):
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
    if not jobs:
        return "Nothing has to be computed."
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

    Parameters
    ----------
    handler : logging.Handler
        What writes to the terminal.
    """

    _SILENT = ("Select jobs to execute...", "Finished jobid:", "Execute ")

    def __init__(self, handler: logging.Handler) -> None:
        super().__init__()
        self._handler = handler

    def filter(self, record: logging.LogRecord) -> bool:
        """Drop what says no more than the lines that are kept, and the empty lines before jobs."""
        self._handler.last_msg_was_job_info = True  # type: ignore[attr-defined]
        message = record.getMessage()
        return bool(message.strip()) and not message.startswith(self._SILENT)

    @classmethod
    def install(cls, logger: logging.Logger) -> None:
        """Make the terminal of Snakemake concise, if it writes to one itself."""
        for handler in logger.handlers:
            if handler.name == "DefaultStreamHandler":
                handler.addFilter(cls(handler))
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


class Busy(RuntimeError):
    """Another run is going on in the directory; the message says which."""


class Claimed:
    """A directory that one run has for itself, for as long as its process lives.

    What a killed run leaves behind does not count, as its process is gone; what a run on another machine left
    does, as nothing can be known of it here.

    Parameters
    ----------
    path : path
        File that says who has it.
    """

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)

    def take(self) -> None:
        """Take the directory.

        Raises
        ------
        Busy
            If another run has it.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True)
        own = {"host": socket.gethostname(), "pid": os.getpid(), "started": _started(os.getpid())}
        # Written in full before it has its name, so that no other run reads half of it.
        mine = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        mine.write_text(json.dumps(own), encoding="utf-8")
        try:
            for _ in range(2):
                try:
                    os.link(mine, self._path)
                    return
                except FileExistsError:
                    self._remove_if_gone()
        finally:
            mine.unlink()
        raise Busy(f"Another run has just started in this directory ({self._path}).")

    def release(self) -> None:
        """Give the directory free, if it is this process that has it."""
        if self._read().get("pid") == os.getpid():
            self._path.unlink(missing_ok=True)

    def _read(self) -> dict[str, Any]:
        try:
            return dict(json.loads(self._path.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return {}

    def _remove_if_gone(self) -> None:
        other = self._read()
        if other.get("host") == socket.gethostname():
            if _started(other["pid"]) == other["started"]:
                raise Busy(
                    f"Another run, process {other['pid']}, is going on in this directory; wait or stop it."
                )
        elif other:
            raise Busy(
                f"A run on {other['host']}, process {other['pid']}, has this directory."
                f" If it is no longer there, delete {self._path}."
            )
        self._path.unlink(missing_ok=True)


def _started(pid: int) -> float | None:
    """Return when a process started; None if there is none."""
    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return None


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
