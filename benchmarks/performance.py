"""The solvers against those that a user would otherwise pick, over the size.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONPATH=src:workflow:tests python benchmarks/performance.py

Some five minutes on a quiet machine. Every solve is a process of its own, given up after `LIMIT` seconds of
processor time; a method that was given up is not asked for larger sizes. In a run the methods take turns on
the same instance, and ratios are medians over the runs of the two times in one run. What is measured is
processor time, so that it matters little what else the machine does, and the memory that the solve takes
beyond what the libraries do. Needs the extra `dev`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import cvxpy
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter
from numpy.typing import NDArray
from scipy.optimize import linprog

from ldpfrontier import FDivergence, MutualInformation, RenyiBall, optimal_ldp, optimal_robust
from ldpfrontier.model.utility import Utility
from oracles import enumeration
from reproduction.figure_style import PAGE_WIDTH, save, style

PICTURE = Path(__file__).parents[1] / "docs/img/performance.png"

#: Seconds of processor time and bytes after which a solve is given up; most runs of a size, and seconds after
#: which there is no next one.
LIMIT, MEMORY, RUNS, PATIENCE = 10, 8 * 2**30, 5, 12.0

EPSILON = 1.0
OURS = "ldpfrontier"

Array = NDArray[np.float64]
Method = Callable[[Any], float]


# Measuring ------------------------------------------------------------------------------------------------


class Measured(NamedTuple):
    """Processor time in seconds, memory in MB beyond what the process started with, and the value found."""

    seconds: float
    megabytes: float
    value: float


def measure(method: Method, problem: Any, warm: Any, limit: int) -> Measured | None:
    """Solve in a process of its own, after a small problem; None if that takes too much time or memory.

    Raises
    ------
    RuntimeError
        If the method fails for another reason, which is printed.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            method(warm)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            before, begin = _peak(), time.process_time()
            value = method(problem)
            seconds = time.process_time() - begin
            os.write(writing, json.dumps([seconds, _peak() - before, value]).encode())
            status = 0
        except MemoryError:
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        # Not by RLIMIT_CPU, under which the clock of a process ticks in steps of milliseconds.
        while not select.select([pipe], [], [], 0.2)[0]:
            if _used(child) > limit:
                os.kill(child, signal.SIGKILL)
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if text:
        return Measured(*json.loads(text))
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise RuntimeError("A method failed; the reason is above.")
    return None


def _used(process: int) -> float:
    """Return the processor time that a process has taken so far, seconds."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def _peak() -> float:
    """Return the largest memory of this process so far, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


@dataclass(frozen=True)
class Contest:
    """One problem at growing sizes, and the methods that solve it; the first method is ours."""

    name: str
    axis: str
    sizes: Sequence[int]
    problem: Callable[[int], Any]
    methods: dict[str, Method]


def compete(
    contest: Contest, limit: int = LIMIT, runs: int = RUNS, patience: float = PATIENCE
) -> pd.DataFrame:
    """Let the methods take turns at every size.

    Returns
    -------
    DataFrame
        A row per size and method: medians of `seconds`, `megabytes` and `ratio`, the time over ours in the
        same run; `runs`, 0 where the method was given up; and `error`, the largest relative difference from
        our value.
    """
    rows, alive = [], dict(contest.methods)
    warm = contest.problem(contest.sizes[0])
    for size in contest.sizes:
        found: dict[str, list[Measured]] = {name: [] for name in alive}
        begin = _spent()
        for _ in range(runs):
            problem = contest.problem(size)
            for name in list(alive):
                result = measure(alive[name], problem, warm, limit)
                if result is None:
                    del alive[name]
                    found[name] = []
                else:
                    found[name].append(result)
            if _spent() - begin > patience:
                break
        ours = found.get(OURS, [])
        for name, results in found.items():
            pairs = list(zip(results, ours, strict=bool(results and ours)))
            rows.append(
                {
                    "contest": contest.name,
                    "size": size,
                    "method": name,
                    "runs": len(results),
                    "seconds": _median([each.seconds for each in results]),
                    "megabytes": _median([each.megabytes for each in results]),
                    "ratio": _median([theirs.seconds / our.seconds for theirs, our in pairs]),
                    "error": max((abs(t.value / o.value - 1.0) for t, o in pairs), default=math.nan),
                }
            )
        print(f"{contest.name}, {size}: {', '.join(alive)}; {_spent():.0f} s in all", file=sys.stderr)
    return pd.DataFrame(rows)


def _spent() -> float:
    """Return the processor time of all solves so far, seconds."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime


def _median(values: Sequence[float]) -> float:
    return float(np.median(values)) if values else math.nan


# The contests ---------------------------------------------------------------------------------------------


def staircase(utility: Utility) -> tuple[Array, Array]:
    """Return all 2^k staircase columns, shape (k, 2^k), and their values (kairouz2016, Theorem 4)."""
    k = len(utility.prior)
    bits = np.arange(2**k)[:, None] >> np.arange(k) & 1
    columns = 1.0 + math.expm1(EPSILON) * bits
    scaled = utility.columns(columns)
    return scaled.vectors.T, scaled.values  # noqa: PD011


def by_linprog(utility: Utility) -> float:
    """Solve the LP of all columns with scipy."""
    columns, values = staircase(utility)
    return -float(linprog(-values, A_eq=columns, b_eq=np.ones(len(columns)), method="highs").fun)


def by_cvxpy(utility: Utility) -> float:
    """Solve the LP of all columns with the default solver of cvxpy."""
    columns, values = staircase(utility)
    theta = cvxpy.Variable(len(values), nonneg=True)
    return float(cvxpy.Problem(cvxpy.Maximize(values @ theta), [columns @ theta == 1.0]).solve())


def ours(utility: Utility) -> float:
    """Solve with a certificate over all columns."""
    return optimal_ldp(utility, EPSILON).value


def by_enumeration(ball: RenyiBall) -> float:
    """Solve as lopuhaa2024 does: all vertices by exact double description, then one LP."""
    with mock.patch.object(enumeration, "MAX_CELLS", 100):  # here it is time and memory that end it
        rays = enumeration.robust_rays(ball.lower_bounds, EPSILON, "all")
    columns = MutualInformation(ball.centre).columns(rays)
    rows = np.ones(ball.centre.size)
    return -float(linprog(-columns.values, A_eq=columns.vectors.T, b_eq=rows, method="highs").fun)  # noqa: PD011


def prior(k: int) -> MutualInformation:
    """Return mutual information under a prior drawn uniformly."""
    return MutualInformation(np.random.default_rng(k).dirichlet(np.ones(k)))


def pair(k: int) -> FDivergence:
    """Return KL divergence between two distributions drawn uniformly."""
    p0, p1 = np.random.default_rng(k).dirichlet(np.ones(k), 2)
    return FDivergence(p0, p1, "kl")


def table(a2: int) -> RenyiBall:
    """Return the uncertainty set of 3,000 records of a random table with two sensitive values."""
    rng = np.random.default_rng(a2)
    return RenyiBall.confidence(1 + rng.multinomial(3000, rng.dirichlet(np.ones(2 * a2))).reshape(2, a2))


_LISTED = {OURS: ours, "scipy linprog": by_linprog, "cvxpy": by_cvxpy}
_MANY = (20, 40, 100, 300, 1000, 3000)

CONTESTS = (
    Contest(
        "mutual information", r"inputs $k$", (4, 6, 8, 10, 12, 14, 16, 18, *_MANY, 10_000), prior, _LISTED
    ),
    Contest("KL divergence", r"inputs $k$", (4, 6, 8, 10, 12, 14, 16, 18, *_MANY), pair, _LISTED),
    Contest(
        "PolyOpt, two sensitive values", r"useful values $a_2$", (2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16), table,
        {
            OURS: lambda ball: optimal_robust(ball, EPSILON).value,
            "enumeration": by_enumeration,
        },
    ),
)  # fmt: skip


# The page -------------------------------------------------------------------------------------------------

_LOOKS = {
    OURS: ("#0072B2", "o"),
    "scipy linprog": ("#D55E00", "^"),
    "cvxpy": ("#009E73", "s"),
    "enumeration": ("#CC79A7", "D"),
}


def draw(rows: pd.DataFrame, contests: Sequence[Contest]) -> Figure:
    """Draw time and memory against the size; a cross is where a method was given up."""
    with style():
        figure = Figure(figsize=(PAGE_WIDTH, 4.4))
        axes = figure.subplots(2, len(contests), squeeze=False, sharex="col", sharey="row")
        for column, contest in enumerate(contests):
            part = rows[rows["contest"] == contest.name]
            for ax, quantity, least in zip(
                axes[:, column], ("seconds", "megabytes"), (1e-4, 0.1), strict=True
            ):
                for name in contest.methods:
                    colour, marker = _LOOKS[name]
                    curve = part[part["method"] == name].set_index("size")[quantity].clip(lower=least)
                    ax.plot(curve.dropna(), color=colour, marker=marker, label=name)
                    if curve.isna().any():
                        end, last = curve.index[-1], curve.dropna().iloc[-1:]
                        height = LIMIT if quantity == "seconds" else last.iloc[0]
                        ax.plot([last.index[0], end], [last.iloc[0], height], ":", color=colour)
                        ax.plot(end, height, "x", color=colour, markersize=6)
                ax.set(xscale="log", yscale="log")
                ax.xaxis.set_major_locator(LogLocator(10.0 if max(contest.sizes) > 100 else 2.0))
                ax.xaxis.set_major_formatter("{x:,.0f}")
                ax.xaxis.set_minor_formatter(NullFormatter())
            axes[0, column].set_title(f"({'abc'[column]}) {contest.name}", loc="left")
            axes[1, column].set_xlabel(contest.axis)
        axes[0, 0].set_ylabel("processor time (s)")
        axes[1, 0].set_ylabel("memory beyond the start (MB)")
        lines = {line.get_label(): line for ax in axes[0] for line in ax.lines if line.get_label()[0] != "_"}
        figure.legend(
            handles=[lines[name] for name in _LOOKS if name in lines], loc="outside upper center", ncols=4
        )
    return figure


def written(rows: pd.DataFrame) -> str:
    """Return the generated part of the page: the tables, and what they were measured on."""
    lines = [
        f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}; one core;"
        f" ε = {EPSILON:g}, up to {RUNS} runs, a solve is given up after {LIMIT} s.",
    ]
    for name, part in rows.groupby("contest", sort=False):
        others = [other for other in part["method"].unique() if other != OURS]
        lines += ["", f"**{name}**", ""]
        head = ["size", "runs", "ours, ms", "ours, MB"]
        head += [f"{other}: {what}" for other in others for what in ("times ours", "MB", "difference")]
        lines += [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
        for size, found in part.groupby("size"):
            by = found.set_index("method")
            cells = [f"{size:,}"]
            own = by.loc[OURS] if OURS in by.index else None
            cells += ["-"] * 3 if own is None or not own["runs"] else [
                f"{own['runs']}", _digits(1e3 * own["seconds"]), _digits(own["megabytes"])
            ]  # fmt: skip
            for other in others:
                row = by.loc[other] if other in by.index else None
                if row is None:
                    cells += ["-"] * 3
                elif not row["runs"]:
                    cells += ["given up", "-", "-"]
                else:
                    cells += [_digits(row["ratio"]), _digits(row["megabytes"]), f"{row['error']:.0e}"]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _digits(value: float) -> str:
    return "0" if value < 0.05 else two_digits(value)


def two_digits(number: float) -> str:
    """Write a number with two digits, and no exponent."""
    return f"{float(f'{number:.2g}'):,g}"


def main() -> None:
    """Measure, draw, and print the tables."""
    parser = argparse.ArgumentParser(description="Compare solvers over the size, and draw the picture.")
    parser.add_argument("--picture", type=Path, default=PICTURE)
    picture = parser.parse_args().picture
    begin = time.perf_counter()
    rows = pd.concat([compete(contest) for contest in CONTESTS], ignore_index=True)
    save(draw(rows, CONTESTS), picture, dpi=150)
    print(written(rows))
    print(f"{time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
