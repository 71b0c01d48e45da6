"""PolyOpt by decomposition and column generation against vertex enumeration and one large LP.

    PYTHONPATH=workflow:tests python benchmarks/polyopt.py [runs]

On the small Adult pairs both are timed in turn, in one process, and medians and their ratio are printed;
on the large ones enumeration is out of reach, and only ours is. Prints a table.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
import pandas as pd
from performance import two_digits
from scipy.optimize import linprog

from ldpfrontier import MutualInformation, Optimum, RenyiBall, optimal_robust
from ldpfrontier.model.information import entropy
from oracles.enumeration import _rays, robust_rays
from reproduction.data.catalogue import data_set
from reproduction.results.files import markdown

COUNTS = Path(__file__).parents[1] / "resources" / "adult_pair_counts.csv"
EVERY = (0.075, 0.3, 1.0, 2.0, 3.0, 4.0, 4.5, 5.0)
CASES: list[tuple[str, str, float, tuple[float, ...]]] = [
    ("sex", "race", 1e-7, (0.075, 1.0, 4.0)),
    ("income", "relationship", 1e-7, (0.3, 1.0, 4.0)),
    ("education", "marital-status", 1e-4, EVERY),
    ("occupation", "education", 1e-4, EVERY),
]


def enumerate_and_solve(ball: RenyiBall, epsilon: float) -> float:
    """Solve as the paper does: all vertices by exact double description, then one LP."""
    _rays.cache_clear()  # of the run before
    columns = MutualInformation(ball.centre).columns(robust_rays(ball.lower_bounds, epsilon, "all"))
    rows = np.ones(ball.centre.size)
    cost, matrix = -columns.values, columns.vectors.T  # noqa: PD011
    return -float(linprog(cost, A_eq=matrix, b_eq=rows, method="highs").fun)


def main(runs: int) -> None:
    """Time every case and print the table."""
    adult = data_set("adult")
    table = adult.read(COUNTS)
    rows = []
    for sensitive, useful, tolerance, epsilons in CASES:
        counts = np.array(adult.contingency(table, sensitive, useful).counts)
        ball = RenyiBall.confidence(counts)
        small = counts.size <= 12
        for epsilon in epsilons:
            ours, theirs = [], []
            optimum: Optimum | None = None
            expected = np.nan
            for _ in range(runs if small else 1):
                start = perf_counter()
                optimum = optimal_robust(ball, epsilon, tolerance=tolerance)
                ours.append(perf_counter() - start)
                if small:
                    start = perf_counter()
                    expected = enumerate_and_solve(ball, epsilon)
                    theirs.append(perf_counter() - start)
            assert optimum is not None
            if small:
                assert abs(optimum.value - expected) <= 1e-7 * expected
            rows.append(
                {
                    "table": f"{sensitive}, {useful}",
                    "ε": f"{epsilon:g}",
                    "NMI": f"{optimum.value / entropy(ball.centre):.4g}",
                    "certified gap": f"{optimum.gap:.1e}",
                    "rounds": str(optimum.iterations),
                    "seconds": two_digits(median(ours)),
                    "enumeration": f"{float(f'{median(theirs) / median(ours):.2g}'):g} times"
                    if small
                    else "out of reach",
                }
            )
            print(f"{sensitive}, {useful}, epsilon {epsilon}: {median(ours):.3g} s", file=sys.stderr)
    print(markdown(pd.DataFrame(rows)).strip())


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
