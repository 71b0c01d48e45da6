r"""Certificates for products of bodies: bounds on the reduced costs of all columns, for every delta at once.

Scaled as in `body_products`, the columns of distinct pairs with special value s0 are products of ::

    O_s(delta)  = {e^(delta/2) <= B(w), A(w) <= e^(eps - delta/2)}   for s != s0,
    S_s0(delta) = {e^(-delta/2) <= B(w), A(w) <= e^(eps + delta/2)},

delta in [0, eps]. Over an interval of deltas let all four ends move linearly: the columns are scaled a little
otherwise, but none is lost. The cover of each body bounds its value along the way by a line (`relaxation`),
so the sum of all bodies is largest at one of the ends of the interval. Where the bound is largest, a cover
is refined or the interval is halved. All pairs are the one product at delta = 0.
"""

from __future__ import annotations

import bisect
import heapq
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import xlogy

from ldpfrontier.channel import FloatArray
from ldpfrontier.optimal.bodies import polish_from
from ldpfrontier.optimal.body_products import BodyProducts, Key, level
from ldpfrontier.optimal.covering import Cover

#: Cells by which a cover is refined at a time; the next time may gain this share of the last gain, or that
#: of what is left, less in large covers.
PORTION, FADING, FLOOR = 250, 0.7, 0.05

#: Best vertices at one delta that are moved to the ends at another.
STARTS = 4

#: Ends of the first intervals of delta, as parts of epsilon.
INTERVALS = (0.0, 0.25, 0.5, 1.0)

#: What a refinement has to gain, as a share of what halving the interval may, for every group.
HALVING = 0.15

#: Lines are drawn anew where better vertices are above them by this share of the bound.
STALE = 0.2

#: A sensitive value, whether it is special, and the ends of an interval of deltas.
Span = tuple[int, bool, float, float]


@dataclass(eq=False)
class _Part:
    """One body along an interval: a line, its bound above it, and how much the next refinement may gain."""

    line: FloatArray  # (2,)
    bound: float
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
        self._lower: dict[Key, float] = {}
        self._parts: dict[Span, _Part] = {}

    def bound(self, work: int, slack: float) -> float:
        """Bound the reduced cost per unit of Z of every column.

        Parameters
        ----------
        work : int
            Most cells to add to the covers.
        slack : float
            How far in total the bounds of the bodies may be above the vertices known.

        Returns
        -------
        float
            inf if none is known.
        """
        eps = self._products.epsilon
        if self._products.distinct and self._groups > 1:
            ends = [eps * part for part in INTERVALS]
            items = [(s0, *pair) for s0 in range(self._groups) for pair in pairwise(ends)]
        else:
            items = [(-1, 0.0, 0.0)]
        # Bounds fall as covers are refined, so a value that was right when it was pushed is an upper bound.
        heap = [(-math.inf, *item) for item in items]
        while True:
            old, s0, low, high = heap[0]
            value = self._value(s0, low, high)
            if -old > value + 1e-12 * abs(value):
                heapq.heapreplace(heap, (-value, s0, low, high))
                continue
            whole = sum(self._known((s, 0.0, False)) for s in range(self._groups))
            if work <= 0 or value <= whole + slack:
                break
            span = max(self._spans(s0, low, high), key=lambda span: self._part(span).gain)
            if self._halving(s0, low, high) > self._part(span).gain:
                middle = 0.5 * (low + high)
                heapq.heappop(heap)
                for pair in ((low, middle), (middle, high)):
                    heapq.heappush(heap, (-self._value(s0, *pair), s0, *pair))
                work -= PORTION
            elif self._part(span).gain > 0.0:
                self._refine(span, slack)
                work -= PORTION
            else:
                break
        self._heap = heap
        return self._lam - 1.0 - math.log(-value) if value < 0.0 else math.inf

    def scout(self, cells: int) -> bool:
        """Look for better vertices with a few cells for every body of the products in use."""
        before = {key: self._known(key) for key in self._products.in_use()}
        for s, delta, special in before:
            span = s, special, delta, delta
            if self._part(span).gain > 0.0:
                self._refine(span, 0.0, cells)
        return any(self._known(key) > lower for key, lower in before.items())

    def missing(self) -> Iterator[tuple[int, float]]:
        """List special values and deltas whose known columns have a positive reduced cost."""
        worst: dict[int, tuple[float, float, float]] = {}
        for value, s0, low, high in self._heap:
            worst[s0] = min(worst.get(s0, (math.inf, 0.0, 0.0)), (value, low, high))
        for s0, (_, low, high) in worst.items():
            total, delta = max((self._total(s0, delta), delta) for delta in (low, 0.5 * (low + high), high))
            if delta > 0.0 and total > -math.exp(self._lam - 1.0):
                yield s0, delta

    def _total(self, s0: int, delta: float) -> float:
        keys = self._products.members(s0, delta)
        self._learn(keys)
        return sum(self._lower[key] for key in keys)

    def _spans(self, s0: int, low: float, high: float) -> list[Span]:
        spans = [(s, s == s0, low, high) for s in range(self._groups)]
        self._learn(dict.fromkeys(key for span in spans for key in self._keys(span)))
        return spans

    def _value(self, s0: int, low: float, high: float) -> float:
        parts = [self._part(span) for span in self._spans(s0, low, high)]
        return float(np.sum([part.line for part in parts], axis=0).max() + sum(part.bound for part in parts))

    def _halving(self, s0: int, low: float, high: float) -> float:
        """Estimate what each refinement gains that halving an interval is worth."""
        if high - low <= 1e-6 * self._products.epsilon:
            return 0.0
        left = sum(self._part(span).bound for span in self._spans(s0, low, high))
        return HALVING * left / self._groups if math.isfinite(left) else 0.0

    def _keys(self, span: Span) -> tuple[Key, Key]:
        s, special, low, high = span
        return (s, low, special and low > 0.0), (s, high, special and high > 0.0)

    def _known(self, key: Key) -> float:
        """Return the value of the best vertex known of a body."""
        self._learn([key])
        return self._lower[key]

    def _learn(self, keys: Iterable[Key]) -> None:
        """Look for vertices of bodies not seen before: the best ones at other deltas, moved and improved."""
        chosen, prices, starts = [], [], []
        new = [key for key in keys if key not in self._lower]
        for key in new:
            body, c = self._products.body(key, listed=False), self._tilted[key[0]]
            if body.movable and key[1] > 0.0:
                chosen.append(body)
                prices.append(c)
                others = (key[0], 0.0, False), *self._near(key)
                starts.append(np.concatenate([self._best(other, c) for other in others]))
        if chosen:
            polish_from(chosen, prices, starts)
        for key in new:
            body, c = self._products.body(key), self._tilted[key[0]]
            if body.movable:
                self._lower[key] = float(body.reduced(c).max())
            else:
                # A box, or constants only: every letter at one end.
                worth = [xlogy(w, w) * body.prior - w * body.folded(c) for w in (body.bottom, body.top)]
                self._lower[key] = float(np.maximum(*worth).sum())

    def _near(self, key: Key) -> list[Key]:
        """List the nearest bodies seen, of smaller and of larger delta."""
        s, delta, special = key
        seen = sorted(at for t, at, kind in self._lower if t == s and kind == special)
        place = bisect.bisect(seen, delta)
        return [(s, at, special) for at in seen[max(place - 1, 0) : place + 1]]

    def _best(self, key: Key, prices: FloatArray) -> FloatArray:
        """Return the best vertices known of a body, in folded letters."""
        body = self._products.body(key)
        reduced = body.reduced(prices)
        return body.compact(np.argpartition(reduced, -min(STARTS, len(reduced)))[-STARTS:])

    def _part(self, span: Span) -> _Part:
        if span not in self._parts:
            keys = self._keys(span)
            line = np.array([self._known(key) for key in keys])
            if any(self._products.body(key).movable for key in keys):
                self._parts[span] = _Part(line, self._inherited(span, line), math.inf)
            else:
                # What a box is worth is convex along the way.
                self._parts[span] = _Part(line, 0.0, 0.0)
        return self._parts[span]

    def _inherited(self, span: Span, line: FloatArray) -> float:
        """Return what the bound of the interval that was halved says."""
        s, special, low, high = span
        width = high - low
        for first in (low, low - width):
            whole = self._parts.get((s, special, first, first + 2.0 * width))
            if whole is not None:
                start, rise = whole.line[0], whole.line[1] - whole.line[0]
                ends = start + rise * (np.array([low, high]) - first) / (2.0 * width)
                return float((ends - line).max()) + whole.bound
        return math.inf

    def _refine(self, span: Span, slack: float, cells: int = PORTION) -> None:
        part, keys = self._part(span), self._keys(span)
        s, c = span[0], self._tilted[span[0]]
        distinct = keys[: 1 + (keys[0] != keys[1])]
        if part.cover is None:
            base = self._products.body((s, 0.0, False))
            part.cover = Cover(
                base,
                c,
                np.array([math.exp(self._products.epsilon + 0.5 * level(key)) for key in distinct]),
                np.array([math.exp(-0.5 * level(key)) for key in distinct]),
                part.line[: len(distinct)],
            )
        target = self._left(part, keys) + slack / self._groups
        bound = min(part.cover.bound(target, cells), part.bound)
        gained = part.bound - bound if math.isfinite(part.bound) else bound - target
        part.bound = bound
        if bound > target and part.cover.size >= 2 * part.searched:
            part.searched = part.cover.size
            bodies = {key: self._products.body(key) for key in distinct if self._products.body(key).movable}
            hints = part.cover.hints()
            if polish_from([*bodies.values()], [c] * len(bodies), [hints] * len(bodies)):
                for key, body in bodies.items():
                    self._lower[key] = float(body.reduced(c).max())
                if self._left(part, keys) > STALE * bound:
                    part.line = np.array([self._known(key) for key in keys])
                    part.cover.measure_from(part.line[: len(distinct)])
                    bound = part.bound = part.cover.bound(0.0, 0)
                target = min(self._left(part, keys) + slack / self._groups, bound)
        floor = FLOOR * min(1.0, 4 * PORTION / part.cover.size)
        part.gain = min(max(FADING * gained, floor * (bound - target)), bound - target)

    def _left(self, part: _Part, keys: tuple[Key, Key]) -> float:
        """Return how far known vertices at the ends are above the line."""
        return max(self._known(key) - float(at) for key, at in zip(keys, part.line, strict=True))
