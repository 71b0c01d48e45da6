"""The column LP: a restricted linear program, a pricing loop, and the certificate that comes with it.

Every optimum in this package has the form ::

    maximise sum_j theta_j mu(v_j)   subject to   sum_j theta_j v_j = 1,  theta >= 0

over columns v_j of a cone, with mu sublinear (kairouz2016, Theorem 4; lopuhaa2024, Theorem 3). Columns are
scaled here so that scale . v = 1 for a fixed distribution `scale` on the inputs; then sum theta = 1, the
weights are the distribution of the output, and for any prices alpha ::

    optimum <= sum(alpha) + max_v [mu(v) - alpha . v],

which is the dual bound that every result carries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import highspy
import numpy as np
from numpy.typing import NDArray

from ldpfrontier.channel import Channel, FloatArray

#: HiGHS' smallest feasibility tolerance; its default of 1e-7 is visible in the results.
LP_TOLERANCE = 1e-10

TOLERANCES = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")

#: Relative allowance for rounding in the evaluation of a dual bound.
ROUNDING = 1e-12

#: Columns added per round, best first.
BATCH = 40

#: Positions between the master's prices (0) and the prices of the best bound (1) at which columns are
#: priced, in the order tried: prices of a restricted LP oscillate, and pricing nearer the best bound so far
#: damps that (Wentges smoothing). Position 0 comes last, so no improving column is ever missed.
SMOOTHING = (0.9, 0.7, 0.4, 0.0)


class Intractable(ValueError):
    """The instance is too large for the exact method that was asked for."""


@dataclass(frozen=True, eq=False)
class Columns:
    """Candidate columns of a channel, each with scale . v = 1.

    Attributes
    ----------
    vectors : ndarray, shape (m, inputs)
    values : ndarray, shape (m,)
        mu of each column, in nats.
    """

    vectors: FloatArray
    values: FloatArray

    @classmethod
    def join(cls, parts: Iterable[Columns]) -> Columns:
        """Put the columns of one or more parts together."""
        found = list(parts)
        return cls(np.concatenate([c.vectors for c in found]), np.concatenate([c.values for c in found]))


class Family(Protocol):
    """A cone of columns that can be priced."""

    @property
    def scale(self) -> FloatArray:
        """The distribution on the inputs that normalises columns, shape (inputs,)."""

    @property
    def efforts(self) -> int:
        """How many levels of effort `price` knows; the last one is its most accurate."""

    def price(self, prices: FloatArray, effort: int) -> tuple[float, Columns]:
        """Bound the reduced costs mu(v) - prices . v over the family from above; offer good columns."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """A mechanism with the certificate of how far it can be from the best one.

    Attributes
    ----------
    channel : Channel
    value : float
        Utility achieved by `channel`, recomputed from the channel, in nats.
    upper_bound : float
        No mechanism of the same class has more, in nats.
    status : str
        "optimal" if the gap met the tolerance asked for, else "bounded".
    iterations : int
        Rounds of column generation.
    """

    channel: Channel
    value: float
    upper_bound: float
    status: str
    iterations: int

    @property
    def gap(self) -> float:
        """Relative gap (upper_bound - value) / upper_bound; 0 where they agree to rounding."""
        distance = self.upper_bound - self.value
        return distance / self.upper_bound if distance > 2 * ROUNDING * (1 + self.upper_bound) else 0.0


def certified(channel: Channel, value: float, bound: float, tolerance: float, iterations: int = 0) -> Optimum:
    """Put a channel, its value and a dual bound together, allowing for the bound's rounding.

    Raises
    ------
    ArithmeticError
        If the value exceeds the bound by more than rounding: then one of the two is wrong.
    """
    upper = bound + ROUNDING * (1.0 + abs(bound))
    if value > upper + 1e3 * ROUNDING:
        raise ArithmeticError(
            f"The value {value!r} exceeds its upper bound {upper!r}; the certificate fails."
        )
    upper = max(upper, value)
    optimum = Optimum(channel, value, upper, "optimal", iterations)
    return optimum if optimum.gap <= tolerance else replace(optimum, status="bounded")


def new_lp() -> highspy.Highs:
    """Return an empty HiGHS maximisation: one thread, tight tolerances, primal simplex.

    Primal simplex because columns are added to a solved program, which keeps its basis primal feasible.
    """
    lp = highspy.Highs()  # type: ignore[no-untyped-call]
    lp.silent()
    lp.setOptionValue("threads", 1)
    lp.setOptionValue("presolve", "off")
    lp.setOptionValue("simplex_strategy", 4)
    for option in TOLERANCES:
        lp.setOptionValue(option, LP_TOLERANCE)
    lp.changeObjectiveSense(highspy.ObjSense.kMaximize)
    return lp


def add_column(lp: highspy.Highs, cost: float, rows: NDArray[np.integer], entries: FloatArray) -> None:
    """Add a non-negative variable with the given objective coefficient and (sparse) column."""
    lp.addCol(cost, 0.0, highspy.kHighsInf, len(rows), np.asarray(rows, dtype=np.int32), entries)


def solve(lp: highspy.Highs) -> tuple[float, FloatArray, FloatArray]:
    """Run the program; return its objective, primal values and row duals.

    Raises
    ------
    RuntimeError
        If HiGHS reports no optimum, neither from the last basis nor from scratch with looser tolerances.
    """
    lp.run()
    if lp.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        # A degenerate basis can defeat the tightest tolerances. Looser ones cost accuracy of the weights,
        # never of the certificate: a dual bound holds at any prices.
        for option in TOLERANCES:
            lp.setOptionValue(option, 100 * LP_TOLERANCE)
        lp.clearSolver()
        lp.run()
        for option in TOLERANCES:
            lp.setOptionValue(option, LP_TOLERANCE)
    status = lp.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        raise RuntimeError(
            f"HiGHS stopped with status {lp.modelStatusToString(status)!r}; expected 'Optimal'."
        )
    solution = lp.getSolution()
    return (
        float(lp.getInfo().objective_function_value),
        np.asarray(solution.col_value, dtype=np.float64),
        np.asarray(solution.row_dual, dtype=np.float64),
    )


@dataclass(eq=False)
class Master:
    """The restricted LP over the columns added so far.

    Parameters
    ----------
    inputs : int
        Number of rows: one equality sum_j theta_j v_j[x] = 1 per input.
    unit : float
        Objective values are divided by it inside the LP, so that its absolute tolerances are relative to a
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
        """Return the optimal value, the weights and the prices of the inputs."""
        value, weights, prices = solve(self.lp)
        if self._residual(weights) > 1e-6:
            # Scaled by HiGHS, a row whose entries span 1e17 can pass for met when it is not.
            self.lp.setOptionValue("simplex_scale_strategy", 0)
            self.lp.clearSolver()
            value, weights, prices = solve(self.lp)
        return value * self.unit, weights, prices * self.unit

    def _residual(self, weights: FloatArray) -> float:
        """Return the largest distance of a row sum_j theta_j v_j from 1."""
        totals = np.zeros(self.inputs)
        for j in np.flatnonzero(weights):
            totals += weights[j] * self.vectors[j]
        return float(np.abs(totals - 1.0).max())

    def channel(self, weights: FloatArray) -> Channel:
        """Build the channel with columns theta_j v_j, its row sums exact to rounding."""
        support = np.flatnonzero(weights > LP_TOLERANCE)
        basis = np.array([self.vectors[j] for j in support]).T
        # The LP meets its rows within LP_TOLERANCE; one least-squares step removes that residual.
        residual = 1.0 - basis @ weights[support]
        exact = weights[support] + np.linalg.lstsq(basis, residual, rcond=None)[0]
        if exact.min() < 0 or np.abs(1.0 - basis @ exact).max() > np.abs(residual).max():
            exact = weights[support]
        return Channel(basis * exact)


def generate(
    family: Family,
    start: Columns,
    utility: Callable[[Channel], float],
    *,
    tolerance: float,
    max_rounds: int,
    centre: FloatArray | None = None,
    smoothing: Sequence[float] = SMOOTHING,
) -> Optimum:
    """Solve the column LP over a family by column generation, to a certified gap.

    Parameters
    ----------
    family : Family
    start : Columns
        Columns from which a channel can be made, so that the first restricted LP is feasible.
    utility : callable
        The utility of a channel, in nats: the value reported is recomputed from the channel.
    tolerance : float
        Relative gap at which to stop.
    max_rounds : int
        Most restricted LPs to solve. A limit on rounds, not on time, keeps results reproducible.
    centre : ndarray, shape (inputs,), optional
        Prices with no positive reduced cost anywhere (dual feasible), if some are known; their sum is a
        first upper bound, and they steady the prices at which columns are looked for.
    smoothing : sequence of float
        Positions as `SMOOTHING`, the last one 0; used with `centre` only.

    Returns
    -------
    Optimum
    """
    master = Master(len(family.scale), unit=max(float(start.values.max()), 1e-6))
    master.add(start)
    bound = np.inf if centre is None else float(centre.sum())
    effort = rounds = 0
    while True:
        value, weights, prices = master.solve()
        rounds += 1
        worthwhile = max(LP_TOLERANCE * master.unit, 0.1 * tolerance * value)
        found = loose = False
        for position in smoothing if centre is not None else (0.0,):
            trial = prices if centre is None else prices + position * (centre - prices)
            excess, columns = family.price(trial, effort)
            if trial.sum() + excess < bound:
                bound, centre = float(trial.sum() + excess), trial + excess * family.scale
            attained = float((columns.values - columns.vectors @ trial).max(initial=0.0))
            loose |= excess > 2.0 * attained
            reduced = columns.values - columns.vectors @ prices
            best = np.argsort(-reduced, kind="stable")[:BATCH]
            best = best[reduced[best] > worthwhile]
            if found := best.size > 0:
                break
        if bound - value <= tolerance * value or rounds >= max_rounds:
            break
        if found:
            master.add(Columns(columns.vectors[best], columns.values[best]))
        if effort + 1 < family.efforts:
            # A bound far above every column found is the pricing's own error: time for a closer look.
            effort += loose or not found
        elif not found:
            break
    channel = master.channel(weights)
    return certified(channel, utility(channel), bound, tolerance, rounds)


@dataclass(frozen=True, eq=False)
class Enumerated:
    """A family given by the list of its columns; pricing looks at every one.

    Attributes
    ----------
    columns : Columns
        Every extreme ray of the cone, scaled.
    scale : ndarray, shape (inputs,)
    """

    columns: Columns
    scale: FloatArray
    efforts: int = 1

    def price(self, prices: FloatArray, effort: int) -> tuple[float, Columns]:
        """Return the largest reduced cost, exactly, and the columns that come closest to it."""
        reduced = self.columns.values - self.columns.vectors @ prices
        best = np.argsort(-reduced, kind="stable")[:BATCH]
        return float(reduced.max()), Columns(self.columns.vectors[best], self.columns.values[best])
