"""Limits, accuracy and tuning of the uncertainty sets."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class UncertaintySettings:
    """Numbers that extremes over Renyi balls, and worst cases, are found with."""

    # Stated limits.
    #: Least and largest order of a ball.
    orders: tuple[float, float] = (1 / 64, 16.0)
    #: Samples in a table of counts: all whole numbers up to it are floats.
    max_samples: int = 2**53
    #: Comparisons of two sensitive values at an output, and numbers drawn at a time: 400 MB.
    max_numbers: int = 50_000_000
    #: Counts that the margins of a 2 x 2 table leave to an exact interval of its odds ratio.
    max_support: int = 1_000_000

    # Accuracy and safety.
    #: Distance of an order from 1 below which what is divided by order - 1 would cancel.
    cancelling_order: float = 0.1
    #: Ends of log t in the search for the extreme distribution of a ball: e^-80 is below all rounding, and
    #: e^700 near the largest float.
    log_t_range: tuple[float, float] = (-80.0, 700.0)
    #: Steps of this search, which takes some 5, and moves of tangents towards the best share of the budget.
    max_steps: int = 200
    #: Accuracy of logarithms of ends of exact intervals, which are then moved outwards by twice that.
    odds_accuracy: float = 1e-10
    #: Relative difference that may be rounding between two entries for the same odds ratio.
    odds_rounding: float = 1e-9
    #: By how much logarithms of least odds ratios over a ball are lowered, for their rounding.
    odds_margin: float = 1e-9
    #: End of the same range at order 1, where 1 - e^-e^x of the least cell is taken: 1 - 1e-15.
    log_share_end: float = 3.5
    #: Most steps of Newton's method for the logarithm of a cell, or of an odds ratio.
    root_steps: int = 60
    #: Steps after which every other one halves the bracket; the usual 5 are over by then.
    bisection_start: int = 20
    #: Order from which on tangents are used: below, slopes are lost where a group may nearly be anything.
    least_tangent_order: float = 1.0

    # Tuning. Nothing here changes a worst case by more than the accuracy asked for.
    #: Non-sensitive values up to which l1 radii come from all subset sums, beyond from a concave relaxation.
    max_subset_values: int = 16
    #: Into how many intervals the shares are divided, while a pair may still leak more than the
    #: worst known; chosen, as any division bounds the level.
    share_intervals: tuple[int, ...] = (2, 4, 8, 16)


SETTINGS = UncertaintySettings()
