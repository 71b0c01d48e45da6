"""What a confidence set costs that contains the truth with its confidence for any number of records.

The radius of F in lopuhaa2024 is that of large samples, and where cells are rare the set may contain the
truth less often than it says. The radius for any number of samples (`uncertainty.confidence_radius`) is
larger, and its optimum tells less.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from beyond.solutions import solve
from beyond.summaries import FEW_RECORDS
from ldpfrontier.model.information import entropy, mutual_information
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from papers.lopuhaa2024.catalogue import SET_METHODS
from papers.lopuhaa2024.solution import place_of

_log = logging.getLogger(__name__)


def few_records(
    counts: ArrayLike | pd.DataFrame,
    epsilons: Sequence[float],
    *,
    instance: str,
    orders: Sequence[float],
    mechanisms: Sequence[str],
    beta: float = 0.05,
    tolerance: float = 1e-3,
    max_rounds: int = 300,
) -> pd.DataFrame:
    """Compute mechanisms for confidence sets of large samples, and for those of any number of records.

    Arguments are as of `optima.mechanisms`, with `orders` up to 2; what is out of reach has no
    row.
    """
    table = np.asarray(counts, dtype=float)
    rows = []
    for order, method in product(orders, SET_METHODS):
        ball = RenyiBall.confidence(table, beta=beta, order=order, method=method)
        for solution in solve(ball, epsilons, mechanisms, tolerance=tolerance, max_rounds=max_rounds):
            if solution.channel is None:
                continue
            rows.append(
                {
                    **place_of("few_records", instance, beta, ball),
                    "epsilon": solution.epsilon,
                    "mechanism": solution.mechanism,
                    "method": method,
                    "radius": ball.radius,
                    "nmi": mutual_information(ball.centre, solution.channel) / entropy(ball.centre),
                }
            )
        _log.info("%s, order %g: %s", instance, order, method)
    return FEW_RECORDS.table(rows)
