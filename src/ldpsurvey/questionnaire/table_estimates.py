r"""Estimates of the tables of a questionnaire from its reports, with confidence intervals.

Every report adds a number to the unbiased estimate of an entry (`QuestionnaireMechanism.values`), one of few
different ones. The limits of their mean are those of `ldpsurvey.estimate.intervals` for a bounded variable,
Gaffke's, so that they are suitable for few reports as well; they use nothing of the population. A rate r of a
given b is in its interval if the limits of P(a, b) - r P(b) have 0 between them (Fieller 1954).

Unbiased estimates of entries may be below 0. The consistent tables are the nearest ones that are not, with
the same shares of a question in all of them, each entry weighed by its inverse variance. Entries that the
channel says are impossible are 0 there.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray, IntArray
from ldpsurvey.data.reading import Label
from ldpsurvey.estimate.additions import Addition
from ldpsurvey.estimate.distribution import check_confidence
from ldpsurvey.estimate.estimates import Estimated, Quantity, is_estimable
from ldpsurvey.estimate.intervals import mean_limits
from ldpsurvey.estimate.rates import last_accepted
from ldpsurvey.estimate.weighted import Sample, ratio_estimates
from ldpsurvey.questionnaire.lot_reports import LotReports
from ldpsurvey.questionnaire.questionnaire_channel import QuestionnaireChannel
from ldpsurvey.questionnaire.questions import table_of_names
from ldpsurvey.questionnaire.table_additions import (
    TableStates,
    additions_of_columns,
    additions_of_tables,
    tables_of,
)


@dataclass(frozen=True)
class QuestionnaireEstimate:
    """Estimates of all tables that a channel is designed for, of fewer questions first, and of rates.

    Those of the entries are of the consistent tables.
    """

    reports: int
    confidence: float
    simultaneous: bool
    entries: list[Estimated]
    rates: list[Estimated]

    def of(self, questions: Sequence[str]) -> list[Estimated]:
        """Return the entries of the table of some questions."""
        return [entry for entry in self.entries if entry.quantity.attributes == tuple(questions)]

    @property
    def title_of_rates(self) -> str:
        """The question whose rates were asked for, and the one that they are given."""
        return f"{self.rates[0].quantity.attributes[0]} given {self.rates[0].given_columns[0]}"


def estimate_questionnaire(
    channel: QuestionnaireChannel,
    reports: Sequence[LotReports],
    confidence: float = 0.95,
    *,
    simultaneous: bool = False,
    rates: tuple[str, str] | None = None,
    more: Sequence[Label] = (),
    sample: Sample | None = None,
    among: np.ndarray | None = None,
) -> QuestionnaireEstimate:
    """Estimate all tables that the channel is designed for, with their parts, and `more` that it shows.

    If two questions are named, the rates of the answers to the first one given those to the second one are
    estimated as well. The confidence is that of each interval, or of all of entries, and all of rates,
    together. With a sample, whose outputs are numbers of reports, estimates and intervals are those of
    `ratio_estimates`, of the group `among` in it, if there is one.
    """
    tail = 0.5 * (1.0 - check_confidence(confidence))
    number = len(sample.outputs) if sample else sum(int(group.times.sum()) for group in reports)
    if not number:
        raise ValueError("There are no reports; at least one is needed.")
    tables = tables_of(channel, [*more, *([] if rates is None else [rates])])
    asked = None if rates is None else table_of_names(rates, channel.names, 2)
    of_rates = None if asked is None else TableStates(channel, reports, asked)
    given, of_columns = list[Estimated](), list(additions_of_columns(channel, reports))
    if sample is None:
        times = _times(reports)
        size = sum(math.prod(len(channel.answers[j]) for j in t) for t in tables) + len(of_columns)
        share = tail / size if simultaneous else tail
        found = [_limits(TableStates(channel, reports, table).additions(), times, share) for table in tables]
        parts = [tuple(map(float, np.array(_limits([one], times, share))[:, 0])) for one in of_columns]
    else:
        every = additions_of_tables(channel, reports, tables)
        last = iter(()) if of_rates is None else of_rates.additions(rates=True)
        given = ratio_estimates(itertools.chain(of_columns, every, last), sample, confidence, among)
        parts = [(one.unbiased, one.error, one.low, one.high) for one in given[: len(of_columns)]]
        given = given[len(of_columns) :]
        found = _by_table(given, [math.prod(len(channel.answers[j]) for j in t) for t in tables])
    never = [channel.impossible_entries(table).ravel() for table in tables]
    fitted = _consistent(channel, tables, [one[0] for one in found], [one[1] for one in found], never)
    entries = []
    for table, (mean, error, low, high), nearest, zero in zip(tables, found, fitted, never, strict=True):
        names = tuple(channel.names[j] for j in table)
        labels = itertools.product(*(channel.answers[j] for j in table))
        limits = (np.where(zero, 0.0, end) for end in _around(nearest, mean, low, high))
        rows = zip(labels, nearest, *limits, mean, error, strict=True)
        entries += [_estimated(Quantity(names, label), *map(float, row)) for label, *row in rows]
    columns = _of_columns(channel, of_columns, parts, entries)
    made = QuestionnaireEstimate(number, float(confidence), simultaneous, [*entries, *columns], [])
    if asked is None or of_rates is None:
        return made
    likely = _likely_rates(channel, asked, made)
    if sample is None:
        found_rates = _rates(of_rates, times, likely, made, tail)
    else:
        own = given[len(entries) :]
        mean, low, high = (
            np.array([getattr(row, end) for row in own]) for end in ("unbiased", "low", "high")
        )
        nearest = np.where(np.isfinite(mean), [rate for _, _, rate in likely], math.nan)
        around = zip(
            nearest.tolist(), *(end.tolist() for end in _around(nearest, mean, low, high)), strict=True
        )
        found_rates = [
            replace(row, estimate=rate, low=least, high=most, estimable=is_estimable(rate, most - least))
            for row, (rate, least, most) in zip(own, around, strict=True)
        ]
    zero = channel.impossible_entries(asked).ravel()
    for place in np.flatnonzero(zero & np.isfinite([row.estimate for row in found_rates])):
        found_rates[place] = replace(found_rates[place], estimate=0.0, low=0.0, high=0.0, estimable=True)
    return replace(made, rates=found_rates)


def _of_columns(
    channel: QuestionnaireChannel,
    additions: Sequence[Addition],
    limits: Sequence[tuple[float, ...]],
    entries: Sequence[Estimated],
) -> list[Estimated]:
    """Return the shares of answers in the columns of questions that have several, sums of entries."""
    known = {entry.quantity: entry.estimate for entry in entries}
    found = []
    for one, (mean, error, low, high) in zip(additions, limits, strict=True):
        (column,), (value,) = one.quantity.attributes, one.quantity.value
        name, (columns, labels) = next(some for some in channel.combined.items() if column in some[1].columns)
        answers = zip(channel.answers[channel.names.index(name)], labels, strict=True)
        own = [answer for answer, label in answers if label[columns.index(column)] == value]
        nearest = sum(known[Quantity((name,), (answer,))] for answer in own)
        ends = _around(*(np.array(number) for number in (nearest, mean, low, high)))
        found.append(_estimated(one.quantity, nearest, *map(float, ends), mean, error))
    return found


def _around(
    nearest: FloatArray, mean: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of intervals around consistent estimates.

    An end is never closer to the estimate than half of its distance from the mean, as for one table.
    """
    low = np.clip(np.minimum(low, nearest - 0.5 * (mean - low)), 0.0, 1.0)
    return low, np.clip(np.maximum(high, nearest + 0.5 * (high - mean)), 0.0, 1.0)


def _by_table(rows: Sequence[Estimated], sizes: Sequence[int]) -> list[tuple[FloatArray, ...]]:
    """Return means, errors and limits of the entries of tables with so many, shape (entries,) each."""
    names, ends = ("unbiased", "error", "low", "high"), np.cumsum([0, *sizes])
    return [
        tuple(np.array([getattr(row, name) for row in rows[start:end]]) for name in names)
        for start, end in itertools.pairwise(ends)
    ]


def _times(reports: Sequence[LotReports]) -> FloatArray:
    """Return how often each report was given, by its number."""
    found = np.zeros(1 + max(int(group.numbers.max()) for group in reports))
    for group in reports:
        found[group.numbers] = group.times
    return found


def _estimated(
    quantity: Quantity, estimate: float, low: float, high: float, *more: float, **about: Any
) -> Estimated:
    """Return an estimate, which is estimable if its interval says something."""
    estimable = is_estimable(estimate, high - low)
    return Estimated(quantity, estimate, low, high, *more, estimable=estimable, **about)


def merged(values: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return values once each, and the sums of their counts, (rows, values)."""
    scale = max(float(np.abs(values).max()), 1e-300)
    _, first, place = np.unique((values / scale).round(12), return_index=True, return_inverse=True)
    sums = np.zeros((len(counts), len(first)))
    np.add.at(sums.T, place, counts.T)
    return values[first], sums


def _limits(additions: Iterable[Addition], times: FloatArray, tail: float) -> tuple[FloatArray, ...]:
    """Return means, their standard errors, and their lower and upper limits, shape (entries,) each.

    What reports add is the same in each of their states for all entries.
    """
    added, rows = np.zeros(0), list[FloatArray]()
    for addition in additions:
        added = addition.over
        rows.append(addition.counts(times))
    values, counts = merged(added, np.array(rows))
    number = counts.sum(axis=1)
    mean = counts @ values / number
    spread = np.maximum(counts @ values**2 / number - mean**2, 0.0)
    high = mean_limits(values[None, :], counts, tail)[:, 0]
    low = -mean_limits(-values[None, :], counts, tail)[:, 0]
    return mean, np.sqrt(spread / number), low, high


def _consistent(
    channel: QuestionnaireChannel,
    tables: Sequence[tuple[int, ...]],
    means: Sequence[FloatArray],
    errors: Sequence[FloatArray],
    never: Sequence[NDArray[np.bool_]],
) -> list[FloatArray]:
    """Return the nearest tables without entries below 0 that have the same shares of questions.

    The entries that `never` occur are 0.
    """
    from scipy.optimize import minimize
    from scipy.sparse import csr_matrix

    mean, error = np.concatenate(means), np.nan_to_num(np.concatenate(errors), posinf=1.0)
    zero = np.concatenate(never)
    if not np.isfinite(mean).all() or (mean.min() >= 0.0 and not zero.any()):
        return list(means)  # there are none, or the unbiased estimates have the same shares already
    starts = np.concatenate([[0], np.cumsum([mean.size for mean in means])])
    place = {table: number for number, table in enumerate(tables)}
    rows, columns, signs, number = list[int](), list[int](), list[float](), 0
    for table in tables:
        shape = [len(channel.answers[j]) for j in table]
        cells = starts[place[table]] + np.arange(math.prod(shape)).reshape(shape)
        for axis in range(len(table)) if len(table) > 1 else []:
            fewer = (*table[:axis], *table[axis + 1 :])
            sums = np.moveaxis(cells, axis, -1).reshape(-1, shape[axis])
            for other, some in enumerate(sums):
                rows += [number] * (some.size + 1)
                columns += [*some.tolist(), int(starts[place[fewer]]) + other]
                signs += [1.0] * some.size + [-1.0]
                number += 1
        if len(table) == 1:
            rows += [number] * cells.size
            columns += cells.tolist()
            signs += [1.0] * cells.size
            number += 1
    right = np.zeros(number)
    equal = csr_matrix((signs, (rows, columns)), shape=(number, int(starts[-1])))
    right[[row for row in range(number) if equal[row].min() >= 0]] = 1.0
    # Variances in units of the largest one, none far below the others.
    variance = np.maximum(error / max(float(error.max()), 1e-12), 1e-2) ** 2

    def nearest(prices: FloatArray) -> FloatArray:
        return np.where(zero, 0.0, np.maximum(mean + variance * (equal.T @ prices), 0.0))

    def dual(prices: FloatArray) -> tuple[float, FloatArray]:
        """Return the dual objective, to be minimized, and its gradient."""
        x = nearest(prices)
        lost = equal @ x - right
        return float(prices @ lost) - 0.5 * float(((x - mean) ** 2 / variance).sum()), lost

    found = minimize(
        dual, np.zeros(number), jac=True, method="L-BFGS-B",
        options={"maxiter": 5_000, "maxfun": 10_000, "ftol": 1e-15, "gtol": 1e-9},
    )  # fmt: skip
    fitted = np.minimum(nearest(found.x), 1.0)
    return [fitted[start:end] for start, end in itertools.pairwise(starts)]


def _likely_rates(
    channel: QuestionnaireChannel, table: tuple[int, ...], made: QuestionnaireEstimate
) -> list[tuple[float, float, float]]:
    """Return the consistent shares of pairs of answers, of the given answer, and their ratio."""
    first, second = table
    entries = {e.quantity.value: e.estimate for e in made.of([channel.names[j] for j in sorted(table)])}
    shares = {e.quantity.value[0]: e.estimate for e in made.of([channel.names[second]])}
    found = []
    for a, b in itertools.product(*(channel.answers[j] for j in table)):
        cell, given = entries[(a, b) if first < second else (b, a)], shares[b]
        found.append((cell, given, min(cell / given, 1.0) if given > 1e-9 else math.nan))
    return found


def _rates(
    seen: TableStates,
    times: FloatArray,
    likely: Sequence[tuple[float, float, float]],
    made: QuestionnaireEstimate,
    tail: float,
) -> list[Estimated]:
    """Return the rates of the answers to a question given those to another one."""
    additions = list(seen.additions(rates=True))
    number, share = len(additions), tail / len(additions) if made.simultaneous else tail
    counts = np.array([addition.counts(times) for addition in additions])
    values, marginal = additions[0].over, additions[0].under
    assert marginal is not None
    cells, given, rates = np.array(likely).T

    def limit(t: FloatArray, rows: IntArray) -> FloatArray:
        """Return upper limits of P(a, b) - t P(b) for the first half of the rows, and of its negative."""
        signs, rows = np.where(rows < number, 1.0, -1.0), rows % number
        weights = signs[:, None] * (values - t[:, None] * marginal)
        pairs = zip(weights, counts[rows], strict=True)
        limits = np.array([mean_limits(own[None], row, share)[0] for own, row in pairs])
        means = (weights * counts[rows]).sum(axis=1) / counts[rows].sum(axis=1)
        # As of entries; the estimates of what is bounded are those of the consistent tables.
        nearest = signs * (cells[rows] - t * given[rows])
        return np.asarray(np.maximum(limits, nearest + 0.5 * (limits - means)))

    inside = np.tile(np.nan_to_num(rates, nan=0.5), 2)
    ends = last_accepted(limit, inside, np.repeat([1.0, 0.0], number)).reshape(2, -1)
    return [
        _estimated(one.quantity, float(rate), float(low), float(high), **one.about)
        for one, rate, high, low in zip(additions, rates, *ends, strict=True)
    ]
