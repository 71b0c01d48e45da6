r"""Estimates from a weighted, stratified or clustered sample, and of groups, with design-based intervals.

Weights, strata, clusters and groups are public: columns that `apply --keep` copies. With F(y) the unbiased
estimate from one report (`additions`), the share is the ratio of the sums of w F(y) and of w (Hajek), and a
rate that of two of these. The variance is that of a stratified sample of clusters, or of people if there are
none, drawn with replacement, by linearisation (Wolter 2007, *Introduction to variance estimation*): with e
the sum over a cluster of w (F(y) - share) / sum(w), the sum over strata of n_h / (n_h - 1) times the sum of
squares of e around its mean, which has what the draw of the reports adds. With replicate weights it is
a factor times the sum of squares of the differences of their estimates from the one by the weights. Intervals
are Student's, for many reports.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from ldpfrontier.base.types import FloatArray, IntArray
from ldpsurvey.base.layout import reports_text
from ldpsurvey.channel.channel_file import PrivateChannel
from ldpsurvey.channel.reports import Decoder, first_reports, unnamed
from ldpsurvey.data.reading import Label, Records, as_number, said, shown
from ldpsurvey.data.weights import clusters_of, effective_number
from ldpsurvey.estimate.additions import Addition, Totals, additions_of
from ldpsurvey.estimate.distribution import check_confidence
from ldpsurvey.estimate.estimates import Estimated, is_estimable, rows_text


@dataclass(frozen=True, eq=False)
class Sample:
    """Reports with what is known of the people: (n,) outputs, weights above 0, strata, and names of groups.

    Clusters of people were drawn if there are any, (n,); what has the same name in two strata is two of them.
    Replicate weights, (replicates, n), have any sign; sums of squares over them are multiplied by `factor`.
    Of a wave `people` are their ids.
    """

    outputs: IntArray
    weights: FloatArray
    strata: IntArray
    groups: list[str]
    replicates: FloatArray | None = None
    factor: float = 1.0
    clusters: IntArray | None = None
    people: Sequence[str] = ()

    @cached_property
    def units(self) -> tuple[IntArray, IntArray]:
        """What was drawn, clusters or people: the number of that of each person, (n,), and their strata."""
        if self.clusters is None:
            return np.arange(len(self.strata)), self.strata
        number = int(self.clusters.max()) + 1
        pairs, numbers = np.unique(self.strata * number + self.clusters, return_inverse=True)
        return numbers.reshape(-1), pairs // number

    def by_group(self) -> Iterator[tuple[str, np.ndarray]]:
        """Yield the groups in their order, and who is in them."""
        names = np.array(self.groups, dtype=object)
        for name in sorted(set(self.groups)):
            yield name, names == name

    def all_and_groups(self, by: str | None) -> Iterator[tuple[str, np.ndarray | None]]:
        """Yield "" with None for all people and, if there is a column of groups, what `by_group` does."""
        yield "", None
        if by is not None:
            yield from self.by_group()

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

    def __post_init__(self) -> None:
        together = [self.replicates, self.method, self.weight]
        if any(together[:2]) and (not all(together) or (self.strata, self.cluster) != (None, None)):
            raise ValueError(
                "--replicates, --replicate-method and --weight must be given together, and without --strata"
                " or --cluster: replicates have these in them."
            )


@dataclass(frozen=True)
class KnownLabels:
    """The numbers of the names of strata and of clusters, in the order in which they come."""

    strata: dict[str, int] = field(default_factory=dict)
    clusters: dict[str, int] = field(default_factory=dict)


def read_sample(
    channel: str,
    decode: Decoder,
    path: Records,
    columns: SampleColumns,
    known: KnownLabels | None = None,
    on_weights: Callable[[str], object] | None = None,
) -> Sample:
    """Read the first report of each person with its weight, stratum and group; `channel` is an id.

    What `decode` gives is the number of a report: of its output, or of the text among different ones. Of a
    wave, the labels that are `known` are those of all waves, and the sample has the ids of the people.
    """
    weight, strata, cluster, by = columns.weight, columns.strata, columns.cluster, columns.by
    named = [name for name in (weight, strata, cluster, by) if name is not None]
    outputs, weights, groups = list[IntArray](), list[FloatArray](), list[str]()
    replicates, rest = list[FloatArray](), list[str]()
    labels, group_of, people = known or KnownLabels(), dict[str, str](), list[str]()
    stratum_of = _Labels(path, "stratum", labels.strata)
    cluster_of = _Labels(path, "cluster", labels.clusters)
    for chunk, ids, some in first_reports(
        path,
        channel,
        decode,
        columns.report,
        columns.person,
        named,
        patterns=columns.replicates,
        on_weights=on_weights,
    ):
        outputs.append(some)
        if known is not None:
            people += [name or unnamed(path, len(people) + place) for place, name in enumerate(ids)]
        weights.append(
            np.ones(len(chunk)) if weight is None else _numbers(path, chunk[[weight]], "weights", 0.0)[:, 0]
        )
        stratum_of.add(len(chunk), None if strata is None else chunk[strata])
        cluster_of.add(len(chunk), None if cluster is None else chunk[cluster])
        names = [""] * len(chunk) if by is None else chunk[by]
        groups += [group_of.setdefault(name, name or "(empty)") for name in names]
        if columns.replicates:
            several = chunk.drop(columns=named)
            rest = list(map(str, several))
            replicates.append(_numbers(path, several, "replicate weights", -np.inf).T)
    found = Sample(
        np.concatenate(outputs),
        np.concatenate(weights),
        stratum_of.numbers(),
        groups,
        clusters=None if cluster is None else cluster_of.numbers(),
        people=people,
    )
    if not columns.replicates:
        return found
    if len(rest) < 2:
        raise ValueError(
            f"{len(rest)} columns of {shown(path)} are replicate weights ({' '.join(columns.replicates)});"
            " two or more are needed."
        )
    each = np.concatenate(replicates, axis=1)
    if not (sums := each.sum(axis=1)).min() > 0.0:
        raise ValueError(
            f"The replicate weights in the column {rest[sums.argmin()]!r} of {shown(path)} add up"
            f" to {sums.min():.4g}; those of each column must add up to more than 0."
        )
    return replace(found, replicates=each, factor=replicate_factor(columns.method, len(each)))


class _Labels:
    """Numbers for the names of strata or clusters, in the order in which they come."""

    def __init__(self, path: Records, what: str, known: dict[str, int]) -> None:
        self._path, self._what, self._known, self._parts = path, what, known, list[IntArray]()

    def add(self, number: int, column: pd.Series[str] | None) -> None:
        """Add so many people, of one stratum or cluster if there is no column."""
        if column is None:
            self._parts.append(np.zeros(number, dtype=np.int64))
            return
        different = column.drop_duplicates()
        names = clusters_of(self._path, different, self._what)
        places = {
            text: self._known.setdefault(name, len(self._known))
            for text, name in zip(different, names, strict=True)
        }
        self._parts.append(np.asarray(column.map(places), dtype=np.int64))

    def numbers(self) -> IntArray:
        """Return the numbers of all people that were added."""
        return np.concatenate(self._parts)


def _numbers(path: Records, frame: pd.DataFrame, what: str, above: float) -> FloatArray:
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


def sample_of_records(path: Records, data: pd.DataFrame, columns: SampleColumns) -> Sample:
    """Return the sample of people whose records were read from a file, by its columns; without reports."""
    weight = columns.weight
    some = [None if name is None else data[name] for name in (columns.strata, columns.cluster)]
    stratum_of, cluster_of = _Labels(path, "stratum", {}), _Labels(path, "cluster", {})
    stratum_of.add(len(data), some[0])
    cluster_of.add(len(data), some[1])
    return Sample(
        np.zeros(len(data), dtype=np.int64),
        np.ones(len(data)) if weight is None else _numbers(path, data[[weight]], "weights", 0.0)[:, 0],
        stratum_of.numbers(),
        [],
        clusters=None if columns.cluster is None else cluster_of.numbers(),
    )


def weighted_estimates(
    private: PrivateChannel, sample: Sample, confidence: float = 0.95, among: np.ndarray | None = None
) -> list[Estimated]:
    """Estimate shares, and rates given useful values, of a sample or of the group `among`, (n,), in it.

    The intervals are those of `ratio_estimates`.
    """
    return ratio_estimates(additions_of(private), sample, confidence, among)


def check_sizes(sizes: IntArray, sample: Sample, where: str = "") -> None:
    """Refuse one person, or cluster, in a stratum; `where` is for the error. Strata of size 0 are none."""
    if (sizes == 1).any():
        what = "person" if sample.clusters is None else "cluster"
        many = "A stratum" if len(sizes) > 1 else "The sample"
        raise ValueError(
            f"{many} has one {what}{where}; each needs at least two, so join it with another one."
        )


class RatioErrors:
    """Sums over the people of a sample, or of a group, and the standard errors of their ratios."""

    def __init__(self, sample: Sample, among: np.ndarray | None) -> None:
        units, strata = sample.units
        sizes = np.bincount(strata)
        if sample.replicates is None:
            check_sizes(sizes, sample)
        who = np.arange(len(sample.weights)) if among is None else np.flatnonzero(among)
        codes, w = sample.outputs[who], sample.weights[who]
        reports = int(sample.outputs.max(initial=-1)) + 1

        def totals(labels: IntArray, weights: FloatArray, number: int) -> Totals:
            from scipy.sparse import coo_array

            return Totals(coo_array((weights, (codes, labels)), shape=(reports, number)).tocsr())

        own = strata[np.unique(units[who])]
        self.number, freedom = len(own), len(own) - len(np.unique(own))
        if sample.replicates is not None:
            freedom = min(len(own), len(sample.replicates)) - 1
        self.freedom, self._sample, self._sizes, self._strata = max(freedom, 1), sample, sizes, strata
        nothing = np.zeros(len(who), dtype=np.int64)
        self.sums, self.one_more = totals(nothing, w, 1), float((w**2).sum() / w.sum()) if w.size else 0.0
        if sample.replicates is not None:
            each = np.zeros((reports, len(sample.replicates)))
            np.add.at(each, codes, sample.replicates[:, who].T)
            self._replicates = Totals(each)
        elif sample.clusters is not None:
            self._units = totals(units[who], w, len(strata))
        else:
            # Squares of people whatever is drawn with them, and sums by stratum.
            inside = strata[who]
            self._squares = totals(nothing, w**2 * (sizes / (sizes - 1.0))[inside], 1)
            self._of_strata = totals(inside, w, len(sizes))

    def error(self, one: Addition, ratio: float, total: float, under: FloatArray) -> float:
        """Return the standard error of a ratio, of which the sum below is the total."""
        if self._sample.replicates is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                squares = (self._replicates(one, one.over) / self._replicates(one, under) - ratio) ** 2
            found = self._sample.factor * np.where(np.isfinite(squares), squares, np.inf).sum()
            return float(np.sqrt(found))
        rest, sizes = (one.over - ratio * under) / total, self._sizes
        if self._sample.clusters is None:
            means = self._of_strata(one, rest) ** 2 / (sizes - 1.0)
            return math.sqrt(max(float(self._squares(one, rest**2)[0] - means.sum()), 0.0))
        e = self._units(one, rest)
        means = np.bincount(self._strata, weights=e) / sizes
        within = np.bincount(self._strata, weights=(e - means[self._strata]) ** 2)
        return float(np.sqrt((sizes / (sizes - 1) * within).sum()))

    def with_one_more(self, error: float, rest: FloatArray, total: float) -> float:
        """Return a standard error that counts one more report of a typical weight at either end of `rest`."""
        more = self.one_more / total
        return math.hypot(error, more * float(rest.min()), more * float(rest.max()))


def ratio_estimates(
    additions: Iterable[Addition],
    sample: Sample,
    confidence: float = 0.95,
    among: np.ndarray | None = None,
) -> list[Estimated]:
    """Estimate shares, and rates after these, of a sample or of the group `among`, (n,), in it.

    The size of a group is estimated as well, which the variance has. Intervals have the degrees of freedom of
    the people or clusters in the group, and count one more report at either end, as those of changes do. They
    are around the nearest possible value. One person, or cluster, has no interval, and neither has a rate
    among people of whom there may be none.
    """
    tail = 0.5 * (1.0 - check_confidence(confidence))
    errors = RatioErrors(sample, among)
    quantile = float(stdtrit(errors.freedom, 1.0 - tail))
    rows, lows = list[Estimated](), dict[tuple[Label, Label], float]()
    for one in additions:
        under = np.ones(len(one.over)) if one.under is None else one.under
        known = one.shown if one.under is None else lows[one.given_columns, one.given] > 0.0
        total = float(errors.sums(one, under)[0])
        if not known or not total > 0.0 or errors.number < 2:  # units, of which one has no variance
            rows.append(Estimated(one.quantity, *[np.nan] * 3, estimable=False, **one.about))
            lows[one.quantity.attributes, one.quantity.value] = -np.inf
            continue
        ratio = float(errors.sums(one, one.over)[0]) / total
        error = errors.error(one, ratio, total, under)
        half = quantile * errors.with_one_more(error, one.over - ratio * under, total)
        near = min(max(ratio, 0.0), 1.0)
        low, high = max(near - half, 0.0), min(near + half, 1.0)
        known = is_estimable(ratio, high - low)
        rows.append(Estimated(one.quantity, ratio, low, high, ratio, error, estimable=known, **one.about))
        if one.under is None:
            lows[one.quantity.attributes, one.quantity.value] = low
    return rows


def weighted_text(found: Sequence[Estimated], sample: Sample, confidence: float, group: str) -> str:
    """Return tables of the estimates, of all people or of a group."""
    head, effective = reports_text(len(sample.weights)), sample.effective
    if round(effective) < len(sample.weights):
        head += f", which tell as much as {effective:,.0f} of equal weights"
        head += " if clusters are left aside" * (sample.clusters is not None)
    parts = [f"{group}." if group else f"{head}."]
    for (names, measure), rows in itertools.groupby(
        found, lambda row: (row.quantity.attributes, row.measure)
    ):
        title = said(names) + ", rates" * (measure == "rate")
        parts.append(rows_text(title, "estimate", list(rows), confidence))
    return "\n\n".join(parts)
