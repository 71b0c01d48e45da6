"""Tables of lopuhaa2024 that are made from its tables: orderings, quartiles and means.

NMI is I(X; Y) / H(X) under the estimate P-hat. In the tables of orderings it has a column per
mechanism, missing where the mechanism was skipped or not asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.typing import SeriesGroupBy

from papers.lopuhaa2024.catalogue import COVERED, MECHANISMS, OF_THE_PAPER
from papers.lopuhaa2024.solution import result_rows
from papers.lopuhaa2024.statements import ANSWERS, AT_LEVELS, NO, YES, at_levels
from reproduction.results.batches import Rows, batches_of, gather
from reproduction.results.tables import PRIVACY_TOLERANCE, RESULTS, SKIPPED, Schema

_SETTING = ["size", "beta", "order"]
_INSTANCE = ["size", "instance", "beta", "order", "epsilon"]
_KEY = [*_SETTING, "mechanism", "epsilon"]

_COLUMNS: Mapping[str, str] = {
    "size": "str",
    "instance": "str",
    "beta": "float64",
    "order": "float64",
    "mechanism": "str",
    "epsilon": "float64",
}


def _columns(key: Sequence[str], **others: str) -> dict[str, str]:
    return {name: _COLUMNS[name] for name in key} | others


def cells(size: str) -> int:
    """Return the number of cells of a table of counts of a size, as in ``"2 x 5"`` or ``"2 x 5 (name)"``."""
    return math.prod(int(number) for number in size.partition(" (")[0].split(" x "))


def small_first(size: str) -> tuple[int, str]:
    """Return the key that sorts sizes by the number of cells."""
    return cells(size), size


def require_one(table: pd.DataFrame, *columns: str) -> None:
    """Refuse a table that would mix several values of a column; the sentence names these."""
    for name in columns:
        values = table[name].unique()
        if len(values) > 1:
            found = ", ".join(map(str, values))
            raise ValueError(f"The table would mix several values of {name}: {found}; select one.")


# Orderings ------------------------------------------------------------------------------------------------


def _answer_rules(table: pd.DataFrame) -> Iterator[tuple[Any, str]]:
    for name in AT_LEVELS:
        yield ~table[name].isin(ANSWERS), f"has the unknown answer {{{name}}} to {name}"


_RANKED = {**dict.fromkeys(MECHANISMS, "float64"), "ranking": "str", **dict.fromkeys(AT_LEVELS, "str")}

ORDERINGS = Schema(
    name="orderings", columns=_columns(_INSTANCE, **_RANKED), key=tuple(_INSTANCE), rules=_answer_rules
)

MEAN_ORDERINGS = Schema(
    name="orderings of means",
    columns=_columns([*_SETTING, "epsilon"], instances="Int64", **_RANKED),
    key=(*_SETTING, "epsilon"),
    rules=_answer_rules,
)


def fig2(solutions: Rows) -> pd.DataFrame:
    """Return the mutual information of the mechanisms on tables of counts (lopuhaa2024, Figure 2).

    Every mechanism has the metrics ``mutual_information`` (nats, under P-hat) and ``nmi`` (divided by H(X)),
    with certificates as in `Solution`. What is not robust has ``worst_case_epsilon``, its level over F in
    nats, where it was measured; epsilon does not limit it. The level for insiders is the column
    `conditional_privacy`.
    """
    return RESULTS.table(result_rows(batches_of(solutions), "fig2"))


def orderings(fig2: pd.DataFrame) -> pd.DataFrame:
    """Rank the mechanisms of Figure 2 by NMI, beside what section 8.1 of the paper says of them.

    The result has the NMI of every mechanism; `ranking`, the best one first; and whether the statements hold
    (`statements.at_levels`).
    """
    return ORDERINGS.conform(_rank(_wide(fig2, "value", _INSTANCE)).reset_index())


def mean_orderings(synthetic: Rows) -> pd.DataFrame:
    """Rank the mechanisms by their mean NMI (lopuhaa2024, section 8.2).

    Means are over the `instances` of a size that all its mechanisms of the paper were computed on. Other
    mechanisms have a mean if they were computed on the same instances.
    """
    rows = _computed_rows(synthetic, "nmi")
    own = rows[rows["mechanism"].isin(OF_THE_PAPER)]
    made = own.groupby([*_SETTING, "instance"])["mechanism"].nunique().rename("made").reset_index()
    made = made[made["made"] == made.groupby(_SETTING)["made"].transform("max")]
    groups = _wide(rows.merge(made), "value", _INSTANCE).groupby([*_SETTING, "epsilon"])
    ranked = _rank(groups.mean().where(groups.count().eq(groups.size(), axis=0)))
    return MEAN_ORDERINGS.conform(ranked.assign(instances=groups.size()).reset_index())


def _rank(wide: pd.DataFrame) -> pd.DataFrame:
    ranking = [" > ".join(_best_first(values)) for _, values in wide.iterrows()]
    return wide.assign(ranking=ranking).join(at_levels(wide))


def _best_first(values: pd.Series[float]) -> list[str]:
    """Return the mechanisms that have an NMI in a row, the best one first, equal ones by their names."""
    present = values[sorted(MECHANISMS)].astype("float64").dropna()
    return [str(name) for name in present.sort_values(ascending=False, kind="stable").index]


# How often F contains the truth -----------------------------------------------------------------------------

COVERAGE = Schema(
    name="coverage",
    columns={
        **_columns([name for name in _INSTANCE if name != "epsilon"]),
        "method": "str",  # of the radius: for many records, or for any number of them
        "truth": "str",
        "records": "Int64",  # of a sample
        "radius": "float64",  # of F, nats
        "covered": "float64",  # share of the samples whose F contains the truth
        "samples": "Int64",
    },
    key=("size", "instance", "beta", "order", "method", "truth", "records"),
    finite=("covered",),
)


# Figures 3 to 5 and Table 2 -------------------------------------------------------------------------------

_QUARTILES = dict.fromkeys(("low", "median", "high"), "float64")

FIG3 = Schema(
    name="mean NMI",
    columns=_columns(
        _KEY,
        instances="Int64",
        mean="float64",
        standard_error="float64",  # of the mean
        **_QUARTILES,
        bound="float64",  # mean of the certified upper bounds
    ),
    key=tuple(_KEY),
    finite=("mean", "bound"),
)

FIG4 = Schema(
    name="realized privacy",
    columns=_columns(
        _KEY,
        instances="Int64",
        **_QUARTILES,  # of eps*, nats
        largest="float64",
        kept="Int64",  # instances with eps* <= epsilon
        infinite="Int64",  # with eps* = inf
        covered="Int64",  # with P* in F
        largest_covered="float64",  # eps* among these; missing if there are none
    ),
    key=tuple(_KEY),
)

FIG5 = Schema(
    name="difference of utility",
    columns=_columns(
        _KEY,
        instances="Int64",
        smallest="float64",
        **_QUARTILES,
        largest="float64",
        extreme="float64",  # the largest absolute value
        positive="float64",  # share of the instances
    ),
    key=tuple(_KEY),
    finite=("extreme", "positive"),
)

TABLE2 = Schema(
    name="NMI by significance level",
    columns=_columns(
        _KEY,
        instances="Int64",
        nmi="float64",  # mean
        change="float64",  # relative to that at the largest beta of the table
    ),
    key=tuple(_KEY),
    finite=("nmi",),
)


def fig3(synthetic: Rows) -> pd.DataFrame:
    """Average the NMI over the instances (lopuhaa2024, Figure 3).

    A mechanism that was computed on fewer instances than another is averaged over these.
    """
    groups = _computed_rows(synthetic, "nmi").groupby(_KEY)
    value = groups["value"]
    frame = pd.DataFrame(
        {"instances": value.size(), "mean": value.mean(), "standard_error": value.sem().fillna(0.0)}
    )
    return FIG3.conform(frame.join(_quantiles(value)).assign(bound=groups["bound"].mean()).reset_index())


def fig4(synthetic: Rows) -> pd.DataFrame:
    """Summarize the realized privacy parameter eps* (lopuhaa2024, Figure 4 and section 8.3)."""
    rows = _computed_rows(synthetic, "realized_epsilon")
    rows = rows.assign(
        kept=rows["value"] <= rows["epsilon"] + PRIVACY_TOLERANCE,
        infinite=np.isinf(rows["value"]),
        covered=rows["note"] == COVERED,
    )
    groups = rows.groupby(_KEY)
    frame = pd.DataFrame({"instances": groups["value"].size()}).join(_quantiles(groups["value"]))
    frame["largest"] = groups["value"].max()
    frame = frame.join(groups[["kept", "infinite", "covered"]].sum())
    inside = rows[rows["covered"]].groupby(_KEY)["value"]
    return FIG4.conform(frame.assign(largest_covered=inside.max()).reset_index())


def fig5(synthetic: Rows, epsilon: float) -> pd.DataFrame:
    """Summarize the relative difference of utility under P-hat and under P* (lopuhaa2024, Figure 5)."""
    rows = _at_level(_computed_rows(synthetic, "utility_difference"), epsilon)
    groups = rows.assign(positive=rows["value"] > 0, absolute=rows["value"].abs()).groupby(_KEY)
    value = groups["value"]
    frame = pd.DataFrame(
        {
            "instances": value.size(),
            "smallest": value.min(),
            "largest": value.max(),
            "extreme": groups["absolute"].max(),
            "positive": groups["positive"].mean(),
        }
    )
    return FIG5.conform(frame.join(_quantiles(value)).reset_index())


def table2(beta: pd.DataFrame, epsilon: float) -> pd.DataFrame:
    """Average the NMI at one level by significance level (lopuhaa2024, Table 2 and section 8.5).

    Only instances that a mechanism was computed on at every beta count.
    """
    rows = _at_level(_computed_rows(beta, "nmi"), epsilon)
    by = [name for name in _KEY if name != "beta"]
    reached = rows.groupby([*by, "instance"])["beta"].transform("nunique")
    value = rows[reached == rows["beta"].nunique()].groupby(_KEY)["value"]
    frame = pd.DataFrame({"instances": value.size(), "nmi": value.mean()}).reset_index()
    first = frame.sort_values("beta", ascending=False).groupby(by)["nmi"].transform("first")
    return TABLE2.conform(frame.assign(change=frame["nmi"] / first.reindex(frame.index) - 1.0))


def _computed_rows(table: Rows, metric: str) -> pd.DataFrame:
    """Return the rows of a metric that were computed, with the columns that summaries use."""
    rows = gather(table, [*_COLUMNS, "metric", "value", "bound", "privacy", "status", "note"], metric=metric)
    return rows[rows["status"] != SKIPPED]


def _at_level(rows: pd.DataFrame, epsilon: float) -> pd.DataFrame:
    return rows[np.isclose(rows["epsilon"], epsilon)]


def _wide(table: pd.DataFrame, column: str, by: Sequence[str]) -> pd.DataFrame:
    """Return a column of the NMI rows with one column per mechanism of the catalogue."""
    wide = _computed_rows(table, "nmi").pivot_table(column, list(by), "mechanism", aggfunc="first")
    return wide.reindex(columns=list(MECHANISMS)).rename_axis(columns=None)


def quantile(values: Iterable[float], q: float) -> float:
    """Return the linearly interpolated quantile of numbers some of which may be inf."""
    ordered = np.sort(np.asarray(list(values), dtype=np.float64))
    place = q * (ordered.size - 1)
    below, weight = ordered[math.floor(place)], place - math.floor(place)
    above = ordered[math.ceil(place)]
    # inf - inf is not a number, and 0 inf is not either.
    return float(below if weight == 0 or below == above else below + weight * (above - below))


def _quantiles(values: SeriesGroupBy[Any, Any]) -> pd.DataFrame:
    quarters = zip(_QUARTILES, (0.25, 0.5, 0.75), strict=True)
    return pd.DataFrame({name: values.agg(partial(quantile, q=q)) for name, q in quarters})


# Tables to read -------------------------------------------------------------------------------------------


def table2_texts(table: pd.DataFrame, digits: int = 4) -> pd.DataFrame:
    """Lay Table 2 out for print: a row per size and mechanism, a column per beta, NMI as text."""
    require_one(table, "order", "epsilon")
    wide = table.pivot_table("nmi", ["size", "mechanism"], "beta")
    wide = wide[sorted(wide.columns, reverse=True)]
    change = (wide.iloc[:, -1] / wide.iloc[:, 0] - 1.0).map(lambda x: f"{100 * x:+.2f}%")
    texts = wide.map(lambda x: "" if pd.isna(x) else f"{x:.{digits}f}")
    texts.columns = pd.Index([f"beta = {beta:g}" for beta in wide.columns])
    rows = sorted(texts.index, key=lambda row: (small_first(row[0]), [*MECHANISMS].index(row[1])))
    texts = texts.assign(change=change).loc[rows].reset_index()
    return texts.assign(mechanism=[MECHANISMS[name].label for name in texts["mechanism"]])


def example_texts(table: pd.DataFrame) -> pd.DataFrame:
    """Lay the worked example out, with one more digit than the paper prints."""
    digits = table["digits"]
    return pd.DataFrame(
        {
            "where": table["where"],
            "quantity": table["quantity"],
            "computed": [f"{x:.{d + 1}f}" for x, d in zip(table["computed"], digits, strict=True)],
            "printed": [
                "-" if math.isnan(x) else f"{x:.{d}f}" for x, d in zip(table["printed"], digits, strict=True)
            ],
            "agrees": np.where(table["printed"].isna(), "", np.where(table["agrees"], YES, NO)),
            "note": table["note"],
        }
    )
