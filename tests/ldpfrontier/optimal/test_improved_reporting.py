"""Two reports that are improved in turn, and the conditional information that each maximizes."""

import math

import numpy as np
import pytest

from ldpfrontier.information import mutual_information
from ldpfrontier.optimal.improved_reporting import ConditionalInformation, improved_reporting
from ldpfrontier.optimal.ldp.solve import optimal_ldp
from ldpfrontier.optimal.ldp.staircase import Staircase
from ldpfrontier.privacy import ldp_epsilon
from ldpfrontier.two_reports import budget_split
from ldpfrontier.uncertainty.renyi_ball import RenyiBall


def test_conditional_information():
    joint = np.random.default_rng(0).dirichlet(np.ones(12)).reshape(3, 4)
    joint[1] = 0.0
    joint /= joint.sum()
    utility = ConditionalInformation(joint)
    assert utility.prior == pytest.approx(joint.sum(axis=0))
    optimum = optimal_ldp(utility, 1.0)
    channel = optimum.channel
    weights = joint.sum(axis=1)
    expected = sum(
        w * mutual_information(row / w, channel) for w, row in zip(weights, joint, strict=True) if w
    )
    assert utility(channel) == pytest.approx(expected)
    # A column is worth the same by its pattern, by its vector, and in the channel.
    columns, weight = utility.columns(channel.matrix.T), utility.prior @ channel.matrix
    assert weight @ columns.values == pytest.approx(expected, rel=1e-12)
    z, values = utility.patterns(1.0)
    vectors = np.where(np.arange(16)[:, None] >> np.arange(4) & 1, 1.0, math.exp(-1.0))
    np.testing.assert_allclose(vectors @ utility.prior, z)
    np.testing.assert_allclose(utility.columns(vectors).values, values, atol=1e-14)
    assert optimum.gap < 1e-9
    assert Staircase(utility, 1.0).bound(np.zeros(4)) >= optimum.value


@pytest.mark.parametrize("shape", [(2, 5), (5, 3)])
def test_improved_reporting(shape):
    counts = np.random.default_rng(7).multinomial(
        32561, np.random.default_rng(8).dirichlet(np.full(math.prod(shape), 0.5))
    )
    ball = RenyiBall.confidence(counts.reshape(shape))
    for epsilon in (0.1, 1.0, 4.0):
        split, plain = improved_reporting(ball, epsilon), budget_split(ball, epsilon)
        assert split.information >= plain.information - 1e-12
        assert split.information == pytest.approx(mutual_information(ball.centre, split.channel))
        assert split.epsilon_1 + split.epsilon_2 == pytest.approx(epsilon)
        assert ball.worst_case_epsilon(split.channel) <= epsilon + 1e-9
        assert ldp_epsilon(split.channel) <= split.epsilon_1 + split.delta_2 + 1e-9
    assert improved_reporting(ball, 0.1).information > 1.1 * budget_split(ball, 0.1).information
    assert improved_reporting(ball, 0.0).information == 0
    once = improved_reporting(ball, 1.0, sweeps=0)
    assert budget_split(ball, 1.0).information < once.information <= improved_reporting(ball, 1.0).information
