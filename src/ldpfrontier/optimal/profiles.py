r"""What known vertices of bodies are worth along all deltas, and the lines of a certificate that follow.

See `certificates` for the bodies. Along t, where their ends are linear, the best known vertices are found
from those of the last knot, those that are listed, and those that earlier certificates found.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from ldpfrontier.channel import FloatArray
from ldpfrontier.optimal.bodies import Body, polish, polish_from, reached
from ldpfrontier.optimal.body_products import BodyProducts
from ldpfrontier.optimal.certificates import (
    Certificate,
    Frame,
    Role,
    between,
    ends,
    tangent_bounds,
    with_ends,
)

#: Most knots; least distance of another one to those before, as a share of epsilon: bodies are worth much
#: less just beyond where a vertex vanishes.
MOST, APART = 120, 1 / 4000

#: Best vertices of a body that are taken along, and those that have their letters moved; those that are kept
#: of every knot; bodies with more letters have none listed but at delta = 0.
TAKEN, MOVED, KEPT, LISTED = 6, 2, 2, 10

#: Vertices are the same if all logs of letters, from SMALL on, are within NEAR.
SMALL, NEAR = 0.03, 0.01

#: Slopes that are tried at a time, and times that they are narrowed down; steps to see how far they may move.
TRIED, NARROWED, HALVED = 9, 6, 10

#: Products whose reduced costs come so near to zero, relative to the value, tell where z log z is touched.
CLOSE = 2e-3


@dataclass(frozen=True)
class _Worths:
    """Known vertices of all bodies at one knot: first those of values that are not special.

    Attributes
    ----------
    f, z : ndarray, shape (2 a1, m)
        f is -inf where there is none.
    """

    f: FloatArray
    z: FloatArray

    @classmethod
    def of(cls, known: Sequence[tuple[FloatArray, FloatArray]]) -> _Worths:
        f, z = np.full((2, len(known), max(len(f) for f, _ in known)), -np.inf)
        z[:] = 0.0
        for row, (own, means) in enumerate(known):
            f[row, : len(own)], z[row, : len(own)] = own, means
        return cls(f, z)

    def heights(self, slopes: FloatArray) -> FloatArray:
        """Return the largest f - slope z of every body, shape (2 a1, slopes)."""
        return np.stack([(self.f - slope * self.z).max(axis=1) for slope in slopes], axis=1)

    def kappa(self, slopes: FloatArray) -> FloatArray:
        """Bound the reduced costs of the products at some slopes each, shape (a1, q)."""
        a1 = len(self.f) // 2
        each = np.broadcast_to(slopes, (a1, slopes.shape[-1]))
        heights = self.heights(each.ravel()).reshape(2, a1, *each.shape)
        own = np.arange(a1)
        totals = heights[0].sum(axis=0) - heights[0, own, own] + heights[1, own, own]
        return tangent_bounds(each, totals)

    def tangents(self) -> tuple[FloatArray, FloatArray]:
        """Return the best slope of every product, and what it says, both of shape (a1,)."""
        own = np.arange(len(self.f) // 2)
        low, high = np.zeros(len(own)), np.full(len(own), 1.0 + math.log(float(self.z.max(axis=1).sum())))
        for _ in range(NARROWED):
            slopes = np.linspace(low, high, TRIED, axis=1)
            kappa = self.kappa(slopes)
            best = kappa.argmin(axis=1)
            low, high = slopes[own, np.maximum(best - 1, 0)], slopes[own, np.minimum(best + 1, TRIED - 1)]
        return slopes[own, best], kappa[own, best]

    def slack(self, best: FloatArray, enough: float) -> tuple[FloatArray, FloatArray]:
        """Return the least and the largest slopes that say `enough`, if the best do, both of shape (a1,)."""
        found = []
        for end in (0.0, 1.0 + math.log(float(self.z.max(axis=1).sum()))):
            inside, outside = best, np.full(len(best), end)
            for _ in range(HALVED):
                middle = 0.5 * (inside + outside)
                do = self.kappa(middle[:, None])[:, 0] <= enough
                inside, outside = np.where(do, middle, inside), np.where(do, outside, middle)
            found.append(inside)
        return found[0], found[1]


@dataclass(eq=False)
class Profiles:
    """Known vertices of the bodies of distinct pairs.

    Parameters
    ----------
    products : BodyProducts
    first : int
        Number of knots at first.
    """

    products: BodyProducts
    first: int
    _pool: dict[Role, FloatArray] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.deltas = np.linspace(0.0, self.products.epsilon, self.first)
        self._bodies: dict[tuple[Role, float], Body] = {}
        self._fresh: dict[Role, FloatArray] = {}
        self._least = np.empty((0, 0))  # what every product's own slopes say, shape (a1, K)

    def frame(self, prices: FloatArray, enough: float = 0.0) -> Frame:
        """Return the lines that known vertices are not above, at the knots.

        Parameters
        ----------
        prices : ndarray, shape (a1, a2)
        enough : float
            Reduced costs per unit of Z up to which products share their lines.
        """
        groups = range(len(self.products.ball.centre))
        roles = [(s, special) for special in (False, True) for s in groups]
        t = self._place(self.deltas)
        known = [self._known(role, prices, self._slopes(prices), t) for role in roles]
        worths = [_Worths.of([own[k] for own in known]) for k in range(len(t))]
        slopes, used = self._shared(worths, enough)
        heights = np.stack([worth.heights(row) for worth, row in zip(worths, slopes.T, strict=True)], axis=-1)
        ends = np.zeros(len(slopes)), np.full(len(slopes), np.inf), np.zeros(len(slopes))
        return Frame(
            t,
            *ends,
            slopes,
            dict(zip(roles, heights, strict=True)),
            [[(s, s == s0) for s in groups] for s0 in groups],
            used[:, None] == np.arange(len(slopes)),
        )

    def _shared(self, worths: Sequence[_Worths], enough: float) -> tuple[FloatArray, NDArray[np.int64]]:
        """Choose slopes for the products, as few as do.

        Returns
        -------
        slopes : ndarray, shape (P, K)
        used : ndarray of int, shape (a1,)
            Which of them every product uses.
        """
        best, own = (np.stack(both, axis=1) for both in zip(*(w.tangents() for w in worths), strict=True))
        self._least, enough = own, max(enough, float(own.max()))
        slack = [w.slack(row, enough) for w, row in zip(worths, best.T, strict=True)]
        low, high = (np.stack(both, axis=1) for both in zip(*slack, strict=True))
        tubes: list[tuple[FloatArray, FloatArray]] = []
        used = np.zeros(len(best), dtype=np.int64)
        for n in np.argsort((high - low).min(axis=1), kind="stable"):
            both = [(np.maximum(a, low[n]), np.minimum(b, high[n])) for a, b in tubes]
            do = [i for i, (a, b) in enumerate(both) if (a <= b).all()]
            used[n] = do[0] if do else len(tubes)
            if do:
                tubes[do[0]] = both[do[0]]
            else:
                tubes.append((low[n], high[n]))
        # Where they can, lines of different products are the same.
        slopes = np.empty((len(tubes), len(worths)))
        for k in range(len(worths)):
            ends = [(float(a[k]), float(b[k])) for a, b in tubes]
            chosen: list[float] = []
            for p in sorted(range(len(ends)), key=lambda p: ends[p][1] - ends[p][0]):
                a, b = ends[p]
                fits = [slope for slope in chosen if a <= slope <= b]
                slopes[p, k] = fits[0] if fits else 0.5 * (a + b)
                chosen.append(slopes[p, k])
        return slopes, used

    def use(self, prices: FloatArray, enough: float) -> bool:
        """Use the products with the largest reduced costs above `enough`; return whether any is new.

        They are those of the last frame.
        """
        new = False
        for s0, row in enumerate(self._least):
            k = int(row.argmax())
            if k > 0 and row[k] > enough:
                new |= self.products.use(s0, float(self.deltas[k]))
        self.improve(prices)
        return new

    def improve(self, prices: FloatArray) -> None:
        """Look for better vertices of the bodies of the products in use from those found anywhere."""
        slopes, bodies, own, starts = self._slopes(prices), [], [], []
        for s, delta, special in sorted(set(self.products.in_use())):
            body = self.products.body((s, delta, special))
            if body.movable and len(pool := self._pool.get((s, special), np.empty((0, 0)))):
                bodies.append(body)
                tilt = float(np.interp(delta, self.deltas, slopes)) + 0.5 * delta
                own.append(prices[s] + tilt * self.products.ball.centre[s])
                starts.append(math.exp(0.5 * delta) * pool)
        if bodies:
            polish_from(bodies, own, starts)
            for product in self.products.active():
                product.forget()

    def learn(self, certificate: Certificate) -> bool:
        """Take over the points found above the levels; return whether there are any."""
        eps, self._fresh = self.products.epsilon, {role: w for role, (_, w) in certificate.found.items()}
        for role, (t, w) in certificate.found.items():
            self._keep(role, w)
            for delta in -np.log1p(t * math.expm1(-eps)):
                if np.abs(self.deltas - delta).min() > APART * eps and len(self.deltas) < MOST:
                    self.deltas = np.sort(np.append(self.deltas, delta))
        return bool(certificate.found)

    def _keep(self, role: Role, w: FloatArray) -> None:
        pool = np.concatenate([self._pool[role], w]) if role in self._pool else w
        rounded = np.rint(np.log(pool + SMALL) / NEAR)
        self._pool[role] = pool[np.sort(np.unique(rounded, axis=0, return_index=True)[1])]

    def _place(self, delta: FloatArray) -> FloatArray:
        """Return t of some deltas."""
        t = np.expm1(-delta) / math.expm1(-self.products.epsilon)
        t[0], t[-1] = 0.0, 1.0
        return np.asarray(t)

    def _slopes(self, prices: FloatArray) -> FloatArray:
        """Return the slopes of tangents of z log z: those of the best products, linear in delta between."""
        eps, value = self.products.epsilon, float(prices.sum())
        where: dict[float, list[tuple[float, float]]] = {}
        for excess, _, delta, slope in self.products.tangents(prices):
            weight = math.exp(min(excess / (CLOSE * value), 0.0))
            if delta == 0.0 or weight > 0.3:
                # Columns are scaled by e^(-delta/2) here.
                where.setdefault(delta, []).append((weight, slope - 0.5 * delta))
        means = {d: sum(a * b for a, b in pairs) / sum(a for a, _ in pairs) for d, pairs in where.items()}
        means.setdefault(eps, min(means[max(means)], 1.0))
        places = sorted(means)
        return np.interp(self.deltas, places, [means[d] for d in places])

    def _known(
        self, role: Role, prices: FloatArray, slopes: FloatArray, t: FloatArray
    ) -> list[tuple[FloatArray, FloatArray]]:
        """Return f and z of known vertices of a body at all knots, after looking for better ones."""
        s, special = role
        base, P, own = self.products.body((s, 0.0, False)), self.products.ball.centre[s], prices[role[0]]
        tops, bottoms = (between(pair, t) for pair in ends(self.products.epsilon, special))
        pool = self._pool.get(role, np.empty((0, base.letters)))
        fresh = self._fresh.get(role, pool[:0])
        last, kept, found = pool[:0], [], []
        for delta, top, bottom, slope in zip(self.deltas, tops, bottoms, slopes, strict=True):
            c = own + slope * P
            if base.letters <= LISTED or not base.movable or top <= bottom * (1.0 + 1e-12):
                body = base if delta == 0.0 else self._bodies.get((role, float(delta)))
                # Bodies keep what was found before.
                starts, moved = (pool, MOVED) if body is None else (fresh, 0)
                if body is None:
                    body = self._bodies[role, float(delta)] = with_ends(self.products, s, top, bottom)
                if body.movable:
                    polish([body], [c], TAKEN, moved)
                    polish_from([body], [c], [np.concatenate([starts, last[:KEPT]])])
                last = body.best(c, TAKEN)
                found.append((body.reduced(own), body.z))
            else:
                starts = np.concatenate([pool, last, base.best(c, TAKEN)])
                w = self._climbed(base, c, top, bottom, starts)
                last = w[:TAKEN]
                found.append((xlogy(w, w) @ base.prior - w @ base.folded(own), w @ base.prior))
            kept.append(last[:KEPT])
        if base.movable:
            self._pool[role] = np.empty((0, base.letters))
            self._keep(role, np.concatenate(kept))
        return found

    def _climbed(
        self, body: Body, prices: FloatArray, top: float, bottom: float, starts: FloatArray
    ) -> FloatArray:
        """Return the places reached from others with given ends, best first."""
        many = len(starts)
        w = reached(body, prices, starts, np.zeros(many), np.full(many, top), np.full(many, bottom))
        values = xlogy(w, w) @ body.prior - w @ body.folded(prices)
        return np.asarray(w[np.argsort(-values, kind="stable")])
