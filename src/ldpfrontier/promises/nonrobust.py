r"""NR, the optimal mechanism if the distribution P of (S, U) is known exactly (lopuhaa2024, section 8).

**Theorem.** The largest I(S, U; Y) of an (eps, {P})-RLDP mechanism is H(U|S) + OPT_LDP(P_S, eps).

*At most*: given S, the output can reveal at most H(U|S) more, and as a channel from S it is eps-LDP. *At
least*: take the staircase optimum on S with columns c, and in every column let each s reveal one u, with
density c_s / P(u|s), coupled over s in any way. The coupling here is monotone, which needs at most
a1 (a2 - 1) + 1 outputs per staircase column.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import ArrayLike

from ldpfrontier.base.types import FloatArray
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.optimum import (
    NO_ERROR,
    Optimum,
    certified,
    checked_epsilon,
    keeps_time_limit,
    records_fallbacks,
)
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.numerics.arguments import as_distribution
from ldpfrontier.numerics.deadline import TimeIsUp, check_time
from ldpfrontier.numerics.rounding import gamma
from ldpfrontier.promises.ldp import optimal_ldp


@records_fallbacks
@keeps_time_limit
def optimal_nonrobust(
    estimate: ArrayLike,
    epsilon: float,
    *,
    tolerance: float = 1e-9,
    max_rounds: int = 1000,
    start: Channel | None = None,
    max_seconds: float | None = None,
) -> Optimum:
    r"""Find the best (eps, {P})-RLDP mechanism for a single known distribution P.

    Its value is H(U|S) + OPT_LDP(P_S, eps). Rows of cells with probability 0 carry no information; they
    repeat the average row of their s, so that the mechanism does not react to them.

    Parameters
    ----------
    estimate : array_like, shape (a1, a2)
        Joint distribution of (S, U), rows = sensitive.
    epsilon : float
        Privacy level in nats, 0, or 0.001 to 300.
    tolerance : float
        Relative gap of the staircase optimum on S.
    max_rounds : int
        Most LPs to solve for it; when they are used up the result has status "bounded".
    start : Channel, optional
        A staircase mechanism on S alone, with a1 inputs, for `optimal_ldp`.
    max_seconds : float, optional
        Seconds after which the best mechanism and bound found so far are returned, as "bounded"; 0 or more.

    Returns
    -------
    Optimum
        Inputs (s, u) in row-major order.

    Raises
    ------
    ValueError
        If the estimate is not a two-dimensional distribution, epsilon or `max_seconds` is out of range, or
        `start` has another number of inputs.
    """
    joint = as_distribution(estimate, "The estimate")
    if joint.ndim != 2:
        raise ValueError(f"The estimate has shape {joint.shape}; it must be (a1, a2), rows = sensitive.")
    sensitive = joint.sum(axis=1)
    epsilon = checked_epsilon(epsilon)
    staircase = optimal_ldp(
        MutualInformation(sensitive), epsilon, tolerance=tolerance, max_rounds=max_rounds, start=start
    )
    rest, bound = _rest_and_bound(joint, staircase.upper_bound)
    utility = MutualInformation(joint)
    try:
        channel, complete = _reveal(joint, staircase.channel)
        value = rest + staircase.value
        if not complete:
            value = min(value, utility(channel))
    except TimeIsUp:  # what tells of S alone needs no coupling
        channel, value = Channel(np.repeat(staircase.channel.matrix, joint.shape[1], axis=0)), staircase.value
    method = replace(
        staircase.method,
        mechanisms="mechanisms private if the estimate is the true distribution",
        engine=f"a useful value revealed given S, beside the LDP optimum on S: {staircase.method.engine}",
    )
    return certified(
        channel, value, bound, float(tolerance), staircase.iterations, error=NO_ERROR, method=method
    )


def nonrobust_bound(joint: FloatArray, epsilon: float) -> float:
    """Return the bound of `optimal_nonrobust` without its mechanism, which takes gigabytes on tall tables."""
    return _rest_and_bound(joint, optimal_ldp(MutualInformation(joint.sum(axis=1)), epsilon).upper_bound)[1]


def _rest_and_bound(joint: FloatArray, secret_bound: float) -> tuple[float, float]:
    """Return H(U|S), and a bound on NR from one on the utility of S, raised by its error; both in nats."""
    rest = _conditional_entropy(joint) / math.fsum(joint.ravel())
    # Operations of sums over a row; of the logarithms, where one counts 1.5 times, and of their sum.
    of_sums, of_entropy = gamma(a2 := joint.shape[1]), gamma(joint.size + 6.0 * a2 + 20.0)
    bound = rest + secret_bound
    return rest, bound + (of_entropy * rest + 2.0 * of_sums * secret_bound + gamma(16) * bound)


def _conditional_entropy(joint: FloatArray) -> float:
    """Return H(U|S) in nats, with all digits where one u has nearly all of a row."""
    total = joint.sum(axis=1, keepdims=True)
    total[total == 0] = 1.0
    others = np.where(np.eye(joint.shape[1], dtype=bool), 0.0, joint[:, None, :]).sum(axis=2) / total
    share = joint / total
    logs = np.where(share > 0.5, np.log1p(-np.minimum(others, 0.5)), np.log(np.where(share > 0, share, 1.0)))
    return -float((joint * logs).sum()) + 0.0


def _reveal(joint: FloatArray, secret: Channel) -> tuple[Channel, bool]:
    """Extend a channel on S to one on (S, U) that reveals, in every output, one u for each s.

    Outputs so unlikely that their probabilities underflow are joined to others. The second value says whether
    no output had to be.
    """
    a1, a2 = joint.shape
    share, widths = _coupling(joint.shape, joint.tobytes())
    # Least probability of an output of NR, well above the numbers that underflow.
    kept = widths * secret.matrix[secret.matrix > 0].min() > 1e-290
    starts = np.flatnonzero(kept)
    starts[0] = 0
    matrix = np.einsum("sy,suc->suyc", secret.matrix, np.add.reduceat(share, starts, axis=2))
    return Channel(matrix.reshape(a1 * a2, -1)), bool(kept.all())


@lru_cache(maxsize=1)
def _coupling(shape: tuple[int, int], data: bytes) -> tuple[FloatArray, FloatArray]:
    """Return the monotone coupling of the rows of a joint distribution, the same for every epsilon.

    The shares, (a1, a2, pieces), are those of (s, u) that lie in a piece of [0, 1], which belongs to one
    letter u of every s; the widths, (pieces,), are those of the pieces.
    """
    a1, a2 = shape
    joint = np.frombuffer(data).reshape(shape)
    # Exactly, in units of which every row has the same number: a likely letter of one row can end within the
    # rounding of an unlikely one of another.
    ratios = [[float(x).as_integer_ratio() for x in (row if row.any() else np.ones(a2))] for row in joint]
    rows = [[n * (max(d for _, d in row) // d) for n, d in row] for row in ratios]
    unit, ends = math.prod(map(sum, rows)), list[list[int]]()
    for row in rows:
        check_time()
        ends.append(list(accumulate(n * (unit // sum(row)) for n in row)))
    cuts = sorted({end for row in ends for end in row if end > 0})
    share = np.zeros((a1, a2, len(cuts)))
    lengths = [high - low for low, high in pairwise([0, *cuts])]
    for s, row in enumerate(ends):
        check_time()
        for y, (cut, length) in enumerate(zip(cuts, lengths, strict=True)):
            u = bisect_left(row, cut)
            share[s, u, y] = length / (row[u] - row[u - 1] if u else row[0])
    widths = np.array([length / unit for length in lengths])
    share[~share.any(axis=2)] = widths
    for array in (share, widths):
        array.flags.writeable = False
    return share, widths
