"""The thresholds of kairouz2016: up to where binary is optimal, from where randomized response is."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from functools import partial

import pandas as pd

from ldpfrontier.engines.registry import LIMITS
from ldpfrontier.model.mechanisms import binary_mechanism
from ldpfrontier.model.utility import FDivergence
from ldpfrontier.promises.ldp import optimal_ldp
from ldpfrontier.promises.thresholds import (
    binary_domination_threshold,
    binary_threshold,
    randomized_response_threshold,
)
from papers.kairouz2016.instances import PAPER, instance_name
from papers.kairouz2016.measures import InstanceUtility, measures
from reproduction.results.tables import RESULTS, Result, Row, relative_gap

_LOG = logging.getLogger(__name__)


def thresholds(
    instances: pd.DataFrame,
    size: int,
    numbers: Sequence[int],
    *,
    utilities: Sequence[str] = ("kl", "chi2", "hellinger", "mutual_information"),
) -> pd.DataFrame:
    """Find the largest epsilon up to which binary is optimal, and the smallest from which RR is, in nats.

    At the threshold of binary itself, its optimality is certified by the optimum's upper bound, to the gap in
    the note. For the pair P0, P1 the metric ``all_f`` is the threshold of binary for every f-divergence at
    once (Theorem 5). The functions of `ldpfrontier.promises.thresholds` say what is exact. A threshold
    is inf if binary is optimal up to epsilon = 40, and if RR is not optimal there.

    The utilities are not ``tv``, for which binary is optimal at every epsilon. With more than 20 inputs there
    is no threshold of binary for mutual information: the optimum is then not known to 1e-9 on either side.
    """
    rows: list[Row] = []
    row = partial(Result, PAPER, "thresholds", size=str(size), unit="nats")
    for utility in utilities:
        for instance, measure in measures(instances, utility, size, numbers=numbers):
            _LOG.info("%d inputs, instance %d: %s", size, instance, utility)
            name = instance_name(instance)
            if isinstance(measure, FDivergence) or size <= LIMITS.max_listed_inputs:
                threshold = binary_threshold(measure)
                rows.append(row(name, "binary", utility, threshold, note=_note(measure, threshold)))
            rows.append(row(name, "rr", utility, randomized_response_threshold(measure)))
    for instance, pair in measures(instances, "kl", size, numbers=numbers):
        assert isinstance(pair, FDivergence)
        rows.append(row(instance_name(instance), "binary", "all_f", binary_domination_threshold(pair)))
    return RESULTS.table(rows)


def _note(measure: InstanceUtility, threshold: float) -> str:
    """Return by how much binary can be below the optimum at its threshold."""
    if not 0.0 < threshold < math.inf:
        return ""
    value = measure(binary_mechanism(measure, threshold))
    upper = optimal_ldp(measure, threshold).upper_bound
    gap = relative_gap(value, max(upper, value))
    return f"binary certified to {gap:.1e} of the optimum here"
