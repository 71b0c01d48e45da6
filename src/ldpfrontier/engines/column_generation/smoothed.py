"""The column LP: a restricted master, a pricing loop smoothed by Wentges' method, and the dual bound.

Every optimum over columns has the form ::

    maximize sum_j theta_j mu(v_j)   subject to   sum_j theta_j v_j = 1,  theta >= 0

over columns v_j of a cone, with mu sublinear (kairouz2016, Theorem 4; lopuhaa2024, Theorem 3). Columns are
scaled here so that scale . v = 1 for a fixed distribution `scale` on the inputs; then sum theta = 1, the
weights are the distribution of the output, and for any dual prices alpha ::

    optimum <= sum(alpha) + max_v [mu(v) - alpha . v],

which is the bound that every result carries. A family of columns bounds the maximum (it *prices*), and offers
columns of large reduced cost mu(v) - alpha . v for the restricted master, the LP over the columns so far.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import highspy
import numpy as np

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.column_generation.settings import SETTINGS
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.optimum import BoundError, Optimum, certified
from ldpfrontier.model.utility import Columns, SublinearUtility, Utility
from ldpfrontier.numerics.deadline import TimeIsUp, time_is_up
from ldpfrontier.numerics.highs import add_column, new_lp, solve
from ldpfrontier.numerics.settings import SETTINGS as NUMERICS

#: By how much rounding can have lowered a bound, in the unit of the utility, given its duals.
Error = Callable[[FloatArray], float]


class Family(Protocol):
    """A cone of columns that can be priced."""

    @property
    def scale(self) -> FloatArray:
        """The distribution on the inputs that normalizes columns, shape (inputs,)."""

    @property
    def efforts(self) -> int:
        """The number of efforts that `price` can be asked for, from 0; the last one is its most accurate."""

    def price(self, duals: FloatArray, effort: int) -> tuple[float, Columns]:
        """Bound the reduced costs mu(v) - duals . v over the family from above; offer good columns."""


class RowSumError(ArithmeticError):
    """The weights of a linear program make no channel, as rows do not sum to 1 by its tolerance."""


@dataclass(eq=False)
class Master:
    """The restricted master: the LP over the columns added so far, with a row sum_j theta_j v_j[x] = 1 each.

    Objective values are divided by the unit inside it, so that its absolute tolerances are relative to a
    typical value.
    """

    inputs: int
    unit: float = 1.0
    lp: highspy.Highs = field(default_factory=new_lp)
    vectors: list[FloatArray] = field(default_factory=list)

    def __post_init__(self) -> None:
        for _ in range(self.inputs):
            self.lp.addRow(1.0, 1.0, 0, np.empty(0, dtype=np.int32), np.empty(0))

    def add(self, columns: Columns) -> None:
        """Add columns to the program."""
        for vector, value in zip(columns.vectors, columns.values, strict=True):
            rows = np.flatnonzero(vector)
            add_column(self.lp, float(value) / self.unit, rows, vector[rows])
            self.vectors.append(vector)

    def solve(self) -> tuple[float, FloatArray, FloatArray]:
        """Return the optimal value, the weights and the duals of the inputs."""
        value, weights, duals = solve(self.lp)
        if self._residual(weights) > 1e-6:
            # Scaled by HiGHS, a row whose entries span 1e17 can pass for met when it is not.
            self.lp.setOptionValue("simplex_scale_strategy", 0)
            self.lp.clearSolver()
            value, weights, duals = solve(self.lp)
        return value * self.unit, weights, duals * self.unit

    def _residual(self, weights: FloatArray) -> float:
        """Return the largest deviation of a row sum_j theta_j v_j from 1."""
        totals = np.zeros(self.inputs)
        for j in np.flatnonzero(weights):
            totals += weights[j] * self.vectors[j]
        return float(np.abs(totals - 1.0).max())

    def channel(self, weights: FloatArray) -> Channel:
        """Return the channel with columns theta_j v_j, its row sums exact to rounding; else a RowSumError.

        The weights are those of the first columns: any that were added since have none.
        """
        weights = np.pad(weights, (0, len(self.vectors) - weights.size))
        kept = np.where(weights > NUMERICS.lp_tolerance, weights, 0.0)
        # A column of less weight may have entries so large that rows do not sum to 1 without it.
        if self._residual(kept) > NUMERICS.sum_tolerance:
            kept = np.maximum(weights, 0.0)
        if self._residual(kept) > NUMERICS.sum_tolerance:
            kept = self._completed(kept)
        support = np.flatnonzero(kept)
        return _weighted(np.array([self.vectors[j] for j in support]).T, kept[support])

    def _completed(self, weights: FloatArray) -> FloatArray:
        """Return weights near those given with which rows sum to 1: columns that had none may have some.

        Scaled by HiGHS, a row may pass for met within its tolerance that is not, and the columns in use need
        not be able to make up for it.
        """
        from scipy.optimize import nnls  # which takes a tenth of a second, and this is rarely called

        vectors, used = np.array(self.vectors).T, np.flatnonzero(weights)
        residual = 1.0 - vectors @ weights
        unit = float(np.abs(residual).max())
        changes = unit * nnls(np.hstack([vectors, -vectors[:, used]]), residual / unit)[0]
        completed = weights + changes[: weights.size]
        completed[used] -= changes[weights.size :]
        return np.maximum(completed, 0.0)


def _weighted(basis: FloatArray, weights: FloatArray) -> Channel:
    """Return the channel with columns theta_j v_j, v_j those of a basis, (inputs, columns)."""
    # The weights meet the rows within a tolerance; one least-squares step removes that residual.
    residual = 1.0 - basis @ weights
    exact = weights + np.linalg.lstsq(basis, residual, rcond=None)[0]
    if exact.min() < 0 or np.abs(1.0 - basis @ exact).max() > np.abs(residual).max():
        exact = weights
    try:
        return Channel(basis * exact)
    except ValueError as error:
        raise RowSumError(str(error)) from error


def basic_channel(columns: Columns, weights: FloatArray) -> Channel:
    """Return a channel of at most as many columns as inputs, worth as much, from columns with weights.

    The weights are moved along null vectors of the columns, each in the direction in which the utility does
    not fall, until one of them is zero: the way from a feasible point of the column LP to a vertex.
    """
    # Weights of columns up to which there is nothing but rounding, as masses are cut in nearly one place.
    kept = weights > 1e-13
    columns, weights = Columns(columns.vectors[kept], columns.values[kept]), weights[kept]
    scaled, left = columns.vectors.T * weights, np.ones(weights.size)
    gains = columns.values * weights
    # Orthogonal to all rows of the program.
    null = np.linalg.qr(scaled.T, mode="complete")[0][:, len(scaled) :]
    for _ in range(null.shape[1]):
        direction = null[:, 0] if gains @ null[:, 0] >= 0.0 else -null[:, 0]
        falling = np.flatnonzero(direction < 0.0)
        steps = left[falling] / -direction[falling]
        out = falling[steps.argmin()]
        left = np.maximum(left + steps.min() * direction, 0.0)
        left[out] = 0.0
        pivot = int(np.abs(null[out]).argmax())
        null -= np.outer(null[:, pivot] / null[out, pivot], null[out])
        null = np.delete(null, pivot, axis=1)
        null[out] = 0.0
    support = np.flatnonzero(left)
    return _weighted(columns.vectors[support].T, (left * weights)[support])


def best_channel(columns: Columns) -> Channel:
    """Return the best channel made of columns, from which one can be made."""
    master = Master(columns.vectors.shape[1], unit=max(float(columns.values.max()), 1e-6))
    master.add(columns)
    # Dual simplex, as there is no basis to start from: primal simplex takes up to six times as long.
    master.lp.setOptionValue("simplex_strategy", 1)
    return master.channel(master.solve()[1])


def start_columns(start: Channel | None, utility: SublinearUtility) -> list[Columns]:
    """Return the columns of a start with their values, without outputs that never occur; [] for no start."""
    if start is None:
        return []
    return [utility.columns(np.compress(start.matrix.any(axis=0), start.matrix, axis=1).T)]


def generate(
    family: Family,
    start: Columns,
    utility: Utility,
    *,
    tolerance: float,
    max_rounds: int,
    stable_duals: FloatArray | None = None,
    smoothing: Sequence[float] = SETTINGS.smoothing,
    error: Error | None = None,
) -> Optimum:
    """Return the optimum over a family by column generation, to a gap, with the prices of its bound.

    Of the columns to start from a channel can be made, so that the first restricted LP is feasible. There are
    at most `max_rounds` of these: a limit on rounds, not on time, keeps results reproducible. TimeIsUp is
    raised if the time is up before the first one is solved.

    Parameters
    ----------
    stable_duals : ndarray, shape (inputs,), optional
        Dual feasible prices, with no positive reduced cost anywhere, if some are at hand; their sum is a
        first upper bound, and they steady the duals at which columns are priced.
    smoothing : sequence of float
        As `ColumnGenerationSettings.smoothing`, the last one 0; used with `stable_duals` only.
    error : callable, optional
        By how much rounding can have lowered the bound, given its duals: it is raised by that.
    """
    # The value of a constant column is rounding, and no unit.
    unit = float(start.values.max())
    master = Master(len(family.scale), unit=unit if unit > 1e-15 else 1.0)
    master.add(start)
    stable = stable_duals  # those of the best bound so far
    bound = np.inf if stable is None else float(stable.sum())
    effort = rounds = 0
    last = tuple[FloatArray, ...]()
    while True:
        try:
            value, weights, duals = master.solve()
        except TimeIsUp:  # what was found before holds
            if rounds == 0:
                raise
            break
        rounds += 1
        worthwhile = max(NUMERICS.lp_tolerance * master.unit, 0.1 * tolerance * value)
        improving = loose = False
        for position in smoothing if stable is not None else (0.0,):
            trial = duals if stable is None else duals + position * (stable - duals)
            excess, columns = family.price(trial, effort)
            if trial.sum() + excess < bound:
                bound, stable = float(trial.sum() + excess), trial + excess * family.scale
            attained = float((columns.values - columns.vectors @ trial).max(initial=0.0))
            loose |= excess > 2.0 * attained
            reduced = columns.values - columns.vectors @ duals
            best = np.argsort(-reduced, kind="stable")[: SETTINGS.batch]
            best = best[reduced[best] > worthwhile]
            if (improving := best.size > 0) or time_is_up():
                break
        if bound - value <= tolerance * value or rounds >= max_rounds:
            break
        if improving:
            # HiGHS scales columns, and may call optimal what leaves one of them a reduced cost.
            state = duals, columns.vectors[best], np.array([bound, effort])
            if last and all(map(np.array_equal, state, last)):
                break
            last = state
            master.add(Columns(columns.vectors[best], columns.values[best]))
        if effort + 1 < family.efforts:
            # A bound far above every column found is the error of the pricing: more effort from here on.
            effort += loose or not improving
        elif not improving:
            break
    channel = master.channel(weights)
    noise = BoundError(noise=0.0 if error is None or stable is None else error(stable))
    optimum = certified(channel, utility(channel), bound, tolerance, rounds, unit=utility.unit, error=noise)
    return replace(optimum, prices=duals if stable is None else stable)
