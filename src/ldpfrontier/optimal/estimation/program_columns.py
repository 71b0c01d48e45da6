"""Columns of large tables that keep a level over an uncertainty set and one given the useful value."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ldpfrontier.cones import ConditionalCone, Cone, Intersection
from ldpfrontier.mechanisms import secret_randomized_response
from ldpfrontier.optimal.conditional.cone_program import ConeProgram
from ldpfrontier.optimal.estimation.settings import SETTINGS
from ldpfrontier.optimal.estimation.weights import Prices
from ldpfrontier.optimal.exact.separation import Oracle
from ldpfrontier.types import FloatArray


class BothLevels(NamedTuple):
    """A cone of `robust_cone`, and the conditional level in nats that columns have, too."""

    robust: Oracle
    level: float


def with_both_levels(cone: Cone) -> BothLevels | None:
    """Return the parts of `robust_cone` & `conditional_cone` at a level above 0; None for other cones."""
    if isinstance(cone, Intersection):
        for robust, other in ((cone.first, cone.second), (cone.second, cone.first)):
            if isinstance(robust, Oracle) and isinstance(other, ConditionalCone) and other.level > 0.0:
                return BothLevels(robust, other.level)
    return None


@dataclass(eq=False)
class ProgramColumns:
    """Columns found by linear programs with cuts, along gradients: a `Pricing` without a bound.

    Parameters
    ----------
    cone : BothLevels
    p : ndarray, shape (inputs,)
    """

    cone: BothLevels
    p: FloatArray
    exact: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        robust, level = self.cone
        self._program = ConeProgram(robust.ball, robust.epsilon, level, robust.envelope)
        self._rng = np.random.default_rng(0)

    def start(self) -> FloatArray:
        """Return columns of secret randomized response, which is in every such cone, and random extreme ones.

        Shape (m, inputs).
        """
        a1, a2 = self.cone.robust.shape
        level = min(self.cone.robust.epsilon, self.cone.level)
        response = secret_randomized_response(a1, a2, level).matrix.T
        ends = [self._program.step(cost)[0] for cost in self._random_costs()]
        columns = np.vstack([response, *ends])
        return np.asarray(columns / (columns @ self.p)[:, None])

    def _random_costs(self) -> FloatArray:
        """Return costs that prefer a useful value for each sensitive one, (m, inputs)."""
        (a1, a2), number = self.cone.robust.shape, SETTINGS.random_costs * self.p.size
        letters = np.where(
            self._rng.random((number, 1)) < 0.5,
            self._rng.integers(a2, size=(number, 1)),
            self._rng.integers(a2, size=(number, a1)),
        )
        costs = 0.2 * self._rng.normal(size=(number, a1, a2))
        costs[np.arange(number)[:, None], np.arange(a1), letters] += self._rng.normal(size=(number, a1))
        sizes = np.sqrt(np.maximum(self.p, 1e-3 / self.p.size))
        return np.asarray(costs.reshape(number, -1) * sizes)

    def search(self, prices: Prices, known: FloatArray) -> FloatArray:
        """Return columns at the ends of ascents from known ones and random ones, (m, inputs)."""
        n, starts = self.p.size, known[: SETTINGS.program_starts]
        random = np.exp(self._rng.normal(size=(SETTINGS.program_starts // 2, n)))
        ends = []
        for v in np.vstack([starts, random / (random @ self.p)[:, None]]):
            best, end = -math.inf, v
            for _ in range(SETTINGS.program_steps):
                try:
                    inside, v = self._program.step(2.0 * (v @ prices.W.T) @ prices.W - prices.lam)
                except RuntimeError:  # HiGHS gives up some programs
                    break
                reduced = float(((inside @ prices.W.T) ** 2).sum() - inside @ prices.lam)
                if reduced <= best + 1e-3 * abs(best):
                    break
                best, end = reduced, inside
            if best > -math.inf:
                ends.append(end / (end @ self.p))
        found = np.array(ends).reshape(-1, n)
        return np.asarray(found[np.argsort(-prices.excess(found), kind="stable")])

    def excess(self, prices: Prices) -> float:
        """Return inf, as nothing is proved."""
        return math.inf
