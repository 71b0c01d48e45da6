"""The change of shares between two waves of a survey, from their reports, with confidence intervals.

A share is estimated by the mean of weights over the reports of a wave (`Inversion`), so that a change is a
difference of two means. People who are in both waves make these dependent, by their answers and by nothing
else, in a way that nobody knows: their covariance is estimated from the two weights of each such person. If
all people are in both waves, the variance is that of the paired differences; if nobody is, it is that of two
independent samples.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import bdtrc, stdtrit

from ldpfrontier.base.types import FloatArray, IntArray
from ldpsurvey.base.layout import columns, number, reports_text, wrapped
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.channel.channel_file import PrivateChannel
from ldpsurvey.channel.reports import REPORT, reports_of_people
from ldpsurvey.data.reading import said
from ldpsurvey.estimate.distribution import FittedReports, check_confidence, inversion, quantities
from ldpsurvey.estimate.estimates import Quantity


@dataclass(frozen=True)
class Change:
    """The change of a share, second less first, with its interval; NaN if a channel does not show it."""

    quantity: Quantity
    first: float
    second: float
    change: float
    low: float
    high: float


@dataclass(frozen=True)
class Changes:
    """Changes of all shares between two waves.

    Attributes
    ----------
    rows : list of Change
        Of the shares of all of a record, of what is sensitive, and of what is useful.
    records : tuple of int
        Reports of either wave.
    both : int
        People who are in both.
    confidence : float
        Level of each interval, or of all together.
    simultaneous : bool
        Whether it is that of all together (Bonferroni).
    """

    rows: list[Change]
    records: tuple[int, int]
    both: int
    confidence: float
    simultaneous: bool


def estimate_change(
    privates: tuple[PrivateChannel, PrivateChannel],
    reports: tuple[Mapping[str, int], Mapping[str, int]],
    *,
    confidence: float = 0.95,
    simultaneous: bool = False,
) -> Changes:
    """Estimate how shares have changed between two waves.

    The intervals are those of Student, for many reports: with the variance from the data, of which those of
    single waves get one more report with the largest weight and one with the smallest.

    Parameters
    ----------
    privates : tuple of PrivateChannel
        That the reports of either wave were drawn from, for the same values.
    reports : tuple of mapping of str to int
        Of either wave, the number of the output of each person, by an id. A person who is in both has the
        same id in both; other people have different ones.
    confidence : float
        In (0, 1).
    simultaneous : bool
        Whether the confidence is that of all intervals together.

    Raises
    ------
    ValueError
        If the channels have different values, a wave has fewer than two reports or ones that do not fit its
        channel, more people than chance explains have the same report in both, or the confidence is out of
        range.
    """
    confidence = check_confidence(confidence)
    one, other = (private.table for private in privates)
    if (one.sensitive, one.useful, one.labels) != (other.sensitive, other.useful, other.labels):
        raise ValueError("The channels of the two waves have different columns or values; they must agree.")
    if min(map(len, reports)) < 2:
        raise ValueError("A wave has fewer than two reports; an interval needs at least two in each.")
    asked = quantities(one)[0]
    means, variances, weights, shown = [], [], [], np.ones(len(asked), dtype=bool)
    for private, given in zip(privates, reports, strict=True):
        outputs = np.fromiter(given.values(), dtype=np.int64)
        counts: IntArray = np.bincount(outputs, minlength=private.weights.shape[1]).astype(np.int64)
        if doubt := FittedReports(private, counts).doubt:
            raise ValueError(f"{doubt} (--id).")
        linear = inversion(private.channel.matrix, private.table)
        shown &= linear.shown
        means.append(linear.weights @ counts / len(outputs))
        drawn = linear.weights[:, private.weights.max(axis=0) > 0]
        variances.append(_variance(linear.weights, counts, drawn) / len(outputs))
        weights.append(linear.weights)
    both = sorted(reports[0].keys() & reports[1].keys())
    variance = variances[0] + variances[1]
    if both:
        pairs = [np.array([given[name] for name in both]) for given in reports]
        if privates[0].id == privates[1].id:
            _check_drawn_anew(privates[0], *pairs)
        # Person by person, a difference from the mean of the wave.
        first, second = (w[:, y] - mean[:, None] for w, y, mean in zip(weights, pairs, means, strict=True))
        variance -= 2.0 * (first * second).sum(axis=1) / (len(reports[0]) * len(reports[1]))
    tail = 0.5 * (1.0 - confidence) / (len(asked) if simultaneous else 1)
    half = float(stdtrit(min(map(len, reports)) - 1, 1.0 - tail)) * np.sqrt(np.maximum(variance, 0.0))
    rows = []
    for place, quantity in enumerate(asked):
        start, end = (float(mean[place]) if shown[place] else math.nan for mean in means)
        change, width = end - start, float(half[place])
        rows.append(Change(quantity, start, end, change, max(change - width, -1.0), min(change + width, 1.0)))
    return Changes(rows, (len(reports[0]), len(reports[1])), len(both), confidence, simultaneous)


def _check_drawn_anew(private: PrivateChannel, first: IntArray, second: IntArray) -> None:
    """Refuse reports of the same people by a channel, more of them repeated than two draws may have equal.

    Whatever the answers are, two reports are equal with the largest sum of squares of a row at most (Cauchy
    and Schwarz), so that their number is at most binomial.
    """
    same, most = int((first == second).sum()), float((private.channel.matrix**2).sum(axis=1).max())
    if bdtrc(same - 1, len(first), most) < SETTINGS.misfit:
        raise ValueError(
            f"{same:,} of the {len(first):,} people in both waves have the same report in both, more than two"
            " draws can explain: a memo has repeated reports, which show no change. For two waves, make a"
            " channel for two reports (design --reports 2), and name the waves (apply --memo --wave)."
        )


def _variance(weights: FloatArray, counts: IntArray, drawn: FloatArray) -> FloatArray:
    """Return variances of weights of reports, with one more at either end of drawn ones, (quantities,)."""
    values = np.column_stack([weights, drawn.min(axis=1), drawn.max(axis=1)])
    shares = np.append(counts, [1.0, 1.0])
    mean = values @ shares / shares.sum()
    return np.asarray((values - mean[:, None]) ** 2 @ shares / (shares.sum() - 1.0))


def change_of_files(
    privates: Sequence[PrivateChannel],
    paths: Sequence[Path | str],
    *,
    person: str | None = None,
    column: str = REPORT,
    confidence: float = 0.95,
    simultaneous: bool = False,
) -> Changes:
    """Estimate how shares have changed between two files of reports by one channel, or by one for each.

    `person` is the column of ids in both files, of people of whom some may be in both; without it nobody is.
    Further arguments and errors are those of `count_reports` and `estimate_change`.
    """
    if len(privates) > 2:
        raise ValueError(f"There are {len(privates)} channels for two waves; there must be one, or two.")
    if Path(paths[0]).resolve() == Path(paths[1]).resolve():
        raise ValueError(f"{paths[0]} is given for both waves; each needs a file of its own.")
    first, second = (
        reports_of_people(private, path, person=person, column=column)
        for private, path in zip((privates[0], privates[-1]), paths, strict=True)
    )
    if person is None and (shared := len(first.keys() & second.keys())):
        raise ValueError(
            f"{shared:,} values of the column 'id' are in both files. If it identifies people, --id id"
            " counts these people as being in both waves; if it does not, give it another name."
        )
    return estimate_change(
        (privates[0], privates[-1]), (first, second), confidence=confidence, simultaneous=simultaneous
    )


def change_text(found: Changes) -> str:
    """Return the tables of changed shares."""
    first, second = found.records
    head = f"{reports_text(first)}, then {reports_text(second)}; people in both: {found.both:,}"
    if found.simultaneous:
        head += "; the confidence is that of all changes together (Bonferroni)"
    parts = [wrapped(head)]
    for group in dict.fromkeys(row.quantity.attributes for row in found.rows):
        lines = [[said(group), "first", "second", "change", f"{100.0 * found.confidence:g}% interval"]]
        for row in (row for row in found.rows if row.quantity.attributes == group):
            numbers = [number(value, 3) for value in (row.first, row.second, row.change)]
            interval = f"{row.low:.3f} to {row.high:.3f}"
            if math.isnan(row.change):
                interval = "cannot be estimated"
            lines.append([said(row.quantity.value), *numbers, interval])
        parts.append(columns(lines))
    return "\n\n".join(parts)
