"""Tables that say what a paper says, and tables that say something else: a `Case` for every claim.

A module per paper has `cases`, by the id of the claim. What is said instead is the opposite of the statement,
or misses it by somewhat more than the rule tolerates; its numbers are written here and are not taken from the
rule, so that a rule that becomes laxer is found out. Where the limits of a rule are in the function that
makes its table, that function makes the tables here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pandas as pd

from reproduction.results.tables import CHECKS, Check, select

Tables = Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class Case:
    """What the tables of a claim may say.

    The claim is reproduced by the tables in `said`, and not by those in `instead`, by what these say; by
    those in `read` with another reading, from which some of the others differ.
    """

    said: Tables
    instead: Mapping[str, Tables]
    read: Tables | None = None


def changed(
    table: pd.DataFrame,
    change: Callable[[pd.DataFrame], object] | float,
    column: str = "value",
    **where: object,
) -> pd.DataFrame:
    """Return a table with other numbers in the rows, one or more, that have the values given."""
    table = table.reset_index(drop=True)
    rows = select(table, **where)
    if rows.empty:
        raise ValueError(f"No row has {where}.")
    table.loc[rows.index, column] = change(rows) if callable(change) else change
    return table


def of_checks(
    claim: str, name: str, table: pd.DataFrame, instead: Mapping[str, Callable[[float], float] | float]
) -> Case:
    """Return the case of a claim that a table of checks, from the function that makes it in a run, decides.

    By the words that a quantity begins with, `instead` says what is measured in the first row of every kind,
    or how that follows from the limit there. The kinds must divide the quantities.
    """
    said = select(table, claim=claim).reset_index(drop=True)
    kinds = {kind: said.index[said["quantity"].str.startswith(kind)] for kind in instead}
    divided = sorted(row for rows in kinds.values() for row in rows) == [*said.index]
    if not divided or not all(map(len, kinds.values())):
        raise ValueError(f"The kinds {', '.join(kinds)} do not divide {', '.join(said['quantity'])}.")
    tables = {}
    for kind, (first, *_) in kinds.items():
        other = instead[kind]
        measured = other(float(said.loc[first, "limit"])) if callable(other) else other
        tables[kind] = {name: measuring(said, first, measured)}
    return Case({name: said}, tables)


def measuring(table: pd.DataFrame, row: int, measured: float) -> pd.DataFrame:
    """Return a table of checks with another number measured in one row, which decides whether it holds."""
    other = Check(**table.loc[row].drop("holds").to_dict() | {"measured": measured})
    return CHECKS.table([*table.drop(index=row).to_dict("records"), other])
