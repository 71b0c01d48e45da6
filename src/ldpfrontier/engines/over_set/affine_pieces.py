r"""Affine bounds on the functions of blocks, fitted to known points: one lam and one discount for each class.

For a class of columns (see `affine_bounds`), a slope lam and a discount beta, the least intercepts that no
known point (f, z) of block s is above are the conjugates ::

    h_s = max( max {f - lam z : z <= low},  max {f - lam z - beta : low < z <= high} ),

and they imply kappa = lam - 1 - log(-H), H the largest sum of h_s + beta over the products: a convex problem
in lam and beta. Of all bounds that imply a kappa that is small enough, those are taken that leave a block
between the ends of the class the most room, with the largest discount: they are the easiest to prove. If
there are none, those with the least kappa are taken.

Where one slope for all columns is not enough, products that need slopes of their own are separated, and then
classes are split by their largest z, at as few breakpoints and knots as possible.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.over_set.affine_bounds import ColumnClass
from ldpfrontier.engines.over_set.settings import SETTINGS
from ldpfrontier.engines.products.tangents import tangent_bound
from ldpfrontier.numerics.jit import borrowing_kernel, inner_kernel

_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
_GOLDEN_STEPS, _BISECTION_STEPS = 36, 24  # to 6e-8 of the range of lam, and of that of the discount
_LAM_MARGIN = 1.0  # lam is looked for from less than 0 to more than 1 + log of the largest Z by this
_SAME_Z = SETTINGS.breakpoint_ratio


class Located(NamedTuple):
    """Points of a block by their values, with the z that says which classes they are of."""

    f: FloatArray  # (m,)
    z: FloatArray  # (m,)
    class_z: FloatArray  # (m,)

    @classmethod
    def join(cls, points: Sequence[Located]) -> Located:
        """Put points one after the other."""
        return cls(*(np.concatenate(list(each)) for each in zip(*points, strict=True)))


class KnotPoints(NamedTuple):
    """Known points of all blocks at one knot, one block after the other."""

    f: FloatArray  # (m,)
    z: FloatArray  # (m,)
    class_z: FloatArray  # (m,)
    first: NDArray[np.int64]  # (blocks + 1,): where those of each begin

    @classmethod
    def of(cls, blocks: Sequence[Located]) -> KnotPoints:
        """Put the points of blocks one after the other."""
        return cls(*Located.join(blocks), np.cumsum([0, *(len(own.f) for own in blocks)]))


class FitProblem(NamedTuple):
    """Points, some products and a class of their columns, and space for conjugates."""

    points: KnotPoints
    products: NDArray[np.int64]  # (products, a1): their blocks
    low: float
    high: float
    below: FloatArray  # (blocks,): the largest f - lam z up to low
    inside: FloatArray  # (blocks,): and between low and high

    @classmethod
    def of(cls, points: KnotPoints, products: NDArray[np.int64], low: float, high: float) -> FitProblem:
        """Return a problem with space of its own."""
        return cls(points, products, low, high, *np.empty((2, len(points.first) - 1)))


@inner_kernel
def _set_conjugates(problem: FitProblem, lam: float, high: float) -> None:
    """Find the largest f - lam z of every block up to low and from there to `high`, ends included.

    Of a block that is above `high` alone, it is that of the least z.
    """
    points, low = problem.points, problem.low
    for s in range(problem.below.size):
        below = inside = -np.inf
        least, nearest = np.inf, 0.0
        for i in range(points.first[s], points.first[s + 1]):
            z = points.class_z[i]
            value = points.f[i] - lam * points.z[i]
            if z <= low:
                below = max(below, value)
            # Points at an end are on both sides of it.
            if low <= _SAME_Z * z and z <= _SAME_Z * high:
                inside = max(inside, value)
            if z < least:
                least, nearest = z, value
        problem.below[s], problem.inside[s] = below, nearest if below == inside == -np.inf else inside


@inner_kernel
def _total(problem: FitProblem, discount: float) -> tuple[float, bool]:
    """Return the largest H of a product, and whether it rises with the discount."""
    most, rises = -np.inf, False
    for n in range(problem.products.shape[0]):
        total, slope = discount, 1
        for s in problem.products[n]:
            total += max(problem.below[s], problem.inside[s] - discount)
            slope -= problem.inside[s] - discount > problem.below[s]
        if total > most:
            most, rises = total, slope > 0
    return most, rises


@inner_kernel
def _least_kappa(problem: FitProblem, lam: float) -> tuple[float, float]:
    """Return the least kappa that is implied with slope lam, and the discount with which it is."""
    _set_conjugates(problem, lam, problem.high)
    first = last = 0.0
    if problem.low > 0.0:
        for s in range(problem.below.size):
            if problem.below[s] > -np.inf and problem.inside[s] > -np.inf:
                first = min(first, problem.inside[s] - problem.below[s])
    for _ in range(_BISECTION_STEPS if first < 0.0 else 0):
        middle = 0.5 * (first + last)
        if _total(problem, middle)[1]:
            last = middle
        else:
            first = middle
    at_first, at_last = _total(problem, first)[0], _total(problem, last)[0]
    if at_first < at_last:
        return tangent_bound(lam, at_first), first
    return tangent_bound(lam, at_last), last


@inner_kernel
def _objective(problem: FitProblem, z: float, lam: float) -> float:
    """Return the least kappa with slope lam; with z > 0, minus the room that is left to a block of mean z.

    The room is what the block may have if the others are at their best up to low, and kappa is 0.
    """
    if z <= 0.0:
        return _least_kappa(problem, lam)[0]
    _set_conjugates(problem, lam, problem.low)
    return float(np.exp(lam - 1.0) + _total(problem, 0.0)[0] - lam * z)


@inner_kernel
def _best_lam(problem: FitProblem, z: float, largest: float) -> float:
    """Return the slope with the least objective, by golden sections."""
    a, b = -_LAM_MARGIN, largest
    c, d = b - _GOLDEN * (b - a), a + _GOLDEN * (b - a)
    at_c, at_d = _objective(problem, z, c), _objective(problem, z, d)
    # Room hardly depends on the slope.
    for _ in range(_GOLDEN_STEPS // 2 if z > 0.0 else _GOLDEN_STEPS):
        if at_c < at_d:
            b, d, at_d = d, c, at_c
            c = b - _GOLDEN * (b - a)
            at_c = _objective(problem, z, c)
        else:
            a, c, at_c = c, d, at_d
            d = a + _GOLDEN * (b - a)
            at_d = _objective(problem, z, d)
    return c if at_c < at_d else d


@borrowing_kernel
def fit_knot(problem: FitProblem, z: float, enough: float) -> tuple[float, float, float]:
    """Find kappa, a slope and a discount that imply no more than `enough`, or else the least kappa.

    The mean z is that of a block that should be left the most room, if `enough` is implied then; none with 0.
    Up to this kappa the discount is raised. The conjugates at the slope found are left in the space of the
    problem.
    """
    points, most = problem.points, 0.0
    for s in range(problem.below.size):
        largest = 0.0
        for i in range(points.first[s], points.first[s + 1]):
            largest = max(largest, points.z[i])
        most += largest
    steepest = 1.0 + np.log(most) + _LAM_MARGIN
    if z > 0.0:
        lam = _best_lam(problem, z, steepest)
        kappa, discount = _least_kappa(problem, lam)
        if kappa <= enough:
            # The total rises with the discount from here on.
            largest = 0.0
            for _ in range(_BISECTION_STEPS):
                middle = 0.5 * (discount + largest)
                implied = tangent_bound(lam, _total(problem, middle)[0])
                if implied <= enough:
                    kappa, discount = implied, middle
                else:
                    largest = middle
            return kappa, lam, discount
    lam = _best_lam(problem, 0.0, steepest)
    kappa, discount = _least_kappa(problem, lam)
    return kappa, lam, discount


class _Fit(NamedTuple):
    """The bounds of a class of some products at the knots from `first` on."""

    products: NDArray[np.int64]  # indices
    first: int
    low: float
    high: float
    kappa: FloatArray  # (knots,)
    lam: FloatArray  # (knots,)
    discount: FloatArray  # (knots,)
    intercepts: FloatArray  # (blocks, knots)

    def at(self, knots: slice, shape: tuple[int, int]) -> ColumnClass:
        """Return the class at some of its knots, with so many products and knots in all."""
        own, K = slice(knots.start - self.first, knots.stop - self.first), shape[1]
        needed, discount = np.zeros(shape, dtype=bool), np.zeros(K)
        # Intercept of affine bounds at knots that they are not for: far above any other.
        intercepts = np.full((len(self.intercepts), K), 1e3)
        needed[self.products, knots] = True
        discount[knots], intercepts[:, knots] = self.discount[own], self.intercepts[:, own]
        lam = self.lam[own][np.clip(np.arange(K) - knots.start, 0, knots.stop - knots.start - 1)]
        return ColumnClass(self.low, self.high, lam, discount, intercepts, needed)


class Fitter:
    """Fits affine bounds to known points, with classes as wide as the kappa that is enough allows.

    At every knot there are vertices, and points, which are the same and those at the breakpoints: where z may
    be split, rising. Products have their blocks, (products, a1).
    """

    def __init__(
        self,
        vertices: Sequence[KnotPoints],
        points: Sequence[KnotPoints],
        products: NDArray[np.int64],
        breakpoints: FloatArray,
        enough: float,
    ) -> None:
        self.vertices, self.points, self.products = vertices, points, products
        self._ends, self.enough = [0.0, *breakpoints.tolist(), math.inf], enough

    def classes(self) -> list[ColumnClass]:
        """Split the columns into classes whose bounds imply `enough`, or nearly."""
        K = len(self.vertices)
        shape = len(self.products), K
        groups, found = [np.arange(len(self.products))], list[ColumnClass]()
        while groups:
            whole = self._fit(self.vertices, slice(0, K), groups.pop(), 0.0, math.inf)
            halves = self._split_products(whole)
            groups += halves
            if halves:
                continue
            runs = knot_runs(whole.kappa > self.enough)
            ends = [0, *(end for run in runs for end in (run.start, run.stop - 1)), K - 1]
            for a, b in zip(ends[::2], ends[1::2], strict=True):
                if a < b or not runs:
                    found.append(whole.at(slice(a, b + 1), shape))
            for knots in runs:
                found += [fit.at(knots, shape) for fit in self._split_z(knots, whole.products)]
        return found

    def _fit(
        self,
        points: Sequence[KnotPoints],
        knots: slice,
        products: NDArray[np.int64],
        low: float,
        high: float,
    ) -> _Fit:
        """Fit the bounds of a class."""
        count, K = len(points[0].first) - 1, knots.stop - knots.start
        kappa, lam, discount, intercepts = np.empty(K), np.empty(K), np.empty(K), np.empty((count, K))
        for k, own in enumerate(points[knots]):
            problem = FitProblem.of(own, self.products[products], low, high)
            z = math.sqrt(low * min(high, max(float(own.z.max()), low)))
            kappa[k], lam[k], discount[k] = fit_knot(problem, z, self.enough)
            intercepts[:, k] = np.maximum(problem.below, problem.inside - discount[k])
        return _Fit(products, knots.start, low, high, kappa, lam, discount, intercepts)

    def _split_z(self, knots: slice, products: NDArray[np.int64]) -> list[_Fit]:
        """Split the columns of some products at as few breakpoints as possible, from the lowest on."""
        found, low, ends = list[_Fit](), 0, self._ends
        while low < len(ends) - 1:
            high, beyond = low + 1, len(ends)
            fit = self._fit(self.points, knots, products, ends[low], ends[high])
            while beyond - high > 1:
                middle = (high + beyond) // 2
                wider = self._fit(self.points, knots, products, ends[low], ends[middle])
                if wider.kappa.max() <= self.enough:
                    fit, high = wider, middle
                else:
                    beyond = middle
            found.append(fit)
            low = high
        return found

    def _split_products(self, fit: _Fit) -> list[NDArray[np.int64]]:
        """Split the products of a class in two if separate slopes would help.

        At the worst knot the best slope of each product alone is computed. If that lowers kappa by more than
        half of its excess over `enough`, products with steeper slopes are separated from the rest; else the
        result is empty.
        """
        k = int(fit.kappa.argmax())
        if fit.kappa[k] <= self.enough or len(fit.products) == 1:
            return []
        problems = [
            FitProblem.of(self.vertices[k], self.products[[n]], fit.low, fit.high) for n in fit.products
        ]
        alone = np.array([fit_knot(problem, 0.0, self.enough)[:2] for problem in problems])
        steep, gain = alone[:, 1] > fit.lam[k], fit.kappa[k] - alone[:, 0].max()
        if gain <= 0.5 * (fit.kappa[k] - self.enough) or steep.all() or not steep.any():
            return []
        return [fit.products[~steep], fit.products[steep]]


def knot_runs(needed: NDArray[np.bool_]) -> list[slice]:
    """Return runs of the knots that are needed, with the ones beside them, and short gaps closed."""
    runs = list[slice]()
    for k in np.flatnonzero(needed).tolist():
        first, last = max(k - 1, 0), min(k + 2, len(needed))
        if runs and first - runs[-1].stop < SETTINGS.negligible_share * len(needed):
            first = runs.pop().start
        runs.append(slice(first, last))
    return runs
