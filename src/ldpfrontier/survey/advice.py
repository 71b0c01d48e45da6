"""Advice for designs with too few reports: what would lower the error of estimated frequencies, computed.

Three things do: more reports, a larger level, and a column that is left out. Each is tried on the table with
the closed forms that keep the promise and, where there are few cells, with the mechanism that was chosen, and
stated with the least error among these.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from ldpfrontier import Channel, Intractable, time_limit
from ldpfrontier.survey.attackers import Population
from ldpfrontier.survey.candidates import Candidate
from ldpfrontier.survey.design import Design, design_channel
from ldpfrontier.survey.estimation import Inversion
from ldpfrontier.survey.layout import columns as table_of
from ldpfrontier.survey.layout import reports_text, wrapped
from ldpfrontier.survey.methods import Problem, methods_for
from ldpfrontier.survey.settings import SETTINGS
from ldpfrontier.survey.tables import CountTable
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


def aim_of(made: Design, error: float | None) -> float:
    """Return the error that a design should have: the one asked for, or half of the mean frequency."""
    return 0.5 / made.table.counts.size if error is None else error


def advice(made: Design, best: Candidate, error: float | None) -> list[Advice]:
    """Return what would bring the error of a design to its aim, or closer.

    Parameters
    ----------
    made : Design
    best : Candidate
        The mechanism that was chosen.
    error : float or None
        Root mean square error of the frequencies of whole records that was asked for. If there is none,
        errors of tables with different numbers of frequencies are compared as shares of the mean frequency.

    Returns
    -------
    list of Advice
        More reports, a larger level if there is one that is enough, and every column that may be left out;
        what does not lower the error is omitted. Nothing if the error is not too large, if the mechanism does
        not show all frequencies, or if others have to be precise.
    """
    aim, now = aim_of(made, error), Advice("", best.error, made.table.counts.size, best.name)
    if made.precise != "cells" or not best.error > aim:
        return []
    reports = made.reports_for(best, aim)
    more = replace(now, what=f"{reports:,.0f} reports", error=best.error * math.sqrt(made.records / reports))
    with time_limit(SETTINGS.advice_seconds):
        found = [more, *_level(made, best, aim)]
        found += [_tried(made, best, what, other) for what, other in _without(made.table)]
    return [one for one in found if (one.share < now.share if error is None else one.error < now.error)]


def advice_text(made: Design, best: Candidate, error: float | None) -> str:
    """Return advice in words, a sentence on what it is about, and a table; nothing if none is needed."""
    if not (found := advice(made, best, error)):
        return ""
    reached = "above 1" if best.error > 1 else f"{best.error:.2g}"
    words = (
        f"{reports_text(made.records)} {'gives' if made.records == 1 else 'give'} an error of {reached},"
        f" which is {best.error * made.table.counts.size:.0%} of the mean frequency; the aim is"
        f" {aim_of(made, error):.2g}. What would help:"
    )
    rows = [[f"{one.error:.2g}", f"{one.share:.0%}", f"{one.what} ({one.mechanism})"] for one in found]
    return wrapped(words) + "\n" + table_of([["error", "of the mean", "with"], *rows])


def _tried(
    made: Design, best: Candidate, what: str, table: CountTable, epsilon: float | None = None
) -> Advice:
    """Return the least error of closed forms for a table or, where there are few cells, of the one chosen."""
    level = made.epsilon if epsilon is None else epsilon
    problem, methods = Problem(table, level, made.against, None), methods_for(table, made.against)
    found = [(math.inf, "")]
    for name in (name for name, method in methods.items() if method.closed_form):
        with suppress(Intractable):
            channel = methods[name].solve(problem)
            if isinstance(channel, Channel):
                found.append((_error(channel.matrix, table, made.records), name))
    chosen = methods.get(best.name)
    if chosen and not chosen.closed_form and table.counts.size <= SETTINGS.max_joint_cells:
        around = made.population or Population()
        (own,) = design_channel(
            table, level, against=made.against, mechanisms=[best.name], records=made.records,
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


def _level(made: Design, best: Candidate, aim: float) -> Iterator[Advice]:
    """Yield the least level, to 0.01 nats, at which the error is the aim, if there is one."""

    def at(step: int) -> Advice:
        return _tried(made, best, f"epsilon {step / 100:g}", made.table, step / 100)

    least, most = math.floor(made.epsilon * 100), round(SETTINGS.max_epsilon * 100)
    if at(most).error <= aim:
        yield at(bisect_left(range(most), True, least + 1, key=lambda step: at(step).error <= aim))


def _without(table: CountTable) -> Iterator[tuple[str, CountTable]]:
    """Yield the tables without one column each, with words for it, if something is left to protect."""
    for place, name in enumerate(table.attributes):
        kept = [tuple(other for other in names if other != name) for names in (table.sensitive, table.useful)]
        found: dict[tuple[str, ...], int] = {}
        for label, count in zip(table.labels, table.counts.ravel().tolist(), strict=True):
            left = label[:place] + label[place + 1 :]
            found[left] = found.get(left, 0) + count
        cut = len(kept[0])
        rows = tuple(dict.fromkeys(label[:cut] for label in found))
        columns = tuple(dict.fromkeys(label[cut:] for label in found))
        if len(rows) < 2 or sum(count > 0 for count in found.values()) < 2:
            continue
        counts = np.array([[found.get(row + column, 0) for column in columns] for row in rows])
        yield (
            f"without {name}",
            replace(table, sensitive=kept[0], useful=kept[1], rows=rows, columns=columns, counts=counts),
        )
