r"""Certificates for products of bodies: bounds on the reduced costs of all columns, for every delta at once.

Scaled as in `body_products`, the columns of distinct pairs with special value s0 are products of ::

    O_s(delta)  = {e^(delta/2) <= B(w), A(w) <= e^(eps - delta/2)}   for s != s0,
    S_s0(delta) = {e^(-delta/2) <= B(w), A(w) <= e^(eps + delta/2)},

delta in [0, eps], times e^(lean delta) with any lean between -1/2 and 1/2. O_s shrinks with delta and S_s0
grows, so the columns of an interval [low, high] of deltas lie in the product of O_s(low) and S_s0(high): its
value is bounded by the covers of these bodies. One tangent of z log z serves all deltas, as a lean keeps Z
where it touches. Where the bound is largest, a cover is refined or the interval is halved. All pairs are the
one product at delta = 0.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from ldpfrontier.channel import FloatArray
from ldpfrontier.optimal.bodies import Body, polish_from, value_within
from ldpfrontier.optimal.body_products import BodyProducts, Key, level
from ldpfrontier.optimal.covering import Cover

#: Cells by which a cover is refined at a time; the next time may gain this share of the last gain, or that
#: of what is left, by how much larger the cover gets.
PORTION, FADING, FLOOR = 1_000, 0.7, 0.5

#: Vertices that are moved to other ends.
STARTS = 4

#: Intervals, the loosest ones, in which columns that are missing are looked for.
LOOKED_AT = 200

#: Refinements of covers that a halved interval costs.
HALVING = 6.0

#: Leans are multiples of this, so that covers are shared; a special value has its own if it is another one by
#: more, and the reduced costs of its columns reach this share of the value below zero.
LEANS, NEARLY = 0.1, 0.01

#: A body, and its lean: it is scaled by e^(lean delta).
Place = tuple[Key, float]


@dataclass(eq=False)
class _Part:
    """One body at one delta: bounds of its value, and how much the next refinement may gain."""

    bound: float
    lower: float
    gain: float
    cover: Cover | None = None
    searched: int = 0  # cells of the cover when better vertices were looked for


class Certificate:
    """Bounds at some prices.

    Parameters
    ----------
    products : BodyProducts
    prices : ndarray, shape (a1, a2)
    """

    def __init__(self, products: BodyProducts, prices: FloatArray) -> None:
        self._products = products
        centre = products.ball.centre
        self._lam = products.product(0, 0.0).excess(prices)[1]
        self._tilted = prices.reshape(centre.shape) + self._lam * centre
        self._groups = len(centre)
        # Z at delta = 0 is about e^(lam - 1): where nothing else is known, it is kept there.
        common = _lean((self._lam - 1.0) / products.epsilon - 0.5)
        self._leans = dict.fromkeys(range(-1, self._groups), common)
        for excess, s0, delta, lam in sorted(products.tangents(prices)):
            lean = _lean((self._lam - lam) / delta) if delta > 0.0 else common
            if excess > -NEARLY * prices.sum() and abs(lean - common) > 1.5 * LEANS:
                self._leans[s0] = lean
        self._parts: dict[Place, _Part] = {}

    def bound(self, work: int, slack: float, *, last: bool = True) -> float:
        """Bound the reduced cost per unit of Z of every column.

        Parameters
        ----------
        work : int
            Most cells to add to the covers.
        slack : float
            How far in total the bounds of the bodies may be above the vertices known.
        last : bool
            Whether to go on where known columns are already above: other prices are better then.

        Returns
        -------
        float
            inf if none is known.
        """
        eps = self._products.epsilon
        whole = sum(self._part(((s, 0.0, False), 0.0)).lower for s in range(self._groups))
        if self._products.distinct and self._groups > 1:
            items = [(s0, 0.0, eps) for s0 in range(self._groups)]
        else:
            items = [(-1, 0.0, 0.0)]
        # Bounds fall as covers are refined, so a value that was right when it was pushed is an upper bound.
        heap = [(-self._value(*item), *item) for item in items]
        heapq.heapify(heap)
        while True:
            old, s0, low, high = heap[0]
            value = self._value(s0, low, high)
            if -old > value + 1e-12 * abs(value):
                heapq.heapreplace(heap, (-value, s0, low, high))
                continue
            if work <= 0 or value <= whole + slack:
                break
            if not last and self._known(s0, low, high)[0] > whole + slack:
                break
            place = max(self._places(s0, low, high), key=lambda place: self._parts[place].gain)
            if self._halving(s0, low, high) > HALVING * self._parts[place].gain:
                middle = 0.5 * (low + high)
                heapq.heappop(heap)
                for ends in ((low, middle), (middle, high)):
                    heapq.heappush(heap, (-self._value(s0, *ends), s0, *ends))
                work -= self._groups
            elif self._parts[place].gain > 0.0:
                work -= self._refine(place, slack)
            else:
                break
        self._heap, self.worst = heap, (s0, low, high)
        return self._lam - 1.0 - math.log(-value) if value < 0.0 else math.inf

    def scout(self, cells: int, deltas: Sequence[float] = ()) -> float:
        """Look for better vertices with a few cells for every body of the products in use.

        Parameters
        ----------
        cells : int
            Cells of each body.
        deltas : sequence of float
            Where special bodies are looked at, too, whether or not they are in use.

        Returns
        -------
        float
            What the vertices found gain in all, in the largest product.
        """
        gains: dict[int, float] = {}
        keys = set(self._products.in_use())
        self._heap = [(0.0, s0, delta, delta) for s0 in range(self._groups) for delta in deltas]
        special = {(s0, delta, True) for _, s0, delta, _ in self._heap}
        for key in sorted(keys | special):
            place = self._place(key, key[0] if key[2] else -1)
            part = self._part(place)
            if part.gain == math.inf:
                before = part.lower
                self._refine(place, 0.0, cells)
                if key in keys:
                    gains[key[0]] = max(gains.get(key[0], 0.0), part.lower - before)
        return sum(gains.values())

    def missing(self) -> list[tuple[int, float]]:
        """List special values, each with a delta, whose known columns have a positive reduced cost."""
        worst: dict[int, tuple[float, float]] = {}
        for _, s0, low, high in heapq.nsmallest(LOOKED_AT, self._heap):
            worst[s0] = max(worst.get(s0, (-math.inf, 0.0)), self._known(s0, low, high))
        least = -math.exp(self._lam - 1.0)
        return [(s0, delta) for s0, (total, delta) in worst.items() if delta > 0.0 and total > least]

    def _known(self, s0: int, low: float, high: float) -> tuple[float, float]:
        """Return what known columns reach in the middle of an interval of deltas, and the middle."""
        delta = 0.5 * (low + high)
        return sum(self._part(place).lower for place in self._places(s0, delta, delta)), delta

    def _value(self, s0: int, low: float, high: float) -> float:
        return sum(self._part(place).bound for place in self._places(s0, low, high))

    def _halving(self, s0: int, low: float, high: float) -> float:
        """Estimate what halving an interval gains: half of what the special body does along it."""
        if high - low <= 1e-6 * self._products.epsilon:
            return 0.0
        ends = [self._part(self._place((s0, delta, delta > 0.0), s0)) for delta in (low, high)]
        return 0.5 * max(ends[1].lower - ends[0].lower, 0.0)

    def _place(self, key: Key, s0: int) -> Place:
        """Say by what a body is scaled for the columns of a special value."""
        return key, self._leans[s0] if key[1] > 0.0 else 0.0

    def _places(self, s0: int, low: float, high: float) -> list[Place]:
        return [self._place(key, s0) for key in self._products.members(s0, low, high)]

    def _base(self, key: Key) -> Body:
        """Return the body at delta = 0, which has the same ball."""
        return self._products.body((key[0], 0.0, False))

    def _ends(self, place: Place) -> tuple[float, float]:
        """Return the top and the bottom of a body."""
        key, scale = place[0], _scale(place)
        return (
            scale * math.exp(self._products.epsilon + 0.5 * level(key)),
            scale * math.exp(-0.5 * level(key)),
        )

    def _best(self, place: Place, body: Body) -> float:
        """Return the largest value of the known vertices of a body, scaled."""
        scale = _scale(place)
        return scale * float((body.reduced(self._tilted[place[0][0]]) + math.log(scale) * body.z).max())

    def _part(self, place: Place) -> _Part:
        if place not in self._parts:
            key = place[0]
            base, c = self._base(key), self._tilted[key[0]]
            top, bottom = self._ends(place)
            if not base.movable or level(key) == -self._products.epsilon:
                # A box, or constants only: every letter at one end.
                worth = [xlogy(w, w) * base.prior - w * base.folded(c) for w in (bottom, top)]
                value = float(np.maximum(*worth).sum())
                self._parts[place] = _Part(value, value, 0.0)
            else:
                body = self._products.known_body(key)
                if body is not None:
                    lower = self._best(place, body)
                else:
                    lower = value_within(base, c, top, bottom, base.best(c, STARTS))
                self._parts[place] = _Part(self._inherited(place), lower, math.inf)
        return self._parts[place]

    def _inherited(self, place: Place) -> float:
        """Return the bound of the smallest body so far that contains the one at delta."""
        (s, delta, special), lean = place
        containing = [
            part.bound
            for ((t, at, kind), own), part in self._parts.items()
            if t == s
            and (own == lean or at == 0.0)
            and ((at >= delta and kind) if special else (at <= delta and not kind))
        ]
        return min(containing, default=math.inf)

    def _refine(self, place: Place, slack: float, cells: int = PORTION) -> int:
        """Refine a cover, and look for vertices where it is loose; return the number of cells added."""
        key, part = place[0], self._parts[place]
        if part.cover is None:
            part.cover = Cover(self._base(key), self._tilted[key[0]], *((end, end) for end in self._ends(place)))
        before = part.cover.size
        target = part.lower + slack / self._groups
        bound = min(part.cover.bound(target, cells), part.bound)
        gained = part.bound - bound if math.isfinite(part.bound) else bound - target
        part.bound = bound
        if bound > target and part.cover.size >= 2 * part.searched:
            part.searched = part.cover.size
            part.lower = max(part.lower, self._found(place, part.cover.hints()[0]))
            target = min(part.lower + slack / self._groups, bound)
        part.gain = min(FADING * gained, bound - target)
        part.gain = max(part.gain, FLOOR * PORTION / part.cover.size * (bound - target))
        return part.cover.size - before

    def _found(self, place: Place, hints: FloatArray) -> float:
        """Look for better vertices from some places; return the value of the best one known."""
        key, scale = place[0], _scale(place)
        body, c = self._products.known_body(key), self._tilted[key[0]]
        if body is None:
            return value_within(self._base(key), c, *self._ends(place), hints)
        # Scaled letters are worth scale (f + log(scale) z).
        polish_from([body], [c - math.log(scale) * self._products.ball.centre[key[0]]], [hints / scale])
        return self._best(place, body)


def _scale(place: Place) -> float:
    (_, delta, _), lean = place
    return math.exp(lean * delta)


def _lean(part: float) -> float:
    """Round a lean to one that others share."""
    return min(max(LEANS * round(part / LEANS), -0.5), 0.5)
