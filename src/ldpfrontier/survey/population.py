"""What a table of counts leaves open about the population: the set F, and the intervals of odds ratios."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import get_args

from ldpfrontier.numerics.arguments import as_number, check_choice
from ldpfrontier.survey.counts import CountTable
from ldpfrontier.survey.settings import SETTINGS
from ldpfrontier.types import IntArray
from ldpfrontier.uncertainty.odds_ratios import IntervalMethod, OddsRatios
from ldpfrontier.uncertainty.renyi_ball import RadiusMethod, RenyiBall


@dataclass(frozen=True)
class Radius:
    """Which radius the set F has.

    Attributes
    ----------
    method : {"asymptotic", "finite"}
        Whether F has its level with many records, or with any number of them (`RenyiBall.confidence`).
    factor : float
        By which it is multiplied, above 1 for a population that may have changed since it was counted.

    Raises
    ------
    ValueError
        If the method is unknown or the factor not above 0.
    """

    method: RadiusMethod = "asymptotic"
    factor: float = 1.0

    def __post_init__(self) -> None:
        check_choice(self.method, "The method of the radius", get_args(RadiusMethod))
        factor = as_number(self.factor, "The factor of the radius", "a number above 0", least=math.ulp(0.0))
        object.__setattr__(self, "factor", factor)

    def check(self, against: str) -> None:
        """Refuse another radius than the usual one where the promise is about no set F.

        Raises
        ------
        ValueError
        """
        if self != Radius() and against != "outsider":
            raise ValueError(
                f"The radius of F is {self.method}, times {self.factor:g}, but the promise against {against}"
                " is about no F; with useful columns, against outsider, F may have another radius."
            )


#: The radius for many records, of a population that is as it was.
USUAL_RADIUS = Radius()


def ball_of(
    table: CountTable, beta: float | None, order: float | None, radius: Radius = USUAL_RADIUS
) -> RenyiBall | None:
    """Return the uncertainty set around a table; None if all of a record is sensitive or none was counted."""
    if not table.useful or not table.counted or beta is None or order is None:
        return None
    return RenyiBall.confidence(table.counts, beta, order, method=radius.method, factor=radius.factor)


def usual_intervals(counts: IntArray) -> IntervalMethod:
    """Return the method of the intervals of odds ratios of a table: exact ones, if they are quick."""
    (a1, a2), records = counts.shape, int(counts.sum())
    work = math.comb(a1, 2) * math.comb(a2, 2) * records
    quick = records <= SETTINGS.max_exact_records and work <= SETTINGS.max_exact_work
    return "exact" if quick else "bonferroni"


def odds_of(table: CountTable, beta: float | None, intervals: IntervalMethod | None) -> OddsRatios | None:
    """Return the intervals of the odds ratios of a table; None where `ball_of` is."""
    if not table.useful or not table.counted or beta is None or intervals is None:
        return None
    beta = as_number(beta, "beta", "a significance level, strictly between 0 and 1")
    return _intervals(tuple(map(tuple, table.counts.tolist())), beta, intervals)


@functools.lru_cache(maxsize=4)
def _intervals(counts: tuple[tuple[int, ...], ...], beta: float, method: IntervalMethod) -> OddsRatios:
    """Return the intervals of odds ratios: a design and the levels of its channel need the same ones."""
    return OddsRatios.confidence(counts, beta, method)
