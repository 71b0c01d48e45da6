"""Privacy levels of a channel, in general or under given conditional distributions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ldpfrontier.base.types import FloatArray
from ldpfrontier.model.channel import Channel
from ldpfrontier.numerics.arguments import as_instance, as_number, as_numbers
from ldpfrontier.numerics.settings import SETTINGS as NUMERICS


def log_ratio(largest: FloatArray, smallest: FloatArray) -> FloatArray:
    """Return log(largest / smallest) elementwise, with 0/0 = 1 and x/0 = inf; a small one to all digits."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        logs = np.log(ratio := largest / smallest)
        if not np.isfinite(logs).all():
            # Logarithms of tiny numbers are large: their difference is the second choice.
            logs = np.where(np.isfinite(ratio), logs, np.log(largest) - np.log(smallest))
        if (near := np.abs(logs) < 1e-3).any():
            logs = np.where(near, np.log1p((largest - smallest) / smallest), logs)
        return np.where(largest > 0, logs, 0.0)


def ldp_epsilon(channel: Channel) -> float:
    """Compute the smallest epsilon for which the channel is epsilon-LDP (kairouz2016), in nats.

    The maximum over outputs of the log ratio of the largest to the smallest entry of the column; 0/0 = 1,
    x/0 = inf.

    Raises
    ------
    ValueError
        If it is not a `Channel`.
    """
    as_instance(channel, Channel, "The channel")
    return float(log_ratio(channel.matrix.max(axis=0), channel.matrix.min(axis=0)).max())


def conditional_epsilon(channel: Channel, shape: tuple[int, int]) -> float:
    """Compute the smallest level at which the channel protects S from insiders, who know U, in nats.

    The maximum over u, outputs y and pairs s, s' of log Q(y|s,u) / Q(y|s',u), where Q(y|s,u) is the entry of
    the input (s, u); 0/0 = 1, x/0 = inf. By mixing, it is also the level for everyone to whom S and U are
    independent given what he knows, whatever he believes of U.

    Parameters
    ----------
    channel : Channel
        Its inputs are the pairs (s, u) in row-major order.
    shape : (int, int)
        Numbers a1 and a2 of sensitive and useful values.

    Raises
    ------
    ValueError
        If it is not a `Channel`, or has not a1 a2 inputs.
    """
    blocks = _blocks(channel, shape)
    return float(log_ratio(blocks.max(axis=0), blocks.min(axis=0)).max())


def unconditional_epsilon(channel: Channel, shape: tuple[int, int]) -> float:
    """Compute the smallest level at which the channel protects S under every distribution of (S, U), in nats.

    The maximum over outputs y, s != s' and all u, u' of log Q(y|s,u) / Q(y|s',u') (lopuhaa2024, Proposition
    3); 0/0 = 1, x/0 = inf. With one sensitive value it is 0.

    Parameters
    ----------
    channel, shape
        As in `conditional_epsilon`.

    Raises
    ------
    ValueError
        As in `conditional_epsilon`.
    """
    blocks = _blocks(channel, shape)
    if blocks.shape[0] == 1:
        return 0.0
    largest, smallest = blocks.max(axis=1), blocks.min(axis=1)
    # The least entry of another s: the least of all, and for the s that has it the second least.
    first, second = np.partition(smallest, 1, axis=0)[:2]
    s = smallest.argmin(axis=0)
    others = np.where(np.arange(blocks.shape[0])[:, None] == s, second, first)
    return float(log_ratio(largest, others).max())


def _blocks(channel: Channel, shape: tuple[int, int]) -> FloatArray:
    """Return the entries of a channel by s, u and output."""
    as_instance(channel, Channel, "The channel")
    sizes = as_numbers(shape, "The shape")
    if sizes.shape != (2,) or (sizes < 1).any() or sizes.prod() != channel.n_inputs:
        raise ValueError(
            f"The shape is {shape}; it must be two whole numbers whose product is {channel.n_inputs}, the"
            " number of inputs of the channel."
        )
    return channel.matrix.reshape(int(sizes[0]), int(sizes[1]), -1)


def least_delta(channel: Channel, epsilon: float) -> float:
    """Compute the smallest delta for which the channel is (epsilon, delta)-LDP (kairouz2016, (33)).

    The maximum over pairs of inputs x, x' of sum_y max(0, Q[x, y] - e^epsilon Q[x', y]); at inf, the mass
    that no factor can cover.
    """
    as_instance(channel, Channel, "The channel")
    epsilon = as_number(epsilon, "epsilon", "a privacy level, 0 or more", least=0.0, infinite=True)
    Q = channel.matrix
    lowest, worst = Q.min(axis=0), 0.0
    for row in Q:
        # Multiplied by e^-epsilon, so that nothing overflows; a zero needs no factor.
        at = (row > 0) & ((row * np.exp(-epsilon) > lowest) | (lowest == 0))
        here, others = row[at], Q[:, at]
        with np.errstate(over="ignore", invalid="ignore"):
            excess = np.maximum(here * np.exp(-epsilon) - others, 0.0) * np.exp(epsilon)
        excess = np.where(others > 0, excess, here)
        worst = max(worst, float(np.nan_to_num(excess).sum(axis=1).max()))
    return min(worst, 1.0)


def error_region(channel: Channel) -> FloatArray:
    """Compute the lower boundary of the error region of a channel with two inputs (kairouz2016, section 5).

    Tests of x = 0 (null) against x = 1 on the output have the errors P_FA, of claiming 1 for a 0, and P_MD,
    of claiming 0 for a 1. The region of all pairs is the convex hull of this boundary and its mirror image
    (1 - P_FA, 1 - P_MD). One channel dominates another iff its region contains the other's (Theorem 20).
    Returned are the pairs (P_FA, P_MD) of the likelihood-ratio tests, shape (vertices, 2), from (0, 1) to
    (1, 0): convex and decreasing, without vertices on a straight line.
    """
    if channel.n_inputs != 2:
        raise ValueError(f"The channel has {channel.n_inputs} inputs; an error region belongs to two.")
    null, other = channel.merged().matrix
    order = np.argsort(np.arctan2(null, other), kind="stable")
    false_alarm = np.concatenate([np.zeros(1), np.cumsum(null[order])])
    # Summed from the far end, so that the last error is exactly 0.
    missed = np.concatenate([np.cumsum(other[order[::-1]])[::-1], np.zeros(1)])
    return np.column_stack([np.minimum(false_alarm, 1.0), np.minimum(missed, 1.0)])


def rldp_epsilon(channel: Channel, conditionals: ArrayLike) -> FloatArray:
    """Compute the realized level of a channel under given P(U|S) (lopuhaa2024, section 8.3), in nats.

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
    as_instance(channel, Channel, "The channel")
    P = as_numbers(conditionals, "The array of conditionals")
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
    bad = ~((np.abs(sums - 1.0) <= NUMERICS.sum_tolerance) | ~present) | ~(P >= 0.0).all(axis=-1)
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
    # Where next to nothing is told, most of that is the rounding of the means.
    epsilon = np.minimum(log_ratio(largest, smallest).max(axis=-1), ldp_epsilon(channel))
    return np.asarray(epsilon[0] if single else epsilon)
