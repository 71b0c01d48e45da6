"""What a table of counts leaves open about the population: the set F, and the intervals of odds ratios."""

from __future__ import annotations

import math

from ldpfrontier.practice.counts import CountTable
from ldpfrontier.practice.settings import SETTINGS
from ldpfrontier.types import IntArray
from ldpfrontier.uncertainty.odds_ratios import IntervalMethod, OddsRatios
from ldpfrontier.uncertainty.renyi_ball import RenyiBall


def ball_of(table: CountTable, beta: float | None, order: float | None) -> RenyiBall | None:
    """Return the uncertainty set around a table; None if all of a record is sensitive or none was counted."""
    if not table.useful or not table.counted or beta is None or order is None:
        return None
    return RenyiBall.confidence(table.counts, beta=beta, order=order)


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
    return OddsRatios.confidence(table.counts, beta, intervals)
