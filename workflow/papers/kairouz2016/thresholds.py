"""The thresholds of kairouz2016: up to where binary is optimal, from where randomized response is."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpfrontier.channel import Channel
from ldpfrontier.mechanisms import binary_mechanism
from ldpfrontier.optimal.ldp.chord_pricing import bound_reduced_costs, likelihood_ratio_order
from ldpfrontier.optimal.ldp.converse import ColumnValue
from ldpfrontier.optimal.ldp.f_divergence import best_partition
from ldpfrontier.optimal.ldp.solve import optimal_ldp
from ldpfrontier.optimal.ldp.staircase import Staircase
from ldpfrontier.optimal.registry import LIMITS
from ldpfrontier.types import FloatArray
from ldpfrontier.utility import FDivergence, MutualInformation
from papers.kairouz2016.instances import PAPER, instance_name
from papers.kairouz2016.measures import Measure, measures
from reproduction.results.tables import RESULTS, Result, Row, relative_gap

_LOG = logging.getLogger(__name__)

#: Binary within this of the optimum, relatively, counts as optimal.
DECISION = 1e-9

#: Reduced costs up to this are rounding.
_PAID = 1e-12

#: Columns that are priced at once.
_ENTRIES = 1 << 14

#: Width at which bisection for a threshold stops, in nats.
_WIDTH = 1e-6


def thresholds(
    instances: pd.DataFrame,
    size: int,
    numbers: Sequence[int],
    *,
    utilities: Sequence[str] = ("kl", "chi2", "hellinger", "mutual_information"),
) -> pd.DataFrame:
    """Find the largest epsilon up to which binary is optimal, and the smallest from which RR is.

    A threshold is the end of the first (binary) or last (RR) interval of a grid of step 0.1 on which the
    mechanism stops, or starts, to be optimal, refined by bisection to 1e-6. Two intervals of opposite
    character within one step of the grid would go unnoticed.

    *Binary* counts as optimal if it reaches (1 - 1e-9) times the optimum; at the threshold itself this is
    certified by the optimum's upper bound, to the gap in the note, and just above it by a better mechanism.
    As the ratio leaves 1 with some positive slope, the tolerance moves the threshold by 1e-9 over that slope.

    *RR* is optimal if and only if the prices its columns determine leave no staircase column a positive
    reduced cost (its basis is not degenerate), which is checked for all 2^k columns, to 1e-12: one by one up
    to 20 inputs, with more of them as in `_is_response_optimal`.

    For the pair P0, P1 the metric ``all_f`` is the threshold of binary for every f-divergence at once
    (Theorem 5): the largest epsilon at which no column has a likelihood ratio beyond the two of binary
    (Lemma 24), so that binary dominates every private mechanism; exact up to the bisection.

    Parameters
    ----------
    instances, size, numbers
        As for `sweep`.
    utilities : sequence of str
        Members of `UTILITIES` other than ``tv``, for which binary is optimal at every epsilon. With more than
        20 inputs there is no threshold of binary for mutual information: the optimum is then not known to
        1e-9 on either side.

    Returns
    -------
    DataFrame
        As `tables.RESULTS`: experiment ``thresholds``, mechanism ``binary`` or ``rr``, metric the
        utility, and the threshold as value, in nats; inf if binary is optimal up to epsilon = 40, and if RR
        is not optimal there.
    """
    rows: list[Row] = []
    row = partial(Result, PAPER, "thresholds", size=str(size), unit="nats")
    for utility in utilities:
        for instance, measure in measures(instances, utility, size, numbers=numbers):
            _LOG.info("%d inputs, instance %d: %s", size, instance, utility)
            name = instance_name(instance)
            if isinstance(measure, FDivergence) or size <= LIMITS.max_listed_inputs:
                threshold, note = _binary_threshold(measure)
                rows.append(row(name, "binary", utility, threshold, note=note))
            rows.append(row(name, "rr", utility, _response_threshold(measure)))
    for instance, pair in measures(instances, "kl", size, numbers=numbers):
        assert isinstance(pair, FDivergence)
        rows.append(row(instance_name(instance), "binary", "all_f", _dominance_threshold(pair)))
    return RESULTS.table(rows)


#: Finer where thresholds are small.
_GRID = np.concatenate([np.geomspace(1e-4, 0.1, 13)[:-1], np.arange(1, 401) / 10.0])


def _first_run(holds: Callable[[float], bool]) -> float:
    """Return where a condition that holds from the start of the grid first fails, or inf."""
    low = 0.0
    for high in map(float, _GRID):
        if not holds(high):
            while high - low > _WIDTH * min(1.0, high):
                middle = (low + high) / 2.0
                low, high = (middle, high) if holds(middle) else (low, middle)
            return low
        low = high
    return math.inf


def _binary_threshold(measure: Measure) -> tuple[float, str]:
    start: Channel | None = None

    def holds(epsilon: float) -> bool:
        nonlocal start
        value = measure(binary_mechanism(measure, epsilon))
        if isinstance(measure, FDivergence):
            return best_partition(measure, epsilon).value <= value * (1.0 + DECISION)
        optimum = optimal_ldp(measure, epsilon, start=start)
        start = optimum.channel
        return optimum.value <= value * (1.0 + DECISION)

    threshold = _first_run(holds)
    if not 0.0 < threshold < math.inf:
        return threshold, ""
    value = measure(binary_mechanism(measure, threshold))
    upper = optimal_ldp(measure, threshold).upper_bound
    gap = relative_gap(value, max(upper, value))
    return threshold, f"binary certified to {gap:.1e} of the optimum here"


def _response_threshold(measure: Measure) -> float:
    """Return from where on RR is optimal, 0 if everywhere, inf if not at the end of the grid."""
    k, grid = len(measure.prior), _GRID[::-1]
    # As many levels at once as fit into the cache.
    step = max(_ENTRIES >> k, 1)
    for first in range(0, len(grid), step):
        levels = grid[first : first + step]
        fails = ~_where_response_is_optimal(measure, levels)
        if not fails.any():
            continue
        at = first + int(fails.argmax())
        if at == 0:
            return math.inf
        low, high = float(grid[at]), float(grid[at - 1])
        while high - low > _WIDTH * min(1.0, high):
            middle = (low + high) / 2.0
            pays = _where_response_is_optimal(measure, np.array([middle])).all()
            low, high = (low, middle) if pays else (middle, high)
        return high
    return 0.0


def _where_response_is_optimal(measure: Measure, epsilons: FloatArray) -> NDArray[np.bool_]:
    """Return whether no column has a positive reduced cost at the prices of RR, for every epsilon."""
    if len(measure.prior) > LIMITS.max_listed_inputs:
        return np.array([_is_response_optimal(measure, epsilon) for epsilon in map(float, epsilons)])
    family = Staircase(measure, epsilons[:, None])
    return np.asarray(family.reduced_costs(family.response_duals).max(axis=1) <= _PAID)


def _is_response_optimal(measure: Measure, epsilon: float) -> bool:
    """Whether no column has a positive reduced cost at the prices of RR, without listing the columns.

    Of mutual information, a column with entries e^eps on T and 1 off it is worth m(P(T)), m concave with m(0)
    = 0 (`ldpfrontier.optimal.ldp.converse`). RR pays m(P_x) - A for an input, A its value. So two inputs pay
    if m(P_x) + m(P_y) - m(P_x + P_y) >= A, which is least for the two least likely ones; and then every
    larger set pays, as what an input adds to a set is not more than what it adds to one input of it. Of an
    f-divergence, all columns are priced by chords (`ldpfrontier.optimal.ldp.chord_pricing`).
    """
    if isinstance(measure, MutualInformation):
        m = ColumnValue(epsilon)
        value = float(m(measure.prior).sum()) / (m.rise + len(measure.prior))
        least = np.sort(measure.prior)[:2]
        return float(m(least).sum() - m(least.sum())) - value >= -_PAID
    floor, share = math.exp(-epsilon), -math.expm1(-epsilon)
    single = measure.perspective(floor + share * measure.p1, share * (measure.p0 - measure.p1))
    prices = (single - floor * single.sum() / (1.0 + (len(single) - 1) * floor)) / share
    return len(bound_reduced_costs(measure, epsilon, prices, _PAID)[1]) == 0


def _dominance_threshold(pair: FDivergence) -> float:
    return _first_run(lambda epsilon: _binary_dominates(pair, epsilon))


def _binary_dominates(pair: FDivergence, epsilon: float) -> bool:
    """Whether the likelihood ratios of binary are the extremes over all columns (kairouz2016, Lemma 24)."""
    floor, share = math.exp(-epsilon), -math.expm1(-epsilon)
    order = likelihood_ratio_order(pair)
    p0, p1 = pair.p0[order], pair.p1[order]
    # The extreme ratios are those of the inputs before, or from, some place in the order of P0 / P1.
    below = [floor + share * np.concatenate([np.zeros(1), np.cumsum(p)]) for p in (p0, p1)]
    above = [floor + share * (1.0 - np.concatenate([np.zeros(1), np.cumsum(p)])) for p in (p0, p1)]
    split = int((p0 < p1).sum())
    least, most = below[0] / below[1], above[0] / above[1]
    rounding = 1.0 + 1e-14
    return bool(least[split] <= least.min() * rounding and most[split] * rounding >= most.max())
