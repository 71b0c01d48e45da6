"""Accuracy and tuning of the search for mechanisms on large tables by linear programs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ColumnsSettings:
    """Constants of the modules of this folder; they were tuned on Adult 16 x 7."""

    # Accuracy and safety.
    #: Share by which columns are mixed with the constant one beyond what their level asks for.
    mixing_margin: float = 1e-7

    # Tuning: linear programs over the cone.
    #: Cuts of a program, above which those without a multiplier are dropped.
    max_cuts: int = 300

    # Tuning: search.
    #: Programs of one ascent, also for the least error of estimates.
    max_steps: int = 5
    #: Ascents of a round.
    starts: int = 24

    # Tuning: against acquaintances. Tuned on Adult 16 x 7 and 15 x 16.
    #: Programs of one step, with cuts added between them.
    association_programs: int = 3
    #: Violation of a cut, relative to the scale P-hat . v = 1, from which on it is added.
    association_tolerance: float = 1e-6

    # Tuning: bounds.
    #: Largest entry of the columns of mechanisms that see u alone, of which the least has the average 1:
    #: beyond, ratios count as infinite.
    largest_ratio: float = 1e4
    #: Share by which such a ratio is raised, for the tolerances of linear programs, and by how much the
    #: largest means of gradients are.
    ratio_margin: float = 1e-6
    #: Optima of what mechanisms tell of U, after each of which there are more cuts of its cone; and programs
    #: of a step over a polyhedral cone, each with more of its inequalities.
    cut_rounds: int = 6


SETTINGS = ColumnsSettings()
