r"""Estimates of the tables of a questionnaire from its reports, with confidence intervals.

Every report adds a number to the unbiased estimate of an entry (`QuestionnaireMechanism.values`), one of few
different ones. The limits of their mean are those of `ldpfrontier.survey.intervals` for a bounded variable,
Gaffke's, so that they are suitable for few reports as well; they use nothing of the population. A rate r of a
given b is in its interval if the limits of P(a, b) - r P(b) have 0 between them (Fieller 1954).

Unbiased estimates of entries may be below 0. The consistent tables are the nearest ones that are not, with
the same shares of a question in all of them, each entry weighed by its inverse variance.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.survey.estimation import check_confidence
from ldpfrontier.survey.intervals import mean_limits
from ldpfrontier.survey.questionnaire.channel import QuestionnaireChannel
from ldpfrontier.survey.questionnaire.reports import LotReports, states
from ldpfrontier.survey.reading import Label
from ldpfrontier.survey.settings import SETTINGS
from ldpfrontier.types import FloatArray

#: Rates that are tried first, and steps that halve the distance between two of them.
_GRID, _HALVINGS = 33, 20


@dataclass(frozen=True)
class Entry:
    """An estimated entry of a table.

    Attributes
    ----------
    questions, answers : tuple of str
        The columns, and the value of each.
    unbiased : float
        May be below 0 or above 1.
    consistent : float
        Of the nearest tables without such entries.
    error : float
        Standard error of the unbiased estimate.
    low, high : float
        Confidence interval.
    """

    questions: Label
    answers: Label
    unbiased: float
    consistent: float
    error: float
    low: float
    high: float

    @property
    def estimable(self) -> bool:
        """Whether the interval says anything."""
        return self.high - self.low < SETTINGS.uninformative_width


@dataclass(frozen=True)
class AnswerRate:
    """An estimated rate of an answer among people with an answer to another question.

    Attributes
    ----------
    answer, given : (str, str)
        A question and the answer to it.
    rate : float
        Of the consistent tables; NaN where nobody has the other answer there.
    low, high : float
        Confidence interval.
    """

    answer: tuple[str, str]
    given: tuple[str, str]
    rate: float
    low: float
    high: float

    @property
    def estimable(self) -> bool:
        """Whether the interval says anything."""
        return self.high - self.low < SETTINGS.uninformative_width

    @property
    def label(self) -> str:
        """The two answers, in words."""
        return f"{self.answer[1]} given {self.given[1]}"


@dataclass(frozen=True)
class QuestionnaireEstimate:
    """Estimates of all tables that a channel is designed for, of fewer questions first.

    Attributes
    ----------
    reports : int
    confidence : float
    simultaneous : bool
        Whether the confidence is that of all intervals of entries together, and of all rates together.
    entries : list of Entry
    rates : list of AnswerRate
        Of the questions that were asked for.
    """

    reports: int
    confidence: float
    simultaneous: bool
    entries: list[Entry]
    rates: list[AnswerRate]

    def of(self, questions: Sequence[str]) -> list[Entry]:
        """Return the entries of the table of some questions."""
        return [entry for entry in self.entries if entry.questions == tuple(questions)]

    def questions_of_rates(self) -> tuple[str, str]:
        """Return the question whose rates were asked for, and the one that they are given."""
        return self.rates[0].answer[0], self.rates[0].given[0]


def estimate_questionnaire(
    channel: QuestionnaireChannel,
    reports: Sequence[LotReports],
    confidence: float = 0.95,
    *,
    simultaneous: bool = False,
    rates: tuple[str, str] | None = None,
) -> QuestionnaireEstimate:
    """Estimate all tables of up to as many questions as the channel is designed for.

    Parameters
    ----------
    channel : QuestionnaireChannel
    reports : sequence of LotReports
    confidence : float
        Of each interval, in (0, 1).
    simultaneous : bool
        Whether it is that of all intervals of entries, and of all rates, together (Bonferroni's correction).
    rates : (str, str), optional
        The rates of the answers to the first question given those to the second one are estimated as well.

    Raises
    ------
    ValueError
        If there is no report, a question is not in the channel, or it has no tables of two questions.
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
        names = tuple(channel.names[j] for j in table)
        labels = itertools.product(*(channel.answers[j] for j in table))
        rows = zip(labels, mean, nearest, error, low, high, strict=True)
        entries += [Entry(names, label, *map(float, row)) for label, *row in rows]
    made = QuestionnaireEstimate(number, float(confidence), simultaneous, entries, [])
    if rates is None:
        return made
    given = _rates(channel, reports, rates, made, tail)
    return QuestionnaireEstimate(number, float(confidence), simultaneous, entries, given)


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
    """Return means, their standard errors, and lower and upper limits from 0 to 1, shape (entries,) each."""
    number = counts.sum(axis=1)
    mean = counts @ values / number
    spread = np.maximum(counts @ values**2 / number - mean**2, 0.0)
    high = mean_limits(values[None, :], counts, tail)[:, 0]
    low = -mean_limits(-values[None, :], counts, tail)[:, 0]
    low, high = np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
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
) -> list[AnswerRate]:
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
    entries = {e.answers: e for e in made.of([channel.names[j] for j in sorted(table)])}
    shares = {e.answers[0]: e.consistent for e in made.of([channel.names[second]])}
    rates = []
    grid = np.linspace(0.0, 1.0, _GRID)
    for (a, b), row in zip(itertools.product(*(channel.answers[j] for j in table)), times, strict=True):

        def accepted(some: FloatArray, row: FloatArray = row) -> NDArray[np.bool_]:
            """Tell which rates are neither too low nor too high."""
            weights = values - some[:, None] * marginal
            upper, lower = (mean_limits(sign * weights, row, share) for sign in (1.0, -1.0))
            return np.asarray((upper >= 0.0) & (lower >= 0.0))

        inside = np.flatnonzero(accepted(grid))
        ends = [0.0, 1.0]
        if inside.size:
            ends = [_end(accepted, grid, int(inside[0]), -1), _end(accepted, grid, int(inside[-1]), 1)]
        among = shares[b]
        own_entry = entries[(a, b) if first < second else (b, a)].consistent
        rate = min(own_entry / among, 1.0) if among > 1e-9 else math.nan
        rates.append(AnswerRate((asked[0], a), (asked[1], b), rate, *ends))
    return rates


def _end(
    accepted: Callable[[FloatArray], NDArray[np.bool_]], grid: FloatArray, place: int, step: int
) -> float:
    """Return where rates end to be accepted, beyond the last accepted point of a grid in a direction."""
    if not 0 <= place + step < len(grid):
        return float(grid[place])
    inside, outside = float(grid[place]), float(grid[place + step])
    for _ in range(_HALVINGS):
        middle = 0.5 * (inside + outside)
        if accepted(np.array([middle]))[0]:
            inside = middle
        else:
            outside = middle
    return outside
