"""The optimum over F that protects S from insiders as well.

A mechanism has two levels: eps over the uncertainty set F, for those who know nothing else of a person, and k
for those who know the person's useful value: all its columns are in two cones (`ldpfrontier.model.cones`). At
k = infinity there is no second demand.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from beyond.catalogue import UNCONDITIONAL
from beyond.measured import rows_of
from ldpfrontier.base.types import Intractable
from ldpfrontier.engines.joint.separation import robust_cone
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.cones import conditional_cone
from ldpfrontier.model.information import entropy
from ldpfrontier.model.optimum import Optimum
from ldpfrontier.model.privacy import conditional_epsilon
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.promises.mechanism import optimal_mechanism
from ldpfrontier.promises.nonrobust import optimal_nonrobust
from ldpfrontier.promises.polyopt import optimal_polyopt
from ldpfrontier.promises.robust import optimal_robust
from ldpfrontier.promises.unconditional import optimal_unconditional
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from papers.lopuhaa2024.solution import Solution, place_of
from reproduction.results.tables import BOUNDED, OPTIMAL, RESULTS, SKIPPED, relative_gap


# More than eight parameters: they are the keys of the configuration that reach a job by name.
def second_level(
    counts: ArrayLike | pd.DataFrame,
    epsilons: Sequence[float],
    levels: Sequence[float],
    *,
    instance: str,
    beta: float = 0.05,
    order: float = 2.0,
    tolerance: float = 1e-3,
    max_rounds: int = 300,
) -> pd.DataFrame:
    """Compute the optimum over F with a conditional level on one table of counts.

    The mechanism "exact" is the optimum with the level `conditional_epsilon` given U, and at inf the optimum
    over F. Beside it, with no second demand, are PolyOpt ("polyopt") and the best mechanism that is private
    under every distribution of (S, U) ("unconditional"), whose conditional level is at most eps by itself.
    Metrics are ``mutual_information`` and ``nmi`` as in `optima.mechanisms`, whose arguments these
    are. `levels` are those given U in nats, on tables of up to 16 cells; k = eps and infinity are always
    there.
    """
    ball = RenyiBall.confidence(np.asarray(counts), beta=beta, order=order)
    place = place_of("second_level", instance, beta, ball)
    solutions = chain.from_iterable(
        solve_levels(ball, epsilon, levels, tolerance, max_rounds) for epsilon in epsilons
    )
    return RESULTS.table(rows_of(ball, place, solutions))


def solve_levels(
    ball: RenyiBall,
    epsilon: float,
    levels: Sequence[float],
    tolerance: float,
    max_rounds: int,
) -> Iterator[Solution]:
    """Yield the two mechanisms to compare with, and the optima by their conditional level, at one epsilon.

    Arguments are as of `second_level`, for one uncertainty set.
    """
    everywhere = min(optimal_nonrobust(ball.centre, epsilon).upper_bound, entropy(ball.centre))

    def solution(name: str, level: float, found: Optimum, bound: float) -> Solution:
        channel, tight = found.channel, relative_gap(found.value, bound) <= tolerance
        realized = ball.worst_case_epsilon if name == "exact" else ball.projected_epsilon
        return Solution(
            name, epsilon, channel, OPTIMAL if tight else BOUNDED, found.value, bound, realized(channel),
            found.iterations, level, conditional_epsilon(channel, ball.centre.shape),
            method=str(found.method),
        )  # fmt: skip

    known: list[Channel] = []
    for name in (UNCONDITIONAL, "polyopt"):
        try:
            if name == UNCONDITIONAL:
                found = optimal_unconditional(
                    ball.centre, epsilon, tolerance=tolerance, max_rounds=max_rounds
                )
            else:
                found = optimal_polyopt(ball, epsilon, tolerance=tolerance, max_rounds=max_rounds)
        except Intractable as reason:
            yield Solution(name, epsilon, None, SKIPPED, note=str(reason))
            continue
        known.append(found.channel)
        yield solution(name, math.inf, found, min(found.upper_bound, everywhere))
    solved: list[tuple[float, Optimum]] = []
    utility, over_set = MutualInformation(ball.centre), robust_cone(ball, epsilon)
    for level in sorted({*map(float, levels), float(epsilon), math.inf}):
        # A channel that has the level k has every larger one; some have a small one without being asked.
        starts = [other for other in known if conditional_epsilon(other, ball.centre.shape) <= level]
        best = max(starts, key=utility, default=None)
        try:
            if level < math.inf:
                both = over_set & conditional_cone(over_set.shape, level)
                found = optimal_mechanism(utility, both, tolerance=tolerance)
            else:
                found = optimal_robust(
                    ball, epsilon, envelope="exact", tolerance=tolerance, max_rounds=max_rounds, start=best
                )
        except Intractable as reason:
            yield Solution("exact", epsilon, None, SKIPPED, conditional_epsilon=level, note=str(reason))
            continue
        if best is not None and utility(best) > found.value:
            found = replace(found, channel=best, value=utility(best))
        known.append(found.channel)
        solved.append((level, found))
    # The optimum grows with the level: a bound at one level is a bound at every smaller one.
    bound = everywhere
    for level, found in reversed(solved):
        bound = min(bound, found.upper_bound)
        yield solution("exact", level, found, bound)
