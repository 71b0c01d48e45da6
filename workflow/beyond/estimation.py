"""Estimates beyond information: the mechanisms that need the fewest people, by whom they protect from.

A mechanism that is optimal for information need not be so for estimates, and may not even determine the table
(docs/beyond/theorems.md, statement 12). Here are those with the least n MSE of all cells for each promise,
and for the distribution of S, where all promises cost the same.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from beyond.catalogue import (
    CELLS,
    DESIGNS,
    ERRORS,
    FOR_SENSITIVE,
    SENSITIVE,
    WITH_INTERVALS,
    designed,
)
from beyond.measured import odds_of
from beyond.reported import error_measures
from beyond.solutions import solve
from ldpfrontier.base.types import Intractable
from ldpfrontier.engines.joint.association_cone import association_cone
from ldpfrontier.engines.joint.separation import robust_cone
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.cones import Cone, conditional_cone, local_cone, polyopt_cone, unconditional_cone
from ldpfrontier.model.optimum import Optimum
from ldpfrontier.model.privacy import conditional_epsilon, ldp_epsilon, unconditional_epsilon
from ldpfrontier.promises.estimation import optimal_estimation
from ldpfrontier.uncertainty.odds_ratios import OddsRatios, association_epsilon
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from papers.lopuhaa2024.solution import PAPER, Place, place_of
from reproduction.results.tables import RESULTS, SKIPPED, Result

_log = logging.getLogger(__name__)


class Setting(NamedTuple):
    """A table of counts: the uncertainty set F around its estimate, and intervals of its odds ratios."""

    ball: RenyiBall
    odds: OddsRatios


class EstimationEffort(NamedTuple):
    """The stopping criteria of `optimal_estimation`."""

    tolerance: float
    max_rounds: int


# More than eight parameters: they are the keys of the configuration that reach a job by name.
def estimation(
    counts: ArrayLike | pd.DataFrame,
    epsilons: Sequence[float],
    *,
    instance: str,
    designs: Mapping[str, Sequence[float]],
    of_sensitive: Sequence[float] = (),
    mechanisms: Sequence[str] = (),
    beta: float = 0.05,
    order: float = 2.0,
    tolerance: float = 1e-4,
    max_rounds: int = 200,
) -> pd.DataFrame:
    """Compute the mechanisms with the least error of estimates on one table of counts.

    The metrics are n MSE under P-hat: ``error_cells``, of the probabilities of all cells, and
    ``error_sensitive``, of the distribution of S. The mechanisms are named by `catalogue.designed`. That for
    the distribution of S, at the levels `of_sensitive`, is the best one under every promise.

    `designs` has the levels of each promise, by its name in `catalogue.DESIGNS`; those with both levels are
    also computed with the level epsilon given U. Of `mechanisms`, which are made for information, both errors
    are measured at `epsilons`. Other arguments are as of `optima.mechanisms`; what is out of reach
    for the size is skipped.
    """
    if unknown := [name for name in designs if name not in DESIGNS]:
        raise ValueError(f"The design is {unknown[0]!r}; allowed are {', '.join(DESIGNS)}.")
    ball = RenyiBall.confidence(np.asarray(counts), beta=beta, order=order)
    setting = Setting(ball, odds_of(counts, beta)[WITH_INTERVALS])
    place, effort = place_of("estimation", instance, beta, ball), EstimationEffort(tolerance, max_rounds)
    rows = [_for_sensitive(ball, epsilon, place, effort) for epsilon in of_sensitive]
    for design, levels in designs.items():
        for epsilon in levels:
            rows += _for_cells(setting, design, epsilon, place, effort)
    for solution in solve(ball, epsilons, mechanisms, **effort._asdict()):
        if solution.channel is not None:
            measured = error_measures(solution.channel, ball.centre)
            rows += [solution.measured(place, *measure) for measure in measured]
    return RESULTS.table(rows)


def _for_sensitive(ball: RenyiBall, epsilon: float, place: Place, effort: EstimationEffort) -> Result:
    """Return the row of the least error of the distribution of S: that of reports on S alone.

    Every promise here holds under P-hat, where P(y | s) is then a locally private channel from S; and what is
    known of S from reports does not grow if the conditionals of U were known to be those of P-hat. So no
    promise has less error than the best locally private channel from S, which keeps all of them.
    """
    a1, a2 = ball.centre.shape
    found = optimal_estimation(ball.centre.sum(axis=1), local_cone(a1, epsilon), **effort._asdict())
    channel = Channel(np.repeat(found.channel.matrix, a2, axis=0))
    return _row(FOR_SENSITIVE, SENSITIVE, epsilon, math.inf, found, channel, ldp_epsilon(channel), place)


def _for_cells(
    setting: Setting, design: str, epsilon: float, place: Place, effort: EstimationEffort
) -> Iterator[Result]:
    """Yield the rows of the least error of all cells under a promise, and of what S costs then."""
    ball, name = setting.ball, designed(design)
    shape = ball.centre.shape
    for k in (math.inf, epsilon) if DESIGNS[design].both_levels else (math.inf,):
        cone, level = promise(design, setting, epsilon)
        try:
            found = optimal_estimation(
                ball.centre, conditional_cone(shape, k) & cone if k == epsilon else cone, **effort._asdict()
            )
        except Intractable as reason:
            yield Result(
                PAPER, mechanism=name, metric=ERRORS[CELLS], value=math.nan, unit="1", epsilon=epsilon,
                direction="min", status=SKIPPED, conditional_epsilon=k, note=str(reason), **place,
            )  # fmt: skip
            continue
        channel = found.channel
        yield _row(name, CELLS, epsilon, k, found, channel, level(channel), place)
        for measure in error_measures(channel, ball.centre):
            if measure.metric != ERRORS[CELLS]:
                yield Result(
                    PAPER, mechanism=name, epsilon=epsilon, conditional_epsilon=k, channel=channel,
                    privacy=level(channel), conditional_privacy=conditional_epsilon(channel, shape),
                    **measure._asdict(), **place,
                )  # fmt: skip


def _row(
    mechanism: str,
    target: str,
    epsilon: float,
    k: float,
    found: Optimum,
    channel: Channel,
    privacy: float,
    place: Place,
) -> Result:
    """Return the row of a least error, with the level k asked for given U."""
    _log.info(
        "%s, epsilon %g, level %g given U: %s has the error %.6g >= %.6g",
        place["instance"], epsilon, k, mechanism, found.value, found.bound,
    )  # fmt: skip
    shape = tuple(map(int, place["size"].split(" x ")))
    return Result(
        PAPER, mechanism=mechanism, metric=ERRORS[target], value=found.value, unit="1", epsilon=epsilon,
        direction="min", bound=found.bound, status=found.status, channel=channel,
        iterations=found.iterations, method=found.method, privacy=privacy, conditional_epsilon=k,
        conditional_privacy=conditional_epsilon(channel, (shape[0], shape[1])), **place,
    )  # fmt: skip


def promise(design: str, setting: Setting, epsilon: float) -> tuple[Cone, Callable[[Channel], float]]:
    """Return the columns that the promise of a design allows, and what computes the level of a channel."""
    (ball, odds), shape = setting, setting.odds.shape
    match design:
        case "set":
            return robust_cone(ball, epsilon), ball.worst_case_epsilon
        case "simplices":
            return polyopt_cone(ball.lower_bounds, epsilon, pairs="distinct"), ball.projected_epsilon
        case "acquaintances":
            return association_cone(odds, epsilon), partial(association_epsilon, odds=odds)
        case "anyone":
            return unconditional_cone(shape, epsilon), partial(unconditional_epsilon, shape=shape)
        case _:
            return local_cone(math.prod(shape), epsilon), ldp_epsilon
