"""What the tables of what the papers left open contain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd

from reproduction.results.tables import Schema


def _rules(table: pd.DataFrame) -> Iterator[tuple[Any, str]]:
    for column in ("value", "mixture"):
        above = table[column] > table["bound"] * (1.0 + 1e-9)
        yield above, f"has a {column} of {{{column}}}, above the bound {{bound}}"


APPROXIMATE = Schema(
    name="approximate privacy",
    columns={
        "letters": "Int64",
        "utility": "str",
        "instance": "Int64",
        "epsilon": "float64",  # nats
        "delta": "float64",
        "value": "float64",  # of the optimum, in the unit of the utility
        "bound": "float64",  # on every (epsilon, delta)-LDP mechanism
        "mixture": "float64",  # of the truth with probability delta, else the optimum of delta 0
    },
    key=("letters", "utility", "instance"),
    rules=_rules,
    finite=("value", "bound", "mixture"),
)


def _no_better(*columns: str) -> Callable[[pd.DataFrame], Iterator[tuple[Any, str]]]:
    """Return the rules of a table of optima: no value or comparison is above the bound."""

    def rules(table: pd.DataFrame) -> Iterator[tuple[Any, str]]:
        for column in ("value", *columns):
            above = table[column] > table["bound"] * (1.0 + 1e-9) + 1e-13
            yield above, f"has a {column} of {{{column}}}, above the bound {{bound}}"

    return rules


HYPOTHESES = Schema(
    name="several hypotheses",
    columns={
        "letters": "Int64",
        "instance": "str",
        "kind": "str",  # of the divergence
        "epsilon": "float64",  # nats
        "value": "float64",  # the largest least divergence over pairs, nats or 1
        "bound": "float64",
        "average": "float64",  # the least divergence of the mechanism of the best average
        "response": "float64",  # and of randomized response
        "single": "float64",  # the least optimum of one pair
    },
    key=("letters", "instance", "kind", "epsilon"),
    rules=_no_better("average", "response"),
    finite=("value", "bound", "average", "response", "single"),
)

ROBUST = Schema(
    name="robust tests",
    columns={
        "members": "str",  # what a ball is made of
        "instance": "str",
        "radius": "float64",
        "kind": "str",  # of the divergence
        "epsilon": "float64",  # nats
        "value": "float64",  # of the saddle point, from below, nats or 1
        "bound": "float64",
        "centres": "float64",  # the least divergence of the best mechanism for the centres, from below
        "pairs": "Int64",  # of distributions in the last linear program
    },
    key=("members", "instance", "radius", "kind", "epsilon"),
    rules=_no_better("centres"),
    finite=("value", "bound", "centres"),
)

DISTRIBUTED = Schema(
    name="two people",
    columns={
        "letters": "Int64",
        "instance": "str",
        "kind": "str",  # of the divergence
        "epsilon": "float64",  # nats
        "value": "float64",  # of the best pair of mechanisms, nats or 1
        "bound": "float64",
        "alone": "float64",  # of the mechanisms that are best for each person's own values
        "response": "float64",  # of randomized response for both
        "outputs": "Int64",  # the larger number of outputs of the best pair
    },
    key=("letters", "instance", "kind", "epsilon"),
    rules=_no_better("alone", "response"),
    finite=("value", "bound", "alone", "response"),
)
