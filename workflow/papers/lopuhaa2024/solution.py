"""Solved mechanisms of lopuhaa2024 with their certificates: in tables of results, and as they are kept."""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import pandas as pd

from ldpfrontier.model.channel import Channel
from papers.lopuhaa2024.catalogue import OVER_SET, PLACE
from reproduction.results.tables import PRIVACY_TOLERANCE, SKIPPED, STATUSES, Result, Row, Schema

if TYPE_CHECKING:
    from ldpfrontier.uncertainty.renyi_ball import RenyiBall

PAPER = "lopuhaa2024"


class Place(TypedDict):
    """The columns of `RESULTS` that all rows of one uncertainty set share."""

    experiment: str
    size: str
    instance: str
    beta: float
    order: float


def place_of(experiment: str, instance: str, beta: float, ball: RenyiBall) -> Place:
    """Return the columns that all rows of an uncertainty set share; the size is as in ``"2 x 5"``."""
    size = " x ".join(map(str, ball.centre.shape))
    return Place(experiment=experiment, size=size, instance=instance, beta=beta, order=ball.order)


@dataclass(frozen=True, eq=False)
class Solution:
    """One mechanism at one privacy level, with the certificate of its mutual information.

    There is no channel if the mechanism is out of reach for this size; the note then says why. `value` is
    I(X; Y) under P-hat and `bound` what no mechanism of the class can pass, in nats: the bound of an optimum
    is that of its own class; closed forms and heuristics have NR's. The level `privacy` is guaranteed over
    the product of the projections of F; of the optimum over F, over F; of NR, under P-hat alone.
    `conditional_epsilon` is the conditional level asked for (inf: no demand), and `conditional_privacy` the
    one that the channel has. `method` is that of an optimum, else empty.
    """

    mechanism: str
    epsilon: float
    channel: Channel | None
    status: str
    value: float = math.nan
    bound: float = math.nan
    privacy: float = math.nan
    iterations: int | None = None
    conditional_epsilon: float = math.inf
    conditional_privacy: float = math.nan
    note: str = ""
    method: str = ""

    def certified(self, place: Place, h: float) -> Iterator[Result]:
        """Yield the rows of the mutual information, in nats, and of the NMI, for H(X) = `h`."""
        information = self._row(place, "mutual_information", self.value, "nats", self.bound)
        yield information
        # With H(X) = 0 there is nothing to report and every mechanism reports it.
        scale = h if h > 0 else 1.0
        yield self._row(place, "nmi", information.value / scale, "1", information.bound / scale)

    def _row(self, place: Place, metric: str, value: float, unit: str, bound: float) -> Result:
        return Result(
            PAPER, mechanism=self.mechanism, metric=metric, value=value, unit=unit, epsilon=self.epsilon,
            direction="max", bound=bound, status=self.status, channel=self.channel,
            iterations=self.iterations, method=self.method, privacy=self.privacy,
            privacy_limit=math.nan if self.channel is None else self.epsilon,
            conditional_epsilon=self.conditional_epsilon, conditional_privacy=self.conditional_privacy,
            note=self.note, **place,
        )  # fmt: skip

    def measured(self, place: Place, metric: str, value: float, unit: str, note: str = "") -> Result:
        """Return the row of a metric that is measured and not limited by epsilon."""
        return Result(
            PAPER, mechanism=self.mechanism, metric=metric, value=value, unit=unit, epsilon=self.epsilon,
            channel=self.channel, iterations=self.iterations, method=self.method, privacy=self.privacy,
            conditional_epsilon=self.conditional_epsilon, conditional_privacy=self.conditional_privacy,
            note=note, **place,
        )  # fmt: skip


# Kept, for tables and certificates to be made from --------------------------------------------------------


def _solution_rules(table: pd.DataFrame) -> Iterator[tuple[Any, str]]:
    skipped = table["status"] == SKIPPED
    yield ~table["status"].isin(STATUSES), "has the unknown status {status}"
    yield skipped != (table["channel"] == ""), "has the status {status}, which its channel contradicts"
    limit = table["epsilon"] + PRIVACY_TOLERANCE
    yield ~skipped & ~(table["privacy"] <= limit), "has the privacy level {privacy}; its limit is {epsilon}"


#: Mechanisms for tables of counts, with their channels.
SOLUTIONS = Schema(
    name="solution",
    columns={
        **PLACE,
        "entropy": "float64",  # H(X) under the estimate, nats
        "mechanism": "str",
        "epsilon": "float64",  # nats
        "status": "str",
        "value": "float64",  # as of `Solution`
        "bound": "float64",
        "privacy": "float64",
        "conditional_privacy": "float64",
        "over_set": "float64",  # level over F of what is not robust, nats; missing of others
        "iterations": "Int64",
        "method": "str",
        "note": "str",
        "outputs": "Int64",
        "channel": "str",  # the matrix, see `_written`
    },
    key=(*PLACE, "mechanism", "epsilon"),
    rules=_solution_rules,
)


def solution_row(place: Place, h: float, solution: Solution, over_set: float = math.nan) -> Row:
    """Return the row of `SOLUTIONS` of a solution without a conditional level, for H(X) = `h`."""
    channel = solution.channel
    return {
        **{name: place[name] for name in PLACE},  # type: ignore[literal-required]
        "entropy": h,
        **{name: getattr(solution, name) for name in vars(solution) if name in SOLUTIONS.columns},
        "over_set": over_set,
        "outputs": None if channel is None else channel.n_outputs,
        "channel": "" if channel is None else _written(channel),
    }


def _written(channel: Channel) -> str:
    """Return the bytes of a channel's matrix, row by row, as a text: that of a closed form is short."""
    return base64.b64encode(zlib.compress(channel.matrix.astype("<f8").tobytes(), 1)).decode()


def _read(text: str, outputs: int) -> Channel:
    entries = np.frombuffer(zlib.decompress(base64.b64decode(text)), "<f8")
    return Channel(entries.reshape(-1, outputs))


class StoredContext(TypedDict):
    """What belongs to a solution that was kept: its place, H(X) in nats, and its level over F, if known."""

    place: Place
    h: float
    over_set: float


def read_solutions(table: pd.DataFrame, experiment: str) -> Iterator[tuple[Solution, StoredContext]]:
    """Yield the solutions of a table of `SOLUTIONS`, each with what belongs to it."""
    for row in table.to_dict("records"):
        channel = _read(row["channel"], row["outputs"]) if row["channel"] else None
        solution = Solution(
            row["mechanism"], row["epsilon"], channel, row["status"], row["value"], row["bound"],
            row["privacy"], None if pd.isna(row["iterations"]) else int(row["iterations"]),
            conditional_privacy=row["conditional_privacy"], note=row["note"], method=row["method"],
        )  # fmt: skip
        place = Place(experiment=experiment, **{name: row[name] for name in PLACE})  # type: ignore[typeddict-item]
        yield solution, StoredContext(place=place, h=row["entropy"], over_set=row["over_set"])


def result_rows(tables: Iterable[pd.DataFrame], experiment: str) -> Iterator[Result]:
    """Yield the rows of the information of solutions that were kept, and of their level over F, if known."""
    for table in tables:
        for solution, known in read_solutions(table, experiment):
            yield from solution.certified(known["place"], known["h"])
            if not math.isnan(known["over_set"]):
                yield solution.measured(known["place"], OVER_SET, known["over_set"], "nats")
