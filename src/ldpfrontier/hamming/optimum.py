"""The result types for the least leakage at a distortion, and for the least distortion at a level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ldpfrontier.base.types import FloatArray
from ldpfrontier.model.optimum import Optimum, Unit

#: Distortion that a channel may have beyond the one asked for: rounding.
DISTORTION_ROUNDING = 1e-13
#: The class of channels that the bound holds for.
MECHANISMS = "channels that meet the distortion"


@dataclass(frozen=True, eq=False, kw_only=True)
class LeakageOptimum(Optimum):
    """The least leakage at a distortion, between what a channel leaks and a converse; in nats.

    `value` is what `channel` leaks, and `bound` a lower bound: no channel that meets the distortion leaks
    less. The tolerance that `status` speaks of is absolute, value - bound in nats, because the least leakage
    may be 0. The channel meets the distortion for every distribution of the hull, within 1e-13. `iterations`
    counts LPs (DP) or Newton steps (MI).

    Attributes
    ----------
    prior : ndarray, shape (M,)
        The distribution of the hull that certifies `bound`: to know it exactly would not help.
    distortion : float
        Largest expected distortion of `channel` over the set.
    """

    prior: FloatArray
    distortion: float
    direction: Literal["max", "min"] = "min"


@dataclass(frozen=True, eq=False, kw_only=True)
class DistortionOptimum(Optimum):
    """The least distortion at a level, between that of a channel and a converse.

    `value` is the largest expected distortion of `channel` over the set, and `bound` a lower bound: that of
    no channel of the level is less. The unit is that of the distortion.

    Attributes
    ----------
    prior : ndarray, shape (M,)
        The distribution of the hull that certifies `bound`: to know it exactly would not help.
    """

    prior: FloatArray
    unit: Unit = "1"
    direction: Literal["max", "min"] = "min"
