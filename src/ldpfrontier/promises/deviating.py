"""The mechanism whose estimates are hurt least if some people do not follow the rule.

It is the program of `engines.designs.deviating` over the extreme rays of a cone, which have to be listed.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.engines.designs.column_weights import adjusted_weights, best_weights
from ldpfrontier.engines.designs.deviating import (
    BoundedWeights,
    deviating_estimate,
    deviating_factor,
    reduced,
)
from ldpfrontier.engines.designs.error import estimation_error
from ldpfrontier.engines.designs.settings import SETTINGS
from ldpfrontier.engines.registry import LIMITS
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.cones import Cone, PolyhedralCone, check_inside
from ldpfrontier.model.optimum import BROKEN, Optimum, checked_effort, keeps_time_limit, records_fallbacks
from ldpfrontier.numerics.arguments import as_distribution
from ldpfrontier.promises.estimation import checked_problem, listed_columns, optimal_estimation
from ldpfrontier.promises.listed_rays import listed_rays


@records_fallbacks
@keeps_time_limit
def optimal_deviating(
    prior: ArrayLike,
    cone: Cone,
    deviating: float,
    people: int,
    target: ArrayLike | None = None,
    *,
    tolerance: float = SETTINGS.deviating_tolerance,
    max_rounds: int = SETTINGS.max_rounds,
    max_seconds: float | None = None,
) -> Optimum:
    """Find the mechanism with the least error if a share of the people reports whatever it likes.

    The error is that of `deviating_estimate`: the variance if all follow the rule, plus the square of the
    largest bias, times the number of people. The bound holds for every mechanism of the cone with any linear
    estimate that is unbiased if all follow the rule.

    Parameters
    ----------
    prior, cone, target
        As of `optimal_estimation`.
    deviating, people
        As of `deviating_estimate`; without a share that deviates it is `optimal_estimation`.
    tolerance : float
        Relative gap at which to stop, 0 or more.
    max_rounds : int
        Most lines that bound the variance given the bias; a few are usual.
    max_seconds : float, optional
        Seconds after which the best mechanism and bound found so far are returned, as "bounded"; 0 or more.

    Returns
    -------
    Optimum
        The unit is "1" and the direction is "min".

    Raises
    ------
    Intractable
        If the extreme rays of the cone are not listed.
    ValueError
        As `optimal_estimation` and `deviating_estimate`.
    ArithmeticError
        If the value is below its bound.

    Examples
    --------
    >>> from ldpfrontier import local_cone, optimal_deviating
    >>> best = optimal_deviating([0.1, 0.2, 0.7], local_cone(3, 1.0), 0.05, 1000)
    >>> best.status, round(best.value, 1)
    ('optimal', 19.4)
    """
    tolerance, max_rounds = checked_effort(tolerance, max_rounds)
    c, p = deviating_factor(deviating, people), as_distribution(prior, "The prior")
    problem, size = checked_problem(p, cone, target)
    if c == 0.0 or not problem.wanted.any():
        return optimal_estimation(p, cone, target, tolerance=tolerance, max_rounds=max_rounds)
    rays = listed_rays(cone)
    if rays is None or not isinstance(cone, PolyhedralCone):
        raise Intractable(
            "The extreme rays of the cone are not listed, which people who deviate need: those of polyhedral"
            f" cones of at most {LIMITS.max_ray_inputs} inputs and"
            f" {LIMITS.max_rays:,} rays are, and of local differential privacy of at most"
            f" {LIMITS.max_staircase_inputs} inputs."
        )
    rows = problem.rows * size

    def usable(channel: Channel) -> Channel:
        matrix = channel.matrix[:, problem.p @ channel.matrix > 2.0 * SETTINGS.least_report]
        return cone.mix_inside(Channel(matrix / matrix.sum(axis=1, keepdims=True)))

    def error(channel: Channel) -> float:
        if math.isinf(estimation_error(channel, problem.p, rows)):
            return math.inf
        return deviating_estimate(channel, problem.p, deviating, people, rows).error

    vectors = listed_columns(cone, rays, problem.p)
    frame, inner = problem.frame(vectors), SETTINGS.inner_gap * tolerance
    plain = best_weights(problem, vectors, frame, max(inner, SETTINGS.finest_gap), SETTINGS.max_rounds)
    lowest = problem.bound(plain.prices, float(plain.prices.excess(vectors).max()))
    channel, rounds = usable(plain.channel(inner)), 0
    # The square of the largest distance is at least the mean of squares, the variance.
    value, bound = error(channel), (1.0 + c) * lowest * size**2
    if bound < value * (1.0 - tolerance):
        coordinates = (vectors - 1.0) @ frame
        alpha = reduced(problem.wanted @ frame)[1] / math.sqrt(plain.phi)
        program = BoundedWeights(coordinates, alpha)
        found = program.least(c, lowest / plain.phi, 0.5 * tolerance, max_rounds)
        rounds, bound = found.rounds, max(bound, found.bound * plain.phi * size**2)
        for fewer in _with_fewer_columns(found.theta, program.y, vectors):
            made = usable(fewer)
            if (own := error(made)) < value:
                channel, value = made, own
            if value <= found.value * plain.phi * size**2 * (1.0 + 0.25 * tolerance):
                break
    check_inside(cone, channel)
    if not bound <= value * (1.0 + BROKEN):
        raise ArithmeticError(f"The value {value!r} is below its bound {bound!r}; the certificate fails.")
    status = "optimal" if value - bound <= tolerance * value else "bounded"
    return Optimum(channel, value, min(bound, value), status, rounds, "1", "min")


def _with_fewer_columns(theta: FloatArray, sides: FloatArray, vectors: FloatArray) -> list[Channel]:
    """Return channels with the columns of large probabilities, and with more and more of the others."""
    found = []
    for exponent in range(1, 10):
        kept = theta > 10.0**-exponent * theta.max()
        fewer = adjusted_weights(theta[kept], sides[kept])
        off = fewer @ sides[kept] - np.eye(1, sides.shape[1])[0]
        if (fewer > 0.0).all() and np.abs(off).max() <= SETTINGS.row_sums:
            found.append(Channel((vectors[kept] * fewer[:, None]).T))
    return found
