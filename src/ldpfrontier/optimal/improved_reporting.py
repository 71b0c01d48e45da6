r"""Separate reports of S and of U, each improved given the other (lopuhaa2024, sections 7 and 9).

Theorem 5 of lopuhaa2024 allows any channels Y1 of S, eps_1-LDP, and Y2 of U, delta_2-LDP with
delta_2 = log(1 + 2 (e^eps_2 - 1) / d) and eps_1 + eps_2 = eps. By the chain rule ::

    I(S, U; Y1, Y2) = I(S; Y1) + I(U; Y2 | Y1) = I(U; Y2) + I(S; Y1 | Y2),

so the best Y2 for a given Y1 is the staircase optimum of a conditional information, and so is Y1 for Y2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ldpfrontier.channel import Channel
from ldpfrontier.information import mutual_information
from ldpfrontier.numerics.arguments import as_count, as_number
from ldpfrontier.numerics.deadline import time_is_up
from ldpfrontier.optimal.ldp.solve import optimal_ldp
from ldpfrontier.optimal.registry import choose
from ldpfrontier.optimum import (
    LEAST_EPSILON,
    MAX_EPSILON,
    Unit,
    checked_epsilon,
    keeps_time_limit,
    records_fallbacks,
)
from ldpfrontier.two_reports import BudgetSplit, budget_split
from ldpfrontier.types import FloatArray
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from ldpfrontier.utility import Columns, MutualInformation


@dataclass(frozen=True, eq=False)
class ConditionalInformation:
    """The utility I(X; Y | R) in nats of a channel from X alone, under a joint distribution of (R, X).

    Parameters
    ----------
    joint : ndarray, shape (m, k)
        P(r, x).
    """

    joint: FloatArray

    @cached_property
    def prior(self) -> FloatArray:
        """The distribution of X, shape (k,)."""
        return np.asarray(self.joint.sum(axis=0))

    @property
    def unit(self) -> Unit:
        """Always "nats"."""
        return "nats"

    def __call__(self, channel: Channel) -> float:
        """Return I(X; Y | R) of the channel."""
        return sum(weight * given(channel) for weight, given in self._groups())

    def columns(self, vectors: FloatArray) -> Columns:
        """Scale columns (m, k), of positive numbers, to Z = 1 and value them."""
        scaled = vectors / (vectors @ self.prior)[:, None]
        values = np.zeros(len(scaled))
        for weight, given in self._groups():
            values += weight * (scaled @ given.prior) * given.columns(scaled).values
        return Columns(scaled, values)

    def patterns(self, epsilon: float | FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return Z and mu / Z of all 2^k staircase columns; bit x of the index says that x has entry 1.

        Both are means of those given R, whose digits do not cancel at a small epsilon.
        """
        parts = [(weight, *given.patterns(epsilon)) for weight, given in self._groups()]
        z = np.sum([weight * part for weight, part, _ in parts], axis=0)
        mu = np.sum([weight * part * values for weight, part, values in parts], axis=0)
        return z, mu / z

    def _groups(self) -> Iterator[tuple[float, MutualInformation]]:
        """Yield the probability of every r that occurs, and the utility of X given it."""
        weight = self.joint.sum(axis=1)
        return (
            (float(w), MutualInformation(row / w)) for w, row in zip(weight, self.joint, strict=True) if w > 0
        )


@records_fallbacks
@keeps_time_limit
def improved_reporting(
    ball: RenyiBall,
    epsilon: float,
    *,
    splits: int = 5,
    sweeps: int = 2,
    tolerance: float = 1e-6,
    max_seconds: float | None = None,
) -> BudgetSplit:
    """Report S and U separately, each by a locally private mechanism that is optimal given the other.

    The paper uses randomized response for both reports, and names optimal reports as future work (section
    9). Here, for every division of the level, the report of S is optimal by itself, and that of U is
    optimal given the report of S. At the best division, both are then improved in turn. This is a
    heuristic: the privacy is certain, but there is no bound on the distance to the best pair of reports.

    Parameters
    ----------
    ball : RenyiBall
    epsilon : float
        Privacy level in nats, 0 to 300.
    splits : int
        The number of values of epsilon_2 to try, from 0 to epsilon, 2 to 1000.
    sweeps : int
        How often both components are computed again at the best division, 0 to 1000.
    tolerance : float
        Relative gap of the components, 0 or more.
    max_seconds : float, optional
        Seconds after which the best pair of reports found so far is returned; 0 or more.

    Returns
    -------
    BudgetSplit
        Never less informative than that of `budget_split` with the published d.

    Raises
    ------
    Intractable
        If S or U has more than 20 values.
    ValueError
        If a number is out of range.
    """
    splits = as_count(splits, "splits", "a whole number from 2 to 1000", least=2, most=1000)
    sweeps = as_count(sweeps, "sweeps", "a whole number from 0 to 1000", most=1000)
    tolerance = as_number(tolerance, "tolerance", "a relative gap, 0 or more", least=0.0)
    epsilon = checked_epsilon(epsilon)
    plain = budget_split(ball, epsilon)
    return _searched(ball, epsilon, plain, splits, sweeps, tolerance)


def _searched(
    ball: RenyiBall, epsilon: float, plain: BudgetSplit, splits: int, sweeps: int, tolerance: float
) -> BudgetSplit:
    """Return the best pair of reports found, or the plain one."""
    p, d = ball.centre, plain.distance
    if d == 0 or epsilon == 0:
        return plain

    def component(joint: FloatArray, level: float) -> Channel:
        """Return the best channel from X given R."""
        if level > MAX_EPSILON:
            return Channel(np.eye(joint.shape[1]))
        level = level if level >= LEAST_EPSILON else 0.0
        return optimal_ldp(ConditionalInformation(joint), level, tolerance=tolerance).channel

    def split_at(epsilon_2: float, rounds: int) -> BudgetSplit:
        """Return the two reports at one split, after some rounds of improvement."""
        epsilon_1, delta_2 = epsilon - epsilon_2, math.log1p(2.0 * math.expm1(epsilon_2) / d)
        first = component(p.sum(axis=1)[None], epsilon_1)
        for _ in range(rounds):
            second = component(first.matrix.T @ p, delta_2)
            if rounds > 1:
                first = component(second.matrix.T @ p.T, epsilon_1)
        channel = first.kron(second)
        return BudgetSplit(channel, epsilon_1, epsilon_2, delta_2, d, mutual_information(p, channel))

    def information(split: BudgetSplit) -> float:
        return split.information

    def tried(values: FloatArray | list[float], rounds: int) -> list[BudgetSplit]:
        return [split_at(float(x), rounds) for x in values if not time_is_up()]

    grid = np.linspace(0.0, epsilon, splits)
    best = max(tried(grid, 1), key=information, default=plain)
    # The split is refined around the best one; then both components are improved in turn.
    step = grid[1] - grid[0]
    for _ in range(2):
        step *= 0.4
        around = [x for x in (best.epsilon_2 - step, best.epsilon_2 + step) if 0.0 <= x <= epsilon]
        best = max([best, *tried(around, 1)], key=information)
    improved = tried([best.epsilon_2], sweeps) if sweeps else []
    method = choose("separate reports").method("pairs of separate reports")
    return replace(max([plain, best, *improved], key=information), method=method)
