r"""Certificates for products of bodies: bounds on the reduced costs of all columns, for every delta at once.

With b = e^-delta from 1 to e^-eps, the columns of distinct pairs with special value s0 are products of ::

    {1 <= B(w), A(w) <= b e^eps} for s != s0,      {b <= B(w), A(w) <= e^eps} for s0,

whose ends are linear in b. All pairs are the one product at b = 1. A certificate compares every body with a
level of its own (`levels`), for all b at once: the least of lines in z, one per part of the columns
(`lines`). If f_s(w) = g_s(w) - prices . w is below the level of its body, and the heights of the lines of a
part and its bonus add up to -e^(slope - 1 - kappa), then no column of that part has a reduced cost above
kappa per unit of Z, by the tangent of z log z with that slope. What covers find above a level counts against
the sum. Between knots of t slopes, heights and bonuses are linear, so that kappa is convex: the knots decide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from ldpfrontier.optimal.certificate.branch_and_bound import Cover
from ldpfrontier.optimal.certificate.majorant import Level, level_at
from ldpfrontier.optimal.geometry.ball_body import Body, reached
from ldpfrontier.optimal.products.ball_family import BallFamily
from ldpfrontier.optimal.products.pricing import tangent_bound
from ldpfrontier.types import FloatArray

#: Cells by which a cover is refined at a time; how much larger it is when vertices are looked for again.
PORTION, GROWTH = 1_000, 1.5

#: Covers are left alone where points known are as far above the levels of a product as their bounds, but for
#: this share.
NEARLY = 0.1

#: Points above a level that are kept at a time; least height above it, as a share of what a body may have.
KEPT, LEAST = 6, 0.1

#: A sensitive value, and whether it is special.
Role = tuple[int, bool]


@dataclass(frozen=True)
class Frame:
    """Lines for all bodies, P parts at K knots.

    A part has columns of some products, between some of the knots: those whose largest z of a body is above
    `low` and at most `high`. The heights of their bodies and the bonus, which one of the bodies has at least,
    add up to -e^(slope - 1 - kappa) or less.

    Attributes
    ----------
    knots : ndarray, shape (K,)
        Of t, which b falls linearly with, from 1 at t = 0 to e^-eps at t = 1.
    low, high : ndarray, shape (P,)
    slope, bonus : ndarray, shape (P, K)
        bonus <= 0.
    heights : dict
        Of every body, shape (P, K).
    products : list
        The bodies of every product.
    needed : ndarray of bool, shape (products, P, K)
        The products of every part, and its knots: there bodies are compared with its lines. At others
        heights are too large to matter.
    """

    knots: FloatArray
    low: FloatArray
    high: FloatArray
    slope: FloatArray
    bonus: FloatArray
    heights: dict[Role, FloatArray]
    products: list[list[Role]]
    needed: NDArray[np.bool_]

    def own(self, role: Role) -> NDArray[np.bool_]:
        """Return which parts a body is compared with."""
        products = [n for n, roles in enumerate(self.products) if role in roles]
        return np.asarray(self.needed[products].any(axis=(0, 2)))

    def totals(self) -> FloatArray:
        """Return the sums of the heights and the bonus, shape (products, P, K)."""
        return np.array([sum(self.heights[role] for role in roles) for roles in self.products]) + self.bonus

    def kappa(self, above: FloatArray | float = 0.0) -> FloatArray:
        """Return what the totals say of reduced costs, with what bodies have above their levels in all.

        That is nothing, -inf, of parts that a product does not need.
        """
        kappa = np.vectorize(tangent_bound, otypes=[float])(self.slope, self.totals() + above)
        return np.where(self.needed, kappa, -np.inf)

    def raised(self, kappa: float, shares: FloatArray) -> Frame:
        """Raise the heights as far as totals allow that say `kappa`, which must not be less than they do.

        Every sensitive value has its share of what is left. A body that several products share is raised as
        the one that leaves the least allows.
        """
        left = -np.exp(self.slope - 1.0 - kappa) - self.totals()
        left[~self.needed] = np.inf
        shared = (
            self.products[0] if len(self.products) == 1 else [(s, False) for s in range(len(self.products))]
        )
        heights = {}
        for role in shared:
            own = [n for n, roles in enumerate(self.products) if role in roles]
            least = left[own].min(axis=0) * shares[role[0]]
            heights[role] = self.heights[role] + np.where(np.isfinite(least), least, 0.0)
        for roles, rest in zip(self.products, left, strict=True):
            special = [role for role in roles if role not in heights]
            for role in special:
                given = sum(heights[other] - self.heights[other] for other in roles if other != role)
                heights[role] = self.heights[role] + np.where(np.isfinite(rest), rest - given, 0.0)
        return replace(self, heights=heights)


class Points(NamedTuple):
    """Points of a body, m of them, and the slopes of the lines that they were compared with."""

    t: FloatArray  # (m,)
    w: FloatArray  # (m, letters)
    slope: FloatArray  # (m,)

    def joined(self, other: Points) -> Points:
        """Return both."""
        return Points(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))


@dataclass(eq=False)
class _Part:
    """One body: how far its cover and known points are above its level, and when points were looked for."""

    level: Level
    scale: float
    cover: Cover | None
    above: float
    known: float = 0.0
    searched: float = 0.0

    @property
    def left(self) -> float:
        """How much better its bound may get."""
        return 0.0 if self.cover is None else self.above - self.known

    @property
    def worth(self) -> float:
        """What another cell is worth, as bounds fall with a power of the cells."""
        return 0.0 if self.cover is None else self.left / (self.cover.size + PORTION)


@dataclass(eq=False)
class Certificate:
    """Bounds at some prices.

    Parameters
    ----------
    products : BallFamily
    prices : ndarray, shape (a1, a2)
    frame : Frame
    margin : float
        How far a body may be above its level before it matters.

    Attributes
    ----------
    found : dict
        Points of every body above its level.
    """

    products: BallFamily
    prices: FloatArray
    frame: Frame
    margin: float
    found: dict[Role, Points] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._parts: dict[Role, _Part] = {}
        for role in self.frame.heights:
            body, frame = self._base(role), self.frame
            if not body.movable:
                self._parts[role] = _Part(self._level(role, 1.0), 1.0, None, self._listed(role))
                continue
            # Covers know the mean of w, which is z per unit of the prior.
            scale = float(body.prior.sum())
            level = self._level(role, scale)
            cover = Cover(
                body, self.prices[role[0]], *ends(self.products.epsilon, role[1], len(frame.knots)), level
            )
            self._parts[role] = _Part(level, scale, cover, math.inf)

    def bound(self, work: int) -> float:
        """Bound the reduced cost per unit of Z of every column.

        Parameters
        ----------
        work : int
            Most cells to add to the covers.

        Returns
        -------
        float
            inf if none is known.
        """
        for part in self._parts.values():
            if part.cover is not None and part.cover.size == 0:
                part.above = part.cover.bound(0.0, 0)
        while work > 0:
            roles = max(self.frame.products, key=lambda own: sum(self._parts[role].above for role in own))
            parts = [self._parts[role] for role in roles]
            left, known = sum(part.left for part in parts), sum(part.known for part in parts)
            role = max(roles, key=lambda role: self._parts[role].worth)
            part = self._parts[role]
            if part.cover is None or left <= NEARLY * known + 1e-12 * self.margin:
                break
            before = part.cover.size
            part.above = part.cover.bound(0.0, PORTION)
            work -= max(part.cover.size - before, 1)
            if part.above > part.known and part.cover.size >= GROWTH * part.searched:
                part.searched = part.cover.size
                self._search(role, part)
        count = max(len(self.frame.knots) - 1, 1)
        above = {role: self._above(part, count) for role, part in self._parts.items()}
        worst = -math.inf
        for n, roles in enumerate(self.frame.products):
            total = sum(above[role] for role in roles)
            for first in range(min(2, len(self.frame.knots))):
                rows = self.frame.kappa(np.pad(total, (first, len(self.frame.knots) - first - count)))[n]
                worst = max(worst, float(rows[:, first : first + count].max()))
        return worst

    @property
    def size(self) -> int:
        """Cells of all covers."""
        return sum(part.cover.size for part in self._parts.values() if part.cover is not None)

    @property
    def known(self) -> float:
        """What the points found say of the reduced costs per unit of Z: about the least bound to hope for."""
        totals = np.array([sum(self._parts[r].known for r in roles) for roles in self.frame.products])
        return float(self.frame.kappa(totals[:, None, None]).max())

    def _above(self, part: _Part, count: int) -> FloatArray:
        """Return how far a body may be above its level between any two knots, shape (count,)."""
        if part.cover is None:
            return np.full(count, part.above)
        return part.cover.above(self.frame.knots) if part.above > 0.0 else np.zeros(count)

    def _base(self, role: Role) -> Body:
        return self.products.body(role[0])

    def _level(self, role: Role, scale: float) -> Level:
        frame, own = self.frame, self.frame.own(role)
        return Level.of(
            frame.knots,
            frame.low[own] / scale,
            frame.high[own] / scale,
            frame.bonus[own] / scale,
            frame.slope[own],
            frame.heights[role][own] / scale,
        )

    def _listed(self, role: Role) -> float:
        """Return how far a body whose vertices are all known may be above its level.

        The vertices move linearly with t, and f is convex: above its chord between knots is only the product
        of a slope and z, by a quarter of the product of their changes.
        """
        frame, (s, special) = self.frame, role
        pairs = ends(self.products.epsilon, special, len(frame.knots))
        tops, bottoms = (between(pair, frame.knots) for pair in pairs)
        bodies = [with_ends(self.products, s, *both) for both in zip(tops, bottoms, strict=True)]
        z, f = (np.array(x) for x in ([b.z for b in bodies], [b.reduced(self.prices[s]) for b in bodies]))
        # Between two knots a part counts, and its bonus does, if it does at either of them.
        first, last = (z[:-1], z[1:]) if len(z) > 1 else (z, z)
        nearest, farthest = np.minimum(first, last), np.maximum(first, last)
        most = 0.0
        for p in np.flatnonzero(frame.own(role)):
            own, bonus = nearest <= frame.high[p], farthest > frame.low[p]
            for k in range(len(z)):
                over = f[k] - frame.slope[p, k] * z[k] - frame.heights[role][p, k]
                for i in {max(k - 1, 0), min(k, len(own) - 1)}:
                    most = max(most, float((over - frame.bonus[p, k] * bonus[i])[own[i]].max(initial=0.0)))
        change = max(abs(b - a) for a, b in pairs)
        turned = np.abs(np.diff(frame.slope, axis=1)) * np.diff(frame.knots)
        return most + 0.25 * float(turned.max(initial=0.0)) * change * float(self._base(role).prior.sum())

    def _search(self, role: Role, part: _Part) -> None:
        """Look for points of a body above its level, where its cover is loose."""
        assert part.cover is not None
        body, c = self._base(role), self.prices[role[0]]
        w, t, slope = part.cover.hints()
        if not len(w):
            return
        top, bottom = ends(self.products.epsilon, role[1], len(self.frame.knots))
        w = reached(body, c, w, slope, between(top, t), between(bottom, t))
        t = np.tile(t, len(w) // len(t))
        f = xlogy(w, w) @ body.prior - w @ body.folded(c)
        z = w @ body.prior / part.scale
        over = np.array(
            [a - part.scale * level_at(part.level, x, y) for a, x, y in zip(f, z, t, strict=True)]
        )
        # Covers are not refined for what no refinement mends, however little it is.
        part.known = max(part.known, float(over.max()))
        best = np.argsort(-over, kind="stable")
        best = best[over[best] > LEAST * self.margin]
        best = best[np.append(True, np.diff(over[best]) < -1e-9)[: len(best)]][:KEPT]
        if best.size:
            new = Points(t[best], w[best], np.tile(slope, len(w) // len(slope))[best])
            self.found[role] = self.found[role].joined(new) if role in self.found else new


def ends(epsilon: float, special: bool, knots: int = 2) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the ends of A, and those of B, at t = 0 and t = 1; with one knot both are at t = 0."""
    top, bottom = math.exp(epsilon), math.exp(-epsilon)
    if knots == 1:
        return (top, top), (1.0, 1.0)
    return ((top, top), (1.0, bottom)) if special else ((top, 1.0), (1.0, 1.0))


def between(pair: tuple[float, float], t: FloatArray) -> FloatArray:
    """Return what is a share t of the way from one end to the other."""
    return np.asarray(pair[0] + t * (pair[1] - pair[0]))


def with_ends(products: BallFamily, s: int, top: float, bottom: float) -> Body:
    """Return the body of a sensitive value with given ends of A and B, and the vertices that are listed."""
    ball, base = products.ball, products.body(s)
    ratio = max(math.log(top / bottom), 0.0)
    return Body(ball.conditionals[s], base.radius, ball.order, ball.centre[s], ratio, bottom)
