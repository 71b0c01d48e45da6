"""lopuhaa2024 beyond outsiders: five promises side by side, and what mechanisms tell acquaintances.

A promise says from whom S is protected at the level eps: from outsiders, over F (the optimum over F); from
outsiders and insiders (with the second level k = eps); from acquaintances, who know anything about U alone,
with known odds ratios, or under every distribution with odds ratios in intervals (docs/beyond.md, statement
11); from anyone (the unconditional optimum).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, combinations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ldpfrontier.channel import Channel
from ldpfrontier.optimal.association import optimal_association
from ldpfrontier.optimal.registry import LIMITS
from ldpfrontier.privacy import conditional_epsilon, rldp_epsilon
from ldpfrontier.types import FloatArray, Intractable
from ldpfrontier.uncertainty.odds_ratios import OddsRatios, association_epsilon
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from papers.lopuhaa2024.catalogue import ONE_OF_TWO, WITH_INTERVALS, WITH_ODDS
from papers.lopuhaa2024.experiments import Solution, odds_of, place_of, rows_of
from papers.lopuhaa2024.second_level import solve_levels
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
    """Compute the optimum of each of five promises on one table of counts, and what it tells acquaintances.

    The optima over F, without and with a second level, and the unconditional optimum are those of
    `second_level`, with PolyOpt beside them. The optima against acquaintances are the mechanisms
    "association_known" and "association"; on tables too large for them they are skipped. Every mechanism has
    the metrics ``mutual_information`` and ``nmi`` as in `experiments.fig2`, and its levels for acquaintances
    are measured, in nats: ``association_epsilon`` and ``association_epsilon_intervals``, and
    ``one_of_two_epsilon``, that of those who know under the estimate that U is one of two values; and so is
    what `reported.measures` yields.

    Parameters
    ----------
    counts, epsilons, instance, beta, order, tolerance, max_rounds
        As in `experiments.fig2`.
    max_nodes : int, optional
        Most nodes of branch and bound per pricing of the optima against acquaintances, on tables small enough
        for joint columns; on larger ones it is the default of the library.

    Returns
    -------
    DataFrame
        As `tables.RESULTS`.

    Raises
    ------
    TableError, ValueError
        As `experiments.fig2`.
    """
    ball = RenyiBall.confidence(np.asarray(counts), beta=beta, order=order)
    place, odds = place_of("promises", instance, beta, ball), odds_of(counts, beta)
    # The bounds of the optima over F on large tables are those of other tables of results.
    nodes = 0 if ball.centre.size > LIMITS.max_joint_cells else None
    max_nodes = max_nodes if nodes is None else None
    solutions = chain.from_iterable(
        chain(
            solve_levels(ball, epsilon, [], tolerance, max_rounds, nodes),
            _against_acquaintances(odds, epsilon, tolerance, max_nodes),
        )
        for epsilon in epsilons
    )
    levels = {ONE_OF_TWO: lambda ball, channel: one_of_two_epsilon(channel, ball.centre)}
    return RESULTS.table(rows_of(ball, place, solutions, levels=levels, odds=odds, reported=True))


def _against_acquaintances(
    odds: dict[str, OddsRatios], epsilon: float, tolerance: float, max_nodes: int | None
) -> Iterator[Solution]:
    """Yield the optima against acquaintances at one level, or that the library has none for this size."""
    for name, metric in (("association_known", WITH_ODDS), ("association", WITH_INTERVALS)):
        try:
            found = optimal_association(odds[metric], epsilon, tolerance=tolerance, max_nodes=max_nodes)
        except Intractable as reason:
            yield Solution(name, epsilon, None, SKIPPED, note=str(reason))
            continue
        level = association_epsilon(found.channel, odds[metric])
        yield Solution(
            name, epsilon, found.channel, found.status, found.value, found.upper_bound, level,
            found.iterations, conditional_privacy=conditional_epsilon(found.channel, odds[metric].shape),
            optimum=found,
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
