"""What prices of a decomposition say of the parts of a product: lines in z that its vertices are below."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ldpfrontier.channel import FloatArray
from ldpfrontier.optimal.products import BlockProduct, tangent_bound


@dataclass(frozen=True)
class Line:
    """What the prices of an LP say of a part: f_s(w) <= slope z(w) + heights[s], and `bonus` more if z > low.

    The heights and the bonus, which is not positive, add up to -e^(slope - 1) at most.
    """

    low: float
    high: float
    slope: float
    bonus: float
    heights: FloatArray  # (a1,)


def joined(lines: Iterable[Line], product: BlockProduct, prices: FloatArray, enough: float) -> list[Line]:
    """Join neighbouring parts where one line does for both.

    Parts that no column in use is of have arbitrary lines, and a level that jumps between parts is hard for
    covers: just below its end, a part has points that are no vertices, but nearly as good as vertices above.

    Parameters
    ----------
    lines : iterable of Line
        Of parts that follow one another.
    product : BlockProduct
    prices : ndarray, shape (a1, a2)
    enough : float
        Largest reduced cost per unit of Z that the known vertices may have after that.
    """
    reduced = product.reduced(prices)

    def extended(line: Line, low: float, high: float) -> Line | None:
        heights = np.array(
            [
                np.max((f - line.slope * b.z - line.bonus * (b.z > low))[b.z <= high], initial=-math.inf)
                for b, f in zip(product.blocks, reduced, strict=True)
            ]
        )
        if tangent_bound(line.slope, float(heights.sum()) + line.bonus) > enough:
            return None
        return Line(low, high, line.slope, line.bonus, heights)

    kept: list[Line] = []
    for line in sorted(lines, key=lambda line: line.low):
        last = line
        while kept:
            low = kept[-1].low
            # The steeper line is higher where points that are no vertices are.
            joint = extended(last, low, line.high) or extended(kept[-1], low, line.high)
            if joint is None:
                break
            last = joint
            kept.pop()
        kept.append(last)
    return kept
