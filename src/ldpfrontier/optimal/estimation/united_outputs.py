"""A mechanism with united outputs that estimates nearly as well, as far as that goes.

Outputs that tell nearly the same are reported as one. Every cone of columns contains the sum of two of its
columns, so that all promises that are made output by output are kept. Which ones become one is decided by
Ward's hierarchical clustering of the posteriors, in which the error rises from step to step; the last step
is the one before the error has risen by the share that may be lost.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.cluster.hierarchy import fcluster, linkage

from ldpfrontier.channel import Channel
from ldpfrontier.optimal.estimation.error import estimation_error


def with_united_outputs(channel: Channel, prior: ArrayLike, target: ArrayLike | None, lost: float) -> Channel:
    """Return a channel whose outputs are unions of those of another one.

    Parameters
    ----------
    channel : Channel
    prior, target
        As of `estimation_error`.
    lost : float
        By which share the error may rise.
    """
    p = channel.flat_prior(prior)
    matrix = channel.matrix[:, p @ channel.matrix > 0]
    if matrix.shape[1] < 3:
        return channel
    q = p @ matrix
    tree = linkage((matrix / q).T * np.sqrt(p / p.sum()), "ward")
    most = estimation_error(channel, prior, target) * (1.0 + lost)

    def united(outputs: int) -> Channel:
        groups = fcluster(tree, outputs, "maxclust") - 1
        columns = np.zeros((groups.max() + 1, len(matrix)))
        np.add.at(columns, groups, matrix.T)
        return Channel(columns.T)

    low, high = 1, matrix.shape[1]
    while high - low > 1:
        middle = (low + high) // 2
        if estimation_error(united(middle), prior, target) <= most:
            high = middle
        else:
            low = middle
    return united(high) if high < matrix.shape[1] else channel
