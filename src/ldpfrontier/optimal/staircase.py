"""Optimal locally differentially private mechanisms: staircase columns (kairouz2016, Theorems 2 and 4).

Two ways lead to the optimum, and one certificate belongs to both: prices alpha of the inputs with which no
staircase column has a positive reduced cost, which is checked for all 2^k of them.

- Any utility: column generation.
- f-divergences: sort the inputs by P0 / P1. Some optimal mechanism cuts this order into blocks and applies
  randomized response to the label of the block, so that the best cut, a fractional shortest-path problem, is
  all there is to find (Ghazi, arXiv 2606.07443).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.channel import Channel, FloatArray
from ldpfrontier.combinatorics import subset_sums
from ldpfrontier.lp import LP_TOLERANCE
from ldpfrontier.optimal.column_generation import BATCH, Master, generate
from ldpfrontier.optimum import (
    Intractable,
    Optimum,
    certified,
    check_start,
    checked_epsilon,
    uninformative,
)
from ldpfrontier.utility import Columns, FDivergence, Utility

#: All patterns are priced at once; 2^20 of them take about 20 ms.
MAX_INPUTS = 20

#: e^epsilon and its square are floating-point numbers up to here.
MAX_EPSILON = 300.0

#: Likelihood ratios this close, relatively, are equal to rounding.
RATIO_ROUNDING = 4 * np.finfo(float).eps


def optimal_ldp(
    utility: Utility,
    epsilon: float,
    *,
    tolerance: float = 1e-9,
    max_rounds: int = 1000,
    start: Channel | None = None,
) -> Optimum:
    """Find the best eps-locally differentially private mechanism, with a certificate.

    The upper bound is that of the prices found, exact over all 2^k staircase columns. Only for an
    `FDivergence` with more than 20 distinct likelihood ratios it is the value itself, and rests on the
    theorem that the best cut into blocks is optimal (Ghazi, arXiv 2606.07443).

    Parameters
    ----------
    utility : Utility
        `MutualInformation` or `FDivergence`, with its distributions on k inputs.
    epsilon : float
        Privacy level in nats, 0 to 300.
    tolerance : float
        Relative gap at which to stop.
    max_rounds : int
        Most LPs to solve; when they are used up the result has status "bounded".
    start : Channel, optional
        A staircase mechanism on the same inputs (the optimum at another epsilon, say), whose patterns are
        among the first columns: it saves rounds, and changes nothing else. An `FDivergence` has no use for
        it, as its best mechanism is found without an LP.

    Returns
    -------
    Optimum
        Channel with at most k outputs, whose columns have entries in ratio 1 or e^eps; value in the unit of
        the utility.

    Raises
    ------
    Intractable
        For mutual information with more than 20 inputs, as all patterns are priced.
    ValueError
        If epsilon is negative, not finite or above 300, or `start` has another number of inputs.
    """
    epsilon = checked_epsilon(epsilon)
    if epsilon > MAX_EPSILON:
        raise ValueError(f"epsilon is {epsilon}; at most {MAX_EPSILON:g} is supported, as e^eps overflows.")
    k = len(utility.prior)
    check_start(start, k)
    if epsilon == 0 or k == 1:
        return uninformative(k, utility.unit)
    if isinstance(utility, FDivergence):
        return _optimal_divergence(utility, epsilon, tolerance, max_rounds)
    if k > MAX_INPUTS:
        raise Intractable(f"The prior has {k} inputs; at most {MAX_INPUTS} are supported.")
    family = Staircase(utility, epsilon)
    response = block_response(np.arange(k), k, epsilon)
    # If randomized response is optimal, its prices show it: they are unique, and no LP is needed.
    bound = family.bound(family.response_prices)
    if bound - (value := utility(response)) <= tolerance * value:
        return certified(response, value, bound, tolerance, unit=utility.unit)
    patterns = np.eye(k)
    if start is not None:
        middle = (start.matrix.max(axis=0) + start.matrix.min(axis=0)) / 2.0
        patterns = np.unique(np.vstack([patterns, (start.matrix > middle).T]), axis=0)
    first = math.exp(-epsilon) - math.expm1(-epsilon) * patterns
    return generate(family, utility.columns(first), utility, tolerance=tolerance, max_rounds=max_rounds)


def block_response(labels: NDArray[np.integer], blocks: int, epsilon: float) -> Channel:
    """Apply randomized response to the label of the block in which an input lies.

    Parameters
    ----------
    labels : ndarray of int, shape (k,)
        The block of every input, 0..blocks-1.
    blocks : int
    epsilon : float
        In nats.
    """
    matrix = np.full((len(labels), blocks), math.exp(-epsilon))
    matrix[np.arange(len(labels)), labels] = 1.0
    return Channel(matrix / (1.0 + (blocks - 1) * math.exp(-epsilon)))


@dataclass(frozen=True, eq=False)
class Staircase:
    """Columns with two values in ratio e^eps, one for every subset T of inputs that has the larger one.

    Attributes
    ----------
    utility : Utility
    epsilon : float
        In nats, > 0.
    """

    utility: Utility
    epsilon: float
    efforts: int = 1

    @property
    def scale(self) -> FloatArray:
        """The prior of the utility, shape (k,)."""
        return self.utility.prior

    @cached_property
    def _values(self) -> tuple[FloatArray, FloatArray]:
        return self.utility.patterns(self.epsilon)

    @property
    def response_prices(self) -> FloatArray:
        """Prices at which the columns of randomized response have reduced cost 0 (kairouz2016, (82))."""
        z, values = self._values
        single = 1 << np.arange(len(self.scale))
        mu, floor = values[single] * z[single], math.exp(-self.epsilon)
        total = mu.sum() / (1.0 + (len(mu) - 1) * floor)
        return np.asarray((mu - floor * total) / -math.expm1(-self.epsilon))

    def reduced(self, prices: FloatArray) -> FloatArray:
        """Return the reduced costs of all columns, shape (2^k,)."""
        z, values = self._values
        cost = math.exp(-self.epsilon) * prices.sum() - math.expm1(-self.epsilon) * subset_sums(prices)
        return np.asarray(values - cost / z)

    def worth(self, level: float) -> FloatArray:
        """Return mu(v) - level e^-eps of all columns, with entries 1 and e^-eps, shape (2^k,)."""
        z, values = self._values
        return np.asarray(values * z - level * math.exp(-self.epsilon))

    def bound(self, prices: FloatArray) -> float:
        """Return the dual bound of some prices, exact over all columns."""
        return float(prices.sum() + self.reduced(prices).max())

    def price(self, prices: FloatArray, effort: int) -> tuple[float, Columns]:
        """Return the largest reduced cost over all subsets, exactly, and the best subsets."""
        reduced = self.reduced(prices)
        few = min(BATCH, len(reduced))
        best = np.argpartition(-reduced, few - 1)[:few]
        bits = best[:, None] >> np.arange(len(prices)) & 1
        vectors = np.where(bits == 1, 1.0, math.exp(-self.epsilon))
        return float(reduced.max()), self.utility.columns(vectors)


@dataclass(frozen=True, eq=False)
class Cut:
    """The best cut of the inputs of an f-divergence, sorted by P0 / P1, into blocks.

    Attributes
    ----------
    labels : ndarray of int, shape (k,)
        The block of every input.
    blocks : int
    value : float
        Utility of randomized response on the blocks, in the unit of the utility.
    prices : tuple of ndarray, shape (k,)
        Candidates for optimal prices: with each no column of a block has a positive reduced cost.
    """

    labels: NDArray[np.int64]
    blocks: int
    value: float
    prices: tuple[FloatArray, ...]


def best_cut(utility: FDivergence, epsilon: float) -> Cut:
    """Cut the inputs, sorted by P0 / P1, into the best blocks for randomized response on their labels.

    Blocks B with values g(B) = z1 f(z0 / z1), z_i = e^-eps + (1 - e^-eps) P_i(B), are worth
    sum g(B) / (1 + (m - 1) e^-eps) if there are m. This ratio is at least lam when
    sum (g(B) - lam e^-eps) >= lam (1 - e^-eps): a longest path for every lam, O(k^2), and Dinkelbach's
    iteration on lam, which takes two to four of them.

    Parameters
    ----------
    utility : FDivergence
    epsilon : float
        In nats, 0 to 300.
    """
    order = by_ratio(utility)
    floor, share = math.exp(-epsilon), -math.expm1(-epsilon)
    k = len(order)
    mass, difference = (
        np.concatenate([np.zeros(1), np.cumsum(p[order])]) for p in (utility.p1, utility.p0 - utility.p1)
    )
    # worth[j, i]: of the block i..j-1, and -inf where j <= i.
    last, first = np.tril_indices(k + 1, -1)
    worth = np.full((k + 1, k + 1), -np.inf)
    worth[last, first] = utility.perspective(
        floor + share * np.maximum(mass[last] - mass[first], 0.0),
        share * (difference[last] - difference[first]),
    )
    value = 0.0
    ends = [0, k]
    while True:
        potential, before = np.zeros(k + 1), np.zeros(k + 1, dtype=np.int64)
        for j in range(1, k + 1):
            reach = potential[:j] + worth[j, :j]
            before[j] = reach.argmax()
            potential[j] = reach[before[j]] - value * floor
        path = [k]
        while path[-1]:
            path.append(int(before[path[-1]]))
        path.reverse()
        ratio = float(worth[path[1:], path[:-1]].sum()) / (1.0 + (len(path) - 2) * floor)
        if ratio <= value * (1.0 + 1e-15):
            break
        value, ends = ratio, path
    backward = np.zeros(k + 1)
    for i in range(k - 1, -1, -1):
        backward[i] = (backward[i + 1 :] + worth[i + 1 :, i]).max() - value * floor
    labels = np.empty(k, dtype=np.int64)
    labels[order] = np.searchsorted(ends, np.arange(k), side="right") - 1
    prices = []
    # Longest paths from the left, from the right, and their mean.
    for height in (potential, backward[0] - backward, (potential + backward[0] - backward) / 2.0):
        price = np.empty(k)
        price[order] = np.diff(height) / share if share > 0 else 0.0
        prices.append(price)
    return Cut(labels, len(ends) - 1, value, tuple(prices[::-1]))


def _optimal_divergence(utility: FDivergence, epsilon: float, tolerance: float, max_rounds: int) -> Optimum:
    merged, groups = _merge(utility)
    if len(merged.prior) == 1:
        return uninformative(len(groups), utility.unit)
    cut = best_cut(merged, epsilon)
    channel = block_response(cut.labels[groups], cut.blocks, epsilon)
    value = utility(channel)
    k = len(merged.prior)
    if k > MAX_INPUTS:
        return certified(channel, value, value, tolerance, unit=utility.unit)
    family = Staircase(merged, epsilon)
    bound = math.inf
    for prices in (*cut.prices, family.response_prices):
        bound = min(bound, family.bound(prices))
        if bound - value <= tolerance * value:
            return certified(channel, value, bound, tolerance, unit=utility.unit)
    rounds, bound = _cover_bound(family, bound, value, tolerance, max_rounds)
    return certified(channel, value, bound, tolerance, rounds, unit=utility.unit)


def _cover_bound(
    family: Staircase, bound: float, value: float, tolerance: float, max_rounds: int
) -> tuple[int, float]:
    """Find prices that prove a value optimal, by an exact-cover LP; return the rounds and the best bound.

    The potentials of the best cut leave no block a positive reduced cost, but may leave one to other subsets.
    With lam the value, prices are optimal when sum_T (1 - e^-eps) alpha >= mu(T) - lam e^-eps for all subsets
    and the sum of the left sides over the inputs is least: the dual of covering every input exactly once by
    subsets. Its matrix of zeros and ones stays well conditioned at small epsilon.
    """
    k, rounds = len(family.scale), 0
    worth = family.worth(value)
    unit = max(float(worth.max()), float(np.finfo(float).tiny))
    blocks = [((1 << j) - 1) ^ ((1 << i) - 1) for i in range(k) for j in range(i + 1, k + 1)]
    chosen, master = np.array(blocks), Master(k, unit)
    for rounds in range(1, max_rounds + 1):  # noqa: B007
        master.add(Columns((chosen[:, None] >> np.arange(k) & 1).astype(float), worth[chosen]))
        _, _, prices = master.solve()
        bound = min(bound, family.bound(prices / -math.expm1(-family.epsilon)))
        reduced = worth - subset_sums(prices)
        chosen = np.argsort(-reduced, kind="stable")[:BATCH]
        chosen = chosen[reduced[chosen] > LP_TOLERANCE * unit]
        if bound - value <= tolerance * value or not chosen.size:
            break
    return rounds, bound


def by_ratio(utility: FDivergence) -> NDArray[np.int64]:
    """Return the inputs in the order of P0 / P1; those with probability 0 under both come first."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(utility.p0) - np.log(utility.p1)
    return np.argsort(np.where(np.isnan(ratio), -np.inf, ratio), kind="stable")


def _merge(utility: FDivergence) -> tuple[FDivergence, NDArray[np.int64]]:
    """Merge inputs with equal P0 / P1, and return the group of every input.

    Nothing is lost. With prices in proportion to the masses within a group, what a column that splits the
    group is worth beyond its price is a convex function of the share it takes, and largest at none or all.
    Inputs with probability 0 under both are free, and join the first group.
    """
    order = by_ratio(utility)
    p0, p1 = utility.p0[order], utility.p1[order]
    step = p0[1:] * p1[:-1] > p0[:-1] * p1[1:] * (1.0 + RATIO_ROUNDING)
    step &= p0[:-1] + p1[:-1] > 0
    groups = np.empty(len(order), dtype=np.int64)
    # Groups are numbered by their ratio.
    groups[order] = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(step)])
    sums = [np.bincount(groups, weights=p).astype(float) for p in (utility.p0, utility.p1)]
    return FDivergence(sums[0], sums[1], utility.kind, f=utility.f), groups
