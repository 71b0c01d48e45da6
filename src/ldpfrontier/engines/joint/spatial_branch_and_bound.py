r"""The best mechanism of a cone of columns that is known by its cuts, for few inputs.

The cone and the utility are arguments (`model.cones`, `model.utility`). That of an uncertainty
set is in `separation`: a mechanism is (eps, F)-RLDP (lopuhaa2024) if no P in F lets an output tell two
sensitive values apart by more than e^eps. The column LP is solved by column generation. A column, scaled to
P . v = 1, has the reduced cost ::

    rho(v) = mu(v) - alpha . v,    with the mutual information    mu(v) = sum_x P_x v_x log v_x,

at duals alpha, which is convex: it is to be maximized over a convex set. Two ways, over the same growing pool
of cuts:

1. **Search**: rho rises along the solution of the LP with its gradient. Solutions outside the cone yield new
   cuts; the last one is mixed with the constant column until it is inside.
2. **Spatial branch and bound**, for the certificate: on a box v log v is at most its secant, so an LP bounds
   rho. The box with the largest bound is split where the secant is farthest off. All cuts hold for the cone,
   so the bound is valid at any time.
"""

from __future__ import annotations

import heapq
import itertools
import math
from dataclasses import dataclass, field, replace

import numpy as np

from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.engines.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.engines.column_generation.smoothed import Master, best_channel, generate, start_columns
from ldpfrontier.engines.joint.cut_pool import Box, CutPool, cut_down, violations
from ldpfrontier.engines.joint.separation import Oracle
from ldpfrontier.engines.joint.settings import SETTINGS
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.cones import Cone
from ldpfrontier.model.optimum import NO_ERROR, Optimum, certified, recorded_failure
from ldpfrontier.model.utility import Columns, MutualInformation, SublinearUtility
from ldpfrontier.numerics.deadline import TimeIsUp, no_time_limit, time_is_up
from ldpfrontier.numerics.rounding import sum_error
from ldpfrontier.uncertainty.renyi_ball import RenyiBall

#: Boxes that are bounded together: with 16 a program takes up to a tenth longer, with one half as long again.
_AT_ONCE = 64


@dataclass(eq=False)
class JointColumns:
    """The columns of the cone, priced by search and by branch and bound.

    In nats: no bound on the optimum below value + gap is looked for, and none on reduced costs closer than
    `resolution` to the best one found.
    """

    cone: Cone
    utility: SublinearUtility
    max_nodes: int  # per pricing
    value: float = field(default=0.0, init=False)
    resolution: float = field(default=0.0, init=False)
    gap: float = field(default=0.0, init=False)
    efforts: int = 1

    def __post_init__(self) -> None:
        known = self.cone.inequalities
        # After which searches end, and branch and bound.
        most = max(SETTINGS.max_programs, 2 * self.max_nodes)
        self.max_programs = most if self.max_nodes > 0 else SETTINGS.max_search_programs
        self.pool = CutPool(
            self.scale, permanent=len(known), kept=self.cone.cuts_kept or SETTINGS.max_cuts[0]
        )
        self.pool.add(known)
        self.rng = np.random.default_rng(0)
        self.found = self.utility.columns(np.ones((1, self.scale.size)))
        self.set_accuracy(0.0, 1e-3)
        self.top = self._upper_bounds()
        self._count = itertools.count()

    def set_accuracy(self, value: float, resolution: float, gap: float = 0.0) -> None:
        """Set the value of the best channel so far, and how exact searches and bounds are to be, in nats."""
        self.value, self.resolution, self.gap = value, resolution, gap
        # Least weight of the constant column that a violated cut must ask for; rounding below.
        # Share of the resolution that a column may lose when it is pulled into the cone.
        self._weight = max(0.05 * resolution, 1e-10)
        self.pool.slack = self._weight * self.cone.least_constant_slack

    @property
    def scale(self) -> FloatArray:
        """The distribution that normalizes columns, P-hat for the information, shape (inputs,)."""
        return self.utility.prior

    def error(self, duals: FloatArray) -> float:
        """Return by how much the sum of duals and the bound of `price` can be too low, in nats.

        The duals are those of the bound, raised by it, and it is at most their sum.
        """
        return sum_error(duals, float(duals.sum()), self.scale)

    def _upper_bounds(self) -> FloatArray:
        """Return upper bounds on the entries of columns, (a1 a2,), and fill the pool.

        Intractable is raised if no bound on an entry is known, as where the probability is 0.
        """
        top = self.cone.entry_bounds(self.scale)
        n = len(top)
        low = np.zeros(n)
        cuts = self.cone.separate(np.vstack([np.eye(n) + 1e-3, 1.001 - np.eye(n)]), exact=True)
        self.pool.add(cuts.reshape(-1, n))
        for _ in range(8):
            if time_is_up():
                break
            corners = []
            for x in range(n):
                found = self.pool.maximize(np.eye(n)[x], low, top)
                if found is not None:
                    top[x] = min(top[x], found[0] * (1.0 + 1e-9))
                    corners.append(found[1])
            self._add_cuts(np.array(corners))
        if not np.isfinite(top).all():
            raise Intractable(
                f"The prior is 0 at input {int(np.isinf(top).argmax())}; over this cone, branch and bound"
                " needs a probability above 0 there, as it knows no bound on the entries of columns."
            )
        return np.asarray(top)

    def _add_cuts(self, columns: FloatArray) -> FloatArray:
        """Add the cuts that columns violate; return the weights of the constant that they ask for, (m,)."""
        cuts, weights = violations(self.cone, columns)
        self.pool.add(cuts[weights > self._weight])
        return np.asarray(weights.max(axis=1, initial=0.0))

    def search(self, duals: FloatArray, starts: FloatArray) -> Columns:
        """Return good columns at some duals, found along gradients from given ones, in the cone or not."""
        zero = np.zeros_like(self.top)
        points, best = np.minimum(starts, self.top), np.full(len(starts), -math.inf)
        rows = np.arange(len(starts))
        # Steps of a search along gradients.
        for _ in range(60):
            if self.pool.solved > self.max_programs or time_is_up():
                break
            slopes = self.utility.gradient(points[rows]) - duals
            found = [self.pool.maximize(slope, zero, self.top) for slope in slopes]
            ends = np.array([points[i] if x is None else x[1] for i, x in zip(rows, found, strict=True)])
            ends = self.cone.raised(ends)
            outside = self._add_cuts(ends) > self._weight
            reduced = self.utility.values(ends) - ends @ duals
            # Outside the cone the reduced cost falls with every new inequality; inside it rises.
            moving = outside | (reduced > best[rows] + 0.1 * self.resolution)
            points[rows], best[rows] = ends, np.where(outside, -math.inf, reduced)
            rows = rows[moving]
            if rows.size == 0:
                break
        return self.offer(points)

    def offer(self, columns: FloatArray) -> Columns:
        """Return columns pulled into the cone; keep them, and the cuts met on the way."""
        inside, cuts = self.cone.pull(columns)
        self.pool.add(cuts)
        valued = self.utility.columns(inside)
        self.found = Columns.join([self.found, valued])
        return valued

    def starts(self, columns: FloatArray) -> FloatArray:
        """Return columns near given ones with letters opened, closed and changed, and random ones."""
        n = len(self.top)
        every = np.repeat(columns, 3, axis=0)
        noise = np.exp(self.rng.normal(size=every.shape))
        opened = np.where(
            self.rng.random(every.shape) < 0.2,
            self.rng.random(every.shape) * self.top,
            every,
        )
        closed = np.where(self.rng.random(every.shape) < 0.2, 0.0, every * noise)
        random = self.rng.random((2 * n, n)) ** 4 * self.top
        result = np.vstack([columns, opened, closed, random])
        return self.utility.columns(result + 1e-12).vectors

    def revealing_columns(self) -> FloatArray:
        """Return columns that tell one letter of every group, the best if P is known exactly; 64 at most."""
        a1, a2 = self.cone.shape
        letters = np.array(list(itertools.islice(itertools.product(range(a2), repeat=a1), 64)))
        blocks = np.zeros((len(letters), a1, a2))
        np.put_along_axis(blocks, letters[:, :, None], 1.0, axis=2)
        return self.utility.columns(blocks.reshape(len(letters), -1) + 1e-12).vectors

    def price(self, duals: FloatArray, effort: int) -> tuple[float, Columns]:
        """Bound the reduced costs of all columns from above; offer the best ones found."""
        reduced = self.found.values - self.found.vectors @ duals
        first = np.argsort(-reduced, kind="stable")[:8]
        self.search(duals, self.starts(self.found.vectors[first]))
        bound = self._branch(duals)
        reduced = self.found.values - self.found.vectors @ duals
        best = np.argsort(-reduced, kind="stable")[: 2 * GENERATION.batch]
        return bound, Columns(self.found.vectors[best], self.found.values[best])

    def _branch(self, duals: FloatArray) -> float:
        """Return a bound on the reduced costs of all columns, by branch and bound, the best node first."""
        best = float((self.found.values - self.found.vectors @ duals).max())
        nodes, target = self.max_nodes, self.value + self.gap - float(duals.sum())

        def cutoff() -> float:
            # A column that gains leads to other duals, for which there is another bound.
            return max(best + max(self.resolution, best), target)

        root = self._bound(duals, np.zeros_like(self.top), self.top, cutoff())
        heap = [] if root is None else [root]
        while (
            heap
            and -heap[0].negative_bound > cutoff()
            and nodes > 0
            and self.pool.solved <= self.max_programs
            and not time_is_up()
        ):
            # Several at a time: cuts are then looked for at once, which takes little longer than for one.
            boxes = list[tuple[FloatArray, FloatArray]]()
            while heap and -heap[0].negative_bound > cutoff() and len(boxes) < min(_AT_ONCE, nodes):
                boxes += self._split(heapq.heappop(heap), cutoff())
            nodes -= len(boxes)
            bounded = [self._bound(duals, lo, hi, cutoff()) for lo, hi in boxes]
            kept = [node for node in bounded if node is not None]
            if not kept:
                continue
            points = self.cone.raised(np.array([node.v for node in kept]))
            weights = self._add_cuts(points)[:, None]
            points += weights * (1.0 - points)
            reduced = self.utility.values(points) - points @ duals
            if reduced.max() > best + 0.1 * self.resolution:
                self.offer(points[np.argsort(-reduced, kind="stable")[:3]])
                self.search(duals, self.found.vectors[-3:])
                best = float((self.found.values - self.found.vectors @ duals).max())
            for node in kept:
                heapq.heappush(heap, node)
        return max(cutoff(), -heap[0].negative_bound) if heap else cutoff()

    def _bound(self, duals: FloatArray, lo: FloatArray, hi: FloatArray, enough: float) -> Box | None:
        """Return the node of a box, cut down to where reduced costs may exceed `enough`; None if nowhere."""
        slopes, constants = self.utility.majorant(lo, hi)
        constant = float(constants.sum())
        found = self.pool.maximize(slopes - duals, lo, hi, enough - constant)
        if found is None or found[0] + constant <= enough:
            return None
        bound, v, reduced = found[0] + constant, found[1], found[2]
        lo, hi = cut_down(lo, hi, reduced, bound - enough)
        return Box(-bound, next(self._count), np.clip(v, lo, hi), lo, hi)

    def _split(self, box: Box, enough: float) -> list[tuple[FloatArray, FloatArray]]:
        """Return the parts of a box at the entry with the largest gap; or the box, if new cuts help more."""
        gaps = self.utility.gaps(box.v, box.lo, box.hi)
        if gaps.sum() < 0.5 * (-box.negative_bound - enough):
            return [(box.lo, box.hi)]
        return box.halves(int(gaps.argmax()))


def joint_optimum(
    ball: RenyiBall,
    epsilon: float,
    *,
    tolerance: float = 1e-4,
    max_rounds: int = GENERATION.usual_rounds,
    max_nodes: int = 20_000,
    start: Channel | None = None,
    known_bound: float = math.inf,
) -> Optimum:
    """Find the best mechanism with all columns in the cone of an uncertainty set, with a certificate.

    `optimal_robust` checks the arguments and decides the trivial cases: here epsilon and the radius are
    positive, there are two sensitive values, and the start is in the class. There are
    at most `max_rounds` linear programs over the columns found, once by search and once with branch and
    bound, and so many nodes per pricing: up to six cells a few thousand close the gap. A bound that is known,
    nats, such as that of `optimal_nonrobust`, is returned if it is lower.
    """
    family = JointColumns(Oracle(ball, epsilon), MutualInformation(ball.centre), max_nodes)
    found = solve_jointly(family, tolerance, max_rounds, start)
    bound = min(found.upper_bound, known_bound)
    optimum = certified(found.channel, found.value, bound, tolerance, found.iterations, error=NO_ERROR)
    return optimum if bound < found.upper_bound else replace(optimum, prices=found.prices)


def solve_jointly(
    family: JointColumns, tolerance: float, max_rounds: int, start: Channel | None = None
) -> Optimum:
    """Solve the column LP over a family by search, and by branch and bound; arguments as `joint_optimum`."""
    utility = family.utility
    _add_start(family, start)
    generate_by_search(family, tolerance, max_rounds)
    try:
        return generate(
            family,
            family.found,
            utility,
            tolerance=tolerance,
            max_rounds=max_rounds,
            smoothing=(0.0,),
            error=family.error,
        )
    except TimeIsUp:
        channels = [Channel(np.ones((family.scale.size, 1))), *([] if start is None else [start])]
        errors = ArithmeticError, RuntimeError, ValueError
        with no_time_limit(), recorded_failure("the start, or what tells nothing", *errors):
            # Of columns that each tell one input, some mechanism can be made.
            family.offer(utility.columns(np.eye(family.scale.size) + 1e-12).vectors)
            channels.append(best_channel(family.found))
        channel = max(channels, key=utility)
        # No mechanism tells more than the inputs themselves.
        most = utility(Channel(np.eye(family.scale.size)))
        return certified(channel, utility(channel), most, tolerance, unit=utility.unit)


def _add_start(family: JointColumns, start: Channel | None) -> None:
    """Add the columns of a start, pulled into the cone."""
    for columns in start_columns(start, family.utility):
        inside, _ = family.cone.pull(columns.vectors)
        family.found = Columns.join([family.found, family.utility.columns(inside)])


def searched_mechanism(cone: Oracle, start: Channel) -> Channel:
    """Return a mechanism of columns of a cone by search alone, at least as good as the start.

    The start is returned where linear programs fail, or the time is up, before anything better is found.
    """
    utility = MutualInformation(cone.prior)
    try:
        family = JointColumns(cone, utility, max_nodes=0)
        _add_start(family, start)
        generate_by_search(family, SETTINGS.joint_tolerance, GENERATION.usual_rounds)
        return max(start, best_channel(family.found), key=utility)
    except (RuntimeError, TimeIsUp):  # HiGHS gives up some programs
        return start


def generate_by_search(family: JointColumns, tolerance: float, max_rounds: int) -> None:
    """Fill a family with good columns: column generation by search alone."""
    master = Master(family.scale.size)
    master.add(family.found)
    starts, duals = family.revealing_columns(), np.zeros(family.scale.size)
    value, fine = 0.0, 0.0
    for _ in range(max_rounds):
        if family.pool.solved > SETTINGS.max_search_programs:
            break
        columns = family.search(duals, starts)
        largest = float((columns.values - columns.vectors @ duals).max())
        if largest <= fine:
            break
        master.add(columns)
        try:
            value, weights, duals = master.solve()
        except TimeIsUp:
            break
        fine = GENERATION.inner_share * tolerance * value
        # While columns are far from the best, so may the ends of the searches be.
        family.set_accuracy(value, max(fine, 0.01 * min(largest, value)))
        starts = family.starts(np.array([master.vectors[j] for j in np.flatnonzero(weights > 1e-9)]))
    family.set_accuracy(value, fine, 0.9 * tolerance * value)
