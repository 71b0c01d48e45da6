r"""Advice for designs with too few reports: what would lower the error of estimated frequencies, computed.

Four things do: more reports, a larger level, a column that is left out, and two values that become one. Each
is tried on the table with the mechanism that was chosen and with all closed forms that keep the promise, and
stated with the least error among these. The pair of values is sought with randomized response, secret
randomized response and Hadamard response. As their errors hardly depend on which values of a column are
joined, pairs within 1% of the least error are compared by what joining them loses: of these, the
pair with the least entropy of one value given that it is in the pair, times the frequency of the pair, which
favours rare values.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from ldpfrontier.block_designs import hadamard_response
from ldpfrontier.channel import Channel
from ldpfrontier.mechanisms import randomized_response, secret_randomized_response
from ldpfrontier.numerics.deadline import TimeIsUp, check_time, time_limit
from ldpfrontier.optimal.estimation.settings import SETTINGS as ESTIMATION
from ldpfrontier.optimal.registry import LIMITS
from ldpfrontier.survey.binning import in_order, interval_start
from ldpfrontier.survey.counts import CountTable
from ldpfrontier.survey.design import Candidate, Design
from ldpfrontier.survey.estimation import Inversion, table_prior
from ldpfrontier.survey.layout import columns as table_of
from ldpfrontier.survey.layout import wrapped
from ldpfrontier.survey.least_level import bisected
from ldpfrontier.survey.methods import LDP_METHODS, ROBUST_METHODS, Problem
from ldpfrontier.survey.population import ball_of, odds_of, usual_intervals
from ldpfrontier.survey.records import Label
from ldpfrontier.survey.settings import SETTINGS
from ldpfrontier.survey.values import reports_text, shortened
from ldpfrontier.types import Intractable


@dataclass(frozen=True)
class Advice:
    """What would lower the error, and to what.

    Attributes
    ----------
    what : str
        In words.
    error : float
        Root mean square error of the frequencies of whole records then.
    cells : int
        The number of these frequencies.
    mechanism : str
        The one that has this error.
    epsilon : float, optional
        The level in nats, if it is another one.
    """

    what: str
    error: float
    cells: int
    mechanism: str
    epsilon: float | None = None

    @property
    def share(self) -> float:
        """The error as a share of the mean frequency."""
        return self.error * self.cells


@dataclass(frozen=True, eq=False)
class TooFew:
    """A design whose number of reports is too small, with the error that is its aim.

    Attributes
    ----------
    made : Design
    best : Candidate
        The mechanism that was chosen.
    aim : float
        Root mean square error of the frequencies of whole records.
    relative : bool
        Whether errors of tables with different numbers of frequencies are compared as shares of the mean
        frequency, as they are if nobody asked for an error.
    """

    made: Design
    best: Candidate
    aim: float
    relative: bool

    def size(self, error: float, cells: int) -> float:
        """Return the error, or its share of the mean frequency, by which designs are compared."""
        return error * cells if self.relative else error


def too_few(made: Design, best: Candidate, error: float | None) -> TooFew | None:
    """Return the design if its error is above the one asked for, else above half of the mean frequency.

    None if it is not, if the mechanism does not show all frequencies, or if others have to be precise.
    """
    if math.isnan(best.error) or made.precise != "cells":
        return None
    aim = 0.5 / made.table.counts.size if error is None else error
    return TooFew(made, best, aim, error is None) if best.error > aim else None


def advice(few: TooFew) -> list[Advice]:
    """Return changes that would bring the error of a design to its aim, or closer.

    Returns
    -------
    list of Advice
        More reports, a larger level if there is one that is enough, every column that may be left out, the
        one with the least error first, and a pair of values; what does not lower the error is omitted.
    """
    made, best, cells = few.made, few.best, few.made.table.counts.size
    reports = made.reports_for(best, few.aim)
    reached = best.error * math.sqrt(made.records / reports)
    found = {"reports": Advice(f"{reports:,.0f} reports", reached, cells, best.name)}
    tables: dict[str, CountTable] = {}
    closed, joined = _closed_forms(made), ""
    # What takes longest comes last, and is cut short by the time limit.
    with suppress(TimeIsUp), time_limit(SETTINGS.advice_seconds):
        tables |= {f"without {name}": other for name, other in _without(made.table)}
        _add_tables(few, tables, closed, found)
        if pair := _best_pair(few):
            name, values, other = pair
            joined = " and ".join(repr(shortened(value, 20)) for value in values)
            joined += f" of {name} as one value"
            tables[joined] = other
            _add_tables(few, {joined: other}, closed, found)
        _add_level(few, closed, found)
        solved = [best.name] if best.name not in closed else []
        for what, other in tables.items():
            if other.counts.size <= LIMITS.max_joint_cells:
                with suppress(TimeIsUp), time_limit(SETTINGS.advice_seconds / 4.0):
                    _add_tables(few, {what: other}, solved, found)
        if cells <= LIMITS.max_joint_cells:
            _add_level(few, solved, found)

    def size(one: Advice) -> float:
        return few.size(one.error, one.cells)

    columns = sorted((one for what, one in found.items() if what in tables and what != joined), key=size)
    first = [found[what] for what in ("reports", "level") if what in found]
    last = [found[joined]] if joined in found else []
    return [one for one in [*first, *columns, *last] if size(one) < few.size(best.error, cells)]


def advice_text(few: TooFew) -> str:
    """Return advice in words: a sentence on what it is about, and a table."""
    made, best = few.made, few.best
    now = Advice("", best.error, made.table.counts.size, best.name)
    reached = "above 1" if best.error > 1 else f"{best.error:.2g}"
    words = (
        f"{reports_text(made.records)} {'gives' if made.records == 1 else 'give'} an error of {reached},"
        f" which is {now.share:.0%} of the mean frequency; the aim is {few.aim:.2g}. What would help:"
    )
    rows = [[f"{one.error:.2g}", f"{one.share:.0%}", f"{one.what} ({one.mechanism})"] for one in advice(few)]
    return wrapped(words) + "\n" + table_of([["error", "of the mean", "with"], *rows])


# Errors ---------------------------------------------------------------------------------------------------


def _error(channel: Channel, table: CountTable, records: int) -> float:
    """Return the root mean square error of the frequencies of records; inf if some cannot be estimated."""
    linear = Inversion(channel.matrix, table_prior(table), np.eye(table.counts.size))
    errors = linear.error(table.distribution.ravel() @ channel.matrix, records)
    return float(np.sqrt(np.mean(errors**2))) if linear.shown.all() else math.inf


def _errors(
    made: Design, table: CountTable, epsilon: float, names: Iterable[str]
) -> Iterator[tuple[float, str]]:
    """Yield the errors of mechanisms for a table, one after the other, with their names."""
    against = made.against if table.useful else "anyone"
    methods = ROBUST_METHODS[against] if table.useful else LDP_METHODS
    asked = [name for name in names if name in methods]
    ball = ball_of(table, made.beta, made.order, made.radius)
    needs_odds = not {"association", "frequencies"}.isdisjoint(asked)
    odds = odds_of(table, made.beta, usual_intervals(table.counts)) if needs_odds else None
    expected = table_prior(table).reshape(table.counts.shape)
    problem = Problem(table.distribution, expected, ball, odds, epsilon, against)
    for name in asked:
        check_time()
        with suppress(Intractable, ArithmeticError, RuntimeError, ValueError):
            found = methods[name].solve(problem)
            channel = found if isinstance(found, Channel) else found.channel
            yield _error(channel, table, made.records), name


def _closed_forms(made: Design) -> list[str]:
    """Return the mechanisms in closed form that keep the promise."""
    methods = ROBUST_METHODS[made.against] if made.table.useful else LDP_METHODS
    return [name for name, method in {**methods, **LDP_METHODS}.items() if method.closed_form]


def _add_tables(
    few: TooFew, tables: Mapping[str, CountTable], names: Sequence[str], found: dict[str, Advice]
) -> None:
    """Put what other tables would do among the advice, where it is better than what is known."""
    made = few.made
    for what, table in tables.items():
        for error, name in _errors(made, table, made.epsilon, names):
            if error < (found[what].error if what in found else math.inf):
                found[what] = Advice(what, error, table.counts.size, name)


def _add_level(few: TooFew, names: Sequence[str], found: dict[str, Advice]) -> None:
    """Put the least level, to 0.01 nats, at which the error is the aim among the advice, by bisection."""
    if not names:
        return
    made, steps = few.made, 100
    known = found["level"].epsilon if "level" in found else None

    def is_reached(step: int) -> bool:
        epsilon, cells = step / steps, made.table.counts.size
        error, name = min(_errors(made, made.table, epsilon, names), default=(math.inf, ""))
        if error <= few.aim:
            found["level"] = Advice(f"epsilon {epsilon:g}", error, cells, name, epsilon)
        return error <= few.aim

    # Without a level that is known to be enough, the largest one is tried, too.
    high = round(SETTINGS.max_epsilon * steps) + 1 if known is None else round(known * steps)
    for _ in bisected(math.floor(made.epsilon * steps), high, is_reached):
        pass  # `is_reached` keeps the advice


# Tables ---------------------------------------------------------------------------------------------------


def _relabelled(
    table: CountTable, sensitive: Label, useful: Label, change: Callable[[Label], Label]
) -> CountTable | None:
    """Return the table of changed labels; None if nothing is left to protect."""
    found: dict[Label, int] = {}
    for label, count in zip(table.labels, table.counts.ravel().tolist(), strict=True):
        other = change(label)
        found[other] = found.get(other, 0) + count
    cut = len(sensitive)
    rows = tuple(sorted({label[:cut] for label in found}, key=in_order))
    columns = tuple(sorted({label[cut:] for label in found}, key=in_order))
    if len(rows) < 2:
        return None
    counts = [[found.get(row + column, 0) for column in columns] for row in rows]
    return CountTable(sensitive, useful, rows, columns, np.array(counts), table.source)


def _without(table: CountTable) -> Iterator[tuple[str, CountTable]]:
    """Yield the tables without one column each, with its name."""
    cut = len(table.sensitive)
    for place, name in enumerate(table.attributes):
        if cut == 1 and place == 0:
            continue
        sensitive, useful = (
            tuple(other for other in names if other != name) for names in (table.sensitive, table.useful)
        )
        other = _relabelled(table, sensitive, useful, _leaving(place))
        if other is not None:
            yield name, other


def _leaving(place: int) -> Callable[[Label], Label]:
    return lambda label: label[:place] + label[place + 1 :]


def _joined(table: CountTable, place: int, pair: tuple[str, str]) -> CountTable | None:
    """Return the table in which two values of a column are one."""
    one = " or ".join(pair)

    def change(label: Label) -> Label:
        return (*label[:place], one, *label[place + 1 :]) if label[place] in pair else label

    return _relabelled(table, table.sensitive, table.useful, change)


def _pairs(table: CountTable) -> Iterator[tuple[int, tuple[str, str], float]]:
    """Yield the pairs of values of columns that may be joined, with what is lost by that, in nats.

    Groups of numbers are joined with the next group alone; of other columns, the rarest values are tried.
    """
    for place in range(len(table.attributes)):
        shares: dict[str, float] = {}
        for label, share in zip(table.labels, table.distribution.ravel().tolist(), strict=True):
            shares[label[place]] = shares.get(label[place], 0.0) + share
        if len(shares) < 3:
            continue  # one value is no column, and to leave a column out is advice of its own
        values = sorted(shares, key=lambda value: in_order([value]))
        if all(interval_start(value) is not None for value in values):
            pairs = list(itertools.pairwise(values))
        else:
            rarest = sorted(values, key=lambda value: (shares[value], value))[: SETTINGS.advice_values]
            pairs = list(itertools.combinations(rarest, 2))
        for pair in pairs:
            a, b = (shares[value] for value in pair)
            yield place, pair, float(xlogy(a + b, a + b) - xlogy(a, a) - xlogy(b, b))


def _best_pair(few: TooFew) -> tuple[str, tuple[str, str], CountTable] | None:
    """Return the pair of values that lowers the error most: a column, two values, and the joined table."""
    made, found = few.made, []
    for place, pair, lost in _pairs(made.table):
        check_time()
        other = _joined(made.table, place, pair)
        if other is not None and np.count_nonzero(other.counts) > 1:
            error = min(
                _error(channel, other, made.records)
                for channel in _closed_forms_of_few_outputs(other, made.epsilon)
            )
            found.append((few.size(error, other.counts.size), lost, place, pair, other))
    if not found:
        return None
    limit = min(one[0] for one in found) * (1.0 + ESTIMATION.outer_tolerance)
    near = (one for one in found if one[0] <= limit)
    _, _, place, pair, other = min(near, key=lambda one: one[1:4])
    return made.table.attributes[place], pair, other


def _closed_forms_of_few_outputs(table: CountTable, epsilon: float) -> Iterator[Channel]:
    """Yield mechanisms that protect from anyone, in closed form, with few reports."""
    yield randomized_response(table.counts.size, epsilon)
    if table.useful:
        a1, a2 = table.counts.shape
        yield secret_randomized_response(a1, a2, epsilon)
    with suppress(Intractable):
        yield hadamard_response(table.counts.size, epsilon)
