r"""What known points of bodies are worth along all deltas, and the lines of a certificate that follow.

See `certificates` for the bodies. Along t, where their ends are linear, the best known vertices are found
from those of the last knot, those that are listed, and those that earlier certificates found. Where z is
split, a body has points that are no vertices, but extreme: the best ones known are between two vertices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from ldpfrontier.channel import FloatArray
from ldpfrontier.optimal.bodies import Body, polish, polish_from, reached
from ldpfrontier.optimal.body_products import BodyProducts
from ldpfrontier.optimal.certificates import Certificate, Frame, Points, Role, between, ends, with_ends
from ldpfrontier.optimal.lines import Known, parts
from ldpfrontier.optimal.products import least_excess, priced

#: Most knots; least distance of another one to those before, as a share of epsilon: bodies are worth much
#: less just beyond where a vertex vanishes.
MOST, APART = 120, 1 / 4000

#: Best vertices of a body that are taken along, and those that have their letters moved; those that are kept
#: of every knot; bodies with more letters have none listed but at delta = 0.
TAKEN, MOVED, KEPT, LISTED = 6, 2, 2, 10

#: Vertices are the same if all logs of letters, from SMALL on, are within NEAR.
SMALL, NEAR = 0.03, 0.01

#: Products whose reduced costs come so near to zero, relative to the value, tell where z log z is touched.
CLOSE = 2e-3

#: How many times what columns of known vertices have lines should say at most.
ABOVE = 1.2

#: Least ratio of neighbouring edges at which z may be split, and most edges.
RATIO, EDGES = 1.12, 40

#: Slopes of parts that vertices are looked for at, this far apart.
TILTS, STEEPER = 4, 0.1

#: Best vertices at every slope, and between two edges, that points at the edges are looked for between.
LEADING, EACH = 4, 2

#: f and z of points of a body.
Located = tuple[FloatArray, FloatArray]


@dataclass(eq=False)
class Profiles:
    """Known vertices of the bodies, for all deltas from 0 to epsilon, or for that of all pairs.

    Parameters
    ----------
    products : BodyProducts
    first : int
        Number of knots at first; 1 for all pairs.

    Attributes
    ----------
    edges : ndarray
        Where z may be split.
    deltas : ndarray, shape (K,)
    roles : list
        The bodies.
    known, points : list of Known
        What was found at every delta when it was last looked for: vertices, and points at the edges, too.
    """

    products: BodyProducts
    first: int
    _pool: dict[Role, FloatArray] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        groups = len(self.products.ball.centre)
        least = float(self.products.ball.sensitive.max())
        most = max(float(b.z.max()) for b in self.products.product(0, 0.0).blocks)
        count = min(math.ceil(math.log(most / least) / math.log(RATIO)), EDGES)
        self.edges = least * (most / least) ** (np.arange(1, count) / count)
        self.deltas = np.linspace(0.0, self.products.epsilon, self.first)
        self.roles = [(s, False) for s in range(groups)]
        self._bodies = np.arange(groups)[None]
        if self.first > 1:
            self.roles += [(s, True) for s in range(groups)]
            self._bodies = np.arange(groups) + groups * np.eye(groups, dtype=np.int64)
        self.known: list[Known] = []
        self.points: list[Known] = []
        self._listed: dict[tuple[Role, float], Body] = {}
        self._fresh: dict[Role, Points] = {}
        self._places, self._lines = self.deltas, np.empty((0, self.first))

    def look(self, prices: FloatArray, enough: float) -> None:
        """Look for vertices at all knots, and price the columns made of them.

        Parameters
        ----------
        prices : ndarray, shape (a1, a2)
        enough : float
            Reduced costs per unit of Z that do not matter.
        """
        t, tilts = self.knots, self._tilts(prices)
        vertices, points = zip(*(self._known(role, prices, tilts, t) for role in self.roles), strict=True)
        self._fresh = {}
        self.known, self.points = (
            [Known.of([own[k] for own in each]) for k in range(len(t))] for each in (vertices, points)
        )
        self._excess = np.array(
            [[self._priced(own, enough, at) for at in self.known] for own in self._bodies]
        )

    def _joined(self, vertices: list[Located], between: list[FloatArray]) -> list[Located]:
        """Add the best points at the edges, those of the knots before and after among them.

        Beyond a vertex f falls steeply, so that it does at an edge when a vertex has just passed it.
        """
        best, found = np.array(between), []
        for k, (f, z) in enumerate(vertices):
            most = best[max(k - 1, 0) : k + 2].max(axis=0)
            there = np.isfinite(most)
            found.append((np.append(f, most[there]), np.append(z, self.edges[there])))
        return found

    def _priced(self, bodies: NDArray[np.int64], enough: float, at: Known) -> float:
        """Return about the largest reduced cost of a product, if it may be more than enough."""
        own = [slice(*at.first[s : s + 2]) for s in bodies]
        z, f = [at.z[i] for i in own], [at.f[i] for i in own]
        kappa, lam = least_excess(z, f, 1.0)
        if kappa <= enough:
            return min(kappa, 0.0)
        span = sum(float(x.min()) for x in z), sum(float(x.max()) for x in z)
        return priced(z, f, (kappa, lam), span, 0.5 * enough)[0]

    def frame(self, enough: float, worth: float = 0.0) -> Frame:
        """Return the lines that known vertices are not above, at the knots.

        Parameters
        ----------
        enough, worth : float
            Reduced costs per unit of Z that they should say, or nearly, where the vertices are no worse, and
            those above which z is split, if that is more.
        """
        found = parts(
            self.known,
            self.points,
            self._bodies,
            self.edges,
            max(enough, ABOVE * float(self._excess.max())),
            worth,
        )
        self._places, self._lines = self.deltas, np.array([part.slope for part in found])
        slope, bonus, heights = (
            np.array([getattr(part, name) for part in found]) for name in ("slope", "bonus", "heights")
        )
        needed = np.zeros((len(self._bodies), len(found)), dtype=bool)
        for p, part in enumerate(found):
            needed[part.products, p] = True
        return Frame(
            self.knots,
            np.array([part.low for part in found]),
            np.array([part.high for part in found]),
            slope,
            bonus,
            {role: heights[:, n] for n, role in enumerate(self.roles)},
            [[self.roles[n] for n in own] for own in self._bodies],
            needed,
        )

    def use(self, prices: FloatArray, enough: float) -> bool:
        """Use the products with the largest reduced costs above `enough`; return whether any is new.

        They are those that were looked at last.
        """
        new = False
        for s0, row in enumerate(self._excess):
            k = int(row.argmax())
            if k > 0 and row[k] > enough:
                new |= self.products.use(s0, float(self.deltas[k]))
        self.improve(prices)
        return new

    def improve(self, prices: FloatArray) -> None:
        """Look for better vertices of the bodies of the products in use from those found anywhere."""
        tilts, P = self._tilts(prices), self.products.ball.centre
        for n in range(max(map(len, tilts))):
            bodies, own, starts = [], [], []
            for s, delta, special in sorted(set(self.products.in_use())):
                body = self.products.body((s, delta, special))
                near = tilts[int(np.abs(self.deltas - delta).argmin())]
                pool = self._pool.get((s, special), np.empty((0, 0)))
                if body.movable and len(pool) and n < len(near):
                    bodies.append(body)
                    own.append(prices[s] + (near[n] + 0.5 * delta) * P[s])
                    starts.append(math.exp(0.5 * delta) * pool)
            if bodies:
                polish_from(bodies, own, starts)
        for product in self.products.active():
            product.forget()

    def learn(self, certificate: Certificate) -> bool:
        """Take over the points found above the levels; return whether there are any."""
        eps, self._fresh = self.products.epsilon, certificate.found
        for role, points in certificate.found.items():
            self._keep(role, points.w)
            for delta in -np.log1p(points.t * math.expm1(-eps)):
                if np.abs(self.deltas - delta).min() > APART * eps and len(self.deltas) < MOST:
                    self.deltas = np.sort(np.append(self.deltas, delta))
        return bool(certificate.found)

    @property
    def knots(self) -> FloatArray:
        """The deltas as t, shape (K,)."""
        t = np.asarray(np.expm1(-self.deltas) / math.expm1(-self.products.epsilon))
        t[0] = 0.0
        if len(t) > 1:
            t[-1] = 1.0
        return t

    def _keep(self, role: Role, w: FloatArray) -> None:
        pool = np.concatenate([self._pool[role], w]) if role in self._pool else w
        rounded = np.rint(np.log(pool + SMALL) / NEAR)
        self._pool[role] = pool[np.sort(np.unique(rounded, axis=0, return_index=True)[1])]

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

    def _tilts(self, prices: FloatArray) -> list[FloatArray]:
        """Return the slopes to look for vertices at, those of parts last: for every knot."""
        found = []
        for delta, slope in zip(self.deltas, self._slopes(prices), strict=True):
            chosen = [float(slope)]
            for part in self._lines:
                other = float(np.interp(delta, self._places, part))
                if len(chosen) <= TILTS and min(abs(other - x) for x in chosen) > STEEPER:
                    chosen.append(other)
            found.append(np.array(chosen))
        return found

    def _known(
        self, role: Role, prices: FloatArray, tilts: list[FloatArray], t: FloatArray
    ) -> tuple[list[Located], list[Located]]:
        """Return f and z of known vertices of a body at all knots, after looking for better ones.

        The second list has points at the edges, too.
        """
        s, special = role
        base, P, own = self.products.body((s, 0.0, False)), self.products.ball.centre[s], prices[role[0]]
        tops, bottoms = (between(pair, t) for pair in ends(self.products.epsilon, special, len(t)))
        pool = self._pool.get(role, np.empty((0, base.letters)))
        fresh = self._fresh.get(role, Points(t[:0], pool[:0], t[:0]))
        last, kept, found, best = pool[:0], [], list[Located](), list[FloatArray]()
        for k, (delta, top, bottom) in enumerate(zip(self.deltas, tops, bottoms, strict=True)):
            flat = top <= bottom * (1.0 + 1e-12)
            again = pool[:0]
            if len(fresh.t) and not flat:
                again = self._reached(base, own, fresh.w, fresh.slope, top, bottom)
            if delta == 0.0 or base.letters <= LISTED or not base.movable or flat:
                body = base if delta == 0.0 else self._listed.get((role, float(delta)))
                # Bodies keep what was found before.
                starts, moved = (pool, MOVED) if body is None else (fresh.w, 0)
                if body is None:
                    body = self._listed[role, float(delta)] = with_ends(self.products, s, top, bottom)
                if body.movable:
                    body.append(again)
                    c = own + tilts[k][0] * P
                    polish([body], [c], TAKEN, moved)
                    polish_from([body], [c], [np.concatenate([starts, last[:KEPT]])])
                    for tilt in tilts[k][1:]:
                        polish([body], [own + tilt * P], KEPT, 0)
                last = body.best(own + tilts[k][0] * P, TAKEN)
                f, z = body.reduced(own), body.z
                leading = body.compact(self._spread(f, z, tilts[k]))
            else:
                starts = np.concatenate([pool, last, base.best(own + tilts[k][0] * P, TAKEN)])
                w = [self._climbed(base, own + tilt * P, starts, top, bottom) for tilt in tilts[k]]
                every = np.concatenate([*w, again])
                last = every[:TAKEN]
                f, z = xlogy(every, every) @ base.prior - every @ base.folded(own), every @ base.prior
                leading = every[self._spread(f, z, tilts[k])]
            found.append((f, z))
            best.append(self._between(base, own, leading))
            kept.append(last[:KEPT])
        if base.movable:
            self._pool[role] = np.empty((0, base.letters))
            self._keep(role, np.concatenate(kept))
        return found, self._joined(found, best)

    def _spread(self, f: FloatArray, z: FloatArray, tilts: FloatArray) -> NDArray[np.int64]:
        """Return the best vertices at some slopes, and those between two edges."""
        chosen = [np.argsort(-(f - tilt * z), kind="stable")[:LEADING] for tilt in tilts]
        order = np.argsort(-(f - tilts[0] * z), kind="stable")
        interval = np.searchsorted(self.edges, z[order])
        chosen += [order[interval == n][:EACH] for n in range(len(self.edges) + 1)]
        return np.unique(np.concatenate(chosen))

    def _between(self, body: Body, prices: FloatArray, w: FloatArray) -> FloatArray:
        """Return the largest f of points between two vertices with z at the edges, or -inf."""
        z = w @ body.prior
        i, j = np.nonzero(z[:, None] < z)
        best = np.full(len(self.edges), -np.inf)
        for n, edge in enumerate(self.edges):
            a, b = (own[(z[i] < edge) & (z[j] > edge)] for own in (i, j))
            v = w[a] + ((edge - z[a]) / (z[b] - z[a]))[:, None] * (w[b] - w[a])
            best[n] = (xlogy(v, v) @ body.prior - v @ body.folded(prices)).max(initial=-np.inf)
        return best

    def _climbed(
        self, body: Body, prices: FloatArray, starts: FloatArray, top: float, bottom: float
    ) -> FloatArray:
        """Return the places reached from others with given ends, best first."""
        w = self._reached(body, prices, starts, np.zeros(len(starts)), top, bottom)
        values = xlogy(w, w) @ body.prior - w @ body.folded(prices)
        return np.asarray(w[np.argsort(-values, kind="stable")])

    def _reached(
        self, body: Body, prices: FloatArray, starts: FloatArray, tilts: FloatArray, top: float, bottom: float
    ) -> FloatArray:
        """Return the places reached from others with given ends and tilts."""
        many = np.ones(len(starts))
        return reached(body, prices, starts, tilts, top * many, bottom * many)
