r"""The best robustly private mechanism under the uncertainty set itself, for tables with few cells.

lopuhaa2024 calls a mechanism (eps, F)-RLDP if no P in F lets an output tell two sensitive values apart by
more than e^eps. Which pairs of conditionals (R_s, R_s') some P in F has, the budget identity in
`ldpfrontier.renyi_ball` says. So a column v is allowed if and only if ::

    R_s . v_s <= e^eps R_s' . v_s'    for all s != s' and all jointly affordable (R_s, R_s'),

a convex cone, given by an oracle: of all these inequalities, the most violated one. PolyOpt is the optimum
over smaller, polyhedral cones. Here the column LP is solved over the cone itself (``oracle="exact"``), or over
the one in which both conditionals have the full budget (``oracle="projections"``):

1. **Search**: the value of a column is convex, so it rises along the solution of the LP with its gradient,
   taken over the inequalities seen so far. Solutions outside the cone yield new inequalities, and are mixed
   with the constant column until they are inside.
2. **Pricing**: branch and bound over boxes, on which v log v is bounded by its secant, over the same growing
   set of inequalities. All of them hold for the cone, so at any time the bound is valid.
"""

from __future__ import annotations

import heapq
import itertools
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import highspy
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

from ldpfrontier.channel import Channel, FloatArray
from ldpfrontier.information import entropy
from ldpfrontier.lp import new_lp
from ldpfrontier.optimal.column_generation import BATCH, Master, generate
from ldpfrontier.optimal.nonrobust import optimal_nonrobust
from ldpfrontier.optimal.polyopt import START_ROUNDING, start_columns
from ldpfrontier.optimum import Optimum, certified, check_start, checked_epsilon, uninformative
from ldpfrontier.privacy import log_ratio
from ldpfrontier.renyi import least_members
from ldpfrontier.renyi_ball import RenyiBall
from ldpfrontier.utility import Columns, MutualInformation

Conditionals = Literal["exact", "projections"]
Pairs = Literal["all", "distinct"]

#: Columns are pulled to this far (nats) below epsilon, so that rounding does not lift them above it.
SAFE = 2e-12

#: Share of the resolution that a column may lose when it is pulled into the cone, and the least weight of the
#: constant column that a violated inequality must ask for.
LOSS, LEAST = 0.05, 1e-10

#: Inequalities known, and rows in a linear program, before unused ones are forgotten; rows added at a time.
POOL, ROWS, ADDED = 8_000, 300, 6

#: Ends of the angles between which splits of the budget are searched; accuracy of an angle,
#: of one below order 1, where a group that may be anything from some share on makes a kink, and where a nearly
#: worst inequality will do.
END, CLOSE, KINK, ROUGH = 1e-6, 1e-8, 1e-12, 1e-3

#: Below this, gradients take a letter for this large: the slope of v log v at 0 is -inf.
FLOOR = 1e-5

#: Share of the tolerance left to pricing.
SHARE = 0.3

#: Steps of a search; nodes of the branch and bound between two calls of the oracle.
STEPS, GROUP = 60, 16


SETTLED = (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kInfeasible)


@dataclass(frozen=True, eq=False)
class Oracle:
    """The inequalities of a cone, found by their violation.

    Attributes
    ----------
    ball : RenyiBall
    epsilon : float
        Level e^epsilon of the inequalities, in nats.
    oracle : {"exact", "projections"}
        Whether two sensitive values share the budget or each has all of it.
    pairs : {"all", "distinct"}
        Whether a sensitive value is also compared with itself, both sides at full budget.
    """

    ball: RenyiBall
    epsilon: float
    oracle: Conditionals = "exact"
    pairs: Pairs = "distinct"

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        a1 = range(len(self.ball.centre))
        chosen = [(s, t) for s, t in itertools.product(a1, a1) if s != t or self.pairs == "all"]
        return tuple(np.array(chosen, dtype=np.intp).reshape(-1, 2).T)  # type: ignore[return-value]

    def worst(self, columns: FloatArray, rough: bool = False) -> tuple[FloatArray, FloatArray]:
        """Find the most violated inequality of every column and pair of sensitive values.

        Parameters
        ----------
        columns : ndarray, shape (m, a1 a2)
        rough : bool
            Whether a nearly worst inequality will do.

        Returns
        -------
        levels : ndarray, shape (m, pairs)
            Largest log R_s . v_s - log R_s' . v_s', in nats.
        cuts : ndarray, shape (m, pairs, a1 a2)
            a with a . v <= 0 on the cone.
        """
        a1, a2 = self.ball.centre.shape
        m = len(columns)
        s, t = self._pairs
        blocks = columns.reshape(m, a1, a2)
        q1, q2 = blocks[:, s].reshape(-1, a2), blocks[:, t].reshape(-1, a2)
        rows_s, rows_t = np.tile(s, m), np.tile(t, m)
        high, low, top, bottom = self._best_split(rows_s, rows_t, q1, q2, rough)
        cuts = np.zeros((len(q1), a1, a2))
        every = np.arange(len(q1))
        cuts[every, rows_s] = top
        cuts[every, rows_t] -= math.exp(self.epsilon) * bottom
        return log_ratio(high, low).reshape(m, -1), cuts.reshape(m, len(s), a1 * a2)

    def _best_split(
        self, s: NDArray[np.intp], t: NDArray[np.intp], q1: FloatArray, q2: FloatArray, rough: bool
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Largest R_s . q1 and least R_t . q2 at the split of the budget with the largest ratio; R_s, R_t.

        At the share sin^2 of group s and cos^2 of group t the log ratio has the derivative
        c1 cos - c2 sin, where c1 and c2 hardly depend on the angle if the budget is small: the root of
        atan(c1 / c2) - angle is found by secants in a bracket (quasi-concave: `worst_case_epsilon`).
        """
        # Below order 1/2 several local maxima are not excluded.
        grid = np.linspace(0.0, math.pi / 2, 17 if self.ball.order < 0.5 else 3)
        splits = [self._split(s, t, q1, q2, np.full(len(s), x)) for x in grid]
        peak = np.argmax([log_ratio(high, low) for high, low, *_ in splits], axis=0)
        every = np.arange(len(s))
        high, low, top, bottom = (np.array(part)[peak, every] for part in list(zip(*splits, strict=True))[:4])
        start = np.clip(peak, 1, len(grid) - 2)
        push = np.array([split[4] for split in splits])[start, every]
        angle, before = grid[start], grid[start]
        lo, hi = np.maximum(grid[start - 1], END), np.minimum(grid[start + 1], math.pi / 2 - END)
        rows = np.flatnonzero(push)
        pushed, target = push.copy(), angle + push
        close = ROUGH if rough else CLOSE if self.ball.order >= 1 else KINK
        for step in range(100):
            x = angle[rows]
            new = np.clip(target[rows], lo[rows], hi[rows])
            lo[rows] = np.where(push[rows] > 0, x, lo[rows])
            hi[rows] = np.where(push[rows] > 0, hi[rows], x)
            outside = (target[rows] <= lo[rows]) & (lo[rows] == x) | (target[rows] >= hi[rows]) & (hi[rows] == x)
            # A kink defeats secants, hence some halves in the long run.
            new = np.where(outside | (step > 8 and step % 2 == 0), 0.5 * (lo[rows] + hi[rows]), new)
            moving = np.abs(new - x) > close
            rows, new = rows[moving], new[moving]
            if rows.size == 0:
                break
            before[rows], pushed[rows], angle[rows] = angle[rows], push[rows], new
            found = self._split(s[rows], t[rows], q1[rows], q2[rows], new)
            better = log_ratio(found[0], found[1]) >= log_ratio(high[rows], low[rows])
            for kept, value in zip((high, low, top, bottom), found, strict=False):
                kept[rows[better]] = value[better]
            push[rows] = found[4]
            change = push[rows] - pushed[rows]
            secant = -push[rows] * (new - before[rows]) / np.where(change < 0, change, -np.inf)
            target[rows] = new + np.where(change < 0, secant, push[rows])
        return high, low, top, bottom

    def _split(
        self, s: NDArray[np.intp], t: NDArray[np.intp], q1: FloatArray, q2: FloatArray, angle: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """As `_best_split`, at one angle, and atan(c1 / c2) - angle, the way to a better one."""
        ball, alone = self.ball, (s == t) | (self.oracle == "projections")
        x = np.where(alone, 1.0, np.sin(angle) ** 2)
        y = np.where(alone, 1.0, np.where(angle < math.pi / 2, 1.0 - x, 0.0))
        high, top, c1 = self._extremes(s, -q1, ball._share(x, ball.sensitive[s]), np.sin(angle))
        low, bottom, c2 = self._extremes(t, q2, ball._share(y, ball.sensitive[t]), np.cos(angle))
        with np.errstate(divide="ignore", invalid="ignore"):
            c1, c2 = np.nan_to_num(c1 / -high), np.nan_to_num(c2 / low)
        push = np.where(~alone & (c1 + c2 > 0), np.arctan2(c1, c2) - angle, 0.0)
        return -high, low, top, bottom, push

    def _extremes(
        self, s: NDArray[np.intp], q: FloatArray, B: FloatArray, root: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Least R . q within radius B, its R, and half of minus its derivative in the root of the share."""
        ball, g = self.ball, self.ball._exponent
        value, R, distances = least_members(ball.conditionals[s], q, B, ball.order)
        least = q.argmin(axis=1)[:, None]
        distance = np.take_along_axis(distances, least, 1)[:, 0]
        # By the envelope theorem the derivative in B is mu - value, mu = q - distance.
        slope = np.where(np.isfinite(distance), value - q.min(axis=1) + distance, 0.0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            total = np.expm1(g * ball.radius) / g if g else ball.radius
            return value, R, np.nan_to_num(slope * total / ball.sensitive[s] * np.exp(-g * B) * root)

    def levels(self, columns: FloatArray) -> FloatArray:
        """Realized levels of columns, nats, shape (m,)."""
        return self.worst(columns)[0].max(axis=1, initial=0.0)

    def pull(self, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mix columns with the constant one, no more than needed for the level epsilon.

        Newton's method from outside: the weight is that of the most violated inequality.

        Returns
        -------
        columns : ndarray, shape (m, inputs)
        cuts : ndarray, shape (any, inputs)
            The inequalities met on the way.
        """
        inside, cuts = columns.copy(), []
        rows = np.arange(len(columns))
        slack = -math.expm1(self.epsilon - SAFE)
        for _ in range(60):
            levels, found = self.worst(inside[rows])
            over = levels > self.epsilon - 0.5 * SAFE
            cuts.append(found[over])
            bad = over.any(axis=1)
            rows, levels, found = rows[bad], levels[bad], found[bad]
            if rows.size == 0:
                return inside, np.concatenate(cuts)
            v = inside[rows]
            # a . v at the level epsilon - SAFE: the negative part of a belongs to the smaller side.
            excess = np.einsum("mpx,mx->mp", np.where(found > 0, found, found * math.exp(-SAFE)), v)
            excess = np.maximum(excess.max(axis=1, keepdims=True), 0.0)
            weight = excess / (excess - slack)
            inside[rows] = (1.0 - weight) * v + weight
        inside[rows] = 1.0
        return inside, np.concatenate(cuts)


def column_levels(
    ball: RenyiBall, columns: ArrayLike, *, oracle: Conditionals = "exact", pairs: Pairs = "distinct"
) -> FloatArray:
    """Realized level of every column over F: sup of log R_s . v_s - log R_s' . v_s', in nats.

    Parameters
    ----------
    ball : RenyiBall
    columns : array_like, shape (m, a1 a2)
        Columns of a channel whose inputs are the pairs (s, u) in row-major order, scaled in any way.
    oracle, pairs
        As for `joint_optimum`.

    Returns
    -------
    ndarray, shape (m,)

    Raises
    ------
    ValueError
        If the columns have another size or a negative entry.
    """
    vectors = np.atleast_2d(np.asarray(columns, dtype=np.float64))
    if vectors.shape[1:] != (ball.centre.size,):
        raise ValueError(f"The columns have shape {vectors.shape}; it must be (m, {ball.centre.size}).")
    if not (vectors >= 0).all():
        raise ValueError("The columns have an entry that is not a number of 0 or more.")
    return Oracle(ball, 0.0, oracle, pairs).levels(vectors)


@dataclass(eq=False)
class Relaxation:
    """Linear programs over {v : scale . v = 1, a . v <= 0 for all inequalities a known so far}.

    Attributes
    ----------
    scale : ndarray, shape (n,)
    slack : float
        Violations up to this are ignored.
    pool : ndarray, shape (cuts, n)
        All inequalities, the largest coefficient of each 1; the LP has those that were needed lately.
    """

    scale: FloatArray
    slack: float = 0.0
    pool: FloatArray = field(init=False)
    _lp: highspy.Highs = field(default_factory=new_lp)

    def __post_init__(self) -> None:
        n = len(self.scale)
        self.pool = np.empty((0, n))
        self._needed = np.empty(0, dtype=np.intp)  # when each inequality was last needed
        self._rows = np.empty(0, dtype=np.intp)  # those in the LP
        self._time = 0
        self._index = np.arange(n, dtype=np.int32)
        self._lp.setOptionValue("simplex_strategy", 1)  # rows are added, bounds are moved: dual simplex
        for _ in range(n):
            self._lp.addCol(0.0, 0.0, highspy.kHighsInf, 0, np.empty(0, dtype=np.int32), np.empty(0))
        self._lp.addRow(1.0, 1.0, n, self._index, self.scale)

    def add(self, cuts: FloatArray) -> None:
        """Add inequalities a . v <= 0 to the pool, which forgets those that were not needed for long."""
        cuts = cuts / np.abs(cuts).max(axis=1, keepdims=True)
        if len(self.pool) > POOL:
            self._delete(np.arange(len(self._rows)))
            kept = np.sort(np.argsort(-self._needed, kind="stable")[: POOL // 2])
            self.pool, self._needed = self.pool[kept], self._needed[kept]
        self.pool = np.concatenate([self.pool, cuts])
        self._needed = np.concatenate([self._needed, np.full(len(cuts), self._time)])

    def _delete(self, positions: NDArray[np.intp]) -> None:
        self._lp.deleteRows(len(positions), (positions + 1).astype(np.int32))
        self._rows = np.delete(self._rows, positions)

    def maximize(
        self, cost: FloatArray, lo: FloatArray, hi: FloatArray, enough: float = -math.inf
    ) -> tuple[float, FloatArray, FloatArray] | None:
        """Maximize cost . v over lo <= v <= hi; None if there is no such v.

        Returns
        -------
        bound : float
            From the row duals alone, so valid whatever the solver did.
        v : ndarray, shape (n,)
        reduced : ndarray, shape (n,)
            Reduced costs of the bound.
        """
        lp, n = self._lp, len(cost)
        lp.changeColsCost(n, self._index, cost)
        lp.changeColsBounds(n, self._index, lo, hi)
        bound = math.inf
        reduced = cost
        for _ in range(30):
            lp.run()
            if lp.getModelStatus() not in SETTLED:
                lp.clearSolver()
                lp.run()
            if lp.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
                return None
            solution = lp.getSolution()
            v = np.clip(np.asarray(solution.col_value), lo, hi)
            dual = np.asarray(solution.row_dual)
            prices = np.maximum(dual[1:], 0.0)
            used = np.flatnonzero(prices)
            d = cost - dual[0] * self.scale - prices[used] @ self.pool[self._rows[used]]
            value = float(dual[0] + (np.where(d > 0, hi, lo) @ d))
            if value < bound:
                bound, reduced = value, d
            self._time += 1
            self._needed[self._rows[used]] = self._time
            violation = self.pool @ v
            violation[self._rows] = 0.0
            worst = np.flatnonzero(violation > self.slack)
            worst = worst[np.argsort(-violation[worst], kind="stable")[:ADDED]]
            if worst.size == 0 or bound <= enough:
                break
            self._insert(worst)
        return bound, v, reduced

    def _insert(self, rows: NDArray[np.intp]) -> None:
        if len(self._rows) > ROWS:
            self._delete(np.sort(np.argsort(self._needed[self._rows], kind="stable")[: ROWS // 2]))
        n = len(self.scale)
        for row in rows:
            self._lp.addRow(-highspy.kHighsInf, 0.0, n, self._index, self.pool[row])
        self._rows = np.concatenate([self._rows, rows])
        self._needed[rows] = self._time


@dataclass(eq=False)
class JointColumns:
    """The columns of the cone, priced by search and branch and bound.

    Attributes
    ----------
    oracle : Oracle
    nodes : int
        Most boxes to look at per pricing: the first, rough effort has a tenth of them.
    value, resolution : float
        In nats: no bound on the optimum below value + resolution is looked for, and none on reduced costs
        closer than `resolution` to the best one found.
    """

    oracle: Oracle
    nodes: int
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

    def _cut(self, columns: FloatArray) -> NDArray[np.bool_]:
        """Look for inequalities that columns do not meet; whether there are any, shape (m,)."""
        cuts = self.oracle.worst(columns, rough=True)[1]
        excess = np.einsum("mpx,mx->mp", cuts, columns)
        over = excess > self._weight * math.expm1(self.oracle.epsilon)
        self.relaxation.add(cuts[over])
        return np.asarray(over.any(axis=1))

    def _pull(self, columns: FloatArray) -> Columns:
        """Pull columns into the cone, keeping the inequalities met on the way."""
        inside, cuts = self.oracle.pull(columns)
        self.relaxation.add(cuts)
        return self.utility.columns(inside)

    def search(self, prices: FloatArray, starts: FloatArray) -> Columns:
        """Follow the gradients of the reduced costs from given columns (in the cone or not)."""
        zero = np.zeros_like(self.top)
        points, best = starts.copy(), np.full(len(starts), -math.inf)
        rows = np.arange(len(starts))
        for _ in range(STEPS):
            slopes = self.scale * (np.log(np.maximum(points[rows], FLOOR)) + 1.0) - prices
            found = [self.relaxation.maximize(slope, zero, self.top) for slope in slopes]
            ends = np.array([points[i] if x is None else x[1] for i, x in zip(rows, found, strict=True)])
            outside = self._cut(ends)
            reduced = xlogy(ends, ends) @ self.scale - ends @ prices
            # Outside the cone the reduced cost falls with every new inequality; inside it rises.
            moving = outside | (reduced > best[rows] + 0.1 * self.resolution)
            points[rows], best[rows] = ends, np.where(outside, -math.inf, reduced)
            rows = rows[moving]
            if rows.size == 0:
                break
        columns = self._pull(points)
        self.known = Columns.join([self.known, columns])
        return columns

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
        best = np.argsort(-reduced, kind="stable")[: 2 * BATCH]
        return bound, Columns(self.known.vectors[best], self.known.values[best])

    def _branch(self, prices: FloatArray, effort: int) -> float:
        """Branch and bound, the box with the largest bound first."""
        best = float((self.known.values - self.known.vectors @ prices).max())
        target = self.value + self.resolution - float(prices.sum())

        def cutoff() -> float:
            rough = max(best, 0.0) if effort + 1 < self.efforts else 0.0
            return max(best + max(self.resolution, rough), target)

        nodes = self.nodes if effort + 1 == self.efforts else self.nodes // 10
        count = itertools.count()
        root = self._bound(prices, np.zeros_like(self.top), self.top, cutoff())
        heap = [] if root is None else [(-root[0], next(count), *root[1:])]
        while heap and -heap[0][0] > cutoff() and nodes > 0:
            boxes = []
            while heap and len(boxes) < 2 * GROUP and -heap[0][0] > cutoff():
                negative, _, v, lo, hi = heapq.heappop(heap)
                boxes += self._split(prices, -negative, cutoff(), v, lo, hi)
            found = [x for x in (self._bound(prices, lo, hi, cutoff()) for lo, hi in boxes) if x is not None]
            nodes -= len(boxes)
            self.looked_at += len(boxes)
            if not found:
                continue
            points = np.array([x[1] for x in found])
            self._cut(points)
            inside = self._pull(points)
            reduced = inside.values - inside.vectors @ prices
            if reduced.max() > best + 0.1 * self.resolution:
                chosen = np.argsort(-reduced, kind="stable")[:3]
                better = self.search(prices, inside.vectors[chosen])
                best = max(best, float((better.values - better.vectors @ prices).max()), float(reduced.max()))
                self.known = Columns.join([self.known, Columns(inside.vectors[chosen], inside.values[chosen])])
            for bound, *box in found:
                if bound > cutoff():
                    heapq.heappush(heap, (-bound, next(count), *box))
        return max(cutoff(), -heap[0][0]) if heap else cutoff()

    def _secants(self, lo: FloatArray, hi: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Slopes and values at 0 of the lines through v log v at the ends of the intervals, times P."""
        low, width = xlogy(lo, lo), hi - lo
        wide = width > 1e-12 * hi
        slopes = np.where(wide, (xlogy(hi, hi) - low) / np.where(wide, width, 1.0), np.log(np.maximum(hi, 1e-300)) + 1)
        return self.scale * slopes, self.scale * (low - slopes * lo)

    def _bound(
        self, prices: FloatArray, lo: FloatArray, hi: FloatArray, enough: float
    ) -> tuple[float, FloatArray, FloatArray, FloatArray] | None:
        """Bound the reduced costs over a box; the point of the bound and the box, without what cannot matter."""
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
                return bound, np.clip(v, lo, hi), lo, hi

    def _split(
        self, prices: FloatArray, bound: float, enough: float, v: FloatArray, lo: FloatArray, hi: FloatArray
    ) -> list[tuple[FloatArray, FloatArray]]:
        """Two halves of a box at the letter with the largest gap; the box again if new cuts help more."""
        slopes, constants = self._secants(lo, hi)
        gaps = slopes * v + constants - self.scale * xlogy(v, v)
        if gaps.sum() < 0.5 * (bound - enough):
            return [(lo, hi)]
        x = int(gaps.argmax())
        width = hi[x] - lo[x]
        at = float(np.clip(v[x], lo[x] + 0.15 * width, hi[x] - 0.15 * width))
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
    nodes: int = 20_000,
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
    nodes : int
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
    family = JointColumns(Oracle(ball, epsilon, oracle, pairs), nodes)
    if start is not None:
        worst = float(family.oracle.levels(given[0].vectors).max())
        if worst > epsilon + START_ROUNDING:
            raise ValueError(f"The start is private at level {worst:.9g}; epsilon is {epsilon:.9g}.")
        family.known = Columns.join([family.known, utility.columns(family.oracle.pull(given[0].vectors)[0])])
    _explore(family, tolerance, max_rounds)
    found = generate(family, family.known, utility, tolerance=tolerance, max_rounds=max_rounds, smoothing=(0.0,))
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
