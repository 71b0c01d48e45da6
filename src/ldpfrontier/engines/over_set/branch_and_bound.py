r"""Upper bounds of a convex function over a block: branch and bound with Lagrangian relaxations.

For a block with centre r, radius B, order alpha, and bounds top and bottom of A and B, the problem is ::

    max over w of  sum_u P_u w_u log w_u - c . w - U(z(w), t),      z(w) = P . w,

for all t at once, where the bounds and the majorant U depend on t. With g = (alpha - 1)/alpha,
phi(x) = (x^g - 1)/g (log x at order 1) and k = (e^(gB) - 1)/g, Lagrange duality turns a block into a union
over two scalars of sets with two separable constraints ::

    A(w) <= top     iff  sum_u r_u phi(1 + xi (top - w_u)) >= k      for some xi >= 0,
    B(w) >= bottom  iff  sum_u r_u phi(1 + eta (w_u - bottom)) >= k  for some eta >= 0.

So a node is a rectangle of (xi, eta), an interval for each letter and one of t (`nodes`), and
`lagrangian_relaxation` bounds it. The node with the largest bound is split first, where its relaxation loses
most. Candidates for better vertices are the points that the relaxation mixes in the loosest nodes.

The first nodes are rounded outwards. A letter is at most top / q for every probability q that the ball allows
it (`uncertainty.divergence.allowed_probabilities`), as q w_u <= A(w).
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.over_set.lagrangian_relaxation import search_best_first
from ldpfrontier.engines.over_set.majorant import Majorant, zero_majorant
from ldpfrontier.engines.over_set.nodes import BlockProblem, Nodes, max_ratio
from ldpfrontier.engines.over_set.settings import SETTINGS
from ldpfrontier.engines.over_set.workspace import Workspace
from ldpfrontier.engines.products.geometry.ball_body import Body
from ldpfrontier.numerics.rounding import gamma
from ldpfrontier.uncertainty.divergence import allowed_probabilities, divergence_cost


class BranchAndBound:
    """A tree of nodes that cover one block, grown as tighter bounds of g - duals . w are asked for.

    The body has 0 < radius < inf and more than one letter. Bounds of A and B, bottom < top, take the place of
    those of the body: at t = 0 and 1, linear in between. The function is compared with a majorant of the mean
    of w, by default 0.
    """

    def __init__(
        self,
        body: Body,
        duals: FloatArray,
        top: tuple[float, float],
        bottom: tuple[float, float],
        majorant: Majorant | None = None,
    ) -> None:
        real = body.centre > 0
        r = body.centre[real]
        g, k = (body.order - 1.0) / body.order, divergence_cost(body.radius, body.order)
        prior, c = float(body.prior.sum()), body.fold(duals)
        self._real, self._prior = real, prior
        self._problem = BlockProblem(
            r,
            c[real] / (prior * r),
            float(c[~real].sum()) / prior,
            np.array(top),
            np.array(bottom),
            # The radius is right to the roundings of its share of the budget.
            k * (1.0 - gamma(2 * r.size + 16 + 8.0 * abs(g) * body.radius)),
            g,
            -math.inf,
            zero_majorant() if majorant is None else majorant,
            gamma(4 * r.size + 32),
        )
        moving = top[0] != top[1] or bottom[0] != bottom[1]
        most, least = max(top), min(bottom)
        allowed = allowed_probabilities(r, np.array(body.radius), body.order)
        letter_caps = most / allowed * (1.0 + gamma(8))
        # Ratio of the ends of the first intervals of xi and eta.
        ratio = SETTINGS.wide_ratio if moving and g >= 0 else 1.9
        # Bounded intervals end at `far` / top for xi, and / bottom for eta: larger scalars seldom matter.
        # A(w) <= top needs xi top >= e^B - 1, B(w) >= bottom likewise.
        rise, far = math.expm1(body.radius), 200.0
        rise *= 1.0 - gamma(2 * r.size + 16 + 8.0 * body.radius)
        xi = _interval_ends(rise / most, far / most, ratio, g)
        highest = float(letter_caps.max())
        room = highest - least + gamma(8) * (highest + least)
        eta = _interval_ends(rise / max(room, 1e-12), far / least, ratio, g)
        self._count, self._least = 0, -math.inf
        self._nodes = _first_nodes(xi, eta, self._first_t(moving), letter_caps)
        self._first = len(self._nodes.bound)
        self._space = Workspace.of(r.size, self._problem.majorant.breakpoints.size)

    def _first_t(self, moving: bool) -> FloatArray:
        """Return the ends of the first intervals of t: knots, or 0 twice where nothing depends on t."""
        knots = self._problem.majorant.knots
        step = math.ceil(len(knots) / 8)  # at most 8 intervals at first
        return np.append(knots[:-1:step], 1.0) if moving else np.zeros(2)

    def bound(self, target: float, max_nodes: int) -> float:
        """Bound g - duals . w, less the majorant, over the block and all t from above.

        A bound of `target` is good enough: what lies below is cut off, so later bounds are not lower. At most
        `max_nodes` are added to those of earlier calls, beyond the first ones.
        """
        problem = self._problem._replace(
            goal=min(target * (1.0 + gamma(4)), target * (1.0 - gamma(4))) / self._prior
        )
        self._count = self._count or self._first
        room = len(self._nodes.bound)
        if self._count + max_nodes > room:
            more = max(max_nodes, room)
            self._nodes = Nodes(
                *(np.concatenate([x, np.empty((more, *x.shape[1:]), x.dtype)]) for x in self._nodes)
            )
        heap = np.empty(self._count + max_nodes + 1, dtype=np.int64)
        self._count = search_best_first(self._nodes, self._count, problem, max_nodes, self._space, heap)
        self._problem = problem
        self._least = max(self._least, target)
        return max(self._least, float(self._bounds().max()))

    def _bounds(self) -> FloatArray:
        """Return the bounds of all nodes, in the unit of the duals, shape (nodes,)."""
        bounds = self._nodes.bound[: self._count]
        return np.asarray(self._prior * np.maximum(bounds * (1.0 + gamma(4)), bounds * (1.0 - gamma(4))))

    def bounds_between(self, knots: FloatArray) -> FloatArray:
        """Return the bounds between knots of t, shape (knots - 1,); that of all t for one knot."""
        if self._count == 0:
            return np.full(max(len(knots) - 1, 1), np.inf)
        bounds, t = self._bounds(), self._nodes.t_interval[: self._count]
        if len(knots) == 1:
            return np.array([bounds.max(initial=self._least)])
        inside = [(t[:, 0] < b) & (t[:, 1] > a) for a, b in pairwise(knots)]
        return np.array([bounds[own].max(initial=self._least) for own in inside])

    @property
    def node_count(self) -> int:
        """Number of nodes so far."""
        return self._count

    def candidates(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return starting points of a search for better vertices, from the loosest nodes.

        These are w, (m, letters), t, (m,), and the slopes of the minorants there, (m,).
        """
        bounds = self._nodes.bound[: self._count]
        count = min(SETTINGS.nodes_per_visit, len(bounds))
        loosest = np.argpartition(-bounds, count - 1)[:count]
        loosest = loosest[np.argsort(-bounds[loosest], kind="stable")]
        loosest = loosest[bounds[loosest] > self._problem.goal]
        points = self._nodes.candidates[loosest].reshape(-1, self._problem.r.size)
        points = np.fmax(points, 0.0)  # no NaN either
        logs = np.log(points / self._problem.top.max() + SETTINGS.log_floor)
        # Candidates are the same if the logarithms of their letters are so near; at most 48 at a time.
        rounded = np.rint(logs / 0.05)
        first = np.sort(np.unique(rounded, axis=0, return_index=True)[1])[:48]
        w = np.zeros((len(first), self._real.size))
        w[:, self._real] = points[first]
        own = loosest[first // 3]
        return w, self._nodes.t_interval[own].mean(axis=1), self._nodes.minorant[own, :, 0].mean(axis=1)


def _first_nodes(xi: FloatArray, eta: FloatArray, t: FloatArray, letter_caps: FloatArray) -> Nodes:
    """Return a node for every combination of the intervals between given ends."""
    i, j, k = (index.ravel() for index in np.indices((len(xi) - 1, len(eta) - 1, len(t) - 1)))
    m, n = i.size, letter_caps.size
    return Nodes(
        np.stack([xi[i], xi[i + 1]], axis=1),
        np.stack([eta[j], eta[j + 1]], axis=1),
        np.zeros((m, n)),
        np.repeat(letter_caps[None], m, axis=0),
        np.ones((m, 2)),
        np.full(m, np.inf),
        np.zeros(m, dtype=np.int64),
        np.zeros(m),
        np.zeros((m, 3, n)),
        np.stack([t[k], t[k + 1]], axis=1),
        np.ones(m),
        np.zeros((m, 2, 2)),
    )


def _interval_ends(first: float, last: float, ratio: float, g: float) -> FloatArray:
    """Return ends of intervals from the first to the last value in even ratios, and infinity."""
    steps = math.log(max(last / first, 1.0 + 1e-9)) / math.log(min(ratio, max_ratio(g)))
    return np.append(np.geomspace(first, max(last, first * 1.1), max(2, 1 + math.ceil(steps))), np.inf)
