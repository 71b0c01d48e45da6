r"""Estimates from a weighted, stratified or clustered sample, and of groups, with design-based intervals.

Weights, strata, clusters and groups are public: columns that `apply --keep` copies. With F(y) the unbiased
estimate from one report, the share is the ratio of the sums of w F(y) and of w (Hajek), and a rate that of
two of these. The variance is that of a stratified sample of clusters, or of people if there are none,
drawn with replacement, by linearisation (Wolter 2007, *Introduction to variance estimation*): with e the sum
over a cluster of w (F(y) - share) / sum(w), the sum over strata of n_h / (n_h - 1) times the sum of squares
of e around its mean, which has what the draw of the reports adds. With replicate weights it is
a factor times the sum of squares of the differences of their estimates from the one by the weights. Intervals
are Student's, for many reports.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from ldpfrontier.base.types import FloatArray, IntArray
from ldpsurvey.base.layout import reports_text
from ldpsurvey.channel.channel_file import PrivateChannel
from ldpsurvey.channel.reports import decoder, first_reports
from ldpsurvey.data.reading import as_number, said, shown
from ldpsurvey.data.weights import clusters_of, effective_number
from ldpsurvey.estimate.distribution import check_confidence, inversion, quantities
from ldpsurvey.estimate.estimates import Estimated, Quantity, is_estimable, rows_text


@dataclass(frozen=True, eq=False)
class Sample:
    """Reports with what is known of the people: (n,) outputs, weights above 0, strata, and names of groups.

    Clusters of people were drawn if there are any, (n,); what has the same name in two strata is two of them.
    Replicate weights, (replicates, n), have any sign; sums of squares over them are multiplied by `factor`.
    """

    outputs: IntArray
    weights: FloatArray
    strata: IntArray
    groups: list[str]
    replicates: FloatArray | None = None
    factor: float = 1.0
    clusters: IntArray | None = None

    @cached_property
    def units(self) -> tuple[IntArray, IntArray]:
        """What was drawn, clusters or people: the number of that of each person, (n,), and their strata."""
        if self.clusters is None:
            return np.arange(len(self.strata)), self.strata
        pairs = np.stack([self.strata, self.clusters])
        (strata, _), numbers = np.unique(pairs, axis=1, return_inverse=True)
        return numbers.reshape(-1), strata

    def by_group(self) -> Iterator[tuple[str, np.ndarray]]:
        """Yield the groups in their order, and who is in them."""
        names = np.array(self.groups, dtype=object)
        for name in sorted(set(self.groups)):
            yield name, names == name

    def replicates_without(self, who: np.ndarray) -> int:
        """Return in how many replicates nobody of a group is left, so that they tell nothing about it."""
        return 0 if self.replicates is None else int((self.replicates @ who <= 0.0).sum())

    @property
    def effective(self) -> float:
        """The number of people of equal weights that weigh as much, (sum w)^2 / sum w^2 (Kish)."""
        return effective_number(float(self.weights.sum()), float((self.weights**2).sum()))


def replicate_factor(method: str, number: int) -> float:
    """Return the factor of the sum of squares over so many replicates that is a variance.

    ``brr`` and ``bootstrap`` have 1 / R, ``fay:RHO`` 1 / (R (1 - rho)^2), ``jackknife`` without strata (R -
    1) / R; the factor itself, such as 0.05, is possible, too.
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


@dataclass(frozen=True)
class SampleColumns:
    """Columns of a file of reports, and the method that replicate weights were made by.

    Columns of replicate weights are named, or by patterns such as ``repw*``; columns above are none of them.
    """

    report: str
    person: str | None = None
    weight: str | None = None
    strata: str | None = None
    cluster: str | None = None
    by: str | None = None
    replicates: Sequence[str] = ()
    method: str = ""


def read_sample(private: PrivateChannel, path: Path | str, columns: SampleColumns) -> Sample:
    """Read the first report of each person, as `count_reports` does, with its weight, stratum and group."""
    weight, strata, cluster, by = columns.weight, columns.strata, columns.cluster, columns.by
    named = [name for name in (weight, strata, cluster, by) if name is not None]
    decode = decoder(private, path, columns.report)
    chunks = list(
        first_reports(
            path, private.id, decode, columns.report, columns.person, named, patterns=columns.replicates
        )
    )
    frame = pd.concat([chunk for chunk, _, _ in chunks])
    nobody = [""] * len(frame)

    def numbers_of(name: str | None, what: str) -> IntArray:
        named = nobody if name is None else clusters_of(path, frame[name], what)
        return np.unique(named, return_inverse=True)[1]

    found = Sample(
        np.concatenate([outputs for _, _, outputs in chunks]),
        np.ones(len(frame)) if weight is None else _numbers(path, frame[[weight]], "weights", 0.0)[:, 0],
        numbers_of(strata, "stratum"),
        [name or "(empty)" for name in (nobody if by is None else frame[by])],
        clusters=None if cluster is None else numbers_of(cluster, "cluster"),
    )
    if not columns.replicates:
        return found
    rest = frame.drop(columns=named)
    several = _numbers(path, rest, "replicate weights", -np.inf).T
    if len(several) < 2:
        raise ValueError(
            f"{len(several)} columns of {shown(path)} are replicate weights ({' '.join(columns.replicates)});"
            " two or more are needed."
        )
    if not (sums := several.sum(axis=1)).min() > 0.0:
        raise ValueError(
            f"The replicate weights in the column {rest.columns[sums.argmin()]!r} of {shown(path)} add up"
            f" to {sums.min():.4g}; those of each column must add up to more than 0."
        )
    return replace(found, replicates=several, factor=replicate_factor(columns.method, len(several)))


def _numbers(path: Path | str, frame: pd.DataFrame, what: str, above: float) -> FloatArray:
    """Return columns as numbers above a limit, shape (records, columns)."""
    found: FloatArray = frame.apply(pd.to_numeric, errors="coerce").to_numpy(dtype=np.float64)
    wrong = np.argwhere(~(np.isfinite(found) & (found > above)))
    if wrong.size:
        place, name = wrong[0]
        raise ValueError(
            f"Record {frame.index[place]} of {shown(path)} has {frame.iloc[place, name]!r} in the column"
            f" {frame.columns[name]!r}; {what} are numbers{' above 0' if above == 0.0 else ''}."
        )
    return found


def weighted_estimates(
    private: PrivateChannel, sample: Sample, confidence: float = 0.95, among: np.ndarray | None = None
) -> list[Estimated]:
    """Estimate shares, and rates given useful values, of a sample or of the group `among`, (n,), in it.

    The size of a group is estimated as well, which the variance has. Intervals have the degrees of freedom of
    the people or clusters in the group, and count one more report at either end, as those of changes do. They
    are around the nearest possible value. One person, or cluster, has no interval, and neither has a rate
    among people of whom there may be none.
    """
    tail = 0.5 * (1.0 - check_confidence(confidence))
    units, strata = sample.units
    sizes = np.bincount(strata)
    if sizes.min() < 2 and sample.replicates is None:
        what = "person" if sample.clusters is None else "cluster"
        many = "A stratum" if len(sizes) > 1 else "The sample"
        raise ValueError(f"{many} has one {what}; each needs at least two, so join it with another one.")
    inside = np.ones(len(sample.weights)) if among is None else among.astype(np.float64)
    w, own = sample.weights * inside, strata[np.unique(units[inside > 0])]
    linear, asked = inversion(private.channel.matrix, private.table), quantities(private.table)[0]
    freedom = len(own) - len(np.unique(own))
    if sample.replicates is not None:
        freedom = min(len(own), len(sample.replicates)) - 1
    quantile = float(stdtrit(max(freedom, 1), 1.0 - tail))
    each = None if sample.replicates is None else sample.replicates * inside
    drawn = private.channel.matrix.any(axis=0)

    def deviation(ratio: float, total: float, top: FloatArray, below: FloatArray) -> float:
        """Return the standard error of a ratio."""
        if each is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                squares = ((each @ top) / (each @ below) - ratio) ** 2
            return float(np.sqrt(sample.factor * np.where(np.isfinite(squares), squares, np.inf).sum()))
        e = np.bincount(units, weights=w * (top - ratio * below) / total)
        means = np.bincount(strata, weights=e) / sizes
        within = np.bincount(strata, weights=(e - means[strata]) ** 2)
        return float(np.sqrt((sizes / (sizes - 1) * within).sum()))

    def made(quantity: Quantity, over: FloatArray, under: FloatArray, known: bool, **more: Any) -> Estimated:
        """Return the ratio of two weighted sums of weights of reports; NaN if it is not known."""
        top, below = over[sample.outputs], under[sample.outputs]
        total = float(w @ below)
        if not known or not total > 0.0 or len(own) < 2:  # units, of which one has no variance
            return Estimated(quantity, *[np.nan] * 3, estimable=False, **more)
        ratio = float(w @ top) / total
        error = deviation(ratio, total, top, below)
        rest = (over - ratio * under)[drawn]
        one_more = float((w**2).sum() / w.sum()) / total  # the share of one more report of a typical weight
        half = quantile * math.hypot(error, one_more * rest.min(), one_more * rest.max())
        near = min(max(ratio, 0.0), 1.0)
        low, high = max(near - half, 0.0), min(near + half, 1.0)
        estimable = is_estimable(ratio, high - low)
        return Estimated(quantity, ratio, low, high, ratio, error, estimable=estimable, **more)

    table, ones = private.table, np.ones(linear.weights.shape[1])
    told = zip(asked, linear.weights, linear.shown.tolist(), strict=True)
    rows = [made(quantity, row, ones, shown) for quantity, row, shown in told]
    place = {(q.attributes, q.value): i for i, q in enumerate(asked)}
    for value, given in itertools.product(table.rows, table.columns if table.useful else ()):
        cell, column = place[table.attributes, value + given], place[table.useful, given]
        if linear.shown[cell] and linear.shown[column]:
            about = {"measure": "rate", "given_columns": table.useful, "given": given}
            quantity, occurs = Quantity(table.sensitive, value), rows[column].low > 0.0
            rows.append(made(quantity, linear.weights[cell], linear.weights[column], occurs, **about))
    return rows


def weighted_text(found: Sequence[Estimated], sample: Sample, confidence: float, group: str) -> str:
    """Return tables of the estimates, of all people or of a group."""
    head, effective = reports_text(len(sample.weights)), sample.effective
    if round(effective) < len(sample.weights):
        head += f", which tell as much as {effective:,.0f} of equal weights"
    parts = [f"{group}." if group else f"{head}."]
    for (names, measure), rows in itertools.groupby(
        found, lambda row: (row.quantity.attributes, row.measure)
    ):
        title = said(names) + ", rates" * (measure == "rate")
        parts.append(rows_text(title, "estimate", list(rows), confidence))
    return "\n\n".join(parts)
