"""Accuracy and tuning of the certificate.

Compiled kernels take these values in: after a change, those that use them are compiled again.
Unless a line says otherwise, values were tuned on Adult 16 x 7.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OverSetSettings:
    """Numbers that certificates are computed with."""

    # Accuracy and safety.
    #: Letters up to this are zero; phi has no smaller argument.
    zero: float = 1e-9
    #: lam is looked for from -margin to 1 + log of the largest Z + margin.
    lam_margin: float = 1.0
    #: Most knots, which limits memory.
    max_knots: int = 300

    # Tuning: the affine bounds.
    #: Values of lam are the same up to this.
    lam_tolerance: float = 0.1
    #: Ratio of z to a breakpoint up to which they count as the same: beside a vertex f falls steeply, at a z
    #: that moves with t. Bounds that fell with it would take ever smaller nodes.
    breakpoint_ratio: float = 1.03
    #: Reduced cost relative to the value at which a product counts 1/e in the tangent of Z log Z.
    tangent_width: float = 2e-3

    # Tuning: vertices along t.
    #: Blocks with more letters have no vertices listed but at t = 0.
    max_listed_letters: int = 10
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
    #: Growth of the tree of a block after which violations are looked for again.
    search_growth: float = 1.5
    #: Shares that are not worth work: of a violation known, of a tolerance, of the knots between two runs.
    negligible_share: float = 0.1
    #: Ratio of the ends of the first intervals of xi and eta where the bounds of the block depend on t, and
    #: where an unbounded interval is cut; factor by which a multiplier may grow in a step.
    wide_ratio: float = 4.0
    #: Multiple of 1 / top at which the bounded intervals of xi end, and of 1 / bottom for eta.
    last_scalar: float = 200.0
    #: Most intervals of t at first.
    first_t_intervals: int = 8
    #: Most points that are candidates for violations at a time.
    max_candidates: int = 48

    # Tuning: the relaxation of a node.
    #: Number of intervals of the grid of a letter.
    grid: int = 8
    #: Exponent of their ends, denser at the lower end, where x log x bends.
    grid_exponent: float = 1.4
    #: Most cutting planes of a node.
    max_planes: int = 8
    #: Least multiplier, times xi or eta, in estimates of what is lost.
    min_multiplier: float = 0.3
    #: Weight of what a rectangle loses.
    rectangle_weight: float = 2.0
    #: Share of an interval that points are kept away from its ends.
    end_share: float = 0.1


SETTINGS = OverSetSettings()
