r"""Column generation near the duals of the best bound: a proximal bundle method for the column LP.

Any duals alpha bound the optimum of the column LP (`smoothed`) by the convex function ::

    b(alpha) = sum(alpha) + max_v [mu(v) - alpha . v],

of which every column found so far gives an affine minorant. The duals of a restricted LP minimize the largest
of these alone, and oscillate. Here the next duals minimize ::

    sum(alpha) + sum_x (alpha_x - stable_x)^2 / (2 tau P_x)   subject to   alpha . v_j >= mu(v_j),

where P is the scale of the columns and `stable` are the duals of the best bound so far: a proximal bundle
method. The quadratic program is solved approximately, by an interior point method (Mehrotra's predictor and
corrector); the multipliers of its inequalities are weights of columns, which show which ones matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.blas import dsyrk

from ldpfrontier.numerics.deadline import TimeIsUp, time_is_up
from ldpfrontier.optimal.column_generation.settings import SETTINGS
from ldpfrontier.optimal.column_generation.smoothed import Error, Family, Master
from ldpfrontier.optimum import Optimum, certified
from ldpfrontier.types import FloatArray
from ldpfrontier.utility import Columns, Utility


class ProximalFamily(Family, Protocol):
    """A family whose bound on reduced costs has an error of about `resolution`, in the utility's unit."""

    resolution: float


def generate_proximal(
    family: ProximalFamily,
    start: Columns,
    utility: Utility,
    duals: Sequence[FloatArray],
    *,
    tolerance: float,
    max_rounds: int,
    error: Error | None = None,
) -> Optimum:
    """Solve the column LP over a family by proximal column generation, to a certified gap.

    Parameters
    ----------
    family : ProximalFamily
    start : Columns
        Columns from which a channel can be made.
    utility : Utility
        What the columns are worth: the value reported is recomputed from the channel.
    duals, tolerance, max_rounds
        See `Proximal.improve`.
    error : callable, optional
        See `Proximal`.

    Returns
    -------
    Optimum
        With the prices of its bound.
    """
    return Proximal(family, start, utility, error).improve(duals, tolerance=tolerance, max_rounds=max_rounds)


class Proximal:
    """Proximal column generation that can go on where it stopped, when its family has grown.

    Parameters
    ----------
    family, start, utility
        See `generate_proximal`.
    error : callable, optional
        By how much rounding can have lowered a bound, given its duals: it is raised by that.
    """

    def __init__(
        self, family: ProximalFamily, start: Columns, utility: Utility, error: Error | None = None
    ) -> None:
        self._error = error
        self._family, self._utility, self._tau, self._effort = family, utility, 1.0, 0
        self._master = Master(family.scale.size, unit=max(float(start.values.max()), 1e-6))
        self._master.add(start)
        # Columns with their weights in the last program, inf for new ones, and whether the master has them.
        self._pool, self._weights = start, np.full(len(start.values), np.inf)
        self._in_master = np.ones(len(start.values), dtype=bool)

    def improve(self, duals: Sequence[FloatArray], *, tolerance: float, max_rounds: int) -> Optimum:
        """Generate columns from where the last call stopped, to a certified gap.

        Parameters
        ----------
        duals : sequence of ndarray, shape (inputs,)
            Duals to price at first; the better the best of their bounds, the fewer rounds.
        tolerance : float
            Relative gap at which to stop; no finer one than `finest_gap` is worked for.
        max_rounds : int
            Most times to price.

        Returns
        -------
        Optimum
            As `generate_proximal`.

        Raises
        ------
        TimeIsUp
            If the time is up before the first LP is solved.
        """
        family, scale, aim = self._family, self._family.scale, max(tolerance, SETTINGS.finest_gap)
        metric = np.maximum(scale, SETTINGS.metric_floor / scale.size)
        value, weights, _ = self._master.solve()
        stable, bound = duals[0], np.inf
        trial, predicted = duals[0], 0.0
        for rounds in range(1, max_rounds + 1):
            family.resolution = max(SETTINGS.pricing_error * aim * value, SETTINGS.pricing_error * predicted)
            excess, columns = family.price(trial, self._effort)
            reduced = columns.values - columns.vectors @ trial
            attained = float(reduced.max(initial=0.0))
            trial_bound = float(trial.sum()) + excess
            if trial_bound < bound:
                bound, stable = trial_bound, trial + excess * scale
            if excess - attained > family.resolution + 0.5 * attained:
                self._effort = min(self._effort + 1, family.efforts - 1)
            small = rounds > len(duals) and predicted < 0.5 * aim * value
            due = rounds == max_rounds or rounds % SETTINGS.master_period == 0
            if due or small or bound - value <= aim * value:
                try:
                    value, weights = self._solve_master()
                except TimeIsUp:  # what was found before holds
                    break
                if bound - value <= aim * value:
                    break
            best = np.argsort(-reduced, kind="stable")
            self._keep(Columns(columns.vectors[best], columns.values[best]))
            if time_is_up():
                break
            if rounds < len(duals):
                trial = duals[rounds]
                continue
            accuracy = SETTINGS.pricing_error * max((bound - value) / bound, aim)
            trial, self._weights = proximal_duals(self._pool, stable, scale, self._tau * metric, accuracy)
            predicted = bound - float(trial.sum())
            self._adapt_tau(predicted / max(bound - value, 1e-300))
        channel = self._master.channel(weights)
        utility = self._utility
        noise = 0.0 if self._error is None else self._error(stable)
        value = utility(channel)
        optimum = certified(channel, value, bound, tolerance, rounds, unit=utility.unit, noise=noise)
        return replace(optimum, prices=stable)

    def add(self, columns: Columns) -> None:
        """Add columns to the master and to the pool."""
        self._master.add(columns)
        self._keep(columns)
        self._in_master[-len(columns.values) :] = True

    def _solve_master(self) -> tuple[float, FloatArray]:
        """Give the master the columns that have weight in the last program; return its value and weights."""
        weighty = np.isfinite(self._weights) & (self._weights > SETTINGS.least_weight)
        new = np.flatnonzero(weighty & ~self._in_master)
        self._master.add(Columns(self._pool.vectors[new], self._pool.values[new]))
        self._in_master[new] = True
        value, weights, _ = self._master.solve()
        return value, weights

    def _adapt_tau(self, predicted_share: float) -> None:
        """Double the step if the predicted fall of the bound is a small share of the gap, or halve it."""
        low, high = SETTINGS.predicted_fall
        if predicted_share < low:
            self._tau *= 2.0
        elif predicted_share > high:
            self._tau *= 0.5

    def _keep(self, new: Columns) -> None:
        """Add new columns to the pool, and leave out the ones of least weight."""
        pool = Columns.join([self._pool, new])
        weights = np.append(self._weights, np.full(new.values.size, np.inf))
        in_master = np.append(self._in_master, np.zeros(new.values.size, dtype=bool))
        most = int(SETTINGS.kept_per_input * self._family.scale.size)
        kept = np.sort(np.argsort(-weights, kind="stable")[:most])
        self._pool = Columns(pool.vectors[kept], pool.values[kept])
        self._weights, self._in_master = weights[kept], in_master[kept]


def proximal_duals(
    columns: Columns, stable: FloatArray, scale: FloatArray, metric: FloatArray, accuracy: float
) -> tuple[FloatArray, FloatArray]:
    """Minimize sum(alpha) + sum (alpha - stable)^2 / (2 metric) subject to alpha . v_j >= mu(v_j).

    Parameters
    ----------
    columns : Columns, n of them
    stable, scale, metric : ndarray, shape (inputs,)
    accuracy : float
        How far the objective may be from its minimum, relative to it.

    Returns
    -------
    duals : ndarray, shape (inputs,)
        They meet all inequalities.
    weights : ndarray, shape (n,)
        The multipliers of the inequalities.
    """
    A, c, Q = np.ascontiguousarray(columns.vectors.T), columns.values, 1.0 / metric
    n, total = c.size, abs(float(stable.sum()))
    # Scaled columns have scale . v = 1, so duals raised by a multiple of the scale meet every inequality.
    shift = max(0.0, float((c - stable @ A).max())) + 1e-3 * total
    duals = stable + shift * scale
    slack = duals @ A - c
    weights = 1.0 / slack
    weights /= weights.sum()
    for _ in range(SETTINGS.max_interior_steps):
        residual = 1.0 + Q * (duals - stable) - A @ weights
        gap = float(weights @ slack)
        if np.abs(residual).max() < 1e-6 and gap < accuracy * total:
            break
        normal = dsyrk(1.0, A * np.sqrt(weights / slack))
        normal[np.diag_indices_from(normal)] += Q
        factor = cho_factor(normal, overwrite_a=True, check_finite=False)
        _, d_weights, d_slack = _direction(factor, A, weights, slack, residual, -weights * slack)
        step = _longest_step(weights, d_weights, slack, d_slack)
        ahead = float((weights + step * d_weights) @ (slack + step * d_slack))
        aim = max((ahead / gap) ** 3, 1e-3) * gap / n - weights * slack - d_weights * d_slack
        d_duals, d_weights, d_slack = _direction(factor, A, weights, slack, residual, aim)
        step = 0.95 * _longest_step(weights, d_weights, slack, d_slack)
        duals, weights = duals + step * d_duals, weights + step * d_weights
        slack = duals @ A - c
    return duals, weights


def _direction(
    factor: tuple[FloatArray, bool],
    A: FloatArray,
    weights: FloatArray,
    slack: FloatArray,
    residual: FloatArray,
    target: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the Newton step of duals, weights and slack that changes weights x slack by `target`."""
    d_duals = cho_solve(factor, A @ (target / slack) - residual, check_finite=False)
    d_slack = d_duals @ A
    return d_duals, (target - weights * d_slack) / slack, d_slack


def _longest_step(
    weights: FloatArray, d_weights: FloatArray, slack: FloatArray, d_slack: FloatArray
) -> float:
    """Return the largest step, 1 / 0.95 at most, that leaves weights and slack nonnegative."""
    fall = max(float((-d_weights / weights).max()), float((-d_slack / slack).max()), 0.95)
    return 1.0 / fall
