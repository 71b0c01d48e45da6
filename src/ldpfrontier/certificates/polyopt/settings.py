"""Accuracy and tuning of the search for proofs of PolyOpt, which `ldpfrontier.verify` checks.

Compiled kernels take these values in: after a change, those that use them are compiled again.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PolyoptCertificateSettings:
    """Numbers that proofs are searched with; slacks and distances are relative."""

    # Stated limits.
    #: Most nodes of the tree that splits columns by the z of a block.
    max_nodes: int = 500
    #: Most nodes of a tree of a block.
    max_block_nodes: int = 200_000

    # Accuracy and safety.
    #: By how much the least probabilities are raised, for their own rounding: the class grows with them.
    bounds_error: float = 1e-12
    #: Decimals of prices, relative to the bound: about what floats have.
    price_digits: int = 14
    #: Significant digits of slopes: any slope gives a valid bound, and near the best one it hardly changes.
    slope_digits: int = 12
    #: Significant digits of multipliers: the fewest of these with which a leaf is proved are written.
    digits: tuple[int, ...] = (2, 4, 6, 9, 13, 17)
    #: Share of the slack of a leaf that rounding may take.
    rounding_share: float = 0.01
    #: Steps of the search for a multiplier.
    multiplier_steps: int = 50
    #: Error of how far a node is from being proved, as a share of that: it decides what a tree splits on.
    excess_error: float = 0.01
    #: Least distance of two z between which a block is split.
    least_split: float = 1e-9


SETTINGS = PolyoptCertificateSettings()
