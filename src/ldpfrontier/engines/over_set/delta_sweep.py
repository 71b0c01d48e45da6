r"""Known vertices of all blocks along delta, the columns made of them, and the affine bounds that follow.

Knots are values of delta from 0 to eps, or t = (1 - e^-delta) / (1 - e^-eps). A sweep finds vertices of every
block at all of them (`vertex_tracking`), prices the products of these vertices, fits affine bounds to them
(`affine_pieces`), and takes over the violations that a dual bound finds, with knots where they are.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.over_set.affine_bounds import AffineBounds
from ldpfrontier.engines.over_set.affine_pieces import Fitter, KnotPoints
from ldpfrontier.engines.over_set.ball_family import BallFamily
from ldpfrontier.engines.over_set.block_family import BlockLabel
from ldpfrontier.engines.over_set.dual_bound import DualBound
from ldpfrontier.engines.over_set.settings import SETTINGS
from ldpfrontier.engines.over_set.vertex_tracking import VertexTrack
from ldpfrontier.engines.products.geometry.ball_body import polish_from
from ldpfrontier.engines.products.pricing import price_combinations
from ldpfrontier.engines.products.tangents import best_tangent


@dataclass(eq=False)
class DeltaSweep:
    """Known vertices of the blocks, for all deltas from 0 to epsilon, or with one knot for that of all pairs.

    `breakpoints` says where z may be split, `deltas` has the knots, (K,), `labels` the blocks, and `products`
    those of every product, (products, a1). `vertices` and `points` are what the last search found at every
    knot: vertices, and all that bounds must respect.
    """

    family: BallFamily
    first_knots: int

    def __post_init__(self) -> None:
        groups = len(self.family.ball.centre)
        least = float(self.family.ball.sensitive.max())
        most = max(float(b.z.max()) for b in self.family.product(0, 0.0).blocks)
        # Ratio of neighbouring breakpoints.
        count = math.ceil(math.log(most / least) / math.log(1.12))
        self.breakpoints = least * (most / least) ** (np.arange(1, count) / count)
        self.deltas = np.linspace(0.0, self.family.epsilon, self.first_knots)
        self.labels = [BlockLabel(s, False) for s in range(groups)]
        self.products = np.arange(groups)[None]
        if self.first_knots > 1:
            self.labels += [BlockLabel(s, True) for s in range(groups)]
            self.products = np.arange(groups) + groups * np.eye(groups, dtype=np.int64)
        self.vertices: list[KnotPoints] = []
        self.points: list[KnotPoints] = []
        self._tracks = [VertexTrack(self.family, label, self.breakpoints) for label in self.labels]
        self._fitted: list[tuple[FloatArray, FloatArray]] = []

    def search(self, duals: FloatArray, enough: float, worth: FloatArray | None = None) -> None:
        """Look for vertices at all knots, and price the columns made of them, at duals (a1, a2).

        Reduced costs per unit of Z that are at most `enough` do not matter. `worth`, (a1,), is the least
        excess between knots that knots are added for, see `VertexTrack.missing_knots`; without, the search is
        less thorough.
        """
        for again in itertools.count():  # the knots are finitely many
            lams = self._search_lams(duals)
            for track in self._tracks:
                own = duals[track.label.s]
                track.search(own, self.knots, lams, thorough=worth is not None, again=again > 0)
            if worth is None or not self._add_knots(
                t for track in self._tracks for t in track.missing_knots(float(worth[track.label.s]))
            ):
                break
        self.vertices, self.points = (
            [KnotPoints.of(own) for own in zip(*each, strict=True)]
            for each in zip(*((track.vertices(), track.points()) for track in self._tracks), strict=True)
        )
        self._excess = np.array(
            [[self._excess_of(row, enough, at) for at in self.vertices] for row in self.products]
        )

    def _excess_of(self, blocks: NDArray[np.int64], enough: float, at: KnotPoints) -> float:
        """Return about the largest reduced cost of a product, if it may be more than enough."""
        own = [slice(*at.first[s : s + 2]) for s in blocks]
        z, f = [at.z[i] for i in own], [at.f[i] for i in own]
        kappa, lam = best_tangent(z, f, 1.0)
        if kappa <= enough:
            return min(kappa, 0.0)
        span = sum(float(x.min()) for x in z), sum(float(x.max()) for x in z)
        return price_combinations(z, f, (kappa, lam), span, 0.5 * enough)[0]

    def affine_bounds(self, enough: float) -> AffineBounds:
        """Return affine bounds that the known points respect, at the knots.

        They should imply that reduced costs are at most `enough` per unit of Z, or nearly, where the vertices
        are no worse.
        """
        enough = max(enough, self.excess)
        classes = Fitter(self.vertices, self.points, self.products, self.breakpoints, enough).classes()
        knots = [own.needed.any(axis=0) for own in classes]
        self._fitted = [(self.deltas[k], own.lam[k]) for k, own in zip(knots, classes, strict=True)]
        return AffineBounds.of(self.knots, self.labels, self.products, classes)

    @property
    def excess(self) -> float:
        """The largest reduced cost of a column of known vertices, per unit of Z, if above what matters."""
        return float(self._excess.max())

    def activate_products(self, duals: FloatArray, enough: float) -> bool:
        """Activate the products with the largest reduced costs above `enough`; return whether any is new.

        Reduced costs are those of the last search.
        """
        new = False
        for s0, row in enumerate(self._excess):
            k = int(row.argmax())
            if k > 0 and row[k] > enough:
                new |= self.family.activate(s0, float(self.deltas[k]))
        self.polish(duals)
        return new

    def polish(self, duals: FloatArray) -> None:
        """Look for better vertices of the blocks of the active products, from those found at any knot."""
        lams, P = self._search_lams(duals), self.family.ball.centre
        for n in range(max(map(len, lams))):
            bodies, own, starts = [], [], []
            for s, delta, special in sorted(set(self.family.active_blocks())):
                body = self.family.body(s, delta, special)
                near = lams[int(np.abs(self.deltas - delta).argmin())]
                pool = self._tracks[self.labels.index(BlockLabel(s, special))].pool
                if body.improvable and len(pool) and n < len(near):
                    bodies.append(body)
                    own.append(duals[s] + (near[n] + 0.5 * delta) * P[s])
                    starts.append(math.exp(0.5 * delta) * pool)
            if bodies:
                polish_from(bodies, own, starts)
        for product in self.family.active():
            product.clear_cache()

    def add_violations(self, dual_bound: DualBound) -> bool:
        """Take over the violations that a dual bound has found; return whether there are any."""
        for n, track in enumerate(self._tracks):
            if n in dual_bound.violations:
                track.add(dual_bound.violations[n])
                self._add_knots(dual_bound.violations[n].t)
        return bool(dual_bound.violations)

    def _add_knots(self, places: Iterable[float]) -> bool:
        """Add knots at values of t that are not too near to others; return whether there are any."""
        before, eps = len(self.deltas), self.family.epsilon
        for t in places:
            delta = -math.log1p(t * math.expm1(-eps))
            # Least distance of a new knot to those there are, as a share of epsilon.
            far = np.abs(self.deltas - delta).min() > (1 / 4000) * eps
            if far and len(self.deltas) < 300:  # which limits memory
                self.deltas = np.sort(np.append(self.deltas, delta))
        return len(self.deltas) > before

    @property
    def knots(self) -> FloatArray:
        """The deltas as t, shape (K,)."""
        t = np.asarray(np.expm1(-self.deltas) / math.expm1(-self.family.epsilon))
        t[0] = 0.0
        if len(t) > 1:
            t[-1] = 1.0
        return t

    def _tangent_lams(self, duals: FloatArray) -> FloatArray:
        """Return the slopes of tangents of Z log Z at every knot.

        They are those of the active products that are nearest to a positive reduced cost, linear in delta in
        between.
        """
        eps, value = self.family.epsilon, float(duals.sum())
        where: dict[float, list[tuple[float, float]]] = {}
        for excess, _, delta, lam in self.family.active_tangents(duals):
            weight = math.exp(min(excess / (2e-3 * value), 0.0))
            if delta == 0.0 or weight > 0.3:
                # Columns are scaled by e^(-delta/2) here.
                where.setdefault(delta, []).append((weight, lam - 0.5 * delta))
        means = {d: sum(a * b for a, b in pairs) / sum(a for a, _ in pairs) for d, pairs in where.items()}
        means.setdefault(eps, min(means[max(means)], 1.0))
        places = sorted(means)
        return np.interp(self.deltas, places, [means[d] for d in places])

    def _search_lams(self, duals: FloatArray) -> list[FloatArray]:
        """Return the slopes to look for vertices at, per knot: of the tangent, then of fitted bounds."""
        found = []
        for delta, lam in zip(self.deltas, self._tangent_lams(duals), strict=True):
            chosen = [float(lam)]
            for places, lams in self._fitted:
                other = float(np.interp(delta, places, lams, np.nan, np.nan))  # NaN is near nothing
                if min(abs(other - x) for x in chosen) > SETTINGS.lam_tolerance:
                    chosen.append(other)
            found.append(np.array(chosen))
        return found
