"""Certificates of the optima of the first instances of Figures 6 and 7, which anyone can check."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypedDict

import pandas as pd

from ldpfrontier.certificates.local import ldp_certificate
from ldpfrontier.optimal.listed.ldp import optimal_ldp
from ldpfrontier.optimum import Optimum
from ldpfrontier.utility import MutualInformation
from papers.kairouz2016 import experiments
from papers.kairouz2016.instances import PAPER, instance_name
from papers.kairouz2016.measures import measures
from reproduction.results.certificates import DOCUMENTS, document_row
from reproduction.results.tables import Row


class Effort(TypedDict):
    """Arguments of `optimal_ldp`."""

    tolerance: float
    max_rounds: int


# More than eight parameters: they are the keys of the configuration that reach a job by name.
def sweep(
    instances: pd.DataFrame,
    utility: str,
    size: int,
    numbers: Sequence[int],
    epsilons: Sequence[float],
    *,
    mechanisms: Sequence[str] = experiments.MECHANISMS,
    certificates: int,
    tolerance: float = 1e-9,
    max_rounds: int = 1000,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows of `experiments.sweep`, and certificates of the optima of the first instances.

    These are the instances whose numbers are below `certificates`.
    """
    effort: Effort = {"tolerance": tolerance, "max_rounds": max_rounds}
    results = experiments.sweep(instances, utility, size, numbers, epsilons, mechanisms=mechanisms, **effort)
    first = [number for number in numbers if number < certificates]
    return results, DOCUMENTS.table(_documents(instances, utility, size, first, epsilons, effort))


def _documents(
    instances: pd.DataFrame,
    utility: str,
    size: int,
    numbers: Sequence[int],
    epsilons: Sequence[float],
    effort: Effort,
) -> Iterator[Row]:
    """Yield the documents of the optima of some instances."""
    for number, measure in measures(instances, utility, size, numbers=numbers) if numbers else ():
        assert isinstance(measure, MutualInformation)
        optimum: Optimum | None = None
        for epsilon in epsilons:
            # As in `experiments.sweep`, so that the optima are those of the figures.
            start = optimum.channel if optimum else None
            optimum = optimal_ldp(measure, epsilon, start=start, **effort)
            yield document_row(
                paper=PAPER,
                experiment=utility,
                size=str(size),
                instance=instance_name(number),
                mechanism="optimal",
                epsilon=epsilon,
                value=optimum.value,
                bound=optimum.upper_bound,
                document=ldp_certificate(optimum, measure, epsilon),
            )
