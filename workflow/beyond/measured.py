"""What is measured of mechanisms for tables of counts: levels for attackers, and what reports tell."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from beyond.catalogue import ANY_INPUTS, EVERYWHERE, WITH_INTERVALS, WITH_ODDS
from beyond.reported import measures
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import entropy
from ldpfrontier.model.privacy import conditional_epsilon, ldp_epsilon, unconditional_epsilon
from ldpfrontier.uncertainty.odds_ratios import OddsRatios, association_epsilon
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from papers.lopuhaa2024.catalogue import MECHANISMS, OVER_SET, SET
from papers.lopuhaa2024.solution import Place, Solution
from reproduction.results.tables import Result

_log = logging.getLogger(__name__)

LevelsByMetric = Mapping[str, Callable[[RenyiBall, Channel], float]]

#: What a channel promises for S to other attackers than those of its guarantee, by metric.
FIG2_LEVELS: LevelsByMetric = {
    OVER_SET: lambda ball, channel: ball.worst_case_epsilon(channel),
    EVERYWHERE: lambda ball, channel: unconditional_epsilon(channel, ball.centre.shape),
    ANY_INPUTS: lambda ball, channel: ldp_epsilon(channel),
}


def odds_of(counts: ArrayLike | pd.DataFrame, beta: float) -> dict[str, OddsRatios]:
    """Return the odds ratios of a table by the metric of the level for acquaintances: known, in intervals."""
    table = np.asarray(counts)
    # Exact ones of more records take long.
    intervals = OddsRatios.confidence(table, beta, "exact" if table.sum() <= 1e6 else "bonferroni")
    return {WITH_ODDS: OddsRatios.known(intervals.prior), WITH_INTERVALS: intervals}


def acquaintance_level(channel: Channel, odds: OddsRatios) -> float:
    """Return the level for acquaintances in nats, at once where it is that given U and that for anyone."""
    least, most = conditional_epsilon(channel, odds.shape), unconditional_epsilon(channel, odds.shape)
    return most if least == most else min(association_epsilon(channel, odds), most)


# Rows -----------------------------------------------------------------------------------------------------


def rows_of_fig2(
    ball: RenyiBall,
    place: Place,
    solutions: Iterable[Solution],
    counts: ArrayLike | pd.DataFrame,
    beta: float,
) -> Iterator[Result]:
    """Yield the rows of Figure 2 of solutions, with all that is measured of their channels."""
    yield from rows_of(ball, place, solutions, levels=FIG2_LEVELS, odds=odds_of(counts, beta), reported=True)


def rows_of(
    ball: RenyiBall,
    place: Place,
    solutions: Iterable[Solution],
    *,
    levels: LevelsByMetric = MappingProxyType({}),
    odds: Mapping[str, OddsRatios] = MappingProxyType({}),
    reported: bool = False,
) -> Iterator[Result]:
    """Yield the rows of solutions: their NMI, certified, and what they leak over F.

    By metric, `levels` has the levels of S to measure; over F it is measured in any case of what is not
    robust. `odds` has the odds ratios for which the level for acquaintances is measured. With `reported`,
    what `reported.measures` yields is measured as well.
    """
    h = entropy(ball.centre)
    for solution in solutions:
        rows = list(solution.certified(place, h))
        yield from rows
        channel = solution.channel
        if channel is not None:
            # The optima of promises are in no catalogue, and robust.
            listed = MECHANISMS.get(solution.mechanism)
            always = {} if listed is None or listed.robust else {OVER_SET: FIG2_LEVELS[OVER_SET]}
            for metric, measure in (always | dict(levels)).items():
                known = metric == OVER_SET and listed is not None and listed.private == SET
                level = solution.privacy if known else measure(ball, channel)
                yield solution.measured(place, metric, level, "nats")
            for metric, ratios in odds.items():
                yield solution.measured(place, metric, acquaintance_level(channel, ratios), "nats")
            for told in measures(channel, ball.centre) if reported else ():
                yield solution.measured(place, *told)
        given = solution.conditional_epsilon
        _log.info(
            "%s, order %g, epsilon %g%s: %s is %s, nmi %.6f <= %.6f %s",
            place["instance"], ball.order, solution.epsilon,
            f", level {given:g} given U" if given < math.inf else "", solution.mechanism, solution.status,
            rows[1].value, rows[1].bound, solution.note,
        )  # fmt: skip
