"""`optimal_mechanism`, which knows neither promise nor utility, against the solvers made for one promise.

PYTHONPATH=src python benchmarks/any_promise.py [--tables 20]

Random tables of 4 to 12 cells, 3,000 records, at three levels. Both solve the same problem one after the
other in one process; processor times, kernels compiled before. Prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from ldpfrontier import (
    MutualInformation,
    Optimum,
    RenyiBall,
    local_cone,
    optimal_ldp,
    optimal_mechanism,
    optimal_robust,
    optimal_unconditional,
    polyopt_cone,
    robust_cone,
    unconditional_cone,
)
from ldpfrontier.model.cones import Cone

SHAPES = ((2, 2), (2, 3), (2, 4), (3, 3), (2, 5), (2, 6), (3, 4))
Pair = tuple[Callable[[], Cone], Callable[[], Optimum]]


def problems(ball: RenyiBall, epsilon: float) -> dict[str, Pair]:
    """Return the cone and the solver of each promise."""
    shape = ball.centre.shape
    utility = MutualInformation(ball.centre)
    return {
        "`optimal_ldp`": (
            lambda: local_cone(ball.centre.size, epsilon),
            lambda: optimal_ldp(utility, epsilon),
        ),
        "`optimal_unconditional`": (
            lambda: unconditional_cone(shape, epsilon),
            lambda: optimal_unconditional(ball.centre, epsilon),
        ),
        "`optimal_robust`, simplex": (
            lambda: polyopt_cone(ball.lower_bounds, epsilon),
            lambda: optimal_robust(ball, epsilon),
        ),
        "`optimal_robust`, exact": (
            lambda: robust_cone(ball, epsilon),
            lambda: optimal_robust(ball, epsilon, envelope="exact"),
        ),
    }


def compared(cone: Callable[[], Cone], solver: Callable[[], Optimum], prior: np.ndarray) -> tuple[float, ...]:
    """Return times in seconds, the relative difference of the values, and by how much a bound is exceeded."""
    before = time.process_time()
    general = optimal_mechanism(MutualInformation(prior), cone())
    between = time.process_time()
    special = solver()
    after = time.process_time()
    largest = max(general.value, special.value)
    difference = (general.value - special.value) / largest
    exceeded = largest / min(general.bound, special.bound) - 1.0
    return between - before, after - between, difference, exceeded, general.gap


def main() -> None:
    """Compare the solvers, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", type=int, default=20)
    tables = parser.parse_args().tables
    print(
        "| compared with | seconds, median (largest) | times the solver's, median | value, relative | gap |"
    )
    print("|---|---|---|---|---|")
    rows = dict[str, list[tuple[float, ...]]]()
    for number in range(tables):
        rng = np.random.default_rng(number)
        shape = SHAPES[number % len(SHAPES)]
        counts = rng.multinomial(3000, rng.dirichlet(np.full(shape[0] * shape[1], 1.0))).reshape(shape) + 1
        ball = RenyiBall.confidence(counts)
        epsilon = (0.3, 1.0, 2.0)[number % 3]
        for name, (cone, solver) in problems(ball, epsilon).items():
            if number == 0:
                compared(cone, solver, ball.centre)  # compiles
            rows.setdefault(name, []).append(compared(cone, solver, ball.centre))
    for name, found in rows.items():
        own, other, difference, exceeded, gap = np.array(found).T
        assert exceeded.max() < 1e-9, f"{name}: a value exceeds a bound by {exceeded.max():.1e}"
        print(
            f"| {name} | {np.median(own):.2g} ({own.max():.2g}) | {np.median(own / other):.2g}"
            f" | {difference.min():+.0e} to {difference.max():+.0e} | {gap.max():.0e} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
