r"""The least of several utilities, maximized over the columns of optima of their averages.

Over the mechanisms of a promise, given by columns v_j as in `smoothed`, sought is ::

    maximize t   subject to   sum_j theta_j v_j = 1,   sum_j theta_j mu_i(v_j) >= t for all i,   theta >= 0.

For weights lam >= 0 that add up to 1, the least utility is at most the average sum_i lam_i mu_i, which is one
sublinear utility: the bound on its optimum bounds t, and the columns of its optimum are those of the largest
reduced costs. The weights are the duals of the program over the columns so far.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.column_generation.smoothed import Master
from ldpfrontier.model.average_utility import AverageUtility
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.optimum import NO_ERROR, Optimum, certified, fell_back, one_line
from ldpfrontier.model.utility import SublinearUtility
from ldpfrontier.numerics.deadline import TimeIsUp
from ldpfrontier.numerics.highs import add_column

#: Digits to which columns of mean 1 are the same.
_DIGITS = 13


def least_of(
    utilities: Sequence[SublinearUtility],
    solve: Callable[[SublinearUtility], Optimum],
    allowed: Callable[[Channel], Channel],
    *,
    tolerance: float,
    max_rounds: int,
    excesses: Callable[[FloatArray], FloatArray] | None = None,
) -> Optimum:
    """Return the mechanism whose least utility is largest, with a bound.

    Parameters
    ----------
    utilities : sequence of SublinearUtility
    solve : callable
        Finds the optimum of one utility, with a bound.
    allowed : callable
        Undoes what rounding did to the promise of a channel.
    tolerance, max_rounds
        As of `optimal_ldp`; the rounds are those of averages.
    excesses : callable, optional
        Maps columns, (m, inputs), to what they need of limits that are 1 each, (m, limits).
    """
    found, rounds = list[Optimum](), 0
    for utility in utilities:
        found.append(solve(utility))
        if found[-1].bound <= 0.0:  # nor has the least one more
            return found[-1]
    bound = min(best.bound for best in found)
    program = _Program(utilities, np.array([best.bound for best in found]), excesses)
    for best in found:
        program.add(best.channel)
    value, channel = max(((program.value(best.channel), best.channel) for best in found), key=lambda x: x[0])
    while rounds < max_rounds:
        try:
            mixed, weights = program.solve()
            mixed = allowed(mixed)
            if (reached := program.value(mixed)) > value:
                value, channel = reached, mixed
            if bound - value <= tolerance * bound:
                break
            rounds += 1
            best = solve(AverageUtility(utilities, weights))
        except TimeIsUp:
            break
        except RuntimeError as failure:  # HiGHS gives up some programs, and what was found before holds
            fell_back(f"the mechanism of the round before, as a program failed: {one_line(failure)}")
            break
        bound = min(bound, best.bound)
        if not program.add(best.channel):
            break
    unit = utilities[0].unit
    return certified(channel, value, bound, tolerance, rounds, unit=unit, error=NO_ERROR)


class _Program:
    """The linear program over the columns so far; its first variable is the least utility t.

    Each utility is divided by its own unit, about its largest value, and t by the least of them.
    """

    def __init__(
        self,
        utilities: Sequence[SublinearUtility],
        units: FloatArray,
        excesses: Callable[[FloatArray], FloatArray] | None,
    ) -> None:
        self.utilities, self.units, self.excesses = utilities, units, excesses
        self.inputs = utilities[0].prior.size
        self.master, self.known = Master(self.inputs), set[bytes]()

    def value(self, channel: Channel) -> float:
        """Return the least utility of a channel."""
        return min(utility(channel) for utility in self.utilities)

    def _rows(self, vectors: FloatArray) -> FloatArray:
        values = [utility.homogeneous_values(vectors) for utility in self.utilities]
        parts = [vectors, np.array(values).T / self.units]
        return np.hstack(parts if self.excesses is None else [*parts, self.excesses(vectors)])

    def add(self, channel: Channel) -> bool:
        """Add the columns of a channel; tell whether any of them is new."""
        matrix = channel.matrix[:, channel.matrix.any(axis=0)]
        vectors = (matrix / matrix.mean(axis=0)).T
        new = [v for v in vectors if np.round(v, _DIGITS).tobytes() not in self.known]
        self.known |= {np.round(v, _DIGITS).tobytes() for v in new}
        if not new:
            return False
        vectors, lp, n = np.array(new), self.master.lp, self.inputs
        rows = self._rows(vectors)
        if not self.master.vectors:
            nothing = np.empty(0, dtype=np.int32), np.empty(0)
            count = len(self.utilities)
            for _ in range(count):
                lp.addRow(0.0, np.inf, 0, *nothing)
            for _ in range(rows.shape[1] - n - count):
                lp.addRow(-np.inf, 1.0, 0, *nothing)
            least = np.arange(n, n + count, dtype=np.int32), -self.units.min() / self.units
            lp.addCol(1.0, -np.inf, np.inf, count, *least)
            self.master.vectors.append(np.zeros(n))
        for vector, row in zip(vectors, rows, strict=True):
            used = np.flatnonzero(row)
            add_column(lp, 0.0, used, row[used])
            self.master.vectors.append(vector)
        return True

    def solve(self) -> tuple[Channel, FloatArray]:
        """Return the best channel of the columns so far, and the weights of the utilities."""
        _, weights, duals = self.master.solve()
        weights[0] = 0.0
        shares = np.maximum(-duals[self.inputs : self.inputs + len(self.utilities)], 0.0) / self.units
        shares *= self.units.min()
        total = float(shares.sum())
        shares = shares / total if total > 0.0 else np.full(shares.size, 1.0 / shares.size)
        return self.master.channel(weights), shares
