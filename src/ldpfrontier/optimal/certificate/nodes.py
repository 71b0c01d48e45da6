r"""The nodes of branch and bound over one block, and how a node is split in two.

A node is a box: an interval of each of the dual scalars xi and eta (see `branch_and_bound`), of every letter
w_u, and of t. It is split where `lagrangian_relaxation` has found that its relaxation loses most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.numerics.jit import borrowing_kernel
from ldpfrontier.numerics.rounding import gamma
from ldpfrontier.optimal.certificate.majorant import Majorant
from ldpfrontier.optimal.certificate.settings import SETTINGS
from ldpfrontier.types import FloatArray

_WIDE_RATIO, _END_SHARE = SETTINGS.wide_ratio, SETTINGS.end_share

#: Relative error of an end of an interval.
ENDS = gamma(12)

#: Values of `Nodes.branch_on`; 2 + u is letter u.
XI, ETA, T = 0, 1, -1


class Nodes(NamedTuple):
    """The nodes of one block with n letters, m of them and room for more."""

    xi: FloatArray  # (m, 2): interval
    eta: FloatArray  # (m, 2): interval
    low: FloatArray  # (m, n): ends of the letters' intervals
    high: FloatArray  # (m, n)
    multipliers: FloatArray  # (m, 2): those of the two constraints, times xi and eta
    bound: FloatArray  # (m,): on the function less the majorant; inf before the first relaxation
    branch_on: NDArray[np.int64]  # (m,): XI, ETA, T or 2 + u
    branch_at: FloatArray  # (m,): where a letter is split
    candidates: FloatArray  # (m, 3, n): the points that the relaxation mixes at its optimum
    t_interval: FloatArray  # (m, 2)
    z_focus: FloatArray  # (m,): the mean at the optimum, where the minorant should be tight
    minorant: FloatArray  # (m, 2, 2): slope and intercept at both ends of t


class BlockProblem(NamedTuple):
    """The function to be bounded over a block, per unit of the block's prior."""

    r: FloatArray  # (n,): centre
    gamma: FloatArray  # (n,): duals per unit of r
    rest: float  # dual of the letters without probability
    top: FloatArray  # (2,): bound of A at t = 0 and at t = 1, linear in between
    bottom: FloatArray  # (2,): of B
    k: float
    g: float
    goal: float  # bound that is good enough
    majorant: Majorant
    rounding: float  # relative error that the operations of a bound can leave (`rounding`)


@borrowing_kernel
def max_ratio(g: float) -> float:
    """Return the largest ratio of the ends of an interval of xi or eta at which its tangents are concave.

    The tangent of phi in xi is concave in w at all ratios if g >= 0, otherwise at those up to 1 - 1/g.
    """
    return np.inf if g >= 0.0 else 1.0 - 1.0 / g


@borrowing_kernel
def split_node(nodes: Nodes, c: int, d: int, g: float, knots: FloatArray) -> None:
    """Split node c in two, the second of which is d; an interval of t at a knot near its middle."""
    for side in range(2):
        nodes.xi[d, side], nodes.eta[d, side] = nodes.xi[c, side], nodes.eta[c, side]
        nodes.multipliers[d, side] = nodes.multipliers[c, side]
        nodes.t_interval[d, side] = nodes.t_interval[c, side]
    for u in range(nodes.low.shape[1]):
        nodes.low[d, u], nodes.high[d, u] = nodes.low[c, u], nodes.high[c, u]
    nodes.bound[d], nodes.z_focus[d] = nodes.bound[c], nodes.z_focus[c]
    if nodes.branch_on[c] == T:
        center = middle = 0.5 * (nodes.t_interval[c, 0] + nodes.t_interval[c, 1])
        # Halves have a twentieth of the interval at least.
        distance = 0.45 * (nodes.t_interval[c, 1] - nodes.t_interval[c, 0])
        for knot in knots:
            if abs(knot - center) < distance:
                middle, distance = knot, abs(knot - center)
        nodes.t_interval[c, 1] = nodes.t_interval[d, 0] = middle
    elif nodes.branch_on[c] < 2:
        ends = nodes.xi if nodes.branch_on[c] == XI else nodes.eta
        s, last = ends[c]
        middle = np.sqrt(s * last) if np.isfinite(last) else s * min(_WIDE_RATIO, max_ratio(g))
        ends[c, 1] = ends[d, 0] = middle
    else:
        u = nodes.branch_on[c] - 2
        margin = _END_SHARE * (nodes.high[c, u] - nodes.low[c, u])
        value = min(max(nodes.branch_at[c], nodes.low[c, u] + margin), nodes.high[c, u] - margin)
        nodes.high[c, u] = nodes.low[d, u] = value


@borrowing_kernel
def positive_linear(ends: FloatArray, t: float) -> float:
    """Return the value at t of what is linear and positive from t = 0 to 1, right to some roundings."""
    if t < 0.5:
        return float(ends[0] + t * (ends[1] - ends[0]))
    return float(ends[1] + (1.0 - t) * (ends[0] - ends[1]))


@borrowing_kernel
def restrict_letters(nodes: Nodes, c: int, top: float, bottom: float) -> bool:
    """Cut the letters' intervals to where phi is defined; return whether any point is left."""
    above, below = 1.0 / nodes.xi[c, 0], 1.0 / nodes.eta[c, 0]
    for u in range(nodes.low.shape[1]):
        nodes.high[c, u] = min(nodes.high[c, u], (top + above) * (1.0 + ENDS))
        nodes.low[c, u] = max(nodes.low[c, u], bottom - below - ENDS * (bottom + below))
        if nodes.low[c, u] > nodes.high[c, u]:
            return False
    return True


@borrowing_kernel
def z_range(nodes: Nodes, c: int, problem: BlockProblem) -> tuple[float, float]:
    """Return the least and the largest mean of the points of a node, rounded outwards."""
    least, most, r = 0.0, 0.0, problem.r
    for u in range(r.size):
        least += r[u] * nodes.low[c, u]
        most += r[u] * nodes.high[c, u]
    return least * (1.0 - problem.rounding), most * (1.0 + problem.rounding)
