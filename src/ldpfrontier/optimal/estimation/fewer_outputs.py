"""Mechanisms with few outputs and little more error than those with many.

Every cone of columns contains the multiples of its columns and their sums, so that all promises that are made
output by output are kept in two ways of having fewer outputs:

- **Outputs are united** that tell nearly the same. Ward's hierarchical clustering of the posteriors decides
  which ones, for all numbers of outputs at once, and the error rises from step to step.
- **Outputs are left out**, a few of the least probability at a time, and those that stay get the best
  weights. The error depends on a mechanism through a symmetric matrix M of r (r + 1) / 2 entries, for inputs
  that differ in r dimensions, and M p = 1 are the row sums; so that as many outputs as entries are enough for
  any error (Caratheodory). Fewer cost some.

`with_fewer_outputs` does both for a number of outputs, and returns what has less error; `with_united_outputs`
has as few outputs as a rise of the error allows, at no more cost than that of computing errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.cluster.hierarchy import fcluster, linkage

from ldpfrontier.channel import Channel
from ldpfrontier.numerics.arguments import as_count, as_instance, as_number
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

    Its columns are multiples or sums of those of the given channel, so that it keeps the same promises.

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
    >>> from ldpfrontier import estimation_error, subset_selection
    >>> from ldpfrontier import with_fewer_outputs
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
    united = _unions(channel, problem.p)(outputs)
    error = estimation_error(united, problem.p, problem.rows)
    best = _own_weights(problem, channel)
    while best[0].n_outputs > outputs:
        check_time()
        found = _with_some_less(problem, *best[1:], best[0].n_outputs - outputs)
        if found is None and math.isinf(error):
            raise ValueError(
                f"No mechanism with at most {outputs} of these outputs was found; with {best[0].n_outputs},"
                " there is one."
            )
        if found is None:
            return united
        best = found
    return united if error < estimation_error(best[0], problem.p, problem.rows) else best[0]


def with_united_outputs(
    channel: Channel, prior: ArrayLike, target: ArrayLike | None = None, lost: float = 2e-3
) -> Channel:
    """Return a channel whose outputs are unions of those of another one, as few as the error allows.

    It keeps the same promises: its columns are sums of columns of the channel.

    Parameters
    ----------
    channel : Channel
    prior, target
        As of `estimation_error`.
    lost : float
        By which share the error may rise, 0 or more.

    Raises
    ------
    ValueError
        If an argument is of another kind or out of range.
    """
    as_instance(channel, Channel, "The channel")
    lost = as_number(lost, "lost", "a finite number, 0 or more", least=0.0)
    p, _ = channel.flat_prior(prior), estimation_error(channel, prior, target)
    united = _unions(channel, p / p.sum())
    low, high = 1, united(channel.n_outputs).n_outputs
    if high < 3:
        return channel
    most = estimation_error(channel, prior, target) * (1.0 + lost)
    while high - low > 1:
        middle = (low + high) // 2
        if estimation_error(united(middle), prior, target) <= most:
            high = middle
        else:
            low = middle
    found = united(high)
    return found if found.n_outputs < channel.n_outputs else channel


def _unions(channel: Channel, p: FloatArray) -> Callable[[int], Channel]:
    """Return a function from a number of outputs to the channel with at most so many unions of outputs."""
    matrix = channel.matrix[:, p @ channel.matrix > 0]
    posteriors = (matrix / (p @ matrix)).T * np.sqrt(p)
    tree = linkage(posteriors, "ward") if len(posteriors) > 1 else None

    def united(outputs: int) -> Channel:
        if tree is None or outputs >= matrix.shape[1]:
            return Channel(matrix)
        groups = fcluster(tree, outputs, "maxclust") - 1
        columns = np.zeros((groups.max() + 1, len(matrix)))
        np.add.at(columns, groups, matrix.T)
        return Channel(columns.T)

    return united


def _own_weights(problem: Problem, channel: Channel) -> Weighted:
    """Return the channel of the columns of another one with the best weights."""
    vectors = channel.matrix[:, channel.matrix.any(axis=0)].T
    best = _weighted(problem, np.unique(vectors / (vectors @ problem.p)[:, None], axis=0))
    if best is None:
        raise ArithmeticError("The channel's own columns have no weights of a channel in floating point.")
    return best


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
