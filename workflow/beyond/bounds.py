"""Bounds on tables too large for the optimum over F: what no robust mechanism passes."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from beyond.summaries import BOUNDS
from ldpfrontier.engines.registry import LIMITS
from ldpfrontier.model.information import entropy
from ldpfrontier.promises.nonrobust import optimal_nonrobust
from ldpfrontier.promises.robust_bound import robust_bound
from ldpfrontier.uncertainty.renyi_ball import RenyiBall

_log = logging.getLogger(__name__)


def bounds(
    counts: ArrayLike | pd.DataFrame,
    epsilons: Sequence[float],
    *,
    instance: str,
    beta: float,
    order: float,
    max_nodes: int,
) -> pd.DataFrame:
    """Bound the NMI of every robust mechanism on a table too large for the optimum over F.

    A mechanism that is private at one level is private at every higher one, so the optimum does not fall with
    epsilon, and a bound at one level holds at all lower ones. `max_nodes` limits branch and bound per level;
    with 0 the bound is that of NR. Tables whose optimum over F has a bound of its own have no rows.
    """
    ball = RenyiBall.confidence(np.asarray(counts), beta=beta, order=order)
    size, h, rows = " x ".join(map(str, ball.centre.shape)), entropy(ball.centre), []
    for epsilon in epsilons if ball.centre.size > LIMITS.max_joint_cells else ():
        nr = optimal_nonrobust(ball.centre, epsilon).upper_bound
        bound = min(nr, robust_bound(ball, epsilon, max_nodes=max_nodes))
        row = {"size": size, "instance": instance, "beta": beta, "order": order, "epsilon": epsilon}
        rows.append({**row, "bound": bound / h, "nr": nr / h})
        _log.info("%s, epsilon %g: nmi at most %.6f, NR %.6f", instance, epsilon, bound / h, nr / h)
    return BOUNDS.table(rows)
