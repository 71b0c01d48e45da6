r"""Upper bounds of a convex function over block bodies: branch and bound with Lagrangian relaxations.

With phi(t) = (t^g - 1)/g (log t at order 1), g and the radius B as in `bodies`, and k = (e^(gB) - 1)/g,
duality turns a body into a union over two scalars of sets with two separable constraints::

    A(w) <= top     iff  sum_u r_u phi(1 + xi (top - w_u)) >= k      for some xi >= 0,
    B(w) >= bottom  iff  sum_u r_u phi(1 + eta (w_u - bottom)) >= k  for some eta >= 0.

A cell is a rectangle of (xi, eta) and an interval per letter; `relaxation` bounds one. The cell with the
largest bound is cut where that is loosest: in xi, in eta, or between the values a letter hesitates between.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from ldpfrontier.optimal.certificate.lagrangian_relaxation import refine
from ldpfrontier.optimal.certificate.majorant import Level, constant
from ldpfrontier.optimal.certificate.nodes import Cells, Problem, widest
from ldpfrontier.optimal.geometry.ball_body import Body
from ldpfrontier.types import FloatArray
from ldpfrontier.uncertainty.divergence import budget, two_cells

#: As RATIO where the ends of A or B move; most spans of t at first.
MOVING, SPANS = 4.0, 8

#: Multiple of 1 / top at which xi ends, and of 1 / bottom at which eta does; ratio of neighbouring ends.
FAR, RATIO = 200.0, 1.9

#: Cells with large bounds whose letters are looked at for better vertices; places taken from them; places
#: are the same if all logs of letters, relative to the top and from SMALL on, are within NEAR.
LOOSE, HINTS, SMALL, NEAR = 400, 48, 0.03, 0.05


class Cover:
    """A cover of one body by cells, refined as tighter bounds of g - prices . w are asked for.

    Parameters
    ----------
    body : Body
        With 0 < radius < inf and more than one letter.
    prices : ndarray, shape (a2,)
    top, bottom : pair of float
        Ends of A and B that take the place of the body's, bottom < top: at t = 0 and 1, linear between.
    level : Level, optional
        What the function is compared with, of the mean of w; 0 by default.
    """

    def __init__(
        self,
        body: Body,
        prices: FloatArray,
        top: tuple[float, float],
        bottom: tuple[float, float],
        level: Level | None = None,
    ) -> None:
        real = body.centre > 0
        r = body.centre[real]
        g, k = (body.order - 1.0) / body.order, budget(body.radius, body.order)
        prior, c = float(body.prior.sum()), body.folded(prices)
        self._real, self._prior = real, prior
        self._problem = Problem(
            r,
            c[real] / (prior * r),
            float(c[~real].sum()) / prior,
            np.array(top),
            np.array(bottom),
            k,
            g,
            -math.inf,
            constant() if level is None else level,
        )
        moving = top[0] != top[1] or bottom[0] != bottom[1]
        knots = self._problem.level.knots
        spans = np.append(knots[: -1 : math.ceil(len(knots) / SPANS)], 1.0) if moving else np.zeros(2)
        ratio = MOVING if moving else RATIO
        most, least = max(top), min(bottom)
        caps = most / two_cells(r, np.full(r.size, body.radius), body.order)[1]
        rise = math.expm1(body.radius)
        # A(w) <= top needs xi top >= e^B - 1, B(w) >= bottom likewise.
        xi = _ends(rise / most, FAR / most, ratio, g)
        eta = _ends(rise / max(float(caps.max()) - least, 1e-12), FAR / least, ratio, g)
        i, j, t = (index.ravel() for index in np.indices((len(xi) - 1, len(eta) - 1, len(spans) - 1)))
        m, n = i.size, r.size
        self._first, self._count, self._least = m, 0, -math.inf
        self._cells = Cells(
            np.stack([xi[i], xi[i + 1]], axis=1),
            np.stack([eta[j], eta[j + 1]], axis=1),
            np.zeros((m, n)),
            np.repeat(caps[None], m, axis=0),
            np.ones((m, 2)),
            np.full(m, np.inf),
            np.zeros(m, dtype=np.int64),
            np.zeros(m),
            np.zeros((m, 3, n)),
            np.stack([spans[t], spans[t + 1]], axis=1),
            np.ones(m),
            np.zeros((m, 2, 2)),
        )

    def bound(self, target: float, most: int) -> float:
        """Bound g - prices . w, less the level, over the body from above.

        Parameters
        ----------
        target : float
            Bound that is good enough. What lies below is cut off, so later bounds are not lower.
        most : int
            Most cells to add to those of earlier calls, beyond the first ones.
        """
        problem = self._problem._replace(goal=target / self._prior)
        self._count = self._count or self._first
        room = len(self._cells.bound)
        if self._count + most > room:
            more = max(most, room)
            self._cells = Cells(
                *(np.concatenate([x, np.empty((more, *x.shape[1:]), x.dtype)]) for x in self._cells)
            )
        self._count = refine(self._cells, self._count, problem, most)
        self._problem = problem
        self._least = max(self._least, target)
        return max(self._least, self._prior * float(self._cells.bound[: self._count].max()))

    def above(self, knots: FloatArray) -> FloatArray:
        """Return the bounds between knots of t, shape (knots - 1,); that of all t for one knot."""
        if self._count == 0:
            return np.full(max(len(knots) - 1, 1), np.inf)
        bounds, span = self._prior * self._cells.bound[: self._count], self._cells.span[: self._count]
        if len(knots) == 1:
            return np.array([bounds.max(initial=self._least)])
        inside = [(span[:, 0] < b) & (span[:, 1] > a) for a, b in pairwise(knots)]
        return np.array([bounds[own].max(initial=self._least) for own in inside])

    @property
    def size(self) -> int:
        """Cells so far."""
        return self._count

    def hints(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return where to look for better vertices: in the loosest cells.

        Returns
        -------
        w : ndarray, shape (m, letters)
        t : ndarray, shape (m,)
        slope : ndarray, shape (m,)
            Of the lines that were below the level there.
        """
        bounds = self._cells.bound[: self._count]
        count = min(LOOSE, len(bounds))
        loosest = np.argpartition(-bounds, count - 1)[:count]
        loosest = loosest[np.argsort(-bounds[loosest], kind="stable")]
        loosest = loosest[bounds[loosest] > self._problem.goal]
        places = np.fmax(self._cells.place[loosest].reshape(-1, self._problem.r.size), 0.0)  # no NaN either
        rounded = np.rint(np.log(places / self._problem.top.max() + SMALL) / NEAR)
        first = np.sort(np.unique(rounded, axis=0, return_index=True)[1])[:HINTS]
        w = np.zeros((len(first), self._real.size))
        w[:, self._real] = places[first]
        cells = loosest[first // 3]
        return w, self._cells.span[cells].mean(axis=1), self._cells.line[cells, :, 0].mean(axis=1)


def _ends(first: float, last: float, ratio: float, g: float) -> FloatArray:
    """List ends of intervals from the first to the last value in even ratios, and infinity."""
    count = max(2, 1 + math.ceil(math.log(max(last / first, 1.0 + 1e-9)) / math.log(min(ratio, widest(g)))))
    return np.append(np.geomspace(first, max(last, first * 1.1), count), np.inf)
