"""The optimum of an f-divergence: the best cut of the inputs into blocks, and prices that prove it.

Sort the inputs by P0 / P1. Some optimal mechanism cuts this order into blocks and applies randomized response
to the label of the block, so that the best cut, a fractional longest path, is all there is to find (Ghazi,
arXiv 2606.07443). No bound rests on that theorem here: prices of the inputs prove the cut optimal.

**Finding prices.** Within a block B with z0 / z1 = t, an input is worth its value under the tangent of f at
t, less a share of what the block pays for being there at all. Shared in proportion to how much the input
loses in the next best block, this proves most cuts of two blocks optimal. Else a linear program finds the
prices: least in sum, such that no subset found so far has a positive reduced cost. With many inputs the price
per unit of P0 + P1 is a piecewise linear function of P0 / (P0 + P1), and convex: then every T above is an
interval of ratios, and prices do not swing from round to round. If that leaves a gap, the function need not
be convex where two blocks meet.
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
from ldpfrontier.numerics.highs import LP_TOLERANCE, add_rows, new_lp, solve
from ldpfrontier.optimal.ldp.chord_pricing import REMEMBERED, Listing, Pricing, by_ratio, chord, log_ratio
from ldpfrontier.optimum import ROUNDING, Optimum, certified, uninformative
from ldpfrontier.types import FloatArray
from ldpfrontier.utility import FDivergence

#: Likelihood ratios this close, relatively, are equal to rounding.
RATIO_ROUNDING = 4 * np.finfo(float).eps

#: A chord between log ratios this far apart, twice, passes for a tangent where a guess is enough.
#: Beyond the log ratio FARTHEST, a likelihood of 1e-9 of the other leaves no trace in it.
TANGENT, FARTHEST = 1e-6, 20.0

#: Where the slope of a generator at 1 is taken.
FLAT = 1e-4

#: Most knots of the price function, if not every input is one; fewest and most in a block.
KNOTS, FEWEST, MOST = 96, 4, 16

#: Most inputs of which all blocks are in the program from the start: with a convex price no more are needed.
COMPLETE = 24

#: Up to this many inputs all columns are listed for pricing.
LISTED = 12

#: Range of the price per unit of P0 + P1 in a linear program, in slopes of tangents; its limit, in values of
#: the cut.
RANGE, LARGEST = 4.0, 1e9

#: Most steps of the simplex method, which takes some hundreds.
ITERATIONS = 2_000

#: Most linear programs, and how far from the best prices towards the program's new ones are tried.
ROUNDS, STEP = 40, 0.7


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
class Cut:
    """The best cut of the inputs of an f-divergence, sorted by P0 / P1, into blocks.

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
    # Of the blocks i..j, each summed by itself: differences of sums would lose an unlikely one.
    block = np.triu(np.ones((k, k), dtype=bool))
    mass, difference = (
        np.cumsum(np.where(block, p[order], 0.0), axis=1) for p in (utility.p1, utility.p0 - utility.p1)
    )
    # worth[j, i]: of the block i..j-1, and -inf where j <= i.
    worth = np.full((k + 1, k + 1), -np.inf)
    values = utility.perspective((floor + share * mass).ravel(), (share * difference).ravel())
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
    return Cut(labels, len(ends) - 1, value)


def optimal_divergence(utility: FDivergence, epsilon: float, *, tolerance: float, max_rounds: int) -> Optimum:
    """Find the best mechanism for an f-divergence, with a bound over all 2^k staircase columns.

    Parameters
    ----------
    utility : FDivergence
    epsilon : float
        In nats, > 0.
    tolerance, max_rounds
        As of `optimal_ldp`; at most `ROUNDS` rounds.
    """
    merged, groups = merge(utility)
    if len(merged.prior) == 1:
        # Ratios that are equal to rounding: what they could still tell is no more than without privacy.
        nothing = uninformative(len(groups), utility.unit)
        return certified(nothing.channel, 0.0, utility.divergence(), tolerance, unit=utility.unit)
    # A generator of one's own may lose digits where numbers near one cancel.
    noise = 0.0 if utility.f is None else ROUNDING
    cut = best_cut(merged, epsilon)
    channel = block_response(cut.labels[groups], cut.blocks, epsilon)
    rounds, bound = _prove(merged, cut, epsilon, tolerance, min(max_rounds, ROUNDS))
    bound = min(bound, utility.divergence())
    return certified(channel, cut.value, bound, tolerance, rounds, unit=utility.unit, noise=noise)


def _prove(
    utility: FDivergence, cut: Cut, epsilon: float, tolerance: float, max_rounds: int
) -> tuple[int, float]:
    """Find prices that prove a cut optimal; return the rounds and the best bound.

    Parameters
    ----------
    utility : FDivergence
        Inputs in the order of P0 / P1, no two with the same.
    """
    rounding = ROUNDING * (cut.value + (utility.f is not None))
    resolution = 0.1 * max(tolerance * cut.value, rounding)
    tangents, best = _tangents(utility, cut, epsilon)
    pricing = (Listing if len(utility.prior) <= LISTED else Pricing)(utility, epsilon)
    bound, subsets = pricing.excess(best, resolution, cut.value)
    best, total = best + bound * utility.prior, cut.value + bound
    # What the sum of prices loses in the program.
    lost = LP_TOLERANCE / -math.expm1(-epsilon) * cut.value
    enough = max(tolerance * cut.value - 2.0 * rounding, rounding)
    program, rounds = None, 0
    for rounds in range(max_rounds):
        if total - cut.value <= enough:
            return rounds, total
        if program is None:
            program = _Prices(utility, cut, epsilon, tangents)
        program.add(subsets)
        # Nothing wrong with the last prices, or little to be learnt: then all the way.
        step = STEP if len(subsets) and not program.complete else 1.0
        try:
            least = program.solve(tolerance)
        except RuntimeError:  # a program that HiGHS gives up costs the bound digits, never its validity
            break
        sum_ = float(least.sum())
        if abs(sum_ - cut.value) <= lost:
            least, sum_ = least + (cut.value - sum_) / len(least), cut.value
        if total - sum_ <= 0.1 * enough:  # the least that these knots allow
            return rounds, total
        trial, target = best + step * (least - best), total + step * (sum_ - total)
        bound, subsets = pricing.excess(trial, resolution, target)
        if target + bound < total:
            best, total = trial + bound * utility.prior, target + bound
    else:
        rounds = max_rounds
    return rounds, total


def _tangents(utility: FDivergence, cut: Cut, epsilon: float) -> tuple[FloatArray, FloatArray]:
    """Return what a unit of P0 and of P1 is worth in every block, shape (2, m), and the first prices."""
    floor, share = math.exp(-epsilon), -math.expm1(-epsilon)
    masses = [
        np.bincount(cut.labels, weights=p, minlength=cut.blocks).astype(float)
        for p in (utility.p0, utility.p1, utility.p0 - utility.p1)
    ]
    z1, apart = floor + share * masses[1], share * masses[2]
    ratio = np.clip(log_ratio(floor, share, *masses), -FARTHEST, FARTHEST)
    width = TANGENT * min(max(float(np.abs(ratio).max()), 1e-290), 1.0)
    slope, at_one, _ = chord(utility, ratio - width, ratio + width)
    tangents = np.stack([slope, at_one - slope])
    worth = np.outer(utility.p0, tangents[0]) + np.outer(utility.p1, tangents[1])
    k = len(worth)
    own = worth[np.arange(k), cut.labels]
    worth[np.arange(k), cut.labels] = -np.inf
    loss = np.maximum(own - worth.max(axis=1), 0.0) + 1e-300 if cut.blocks > 1 else utility.prior
    # A block's prices add up to what it brings beyond the value of the cut.
    brings = (utility.perspective(z1, apart) - cut.value * floor) / share
    due = np.bincount(cut.labels, weights=own, minlength=cut.blocks) - brings
    due /= np.bincount(cut.labels, weights=loss, minlength=cut.blocks)
    return tangents, own - loss * due[cut.labels]


class _Prices:
    """The program for prices: least in sum, with no positive reduced cost among the subsets found.

    With lam the value of the cut, prices are optimal when (1 - e^-eps) alpha . T >= g(T) - lam e^-eps for all
    subsets T and the sum of the left sides over the inputs is least: the dual of covering every input exactly
    once by subsets. Its matrix of zeros and ones stays well conditioned at small epsilon.
    """

    def __init__(self, utility: FDivergence, cut: Cut, epsilon: float, tangents: FloatArray) -> None:
        self._utility, self._cut, self._epsilon = utility, cut, epsilon
        both = utility.p0 + utility.p1
        place = utility.p0 / both
        knots, meets = _knots(place, cut, tangents)
        right = np.clip(np.searchsorted(knots, place), 1, len(knots) - 1)
        part = (place - knots[right - 1]) / (knots[right] - knots[right - 1])
        # prices = basis @ (price per unit at the knots)
        self._basis = np.zeros((len(both), len(knots)))
        self._basis[np.arange(len(both)), right - 1] = both * (1.0 - part)
        self._basis[np.arange(len(both)), right] += both * part
        # Few inputs have a variable each, many share those of the price per unit.
        scale = np.maximum(self._basis.max(axis=0), 1e-300) if len(knots) <= KNOTS else np.ones(len(knots))
        self._basis /= scale
        self._unit = cut.value or 1.0
        self._lp = new_lp()
        self._lp.setOptionValue("simplex_strategy", 1)  # dual: rows are added to a solved program
        self._lp.setOptionValue("simplex_iteration_limit", ITERATIONS)
        nothing = np.empty(0, dtype=np.int32), np.empty(0)
        # A wider range of prices is of no use, and without any the first program has no optimum.
        most = RANGE * np.minimum(scale * max(float(np.abs(tangents).max()) / self._unit, 1.0), LARGEST)
        for cost, limit in zip(self._basis.sum(axis=0), most, strict=True):
            self._lp.addCol(-cost, -limit, limit, 0, *nothing)
        # Rows of convexity to be given up: first where blocks meet, then all.
        bends = np.arange(len(knots) - 2)
        self._bends = [bends[meets[1:-1]], *([bends] if len(knots) <= KNOTS else [])]
        steps = np.diff(knots)
        bent = np.zeros((len(bends), len(knots)))
        bent[bends, bends], bent[bends, bends + 2] = 1.0 / steps[:-1], 1.0 / steps[1:]
        bent[bends, bends + 1] = -1.0 / steps[:-1] - 1.0 / steps[1:]
        bent /= scale
        add_rows(self._lp, np.zeros(len(bends)), bent / np.abs(bent).max(axis=1, keepdims=True))
        self.complete = len(place) <= COMPLETE
        if self.complete:
            inputs = np.arange(len(place))
            first, last = (ends[:, None] for ends in np.triu_indices(len(place)))
            self.add((first <= inputs) & (inputs <= last))

    def add(self, subsets: NDArray[np.bool_]) -> None:
        """Require that some subsets have no positive reduced cost."""
        floor, share = math.exp(-self._epsilon), -math.expm1(-self._epsilon)
        u = self._utility
        z1, apart = floor + share * (subsets @ u.p1), share * (subsets @ (u.p0 - u.p1))
        worth = (u.perspective(z1, apart) - self._cut.value * floor) / share
        add_rows(self._lp, worth / self._unit, subsets @ self._basis)

    def solve(self, tolerance: float) -> FloatArray:
        """Return the prices, and give up convexity where it is seen to cost something."""
        value, prices, _ = solve(self._lp)
        while self._bends and -value * self._unit > self._cut.value * (1.0 + 0.5 * tolerance):
            for i in self._bends.pop(0):
                self._lp.changeRowBounds(int(i), -highspy.kHighsInf, highspy.kHighsInf)
            value, prices, _ = solve(self._lp)
        return np.asarray(self._basis @ prices) * self._unit


def _knots(place: FloatArray, cut: Cut, tangents: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Choose knots for the price per unit of P0 + P1, and say which are where two blocks meet."""
    ends = np.flatnonzero(np.diff(cut.labels))
    knots = np.unique(place)
    if len(knots) > KNOTS:
        rise = np.diff(tangents[0] - tangents[1])
        equal = -np.diff(tangents[1]) / np.where(rise > 0, rise, np.inf)  # where tangents meet
        each = int(np.clip(KNOTS // cut.blocks, FEWEST, MOST))
        own = [place[cut.labels == b] for b in range(cut.blocks)]
        inside = [np.quantile(p, np.linspace(0.0, 1.0, min(each, len(p)))) for p in own]
        knots = np.unique(np.concatenate([np.clip(equal, place[ends], place[ends + 1]), *inside]))
    between = (knots >= place[ends, None]) & (knots <= place[ends + 1, None])
    return knots, np.asarray(between.any(axis=0))


@lru_cache(maxsize=REMEMBERED)
def merge(utility: FDivergence) -> tuple[FDivergence, NDArray[np.int64]]:
    """Merge inputs with equal P0 / P1, and return the group of every input.

    Nothing is lost. With prices in proportion to the masses within a group, what a column that splits the
    group is worth beyond its price is a convex function of the share it takes, and largest at none or all.
    Inputs with probability 0 under both are free, and join the first group. Groups are in the order of their
    ratios. A generator f of one's own is tilted to be flat at 1, as the others are, which changes no utility.
    """
    order = by_ratio(utility)
    p0, p1 = utility.p0[order], utility.p1[order]
    step = p0[1:] * p1[:-1] > p0[:-1] * p1[1:] * (1.0 + RATIO_ROUNDING)
    step &= p0[:-1] + p1[:-1] > 0
    groups = np.empty(len(order), dtype=np.int64)
    groups[order] = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(step)])
    sums = [np.bincount(groups, weights=p).astype(float) for p in (utility.p0, utility.p1)]
    return FDivergence(sums[0], sums[1], utility.kind, f=utility.f and _flat(utility.f)), groups


def _flat(f: Callable[[FloatArray], FloatArray]) -> Callable[[FloatArray], FloatArray]:
    low, high = f(np.array([1.0 - FLAT, 1.0 + FLAT]))
    slope = float(high - low) / (2.0 * FLAT)
    return lambda t: f(t) - slope * (t - 1.0)
