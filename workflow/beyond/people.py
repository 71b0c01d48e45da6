"""Tables about what reports are for: how many people an estimate needs, and what is disclosed.

So many people must report that the *standard error* is one percentage point: the root of the mean, over all
numbers that are estimated, of their squared errors is 0.01. With k numbers, that is n MSE / k people, times
10,000.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from beyond.catalogue import (
    ABOUT_SENSITIVE,
    ABOUT_USEFUL,
    CELLS,
    ERRORS,
    FOR_SENSITIVE,
    SENSITIVE,
    designed,
)
from papers.lopuhaa2024.catalogue import MECHANISMS, PLACE
from reproduction.results.tables import OPTIMUM_TOLERANCE, SKIPPED, Schema, select

#: The standard error for which people are counted.
STANDARD_ERROR = 0.01

#: By how much information may pass its limits by rounding, nats.
_ROUNDING = 1e-9

_KEY = (*PLACE, "epsilon", "mechanism", "conditional_epsilon")


def _people_rules(table: pd.DataFrame) -> Iterator[tuple[Any, str]]:
    yield ~table["target"].isin(ERRORS), "has the unknown target {target}"
    yield (
        table["determined"] != np.isfinite(table["error"]),
        "contradicts itself: error {error}, determined {determined}",
    )
    yield table["error"] < table["bound"], "has the error {error}, below its bound {bound}"
    # What no mechanism of a promise passes, a mechanism with this promise does not.
    trusting = [name for name, mechanism in MECHANISMS.items() if not mechanism.robust]
    for target, best, exempt in ((CELLS, designed("set"), trusting), (SENSITIVE, FOR_SENSITIVE, [])):
        rows = table[(table["target"] == target) & ~table["mechanism"].isin(exempt)]
        of_best = select(rows, mechanism=best, conditional_epsilon=math.inf)
        limits = of_best.set_index([*PLACE, "epsilon"])["bound"].rename("least")
        limit = rows.join(limits, on=[*PLACE, "epsilon"])["least"]
        below = rows["error"] < limit * (1.0 - OPTIMUM_TOLERANCE)
        yield (
            below.reindex(table.index, fill_value=False),
            f"has the error {{error}}, below the bound of all mechanisms, that of {best}",
        )


PEOPLE = Schema(
    name="people",
    columns={
        **PLACE,
        "epsilon": "float64",
        "mechanism": "str",
        "conditional_epsilon": "float64",  # conditional level asked for, nats; inf: no demand
        "target": "str",  # what is estimated: the probabilities of all cells, or the distribution of S
        "determined": "bool",  # whether the reports determine it, so that it can be estimated
        "error": "float64",  # n MSE under P-hat; inf if it cannot be estimated
        "bound": "float64",  # that no mechanism with this promise is below; missing of what is no least error
        "people": "float64",  # for a standard error of one percentage point; inf as above
    },
    key=(*_KEY, "target"),
    rules=_people_rules,
)


def _disclosure_rules(table: pd.DataFrame) -> Iterator[tuple[Any, str]]:
    parts = ("sensitive", "useful_given", "useful", "sensitive_given")
    for part in parts:
        yield table[part] < 0.0, f"has the information {{{part}}}, below 0"
        yield (
            table[part] > table["information"] + _ROUNDING,
            f"tells {{{part}}}, more than all that it tells, {{information}}",
        )
    # Every mechanism here is private under P-hat.
    yield table["sensitive"] > table["epsilon"], "tells {sensitive} about S, more than its level allows"


DISCLOSURE = Schema(
    name="disclosure",
    columns={
        **PLACE,
        "epsilon": "float64",
        "mechanism": "str",
        "conditional_epsilon": "float64",  # as above
        "nmi": "float64",
        # Under P-hat, in nats.
        "information": "float64",  # I(X; Y)
        "sensitive": "float64",  # I(S; Y)
        "useful_given": "float64",  # I(U; Y | S) = I(X; Y) - I(S; Y)
        "useful": "float64",  # I(U; Y)
        "sensitive_given": "float64",  # I(S; Y | U) = I(X; Y) - I(U; Y)
    },
    key=_KEY,
    rules=_disclosure_rules,
)


def people(fig2: pd.DataFrame, promises: pd.DataFrame, estimation: pd.DataFrame) -> pd.DataFrame:
    """Count the people whom mechanisms of Figure 2, optima of six promises, and least errors need.

    What is in two tables is taken from the first one.
    """
    rows = _rows_once(fig2, promises, estimation, metrics=[*ERRORS.values()])
    targets = {metric: target for target, metric in ERRORS.items()}
    frame = rows[[*_KEY, "bound"]].assign(
        target=rows["metric"].map(targets), error=rows["value"], determined=np.isfinite(rows["value"])
    )
    sizes = frame["size"].str.split(" x ", expand=True).astype(int)
    numbers = sizes[0] * sizes[1].where(frame["target"] == CELLS, 1)
    return PEOPLE.conform(frame.assign(people=frame["error"] / numbers / STANDARD_ERROR**2))


def disclosure(fig2: pd.DataFrame, promises: pd.DataFrame) -> pd.DataFrame:
    """Split what reports tell into what is about S and about U, for mechanisms that are made for information.

    What is in two tables is taken from the first one.
    """
    metrics = ["nmi", "mutual_information", ABOUT_SENSITIVE, ABOUT_USEFUL]
    rows = _rows_once(fig2, promises, metrics=metrics)
    wide = rows.pivot_table("value", [*_KEY], "metric", aggfunc="first")
    frame = pd.DataFrame({"nmi": wide["nmi"], "information": wide["mutual_information"]})
    for part, other in (("sensitive", ABOUT_SENSITIVE), ("useful", ABOUT_USEFUL)):
        frame[part] = wide[other]
    # What is nothing is 0 to rounding.
    frame["useful_given"] = np.maximum(frame["information"] - frame["sensitive"], 0.0)
    frame["sensitive_given"] = np.maximum(frame["information"] - frame["useful"], 0.0)
    return DISCLOSURE.conform(frame.reset_index())


def _rows_once(*tables: pd.DataFrame, metrics: list[str]) -> pd.DataFrame:
    """Return the rows of metrics that were not skipped, each from the first table that has it."""
    rows = pd.concat(tables, ignore_index=True)
    rows = rows[(rows["status"] != SKIPPED) & rows["metric"].isin(metrics)]
    return rows.drop_duplicates([*_KEY, "metric"])
