"""Rounding and limits of the tools that know nothing of privacy."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NumericsSettings:
    """Tolerances are absolute where nothing else is said; nothing here is tuned."""

    #: By how much the sum of a distribution may differ from 1.
    sum_tolerance: float = 1e-9
    #: Negative probabilities down to here are rounding, and become 0.
    negative_tolerance: float = 1e-12
    #: Primal and dual feasibility of linear programs: the least that HiGHS allows. Its default of 1e-7 is
    #: visible in the results.
    lp_tolerance: float = 1e-10
    #: Numbers of which the best partition is found by listing the subset sums of both halves: 2^20 each.
    max_partition: int = 40
    #: Of more numbers, as many of the least are partitioned exactly.
    partitioned_tail: int = 30
    #: Distance of a set from probability 1/2 at which it is as good as any: the binary mechanism loses four
    #: times its square.
    half_tolerance: float = 1e-9


SETTINGS = NumericsSettings()
