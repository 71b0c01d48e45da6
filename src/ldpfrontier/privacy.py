"""Privacy levels of a channel: local, and realised under given conditional distributions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .channel import SUM_TOLERANCE, Channel, FloatArray


def log_ratio(largest: FloatArray, smallest: FloatArray) -> FloatArray:
    """Return log(largest / smallest) elementwise, with 0/0 = 1 and x/0 = inf."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(largest > 0, np.log(largest) - np.log(smallest), 0.0)


def ldp_epsilon(channel: Channel) -> float:
    """Smallest epsilon for which the channel is epsilon-LDP (kairouz2016), in nats.

    The maximum over outputs of the log ratio of the largest to the smallest entry of the column; 0/0 = 1,
    x/0 = inf.
    """
    return float(log_ratio(channel.matrix.max(axis=0), channel.matrix.min(axis=0)).max())


def rldp_epsilon(channel: Channel, conditionals: ArrayLike) -> FloatArray:
    """Realised privacy parameter of a channel under given P(U|S) (lopuhaa2024, section 8.3), in nats.

    The maximum over outputs y and pairs s1, s2 of log P(y|s1) / P(y|s2), where P(y|s) is the sum over u of
    Q[(s, u), y] P(u|s); 0/0 = 1, x/0 = inf.

    Parameters
    ----------
    channel : Channel
        Its inputs are the pairs (s, u) in row-major order.
    conditionals : array_like, shape (a1, a2) or (m, a1, a2)
        Rows P(U|s). A row of zeros or of NaN is an empty sensitive group: nobody is in it, so nothing can be
        inferred about it, and it puts no constraint on the channel.

    Returns
    -------
    ndarray, shape () or (m,)

    Raises
    ------
    ValueError
        If the shape does not fit the channel, or a row is neither a distribution nor empty.
    """
    P = np.array(conditionals, dtype=np.float64)
    if P.ndim not in (2, 3) or P.shape[-1] * P.shape[-2] != channel.n_inputs:
        raise ValueError(
            f"The conditionals have shape {P.shape}; they must be (a1, a2) or (m, a1, a2) with"
            f" a1 * a2 = {channel.n_inputs}, the number of inputs of the channel."
        )
    single = P.ndim == 2
    P = P.reshape(-1, *P.shape[-2:])
    P[np.isnan(P).all(axis=-1)] = 0.0
    sums = P.sum(axis=-1)
    present = sums != 0.0
    bad = ~((np.abs(sums - 1.0) <= SUM_TOLERANCE) | ~present) | ~(P >= 0.0).all(axis=-1)
    if bad.any():
        i, s = (int(j) for j in np.argwhere(bad)[0])
        raise ValueError(
            f"Row {s} of the conditionals{'' if single else f' number {i}'} sums to {sums[i, s]:.12g} with"
            f" least entry {P[i, s].min():.6g}; a row must be a distribution, or all zero or NaN if empty."
        )
    Q = channel.matrix.reshape(P.shape[1], P.shape[2], -1)
    # (a1, m, outputs): one matrix product per sensitive value.
    M = np.matmul(P.transpose(1, 0, 2), Q)
    empty = ~present.T[:, :, None]
    largest = np.where(empty, 0.0, M).max(axis=0)
    smallest = np.where(empty, np.inf, M).min(axis=0)
    epsilon = log_ratio(largest, smallest).max(axis=-1)
    return np.asarray(epsilon[0] if single else epsilon)
