r"""Bounds on the reduced costs of columns of distinct pairs at a fixed delta, and between two deltas.

With b = e^-delta from 1 down to e^-eps, the columns with special value s0 are products of the blocks ::

    {1 <= B_s, A_s <= b e^eps} for s != s0,      {b <= B_s, A_s <= e^eps} for s0

(`distinct_pairs`). At duals alpha they have the reduced costs [sum_s f_s(w_s) - Z log Z] / Z of
`products.pricing`, with f_s = g_s - alpha_s . w. Two kinds of bounds are computed:

- **At one delta**, the product is priced.
- **Between two deltas**: the right-hand sides are linear in b, so the columns and b form a polytope. Reduced
  costs are quasi-convex; none is above those at its extreme points, which are the columns at either end and
  columns with a *critical* vertex in between. That is a vertex where another one appears or vanishes,
  1_T / L(T) for a set T of letters, at a delta known in closed form. Its column is bounded by a tangent of
  Z log Z, with the chords in b of the conjugates max_w (f_s - lam z_s) of the other blocks.

Most vertices of a block are dominated: another one gains more, whatever the other blocks contribute to Z.
They are discarded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from ldpfrontier.numerics.deadline import check_time
from ldpfrontier.numerics.jit import borrowing_kernel, kernel
from ldpfrontier.numerics.subset_sums import subset_sums
from ldpfrontier.optimal.geometry.block_key import BlockKey, block_keys
from ldpfrontier.optimal.geometry.polytope import Block
from ldpfrontier.optimal.polyopt.settings import SETTINGS
from ldpfrontier.optimal.products.partial_sums import pareto_vertices
from ldpfrontier.optimal.products.pricing import price_combinations
from ldpfrontier.optimal.products.tangents import (
    best_tangent,
    conjugate,
    least_tangent_bound,
    tangent_bound,
)
from ldpfrontier.types import FloatArray

_BINS = SETTINGS.bins

#: A vertex with the set T, a bit mask, and a third value at letter j has the number T _LETTERS + j + 1, and
#: T _LETTERS without a third value. Blocks have fewer letters.
_LETTERS = 64


class _BlockTables(NamedTuple):
    """A block of n letters, in order of falling lower bounds, with sums over all its sets of letters."""

    lower: FloatArray  # (n,): L_{u|s}
    prior: FloatArray  # (n,): P_{s,u}
    duals: FloatArray  # (n,)
    order: NDArray[np.int64]  # (n,): the letters
    lower_sums: FloatArray  # (2^n,)
    prior_sums: FloatArray  # (2^n,)
    dual_sums: FloatArray  # (2^n,)


class Vertices(NamedTuple):
    """Vertices of a block."""

    z: FloatArray
    f: FloatArray
    numbers: NDArray[np.int64]


@borrowing_kernel
def _increment(level: float, lower_sums: FloatArray) -> tuple[float, float]:
    """Return rest = 1 - S, and d = (e^level - 1) / rest, by how much the entries of a vertex differ."""
    rest = max(1.0 - lower_sums[-1], 1e-15)
    return rest, math.expm1(level) / rest


@borrowing_kernel
def _two_values(level: float, mass: float, rest: float, d: float) -> tuple[float, float]:
    """Return the values off and on a set with L(T) = mass of the vertex with two values (`Block`)."""
    if d * mass <= 1.0:
        return 1.0 - d * mass, 1.0 - d * mass + d
    return 0.0, math.exp(level) / (rest + mass)


@borrowing_kernel
def _xlogx(x: float) -> float:
    return x * math.log(x) if x > 0.0 else 0.0


@kernel
def _all_vertices(level: float, tables: _BlockTables) -> tuple[FloatArray, FloatArray, NDArray[np.int64]]:
    """Return z, f and numbers of all vertices of a block: the constants 1 and e^level first and last."""
    lower, prior, duals, _, lower_sums, prior_sums, dual_sums = tables
    rest, d = _increment(level, lower_sums)
    room, count = 2 * len(lower_sums) + len(lower), 0
    z, f, numbers = np.empty(room), np.empty(room), np.empty(room, dtype=np.int64)
    for T in range(len(lower_sums)):
        if count + len(lower) >= room:
            room *= 2
            longer = np.empty(room), np.empty(room), np.empty(room, dtype=np.int64)
            for i in range(count):
                longer[0][i], longer[1][i], longer[2][i] = z[i], f[i], numbers[i]
            z, f, numbers = longer
        mass, inside, cost = lower_sums[T], prior_sums[T], dual_sums[T]
        low, high = _two_values(level, mass, rest, d)
        outside = prior_sums[-1] - inside
        z[count] = low * outside + high * inside
        f[count] = _xlogx(low) * outside + _xlogx(high) * inside - low * (dual_sums[-1] - cost) - high * cost
        numbers[count] = T * _LETTERS
        count += 1
        left = 1.0 - d * mass
        if left > 0.0:
            for j in range(len(lower)):
                if left >= d * lower[j]:
                    break
                if T >> j & 1 == 0:
                    third = left / lower[j]
                    z[count] = d * inside + third * prior[j]
                    f[count] = _xlogx(d) * inside + _xlogx(third) * prior[j] - d * cost - third * duals[j]
                    numbers[count] = T * _LETTERS + j + 1
                    count += 1
    return z[:count], f[:count], numbers[:count]


@borrowing_kernel
def _bin(z: float, low: float, width: float) -> int:
    return int(min(max(_BINS * (z - low) / width, 0.0), _BINS - 1.0))


@kernel
def _prefiltered(z: FloatArray, f: FloatArray, least: float, most: float) -> NDArray[np.int64]:
    """Return the vertices that no vertex in a bin of less z, or of more z, dominates.

    A vertex with less z dominates if it has the larger f - `least` z, one with more z if it has the larger
    f - `most` z: `least` and `most` are the slopes of Z log Z at the least and at the largest Z.
    """
    low, width = z[0], max(z[-1] - z[0], 1e-300)
    before, after = np.full(_BINS, -np.inf), np.full(_BINS, -np.inf)
    for i in range(len(z)):
        k = _bin(z[i], low, width)
        before[k] = max(before[k], f[i] - least * z[i])
        after[k] = max(after[k], f[i] - most * z[i])
    for k in range(1, _BINS):
        before[k] = max(before[k], before[k - 1])
        after[_BINS - 1 - k] = max(after[_BINS - 1 - k], after[_BINS - k])
    kept, count = np.empty(len(z), dtype=np.int64), 0
    for i in range(len(z)):
        k = _bin(z[i], low, width)
        if k > 0 and f[i] - least * z[i] < before[k - 1]:
            continue
        if k < _BINS - 1 and f[i] - most * z[i] < after[k + 1]:
            continue
        kept[count] = i
        count += 1
    return kept[:count]


@kernel
def _vectors(level: float, tables: _BlockTables, numbers: NDArray[np.int64]) -> FloatArray:
    """Return the vertices with given numbers, shape (m, letters), letters in the order of the block."""
    rest, d = _increment(level, tables.lower_sums)
    w = np.empty((len(numbers), len(tables.lower)))
    for i in range(len(numbers)):
        T, third = numbers[i] // _LETTERS, numbers[i] % _LETTERS - 1
        low, high = _two_values(level, tables.lower_sums[T], rest, d)
        if third >= 0:
            low, high = 0.0, d
        for j in range(len(tables.lower)):
            w[i, tables.order[j]] = high if T >> j & 1 else low
        if third >= 0:
            w[i, tables.order[third]] = (1.0 - d * tables.lower_sums[T]) / tables.lower[third]
    return w


class _CriticalVertices(NamedTuple):
    """The critical vertices 1_T / L(T) of a block as that of s != s0, by rising levels."""

    levels: FloatArray
    z: FloatArray
    f: FloatArray

    @classmethod
    def of(cls, tables: _BlockTables) -> _CriticalVertices:
        sets = np.flatnonzero(tables.lower_sums > 0)
        mass = tables.lower_sums[sets]
        with np.errstate(over="ignore"):
            levels = np.log1p(max(1.0 - float(tables.lower.sum()), 1e-15) / mass)
        order = np.argsort(levels, kind="stable")
        high, sets = 1.0 / mass[order], sets[order]
        inside = tables.prior_sums[sets]
        return cls(levels[order], high * inside, xlogy(high, high) * inside - high * tables.dual_sums[sets])

    def between(
        self, low: float, high: float, epsilon: float, lam: float, special: bool
    ) -> tuple[FloatArray, FloatArray]:
        """Return the deltas of those strictly between two deltas, and their f - lam z."""
        ends = (epsilon + low, epsilon + high) if special else (epsilon - high, epsilon - low)
        own = slice(*np.searchsorted(self.levels, ends))
        delta = self.levels[own] - epsilon if special else epsilon - self.levels[own]
        values = self.f[own] - lam * self.z[own]
        if special:
            values = np.exp(-delta) * (values - delta * self.z[own])
        inside = (low < delta) & (delta < high)
        return delta[inside], values[inside]


class IntervalBound(NamedTuple):
    """Bounds on reduced costs for all deltas of an interval, by tangents."""

    bound: float  # for all columns
    critical_bound: float  # for columns with a critical vertex inside
    critical_deltas: FloatArray  # where such a column may be worth more than asked


class FixedDeltaBounds:
    """Bounds on the reduced costs of columns of distinct pairs at some duals; inf where above 1 + epsilon.

    Parameters
    ----------
    blocks : sequence of Block
        Those of the product of all pairs, one for every sensitive value.
    duals : ndarray, shape (a1, a2)
    epsilon : float
        In nats, > 0.
    slack : float
        How far bounds may be above the largest reduced costs, in nats.
    effort : int
        Of pricing (see `BlockProduct`).
    """

    def __init__(
        self, blocks: Sequence[Block], duals: FloatArray, epsilon: float, slack: float, effort: int = 0
    ) -> None:
        self._epsilon, self._slack, self._max_bound = epsilon, slack, 1.0 + epsilon
        self._effort = effort
        self._vertices: dict[BlockKey, Vertices] = {}
        self._tangents: dict[tuple[int, float, float], tuple[float, float]] = {}
        self._tables = []
        for block, row in zip(blocks, duals, strict=True):
            order = np.argsort(-block.lower, kind="stable")
            lower, prior, costs = (x[order] for x in (block.lower, block.prior, block.fold(row)))
            sums = subset_sums(lower), subset_sums(prior), subset_sums(costs)
            self._tables.append(_BlockTables(lower, prior, costs, order, *sums))
        groups = np.array([block.prior.sum() for block in blocks])
        # Slopes of Z log Z at the least Z, and at the largest plus the largest finite bound.
        self._slopes = (
            1.0 + math.log1p(math.expm1(-epsilon) * float(groups.max())),
            1.0 + epsilon + self._max_bound,
        )

    @cached_property
    def _critical(self) -> list[_CriticalVertices]:
        return [_CriticalVertices.of(tables) for tables in self._tables]

    def at(self, s0: int, delta: float, enough: float) -> float:
        """Bound the reduced costs at one delta, closely if they are above `enough`."""
        return self._bound(s0, delta, delta, enough, 0.0)

    def over(self, s0: int, low: float, high: float, enough: float) -> float:
        """Bound the reduced costs of a product that contains the columns of all deltas of an interval.

        The bound is close if it is above `enough` and can be brought below.
        """
        return self._bound(s0, low, high, enough, enough)

    def of_all_values(self, low: float, high: float) -> float:
        """Bound the reduced costs for all special values and all deltas of an interval, by a tangent.

        All blocks but one are among those at `low` that are not special, and one is special, at `high`. So
        with T_s and T*_s the conjugates max_w (f_s - lam z_s) of either, -F(lam) = sum_s T_s + max_s (T*_s -
        T_s), at the cost of a single special value.

        Raises
        ------
        TimeIsUp
        """
        usual, special = list[Vertices](), list[Vertices]()
        for s in range(len(self._tables)):
            check_time()
            usual.append(self.undominated(BlockKey(s, low, False)))
            special.append(self.undominated(BlockKey(s, high, True)))

        def at(lam: float) -> tuple[float, float]:
            tops, best = (
                np.array([conjugate(own.f, own.z, lam) for own in blocks]) for blocks in (usual, special)
            )
            more = best - tops
            F, Z = (tops.sum(axis=0) + more[more[:, 0].argmax()]) * (-1.0, 1.0)
            return float(F), float(Z)

        lam = float(np.clip(least_tangent_bound(at, 1.0)[1], *self._slopes))
        kappa = tangent_bound(lam, -at(lam)[0])
        return kappa if kappa <= self._max_bound else math.inf

    def between(self, s0: int, low: float, high: float, enough: float) -> IntervalBound:
        """Bound the reduced costs for all deltas of an interval by tangents, with conjugates linear in b."""
        lam = 0.5 * sum(self._tangent(s0, delta, delta)[1] for delta in (low, high))
        conjugates = np.array(
            [[(f - lam * z).max() for z, f, _ in self._product(s0, delta, delta)] for delta in (low, high)]
        )
        b = np.exp([-low, -high])
        critical = []
        excess = np.zeros(len(self._tables))  # of the best critical vertex over the chord of its block
        for s, vertices in enumerate(self._critical):
            delta, values = vertices.between(low, high, self._epsilon, lam, s == s0)
            share = (np.exp(-delta) - b[1]) / (b[0] - b[1])
            above = values - conjugates[1, s] - share * (conjugates[0, s] - conjugates[1, s])
            excess[s] = above.max(initial=0.0)
            critical.append((delta, above, share))
        sums = conjugates.sum(axis=1) + excess.sum()
        most, deltas = -math.inf, [np.empty(0)]
        for (delta, above, share), own in zip(critical, excess, strict=True):
            total = sums[1] + share * (sums[0] - sums[1]) - own + above
            most = max(most, tangent_bound(lam, float(total.max(initial=-math.inf))))
            deltas.append(delta[total > -math.exp(lam - 1.0 - enough)])
        return IntervalBound(tangent_bound(lam, float(sums.max())), most, np.concatenate(deltas))

    def _bound(self, s0: int, low: float, high: float, worth: float, enough: float) -> float:
        """Bound the reduced costs of a product: by a tangent, and jointly if that is above `worth`."""
        kappa, lam = self._tangent(s0, low, high)
        if kappa > self._max_bound:
            return math.inf
        if kappa <= worth:
            return max(kappa, 0.0)
        z, f, _ = zip(*self._product(s0, low, high), strict=True)
        span = sum(float(x.min()) for x in z), sum(float(x.max()) for x in z)
        bound, _ = price_combinations(
            z, f, (kappa, lam), span, self._slack, effort=self._effort, enough=enough
        )
        return bound

    def _tangent(self, s0: int, low: float, high: float) -> tuple[float, float]:
        """Return the least bound of tangents on the reduced costs of a product, and its slope."""
        key = s0, low, high
        if key not in self._tangents:
            z, f, _ = zip(*self._product(s0, low, high), strict=True)
            lam = float(np.clip(best_tangent(z, f, 1.0)[1], *self._slopes))
            total = sum(float((b - lam * a).max()) for a, b in zip(z, f, strict=True))
            self._tangents[key] = tangent_bound(lam, total), lam
        return self._tangents[key]

    def _product(self, s0: int, low: float, high: float) -> list[Vertices]:
        """Return the blocks whose product contains the columns of all deltas of an interval."""
        return [self.undominated(key) for key in block_keys(len(self._tables), s0, low, high)]

    def vectors(self, key: BlockKey) -> tuple[NDArray[np.int64], FloatArray]:
        """Return the undominated vertices of a block: their numbers, (m,), and folded, (m, letters)."""
        level, log_scale = key.level(self._epsilon)
        numbers = self.undominated(key).numbers
        return numbers, math.exp(log_scale) * _vectors(level, self._tables[key.s], numbers)

    def undominated(self, key: BlockKey) -> Vertices:
        """Return z and f of the vertices of a block that no other vertex dominates."""
        if key not in self._vertices:
            (least, most), (level, log_scale) = self._slopes, key.level(self._epsilon)
            z, f, numbers = _all_vertices(level, self._tables[key.s])
            kept = _prefiltered(z, f, least - log_scale, most - log_scale)
            z, f = z[kept], f[kept] + log_scale * z[kept]
            pareto = pareto_vertices(np.argsort(z, kind="stable"), z, f, -least, most)
            scale = math.exp(log_scale)
            self._vertices[key] = Vertices(scale * z[pareto], scale * f[pareto], numbers[kept[pareto]])
        return self._vertices[key]
