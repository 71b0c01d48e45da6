"""The mechanisms of lopuhaa2024 on random tables (sections 8.2 to 8.5): Figures 3 to 5 and Table 2.

A mechanism is made from the estimate P-hat of a table and judged by P*, from which the table was sampled.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from ldpfrontier.base.types import FloatArray
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import entropy, mutual_information
from ldpfrontier.model.privacy import rldp_epsilon
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from papers.lopuhaa2024.catalogue import COVERED, MECHANISMS, MISSED
from papers.lopuhaa2024.random_tables import tables_of
from papers.lopuhaa2024.solution import Place, Solution, place_of
from papers.lopuhaa2024.solutions import ALL, SOLVERS, Solvers, solve
from reproduction.results.tables import PRIVACY_TOLERANCE, RESULTS, Row, TableError

#: Metrics measured with P*, beside the certified ``mutual_information`` and ``nmi``.
REALIZED, DIFFERENCE = "realized_epsilon", "utility_difference"

_log = logging.getLogger(__name__)


def study(
    tables: pd.DataFrame,
    numbers: Sequence[int],
    epsilons: Sequence[float],
    *,
    betas: Sequence[float] = (0.05,),
    order: float = 2.0,
    mechanisms: Sequence[str] = ALL,
    tolerance: float = 1e-6,
    max_rounds: int = 300,
    solvers: Solvers = SOLVERS,
) -> pd.DataFrame:
    """Compute the mechanisms on random tables with a known truth (lopuhaa2024, section 8.2), certified.

    Metrics of every mechanism: ``mutual_information`` and ``nmi`` as in `summaries.fig2`;
    ``realized_epsilon``, eps* under P* (section 8.3), inf where some output is impossible for one sensitive
    value only, its note saying whether F contains P*; ``utility_difference``, (I under P-hat - I under P*) /
    I under P-hat (section 8.4). The last two are measured. A robust mechanism that leaks more than epsilon
    under a P* that F contains is an error. Arguments are as of `experiments.solutions`.

    `numbers` are those of the tables to choose from a population of one size; results do not depend on which
    others are computed along.
    """
    rows: list[Row] = []
    for number, truth, counts in tables_of(tables, numbers):
        for beta in betas:
            ball = RenyiBall.confidence(counts, beta=beta, order=order)
            place = place_of("synthetic", f"{number:03d}", beta, ball)
            place["size"] = tables["size"].iloc[0]
            h, covered = entropy(ball.centre), bool(ball.contains(truth, tol=0.0))
            try:
                for solution in solve(
                    ball, epsilons, mechanisms, tolerance=tolerance, max_rounds=max_rounds, solvers=solvers
                ):
                    rows += solution.certified(place, h)
                    if solution.channel is not None:
                        rows += _realized(solution, solution.channel, truth, covered, place)
            except (ArithmeticError, RuntimeError) as error:
                seed = tables["seed"].iloc[0]
                error.add_note(f"In {place['size']}, {place['instance']}, beta {beta:g}, with seed {seed}.")
                raise
        _log.info("%s, %03d: %d levels", tables["size"].iloc[0], number, len(epsilons))
    return RESULTS.table(rows)


def _realized(
    solution: Solution, channel: Channel, truth: FloatArray, covered: bool, place: Place
) -> Iterator[Row]:
    weight = truth.sum(axis=1, keepdims=True)
    conditionals = np.divide(truth, weight, out=np.zeros_like(truth), where=weight > 0)
    leak = float(rldp_epsilon(channel, conditionals))
    robust = MECHANISMS[solution.mechanism].robust
    if covered and robust and leak > solution.epsilon + PRIVACY_TOLERANCE:
        raise TableError(
            f"{solution.mechanism} leaks {leak} under P* in {place['size']}, {place['instance']}, which F "
            f"contains; its limit is {solution.epsilon}."
        )
    yield solution.measured(place, REALIZED, leak, "nats", COVERED if covered else MISSED)
    true = mutual_information(truth, channel)
    lost = solution.value - true
    relative = lost / solution.value if solution.value > 0 else 0.0 if lost == 0 else -math.inf
    yield solution.measured(place, DIFFERENCE, relative, "1")
