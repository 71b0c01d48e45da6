"""Limits and tuning of the mechanisms over the projections and over the uncertainty set itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ProjectionsSettings:
    """Constants of the modules of this folder; gaps, slacks and shares are relative to the value."""

    # Stated limits.
    #: No finer gap is worked for: dual bounds on 16 x 7 end at 3e-4 and more.
    finest_gap: float = 1e-4

    # Accuracy and safety.
    #: Most passes of a dual bound; six that close take the slack from the first to the final one.
    max_passes: int = 16

    # Tuning: passes of a dual bound. Tuned on Adult 16 x 7.
    #: Bound that the last passes aim at, above the vertices found, and least share of the value that the fit
    #: of distinct pairs may lose in any pass: a finer fit takes many more nodes.
    final_slack: float = 2e-4
    #: Deltas of distinct pairs that a dual bound starts with.
    knots: int = 17

    # Tuning: the multiplier of the budget, relative to e^eps - 1. Tuned on Adult 16 x 7.
    #: How many there are, each half of the one before; one less with long lists of vertices.
    multipliers: int = 3


SETTINGS = ProjectionsSettings()
