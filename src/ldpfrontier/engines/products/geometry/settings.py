"""Limits, accuracy and tuning of the blocks.

Compiled kernels take these values in: after a change, those that use them are compiled again.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GeometrySettings:
    """Numbers that the vertices of blocks are found with; a letter is a useful value."""

    # Stated limits.
    #: Letters of a block: their 2^20 subsets are 1e6 vertices of some families, about 100 MB a block.
    max_letters: int = 20

    # Accuracy and safety.
    #: Least 1 - S_s, where one useful value is known to be itself.
    least_rest: float = 1e-15
    #: Relative: constraints this near to equality are active, letters below this share of the top are 0, and
    #: curvatures this small are none.
    tolerance: float = 1e-9
    #: Relative gain below which an ascent ends.
    least_gain: float = 1e-10

    # Tuning. It changes which vertices are found, never what is true of one. Tuned on Adult 16 x 7.
    #: Newton steps of an ascent.
    max_ascent_steps: int = 12


SETTINGS = GeometrySettings()
