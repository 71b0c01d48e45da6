r"""Lists of vertices of a block, with what a column gains by them.

A column is a product over the sensitive values s of blocks w_s, each with an entry per useful value (letter).
At prices c a vertex w of the block of s counts by ::

    g(w) - c . w,     g(w) = sum_u P_u w_u log w_u,     and by     z(w) = sum_u P_u w_u,

its part of the mass of the column; P is the row of s in the joint distribution. Nothing else of a vertex
matters to pricing. Nearly all vertices have one value on a set T of letters and another off it: their c . w
follow from the 2^n sums of c over sets, and the vectors themselves are never formed. Vertices that were
found by a search are stored as they are.

Letters with P = 0 are interchangeable, and averaging a block over them neither changes the objective nor
leaves the block: they share one entry. Vectors with one entry for all of them are called *folded*.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.engines.products.geometry.settings import SETTINGS
from ldpfrontier.numerics.jit import kernel
from ldpfrontier.numerics.subset_sums import subset_sums


@kernel
def _write_products(prices: FloatArray, total: float, vectors: SubsetVectors, products: FloatArray) -> None:
    """Write prices . w for every vector w; `total` is the sum of the prices."""
    sets, low, high, third_letter, third_value = vectors
    inside, size, first = np.empty(1 << len(prices)), 1, len(sets) - len(third_letter)
    inside[0] = 0.0
    for price in prices:
        for i in range(size):
            inside[size + i] = inside[i] + price
        size *= 2
    for i in range(len(sets)):
        products[i] = low[i] * total + (high[i] - low[i]) * inside[sets[i]]
    for i in range(len(third_letter)):
        products[first + i] += third_value[i] * prices[third_letter[i]]


@kernel
def _write_vectors(indices: NDArray[np.integer], vectors: SubsetVectors, w: FloatArray) -> None:
    """Write the chosen vectors as rows of w; those of indices beyond the last vector are left as they are."""
    sets, low, high, third_letter, third_value = vectors
    first = len(sets) - len(third_letter)
    for k in range(len(indices)):
        i = indices[k]
        if i < len(sets):
            for u in range(w.shape[1]):
                w[k, u] = high[i] if sets[i] >> u & 1 else low[i]
            if i >= first:
                w[k, third_letter[i - first]] = third_value[i - first]


@kernel
def best_at_slope(f: FloatArray, z: FloatArray, lam: float, least: float, number: int) -> NDArray[np.int64]:
    """Return the indices of the largest f - lam z above `least`, the best first, up to a number of them."""
    tops, places, count = np.empty(number), np.empty(number, dtype=np.int64), 0
    for i in range(len(f)):
        value = f[i] - lam * z[i]
        if value > (tops[number - 1] if count == number else least):
            count = min(count + 1, number)
            k = count - 1
            while k > 0 and value > tops[k - 1]:
                tops[k], places[k] = tops[k - 1], places[k - 1]
                k -= 1
            tops[k], places[k] = value, i
    return places[:count]


class SubsetVectors(NamedTuple):
    """Folded vectors given by sets of letters, m of them; the last k have a third value at one letter."""

    sets: NDArray[np.int32]  # (m,): bit masks
    low: FloatArray  # (m,): the value off the set
    high: FloatArray  # (m,): the value on the set
    third_letter: NDArray[np.int64]  # (k,)
    third_value: FloatArray  # (k,)

    @property
    def n_two_valued(self) -> int:
        """The number of vectors without a third value."""
        return len(self.sets) - len(self.third_letter)

    def contributions(self, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return z and g of all vectors."""
        if not len(self.sets):
            return np.empty(0), np.empty(0)
        inside = subset_sums(prior)[self.sets]
        outside = prior.sum() - inside
        z = self.high * inside + self.low * outside
        g = xlogy(self.high, self.high) * inside + xlogy(self.low, self.low) * outside
        z[self.n_two_valued :] += self.third_value * prior[self.third_letter]
        g[self.n_two_valued :] += xlogy(self.third_value, self.third_value) * prior[self.third_letter]
        return z, g


NO_SUBSET_VECTORS = SubsetVectors(
    np.empty(0, dtype=np.int32), np.empty(0), np.empty(0), np.empty(0, dtype=np.int64), np.empty(0)
)


class VertexList:
    """Vertices of a block: those given by sets of letters, and after them those stored as vectors.

    It is empty at first; a block fills it. The prior has the joint probabilities P_{s,u} of a row, (a2,), and
    is folded here. g and z, (vertices,), are sum_u P_u w_u log w_u and sum_u P_u w_u; `constants` has the
    indices of the constant vertices with the least and the largest value, if they are listed. Intractable is
    raised if more than 20 letters differ, as all their subsets are listed.
    """

    constants: tuple[int, ...] = ()

    def __init__(self, prior: FloatArray) -> None:
        occupied = np.flatnonzero(prior > 0)
        self._position = np.full(len(prior), len(occupied))
        self._position[occupied] = np.arange(len(occupied))
        self.letters = len(occupied) + int(len(occupied) < len(prior))
        if self.letters > SETTINGS.max_letters:
            raise Intractable(
                f"A block has {self.letters} useful values with positive counts; at most"
                f" {SETTINGS.max_letters} are supported, because all their subsets are listed."
            )
        self.prior = self.fold(prior)
        self._stored = np.empty((0, self.letters))
        self._set_subset_vectors(NO_SUBSET_VECTORS)

    def _set_subset_vectors(self, vectors: SubsetVectors) -> None:
        """Let the list have these vertices and no others."""
        self._subset = vectors
        self._set_contributions(*vectors.contributions(self.prior))

    def _set_contributions(self, z: FloatArray, g: FloatArray) -> None:
        """Set z and g of other vertices than before, and forget what was computed of those."""
        self.z, self.g = z, g
        self._last: tuple[FloatArray, FloatArray] | None = None
        self.__dict__.pop("z_order", None)

    def __len__(self) -> int:
        return len(self._subset.sets) + len(self._stored)

    def fold(self, values: FloatArray) -> FloatArray:
        """Add values per letter up to values per folded letter."""
        return np.bincount(self._position, weights=values, minlength=self.letters).astype(np.float64)

    @cached_property
    def z_order(self) -> tuple[FloatArray, NDArray[np.int64]]:
        """All z in rising order, and the vertices they belong to."""
        order = np.argsort(self.z, kind="stable")
        return self.z[order], order

    def dot(self, prices: FloatArray) -> FloatArray:
        """Return prices . w for every vertex, shape (vertices,)."""
        folded, given = self.fold(prices), len(self._subset.sets)
        products = np.empty(len(self))
        if given:
            _write_products(folded, float(folded.sum()), self._subset, products[:given])
        products[given:] = self._stored @ folded
        return products

    def reduced(self, prices: FloatArray) -> FloatArray:
        """Return g - prices . w for every vertex, shape (vertices,); the last answer is kept."""
        if self._last is None or not np.array_equal(self._last[0], prices):
            self._last = prices.copy(), self.g - self.dot(prices)
        return self._last[1]

    def best_indices(self, prices: FloatArray, number: int, lam: float = 0.0) -> NDArray[np.int64]:
        """Return up to `number` vertices with the largest g - prices . w - lam z, best first."""
        return np.asarray(best_at_slope(self.reduced(prices), self.z, lam, -math.inf, number))

    def best_folded(self, prices: FloatArray, number: int) -> FloatArray:
        """Return up to `number` vertices with the largest g - prices . w, best first, folded."""
        return self.folded_vectors(self.best_indices(prices, number))

    def folded_vectors(self, indices: NDArray[np.integer]) -> FloatArray:
        """Return the chosen vertices, shape (m, letters)."""
        w, given = np.empty((len(indices), self.letters)), len(self._subset.sets)
        if given:
            # A copy, as what is compiled depends on how an array lies in memory.
            _write_vectors(np.array(indices), self._subset, w)
        late = indices >= given
        if late.any():
            w[late] = self._stored[indices[late] - given]
        return w

    def vectors(self, indices: NDArray[np.integer]) -> FloatArray:
        """Return the chosen vertices, shape (m, a2)."""
        return self.folded_vectors(indices)[:, self._position]
