"""Limits, accuracy and tuning of the documents that prove optima."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CertificateSettings:
    """Numbers that certificates are made with."""

    # Stated limits.
    #: Leaves of a tree, of which there may be as many per input as fit into the work.
    max_leaves: int = 20_000
    #: Inputs times leaves of a tree: some seconds of checking.
    max_work: int = 4_000_000
    #: Leaves of a tree of boxes: 10 s of checking.
    max_boxes: int = 40_000
    #: Cuts that the search of such a tree may meet, of which a part is in the document.
    max_box_cuts: int = 200_000
    #: Inputs up to which prices are found by linear programs.
    max_program_inputs: int = 256

    # Accuracy and safety.
    #: By how much of the optimum a bound is raised, so that its tree is small: the least that is enough.
    slacks: tuple[float, ...] = (5e-10, 1e-8, 1e-6, 1e-4, 1e-2)
    #: Share of w in a cut of odds ratios, at least: at an odds ratio of 0 it cannot be 0.
    least_share: float = 1e-9
    #: Digits of the weights of a member of F, and of the share of a cut of odds ratios.
    cut_digits: int = 10
    #: Margin of a proof of a level over F in floating point, in units of the largest entry of a report.
    level_margin: float = 1e-14
    #: Step of that logarithm that is the last: the error after it is about its square.
    scalar_step: float = 1e-7
    #: Range of that logarithm: the scalar itself is 0 where it would be below.
    scalar_range: tuple[float, float] = (-30.0, 16.0)
    #: Significant digits of a scalar: its error counts squared.
    scalar_digits: int = 8
    #: Significant digits of a leaf, of which the fewest that prove it are written.
    leaf_digits: tuple[int, ...] = (2, 3, 4, 6, 9, 12, 17)
    #: Linear programs for prices, after which those that there are must do.
    program_rounds: int = 60


SETTINGS = CertificateSettings()
