r"""A proof for `ldpfrontier.verify` of the bound of PolyOpt, with the simplex as envelope and all pairs.

With prices c, a bound is proved if mu(v) <= c . v for all columns v of the class: products of blocks w_s in
K_s (`block_tree`), so that the claim is ::

    sum_s f_s(w_s) <= Z log Z,     Z = sum_s z_s(w_s),     f_s(w) = sum_u P_su w_u log w_u - c_s . w.

mu is convex, so that it is enough to prove this where every w_s is a vertex of K_s. A tangent
-Z log Z <= e^(lam - 1) - lam Z separates the blocks: heights h_s with f_s - lam z_s <= h_s prove it if
e^(lam - 1) + sum_s h_s <= 0. Where no single lam does, the columns are split by the z of a block, again and
again, and every leaf has a lam and heights of its own, for vertices with z_s in its intervals. A few leaves
are enough on all tables seen, as the z of one or two blocks decide about Z.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any, NamedTuple

import numpy as np

from ldpfrontier.certificates.numbers import level_text, ratio_texts, text, text_above
from ldpfrontier.certificates.polyopt.block_tree import BlockData, block_tree
from ldpfrontier.certificates.polyopt.settings import SETTINGS
from ldpfrontier.numerics.jit import kernel
from ldpfrontier.optimal.geometry.polytope import Block
from ldpfrontier.optimal.geometry.settings import SETTINGS as GEOMETRY
from ldpfrontier.optimal.products.tangents import best_tangent
from ldpfrontier.types import FloatArray, Intractable
from ldpfrontier.uncertainty.renyi_ball import RenyiBall


def polyopt_proof(
    ball: RenyiBall, epsilon: float, prices: FloatArray, bound: float, slacks: Sequence[float]
) -> dict[str, Any]:
    """Prove a bound on all mechanisms of PolyOpt; return a claim of kind "polyopt bound", without its kind.

    Parameters
    ----------
    ball : RenyiBall
        The table of the document is its centre, exactly as it is stored.
    epsilon : float
        Privacy level in nats, > 0.
    prices, bound
        Prices at which no column has a positive reduced cost, and their sum or a little more, in nats.
    slacks : sequence of float
        By how much the prices may be raised, as shares of the bound: the first one is taken with which a
        proof of a reasonable size is found.

    Raises
    ------
    Intractable
        If none is found, or the simplices are too small for floating point.
    """
    centre, prices = ball.centre, prices.copy()
    lower = np.minimum(ball.lower_bounds * (1.0 + SETTINGS.bounds_error), 1.0)
    if (1.0 - lower.sum(axis=1)).min() < GEOMETRY.least_rest:
        raise Intractable("A simplex around a projection of F is too small for a proof in floating point.")
    for own, P in zip(prices, centre, strict=True):
        # Of letters that never occur the sum of the prices matters alone.
        own[P == 0.0] = own[P == 0.0].sum() / max(int((P == 0.0).sum()), 1)
    decimals = SETTINGS.price_digits - math.floor(math.log10(bound))
    for slack in slacks:
        written = [_rounded_up(c, decimals) for c in (prices + slack * bound * centre).ravel().tolist()]
        rounded = np.array([float(c) for c in written]).reshape(centre.shape)
        try:
            tree = _Proof(centre, lower, rounded, epsilon).tree(0.5 * slack * bound)
        except Intractable:
            if slack == slacks[-1]:
                raise
            continue
        break
    over = {"order": level_text(ball.order), "radius": level_text(ball.radius)} if ball.order > 1.0 else {}
    return {
        "epsilon": level_text(epsilon),
        "t": ratio_texts(epsilon)[1],
        "bound": f"{sum(written, Decimal(0)):f}",
        "least": [[text_above(x) for x in row] for row in lower.tolist()],
        **over,
        "prices": [f"{c:f}" for c in written],
        "tree": tree,
    }


def _rounded_up(x: float, decimals: int) -> Decimal:
    """Return a number rounded up to some decimals."""
    context = Context(prec=60, rounding=ROUND_CEILING)
    return Decimal(x).quantize(Decimal(1).scaleb(-decimals), context=context)


class _Points(NamedTuple):
    """Vertices of a block by z and f, in order of rising z, and the corners of their upper hull."""

    z: FloatArray
    f: FloatArray
    hull_z: FloatArray
    hull_f: FloatArray


@kernel
def _hull(z: FloatArray, f: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the corners of the upper hull of points in order of rising z."""
    kept = np.empty(z.size, dtype=np.int64)
    m = 0
    for i in range(z.size):
        if m > 0 and z[i] <= z[kept[m - 1]]:
            if f[i] <= f[kept[m - 1]]:
                continue
            m -= 1
        while m > 1:
            a, b = kept[m - 2], kept[m - 1]
            if (f[b] - f[a]) * (z[i] - z[b]) > (f[i] - f[b]) * (z[b] - z[a]):
                break
            m -= 1
        kept[m] = i
        m += 1
    return z[kept[:m]], f[kept[:m]]


def _points(z: FloatArray, f: FloatArray) -> _Points:
    """Return points, given in order of rising z, with their hull."""
    return _Points(z, f, *_hull(z, f))


@dataclass(frozen=True)
class _Node:
    """Columns whose blocks are among these points: all those with z in an interval.

    Attributes
    ----------
    ends : list of tuple
        The intervals.
    margin : float
        Share of e^(lam - 1) that its tangent has to spare when it proves the node.
    lam : float
        The best slope of a tangent.
    excess : float
        e^(lam - 1) + sum_s h_s.
    """

    points: list[_Points]
    ends: list[tuple[float, float]]
    margin: float
    lam: float
    excess: float

    @classmethod
    def at_best_slope(
        cls, points: list[_Points], ends: list[tuple[float, float]], margin: float, lam: float
    ) -> _Node:
        """Return a node with its best slope, searched from the one given."""
        _, lam = best_tangent([p.hull_z for p in points], [p.hull_f for p in points], lam)
        lam = float(text(lam, SETTINGS.slope_digits))
        return cls(points, ends, margin, lam, math.exp(lam - 1.0) + float(_heights(points, lam).sum()))

    @property
    def missing(self) -> float:
        """How far the tangent is from proving the node with the margin, 0 if it does."""
        return max(self.excess + self.margin * math.exp(self.lam - 1.0), 0.0)

    def split(self) -> tuple[int, float, _Node, _Node]:
        """Return the split that leaves least to prove: the block, its z, and both parts.

        Raises
        ------
        Intractable
            If there is nothing to split.
        """
        best, found = 0.0, None
        for s, own in enumerate(self.points):
            for place in _places(own, self.lam):
                z = 0.5 * float(own.z[place - 1] + own.z[place])
                low, high = self._part(s, slice(place), z), self._part(s, slice(place, None), z)
                left = [part.missing / self.missing for part in (low, high)]
                score = (1.001 - left[0]) * (1.001 - left[1])
                if score > best:
                    best, found = score, (s, z, low, high)
        if found is None:
            raise Intractable("A product of single vertices is worth more than its price.")
        return found

    def _part(self, s: int, part: slice, z: float) -> _Node:
        """Return the part of a node with some points of a block, below or above a z."""
        points, ends = list(self.points), list(self.ends)
        points[s] = _points(self.points[s].z[part], self.points[s].f[part])
        ends[s] = (ends[s][0], z) if part.start is None else (z, ends[s][1])
        return _Node.at_best_slope(points, ends, self.margin, self.lam)


def _heights(points: Sequence[_Points], lam: float) -> FloatArray:
    """Return max f_s - lam z_s for all s."""
    return np.array([(p.hull_f - lam * p.hull_z).max() for p in points])


def _places(own: _Points, lam: float) -> Iterator[int]:
    """Yield where a block may be split: at the middle of its z, and on both sides of its best vertex."""
    best = int((own.hull_f - lam * own.hull_z).argmax())
    beside = 0.5 * (own.hull_z[:-1] + own.hull_z[1:])[max(best - 1, 0) : best + 1]
    middle = 0.5 * (own.z[0] + own.z[-1])
    for place in sorted(set(np.searchsorted(own.z, [middle, *beside]).tolist())):
        if 0 < place < own.z.size and own.z[place] - own.z[place - 1] > SETTINGS.least_split * own.z[-1]:
            yield place


@dataclass(frozen=True)
class _Proof:
    """What a proof is about: weights, least probabilities and prices, of shape (a1, a2), and the level."""

    weights: FloatArray
    lower: FloatArray
    prices: FloatArray
    epsilon: float

    def tree(self, margin: float) -> list[str | dict[str, Any]]:
        """Return the nodes of the tree that splits columns, in preorder; see `_Node` for the margin."""
        total, whole = float(self.weights.sum()), []
        for P, L, c in zip(self.weights / total, self.lower, self.prices, strict=True):
            block = Block(L, P, self.epsilon)
            order = np.argsort(block.z, kind="stable")
            whole.append(_points(block.z[order], (block.g - block.dot(c))[order]))
        pending = [_Node.at_best_slope(whole, [(0.0, math.inf)] * len(whole), margin, 1.0)]
        splits: list[str | _Node] = []
        while pending:
            node = pending.pop()
            if not node.missing:
                splits.append(node)
                continue
            s, z, low, high = node.split()
            splits.append(f"?{s} {text(z * total)}")
            pending += [high, low]
            if len(splits) + len(pending) > SETTINGS.max_nodes:
                raise Intractable(f"The columns were split {SETTINGS.max_nodes} times without a proof.")
        return [self._leaf(node, whole) if isinstance(node, _Node) else node for node in splits]

    def _leaf(self, node: _Node, whole: Sequence[_Points]) -> dict[str, Any]:
        """Return a leaf of the tree, with a tree for every block."""
        spare = (SETTINGS.rounding_share - 1.0) * node.excess / len(node.points)
        heights = _heights(node.points, node.lam) + spare
        trees = [
            self._block_tree(s, node, float(h), _tilts(whole[s], node.lam, node.ends[s]))
            for s, h in enumerate(heights)
        ]
        return {"slope": text(node.lam, SETTINGS.slope_digits), "trees": trees}

    def _block_tree(self, s: int, node: _Node, height: float, tilts: FloatArray) -> list[str]:
        """Return the tree that proves the height of a block, in units of the weights."""
        W, L, total = self.weights[s], self.lower[s], float(self.weights.sum())
        rest = 1.0 - float(L.sum())
        width = math.expm1(self.epsilon) / rest
        most = float(W.sum()) * (1.0 + width)
        block = BlockData(
            np.array([W, total * self.prices[s] + node.lam * W, L]),
            *(rest, width, 1.0 + rest * width),
            low=node.ends[s][0] * total,
            high=min(node.ends[s][1] * total, most),
            target=height * total,
        )
        letters, multipliers, bound = block_tree(block, tilts, SETTINGS.max_block_nodes)
        if bound > block.target:
            raise Intractable(f"No tree of {SETTINGS.max_block_nodes} nodes proves what a block is worth.")
        return [_token(*item) for item in zip(letters.tolist(), multipliers.tolist(), strict=True)]


def _tilts(whole: _Points, lam: float, ends: tuple[float, float]) -> FloatArray:
    """Return multipliers of the ends of z to try: 0, slopes of the hull there, and steeper ones."""
    z, v = whole.hull_z, whole.hull_f - lam * whole.hull_z
    tilts = [0.0]
    for end, sign in zip(ends, (-1.0, 1.0), strict=True):
        if z[0] < end < z[-1]:
            i = int(np.searchsorted(z, end))
            slope = sign * max(sign * float(v[i] - v[i - 1]) / float(z[i] - z[i - 1]), 0.0)
            spread = sign * float(v.max() - v.min()) / float(z[-1] - z[0])
            tilts += [slope, spread, 8.0 * spread, 64.0 * spread]
    return np.array(tilts)


def _token(letter: int, multipliers: Sequence[float]) -> str:
    """Write a node of a tree of a block."""
    if letter >= 0:
        return f"?{letter}"
    y, tilt = (text(x) for x in multipliers)
    return y if tilt == "0" else f"{y} {tilt}"
