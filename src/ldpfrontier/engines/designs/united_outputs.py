"""Mechanisms with fewer outputs and little more error: outputs are united that tell nearly the same.

Every cone of columns contains the sums of its columns, so that all promises that are made output by output
are kept. Ward's hierarchical clustering of the posteriors decides which outputs are united, for all numbers
of outputs at once, and the error rises from step to step.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.cluster.hierarchy import fcluster, linkage

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.designs.error import estimation_error
from ldpfrontier.model.channel import Channel
from ldpfrontier.numerics.arguments import as_instance, as_number


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
