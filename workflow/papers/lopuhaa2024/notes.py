"""What is written into the panels of lopuhaa2024: what is missing, and on how many tables they rest."""

from __future__ import annotations

from typing import Any

import pandas as pd

from papers.lopuhaa2024.catalogue import MECHANISMS
from reproduction.results.tables import SKIPPED, select


def absent(table: pd.DataFrame, rows: pd.DataFrame) -> str:
    """Say which mechanisms of other panels of Figure 2 a panel lacks, and why, in a line per reason.

    `table` has all rows of NMI, with the skipped ones, and `rows` those of the panel that have a value.
    """
    own = select(table, instance=rows["instance"].iloc[0], size=rows["size"].iloc[0], status=SKIPPED)
    reasons = dict(zip(own["mechanism"], own["note"], strict=True))
    missing = set(table.loc[table["value"].notna(), "mechanism"]) - set(rows["mechanism"])
    lines: dict[str, list[str]] = {}
    for name in MECHANISMS:
        if name in missing:
            lines.setdefault(reasons.get(name, "not computed here"), []).append(MECHANISMS[name].label)
    return "\n".join(f"{', '.join(labels)}: {reason}" for reason, labels in lines.items())


def tables(counts: pd.Series[Any]) -> str:
    """Say on how many random tables curves rest, by mechanism: all on as many, or which on fewer.

    There is a line per number, the largest one last.
    """
    most = int(counts.max())
    fewer: dict[int, list[str]] = {}
    for name in MECHANISMS:
        if counts.get(name, most) < most:
            fewer.setdefault(int(counts[name]), []).append(MECHANISMS[name].label)
    lines = [f"{', '.join(labels)}: {_number(count)}" for count, labels in fewer.items()]
    return "\n".join([*lines, f"{'others: ' if lines else ''}{_number(most)}"])


def _number(count: int) -> str:
    return f"{count} table{'s' if count > 1 else ''}"
