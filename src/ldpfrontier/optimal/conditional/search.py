r"""Mechanisms with a conditional level on large tables, by column generation with a search for columns.

The columns are those of `cone_program`. At duals alpha the reduced cost sum_x P_x v_x log v_x - alpha . v is
convex in v, and rises along the solutions of linear programs with its gradient. Good columns of the last
rounds, and random ones, are the starts. The duals are those of a proximal program (`proximal_bundle`) around
the best ones so far: first near these, where the search learns which columns there are; then ever farther
away, until the columns found make up a mechanism.

Nothing here bounds the utility of the class (see `bound`).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import xlogy

from ldpfrontier.channel import Channel
from ldpfrontier.mechanisms import secret_randomized_response
from ldpfrontier.numerics.deadline import TimeIsUp, time_is_up
from ldpfrontier.numerics.settings import SETTINGS as NUMERICS
from ldpfrontier.optimal.column_generation.proximal_bundle import proximal_duals
from ldpfrontier.optimal.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.optimal.column_generation.smoothed import Master
from ldpfrontier.optimal.conditional.cone_program import ConeProgram
from ldpfrontier.optimal.conditional.settings import SETTINGS
from ldpfrontier.optimal.exact.separation import Conditionals
from ldpfrontier.optimal.polyopt.solve import start_columns
from ldpfrontier.optimal.projections.settings import SETTINGS as PROJECTIONS
from ldpfrontier.types import FloatArray
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from ldpfrontier.utility import Columns, MutualInformation


class ColumnSearch:
    """Columns of one cone, found at duals.

    Parameters
    ----------
    cone : ConeProgram
    level : float
        The conditional level in nats.
    """

    def __init__(self, cone: ConeProgram, level: float) -> None:
        self._cone, self._level = cone, min(level, SETTINGS.random_level)
        self._rng, self._rounds = np.random.default_rng(0), 0

    def columns(self, duals: FloatArray, known: Columns) -> FloatArray:
        """Return columns of large reduced cost at some duals, found from known ones, shape (m, a1 a2)."""
        order = np.argsort(-(known.values - known.vectors @ duals), kind="stable")
        most = SETTINGS.starts
        best, near = order[: most // 3], order[most // 3 : 3 * most]
        chosen = np.concatenate([best, self._rng.permutation(near)[: most - len(best)]])
        ends = [self._ascend(duals, start) for start in (*known.vectors[chosen], *self._random_starts())]
        self._rounds += 1
        return np.array([end for end in ends if end is not None])

    def _random_starts(self) -> FloatArray:
        """Return random columns of the conditional level, which need not be private over F."""
        a1, a2 = self._cone.ball.centre.shape
        number = SETTINGS.random_starts[self._rounds] if self._rounds < len(SETTINGS.random_starts) else 0
        values = np.exp(SETTINGS.random_scale * self._rng.normal(size=(number, 1, a2)))
        raised = self._rng.random((number, a1, a2)) < 0.4
        columns = (values * np.where(raised, math.exp(self._level), 1.0)).reshape(number, a1 * a2)
        return columns / (columns @ self._cone.prior)[:, None]

    def _ascend(self, duals: FloatArray, start: FloatArray) -> FloatArray | None:
        """Return the best column of the cone on the way along gradients from a start."""
        prior, v, best, end = self._cone.prior, start, -math.inf, None
        for _ in range(SETTINGS.max_steps):
            slopes = prior * (np.log(np.maximum(v, NUMERICS.gradient_floor)) + 1.0) - duals
            try:
                inside, v = self._cone.step(slopes)
            except RuntimeError:  # HiGHS gives up some programs
                break
            reduced = float(xlogy(inside, inside) @ prior - inside @ duals)
            if reduced > best:
                best, end = reduced, inside
        return end


def searched_mechanism(
    ball: RenyiBall,
    epsilon: float,
    conditional_epsilon: float,
    envelope: Conditionals,
    *,
    tolerance: float,
    max_rounds: int,
    start: Channel | None = None,
) -> tuple[Channel, int]:
    """Return a good mechanism with both levels, at least as good as the start, and the rounds.

    Parameters
    ----------
    ball : RenyiBall
        With a positive and finite radius.
    epsilon, conditional_epsilon : float
        Levels in nats: > 0, and 0 or more and finite.
    envelope : {"simplex", "projections", "exact"}
        The columns compare all pairs of sensitive values; the exact envelope has one multiplier a column.
    tolerance : float
        Gap, relative to the value, between the mechanism and the bound that the columns found would have.
    max_rounds : int
    start : Channel, optional
        A mechanism with both levels.
    """
    utility, cone = MutualInformation(ball.centre), ConeProgram(ball, epsilon, conditional_epsilon, envelope)
    search = ColumnSearch(cone, conditional_epsilon)
    prior = cone.prior
    n = prior.size
    # Private under every distribution, and for those who know u; a channel can be made of its columns.
    a1, a2 = ball.centre.shape
    response = secret_randomized_response(a1, a2, min(epsilon, conditional_epsilon))
    given = start_columns(start, utility)
    pool = Columns.join([*start_columns(response, utility), utility.columns(np.ones((1, n))), *given])
    master = Master(n, unit=max(float(pool.values.max()), 1e-6))
    master.add(pool)
    metric: FloatArray = np.maximum(prior, GENERATION.metric_floor / n)
    centre: FloatArray = np.asarray(-SETTINGS.first_duals * xlogy(prior, prior), dtype=np.float64)
    trial = centre
    tau, rounds = SETTINGS.first_tau, min(max_rounds, SETTINGS.rounds)
    value, weights, _ = master.solve()
    for number in range(1, rounds + 1):
        ends = search.columns(trial, pool)
        if time_is_up():
            break
        found = utility.columns(ends)
        master.add(found)
        pool = Columns.join([pool, found])
        # What is known of the bound at the best duals rises with every column.
        if _known_bound(trial, pool) < _known_bound(centre, pool):
            centre = trial
        trial, of_columns = proximal_duals(pool, centre, prior, tau * metric, PROJECTIONS.finest_gap)
        if number > SETTINGS.growth_round:
            tau = min(tau * SETTINGS.tau_growth, SETTINGS.max_tau)
        kept = np.sort(np.argsort(-of_columns, kind="stable")[: GENERATION.kept_per_input * n])
        pool = Columns(pool.vectors[kept], pool.values[kept])
        if number == rounds or number % 8 == 0:
            try:
                value, weights, _ = master.solve()
            except TimeIsUp:
                break
            if _known_bound(centre, pool) - value <= tolerance * value:
                break
    return master.channel(weights), number


def _known_bound(duals: FloatArray, columns: Columns) -> float:
    """Return the bound at some duals if the columns known were all."""
    return float(duals.sum() + (columns.values - columns.vectors @ duals).max())
