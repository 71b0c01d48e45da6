"""Columns of large tables that keep a level over an uncertainty set and one given the useful value."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from ldpfrontier.cones import Cone, Intersection, PolyhedralCone, conditional_cone
from ldpfrontier.mechanisms import secret_randomized_response
from ldpfrontier.optimal.conditional.cone_program import ConeProgram
from ldpfrontier.optimal.estimation.settings import SETTINGS
from ldpfrontier.optimal.estimation.weights import Prices
from ldpfrontier.optimal.exact.separation import Oracle
from ldpfrontier.types import FloatArray


def with_both_levels(cone: Cone) -> Oracle | None:
    """Return a cone of `robust_cone` with a finite conditional level, given as ``a & b`` or not, or None."""
    if isinstance(cone, Oracle):
        return cone if math.isfinite(cone.conditional_epsilon) else None
    if not isinstance(cone, Intersection):
        return None
    for robust, other in ((cone.first, cone.second), (cone.second, cone.first)):
        if not (isinstance(robust, Oracle) and isinstance(other, PolyhedralCone)):
            continue
        level = math.log(max(-float(other.inequalities.min(initial=0.0)), 1.0))
        same = conditional_cone(robust.shape, level).inequalities
        given = other.inequalities
        if level > 0.0 and same.shape == given.shape and np.allclose(same, given, rtol=1e-15, atol=0.0):
            return replace(robust, conditional_epsilon=min(level, robust.conditional_epsilon))
    return None


@dataclass(eq=False)
class ProgramColumns:
    """Columns found by linear programs with cuts, along gradients: a `Pricing` without a bound.

    Parameters
    ----------
    cone : Oracle
        With a finite conditional level.
    p : ndarray, shape (inputs,)
    """

    cone: Oracle
    p: FloatArray
    exact: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        cone = self.cone
        self._program = ConeProgram(cone.ball, cone.epsilon, cone.conditional_epsilon, cone.envelope)
        self._rng = np.random.default_rng(0)

    def start(self) -> FloatArray:
        """Return columns of secret randomized response, which is in every such cone, and random extreme ones.

        Shape (m, inputs).
        """
        a1, a2 = self.cone.shape
        level = min(self.cone.epsilon, self.cone.conditional_epsilon)
        response = secret_randomized_response(a1, a2, level).matrix.T
        ends = [self._program.step(cost)[0] for cost in self._random_costs()]
        columns = np.vstack([response, *ends])
        return np.asarray(columns / (columns @ self.p)[:, None])

    def _random_costs(self) -> FloatArray:
        """Return costs that prefer a useful value for each sensitive one, (m, inputs)."""
        (a1, a2), number = self.cone.shape, SETTINGS.random_costs * self.p.size
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
