r"""The optimum of an f-divergence: the best partition of the inputs into blocks, and duals that prove it.

Sort the inputs by P0 / P1. Some optimal mechanism cuts this order into m blocks B and applies randomized
response to the label of the block (Ghazi, arXiv 2606.07443), so that the best partition is all there is to
find ::

    maximize sum_B z1(B) f(z0(B) / z1(B)) / (1 + (m - 1) e^-eps),   z_i(B) = e^-eps + (1 - e^-eps) P_i(B),

a fractional longest path. No bound rests on that theorem here: duals of the inputs prove the partition
optimal.

**Finding duals.** Let t = z0 / z1 be the ratio of a block. The dual of an input in it is what the tangent of
f at t values the input at, less a part of the cost e^-eps of one more block, in proportion to how much less
the tangent of the next best block values it at. This proves most partitions into two blocks optimal. Else a
linear program finds the duals: least in sum, such that no subset found so far has a positive reduced cost.
With many inputs the dual per unit of P0 + P1 is a piecewise linear function of P0 / (P0 + P1), and convex:
then the best subset is an interval of ratios, and duals do not swing from round to round. If that leaves a
gap, the function need not be convex where two blocks meet.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import highspy
import numpy as np
from numpy.typing import NDArray

from ldpfrontier.channel import Channel
from ldpfrontier.numerics.deadline import time_is_up
from ldpfrontier.numerics.highs import add_rows, new_lp, solve
from ldpfrontier.numerics.rounding import EXCESS, gamma, normalization, storage
from ldpfrontier.numerics.settings import SETTINGS as NUMERICS
from ldpfrontier.optimal.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.optimal.ldp.chord_pricing import (
    VALUE_SIZE,
    ChordPricing,
    ListedPricing,
    chord,
    column_log_ratio,
    likelihood_ratio_order,
    log_ratio_range,
)
from ldpfrontier.optimal.ldp.settings import SETTINGS
from ldpfrontier.optimal.registry import LIMITS
from ldpfrontier.optimum import ROUNDING, Optimum, certified, uninformative
from ldpfrontier.types import FloatArray
from ldpfrontier.utility import FDivergence


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
class Partition:
    """A partition of the inputs of an f-divergence, sorted by P0 / P1, into blocks.

    Attributes
    ----------
    labels : ndarray of int, shape (k,)
        The block of every input.
    blocks : int
    value : float
        Utility of randomized response on the blocks, in the unit of the utility.
    """

    labels: NDArray[np.int64]
    blocks: int
    value: float


def best_partition(utility: FDivergence, epsilon: float) -> Partition:
    """Find the best partition of the inputs, sorted by P0 / P1, for randomized response on their blocks.

    With g(B) = z1(B) f(z0(B) / z1(B)), the value sum_B g(B) / (1 + (m - 1) e^-eps) of m blocks is at least
    lam if and only if sum_B (g(B) - lam e^-eps) >= lam (1 - e^-eps): a longest path for every lam, in
    O(k^2), and Dinkelbach's iteration on lam, which takes two to four of them.

    Parameters
    ----------
    utility : FDivergence
    epsilon : float
        In nats, 0 to 300.
    """
    order = likelihood_ratio_order(utility)
    floor, share = math.exp(-epsilon), -math.expm1(-epsilon)
    k = len(order)
    # Of the blocks i..j, each summed by itself: differences of sums would lose an unlikely one.
    block = np.triu(np.ones((k, k), dtype=bool))
    z0, z1, difference = (
        start + share * np.cumsum(np.where(block, p[order], 0.0), axis=1).ravel()
        for start, p in ((floor, utility.p0), (floor, utility.p1), (0.0, utility.difference))
    )
    # worth[j, i]: of the block i..j-1, and -inf where j <= i.
    worth = np.full((k + 1, k + 1), -np.inf)
    values = utility.perspective(z1, difference, z0)
    worth[1:, :k] = np.where(block, values.reshape(k, k), -np.inf).T
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
    labels = np.empty(k, dtype=np.int64)
    labels[order] = np.searchsorted(ends, np.arange(k), side="right") - 1
    return Partition(labels, len(ends) - 1, value)


def optimal_divergence(utility: FDivergence, epsilon: float, *, tolerance: float, max_rounds: int) -> Optimum:
    """Find the best mechanism for an f-divergence, with a bound over all 2^k staircase columns.

    Parameters
    ----------
    utility : FDivergence
    epsilon : float
        In nats, > 0.
    tolerance, max_rounds
        As of `optimal_ldp`; at most 40 rounds.
    """
    merged, groups = merge_equal_ratios(utility)
    if len(merged.prior) == 1:
        # Ratios that are equal to rounding: what they could still tell is no more than without privacy.
        nothing = uninformative(len(groups), utility.unit)
        bound = _divergence_above(utility)
        return certified(nothing.channel, 0.0, bound, tolerance, unit=utility.unit, error=0.0)
    # A generator of one's own may lose digits where numbers near one cancel.
    noise = 0.0 if utility.f is None else ROUNDING
    partition = best_partition(merged, epsilon)
    channel = block_response(partition.labels[groups], partition.blocks, epsilon)
    rounds, bound, _ = certify(
        merged, partition, epsilon, tolerance, min(max_rounds, GENERATION.usual_rounds)
    )
    bound = min(bound * (1.0 + _value_error(utility, epsilon)), _divergence_above(utility))
    if math.isinf(bound):  # the time was up: a mean of f is at most its largest value
        ends = np.array(log_ratio_range(utility, epsilon))
        bound = float(utility.perspective(np.ones(2), np.expm1(ends), np.exp(ends)).max())
    bound += _merging_error(utility, merged, groups, epsilon)
    error = (ROUNDING if noise else storage(epsilon)) * bound + noise
    return certified(channel, partition.value, bound, tolerance, rounds, unit=utility.unit, error=error)


def _value_error(utility: FDivergence, epsilon: float) -> float:
    """Return the relative error of the values of all columns, and of the normalization of P0 and P1."""
    operations = EXCESS + (VALUE_SIZE + 1.0) * (len(utility.prior) + 24.0)
    return gamma(operations) + (2.0 + epsilon) * max(normalization(utility.p0), normalization(utility.p1))


def _divergence_above(utility: FDivergence) -> float:
    """Return the utility without privacy, raised by its rounding; inf where a term is."""
    value, occurs = utility.divergence(), utility.p1 > 0
    if not math.isfinite(value) or utility.f is not None:
        return value
    p1, apart = utility.p1[occurs], utility.difference[occurs]
    size = utility.slope(p1, apart, utility.p0[occurs]) * np.where(apart == 0.0, 0.0, np.abs(apart))
    error = gamma(EXCESS + len(p1)) * value + gamma(8) * float(size[np.isfinite(size)].sum())
    return value + error + 4.0 * normalization(utility.p1) * value


def _merging_error(
    utility: FDivergence, merged: FDivergence, groups: NDArray[np.int64], epsilon: float
) -> float:
    """Return what inputs can tell whose ratios P0 / P1 are equal to rounding only."""
    part = np.divide(utility.prior, merged.prior[groups], out=np.zeros(len(groups)), where=utility.prior > 0)
    moved = np.abs(utility.difference - merged.difference[groups] * part)
    apart = float(moved[moved > gamma(16) * np.abs(utility.difference)].sum())
    if apart == 0.0:
        return 0.0
    low, high = log_ratio_range(merged, epsilon)
    ratios = np.array([low, high])
    return 2.0 * apart * float(merged.slope(np.ones(2), np.expm1(ratios), np.exp(ratios)).max())


def certify(
    utility: FDivergence, partition: Partition, epsilon: float, tolerance: float, max_rounds: int
) -> tuple[int, float, FloatArray]:
    """Find duals that prove a partition optimal; return the rounds it took, the best bound and its duals.

    Parameters
    ----------
    utility : FDivergence
        Inputs in the order of P0 / P1, no two with the same.
    partition : Partition
        The best one.
    epsilon : float
        In nats, > 0.
    tolerance : float
        Relative gap at which to stop.
    max_rounds : int
        Most linear programs.
    """
    rounding = ROUNDING * (partition.value + (utility.f is not None))
    resolution = 0.1 * max(tolerance * partition.value, rounding)
    tangents, best = _tangents(utility, partition, epsilon)
    pricing = (ListedPricing if len(utility.prior) <= LIMITS.max_listed_inputs else ChordPricing)(
        utility, epsilon
    )
    bound, subsets = pricing.bound(best, resolution, partition.value)
    best, total = best + bound * utility.prior, partition.value + bound
    # What the sum of duals loses in the program.
    lost = NUMERICS.lp_tolerance / -math.expm1(-epsilon) * partition.value
    enough = max(tolerance * partition.value - 2.0 * rounding, rounding)
    program, rounds = None, 0
    for rounds in range(max_rounds):
        if total - partition.value <= enough:
            return rounds, total, best
        if time_is_up():
            break
        if program is None:
            program = _DualProgram(utility, partition, epsilon, tangents)
        program.add(subsets)
        # Nothing wrong with the last duals, or little to be learnt: then all the way.
        step = SETTINGS.price_step if len(subsets) and not program.complete else 1.0
        try:
            least = program.solve(tolerance)
        except RuntimeError:  # a program that HiGHS gives up costs the bound digits, never its validity
            break
        sum_ = float(least.sum())
        if abs(sum_ - partition.value) <= lost:
            least, sum_ = least + (partition.value - sum_) / len(least), partition.value
        if total - sum_ <= 0.1 * enough:  # the least that these knots allow
            return rounds, total, best
        trial, target = best + step * (least - best), total + step * (sum_ - total)
        bound, subsets = pricing.bound(trial, resolution, target)
        if target + bound < total:
            best, total = trial + bound * utility.prior, target + bound
    else:
        rounds = max_rounds
    return rounds, total, best


def _tangents(utility: FDivergence, partition: Partition, epsilon: float) -> tuple[FloatArray, FloatArray]:
    """Return what a unit of P0 and of P1 is worth in every block, shape (2, m), and the first duals."""
    floor, share = math.exp(-epsilon), -math.expm1(-epsilon)
    masses = [
        np.bincount(partition.labels, weights=p, minlength=partition.blocks).astype(float)
        for p in (utility.p0, utility.p1, utility.difference)
    ]
    z1, apart = floor + share * masses[1], share * masses[2]
    ratio = np.clip(
        column_log_ratio(floor, share, *masses),
        -SETTINGS.max_tangent_log_ratio,
        SETTINGS.max_tangent_log_ratio,
    )
    width = SETTINGS.tangent_width * min(max(float(np.abs(ratio).max()), 1e-290), 1.0)
    slope, at_one, _ = chord(utility, ratio - width, ratio + width)
    tangents = np.stack([slope, at_one - slope])
    worth = np.outer(utility.p0, tangents[0]) + np.outer(utility.p1, tangents[1])
    k = len(worth)
    own = worth[np.arange(k), partition.labels]
    worth[np.arange(k), partition.labels] = -np.inf
    loss = np.maximum(own - worth.max(axis=1), 0.0) + 1e-300 if partition.blocks > 1 else utility.prior
    # A block's duals add up to what it brings beyond the value of the partition.
    brings = (utility.perspective(z1, apart) - partition.value * floor) / share
    due = np.bincount(partition.labels, weights=own, minlength=partition.blocks) - brings
    due /= np.bincount(partition.labels, weights=loss, minlength=partition.blocks)
    return tangents, own - loss * due[partition.labels]


class _DualProgram:
    """The linear program for duals: least in sum, with no positive reduced cost among the subsets found.

    With lam the value of the partition and g(T) the value of the column of T, it is ::

        minimize sum_x alpha_x   subject to   (1 - e^-eps) sum_{x in T} alpha_x >= g(T) - lam e^-eps,

    the dual of covering every input exactly once by subsets. Its matrix of zeros and ones stays well
    conditioned at small epsilon.
    """

    def __init__(
        self, utility: FDivergence, partition: Partition, epsilon: float, tangents: FloatArray
    ) -> None:
        self._utility, self._partition, self._epsilon = utility, partition, epsilon
        both = utility.p0 + utility.p1
        place = utility.p0 / both
        knots, meets = _knots(place, partition, tangents)
        right = np.clip(np.searchsorted(knots, place), 1, len(knots) - 1)
        part = (place - knots[right - 1]) / (knots[right] - knots[right - 1])
        # duals = basis @ (price per unit at the knots)
        self._basis = np.zeros((len(both), len(knots)))
        self._basis[np.arange(len(both)), right - 1] = both * (1.0 - part)
        self._basis[np.arange(len(both)), right] += both * part
        # Few inputs have a variable each, many share those of the price per unit.
        scale = np.ones(len(knots))
        if len(knots) <= SETTINGS.price_knots:
            # A knot between two inputs has no mass of its own; its scale is that of the knots around it.
            size = np.log(np.maximum(self._basis.max(axis=0), 1e-300))
            used = np.flatnonzero(self._basis.any(axis=0))
            scale = np.exp(np.interp(np.arange(len(knots)), used, size[used]))
        self._basis /= scale
        self._unit = partition.value or 1.0
        self._lp = new_lp()
        self._lp.setOptionValue("simplex_strategy", 1)  # dual: rows are added to a solved program
        self._lp.setOptionValue("simplex_iteration_limit", SETTINGS.max_simplex_steps)
        nothing = np.empty(0, dtype=np.int32), np.empty(0)
        # A wider range of duals is of no use, and without any the first program has no optimum.
        most = np.minimum(
            scale * max(float(np.abs(tangents).max()) / self._unit, 1.0), SETTINGS.max_unit_price
        )
        for cost, limit in zip(self._basis.sum(axis=0), most, strict=True):
            self._lp.addCol(-cost, -limit, limit, 0, *nothing)
        # Rows of convexity to be given up: first where blocks meet, then all.
        bends = np.arange(len(knots) - 2)
        self._bends = [bends[meets[1:-1]], *([bends] if len(knots) <= SETTINGS.price_knots else [])]
        steps = np.diff(knots)
        bent = np.zeros((len(bends), len(knots)))
        bent[bends, bends], bent[bends, bends + 2] = 1.0 / steps[:-1], 1.0 / steps[1:]
        bent[bends, bends + 1] = -1.0 / steps[:-1] - 1.0 / steps[1:]
        bent /= scale
        add_rows(self._lp, np.zeros(len(bends)), bent / np.abs(bent).max(axis=1, keepdims=True))
        self.complete = len(place) <= 2 * LIMITS.max_listed_inputs
        if self.complete:
            inputs = np.arange(len(place))
            first, last = (ends[:, None] for ends in np.triu_indices(len(place)))
            self.add((first <= inputs) & (inputs <= last))

    def add(self, subsets: NDArray[np.bool_]) -> None:
        """Require that some subsets have no positive reduced cost."""
        floor, share = math.exp(-self._epsilon), -math.expm1(-self._epsilon)
        u = self._utility
        z1, apart = floor + share * (subsets @ u.p1), share * (subsets @ u.difference)
        worth = (u.perspective(z1, apart) - self._partition.value * floor) / share
        add_rows(self._lp, worth / self._unit, subsets @ self._basis)

    def solve(self, tolerance: float) -> FloatArray:
        """Return the duals, and give up convexity where it is seen to cost something."""
        value, duals, _ = solve(self._lp)
        while self._bends and -value * self._unit > self._partition.value * (1.0 + 0.5 * tolerance):
            for i in self._bends.pop(0):
                self._lp.changeRowBounds(int(i), -highspy.kHighsInf, highspy.kHighsInf)
            value, duals, _ = solve(self._lp)
        return np.asarray(self._basis @ duals) * self._unit


def _knots(
    place: FloatArray, partition: Partition, tangents: FloatArray
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Choose knots for the price per unit of P0 + P1, and say which are where two blocks meet."""
    ends = np.flatnonzero(np.diff(partition.labels))
    knots = np.unique(place)
    if len(knots) > SETTINGS.price_knots:
        rise = np.diff(tangents[0] - tangents[1])
        equal = -np.diff(tangents[1]) / np.where(rise > 0, rise, np.inf)  # where tangents meet
        each = int(np.clip(SETTINGS.price_knots // partition.blocks, *SETTINGS.knots_per_block))
        own = [place[partition.labels == b] for b in range(partition.blocks)]
        inside = [np.quantile(p, np.linspace(0.0, 1.0, min(each, len(p)))) for p in own]
        knots = np.unique(np.concatenate([np.clip(equal, place[ends], place[ends + 1]), *inside]))
    between = (knots >= place[ends, None]) & (knots <= place[ends + 1, None])
    return knots, np.asarray(between.any(axis=0))


@lru_cache(maxsize=8)  # each may keep the sums of all 2^k sets
def merge_equal_ratios(utility: FDivergence) -> tuple[FDivergence, NDArray[np.int64]]:
    """Merge inputs with equal P0 / P1, and return the group of every input.

    Nothing is lost. With duals in proportion to the masses within a group, what a column that splits the
    group is worth beyond its price is a convex function of the share it takes, and largest at none or all.
    Inputs with probability 0 under both are free, and join the first group. Groups are in the order of their
    ratios. A generator f of one's own is tilted to be flat at 1, as the others are, which changes no utility.
    """
    order = likelihood_ratio_order(utility)
    p0, p1 = utility.p0[order], utility.p1[order]
    step = p0[1:] * p1[:-1] > p0[:-1] * p1[1:] * (1.0 + SETTINGS.rounding)
    step &= p0[:-1] + p1[:-1] > 0
    groups = np.empty(len(order), dtype=np.int64)
    groups[order] = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(step)])
    return utility.merged(groups, utility.f and _flat_at_one(utility.f)), groups


def _flat_at_one(f: Callable[[FloatArray], FloatArray]) -> Callable[[FloatArray], FloatArray]:
    low, high = f(np.array([1.0 - SETTINGS.generator_step, 1.0 + SETTINGS.generator_step]))
    slope = float(high - low) / (2.0 * SETTINGS.generator_step)
    return lambda t: f(t) - slope * (t - 1.0)
