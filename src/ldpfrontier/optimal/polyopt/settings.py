"""Limits of PolyOpt and its larger tables, accuracy, and tuning of distinct pairs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PolyoptSettings:
    """Constants of the modules of this folder; gaps, losses and shares are relative.

    "Insensitive": over distinct pairs on Adult 16 x 7 at epsilon 0.3, 1 and 2 the value changes by less than
    the gap asked for (1e-4), and the time by less than a fifth.
    """

    # Stated limits.
    #: Beyond that, simplex iterations of the decomposition, times the rows of its programs: 20 s. Without a
    #: limit 500 x 2 took minutes at epsilon 10, and the gap is 0.4% with it.
    max_simplex_work: float = 3e8

    # Accuracy and safety.
    #: Searches over all deltas, of which some ten are needed.
    max_searches: int = 20
    #: Intervals of delta that one of them looks at.
    max_intervals: int = 10_000
    #: By how many nats the level of a start may exceed epsilon; below 1 nat, by that share of it.
    start_rounding: float = 1e-9
    #: The least that levels may be off, in nats.
    level_rounding: float = 1e-14

    # Tuning.
    #: Gap of a decomposition that is a start only. Insensitive from 1e-4 to 1e-2.
    start_gap: float = 1e-3
    #: How much nearer to delta = 0 the first interval ends after a split. Insensitive from 4 to 16; with 2
    #: the gap over distinct pairs on 500 x 2 is 8e-6 in place of 1e-6.
    first_split: float = 16.0
    #: Bins of z by which dominated vertices are discarded before the exact test; for speed alone.
    bins: int = 2048


SETTINGS = PolyoptSettings()
