r"""Lines in z that known vertices of bodies are not above, for parts of the columns (see `certificates`).

A column is of the part whose ends the largest z of its bodies lies between: all of them have z <= high, and
at least one has z > low. The latter may have a bonus, a price on their number. Lines of slope lam have the
heights ::

    h_s = max of f_s(w) - lam z(w) - (bonus if z(w) > low),     z(w) <= high,

and if these and the bonus add up to -e^(lam - 1 - kappa), no column of the part has a larger reduced cost
than kappa per unit of Z (`products.tangent_bound`), which is convex in lam and the bonus. Lines that leave
bodies between the ends the most room, with the largest bonus, are the easiest for covers. Where they do not
do, those with the least kappa are taken. Products that need slopes of their own are told apart before z is
split.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.numerics.jit import inner, kernel
from ldpfrontier.optimal.products.pricing import tangent_bound
from ldpfrontier.types import FloatArray

#: Steps of golden sections for slopes, and of bisections for bonuses; the section.
SLOPES, BONUSES, GOLDEN = 36, 24, 0.5 * (math.sqrt(5.0) - 1.0)

#: Least slope, and how far the largest one is above 1 + log of the largest Z.
FLATTEST, STEEPEST = -1.0, 1.0

#: Ratio of z to an end up to which they count as the same: beside a vertex f falls as a cliff, which moves
#: with delta. Where lines fell with it, covers would take ever smaller cells to follow.
NEARLY = 1.03

#: Share of what is too much that slopes of their own must save to split the products of a part.
SAVED = 0.5

#: Share of the knots up to which those between two where z is split have it split, too.
BETWEEN = 0.1


#: f and z of points of a body, and the z that tells which parts they are of.
Located = tuple[FloatArray, FloatArray, FloatArray]


def join(points: Sequence[Located]) -> Located:
    """Put points one after the other."""
    f, z, at = (np.concatenate(list(each)) for each in zip(*points, strict=True))
    return f, z, at


class Known(NamedTuple):
    """Known points of bodies, one body after the other: vertices, and points where z is split."""

    f: FloatArray  # (m,)
    z: FloatArray  # (m,)
    at: FloatArray  # (m,): the z that tells which parts they are of
    first: NDArray[np.int64]  # (bodies + 1,): where those of each begin

    @classmethod
    def of(cls, bodies: Sequence[Located]) -> Known:
        """Put the points of bodies one after the other."""
        return cls(*join(bodies), np.cumsum([0, *(len(own) for own, *_ in bodies)]))


@dataclass(frozen=True)
class Part:
    """Some columns, and their lines at K knots in a row.

    Attributes
    ----------
    products : ndarray of int
        The products that they are of.
    first : int
        The first of the knots.
    low, high : float
        Ends of the largest z of a body.
    kappa, slope, bonus : ndarray, shape (K,)
    heights : ndarray, shape (bodies, K)
    """

    products: NDArray[np.int64]
    first: int
    low: float
    high: float
    kappa: FloatArray
    slope: FloatArray
    bonus: FloatArray
    heights: FloatArray

    @property
    def knots(self) -> slice:
        """The knots."""
        return slice(self.first, self.first + len(self.slope))

    def of(self, knots: slice) -> Part:
        """Return the part at some of its knots."""
        own = slice(knots.start - self.first, knots.stop - self.first)
        lines = self.kappa[own], self.slope[own], self.bonus[own], self.heights[:, own]
        return Part(self.products, knots.start, self.low, self.high, *lines)


class Case(NamedTuple):
    """Some products, a part of their columns, and space."""

    known: Known
    bodies: NDArray[np.int64]  # (products, a1)
    low: float
    high: float
    below: FloatArray  # (all bodies,): the largest f - slope z up to the lower end
    inside: FloatArray  # (all bodies,): and between the ends

    @classmethod
    def of(cls, known: Known, bodies: NDArray[np.int64], low: float, high: float) -> Case:
        """Return a case with space of its own."""
        return cls(known, bodies, low, high, *np.empty((2, len(known.first) - 1)))


@inner
def _tops(case: Case, slope: float, high: float) -> None:
    """Find the largest f - slope z of every body up to the lower end and from there to `high`, ends included.

    Of a body that is above `high` alone, it is that of the least z.
    """
    known, low = case.known, case.low
    for s in range(case.below.size):
        below = inside = -np.inf
        least, nearest = np.inf, 0.0
        for i in range(known.first[s], known.first[s + 1]):
            at = known.at[i]
            value = known.f[i] - slope * known.z[i]
            if at <= low:
                below = max(below, value)
            # Points at an end are on both sides of it.
            if low <= NEARLY * at and at <= NEARLY * high:
                inside = max(inside, value)
            if at < least:
                least, nearest = at, value
        case.below[s], case.inside[s] = below, nearest if below == inside == -np.inf else inside


@inner
def _total(case: Case, bonus: float) -> tuple[float, bool]:
    """Return the largest sum over the products of heights and the bonus, and whether it rises with it."""
    most, rises = -np.inf, False
    for n in range(case.bodies.shape[0]):
        total, slope = bonus, 1
        for s in case.bodies[n]:
            total += max(case.below[s], case.inside[s] - bonus)
            slope -= case.inside[s] - bonus > case.below[s]
        if total > most:
            most, rises = total, slope > 0
    return most, rises


@inner
def _said(case: Case, slope: float) -> tuple[float, float]:
    """Return the least kappa of lines with a slope, and the largest bonus with which they say it."""
    _tops(case, slope, case.high)
    first = last = 0.0
    if case.low > 0.0:
        for s in range(case.below.size):
            if case.below[s] > -np.inf and case.inside[s] > -np.inf:
                first = min(first, case.inside[s] - case.below[s])
    for _ in range(BONUSES if first < 0.0 else 0):
        middle = 0.5 * (first + last)
        if _total(case, middle)[1]:
            last = middle
        else:
            first = middle
    at_first, at_last = _total(case, first)[0], _total(case, last)[0]
    if at_first < at_last:
        return tangent_bound(slope, at_first), first
    return tangent_bound(slope, at_last), last


@inner
def _cost(case: Case, z: float, slope: float) -> float:
    """Return the least kappa of lines with a slope; with z > 0, what they leave a body of mean z, negated.

    The other bodies are at their best up to the lower end then.
    """
    if z <= 0.0:
        return _said(case, slope)[0]
    _tops(case, slope, case.low)
    return float(np.exp(slope - 1.0) + _total(case, 0.0)[0] - slope * z)


@inner
def _best_slope(case: Case, z: float, steepest: float) -> float:
    """Find the slope with the least cost."""
    a, b = FLATTEST, steepest
    c, d = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
    at_c, at_d = _cost(case, z, c), _cost(case, z, d)
    # Room hardly depends on the slope.
    for _ in range(SLOPES // 2 if z > 0.0 else SLOPES):
        if at_c < at_d:
            b, d, at_d = d, c, at_c
            c = b - GOLDEN * (b - a)
            at_c = _cost(case, z, c)
        else:
            a, c, at_c = c, d, at_d
            d = a + GOLDEN * (b - a)
            at_d = _cost(case, z, d)
    return c if at_c < at_d else d


@kernel
def best_line(case: Case, z: float, enough: float) -> tuple[float, float, float]:
    """Find a slope and a bonus that say enough, or the least there is.

    Parameters
    ----------
    case : Case
        What is largest with the slope found is left in its space.
    z : float
        Where lines should leave the most room, if they can; none with 0.
    enough : float
        Kappa up to which a bonus is raised.

    Returns
    -------
    kappa, slope, bonus : float
    """
    known, most = case.known, 0.0
    for s in range(case.below.size):
        largest = 0.0
        for i in range(known.first[s], known.first[s + 1]):
            largest = max(largest, known.z[i])
        most += largest
    steepest = 1.0 + np.log(most) + STEEPEST
    if z > 0.0:
        slope = _best_slope(case, z, steepest)
        kappa, bonus = _said(case, slope)
        if kappa <= enough:
            # The total rises with the bonus from here on.
            largest = 0.0
            for _ in range(BONUSES):
                middle = 0.5 * (bonus + largest)
                said = tangent_bound(slope, _total(case, middle)[0])
                if said <= enough:
                    kappa, bonus = said, middle
                else:
                    largest = middle
            return kappa, slope, bonus
    slope = _best_slope(case, 0.0, steepest)
    kappa, bonus = _said(case, slope)
    return kappa, slope, bonus


def _part(
    known: Sequence[Known],
    knots: slice,
    bodies: NDArray[np.int64],
    products: NDArray[np.int64],
    ends: tuple[float, float],
    enough: float,
) -> Part:
    """Find the lines of a part."""
    count, K = len(known[0].first) - 1, knots.stop - knots.start
    kappa, slope, bonus, heights = np.empty(K), np.empty(K), np.empty(K), np.empty((count, K))
    for k, own in enumerate(known[knots]):
        case = Case.of(own, bodies[products], *ends)
        z = math.sqrt(ends[0] * min(ends[1], max(float(own.z.max()), ends[0])))
        kappa[k], slope[k], bonus[k] = best_line(case, z, enough)
        heights[:, k] = np.maximum(case.below, case.inside - bonus[k])
    return Part(products, knots.start, *ends, kappa, slope, bonus, heights)


def parts(
    known: Sequence[Known],
    points: Sequence[Known],
    bodies: NDArray[np.int64],
    edges: FloatArray,
    enough: float,
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
    """
    groups, found = [np.arange(len(bodies))], list[Part]()
    while groups:
        part = _part(known, slice(0, len(known)), bodies, groups.pop(), (0.0, math.inf), enough)
        halves = _halves(known, bodies, part, enough)
        groups += halves
        if not halves:
            runs = _runs(part.kappa > enough)
            ends = [0, *(end for run in runs for end in (run.start, run.stop - 1)), len(known) - 1]
            whole = [slice(a, b + 1) for a, b in zip(ends[::2], ends[1::2], strict=True) if a < b or not runs]
            found += [part.of(knots) for knots in whole]
            for knots in runs:
                found += _split(
                    points, knots, bodies, part.products, [0.0, *edges.tolist(), math.inf], enough
                )
    return found


def _runs(needed: NDArray[np.bool_]) -> list[slice]:
    """Return runs of knots that are needed, and the ones beside, those few in between included."""
    runs = list[slice]()
    for k in np.flatnonzero(needed).tolist():
        first, last = max(k - 1, 0), min(k + 2, len(needed))
        if runs and first - runs[-1].stop < BETWEEN * len(needed):
            first = runs.pop().start
        runs.append(slice(first, last))
    return runs


def _split(
    known: Sequence[Known],
    knots: slice,
    bodies: NDArray[np.int64],
    products: NDArray[np.int64],
    ends: list[float],
    enough: float,
) -> list[Part]:
    """Split the columns of some products at as few of the ends as need be, from the lowest on."""
    found, low = list[Part](), 0
    while low < len(ends) - 1:
        high, beyond = low + 1, len(ends)
        part = _part(known, knots, bodies, products, (ends[low], ends[high]), enough)
        while beyond - high > 1:
            middle = (high + beyond) // 2
            wider = _part(known, knots, bodies, products, (ends[low], ends[middle]), enough)
            if wider.kappa.max() <= enough:
                part, high = wider, middle
            else:
                beyond = middle
        found.append(part)
        low = high
    return found


def _halves(
    known: Sequence[Known], bodies: NDArray[np.int64], part: Part, enough: float
) -> list[NDArray[np.int64]]:
    """Split the products of a part, if it says too much and slopes of their own are what they need."""
    k = int(part.kappa.argmax())
    if part.kappa[k] <= enough or len(part.products) == 1:
        return []
    alone = np.array(
        [
            best_line(Case.of(known[k], bodies[[n]], part.low, part.high), 0.0, enough)[:2]
            for n in part.products
        ]
    )
    steep, saved = alone[:, 1] > part.slope[k], part.kappa[k] - alone[:, 0].max()
    if saved <= SAVED * (part.kappa[k] - enough) or steep.all() or not steep.any():
        return []
    return [part.products[~steep], part.products[steep]]
