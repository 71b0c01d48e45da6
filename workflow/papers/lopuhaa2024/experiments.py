"""lopuhaa2024 on tables of counts: Figure 2, with certificates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from papers.lopuhaa2024.certificates import documents
from papers.lopuhaa2024.solutions import ALL, place_of, rows_of_fig2, solve
from reproduction.results.certificates import DOCUMENTS
from reproduction.results.tables import RESULTS


def fig2(
    counts: ArrayLike | pd.DataFrame,
    epsilons: Sequence[float],
    *,
    instance: str,
    beta: float = 0.05,
    order: float = 2.0,
    mechanisms: Sequence[str] = ALL,
    tolerance: float = 1e-7,
    max_rounds: int = 300,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Compute the mutual information of the mechanisms on one table of counts (lopuhaa2024, Figure 2).

    Every mechanism has the metrics ``mutual_information`` (nats, under P-hat) and ``nmi`` (divided by H(X)),
    with certificates as in `Solution`. Its levels against other attackers are measured, in nats, and epsilon
    does not limit them: ``worst_case_epsilon`` over F, for those who know nothing else of a person;
    ``association_epsilon`` for acquaintances, with the odds ratios of the estimate, and
    ``association_epsilon_intervals`` with those in confidence intervals; ``unconditional_epsilon`` under
    every distribution of (S, U); ``ldp_epsilon`` between any two people. The
    level for those who know U is the column `conditional_privacy` of every row. What the reports tell of S
    and of U alone, and how well tables are estimated from them, is measured as in `reported.measures`.

    The rows come with certificates of the optima.

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
        As in `optimal_robust`.
    """
    ball = RenyiBall.confidence(np.asarray(counts), beta=beta, order=order)
    place = place_of("fig2", instance, beta, ball)
    solutions = list(solve(ball, epsilons, mechanisms, tolerance=tolerance, max_rounds=max_rounds))
    rows = RESULTS.table(rows_of_fig2(ball, place, solutions, counts, beta))
    return rows, DOCUMENTS.table(documents(ball, place, solutions))


def own_fig2(
    counts: ArrayLike | pd.DataFrame,
    epsilons: Sequence[float],
    *,
    instance: str,
    beta: float = 0.05,
    order: float = 2.0,
    mechanisms: Sequence[str] = ALL,
    tolerance: float = 1e-7,
    max_rounds: int = 300,
) -> pd.DataFrame:
    """Compute `fig2` for a table of the user's own, without certificates."""
    ball = RenyiBall.confidence(np.asarray(counts), beta=beta, order=order)
    place = place_of("fig2", instance, beta, ball)
    solutions = solve(ball, epsilons, mechanisms, tolerance=tolerance, max_rounds=max_rounds)
    return RESULTS.table(rows_of_fig2(ball, place, solutions, counts, beta))
