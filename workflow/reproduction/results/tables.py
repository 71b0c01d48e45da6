"""The schemas of tables, checked on write and on read, and the one way to build their rows.

A table of results is long: one row per instance, mechanism, epsilon and metric, with the certificate of the
value in the same row. Tables of checks compare a measured number with a limit. Equal tables give equal bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, fields
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from ldpfrontier.model.channel import Channel
from ldpfrontier.model.optimum import UNKNOWN, Method

PRIVACY_TOLERANCE = 1e-9
ROW_SUM_TOLERANCE = 1e-9

#: Value and bound come from different sums: this much apart, relative to 1 + |bound|, they are equal.
ROUNDING = 2e-12

#: By how much, relatively, an optimum may be missed where its bound is far above it.
OPTIMUM_TOLERANCE = 1e-3

#: Of a row. The first two belong to optima with a certificate; a heuristic was searched for without one; what
#: is measured is no optimum of anything, and what is skipped was out of reach.
OPTIMAL, BOUNDED, CLOSED_FORM, HEURISTIC, MEASURED, SKIPPED = STATUSES = (
    "optimal",
    "bounded",
    "closed form",
    "heuristic",
    "measured",
    "skipped",
)

UNITS = ("nats", "bits", "1")

#: A value is to be large, and its bound is above it; or small, and its bound is below; or neither.
DIRECTIONS = ("max", "min", "-")

Relation = Literal["<=", ">=", "="]


class TableError(ValueError):
    """A table that breaks its schema, or a result whose certificate fails."""


def _no_rules(table: pd.DataFrame) -> Iterator[tuple[Any, str]]:
    yield from ()


@dataclass(frozen=True)
class Schema:
    """Columns, key and row rules of a table, with the name by which errors call it.

    The columns are in their order, by kind ("str", "float64", "Int64", "bool"); only Int64 and float64 admit
    missing values. The values of the key name a row: they are unique, and order the rows. A number may be
    missing there. Columns in `finite` have a finite number in every row. The rules yield, for a table of
    the right columns, a boolean array of the rows that break a rule, and the sentence to say about such a
    row, with the names of its columns in braces.
    """

    name: str
    columns: Mapping[str, str]
    key: tuple[str, ...]
    rules: Callable[[pd.DataFrame], Iterator[tuple[Any, str]]] = _no_rules
    finite: tuple[str, ...] = ()

    def conform(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the frame in the order and the types of the schema, sorted and checked.

        The sentence of a TableError names the column or the row.
        """
        typed = self.cast(frame)
        # What is the same in all rows orders none of them, but sorting by it takes time.
        key = [name for name in self.key if _varies(typed[name])] or list(self.key[:1])
        typed = typed.sort_values(key, kind="stable", ignore_index=True)
        twice = typed.duplicated(key).to_numpy()
        lost = [(~np.isfinite(typed[name]), f"has no finite number {name}") for name in self.finite]
        for broken, sentence in [(twice, "is there more than once"), *lost, *self.rules(typed)]:
            rows = np.flatnonzero(np.asarray(broken, dtype=bool))
            if rows.size:
                row = typed.iloc[int(rows[0])]
                values = {str(name): value for name, value in row.items()}
                raise TableError(f"Row {self._named(row)} {sentence.format(**values)}.")
        return typed

    def cast(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the columns of the frame in the order and the types of the schema."""
        self.require_columns(list(frame.columns))
        return pd.DataFrame({name: self._cast(frame[name], kind) for name, kind in self.columns.items()})

    def require_columns(self, names: Sequence[Any]) -> None:
        """Refuse other columns than those of the schema, in any order, with their names."""
        if unknown := [name for name in names if name not in self.columns]:
            raise TableError(f"The {self.name} table has the unknown columns {', '.join(map(str, unknown))}.")
        if missing := [name for name in self.columns if name not in names]:
            raise TableError(f"The {self.name} table lacks the columns {', '.join(missing)}.")

    def table(self, rows: Iterable[Row]) -> pd.DataFrame:
        """Return rows, none included, as a checked table."""
        plain = [row if isinstance(row, Mapping) else vars(row) for row in rows]
        return self.conform(pd.DataFrame(plain, columns=list(self.columns)))

    def _cast(self, column: pd.Series[Any], kind: str) -> pd.Series[Any]:
        if column.dtype == _TYPES[kind] and not (kind == "str" and column.hasnans):
            return column
        # astype would silently print numbers and missing values, read numbers from texts, and call both true.
        found = pd.api.types.infer_dtype(column, skipna=False)
        asked, word = {"str": ("string", "text"), "bool": ("boolean", "true or false")}.get(kind, ("", ""))
        if asked and len(column) and (found != asked or column.hasnans):
            raise TableError(f"Column {column.name} of the {self.name} table has a value that is not {word}.")
        if not asked and column.dtype.kind == "O" and any(isinstance(value, str) for value in column):
            raise TableError(f"Column {column.name} of the {self.name} table has a text; it must be {kind}.")
        try:
            return column.astype(kind)  # type: ignore[call-overload, no-any-return]
        except (TypeError, ValueError):
            raise TableError(
                f"Column {column.name} of the {self.name} table has {column.dtype} values; it must be {kind}."
            ) from None

    def _named(self, row: pd.Series[Any]) -> str:
        shown = [name for name in self.key if row[name] != "" and not pd.isna(row[name])]
        return ", ".join(f"{name}={row[name]}" for name in shown)


def _varies(column: pd.Series[Any]) -> bool:
    """Whether two rows differ in a column, where a number that is missing equals another one."""
    if column.empty:
        return False
    first = column.iloc[0]
    return not bool((column.isna() if pd.isna(first) else column == first).all())


#: What pandas makes of the kinds of columns.
_TYPES = {kind: pd.Series(dtype=kind).dtype for kind in ("str", "float64", "Int64", "bool")}


# Results --------------------------------------------------------------------------------------------------


def _result_rules(table: pd.DataFrame) -> Iterator[tuple[Any, str]]:
    status, direction = table["status"], table["direction"]
    skipped, bounded = (status == SKIPPED).to_numpy(bool), (direction != "-").to_numpy(bool)
    certified = table["certified"].to_numpy()
    value, bound = table["value"].to_numpy(), table["bound"].to_numpy()
    worse = np.where((direction == "max").to_numpy(bool), value > bound, value < bound)
    yield ~status.isin(STATUSES), "has the unknown status {status}"
    yield ~table["unit"].isin(UNITS), "has the unknown unit {unit}"
    yield ~table["epsilon_unit"].isin(UNITS), "has the unknown unit {epsilon_unit} of epsilon"
    yield ~direction.isin(DIRECTIONS), "has the unknown direction {direction}"
    yield skipped & ~np.isnan(value), "is skipped but has the value {value}"
    yield skipped & (table["note"] == "").to_numpy(bool), "is skipped without a reason in its note"
    yield ~skipped & np.isnan(value), "has no value; only skipped rows may lack one"
    yield certified != status.isin([OPTIMAL, BOUNDED]), "is {status}, which certified contradicts"
    yield certified & ~bounded, "is certified without a direction"
    yield ~bounded & ~np.isnan(bound), "has the bound {bound} and no direction"
    yield ~skipped & bounded & ~np.isfinite(bound), "has no bound; its certificate needs one"
    yield bounded & worse, "has value {value} beyond its bound {bound}"
    gap = table["gap"].to_numpy()
    yield ~skipped & bounded & ~(gap >= 0), "has the gap {gap}; a gap is 0 or more"
    finite = np.isfinite(value) & np.isfinite(bound)
    between = np.where(finite, [value, bound], 0.0)
    larger, apart = np.abs(between).max(axis=0), np.abs(between[0] - between[1])
    yield (
        finite & ~(np.abs(gap * larger - apart) <= ROUNDING * (1.0 + larger)),
        "has the gap {gap}; between {value} and {bound} it is another",
    )
    limit = table["privacy_limit"].to_numpy() + PRIVACY_TOLERANCE
    yield (
        ~skipped & ~(table["privacy"].to_numpy() <= limit),
        "has the privacy level {privacy}; its limit is {privacy_limit}",
    )
    demanded, given = table["conditional_epsilon"].to_numpy(), table["conditional_privacy"].to_numpy()
    yield given < 0, "has the level {conditional_privacy} given U; a level is 0 or more"
    yield (
        ~skipped & np.isfinite(demanded) & ~(given <= demanded + PRIVACY_TOLERANCE),
        "has the level {conditional_privacy} given U; its limit is {conditional_epsilon}",
    )
    yield (
        ~skipped & ~(table["row_sum_error"].to_numpy() <= ROW_SUM_TOLERANCE),
        "has row sums that are off by {row_sum_error}; allowed is 1e-9",
    )
    yield (
        _falls(table),
        "has the value {value}, less than a smaller level has, whose mechanism is allowed here",
    )


def _falls(table: pd.DataFrame) -> pd.Series[bool]:
    """Return which optima are worse than one of a smaller level, whose mechanism they could have taken."""
    optima = table[table["status"].isin([OPTIMAL, BOUNDED]) & (table["direction"] == "max")]
    if not _varies(optima["epsilon"]):
        return pd.Series(False, index=table.index)
    optima = optima.sort_values("epsilon")
    others = [name for name in RESULTS.key if name != "epsilon" and _varies(optima[name])] or ["paper"]
    best = optima.groupby(others, dropna=False, sort=False)["value"].cummax()
    return (optima["value"] < best - OPTIMUM_TOLERANCE * best.abs()).reindex(table.index, fill_value=False)


#: Kinds of columns by the types of fields, which are texts here.
_KINDS = {
    "str": "str",
    "Method | str": "str",
    "Relation": "str",
    "float": "float64",
    "float | None": "float64",
    "int": "Int64",
    "int | None": "Int64",
    "bool": "bool",
}


def _columns(row: type) -> dict[str, str]:
    """Return the columns of a class of rows: its fields, with their kinds."""
    return {column.name: _KINDS[str(column.type)] for column in fields(row)}


@dataclass
class Result:
    """A row of `RESULTS`; without a status it is a measurement.

    The outputs (unless given) and the row sums of a channel enter the row. A bound that is passed by rounding
    becomes the value. By default the limit of the level is epsilon, and the level is its limit.
    """

    paper: str
    experiment: str
    size: str = field(default="", kw_only=True)  # of the instance, as in "6" or "2 x 5"; empty if it has none
    instance: str
    beta: float = field(default=math.nan, kw_only=True)  # significance level of the uncertainty set
    order: float = field(default=math.nan, kw_only=True)  # Renyi order, of the uncertainty set or the utility
    distortion: float = field(default=math.nan, kw_only=True)  # Hamming distortion allowed
    mechanism: str
    #: Privacy level or leakage asked for, in epsilon_unit; inf: none.
    epsilon: float = field(default=math.inf, kw_only=True)
    metric: str
    value: float  # what the mechanism achieves, in unit
    unit: str = field(kw_only=True)  # of value and bound: nats, bits or 1
    #: Which side of the value its bound is on: max above, min below, - none.
    direction: str = field(default="-", kw_only=True)
    #: No mechanism (of the class, if certified; at all, if not) passes it.
    bound: float = field(default=math.nan, kw_only=True)
    gap: float = field(init=False)  # distance of value and bound over the larger one
    certified: bool = field(init=False)  # an optimum, with a bound on its own class, whatever the gap is
    status: str = field(default=MEASURED, kw_only=True)
    outputs: int | None = field(default=None, kw_only=True)  # of the channel
    iterations: int | None = field(default=None, kw_only=True)
    #: What the channel is certified to guarantee, in epsilon_unit, and what it must guarantee.
    privacy: float | None = field(default=None, kw_only=True)
    privacy_limit: float | None = field(default=None, kw_only=True)
    # Level of the sensitive S for those who know the useful U, in epsilon_unit: what is asked for (inf:
    # nothing), and that of the channel; missing where inputs are no pairs (s, u), or there is no channel.
    conditional_epsilon: float = field(default=math.inf, kw_only=True)
    conditional_privacy: float = field(default=math.nan, kw_only=True)
    epsilon_unit: str = field(default="nats", kw_only=True)
    row_sum_error: float = field(init=False)
    #: What ran, of an optimum: class, engine, regime and fallbacks; else empty.
    method: Method | str = field(default=UNKNOWN, kw_only=True)
    note: str = field(default="", kw_only=True)
    channel: InitVar[Channel | None] = field(default=None, kw_only=True)

    def __post_init__(self, channel: Channel | None) -> None:
        self.value, self.bound, self.epsilon = float(self.value), float(self.bound), float(self.epsilon)
        self.conditional_epsilon = float(self.conditional_epsilon)
        self.conditional_privacy = float(self.conditional_privacy)
        close = abs(self.value - self.bound) <= ROUNDING * (1.0 + abs(self.bound))
        if close and (self.value > self.bound) == (self.direction == "max"):
            self.bound = self.value
        self.gap, self.certified = relative_gap(self.value, self.bound), self.status in (OPTIMAL, BOUNDED)
        self.privacy_limit = float(self.epsilon if self.privacy_limit is None else self.privacy_limit)
        self.privacy = float(self.privacy_limit if self.privacy is None else self.privacy)
        self.method = str(self.method)
        self.row_sum_error = 0.0 if channel is None else channel.row_sum_error
        if channel is not None:
            self.outputs = channel.n_outputs if self.outputs is None else self.outputs


RESULTS = Schema(
    name="result",
    columns=_columns(Result),
    key=(
        "paper",
        "experiment",
        "size",
        "instance",
        "beta",
        "order",
        "distortion",
        "mechanism",
        "epsilon",
        "conditional_epsilon",
        "metric",
    ),
    rules=_result_rules,
)


def relative_gap(value: float, bound: float) -> float:
    """Return the distance of value and bound over the larger one, 0 when they agree; nan without a bound."""
    if math.isnan(bound):
        return math.nan
    return abs(bound - value) / max(abs(value), abs(bound)) if bound != value else 0.0


# Checks ---------------------------------------------------------------------------------------------------


def _check_rules(table: pd.DataFrame) -> Iterator[tuple[Any, str]]:
    yield table["measured"].isna() | table["limit"].isna(), "has no number to compare"
    yield ~table["relation"].isin(get_args(Relation)), "has the unknown relation {relation}"
    yield ~table["unit"].isin(UNITS), "has the unknown unit {unit}"
    yield ~(table["tolerance"] >= 0), "has the tolerance {tolerance}; a tolerance is 0 or more"
    yield table["holds"] != which_hold(table), "says holds: {holds}, which its numbers contradict"


def which_hold(table: pd.DataFrame) -> pd.Series[bool]:
    """Return which rows of a table of checks hold, by their numbers."""
    numbers = (table[name] for name in ("measured", "relation", "limit", "tolerance"))
    return pd.Series([_holds(*row) for row in zip(*numbers, strict=True)], table.index, dtype=bool)


def _holds(measured: float, relation: str, limit: float, tolerance: float) -> bool:
    if relation == "<=":
        return measured <= limit + tolerance
    if relation == ">=":
        return measured >= limit - tolerance
    # Infinities are equal and have no distance.
    return measured == limit or abs(measured - limit) <= tolerance


@dataclass
class Check:
    """A row of `CHECKS`; whether it holds follows from the numbers."""

    paper: str
    claim: str  # of the ledger
    size: str = field(default="", kw_only=True)
    instance: str
    order: float = field(default=math.nan, kw_only=True)  # Renyi order, where there is one
    quantity: str  # what is measured, in words
    measured: float
    relation: Relation  # what must hold: measured (relation) limit
    limit: float  # stated, or found on an independent path
    tolerance: float = field(default=0.0, kw_only=True)  # absolute
    holds: bool = field(init=False)
    unit: str = field(default="1", kw_only=True)
    #: What `at` is a value of, as in epsilon or distortion; empty if nothing.
    parameter: str = field(default="", kw_only=True)
    at: float = field(default=math.nan, kw_only=True)  # where an extreme over a grid occurs
    note: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        for name in ("measured", "limit", "tolerance", "at"):
            setattr(self, name, float(getattr(self, name)))
        self.holds = bool(_holds(self.measured, self.relation, self.limit, self.tolerance))


CHECKS = Schema(
    name="check",
    columns=_columns(Check),
    key=("paper", "claim", "size", "instance", "order", "quantity"),
    rules=_check_rules,
)


# Printed numbers ------------------------------------------------------------------------------------------


def _printed_rules(table: pd.DataFrame) -> Iterator[tuple[Any, str]]:
    yield table["computed"].isna(), "has no computed value"
    yield (
        table["printed"].notna() & ~table["agrees"] & (table["note"] == ""),
        "differs from print without a note",
    )


@dataclass
class Printed:
    """A row of `PRINTED`; the note says why a number differs, and is dropped where it agrees."""

    paper: str
    where: str  # as in "Example 3" or "Table II"
    place: int  # of the quantity there
    quantity: str
    computed: float
    printed: float | None  # None: the paper prints none
    digits: int = field(kw_only=True)  # printed decimals
    agrees: bool = field(init=False)  # to the printed digits
    note: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        stated = math.nan if self.printed is None else float(self.printed)
        self.computed, self.printed = float(self.computed), stated
        self.agrees = abs(self.computed - stated) <= 0.5 * 10.0**-self.digits + 1e-9
        self.note = "" if self.agrees else self.note


#: What a paper prints, number by number, beside what was computed.
PRINTED = Schema(
    name="printed numbers", columns=_columns(Printed), key=("paper", "where", "place"), rules=_printed_rules
)

#: A row of any table.
Row = Result | Check | Printed | Mapping[str, Any]


def select(table: pd.DataFrame, **values: Any) -> pd.DataFrame:
    """Return the rows of a table whose columns have the values given, or one of the values of a list."""
    for column, wanted in values.items():
        table = table[table[column].isin(wanted if isinstance(wanted, list | tuple) else [wanted])]
    return table
