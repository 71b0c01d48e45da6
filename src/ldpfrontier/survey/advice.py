"""Advice for designs with too few reports: what would lower the error of estimated frequencies, computed.

Four things do: more reports, a larger level, a column that is left out, and two values that become one. Each
is tried on the table with the closed forms that keep the promise and, where there are few cells, with the
mechanism that was chosen, and stated with the least error among these. Of all pairs of values, joining which
lowers the error nearly as much, the one is named that loses the least information.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import xlogy

from ldpfrontier import Channel, Intractable, time_limit
from ldpfrontier.survey.attackers import Population
from ldpfrontier.survey.candidates import Candidate
from ldpfrontier.survey.design import Design, design_channel
from ldpfrontier.survey.estimation import Inversion
from ldpfrontier.survey.groups import in_order, interval_start
from ldpfrontier.survey.layout import columns as table_of
from ldpfrontier.survey.layout import reports_text, wrapped
from ldpfrontier.survey.least_level import bisected
from ldpfrontier.survey.methods import Problem, methods_for, nearly_least
from ldpfrontier.survey.reading import Label
from ldpfrontier.survey.settings import SETTINGS
from ldpfrontier.survey.tables import CountTable
from ldpfrontier.survey.values import shortened
from ldpfrontier.types import FloatArray


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
    """

    what: str
    error: float
    cells: int
    mechanism: str

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


def too_few(made: Design, best: Candidate, error: float | None) -> TooFew | None:
    """Return the design if its error is above the one asked for, else above half of the mean frequency.

    None if it is not, if the mechanism does not show all frequencies, or if others have to be precise.
    """
    if math.isnan(best.error) or made.precise != "cells":
        return None
    aim = 0.5 / made.table.counts.size if error is None else error
    return TooFew(made, best, aim, error is None) if best.error > aim else None


def advice(few: TooFew) -> list[Advice]:
    """Return what would bring the error of a design to its aim, or closer.

    Returns
    -------
    list of Advice
        More reports, a larger level if there is one that is enough, every column that may be left out, the
        one with the least error first, and a pair of values; what does not lower the error is omitted.
    """
    made, best, cells = few.made, few.best, few.made.table.counts.size

    def size(one: Advice) -> float:
        return one.error * one.cells if few.relative else one.error

    reports = made.reports_for(best, few.aim)
    reached = best.error * math.sqrt(made.records / reports)
    end = time.monotonic() + SETTINGS.advice_seconds
    with time_limit(SETTINGS.advice_seconds):
        found = [Advice(f"{reports:,.0f} reports", reached, cells, best.name), *_level(few)]
        found += sorted((_tried(few, what, other) for what, other in _without(made.table)), key=size)
        pairs = itertools.takewhile(lambda _: time.monotonic() < end, _pairs(made.table))
        joined = [(lost, other, _tried(few, what, other, solve=False)) for lost, what, other in pairs]
        if joined:
            near = nearly_least(joined, lambda pair: size(pair[2]), SETTINGS.error_tolerance)
            _, other, one = min(near, key=lambda pair: pair[0])
            found.append(_tried(few, one.what, other))
    return [one for one in found if size(one) < size(Advice("", best.error, cells, ""))]


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


def _tried(
    few: TooFew, what: str, table: CountTable, epsilon: float | None = None, *, solve: bool = True
) -> Advice:
    """Return the least error of closed forms for a table or, where there are few cells, of the one chosen."""
    made, level = few.made, few.made.epsilon if epsilon is None else epsilon
    problem, methods = Problem(table, level, made.against, None), methods_for(table, made.against)
    found = [(math.inf, "")]
    for name in (name for name, method in methods.items() if method.closed_form):
        with suppress(Intractable):
            channel = methods[name].solve(problem)
            if isinstance(channel, Channel):
                found.append((_error(channel.matrix, table, made.records), name))
    chosen = methods.get(few.best.name)
    if solve and chosen and not chosen.closed_form and table.counts.size <= SETTINGS.max_joint_cells:
        around = made.population or Population()
        (own,) = design_channel(
            table, level, against=made.against, mechanisms=[few.best.name], records=made.records,
            proof_seconds=0.0, beta=around.beta, order=around.order,
        ).candidates  # fmt: skip
        found.append((own.error if own.private and math.isfinite(own.error) else math.inf, own.name))
    error, name = min(found)
    return Advice(what, error, table.counts.size, name)


def _error(matrix: FloatArray, table: CountTable, records: int) -> float:
    """Return the root mean square error of the frequencies of records; inf if some cannot be estimated."""
    linear = Inversion(matrix, table.expected.ravel(), np.eye(table.counts.size))
    errors = linear.error(table.distribution.ravel() @ matrix, records)
    return float(np.sqrt(np.mean(errors**2))) if linear.shown.all() else math.inf


def _level(few: TooFew) -> Iterator[Advice]:
    """Yield the least level, to 0.01 nats, at which the error is the aim, if there is one."""
    made, steps, found = few.made, 100, dict[int, Advice]()

    def is_reached(step: int) -> bool:
        found[step] = _tried(few, f"epsilon {step / steps:g}", made.table, step / steps)
        return found[step].error <= few.aim

    high = round(SETTINGS.max_epsilon * steps)
    if is_reached(high):
        ends = [(0, high), *bisected(math.floor(made.epsilon * steps), high, is_reached)]
        yield found[ends[-1][1]]


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
    if len(rows) < 2 or sum(count > 0 for count in found.values()) < 2:
        return None
    counts = np.array([[found.get(row + column, 0) for column in columns] for row in rows])
    return replace(table, sensitive=sensitive, useful=useful, rows=rows, columns=columns, counts=counts)


def _without(table: CountTable) -> Iterator[tuple[str, CountTable]]:
    """Yield the tables without one column each, with words for it."""
    for place, name in enumerate(table.attributes):
        if len(table.sensitive) == 1 and place == 0:
            continue
        sensitive, useful = (
            tuple(other for other in names if other != name) for names in (table.sensitive, table.useful)
        )

        def left(label: Label, place: int = place) -> Label:
            return label[:place] + label[place + 1 :]

        other = _relabelled(table, sensitive, useful, left)
        if other is not None:
            yield f"without {name}", other


def _pairs(table: CountTable) -> Iterator[tuple[float, str, CountTable]]:
    """Yield the tables in which two values of a column are one, with what is lost by that, in nats.

    Groups of numbers are joined with the next group alone; of other columns, the rarest values are tried.
    """
    for place, name in enumerate(table.attributes):
        shares: dict[str, float] = {}
        for label, share in zip(table.labels, table.distribution.ravel().tolist(), strict=True):
            shares[label[place]] = shares.get(label[place], 0.0) + share
        if len(shares) < 3:
            continue  # one value is no column, and to leave a column out is advice of its own
        values = sorted(shares, key=lambda value: in_order([value]))
        pairs: Sequence[tuple[str, str]] = list(itertools.pairwise(values))
        if any(interval_start(value) is None for value in values):
            rarest = sorted(values, key=lambda value: (shares[value], value))[: SETTINGS.advice_values]
            pairs = list(itertools.combinations(rarest, 2))
        for pair in pairs:
            one, (a, b) = " or ".join(pair), (shares[value] for value in pair)

            def joined(label: Label, place: int = place, pair: Label = pair, one: str = one) -> Label:
                return (*label[:place], one if label[place] in pair else label[place], *label[place + 1 :])

            other = _relabelled(table, table.sensitive, table.useful, joined)
            if other is not None:
                words = " and ".join(repr(shortened(value, 20)) for value in pair)
                lost = float(xlogy(a + b, a + b) - xlogy(a, a) - xlogy(b, b))
                yield lost, f"{words} of {name} as one value", other
