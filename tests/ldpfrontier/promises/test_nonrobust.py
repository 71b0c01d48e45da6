"""NR against the enumeration of all rays of its cone."""

import pytest

from ldpfrontier.model.information import entropy
from ldpfrontier.model.privacy import rldp_epsilon
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.promises.nonrobust import nonrobust_bound, optimal_nonrobust
from oracles.column_lp import full_lp
from oracles.enumeration import robust_rays
from support.tables import random_table


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=pytest.mark.long) if seed == 7 else seed for seed in range(12)]
)
def test_nonrobust_equals_exact_vertex_enumeration(seed: int) -> None:
    ball, epsilon = random_table(seed)
    optimum = optimal_nonrobust(ball.centre, epsilon)
    expected = (
        full_lp(MutualInformation(ball.centre), robust_rays(ball.conditionals, epsilon, "distinct"))
        if ball.centre.shape[0] > 1
        else entropy(ball.centre)
    )
    assert optimum.value == pytest.approx(expected, abs=1e-8)
    assert optimum.gap <= 1e-9
    assert nonrobust_bound(ball.centre, epsilon) == optimum.bound
    assert rldp_epsilon(optimum.channel, ball.conditionals) <= epsilon + 1e-9
