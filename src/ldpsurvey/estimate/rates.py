r"""Rates: how frequent a sensitive value is among people with a useful value, with confidence intervals.

The rate of s given u is r = P(s, u) / P(u). Its intervals, and those of differences and ratios of two rates,
invert tests of linear functions of P, whose upper limits are those of `intervals`.

*A rate* (Fieller, 1954, *Some problems in interval estimation*). It is r if and only if P(s, u) - r P(u) = 0.
The interval has every r for which neither the upper limit of this is below 0 nor the lower limit above.

*A difference* d = r - r_0 of the rates given u and given v, with r_0 the latter and any a, b > 0:

    a (P(s, u) - (r_0 + d) P(u)) - b (P(s, v) - r_0 P(v)) = 0.

With a = 1 / P(u) and b = 1 / P(v) this is r - r_0 - d for every r_0; a and b are those of the table of the
design, and v is the more frequent value there. The nuisance r_0 is confined as by Berger and Boos (1994, *P
values maximized over a confidence set for the nuisance parameter*): d is in the interval if the test accepts
it for some r_0 in the interval of that rate, and the errors of the two add up. For each d the limit is a
convex function of r_0 but for small departures, so that the ends of the range of r_0, and the most likely
value within, stand for all of it. As r = r_0 + d is a rate as well, that range may end where r is 0 or 1.

*A ratio* q = r / r_0 in the same way: a (P(s, u) - q r_0 P(u)) - b q (P(s, v) - r_0 P(v)) = 0.

The weights that bound P(s, u), -P(u) and so on bound their sums, too. Nothing here takes many reports: every
interval covers if the limits of means do, whatever P is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ldpfrontier.base.types import FloatArray, IntArray
from ldpsurvey.base.names import close_name
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.channel.channel_file import PrivateChannel
from ldpsurvey.data.reading import Label, said
from ldpsurvey.estimate.distribution import FittedReports, check_confidence, standard_errors
from ldpsurvey.estimate.estimates import Estimated, EstimateTable, Measure, Quantity

#: Tests of numbers t: weights that are constant + t slope, where t is accepted, and the end of its range.
_Test = tuple[FloatArray, FloatArray, FloatArray, FloatArray | float]


@dataclass(frozen=True, eq=False, repr=False)
class Rates(EstimateTable):
    """Rates of the sensitive values given the useful values, estimated from reports.

    Attributes
    ----------
    sensitive, useful : tuple of str
        The columns.
    compared_with : tuple of str
        The useful value whose rates the others are compared with.
    rows : tuple of Estimated
        Rates, then differences, then ratios; by sensitive value, then by useful value. A rate is not
        estimable if the channel does not show it, if its interval is as wide as `uninformative_width` of the
        settings, or if that of the frequency of the useful value reaches 0; a ratio neither if its interval
        has no end.
    records : int
        Number of reports.
    confidence : float
        Level of each interval, or of all together.
    simultaneous : bool
        Whether it is that of all together.
    """

    sensitive: Label
    useful: Label
    compared_with: Label
    rows: tuple[Estimated, ...]
    records: int
    confidence: float
    simultaneous: bool

    def of(self, measure: Measure) -> list[Estimated]:
        """Return the rates, their differences, or their ratios."""
        return [row for row in self.rows if row.measure == measure]

    def _estimates(self) -> list[tuple[str, Estimated]]:
        return [("", row) for row in self.rows]


def estimate_rates(
    private: PrivateChannel,
    counts: ArrayLike,
    *,
    compare_with: Sequence[str] | None = None,
    confidence: float = 0.95,
    simultaneous: bool = False,
    check_fit: bool = True,
) -> Rates:
    """Estimate how frequent the sensitive values are among people with each useful value.

    Parameters
    ----------
    private : PrivateChannel
        What the reports were drawn from.
    counts : array_like of int, shape (outputs,)
        As `count_reports` returns them.
    compare_with : sequence of str, optional
        A useful value, a text for each of its columns; the rates given the others are compared with those
        given this one. By default, the most frequent one in the table of the design.
    confidence : float
        The level of each interval, in (0, 1): it covers in at least this share of repetitions.
    simultaneous : bool
        Whether `confidence` is the level of all these intervals together (Bonferroni's correction).
    check_fit : bool
        As in `estimate_distribution`.

    Returns
    -------
    Rates

    Raises
    ------
    ValueError
        If the channel has no useful attribute or not this value of it, the counts do not fit the channel, or
        there are none.

    Notes
    -----
    Tests of linear functions of the distribution are inverted (Fieller, 1954), for differences and ratios
    over a confidence set of the other rate (Berger and Boos, 1994).
    """
    place = reference(private, compare_with)
    confidence = check_confidence(confidence)
    fit = FittedReports(private, counts)
    if check_fit:
        fit.check_fit()
    return rates_of(fit, place, confidence, simultaneous=simultaneous)


def reference(private: PrivateChannel, compare_with: Sequence[str] | None) -> int:
    """Return the place of the useful value that rates are compared with."""
    table = private.table
    if not table.useful:
        raise ValueError(
            f"All of a record is sensitive ({said(table.sensitive)}), so that there is no useful value for"
            " which rates could be estimated."
        )
    if compare_with is None:
        return table.most_frequent
    wanted = tuple(compare_with)
    if wanted not in table.columns:
        name, names = said(wanted), [said(label) for label in table.columns]
        shown = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
        raise ValueError(
            f"The value to compare with is {name!r}, but {said(table.useful)} has the values {shown}."
            + close_name(name, names)
        )
    return table.columns.index(wanted)


def rates_of(fit: FittedReports, place: int, confidence: float, *, simultaneous: bool) -> Rates:
    """Return what `estimate_rates` does, with the place of the useful value to compare with."""
    table = fit.table
    a1, a2 = table.counts.shape
    number = a1 * (3 * a2 - 2) if simultaneous else 1
    inversion = _Rates(fit, 0.5 * (1.0 - confidence) / number)
    shown, certain = inversion.shown()
    low, high = inversion.rates(inversion.tail, np.arange(a2))
    known = certain & (high - low < SETTINGS.uninformative_width)
    likely = np.where(shown, inversion.likely, math.nan)
    ends: dict[Measure, tuple[FloatArray, FloatArray]] = {"rate": (low, high)}
    ends |= inversion.comparisons(place)
    base, both = likely[:, [place]], known & known[:, [place]]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(base > 0, likely / base, math.nan)
    # What one report adds to a rate, to first order.
    own = inversion.slopes(likely)
    others = own[:, [place]]
    with np.errstate(divide="ignore", invalid="ignore"):
        of_ratio = (own - ratio[:, :, None] * others) / base[:, :, None]
    found: dict[Measure, tuple[FloatArray, np.ndarray, FloatArray]] = {
        "rate": (likely, known, own),
        "difference": (likely - base, both, own - others),
        "ratio": (ratio, both & np.isfinite(ratio) & np.isfinite(ends["ratio"][1]), of_ratio),
    }
    errors = {
        measure: standard_errors(weights, fit.frequencies, fit.records)
        for measure, (*_, weights) in found.items()
    }
    rows = tuple(
        Estimated(
            Quantity(table.sensitive, table.rows[s]), float(best[s, u]), float(ends[measure][0][s, u]),
            float(ends[measure][1][s, u]), error=float(errors[measure][s, u]),
            estimable=bool(told[s, u]), measure=measure,
            given_columns=table.useful, given=table.columns[u],
            compared_with=() if measure == "rate" else table.columns[place],
        )
        for measure, (best, told, _) in found.items()
        for s in range(a1)
        for u in range(a2)
        if measure == "rate" or u != place
    )  # fmt: skip
    return Rates(
        table.sensitive, table.useful, table.columns[place], rows, fit.records, confidence, simultaneous
    )


def distances(
    fit: FittedReports, place: int, measure: Measure, value: float, tail: float
) -> tuple[FloatArray, FloatArray]:
    """Return how far the intervals of rates, or of differences, are above a value and below it, (k,) each.

    In the order of `rates_of`. An interval is above the value, or below, if and only if the number is above
    0; it is the negative of the limit of the test of this value, and about linear in the counts of reports.
    """
    inversion = _Rates(fit, tail)
    above, below = (
        inversion.rate_distances(value) if measure == "rate" else inversion.difference_distances(place, value)
    )
    return above.ravel(), below.ravel()


class _Rates:
    """Intervals of the rates of a fit; arrays have the shape (sensitive values, useful values)."""

    def __init__(self, fit: FittedReports, tail: float) -> None:
        self.fit, self.tail = fit, tail
        self.shape = a1, a2 = fit.table.counts.shape
        self.prior = fit.table.expected.sum(axis=0)
        # Of the frequencies in the order of `quantities`, those of all cells, P(s, u), and of U, P(u).
        self.of_cells, self.of_sums = slice(a1 * a2), slice(a1 * a2 + a1, a1 * a2 + a1 + a2)
        # Weights of outputs whose means are at least -P(s, u) and -P(u), and at least P(s, u) and P(u).
        at_least_minus, at_least = fit.weights(tail)
        self.minus_cell = at_least_minus[self.of_cells].reshape(a1, a2, -1)
        self.minus_sum = at_least_minus[self.of_sums]
        self.cell = at_least[self.of_cells].reshape(a1, a2, -1)
        self.sum = at_least[self.of_sums]
        self.cells = fit.p.reshape(a1, a2)
        self.sums = self.cells.sum(axis=0)
        # Where nobody has the useful value, any rate is as likely as any other.
        self.likely = np.divide(self.cells, self.sums, out=np.full(self.shape, 0.5), where=self.sums > 0)

    def shown(self) -> tuple[np.ndarray, np.ndarray]:
        """Tell which rates the channel shows, and which of them have a denominator that is surely above 0."""
        cells, sums = self.fit.linear.shown[self.of_cells], self.fit.linear.shown[self.of_sums]
        least = -self.fit.limits(self.minus_sum, self.tail)
        shown = cells.reshape(self.shape) & sums & (self.sums > 0)
        return shown, shown & (least > 0)

    def slopes(self, rates: FloatArray) -> FloatArray:
        """Return what reports add to estimates of rates to first order, (a1, a2, outputs)."""
        weights = self.fit.linear.weights
        cells = weights[self.of_cells].reshape(*self.shape, -1)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = (cells - rates[:, :, None] * weights[self.of_sums]) / self.sums[:, None]
        return np.asarray(found)

    def rates(self, tail: float, columns: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the intervals of rates given some useful values."""
        low, high = self._ends(self._rate(columns), tail)
        return low, high

    def _rate(self, columns: IntArray) -> list[_Test]:
        """Return the tests of rates given some useful values."""
        likely = self.likely[:, columns]
        return [
            (self.minus_cell[:, columns], self.sum[columns], likely, 0.0),
            (self.cell[:, columns], self.minus_sum[columns], likely, 1.0),
        ]

    def rate_distances(self, value: float) -> list[FloatArray]:
        """Return what `distances` does, of rates; shape (a1, a2) each."""
        return self._distances(self._rate(np.arange(self.shape[1])), value, self.tail)

    def difference_distances(self, place: int, value: float) -> tuple[FloatArray, FloatArray]:
        """Return what `distances` does, of differences; shape (a1, a2 - 1) each.

        Rates given the more frequent value are as far as both rates can be from 0 to 1.
        """
        u, v, turned, least, most = self._pairs(place)
        d = np.where(turned, -value, value)
        found = []
        for r in (least, self.likely[:, v], most):
            r = np.clip(r, np.maximum(0.0, -d), np.minimum(1.0, 1.0 - d))
            tail = (1.0 - SETTINGS.nuisance_share) * self.tail
            found.append(self._distances(self._difference(r, u, v), r + d, tail))
        above, below = np.min(found, axis=0)
        return np.where(turned, below, above), np.where(turned, above, below)

    def _pairs(self, place: int) -> tuple[IntArray, IntArray, np.ndarray, FloatArray, FloatArray]:
        """Return pairs of useful values u and v, v the more frequent one, for the comparisons with one.

        Also whether u is that one, and the ends of the intervals of the rates given v, (a1, pairs).
        """
        others = np.flatnonzero(np.arange(self.shape[1]) != place)
        turned = self.prior[others] > self.prior[place]
        u, v = np.where(turned, place, others), np.where(turned, others, place)
        bases, where = np.unique(v, return_inverse=True)
        least, most = (end[:, where] for end in self.rates(SETTINGS.nuisance_share * self.tail, bases))
        return u, v, turned, least, most

    def comparisons(self, place: int) -> dict[Measure, tuple[FloatArray, FloatArray]]:
        """Return the ends of the intervals of differences and ratios to the rates given one useful value.

        The nuisance of two rates is that given the more frequent value, so that the interval of a difference
        or a ratio the other way round is the same.
        """
        u, v, turned, least, most = self._pairs(place)
        others, share = np.where(turned, v, u), SETTINGS.nuisance_share
        found = []
        for r in (least, self.likely[:, v], most):
            ends = self._ends(self._difference(r, u, v) + self._ratio(r, u, v), (1.0 - share) * self.tail)
            with np.errstate(divide="ignore"):
                found.append((ends[0] - r, ends[1] - r, *(x / (1.0 - x) for x in ends[2:])))
        at_zero, at_one = self._ends(self._edges(least, most, u, v), (1.0 - share) * self.tail)
        ends = [np.stack(some) for some in zip(*found, strict=True)]
        low, high, ratio_low, ratio_high = (
            some.min(axis=0) if i % 2 == 0 else some.max(axis=0) for i, some in enumerate(ends)
        )
        # Where the rate given u is 0 or 1, r_0 is -d or 1 - d.
        low = np.where(found[0][0] == -least, np.minimum(low, -at_zero), low)
        high = np.where(found[-1][1] == 1.0 - most, np.maximum(high, 1.0 - at_one), high)
        with np.errstate(divide="ignore"):
            difference = np.where(turned, [-high, -low], [low, high])
            ratio = np.where(turned, [1.0 / ratio_high, 1.0 / ratio_low], [ratio_low, ratio_high])
        full = np.full((4, *self.shape), math.nan)
        full[:2, :, others], full[2:, :, others] = difference, ratio
        return {"difference": (full[0], full[1]), "ratio": (full[2], full[3])}

    def _difference(self, r: FloatArray, u: IntArray, v: IntArray) -> list[_Test]:
        """Return the tests of differences of the rates given u and v if the latter are r, shape (a1, pairs).

        In terms of the rate t = r + d: a (P(s, u) - t P(u)) - b (P(s, v) - r P(v)).
        """
        a, b = 1.0 / self.prior[u], 1.0 / self.prior[v]
        lead = self.sums[u] * a
        behind = b * (self.cells[:, v] - r * self.sums[v])
        centre = self.likely[:, u] - np.divide(behind, lead, out=np.zeros(r.shape), where=lead > 0)
        centre = np.clip(centre, 0.0, 1.0)
        a, b, r = a[:, None], b[:, None], r[:, :, None]
        low = self.minus_cell[:, u] * a + b * (self.cell[:, v] + r * self.minus_sum[v])
        high = self.cell[:, u] * a + b * (self.minus_cell[:, v] + r * self.sum[v])
        return [(low, self.sum[u] * a, centre, 0.0), (high, self.minus_sum[u] * a, centre, 1.0)]

    def _edges(self, least: FloatArray, most: FloatArray, u: IntArray, v: IntArray) -> list[_Test]:
        """Return the tests of rates given v, from least to most, if those given u are 0, and if 1."""
        a, b = 1.0 / self.prior[u][:, None], 1.0 / self.prior[v][:, None]
        zero = self.minus_cell[:, u] * a + self.cell[:, v] * b
        one = (self.cell[:, u] + self.minus_sum[u]) * a + self.minus_cell[:, v] * b
        return [(zero, self.minus_sum[v] * b, least, most), (one, self.sum[v] * b, most, least)]

    def _ratio(self, r: FloatArray, u: IntArray, v: IntArray) -> list[_Test]:
        """Return the tests of ratios of the rates given u and v if the latter are r, shape (a1, pairs).

        In terms of x = q / (1 + q): (1 - x) a P(s, u) - x (a r P(u) + b (P(s, v) - r P(v))).
        """
        a, b = 1.0 / self.prior[u], 1.0 / self.prior[v]
        above = self.cells[:, u] * a
        below = r * self.sums[u] * a + b * (self.cells[:, v] - r * self.sums[v])
        centre = np.divide(above, above + below, out=np.ones(r.shape), where=below > 0)
        a, b, r = a[:, None], b[:, None], r[:, :, None]
        low, high = self.minus_cell[:, u] * a, self.cell[:, u] * a
        low_slope = r * a * self.sum[u] + b * (self.cell[:, v] + r * self.minus_sum[v]) - low
        high_slope = r * a * self.minus_sum[u] + b * (self.minus_cell[:, v] + r * self.sum[v]) - high
        return [(low, low_slope, centre, 0.0), (high, high_slope, centre, 1.0)]

    def _distances(self, tests: list[_Test], t: ArrayLike, tail: float) -> list[FloatArray]:
        """Return the negatives of the limits of constant + t slope, for each test."""
        some = [test[0] + np.asarray(t)[..., None] * test[1] for test in tests]
        return [-self.fit.limits(w.reshape(-1, w.shape[-1]), tail).reshape(w.shape[:-1]) for w in some]

    def _ends(self, tests: list[_Test], tail: float) -> list[FloatArray]:
        """Return up to where the limits of constant + t slope are 0 or more, for each test."""
        outputs = self.fit.counts.size
        constant, slope = (
            np.concatenate([np.broadcast_to(test[i], (*test[2].shape, outputs)) for test in tests])
            .reshape(-1, outputs)
            for i in (0, 1)
        )  # fmt: skip
        inside = np.concatenate([test[2] for test in tests])
        outside = np.concatenate([np.broadcast_to(test[3], test[2].shape) for test in tests])
        size = max(SETTINGS.piece // outputs, 1)

        def limit(t: FloatArray, rows: IntArray) -> FloatArray:
            found = np.empty(rows.size)
            for begin in range(0, rows.size, size):
                part = slice(begin, begin + size)
                weights = constant[rows[part]] + t[part, None] * slope[rows[part]]
                found[part] = self.fit.limits(weights, tail)
            return found

        ends = last_accepted(limit, inside.ravel(), outside.ravel())
        return np.split(ends.reshape(inside.shape), len(tests))


def last_accepted(
    limit: Callable[[FloatArray, IntArray], FloatArray], inside: FloatArray, outside: FloatArray
) -> FloatArray:
    """Return where convex functions that begin above 0 fall below it, just outside; else the other end.

    `limit` takes points and the numbers of the functions; the functions begin `inside`, (m,), and end
    `outside`.
    """
    rows = np.arange(inside.size)
    near, far = inside.astype(np.float64), outside.astype(np.float64)
    above, below = limit(near, rows), limit(far, rows)
    near = np.where(below >= 0, outside, near)
    far = np.where((below < 0) & (above < 0), near, far)
    step = 0
    while (rows := np.flatnonzero(np.abs(far - near) > SETTINGS.rate_tolerance)).size:
        # A secant, or the middle now and then: three steps halve the distance, whatever the limits are.
        share = 0.5 if step % 3 == 2 else above[rows] / (above[rows] - below[rows])
        t = near[rows] + np.clip(share, 0.01, 0.99) * (far[rows] - near[rows])
        value = limit(t, rows)
        accepted = value >= 0
        near[rows], above[rows] = np.where(accepted, [t, value], [near[rows], above[rows]])
        far[rows], below[rows] = np.where(accepted, [far[rows], below[rows]], [t, value])
        step += 1
    return far
