"""Cells of covers (see `covering`), the problem that they are cells of, and how one is cut in two."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.numerics.jit import kernel
from ldpfrontier.optimal.certificate.majorant import Level
from ldpfrontier.types import FloatArray

#: Ratio of the ends of an interval of xi or eta that is cut from an unbounded one.
FIRST = 4.0


class Cells(NamedTuple):
    """Cells of one body, m of them and room for more, with n letters."""

    xi: FloatArray  # (m, 2): ends
    eta: FloatArray  # (m, 2)
    low: FloatArray  # (m, n): ends of the letters' intervals
    high: FloatArray  # (m, n)
    multipliers: FloatArray  # (m, 2), times xi and eta
    bound: FloatArray  # (m,)
    cut: NDArray[np.int64]  # (m,): what to halve: 0 for xi, 1 for eta, 2 + u for letter u, -1 for t
    at: FloatArray  # (m,): where a letter is cut
    place: FloatArray  # (m, 3, n): letters of the relaxation's optima
    span: FloatArray  # (m, 2): ends of t
    focus: FloatArray  # (m,): the mean that the optima have, where the level is met best
    line: FloatArray  # (m, 2, 2): slope and height, below the level, at both ends of t


class Problem(NamedTuple):
    """The function to be bounded over a body, per unit of its prior."""

    r: FloatArray  # (n,): centre
    gamma: FloatArray  # (n,): prices per unit of r
    rest: float  # price of the letters without probability
    top: FloatArray  # (2,): at t = 0 and at t = 1, linear between
    bottom: FloatArray  # (2,)
    k: float
    g: float
    goal: float
    level: Level


@kernel
def widest(g: float) -> float:
    """Return the largest ratio of the ends of an interval of xi or eta.

    The tangent of phi in xi is concave in w at all ratios if g >= 0, otherwise at those up to 1 - 1/g.
    """
    return np.inf if g >= 0.0 else 1.0 - 1.0 / g


@kernel
def halve(cells: Cells, c: int, d: int, g: float, knots: FloatArray) -> None:
    """Cut cell c in two, a span of t at a knot if there are any inside; make the second half cell d."""
    for side in range(2):
        cells.xi[d, side], cells.eta[d, side] = cells.xi[c, side], cells.eta[c, side]
        cells.multipliers[d, side] = cells.multipliers[c, side]
    for u in range(cells.low.shape[1]):
        cells.low[d, u], cells.high[d, u] = cells.low[c, u], cells.high[c, u]
    cells.bound[d], cells.focus[d] = cells.bound[c], cells.focus[c]
    cells.span[d, 0], cells.span[d, 1] = cells.span[c, 0], cells.span[c, 1]
    if cells.cut[c] < 0:
        center = middle = 0.5 * (cells.span[c, 0] + cells.span[c, 1])
        away = 0.45 * (cells.span[c, 1] - cells.span[c, 0])
        for knot in knots:
            if abs(knot - center) < away:
                middle, away = knot, abs(knot - center)
        cells.span[c, 1] = cells.span[d, 0] = middle
    elif cells.cut[c] < 2:
        ends = cells.xi if cells.cut[c] == 0 else cells.eta
        s, last = ends[c]
        middle = np.sqrt(s * last) if np.isfinite(last) else s * min(FIRST, widest(g))
        ends[c, 1] = ends[d, 0] = middle
    else:
        u = cells.cut[c] - 2
        margin = 0.1 * (cells.high[c, u] - cells.low[c, u])
        value = min(max(cells.at[c], cells.low[c, u] + margin), cells.high[c, u] - margin)
        cells.high[c, u] = cells.low[d, u] = value
