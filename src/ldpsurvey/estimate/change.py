"""The change of shares between two waves of a survey, from their reports, with confidence intervals.

A share is estimated by the mean of what the reports of a wave add (`additions`), so that a change is a
difference of two means. People who are in both waves make these dependent, by their answers and by nothing
else, in a way that nobody knows: their covariance is estimated from the two weights of each such person. If
all people are in both waves, the variance is that of the paired differences; if nobody is, it is that of two
independent samples.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd
from scipy.special import bdtrc, stdtrit

from ldpfrontier.base.types import FloatArray, IntArray
from ldpsurvey.base.layout import columns, counted, number, reports_text, wrapped
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.base.tabular import Tabular, frame_of
from ldpsurvey.channel.channel_file import PrivateChannel
from ldpsurvey.channel.reports import REPORT, Decoder, decoder, remark_on_weights, reports_of_people
from ldpsurvey.data.reading import Label, Records, said, shown
from ldpsurvey.estimate.additions import Addition, additions_of
from ldpsurvey.estimate.distribution import FittedReports, check_confidence
from ldpsurvey.estimate.estimates import Quantity
from ldpsurvey.estimate.two_samples import TwoSamples, read_two_samples
from ldpsurvey.estimate.weighted import SampleColumns

if TYPE_CHECKING:
    import pandas as pd

Channel = TypeVar("Channel")


@dataclass(frozen=True)
class Change:
    """The change of a share, second less first, with its interval; NaN if a channel does not show it."""

    quantity: Quantity
    first: float
    second: float
    change: float
    low: float
    high: float
    error: float = math.nan


@dataclass(frozen=True, repr=False)
class Changes(Tabular):
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

    def cells(self) -> list[dict[str, Any]]:
        """Return the changes, each by the names of the columns that are written."""
        return [
            {"columns": row.quantity.attributes, "value": row.quantity.value, "first": row.first,
             "second": row.second, "change": row.change, "standard_error": row.error, "low": row.low,
             "high": row.high}
            for row in self.rows
        ]  # fmt: skip

    def to_frame(self) -> pd.DataFrame:
        """Return the changes, a row each, in the columns that `change --out` writes."""
        return frame_of(self.cells())

    def _about(self) -> str:
        waves = " and ".join(f"{number:,}" for number in self.records)
        return f"{counted(len(self.rows), 'change')} from {waves} reports"


def estimate_change(
    privates: tuple[PrivateChannel, PrivateChannel],
    reports: tuple[Mapping[str, int], Mapping[str, int]],
    *,
    confidence: float = 0.95,
    simultaneous: bool = False,
    samples: TwoSamples | None = None,
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
    samples : TwoSamples, optional
        How these people were drawn, in their order: their weights, strata and clusters.

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
    for private, given in zip(privates, reports, strict=True):
        outputs = np.fromiter(given.values(), dtype=np.int64)
        counts: IntArray = np.bincount(outputs, minlength=private.weights.shape[1]).astype(np.int64)
        if doubt := FittedReports(private, counts).doubt:
            raise ValueError(f"{doubt} (--id).")
    if privates[0].id == privates[1].id:
        # Whatever the answers are, two reports are equal with the largest sum of squares of a row at most
        # (Cauchy and Schwarz).
        check_drawn_anew(reports, float((privates[0].channel.matrix ** 2).sum(axis=1).max()))
    additions = tuple(
        (addition for addition in additions_of(private) if addition.under is None) for private in privates
    )
    return changes_of(additions, reports, confidence, simultaneous=simultaneous, samples=samples)


def changes_of(
    additions: Sequence[Iterable[Addition]],
    reports: tuple[Mapping[str, int], Mapping[str, int]],
    confidence: float,
    *,
    simultaneous: bool,
    samples: TwoSamples | None = None,
) -> Changes:
    """Estimate changes of the same shares in two waves, from numbers of reports by the ids of people."""
    outputs = [np.fromiter(given.values(), dtype=np.int64) for given in reports]
    times = [np.bincount(some).astype(np.float64) for some in outputs]
    both = sorted(reports[0].keys() & reports[1].keys())
    pairs = [np.array([given[name] for name in both], dtype=np.int64) for given in reports]
    found = list[tuple[Quantity, float, float, float, float]]()
    for waves in zip(*additions, strict=True):
        if samples is not None:
            found.append((waves[0].quantity, *samples.change(waves, outputs)))
            continue
        means, variance, deviations = list[float](), 0.0, list[FloatArray]()
        for one, own, some in zip(waves, times, pairs, strict=True):
            counts = one.counts(own)
            mean = float(one.over @ counts / counts.sum())
            means.append(mean if one.shown else math.nan)
            variance += _variance(one.over, counts) / counts.sum()
            if both:
                deviations.append(one.of_reports(len(own))[some] - mean)
        if both:
            # Person by person, a difference from the mean of the wave.
            first, second = deviations
            variance -= 2.0 * (first * second).sum() / (len(outputs[0]) * len(outputs[1]))
        error = math.sqrt(max(variance, 0.0))
        found.append((waves[0].quantity, means[0], means[1], error, error))
    tail = 0.5 * (1.0 - confidence) / (len(found) if simultaneous else 1)
    freedom = min(map(len, reports)) - 1 if samples is None else samples.freedom
    quantile = float(stdtrit(freedom, 1.0 - tail))
    rows = []
    for quantity, start, end, error, of_interval in found:
        change, width = end - start, quantile * of_interval
        low, high = max(change - width, -1.0), min(change + width, 1.0)
        rows.append(Change(quantity, start, end, change, low, high, error if change == change else math.nan))
    return Changes(rows, (len(reports[0]), len(reports[1])), len(both), confidence, simultaneous)


def check_drawn_anew(reports: tuple[Mapping[str, Any], Mapping[str, Any]], most: float) -> None:
    """Refuse reports of the same people by a channel, more of them repeated than two draws may have equal.

    Two reports are equal with the probability `most` at most, so that the number of these is at most
    binomial.
    """
    first, second = reports
    both = first.keys() & second.keys()
    same = sum(first[name] == second[name] for name in both)
    if bdtrc(same - 1, len(both), most) < SETTINGS.misfit:
        raise ValueError(
            f"{same:,} of the {len(both):,} people in both waves have the same report in both, more than two"
            " draws can explain: a memo has repeated reports, which show no change. For two waves, make a"
            " channel for two reports (design --reports 2), and name the waves (apply --memo --wave)."
        )


def _variance(over: FloatArray, counts: FloatArray) -> float:
    """Return the variance of what reports add, with one more report at either end."""
    values, shares = np.append(over, [over.min(), over.max()]), np.append(counts, [1.0, 1.0])
    mean = values @ shares / shares.sum()
    return float((values - mean) ** 2 @ shares / (shares.sum() - 1.0))


def change_of_files(
    privates: Sequence[PrivateChannel],
    paths: Sequence[Records],
    *,
    person: str | None = None,
    column: str = REPORT,
    confidence: float = 0.95,
    simultaneous: bool = False,
    drawn: Mapping[str, Any] | None = None,
) -> Changes:
    """Estimate how shares have changed between two files of reports by one channel, or by one for each.

    `person` is the column of ids in both files, of people of whom some may be in both; without it nobody is.
    `drawn` has the columns ``weight``, ``strata`` and ``cluster``, as `SampleColumns` does. Further arguments
    and errors are those of `count_reports` and `estimate_change`.
    """
    reports, samples = read_waves(
        [(private.id, decoder(private, path, column)) for private, path in two_waves(privates, paths)],
        paths, SampleColumns(column, person, **(drawn or {})),
    )  # fmt: skip
    return estimate_change(
        (privates[0], privates[-1]), reports, confidence=confidence, simultaneous=simultaneous,
        samples=samples,
    )  # fmt: skip


def two_waves(channels: Sequence[Channel], paths: Sequence[Records]) -> list[tuple[Channel, Records]]:
    """Return the channel and the file of each wave; refuse more channels, or one file for both."""
    if len(channels) > 2:
        raise ValueError(f"There are {len(channels)} channels for two waves; there must be one, or two.")
    one, other = (path if isinstance(path, pd.DataFrame) else Path(path).resolve() for path in paths)
    if one is other or (isinstance(one, Path) and one == other):
        raise ValueError(f"{shown(paths[0])} is given for both waves; each needs a file of its own.")
    return [(channels[0], paths[0]), (channels[-1], paths[1])]


def read_waves(
    decoders: Sequence[tuple[str, Decoder]], paths: Sequence[Records], columns: SampleColumns
) -> tuple[tuple[dict[str, int], dict[str, int]], TwoSamples | None]:
    """Return the numbers of the reports of two waves by people, from the ids and decoders of channels.

    There are samples if there are columns of weights, strata or clusters.
    """
    person, samples, weights = columns.person, None, dict[str, None]()
    if (columns.weight, columns.strata, columns.cluster) != (None, None, None):
        samples, (first, second) = read_two_samples(decoders, paths, columns, weights.setdefault)
    else:
        first, second = (
            reports_of_people(
                channel, decode, path, person=person, column=columns.report, on_weights=weights.setdefault
            )
            for (channel, decode), path in zip(decoders, paths, strict=True)
        )
    if columns.weight is None:
        remark_on_weights(weights)
    if person is None and (shared := len(first.keys() & second.keys())):
        raise ValueError(
            f"{shared:,} values of the column 'id' are in both files. If it identifies people, --id id"
            " counts these people as being in both waves; if it does not, give it another name."
        )
    return (first, second), samples


def change_text(found: Changes, joint: Collection[Label] | None = None) -> str:
    """Return the tables of changed shares; of several columns together all, or those that are `joint`."""
    first, second = found.records
    head = f"{reports_text(first)}, then {reports_text(second)}; people in both: {found.both:,}"
    if found.simultaneous:
        head += "; the confidence is that of all changes together (Bonferroni)"
    parts = [wrapped(head)]
    for group in dict.fromkeys(row.quantity.attributes for row in found.rows):
        if joint is not None and len(group) > 1 and group not in joint:
            continue
        lines = [[said(group), "first", "second", "change", f"{100.0 * found.confidence:g}% interval"]]
        for row in (row for row in found.rows if row.quantity.attributes == group):
            numbers = [number(value, 3) for value in (row.first, row.second, row.change)]
            interval = f"{row.low:.3f} to {row.high:.3f}"
            if math.isnan(row.change):
                interval = "cannot be estimated"
            lines.append([said(row.quantity.value), *numbers, interval])
        parts.append(columns(lines))
    if joint is not None and any(len(row.quantity.attributes) > 1 for row in found.rows):
        parts.append("--out writes the changes of all tables.")
    return "\n\n".join(parts)
