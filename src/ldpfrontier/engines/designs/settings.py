"""Limits and tuning of the mechanism with the least error of estimates."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DesignsSettings:
    """Constants of the modules of this folder; shares are relative."""

    # Stated limits.
    #: Relative gap to which the error is minimized by default, as utilities are.
    tolerance: float = 1e-4
    #: The same if some people deviate.
    deviating_tolerance: float = 1e-3
    #: Steps of the interior-point method by default; 20 to 40 are usual.
    max_rounds: int = 200
    #: Rounds of column generation.
    generation_rounds: int = 60
    #: Inputs up to which all 2^n staircase columns are priced, a fifth of a second; and sensitive values
    #: up to which the error given U bounds that of polyhedral promises.
    max_enumerated_inputs: int = 22
    #: Inputs up to which a semidefinite program bounds their excess: half a minute; beyond, it is a formula.
    max_relaxed_inputs: int = 100
    #: Nodes of branch and bound of one optimum, and extreme rays of a larger cone: a minute on 2 x 6.
    max_nodes: int = 100_000
    #: Columns that are priced given the useful value for a bound, for each of these nodes: a few seconds at
    #: 5,000 nodes, minutes at the limit of inputs.
    priced_columns: int = 256
    #: Largest entry of a matrix of what is estimated: squares of larger ones could overflow.
    largest_weight: float = 1e100

    # Accuracy and safety.
    #: Part of a row of the target outside the span of the columns, above which it cannot be estimated; and
    #: singular values of columns, as a share of the largest one, below which a direction is not in the span.
    rank: float = 1e-9
    #: Distance of row sums from 1 at which the interior-point method may stop: that of a distribution in
    #: `numerics`.
    row_sums: float = 1e-9
    #: Probability of a report above which it has weights if people deviate.
    least_report: float = 1e-12
    #: Slack of an inequality, as a share of its size, that counts as none.
    equality: float = 1e-12
    #: Share of the tolerance that each of these may use: the gap of the interior-point method, the excess
    #: that counts as none where all columns are priced, and the error of columns that are dropped.
    inner_gap: float = 1e-2
    #: The same at the finest: beyond it, rounding takes over.
    finest_gap: float = 1e-10
    #: Share of the way to the boundary that a step of a barrier method may go; textbooks have 0.9 to 0.9995.
    boundary: float = 0.95

    # Tuning. With half and twice the values up to `least_kept`, errors on 10 to 25 cells change by at most 1%
    # where that was asked for, and those of 16 letters not at all; times change by a third.
    #: Gap of the first restricted master, and at least that of a search for a mechanism for anyone below.
    first_gap: float = 0.2
    #: Excess of the columns found, as a share of the tolerance, up to which a bound is looked for.
    inner_share: float = 0.5
    #: Columns of a restricted master for each input, beyond which those of less weight go.
    kept_columns: int = 6
    #: The same of the master at least.
    least_kept: int = 400
    #: Cubes of numbers of columns, over all steps of all masters, after which no more columns are looked for:
    #: about half a minute.
    most_work: float = 4e11
    #: New columns of a round, for each input.
    new_columns: int = 8
    #: By how much it falls from one to the next.
    relaxation_fall: float = 0.2
    #: Gain of a step, in units of the weight of the barrier, at which the last one is made.
    relaxation_centre: float = 0.1
    #: The finest gap over a cone that is not polyhedral, where all gaps cost more rays.
    outer_tolerance: float = 1e-2
    #: The gap of the weights of columns, as a share of that asked for, or of that which the bound over larger
    #: cones has left; the excess of columns has the rest.
    outer_share: float = 0.2


SETTINGS = DesignsSettings()
