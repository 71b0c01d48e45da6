"""Limits and tuning of the mechanism with the least error of estimates."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EstimationSettings:
    """Constants of the modules of this folder; shares are relative."""

    # Stated limits.
    #: Relative gap to which the error is minimized by default.
    tolerance: float = 1e-4
    #: Steps of the interior-point method by default; 20 to 40 are usual.
    max_rounds: int = 200
    #: Inputs up to which all 2^n staircase columns of local differential privacy are listed.
    max_staircase_inputs: int = 14

    #: Largest entry of a matrix of what is estimated.
    largest_weight: float = 1e100

    # Accuracy and safety.
    #: Inputs of a probability below this share of the average count as if they had it, in units of columns.
    rare: float = 1e-6
    #: Part of a row of the target outside the span of the columns, above which it cannot be estimated; and
    #: singular values of columns, as a share of the largest one, below which a direction is not in the span.
    rank: float = 1e-9
    #: Distance of row sums from 1 at which the interior-point method may stop.
    row_sums: float = 1e-9
    #: Slack of an inequality, as a share of its size, that counts as none.
    equality: float = 1e-12
    #: The gap of the interior-point method, as a share of the tolerance.
    inner_gap: float = 1e-2
    #: The same at the finest: beyond it, rounding takes over.
    finest_gap: float = 1e-10
    #: Share of the way to the boundary that a step may go.
    boundary: float = 0.95
    #: Error that columns of little weight may cost when they are dropped, as a share of the tolerance.
    dropped: float = 1e-2

    # Tuning.
    #: Share of the present complementarity that a step aims at, after a long step.
    long_step_centering: float = 0.1
    #: The same after a short one, and in the first step.
    short_step_centering: float = 0.6


SETTINGS = EstimationSettings()
