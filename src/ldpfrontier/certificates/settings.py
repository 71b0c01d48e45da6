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
    #: Digits of e^epsilon: far more than entries have, so that none has to be changed for them.
    ratio_digits: int = 30
    #: Decimals of the weights of inputs.
    weight_decimals: int = 40
    #: Digits of the least entry of a channel: about what floats have.
    entry_digits: int = 14
    #: Most digits of an entry.
    most_digits: int = 60
    #: Shares of the mean that are mixed into a channel, the least that keeps its privacy.
    mixing_shares: tuple[float, ...] = (1e-12, 1e-10, 1e-8, 1e-6, 1e-3)
    #: Odds ratio below which 0 is written, near the least positive float; a lower one is safe.
    least_odds_ratio: float = 1e-300
    #: By how much of the optimum a bound is raised, so that its tree is small: the least that is enough.
    slacks: tuple[float, ...] = (5e-10, 1e-8, 1e-6, 1e-4, 1e-2)
    #: Share of the raise which rounding in the search of a tree may take.
    rounding_share: float = 0.1
    #: Share of what a bound by boxes has to spare that rounding in their search may take.
    box_margin: float = 0.02
    #: Multiplier of a cut in a box, in nats, below which it is 0.
    least_multiplier: float = 1e-12
    #: Largest multiplier of a cut in a box, in nats.
    largest_multiplier: float = 1e3
    #: Share by which a member of F that a cut has is mixed with the centre, so that rounding leaves it in F.
    member_mix: float = 1e-6
    #: Violation of a cut, in units of its largest coefficient and the mean of a column, that is rounding.
    least_violation: float = 1e-9
    #: Share of w in a cut of odds ratios, at least: at an odds ratio of 0 it cannot be 0.
    least_share: float = 1e-9
    #: Digits of the weights of a member of F, and of the share of a cut of odds ratios.
    cut_digits: int = 10
    #: Margin of a proof of a level over F in floating point, in units of the largest entry of a report.
    level_margin: float = 1e-14
    #: Steps of Newton's method, or halvings, for the logarithm of a scalar.
    scalar_steps: int = 30
    #: Step of that logarithm that is the last: the error after it is about its square.
    scalar_step: float = 1e-7
    #: Range of that logarithm: the scalar itself is 0 where it would be below.
    scalar_range: tuple[float, float] = (-30.0, 16.0)
    #: Significant digits of a scalar: its error counts squared.
    scalar_digits: int = 8
    #: Steps of the search for the price of the budget: halvings of its logarithm, tangents and secants.
    price_steps: int = 40
    #: Range of the price of all of the budget, in units of the largest entry of a report.
    price_range: tuple[float, float] = (1e-9, 1e3)
    #: Significant digits of a leaf, of which the fewest that prove it are written.
    leaf_digits: tuple[int, ...] = (2, 3, 4, 6, 9, 12, 17)
    #: Linear programs for prices, after which those that there are must do.
    program_rounds: int = 60


SETTINGS = CertificateSettings()
