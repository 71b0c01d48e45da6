"""Distributions over many pairs of attributes: of the gain over PolyOpt, and of what promises cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from beyond.catalogue import CELLS, DESIGNS, designed
from papers.lopuhaa2024.summaries import cells
from reproduction.results.tables import Schema, select

#: The quantities: the NMI of the best mechanism found over F, and the bound on all of them, over that of a
#: mechanism whose level over F is at most epsilon; the share of the NMI of the promise to outsiders and
#: insiders; people for a standard error of one percentage point, and their number over that for outsiders.
GAIN, LARGEST_GAIN = "gain", "bound of the gain"
KEPT, NEEDED, TIMES = "share of information", "people", "times the people"

#: The pairs: those whose tables are small, or all.
SMALL, ALL_SIZES = "small", "all"

_PLACE = ["beta", "order", "epsilon"]
_SHARES = {"least": 0.0, "lower": 0.25, "median": 0.5, "upper": 0.75, "most": 1.0}


def _order_rules(table: pd.DataFrame) -> Iterator[tuple[Any, str]]:
    for less, more in zip([*_SHARES][:-1], [*_SHARES][1:], strict=True):
        yield ~(table[less] <= table[more]), f"has {less} {{{less}}} above {more} {{{more}}}"


DISTRIBUTION = Schema(
    name="distribution over pairs",
    columns={
        "beta": "float64",
        "order": "float64",
        "epsilon": "float64",
        "quantity": "str",
        "name": "str",  # of the mechanism, the promise or the design
        "tables": "str",  # of which pairs: small or all
        "pairs": "Int64",  # how many have the quantity
        # Over the pairs; quartiles are interpolated linearly between the two nearest pairs.
        **dict.fromkeys(_SHARES, "float64"),
    },
    key=("beta", "order", "epsilon", "quantity", "name", "tables"),
    rules=_order_rules,
)


def gain(calibrated: pd.DataFrame, small: int) -> pd.DataFrame:
    """Return the distribution of the gain of the best mechanism found over F, by the mechanism it is over.

    A pair on which a mechanism was skipped is not counted; tables of up to `small` cells count as small.
    """
    rows = calibrated[calibrated["nmi_calibrated"].notna()]
    rows = rows.assign(name=rows["mechanism"])
    return _distribution(
        {
            GAIN: rows.assign(value=rows["exact"] / rows["nmi_calibrated"]),
            LARGEST_GAIN: rows.assign(value=rows["bound"] / rows["nmi_calibrated"]),
        },
        small,
    )


def information(kept: pd.DataFrame, small: int) -> pd.DataFrame:
    """Return the distribution of the share of information that each promise keeps."""
    rows = kept[kept["kept"].notna()]
    return _distribution({KEPT: rows.assign(value=rows["kept"], name=rows["promise"])}, small)


def people(people: pd.DataFrame, small: int) -> pd.DataFrame:
    """Return the distribution of the people that estimates of all cells need, by promise.

    Only least errors count, which are named by their promises.
    """
    rows = select(people, target=CELLS, conditional_epsilon=math.inf)
    of_promise = {designed(name): name for name in DESIGNS}
    rows = rows[rows["mechanism"].isin(of_promise)]
    rows = rows.assign(name=rows["mechanism"].map(of_promise), value=rows["people"])
    place = ["size", "instance", *_PLACE]
    fewest = select(rows, name="set").set_index(place)["people"].rename("fewest")
    times = rows.join(fewest, on=place, how="inner")
    return _distribution({NEEDED: rows, TIMES: times.assign(value=times["people"] / times["fewest"])}, small)


def _distribution(values: Mapping[str, pd.DataFrame], small: int) -> pd.DataFrame:
    """Return distributions of the columns `value` by `name`: of small tables, and of all if any is large."""
    parts = []
    for quantity, rows in values.items():
        is_small = rows["size"].map(cells) <= small
        over = {SMALL: rows[is_small]} | ({} if is_small.all() else {ALL_SIZES: rows})
        for tables, chosen in over.items():
            grouped = chosen.groupby([*_PLACE, "name"])["value"]
            shares = {name: grouped.quantile(share) for name, share in _SHARES.items()}
            part = pd.DataFrame({"pairs": grouped.size(), **shares}).reset_index()
            parts.append(part.assign(quantity=quantity, tables=tables))
    return DISTRIBUTION.conform(pd.concat(parts, ignore_index=True))
