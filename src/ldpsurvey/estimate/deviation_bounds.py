"""Bounds of shares, rates and differences if some people do not follow the rule, as results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.channel.channel_file import PrivateChannel
from ldpsurvey.estimate.deviating import DeviatingReports
from ldpsurvey.estimate.distribution import check_confidence
from ldpsurvey.estimate.estimates import Bounded, EstimateTable
from ldpsurvey.estimate.rates import rates_of, reference


@dataclass(frozen=True, eq=False, repr=False)
class DeviationBounds(EstimateTable):
    """Bounds of shares, rates and differences of rates if at most a share of the people deviates.

    Attributes
    ----------
    rows : tuple of Bounded
        Shares in the order of `estimate_distribution`, then rates and differences as `estimate_rates` has
        them.
    records : int
    deviating : float
        The largest share of people who report anything.
    everybody : bool
        Whether the numbers are about everybody, or about those who follow the rule.
    always : str or None
        The only report of those who do not follow the rule, if there is one.
    needed : float
        The least share of people who cannot have followed the rule, if the reports were exact.
    at_least : float
        With the confidence of the intervals, at least this share has not followed it.
    confidence : float
        Level of each interval, or of all shares together, and of all rates and differences.
    simultaneous : bool
        Whether it is that of all together.
    refusals : int
        People who gave no report and are among everybody.
    """

    rows: tuple[Bounded, ...]
    records: int
    deviating: float
    everybody: bool
    always: str | None
    needed: float
    at_least: float
    confidence: float
    simultaneous: bool
    refusals: int = 0

    def _estimates(self) -> list[tuple[str, Bounded]]:
        return [("", row) for row in self.rows]


def estimate_bounds(
    private: PrivateChannel,
    counts: ArrayLike,
    deviating: float,
    *,
    everybody: bool = False,
    always: str | None = None,
    refusals: int = 0,
    compare_with: Sequence[str] | None = None,
    confidence: float = 0.95,
    simultaneous: bool = False,
    check_fit: bool = True,
) -> DeviationBounds:
    """Bound shares, rates and differences of rates if some people report whatever they like.

    Parameters
    ----------
    private : PrivateChannel
        What the others report by.
    counts : array_like of int, shape (outputs,)
        As `count_reports` returns them.
    deviating : float
        The largest share of people who do not follow the rule, 0 or more and below 1.
    everybody : bool
        Whether the numbers are about everybody, with any answers of those who do not follow the rule, or
        about those who follow it.
    always : str, optional
        The report that all who do not follow the rule give, whatever they are told; by default any.
    refusals : int
        People who gave no report, and who are among everybody.
    compare_with, confidence, simultaneous
        As in `estimate_rates`.
    check_fit : bool
        Whether reports are refused that show, up to a probability of 1e-4, that more people than that have
        not followed the rule.

    Returns
    -------
    DeviationBounds

    Raises
    ------
    ValueError
        If the counts do not fit the channel, there are none, or the share is not from 0 to below 1.
    """
    confidence = check_confidence(confidence)
    place = reference(private, compare_with) if private.table.useful or compare_with is not None else None
    fit = DeviatingReports(private, counts, deviating, everybody=everybody, always=always, refusals=refusals)
    if check_fit:
        fit.check_fit()
    return bounds_of(fit, place, confidence, simultaneous=simultaneous)


def bounds_of(
    fit: DeviatingReports, place: int | None, confidence: float, *, simultaneous: bool
) -> DeviationBounds:
    """Return what `estimate_bounds` does, with the place of the useful value to compare with."""
    shares = fit.distribution(confidence, simultaneous=simultaneous).frequencies
    rows = [(row, fit.bounds(c)) for row, c in zip(shares, fit.vectors, strict=True)]
    if place is not None:
        table = fit.table
        a1, a2 = table.counts.shape
        cells = np.eye(a1 * a2).reshape(a1, a2, -1)
        sums = cells.sum(axis=0)
        done = dict[tuple[int, int], tuple[float, float]]()
        for row in rates_of(fit, place, confidence, simultaneous=simultaneous).rows:
            if row.measure == "ratio":
                continue
            s, u = table.rows.index(row.quantity.value), table.columns.index(row.given)
            one, base = (cells[s, u], sums[u]), (cells[s, place], sums[place])
            if row.measure == "rate":
                rows.append((row, fit.rate_bounds(*one)))
            else:
                if a1 == 2 and s == 1:  # the negative of the other one
                    least, most = done[0, u]
                    done[s, u] = -most, -least
                else:
                    done[s, u] = -fit.most_difference(*base, *one), fit.most_difference(*one, *base)
                rows.append((row, done[s, u]))
    made = tuple(
        Bounded(
            row.quantity, math.nan, row.low, row.high, measure=row.measure, given_columns=row.given_columns,
            given=row.given, compared_with=row.compared_with, least=least, most=most,
            deviating=fit.deviating, everybody=fit.everybody,
            estimable=row.high - row.low < SETTINGS.uninformative_width,
        )
        for row, (least, most) in rows
    )  # fmt: skip
    return DeviationBounds(
        made, fit.records, fit.deviating, fit.everybody, fit.always, fit.needed,
        fit.at_least(1.0 - confidence), confidence, simultaneous, fit.refusals,
    )  # fmt: skip
