r"""One mechanism for several reports of a person, whose level for acquaintances is known for all together.

Two designs (docs/beyond/theorems.md, statement 11). If the number of reports is known, the level of one is
set so that the exact level of all together is the one asked for. If each mechanism may be chosen after the
reports before it were seen, each protects over odds ratios that are widened by what those may have told, and
all have at most the sum of the levels.
"""

from __future__ import annotations

from dataclasses import dataclass

from ldpfrontier.model.channel import Channel
from ldpfrontier.model.optimum import (
    LEAST_EPSILON,
    UNKNOWN,
    Method,
    checked_epsilon,
    keeps_time_limit,
    records_fallbacks,
)
from ldpfrontier.numerics.arguments import as_count, as_flag, as_instance, as_number
from ldpfrontier.numerics.deadline import time_is_up
from ldpfrontier.promises.association import optimal_association
from ldpfrontier.promises.settings import SETTINGS
from ldpfrontier.reports.several_reports import composition
from ldpfrontier.uncertainty.odds_ratios import OddsRatios, association_epsilon


@dataclass(frozen=True, eq=False)
class RepeatedReports:
    """A mechanism for several independent reports of one person.

    Attributes
    ----------
    channel : Channel
        The mechanism of each report; its inputs are the pairs (s, u) in row-major order.
    reports : int
        The number m of reports.
    epsilon : float
        Level of one report for acquaintances, over the intervals it was made for, in nats.
    level : float
        Level of all reports together for acquaintances, over the intervals of the odds ratios, in nats.
    together : Channel
        The channel of all reports together (`composition`).
    method : Method
    """

    channel: Channel
    reports: int
    epsilon: float
    level: float
    together: Channel
    method: Method = UNKNOWN


@records_fallbacks
@keeps_time_limit
def optimal_repeated(
    odds: OddsRatios,
    epsilon: float,
    reports: int,
    *,
    adaptive: bool = False,
    tolerance: float = 1e-3,
    max_seconds: float | None = None,
) -> RepeatedReports:
    """Find a mechanism of which several reports together have a level for acquaintances.

    It is the most informative one for a single report (`optimal_association`), at the largest level found
    at which all reports together keep epsilon. That it is the best one for several reports is not shown.

    Parameters
    ----------
    odds : OddsRatios
        Intervals of the odds ratios, with the estimate.
    epsilon : float
        Level of all reports together, in nats, 0 to 30.
    reports : int
        The number of reports, 1 or more.
    adaptive : bool
        Whether each mechanism may be chosen after the reports before it were seen. Each report then has the
        level epsilon / m over odds ratios widened by twice the rest of epsilon, and any others like it may
        take the place of this one.
    tolerance : float
        Relative gap of each optimum; and of the level of all together, which is within it below epsilon
        unless the search ends at its limit of steps.
    max_seconds : float, optional
        Seconds after which the best mechanism so far is returned; 0 or more.

    Raises
    ------
    Intractable
        If the channel of all reports is too large (`composition`).
    ValueError
        If an argument is something else or out of range, or epsilon / m is above 0 and below 0.001, or as
        `optimal_association`.

    Examples
    --------
    >>> from ldpfrontier import OddsRatios, optimal_repeated
    >>> odds = OddsRatios.confidence([[30, 20], [10, 40]])
    >>> waves = optimal_repeated(odds, 1.0, 3)
    >>> 1 / 4 < waves.epsilon < 1 / 3, waves.level <= 1.0
    (True, True)
    """
    as_instance(odds, OddsRatios, "The odds ratios")
    epsilon = checked_epsilon(epsilon, SETTINGS.max_epsilon)
    reports = as_count(reports, "reports", "a whole number from 1 to 1,000", least=1, most=1_000)
    adaptive = as_flag(adaptive, "adaptive")
    tolerance = as_number(tolerance, "tolerance", "a relative gap, 0 or more", least=0.0)
    each = epsilon / reports
    if 0.0 < each < LEAST_EPSILON:
        raise ValueError(
            f"epsilon is {epsilon:g} for {reports} reports, which leaves {each:.2g} nats to each; with so"
            f" many reports it must be 0, or {reports * LEAST_EPSILON:g} or more."
        )
    # By what a person who has seen the other reports may have learnt of U.
    widened = odds.widened(2.0 * (epsilon - each))

    def made(level: float, over: OddsRatios) -> RepeatedReports:
        best = optimal_association(over, level, tolerance=tolerance)
        together = composition([best.channel] * reports)
        total = association_epsilon(together, odds)
        return RepeatedReports(best.channel, reports, level, total, together, best.method)

    if adaptive or reports == 1 or epsilon == 0.0:
        return made(each, widened)
    found, low, high, level = None, 0.0, epsilon, each
    # Mechanisms that are tried for the level of one of several reports; the level of all is nearly
    # proportional to it, so that 3 to 5 are usual.
    for _ in range(12):
        if time_is_up():
            break
        tried = made(level, odds)
        if tried.level <= epsilon:
            found, low = tried, level
            if tried.level >= epsilon * (1.0 - tolerance):
                break
        else:
            high = level
        # Nearly proportional: aimed between what was asked for and what is allowed.
        level *= epsilon * (1.0 - tolerance / 2.0) / tried.level if tried.level > 0.0 else 2.0
        if not low < level < high:
            level = 0.5 * (low + high)
        if level < LEAST_EPSILON:
            break
    return found or made(each, widened)
