"""Mechanisms with few outputs and little more error than those with many.

The error depends on a mechanism through the r (r + 1) / 2 entries of a matrix and r + 1 row sums, for inputs
that differ in r dimensions, so that as many outputs as these numbers are enough for any error (Caratheodory).
Fewer cost some. Outputs of the least probability are left out, a few at a time, and those that stay get the
best weights. All columns are multiples of given ones, and in every cone that these are in.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ldpfrontier.channel import Channel
from ldpfrontier.numerics.arguments import as_count, as_instance
from ldpfrontier.numerics.deadline import check_time
from ldpfrontier.optimal.estimation.error import estimation_error, target_rows
from ldpfrontier.optimal.estimation.settings import SETTINGS
from ldpfrontier.optimal.estimation.weights import Problem, best_weights
from ldpfrontier.types import FloatArray

#: A channel, the columns that it has, with p . v = 1, and their weights.
Weighted = tuple[Channel, FloatArray, FloatArray]


def with_fewer_outputs(
    channel: Channel, prior: ArrayLike, outputs: int, target: ArrayLike | None = None
) -> Channel:
    """Return a channel with at most so many outputs from which estimates have little more error.

    Each of its columns is a multiple of one of the given channel, so that it keeps the same promises.

    Parameters
    ----------
    channel : Channel
        Such as that of `optimal_estimation`.
    prior : array_like, any shape
        The distribution of the records, positive.
    outputs : int
        Most outputs; one more than there are dimensions in which inputs are told apart are needed at least.
    target : {"sensitive", "useful"} or array_like, shape (k, inputs), optional
        As of `estimation_error`, which is the error of the result.

    Raises
    ------
    ValueError
        If an argument is of another kind or out of range, the channel allows no estimate, or no mechanism
        with so few outputs is found.

    Examples
    --------
    >>> from ldpfrontier import estimation_error, subset_selection, with_fewer_outputs
    >>> few = with_fewer_outputs(subset_selection(6, 0.5), [1 / 6] * 6, 10)
    >>> few.n_outputs, round(estimation_error(few, [1 / 6] * 6), 1)
    (10, 65.9)
    """
    as_instance(channel, Channel, "The channel")
    p = channel.flat_prior(prior)
    outputs = as_count(outputs, "outputs", "a whole number, 1 or more", least=1)
    if not (p > 0).all():
        raise ValueError(
            f"The prior is 0 at input {int(p.argmin())}; every input needs a probability above 0."
        )
    shape = np.shape(prior)
    rows = target_rows(target, p.size, (shape[0], shape[1]) if len(shape) == 2 else None)
    if math.isinf(estimation_error(channel, prior, rows)):
        raise ValueError("The channel allows no unbiased estimate of the target.")
    problem = Problem(p / p.sum(), rows / max(float(np.abs(rows).max()), 1e-300))
    if not problem.wanted.any():
        return Channel(np.ones((p.size, 1)))
    vectors = channel.matrix[:, channel.matrix.any(axis=0)].T
    vectors = np.unique(vectors / (vectors @ problem.p)[:, None], axis=0)
    best = _weighted(problem, vectors)
    if best is None:
        raise ArithmeticError("The channel's own columns have no weights of a channel in floating point.")
    while best[0].n_outputs > outputs:
        check_time()
        found = _with_some_less(problem, *best[1:], best[0].n_outputs - outputs)
        if found is None:
            raise ValueError(
                f"No mechanism with at most {outputs} of these outputs was found; with {best[0].n_outputs},"
                " there is one."
            )
        best = found
    return best[0]


def _weighted(problem: Problem, vectors: FloatArray) -> Weighted | None:
    """Return a channel of columns with the best weights, those that it has, and weights; or None."""
    try:
        frame = problem.frame(vectors)
        found = best_weights(problem, vectors, frame, SETTINGS.worst_error_gap, SETTINGS.max_rounds)
    except (ArithmeticError, ValueError):  # they do not span what is wanted
        return None
    channel = found.channel(SETTINGS.worst_error_gap)
    if channel.n_outputs > len(vectors) or channel.row_sum_error > SETTINGS.row_sums:
        return None
    if math.isinf(estimation_error(channel, problem.p, problem.rows)):
        return None
    theta = problem.p @ channel.matrix
    return channel, channel.matrix.T / theta[:, None], theta


def _with_some_less(problem: Problem, vectors: FloatArray, theta: FloatArray, excess: int) -> Weighted | None:
    """Return the best channel without some columns of the least weight, or None."""
    order, number = np.argsort(theta, kind="stable"), min(excess, max(len(theta) // SETTINGS.dropped_part, 1))
    while number > 1:
        found = _weighted(problem, vectors[np.sort(order[number:])])
        if found is not None:
            return found
        number //= 2
    for left_out in order:
        found = _weighted(problem, np.delete(vectors, left_out, axis=0))
        if found is not None:
            return found
    return None
