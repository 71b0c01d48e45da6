"""Exact enumeration of the rays of the robust cones, for small tables (lopuhaa2024, Definition 3)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from itertools import permutations, product

import numpy as np
import pytest

from ldpfrontier.base.types import FloatArray, Intractable, Pairs
from ldpfrontier.engines.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.engines.column_generation.smoothed import generate
from ldpfrontier.model.optimum import Optimum
from ldpfrontier.model.utility import Columns, MutualInformation

#: Largest a1 a2 for which the double description finishes in seconds to minutes.
MAX_CELLS = 12

#: Denominator of the rational numbers the cone is written in.
UNIT = 1 << 44


@dataclass(frozen=True, eq=False)
class Enumerated:
    """A family given by the list of its columns, every extreme ray; pricing looks at every one."""

    columns: Columns
    scale: FloatArray
    efforts: int = 1

    def price(self, prices: FloatArray, effort: int) -> tuple[float, Columns]:
        """Return the largest reduced cost, exactly, and the columns that come closest to it."""
        reduced = self.columns.values - self.columns.vectors @ prices
        best = np.argsort(-reduced, kind="stable")[: GENERATION.batch]
        return float(reduced.max()), Columns(self.columns.vectors[best], self.columns.values[best])


def robust_rays(
    lower: FloatArray, epsilon: float, pairs: Pairs, conditional_epsilon: float = math.inf
) -> FloatArray:
    """List the extreme rays of {v >= 0 : A_s(v) <= e^eps B_s'(v)} in exact arithmetic.

    The numbers L and e^eps are rounded down to multiples of 2^-44 first: that cone lies inside the true one,
    so its mechanisms are private, and integers of moderate size keep the double description fast.

    `lower` are the L_{u|s}, (a1, a2); the rays, (rays, a1 a2), are scaled to a largest entry of one. A finite
    level k given U adds v_{s,u} <= e^k v_{s',u}. Intractable if the table has more than 12 cells.
    """
    return _rays(tuple(map(tuple, lower.tolist())), epsilon, pairs, conditional_epsilon)


@cache
def _rays(
    bounds: tuple[tuple[float, ...], ...], epsilon: float, pairs: Pairs, conditional_epsilon: float
) -> FloatArray:
    """Return what `robust_rays` does, which several tests ask of the same tables."""
    lower = np.array(bounds)
    a1, a2 = lower.shape
    if a1 * a2 > MAX_CELLS:
        raise Intractable(
            f"The table is {a1} x {a2}: vertex enumeration in {a1 * a2} dimensions is out of reach;"
            f" at most {MAX_CELLS} cells can be enumerated."
        )
    ppl = pytest.importorskip("ppl")  # it is installed with Python 3.11 on Linux alone
    weights = [[int(x) for x in row] for row in np.floor(lower * UNIT)]
    rest = [UNIT - sum(row) for row in weights]
    top = math.floor(math.exp(epsilon) * UNIT)
    system = ppl.Constraint_System()
    for x in range(a1 * a2):
        system.insert(ppl.Variable(x) >= 0)
    for s, t in product(range(a1), repeat=2):
        if s == t and pairs == "distinct":
            continue
        for u, w in product(range(a2), repeat=2):
            row = [0] * (a1 * a2)
            for x in range(a2):
                row[s * a2 + x] -= UNIT * weights[s][x]
                row[t * a2 + x] += top * weights[t][x]
            row[s * a2 + u] -= UNIT * rest[s]
            row[t * a2 + w] += top * rest[t]
            system.insert(ppl.Linear_Expression(row, 0) >= 0)
    if math.isfinite(conditional_epsilon):
        level = math.floor(math.exp(conditional_epsilon) * UNIT)
        for (s, t), u in product(permutations(range(a1), 2), range(a2)):
            row = [0] * (a1 * a2)
            row[s * a2 + u], row[t * a2 + u] = -UNIT, level
            system.insert(ppl.Linear_Expression(row, 0) >= 0)
    generators = ppl.C_Polyhedron(system).minimized_generators()
    rays = []
    for generator in generators:
        if generator.is_ray():
            entries = [int(x) for x in generator.coefficients()]
            largest = max(entries)
            # Integer division keeps entries exact far beyond the range of a float.
            rays.append([(x << 60) // largest / (1 << 60) for x in entries])
    found = np.array(rays)
    found.setflags(write=False)
    return found


def polyopt_enumerated(
    centre: FloatArray, lower: FloatArray, epsilon: float, pairs: Pairs, *, tolerance: float, max_rounds: int
) -> Optimum:
    """Solve PolyOpt over the listed rays; arguments as `polyopt`, with the choice of pairs."""
    utility = MutualInformation(centre)
    rays = robust_rays(lower, epsilon, pairs)
    return generate(
        Enumerated(utility.columns(rays), utility.prior),
        utility.columns(np.ones((1, centre.size))),
        utility,
        tolerance=tolerance,
        max_rounds=max_rounds,
    )
