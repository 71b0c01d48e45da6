"""The random instances of kairouz2016 as utilities of a channel."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ldpfrontier.model.utility import FDivergence, Kind, MutualInformation
from papers.kairouz2016.instances import PAIR, PRIOR, UTILITIES
from reproduction.data.populations import arrays
from reproduction.results.tables import select

InstanceUtility = MutualInformation | FDivergence


def measures(
    table: pd.DataFrame,
    utility: str,
    size: int,
    *,
    numbers: Sequence[int] | None = None,
    concentration: float | None = None,
) -> list[tuple[int, InstanceUtility]]:
    """Return the instances of one utility and size, as utilities of a channel, each with its number.

    Those of some `numbers`, or all, are chosen, and of a table with several concentrations those of one. A
    table that lacks one is refused.
    """
    if utility not in UTILITIES:
        raise ValueError(f"The utility is {utility!r}; allowed are {', '.join(UTILITIES)}.")
    rows = select(table, population=PRIOR if utility == "mutual_information" else PAIR, size=str(size))
    if concentration is not None:
        rows = select(rows, concentration=concentration)
    if numbers is not None:
        rows = select(rows, instance=list(numbers))
    found = rows["instance"].unique().tolist()
    if not found or len(found) < len(numbers or ()):
        raise ValueError(f"The population lacks instances for {utility} with {size} inputs.")
    drawn = zip(found, arrays(rows), strict=True)
    if utility == "mutual_information":
        return [(number, MutualInformation(prior)) for number, (prior,) in drawn]
    kind: Kind = utility  # type: ignore[assignment]
    return [(number, FDivergence(p0, p1, kind)) for number, (p0, p1) in drawn]
