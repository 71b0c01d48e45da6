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
    #: Relative: where two families of vertices meet, rounding must not lose the vertex to neither.
    overlap: float = 1e-12
    #: Relative: constraints this near to equality are active, letters below this share of the top are 0, and
    #: curvatures this small are none.
    tolerance: float = 1e-9
    #: Relative: where a vector that is pulled into its body may lie outside at an end.
    end_tolerance: float = 1e-12
    #: Step of a Newton iteration after which, as it converges quadratically, the next one is rounding.
    last_step: float = 1e-7
    #: Largest value of such a vector, in units of the top.
    max_two_valued: float = 1e7
    #: Relative gain below which an ascent ends.
    least_gain: float = 1e-10

    # Tuning. It changes which vertices are found, never what is true of one. Tuned on Adult 16 x 7.
    #: Newton steps of an ascent.
    max_ascent_steps: int = 12
    #: The largest change of a letter by a step, relative to the largest letter.
    trust_radius: float = 0.5
    #: Part of a step that is tried if all of it gains nothing.
    step_shrinkage: float = 0.3
    #: Steps by which a vector outside its body is brought near it, or into it.
    max_restoration_steps: int = 6
    #: New vertices kept per body and call.
    kept_per_call: int = 4


SETTINGS = GeometrySettings()
