r"""The best robustly private mechanism under the uncertainty set itself, for tables with few cells.

lopuhaa2024 calls a mechanism (eps, F)-RLDP if no P in F lets an output tell two sensitive values apart by
more than e^eps. PolyOpt is the optimum over polyhedral cones inside the cone of all such columns; here the
column LP is solved over that cone itself (`cone`), or over the one of the exact projections of F:

1. **Search**: the value of a column is convex, so it rises along the solution of the LP with its gradient,
   taken over the inequalities seen so far. Solutions outside the cone yield new inequalities; the last one
   is mixed with the constant column until it is inside.
2. **Pricing**: branch and bound over boxes, on which v log v is bounded by its secant, over the same growing
   set of inequalities. All of them hold for the cone, so at any time the bound is valid.
"""

from __future__ import annotations

import heapq
import itertools
import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

from ldpfrontier.channel import Channel
from ldpfrontier.information import entropy
from ldpfrontier.optimal.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.optimal.column_generation.smoothed import Master, generate
from ldpfrontier.optimal.exact.separation import Conditionals, Oracle, Pairs, Relaxation
from ldpfrontier.optimal.ldp.nonrobust import optimal_nonrobust
from ldpfrontier.optimal.polyopt.solve import allowed, start_columns
from ldpfrontier.optimum import Optimum, certified, check_start, checked_epsilon, uninformative
from ldpfrontier.types import FloatArray
from ldpfrontier.uncertainty.divergence import least_members
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from ldpfrontier.utility import Columns, MutualInformation

#: Share of the resolution that a column may lose when it is pulled into the cone, and the least weight of the
#: constant column that a violated inequality must ask for.
LOSS, LEAST = 0.05, 1e-10

#: Below this, gradients take a letter for this large: the slope of v log v at 0 is -inf.
FLOOR = 1e-5

#: Share of the tolerance left to pricing.
SHARE = 0.3

#: Steps of a search; boxes of the branch and bound split between two calls of the oracle; a box is not cut
#: nearer to its ends than this share of its width.
STEPS, GROUP, MARGIN = 60, 16, 0.35

#: Linear programs of one optimum, after which searches and boxes end; six cells mostly need a tenth.
WORK = 100_000


class Box(NamedTuple):
    """Columns between `lo` and `hi` and the one, `v`, at which their bound is attained; least bound last."""

    negative: float
    number: int
    v: FloatArray
    lo: FloatArray
    hi: FloatArray


@dataclass(eq=False)
class JointColumns:
    """The columns of the cone, priced by search and branch and bound.

    Attributes
    ----------
    oracle : Oracle
    max_nodes : int
        Most boxes to look at per pricing: the first, rough effort has a tenth of them.
    value, resolution : float
        In nats: no bound on the optimum below value + resolution is looked for, and none on reduced costs
        closer than `resolution` to the best one found.
    """

    oracle: Oracle
    max_nodes: int
    value: float = field(default=0.0, init=False)
    resolution: float = field(default=0.0, init=False)
    looked_at: int = field(default=0, init=False)
    efforts: int = 2

    def __post_init__(self) -> None:
        self.utility = MutualInformation(self.oracle.ball.centre)
        self.relaxation = Relaxation(self.scale)
        self.rng = np.random.default_rng(0)
        self.known = self.utility.columns(np.ones((1, self.scale.size)))
        self.aim(0.0, 1e-3)
        self.top = self._ranges()
        self._count = itertools.count()

    def aim(self, value: float, resolution: float) -> None:
        """Set the value of the best channel so far, and how exact searches and bounds have to be, in nats."""
        self.value, self.resolution = value, resolution
        self._weight = max(LOSS * resolution, LEAST)
        self.relaxation.slack = self._weight * -math.expm1(-self.oracle.epsilon)

    @property
    def scale(self) -> FloatArray:
        """P-hat, row-major, shape (a1 a2,)."""
        return self.utility.prior

    def _ranges(self) -> FloatArray:
        """Upper bounds on the entries of columns; fills the pool."""
        ball, E = self.oracle.ball, math.exp(self.oracle.epsilon)
        a1, a2 = ball.centre.shape
        unit = np.tile(np.eye(a2), (a1, 1))
        s = np.repeat(np.arange(a1), a2)
        largest = -least_members(ball.conditionals[s], -unit, ball.projected_radii[s], ball.order)[0]
        # Averages of two groups differ by at most e^eps and have the mean 1: R . v_s <= e^(2 eps).
        top = E * E / largest
        low = np.zeros(a1 * a2)
        cuts = self.oracle.worst(np.vstack([np.eye(a1 * a2) + 1e-3, 1.001 - np.eye(a1 * a2)]))[1]
        self.relaxation.add(cuts.reshape(-1, a1 * a2))
        for _ in range(8):
            corners = []
            for x in range(a1 * a2):
                found = self.relaxation.maximize(np.eye(a1 * a2)[x], low, top)
                if found is not None:
                    top[x] = min(top[x], found[0] * (1.0 + 1e-9))
                    corners.append(found[1])
            self._cut(np.array(corners))
        return np.asarray(top)

    def _cut(self, columns: FloatArray) -> FloatArray:
        """Look for inequalities that columns do not meet; the weights of the constant to ask for, (m,)."""
        cuts = self.oracle.rough_cuts(columns)
        excess = np.maximum(np.einsum("mpx,mx->mp", cuts, columns), 0.0)
        weights = excess / (excess + math.expm1(self.oracle.epsilon))
        self.relaxation.add(cuts[weights > self._weight])
        return np.asarray(weights.max(axis=1))

    def search(self, prices: FloatArray, starts: FloatArray) -> Columns:
        """Follow the gradients of the reduced costs from given columns (in the cone or not)."""
        zero = np.zeros_like(self.top)
        points, best = np.minimum(starts, self.top), np.full(len(starts), -math.inf)
        rows = np.arange(len(starts))
        for _ in range(STEPS):
            if self.relaxation.solved > WORK:
                break
            slopes = self.scale * (np.log(np.maximum(points[rows], FLOOR)) + 1.0) - prices
            found = [self.relaxation.maximize(slope, zero, self.top) for slope in slopes]
            ends = np.array([points[i] if x is None else x[1] for i, x in zip(rows, found, strict=True)])
            outside = self._cut(ends) > self._weight
            reduced = xlogy(ends, ends) @ self.scale - ends @ prices
            # Outside the cone the reduced cost falls with every new inequality; inside it rises.
            moving = outside | (reduced > best[rows] + 0.1 * self.resolution)
            points[rows], best[rows] = ends, np.where(outside, -math.inf, reduced)
            rows = rows[moving]
            if rows.size == 0:
                break
        return self._offer(points)

    def _offer(self, columns: FloatArray) -> Columns:
        """Pull columns into the cone and keep them, and the inequalities met on the way."""
        inside, cuts = self.oracle.pull(columns)
        self.relaxation.add(cuts)
        valued = self.utility.columns(inside)
        self.known = Columns.join([self.known, valued])
        return valued

    def starts(self, columns: FloatArray) -> FloatArray:
        """Columns near given ones with letters opened, closed and changed, and random ones."""
        n = len(self.top)
        every = np.repeat(columns, 3, axis=0)
        noise = np.exp(self.rng.normal(size=every.shape))
        opened = np.where(self.rng.random(every.shape) < 0.2, self.rng.random(every.shape) * self.top, every)
        closed = np.where(self.rng.random(every.shape) < 0.3, 0.0, every * noise)
        random = self.rng.random((2 * n, n)) ** 4 * self.top
        result = np.vstack([columns, opened, closed, random])
        return self.utility.columns(result + 1e-12).vectors

    def revealing(self) -> FloatArray:
        """Columns that tell one letter of every group, the best if P is known exactly; 64 at most."""
        a1, a2 = self.oracle.ball.centre.shape
        letters = np.array(list(itertools.islice(itertools.product(range(a2), repeat=a1), 64)))
        blocks = np.zeros((len(letters), a1, a2))
        np.put_along_axis(blocks, letters[:, :, None], 1.0, axis=2)
        return self.utility.columns(blocks.reshape(len(letters), -1) + 1e-12).vectors

    def price(self, prices: FloatArray, effort: int) -> tuple[float, Columns]:
        """Bound the reduced costs of all columns from above; offer the best ones found."""
        reduced = self.known.values - self.known.vectors @ prices
        first = np.argsort(-reduced, kind="stable")[:8]
        self.search(prices, self.starts(self.known.vectors[first]))
        bound = self._branch(prices, effort)
        reduced = self.known.values - self.known.vectors @ prices
        best = np.argsort(-reduced, kind="stable")[: 2 * GENERATION.batch]
        return bound, Columns(self.known.vectors[best], self.known.values[best])

    def _branch(self, prices: FloatArray, effort: int) -> float:
        """Branch and bound, the box with the largest bound first."""
        best = float((self.known.values - self.known.vectors @ prices).max())
        target = self.value + self.resolution - float(prices.sum())

        def cutoff() -> float:
            rough = max(best, 0.0) if effort + 1 < self.efforts else 0.0
            return max(best + max(self.resolution, rough), target)

        nodes = self.max_nodes if effort + 1 == self.efforts else self.max_nodes // 10
        root = self._bound(prices, np.zeros_like(self.top), self.top, cutoff())
        heap = [] if root is None else [root]
        while heap and -heap[0].negative > cutoff() and nodes > 0 and self.relaxation.solved <= WORK:
            halves: list[tuple[FloatArray, FloatArray]] = []
            while heap and len(halves) < 2 * GROUP and -heap[0].negative > cutoff():
                halves += self._split(heapq.heappop(heap), cutoff())
            nodes -= len(halves)
            self.looked_at += len(halves)
            bounded = [self._bound(prices, lo, hi, cutoff()) for lo, hi in halves]
            boxes = [box for box in bounded if box is not None]
            if not boxes:
                continue
            points = np.array([box.v for box in boxes])
            weights = self._cut(points)[:, None]
            points += weights * (1.0 - points)
            reduced = xlogy(points, points) @ self.scale - points @ prices
            if reduced.max() > best + 0.1 * self.resolution:
                self._offer(points[np.argsort(-reduced, kind="stable")[:3]])
                self.search(prices, self.known.vectors[-3:])
                best = float((self.known.values - self.known.vectors @ prices).max())
            for box in boxes:
                heapq.heappush(heap, box)
        return max(cutoff(), -heap[0].negative) if heap else cutoff()

    def _secants(self, lo: FloatArray, hi: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Slopes and values at 0 of the lines through v log v at the ends of the intervals, times P."""
        low, width = xlogy(lo, lo), hi - lo
        wide = width > 1e-12 * hi
        secants = (xlogy(hi, hi) - low) / np.where(wide, width, 1.0)
        slopes = np.where(wide, secants, np.log(np.maximum(hi, 1e-300)) + 1.0)
        return self.scale * slopes, self.scale * (low - slopes * lo)

    def _bound(self, prices: FloatArray, lo: FloatArray, hi: FloatArray, enough: float) -> Box | None:
        """Bound the reduced costs over a box, without those of its parts where they are below `enough`."""
        while True:
            slopes, constants = self._secants(lo, hi)
            constant = float(constants.sum())
            found = self.relaxation.maximize(slopes - prices, lo, hi, enough - constant)
            if found is None:
                return None
            bound, v, reduced = found[0] + constant, found[1], found[2]
            if bound <= enough:
                return None
            # Moving a letter from its end costs its reduced cost: beyond `reach` the bound is below `enough`.
            with np.errstate(divide="ignore"):
                reach = (bound - enough) / np.abs(reduced)
            new_lo = np.where(reduced > 0, np.maximum(lo, hi - reach), lo)
            new_hi = np.where(reduced < 0, np.minimum(hi, lo + reach), hi)
            shrunk = (new_hi - new_lo < 0.7 * (hi - lo)).any()
            lo, hi = new_lo, new_hi
            if not shrunk:
                return Box(-bound, next(self._count), np.clip(v, lo, hi), lo, hi)

    def _split(self, box: Box, enough: float) -> list[tuple[FloatArray, FloatArray]]:
        """Two halves of a box at the letter with the largest gap; the box again if new cuts help more."""
        _, _, v, lo, hi = box
        slopes, constants = self._secants(lo, hi)
        gaps = slopes * v + constants - self.scale * xlogy(v, v)
        if gaps.sum() < 0.5 * (-box.negative - enough):
            return [(lo, hi)]
        x = int(gaps.argmax())
        width = hi[x] - lo[x]
        at = float(np.clip(v[x], lo[x] + MARGIN * width, hi[x] - MARGIN * width))
        below, above = hi.copy(), lo.copy()
        below[x] = above[x] = at
        return [(lo, below), (above, hi)]


def joint_optimum(
    ball: RenyiBall,
    epsilon: float,
    *,
    oracle: Conditionals = "exact",
    pairs: Pairs = "distinct",
    tolerance: float = 1e-4,
    max_rounds: int = 40,
    max_nodes: int = 20_000,
    start: Channel | None = None,
) -> Optimum:
    """Find the best (eps, F)-RLDP mechanism, with a certificate.

    Parameters
    ----------
    ball : RenyiBall
        The uncertainty set F around the estimate P-hat, under which the utility I(X;Y) is measured.
    epsilon : float
        Privacy level in nats, at least 0.
    oracle : {"exact", "projections"}
        F itself, or its projections F_{U|s} independently of each other, which gives a smaller class.
    pairs : {"all", "distinct"}
        Whether a sensitive value is compared with itself as well, both sides at full budget, as PolyOpt does.
    tolerance : float
        Relative gap at which to stop.
    max_rounds : int
        Most linear programs over the columns found, once by search and once with branch and bound.
    max_nodes : int
        Most boxes per pricing. Up to six cells a few thousand close the gap.
    start : Channel, optional
        A mechanism of the class, whose columns are among the first.

    Returns
    -------
    Optimum
        Inputs (s, u) in row-major order; the bound is one on the class, and at most that of
        `optimal_nonrobust`.

    Raises
    ------
    ValueError
        If epsilon is out of range, `oracle` or `pairs` is unknown, or `start` has another number of inputs or
        is not in the class.
    """
    epsilon = checked_epsilon(epsilon)
    check_start(start, ball.centre.size)
    if oracle not in ("exact", "projections"):
        raise ValueError(f"oracle is {oracle!r}; it must be 'exact' or 'projections'.")
    if pairs not in ("all", "distinct"):
        raise ValueError(f"pairs is {pairs!r}; it must be 'all' or 'distinct'.")
    if pairs == "distinct" and ball.centre.shape[0] == 1:
        # With one sensitive value there is nothing to hide: the identity is best.
        h = entropy(ball.centre)
        return certified(Channel(np.eye(ball.centre.size)), h, h, tolerance)
    if epsilon == 0:
        return uninformative(ball.centre.size)
    nonrobust = optimal_nonrobust(ball.centre, epsilon)
    if ball.radius == 0:
        return nonrobust
    utility = MutualInformation(ball.centre)
    given = start_columns(start, utility)
    family = JointColumns(Oracle(ball, epsilon, oracle, pairs), max_nodes)
    if start is not None:
        worst = float(family.oracle.levels(given[0].vectors).max())
        if worst > allowed(epsilon):
            raise ValueError(f"The start is private at level {worst:.9g}; epsilon is {epsilon:.9g}.")
        family.known = Columns.join([family.known, utility.columns(family.oracle.pull(given[0].vectors)[0])])
    _explore(family, tolerance, max_rounds)
    found = generate(
        family, family.known, utility, tolerance=tolerance, max_rounds=max_rounds, smoothing=(0.0,)
    )
    bound = min(found.bound, nonrobust.upper_bound)
    return certified(found.channel, found.value, bound, tolerance, found.iterations)


def _explore(family: JointColumns, tolerance: float, max_rounds: int) -> None:
    """Column generation by search alone."""
    master = Master(family.scale.size)
    master.add(family.known)
    starts, prices = family.revealing(), np.zeros(family.scale.size)
    value, fine = 0.0, 0.0
    for _ in range(max_rounds):
        columns = family.search(prices, starts)
        largest = float((columns.values - columns.vectors @ prices).max())
        if largest <= fine:
            break
        master.add(columns)
        value, weights, prices = master.solve()
        fine = SHARE * tolerance * value
        # While columns are far from the best, so may the ends of the searches be.
        family.aim(value, max(fine, 0.01 * min(largest, value)))
        starts = family.starts(np.array([master.vectors[j] for j in np.flatnonzero(weights > 1e-9)]))
    family.aim(value, fine)
