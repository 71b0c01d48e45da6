r"""The optimum of an f-divergence with many inputs: randomized response on blocks of likelihood ratios.

**Theorem** (Ghazi, arXiv 2606.07443). *Sort the inputs by P0 / P1. For every f and epsilon, some optimal
mechanism cuts this order into m blocks B and applies randomized response to the name of the block.* So the
best partition has the largest utility of all private mechanisms ::

    maximize sum_B z1(B) f(z0(B) / z1(B)) / (1 + (m - 1) e^-eps),   z_i(B) = e^-eps + (1 - e^-eps) P_i(B),

a fractional longest path. The bound rests on the theorem; docs/reproduction/kairouz2016.md has a proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.optimum import ROUNDING, BoundError, Optimum, certified
from ldpfrontier.model.utility import FDivergence
from ldpfrontier.numerics.rounding import EXCESS, gamma, normalization, storage

#: Size in values of columns up to which their rounding is a factor.
VALUE_SIZE = 8.0


@lru_cache
def likelihood_ratio_order(utility: FDivergence) -> NDArray[np.int64]:
    """Return the inputs in the order of P0 / P1; those with probability 0 under both come first."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = utility.difference / utility.p1
        small = np.abs(ratio) < 0.01  # where the logarithms lose digits
        ratio = np.where(
            small, np.log1p(np.where(small, ratio, 0.0)), np.log(utility.p0) - np.log(utility.p1)
        )
    never = np.isnan(ratio)
    # Beside one that never occurs, an input of ratio 0 would come second.
    return np.lexsort((np.where(never, -np.inf, ratio), ~never))


def divergence_error(utility: FDivergence, epsilon: float) -> float:
    """Return the relative error of the values of columns and mechanisms, and of sums of P0 and P1."""
    operations = EXCESS + (VALUE_SIZE + 1.0) * (len(utility.prior) + 24.0)
    sums = max(normalization(utility.p0), normalization(utility.p1))
    share = storage(epsilon) if utility.f is None else ROUNDING
    return gamma(operations) + (2.0 + epsilon) * sums + share


def block_response(labels: NDArray[np.integer], blocks: int, epsilon: float) -> Channel:
    """Return randomized response on the label of the block, (k,), in which an input lies."""
    matrix = np.full((len(labels), blocks), math.exp(-epsilon))
    matrix[np.arange(len(labels)), labels] = 1.0
    return Channel(matrix / (1.0 + (blocks - 1) * math.exp(-epsilon)))


@dataclass(frozen=True, eq=False)
class Partition:
    """A partition of the inputs of an f-divergence, sorted by P0 / P1, into blocks."""

    labels: NDArray[np.int64]  # (k,): the block of every input
    blocks: int
    value: float  # of randomized response on the blocks, in the unit of the utility
    bound: float  # no partition has a larger utility, whatever is lost to rounding


def best_partition(utility: FDivergence, epsilon: float) -> Partition:
    """Find the best partition of the inputs, sorted by P0 / P1, for randomized response on their blocks.

    The level is in nats, 0 to 300.
    """
    order = likelihood_ratio_order(utility)
    floor, share = math.exp(-epsilon), -math.expm1(-epsilon)
    k = len(order)
    # Of the blocks i..j, each summed by itself: differences of sums would lose an unlikely one.
    block = np.triu(np.ones((k, k), dtype=bool))
    z0, z1, difference, size = (
        start + share * np.cumsum(np.where(block, p[order], 0.0), axis=1)
        for start, p in (
            (floor, utility.p0),
            (floor, utility.p1),
            (0.0, utility.difference),
            (0.0, np.abs(utility.difference)),
        )
    )
    worth = utility.perspective(z1, difference, z0)
    # Where differences of both signs cancel, more is lost than a share of the worth.
    size *= 2.0 * utility.slope(z1, difference, z0)
    error = gamma(k + 24) * np.maximum(size - VALUE_SIZE * worth, 0.0)
    ends, value = _best_cuts(np.where(block, worth, -np.inf).T, floor)
    bound = _best_cuts(np.where(block, worth + error, -np.inf).T, floor)[1]
    labels = np.empty(k, dtype=np.int64)
    labels[order] = np.searchsorted(ends, np.arange(k), side="right") - 1
    return Partition(labels, len(ends) - 1, value, bound * (1.0 + divergence_error(utility, epsilon)))


def _best_cuts(worth: FloatArray, floor: float) -> tuple[list[int], float]:
    """Return the ends of the best blocks, from 0 to k, and their utility; `floor` is e^-eps.

    With the worth g(B) of a block from the second index to the first, both included, and -inf where it ends
    before it begins, the value sum_B g(B) / (1 + (m - 1) e^-eps) of m blocks is at least lam if and only if
    sum_B (g(B) - lam e^-eps) >= lam (1 - e^-eps): a longest path for every lam, in O(k^2), and Dinkelbach's
    iteration on lam, which takes two to four of them.
    """
    k, value, ends = len(worth), 0.0, [0, len(worth)]
    while True:
        potential, before = np.zeros(k + 1), np.zeros(k + 1, dtype=np.int64)
        for j in range(1, k + 1):
            reach = potential[:j] + worth[j - 1, :j]
            before[j] = reach.argmax()
            potential[j] = reach[before[j]] - value * floor
        path = [k]
        while path[-1]:
            path.append(int(before[path[-1]]))
        path.reverse()
        last = np.array(path[1:]) - 1
        ratio = float(worth[last, path[:-1]].sum()) / (1.0 + (len(path) - 2) * floor)
        if ratio <= value * (1.0 + 1e-15):
            return ends, value
        value, ends = ratio, path


def optimal_partition(utility: FDivergence, epsilon: float, *, tolerance: float) -> Optimum:
    """Return the best mechanism for an f-divergence, bounded by what the best partition has."""
    best = best_partition(utility, epsilon)
    # A generator of one's own may lose digits where numbers near one cancel.
    noise = 0.0 if utility.f is None else ROUNDING
    channel = block_response(best.labels, best.blocks, epsilon)
    return certified(channel, best.value, best.bound, tolerance, unit=utility.unit, error=BoundError(noise))
