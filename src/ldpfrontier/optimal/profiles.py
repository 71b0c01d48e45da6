r"""What known vertices of bodies are worth along all deltas, and the lines of a certificate that follow.

See `certificates` for the bodies. Along t, where their ends are linear, the best known vertices are found
from those of the last knot, those that are listed, and those that earlier certificates found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.special import xlogy

from ldpfrontier.channel import FloatArray
from ldpfrontier.optimal.bodies import Body, polish, polish_from, reached
from ldpfrontier.optimal.body_products import BodyProducts
from ldpfrontier.optimal.certificates import Certificate, Frame, Role, between, ends, with_ends

#: Most knots; least distance of another one to those before, as a share of epsilon.
MOST, APART = 80, 1 / 400

#: Best vertices of a body that are taken along, and those that have their letters moved; those that are kept
#: of every knot; bodies with more letters have none listed but at delta = 0.
TAKEN, MOVED, KEPT, LISTED = 6, 2, 2, 10

#: Vertices are the same if all logs of letters, from SMALL on, are within NEAR.
SMALL, NEAR = 0.03, 0.01

#: Products whose reduced costs come so near to zero, relative to the value, tell where z log z is touched.
CLOSE = 2e-3


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

    def frame(self, prices: FloatArray) -> Frame:
        """Return the lines that known vertices are not above, at the knots."""
        centre = self.products.ball.centre
        slopes, t = self._slopes(prices), self._place(self.deltas)
        groups = range(len(centre))
        roles = [(s, special) for special in (False, True) for s in groups]
        heights = {role: self._profile(role, prices[role[0]], slopes, t)[None] for role in roles}
        return Frame(
            t,
            np.zeros(1),
            np.full(1, np.inf),
            np.zeros(1),
            slopes[None],
            heights,
            [[(s, s == s0) for s in groups] for s0 in groups],
        )

    def use(self, prices: FloatArray, frame: Frame, enough: float) -> bool:
        """Use the products with the largest reduced costs above `enough`; return whether any is new."""
        new = False
        kappa = frame.kappa()[:, 0]
        for s0, row in enumerate(kappa):
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
        eps = self.products.epsilon
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

    def _profile(self, role: Role, prices: FloatArray, slopes: FloatArray, t: FloatArray) -> FloatArray:
        """Return the largest known f - slope z at all knots."""
        s, special = role
        base, P = self.products.body((s, 0.0, False)), self.products.ball.centre[s]
        tops, bottoms = (between(pair, t) for pair in ends(self.products.epsilon, special))
        pool = self._pool.get(role, np.empty((0, base.letters)))
        last, kept, values = np.empty((0, base.letters)), [], np.empty(len(t))
        for k, (top, bottom, slope) in enumerate(zip(tops, bottoms, slopes, strict=True)):
            c = prices + slope * P
            if base.letters <= LISTED or not base.movable or top <= bottom * (1.0 + 1e-12):
                body = base if k == 0 else with_ends(self.products, s, top, bottom)
                if body.movable:
                    polish([body], [c], TAKEN, MOVED)
                    polish_from([body], [c], [np.concatenate([pool, last])])
                last = body.best(c, TAKEN)
            else:
                last = self._climbed(base, c, top, bottom, np.concatenate([pool, last, base.best(c, TAKEN)]))
            values[k] = (xlogy(last, last) @ base.prior - last @ base.folded(c)).max()
            kept.append(last[:KEPT])
        if base.movable:
            self._pool[role] = np.empty((0, base.letters))
            self._keep(role, np.concatenate(kept))
        return values

    def _climbed(
        self, body: Body, prices: FloatArray, top: float, bottom: float, starts: FloatArray
    ) -> FloatArray:
        """Return the best places reached from others with given ends."""
        many = len(starts)
        w = reached(body, prices, starts, np.zeros(many), np.full(many, top), np.full(many, bottom))
        values = xlogy(w, w) @ body.prior - w @ body.folded(prices)
        return np.asarray(w[np.argsort(-values, kind="stable")[:TAKEN]])
