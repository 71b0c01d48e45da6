"""Limits of the column program of any cone and any utility."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GeneralSettings:
    """Constants of the modules of this folder."""

    # Stated limits. Those of sizes are in `optimal.registry`.
    #: Rounds of column generation, a limit against a search without an end: what is found then has its bound.
    max_rounds: int = 1_000
    #: Relative gap to which a utility is maximized by default.
    tolerance: float = 1e-4

    # Accuracy and safety.
    #: Violation of an inequality, with the largest coefficient 1, by columns with the sum 1 that meet all
    #: others, up to which it is left out as implied.
    implied: float = 1e-11
    #: Inequalities of an extreme ray, as a share of their size, whose sign is found in whole numbers.
    doubtful_sign: float = 1e-11


SETTINGS = GeneralSettings()
