"""Equal realized privacy: what a mechanism of lopuhaa2024 is worth that leaks as much as is allowed."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from beyond.catalogue import CALIBRATED, NOMINAL
from beyond.solutions import evaluate, solve
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import entropy, mutual_information
from ldpfrontier.reports.calibration import Calibration, calibrated
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from papers.lopuhaa2024.catalogue import MECHANISMS, OPTIMA
from papers.lopuhaa2024.solution import Solution, place_of
from papers.lopuhaa2024.solutions import Problem
from reproduction.results.tables import HEURISTIC, RESULTS, Row

#: How far above the level allowed the optimum of a class is tried, as a multiple of what it leaks too little.
REACH = 3.0

_log = logging.getLogger(__name__)


# More than eight parameters: they are the keys of the configuration that reach a job by name.
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
    largest nominal level at which it leaks that much over F at most (`ldpfrontier.reports.calibration`), to
    the relative `accuracy`. Metrics: ``mutual_information`` and ``nmi`` as in `optima.mechanisms`,
    whose arguments these are, the bound of what is calibrated being that of the optimum, whose class has
    every private mechanism; ``worst_case_epsilon``, what it leaks over F; and ``nominal_epsilon``, what it
    was asked for (of an optimum, at most 3 (eps - what it leaks) above eps).

    A mechanism that is not robust is refused: no level of it need be private.
    """
    for name in mechanisms:
        if name in MECHANISMS and not MECHANISMS[name].robust:
            raise ValueError(f"The mechanism is {name!r}; allowed are robust ones, which can be calibrated.")
    ball = RenyiBall.confidence(np.asarray(counts), beta=beta, order=order)
    names = [*dict.fromkeys([*mechanisms, "exact"])]
    rows: list[Row] = []

    def add(experiment: str, solution: Solution, nominal: float, leak: float) -> None:
        place = place_of(experiment, instance, beta, ball)
        rows.extend(solution.certified(place, entropy(ball.centre)))
        for metric, level in (("worst_case_epsilon", leak), ("nominal_epsilon", nominal)):
            if solution.channel is not None:
                rows.append(solution.measured(place, metric, level, "nats"))

    for epsilon in epsilons:
        problem = Problem.at(ball, epsilon, tolerance, max_rounds)
        bound = problem.nonrobust.upper_bound
        solved = list(solve(ball, [epsilon], names, tolerance=tolerance, max_rounds=max_rounds))
        for solution in solved:
            if solution.mechanism == "exact" and solution.channel is not None:
                bound = min(bound, solution.bound)
        for solution in solved:
            leak = math.nan if solution.channel is None else ball.worst_case_epsilon(solution.channel)
            add(NOMINAL, solution, epsilon, leak)
            if solution.mechanism == "exact" or solution.channel is None:
                continue
            found = _calibrated(solution.mechanism, problem, leak, accuracy)
            _log.info("%s, epsilon %g: %s for %.4g", instance, epsilon, solution.mechanism, found.nominal)
            value = mutual_information(ball.centre, found.channel)
            best = replace(
                solution, channel=found.channel, status=HEURISTIC, value=value, bound=bound,
                privacy=found.realized, iterations=None, conditional_privacy=found.conditional,
            )  # fmt: skip
            add(CALIBRATED, best, found.nominal, ball.worst_case_epsilon(found.channel))
    return RESULTS.table(rows)


def _calibrated(name: str, problem: Problem, leak: float, accuracy: float) -> Calibration:
    """Calibrate a mechanism that leaks so much, in nats, at the level of a problem."""

    def family(level: float) -> Channel:
        found = evaluate(name, replace(problem, epsilon=level)).channel
        assert found is not None, "What is within reach at one level is so at every other."
        return found

    # An optimum leaks about as much less than it is asked for at every level, and it is dear at high ones.
    most = problem.epsilon + REACH * max(problem.epsilon - leak, 0.0) if name in OPTIMA else None
    return calibrated(family, problem.ball, problem.epsilon, most=most, tol=accuracy)
