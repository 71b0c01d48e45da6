"""The optimum over F beside the mechanisms of Figure 2 of lopuhaa2024, and what all of them tell whom."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from beyond.measured import rows_of_fig2
from beyond.solutions import evaluate, solve
from ldpfrontier.model.information import entropy
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from papers.lopuhaa2024.solution import SOLUTIONS, Solution, place_of, read_solutions, solution_row
from papers.lopuhaa2024.solutions import Problem
from reproduction.results.tables import RESULTS, Row

_log = logging.getLogger(__name__)


def optima(
    solutions: pd.DataFrame,
    counts: ArrayLike | pd.DataFrame,
    epsilons: Sequence[float],
    *,
    instance: str,
    beta: float = 0.05,
    order: float = 2.0,
    tolerance: float = 1e-7,
    max_rounds: int = 300,
) -> pd.DataFrame:
    """Find the optimum over F for one table of counts, from the PolyOpt among its `solutions` on.

    Arguments are as of `lopuhaa2024.experiments.solutions`.
    """
    ball = RenyiBall.confidence(np.asarray(counts), beta=beta, order=order)
    place, h, known = place_of("fig2", instance, beta, ball), entropy(ball.centre), _by_level(solutions)

    def rows() -> Iterator[Row]:
        for epsilon in epsilons:
            problem = Problem.at(ball, epsilon, tolerance, max_rounds)
            polyopt = known.get(("polyopt", epsilon))
            if polyopt is not None and polyopt.channel is not None:
                problem.solved["polyopt"] = polyopt.channel
            found = evaluate("exact", problem)
            _log.info("%s, epsilon %g: %.6f <= %.6f nats", instance, epsilon, found.value, found.bound)
            yield solution_row(place, h, found)

    return SOLUTIONS.table(rows())


def mechanisms(
    solutions: pd.DataFrame,
    optima: pd.DataFrame,
    counts: ArrayLike | pd.DataFrame,
    epsilons: Sequence[float],
    *,
    instance: str,
    beta: float = 0.05,
    order: float = 2.0,
    mechanisms: Sequence[str],
    tolerance: float = 1e-7,
    max_rounds: int = 300,
) -> pd.DataFrame:
    """Measure the mechanisms of Figure 2 and the optimum over F on one table of counts.

    Beside the metrics ``mutual_information`` and ``nmi``, every mechanism has its levels against attackers,
    in nats, which epsilon does not limit: ``worst_case_epsilon`` over F, for those who know nothing else of a
    person; ``association_epsilon`` for acquaintances, with the odds ratios of the estimate, and
    ``association_epsilon_intervals`` with those in confidence intervals; ``unconditional_epsilon`` under
    every distribution of (S, U); ``ldp_epsilon`` between any two people. The level for insiders is
    the column `conditional_privacy` of every row. What the reports tell of S and of U alone, and how well
    tables are estimated from them, is measured as in `reported.measures`.

    Optima are those of `solutions` and `optima`; arguments are as of `lopuhaa2024.experiments.solutions`.
    """
    ball = RenyiBall.confidence(np.asarray(counts), beta=beta, order=order)
    place, known = place_of("fig2", instance, beta, ball), _by_level(pd.concat([solutions, optima]))
    names = [*dict.fromkeys([*mechanisms, "exact"])]
    found = solve(ball, epsilons, names, tolerance=tolerance, max_rounds=max_rounds, known=known)
    return RESULTS.table(rows_of_fig2(ball, place, found, counts, beta))


def _by_level(solutions: pd.DataFrame) -> dict[tuple[str, float], Solution]:
    return {(found.mechanism, found.epsilon): found for found, _ in read_solutions(solutions, "fig2")}
