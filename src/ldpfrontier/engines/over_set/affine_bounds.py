r"""Affine upper bounds on the functions of all blocks, for every class of columns, and what they claim.

Let f_s(w) = sum_u P_su w_u log w_u - c_s . w and z(w) = P_s . w, so that a column with the parts w_s has the
reduced cost sum_s f_s - Z log Z, Z = sum_s z. Class p has the columns of some products whose largest z of a
block is above low_p and at most high_p. For it and knot t_k the bounds are ::

    f_s(w) <= lam z(w) + h_s + beta 1[z(w) > low_p]    for all w in K_s(t_k) with z(w) <= high_p,

with beta <= 0, a discount. At least one block of a column of the class has z > low_p, so their sum is at
most lam Z + H with H = sum_s h_s + beta. As lam Z + H - Z log Z - kappa Z is largest at
Z = e^(lam - 1 - kappa), ::

    H <= -e^(lam - 1 - kappa)    implies that no reduced cost of the class is above kappa per unit of Z.

Between knots lam, h and beta are linear in t, and kappa is convex in them: the knots decide. Bounds come from
known vertices (`affine_pieces`); that they hold for whole blocks is what `dual_bound` proves.

In kappa the sum H counts as larger by gamma(n) times the sum of its magnitudes, n the number of its terms and
what one is rounded by, and the logarithm by its rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.over_set.block_family import BlockLabel
from ldpfrontier.engines.over_set.majorant import Majorant
from ldpfrontier.numerics.rounding import gamma


class ColumnClass(NamedTuple):
    """A class of columns, and its affine bounds at K knots."""

    low: float
    high: float
    lam: FloatArray  # (K,)
    discount: FloatArray  # (K,): beta <= 0
    intercepts: FloatArray  # (blocks, K): h
    needed: NDArray[np.bool_]  # (products, K): which of its products and knots it is for


@dataclass(frozen=True)
class AffineBounds:
    """The affine bounds of P classes at K knots."""

    knots: FloatArray  # (K,): values of t
    labels: Sequence[BlockLabel]  # the blocks
    products: NDArray[np.int64]  # (products, a1): the blocks of every product
    low: FloatArray  # (P,)
    high: FloatArray  # (P,)
    lam: FloatArray  # (P, K)
    discount: FloatArray  # (P, K)
    intercepts: FloatArray  # (blocks, P, K)
    #: (products, P, K): the products and knots of every class; at others, intercepts are too large to matter.
    needed: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        knots: FloatArray,
        labels: Sequence[BlockLabel],
        products: NDArray[np.int64],
        classes: Sequence[ColumnClass],
    ) -> AffineBounds:
        """Return the bounds of some classes."""
        low, high, lam, discount, intercepts, needed = zip(*classes, strict=True)
        return cls(
            knots,
            labels,
            products,
            np.array(low),
            np.array(high),
            np.array(lam),
            np.array(discount),
            np.stack(intercepts, axis=1),
            np.stack(needed, axis=1),
        )

    def classes_of(self, n: int) -> NDArray[np.bool_]:
        """Return a mask of the classes that contain block n, shape (P,)."""
        return np.asarray(self.needed[(self.products == n).any(axis=1)].any(axis=(0, 2)))

    def majorant(self, n: int, scale: float) -> Majorant:
        """Return the least of the bounds of block n, divided by `scale`, as a function of z / scale and t."""
        own = self.classes_of(n)
        return Majorant.of(
            self.knots,
            self.low[own] / scale,
            self.high[own] / scale,
            self.discount[own] / scale,
            self.lam[own],
            self.intercepts[n, own] / scale,
        )

    def totals(self) -> FloatArray:
        """Return H, the sums of intercepts and discounts, shape (products, P, K)."""
        return np.asarray(self.intercepts[self.products].sum(axis=1) + self.discount)

    def kappa(self, excess: FloatArray | float = 0.0) -> FloatArray:
        """Return the least kappa that is implied if H is larger by `excess`, shape (products, P, K).

        That is lam - 1 - log(-H), or -inf where a product does not need a class. It is rounded upwards.
        """
        size = np.abs(self.intercepts)[self.products].sum(axis=1)
        size = np.where(self.needed, size + np.abs(self.discount) + np.abs(excess), 0.0)
        totals = self.totals() + excess + gamma(2 * self.products.shape[1] + 16) * size
        with np.errstate(divide="ignore", invalid="ignore"):
            kappa = np.where(totals < 0.0, self.lam - 1.0 - np.log(-totals), np.inf)
            kappa += gamma(8) * (2.0 * np.abs(self.lam) + np.abs(kappa) + 2.0)
        return np.where(self.needed, kappa, -np.inf)

    def with_slack(self, kappa: float, shares: FloatArray) -> AffineBounds:
        """Return the bounds with the largest intercepts that still imply `kappa`, which is not below theirs.

        Sensitive value s gets the share `shares[s]` of -e^(lam - 1 - kappa) - H; a block in several products
        gets the least of what they allow, and the special block of each product the rest.
        """
        left = -np.exp(self.lam - 1.0 - kappa) - self.totals()
        left[~self.needed] = np.inf
        intercepts = self.intercepts.copy()
        for n, label in enumerate(self.labels):
            if not label.special:
                least = left[(self.products == n).any(axis=1)].min(axis=0) * shares[label.s]
                intercepts[n] += np.where(np.isfinite(least), least, 0.0)
        for row, rest in zip(self.products, left, strict=True):
            for n in row:
                if self.labels[n].special:
                    given = sum(intercepts[m] - self.intercepts[m] for m in row if m != n)
                    intercepts[n] += np.where(np.isfinite(rest), rest - given, 0.0)
        return replace(self, intercepts=intercepts)
