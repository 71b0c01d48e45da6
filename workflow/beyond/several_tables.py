"""What the tables of several reports of one person say, and the rules that they keep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from papers.lopuhaa2024.catalogue import PLACE
from reproduction.results.tables import OPTIMUM_TOLERANCE, PRIVACY_TOLERANCE, Schema, select

#: How the mechanism of each report is chosen: so that the level of all together, which is computed, is the
#: total; for any others of its kind after it, by widened intervals; the optimum for anyone at the total over
#: the number of reports; and one report, which is kept and given again.
CALIBRATED, ADAPTIVE, ANYONE, ONCE = "calibrated", "adaptive", "anyone", "once"
CHOICES = (ONCE, CALIBRATED, ADAPTIVE, ANYONE)

#: The optimum over F with the same conditional level, of which "exact" is the name without it.
INSIDERS = "exact_and_insiders"


def _level_rules(table: pd.DataFrame) -> Iterator[tuple[Any, str]]:
    yield table["reports"] < 1, "has {reports} reports"
    for less, more in (
        ("given_useful", "acquaintances"),
        ("acquaintances", "anyone"),
        ("outsiders", "anyone"),
    ):
        yield table[less] > table[more] + PRIVACY_TOLERANCE, f"has the level {{{less}}} above {{{more}}}"
    one = select(table, reports=1).set_index([*PLACE, "epsilon", "mechanism"])
    keys = pd.MultiIndex.from_frame(table[list(one.index.names)])
    for attacker in ("given_useful", "anyone"):
        least = one[attacker].reindex(keys).to_numpy()
        added = table["reports"] * least
        # Infinite levels are equal.
        off = (table[attacker] != added) & ~np.isclose(
            table[attacker], added, rtol=1e-9, atol=PRIVACY_TOLERANCE
        )
        yield off, f"has the level {{{attacker}}}, which is not that of one report times {{reports}}"


SEVERAL_LEVELS = Schema(
    name="several_levels",
    columns={
        **PLACE,
        "epsilon": "float64",  # level that each report was asked for, nats
        "mechanism": "str",
        "reports": "Int64",
        # Levels of S in all reports together, nats.
        "outsiders": "float64",  # over F
        "given_useful": "float64",
        "acquaintances": "float64",  # over intervals of the odds ratios
        "anyone": "float64",
        "exact": "bool",  # whether the first and the third are the levels; if not, they are bounds
    },
    key=(*PLACE, "epsilon", "mechanism", "reports"),
    rules=_level_rules,
)


def _design_rules(table: pd.DataFrame) -> Iterator[tuple[Any, str]]:
    yield ~table["choice"].isin(CHOICES), "has the unknown choice {choice}"
    yield (
        table["level"] > table["total"] + PRIVACY_TOLERANCE,
        "has the level {level}, above the total {total}",
    )
    # One report at the total is the best of all mechanisms for acquaintances with this level.
    best = select(table, choice=ONCE).set_index([*PLACE, "total", "reports"])["nmi"].rename("best")
    above = table.join(best, on=[*PLACE, "total", "reports"])["best"]
    yield table["nmi"] > above * (1.0 + OPTIMUM_TOLERANCE), "tells {nmi}, more than one report at the total"


SEVERAL_DESIGNS = Schema(
    name="several_designs",
    columns={
        **PLACE,
        "total": "float64",  # level of all reports together that was asked for, nats
        "reports": "Int64",
        "choice": "str",  # how the mechanism of each report is chosen
        "epsilon": "float64",  # level of one report, nats
        "level": "float64",  # of all reports together for acquaintances, over the intervals, nats
        "nmi": "float64",  # of all reports together
    },
    key=(*PLACE, "total", "reports", "choice"),
    rules=_design_rules,
)
