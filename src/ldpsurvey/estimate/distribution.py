"""Estimates of the distribution of records from their reports, with confidence intervals."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import rel_entr, xlogy

from ldpfrontier.base.types import FloatArray
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.channel.channel_file import PrivateChannel
from ldpsurvey.data.reading import Label
from ldpsurvey.data.tables import CountTable
from ldpsurvey.estimate.estimates import Estimated, EstimateTable, Quantity, is_estimable
from ldpsurvey.estimate.intervals import limit_weights, upper_limits


def column_quantities(table: CountTable, columns: int) -> tuple[list[Quantity], FloatArray]:
    """Return the entries of all tables of so many columns, as `quantities` does."""
    labels = np.array(table.labels, dtype=object)
    asked, vectors = list[Quantity](), list[FloatArray]()
    for places in itertools.combinations(range(len(table.attributes)), min(columns, len(table.attributes))):
        own = [tuple(label) for label in labels[:, places]]
        for value in dict.fromkeys(own):
            asked.append(Quantity(tuple(table.attributes[place] for place in places), value))
            vectors.append(np.array([float(label == value) for label in own]))
    return asked, np.array(vectors)


def quantities(table: CountTable) -> tuple[list[Quantity], FloatArray]:
    """Return the frequencies of records, of sensitive values, of useful values, and of each column.

    Each is a row of the array, (quantities, inputs), whose product with the distribution of the inputs it is.
    """
    a1, a2 = table.counts.shape
    asked = [Quantity(table.attributes, label) for label in table.labels]
    vectors: list[FloatArray] = [np.eye(a1 * a2)]
    if table.useful:
        asked += [Quantity(table.sensitive, label) for label in table.rows]
        asked += [Quantity(table.useful, label) for label in table.columns]
        vectors += [np.repeat(np.eye(a1), a2, axis=1), np.tile(np.eye(a2), (1, a1))]
    known = {quantity.attributes for quantity in asked}
    for quantity, vector in zip(*column_quantities(table, 1), strict=True):
        if quantity.attributes not in known:
            asked.append(quantity)
            vectors.append(vector[None, :])
    return asked, np.concatenate(vectors)


class Inversion:
    """Unbiased linear estimates of `vectors`, (m, inputs), from the frequencies of reports of a channel.

    A frequency c . P can be estimated without bias if and only if c = Q w for some w; the estimate is then w
    . M, M the frequencies of the reports. Of all such w the one with the least variance at a positive prior
    is taken: it is fixed before the data are seen, so that the estimate is unbiased whatever P is. At the
    prior its variance is that of the most likely distribution without the limits 0 and 1 (Gauss and Markov).

    The weights are (m, outputs); `shown`, (m,), says whether the channel shows the frequency at all: the
    weights of others mean nothing. With a rank below the inputs, some frequencies are not shown.
    """

    def __init__(self, matrix: FloatArray, prior: FloatArray, vectors: FloatArray) -> None:
        root = np.sqrt(prior @ matrix)
        root[root == 0] = 1.0  # a column of zeros gets the weight 0
        left, values, right = np.linalg.svd(matrix / root, full_matrices=False)
        self.rank = int((values > SETTINGS.rounding * values[0]).sum())
        left, values, right = left[:, : self.rank], values[: self.rank], right[: self.rank]
        self.weights = (vectors @ left / values) @ right / root
        lost = np.linalg.norm(vectors - self.weights @ matrix.T, axis=1)
        self.shown: NDArray[np.bool_] = lost <= SETTINGS.shown_tolerance * np.linalg.norm(vectors, axis=1)

    def estimate(self, frequencies: FloatArray) -> FloatArray:
        """Estimate from the frequencies of reports, shape (outputs,); NaN where nothing is shown."""
        return np.where(self.shown, self.weights @ frequencies, math.nan)

    def error(self, frequencies: FloatArray, records: int) -> FloatArray:
        """Return standard errors, shape (m,), for a number of records; NaN where nothing is shown.

        The covariance is that of a multinomial distribution of reports: it counts how records were drawn
        from the distribution and how their reports were drawn.
        """
        return np.where(self.shown, standard_errors(self.weights, frequencies, records), math.nan)


def standard_errors(weights: FloatArray, frequencies: FloatArray, records: int) -> FloatArray:
    """Return standard errors of the means of weights, (..., outputs), over so many independent reports.

    `frequencies` are those of the reports, (outputs,). Weights that are NaN have a NaN.
    """
    centred = weights - (weights @ frequencies)[..., None]
    with np.errstate(invalid="ignore"):
        return np.asarray(np.sqrt(centred**2 @ frequencies / records))


def inversion(matrix: FloatArray, table: CountTable) -> Inversion:
    """Return the estimates of all quantities of a table, best near its distribution."""
    return Inversion(matrix, table.expected.ravel(), quantities(table)[1])


def maximum_likelihood(
    matrix: FloatArray, counts: ArrayLike, *, start: FloatArray | None = None, rounds: int = 20_000
) -> tuple[FloatArray, float]:
    """Return a most likely distribution, (inputs,), for counts of reports, and what its likelihood may lack.

    EM algorithm: P_x is multiplied by g_x = sum_y Q_xy M_y / (P Q)_y, M the frequencies of reports, over and
    over; the steps are extrapolated where that is possible (SQUAREM of Varadhan and Roland, 2008). The
    log-likelihood is concave, so it is at most n (max_x g_x - 1) below its maximum. If the rank of the
    channel is below its inputs, it is one of many, with the same distribution of reports.
    """
    found = np.asarray(counts, dtype=np.float64)
    n = float(found.sum())
    seen = found > 0
    if (matrix[:, seen].max(axis=0) == 0).any():
        raise ValueError(
            "One of the reports has probability 0 under this channel; all reports must come from this"
            " channel."
        )
    Q, M = matrix[:, seen], found[seen] / n
    k = len(matrix)
    p = np.full(k, 1.0 / k) if start is None else np.maximum(start, 1e-4 / k)
    p = p / p.sum()

    def gain(p: FloatArray) -> FloatArray:
        return np.asarray(Q @ (M / (p @ Q)))

    def likelihood(p: FloatArray) -> float:
        return float(xlogy(M, p @ Q).sum())

    for _ in range(rounds):
        g = gain(p)
        if n * (g.max() - 1.0) <= SETTINGS.likelihood_gap:
            break
        first = p * g
        second = first * gain(first)
        step, bend = first - p, second - 2.0 * first + p
        if (size := float(np.linalg.norm(bend))) > 0:
            stretch = max(float(np.linalg.norm(step)) / size, 1.0)
            far = p + 2.0 * stretch * step + stretch**2 * bend
            if far.min() > 0 and likelihood(far / far.sum()) >= likelihood(second):
                second = far / far.sum()
        p = second / second.sum()
    return p, max(n * float(gain(p).max() - 1.0), 0.0)


def misfit(counts: FloatArray, fitted: FloatArray, gap: float = 0.0) -> float:
    """Bound the probability that reports of a channel fit it as badly as these, whatever the answers are.

    With n reports of k outputs and their most likely distribution under the channel, let x be n times the
    relative entropy of the former from the latter. It is at most what it is from the true distribution of the
    reports, which exceeds x with probability e^-x (e x / (k - 1))^(k - 1) at most for x > k - 1, for every n
    (Agrawal 2020, *Finite-sample concentration of the multinomial in relative entropy*). `gap` bounds what
    the log-likelihood lacks.
    """
    free, x = len(counts) - 1, float(rel_entr(counts, fitted).sum()) - gap
    return math.exp(free * (math.log(x / free) + 1.0) - x) if 0 < free < x else 1.0


def doubt_text(records: int, fit: float) -> str:
    """Say that reports hardly fit their channel, with a bound on the probability of such ones."""
    return (
        f"The {records:,} reports do not fit the channel: whatever the answers are, reports of this"
        f" channel differ as much from what it gives with probability {fit:.1g} at most. They may be"
        " of another channel, or several of them the same report of one person"
    )


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(EstimateTable):
    """An estimate of the distribution of records, computed from their reports.

    Attributes
    ----------
    frequencies : list of Estimated
        Of all of a record, of what is sensitive, and of what is useful.
    records : int
    rank, inputs : int
        Of the channel. If the rank is smaller, some frequencies cannot be known from any number of reports.
    confidence : float
        Level of each interval, or of all together.
    simultaneous : bool
        Whether it is that of all together.
    gap : float
        Bound on what the log-likelihood of the most likely distribution lacks.
    fit : float
        Largest probability that reports of the channel fit it as badly as these, as `misfit` returns it.
    """

    frequencies: list[Estimated]
    records: int
    rank: int
    inputs: int
    confidence: float
    simultaneous: bool
    gap: float
    fit: float

    def of(self, attributes: Label) -> list[Estimated]:
        """Return the estimated frequencies of some columns."""
        return [row for row in self.frequencies if row.quantity.attributes == attributes]

    def _estimates(self) -> list[tuple[str, Estimated]]:
        return [("", row) for row in self.frequencies]


def check_confidence(confidence: float) -> float:
    """Return a confidence level; a `ValueError` if it is no number strictly between 0 and 1."""
    if not 0 < confidence < 1:
        raise ValueError(f"The confidence is {confidence}; it must lie strictly between 0 and 1.")
    return float(confidence)


class FittedReports:
    """Counts of reports with a most likely distribution `p`, and with weights that bound frequencies.

    `asked` and `vectors` are those of `quantities`, and `linear` has their unbiased estimates. `counts` and
    `fitted` are those of the reports that the channel gives, and expected ones under `p`, of which `gap`
    bounds what its log-likelihood lacks; `fit` is the `misfit`. `like`, a fit of as many reports of the same
    channel, has the same weights.
    """

    def __init__(self, private: PrivateChannel, counts: ArrayLike, like: FittedReports | None = None) -> None:
        found, matrix = np.array(counts, dtype=np.float64), private.channel.matrix
        self._check_counts(found, matrix.shape[1])
        self.table, self.records = private.table, round(found.sum())
        self.frequencies = found / self.records
        self.asked, self.vectors = quantities(private.table)
        self.linear = inversion(matrix, private.table)
        cells = slice(len(matrix))
        start = self.linear.estimate(self.frequencies)[cells] if self.linear.shown[cells].all() else None
        self.p, self.gap = maximum_likelihood(matrix, found, start=start)
        self._whole, self._possible = matrix, matrix.any(axis=0)
        self._matrix = matrix[:, self._possible]
        self.counts, self.fitted = found[self._possible], self.records * (self.p @ self._matrix)
        self.fit = misfit(self.counts, self.fitted, self.gap)
        self._weights: dict[float, tuple[FloatArray, FloatArray]] = {} if like is None else like._weights

    def _check_counts(self, counts: FloatArray, outputs: int) -> None:
        """Refuse what are no counts of reports."""
        whole = bool((counts >= 0).all() and (counts == np.rint(counts)).all())
        if counts.shape != (outputs,) or not whole or counts.sum() == 0:
            raise ValueError(
                f"The counts of reports have shape {counts.shape} and sum to {counts.sum():g}; there must be"
                f" {outputs} whole numbers, 0 or more, and at least one report."
            )

    @property
    def doubt(self) -> str:
        """Say that the reports are hardly of this channel; empty if they may be."""
        return "" if self.fit >= SETTINGS.misfit else doubt_text(self.records, self.fit)

    def check_fit(self) -> None:
        """Refuse reports that are hardly of this channel."""
        if self.doubt:
            raise ValueError(f"{self.doubt}. Without a check of the fit they are estimated all the same.")

    def weights(self, tail: float) -> tuple[FloatArray, FloatArray]:
        """Return weights of upper limits of the negatives of all frequencies, and of these.

        The limits are close at the error `tail`, in (0, 1/2); they bound the frequencies anyway.
        """
        if tail not in self._weights:
            self._weights[tail] = self._limit_weights(self.linear, self.vectors, tail)
        return self._weights[tail]

    def _limit_weights(
        self, linear: Inversion, vectors: FloatArray, tail: float
    ) -> tuple[FloatArray, FloatArray]:
        unbiased = np.where(linear.shown[:, None], linear.weights, math.nan)[:, self._possible]
        prior = self.table.expected.ravel()
        down, up = (
            limit_weights(self._matrix, sign * vectors, prior, sign * unbiased, self.records, tail)
            for sign in (-1.0, 1.0)
        )
        return down, up

    def limits(self, weights: FloatArray, tail: float) -> FloatArray:
        """Return upper limits, (m,), which fail with probability `tail`, of c . P.

        The weights w, (m, outputs), have Q w >= c for the channel Q.
        """
        return self._limits_of_means(weights, tail)

    def _limits_of_means(self, weights: FloatArray, tail: float) -> FloatArray:
        """Return upper limits of the means of weights, (m,), none close below those of the fitted counts."""
        return upper_limits(weights, self.counts, self.fitted, tail)

    def intervals(self, weights: tuple[FloatArray, FloatArray], tail: float) -> tuple[FloatArray, FloatArray]:
        """Return lower and upper ends of intervals within 0 and 1, (m,) each, which fail with `tail` each.

        The weights are those of `limit_weights` for -c and for c. What the fitted counts give is between the
        ends.
        """
        low, high = (self.limits(some, tail) for some in weights)
        return np.clip(-low, 0.0, 1.0), np.clip(high, 0.0, 1.0)

    def linear_functions(self, vectors: FloatArray, tail: float) -> tuple[FloatArray, ...]:
        """Estimate c . P of the distribution P of records, each c a row of (m, inputs) within 0 and 1.

        Returns the most likely values, the ends of their intervals, each of which fails with probability
        `tail`, unbiased values, and standard errors of these.
        """
        linear = Inversion(self._whole, self.table.expected.ravel(), vectors)
        likely = np.where(linear.shown, vectors @ self.p, math.nan)
        low, high = self.intervals(self._limit_weights(linear, vectors, tail), tail)
        unbiased = linear.estimate(self.frequencies), linear.error(self.frequencies, self.records)
        return likely, low, high, *unbiased

    def distribution(self, confidence: float, *, simultaneous: bool) -> Estimate:
        """Return what `estimate_distribution` does."""
        unbiased = self.linear.estimate(self.frequencies)
        errors = self.linear.error(self.frequencies, self.records)
        likely = np.where(self.linear.shown, self.vectors @ self.p, math.nan)
        tail = 0.5 * (1.0 - check_confidence(confidence)) / (len(self.asked) if simultaneous else 1)
        low, high = self.intervals(self.weights(tail), tail)
        rows = [
            Estimated(q, *map(float, row), estimable=is_estimable(row[0], row[2] - row[1]))
            for q, *row in zip(self.asked, likely, low, high, unbiased, errors, strict=True)
        ]
        rank, inputs = self.linear.rank, len(self.p)
        return Estimate(rows, self.records, rank, inputs, float(confidence), simultaneous, self.gap, self.fit)


def estimate_distribution(
    private: PrivateChannel,
    counts: ArrayLike,
    *,
    confidence: float = 0.95,
    simultaneous: bool = False,
    check_fit: bool = True,
) -> Estimate:
    """Estimate the distribution of records from counts of their reports.

    Parameters
    ----------
    private : PrivateChannel
        What the reports were drawn from.
    counts : array_like of int, shape (outputs,)
        As `count_reports` returns them.
    confidence : float
        The level of each interval, in (0, 1): it covers in at least this share of repetitions.
    simultaneous : bool
        Whether `confidence` is the level of all intervals together (Bonferroni's correction).
    check_fit : bool
        Whether reports are refused that are hardly of this channel: it gives such reports with probability
        1e-4 at most (`Estimate.fit`), whatever the answers are.

    Returns
    -------
    Estimate

    Raises
    ------
    ValueError
        If the counts do not fit the channel, or there are none.
    """
    confidence = check_confidence(confidence)
    fit = FittedReports(private, counts)
    if check_fit:
        fit.check_fit()
    return fit.distribution(confidence, simultaneous=simultaneous)
