"""Accuracy and tuning of dual bounds.

Compiled kernels take these values in: after a change, those that use them are compiled again.
Unless a line says otherwise, values were tuned on Adult 16 x 7.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OverSetSettings:
    """Numbers that dual bounds are computed with."""

    # Stated limits.
    #: Vertices of the polytope around F for the least information: up to 6 cells they leave a gap of 1e-5.
    max_vertices: int = 20_000

    # Accuracy and safety.
    #: Letters up to this are zero; phi has no smaller argument.
    zero: float = 1e-9

    # Tuning: the affine bounds.
    #: Values of lam are the same up to this.
    lam_tolerance: float = 0.1
    #: Ratio of z to a breakpoint up to which they count as the same: beside a vertex f falls steeply, at a z
    #: that moves with t. Bounds that fell with it would take ever smaller nodes.
    breakpoint_ratio: float = 1.03

    # Tuning: vertices along t.
    #: Vertices of a knot that others start from; that have letters moved; candidates for each lam, and
    #: between two breakpoints.
    kept_vertices: int = 2
    #: Distances from the main lam at which the best vertices on either side of a breakpoint are paired.
    lam_offsets: tuple[float, ...] = (
        -20.0, -8.0, -4.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 20.0
    )  # fmt: skip
    #: Vectors are compared by log(w + floor) of all letters, relative to the top.
    log_floor: float = 0.03

    # Tuning: branch and bound.
    #: Nodes per visit of a block, and loosest nodes whose points are candidates.
    nodes_per_visit: int = 1_000
    #: Shares that are not worth work: of a violation known, of a tolerance, of the knots between two runs.
    negligible_share: float = 0.1
    #: Ratio of the ends of the first intervals of xi and eta where the bounds of the block depend on t, and
    #: where an unbounded interval is cut; factor by which a multiplier may grow in a step.
    wide_ratio: float = 4.0

    # Tuning: the relaxation of a node.
    #: Number of intervals of the grid of a letter.
    grid: int = 8
    #: Most cutting planes of a node.
    max_planes: int = 8
    #: Share of an interval that points are kept away from its ends.
    end_share: float = 0.1

    # Tuning: descent to members of F with little information.
    #: Vertices from which it starts.
    descent_starts: int = 8
    #: Steps of each.
    descent_steps: int = 60


SETTINGS = OverSetSettings()
