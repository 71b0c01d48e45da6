r"""What known points of bodies are worth along all deltas, and the lines of a certificate that follow.

See `certificates` for the bodies, and `paths` for how their points are found.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.optimal.certificate.affine_pieces import Known, parts
from ldpfrontier.optimal.certificate.dual_certificate import Certificate, Frame
from ldpfrontier.optimal.certificate.vertex_tracking import STEEPER, Path
from ldpfrontier.optimal.geometry.ball_body import polish_from
from ldpfrontier.optimal.products.ball_family import BallFamily
from ldpfrontier.optimal.products.pricing import best_tangent, price_combinations
from ldpfrontier.types import FloatArray

#: Most knots; least distance of another one to those before, as a share of epsilon: bodies are worth much
#: less just beyond where a vertex vanishes.
MOST, APART = 300, 1 / 4000

#: Products whose reduced costs come so near to zero, relative to the value, tell where z log z is touched.
CLOSE = 2e-3

#: How many times what columns of known vertices have lines should say at most.
ABOVE = 1.2

#: Least ratio of neighbouring edges at which z may be split, and most edges.
RATIO, EDGES = 1.12, 40

#: Slopes of parts that vertices are looked for at.
TILTS = 4

#: Height of lines at knots that they are not for: far above any other.
FAR = 1e3

#: Most times that vertices are looked for before all knots at kinks are found.
LOOKS = 4


@dataclass(eq=False)
class Profiles:
    """Known vertices of the bodies, for all deltas from 0 to epsilon, or for that of all pairs.

    Parameters
    ----------
    products : BallFamily
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

    products: BallFamily
    first: int

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
        self._paths = [Path(self.products, role, self.edges) for role in self.roles]
        self._lines: list[tuple[FloatArray, FloatArray]] = []

    def look(self, prices: FloatArray, enough: float, kink: FloatArray | None = None) -> None:
        """Look for vertices at all knots, and price the columns made of them.

        Parameters
        ----------
        prices : ndarray, shape (a1, a2)
        enough : float
            Reduced costs per unit of Z that do not matter.
        kink : ndarray, shape (a1,), optional
            Least heights of kinks that knots are added at, see `Path.kinks`; without, one looks less
            thoroughly.
        """
        for again in range(LOOKS):
            tilts = self._tilts(prices)
            for path in self._paths:
                path.look(prices[path.role[0]], self.knots, tilts, thorough=kink is not None, again=again > 0)
            if kink is None or not self._add(
                t for path in self._paths for t in path.kinks(float(kink[path.role[0]]))
            ):
                break
        self.known, self.points = (
            [Known.of(own) for own in zip(*each, strict=True)]
            for each in zip(*((path.vertices(), path.points()) for path in self._paths), strict=True)
        )
        self._excess = np.array(
            [[self._priced(own, enough, at) for at in self.known] for own in self._bodies]
        )

    def _priced(self, bodies: NDArray[np.int64], enough: float, at: Known) -> float:
        """Return about the largest reduced cost of a product, if it may be more than enough."""
        own = [slice(*at.first[s : s + 2]) for s in bodies]
        z, f = [at.z[i] for i in own], [at.f[i] for i in own]
        kappa, lam = best_tangent(z, f, 1.0)
        if kappa <= enough:
            return min(kappa, 0.0)
        span = sum(float(x.min()) for x in z), sum(float(x.max()) for x in z)
        return price_combinations(z, f, (kappa, lam), span, 0.5 * enough)[0]

    def frame(self, enough: float) -> Frame:
        """Return the lines that known vertices are not above, at the knots.

        Parameters
        ----------
        enough : float
            Reduced costs per unit of Z that they should say, or nearly, where the vertices are no worse.
        """
        found = parts(
            self.known,
            self.points,
            self._bodies,
            self.edges,
            max(enough, ABOVE * self.excess),
        )
        self._lines = [(self.deltas[part.knots], part.slope) for part in found]
        K = len(self.deltas)
        needed = np.zeros((len(self._bodies), len(found), K), dtype=bool)
        slope, bonus = np.zeros((2, len(found), K))
        heights = np.full((len(self.roles), len(found), K), FAR)
        for p, part in enumerate(found):
            needed[part.products, p, part.knots] = True
            slope[p] = np.interp(self.deltas, self.deltas[part.knots], part.slope)
            bonus[p, part.knots], heights[:, p, part.knots] = part.bonus, part.heights
        return Frame(
            self.knots,
            np.array([part.low for part in found]),
            np.array([part.high for part in found]),
            slope,
            bonus,
            dict(zip(self.roles, heights, strict=True)),
            [[self.roles[n] for n in own] for own in self._bodies],
            needed,
        )

    @property
    def excess(self) -> float:
        """The largest reduced cost of a column of known vertices, per unit of Z, if above what matters."""
        return float(self._excess.max())

    def use(self, prices: FloatArray, enough: float) -> bool:
        """Use the products with the largest reduced costs above `enough`; return whether any is new.

        They are those that were looked at last.
        """
        new = False
        for s0, row in enumerate(self._excess):
            k = int(row.argmax())
            if k > 0 and row[k] > enough:
                new |= self.products.activate(s0, float(self.deltas[k]))
        self.improve(prices)
        return new

    def improve(self, prices: FloatArray) -> None:
        """Look for better vertices of the bodies of the products in use from those found anywhere."""
        tilts, P = self._tilts(prices), self.products.ball.centre
        for n in range(max(map(len, tilts))):
            bodies, own, starts = [], [], []
            for s, delta, special in sorted(set(self.products.active_blocks())):
                body = self.products.body(s, delta, special)
                near = tilts[int(np.abs(self.deltas - delta).argmin())]
                pool = self._paths[self.roles.index((s, special))].pool
                if body.movable and len(pool) and n < len(near):
                    bodies.append(body)
                    own.append(prices[s] + (near[n] + 0.5 * delta) * P[s])
                    starts.append(math.exp(0.5 * delta) * pool)
            if bodies:
                polish_from(bodies, own, starts)
        for product in self.products.active():
            product.clear_cache()

    def learn(self, certificate: Certificate) -> bool:
        """Take over the points found above the levels; return whether there are any."""
        for path in self._paths:
            if path.role in certificate.found:
                path.learn(certificate.found[path.role])
                self._add(certificate.found[path.role].t)
        return bool(certificate.found)

    def _add(self, places: Iterable[float]) -> bool:
        """Add knots that are not too near to others; return whether there are any."""
        before, eps = len(self.deltas), self.products.epsilon
        for t in places:
            delta = -math.log1p(t * math.expm1(-eps))
            if np.abs(self.deltas - delta).min() > APART * eps and len(self.deltas) < MOST:
                self.deltas = np.sort(np.append(self.deltas, delta))
        return len(self.deltas) > before

    @property
    def knots(self) -> FloatArray:
        """The deltas as t, shape (K,)."""
        t = np.asarray(np.expm1(-self.deltas) / math.expm1(-self.products.epsilon))
        t[0] = 0.0
        if len(t) > 1:
            t[-1] = 1.0
        return t

    def _slopes(self, prices: FloatArray) -> FloatArray:
        """Return the slopes of tangents of z log z: those of the best products, linear in delta between."""
        eps, value = self.products.epsilon, float(prices.sum())
        where: dict[float, list[tuple[float, float]]] = {}
        for excess, _, delta, slope in self.products.active_tangents(prices):
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
            for places, slopes in self._lines:
                other = float(np.interp(delta, places, slopes, np.nan, np.nan))  # NaN is near nothing
                if len(chosen) <= TILTS and min(abs(other - x) for x in chosen) > STEEPER:
                    chosen.append(other)
            found.append(np.array(chosen))
        return found
