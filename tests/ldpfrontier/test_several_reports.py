"""Levels of several independent reports of one person, from products of columns (docs/beyond.md, 11)."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from ldpfrontier import OddsRatios, RenyiBall, optimal_association, optimal_robust
from ldpfrontier.channel import Channel
from ldpfrontier.privacy import conditional_epsilon, rldp_epsilon, unconditional_epsilon
from ldpfrontier.types import FloatArray
from ldpfrontier.uncertainty.odds_ratios import association_epsilon

# UCI Adult, sex by race.
SEX_RACE = np.array([[119, 346, 1555, 109, 8642], [192, 693, 1569, 162, 19174]])


def together(*channels: Channel) -> Channel:
    """The channel of one report by each of several channels with the same inputs."""
    columns = [np.prod(chosen, axis=0) for chosen in itertools.product(*(c.matrix.T for c in channels))]
    return Channel(np.transpose(columns))


def conditionals(joint: FloatArray) -> FloatArray:
    return (joint / joint.sum(axis=1, keepdims=True))[None]


def worst_attacker(channel: Channel, joint: FloatArray, rng: np.random.Generator) -> float:
    """The largest level among attackers who know something about U: random weights, and pairs of values."""
    a1, a2 = joint.shape
    weights = [*np.eye(a2), np.ones(a2), *rng.random((60, a2)) ** 6]
    weights += [
        w * np.eye(a2)[list(p)].sum(axis=0) for p in itertools.combinations(range(a2), 2) for w in weights
    ]
    blocks = channel.matrix.reshape(a1, a2, -1)
    worst = 0.0
    for w in weights:
        if w.sum() > 0.0:
            given = w * joint / (w * joint).sum(axis=1, keepdims=True)
            means = np.einsum("su,suy->sy", given, blocks)
            worst = max(worst, float(np.log(means.max(axis=0) / means.min(axis=0)).max()))
    return worst


def test_what_adds_up_for_whom() -> None:
    rng = np.random.default_rng(0)
    for _ in range(150):
        shape = (int(rng.integers(2, 5)), int(rng.integers(2, 5)))
        joint = rng.dirichlet(np.ones(math.prod(shape))).reshape(shape) + 1e-4
        joint /= joint.sum()
        odds = OddsRatios.known(joint)
        channels = [
            Channel(rng.dirichlet(np.full(3, 8.0), math.prod(shape))) for _ in range(rng.integers(2, 4))
        ]
        both = together(*channels)
        summed = sum(unconditional_epsilon(c, shape) for c in channels)
        assert unconditional_epsilon(both, shape) <= summed * (1 + 1e-9)
        given = sum(conditional_epsilon(c, shape) for c in channels)
        assert conditional_epsilon(both, shape) <= given * (1 + 1e-9)
        level = association_epsilon(both, odds)
        assert worst_attacker(both, joint, rng) <= level * (1 + 1e-9)
        assert level <= given + math.log(odds.high.max()) + 1e-9
        of_u = np.log(conditionals(joint)[0])
        outsider = float(np.max(rldp_epsilon(both, conditionals(joint))))
        assert outsider <= given + float((of_u.max(axis=0) - of_u.min(axis=0)).max()) + 1e-9


def test_reports_without_a_level_together() -> None:
    # A fair coin U, independent of S: a report of U and one of U xor S.
    coin = np.full((2, 2), 0.25)
    tells_u = Channel([[1, 0], [0, 1], [1, 0], [0, 1]])
    tells_sum = Channel([[1, 0], [0, 1], [0, 1], [1, 0]])
    for one in (tells_u, tells_sum):
        assert np.max(rldp_epsilon(one, conditionals(coin))) == 0.0
    assert math.isinf(np.max(rldp_epsilon(together(tells_u, tells_sum), conditionals(coin))))

    joint = SEX_RACE / SEX_RACE.sum()
    polyopt = optimal_robust(RenyiBall.confidence(SEX_RACE), 0.3, envelope="simplex").channel
    assert np.max(rldp_epsilon(polyopt, conditionals(joint))) <= 0.3
    assert math.isinf(np.max(rldp_epsilon(together(polyopt, polyopt), conditionals(joint))))


def test_levels_of_acquaintances_nearly_add_up() -> None:
    odds = OddsRatios.known(SEX_RACE / SEX_RACE.sum())
    assert math.log(odds.high.max()) == pytest.approx(0.788, abs=1e-3)
    best = optimal_association(odds, 0.3).channel
    levels = [association_epsilon(together(*[best] * m), odds) for m in (1, 2, 3)]
    assert levels == pytest.approx([0.3, 0.656, 1.023], abs=3e-3)
