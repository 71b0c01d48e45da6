"""lopuhaa2024 at equal realized privacy: what a mechanism is worth that leaks as much as is allowed."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ldpfrontier.calibration import calibrated
from ldpfrontier.channel import Channel
from ldpfrontier.information import entropy, mutual_information
from ldpfrontier.optimal.nonrobust import optimal_nonrobust
from ldpfrontier.papers.lopuhaa2024.catalogue import CALIBRATED, MECHANISMS, NOMINAL
from ldpfrontier.papers.lopuhaa2024.experiments import Problem, Solution, evaluate, place_of, solve
from ldpfrontier.renyi_ball import RenyiBall
from ldpfrontier.tables import HEURISTIC, RESULTS, Row

_log = logging.getLogger(__name__)


def calibration(
    counts: ArrayLike | pd.DataFrame,
    epsilons: Sequence[float],
    *,
    instance: str,
    beta: float = 0.05,
    order: float = 2.0,
    mechanisms: Sequence[str] = ("polyopt", "ir", "srr", "grr"),
    accuracy: float = 1e-4,
    tolerance: float = 1e-7,
    max_rounds: int = 300,
) -> pd.DataFrame:
    """Compute mechanisms on one table of counts as they are and calibrated, and the optimum over F.

    A mechanism that leaks less over F than it was asked for may be asked for more. The experiment "nominal"
    has every mechanism, the optimum among them, at every level; "calibrated" has each but the optimum at the
    largest nominal level at which it leaks that much over F at most (`ldpfrontier.calibration`). Metrics:
    ``mutual_information`` and ``nmi`` as in `experiments.fig2`, the bound of what is calibrated being that of
    the optimum, whose class has every private mechanism; ``worst_case_epsilon``, what it leaks over F; and
    ``nominal_epsilon``, what it was asked for.

    Parameters
    ----------
    counts, epsilons, instance, beta, order, tolerance, max_rounds
        As in `experiments.fig2`.
    mechanisms : sequence of str
        Robust mechanisms of the catalogue; the optimum over F is always computed and never calibrated.
    accuracy : float
        Of the nominal level, relative.

    Returns
    -------
    DataFrame
        As `ldpfrontier.tables.RESULTS`.

    Raises
    ------
    ValueError
        As `experiments.fig2`; or if a mechanism is not robust, so that no level of it need be private.
    """
    for name in mechanisms:
        if name in MECHANISMS and not MECHANISMS[name].robust:
            raise ValueError(f"The mechanism is {name!r}; allowed are robust ones, which can be calibrated.")
    ball = RenyiBall.confidence(np.asarray(counts), beta=beta, order=order)
    h = entropy(ball.centre)
    wanted = [name for name in mechanisms if name != "exact"]
    rows: list[Row] = []

    def add(experiment: str, solution: Solution, nominal: float) -> None:
        place = place_of(experiment, instance, beta, ball)
        rows.extend(solution.certified(place, h))
        if solution.channel is not None:
            leak = ball.worst_case_epsilon(solution.channel)
            rows.append(solution.measured(place, "worst_case_epsilon", leak, "nats"))
            rows.append(solution.measured(place, "nominal_epsilon", nominal, "nats"))

    for epsilon in epsilons:
        solved = {
            solution.mechanism: solution
            for solution in solve(
                ball, epsilon, [*wanted, "exact"], tolerance=tolerance, max_rounds=max_rounds
            )
        }
        for name, solution in solved.items():
            add(NOMINAL, solution, epsilon)
            if name == "exact" or solution.channel is None:
                continue

            def family(level: float, name: str = name) -> Channel:
                found = evaluate(name, Problem.at(ball, level, tolerance, max_rounds)).channel
                assert found is not None, "What is within reach at one level is so at every other."
                return found

            found = calibrated(family, ball, epsilon, tol=accuracy)
            _log.info("%s, epsilon %g: %s is asked for %.4g", instance, epsilon, name, found.nominal)
            value = mutual_information(ball.centre, found.channel)
            bound = optimal_nonrobust(ball.centre, epsilon).upper_bound
            if solved["exact"].channel is not None:
                bound = min(bound, solved["exact"].bound)
            best = Solution(name, epsilon, found.channel, HEURISTIC, value, bound, found.realized)
            add(CALIBRATED, best, found.nominal)
    return RESULTS.table(rows)
