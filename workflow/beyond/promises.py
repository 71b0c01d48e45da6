"""Six promises side by side, and what mechanisms tell acquaintances.

A promise says from whom S is protected at the level eps: from outsiders, over F (the optimum over F); from
outsiders and insiders (with the conditional level k = eps); from acquaintances, who know anything about U,
with known odds ratios, under every distribution with odds ratios in confidence intervals, or with any that a
distribution in F has (docs/beyond/theorems.md, statement 11); from anyone (the unconditional optimum). Of the
promises to acquaintances only the last one implies the guarantee over F.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, combinations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from beyond.catalogue import ONE_OF_TWO, WITH_INTERVALS, WITH_ODDS, WITH_SET
from beyond.measured import FIG2_LEVELS, odds_of, rows_of
from beyond.second_level import solve_levels
from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.engines.registry import LIMITS
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.privacy import conditional_epsilon, rldp_epsilon
from ldpfrontier.promises.association import optimal_association
from ldpfrontier.uncertainty.odds_ratios import OddsRatios, association_epsilon
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from papers.lopuhaa2024.catalogue import OVER_SET
from papers.lopuhaa2024.solution import Solution, place_of
from reproduction.results.tables import RESULTS, SKIPPED


# More than eight parameters: they are the keys of the configuration that reach a job by name.
def promises(
    counts: ArrayLike | pd.DataFrame,
    epsilons: Sequence[float],
    *,
    instance: str,
    beta: float = 0.05,
    order: float = 2.0,
    tolerance: float = 1e-3,
    max_rounds: int = 300,
    max_nodes: int | None = None,
) -> pd.DataFrame:
    """Compute the optimum of each of six promises on one table of counts, and what it tells acquaintances.

    The optima over F, without and with a conditional level, and the unconditional optimum are those of
    `second_level`, with PolyOpt beside them. The optima against acquaintances are the mechanisms
    "association_known", "association" and "association_set", with at most `max_nodes` nodes of branch and
    bound per pricing on tables small enough for joint columns; on tables too large for them they are skipped.
    Every mechanism has the metrics ``mutual_information`` and ``nmi`` as in `optima.mechanisms`,
    whose other arguments these are. Its levels are measured, in nats: ``worst_case_epsilon``, that over F;
    for acquaintances ``association_epsilon``, ``association_epsilon_intervals`` and
    ``association_epsilon_set``; and ``one_of_two_epsilon``, that of those who know under the estimate that U
    is one of two values. So is what `reported.measures` yields. The order must be at least 1.
    """
    ball = RenyiBall.confidence(np.asarray(counts), beta=beta, order=order)
    place = place_of("promises", instance, beta, ball)
    odds = odds_of(counts, beta) | {WITH_SET: OddsRatios.over(ball)}
    max_nodes = max_nodes if ball.centre.size <= LIMITS.max_joint_cells else None
    solutions = chain.from_iterable(
        chain(
            solve_levels(ball, epsilon, [], tolerance, max_rounds),
            _against_acquaintances(odds, epsilon, tolerance, max_nodes),
        )
        for epsilon in epsilons
    )
    levels = {
        OVER_SET: FIG2_LEVELS[OVER_SET],
        ONE_OF_TWO: lambda ball, channel: one_of_two_epsilon(channel, ball.centre),
    }
    return RESULTS.table(rows_of(ball, place, solutions, levels=levels, odds=odds, reported=True))


def _against_acquaintances(
    odds: dict[str, OddsRatios], epsilon: float, tolerance: float, max_nodes: int | None
) -> Iterator[Solution]:
    """Yield the optima against acquaintances at one level, or that the library has none for this size."""
    optima = {"association_known": WITH_ODDS, "association": WITH_INTERVALS, "association_set": WITH_SET}
    for name, metric in optima.items():
        try:
            found = optimal_association(odds[metric], epsilon, tolerance=tolerance, max_nodes=max_nodes)
        except Intractable as reason:
            yield Solution(name, epsilon, None, SKIPPED, note=str(reason))
            continue
        level = association_epsilon(found.channel, odds[metric])
        yield Solution(
            name, epsilon, found.channel, found.status, found.value, found.upper_bound, level,
            found.iterations, conditional_privacy=conditional_epsilon(found.channel, odds[metric].shape),
            method=str(found.method),
        )  # fmt: skip


def one_of_two_epsilon(channel: Channel, prior: FloatArray) -> float:
    """Return the level of S in nats for those who know that U is one of two values, under a distribution."""
    a2 = prior.shape[1]
    pairs = list(combinations(range(a2), min(a2, 2)))
    two = np.array([np.isin(np.arange(a2), pair) for pair in pairs])
    known = prior * two[:, None, :]
    totals = known.sum(axis=2, keepdims=True)
    # Where neither value occurs, nobody is compared.
    conditionals = np.divide(known, totals, out=np.zeros_like(known), where=totals > 0.0)
    return float(np.max(rldp_epsilon(channel, conditionals)))
