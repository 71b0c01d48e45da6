"""Independent reporting with the best components, which lopuhaa2024 (section 9) leaves open.

Theorem 5 allows any two locally private mechanisms, of S and of U; the paper takes randomized response. As
I(X; Y1, Y2) = I(S; Y1) + I(U; Y2 | Y1), and with the parts exchanged, the best report of U beside one of S is
the optimum of an average of mutual informations, and so is that of S beside one of U. Here they are improved
in turn, at some divisions of the level; nothing says that the pair that is found is the best one.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ldpfrontier.base.types import FloatArray
from ldpfrontier.model.average_utility import AverageUtility
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import entropy, mutual_information
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.promises.ldp import optimal_ldp
from ldpfrontier.promises.polyopt import optimal_polyopt
from ldpfrontier.reports.two_reports import budget_split
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from open_questions.summaries import COMPONENTS

_log = logging.getLogger(__name__)

#: Divisions of the level that are tried, beside that of the paper, and improvements of each pair.
DIVISIONS, SWEEPS = 6, 4

#: From this level on, nats, a report tells its input as it is: a lie has less than 1e-12 of the probability.
LEVEL_OF_TRUTH = 30.0


def components(
    counts: ArrayLike | pd.DataFrame,
    epsilons: Sequence[float],
    *,
    instance: str,
    beta: float = 0.05,
    order: float = 2.0,
) -> pd.DataFrame:
    """Compare independent reporting of the paper, with the best components found, and PolyOpt."""
    ball = RenyiBall.confidence(np.asarray(counts, dtype=float), beta=beta, order=order)
    total, rows = entropy(ball.centre), []
    for epsilon in epsilons:
        paper = budget_split(ball, epsilon)
        rows.append(
            {
                "instance": instance,
                "epsilon": epsilon,
                "response": paper.information / total,
                "components": best_components(ball, epsilon) / total,
                "polyopt": optimal_polyopt(ball, epsilon, tolerance=1e-6).value / total,
            }
        )
    _log.info("%s: %d levels", instance, len(rows))
    return COMPONENTS.table(rows)


def best_components(ball: RenyiBall, epsilon: float) -> float:
    """Return the most information found, nats; at least that of randomized response (`budget_split`)."""
    paper, p = budget_split(ball, epsilon), ball.centre
    if paper.distance == 0 or epsilon == 0:
        return paper.information
    found = paper.information
    for epsilon_2 in {paper.epsilon_2, *np.linspace(0.0, epsilon, DIVISIONS)}:
        level = float(np.log1p(2.0 * np.expm1(epsilon_2) / paper.distance))
        of_s = _best_beside(p.sum(axis=1)[None], epsilon - epsilon_2)
        for _ in range(SWEEPS):
            of_u = _best_beside(of_s.matrix.T @ p, level)
            of_s = _best_beside(of_u.matrix.T @ p.T, epsilon - epsilon_2)
        found = max(found, mutual_information(p, of_s.kron(of_u)))
    return found


def _best_beside(joint: FloatArray, level: float) -> Channel:
    """Return the best report of X beside one with the output R, given the distribution of (R, X)."""
    if level > LEVEL_OF_TRUTH:
        return Channel(np.eye(joint.shape[1]))
    joint = joint[joint.sum(axis=1) > 0]
    weights = joint.sum(axis=1)
    given = [MutualInformation(row / weight) for row, weight in zip(joint, weights, strict=True)]
    return optimal_ldp(AverageUtility(given, weights / weights.sum()), level, tolerance=1e-6).channel
