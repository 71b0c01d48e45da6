r"""Where the binary mechanism and randomized response are optimal under LDP: from and up to which level.

Binary is optimal at high privacy and randomized response at low privacy (kairouz2016, Theorems 5, 8, 12 and
14). A threshold is the end of the first (binary) or last (randomized response) interval of a grid of levels
on which the mechanism stops, or starts, to be optimal, found to 1e-6 by bisection. The grid has the step 0.1,
and smaller ones below 0.1; two intervals of opposite character within a step would go unnoticed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.listed.f_divergence import best_partition, likelihood_ratio_order
from ldpfrontier.engines.listed.staircase import Staircase
from ldpfrontier.engines.registry import LIMITS
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import relative_excess
from ldpfrontier.model.mechanisms import binary_mechanism, randomized_response
from ldpfrontier.model.optimum import LEAST_EPSILON
from ldpfrontier.model.utility import FDivergence, MutualInformation, check_utility
from ldpfrontier.numerics.arguments import as_instance
from ldpfrontier.promises.ldp import optimal_ldp

_Utility = MutualInformation | FDivergence

#: Binary within this of the optimum, relatively, counts as optimal.
_OPTIMAL = 1e-9

#: Reduced costs up to this are rounding.
_PAID = 1e-12

#: Columns that are priced at once: as many as fit into the cache.
_ENTRIES = 1 << 14

#: Width at which bisection for a threshold stops, in nats.
_WIDTH = 1e-6

#: Finer where thresholds are small.
_GRID = np.concatenate([np.geomspace(LEAST_EPSILON, 0.1, 9)[:-1], np.arange(1, 401) / 10.0])


def binary_threshold(utility: MutualInformation | FDivergence) -> float:
    """Find the largest privacy level up to which the binary mechanism is optimal.

    Binary counts as optimal if it reaches (1 - 1e-9) times the optimum. As that ratio leaves 1 with some
    positive slope, the tolerance moves the threshold by 1e-9 over that slope.

    Parameters
    ----------
    utility : MutualInformation or FDivergence
        Mutual information of more than 20 inputs has no optimum that is known to 1e-9, and no such threshold.

    Returns
    -------
    float
        In nats; inf if binary is optimal up to level 40.

    Raises
    ------
    ValueError
        If the utility is of another kind.
    """
    checked = _checked(utility)
    start: Channel | None = None

    def holds(epsilon: float) -> bool:
        nonlocal start
        value = checked(binary_mechanism(checked, epsilon))
        if isinstance(checked, FDivergence):
            return best_partition(checked, epsilon).value <= value * (1.0 + _OPTIMAL)
        optimum = optimal_ldp(checked, epsilon, start=start)
        start = optimum.channel
        return optimum.value <= value * (1.0 + _OPTIMAL)

    return _first_run(holds)


def binary_domination_threshold(pair: FDivergence) -> float:
    """Find the largest privacy level up to which binary is optimal for every f-divergence of two priors.

    Up to it, no column has a likelihood ratio beyond the two of binary, which so dominates every private
    mechanism (kairouz2016, Theorem 5, Lemma 24).

    Parameters
    ----------
    pair : FDivergence
        Of both priors; its kind does not matter.

    Returns
    -------
    float
        In nats; inf if that is so up to level 40.

    Raises
    ------
    ValueError
        If the pair is of another kind.
    """
    as_instance(pair, FDivergence, "The pair")
    return _first_run(lambda epsilon: _binary_dominates(pair, epsilon))


def randomized_response_threshold(utility: MutualInformation | FDivergence) -> float:
    """Find the smallest privacy level from which on randomized response is optimal.

    It is optimal if and only if the prices that its columns determine leave no staircase column a positive
    reduced cost (its basis is not degenerate), which is checked for all 2^k columns, to 1e-12; of an
    f-divergence with more than 20 inputs, if and only if no partition into blocks has more (`f_divergence`).

    Parameters
    ----------
    utility : MutualInformation or FDivergence

    Returns
    -------
    float
        In nats; 0 if the response is optimal at every level, inf if it is not at level 40.

    Raises
    ------
    ValueError
        If the utility is of another kind.
    """
    checked = _checked(utility)
    k, grid = len(checked.prior), _GRID[::-1]
    step = len(grid) if isinstance(checked, MutualInformation) else max(_ENTRIES >> k, 1)
    for first in range(0, len(grid), step):
        levels = grid[first : first + step]
        fails = ~_where_response_is_optimal(checked, levels)
        if not fails.any():
            continue
        at = first + int(fails.argmax())
        if at == 0:
            return math.inf
        low, high = float(grid[at]), float(grid[at - 1])
        while high - low > _WIDTH * min(1.0, high):
            middle = (low + high) / 2.0
            pays = _where_response_is_optimal(checked, np.array([middle])).all()
            low, high = (low, middle) if pays else (middle, high)
        return high
    return 0.0


def _checked(utility: _Utility) -> _Utility:
    """Return a utility, if it is one of those that have thresholds."""
    check_utility(utility, own=False)
    return utility


def _first_run(holds: Callable[[float], bool]) -> float:
    """Return the first level of the grid, refined by bisection, up to which a condition holds.

    It is 0 if the condition does not hold at the least level, and inf if it always does.
    """
    low = 0.0
    for high in map(float, _GRID):
        if not holds(high):
            while low > 0.0 and high - low > _WIDTH * min(1.0, high):
                middle = (low + high) / 2.0
                low, high = (middle, high) if holds(middle) else (low, middle)
            return low
        low = high
    return math.inf


def _where_response_is_optimal(utility: _Utility, epsilons: FloatArray) -> NDArray[np.bool_]:
    """Return whether no column has a positive reduced cost at the prices of RR, for every epsilon."""
    if isinstance(utility, MutualInformation):
        return _is_response_optimal_for_information(utility.prior, epsilons[:, None])
    if len(utility.prior) > LIMITS.max_listed_inputs:
        return np.array(
            [_is_response_optimal_for_divergence(utility, epsilon) for epsilon in map(float, epsilons)]
        )
    family = Staircase(utility, epsilons[:, None])
    return np.asarray(family.reduced_costs(family.response_duals).max(axis=1) <= _PAID)


def _is_response_optimal_for_information(prior: FloatArray, epsilon: FloatArray) -> NDArray[np.bool_]:
    """Whether RR leaves no column of mutual information a positive reduced cost; no column is listed.

    A column with entries e^eps on T and 1 off it is worth m(P(T)), m concave with m(0) = 0 (`converse`). RR
    pays m(P_x) - A for an input, A its value. So two inputs pay if m(P_x) + m(P_y) - m(P_x + P_y) >= A, which
    is least for the two least likely ones; and then every larger set pays, as what an input adds to a set is
    not more than what it adds to one input of it.
    """
    least = np.sort(prior)[:2]
    together = least.sum()
    rise, p = np.expm1(epsilon), np.concatenate([prior, least, [together]])
    m = p * relative_excess(rise) - relative_excess(rise * p)
    k = len(prior)
    value = m[:, :k].sum(axis=1) / (rise[:, 0] + k)
    paid = m[:, k:-1].sum(axis=1) - m[:, -1] - value
    return np.asarray(paid / (1.0 + rise[:, 0] * together) >= -_PAID)


def _is_response_optimal_for_divergence(utility: FDivergence, epsilon: float) -> bool:
    """Whether no partition of the inputs of an f-divergence has more than the response, to 1e-12."""
    channel = randomized_response(len(utility.prior), epsilon)
    return best_partition(utility, epsilon).value <= utility(channel) * (1.0 + _PAID)


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
