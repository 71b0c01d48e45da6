"""Which statements of section 8.1 of lopuhaa2024 hold on which pair of attributes.

They are decided as in the claims of that paper, which ask the same of all tables at once; here a bound that
leaves an answer open is heeded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from papers.lopuhaa2024.statements import ANSWERS, STATED, UNKNOWN, Decided, decide
from papers.lopuhaa2024.summaries import cells
from reproduction.results.tables import SKIPPED, Schema, select


def _answer_rules(table: pd.DataFrame) -> Iterator[tuple[Any, str]]:
    yield ~table["answer"].isin(ANSWERS), "has the unknown answer {answer}"
    yield ~table["statement"].isin([*STATED]), "has the unknown statement {statement}"


ATLAS = Schema(
    name="statements by pair",
    columns={
        "size": "str",
        "instance": "str",
        "beta": "float64",
        "order": "float64",
        "statement": "str",  # as in `lopuhaa2024.statements.STATED`
        "small": "bool",  # whether the table is one of those that the paper calls small
        "answer": "str",  # yes, no, or - where a mechanism is missing or its bound leaves the answer open
        "measured": "float64",  # what decides, by the values as found; missing where a mechanism is
    },
    key=("size", "instance", "beta", "order", "statement"),
    rules=_answer_rules,
)


def statements(atlas: pd.DataFrame, limits: Mapping[str, float]) -> pd.DataFrame:
    """Decide the statements of section 8.1 pair by pair.

    The `limits` are those of the claim on small tables, of up to ``small`` cells. PolyOpt's optimum lies
    between value and bound of its row: where an answer is not the same for all that it may be, it is open.
    """
    place = ["size", "instance", "beta", "order"]
    rows = []
    for key, part in select(atlas[atlas["status"] != SKIPPED], metric="nmi").groupby(place):
        where = dict(zip(place, key, strict=True)) | {"small": cells(str(key[0])) <= limits["small"]}
        for name, decided in _decided(part, limits).items():
            rows.append({**where, "statement": name, **decided._asdict()})
    return ATLAS.table(rows)


def _decided(rows: pd.DataFrame, limits: Mapping[str, float]) -> dict[str, Decided]:
    """Decide the statements on one pair, with PolyOpt as found and with what its bounds allow."""
    value, bound = (
        rows.pivot_table(side, "epsilon", "mechanism").sort_index() for side in ("value", "bound")
    )
    found = decide(value, limits)
    if "polyopt" not in value:
        return found
    # An answer depends on PolyOpt in one direction, or compares the lowest level with the highest.
    first = value.index == value.index[0]
    corners = [value["polyopt"].where(kept, bound["polyopt"]) for kept in (first, ~first, first & ~first)]
    others = [decide(value.assign(polyopt=corner), limits) for corner in corners]
    return {
        name: decided
        if all(other[name].answer == decided.answer for other in others)
        else decided._replace(answer=UNKNOWN)
        for name, decided in found.items()
    }
