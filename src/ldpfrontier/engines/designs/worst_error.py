r"""The error of estimates at the least favourable distribution of an uncertainty set.

An estimate is tuned at the centre p of the set: of all unbiased ones it has the least error there. It stays
unbiased at every other distribution P, and with F_y what a report y counts for beyond A p, its error is

    n MSE(P) = sum_x P_x w_x - |A P - A p|^2,   w_x = sum_y Q(y|x) |F_y|^2,

which is concave in P. The method of Frank and Wolfe (1956) maximizes it over the set, of which it needs the
largest values of linear functions alone; their tangents are bounds on all P. The error of an estimate that is
tuned at P itself, as that of maximum likelihood with many reports, is at most that.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.designs.error import centred, estimation_error, input_units, target_rows
from ldpfrontier.engines.designs.settings import SETTINGS
from ldpfrontier.model.channel import Channel
from ldpfrontier.numerics.arguments import as_instance
from ldpfrontier.uncertainty.divergence import minimizers
from ldpfrontier.uncertainty.renyi_ball import RenyiBall


def worst_estimation_error(channel: Channel, ball: RenyiBall, target: ArrayLike | None = None) -> float:
    """Return the largest mean square error over an uncertainty set, times the number of people.

    It is that of the estimate with the least error at the centre of the set, where it is `estimation_error`;
    an estimate that is tuned at the true distribution has no larger one.

    Parameters
    ----------
    channel : Channel
        With which every person reports once.
    ball : RenyiBall
        With a positive probability of every input at its centre.
    target : {"sensitive", "useful"} or array_like, shape (k, inputs), optional
        As of `estimation_error`.

    Returns
    -------
    float
        An upper bound, to about 1e-6; inf if no estimate is unbiased.

    Raises
    ------
    ValueError
        If an argument is of another kind, the sizes do not agree, or an input never occurs at the centre.

    Examples
    --------
    >>> from ldpfrontier import RenyiBall, randomized_response
    >>> from ldpfrontier import worst_estimation_error
    >>> ball = RenyiBall.confidence([[30, 10], [20, 40]])
    >>> bool(worst_estimation_error(randomized_response(4, 1.0), ball) > 9)
    True
    """
    as_instance(channel, Channel, "The channel")
    as_instance(ball, RenyiBall, "The ball")
    p = channel.flat_prior(ball.centre)
    if not (p > 0).all():
        raise ValueError(
            f"The centre of the ball is 0 at input {int(p.argmin())}; every input needs a probability above"
            " 0, as the estimate is tuned there."
        )
    a1, a2 = ball.centre.shape
    rows = target_rows(target, p.size, (a1, a2))
    if math.isinf(estimation_error(channel, ball.centre, rows)):
        return math.inf
    size = max(float(np.abs(rows).max()), 1e-300)
    return _largest(_costs(channel.matrix, p, rows / size), centred(rows / size, p), ball) * size**2


def _costs(matrix: FloatArray, p: FloatArray, rows: FloatArray) -> FloatArray:
    """Return w, (inputs,): the mean of |F_y|^2 given each input."""
    used = matrix[:, matrix.any(axis=0)]
    q = p @ used
    roots, units = np.sqrt(q), input_units(p)
    # With D = (Q_y / q_y - 1) sqrt(q_y), F_y sqrt(q_y) is the least solution X of D X = A_c.
    deviations = (used / q - 1.0) * roots
    wanted = centred(rows, p)
    found = np.linalg.lstsq(units[:, None] * deviations, (wanted * units).T, rcond=SETTINGS.rank)[0]
    return np.asarray(used @ ((found / roots[:, None]) ** 2).sum(axis=1))


def _largest(costs: FloatArray, wanted: FloatArray, ball: RenyiBall) -> float:
    """Return an upper bound of the largest w . P - |A_c P|^2 over the ball."""
    centre, radius, bound = ball.centre.ravel(), np.array([float(ball.radius)]), math.inf
    P = centre
    # Steps to the distribution of the largest error.
    for _ in range(1000):
        means = wanted @ P
        value = float(costs @ P - means @ means)
        gradient = costs - 2.0 * wanted.T @ means
        end = minimizers(centre[None], -gradient[None], radius, float(ball.order))
        bound = min(bound, value + float(-end.value[0] - gradient @ P))
        # The gap at which the last step is made.
        if bound - value <= 1e-7 * abs(bound):
            break
        move = end.R[0] - P
        rise, bend = float(gradient @ move), float(((wanted @ move) ** 2).sum())
        P = P + min(1.0, rise / (2.0 * bend) if bend > 0 else 1.0) * move
    return bound
