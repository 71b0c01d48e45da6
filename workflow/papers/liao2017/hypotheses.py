"""Tables I and II of liao2017: the hypotheses, and what the word "close" of Table I stands for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ldpfrontier.hypothesis_testing.hypotheses import Hypotheses
from ldpfrontier.model.information import BITS, total_variation
from reproduction.results.tables import Row, Schema

#: Letters that the table has room for: as many as the certified optimum supports.
LETTERS = 5

HYPOTHESES = Schema(
    name="hypotheses",
    columns={
        "table": "str",  # of the paper, or "ours"
        "instance": "str",
        "hypothesis": "Int64",  # k of p_k, from 1; the first is told apart from the others
        **{f"p{i}": "float64" for i in range(1, LETTERS + 1)},  # of the letters; missing beyond the last one
        "from_first": "float64",  # total variation from p_1
        "from_uniform": "float64",  # total variation from the uniform distribution
        "entropy": "float64",  # bits
        "divergence": "float64",  # D(p_k || p_1), bits
    },
    key=("table", "instance", "hypothesis"),
)


def hypotheses(instances: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Tabulate the hypotheses, shape (m, M), of instances with a name and a table: a row for each.

    An instance that has no distributions, or more than 5 letters, is named in the error.
    """
    return HYPOTHESES.table(row for instance in instances for row in _rows(instance))


def _rows(instance: Mapping[str, Any]) -> Iterator[Row]:
    try:
        tested = Hypotheses(instance["hypotheses"])
    except ValueError as reason:
        raise ValueError(f"{instance['name']}: {reason}") from None
    if tested.letters > LETTERS:
        raise ValueError(f"{instance['name']} has {tested.letters} letters; allowed are at most {LETTERS}.")
    uniform = np.full(tested.letters, 1.0 / tested.letters)
    divergences = [0.0, *tested.divergences]
    for k, p in enumerate(tested.distributions):
        padded = [*p, *[math.nan] * (LETTERS - tested.letters)]
        yield {
            "table": instance["table"],
            "instance": instance["name"],
            "hypothesis": k + 1,
            **{f"p{i}": x for i, x in enumerate(padded, start=1)},
            "from_first": total_variation(p, tested.distributions[0]),
            "from_uniform": total_variation(p, uniform),
            "entropy": tested.entropies[k] * BITS,
            "divergence": divergences[k] * BITS,
        }
