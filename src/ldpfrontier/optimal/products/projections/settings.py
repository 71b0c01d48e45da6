"""Limits and tuning of the mechanisms over the projections and over the uncertainty set itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ProjectionsSettings:
    """Constants of the modules of this folder; gaps, slacks and shares are relative to the value."""

    # Stated limits.
    #: No finer gap is worked for: certificates on 16 x 7 end at 3e-4 and more.
    finest_gap: float = 1e-4

    # Accuracy and safety.
    #: Most passes of a certificate; six that close take the slack from the first to the final one.
    max_passes: int = 16

    # Tuning: joint columns. Tuned on Adult 16 x 7.
    #: Rounds of joint columns with more than a few sensitive values, and after every pass of a certificate.
    joint_rounds: int = 20

    # Tuning: passes of a certificate. Tuned on Adult 16 x 7.
    #: Bound that the last passes aim at, above the vertices found, and least share of the value that the fit
    #: of distinct pairs may lose in any pass: a finer fit takes many more nodes.
    final_slack: float = 2e-4
    #: A pass closes if its bound is up to this multiple of its aim, and goes on until it does, unless points
    #: are found above that.
    closed_ratio: float = 1.25
    #: Nodes of all passes, as a multiple of those of one, for all pairs.
    total_ratio_all_pairs: float = 6.0
    #: The same for distinct pairs.
    total_ratio_distinct: float = 13.0
    #: Deltas of distinct pairs that a certificate starts with.
    knots: int = 17

    # Tuning: the multiplier of the budget, relative to e^eps - 1. Tuned on Adult 16 x 7.
    #: The largest one up to 2 nats: the best to leading order (docs/beyond.md, statement 8).
    max_multiplier: float = 0.5
    #: How many there are, each half of the one before; one less with long lists of vertices.
    multipliers: int = 3


SETTINGS = ProjectionsSettings()
