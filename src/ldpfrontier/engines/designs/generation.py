"""Column generation for the least error of estimates, where columns cannot be listed.

The weights of the columns found so far are the restricted master (`column_weights`). Its prices ask for
columns v of the cone with |W v|^2 > lam . v, where p . v = 1, which a family offers; what it proves of the
largest excess is a bound. Once W and the prices change little, the bound is that of the cone.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg import qr

from ldpfrontier.base.types import FloatArray, IntArray
from ldpfrontier.engines.designs.column_weights import EstimationProblem, Prices, Weighted, best_weights
from ldpfrontier.engines.designs.settings import SETTINGS
from ldpfrontier.model.optimum import fell_back
from ldpfrontier.numerics.deadline import TimeIsUp, time_ended, time_is_up
from ldpfrontier.numerics.highs import maximize


class SquareFamily(Protocol):
    """A cone of columns that can be priced for squares |W v|^2, as `Family` is for a utility."""

    @property
    def exact(self) -> bool:
        """Whether all columns are priced, so that the gap can be closed; else a bound may be infinite."""

    def price(self, prices: Prices, known: FloatArray) -> tuple[float, FloatArray]:
        """Bound the excess |W v|^2 - lam . v of all columns from above, by inf at worst; offer good columns.

        These have p . v = 1, shape (m, inputs), the best first. The columns known, (any, inputs), are starts
        of a search, the ones of the largest weight first.
        """


class Generated(NamedTuple):
    """The end of column generation."""

    weighted: Weighted
    bound: float  # on phi
    rounds: int


def generate(
    problem: EstimationProblem,
    vectors: FloatArray,
    family: SquareFamily,
    tolerance: float,
    max_rounds: int,
    bound: float = 0.0,
    most_work: float | None = None,
) -> Generated:
    """Minimize phi over the columns of a cone, to a relative gap; `bound` is a lower bound that is known.

    The columns to begin with, (m, inputs), have p . v = 1, span what all columns of the cone span, and have
    weights of a channel. TimeIsUp is raised if the time limit ends the first restricted master; later, what
    was found before is returned.
    """
    frame, n = problem.frame(vectors), vectors.shape[1]
    inner = max(SETTINGS.inner_gap * tolerance, SETTINGS.finest_gap)
    gap, work, most_work = max(SETTINGS.first_gap, inner), 0.0, most_work or SETTINGS.most_work
    best: Weighted | None = None
    for rounds in range(1, max_rounds + 1):
        weighted = best_weights(problem, vectors, frame, gap, SETTINGS.max_rounds)
        if time_is_up():  # weights need not be those of a channel yet
            if best is None:
                raise time_ended()
            break
        best = weighted if best is None or weighted.phi < best.phi else best
        prices = weighted.prices
        work += weighted.rounds * float(len(vectors)) ** 3
        last = rounds == max_rounds or work > most_work
        if last and not family.exact:  # columns would come too late, and bound nothing
            break
        try:
            excess, found = family.price(prices, vectors[np.argsort(-weighted.theta, kind="stable")])
        except TimeIsUp:
            break
        above = prices.excess(found)
        largest = max(float(above.max(initial=0.0)), 0.0) / max(float(prices.lam.sum()), 1e-300)
        end = (SETTINGS.inner_gap if family.exact else SETTINGS.inner_share) * tolerance
        last = last or (gap <= inner and largest <= end)
        near = SETTINGS.inner_share if family.exact else 1.0
        if last or rounds == 1 or largest <= max(near * tolerance, gap):
            bound = max(bound, problem.bound(prices, excess))
            if last or bound >= best.phi * (1.0 - tolerance):
                break
        # The weights of the last round are those of the mechanism.
        gap = inner if rounds + 1 == max_rounds else max(min(gap, 0.1 * largest), inner)
        vectors = np.vstack(
            [vectors[_kept(weighted, rounds)], found[above > 0.0][: SETTINGS.new_columns * n]]
        )
    assert best is not None
    return Generated(best, bound, rounds)


def _kept(weighted: Weighted, rounds: int) -> IntArray:
    """Return the indices of the columns to keep, those whose weight costs most; more in later rounds."""
    n = weighted.vectors.shape[1]
    costs = weighted.theta * (weighted.vectors @ weighted.prices.lam)
    # How many times as many stay in the next round: where they are too few, the error rises again.
    most = max(SETTINGS.kept_columns * n, SETTINGS.least_kept) * 1.06**rounds
    kept = np.argsort(-costs, kind="stable")[: int(most)]
    if len(kept) == len(costs):
        return np.arange(len(costs))
    # Columns for rare inputs cost little, and are needed all the same.
    deviations = (weighted.vectors - 1.0) @ weighted.frame
    spanning = qr(deviations.T, mode="r", pivoting=True)[1][: deviations.shape[1]]
    kept = np.union1d(kept, spanning)
    # Without some others no weights may make rows sum to 1. If those kept have half their weight, a basic
    # solution for the rest of the row sums has few more columns.
    sides = np.hstack([np.ones((len(costs), 1)), deviations])
    theta = weighted.theta.copy()
    theta[kept] /= 2.0
    try:
        basic = maximize(np.zeros(len(theta)), sides.T, sides.T @ theta, sides.T @ theta)
    except TimeIsUp:
        return kept  # there is no next round
    except RuntimeError:
        basic = None
    if basic is None:
        fell_back("columns dropped although rows may not sum to 1 without them, as HiGHS gave up")
        return kept
    return np.union1d(kept, np.flatnonzero(basic[1]))
