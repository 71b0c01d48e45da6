"""Limits, accuracy and tuning of the public calls for tables, in the modules of this folder itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OptimalSettings:
    """Numbers that the optima of tables are found with; levels are in nats, cells are entries of a table."""

    # Stated limits. Those of the envelopes and of joint columns are in the folders that solve them.
    #: Largest privacy level: with e^(2 eps) = 1e26 the rounding of reduced costs is still below 1e-14.
    max_epsilon: float = 30.0
    #: Cells of a table: each is a row of a linear program.
    max_cells: int = 1_000
    #: Subsets of useful values of any table, over the sensitive ones: vertices of blocks, which are listed.
    max_block_subsets: int = 20 * 2**20
    #: Times that members of F are added for the least information over it.
    least_rounds: int = 40
    #: How many at once.
    least_members: int = 2
    #: The finest relative gaps of that, of PolyOpt and of mechanisms private over F.
    least_tolerances: tuple[float, float] = (1e-5, 1e-3)

    # Accuracy and safety.
    #: Absolute rounding, in nats, of bounds that are sums of duals: 18 units in the last place of 1.
    bound_noise: float = 4e-15
    #: Relative part of epsilon that mechanisms made of blocks leave unused, so that rounding errs on the safe
    #: side.
    epsilon_margin: float = 1e-12
    #: 1 - S_s below which it is too badly known to rely on: rounding of 1e-15 in S_s is 1e-8 of it.
    least_rest: float = 1e-7


SETTINGS = OptimalSettings()
