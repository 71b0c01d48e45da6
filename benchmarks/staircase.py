"""Column generation against the solvers a user would otherwise pick, on the same staircase LPs.

    OMP_NUM_THREADS=1 python benchmarks/staircase.py [--output table.csv]

Every method maximizes the mutual information of the same random priors over eps-LDP mechanisms:

- ldpfrontier: `optimal_ldp`, which returns a channel and a certificate;
- linprog: `scipy.optimize.linprog` (HiGHS) on the LP of all 2^k columns, as one calls it;
- linprog 1e-10: the same with feasibility tolerances of 1e-10;
- cvxpy: its default solver on the same LP (left out if cvxpy is not installed).

Times are wall-clock medians within one process, with the construction of the matrix for the full LPs. The
error is the largest distance of the value from the certified interval [value, upper bound] of
`optimal_ldp` at tolerance 1e-12.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
import time
from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.special import xlogy

from ldpfrontier import MutualInformation, optimal_ldp

try:
    import cvxpy
except ImportError:
    cvxpy = None

#: (inputs, instances): one instance where the full LPs take many seconds.
SIZES = ((6, 9), (10, 5), (12, 5), (14, 3), (16, 1))
EPSILON = 1.0

Array = NDArray[np.float64]


def program(prior: Array) -> tuple[Array, Array]:
    """Return the matrix of all staircase columns (k, 2^k) and their values (kairouz2016, Theorem 4)."""
    bits = np.array(list(itertools.product([0.0, 1.0], repeat=len(prior)))).T
    columns = 1.0 + math.expm1(EPSILON) * bits
    z = prior @ columns
    return columns, prior @ xlogy(columns, columns) - xlogy(z, z)


def by_linprog(prior: Array, **options: float | bool) -> float:
    """Solve the full LP with scipy."""
    columns, values = program(prior)
    solution = linprog(-values, A_eq=columns, b_eq=np.ones(len(prior)), method="highs", options=options)
    return -float(solution.fun) if solution.status == 0 else math.nan


def by_cvxpy(prior: Array) -> float:
    """Solve the full LP with the default solver of cvxpy."""
    columns, values = program(prior)
    theta = cvxpy.Variable(len(values), nonneg=True)
    problem = cvxpy.Problem(cvxpy.Maximize(values @ theta), [columns @ theta == 1.0])
    return float(problem.solve())


def methods() -> dict[str, Callable[[Array], float]]:
    """Return the methods by name, ours first."""
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    solvers: dict[str, Callable[[Array], float]] = {
        "ldpfrontier": lambda prior: optimal_ldp(MutualInformation(prior), EPSILON).value,
        "linprog": by_linprog,
        "linprog 1e-10": lambda prior: by_linprog(prior, **tight),
    }
    return solvers | ({"cvxpy": by_cvxpy} if cvxpy else {})


def compare() -> pd.DataFrame:
    """Time all methods on the same instances."""
    rows = []
    warm = np.random.default_rng(1).dirichlet(np.ones(4))
    for method in methods().values():
        method(warm)
    for size, instances in SIZES:
        rng = np.random.default_rng(size)
        priors = [rng.dirichlet(np.ones(size)) for _ in range(instances)]
        certified = [optimal_ldp(MutualInformation(prior), EPSILON, tolerance=1e-12) for prior in priors]
        ours = math.nan
        for name, method in methods().items():
            times, errors = [], []
            for prior, optimum in zip(priors, certified, strict=True):
                begin = time.perf_counter()
                value = method(prior)
                times.append(time.perf_counter() - begin)
                errors.append(max(optimum.value - value, value - optimum.upper_bound, 0.0))
            median = float(np.median(times))
            ours = median if name == "ldpfrontier" else ours
            rows.append(
                {
                    "k": size,
                    "method": name,
                    "instances": instances,
                    "median_ms": 1e3 * median,
                    "times_ours": median / ours,
                    "largest_error": max(errors),
                }
            )
            print(f"k = {size}: {name} {1e3 * median:.1f} ms", file=sys.stderr)
    return pd.DataFrame(rows)


def main() -> None:
    """Write the table to standard output, and as CSV on request."""
    parser = argparse.ArgumentParser(description="Column generation against full LPs.")
    parser.add_argument("--output", help="CSV file to write")
    arguments = parser.parse_args()
    table = compare()
    formats = {"median_ms": "{:.2f}".format, "times_ours": "{:.1f}".format, "largest_error": "{:.1e}".format}
    print(table.to_string(index=False, formatters=formats))
    if arguments.output:
        table.to_csv(arguments.output, index=False)


if __name__ == "__main__":
    main()
