"""lopuhaa2024 on tables of counts: the mechanisms of Figure 2."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ldpfrontier.model.information import entropy
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from papers.lopuhaa2024.catalogue import MECHANISMS
from papers.lopuhaa2024.solution import SOLUTIONS, place_of, solution_row
from papers.lopuhaa2024.solutions import ALL, solve
from reproduction.results.tables import Row

_log = logging.getLogger(__name__)


def solutions(
    counts: ArrayLike | pd.DataFrame,
    epsilons: Sequence[float],
    *,
    instance: str,
    beta: float = 0.05,
    order: float = 2.0,
    mechanisms: Sequence[str] = ALL,
    tolerance: float = 1e-7,
    max_rounds: int = 300,
    leaks: Sequence[float] = (),
) -> pd.DataFrame:
    """Solve the mechanisms for one table of counts (lopuhaa2024, Figure 2), certified as in `Solution`.

    At the privacy levels `leaks`, what is not robust has its level over F as well.

    Parameters
    ----------
    counts : array_like of int or DataFrame, shape (a1, a2)
        Rows are the sensitive values.
    epsilons : sequence of float
        Privacy levels in nats.
    instance : str
        Name of the table of counts in the result.
    beta, order : float
        Significance level and Renyi order of the uncertainty set F.
    mechanisms : sequence of str
        Names in the catalogue.
    tolerance, max_rounds
        As in `optimal_polyopt`.
    """
    ball = RenyiBall.confidence(np.asarray(counts), beta=beta, order=order)
    place, h = place_of("fig2", instance, beta, ball), entropy(ball.centre)

    def rows() -> Iterator[Row]:
        for found in solve(ball, epsilons, mechanisms, tolerance=tolerance, max_rounds=max_rounds):
            level = math.nan
            known = MECHANISMS[found.mechanism].robust or found.epsilon not in leaks
            if found.channel is not None and not known:
                level = ball.worst_case_epsilon(found.channel)
            _log.info(
                "%s, epsilon %g: %s is %s, %.6f <= %.6f nats %s", instance, found.epsilon, found.mechanism,
                found.status, found.value, found.bound, found.note,
            )  # fmt: skip
            yield solution_row(place, h, found, level)

    return SOLUTIONS.table(rows())
