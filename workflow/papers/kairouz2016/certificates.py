"""Certificates of the optima of the first instances of Figures 6 and 7, which anyone can check."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypedDict

import pandas as pd

from ldpfrontier.certificates.local import ldp_certificate
from ldpfrontier.model.optimum import Optimum
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.promises.ldp import optimal_ldp
from papers.kairouz2016.instances import PAPER, instance_name
from papers.kairouz2016.measures import measures
from reproduction.results.certificates import DOCUMENTS, OptimumPlace, document_row
from reproduction.results.tables import Row


class OptimumArguments(TypedDict):
    """Arguments of `optimal_ldp`."""

    tolerance: float
    max_rounds: int


def documents(
    instances: pd.DataFrame,
    utility: str,
    size: int,
    numbers: Sequence[int],
    epsilons: Sequence[float],
    *,
    tolerance: float = 1e-9,
    max_rounds: int = 1000,
) -> pd.DataFrame:
    """Return certificates of the optima of some instances, as `experiments.sweep` finds them."""
    effort: OptimumArguments = {"tolerance": tolerance, "max_rounds": max_rounds}
    return DOCUMENTS.table(_rows(instances, utility, size, numbers, epsilons, effort))


def _rows(
    instances: pd.DataFrame,
    utility: str,
    size: int,
    numbers: Sequence[int],
    epsilons: Sequence[float],
    effort: OptimumArguments,
) -> Iterator[Row]:
    """Yield the documents of the optima of some instances."""
    for number, measure in measures(instances, utility, size, numbers=numbers):
        assert isinstance(measure, MutualInformation)
        optimum: Optimum | None = None
        for epsilon in epsilons:
            # As in `experiments.sweep`, so that the optima are those of the figures.
            start = optimum.channel if optimum else None
            optimum = optimal_ldp(measure, epsilon, start=start, **effort)
            place = OptimumPlace(PAPER, utility, str(size), instance_name(number), "optimal", epsilon)
            document = ldp_certificate(optimum, measure, epsilon)
            yield document_row(place, optimum.value, optimum.upper_bound, document)
