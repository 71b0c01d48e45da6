"""Vertices of the block polytopes from which the columns of PolyOpt are made.

Scaled so that the smallest B_s is one, a column of the published PolyOpt cone is a product over the sensitive
values s of blocks w_s in ::

    K_s = {w >= 0 : (1 - S) max w + L . w <= e^eps,  (1 - S) min w + L . w >= 1},    S = sum_u L_u

(lopuhaa2024, Definition 3, rearranged). The vertices of K_s have closed forms indexed by subsets T of the
public values, so 2^a2 numbers per block stand for a polytope in a1 a2 dimensions.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from ldpfrontier.numerics.jit import kernel
from ldpfrontier.numerics.subset_sums import subset_sums
from ldpfrontier.types import FloatArray, Intractable

#: 2^20 subsets are 1e6 vertices of some families, about 100 MB a block.
MAX_LETTERS = 20


def critical_levels(lower: FloatArray) -> FloatArray:
    """Return the levels epsilon at which vertices of K_s appear or vanish: e^epsilon = 1 + D / l, sorted.

    Between two of them every vertex moves along a line as e^epsilon grows.

    Parameters
    ----------
    lower : ndarray, shape (a2,)
        As for `Block`.

    Returns
    -------
    ndarray
    """
    mass = subset_sums(lower[lower > 0])
    D = max(1.0 - float(lower.sum()), 1e-15)
    return np.unique(np.log1p(D / mass[mass > 0]))


@kernel
def _two_valued(
    inside: FloatArray, total: float, sets: NDArray[np.int32], low: FloatArray, high: FloatArray
) -> FloatArray:
    """Return the products of prices with vectors that have one value on a set and another off it."""
    products = np.empty(len(sets))
    for i in range(len(sets)):
        products[i] = low[i] * total + (high[i] - low[i]) * inside[sets[i]]
    return products


@kernel
def leaders(f: FloatArray, z: FloatArray, tilt: float, enough: float, number: int) -> NDArray[np.int64]:
    """Return where f - tilt z is largest and above `enough`, a number of places at most, the best first."""
    tops, places = np.full(number, enough), np.full(number, -1)
    for i in range(len(f)):
        tilted = f[i] - tilt * z[i]
        if tilted > tops[-1]:
            k = number - 1
            while k > 0 and tilted > tops[k - 1]:
                tops[k], places[k] = tops[k - 1], places[k - 1]
                k -= 1
            tops[k], places[k] = tilted, i
    return places[places >= 0]


class Block:
    r"""The vertices of one K_s, with their contributions to the objective.

    With l = L(T), D = 1 - S and d = (e^eps - 1) / D, every vertex takes one value on T, one off T, and
    possibly a third at one further letter j:

    - 1 - d l + d on T, 1 - d l off T, if 1 - d l >= 0;
    - the constants 1 and e^eps;
    - e^eps / (D + l) on T, 0 off T, if that meets the lower constraint;
    - d on T, (1 - d l) / L_j in (0, d) at j, 0 elsewhere, T possibly empty.

    Letters with P = 0 (and so L = 0) are interchangeable, and averaging a block over them neither changes the
    objective nor leaves K_s: they share one entry.

    Parameters
    ----------
    lower : ndarray, shape (a2,)
        L_{u|s}, the least conditional probabilities in the uncertainty set; must sum to less than one.
    prior : ndarray, shape (a2,)
        P_{s,u}, the joint probabilities of this row.
    epsilon : float
        Privacy level in nats, >= 0.
    scale : float
        Factor on every vertex: those of scale K_s.

    Attributes
    ----------
    g, z : ndarray, shape (vertices,)
        sum_u P_u w_u log w_u and sum_u P_u w_u.
    constants : tuple of int
        Indices of the constant vertices 1 and e^eps.

    Raises
    ------
    Intractable
        If more than 20 letters differ, as all their subsets are listed.
    """

    def __init__(self, lower: FloatArray, prior: FloatArray, epsilon: float, scale: float = 1.0) -> None:
        self._fold(prior)
        L = self.lower = self.folded(np.where(prior > 0, lower, 0.0))
        top = math.exp(epsilon)
        D = max(1.0 - L.sum(), 1e-15)  # one public value is known to be itself: L = 1
        d = (top - 1.0) / D
        mass = subset_sums(L)
        subsets = np.arange(len(mass), dtype=np.int32)
        proper = (subsets > 0) & (subsets < len(mass) - 1)

        raised = subsets[proper & (d * mass <= 1.0)]
        floor = 1.0 - d * mass[raised]
        # Where d l = 1 both families have the vertex; rounding must not lose it to neither.
        cut = subsets[proper & (mass * top >= (D + mass) * (1.0 - 1e-12))]
        none = np.zeros(2, dtype=np.int32)
        sets = [raised, none, cut]
        low = [floor, np.array([1.0, top]), np.zeros(len(cut))]
        high = [floor + d, np.array([1.0, top]), top / (D + mass[cut])]
        extra, odd = [], []
        for j in np.flatnonzero(L > 0):
            third = (1.0 - d * mass) / L[j]
            inside = subsets[(subsets >> j & 1 == 0) & (third > 0) & (third < d)]
            sets.append(inside)
            low.append(np.zeros(len(inside)))
            high.append(np.full(len(inside), d))
            odd.append(third[inside])
            extra.append(np.full(len(inside), j))
        self._sets = np.concatenate(sets)
        self._low, self._high = scale * np.concatenate(low), scale * np.concatenate(high)
        self.constants = (len(raised), len(raised) + 1)
        self._plain = len(raised) + 2 + len(cut)
        self._extra = np.concatenate([np.empty(0, dtype=np.int64), *extra])
        self._odd = scale * np.concatenate([np.empty(0), *odd])

        self._value()

    def _fold(self, prior: FloatArray) -> None:
        """Let all letters of probability 0 share the last position."""
        occupied = np.flatnonzero(prior > 0)
        self._position = np.full(len(prior), len(occupied))
        self._position[occupied] = np.arange(len(occupied))
        self.letters = len(occupied) + int(len(occupied) < len(prior))
        if self.letters > MAX_LETTERS:
            raise Intractable(
                f"A block has {self.letters} public values with positive counts; at most {MAX_LETTERS} are"
                " supported, because all their subsets are listed."
            )
        self.prior = self.folded(prior)
        self._last: tuple[FloatArray, FloatArray] | None = None

    def folded(self, values: FloatArray) -> FloatArray:
        """Add values per letter up to values per position."""
        return np.bincount(self._position, weights=values, minlength=self.letters).astype(np.float64)

    def _value(self) -> None:
        """Compute g and z of all vertices."""
        P = self.prior
        inside = subset_sums(P)[self._sets]
        outside = P.sum() - inside
        self.z = self._high * inside + self._low * outside
        self.g = xlogy(self._high, self._high) * inside + xlogy(self._low, self._low) * outside
        self.z[self._plain :] += self._odd * P[self._extra]
        self.g[self._plain :] += xlogy(self._odd, self._odd) * P[self._extra]

    def __len__(self) -> int:
        return len(self._sets)

    @cached_property
    def rising(self) -> tuple[FloatArray, NDArray[np.int64]]:
        """All z in rising order, and the vertices they belong to."""
        order = np.argsort(self.z, kind="stable")
        return self.z[order], order

    def dot(self, prices: FloatArray) -> FloatArray:
        """Return prices . w for every vertex, shape (vertices,), without forming the vertices."""
        folded = self.folded(prices)
        products = _two_valued(subset_sums(folded), float(folded.sum()), self._sets, self._low, self._high)
        products[self._plain :] += self._odd * folded[self._extra]
        return products

    def reduced(self, prices: FloatArray) -> FloatArray:
        """Return g - prices . w for every vertex, shape (vertices,); the last answer is kept."""
        if self._last is None or not np.array_equal(self._last[0], prices):
            self._last = prices.copy(), self.g - self.dot(prices)
        return self._last[1]

    def leading(self, prices: FloatArray, number: int, tilt: float = 0.0) -> NDArray[np.int64]:
        """Return up to `number` vertices with the largest g - prices . w - tilt z, best first."""
        return np.asarray(leaders(self.reduced(prices), self.z, tilt, -math.inf, number))

    def vectors(self, indices: NDArray[np.integer]) -> FloatArray:
        """Return the chosen vertices, shape (m, a2)."""
        bits = self._sets[indices][:, None] >> np.arange(self.letters) & 1
        w = np.where(bits == 1, self._high[indices][:, None], self._low[indices][:, None])
        rows = np.flatnonzero(indices >= self._plain)
        w[rows, self._extra[indices[rows] - self._plain]] = self._odd[indices[rows] - self._plain]
        return np.asarray(w[:, self._position], dtype=np.float64)


class Shortlist(Block):
    """Some vertices of a block, by name.

    Parameters
    ----------
    block : Block
        One with the same letters.
    """

    def __init__(self, block: Block) -> None:
        self.prior, self.letters, self._position = block.prior, block.letters, block._position
        self._names = np.empty(0, dtype=np.int64)
        self._letters = np.empty((0, block.letters))
        self._value()

    def _value(self) -> None:
        self.z, self.g = self._letters @ self.prior, xlogy(self._letters, self._letters) @ self.prior
        self._last = None
        self.__dict__.pop("rising", None)

    def __len__(self) -> int:
        return len(self._names)

    def add(self, names: NDArray[np.int64], letters: FloatArray) -> None:
        """Add vertices, (m,) and in folded letters (m, letters), that are not among them."""
        new = np.flatnonzero(~np.isin(names, self._names))
        self._names = np.concatenate([self._names, names[new]])
        self._letters = np.concatenate([self._letters, letters[new]])
        self._value()

    def dot(self, prices: FloatArray) -> FloatArray:
        """Return prices . w for every vertex, shape (vertices,)."""
        return np.asarray(self._letters @ self.folded(prices))

    def vectors(self, indices: NDArray[np.integer]) -> FloatArray:
        """Return the chosen vertices, shape (m, a2)."""
        return np.asarray(self._letters[indices][:, self._position])
