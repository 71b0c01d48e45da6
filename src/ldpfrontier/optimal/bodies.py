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
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from ldpfrontier.channel import FloatArray
from ldpfrontier.combinatorics import subset_sums
from ldpfrontier.optimal.blocks import Block
from ldpfrontier.renyi import least_mean, least_members, two_cells

#: Newton steps of a polish, and how far (relative) a step may move a letter.
STEPS, TRUST = 12, 0.5

#: Vertices that are moved to other ends.
STARTS = 4

#: Steps in which a vector outside its body is brought near it.
RESTORING = 6

#: Letters below this share of the top level count as zero; new vertices kept per body and call.
ZERO, KEEP = 1e-9, 4


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
    ) -> None:
        self._fold(prior)
        self.order, self.radius = order, radius
        self.top, self.bottom = scale * math.exp(epsilon), scale
        self.centre = self.folded(conditional)
        mass = np.clip(subset_sums(self.centre), 0.0, 1.0)
        sets = np.arange(1, len(mass) - 1, dtype=np.int32)
        least, largest = two_cells(mass[sets], np.full(len(sets), radius), order)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = (self.top - self.bottom) / (largest - least)
            floor = self.bottom - least * step
            ends = self.top / largest, self.bottom / least
        both = floor >= 0.0
        single = ~both & (largest * self.bottom <= least * self.top)
        both &= np.isfinite(step)
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
        return np.concatenate([super().dot(prices), self._found @ self.folded(prices)])

    def vectors(self, indices: NDArray[np.integer]) -> FloatArray:
        """Return the chosen vertices, shape (m, a2)."""
        listed = np.minimum(indices, self._plain - 1)
        w = super().vectors(listed)
        late = np.flatnonzero(indices >= self._plain)
        w[late] = self._found[indices[late] - self._plain][:, self._position]
        return w

    @property
    def movable(self) -> bool:
        """Whether there may be better vertices than those listed: not in a box, nor among constants."""
        return 0.0 < self.radius < math.inf and self.letters > 1 and self.top > self.bottom

    def compact(self, indices: NDArray[np.integer]) -> FloatArray:
        """Return vertices in folded letters, shape (m, letters)."""
        w = np.empty((len(indices), self.letters))
        w[:, self._position] = self.vectors(indices)
        return w

    def append(self, w: FloatArray) -> None:
        """Add vertices in folded letters, shape (m, letters)."""
        self._found = np.concatenate([self._found, w])
        self.z = np.append(self.z, w @ self.prior)
        self.g = np.append(self.g, xlogy(w, w) @ self.prior)
        self._last = None


def polish(bodies: Sequence[Body], prices: Sequence[FloatArray], number: int, variants: int) -> bool:
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
        reduced = bodies[s].reduced(prices[s])
        count = min(number, len(reduced))
        first = np.argpartition(-reduced, count - 1)[:count]
        first = first[np.argsort(-reduced[first], kind="stable")]
        w = bodies[s].compact(first)
        best[i] = reduced[first[0]]
        starts.append(np.concatenate([w, *(_moved(v) for v in w[:variants])]))
    return _climb([bodies[s] for s in chosen], [prices[s] for s in chosen], starts, best)


def polish_from(bodies: Sequence[Body], prices: Sequence[FloatArray], starts: Sequence[FloatArray]) -> bool:
    """Look for better vertices of bodies from given places, each (m, letters) in folded letters.

    Arguments and result are otherwise those of `polish`; the bodies must be movable.
    """
    best = np.array([body.reduced(c).max() for body, c in zip(bodies, prices, strict=True)])
    return _climb(bodies, prices, starts, best, restore=True)


def value_within(body: Body, prices: FloatArray, top: float, bottom: float) -> float:
    """Return a value of g - prices . w that is reached with other ends of A and B than the body's.

    It is that of the best vertices known after they were moved there and improved.
    """
    reduced = body.reduced(prices)
    first = np.argpartition(-reduced, min(STARTS, len(reduced)) - 1)[:STARTS]
    stack = _Stack.of([body], [prices]).take(np.zeros(len(first), dtype=np.intp))
    stack.top[:], stack.bottom[:] = top, bottom
    return float(stack.climb(body.compact(first))[1].max())


def _climb(
    bodies: Sequence[Body],
    prices: Sequence[FloatArray],
    starts: Sequence[FloatArray],
    best: FloatArray,
    *,
    restore: bool = False,
) -> bool:
    """Climb from all starts, and add to every body what is better than the best it has."""
    own = np.repeat(np.arange(len(bodies)), [len(w) for w in starts])
    if own.size == 0:
        return False
    stack = _Stack.of(bodies, prices).take(own)
    first = stack.pad(starts)
    w, values = stack.climb(stack.restored(first) if restore else first)
    found = False
    for i, body in enumerate(bodies):
        rows = np.flatnonzero(own == i)
        better = rows[values[rows] > best[i] + 1e-10 + 1e-9 * abs(best[i])]
        better = better[np.argsort(-values[better], kind="stable")]
        distinct = better[np.append(True, -np.diff(values[better]) > 1e-9)[: len(better)]][:KEEP]
        if distinct.size:
            body.append(w[distinct, : body.letters])
            found = True
    return found


def _moved(w: FloatArray) -> FloatArray:
    """Copy a vertex once per letter, that letter half-way between the ends; shape (letters, letters)."""
    copies = np.repeat(w[None], len(w), axis=0)
    middle = 0.5 * (w.min() + w.max())
    np.fill_diagonal(copies, np.where(np.abs(w - middle) > 0, middle, w))
    return copies


@dataclass(eq=False)
class _Stack:
    """Rows of many bodies, padded to the same letters: what a step needs to know of them.

    A padded letter has probability 0 and repeats the value of the first letter, which changes nothing.
    """

    r: FloatArray
    prior: FloatArray
    prices: FloatArray
    real: NDArray[np.bool_]
    radius: FloatArray
    top: FloatArray
    bottom: FloatArray
    order: float

    @classmethod
    def of(cls, bodies: Sequence[Body], prices: Sequence[FloatArray]) -> _Stack:
        n = max(body.letters for body in bodies)

        def padded(rows: Iterable[FloatArray]) -> FloatArray:
            return np.array([np.pad(row, (0, n - len(row))) for row in rows])

        return cls(
            padded(body.centre for body in bodies),
            padded(body.prior for body in bodies),
            padded(body.folded(c) for body, c in zip(bodies, prices, strict=True)),
            np.array([np.arange(n) < body.letters for body in bodies]),
            np.array([body.radius for body in bodies]),
            np.array([body.top for body in bodies]),
            np.array([body.bottom for body in bodies]),
            bodies[0].order,
        )

    def take(self, rows: NDArray[np.integer]) -> _Stack:
        r, prior, prices = self.r[rows], self.prior[rows], self.prices[rows]
        radius, top, bottom = self.radius[rows], self.top[rows], self.bottom[rows]
        return _Stack(r, prior, prices, self.real[rows], radius, top, bottom, self.order)

    def pad(self, starts: Sequence[FloatArray]) -> FloatArray:
        n = self.r.shape[1]
        return np.concatenate([np.pad(w, ((0, 0), (0, n - w.shape[1]))) for w in starts])

    def value(self, w: FloatArray) -> FloatArray:
        return np.asarray((self.prior * xlogy(w, w) - self.prices * w).sum(axis=1))

    def pull(self, w: FloatArray) -> FloatArray:
        """Move vectors into their bodies: raise all letters alike until A / B is low enough, then scale."""
        w = np.where(self.real, w, w[:, :1])
        w = np.where(w.any(axis=1, keepdims=True), w, 1.0)
        A = -least_mean(self.r, -w, self.radius, self.order)
        B = least_mean(self.r, w, self.radius, self.order)
        ratio = self.top / self.bottom
        # A and B grow by as much as all letters do.
        lift = np.maximum((A - ratio * B) / (ratio - 1.0), 0.0)
        A, B = A + lift, B + lift
        return np.asarray((w + lift[:, None]) * np.clip(1.0, self.bottom / B, self.top / A)[:, None])

    def restored(self, w: FloatArray) -> FloatArray:
        """Move vectors towards their bodies by relative changes of their letters: what is zero stays zero."""
        w = np.where(self.real, w, w[:, :1])
        both = np.arange(2)
        for _ in range(RESTORING):
            A, RA, _ = least_members(self.r, -w, self.radius, self.order)
            B, RB, _ = least_members(self.r, w, self.radius, self.order)
            rest = np.stack([np.minimum(self.top + A, 0.0), np.maximum(self.bottom - B, 0.0)], axis=1)
            normals = np.stack([RA, RB], axis=1) * w[:, None]
            gram = normals @ normals.transpose(0, 2, 1)
            gram[:, both, both] = gram[:, both, both] * (1.0 + 1e-9) + 1e-300
            relative = (np.linalg.solve(gram, rest[:, :, None]).transpose(0, 2, 1) @ normals)[:, 0]
            w = w * (1.0 + np.clip(relative, -0.5, 0.5))
        return np.asarray(w)

    def climb(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Take steps from every row until none gains; return the rows and their values."""
        w = self.pull(w)
        best = self.value(w)
        rows = np.arange(len(w))
        for _ in range(STEPS):
            part = self.take(rows)
            gained = np.zeros(len(rows), dtype=bool)
            for step in part.steps(w[rows]):
                trial = part.pull(np.maximum(w[rows] + step, 0.0))
                values = part.value(trial)
                better = values > best[rows] + 1e-10 * np.abs(best[rows])
                w[rows[better]], best[rows[better]] = trial[better], values[better]
                gained |= better
                if better.all():
                    break
            rows = rows[gained]
            if rows.size == 0:
                break
        return w, best

    def steps(self, w: FloatArray) -> Iterator[FloatArray]:
        """Newton steps within the non-zero letters, with and without the curvature of the objective."""
        m, n = w.shape
        A, RA, xA = least_members(self.r, -w, self.radius, self.order)
        B, RB, xB = least_members(self.r, w, self.radius, self.order)
        A = -A
        free = (w > ZERO * self.top[:, None]) & (self.r > 0)
        slope = np.where(free, self.prior * (np.log(np.maximum(w, 1e-300)) + 1.0) - self.prices, 0.0)
        upper, lower = self.top * (1.0 - 1e-9) <= A, self.bottom * (1.0 + 1e-9) >= B
        normals = np.stack([RA * free * upper[:, None], -RB * free * lower[:, None]], axis=1)
        idle = np.stack([~upper, ~lower], axis=1)
        gram = normals @ normals.transpose(0, 2, 1)
        place, both = np.arange(n), np.arange(2)
        gram[:, both, both] = gram[:, both, both] * (1.0 + 1e-12) + idle
        multipliers = np.linalg.solve(gram, normals @ slope[:, :, None])[:, :, 0]
        X, Y = np.maximum(multipliers, 0.0).T
        system = np.zeros((m, n + 2, n + 2))
        curved = X[:, None, None] * _curvature(RA, xA, self.order)
        curved += Y[:, None, None] * _curvature(RB, xB, self.order)
        system[:, :n, :n] = -curved * (free[:, :, None] & free[:, None, :])
        system[:, place, place] -= ~free + 1e-9 * self.prior
        system[:, :n, n:] = normals.transpose(0, 2, 1)
        system[:, n:, :n] = normals
        system[:, n + both, n + both] = idle - 1e-14
        rest = np.stack([np.where(upper, self.top - A, 0.0), np.where(lower, B - self.bottom, 0.0)], axis=1)
        right = np.concatenate([-slope, rest], axis=1)[:, :, None]
        convex = np.where(free, self.prior / np.maximum(w, 1e-300), 0.0)
        most = TRUST * w.max(axis=1)
        for share in (1.0, 0.0):
            trial = system.copy()
            trial[:, place, place] += share * convex
            d = np.linalg.solve(trial, right)[:, :n, 0]
            d *= np.minimum(most / np.maximum(np.abs(d).max(axis=1), 1e-300), 1.0)[:, None]
            yield from (d, 0.3 * d)


def _curvature(R: FloatArray, x: FloatArray, order: float) -> FloatArray:
    """Second derivatives of A, or of -B, at vectors with extremal R and distances x (`least_members`)."""
    moving = np.isfinite(x)
    x = np.maximum(np.where(moving, x, 1.0), 1e-9)
    v = np.where(moving, R / x, 0.0)
    moment = np.where(moving, R * x, 0.0).sum(axis=1)
    rho = np.divide(1.0, moment, out=np.zeros_like(moment), where=moment > 0)[:, None]
    flat = v - rho * R
    total = flat.sum(axis=1)[:, None, None]
    outer = flat[:, :, None] * flat[:, None, :]
    matrix = -rho[:, :, None] * R[:, :, None] * R[:, None, :]
    matrix -= np.divide(outer, total, out=np.zeros_like(outer), where=total > 1e-300)
    place = np.arange(R.shape[1])
    matrix[:, place, place] += v
    return np.asarray(matrix / order)
