"""Questions that kairouz2016 leaves open: approximately private mechanisms on more than two letters."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from ldpfrontier.base.priors import generator
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.utility import FDivergence, MutualInformation
from ldpfrontier.promises.ldp import optimal_ldp
from reproduction.results.tables import Schema

_log = logging.getLogger(__name__)

#: The levels that are drawn, nats, uniformly, and the deltas, log-uniformly.
LEVELS, DELTAS = (0.3, 4.0), (0.02, 0.6)


def _rules(table: pd.DataFrame) -> Iterator[tuple[Any, str]]:
    for column in ("value", "mixture"):
        above = table[column] > table["bound"] * (1.0 + 1e-9)
        yield above, f"has a {column} of {{{column}}}, above the bound {{bound}}"


APPROXIMATE = Schema(
    name="approximate privacy",
    columns={
        "letters": "Int64",
        "utility": "str",
        "instance": "Int64",
        "epsilon": "float64",  # nats
        "delta": "float64",
        "value": "float64",  # of the optimum, in the unit of the utility
        "bound": "float64",  # on every (epsilon, delta)-LDP mechanism
        "mixture": "float64",  # of the truth with probability delta, else the optimum of delta 0
    },
    key=("letters", "utility", "instance"),
    rules=_rules,
    finite=("value", "bound", "mixture"),
)


def approximate(*, letters: int, instances: int, seed: int) -> pd.DataFrame:
    """Compare optima with the mixture of the truth and the optimum of delta 0, at random instances.

    Distributions are uniform on the simplex. An instance has one distribution for mutual information and two
    for the f-divergences, and one level and delta for all of them.
    """
    rows = []
    for instance in range(instances):
        rng = generator(seed, "approximate", letters, instance)
        p, q = rng.dirichlet(np.ones(letters), size=2)
        epsilon, delta = rng.uniform(*LEVELS), np.exp(rng.uniform(*np.log(DELTAS)))
        utilities = {
            "mutual information": MutualInformation(p),
            "kl": FDivergence(p, q, kind="kl"),
            "tv": FDivergence(p, q, kind="tv"),
            "chi2": FDivergence(p, q, kind="chi2"),
        }
        for name, utility in utilities.items():
            best = optimal_ldp(utility, epsilon, delta)
            truth, nothing = utility(Channel(np.eye(letters))), optimal_ldp(utility, epsilon).value
            rows.append(
                {
                    "letters": letters,
                    "utility": name,
                    "instance": instance,
                    "epsilon": epsilon,
                    "delta": delta,
                    "value": best.value,
                    "bound": best.bound,
                    "mixture": delta * truth + (1.0 - delta) * nothing,
                }
            )
    _log.info("%d letters: %d instances", letters, instances)
    return APPROXIMATE.table(rows)
