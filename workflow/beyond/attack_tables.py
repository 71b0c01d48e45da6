"""What the tables of attackers, who see one report of a person, say, and the rules that they keep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from beyond.catalogue import PROMISES
from beyond.several_tables import INSIDERS
from papers.lopuhaa2024.catalogue import PLACE
from reproduction.results.tables import PRIVACY_TOLERANCE, Schema

#: What an attacker knows about a person: nothing; that U is one of two values; the value of another
#: attribute, from which U can be guessed; or U.
NOTHING, ONE_OF_TWO, PROXY, USEFUL = "nothing", "one of two", "another attribute", "useful value"

#: The kinds of knowledge from which each mechanism protects at the level that was asked for.
PROTECTED = {
    "polyopt": (NOTHING,),
    "exact": (NOTHING,),
    INSIDERS: (NOTHING, USEFUL),
    PROMISES["set"].name: (NOTHING, ONE_OF_TWO, PROXY, USEFUL),
    PROMISES["anyone"].name: (NOTHING, ONE_OF_TWO, PROXY, USEFUL),
}

_PLACE = {**PLACE, "epsilon": "float64"}
_ATTACK = {
    **_PLACE,
    "mechanism": "str",
    "knows": "str",  # what kind of knowledge the attacker has
    "knowledge": "str",  # what the attacker knows
    "people": "float64",  # share of all people of whom it is true
    "value": "str",  # sensitive value of which the chance is computed
    "before": "float64",  # its chance for the attacker before any report
}
_KEY = (*_PLACE, "mechanism", "knows", "knowledge")

#: By how much the mean of the chances after a report may miss the chance before it, by rounding.
_ROUNDING = 1e-9


def _attack_rules(table: pd.DataFrame) -> Iterator[tuple[Any, str]]:
    for column in ("people", "before", "probability", "after"):
        yield (
            ~table[column].between(0.0, 1.0 + _ROUNDING),
            f"has {{{column}}} as {column}, which is no chance",
        )
    groups = [table[name] for name in _KEY]
    mean = (table["probability"] * table["after"]).groupby(groups).transform("sum")
    yield (mean - table["before"]).abs() > _ROUNDING, "has chances whose mean is not that before a report"
    protected = [
        knows in PROTECTED[name] for name, knows in zip(table["mechanism"], table["knows"], strict=True)
    ]
    yield (
        np.array(protected) & (table["change"].abs() > table["epsilon"] + PRIVACY_TOLERANCE),
        "changes the log odds by {change} for somebody from whom the mechanism protects",
    )


ATTACK = Schema(
    name="attack",
    columns={
        **_ATTACK,
        "report": "Int64",  # number of the output
        "probability": "float64",  # of this report, for such people
        "after": "float64",  # chance of the sensitive value for the attacker after the report
        "change": "float64",  # of the logarithm of its odds, nats; infinite if the report decides the value
    },
    key=(*_KEY, "report"),
    rules=_attack_rules,
)

ATTACKED = Schema(
    name="attacked",
    columns={
        **_ATTACK,
        "least": "float64",  # of the chances after a report
        "most": "float64",
        "change": "float64",  # largest absolute change of the logarithm of the odds, nats
        "beyond": "float64",  # share of the reports that change the odds by more than the factor exp(epsilon)
    },
    key=_KEY,
)
