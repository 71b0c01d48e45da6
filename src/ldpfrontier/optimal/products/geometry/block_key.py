r"""Which block: in a column with distinct pairs, blocks differ by their sensitive value s and by delta.

One special value s0 may have the least B, and the columns of s0 with a delta in [0, eps] are products of ::

    {A_s <= B e^(eps + delta)} for s = s0,      {A_s <= B e^(eps - delta)} for s != s0,

up to scale. At delta = 0, all pairs, no value is special.
"""

from __future__ import annotations

from typing import NamedTuple


class BlockKey(NamedTuple):
    """A block: the sensitive value, delta, and whether the value is the special one."""

    s: int
    delta: float = 0.0
    special: bool = False

    @property
    def shift(self) -> float:
        """The number that is added to the level epsilon, in nats."""
        return self.delta if self.special else -self.delta

    def level(self, epsilon: float) -> tuple[float, float]:
        """Return the level of the block, and the logarithm of its scale."""
        return epsilon + self.shift, -self.delta if self.special else 0.0


def block_keys(groups: int, s0: int, low: float, high: float) -> list[BlockKey]:
    """Return the blocks whose product contains all columns of s0 with delta between `low` and `high`."""
    return [
        BlockKey(s, high, True) if s == s0 and high > 0 else BlockKey(s, low, False) for s in range(groups)
    ]
