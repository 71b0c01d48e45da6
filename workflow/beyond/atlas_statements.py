"""Which statements of section 8.1 of lopuhaa2024 hold on which pair of attributes.

The claims of the ledger ask the same of all tables at once, by the numbers as they were found; here a bound
that leaves an answer open is heeded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from papers.lopuhaa2024.catalogue import MECHANISMS, STATED
from papers.lopuhaa2024.summaries import ANSWERS, NO, UNKNOWN, YES, cells
from reproduction.results.tables import SKIPPED, Schema, select

#: Of NMI: a mechanism is not below another one by rounding.
_ROUNDING = 1e-9


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
        "statement": "str",  # as in `catalogue.STATED`
        "small": "bool",  # whether the table is one of those that the paper calls small
        "answer": "str",  # yes, no, or - where a mechanism is missing or its bound leaves the answer open
        "measured": "float64",  # what decides, by the values as found; missing where a mechanism is
    },
    key=("size", "instance", "beta", "order", "statement"),
    rules=_answer_rules,
)


def statements(
    atlas: pd.DataFrame, small: int, slightly: float, marginal: float, clearly: float
) -> pd.DataFrame:
    """Decide the statements of section 8.1 pair by pair; tables of up to `small` cells count as small.

    PolyOpt's optimum lies between value and bound of its row: where the two disagree, so does the answer. The
    shares `slightly` and `marginal` are those by which IR may be below SRR and PolyOpt below NR at the
    highest level; IR is clearly above SRR if it is so by the share `clearly` in the median over the levels.
    """
    place = ["size", "instance", "beta", "order"]
    rows = []
    for key, part in select(atlas[atlas["status"] != SKIPPED], metric="nmi").groupby(place):
        where = dict(zip(place, key, strict=True)) | {"small": cells(str(key[0])) <= small}
        for name, decided in _decided(part, slightly, marginal, clearly).items():
            # A mechanism that is missing makes its numbers nan.
            open_ = np.isnan(decided.measured) or decided.surely != decided.possibly
            answer = UNKNOWN if open_ else YES if decided.surely else NO
            rows.append({**where, "statement": name, "answer": answer, "measured": decided.measured})
    return ATLAS.table(rows)


class _Decided(NamedTuple):
    """What decides, and whether the statement holds at the bad and at the good end of PolyOpt's interval."""

    measured: float
    surely: bool
    possibly: bool


def _decided(rows: pd.DataFrame, slightly: float, marginal: float, clearly: float) -> dict[str, _Decided]:
    """Decide the statements on one pair, by the names in `STATED`."""
    value, bound = (
        rows.pivot_table(side, "epsilon", "mechanism").sort_index().reindex(columns=[*MECHANISMS])
        for side in ("value", "bound")
    )
    nr, ir, srr, grr = (value[name] for name in ("nr", "ir", "srr", "grr"))
    low, high = value["polyopt"], bound["polyopt"]
    rival, share = value[["ir", "srr"]].max(axis=1, skipna=False), ir / srr
    least, most = low / rival, high / rival
    others = np.minimum(nr, np.minimum(ir, srr)) / grr

    def plain(measured: float, holds: bool) -> _Decided:
        return _Decided(float(measured), bool(holds), bool(holds))

    first, last = (share.iloc[i] for i in (0, -1))
    return {
        "polyopt_leads": _Decided(least.min(), least.min() > 1.0, most.min() > 1.0),
        "polyopt_leads_more": _Decided(
            least.iloc[0] / least.iloc[-1], least.iloc[0] > most.iloc[-1], most.iloc[0] > least.iloc[-1]
        ),
        "ir_leads_low": plain(first, first > 1.0),
        "ir_close_high": plain(last, 1.0 - slightly <= last < 1.0),
        "nr_leads": plain((low / nr).max(), (low / nr).max() <= 1.0 + _ROUNDING),
        "nr_close_high": _Decided(
            1.0 - low.iloc[-1] / nr.iloc[-1],
            1.0 - low.iloc[-1] / nr.iloc[-1] <= marginal,
            1.0 - high.iloc[-1] / nr.iloc[-1] <= marginal,
        ),
        "grr_last": _Decided(
            np.minimum(others, low / grr).min(skipna=False),
            np.minimum(others, low / grr).min() > 1.0,
            np.minimum(others, high / grr).min() > 1.0,
        ),
        "ir_clear": plain(share.median(), share.min() > 1.0 and share.median() > 1.0 + clearly),
    }
