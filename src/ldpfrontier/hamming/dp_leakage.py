r"""The least DP leakage at a Hamming distortion for any source set, with a bound (kalantari2018, (4)).

With v(t) of `game`, eps*(D) is the log of the least t with v(t) >= 1 - D. For one prior p the dual of v_p(t)
is a minimum over one number, with the solution v_p(t) = max_n H_n t / (t + n - 1), H_n the sum of the n
largest p_i: randomized response on the n most likely letters (`known_prior_ratio`). Hence ::

    eps*(p, D) = min over n with T_n < D of log (n - 1)(1 - D) / (D - T_n),     T_n = 1 - H_n,
    eps*(hull, D) = sup over p of eps*(p, D).

Every p of the hull certifies a lower bound by that formula, and the iteration t -> eps*(p(t), D), with p(t)
the worst mixture at t (duals of the LP), climbs to the optimum from below (`hamming_leakage`). As a matrix
game v(t) also says that some mixture of randomized responses on subsets of the letters is optimal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ldpfrontier.base.types import FloatArray
from ldpfrontier.hamming.formulas import class_one_channel
from ldpfrontier.hamming.game import Game, channel_from_minima
from ldpfrontier.hamming.optimum import DISTORTION_ROUNDING, MECHANISMS, LeakageOptimum
from ldpfrontier.hamming.sources import (
    LEAST_DISTORTION,
    SourceSet,
    as_sources,
    check_size,
    checked_distortion,
)
from ldpfrontier.model.optimum import Method, checked_effort, fell_back, keeps_time_limit, records_fallbacks
from ldpfrontier.model.privacy import ldp_epsilon
from ldpfrontier.numerics.arguments import as_distribution
from ldpfrontier.numerics.deadline import TimeIsUp, no_time_limit
from ldpfrontier.numerics.highs import maximize

#: Most letters: the LP has twice as many variables, and is dense.
MAX_LETTERS = 1000


def known_prior_ratio(p: FloatArray, D: float) -> float:
    """Return e^eps*(p, D) of one known distribution: max(1, min_n (n - 1)(1 - D) / (D - T_n)).

    T_n < D is the probability of all but the n most likely letters; the best channel is randomized response
    on those n. Not in kalantari2018, where this case is the LP of Theorem 2. It bounds the leakage of every
    source set whose hull contains p from below.

    *Proof.* With prices lambda_i for q_i <= t m_i and p_i - lambda_i for q_i <= 1 - mu + m_i, the dual of
    v_p(t) is to minimize c + (1 - 1/t) (1 - sum lambda - c)^+ over c >= max p and lambda_i <= p_i with
    p_i + (t - 1) lambda_i <= c. The largest lambda is best, which leaves max{c, max_n H_n - (n - 1) c / t}:
    the rising c meets the falling lines at the largest of H_n t / (t + n - 1).
    """
    tails = np.append(np.cumsum(np.sort(p))[-2::-1], 0.0)
    n = np.arange(len(p))  # n - 1, in fact
    room = D - tails
    if room[0] >= 0.0:
        return 1.0
    possible = room > 0.0
    return max(1.0, float((n[possible] * (1.0 - D) / room[possible]).min()))


@keeps_time_limit
def hamming_leakage(
    sources: SourceSet | ArrayLike,
    distortion: float,
    *,
    tolerance: float = 1e-9,
    max_rounds: int = 100,
    start: ArrayLike | None = None,
    max_seconds: float | None = None,
) -> LeakageOptimum:
    """Compute the least DP leakage eps*_DP(P, D) of any source set (kalantari2018, (4)), in nats.

    Every step of the iteration at the top of the module is a certified lower bound, and at the last t there
    is a channel that meets the distortion.

    Parameters
    ----------
    sources : SourceSet or array_like, shape (J, M)
        Distributions on up to 1000 letters; the set is their convex hull.
    distortion : float
        Largest expected Hamming distortion, in [1e-9, 1).
    tolerance : float
        Largest gap value - bound of an "optimal" result, in nats: absolute, as the least leakage may be 0.
    max_rounds : int
        Most LPs to solve.
    start : array_like, shape (M,), optional
        A distribution of the hull (the `prior` of the optimum at another distortion, say). The climb begins
        at the best lower bound of its own and those of the sources.
    max_seconds : float, optional
        Seconds after which the best mechanism and bound found so far are returned, as "bounded"; 0 or more.

    Returns
    -------
    LeakageOptimum
        "bounded" if the gap is above the tolerance; the channel of Theorem 1 if no better one was found.

    Raises
    ------
    Intractable
        If there are more than 1000 letters, or 100,000 probabilities.
    ValueError
        If the sources or the distortion are not valid, or the start is not in the hull.
    """
    sources, D = as_sources(sources), checked_distortion(distortion, LEAST_DISTORTION)
    check_size(sources, MAX_LETTERS)
    tolerance, max_rounds = checked_effort(tolerance, max_rounds)
    priors = list(sources.distributions)
    if start is not None:
        priors.append(_in_hull(sources, start))
    return _ascend(sources, Game(sources.distributions), D, priors, tolerance, max_rounds)


@keeps_time_limit
def hamming_leakages(
    sources: SourceSet | ArrayLike,
    distortions: Sequence[float],
    *,
    tolerance: float = 1e-9,
    max_rounds: int = 100,
    max_seconds: float | None = None,
) -> list[LeakageOptimum]:
    """Solve `hamming_leakage` at several distortions, each solution the start of the next, in any order.

    The rounds are per distortion, and `max_seconds` is for all together.
    """
    sources = as_sources(sources)
    check_size(sources, MAX_LETTERS)
    tolerance, max_rounds = checked_effort(tolerance, max_rounds)
    grid = [checked_distortion(D, LEAST_DISTORTION) for D in distortions]
    game = Game(sources.distributions)
    optima: dict[int, LeakageOptimum] = {}
    priors = list(sources.distributions)
    for k in map(int, np.argsort(grid, kind="stable")):
        optima[k] = _ascend(sources, game, grid[k], priors, tolerance, max_rounds)
        priors = [*sources.distributions, optima[k].prior]
    return [optima[k] for k in range(len(grid))]


@records_fallbacks
@keeps_time_limit
def _ascend(
    sources: SourceSet,
    game: Game,
    D: float,
    priors: Sequence[FloatArray],
    tolerance: float,
    max_rounds: int,
) -> LeakageOptimum:
    t, prior = max(((known_prior_ratio(p, D), p) for p in priors), key=lambda pair: pair[0])
    nudge, rounds, channel = 0.0, 0, None
    while channel is None and rounds < max_rounds:
        rounds += 1
        # The nudge absorbs the rounding of p and of the LP, which counts where eps*(p, D) jumps in p.
        level = t * (1.0 + nudge)
        try:
            _, worst, minima = game.solve(level)
        except TimeIsUp:  # what was found before holds
            break
        candidate = channel_from_minima(minima, level)
        better = known_prior_ratio(worst, D)
        if better > t:
            t, prior = better, worst
        if sources.distortion(candidate) <= D + DISTORTION_ROUNDING:
            channel = candidate
        elif better <= level:
            nudge = max(2.0 * nudge, 1e-14)
    bound = math.log(t)
    if channel is None or ldp_epsilon(channel) - bound > tolerance:
        safe, found = class_one_channel(sources.letters, D), channel
        channel = safe if found is None else min(found, safe, key=ldp_epsilon)
        if channel is safe:
            fell_back(
                "the channel of Theorem 1, as no program ended with a channel that meets the distortion and"
                " leaks less"
            )
    value = max(ldp_epsilon(channel), bound)
    status = "optimal" if value - bound <= tolerance else "bounded"
    realized = sources.distortion(channel)
    engine = "linear programs for the least favourable distribution of the hull"
    method = Method(MECHANISMS, engine, "every source set")
    return LeakageOptimum(
        channel, value, bound, status, rounds, prior=prior, distortion=realized, method=method
    )


def _in_hull(sources: SourceSet, start: ArrayLike) -> FloatArray:
    """Return the start as a mixture of the sources, which it then is to rounding: its bound must hold."""
    P, p = sources.distributions, as_distribution(start, "The start")
    if p.shape != (sources.letters,):
        raise ValueError(f"The start has shape {p.shape}; the sources have {sources.letters} letters.")
    right = np.append(p, 1.0)
    with no_time_limit():
        solution = maximize(np.zeros(len(P)), np.vstack([P.T, np.ones(len(P))]), right, right)
    if solution is None:
        raise ValueError("The start is not in the convex hull of the source set.")
    weights = np.maximum(solution[1], 0.0)
    return np.asarray(weights / weights.sum() @ P)
