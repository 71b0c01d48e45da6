"""Bounds near the optima over F and for acquaintances, as certificates that a program of its own checks.

The bound is on all mechanisms with the promise, and proved in exact arithmetic (docs/certificates.md). The
promise to acquaintances is that for all odds ratios that occur in F.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ldpfrontier.base.types import Intractable
from ldpfrontier.certificates.association import association_certificate
from ldpfrontier.certificates.document import JsonDocument
from ldpfrontier.certificates.robust import robust_certificate
from ldpfrontier.engines.registry import LIMITS
from ldpfrontier.model.optimum import Optimum
from ldpfrontier.promises.association import optimal_association
from ldpfrontier.promises.robust import optimal_robust
from ldpfrontier.uncertainty.odds_ratios import OddsRatios
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from papers.lopuhaa2024.certificates import row_of
from papers.lopuhaa2024.solution import Solution, place_of
from reproduction.results.certificates import DOCUMENTS
from reproduction.results.tables import Row

_log = logging.getLogger(__name__)


def proofs(
    counts: ArrayLike | pd.DataFrame,
    epsilons: Sequence[float],
    *,
    instance: str,
    beta: float = 0.05,
    order: float = 2.0,
    excess: float = 0.005,
    tolerance: float = 2e-3,
    max_rounds: int = 300,
    max_nodes: int | None = None,
) -> pd.DataFrame:
    """Return the certificates of the optima "exact" and "association_set" of one table of counts.

    Arguments are as of `optima.mechanisms`. A proved bound is at most the share `excess` above the utility of
    the mechanism, and the tolerance is below that. Optima without a proof have no row, and the log says why
    there is none.
    """
    ball = RenyiBall.confidence(np.asarray(counts), beta=beta, order=order)
    place, documents = place_of("proofs", instance, beta, ball), list[Row]()
    limits: dict[str, Any] = {"tolerance": tolerance, "max_rounds": max_rounds, "max_nodes": max_nodes}
    for epsilon in epsilons:
        for mechanism, proof in (("exact", _over_f), ("association_set", _for_acquaintances)):
            try:
                if ball.centre.size > LIMITS.max_joint_cells or order <= 1.0:
                    raise Intractable(
                        f"there are some for orders above 1 and {LIMITS.max_joint_cells} cells at most"
                    )
                found, document = proof(ball, epsilon, excess, limits)
            except Intractable as reason:
                _log.info("%s, epsilon %g: no proof of %s: %s", instance, epsilon, mechanism, reason)
                continue
            solution = Solution(mechanism, epsilon, found.channel, found.status, found.value, found.bound)
            documents.append(row_of("beyond", place, solution, document))
    return DOCUMENTS.table(documents)


def _over_f(
    ball: RenyiBall, epsilon: float, excess: float, limits: dict[str, Any]
) -> tuple[Optimum, JsonDocument]:
    """Return the optimum over F, and its certificate."""
    found = optimal_robust(ball, epsilon, envelope="exact", **limits)
    return found, robust_certificate(found, ball, epsilon, excess=excess)


def _for_acquaintances(
    ball: RenyiBall, epsilon: float, excess: float, limits: dict[str, Any]
) -> tuple[Optimum, JsonDocument]:
    """Return the optimum for acquaintances, and its certificate."""
    odds = OddsRatios.over(ball)
    found = optimal_association(odds, epsilon, **limits)
    return found, association_certificate(found, odds, epsilon, excess=excess)
