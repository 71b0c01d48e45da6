r"""The nodes of branch and bound over one block, and how a node is split in two.

A node is a box: an interval of each of the dual scalars xi and eta (see `branch_and_bound`), of every letter
w_u, and of t. It is split where `lagrangian_relaxation` has found that its relaxation loses most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.over_set.majorant import Majorant
from ldpfrontier.engines.over_set.settings import SETTINGS
from ldpfrontier.numerics.jit import borrowing_kernel, inner_kernel
from ldpfrontier.numerics.rounding import gamma

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


@inner_kernel
def split_node(nodes: Nodes, c: int, d: int, g: float, knots: FloatArray) -> None:
    """Split node c in two, the second of which is d; an interval of t at a knot near its middle."""
    xi, eta, t_interval, multipliers = nodes.xi, nodes.eta, nodes.t_interval, nodes.multipliers
    low, high, branch_on = nodes.low, nodes.high, nodes.branch_on[c]
    for side in range(2):
        xi[d, side], eta[d, side], t_interval[d, side] = xi[c, side], eta[c, side], t_interval[c, side]
        multipliers[d, side] = multipliers[c, side]
    for u in range(low.shape[1]):
        low[d, u], high[d, u] = low[c, u], high[c, u]
    nodes.bound[d], nodes.z_focus[d] = nodes.bound[c], nodes.z_focus[c]
    if branch_on == T:
        first, last = t_interval[c, 0], t_interval[c, 1]
        center = middle = 0.5 * (first + last)
        # Halves have a twentieth of the interval at least.
        distance = 0.45 * (last - first)
        for knot in knots:
            if abs(knot - center) < distance:
                middle, distance = knot, abs(knot - center)
        t_interval[c, 1] = t_interval[d, 0] = middle
    elif branch_on < 2:
        ends = xi if branch_on == XI else eta
        s, last = ends[c, 0], ends[c, 1]
        middle = np.sqrt(s * last) if np.isfinite(last) else s * min(_WIDE_RATIO, max_ratio(g))
        ends[c, 1] = ends[d, 0] = middle
    else:
        u = branch_on - 2
        first, last = low[c, u], high[c, u]
        margin = _END_SHARE * (last - first)
        high[c, u] = low[d, u] = min(max(nodes.branch_at[c], first + margin), last - margin)


@inner_kernel
def positive_linear(ends: FloatArray, t: float) -> float:
    """Return the value at t of what is linear and positive from t = 0 to 1, right to some roundings."""
    if t < 0.5:
        return float(ends[0] + t * (ends[1] - ends[0]))
    return float(ends[1] + (1.0 - t) * (ends[0] - ends[1]))


@inner_kernel
def restrict_letters(low: FloatArray, high: FloatArray, least: float, most: float) -> bool:
    """Cut the letters' intervals to those from `least` to `most`; return whether any point is left."""
    for u in range(low.size):
        high[u] = min(high[u], most)
        low[u] = max(low[u], least)
        if low[u] > high[u]:
            return False
    return True


@inner_kernel
def z_range(r: FloatArray, low: FloatArray, high: FloatArray, rounding: float) -> tuple[float, float]:
    """Return the least and the largest mean of the points of a node, rounded outwards."""
    least = most = 0.0
    for u in range(r.size):
        least += r[u] * low[u]
        most += r[u] * high[u]
    return least * (1.0 - rounding), most * (1.0 + rounding)


@inner_kernel
def push_node(heap: NDArray[np.int64], bound: FloatArray, c: int) -> None:
    """Put a node into a heap: its first entry is its size, and its second one the node to be taken next."""
    heap[0] += 1
    place = heap[0]
    while place > 1:
        d = heap[place >> 1]
        if not (bound[c] > bound[d] or (bound[c] == bound[d] and c < d)):
            break
        heap[place] = d
        place >>= 1
    heap[place] = c


@inner_kernel
def pop_node(heap: NDArray[np.int64], bound: FloatArray) -> int:
    """Take the node with the largest bound from a heap; of several, the one with the least index."""
    size, first, c, place, child = heap[0], heap[1], heap[heap[0]], 1, 2
    while child < size:
        d = heap[child]
        if child + 1 < size:
            e = heap[child + 1]
            if bound[e] > bound[d] or (bound[e] == bound[d] and e < d):
                d = e
                child += 1
        if not (bound[d] > bound[c] or (bound[d] == bound[c] and d < c)):
            break
        heap[place], place = d, child
        child *= 2
    heap[place] = c
    heap[0] -= 1
    return int(first)
