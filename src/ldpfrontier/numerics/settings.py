"""Limits, accuracy and safety of the tools that know nothing of privacy."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NumericsSettings:
    """Tolerances are absolute where nothing else is said."""

    # Stated limits.
    #: By how much the sum of a distribution may differ from 1.
    sum_tolerance: float = 1e-9
    #: Negative probabilities down to here are rounding, and become 0.
    negative_tolerance: float = 1e-12
    #: Numbers of which the best partition is found by listing the subset sums of both halves: 2^20 each.
    max_partition: int = 40
    #: Distance from probability 1/2 that a set of more numbers may have, which is as good as any: the binary
    #: mechanism loses four times its square.
    half_tolerance: float = 1e-9

    #: Numbers of an array that is worked through in pieces: some ten to some hundred megabytes a piece.
    piece: int = 2**20
    #: Inputs of a utility without bounds of its own: all corners of a box of columns are listed,
    #: 4,096 at most.
    max_corner_inputs: int = 12

    # Accuracy and safety.
    #: Primal and dual feasibility of linear programs: the least that HiGHS allows. Its default of 1e-7 is
    #: visible in the results.
    lp_tolerance: float = 1e-10
    #: Of more numbers than are partitioned exactly, as many of the least are: 2^15 subset sums of each half
    #: lie densely enough for the tolerance above.
    partitioned_tail: int = 30

    # Tuning.
    #: Entries of a column below this count as this large in gradients: the slope of v log v at 0 is -inf.
    gradient_floor: float = 1e-5


SETTINGS = NumericsSettings()
