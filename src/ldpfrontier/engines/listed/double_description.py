r"""The extreme rays of a polyhedral cone {v >= 0 : B v <= 0}, by the double description method.

A sublinear convex utility is maximized over such a cone by its extreme rays: every column is a sum of them,
and is worth at most what they are. The rays of the orthant are unit vectors. With every further inequality
(Motzkin et al. 1953; Fukuda and Prodon 1996), rays beyond it go, and each of them leaves a ray on its border
with every adjacent ray inside: one with which it spans a face of two dimensions. Two rays are adjacent if and
only if no third one meets all inequalities with equality that both do.

A list from floating point can lack rays, and a bound that rests on it would be wrong. Here coefficients are
the rational numbers that floats are, rays are vectors of whole numbers, and which inequalities a ray meets
with equality follows from those of its two parents. Signs are found in floating point where they are clear.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray, IntArray, Intractable
from ldpfrontier.engines.registry import LIMITS
from ldpfrontier.model.cones import PolyhedralCone
from ldpfrontier.numerics.arguments import as_count
from ldpfrontier.numerics.deadline import check_time
from ldpfrontier.numerics.highs import maximize
from ldpfrontier.numerics.jit import kernel

_Masks = NDArray[np.uint64]
_BITS = 64


def extreme_rays(inequalities: FloatArray, max_rays: int = LIMITS.max_rays) -> FloatArray:
    """List the extreme rays of {v >= 0 : B v <= 0}, exactly, or those of a cone that is larger by rounding.

    Parameters
    ----------
    inequalities : array_like, shape (m, n)
        The rows of B, read as the rational numbers that they are.
    max_rays : int
        Most rays, also after each of the first inequalities.

    Returns
    -------
    ndarray, shape (rays, n)
        Their largest entries are 1; every entry is the float next to the exact one.

    Raises
    ------
    Intractable
        If there are more.
    ValueError
        If `PolyhedralCone` refuses the inequalities, or the number of rays is not a whole one, 1 or more.
    TimeIsUp
    """
    most = as_count(max_rays, "max_rays", "a whole number, 1 or more", least=1)
    rows = lexicographic(irredundant(PolyhedralCone(inequalities).inequalities))
    cone = DoubleDescription(rows.shape[1], most)
    for row in rows:
        cone.cut(row)
    return cone.points


def lexicographic(inequalities: FloatArray) -> FloatArray:
    """Return the rows of B in lexicographic order, in which few rays are on the way (Fukuda and Prodon)."""
    return np.asarray(inequalities[np.lexsort(inequalities.T[::-1])])


class DoubleDescription:
    """The extreme rays of a cone to which inequalities are added, at first that of v >= 0 in n dimensions.

    `points` has the rays, (rays, n), the largest entry of each 1.
    """

    def __init__(self, n: int, max_rays: int = LIMITS.max_rays) -> None:
        self.n, self.max_rays, self.points = n, max_rays, np.eye(n)
        self._rays = [[int(i == j) for j in range(n)] for i in range(n)]
        self._number = n
        self._met: _Masks = np.zeros((n, 1 + n // _BITS), dtype=np.uint64)
        for j in range(n):
            _mark(self._met, np.arange(n) != j, j)

    def cut(self, inequality: FloatArray) -> None:
        """Add an inequality a . v <= 0, shape (n,), not all 0, read as the rational numbers that it is.

        If there are too many rays then, Intractable is raised, and the cone is as it was.
        """
        row = _whole(inequality[None])[0]
        signs = _signs(self._rays, self.points @ (inequality / np.abs(inequality).sum()), row)
        number, met = self._number, self._met
        if number // _BITS >= met.shape[1]:
            met = np.hstack([met, np.zeros_like(met)])
        beyond, inside = np.flatnonzero(signs > 0), np.flatnonzero(signs < 0)
        if beyond.size:
            found, meeting = [], _transposed(met)
            for first in range(0, beyond.size, self.n):  # in portions, as there may be pairs for minutes
                check_time()
                found.append(_adjacent(met, meeting, beyond[first : first + self.n], inside, self.n - 2))
            pairs = np.concatenate(found)
            kept = np.flatnonzero(signs <= 0)
            if len(kept) + len(pairs) > self.max_rays:
                raise Intractable(
                    f"The cone has more than {self.max_rays:,} extreme rays, which are not listed."
                )
            value = {i: _product(row, self._rays[i]) for i in set(pairs.ravel().tolist())}
            new = [_on_border(value[i], self._rays[i], value[j], self._rays[j]) for i, j in pairs.tolist()]
            masks: _Masks = np.bitwise_and(met[pairs[:, 0]], met[pairs[:, 1]])
            _mark(masks, np.ones(len(masks), dtype=np.bool_), number)
            _mark(met, signs == 0, number)
            self._rays = [self._rays[i] for i in kept] + new
            self.points = np.vstack([self.points[kept], _floats(new, self.n)])
            met = np.vstack([met[kept], masks])
        else:
            _mark(met, signs == 0, number)
        self._met, self._number = met, number + 1


def irredundant(inequalities: FloatArray) -> FloatArray:
    """Return the rows of B that the others do not imply, up to rounding.

    An inequality that is implied but for rounding, such as one that follows from two others by e^a e^b =
    e^(a + b), would have faces of its own of the size of that rounding, and with them many rays. The cone of
    the rows that are returned contains that of all rows.
    """
    n = inequalities.shape[1]
    kept = inequalities / np.abs(inequalities).max(axis=1, keepdims=True, initial=1e-300)
    for row in range(len(kept) - 1, -1, -1):
        others = np.delete(kept, row, axis=0)
        matrix = np.vstack([others, np.ones((1, n))])
        lower, upper = np.append(np.full(len(others), -np.inf), 1.0), np.append(np.zeros(len(others)), 1.0)
        found = maximize(kept[row], matrix, lower, upper)
        if found is not None and found[0] <= 1e-11:
            inequalities, kept = np.delete(inequalities, row, axis=0), others
    return inequalities


def _mark(met: _Masks, rows: NDArray[np.bool_], number: int) -> None:
    """Note that some rays, a mask (rays,), meet the inequality of this number with equality."""
    bit = np.uint64(1 << (number % _BITS))
    word = met[:, number // _BITS]
    met[:, number // _BITS] = np.where(rows, np.bitwise_or(word, bit), word)


def _transposed(met: _Masks) -> _Masks:
    """Return a mask of rays for every inequality, those that meet it, (inequalities, words)."""
    bits = np.unpackbits(met.astype("<u8", copy=False).view(np.uint8), axis=1, bitorder="little")
    bits = np.pad(bits, ((0, -len(bits) % _BITS), (0, 0)))
    packed = np.packbits(bits, axis=0, bitorder="little")
    return np.ascontiguousarray(packed.T).view("<u8").astype(np.uint64, copy=False)


def _whole(inequalities: FloatArray) -> list[list[int]]:
    """Return the rows of a matrix, each times a positive number that makes its entries whole."""
    rows = []
    for row in inequalities.tolist():
        exact = [Fraction(x) for x in row]
        common = math.lcm(*(x.denominator for x in exact))
        rows.append([int(x * common) for x in exact])
    return rows


def _floats(rays: list[list[int]], n: int) -> FloatArray:
    """Return rays as floats with the largest entry 1, shape (rays, n)."""
    largest = [max(ray) for ray in rays]
    return np.array([[x / top for x in ray] for ray, top in zip(rays, largest, strict=True)]).reshape(-1, n)


def _signs(rays: list[list[int]], values: FloatArray, row: list[int]) -> NDArray[np.int64]:
    """Return the signs of an inequality at rays, given its values in floating point."""
    signs = np.sign(values).astype(np.int64)
    # Inequalities of an extreme ray, as a share of their size, whose sign is found in whole numbers.
    for i in np.flatnonzero(np.abs(values) < 1e-11):
        exact = _product(row, rays[i])
        signs[i] = (exact > 0) - (exact < 0)
    return signs


def _product(row: list[int], ray: list[int]) -> int:
    """Return the value of an inequality at a ray."""
    return sum(a * x for a, x in zip(row, ray, strict=True) if a and x)


def _on_border(over: int, beyond: list[int], under: int, inside: list[int]) -> list[int]:
    """Return the ray between two at which an inequality holds with equality, given its values there."""
    ray = [over * y - under * x for x, y in zip(beyond, inside, strict=True)]
    common = math.gcd(*ray)
    return [x // common for x in ray]


@kernel
def _adjacent(met: _Masks, meeting: _Masks, beyond: IntArray, inside: IntArray, least: int) -> IntArray:
    """Return the pairs of adjacent rays, one from each list, shape (pairs, 2), given the masks of each side.

    A third ray shows that two are not adjacent if it meets all inequalities that both of them meet, which are
    at least `least`: only rays that meet so many together with the first one are looked at.
    """
    rays, blocks, count = len(met), meeting.shape[1], 0
    found = np.empty((64, 2), dtype=np.int64)
    own = np.empty(len(meeting), dtype=np.int64)
    near = np.empty(rays, dtype=np.int64)
    shared = np.empty((len(meeting), blocks), dtype=np.uint64)
    lacking = np.empty_like(meeting)
    is_inside = np.zeros(rays, dtype=np.bool_)
    one, none = np.uint64(1), np.uint64(0)
    for k in inside:
        is_inside[k] = True
    for i in beyond:
        size = 0
        for t in range(len(meeting)):
            if met[i, t // _BITS] & (one << np.uint64(t % _BITS)):
                own[size] = t
                size += 1
        # Masks of the rays that lack at most j of the first inequalities: those that decide on `most` of all.
        most = size - least
        lacking[: most + 1] = ~none
        for done in range(1, size + 1):
            t = own[done - 1]
            for j in range(min(most, done), max(0, most - size + done - 1), -1):
                for w in range(blocks):
                    lacking[j, w] = (lacking[j, w] & meeting[t, w]) | lacking[j - 1, w]
            if most - size + done <= 0:
                for w in range(blocks):
                    lacking[0, w] &= meeting[t, w]
        close = 0
        for w in range(blocks):
            if lacking[most, w]:
                for k in range(_BITS * w, min(_BITS * (w + 1), rays)):
                    if k != i and lacking[most, w] & (one << np.uint64(k % _BITS)):
                        near[close] = k
                        close += 1
        # The same masks, of these rays alone.
        few, last = (close + _BITS - 1) // _BITS, 0
        shared[:size, :few] = none
        for a in range(close):
            for j in range(size):
                if met[near[a], own[j] // _BITS] & (one << np.uint64(own[j] % _BITS)):
                    shared[j, a // _BITS] |= one << np.uint64(a % _BITS)
        for a in range(close):
            if not is_inside[near[a]]:
                continue
            adjacent, itself = True, one << np.uint64(a % _BITS)
            # What was between the last two is often between the next two.
            for b in range(few):
                w = (last + b) % few
                between = ~none if close - _BITS * w >= _BITS else (one << np.uint64(close % _BITS)) - one
                if w == a // _BITS:
                    between &= ~itself
                for j in range(size):
                    if shared[j, a // _BITS] & itself:
                        between &= shared[j, w]
                if between:
                    adjacent, last = False, w
                    break
            if adjacent:
                if count == len(found):
                    grown = np.empty((2 * count, 2), dtype=np.int64)
                    # One by one: an assignment of arrays compiles what to say of other shapes as well.
                    for k in range(count):
                        grown[k, 0], grown[k, 1] = found[k, 0], found[k, 1]
                    found = grown
                found[count, 0], found[count, 1] = i, near[a]
                count += 1
    return found[:count]
