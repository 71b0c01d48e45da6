"""The pairs of attributes of the atlas."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from papers.lopuhaa2024.pairs import DATA
from reproduction.data.catalogue import attributes

#: The pairs of the atlas: every ordered one of the attributes of `DATA`.
ALL = "all"


def atlas_pairs(configuration: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the pairs of the atlas."""
    pairs = configuration["frontier"]["atlas"]["pairs"]
    if pairs != ALL:
        return list(pairs)
    names = itertools.permutations(attributes(DATA, configuration), 2)
    return [{"sensitive": sensitive, "useful": useful} for sensitive, useful in names]
