import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpfrontier.model.channel import Channel
from ldpfrontier.model.kairouz_mechanisms import quaternary_mechanism
from ldpfrontier.model.privacy import (
    conditional_epsilon,
    error_region,
    ldp_epsilon,
    least_delta,
    rldp_epsilon,
    unconditional_epsilon,
)

seeds = st.integers(0, 2**32 - 1)


def brute_force(Q, P):
    a1, a2 = P.shape
    worst = 0.0
    for y in range(Q.shape[1]):
        for s1 in range(a1):
            for s2 in range(a1):
                if np.isnan(P[[s1, s2]]).any():
                    continue
                top = sum(Q[s1 * a2 + u, y] * P[s1, u] for u in range(a2))
                low = sum(Q[s2 * a2 + u, y] * P[s2, u] for u in range(a2))
                if top > 0:
                    worst = max(worst, math.log(top / low) if low > 0 else math.inf)
    return worst


def test_ldp_epsilon():
    assert ldp_epsilon(Channel([[0.75, 0.25], [0.25, 0.75]])) == pytest.approx(math.log(3))
    assert ldp_epsilon(Channel([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]])) == 0.0
    assert ldp_epsilon(Channel(np.eye(2))) == math.inf
    assert ldp_epsilon(Channel([[0.3, 0.7]])) == 0.0


@given(seeds)
def test_rldp_epsilon_against_loops(seed):
    rng = np.random.default_rng(seed)
    Q = rng.dirichlet(np.full(4, 0.4), size=6)
    P = rng.dirichlet(np.full(2, 0.4), size=(5, 3))
    P[1, 2] = np.nan
    expected = [brute_force(Q, p) for p in P]
    P[2, 0] = 0.0
    expected[2] = brute_force(Q, np.where(np.arange(3)[:, None] == 0, np.nan, P[2]))
    assert rldp_epsilon(Channel(Q), P) == pytest.approx(expected, rel=1e-12)
    single = rldp_epsilon(Channel(Q), P[0])
    assert single.shape == ()
    assert float(single) == pytest.approx(expected[0])


@given(seeds)
def test_realized_privacy_is_below_local_privacy_and_shrinks_by_post_processing(seed):
    rng = np.random.default_rng(seed)
    channel = Channel(rng.dirichlet(np.ones(4), size=6))
    after = Channel(channel.matrix @ rng.dirichlet(np.ones(3), size=4))
    P = rng.dirichlet(np.ones(3), size=(20, 2))
    realized = rldp_epsilon(channel, P)
    assert (realized <= ldp_epsilon(channel) + 1e-12).all()
    assert (rldp_epsilon(after, P) <= realized + 1e-12).all()
    assert ldp_epsilon(after) <= ldp_epsilon(channel) + 1e-12
    u, y = rng.permutation(3), rng.permutation(4)
    shuffled = Channel(channel.matrix.reshape(2, 3, 4)[::-1][:, u][:, :, y].reshape(6, 4))
    assert rldp_epsilon(shuffled, P[:, ::-1][:, :, u]) == pytest.approx(realized, rel=1e-10)


def test_zeros_and_empty_groups():
    channel = Channel([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
    assert float(rldp_epsilon(channel, [[1.0, 0.0], [1.0, 0.0]])) == 0.0
    assert float(rldp_epsilon(channel, [[0.0, 1.0], [1.0, 0.0]])) == math.inf
    assert float(rldp_epsilon(channel, [[np.nan, np.nan], [0.3, 0.7]])) == 0.0
    assert float(rldp_epsilon(channel, np.zeros((2, 2)))) == 0.0
    assert float(rldp_epsilon(Channel(np.eye(3)), np.full((1, 3), 1 / 3))) == 0.0
    assert float(rldp_epsilon(Channel(np.eye(2)), np.ones((2, 1)))) == math.inf


def test_delta_at_by_enumeration_of_events():
    rng = np.random.default_rng(4)
    for _ in range(20):
        channel = Channel(rng.dirichlet(np.full(5, 0.5), 3))
        epsilon = float(rng.uniform(0, 3))
        worst = max(
            channel.matrix[x, list(event)].sum() - math.exp(epsilon) * channel.matrix[z, list(event)].sum()
            for size in range(6)
            for event in itertools.combinations(range(5), size)
            for x in range(3)
            for z in range(3)
        )
        assert least_delta(channel, epsilon) == pytest.approx(worst, abs=1e-14)


@given(seeds, st.integers(1, 7))
def test_error_region_is_the_hull_of_all_tests(seed, outputs):
    rng = np.random.default_rng(seed)
    channel = Channel(rng.dirichlet(np.full(outputs, 0.5), 2))
    region = error_region(channel)
    tests = np.array(
        [
            [channel.matrix[0, list(claim)].sum(), 1 - channel.matrix[1, list(claim)].sum()]
            for size in range(outputs + 1)
            for claim in itertools.combinations(range(outputs), size)
        ]
    )
    # Every vertex is a test, and no test lies below the boundary.
    assert np.abs(region[:, None] - tests).max(axis=2).min(axis=1).max() < 1e-9
    boundary = np.interp(tests[:, 0], region[:, 0], region[:, 1])
    assert (tests[:, 1] >= boundary - 1e-9).all()
    slopes = np.diff(region[:, 1]) / np.maximum(np.diff(region[:, 0]), 1e-300)
    assert (np.diff(slopes) > 0).all()
    assert (region[0], region[-1]) == (pytest.approx([0.0, 1.0]), pytest.approx([1.0, 0.0]))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (1.0, 0.0), (1.0, 0.2), (0.3, 0.05)])
def test_error_region_of_the_quaternary_mechanism(epsilon, delta):
    """kairouz2016, Figure 9b: {P_FA + e^eps P_MD >= 1 - delta, e^eps P_FA + P_MD >= 1 - delta}."""
    region = error_region(quaternary_mechanism(epsilon, delta))
    false_alarm = np.linspace(0, 1, 201)
    top = math.exp(epsilon)
    expected = np.maximum(np.maximum((1 - delta - false_alarm) / top, 1 - delta - top * false_alarm), 0.0)
    assert np.interp(false_alarm, region[:, 0], region[:, 1])[1:] == pytest.approx(expected[1:], abs=1e-12)


@given(seeds, st.integers(1, 4), st.integers(1, 4), st.integers(1, 3))
def test_conditional_and_unconditional_epsilon_against_all_pairs_of_people(seed, a1, a2, outputs):
    rng = np.random.default_rng(seed)
    Q = rng.dirichlet(np.full(outputs, 0.5), size=a1 * a2)
    Q[rng.random(Q.shape) < 0.1] = 0.0
    Q[Q.sum(axis=1) == 0, 0] = 1.0
    Q /= Q.sum(axis=1, keepdims=True)
    given_u = expected = 0.0
    for (s, u), (t, v) in itertools.permutations(itertools.product(range(a1), range(a2)), 2):
        for p, q in zip(Q[s * a2 + u], Q[t * a2 + v], strict=True):
            level = 0.0 if p == 0 or s == t else math.inf if q == 0 else math.log(p / q)
            expected = max(expected, level)
            given_u = max(given_u, level if u == v else 0.0)
    channel = Channel(Q)
    assert conditional_epsilon(channel, (a1, a2)) == pytest.approx(given_u, abs=1e-12)
    assert unconditional_epsilon(channel, (a1, a2)) == pytest.approx(expected, abs=1e-12)
    assert unconditional_epsilon(channel, (a1, a2)) <= ldp_epsilon(channel) + 1e-12


@pytest.mark.parametrize("shape", [(1, 4), (4, 1), (2, 2), (2, 3), (3, 2)])
def test_unconditional_epsilon_against_distributions(shape):
    """It is reached by distributions of people with known U, and no distribution of (S, U) exceeds it."""
    rng = np.random.default_rng(3)
    matrix = rng.dirichlet(np.ones(3), size=shape[0] * shape[1])
    matrix[0, 1] += matrix[0, 0]
    matrix[0, 0] = 0.0
    for Q in (matrix, rng.dirichlet(np.full(3, 5.0), size=shape[0] * shape[1])):
        channel = Channel(Q)
        level = unconditional_epsilon(channel, shape)
        points = [np.eye(shape[1])[list(us)] for us in np.ndindex(*[shape[1]] * shape[0])]
        reached = float(np.max(rldp_epsilon(channel, np.array(points))))
        assert level == pytest.approx(reached, rel=1e-12, abs=1e-15) or level == reached
        mixed = rng.dirichlet(np.full(shape[1], 0.3), size=(200, shape[0]))
        assert (rldp_epsilon(channel, mixed) <= level + 1e-12).all()
    assert unconditional_epsilon(Channel(np.eye(4)), (1, 4)) == 0.0
