"""The random instances of kairouz2016: priors P, and pairs P0, P1, uniform on the simplex or nearly so.

The paper does not say how it drew them. Here P is drawn from a symmetric Dirichlet distribution, whose
concentration is a choice; 1 is uniform on the simplex.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pandas as pd

from ldpfrontier.base.priors import dirichlet
from reproduction.data.populations import POPULATION, rows_of

PAPER = "kairouz2016"

#: Utilities by their name in the tables: mutual information, and the f-divergences.
UTILITIES = ("mutual_information", "kl", "tv", "chi2", "hellinger")

#: The populations, with the number of distributions of an instance: a prior for mutual information, and a
#: pair for all f-divergences.
PRIOR, PAIR = f"{PAPER}/prior", f"{PAPER}/pair"
_DISTRIBUTIONS = {PRIOR: 1, PAIR: 2}

_LOG = logging.getLogger(__name__)


def instance_name(instance: int) -> str:
    """Name an instance in the tables, as in ``"017"``."""
    return f"{instance:03d}"


def instances(size: int, numbers: Sequence[int], *, seed: int, concentration: float = 1.0) -> pd.DataFrame:
    """Draw the priors and pairs of one size with some numbers from a symmetric Dirichlet distribution.

    The populations are `PRIOR`, of one row per instance, and `PAIR`, of the rows P0 and P1.
    """
    found = []
    for name, count in _DISTRIBUTIONS.items():
        drawn = [dirichlet(seed, name, size, i, count=count, concentration=concentration) for i in numbers]
        columns = {"population": name, "size": str(size), "concentration": concentration, "seed": seed}
        found.append(rows_of(numbers, drawn, **columns))
    _LOG.info("%d inputs: %d instances", size, len(numbers))
    return POPULATION.conform(pd.concat(found))


def fresh_instances(
    sizes: Sequence[int],
    groups: Sequence[int],
    *,
    seed: int,
    concentration: float = 1.0,
    instances_per_group: int = 100,
) -> pd.DataFrame:
    """Draw instances as `instances` does, of several sizes: group g has those from 100 g to 100 g + 99."""
    numbers = [g * instances_per_group + i for g in groups for i in range(instances_per_group)]
    drawn = [instances(size, numbers, seed=seed, concentration=concentration) for size in sizes]
    return POPULATION.conform(pd.concat(drawn)) if drawn else POPULATION.table([])
