"""Limits of joint columns, accuracy of their separation oracle, and tuning of search and branch and bound."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class JointSettings:
    """Constants of the modules of this folder; shares are relative, angles in radians."""

    # Stated limits.
    #: Nodes per pricing of joint columns, by default; up to six cells a few thousand close the gap.
    joint_nodes: int = 20_000
    #: The same against acquaintances, whose cone is round: a gap of 1e-3 on 2 x 6.
    association_nodes: int = 200_000
    #: The same over polyhedral cones with too many extreme rays to list: a gap of 1e-3 for PolyOpt on 3 x 4.
    polyhedral_nodes: int = 300_000
    #: The finest relative gap of joint columns: below level 0.1 it takes up to a minute on 2 x 6 already.
    joint_tolerance: float = 1e-4

    # Accuracy and safety.
    #: Accuracy of the angle that splits the budget, where the ratio is smooth in it.
    angle_accuracy: float = 1e-8
    #: Columns are pulled to this far (nats) below epsilon, so that rounding does not lift them above it.
    pull_margin: float = 2e-12
    #: Linear programs of one optimum, after which searches, and branch and bound, end; twice the nodes per
    #: pricing where that is more.
    max_programs: int = 100_000
    #: How many of them may be searches alone, which at low levels would take all: the others are for a bound.
    max_search_programs: int = 30_000

    # Tuning: the cut pool, and branch and bound. Tuned on small tables.
    #: Cuts kept before unused ones are forgotten, of any cone and of the one against acquaintances: fewer are
    #: faster, but bounds over F suffer (docs/beyond/tried.md).
    max_cuts: tuple[int, int] = (5_000, 2_000)


SETTINGS = JointSettings()
