"""Several reports of one person: what all of them together reveal to whom, and what they tell.

Each report is drawn anew from the same record, by one mechanism. A promise to outsiders ends with the first
report; promises to acquaintances and to anyone add up, the former to within the largest odds ratio
(docs/beyond/theorems.md, statement 11).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from beyond.catalogue import PROMISES, WITH_INTERVALS, WITH_ODDS
from beyond.measured import odds_of
from beyond.several_tables import (
    ADAPTIVE,
    ANYONE,
    CALIBRATED,
    INSIDERS,
    ONCE,
    SEVERAL_DESIGNS,
    SEVERAL_LEVELS,
)
from beyond.solutions import solve
from ldpfrontier.base.types import Intractable
from ldpfrontier.engines.joint.separation import robust_cone
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.cones import conditional_cone
from ldpfrontier.model.information import entropy, mutual_information
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.promises.association import optimal_association
from ldpfrontier.promises.mechanism import optimal_mechanism
from ldpfrontier.promises.repeated import optimal_repeated
from ldpfrontier.promises.unconditional import optimal_unconditional
from ldpfrontier.reports.several_reports import composition, levels_of_reports
from ldpfrontier.uncertainty.odds_ratios import OddsRatios, association_epsilon
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from papers.lopuhaa2024.solution import place_of

_log = logging.getLogger(__name__)


# More than eight parameters: they are the keys of the configuration that reach a job by name.
def levels(
    counts: ArrayLike | pd.DataFrame,
    epsilons: Sequence[float],
    *,
    instance: str,
    reports: int,
    mechanisms: Sequence[str],
    beta: float = 0.05,
    order: float = 2.0,
    tolerance: float = 1e-3,
    max_rounds: int = 300,
) -> pd.DataFrame:
    """Compute the levels of 1 to `reports` reports, by mechanisms of Figure 2 and by the optima of promises.

    The optima are `several_tables.INSIDERS`, and those of `catalogue.PROMISES` to acquaintances and against
    anyone. Arguments are as of `optima.mechanisms`; what is out of reach for the size has no row.
    """
    ball = RenyiBall.confidence(np.asarray(counts), beta=beta, order=order)
    odds, place = odds_of(counts, beta), place_of("several_levels", instance, beta, ball)
    ratios = {"known": odds[WITH_ODDS], "intervals": odds[WITH_INTERVALS], "set": OddsRatios.over(ball)}
    rows = []
    for epsilon in epsilons:
        found = channels_by_mechanism(ball, epsilon, mechanisms, ratios, tolerance, max_rounds)
        for mechanism, channel in found.items():
            for number in range(1, reports + 1):
                told = levels_of_reports(
                    [channel] * number, ball.centre.shape, odds=odds[WITH_INTERVALS], ball=ball
                )
                rows.append(
                    {
                        **place, "epsilon": epsilon, "mechanism": mechanism, "reports": number,
                        "outsiders": told.outsiders, "given_useful": told.insiders,
                        "acquaintances": told.acquaintances, "anyone": told.anyone, "exact": told.exact,
                    }
                )  # fmt: skip
            _log.info(
                "%s, epsilon %g: levels of 1 to %d reports by %s", instance, epsilon, reports, mechanism
            )
    return SEVERAL_LEVELS.table(rows)


def channels_by_mechanism(
    ball: RenyiBall,
    epsilon: float,
    mechanisms: Sequence[str],
    odds: Mapping[str, OddsRatios],
    tolerance: float,
    max_rounds: int,
) -> dict[str, Channel]:
    """Return the channels of mechanisms of Figure 2, and of the optima of promises, by name.

    The odds ratios are by the names of promises to acquaintances in `catalogue.PROMISES`.
    """
    found = solve(ball, [epsilon], mechanisms, tolerance=tolerance, max_rounds=max_rounds)
    own = {solution.mechanism: solution.channel for solution in found if solution.channel is not None}
    return own | dict(_optima_of_promises(ball, odds, epsilon, tolerance))


def _optima_of_promises(
    ball: RenyiBall, odds: Mapping[str, OddsRatios], epsilon: float, tolerance: float
) -> Iterator[tuple[str, Channel]]:
    """Yield the most informative mechanisms of promises, each with its name in tables of results.

    They protect from outsiders and insiders, from acquaintances, and from anyone. A mechanism that is out of
    reach for the size of the table is left out.
    """
    over_set = robust_cone(ball, epsilon)
    both = over_set & conditional_cone(over_set.shape, epsilon)
    with suppress(Intractable):
        yield INSIDERS, optimal_mechanism(MutualInformation(ball.centre), both, tolerance=tolerance).channel
    for promise, ratios in odds.items():
        with suppress(Intractable):
            yield (
                PROMISES[promise].name,
                optimal_association(ratios, epsilon, tolerance=tolerance).channel,
            )
    yield PROMISES["anyone"].name, optimal_unconditional(ball.centre, epsilon).channel


def designs(
    counts: ArrayLike | pd.DataFrame,
    epsilons: Sequence[float],
    *,
    instance: str,
    reports: Sequence[int],
    beta: float = 0.05,
    order: float = 2.0,
    tolerance: float = 1e-3,
    max_rounds: int = 300,
) -> pd.DataFrame:
    """Compute what m reports tell whose level together, for acquaintances, is at most a total.

    `epsilons` are such totals, `reports` numbers m; other arguments are as of `optima.mechanisms`.
    A table of more than 16 cells, and reports with more than 20 million entries together, are intractable.
    """
    ball = RenyiBall.confidence(np.asarray(counts), beta=beta, order=order)
    odds, place = odds_of(counts, beta)[WITH_INTERVALS], place_of("several_designs", instance, beta, ball)
    h, rows = entropy(ball.centre), []
    for total in epsilons:
        once = optimal_association(odds, total, tolerance=tolerance, max_rounds=max_rounds).channel
        for number in reports:
            calibrated, adaptive = (
                optimal_repeated(odds, total, number, adaptive=adaptive, tolerance=tolerance)
                for adaptive in (False, True)
            )
            anyone = optimal_unconditional(ball.centre, total / number).channel
            for choice, level, together in (
                (ONCE, total, once),
                (CALIBRATED, calibrated.epsilon, calibrated.together),
                (ADAPTIVE, adaptive.epsilon, adaptive.together),
                (ANYONE, total / number, composition([anyone] * number)),
            ):
                rows.append(
                    {
                        **place, "total": total, "reports": number, "choice": choice, "epsilon": level,
                        "level": association_epsilon(together, odds),
                        "nmi": mutual_information(ball.centre, together) / h,
                    }
                )  # fmt: skip
            _log.info("%s, total %g: %d reports", instance, total, number)
    return SEVERAL_DESIGNS.table(rows)
