"""The pairs of attributes of a study."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from papers.lopuhaa2024.pairs import DATA
from reproduction.data.catalogue import attributes

#: The pairs of a study: every ordered one of the attributes of `DATA`.
ALL = "all"


def pairs_of(study: str, configuration: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the pairs of a study: those that it lists, all of `DATA`, or the first ones of lopuhaa2024."""
    pairs = configuration["frontier"][study]["pairs"]
    if isinstance(pairs, int):
        return list(configuration["lopuhaa2024"]["pairs"][:pairs])
    if pairs != ALL:
        return list(pairs)
    names = itertools.permutations(attributes(DATA, configuration), 2)
    return [{"sensitive": sensitive, "useful": useful} for sensitive, useful in names]
