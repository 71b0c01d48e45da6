"""Tables of the mechanisms of lopuhaa2024 that several tests read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from beyond.measured import rows_of_fig2
from beyond.solutions import ALL, solve
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from papers.lopuhaa2024 import summaries
from papers.lopuhaa2024.experiments import solutions
from papers.lopuhaa2024.solution import place_of
from reproduction.results.tables import RESULTS


def fig2_of(counts: ArrayLike, epsilons: list[float], **options: Any) -> pd.DataFrame:
    """Return the table of Figure 2 of one table of counts."""
    return summaries.fig2(solutions(counts, epsilons, leaks=epsilons, **options))


def measured(
    counts: ArrayLike, epsilons: list[float], *, instance: str, order: float = 2.0, **options: Any
) -> pd.DataFrame:
    """Return all that is measured of mechanisms for one table of counts."""
    ball = RenyiBall.confidence(np.asarray(counts), order=order)
    usual = {"mechanisms": ALL, "tolerance": 1e-7, "max_rounds": 300}
    found = solve(ball, epsilons, **usual | options)
    return RESULTS.table(rows_of_fig2(ball, place_of("fig2", instance, 0.05, ball), found, counts, 0.05))
