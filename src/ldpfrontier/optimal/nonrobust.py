"""NR, the optimal mechanism when the distribution is known exactly (lopuhaa2024, section 8)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ldpfrontier.channel import Channel, FloatArray, as_distribution
from ldpfrontier.information import entropy
from ldpfrontier.optimal.staircase import optimal_ldp
from ldpfrontier.optimum import Optimum, certified
from ldpfrontier.utility import MutualInformation


def optimal_nonrobust(
    estimate: ArrayLike,
    epsilon: float,
    *,
    tolerance: float = 1e-9,
    max_rounds: int = 1000,
    start: Channel | None = None,
) -> Optimum:
    r"""Find the best (eps, {P})-RLDP mechanism for a single known distribution P.

    The optimum is H(U|S) + OPT_LDP(P_S, eps). At most: given S, the output can reveal at most H(U|S)
    more, and as a channel from S it is eps-LDP. At least: take the staircase optimum on S with columns c,
    and in every column let each s reveal one u, with density c_s / P(u|s), coupled over s in any way. The
    coupling here is monotone, which needs at most a1 (a2 - 1) + 1 outputs per staircase column.

    Rows of cells with probability 0 carry no information; they repeat the average row of their s, so that
    the mechanism does not react to them.

    Parameters
    ----------
    estimate : array_like, shape (a1, a2)
        Joint distribution of (S, U), rows = sensitive.
    epsilon : float
        Privacy level in nats, 0 to 300.
    tolerance : float
        Relative gap of the staircase optimum on S.
    max_rounds : int
        Most LPs to solve for it; when they are used up the result has status "bounded".
    start : Channel, optional
        A staircase mechanism on S alone, with a1 inputs, for `optimal_ldp`.

    Returns
    -------
    Optimum
        Inputs (s, u) in row-major order.

    Raises
    ------
    ValueError
        If the estimate is not a two-dimensional distribution, epsilon is out of range, or `start` has another
        number of inputs.
    """
    joint = as_distribution(estimate, "The estimate")
    if joint.ndim != 2:
        raise ValueError(f"The estimate has shape {joint.shape}; it must be (a1, a2), rows = sensitive.")
    sensitive = joint.sum(axis=1)
    staircase = optimal_ldp(
        MutualInformation(sensitive), epsilon, tolerance=tolerance, max_rounds=max_rounds, start=start
    )
    channel = _reveal(joint, staircase.channel)
    bound = entropy(joint) - entropy(sensitive) + staircase.upper_bound
    return certified(channel, MutualInformation(joint)(channel), bound, tolerance, staircase.iterations)


def _reveal(joint: FloatArray, secret: Channel) -> Channel:
    """Extend a channel on S to one on (S, U) that reveals, in every output, one u for each s."""
    a1, a2 = joint.shape
    sensitive = joint.sum(axis=1)
    conditionals = np.full((a1, a2), 1.0 / a2)
    conditionals[sensitive > 0] = joint[sensitive > 0] / sensitive[sensitive > 0, None]
    ends = np.cumsum(conditionals, axis=1)
    ends /= ends[:, -1:]
    cuts = np.unique(ends)
    lengths = np.diff(cuts, prepend=0.0)
    # Of an interval of [0, 1] between neighbouring cuts, every s owns one letter u(s).
    letters = np.array([np.searchsorted(e, cuts - lengths / 2.0) for e in ends])
    share = np.zeros((a1, a2, len(cuts)))
    share[np.arange(a1)[:, None], letters, np.arange(len(cuts))] = lengths
    total = share.sum(axis=2, keepdims=True)
    share = np.where(total > 0, share / np.where(total > 0, total, 1.0), lengths)
    matrix = np.einsum("sy,suc->suyc", secret.matrix, share)
    return Channel(matrix.reshape(a1 * a2, -1))
