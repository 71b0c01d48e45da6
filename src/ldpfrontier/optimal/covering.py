r"""Upper bounds of a convex function over block bodies: branch and bound with Lagrangian relaxations.

With phi(t) = (t^g - 1)/g (log t at order 1), g and the radius B as in `bodies`, and k = (e^(gB) - 1)/g,
duality turns a body into a union over two scalars of sets with two separable constraints::

    A(w) <= top     iff  sum_u r_u phi(1 + xi (top - w_u)) >= k      for some xi >= 0,
    B(w) >= bottom  iff  sum_u r_u phi(1 + eta (w_u - bottom)) >= k  for some eta >= 0.

A cell is a rectangle of (xi, eta) and an interval per letter. phi is concave in xi, so its tangent at the
left end bounds it in the cell, and what a tangent gives is largest at one of the ends: four corners. For each
of them, and for multipliers of the two constraints, the maximum separates over the letters; on every interval
of a grid of values the convex part lies below its chord and the concave part below a tangent. So a cell's
bound is a maximum over finitely many numbers, and holds for any multipliers. Cells whose bound is too large
are split where that is loosest: in xi, in eta, or between the values that a letter hesitates between.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from ldpfrontier.channel import FloatArray
from ldpfrontier.optimal.bodies import Body
from ldpfrontier.renyi import two_cells

#: Multiple of 1 / top at which xi ends, and of 1 / bottom at which eta does; ratio of neighbouring ends.
FAR, RATIO = 200.0, 1.9
#: Intervals of the grid of a letter's values; steps in which the multipliers of a cell are improved.
GRID, PLANES = 20, 8

#: Ends of the grid's intervals, denser at the lower end, where x log x bends.
SPACING = np.linspace(0.0, 1.0, GRID + 1) ** 1.4

#: Multipliers are looked for up to this many times the best plus one; least argument of phi.
REACH, TINY, LEAST = 4.0, 1e-9, 0.3

#: Cells that are bounded at once; cells that hint at better vertices.
WAVE, HINTS = 256, 24


@dataclass(eq=False)
class _Cells:
    """Cells of one body: ends of xi and eta, intervals of the letters, multipliers, bounds."""

    xi: FloatArray  # (m, 2)
    eta: FloatArray  # (m, 2)
    lo: FloatArray  # (m, n)
    hi: FloatArray  # (m, n)
    x: FloatArray  # (m, 2), times xi and eta
    bound: FloatArray  # (m,)
    cut: NDArray[np.intp]  # (m,): 0 for xi, 1 for eta, 2 + u for letter u
    at: FloatArray  # (m,): where a letter is cut
    place: FloatArray  # (m, n): values of the letters

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> _Cells:
        return _Cells(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    @classmethod
    def join(cls, parts: Sequence[_Cells]) -> _Cells:
        return cls(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in cls.__dataclass_fields__)
        )


@dataclass(eq=False)
class _Tables:
    """What the relaxation of cells needs, at the ends of the grid intervals."""

    a: FloatArray  # (m, 2, n, 2 GRID)
    b: FloatArray  # (m, 2, n, 2 GRID)
    base: FloatArray  # (m, n, 2 GRID)
    points: FloatArray  # (m, n, 2 GRID)
    extra: FloatArray  # (m,)

    def take(self, rows: NDArray[np.integer]) -> _Tables:
        return _Tables(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


class Cover:
    """A cover of one body by cells, refined as bounds are asked for.

    Parameters
    ----------
    body : Body
        With 0 < radius < inf and more than one letter.
    """

    def __init__(self, body: Body) -> None:
        self.body = body
        real = body.centre > 0
        self.r = body.centre[real]
        self.real = real
        self.p = float(body.prior.sum())
        self.g = (body.order - 1.0) / body.order
        g, B = self.g, body.radius
        self.k = B if g == 0 else math.expm1(g * B) / g
        most = two_cells(self.r, np.full(self.r.size, B), body.order)[1]
        self.caps = body.top / most
        peak = float(self.caps.max())
        rise = math.expm1(B)
        # A(w) <= top needs xi top >= e^B - 1, B(w) >= bottom likewise. Beyond the last ends only the ranges
        # of values that they leave are used.
        xi = _ends(rise / body.top, FAR / body.top)
        eta = _ends(rise / max(peak - body.bottom, 1e-12), FAR / body.bottom)
        pairs = [(a, b) for a in range(len(xi) - 1) for b in range(len(eta) - 1)]
        i, j = np.array(pairs).T
        m, n = len(pairs), self.r.size
        self.cells = _Cells(
            np.stack([xi[i], xi[i + 1]], axis=1),
            np.stack([eta[j], eta[j + 1]], axis=1),
            np.zeros((m, n)),
            np.repeat(self.caps[None], m, axis=0),
            np.ones((m, 2)),
            np.full(m, np.inf),
            np.zeros(m, dtype=np.intp),
            np.zeros(m),
            np.zeros((m, n)),
        )
        self._last: FloatArray | None = None

    def bound(self, prices: FloatArray, target: float, most: int) -> tuple[float, FloatArray]:
        """Bound g - prices . w over the body from above.

        Parameters
        ----------
        prices : ndarray, shape (a2,)
        target : float
            Bound that is good enough.
        most : int
            Most cells to look at.

        Returns
        -------
        bound : float
        w : ndarray, shape (m, letters)
            Values of the letters in the cells with the largest bounds: where to look for better vertices.
        """
        c = self.body.folded(prices)
        gamma = c[self.real] / (self.p * self.r)
        rest = float(c[~self.real].sum()) / self.p
        goal = target / self.p
        if self._last is None or not np.array_equal(c, self._last):
            # New prices: all leaves of the tree so far, with the multipliers they had.
            self._last = c.copy()
            new, waiting, closed = self.cells, self.cells.take(np.empty(0, dtype=np.intp)), []
            new.bound[:] = np.inf
        else:
            open_ = self.cells.bound > goal
            front, closed = self.cells.take(open_), [self.cells.take(~open_)]
            new, waiting = self._grow(front, most)
        seen = 0
        while True:
            chunks = [
                new.take(np.arange(i, min(i + WAVE, len(new.bound)))) for i in range(0, len(new.bound), WAVE)
            ]
            for chunk in chunks:
                self._improve(chunk, gamma, rest, goal)
                seen += len(chunk.bound)
                closed.append(chunk.take(chunk.bound <= goal))
            front = _Cells.join([waiting, *(chunk.take(chunk.bound > goal) for chunk in chunks)])
            if len(front.bound) == 0 or seen >= most:
                break
            new, waiting = self._grow(front, most - seen)
        self.cells = _Cells.join([front, *closed])
        w = np.zeros((min(len(front.bound), HINTS), self.body.letters))
        w[:, self.real] = front.place[np.argsort(-front.bound, kind="stable")[: len(w)]]
        return max(target, self.p * float(front.bound.max(initial=-np.inf))), w

    def _grow(self, front: _Cells, work: int) -> tuple[_Cells, _Cells]:
        """Split the cells with the largest bounds, as many as the work allows; return them and the rest."""
        order = np.argsort(-front.bound, kind="stable")
        count = min(len(order), work // 2 + 1, 2 * WAVE)
        return self._split(front.take(order[:count])), front.take(order[count:])

    def _relax(self, cells: _Cells, rest: float) -> _Tables:
        """Tabulate bounds of both constraint functions at the ends of every grid interval."""
        w = cells.lo[:, :, None] + (cells.hi - cells.lo)[:, :, None] * SPACING
        e = xlogy(w, w)
        left, right = w[:, :, :-1], w[:, :, 1:]
        middle, half = 0.5 * (left + right), 0.5 * (right - left)
        found = []
        for ends, v, sign in (
            (cells.xi, self.body.top - middle, -1.0),
            (cells.eta, middle - self.body.bottom, 1.0),
        ):
            s, last = ends[:, 0, None, None], ends[:, 1, None, None]
            t = np.maximum(1.0 + s * v, TINY)
            value, slope = self._phi(t)
            open_ended = ~np.isfinite(last)
            width = np.where(open_ended, 0.0, last - s)
            run = sign * half * s * slope
            pull = width * v * slope
            turn = width * sign * half * slope * (1.0 - (1.0 - self.g) * v * s / t)
            near = np.concatenate([value - run, value + run], axis=2)
            far = near + np.concatenate([pull - turn, pull + turn], axis=2)
            found.append(np.where(open_ended[:, None], 0.0, np.stack([near, far], axis=1)))
        low = np.maximum(0.0, self.body.bottom - 1.0 / cells.eta[:, 0])
        high = self.body.top + 1.0 / cells.xi[:, 0]
        return _Tables(
            found[0],
            found[1],
            np.concatenate([e[:, :, :-1], e[:, :, 1:]], axis=2),
            np.concatenate([left, right], axis=2),
            np.maximum(-rest * low, -rest * high),
        )

    def _phi(self, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return phi and its derivative."""
        if self.g == 0:
            return np.log(t), 1.0 / t
        power = np.sqrt(t) if self.g == 0.5 else t**self.g
        return (power - 1.0) / self.g, power / t

    def _evaluate(self, tables: _Tables, x: FloatArray, gamma: FloatArray) -> tuple[FloatArray, ...]:
        """Evaluate relaxations (m,) at multipliers (m, 2): bounds, slopes, the places of the letters."""
        base = tables.base - gamma[:, None] * tables.points
        rows = np.arange(len(x))
        totals, places = [], []
        for i in (0, 1):
            first = base + x[:, 0, None, None] * tables.a[:, i]
            for j in (0, 1):
                T = first + x[:, 1, None, None] * tables.b[:, j]
                at = T.argmax(axis=2)
                totals.append(np.take_along_axis(T, at[..., None], 2)[..., 0] @ self.r)
                places.append(at)
        total = np.array(totals)
        corner = total.argmax(axis=0)
        at = np.array(places)[corner, rows]
        slope = np.stack(
            [
                np.take_along_axis(part[rows, which], at[..., None], 2)[..., 0] @ self.r - self.k
                for part, which in ((tables.a, corner // 2), (tables.b, corner % 2))
            ],
            axis=1,
        )
        total = total.max(axis=0)
        return total - x.sum(axis=1) * self.k + tables.extra, slope, at

    def _improve(self, cells: _Cells, gamma: FloatArray, rest: float, goal: float) -> None:
        """Lower the bounds of cells by better multipliers: Kelley's cutting planes, in two dimensions."""
        m, n = cells.lo.shape
        # phi has no argument below 0.
        cells.hi[:] = np.minimum(cells.hi, self.body.top + 1.0 / cells.xi[:, :1])
        cells.lo[:] = np.maximum(cells.lo, self.body.bottom - 1.0 / cells.eta[:, :1])
        empty = (cells.lo > cells.hi).any(axis=1)
        cells.hi[:] = np.maximum(cells.lo, cells.hi)
        tables = self._relax(cells, rest)
        unit = np.stack([1.0 / cells.xi[:, 0], 1.0 / cells.eta[:, 0]], axis=1)
        fixed = ~np.isfinite(np.stack([cells.xi[:, 1], cells.eta[:, 1]], axis=1))
        x = np.where(fixed, 0.0, cells.x)
        best, best_x = np.full(m, np.inf), x.copy()
        heights, slopes = np.full((m, PLANES), -np.inf), np.zeros((m, PLANES, 2))
        places = np.zeros((m, PLANES, n), dtype=np.int16)
        live = np.arange(m)
        model = np.full(m, -np.inf)
        active = np.zeros((m, 3), dtype=np.intp)
        for step in range(PLANES):
            part = tables.take(live) if live.size < m else tables
            D, slope, at = self._evaluate(part, x[live] * unit[live], gamma)
            slope = np.where(fixed[live], 0.0, slope * unit[live])
            better = best[live] > D
            best_x[live[better]], best[live[better]] = x[live[better]], D[better]
            heights[live, step] = D - (slope * x[live]).sum(axis=1)
            slopes[live, step], places[live, step] = slope, at
            live = live[(best[live] > goal) & ~fixed[live].all(axis=1)]
            if live.size == 0:
                break
            reach = np.where(fixed[live], 0.0, REACH * best_x[live] + REACH)
            x[live], model[live], active[live] = _lowest(
                heights[live, : step + 1], slopes[live, : step + 1], reach
            )
            live = live[model[live] < best[live] - 0.02 * (best[live] - goal)]
            if live.size == 0:
                break
        cells.bound[:] = np.where(empty, -np.inf, np.minimum(best, cells.bound))
        cells.x[:] = np.where(fixed, cells.x, best_x)
        # What the next split should separate: values that the active planes give to a letter.
        rows = np.arange(m)[:, None]
        chosen = np.take_along_axis(tables.points, places[rows, active].transpose(0, 2, 1).astype(np.intp), 2)
        chosen = chosen.transpose(0, 2, 1)  # (m, 3, n)
        mean = chosen.mean(axis=1)
        value = xlogy(chosen, chosen).mean(axis=1) - xlogy(mean, mean)
        X = best_x * unit
        errors = np.zeros((m, 2))
        for col, ends, v, vc in (
            (0, cells.xi, self.body.top - mean, self.body.top - chosen),
            (1, cells.eta, mean - self.body.bottom, chosen - self.body.bottom),
        ):
            s = ends[:, :1]
            near = self._phi(np.maximum(1.0 + s * v, TINY))[0]
            near_c = self._phi(np.maximum(1.0 + s[:, :, None] * vc, TINY))[0].mean(axis=1)
            value += X[:, col, None] * (near_c - near)
            last = np.where(np.isfinite(ends[:, 1:]), ends[:, 1:], 4.0 * s)
            v = np.maximum(v, -0.95 / last)
            f, d = self._phi(1.0 + s * v)
            bent = self._phi(1.0 + last * v)[0]
            weight = np.maximum(best_x[:, col], LEAST) * unit[:, col]
            errors[:, col] = weight * ((f + (last - s) * v * d - bent) @ self.r)
            errors[fixed[:, col], col] = 0.0
        loss = np.maximum(value, 0.0) * self.r
        cells.cut[:] = np.argmax(np.concatenate([np.abs(errors), loss], axis=1), axis=1)
        letter = np.maximum(cells.cut - 2, 0)
        cells.at[:] = mean[np.arange(m), letter]
        nothing = (np.abs(errors).max(axis=1) <= 0) & (loss.max(axis=1) <= 0)
        cells.cut[nothing] = 0
        cells.place[:] = chosen[:, 0]

    def _split(self, cells: _Cells) -> _Cells:
        """Halve every cell where its relaxation is loosest."""
        m = len(cells.bound)
        one, two = cells.take(np.arange(m)), cells.take(np.arange(m))
        for col, name in ((0, "xi"), (1, "eta")):
            pick = np.flatnonzero(cells.cut == col)
            ends = getattr(cells, name)[pick]
            finite = np.isfinite(ends[:, 1])
            middle = np.sqrt(ends[:, 0] * np.where(finite, ends[:, 1], 16.0 * ends[:, 0]))
            getattr(one, name)[pick, 1] = middle
            getattr(two, name)[pick, 0] = middle
        pick = np.flatnonzero(cells.cut >= 2)
        u = cells.cut[pick] - 2
        lo, hi = cells.lo[pick, u], cells.hi[pick, u]
        cut = np.clip(cells.at[pick], lo + 0.1 * (hi - lo), hi - 0.1 * (hi - lo))
        one.hi[pick, u] = two.lo[pick, u] = cut
        return _Cells.join([one, two])


def _lowest(
    heights: FloatArray, slopes: FloatArray, reach: FloatArray
) -> tuple[FloatArray, FloatArray, NDArray[np.intp]]:
    """Minimize the largest of some planes over a box [0, reach], by listing the corners of the polytope."""
    m, planes = heights.shape
    every = np.concatenate([heights, np.zeros((m, 4))], axis=1)
    # Rows (1, -slope) . (t, x) = height of planes, then x = 0, y = 0, x = reach, y = reach.
    rows = np.zeros((m, planes + 4, 3))
    rows[:, :planes, 0], rows[:, :planes, 1:] = 1.0, -slopes
    rows[:, planes, 1] = rows[:, planes + 1, 2] = rows[:, planes + 2, 1] = rows[:, planes + 3, 2] = 1.0
    every[:, planes + 2], every[:, planes + 3] = reach[:, 0], reach[:, 1]
    triples = np.array([t for t in combinations(range(planes + 4), 3) if t[0] < planes])
    A, c = rows[:, triples], every[:, triples]
    # Cramer's rule: the determinants of all 3 x 3 systems at once.
    cross = np.cross(A[:, :, 1], A[:, :, 2])
    det = (A[:, :, 0] * cross).sum(axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (
            c[:, :, 0, None] * cross
            + c[:, :, 1, None] * np.cross(A[:, :, 2], A[:, :, 0])
            + c[:, :, 2, None] * np.cross(A[:, :, 0], A[:, :, 1])
        ) / det[:, :, None]
        x = z[:, :, 1:]
        edge = 1e-9 * (1.0 + reach[:, None, :])
        size = np.sqrt((A[:, :, :, 1:] ** 2).sum(axis=3)).max(axis=2)
        ok = (
            (np.abs(det) > 1e-10 * size**2)
            & (x >= -edge).all(axis=2)
            & (x <= reach[:, None, :] + edge).all(axis=2)
        )
        x = np.clip(np.where(ok[:, :, None], x, 0.0), 0.0, reach[:, None, :])
        t = (heights[:, None, :] + np.einsum("mjc,mkc->mkj", slopes, x)).max(axis=2)
    t = np.where(ok, t, np.inf)
    best = t.argmin(axis=1)
    index = np.arange(m)
    chosen = triples[best]
    chosen = np.where(chosen < planes, chosen, chosen[:, :1])
    return x[index, best], t[index, best], chosen


def _ends(first: float, last: float) -> FloatArray:
    """List ends of intervals from the first to the last value in even ratios, and infinity."""
    count = max(2, 1 + math.ceil(math.log(max(last / first, 1.0 + 1e-9)) / math.log(RATIO)))
    return np.append(np.geomspace(first, max(last, first * 1.1), count), np.inf)
