"""Columns of large tables, found by linear programs over a cone: ascents along gradients of the excess.

Programs are those of both levels (`engines.columns.cone_program`), of acquaintances
(`engines.columns.association_program`), or of any polyhedral cone. Nothing is proved of the columns not
found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import highspy
import numpy as np

from ldpfrontier.base.types import FloatArray, IntArray
from ldpfrontier.engines.columns.association_program import AssociationProgram
from ldpfrontier.engines.columns.cone_program import ConeProgram
from ldpfrontier.engines.columns.settings import SETTINGS as SEARCH
from ldpfrontier.engines.designs.column_weights import Prices
from ldpfrontier.engines.designs.settings import SETTINGS
from ldpfrontier.engines.joint.association_cone import AssociationCone
from ldpfrontier.engines.joint.separation import Oracle
from ldpfrontier.model.cones import ConditionalCone, Cone, Intersection, PolyhedralCone
from ldpfrontier.model.optimum import LEAST_EPSILON, MAX_EPSILON
from ldpfrontier.numerics.highs import new_lp, solve


class PolyhedralProgram:
    """The programs of a polyhedral cone: what it compares is added once a solution violates it.

    A variable stands for the largest of several sums that are compared with the same others, and one for the
    smallest. Columns have scale . v = 1; ValueError is raised if the scale is 0 at an input where no
    inequality limits their entries.
    """

    def __init__(self, cone: PolyhedralCone, scale: FloatArray) -> None:
        self.cone, self.scale = cone, scale
        self._places = np.arange(scale.size, dtype=np.int32)
        self._lp = lp = new_lp()
        lp.setOptionValue("simplex_strategy", 1)
        lp.addVars(scale.size, np.zeros(scale.size), largest_entries(cone, scale))
        lp.addRow(1.0, 1.0, scale.size, self._places, scale)
        known = cone.comparisons
        self._known = np.zeros(len(known.pairs), dtype=np.bool_)
        self._larger = self._extremes(known.larger, known.larger_starts, 1.0)
        self._smaller = self._extremes(known.smaller, known.smaller_starts, -1.0)

    def _extremes(self, sums: FloatArray, starts: IntArray, sign: float) -> list[dict[int, float]]:
        """Return sign times the largest or, at -1, the smallest sum of each group, by its coefficients."""
        extremes = list[dict[int, float]]()
        for group in np.split(sums, starts[1:]):
            terms = [{int(x): sign * row[x] for x in np.flatnonzero(row)} for row in group]
            if len(terms) > 1:
                place = self._lp.getNumCol()
                self._lp.addVar(0.0, highspy.kHighsInf)
                for term in terms:
                    self._require(term, {place: -sign})
                terms = [{place: sign}]
            extremes += terms
        return extremes

    def _require(self, one: dict[int, float], other: dict[int, float]) -> None:
        """Require that two sums add up to 0 or less."""
        terms = {x: one.get(x, 0.0) + other.get(x, 0.0) for x in one | other}
        places, entries = np.array(list(terms), dtype=np.int32), np.array(list(terms.values()))
        self._lp.addRow(-highspy.kHighsInf, 0.0, len(terms), places, entries)

    def step(self, cost: FloatArray) -> FloatArray:
        """Return a column of the cone with a large cost . v, and the solution of the program, (2, inputs).

        RuntimeError is raised if HiGHS gives up.
        """
        known, n = self.cone.comparisons, self.scale.size
        self._lp.changeColsCost(n, self._places, cost)
        for _ in range(SEARCH.cut_rounds):
            v = np.maximum(solve(self._lp)[1][:n], 0.0)
            most, least = (sums[0] for sums in known.sums(v[None]))
            excess = np.where(self._known, 0.0, most - least - SETTINGS.equality * (most + least))
            worst = np.argsort(-excess, kind="stable")[:n]
            worst = worst[excess[worst] > 0.0]
            if not worst.size:
                break
            for more, less in known.pairs[worst]:
                self._require(self._larger[more], self._smaller[less])
            self._known[worst] = True
        inside = self.cone.pull(v[None])[0][0]
        return np.stack([inside / (inside @ self.scale), v])


def largest_entries(cone: PolyhedralCone, scale: FloatArray) -> FloatArray:
    """Return upper bounds on the entries of columns with scale . v = 1, shape (inputs,).

    Where the scale is 0, a single inequality, whose negative coefficients the scale weighs, limits an entry;
    ValueError is raised if there is none.
    """
    seen = scale > 0.0
    top = np.full(scale.size, math.inf)
    top[seen] = 1.0 / scale[seen]
    for x in np.flatnonzero(~seen):
        rows = cone.inequalities[cone.inequalities[:, x] > 0.0]
        shares = np.maximum(-rows, 0.0) / rows[:, x, None]
        shares = shares[(shares[:, ~seen] == 0.0).all(axis=1)]
        top[x] = (shares[:, seen] / scale[seen]).max(axis=1, initial=0.0).min(initial=math.inf)
        if math.isinf(top[x]):
            raise ValueError(
                f"The prior is 0 at input {x}, and no inequality of the cone limits what a column has there"
                " by what it has at inputs that occur: every input needs a probability above 0."
            )
    return top


#: The linear programs over one cone, with a `step` along costs.
Program = ConeProgram | AssociationProgram | PolyhedralProgram


class Programs(NamedTuple):
    """Linear programs, a level of local differential privacy inside of their cone, and one given U of all."""

    program: Program
    level: float
    conditional_level: float = math.inf


def programs_of(cone: Cone, p: FloatArray) -> Programs | None:
    """Return the linear programs of a cone for columns with p . v = 1; None if there are none."""
    if isinstance(cone, Intersection):  # of `robust_cone` and `conditional_cone`, in any order
        parts = cone.first, cone.second
        for robust, other in (parts, parts[::-1]):
            if isinstance(robust, Oracle) and isinstance(other, ConditionalCone) and other.level > 0.0:
                both = ConeProgram(robust.ball, robust.epsilon, other.level)
                return Programs(both, min(robust.epsilon, other.level), other.level)
    if isinstance(cone, AssociationCone) and cone.epsilon > 0.0:
        program = AssociationProgram(cone, p.reshape(cone.shape), programs=2)
        return Programs(program, cone.epsilon, cone.epsilon)
    if isinstance(cone, PolyhedralCone) and cone.least_constant_slack > 0.0:
        level = min(cone.comparisons.local_level, MAX_EPSILON)
        return Programs(PolyhedralProgram(cone, p), level) if level >= LEAST_EPSILON else None
    return None


@dataclass(eq=False)
class ProgramColumns:
    """Columns found by linear programs, along gradients: a `SquareFamily` without a bound."""

    program: Program
    shape: tuple[int, int]  # numbers of sensitive and useful values, or (1, inputs)
    p: FloatArray  # (inputs,)
    exact: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(0)
        self._starts = self.p.size

    def random(self) -> FloatArray:
        """Return random extreme columns, shape (m, inputs)."""
        ends = [self.program.step(cost)[0] for cost in self._random_costs()]
        return np.array([end / (end @ self.p) for end in ends])

    def _random_costs(self) -> FloatArray:
        """Return costs that prefer a useful value for each sensitive one, (m, inputs)."""
        (a1, a2), number = self.shape, 3 * self.p.size
        letters = np.where(
            self._rng.random((number, 1)) < 0.5,
            self._rng.integers(a2, size=(number, 1)),
            self._rng.integers(a2, size=(number, a1)),
        )
        costs = 0.2 * self._rng.normal(size=(number, a1, a2))
        costs[np.arange(number)[:, None], np.arange(a1), letters] += self._rng.normal(size=(number, a1))
        sizes = np.sqrt(np.maximum(self.p, 1e-3 / self.p.size))
        return np.asarray(costs.reshape(number, -1) * sizes)

    def price(self, prices: Prices, known: FloatArray) -> tuple[float, FloatArray]:
        """Return inf, as nothing is proved, and all columns that ascents from known and random ones pass."""
        n, starts = self.p.size, known[: self._starts]
        random = np.exp(self._rng.normal(size=(self._starts // 2, n)))
        passed = []
        for v in np.vstack([starts, random / (random @ self.p)[:, None]]):
            best = -math.inf
            for _ in range(SEARCH.max_steps):
                try:
                    inside, v = self.program.step(2.0 * (v @ prices.W.T) @ prices.W - prices.lam)
                except RuntimeError:  # some programs are given up
                    break
                reduced = float(((inside @ prices.W.T) ** 2).sum() - inside @ prices.lam)
                passed.append(inside / (inside @ self.p))
                if reduced <= best + 1e-3 * abs(best):
                    break
                best = reduced
        found = np.unique(np.array(passed).reshape(-1, n), axis=0)
        excess = prices.excess(found)
        # Where few starts lead to little, more of them do.
        if float(excess.max(initial=0.0)) < 0.3 * float(prices.lam.sum()):
            self._starts = min(2 * self._starts, 300)
        return math.inf, found[np.argsort(-excess, kind="stable")]
