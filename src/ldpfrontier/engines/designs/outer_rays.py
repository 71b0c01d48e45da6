"""A bound on the error over a cone that is not polyhedral, by the extreme rays of larger polyhedral cones.

The least error over a larger cone, which a few cuts make, is a lower bound. It is found by listing the
extreme rays of that cone. The column of its best mechanism that is outside of the cone and counts most yields
a new cut, until the bound is close enough: with several cuts at a time, rays become more for the same bound.
The method is that of cutting planes; rays are listed by double description, to which cuts are added.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.engines.designs.column_weights import EstimationProblem, Prices
from ldpfrontier.engines.designs.generation import generate
from ldpfrontier.engines.designs.settings import SETTINGS
from ldpfrontier.engines.listed.double_description import DoubleDescription, irredundant, lexicographic
from ldpfrontier.model.cones import Cone
from ldpfrontier.model.optimum import fell_back, one_line
from ldpfrontier.numerics.deadline import TimeIsUp, check_time


@dataclass(frozen=True, eq=False)
class ListedRays:
    """Columns that are listed: a `SquareFamily`."""

    vectors: FloatArray  # (m, inputs), with p . v = 1
    exact: bool = True

    def price(self, prices: Prices, known: FloatArray) -> tuple[float, FloatArray]:
        """Return the largest excess of all columns, and the columns that come near it."""
        excess = prices.excess(self.vectors)
        best = np.argsort(-excess, kind="stable")[: SETTINGS.new_columns * self.vectors.shape[1]]
        return float(excess.max()), self.vectors[best]


def outer_bound(
    problem: EstimationProblem, cone: Cone, inner: FloatArray, phi: float, tolerance: float, max_rays: int
) -> float:
    """Return a lower bound of phi over a cone, to a relative tolerance of the error phi that was found.

    The inner columns, (m, inputs), are in the cone, with p . v = 1, span what all its columns span, and have
    weights of a channel.
    """
    p, best, known, is_rough = problem.p, 0.0, inner, True
    rays = DoubleDescription(p.size, max_rays)
    try:
        left = list(lexicographic(irredundant(cone.inequalities)))
        try:
            while left:
                rays.cut(coarse(left[0][None])[0])
                del left[0]
        except Intractable as error:
            fell_back(f"the bound of fewer inequalities, as rays became too many: {one_line(error)}")
        while True:
            check_time()
            vectors = rays.points / (rays.points @ p)[:, None]
            # Until the bound is close, any good mechanism of the larger cone shows where to cut it.
            gap = max(tolerance, 1.0 - best / phi) if is_rough else tolerance
            found = generate(
                problem, known, ListedRays(vectors), SETTINGS.outer_share * gap, SETTINGS.max_rounds
            )
            best = max(best, found.bound)
            if left or best >= phi * (1.0 - tolerance):
                break
            columns, theta = found.weighted.vectors, found.weighted.theta
            cuts = cone.separate(columns, exact=True)
            outside = np.einsum("mpx,mx->mp", cuts, columns) / np.abs(cuts).max(axis=2)
            furthest = outside.max(axis=1, initial=0.0)  # of a polyhedral cone there are no more cuts
            i = int((theta * furthest).argmax())
            if furthest[i] <= SETTINGS.equality:  # all columns are inside
                if not is_rough:
                    break
                is_rough = False
                continue
            most = int(outside[i].argmax())
            cut = coarse(cuts[i, most : most + 1])[0]
            rays.cut(cut)
            # What the cut leaves of the best columns is where the next search begins.
            known = np.vstack([inner, columns[(theta > 0.0) & (columns @ cut <= 0.0)]])
    except TimeIsUp:
        fell_back("the bound of fewer cuts, as the time limit ended the proof")
    except Intractable as error:
        fell_back(f"the bound of fewer cuts, as rays became too many: {one_line(error)}")
    return best


def coarse(cuts: FloatArray) -> FloatArray:
    """Return cuts a . v <= 0, (m, n), with coefficients lowered to 22 bits, which leaves them valid.

    Rays are listed in whole numbers, and more digits make these longer.
    """
    unit = 2.0**-22 * np.abs(cuts).max(axis=1, keepdims=True)
    return np.asarray(np.floor(cuts / unit) * 2.0**-22)
