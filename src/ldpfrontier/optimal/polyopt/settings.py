"""Limits of PolyOpt and its larger tables, accuracy, and tuning."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PolyoptSettings:
    """Constants of the modules of this folder; gaps and losses are relative."""

    # Stated limits.
    #: Beyond that, simplex iterations of the decomposition, times the rows of its programs: 20 s. Without a
    #: limit 500 x 2 took minutes at epsilon 10, and the gap is 0.4% with it.
    max_simplex_work: float = 3e8

    # Accuracy and safety.
    #: By how many nats the level of a start may exceed epsilon; below 1 nat, by that share of it.
    start_rounding: float = 1e-9
    #: The least that levels may be off, in nats.
    level_rounding: float = 1e-14

    # Tuning.
    #: Gap of a decomposition that is a start only. On Adult 16 x 7 it does not matter from 1e-4 to 1e-2.
    start_gap: float = 1e-3


SETTINGS = PolyoptSettings()
