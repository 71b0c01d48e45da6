r"""Estimates of the tables of a questionnaire from its reports, with confidence intervals.

Every report adds a number to the unbiased estimate of an entry (`QuestionnaireMechanism.values`), one of few
different ones. The limits of their mean are those of `ldpsurvey.estimate.intervals` for a bounded variable,
Gaffke's, so that they are suitable for few reports as well; they use nothing of the population. A rate r of a
given b is in its interval if the limits of P(a, b) - r P(b) have 0 between them (Fieller 1954).

Unbiased estimates of entries may be below 0. The consistent tables are the nearest ones that are not, with
the same shares of a question in all of them, each entry weighed by its inverse variance.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ldpfrontier.base.types import FloatArray, IntArray
from ldpsurvey.estimate.distribution import check_confidence
from ldpsurvey.estimate.estimates import Estimated, Quantity, is_estimable
from ldpsurvey.estimate.intervals import mean_limits
from ldpsurvey.estimate.rates import last_accepted
from ldpsurvey.questionnaire.lot_reports import LotReports, states
from ldpsurvey.questionnaire.questionnaire_channel import QuestionnaireChannel


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
) -> QuestionnaireEstimate:
    """Estimate all tables of up to as many questions as the channel is designed for.

    If two questions are named, the rates of the answers to the first one given those to the second one are
    estimated as well. The confidence is that of each interval, or of all of entries, and all of rates,
    together.
    """
    tail = 0.5 * (1.0 - check_confidence(confidence))
    number = sum(int(group.times.sum()) for group in reports)
    if not number:
        raise ValueError("There are no reports; at least one is needed.")
    questions = range(len(channel.names))
    tables = [t for order in range(1, channel.order + 1) for t in itertools.combinations(questions, order)]
    sizes = [math.prod(len(channel.answers[j]) for j in table) for table in tables]
    share = tail / sum(sizes) if simultaneous else tail
    found = [_limits(*_values(channel, reports, table), share) for table in tables]
    fitted = _consistent(channel, tables, [one[0] for one in found], [one[1] for one in found])
    entries = []
    for table, (mean, error, low, high), nearest in zip(tables, found, fitted, strict=True):
        # An end is never closer to the estimate than half of its distance from the mean, as for one table.
        low = np.clip(np.minimum(low, nearest - 0.5 * (mean - low)), 0.0, 1.0)
        high = np.clip(np.maximum(high, nearest + 0.5 * (high - mean)), 0.0, 1.0)
        names = tuple(channel.names[j] for j in table)
        labels = itertools.product(*(channel.answers[j] for j in table))
        rows = zip(labels, nearest, low, high, mean, error, strict=True)
        entries += [_estimated(Quantity(names, label), *map(float, row)) for label, *row in rows]
    made = QuestionnaireEstimate(number, float(confidence), simultaneous, entries, [])
    return made if rates is None else replace(made, rates=_rates(channel, reports, rates, made, tail))


def _estimated(
    quantity: Quantity, estimate: float, low: float, high: float, *more: float, **about: Any
) -> Estimated:
    """Return an estimate, which is estimable if its interval says something."""
    estimable = is_estimable(estimate, high - low)
    return Estimated(quantity, estimate, low, high, *more, estimable=estimable, **about)


def _blocks(
    channel: QuestionnaireChannel, reports: Sequence[LotReports], table: Sequence[int]
) -> Iterator[tuple[int, tuple[int | None, ...], FloatArray]]:
    """Yield lots, axes of the questions of a table, and the images of its entries among the reports of these.

    Of the latter the counts, an entry of the table in each row and an image of those that were asked in each
    column. What a report may be is there as well if there is none: the limits of a mean need its largest
    value.
    """
    entries = list(itertools.product(*(range(len(channel.answers[j])) for j in table)))
    given = {group.lot: group for group in reports}
    for lot, (shape, places) in enumerate(_places(channel, table)):
        group = given.get(lot)
        seen = {} if group is None else dict(states(group, table))
        for axes in places:
            asked = [(place, axis) for place, axis in enumerate(axes) if axis is not None]
            size = math.prod(shape[axis] for _, axis in asked)
            counts = np.zeros((len(entries), size))
            if group is not None and (rows := seen.get(axes)) is not None:
                for number, entry in enumerate(entries):
                    at = np.zeros(len(rows), dtype=np.int64)
                    for place, axis in asked:
                        at = at * shape[axis] + group.images[axis][rows, entry[place]]
                    counts[number] = np.bincount(at, weights=group.times[rows], minlength=size)
            yield lot, axes, counts


def _places(
    channel: QuestionnaireChannel, table: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], list[tuple[int | None, ...]]]]:
    """Yield the shape of the set of every lot, and on which of its axes the questions of a table may be."""
    kinds = channel.mechanism.questionnaire.kinds
    for lot in channel.mechanism.lots:
        own = [[None, *(a for a, kind in enumerate(lot.kinds) if kind == kinds[j])] for j in table]
        possible = []
        for axes in itertools.product(*own):
            used = [axis for axis in axes if axis is not None]
            if len(set(used)) == len(used):
                possible.append(axes)
        yield lot.members.shape, possible


def _values(
    channel: QuestionnaireChannel, reports: Sequence[LotReports], table: Sequence[int]
) -> tuple[FloatArray, FloatArray]:
    """Return the different values of reports, (values,), and how many have each, (entries, values)."""
    mechanism, values, counts = channel.mechanism, list[FloatArray](), list[FloatArray]()
    for lot, axes, found in _blocks(channel, reports, table):
        values.append(mechanism.values(mechanism.lots[lot], axes, table).ravel())
        counts.append(found)
    return _merged(np.concatenate(values), np.concatenate(counts, axis=1))


def _merged(values: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return values once each, and the sums of their counts, (rows, values)."""
    scale = max(float(np.abs(values).max()), 1e-300)
    _, first, place = np.unique((values / scale).round(12), return_index=True, return_inverse=True)
    sums = np.zeros((len(counts), len(first)))
    np.add.at(sums.T, place, counts.T)
    return values[first], sums


def _limits(
    values: FloatArray, counts: FloatArray, tail: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return means, their standard errors, and their lower and upper limits, shape (entries,) each."""
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
) -> list[FloatArray]:
    """Return the nearest tables without entries below 0 that have the same shares of questions."""
    from scipy.optimize import minimize
    from scipy.sparse import csr_matrix

    if min(float(mean.min()) for mean in means) >= 0.0:
        return list(means)  # the unbiased estimates have the same shares already
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
    mean, error = np.concatenate(means), np.concatenate(errors)
    # Variances in units of the largest one, none far below the others.
    variance = np.maximum(error / max(float(error.max()), 1e-12), 1e-2) ** 2

    def nearest(prices: FloatArray) -> FloatArray:
        return np.asarray(np.maximum(mean + variance * (equal.T @ prices), 0.0))

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


def _rates(
    channel: QuestionnaireChannel,
    reports: Sequence[LotReports],
    asked: tuple[str, str],
    made: QuestionnaireEstimate,
    tail: float,
) -> list[Estimated]:
    """Return the rates of the answers to a question given those to another one."""
    for name in asked:
        if name not in channel.names:
            raise ValueError(
                f"The channel has no question {name!r}; its questions are {', '.join(channel.names)}."
            )
    first, second = map(channel.names.index, asked)
    if channel.order < 2 or first == second:
        raise ValueError(
            "Rates need a table of two different questions, and a channel that is designed for such tables"
            " (--precise pairs or triples)."
        )
    mechanism, table = channel.mechanism, (first, second)
    share = tail / math.prod(len(channel.answers[j]) for j in table) if made.simultaneous else tail
    joint, alone, counts = list[FloatArray](), list[FloatArray](), list[FloatArray]()
    for lot, axes, found in _blocks(channel, reports, table):
        own = mechanism.lots[lot]
        pairs = mechanism.values(own, axes, table)
        # The share of the given answer, for the image of the entry as well.
        single = mechanism.values(own, axes[1:], (second,))
        joint.append(pairs.ravel())
        alone.append(np.broadcast_to(single, pairs.shape).ravel())
        counts.append(found)
    values, marginal, times = np.concatenate(joint), np.concatenate(alone), np.concatenate(counts, axis=1)
    entries = {e.quantity.value: e for e in made.of([channel.names[j] for j in sorted(table)])}
    shares = {e.quantity.value[0]: e.estimate for e in made.of([channel.names[second]])}
    answers = list(itertools.product(*(channel.answers[j] for j in table)))
    rates = list[float]()
    cells = np.array([entries[(a, b) if first < second else (b, a)].estimate for a, b in answers])
    given = np.array([shares[b] for _, b in answers])
    for cell, of_all in zip(cells.tolist(), given.tolist(), strict=True):
        rates.append(min(cell / of_all, 1.0) if of_all > 1e-9 else math.nan)

    def limit(t: FloatArray, rows: IntArray) -> FloatArray:
        """Return upper limits of P(a, b) - t P(b) for the first half of the rows, and of its negative."""
        signs, rows = np.where(rows < len(answers), 1.0, -1.0), rows % len(answers)
        weights = signs[:, None] * (values - t[:, None] * marginal)
        pairs = zip(weights, times[rows], strict=True)
        limits = np.array([mean_limits(own[None], row, share)[0] for own, row in pairs])
        means = (weights * times[rows]).sum(axis=1) / times[rows].sum(axis=1)
        # As of entries; the estimates of what is bounded are those of the consistent tables.
        nearest = signs * (cells[rows] - t * given[rows])
        return np.asarray(np.maximum(limits, nearest + 0.5 * (limits - means)))

    inside = np.tile(np.nan_to_num(rates, nan=0.5), 2)
    ends = last_accepted(limit, inside, np.repeat([1.0, 0.0], len(answers))).reshape(2, -1)
    about = {"measure": "rate", "given_columns": asked[1:]}
    return [
        _estimated(Quantity(asked[:1], (a,)), rate, float(low), float(high), given=(b,), **about)
        for (a, b), rate, high, low in zip(answers, rates, *ends, strict=True)
    ]
