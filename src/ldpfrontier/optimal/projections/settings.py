"""Settings of the mechanisms over the projections and over the uncertainty set itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ProjectionsSettings:
    """Constants of the modules of this folder; gaps, slacks and shares are relative to the value."""

    # Duals and joint columns. Tuned on Adult 16 x 7.

    # Gap of the decomposition before its lists are shortened.
    first_gap: float = 1e-3
    # Rounds of joint columns with more than a few sensitive values; between two passes of a certificate; and
    # after the last one.
    joint_rounds: int = 30
    joint_rounds_of_pass: int = 20
    joint_rounds_at_end: int = 100
    # Tolerance of an inner problem, as a share of that of the outer one.
    inner_share: float = 0.3

    # Passes of a certificate. Tuned on Adult 16 x 7.

    # Bound that a pass aims at, above the vertices found: of the first one, and of the last ones. Distinct
    # pairs have a larger one, as they cover all deltas.
    first_slack: float = 3e-2
    final_slack_all_pairs: float = 2e-4
    final_slack_distinct: float = 4e-4
    # The slack is divided by this after a pass that closes, whose bound is up to a multiple of its aim.
    slack_divisor: float = 3.0
    closed_ratio: float = 1.5
    # A pass goes on until it closes, unless points are found above this multiple of its aim.
    continue_ratio: float = 1.25
    # Equal portions of the nodes of a pass, after each of which it may end.
    portions: int = 8
    # Share of the value that the fit of distinct pairs may lose however little the slack is: ends of classes
    # that vertices pass between two deltas take many nodes.
    fit_loss_distinct: float = 3e-4
    # Nodes of all passes, as a multiple of those of one.
    total_ratio_all_pairs: float = 6.0
    total_ratio_distinct: float = 13.0
    # Deltas of distinct pairs that a certificate starts with.
    knots: int = 17

    # Search for vertices, where no certificate is asked for. Tuned on Adult 16 x 7.

    # Deltas of distinct pairs; nodes for each sensitive value; passes over all pairs (of distinct ones: 1).
    search_knots: int = 7
    search_nodes: int = 200
    search_passes: int = 2

    # The multiplier of the budget, relative to e^eps - 1. Tuned on Adult 16 x 7.

    # The largest one up to `flat_epsilon`, in nats, and the power of epsilon with which it falls beyond.
    max_multiplier: float = 0.5
    flat_epsilon: float = 2.0
    falling_power: float = 0.75
    # How many there are, each half of the one before: and of long lists of vertices.
    multipliers: int = 3
    multipliers_long: int = 2

    # Limits.

    # No finer gap is worked for; most passes of a certificate.
    finest_gap: float = 1e-4
    max_passes: int = 16
    # Steps of the golden section for the multiplier of an output: they leave 3e-13 of its range.
    golden_steps: int = 60
    # Order of the divergence from which on k(D) is convex, so that multipliers are those of the duality.
    min_order: float = 0.5


SETTINGS = ProjectionsSettings()
