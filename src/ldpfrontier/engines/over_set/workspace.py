r"""Space for the relaxation of nodes, of which all nodes of a tree use the same, and how it is rounded.

What is tabulated is rounded upwards: every entry is raised by gamma(n) times its magnitude, n
(`BlockProblem.rounding`) the operations on it from the data of the problem to the bound of the node. As the
multipliers are >= 0 and maxima keep order, that covers the sums over the letters. A tangent at xi = s has the
argument x = 1 + s v. Any v will do, so x is taken to be exact, and v wrong by u (1 + s |v|) / s. With
l = 1 + s (w + top), s |v| is at most 2 l and s times the step from v at most 3 l, and both have errors of
some l u, so that what a tangent is wrong by is some operations times ::

    l phi'(x) (1 + (xi / s - 1) (2 + (1 - g) (1 + 2 / x))),

besides those on its terms, and 2 / |g| for the difference x^g - 1. Intervals are rounded outwards, and k
downwards.

Where x = 1 + s v -> 0, the tangent at s is about -C x^(g-1) at the other end of xi, C > 0. Its own tangent in
w, taken at x = c, is -C c^(g-1) (1 - (1 - g) (b - c) / c) at x = b: for g < 0 and c = b/2, in the middle of
(0, b], that is above 0, and grows without limit as the interval shrinks. The constraint then says nothing of
points beside the pole. At c = (2 - g) / (3 - g) b it is -C c^(g-1) / (2 - g), which is below 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.over_set.settings import SETTINGS
from ldpfrontier.numerics.kelley_2d import CuttingPlanes


class Corners(NamedTuple):
    """Number of ends of t, xi and eta at which a node is relaxed; a scalar without bound has none but one."""

    t: int
    xi: int
    eta: int


class LetterTables(NamedTuple):
    """What n letters contribute to the relaxation of a node, at the ends of the intervals of their grids."""

    spacing: FloatArray  # (intervals of the grid + 1,): their ends, as shares
    a: FloatArray  # (2, 2, n, 2 intervals): tangents of phi in xi, at the ends of t, in corners
    b: FloatArray  # the same in eta
    base: FloatArray  # (2, n, 2 intervals): w log w - gamma w
    points: FloatArray  # (n, 2 intervals): left ends of intervals, then right ends


class Workspace(NamedTuple):
    """The tables for one node with n letters, and the point that attains its relaxation."""

    tables: LetterTables
    argmax: NDArray[np.int64]  # (planes, n): the best points
    argmax_t: NDArray[np.int64]  # (planes,): the best end of t
    trial: NDArray[np.int64]  # (n,)
    planes: CuttingPlanes
    z: FloatArray  # (2 E + 2,): of the majorant's corners
    v: FloatArray
    t: FloatArray  # (2,)
    minorant: FloatArray  # (2, 2)
    loss: FloatArray  # (4,): what is lost in xi, eta, t, and the letter that is looked at
    total: FloatArray  # (2, 2, 2): the relaxation, at the ends of t, in corners
    most: FloatArray  # (2, 2, 2, n): what each letter contributes to it

    @classmethod
    def of(cls, n: int, breakpoints: int) -> Workspace:
        """Return arrays for a search with n letters and a number of breakpoints of the majorant."""
        grid, m = SETTINGS.grid, SETTINGS.max_planes
        tables = LetterTables(
            # Denser at the lower end, where x log x bends.
            np.array([(j / grid) ** 1.4 for j in range(grid + 1)]),
            np.empty((2, 2, n, 2 * grid)),
            np.empty((2, 2, n, 2 * grid)),
            np.empty((2, n, 2 * grid)),
            np.empty((n, 2 * grid)),
        )
        return cls(
            tables,
            np.zeros((m, n), dtype=np.int64),
            np.zeros(m, dtype=np.int64),
            np.zeros(n, dtype=np.int64),
            CuttingPlanes.of(m),
            np.empty(2 * breakpoints + 2),
            np.empty(2 * breakpoints + 2),
            np.empty(2),
            np.empty((2, 2)),
            np.empty(4),
            np.empty((2, 2, 2)),
            np.empty((2, 2, 2, n)),
        )
