"""What tables of the project's own results may say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from falsified import Case, Tables, changed

SIZES = ("2 x 5", "2 x 6")


def table(levels: Sequence[float] = (0.075, 1.0), **columns: Any) -> pd.DataFrame:
    """Build a table: the same columns on both small tables at every level."""
    rows = [
        {"size": size, "instance": f"of {size}", "epsilon": epsilon, **columns}
        for size in SIZES
        for epsilon in levels
    ]
    return pd.DataFrame(rows)


def one(name: str, said: pd.DataFrame, column: str, **instead: tuple[float, Mapping[str, Any]]) -> Case:
    """Return a case whose tables have, by what they say instead, another number in some rows."""
    others: dict[str, Tables] = {
        words.replace("_", " "): {name: changed(said, value, column, **where)}
        for words, (value, where) in instead.items()
    }
    return Case({name: said}, others)


def cases() -> dict[str, Case]:
    """Return what the tables of every claim may say."""
    calibrated = pd.concat(
        [
            table(mechanism="polyopt", nmi_calibrated=0.2, exact=0.4, bound=0.4001),
            table(mechanism="exact", nmi_calibrated=math.nan, exact=0.4, bound=0.4001),
        ]
    )
    promises = pd.concat(
        [
            table(promise="set", over_set=0.07, given_useful=0.075, one_of_two=0.07),
            table(promise="insiders", over_set=0.075, given_useful=0.075, one_of_two=math.log(50)),
        ]
    )
    attackers = pd.concat(
        [table(mechanism="polyopt", given_useful=math.inf), table(mechanism="srr", given_useful=0.1)]
    )
    low, set_ = {"size": "2 x 6", "epsilon": 0.075}, {"promise": "set", "epsilon": 0.075}
    given = one(
        "promises_kept", promises, "given_useful", insiders_are_told_more=(0.0751, {**set_, "size": "2 x 5"})
    )
    over = one("promises_kept", promises, "over_set", outsiders_are_told_more=(0.0751, set_))
    return {
        "F-1": one(
            "calibrated",
            calibrated,
            "nmi_calibrated",
            nearly_as_much=(0.39, {**low, "mechanism": "polyopt"}),
            by_1_88=(0.4 / 1.88, {**low, "mechanism": "polyopt"}),
        ),
        "F-2": one("calibrated", calibrated, "bound", loose=(0.4005, {**low, "mechanism": "exact"})),
        "F-3": Case(given.said, {**given.instead, **over.instead}),
        "F-4": one(
            "promises_kept",
            promises,
            "one_of_two",
            by_44=(math.log(44), {"promise": "insiders", "size": "2 x 6", "epsilon": 1.0}),
        ),
        "F-5": one("attackers", attackers, "given_useful", finite=(9.0, {**low, "mechanism": "polyopt"})),
    }
