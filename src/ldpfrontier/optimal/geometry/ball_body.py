r"""Convex bodies of blocks from which columns private over the exact projections are made.

The block polytopes of PolyOpt (`blocks`) come from a simplex around each projection F_{U|s}. With the
projection itself, a Renyi ball, a block is a convex body ::

    K_s = {w >= 0 : A(w) <= e^eps, B(w) >= 1},    A, B(w) = max, min of R . w over R in F_{U|s}.

With M the power mean sum_u r_u x_u^g to the power 1/g, g = (order - 1)/order (the geometric mean at order 1),
r the centre and B the radius of the ball, Lagrange duality gives ::

    A(w) = min over mu >= max w of  mu - e^-B M(mu - w),
    B(w) = max over mu <= min w of  mu + e^-B M(w - mu).

Vectors with one value on a set T of letters and one off it have A and B in closed form (the ball of two
cells), and those that meet both constraints, or one with 0 off T, are the first vertices: a list as long as
that of a polytope. Better ones near them are found by Newton's method (`polish`).

A body may have tolls: A and B are those of `extremes` then, and its first vertices are found by Newton's
method, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from ldpfrontier.numerics.subset_sums import subset_sums
from ldpfrontier.optimal.geometry.newton_ascent import STEPS, Rows, climb
from ldpfrontier.optimal.geometry.polytope import Block
from ldpfrontier.optimal.geometry.support_function import two_valued
from ldpfrontier.types import FloatArray
from ldpfrontier.uncertainty.divergence import two_cells

#: How places that lie outside are brought near their body (see `climb`): most vertices meet both constraints.
RESTORED = (1, 2)

#: New vertices kept per body and call.
KEEP = 4


class Body(Block):
    r"""Vertices of one K_s of a Renyi ball, as far as they are known.

    Parameters
    ----------
    conditional : ndarray, shape (a2,)
        Centre r of the projection; zeros for an empty group.
    radius : float
        Radius of the projection in nats; inf is the whole simplex.
    order : float
        Order of the divergence.
    prior : ndarray, shape (a2,)
        P_{s,u}, the joint probabilities of this row.
    epsilon, scale
        As for `Block`.
    tolls : tuple of float
        What a unit of k(D) costs in A and in B; both are 0, or neither.

    Raises
    ------
    Intractable
        If more than 20 letters differ, as all their subsets are listed.
    """

    def __init__(
        self,
        conditional: FloatArray,
        radius: float,
        order: float,
        prior: FloatArray,
        epsilon: float,
        scale: float = 1.0,
        tolls: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        self._fold(prior)
        self.order, self.radius, self.tolls = order, radius, tolls
        self.top, self.bottom = scale * math.exp(epsilon), scale
        self.centre = self.fold(conditional)
        sets, floor, step, ends = self._two_valued()
        both = (floor >= 0.0) & np.isfinite(step)
        with np.errstate(invalid="ignore"):
            single = ~(floor >= 0.0) & (ends[1] <= ends[0])
        none = np.zeros(2, dtype=np.int32)
        constants = np.array([self.bottom, self.top])
        zeros = np.zeros(int(single.sum()))
        self._sets = np.concatenate([none, sets[both], sets[single], sets[single]])
        self._low = np.concatenate([constants, floor[both], zeros, zeros])
        self._high = np.concatenate([constants, floor[both] + step[both], ends[0][single], ends[1][single]])
        self.constants = (0, 1)
        self._plain = len(self._sets)
        self._extra, self._odd = np.empty(0, dtype=np.int64), np.empty(0)
        self._value()
        self._found = np.empty((0, self.letters))

    def __len__(self) -> int:
        return self._plain + len(self._found)

    def dot(self, prices: FloatArray) -> FloatArray:
        """Return prices . w for every vertex, shape (vertices,)."""
        return np.concatenate([super().dot(prices), self._found @ self.fold(prices)])

    def vectors(self, indices: NDArray[np.integer]) -> FloatArray:
        """Return the chosen vertices, shape (m, a2)."""
        listed = np.minimum(indices, self._plain - 1)
        w = super().vectors(listed)
        late = np.flatnonzero(indices >= self._plain)
        w[late] = self._found[indices[late] - self._plain][:, self._position]
        return w

    def _two_valued(self) -> tuple[NDArray[np.int32], FloatArray, FloatArray, tuple[FloatArray, FloatArray]]:
        """List the vectors with two values that are vertices.

        Returns
        -------
        sets : ndarray of int
            Bit masks of the letters with the larger value.
        floor, step : ndarray
            The lower value, if A = top and B = bottom, and how far the other one is above it; where it is
            below 0 there is none.
        ends : tuple of ndarray
            The values with A = top, and with B = bottom, where the lower one is 0 instead.
        """
        sets, least, largest = self.single_valued()
        if self.tolls != (0.0, 0.0) and self.movable:
            mass = np.clip(subset_sums(self.centre), 0.0, 1.0)[sets]
            ends = self.top, self.bottom
            step, floor, *single = two_valued(mass, (largest, least), ends, self.tolls, self.order).T
            return sets, floor, step, (single[0], single[1])
        with np.errstate(divide="ignore", invalid="ignore"):
            step = (self.top - self.bottom) / (largest - least)
            return sets, self.bottom - least * step, step, (self.top / largest, self.bottom / least)

    def single_valued(self) -> tuple[NDArray[np.int32], FloatArray, FloatArray]:
        """List the sets of letters, and B and A of the vector that is 1 on them and 0 elsewhere."""
        mass = np.clip(subset_sums(self.centre), 0.0, 1.0)
        sets = np.arange(1, len(mass) - 1, dtype=np.int32)
        return sets, *two_cells(mass[sets], np.full(len(sets), self.radius), self.order)

    @property
    def movable(self) -> bool:
        """Whether there may be better vertices than those listed: not in a box, nor among constants."""
        return 0.0 < self.radius < math.inf and self.letters > 1 and self.top > self.bottom

    def compact(self, indices: NDArray[np.integer]) -> FloatArray:
        """Return vertices in folded letters, shape (m, letters)."""
        w = np.empty((len(indices), self.letters))
        w[:, self._position] = self.vectors(indices)
        return w

    def best(self, prices: FloatArray, number: int) -> FloatArray:
        """Return the best vertices known, up to `number`, in folded letters."""
        return self.compact(self.best_indices(prices, number))

    def keep(self, indices: NDArray[np.integer]) -> NDArray[np.int64]:
        """Forget all vertices but the constants and some; return the indices that those kept had."""
        kept = np.concatenate([self.constants, np.setdiff1d(indices, self.constants)])
        listed, found = kept[kept < self._plain], kept[kept >= self._plain] - self._plain
        self._sets, self._low, self._high = self._sets[listed], self._low[listed], self._high[listed]
        self._found, self._plain = self._found[found], len(listed)
        self.z, self.g = self.z[kept], self.g[kept]
        self._last = None
        self.__dict__.pop("rising", None)
        return kept

    def append(self, w: FloatArray) -> None:
        """Add vertices in folded letters, shape (m, letters)."""
        self._found = np.concatenate([self._found, w])
        self.__dict__.pop("rising", None)
        g = xlogy(w, w) @ self.prior
        self.z = np.append(self.z, w @ self.prior)
        self.g = np.append(self.g, g)
        if self._last is not None:
            prices, reduced = self._last
            self._last = prices, np.append(reduced, g - w @ self.fold(prices))


def critical(body: Body) -> tuple[NDArray[np.int32], FloatArray, FloatArray]:
    """List the sets that vectors with one value on them and 0 elsewhere may be in a body with, and when.

    Returns
    -------
    sets : ndarray of int
        Bit masks of letters.
    levels : ndarray
        Logs of the least ratio of the ends of A and B; there the vector meets both constraints.
    least : ndarray
        B of the vector with the value 1.
    """
    sets, least, largest = body.single_valued()
    own = least > 0.0
    return sets[own], np.log(largest[own] / least[own]), least[own]


def polish(
    bodies: Sequence[Body], prices: Sequence[FloatArray], number: int, variants: int, tilt: float = 0.0
) -> bool:
    """Improve the best known vertices of bodies at some prices, all bodies at once.

    A vertex that no small change of its non-zero letters improves solves, with multipliers X and Y, the
    equations of grad f = X grad A - Y grad B. A step solves their linearization, with and without the
    curvature of f (which is convex), and is pulled back into the body. The starts are the best vertices, and
    the very best with one letter moved half-way between its value and another level.

    Parameters
    ----------
    bodies : sequence of Body
    prices : sequence of ndarray, shape (a2,)
        The value of a vertex w of a body is g - prices . w.
    number, variants : int
        Best vertices of each body to start from, and those of them whose letters are moved.
    tilt : float
        What is added per unit of the prior to all prices.

    Returns
    -------
    bool
        Whether any body has a better vertex than before. The better ones are added to their bodies.
    """
    chosen = [s for s, body in enumerate(bodies) if body.movable]
    if not chosen:
        return False
    starts, best = [], np.empty(len(chosen))
    for i, s in enumerate(chosen):
        first = bodies[s].best_indices(prices[s], number, tilt)
        w = bodies[s].compact(first)
        best[i] = bodies[s].reduced(prices[s])[first[0]] - tilt * bodies[s].z[first[0]]
        starts.append(np.concatenate([w, *(moved(v) for v in w[:variants])]))
    return _climb([bodies[s] for s in chosen], [prices[s] for s in chosen], starts, best, tilt=tilt)


def polish_from(bodies: Sequence[Body], prices: Sequence[FloatArray], starts: Sequence[FloatArray]) -> bool:
    """Look for better vertices of bodies from given places, each (m, letters) in folded letters.

    Arguments and result are otherwise those of `polish`; the bodies must be movable.
    """
    best = np.array([body.reduced(c).max() for body, c in zip(bodies, prices, strict=True)])
    found = False
    for how in RESTORED:
        found |= _climb(bodies, prices, starts, best, restore=how)
    return found


def reached(
    body: Body, prices: FloatArray, starts: FloatArray, tilts: FloatArray, top: FloatArray, bottom: FloatArray
) -> FloatArray:
    """Climb from places with prices and ends of their own, or move them into their bodies only.

    Parameters
    ----------
    body : Body
    prices : ndarray, shape (a2,)
    starts : ndarray, shape (m, letters)
    tilts : ndarray, shape (m,)
        What is added per unit of the prior to the prices.
    top, bottom : ndarray, shape (m,)
        Ends of A and B.

    Returns
    -------
    ndarray, shape (3 m, letters)
        The places reached in two ways, and those not far from the starts.
    """
    many = len(starts)
    rows = _stack([body] * many, [prices] * many)
    rows = rows._replace(prices=rows.prices + tilts[:, None] * rows.prior, top=top, bottom=bottom)
    found = []
    for how, steps in (*((how, STEPS) for how in RESTORED), (RESTORED[0], 0)):
        w = starts.copy()
        climb(rows, np.arange(many), w, how, steps)
        found.append(w)
    return np.concatenate(found)


def _climb(
    bodies: Sequence[Body],
    prices: Sequence[FloatArray],
    starts: Sequence[FloatArray],
    best: FloatArray,
    *,
    tilt: float = 0.0,
    restore: int = 0,
) -> bool:
    """Climb from all starts, and add to every body what is better than the best it has."""
    own = np.repeat(np.arange(len(bodies)), [len(w) for w in starts])
    if own.size == 0:
        return False
    rows = _stack(bodies, prices, tilt)
    n = rows.r.shape[1]
    w = np.concatenate([np.pad(v, ((0, 0), (0, n - v.shape[1]))) for v in starts])
    values = climb(rows, own, w, restore)
    found = False
    for i, body in enumerate(bodies):
        better = np.flatnonzero((own == i) & (values > best[i] + 1e-10 + 1e-9 * abs(best[i])))
        better = better[np.argsort(-values[better], kind="stable")]
        distinct = better[np.append(True, -np.diff(values[better]) > 1e-9)[: len(better)]][:KEEP]
        if distinct.size:
            body.append(w[distinct, : body.letters])
            found = True
    return found


def moved(w: FloatArray) -> FloatArray:
    """Copy a vertex once per letter, that letter half-way between the ends; shape (letters, letters)."""
    copies = np.repeat(w[None], len(w), axis=0)
    middle = 0.5 * (w.min() + w.max())
    np.fill_diagonal(copies, np.where(np.abs(w - middle) > 0, middle, w))
    return copies


def _stack(bodies: Sequence[Body], prices: Sequence[FloatArray], tilt: float = 0.0) -> Rows:
    """Put what a climb needs to know of bodies into rows, which end with zeros."""
    n = max(body.letters for body in bodies)

    def padded(rows: Iterable[FloatArray]) -> FloatArray:
        filled = np.zeros((len(bodies), n))
        for own, row in zip(filled, rows, strict=True):
            own[: len(row)] = row
        return filled

    return Rows(
        np.array([body.letters for body in bodies]),
        padded(body.centre for body in bodies),
        padded(body.prior for body in bodies),
        padded(body.fold(c) + tilt * body.prior for body, c in zip(bodies, prices, strict=True)),
        np.array([body.radius for body in bodies]),
        np.array([body.top for body in bodies]),
        np.array([body.bottom for body in bodies]),
        np.array([body.tolls for body in bodies]),
        float(bodies[0].order),
    )
