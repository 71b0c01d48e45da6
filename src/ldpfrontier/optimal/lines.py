r"""Lines in z that known vertices of bodies are not above, for parts of the columns (see `certificates`).

A column is of the part whose ends the largest z of its bodies lies between: all of them have z <= high, and
at least one has z > low. The latter may have a bonus, a price on their number. Lines of slope lam have the
heights ::

    h_s = max of f_s(w) - lam z(w) - (bonus if z(w) > low),     z(w) <= high,

and if these and the bonus add up to -e^(lam - 1 - kappa), no column of the part has a larger reduced cost
than kappa per unit of Z (`products.tangent_bound`), which is convex in lam and the bonus. Lines that leave
bodies between the ends the most room, with the largest bonus, are the easiest for covers. Where they do not
do, those with the least kappa are taken; where these do not, the products of the part are split if they need
slopes of their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.channel import FloatArray
from ldpfrontier.compiled import inner, kernel
from ldpfrontier.optimal.products import tangent_bound

#: Steps of golden sections for slopes, and of those for bonuses; the section.
SLOPES, BONUSES, GOLDEN = 36, 24, 0.5 * (math.sqrt(5.0) - 1.0)

#: Least slope, and how far the largest one is above 1 + log of the largest Z.
FLATTEST, STEEPEST = -1.0, 1.0

#: Ratio of z to an end up to which they count as the same.
NEARLY = 1.001

#: Share of what is too much that slopes of their own must save to split the products of a part.
SAVED = 0.5


class Known(NamedTuple):
    """Known points of bodies, one body after the other: vertices, and points where z is split."""

    f: FloatArray  # (m,)
    z: FloatArray  # (m,)
    first: NDArray[np.int64]  # (bodies + 1,): where those of each begin

    @classmethod
    def of(cls, bodies: Sequence[tuple[FloatArray, FloatArray]]) -> Known:
        """Put f and z of the points of bodies one after the other."""
        f, z = (np.concatenate(list(each)) for each in zip(*bodies, strict=True))
        return cls(f, z, np.cumsum([0, *(len(own) for own, _ in bodies)]))


@dataclass(frozen=True)
class Part:
    """Some columns, and their lines at K knots.

    Attributes
    ----------
    products : ndarray of int
        The products that they are of.
    low, high : float
        Ends of the largest z of a body.
    kappa, slope, bonus : ndarray, shape (K,)
    heights : ndarray, shape (bodies, K)
    """

    products: NDArray[np.int64]
    low: float
    high: float
    kappa: FloatArray
    slope: FloatArray
    bonus: FloatArray
    heights: FloatArray


@inner
def _tops(known: Known, low: float, high: float, slope: float, lower: FloatArray, upper: FloatArray) -> None:
    """Find the largest f - slope z of every body below `low` and between the ends, ends included.

    Of a body that is above `high` alone, it is that of the least z.
    """
    for s in range(lower.size):
        lower[s] = upper[s] = -np.inf
        least, nearest = np.inf, 0.0
        for i in range(known.first[s], known.first[s + 1]):
            z = known.z[i]
            value = known.f[i] - slope * z
            if z <= low:
                lower[s] = max(lower[s], value)
            # Points at an end are on both sides of it.
            if low <= NEARLY * z and z <= NEARLY * high:
                upper[s] = max(upper[s], value)
            if z < least:
                least, nearest = z, value
        if lower[s] == -np.inf and upper[s] == -np.inf:
            upper[s] = nearest


@inner
def _total(lower: FloatArray, upper: FloatArray, bodies: NDArray[np.int64], bonus: float) -> float:
    """Return the largest sum over the products of heights and the bonus."""
    most = -np.inf
    for n in range(bodies.shape[0]):
        total = bonus
        for s in bodies[n]:
            total += max(lower[s], upper[s] - bonus)
        most = max(most, total)
    return most


@inner
def _cheapest(
    lower: FloatArray, upper: FloatArray, bodies: NDArray[np.int64], low: float
) -> tuple[float, float]:
    """Find the bonus with the least total; return both."""
    if low <= 0.0:
        return _total(lower, upper, bodies, 0.0), 0.0
    a, b = 0.0, 0.0
    for s in range(lower.size):
        if lower[s] > -np.inf and upper[s] > -np.inf:
            a = min(a, upper[s] - lower[s])
    c, d = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
    at_c, at_d = _total(lower, upper, bodies, c), _total(lower, upper, bodies, d)
    for _ in range(BONUSES):
        if at_c < at_d:
            b, d, at_d = d, c, at_c
            c = b - GOLDEN * (b - a)
            at_c = _total(lower, upper, bodies, c)
        else:
            a, c, at_c = c, d, at_d
            d = a + GOLDEN * (b - a)
            at_d = _total(lower, upper, bodies, d)
    none = _total(lower, upper, bodies, 0.0)
    if none <= min(at_c, at_d):
        return none, 0.0
    return (at_c, c) if at_c < at_d else (at_d, d)


@inner
def _said(
    known: Known,
    bodies: NDArray[np.int64],
    part: tuple[float, float],
    slope: float,
    lower: FloatArray,
    upper: FloatArray,
) -> tuple[float, float]:
    """Return the least kappa of lines with a slope, and the bonus with which they say it."""
    _tops(known, part[0], part[1], slope, lower, upper)
    total, bonus = _cheapest(lower, upper, bodies, part[0])
    return tangent_bound(slope, total), bonus


@inner
def _tightest(
    known: Known,
    bodies: NDArray[np.int64],
    part: tuple[float, float],
    b: float,
    lower: FloatArray,
    upper: FloatArray,
) -> float:
    """Find the slope up to b with the least kappa."""
    a = FLATTEST
    c, d = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
    at_c = _said(known, bodies, part, c, lower, upper)[0]
    at_d = _said(known, bodies, part, d, lower, upper)[0]
    for _ in range(SLOPES):
        if at_c < at_d:
            b, d, at_d = d, c, at_c
            c = b - GOLDEN * (b - a)
            at_c = _said(known, bodies, part, c, lower, upper)[0]
        else:
            a, c, at_c = c, d, at_d
            d = a + GOLDEN * (b - a)
            at_d = _said(known, bodies, part, d, lower, upper)[0]
    return c if at_c < at_d else d


@inner
def _room(
    known: Known,
    bodies: NDArray[np.int64],
    slope: float,
    z: float,
    low: float,
    lower: FloatArray,
    upper: FloatArray,
) -> float:
    """Return what a body of mean z may have if the others are at their best below `low`, or about that."""
    _tops(known, low, low, slope, lower, upper)
    for s in range(lower.size):
        lower[s] = max(lower[s], upper[s])
    return float(slope * z - np.exp(slope - 1.0) - _total(lower, lower, bodies, 0.0))


@inner
def _roomiest(
    known: Known,
    bodies: NDArray[np.int64],
    z: float,
    low: float,
    b: float,
    lower: FloatArray,
    upper: FloatArray,
) -> float:
    """Find the slope up to b that leaves a body of mean z the most room."""
    a = FLATTEST
    c, d = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
    at_c = _room(known, bodies, c, z, low, lower, upper)
    at_d = _room(known, bodies, d, z, low, lower, upper)
    for _ in range(SLOPES // 2):
        if at_c > at_d:
            b, d, at_d = d, c, at_c
            c = b - GOLDEN * (b - a)
            at_c = _room(known, bodies, c, z, low, lower, upper)
        else:
            a, c, at_c = c, d, at_d
            d = a + GOLDEN * (b - a)
            at_d = _room(known, bodies, d, z, low, lower, upper)
    return 0.5 * (a + b)


@kernel
def best_line(
    known: Known,
    bodies: NDArray[np.int64],
    part: tuple[float, float],
    z: float,
    enough: float,
    lower: FloatArray,
    upper: FloatArray,
) -> tuple[float, float, float]:
    """Find a slope and a bonus for some products that say enough, or the least there is.

    Parameters
    ----------
    known : Known
    bodies : ndarray of int, shape (products, a1)
        Theirs.
    part : (float, float)
        Its ends.
    z : float
        Where lines should leave the most room, if they can; none with 0.
    enough : float
        Kappa up to which a bonus is raised.
    lower, upper : ndarray, shape (all bodies,)
        The result, too: the largest f - slope z below the lower end and above it.

    Returns
    -------
    kappa, slope, bonus : float
    """
    low, high = part
    most = 0.0
    for s in range(lower.size):
        largest = 0.0
        for i in range(known.first[s], known.first[s + 1]):
            largest = max(largest, known.z[i])
        most += largest
    b = 1.0 + np.log(most) + STEEPEST
    if z > 0.0:
        slope = _roomiest(known, bodies, z, low, b, lower, upper)
        _tops(known, low, high, slope, lower, upper)
        limit = -np.exp(slope - 1.0 - enough)
        total, bonus = _cheapest(lower, upper, bodies, low)
        if total <= limit:
            # The total rises with the bonus from here on.
            largest = 0.0
            for _ in range(BONUSES):
                middle = 0.5 * (bonus + largest)
                if _total(lower, upper, bodies, middle) <= limit:
                    bonus = middle
                else:
                    largest = middle
            return tangent_bound(slope, _total(lower, upper, bodies, bonus)), slope, bonus
    slope = _tightest(known, bodies, part, b, lower, upper)
    kappa, bonus = _said(known, bodies, part, slope, lower, upper)
    return kappa, slope, bonus


def _part(
    known: Sequence[Known],
    bodies: NDArray[np.int64],
    products: NDArray[np.int64],
    ends: tuple[float, float],
    enough: float,
) -> Part:
    """Find the lines of a part."""
    count, K = len(known[0].first) - 1, len(known)
    kappa, slope, bonus, heights = np.empty(K), np.empty(K), np.empty(K), np.empty((count, K))
    lower, upper = np.empty((2, count))
    for k, own in enumerate(known):
        z = math.sqrt(ends[0] * min(ends[1], max(float(own.z.max()), ends[0])))
        kappa[k], slope[k], bonus[k] = best_line(own, bodies[products], ends, z, enough, lower, upper)
        heights[:, k] = np.maximum(lower, upper - bonus[k])
    return Part(products, *ends, kappa, slope, bonus, heights)


def parts(
    known: Sequence[Known],
    points: Sequence[Known],
    bodies: NDArray[np.int64],
    edges: FloatArray,
    enough: float,
    worth: float = 0.0,
) -> list[Part]:
    """Split the columns into parts with lines that say enough, or nearly.

    Parameters
    ----------
    known : sequence of Known
        Vertices at every knot.
    points : sequence of Known
        The same, and points at the edges.
    bodies : ndarray of int, shape (products, a1)
        Those of every product.
    edges : ndarray
        Where z may be split, rising.
    enough : float
        Kappa to reach.
    worth : float
        Kappa above which z is split, if that is more.
    """
    groups, found = [np.arange(len(bodies))], list[Part]()
    while groups:
        part = _part(known, bodies, groups.pop(), (0.0, math.inf), enough)
        halves = _halves(known, bodies, part, enough)
        groups += halves
        if not halves and part.kappa.max() <= max(enough, worth):
            found.append(part)
        elif not halves:
            found += _split(points, bodies, part.products, [0.0, *edges.tolist(), math.inf], enough)
    return found


def _split(
    known: Sequence[Known],
    bodies: NDArray[np.int64],
    products: NDArray[np.int64],
    ends: list[float],
    enough: float,
) -> list[Part]:
    """Split the columns of some products at all ends but the first ones that need not be."""
    first, beyond = 1, len(ends) - 1
    while beyond - first > 1:
        middle = (first + beyond) // 2
        if _part(known, bodies, products, (0.0, ends[middle]), enough).kappa.max() <= enough:
            first = middle
        else:
            beyond = middle
    todo, done = [(products, own) for own in pairwise([0.0, *ends[first:]])], list[Part]()
    while todo:
        own, interval = todo.pop()
        part = _part(known, bodies, own, interval, enough)
        halves = _halves(known, bodies, part, enough)
        todo += [(half, interval) for half in halves]
        done += [] if halves else [part]
    return done


def _halves(
    known: Sequence[Known], bodies: NDArray[np.int64], part: Part, enough: float
) -> list[NDArray[np.int64]]:
    """Split the products of a part, if it says too much and slopes of their own are what they need."""
    k = int(part.kappa.argmax())
    if part.kappa[k] <= enough or len(part.products) == 1:
        return []
    lower, upper = np.empty((2, len(known[0].first) - 1))
    alone = np.array(
        [
            best_line(known[k], bodies[[n]], (part.low, part.high), 0.0, enough, lower, upper)[:2]
            for n in part.products
        ]
    )
    steep, saved = alone[:, 1] > part.slope[k], part.kappa[k] - alone[:, 0].max()
    if saved <= SAVED * (part.kappa[k] - enough) or steep.all() or not steep.any():
        return []
    return [part.products[~steep], part.products[steep]]
