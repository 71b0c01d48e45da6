r"""By how much rounding can lower the bound sum(c) + kappa of pricing, for products of listed vertices.

At duals c every step of the pricing compares sums of f_s(w) - lam z_s(w), or of f_s(w) - log(Z) z_s(w), over
the blocks. Their terms add up, for a vertex w, to at most the *magnitude* ::

    m_s(w) = |c_s| . w + sum_u P_su |w_u log w_u| + (2 + |lam|) z_s(w),

and each is reached by few operations: sums over the letters of a set, the value on and off it, the
difference, the sum over the blocks. With n of them a sum for a column v is wrong by at most gamma(n) sum_s
m_s(v_s), so that its reduced cost, per unit of Z, is above the kappa computed by at most ::

    gamma(n) sum_s m_s(v_s) / Z  <=  gamma(n) sum_s max_w m_s(w) / (z_s(w) + sum_{t != s} min z_t).

What kappa is computed from, F = -sum_s max (f_s - lam z_s), is wrong by gamma(n) sum_s |max (f_s - lam z_s)|
besides, and kappa = lam - 1 - log F by that over F and by gamma(n) (|lam| + |log F|).
The error is taken at the duals c + kappa P of the bound, not at c: kappa
is at most the bound if sum(c) >= 0, and counts with lam. The sum of the duals is wrong by gamma(n) sum |c|,
and P by its normalization (`numerics.rounding`).

The vertices are those listed: how far the floats are from the vertices of the envelope is not counted here.
That moves a column as a change of epsilon by as many roundings does, for which every bound has the share
`ldpfrontier.model.optimum.ROUNDING`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.products.pricing import BlockProduct
from ldpfrontier.numerics.rounding import gamma, sum_error

#: Operations of a step beside those for every letter and block: products, logarithms, differences.
STEP = 24
#: Comparisons that a bound rests on: the tangent, what it discards, the table or the list of what is left.
COMPARISONS = 4


def pricing_error(products: Sequence[BlockProduct], duals: FloatArray) -> float:
    """Return by how much rounding can have lowered a bound sum(c) + kappa on the columns of some products.

    The products are of the same table, and the duals are those of the bound, c + kappa P.
    """
    centre = products[0].centre
    bound = abs(float(duals.sum()))
    of_sum = sum_error(duals, bound, centre)
    return of_sum + max(_kappa_error(product, duals.reshape(centre.shape), bound) for product in products)


def _kappa_error(product: BlockProduct, duals: FloatArray, bound: float) -> float:
    """Return by how much kappa can be too low, in nats per unit of Z; `bound` is that of the utility."""
    a1, a2 = product.centre.shape
    error = gamma(COMPARISONS * (2 * a2 + a1 + STEP))
    low, high = product.range
    lam = 3.0 + abs(math.log(low)) + abs(math.log(high)) + bound
    F, tops, worst = 0.0, 0.0, 0.0
    kappa, slope = product.best_tangent(duals.ravel())
    if not math.isfinite(kappa):
        return math.inf
    for block, own in zip(product.blocks, duals, strict=True):
        # -x log x is at most 1 / e where it is positive.
        entropy = block.g + 2.0 * math.exp(-1.0) * float(block.prior.sum())
        size = block.dot(np.abs(own)) + entropy + lam * block.z
        worst += float((size / (block.z + (low - float(block.z.min())))).max())
        top = float((block.reduced(own) - slope * block.z).max())
        F, tops = F - top, tops + abs(top)
    return error * (worst + tops / min(F, low) + lam + abs(slope) + abs(math.log(F)))
