"""Certificates of the optima of Figure 2 and of the worked example: documents that anyone can check."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ldpfrontier.certificates.robust import nonrobust_certificate, robust_certificate
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from papers.lopuhaa2024 import example
from papers.lopuhaa2024.experiments import (
    ALL,
    PAPER,
    Place,
    Solution,
    place_of,
    rows_of_fig2,
    solve,
)
from reproduction.results.certificates import DOCUMENTS, document_row
from reproduction.results.tables import RESULTS, Row

_log = logging.getLogger(__name__)


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
    """Compute Figure 2 for one table of counts, as `experiments.fig2`, with certificates of its optima.

    Parameters
    ----------
    counts, epsilons, instance, beta, order, mechanisms, tolerance, max_rounds
        As of `experiments.fig2`.

    Returns
    -------
    results : DataFrame
        As `experiments.fig2` returns it.
    documents : DataFrame
        As `reproduction.results.certificates.DOCUMENTS`.

    Raises
    ------
    TableError, ValueError
        As `experiments.fig2`.
    """
    ball = RenyiBall.confidence(np.asarray(counts), beta=beta, order=order)
    place = place_of("fig2", instance, beta, ball)
    solutions = list(solve(ball, epsilons, mechanisms, tolerance=tolerance, max_rounds=max_rounds))
    rows = RESULTS.table(rows_of_fig2(ball, place, solutions, counts, beta))
    return rows, DOCUMENTS.table(_documents(ball, place, solutions))


def worked_example() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Compute the worked example, as `example.worked_example`, with certificates of its optima.

    Returns
    -------
    printed : DataFrame
        As `example.worked_example` returns it.
    documents : DataFrame
        As `reproduction.results.certificates.DOCUMENTS`.
    """
    ball = example.example_ball()
    place = place_of("example", "Example 3", 0.05, ball)
    optima = example.example_optima(ball)
    solutions = [
        Solution(name, example.EPSILON, found.channel, found.status, found.value, found.bound, optimum=found)
        for name, found in optima.items()
    ]
    return example.worked_example(optima), DOCUMENTS.table(_documents(ball, place, solutions))


def _documents(ball: RenyiBall, place: Place, solutions: Sequence[Solution]) -> Iterator[Row]:
    """Yield the documents of the optima among solutions; levels over F are proved for orders above 1."""
    for solution in solutions:
        optimum, epsilon = solution.optimum, solution.epsilon
        if optimum is None:
            continue
        if solution.mechanism != "nr" and not (ball.order > 1.0 and math.isfinite(ball.radius)):
            continue
        if solution.mechanism == "nr":
            document = nonrobust_certificate(optimum, ball.centre, epsilon)
        else:
            document = robust_certificate(optimum, ball, epsilon)
        _log.info("%s, epsilon %g: certificate of %s", place["instance"], epsilon, solution.mechanism)
        yield document_row(
            paper=PAPER,
            experiment=place["experiment"],
            size=place["size"],
            instance=place["instance"],
            mechanism=solution.mechanism,
            epsilon=epsilon,
            value=solution.value,
            bound=solution.bound,
            document=document,
        )
