"""The least information over F: both bounds hold at members that are drawn, for several orders."""

from __future__ import annotations

import numpy as np
import pytest

from ldpfrontier.engines.over_set.least_information import LeastInformation, informations
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.uncertainty.renyi_ball import RenyiBall


@pytest.mark.parametrize("order", [0.5, 1.0, 2.0, 4.0])
def test_the_proved_bound_is_below_all_members_and_near_one(order: float) -> None:
    rng = np.random.default_rng(4)
    ball = RenyiBall.confidence([[12, 0], [20, 30]], order=order)
    channel = Channel(rng.dirichlet(np.full(3, 0.5), size=4))
    over_set = LeastInformation(ball)
    found = over_set.least(channel, 1e-6)
    members = ball.sample(rng, 20_000).reshape(20_000, -1)
    at = informations(members, channel)
    assert at[:5] == pytest.approx([MutualInformation(p)(channel) for p in members[:5]], abs=1e-12)
    assert found.bound <= at.min() <= found.value + 2e-3
    assert found.value <= at.min() + 1e-9
    assert found.value - found.bound <= 1e-6
    assert over_set.secant_bound(channel) <= found.value
    assert ball.contains(found.members.reshape(-1, 2, 2)).all()


def test_secants_suffice_where_the_set_is_small() -> None:
    ball = RenyiBall.confidence(np.arange(10_000, 16_000, 500).reshape(3, 4))
    channel = Channel(np.random.default_rng(1).dirichlet(np.ones(5), size=12))
    over_set = LeastInformation(ball)
    value = over_set.least(channel, np.inf).value
    assert value * (1 - 1e-2) <= over_set.secant_bound(channel) <= value
