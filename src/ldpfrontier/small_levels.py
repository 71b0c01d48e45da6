r"""Mechanisms whose level, as they are stored, is at most epsilon, at levels near the rounding of numbers.

Entries of a channel are rounded, by u = 2^-53 of themselves, and the level with them, by some u. So below
`STORED_EPSILON` a mechanism is mixed with as little of one that tells nothing as its level asks for, some
u / eps of it; its utility as stored has an error of some u / eps, too, by which it is lowered. Below
`LEAST_OPTIMAL_EPSILON` that would be more than 1e-4, and near 1e-16 there are no numbers in between: there,
every optimizer returns the mechanism that tells nothing, and the bound of `LEAST_OPTIMAL_EPSILON`, which
holds, as a mechanism with a level has every higher one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from ldpfrontier.channel import Channel
from ldpfrontier.numerics.rounding import UNIT_ROUNDOFF
from ldpfrontier.optimum import LEAST_OPTIMAL_EPSILON, STORED_EPSILON, Optimum, certified, fell_back
from ldpfrontier.types import FloatArray
from ldpfrontier.utility import Utility

#: Rounding operations in the computation of a level from differences of entries.
_DIFFERENCES = 8
#: Rounding operations for each input and output in the computation of a utility at a small level.
_OPERATIONS = 4


def uninformative_below_least(least: Optimum) -> Optimum:
    """Return the uninformative mechanism for lower levels, with the bound of `LEAST_OPTIMAL_EPSILON`.

    Parameters
    ----------
    least : Optimum
        At the level `LEAST_OPTIMAL_EPSILON`.
    """
    fell_back(
        f"the mechanism that tells nothing, with the bound of epsilon {LEAST_OPTIMAL_EPSILON:g}, as epsilon"
        " is below it"
    )
    silent = Channel(np.ones((least.channel.n_inputs, 1)))
    return replace(least, channel=silent, value=0.0, status="bounded")


def is_surely_at_most(level: float, epsilon: float) -> bool:
    """Return whether a level found from entries of a channel is at most epsilon, its rounding included."""
    return level <= epsilon * (1.0 - _DIFFERENCES * UNIT_ROUNDOFF)


def mixed_until_private(
    channel: Channel, silent: FloatArray, epsilon: float, is_private: Callable[[Channel], bool]
) -> Channel:
    """Return a channel, or as little of a mixture with one that tells nothing as makes it private.

    Parameters
    ----------
    channel : Channel
    silent : ndarray, shape (inputs, outputs)
        The matrix of the other channel, which is private whatever is rounded.
    epsilon : float
        The level in nats, 0 or more, which says how much of it rounding is.
    is_private : callable
    """
    for share in _shares(epsilon):
        mixed = channel if share == 1.0 else Channel(silent + share * (channel.matrix - silent))
        if is_private(mixed):
            return mixed
    return Channel(silent)


def _shares(epsilon: float) -> Iterator[float]:
    """Yield shares of a mechanism, from 1 down to what is above 0: the rest grows by factors of two."""
    yield 1.0
    rest = UNIT_ROUNDOFF
    while rest < epsilon:
        yield 1.0 - rest / epsilon
        rest *= 2.0


def constant_rows(channel: Channel, prior: FloatArray) -> FloatArray:
    """Return the matrix of the channel that draws from the mean output of another, whatever the input."""
    mean = prior.ravel() @ channel.matrix
    return np.tile(mean / mean.sum(), (channel.n_inputs, 1))


def with_stored_level(
    optimum: Optimum,
    utility: Utility,
    epsilon: float,
    tolerance: float,
    is_private: Callable[[Channel], bool],
    *,
    keeps_value: bool = False,
) -> Optimum:
    """Return an optimum, with a channel that has the level as stored if that is below `STORED_EPSILON`.

    Its value is then the utility of the channel as stored, less the error that rounding can have added, or
    that of the channel before it was stored.

    Parameters
    ----------
    optimum : Optimum
    utility : Utility
    epsilon, tolerance : float
        With which it was found.
    is_private : callable
        Whether a channel surely has the level.
    keeps_value : bool
        Whether the value stays, as one that was found without the digits that a stored channel lacks.
    """
    if epsilon >= STORED_EPSILON:
        return optimum
    channel = mixed_until_private(
        optimum.channel, constant_rows(optimum.channel, utility.prior), epsilon, is_private
    )
    if keeps_value:
        return replace(optimum, channel=channel)
    rounding = _OPERATIONS * sum(channel.matrix.shape) * UNIT_ROUNDOFF
    value = utility(channel) * max(1.0 - rounding / epsilon, 0.0)
    found = certified(
        channel,
        min(value, optimum.bound),
        optimum.bound,
        tolerance,
        optimum.iterations,
        unit=optimum.unit,
        error=0.0,
        method=optimum.method,
    )
    return replace(found, prices=optimum.prices)
