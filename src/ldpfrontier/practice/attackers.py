"""Privacy levels of a channel for attackers with different knowledge, and their best guesses.

An *outsider* knows nothing else about a person; what matters for outsiders is the level of the sensitive S
over the uncertainty set F (lopuhaa2024, Definition 1). An *insider* knows the useful U of the person; what
matters is the level of S given U (docs/beyond.md, statement 10). *Anyone* may believe anything about the
person; what matters is the level of S under every distribution of (S, U) (lopuhaa2024, section 6). A level L
means that a report changes the odds of two values of S by at most a factor e^L.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from ldpfrontier.channel import Channel
from ldpfrontier.practice.records import Label, said
from ldpfrontier.practice.sampling import sampled_channel, sampled_level
from ldpfrontier.practice.settings import SETTINGS
from ldpfrontier.privacy import conditional_epsilon, ldp_epsilon, unconditional_epsilon
from ldpfrontier.types import FloatArray, IntArray
from ldpfrontier.uncertainty.renyi_ball import RenyiBall

Attacker = Literal["outsider", "insider", "anyone"]

#: The attackers from whom a design can protect, the weakest first.
ATTACKERS: tuple[Attacker, ...] = get_args(Attacker)


@dataclass(frozen=True)
class Levels:
    """Privacy levels of a channel, in nats; inf if some report rules a value out.

    Attributes
    ----------
    outsider : float
        Of S over F.
    insider : float
        Of S given U.
    anyone : float
        Of S under every distribution of (S, U).
    record : float
        Of all of a record, (S, U): its level of local differential privacy.
    """

    outsider: float
    insider: float
    anyone: float
    record: float

    def against(self, attacker: Attacker) -> float:
        """Return the level that holds for an attacker and for all weaker attackers."""
        if attacker == "outsider":
            return self.outsider
        return self.anyone if attacker == "anyone" else max(self.outsider, self.insider)


def measured_levels(channel: Channel, shape: tuple[int, int], ball: RenyiBall | None) -> Levels:
    """Return the levels of a channel in floating-point numbers; with no ball all of a record is sensitive."""
    record = ldp_epsilon(channel)
    if ball is None:
        return Levels(record, record, record, record)
    return Levels(
        ball.worst_case_epsilon(channel),
        conditional_epsilon(channel, shape),
        unconditional_epsilon(channel, shape),
        record,
    )


def whole_levels(weights: IntArray, shape: tuple[int, int], ball: RenyiBall | None) -> Levels:
    """Return the levels of a channel of whole numbers, rounded upwards.

    Parameters
    ----------
    weights : ndarray of int, shape (a1 a2, outputs)
    shape : (int, int)
        Numbers a1 and a2 of sensitive and useful values.
    ball : RenyiBall or None
        The uncertainty set F; without it all of a record is sensitive.
    """
    record = sampled_level(weights)
    if ball is None:
        return Levels(record, record, record, record)
    blocks = weights.reshape(*shape, -1)
    insider = max(sampled_level(blocks[:, u]) for u in range(shape[1]))
    most, least = blocks.max(axis=1), blocks.min(axis=1)
    # Of each value the largest entries, beside the least ones of other values.
    pairs = [
        np.stack([most[s], np.delete(least, s, axis=0).min(axis=0)]) for s in range(shape[0]) if shape[0] > 1
    ]
    anyone = max(map(sampled_level, pairs), default=0.0)
    # What holds for every distribution holds for those of F.
    outsider = 0.0
    if anyone > 0.0:
        worst = ball.worst_case_epsilon(sampled_channel(weights))
        outsider = min(anyone, worst + SETTINGS.level_error * min(1.0, worst) + SETTINGS.level_rounding)
    return Levels(outsider, insider, anyone, record)


@dataclass(frozen=True)
class Guess:
    """How often the best guess of S is right, without a report and with one."""

    before: float
    after: float


def best_guesses(channel: Channel, joint: FloatArray) -> tuple[Guess, Guess]:
    """Return how often outsiders and insiders guess S right at a distribution.

    Without a report an outsider is right with probability max_s P(s), an insider with sum_u max_s P(s, u);
    with one it is sum_y max_s P(s, y) and sum_{u, y} max_s P(s, u) Q(y | s, u): their Bayes vulnerability.

    Parameters
    ----------
    channel : Channel
    joint : ndarray, shape (a1, a2)
    """
    together = joint[:, :, None] * channel.matrix.reshape(*joint.shape, -1)
    outsider = Guess(float(joint.sum(axis=1).max()), float(together.sum(axis=1).max(axis=0).sum()))
    insider = Guess(float(joint.max(axis=0).sum()), float(together.max(axis=0).sum()))
    return outsider, insider


def scope_of(against: Attacker, useful: Label, beta: float | None, order: float | None) -> str:
    """Return whom a level holds for, in words."""
    if not useful or beta is None or order is None or against == "anyone":
        return "whatever anyone knows or believes about the person"
    outsider = (
        "for someone who knows nothing else about the person, under every distribution in F (confidence"
        f" {1.0 - beta:g}, order {order:g})"
    )
    insider = f", and for someone who knows the person's {said(useful)}"
    return outsider if against == "outsider" else outsider + insider


def promise_of(level: float, sensitive: Label, scope: str) -> str:
    """Return a promise as a sentence.

    Parameters
    ----------
    level : float
        Nats, at most this.
    sensitive : tuple of str
        Columns that are protected.
    scope : str
        As `scope_of` returns it.
    """
    factor = math.exp(min(level, 700.0))
    return (
        f"A report changes the odds between any two values of {said(sensitive)} by at most a factor"
        f" of {factor:.4g} (level {level:.6f}), {scope}."
    )
