"""What every optimum comes with: a mechanism, a bound that no other can pass, and the words for it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ldpfrontier.channel import Channel

#: Relative allowance for rounding in the evaluation of a dual bound.
ROUNDING = 1e-12


class Intractable(ValueError):
    """The instance is too large for the exact method that was asked for."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """A mechanism with the certificate of how far it can be from the best one.

    Attributes
    ----------
    channel : Channel
    value : float
        Utility achieved by `channel`, recomputed from the channel, in nats.
    upper_bound : float
        No mechanism of the same class has more, in nats.
    status : str
        "optimal" if the gap met the tolerance asked for, else "bounded".
    iterations : int
        Rounds of column generation.
    """

    channel: Channel
    value: float
    upper_bound: float
    status: str
    iterations: int

    @property
    def gap(self) -> float:
        """Relative gap (upper_bound - value) / upper_bound; 0 where they agree to rounding."""
        distance = self.upper_bound - self.value
        return distance / self.upper_bound if distance > 2 * ROUNDING * (1 + self.upper_bound) else 0.0


def certified(channel: Channel, value: float, bound: float, tolerance: float, iterations: int = 0) -> Optimum:
    """Put a channel, its value and a dual bound together, allowing for the bound's rounding.

    Raises
    ------
    ArithmeticError
        If the value exceeds the bound by more than rounding: then one of the two is wrong.
    """
    upper = bound + ROUNDING * (1.0 + abs(bound))
    if value > upper + 1e3 * ROUNDING:
        raise ArithmeticError(
            f"The value {value!r} exceeds its upper bound {upper!r}; the certificate fails."
        )
    upper = max(upper, value)
    optimum = Optimum(channel, value, upper, "optimal", iterations)
    return optimum if optimum.gap <= tolerance else replace(optimum, status="bounded")


def checked_epsilon(epsilon: float) -> float:
    """Return a privacy level as a float.

    Raises
    ------
    ValueError
        If it is not a finite number, 0 or more.
    """
    if not (math.isfinite(epsilon) and epsilon >= 0):
        raise ValueError(f"epsilon is {epsilon}; a privacy level is a finite number, 0 or more.")
    return float(epsilon)
