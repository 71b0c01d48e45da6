"""The run times of jobs, and the messages before and after a run.

For jobs with times t_j on c cores the announced time is max(sum t_j / c, max t_j), a lower bound of every
schedule. The times are those of the last run in this directory with the same arguments, or else those that
the project ships, scaled by the speed of this machine. A job without such a time is expected to take as long
as others of its block on average (itself with other arguments, and the other parts of the same pair or size),
or else as others of its rule. During the run all times are multiplied by the ratio of the actual to the
expected time of the finished jobs.

This module needs no numerical library, since it is used while the workflow is planned.
"""

from __future__ import annotations

import csv
import io
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from reproduction.planning.provenance import configuration_hash
from reproduction.planning.speed import Scale, loop_seconds, scale_of

_COLUMNS = ("job", "settings", "seconds")

Times = dict[tuple[str, str], float]

#: A job of which nothing is known counts as one of so many seconds.
UNMEASURED_SECONDS = 5.0

#: Seconds of expected work after which the pace of this run counts as much as that of earlier ones.
_PRIOR = 20.0


@dataclass(frozen=True)
class Job:
    """A job of a plan: the file that its run time goes to, and a hash of its arguments."""

    name: str
    settings: str

    @property
    def likeness(self) -> tuple[str, str]:
        """What it has in common with jobs that take about as long, and with all jobs that do the same.

        The first is the log folder of a block of a table, such as a pair of attributes or a size, and the
        second that of a table; a job without such a folder is alone in it.
        """
        names = self.name.split("/")
        return "/".join(names[:4]), "/".join(names[:3])

    @classmethod
    def from_benchmark(cls, benchmark: Path | str, arguments: Mapping[str, Any] | None) -> Job:
        """Return the job of a benchmark file, as Snakemake writes it, and of its arguments."""
        return cls(Path(benchmark).with_suffix("").as_posix(), configuration_hash(dict(arguments or {}))[:16])


def read_times(*paths: Path | str) -> list[Times]:
    """Read run times in seconds by job and settings, of every file.

    A file that is missing has none, and a row that is not complete is skipped: the times are only announced.
    """
    found: list[Times] = []
    for path in paths:
        times: Times = {}
        if Path(path).is_file():
            for row in csv.DictReader(io.StringIO(Path(path).read_text(encoding="utf-8", errors="replace"))):
                with suppress(KeyError, TypeError, ValueError):
                    times[row["job"], row["settings"]] = float(row["seconds"])
        found.append(times)
    return found


def shipped(resources: Path, configurations: Iterable[Path | str]) -> list[Path]:
    """Return the files of the times that the project ships, the most apt one first.

    Parameters
    ----------
    resources : path
    configurations : iterable of path
        The files that change the default configuration; later ones win. Those of a name that the project has
        times for, as of ``config/smoke.yaml`` in ``run_times_smoke.csv``, have these before the default ones.
    """
    names = [f"_{Path(path).stem}" for path in configurations]
    return [resources / f"run_times{name}.csv" for name in [*reversed(names), ""]]


def scaled(paths: Sequence[Path], durations: Path) -> tuple[list[Times], list[Scale]]:
    """Return the times that the project ships as this machine would take them, with the scale of each file.

    Parameters
    ----------
    paths : sequence of Path
        As of `shipped`.
    durations : Path
        What says where they were measured, ``resources/durations.csv``.
    """
    here = loop_seconds()
    scales = [
        scale_of(path.stem.removeprefix("run_times").removeprefix("_") or "default", durations, here)
        for path in paths
    ]
    found = [
        {job: scale.factor * seconds for job, seconds in times.items()}
        for times, scale in zip(read_times(*paths), scales, strict=True)
    ]
    return found, scales


def benchmark_seconds(benchmark: Path) -> list[float]:
    """Return the run times in a benchmark file of Snakemake, in seconds; none if the file is missing."""
    if not benchmark.is_file():
        return []
    rows = csv.DictReader(io.StringIO(benchmark.read_text(encoding="utf-8")), delimiter="\t")
    return [float(row["s"]) for row in rows]


def record_times(jobs: Iterable[tuple[Job, Path]], path: Path | str) -> None:
    """Add the run times of finished jobs, each with its benchmark file, to a CSV file."""
    (times,) = read_times(path)
    for job, benchmark in jobs:
        if spent := benchmark_seconds(benchmark):
            times[job.name, job.settings] = max(spent)
    write_times(times, path)


def write_times(times: Times, path: Path | str) -> None:
    """Write run times, as `read_times` reads them; the file is replaced as a whole."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows([*key, f"{times[key]:.1f}"] for key in sorted(times))
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{os.getpid()}.{target.name}")
    partial.write_text(stream.getvalue(), encoding="utf-8")
    os.replace(partial, target)


@dataclass(frozen=True)
class Expected:
    """Seconds that a job may take.

    Attributes
    ----------
    is_measured : bool
        Whether it has taken them before, with the same arguments.
    is_known : bool
        Whether it, or another job of its rule, has been measured.
    origin : int
        The place of the times that this is from, if it is known.
    """

    seconds: float
    is_measured: bool = True
    is_known: bool = True
    origin: int = 0


def expected_times(jobs: Iterable[Job], times: Sequence[Times]) -> list[Expected]:
    """Return how long jobs may take: as before, else as others of their block on average, else of their rule.

    Parameters
    ----------
    jobs : iterable of Job
    times : sequence of mapping
        As `read_times` returns them; the first one that has such a job counts.
    """
    alike: list[dict[str, list[float]]] = []
    for known in times:
        groups: dict[str, list[float]] = {}
        for (name, settings), seconds in known.items():
            for group in set(Job(name, settings).likeness):
                groups.setdefault(group, []).append(seconds)
        alike.append(groups)
    expected = []
    for job in jobs:
        key = job.name, job.settings
        if measured := [(known[key], origin) for origin, known in enumerate(times) if key in known]:
            expected.append(Expected(measured[0][0], origin=measured[0][1]))
            continue
        others, origin = next(
            (
                (groups[group], origin)
                for group in job.likeness
                for origin, groups in enumerate(alike)
                if group in groups
            ),
            ([], 0),
        )
        seconds = fmean(others) if others else UNMEASURED_SECONDS
        expected.append(Expected(seconds, is_measured=False, is_known=bool(others), origin=origin))
    return expected


class Progress:
    """The share of the work of a run that is done, and an estimate of the time left.

    Parameters
    ----------
    expected : mapping of int to Expected
        What each job may take, by its number.
    cores : int, optional
        How many jobs run side by side; None if that is not known.
    clock : callable
        Returns seconds.
    log : path, optional
        CSV file that gets a row after every job: the seconds since the start, the share of the work that is
        done, and the seconds that the rest was said to take.
    """

    def __init__(
        self,
        expected: Mapping[int, Expected],
        cores: int | None,
        clock: Callable[[], float] = time.monotonic,
        log: Path | None = None,
    ) -> None:
        self._left = {job: of.seconds for job, of in expected.items()}
        self._all, self._cores, self._clock, self._log = sum(self._left.values()), cores, clock, log
        self._started: dict[int, tuple[float, float]] = {}
        self._known = {job for job, of in expected.items() if of.is_known}
        self._done = self._taken = self._expected = 0.0
        self._begun = clock()
        self._said: list[tuple[float, float, float]] = []
        if log is not None:
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text("seconds,share,left\n", encoding="utf-8")
        self._note(self.seconds_left())

    def start(self, job: int) -> None:
        """Note that a job starts."""
        if job in self._left:
            self._started[job] = self._left.pop(job), self._clock()

    def finish(self, job: int) -> None:
        """Note that a job has finished."""
        if job in self._started:
            expected, begun = self._started.pop(job)
            self._done += expected
            if job in self._known:  # a guess says nothing of the pace
                self._expected += expected
                self._taken += self._clock() - begun

    @property
    def share(self) -> float:
        """Share of the expected work that finished jobs are, 0 to 1."""
        return self._done / self._all if self._all else 1.0

    def seconds_left(self) -> float | None:
        """Return about how many seconds the rest takes; None where the number of cores is not known."""
        if self._cores is None:
            return None
        pace = (self._taken + _PRIOR) / (self._expected + _PRIOR)
        now = self._clock()
        running = [max(pace * expected - (now - begun), 0.0) for expected, begun in self._started.values()]
        waiting = [pace * expected for expected in self._left.values()]
        return max((sum(running) + sum(waiting)) / self._cores, max([*running, *waiting], default=0.0))

    def line(self, done: int, total: int) -> str:
        """Return the message after a job: finished jobs, their share of the work, and the time left."""
        left = self.seconds_left()
        self._note(left)
        rest = "" if left is None or done == total else f", about {_duration(left)} left"
        return f"{done} of {total} jobs done, {100 * self.share:.0f}% of the work{rest}"

    def _note(self, left: float | None) -> None:
        """Record the estimated time that is left, for `kept_word`."""
        if left is None:
            return
        self._said.append((self._clock() - self._begun, self.share, left))
        if self._log is not None:
            with self._log.open("a", encoding="utf-8") as stream:
                stream.write("{:.1f},{:.4f},{:.1f}\n".format(*self._said[-1]))

    def kept_word(self) -> str:
        """Return how long the run took, and the estimates at its start and during it."""
        if not self._all or not self._said:
            return ""
        told = [f"{_duration(self._said[0][2])} at the start"]
        for share in (0.2, 0.5, 0.8):
            now, _, left = next((at for at in self._said if at[1] >= share), self._said[-1])
            told.append(f"{_duration(now + left)} at {100 * share:.0f}% of the work")
        return f"The run took {_duration(self._clock() - self._begun)}; the estimates were {', '.join(told)}."


def announcement(
    jobs: Iterable[Job],
    times: Sequence[Times],
    cores: int | None,
    count: int | None = None,
    scales: Sequence[Scale] = (),
) -> str:
    """Return the text printed before a run: its jobs, about how long they take, and where results go.

    Parameters
    ----------
    jobs : iterable of Job
        What is to be done.
    times : sequence of mapping
        As `read_times` returns them.
    cores : int, optional
        How many jobs run side by side; None if that is not known, as on a cluster.
    count : int, optional
        The jobs that Snakemake counts; the last of them does nothing but wait for the others.
    scales : sequence of Scale
        Of the last of `times`, which were measured on other machines; those before were measured here.
    """
    jobs = list(jobs)
    if not jobs:
        return "Nothing has to be computed."
    count = count or len(jobs)
    expected = expected_times(jobs, times)
    unknown = sum(not of.is_measured for of in expected)
    source = _source(expected, len(times) - len(scales), scales)
    if unknown == len(jobs) and not any(times):
        text = "no run with these settings has been measured yet"
    else:
        seconds = [of.seconds for of in expected]
        where = f"on {cores} {_plural(cores, 'core')}" if cores else "of one core"
        text = (
            f"about {_duration(max(sum(seconds) / cores, max(seconds)) if cores else sum(seconds))} {where}"
        )
        if unknown:
            text += (
                f"; {unknown} of them {'was' if unknown == 1 else 'were'} not measured with these arguments,"
                " and may differ"
            )
    return (
        f"{count} {_plural(count, 'job')}; expected: {text}.\n{source}"
        "Results go to results/, and the log of every job goes to logs/. After an interruption, run the"
        " same command again."
    )


def _source(expected: Iterable[Expected], own: int, scales: Sequence[Scale]) -> str:
    """Return a line that says what the times of jobs that are known come from; empty if none is."""
    seconds: dict[Scale | None, float] = {}
    for of in expected:
        if of.is_known:
            scale = scales[of.origin - own] if of.origin >= own else None
            seconds[scale] = seconds.get(scale, 0.0) + of.seconds / (scale.factor if scale else 1.0)
    said = [scale.source(seconds[scale]) for scale in seconds if scale]
    if None in seconds:
        said.append("that of earlier runs in this directory")
    return f"The time is {', and '.join(said)}.\n" if said else ""


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
        lines.append(f"All results are on one page: {results}/report/index.html")
    return "\n".join(lines)


def _plural(count: int | None, word: str) -> str:
    return word if count == 1 else f"{word}s"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
