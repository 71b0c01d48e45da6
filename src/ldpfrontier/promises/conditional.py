r"""The best mechanisms that protect S from insiders, who know U: local label differential privacy.

The cone asks for v_{s,u} <= e^eps v_{s',u} alone (`conditional_cone`), for every u by itself. With v^u the
part of a column at one u, and 0 elsewhere, each v^u is in the cone if v is. A report that tells u as well
tells no less: a sublinear utility is mu(v) <= sum_u mu(v^u), and for estimates the matrices v v' / (p . v),
jointly convex and homogeneous, are no larger in sum than those of the v^u. So a best mechanism tells u, and
s by a mechanism of eps-LDP that may differ from u to u. With p_u = P(. | u)::

    max I(S, U; Y) = H(U) + sum_u P(u) max I(S; Y | U = u),
    min tr(A M^-1 A') = sum_u P(u) min tr(A_u M_u^-1 A_u'),

A_u the columns of A of the pairs with u, and each optimum on the right over eps-LDP of S at p_u (kairouz2016;
`optimal_ldp`, `optimal_estimation`). The promise is that of Chaudhuri and Hsu (COLT 2011) in the local model.
It does not limit what U says about S to whoever does not know U.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.designs.error import estimation_error, target_rows
from ldpfrontier.engines.registry import choose
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.cones import local_cone
from ldpfrontier.model.information import entropy, mutual_information
from ldpfrontier.model.mechanisms import unlimited_response
from ldpfrontier.model.optimum import (
    BROKEN,
    MAX_EPSILON,
    Optimum,
    certified,
    checked_effort,
    checked_epsilon,
    keeps_time_limit,
    records_fallbacks,
)
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.numerics.arguments import as_distribution
from ldpfrontier.promises.estimation import optimal_estimation
from ldpfrontier.promises.ldp import optimal_ldp

_MECHANISMS = "mechanisms private given the useful value"


def _checked(prior: ArrayLike) -> FloatArray:
    joint = as_distribution(prior, "The distribution")
    if joint.ndim != 2:
        raise ValueError(f"The distribution has shape {joint.shape}; it must be (a1, a2), rows = sensitive.")
    return joint


def with_useful(channels: Sequence[Channel]) -> Channel:
    """Return the channel that tells u, and s by the channel of this u, given one with inputs s for each u.

    Inputs are (s, u) in row-major order; the outputs are those of the first channel, then of the next one.
    """
    a1, a2 = len(channels[0].matrix), len(channels)
    sizes = [channel.n_outputs for channel in channels]
    joint = np.zeros((a1, a2, sum(sizes)))
    for u, (channel, end) in enumerate(zip(channels, np.cumsum(sizes), strict=True)):
        joint[:, u, end - sizes[u] : end] = channel.matrix
    return Channel(joint.reshape(a1 * a2, -1))


@records_fallbacks
@keeps_time_limit
def optimal_conditional(
    prior: ArrayLike, epsilon: float, *, tolerance: float = 1e-6, max_seconds: float | None = None
) -> Optimum:
    """Return the mechanism whose reports carry the most information about (S, U), with a bound.

    Parameters
    ----------
    prior : array_like, shape (a1, a2)
        Distribution of (S, U).
    epsilon : float
        Level of S given U in nats, 0, or 0.001 to 300.
    tolerance : float
        Relative gap at which to stop.
    max_seconds : float, optional
        Seconds after which the best mechanism found so far is returned, as "bounded"; 0 or more.

    Returns
    -------
    Optimum
        Utility I(S, U; Y) in nats; inputs (s, u) in row-major order.

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    prior, epsilon = _checked(prior), checked_epsilon(epsilon, MAX_EPSILON)
    tolerance, _ = checked_effort(tolerance, 0)
    mass, found, bound = prior.sum(axis=0), list[Channel](), entropy(prior.sum(axis=0))
    for share, column in zip(mass, prior.T, strict=True):
        if share <= 0.0:  # worth nothing, whatever it reports
            found.append(unlimited_response(len(prior), epsilon))
            continue
        best = optimal_ldp(MutualInformation(column / share), epsilon, tolerance=tolerance)
        found.append(best.channel)
        bound += float(share) * best.bound
    channel = with_useful(found)
    value = mutual_information(prior.ravel(), channel)
    return certified(channel, value, bound, tolerance, method=choose("conditional").method(_MECHANISMS))


@records_fallbacks
@keeps_time_limit
def optimal_conditional_estimation(
    prior: ArrayLike,
    epsilon: float,
    target: ArrayLike | None = None,
    *,
    tolerance: float = 1e-2,
    max_rounds: int = 60,
    max_seconds: float | None = None,
) -> Optimum:
    """Return the mechanism from whose reports a target is estimated with the least error, with a bound.

    Parameters
    ----------
    prior : array_like, shape (a1, a2)
        Distribution of (S, U), with positive entries.
    epsilon : float
        Level of S given U in nats, above 0.
    target, tolerance, max_rounds
        As of `optimal_estimation`.
    max_seconds : float, optional
        Seconds after which the best mechanism found so far is returned, as "bounded"; 0 or more.

    Returns
    -------
    Optimum
        The value is n times the mean squared error of all numbers of the target, which is minimized; inputs
        (s, u) in row-major order.

    Raises
    ------
    ValueError
        If an entry of the prior is 0, or an argument is out of range.
    """
    prior, epsilon = _checked(prior), checked_epsilon(epsilon, MAX_EPSILON)
    tolerance, max_rounds = checked_effort(tolerance, max_rounds)
    if not (prior > 0).all():
        raise ValueError("The distribution has an entry that is 0; every pair needs a probability above 0.")
    (a1, a2), mass = prior.shape, prior.sum(axis=0)
    rows = target_rows(target, prior.size, (a1, a2))
    known, found, squares = dict[bytes, Optimum](), list[Optimum](), 0.0
    for u in range(a2):
        p, wanted = prior[:, u] / mass[u], rows.reshape(-1, a1, a2)[:, :, u]
        wanted = wanted[wanted.any(axis=1)] if wanted.any() else wanted[:1]
        key = p.tobytes() + wanted.tobytes()  # without a table, all useful values are alike
        if key not in known:
            cone = local_cone(a1, epsilon)
            known[key] = optimal_estimation(p, cone, wanted, tolerance=tolerance, max_rounds=max_rounds)
        found.append(known[key])
        squares += float(mass[u] * ((wanted @ p) ** 2).sum())
    channel = with_useful([best.channel for best in found])
    value = estimation_error(channel, prior, rows)
    parts = [float(share) * best.bound for share, best in zip(mass, found, strict=True)]
    bound = math.fsum([*parts, squares, -float(((rows @ prior.ravel()) ** 2).sum())])
    bound = min(bound * (1.0 - BROKEN), value)
    status = "optimal" if value - bound <= tolerance * value else "bounded"
    rounds = max(best.iterations for best in found)
    return Optimum(
        channel, value, bound, status, rounds, "1", "min", method=choose("conditional").method(_MECHANISMS)
    )
