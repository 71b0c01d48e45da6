"""What the tables of what the papers left open contain."""

from __future__ import annotations

from collections.abc import Iterator
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
