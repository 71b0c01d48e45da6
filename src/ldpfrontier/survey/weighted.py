r"""Estimates from a weighted or stratified sample, and of groups, with design-based intervals.

Weights, strata and groups are public: columns that `apply --keep` copies. With F(y) the unbiased estimate
from one report, the share is the ratio of the sums of w F(y) and of w (Hajek), and a rate that of two of
these. The variance is that of a stratified sample of people, by linearisation (Wolter 2007, *Introduction to
variance estimation*): with e = w (F(y) - share) / sum(w), the sum over strata of n_h / (n_h - 1) times the
sum of squares of e around its mean, which has what the draw of the reports adds. With replicate weights it is
a factor times the sum of squares of the differences of their estimates from the one by the weights. Intervals
are Student's, for many reports.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from ldpfrontier.survey.channel_file import PrivateChannel
from ldpfrontier.survey.estimation import Quantity, check_confidence, inversion, quantities
from ldpfrontier.survey.layout import columns, csv_text, key, reports_text
from ldpfrontier.survey.reading import Label, as_number, read_chunks, said, shown
from ldpfrontier.survey.reports import Codes, channel_column, check_channel
from ldpfrontier.types import FloatArray, IntArray


@dataclass(frozen=True)
class WeightedEstimate:
    """An estimated share or rate.

    Attributes
    ----------
    quantity : Quantity
    given : tuple of str or None
        The useful value of a rate; None of a share.
    estimate : float
        Unbiased but for the ratio; it may be below 0 or above 1. NaN if the channel does not show it.
    error : float
        Standard error.
    low, high : float
        Confidence interval, within 0 and 1.
    """

    quantity: Quantity
    given: Label | None
    estimate: float
    error: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Sample:
    """Reports with what is known of the people.

    Attributes
    ----------
    outputs : ndarray of int, shape (n,)
    weights : ndarray, shape (n,)
        Above 0.
    strata : ndarray of int, shape (n,)
    groups : list of str
        Of each person; empty texts without groups.
    replicates : ndarray, shape (replicates, n), optional
        Replicate weights, of any sign.
    factor : float
        By which sums of squares over the replicates are multiplied (`replicate_factor`).
    """

    outputs: IntArray
    weights: FloatArray
    strata: IntArray
    groups: list[str]
    replicates: FloatArray | None = None
    factor: float = 1.0

    def by_group(self) -> Iterator[tuple[str, np.ndarray]]:
        """Yield the groups in their order, and who is in them."""
        names = np.array(self.groups, dtype=object)
        for name in sorted(set(self.groups)):
            yield name, names == name

    @property
    def effective(self) -> float:
        """The number of people of equal weights that weigh as much, (sum w)^2 / sum w^2 (Kish)."""
        return float(self.weights.sum() ** 2 / (self.weights**2).sum())


def replicate_factor(method: str, number: int) -> float:
    """Return the factor of the sum of squares over replicates that is a variance.

    Parameters
    ----------
    method : str
        ``brr`` and ``bootstrap`` (1 / R), ``fay:RHO`` (1 / (R (1 - rho)^2)), ``jackknife`` without strata
        ((R - 1) / R), or the factor itself, such as 0.05.
    number : int
        R, of the replicates.

    Raises
    ------
    ValueError
        If it is none of these.
    """
    name, _, rho = method.partition(":")
    if name == "fay" and (share := as_number(rho)) is not None and 0.0 <= share < 1.0:
        return 1.0 / (number * (1.0 - share) ** 2)
    known = {"brr": 1.0 / number, "bootstrap": 1.0 / number, "jackknife": (number - 1.0) / number}
    factor = known.get(method, as_number(method))
    if factor is None or not factor > 0.0:
        raise ValueError(
            f"The method of the replicates is {method!r}; it must be brr, fay:RHO with RHO from 0 to 1,"
            " jackknife, bootstrap, or a factor above 0, such as 0.05."
        )
    return factor


def read_sample(
    private: PrivateChannel,
    path: Path | str,
    *,
    column: str,
    weight: str | None = None,
    strata: str | None = None,
    by: str | None = None,
    replicates: Sequence[str] = (),
    method: str = "",
) -> Sample:
    """Read reports with the columns of their weights, strata and groups.

    Parameters
    ----------
    private : PrivateChannel
    path : path
    column : str
        The reports.
    weight, strata, by : str, optional
        Columns of weights, strata and groups.
    replicates : sequence of str
        Names of columns of replicate weights, or patterns such as ``repw*``; columns above are none of them.
    method : str
        Of the replicates, as of `replicate_factor`.

    Raises
    ------
    ValueError
        If a column is missing, a report is none of the channel, a weight is no number above 0, a replicate
        weight none, or there are fewer than two replicates.
    """
    codes = Codes(path, (column,), [(report,) for report in private.outputs])
    asked = list(dict.fromkeys([column, *(name for name in (weight, strata, by) if name is not None)]))
    outputs, weights, others = list[IntArray](), list[float](), list[FloatArray]()
    kept: tuple[list[str], list[str]] = ([], [])
    done = 0
    marks = channel_column(column)
    for chunk in read_chunks(path, asked, optional=[marks], patterns=replicates):
        outputs.append(codes([(report,) for report in chunk[column]], done))
        check_channel(private, path, chunk[marks].tolist(), done)
        for place, text in enumerate(chunk[weight] if weight is not None else [], start=done + 1):
            number = as_number(text)
            if number is None or not number > 0:
                raise ValueError(
                    f"Record {place} of {shown(path)} has the weight {text!r}; weights are numbers above 0."
                )
            weights.append(number)
        others.append(_replicate_weights(path, chunk.drop(columns=[*asked, marks]), done))
        for name, texts in zip((strata, by), kept, strict=True):
            texts += [""] * len(chunk) if name is None else chunk[name].tolist()
        done += len(chunk)
    found = np.array(weights) if weight is not None else np.ones(done)
    people = np.unique(kept[0], return_inverse=True)[1], kept[1]
    if not replicates:
        return Sample(np.concatenate(outputs), found, *people)
    several = np.concatenate(others).T
    if len(several) < 2:
        raise ValueError(
            f"{len(several)} columns of {shown(path)} are replicate weights ({' '.join(replicates)}); two or"
            " more are needed."
        )
    return Sample(np.concatenate(outputs), found, *people, several, replicate_factor(method, len(several)))


def _replicate_weights(path: Path | str, chunk: pd.DataFrame, done: int) -> FloatArray:
    """Return columns of replicate weights as numbers, shape (records, columns)."""
    found: FloatArray = chunk.apply(pd.to_numeric, errors="coerce").to_numpy(dtype=np.float64)
    if not np.isfinite(found).all():
        place, name = np.argwhere(~np.isfinite(found))[0]
        raise ValueError(
            f"Record {done + place + 1} of {shown(path)} has {chunk.iloc[place, name]!r} in the column"
            f" {chunk.columns[name]!r}; replicate weights are numbers."
        )
    return found


def weighted_estimates(
    private: PrivateChannel, sample: Sample, confidence: float = 0.95, among: np.ndarray | None = None
) -> list[WeightedEstimate]:
    """Estimate shares, and rates given useful values, of a sample or of a group in it.

    Parameters
    ----------
    private : PrivateChannel
    sample : Sample
    confidence : float
        Of each interval, in (0, 1).
    among : ndarray of bool, shape (n,), optional
        Who is in the group; its size is estimated as well, which the variance has.

    Raises
    ------
    ValueError
        If a stratum has one person, or the confidence is out of range.
    """
    tail = 0.5 * (1.0 - check_confidence(confidence))
    sizes = np.bincount(sample.strata)
    if sizes.min() < 2 and sample.replicates is None:
        raise ValueError("A stratum has one person; each needs at least two, so join it with another one.")
    inside = np.ones(len(sample.weights)) if among is None else among.astype(np.float64)
    w = sample.weights * inside
    linear, asked = inversion(private.channel.matrix, private.table), quantities(private.table)[0]
    F = linear.weights[:, sample.outputs]
    freedom = len(w) - len(sizes) if sample.replicates is None else len(sample.replicates) - 1
    quantile = float(stdtrit(max(freedom, 1), 1.0 - tail))
    each = None if sample.replicates is None else sample.replicates * inside

    def deviation(ratio: float, total: float, top: FloatArray, below: FloatArray) -> float:
        """Return the standard error of a ratio."""
        if each is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                squares = ((each @ top) / (each @ below) - ratio) ** 2
            return float(np.sqrt(sample.factor * np.where(np.isfinite(squares), squares, np.inf).sum()))
        e = w * (top - ratio * below) / total
        means = np.bincount(sample.strata, weights=e) / sizes
        within = np.bincount(sample.strata, weights=(e - means[sample.strata]) ** 2)
        return float(np.sqrt((sizes / (sizes - 1) * within).sum()))

    def made(quantity: Quantity, given: Label | None, top: FloatArray, below: FloatArray) -> WeightedEstimate:
        """Return the ratio of two weighted sums."""
        total = float((w * below).sum())
        if not total:
            return WeightedEstimate(quantity, given, *[np.nan] * 4)
        ratio = float((w * top).sum()) / total
        error = deviation(ratio, total, top, below)
        low, high = (float(np.clip(ratio + sign * quantile * error, 0.0, 1.0)) for sign in (-1.0, 1.0))
        return WeightedEstimate(quantity, given, ratio, error, low, high)

    ones, rows = np.ones(len(w)), list[WeightedEstimate]()
    for quantity, row, seen in zip(asked, F, linear.shown, strict=True):
        rows.append(
            made(quantity, None, row, ones) if seen else WeightedEstimate(quantity, None, *[np.nan] * 4)
        )
    table = private.table
    if not table.useful:
        return rows
    place = {(q.attributes, q.value): i for i, q in enumerate(asked)}
    for value, given in itertools.product(table.rows, table.columns):
        cell, column = place[table.attributes, value + given], place[table.useful, given]
        if linear.shown[cell] and linear.shown[column]:
            rows.append(made(Quantity(table.sensitive, value), given, F[cell], F[column]))
    return rows


def weighted_text(found: Sequence[WeightedEstimate], sample: Sample, confidence: float, group: str) -> str:
    """Return tables of the estimates, of all people or of a group."""
    head = (
        f"{reports_text(len(sample.weights))}; of equal weights {sample.effective:,.0f} would weigh as much"
    )
    parts = [f"{group}." if group else f"{head}."]
    interval = f"{100.0 * confidence:g}% interval"
    for attributes, rows in itertools.groupby(
        found, lambda row: (row.quantity.attributes, row.given is None)
    ):
        title = said(attributes[0])
        lines = [[title if attributes[1] else f"{title}, rates", "estimate", interval]]
        for row in rows:
            name = said(row.quantity.value) + (f" given {said(row.given)}" if row.given is not None else "")
            shown_ = np.isfinite(row.estimate)
            numbers = [f"{row.estimate:.3f}", f"{row.low:.3f} to {row.high:.3f}"]
            lines.append([name, *(numbers if shown_ else ["-", "cannot be estimated"])])
        parts.append(columns(lines))
    return "\n\n".join(parts)


def weighted_csv(found: Sequence[tuple[str, WeightedEstimate]], *, spreadsheet: bool = False) -> str:
    """Return the estimates of groups as CSV."""
    head = ["group", "columns", "value", "given", "estimate", "standard_error", "low", "high"]
    rows = [
        [
            group,
            key(row.quantity.attributes),
            key(row.quantity.value),
            "" if row.given is None else key(row.given),
            *map(repr, (row.estimate, row.error, row.low, row.high)),
        ]
        for group, row in found
    ]
    return csv_text(head, rows, spreadsheet=spreadsheet)
