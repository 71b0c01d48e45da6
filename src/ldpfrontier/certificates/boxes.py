r"""Trees of boxes that prove mu(v) <= c . v for all columns v of a cone that is known by its cuts.

A column is scaled to P . v = 1, so that mu(v) = sum_x P_x v_x ln v_x. In a box of columns, for every m, every
l >= 0 and cuts a_k . v <= 0 ::

    mu(v) - c . v <= m + sum_x [P_x v_x ln v_x - c_x v_x - m P_x v_x - sum_k l_k a_kx v_x],

a sum of convex functions of one entry each, which are largest at an end of its interval. The best multipliers
solve a linear program, the dual of one with the secants of v ln v. Where its value is positive, more cuts are
asked for, and then the box is split where the secant is farthest off: spatial branch and bound, as in
`engines.joint.spatial_branch_and_bound`, of which every box is written.
"""

from __future__ import annotations

from decimal import localcontext
from typing import Protocol

import numpy as np
from scipy.special import xlogy

from ldpfrontier import verify
from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.certificates.document import (
    JsonClaim,
    JsonDocument,
    bound_level,
    new_document,
    priced,
)
from ldpfrontier.certificates.numbers import text
from ldpfrontier.certificates.settings import SETTINGS
from ldpfrontier.engines.joint.cut_pool import CutPool
from ldpfrontier.model.optimum import Optimum
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.numerics.arguments import as_number
from ldpfrontier.numerics.highs import maximize

#: The multiplier of P . v = 1, and the numbers of cuts with theirs, as texts.
_Leaf = tuple[str, list[tuple[int, str]]]


class Cuts(Protocol):
    """A cone, by cuts that a document can prove."""

    @property
    def claim(self) -> JsonClaim:
        """The kind of the claim, and what its cuts are about."""

    def worst(self, column: FloatArray) -> list[tuple[JsonClaim, FloatArray]]:
        """Return the cuts a . v <= 0 that are least true of a column: as a document has them, and a, (n,)."""


def checked_excess(excess: float) -> float:
    """Return the excess of a bound, 1e-4 to 1000; ValueError if it is something else."""
    return as_number(excess, "excess", "a relative gap, 1e-4 to 1000", least=1e-4, most=1000.0)


def boxes_claim(
    about: JsonDocument, prior: FloatArray, optimum: Optimum, epsilon: float, cuts: Cuts, excess: float
) -> JsonClaim:
    """Return the claim of a bound that is by a share `excess` above an optimum, with its proof, checked.

    Intractable if the tree is too large, an input never occurs, or the gap of the optimum is not below the
    excess; ValueError if the optimum has no prices, or is that of a smaller class.
    """
    if optimum.prices.size != prior.size:
        raise ValueError("The optimum has no prices of its inputs, from which a bound by boxes begins.")
    spare = optimum.value * (1.0 + excess) - float(optimum.prices.sum())
    if spare <= 0.0:
        raise Intractable(
            f"The optimum has the gap {optimum.gap:.2g}; a bound {excess:g} above it takes a smaller one."
        )
    if not prior.all():
        raise Intractable("An input has the probability 0, so that the entries of columns have no bound.")
    prices = optimum.prices + spare * prior
    # Share of what a bound by boxes has to spare that rounding in their search may take.
    tree, found = _BoxSearch(prior, prices, cuts, 0.02 * spare).tree()
    written = priced([text(c) for c in prices])
    claim = {**cuts.claim, **bound_level(epsilon), **written, "tree": tree, "cuts": found}
    with localcontext(verify.EXACT):
        try:
            verify.check(new_document(about) | {"claims": [claim]})
        except (verify.Unproved, verify.Malformed) as error:
            raise Intractable(f"The checker does not prove the bound: {error}.") from None
    return claim


class _BoxSearch:
    """Boxes, the cuts that were met, and the linear programs over both.

    Leaves are by `margin`, in nats, below 0, for what is rounded.
    """

    def __init__(self, prior: FloatArray, prices: FloatArray, cuts: Cuts, margin: float) -> None:
        self.prior, self.prices, self.cuts, self.margin = prior, prices, cuts, margin
        self.utility = MutualInformation(prior)
        # Nothing is forgotten: the numbers of cuts are in the tree.
        self.pool = CutPool(prior, kept=SETTINGS.max_box_cuts)
        self.written, self.rows = list[JsonClaim](), list[FloatArray]()
        for corner in np.eye(prior.size):
            self._add_worst_cuts(corner + 1e-3)
            self._add_worst_cuts(1.001 - corner)

    def _add_worst_cuts(self, column: FloatArray) -> bool:
        """Add the worst cuts that a column violates, as they are written; return whether there are any."""
        # Violation of a cut, in units of its largest coefficient and the mean of a column, that is rounding.
        violated = [
            (claim, row) for claim, row in self.cuts.worst(column) if row @ column > 1e-9 * np.abs(row).max()
        ]
        for claim, row in violated:
            self.written.append(claim)
            self.rows.append(row)
            self.pool.add(row[None])
        if len(self.rows) > SETTINGS.max_box_cuts:
            raise Intractable(f"The proof of this bound has more than {SETTINGS.max_box_cuts:,} cuts.")
        return bool(violated)

    def tree(self) -> tuple[list[str], list[JsonClaim]]:
        """Return the tree in preorder, larger values first, and the cuts that its leaves use."""
        tokens, leaves, used = list[str](), 0, dict[int, int]()
        pending = [(np.zeros(self.prior.size), 1.0 / self.prior)]
        while pending:
            lo, hi = pending.pop()
            point, leaf = self._bounded(lo, hi)
            if leaf is not None:
                multiplier, others = leaf
                names = [f"{used.setdefault(k, len(used))}:{factor}" for k, factor in others]
                tokens.append(" ".join([multiplier, *names]))
                leaves += 1
                continue
            if leaves + len(pending) > SETTINGS.max_boxes:
                raise Intractable(f"The proof of this bound has more than {SETTINGS.max_boxes:,} boxes.")
            x, at = self._split(point, lo, hi)
            tokens.append(f"?{x} {at}")
            below, above = hi.copy(), lo.copy()
            below[x] = above[x] = float(at)
            pending += [(lo, below), (above, hi)]
        return tokens, [self.written[k] for k in used or [0]]

    def _bounded(self, lo: FloatArray, hi: FloatArray) -> tuple[FloatArray, _Leaf | None]:
        """Return where the program over a box is largest, and the multipliers if they prove the box."""
        slopes, constants = self.utility.majorant(lo, hi)
        constant, cost = float(constants.sum()), slopes - self.prices
        enough = -constant - 2.0 * self.margin
        while True:
            found = self.pool.maximize(cost, lo, hi, enough)
            if found is None or found[0] <= enough:
                return 0.5 * (lo + hi), self._leaf(0.0 * cost if found is None else cost, lo, hi)
            point, above = found[1], found[0] - enough
            gap = float(self.utility.gaps(point, lo, hi).sum())
            # Where secants are far off, a split helps more than cuts.
            outside = self._add_worst_cuts(point)
            if not outside and float(self.utility.values(point[None])[0] - point @ self.prices) > 0.0:
                raise ValueError(
                    "The optimum is not the best of all mechanisms with this promise: a column that it"
                    " allows is worth more than the prices."
                )
            if not outside or gap >= 0.5 * above:
                return point, None

    def _leaf(self, cost: FloatArray, lo: FloatArray, hi: FloatArray) -> _Leaf | None:
        """Return the multipliers that prove a box, with few digits, or None if they do not.

        The cost is that of the program over the box; 0 if there are no columns in it, as then any multiple of
        multipliers that show this will do.
        """
        used = self.pool.used
        rows = np.array([self.rows[k] for k in used]).reshape(-1, self.prior.size)
        try:
            bound, multipliers = _duals(cost, self.prior, rows, lo, hi)
        except RuntimeError:  # HiGHS gives up some programs: of smaller boxes there are others
            return None
        if not cost.any():
            if bound >= 0.0:
                return None
            lacking = self._excess(np.zeros_like(cost), 0.0, lo, hi) + 2.0 * self.margin
            multipliers *= max(lacking, 0.0) / -bound
        for digits in SETTINGS.leaf_digits:
            texts = [text(x, digits) for x in multipliers.tolist()]
            m, *factors = map(float, texts)
            if self._excess(m * self.prior + np.array(factors) @ rows, m, lo, hi) <= -self.margin:
                return texts[0], [(int(used[k]), texts[1 + k]) for k in np.flatnonzero(factors)]
        return None

    def _excess(self, cut: FloatArray, m: float, lo: FloatArray, hi: FloatArray) -> float:
        """Return by how much mu - c . v may exceed 0 in a box where cut . v, (n,), is at most m."""
        slopes = self.prices + cut
        ends = (self.prior * xlogy(v, v) - slopes * v for v in (lo, hi))
        return m + float(np.maximum(*ends).sum())

    def _split(self, point: FloatArray, lo: FloatArray, hi: FloatArray) -> tuple[int, str]:
        """Return the entry whose secant is farthest off at a point, and where to split it, in few digits."""
        x = int(self.utility.gaps(point, lo, hi).argmax())
        at = 0.5 * point[x] + 0.25 * (lo[x] + hi[x])
        for digits in SETTINGS.leaf_digits[1:]:
            written = text(at, digits)
            # No part is much less than was meant.
            if 4.0 * abs(float(written) - at) < min(at - lo[x], hi[x] - at):
                break
        return x, written


def _duals(
    cost: FloatArray, scale: FloatArray, rows: FloatArray, lo: FloatArray, hi: FloatArray
) -> tuple[float, FloatArray]:
    """Maximize cost . v where scale . v = 1, rows . v <= 0, lo <= v <= hi; return value and duals of rows.

    All rows may be violated at a price, which bounds their duals: there need not be a v.
    """
    count, n = rows.shape
    sizes = np.abs(rows).max(axis=1, initial=0.0)
    matrix = np.zeros((1 + count, n + 2 + count))
    matrix[0, : n + 2] = [*scale, 1.0, -1.0]
    matrix[1:, :n], matrix[1:, n + 2 :] = rows / sizes[:, None], -np.eye(count)
    # Largest multiplier of a cut in a box, in nats.
    price = 1e3 if cost.any() else 1.0
    found = maximize(
        np.append(cost, np.full(2 + count, -price)),
        matrix,
        np.append(1.0, np.full(count, -np.inf)),
        np.append(1.0, np.zeros(count)),
        np.append(lo, np.zeros(2 + count)),
        np.append(hi, np.full(2 + count, np.inf)),
    )
    if found is None:
        raise RuntimeError("HiGHS finds no point of a program that has one.")
    duals = found[2] / np.append(1.0, sizes)
    # Multiplier of a cut in a box, in nats, below which it is 0.
    duals[1:][duals[1:] < 1e-12] = 0.0
    return found[0], duals
