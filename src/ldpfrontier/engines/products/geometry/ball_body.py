r"""Convex bodies of blocks, from which columns that are private over the projections of F are made.

The block polytopes of PolyOpt (`polytope`) come from a simplex around each projection F_{U|s}. With the
projection itself, a Renyi ball with centre r and radius B, a block is a convex body ::

    K_s = {w >= 0 : A(w) <= top, B(w) >= bottom},    A, B(w) = max, min of R . w over R in F_{U|s},

top = e^eps and bottom = 1, both times a scale. With M the power mean sum_u r_u x_u^g to the power 1/g,
g = (order - 1)/order (the geometric mean at order 1), Lagrange duality gives ::

    A(w) = min over mu >= max w of  mu - e^-B M(mu - w),
    B(w) = max over mu <= min w of  mu + e^-B M(w - mu).

Vectors with one value on a set T of letters and one off it have A and B in closed form (the ball of two
cells), and those that meet both constraints with equality, or one with 0 off T, are the first vertices: a
list as long as that of a polytope. The body is not the hull of these; Newton's method (`newton_ascent`) finds
better vertices near them.

The cost k(D) of the divergence of R may have a price, the budget multiplier: A and B are then those of
`support_function`, and the first vertices are found by Newton's method, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.products.geometry.newton_ascent import BodyRows, Restore, ascend_all
from ldpfrontier.engines.products.geometry.settings import SETTINGS
from ldpfrontier.engines.products.geometry.support_function import two_valued_vertices
from ldpfrontier.engines.products.geometry.vertex_list import NO_SUBSET_VECTORS, SubsetVectors, VertexList
from ldpfrontier.numerics.subset_sums import subset_sums
from ldpfrontier.uncertainty.divergence import two_cell_range

#: Where starts outside a body are moved before an ascent: most vertices meet both constraints.
_RESTORED = (Restore.FEASIBLE, Restore.BOTH_TIGHT)


class _TwoValued(NamedTuple):
    """Vectors with the value low + step on a set and low off it; where low < 0, with 0 off it instead."""

    sets: NDArray[np.int32]
    low: FloatArray  # with A = top and B = bottom
    step: FloatArray
    at_top: FloatArray  # the value on the set with 0 off it and A = top
    at_bottom: FloatArray  # that with B = bottom


class Body(VertexList):
    """The known vertices of one K_s of a Renyi ball.

    The centre r of the projection, (a2,), is zero for an empty group; its radius is in nats, and inf is the
    whole simplex. The prior, (a2,), has the joint probabilities P_{s,u} of this row. With the level in nats,
    top = scale e^epsilon and bottom = scale. The budget multipliers are the prices of k(D) in A and in B;
    both are 0, or neither.
    """

    def __init__(
        self,
        conditional: FloatArray,
        radius: float,
        order: float,
        prior: FloatArray,
        epsilon: float,
        scale: float = 1.0,
        budget_multipliers: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        super().__init__(prior)
        self.order, self.radius, self.budget_multipliers = order, radius, budget_multipliers
        self.top, self.bottom = scale * math.exp(epsilon), scale
        self.centre = self.fold(conditional)
        found = self._two_valued()
        both = (found.low >= 0.0) & np.isfinite(found.step)
        with np.errstate(invalid="ignore"):
            one = ~(found.low >= 0.0) & (found.at_bottom <= found.at_top)
        none = np.zeros(2, dtype=np.int32)
        constants = np.array([self.bottom, self.top])
        zeros = np.zeros(int(one.sum()))
        self.constants = (0, 1)
        self._set_subset_vectors(
            NO_SUBSET_VECTORS._replace(
                sets=np.concatenate([none, found.sets[both], found.sets[one], found.sets[one]]),
                low=np.concatenate([constants, found.low[both], zeros, zeros]),
                high=np.concatenate(
                    [constants, found.low[both] + found.step[both], found.at_top[one], found.at_bottom[one]]
                ),
            )
        )

    def _two_valued(self) -> _TwoValued:
        """List the vectors with two values that meet both constraints, or one of them with a value 0."""
        sets, least, largest = self.indicators()
        if self.budget_multipliers != (0.0, 0.0) and self.improvable:
            mass = np.clip(subset_sums(self.centre), 0.0, 1.0)[sets]
            # Sets of the same mass have the same values, and those of nearly the same nearly so.
            rising = np.argsort(mass, kind="stable")
            found = np.empty((len(sets), 4))
            found[rising] = two_valued_vertices(
                mass[rising],
                (largest[rising], least[rising]),
                (self.top, self.bottom),
                self.budget_multipliers,
                self.order,
            )
            step, low, *one = found.T
            return _TwoValued(sets, low, step, *one)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = (self.top - self.bottom) / (largest - least)
            low = self.bottom - least * step
            return _TwoValued(sets, low, step, self.top / largest, self.bottom / least)

    def indicators(self) -> tuple[NDArray[np.int32], FloatArray, FloatArray]:
        """List the sets of letters, and B and A of the vector that is 1 on them and 0 elsewhere."""
        mass = np.clip(subset_sums(self.centre), 0.0, 1.0)
        sets = np.arange(1, len(mass) - 1, dtype=np.int32)
        return sets, *two_cell_range(mass[sets], np.full(len(sets), self.radius), self.order)

    @property
    def improvable(self) -> bool:
        """Whether there may be other vertices: not if K_s is a polytope or has constants only."""
        return 0.0 < self.radius < math.inf and self.letters > 1 and self.top > self.bottom

    @property
    def is_polygon(self) -> bool:
        """Whether all vertices are in the first list, of two letters: their ball is an interval.

        A and B are then linear on either side of w_1 = w_2, unless k(D) has a price.
        """
        return self.letters == 2 and self.budget_multipliers == (0.0, 0.0)

    def keep(self, indices: NDArray[np.integer]) -> NDArray[np.int64]:
        """Drop all vertices but the constants and those chosen; return the former indices of the kept."""
        kept = np.concatenate([self.constants, np.setdiff1d(indices, self.constants)])
        n = len(self._subset.sets)
        listed, stored = kept[kept < n], kept[kept >= n] - n
        sets, low, high = (x[listed] for x in self._subset[:3])
        self._subset, self._stored = SubsetVectors(sets, low, high, *self._subset[3:]), self._stored[stored]
        self._set_contributions(self.z[kept], self.g[kept])
        return kept

    def append(self, w: FloatArray) -> None:
        """Add folded vertices, shape (m, letters)."""
        last, g = self._last, xlogy(w, w) @ self.prior
        self._stored = np.concatenate([self._stored, w])
        self._set_contributions(np.append(self.z, w @ self.prior), np.append(self.g, g))
        if last is not None:
            prices, reduced = last
            self._last = prices, np.append(reduced, g - w @ self.fold(prices))


def indicator_levels(body: Body) -> tuple[NDArray[np.int32], FloatArray, FloatArray]:
    """Return the sets T of which a multiple of 1_T can be in a body, from which level on, and B(1_T).

    Sets are bit masks, and the level is the least log(top / bottom) in nats, where the vector meets both
    constraints.
    """
    sets, least, largest = body.indicators()
    own = least > 0.0
    return sets[own], np.log(largest[own] / least[own]), least[own]


def polish(
    bodies: Sequence[Body], prices: Sequence[FloatArray], number: int, variants: int, lam: float = 0.0
) -> bool:
    """Improve the best known vertices of bodies at some prices, all at once; return if any has a better one.

    A vertex that no small change of its non-zero letters improves solves, with multipliers X and Y, the
    equations of grad f = X grad A - Y grad B. A step solves their linearization, with and without the
    curvature of f (which is convex), and is pulled back into the body. The starts are a number of the best
    vertices of each body, at which g - prices . w - lam z is largest, and the `variants` best ones with one
    letter moved half-way between its value and another level. Better vertices are added to their bodies.
    """
    chosen = [s for s, body in enumerate(bodies) if body.improvable and not body.is_polygon]
    if not chosen:
        return False
    starts, best = [], np.empty(len(chosen))
    for i, s in enumerate(chosen):
        first = bodies[s].best_indices(prices[s], number, lam)
        w = bodies[s].folded_vectors(first)
        best[i] = bodies[s].reduced(prices[s])[first[0]] - lam * bodies[s].z[first[0]]
        starts.append(np.concatenate([w, *(single_letter_moves(v) for v in w[:variants])]))
    return _ascend_and_append([bodies[s] for s in chosen], [prices[s] for s in chosen], starts, best, lam=lam)


def polish_from(bodies: Sequence[Body], prices: Sequence[FloatArray], starts: Sequence[FloatArray]) -> bool:
    """Improve the best known vertices of bodies from given starts, folded vectors (m, letters) of any kind.

    Arguments and result are otherwise those of `polish`; the bodies must be improvable.
    """
    best = np.array([body.reduced(c).max() for body, c in zip(bodies, prices, strict=True)])
    found = False
    for restore in _RESTORED:
        found |= _ascend_and_append(bodies, prices, starts, best, restore=restore)
    return found


def climb_or_restore(
    body: Body, prices: FloatArray, starts: FloatArray, lam: FloatArray, top: FloatArray, bottom: FloatArray
) -> FloatArray:
    """Return vectors of a body, (3 m, letters), near given ones: two ascents from each, and the nearest one.

    The value of w is g - prices . w - lam z, with a lam and with ends of A and B for each start, which take
    the place of those of the body.
    """
    many, row = len(starts), _stack([body], [prices])
    rows = BodyRows._make([*(np.repeat(each, many, axis=0) for each in row[:-1]), row.order])
    rows = rows._replace(prices=rows.prices + lam[:, None] * rows.prior, top=top, bottom=bottom)
    found = []
    for restore, steps in (
        *((restore, SETTINGS.max_ascent_steps) for restore in _RESTORED),
        (Restore.FEASIBLE, 0),
    ):
        w = starts.copy()
        ascend_all(rows, np.arange(many), w, int(restore), steps)
        found.append(w)
    return np.concatenate(found)


def _ascend_and_append(
    bodies: Sequence[Body],
    prices: Sequence[FloatArray],
    starts: Sequence[FloatArray],
    best: FloatArray,
    *,
    lam: float = 0.0,
    restore: Restore = Restore.NONE,
) -> bool:
    """Ascend from all starts; add to every body what is better than `best`, and return whether any is."""
    own = np.repeat(np.arange(len(bodies)), [len(w) for w in starts])
    if own.size == 0:
        return False
    rows = _stack(bodies, prices, lam)
    n = rows.r.shape[1]
    w = np.concatenate([np.pad(v, ((0, 0), (0, n - v.shape[1]))) for v in starts])
    values = ascend_all(rows, own, w, int(restore), SETTINGS.max_ascent_steps)
    found = False
    for i, body in enumerate(bodies):
        least = best[i] + SETTINGS.least_gain + SETTINGS.tolerance * abs(best[i])
        better = np.flatnonzero((own == i) & (values > least))
        better = better[np.argsort(-values[better], kind="stable")]
        distinct = better[np.append(True, -np.diff(values[better]) > SETTINGS.tolerance)[: len(better)]]
        if distinct.size:
            # New vertices kept per body and call.
            body.append(w[distinct[:4], : body.letters])
            found = True
    return found


def single_letter_moves(w: FloatArray) -> FloatArray:
    """Return a vertex once per letter, that letter half-way between the ends; shape (letters, letters)."""
    copies = np.repeat(w[None], len(w), axis=0)
    middle = 0.5 * (w.min() + w.max())
    np.fill_diagonal(copies, np.where(np.abs(w - middle) > 0, middle, w))
    return copies


def _stack(bodies: Sequence[Body], prices: Sequence[FloatArray], lam: float = 0.0) -> BodyRows:
    """Return the data of bodies as rows of arrays, which end with zeros."""
    n = max(body.letters for body in bodies)

    def padded(rows: Iterable[FloatArray]) -> FloatArray:
        filled = np.zeros((len(bodies), n))
        for own, row in zip(filled, rows, strict=True):
            own[: len(row)] = row
        return filled

    return BodyRows(
        np.array([body.letters for body in bodies]),
        padded(body.centre for body in bodies),
        padded(body.prior for body in bodies),
        padded(body.fold(c) + lam * body.prior for body, c in zip(bodies, prices, strict=True)),
        np.array([body.radius for body in bodies]),
        np.array([body.top for body in bodies]),
        np.array([body.bottom for body in bodies]),
        np.array([body.budget_multipliers for body in bodies]),
        float(bodies[0].order),
    )
