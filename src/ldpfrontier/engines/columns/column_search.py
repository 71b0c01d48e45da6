r"""Mechanisms for large tables, by column generation with a search for columns by linear programs.

The columns are those of `association_program`. At duals alpha the reduced cost
sum_x P_x v_x log v_x - alpha . v is convex in v, and rises along the solutions of linear programs with its
gradient. Good columns of the last rounds, and random ones, are the starts. The duals are those of a proximal
program (`proximal_duals`) around the best ones so far: first near these, where the search learns which
columns there are; then ever farther away, until the columns found make up a mechanism.

Nothing here bounds the utility of the class (see `association_bound`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from scipy.special import xlogy

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.column_generation.smoothed import Master, start_columns
from ldpfrontier.engines.columns.association_program import AssociationProgram
from ldpfrontier.engines.columns.proximal_duals import proximal_duals
from ldpfrontier.engines.columns.settings import SETTINGS
from ldpfrontier.engines.projections.settings import SETTINGS as PROJECTIONS
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.utility import Columns, MutualInformation
from ldpfrontier.numerics.deadline import TimeIsUp, no_time_limit, time_is_up
from ldpfrontier.numerics.settings import SETTINGS as NUMERICS


class ColumnSearch:
    """Columns of one cone, found at duals; the level is the conditional one in nats."""

    def __init__(self, cone: AssociationProgram, level: float) -> None:
        # Largest conditional level of random starts, in nats.
        self._cone, self._level = cone, min(level, 3.0)
        self._rng, self._rounds = np.random.default_rng(0), 0

    def columns(self, duals: FloatArray, known: Columns) -> FloatArray:
        """Return columns of large reduced cost at some duals, found from known ones, shape (m, a1 a2)."""
        order = np.argsort(-(known.values - known.vectors @ duals), kind="stable")
        most = SETTINGS.starts
        best, near = order[: most // 3], order[most // 3 : 3 * most]
        chosen = np.concatenate([best, self._rng.permutation(near)[: most - len(best)]])
        starts = (*known.vectors[chosen], *self._random_starts())
        found = [column for start in starts for column in self._ascend(duals, start)]
        self._rounds += 1
        return np.array(found).reshape(-1, duals.size)

    def _random_starts(self) -> FloatArray:
        """Return random columns of the conditional level, which need not be in the cone."""
        a1, a2 = self._cone.shape
        # Later rounds start from known columns alone.
        number = 30 if self._rounds < 3 else 8 if self._rounds < 6 else 0
        # Log-scale of the values of random starts for each u.
        values = np.exp(1.5 * self._rng.normal(size=(number, 1, a2)))
        raised = self._rng.random((number, a1, a2)) < 0.4
        columns = (values * np.where(raised, math.exp(self._level), 1.0)).reshape(number, a1 * a2)
        return columns / (columns @ self._cone.prior)[:, None]

    def _ascend(self, duals: FloatArray, start: FloatArray) -> list[FloatArray]:
        """Return all columns of the cone on the way along gradients from a start.

        Without a certificate for a single column, those on the way are as good as the last one.
        """
        prior, v, found = self._cone.prior, start, list[FloatArray]()
        for _ in range(SETTINGS.max_steps):
            slopes = prior * (np.log(np.maximum(v, NUMERICS.gradient_floor)) + 1.0) - duals
            try:
                inside, v = self._cone.step(slopes)
            except RuntimeError:  # some programs are given up
                break
            found.append(inside)
        return found


def searched_columns(
    cone: AssociationProgram,
    level: float,
    utility: MutualInformation,
    starts: Sequence[Channel],
    rounds: int,
    tolerance: float,
) -> tuple[Channel, int]:
    """Return a good mechanism with columns in a cone, at least as good as those given, and the rounds.

    It ends when the gap between the mechanism and the bound that the columns found would have is within the
    tolerance, relative to the value, or after so many rounds. The level is the conditional one of the columns
    in nats, and the starts have columns in the cone.
    """
    search, prior = ColumnSearch(cone, level), cone.prior
    n = prior.size
    first, *given = (columns for start in starts for columns in start_columns(start, utility))
    pool = Columns.join([first, utility.columns(np.ones((1, n))), *given])
    master = Master(n, unit=max(float(pool.values.max()), 1e-6))
    master.add(pool)
    metric: FloatArray = np.maximum(prior, 0.1 / n)
    # Entropy of the inputs as first duals, times this.
    centre: FloatArray = np.asarray(-0.3 * xlogy(prior, prior), dtype=np.float64)
    trial = centre
    # First step length tau of the proximal program.
    tau = 8.0
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
        # Round from which on tau grows.
        if number > 12:
            # Growth of tau per round: short steps find good duals, long ones columns that make up a
            # mechanism.
            # The largest tau: there, distances hardly count any more.
            tau = min(tau * 1.5, 1e4)
        # Columns kept in the proximal program per input.
        kept = np.sort(np.argsort(-of_columns, kind="stable")[: 8 * n])
        pool = Columns(pool.vectors[kept], pool.values[kept])
        if number == rounds or number % 8 == 0:
            try:
                value, weights, _ = master.solve()
            except TimeIsUp:
                break
            if _known_bound(centre, pool) - value <= tolerance * value:
                break
    if time_is_up():
        with no_time_limit(), suppress(RuntimeError):  # a program of so many columns takes half a second
            _, weights, _ = master.solve()
    return master.channel(weights), number


def _known_bound(duals: FloatArray, columns: Columns) -> float:
    """Return the bound at some duals if the columns known were all."""
    return float(duals.sum() + (columns.values - columns.vectors @ duals).max())
