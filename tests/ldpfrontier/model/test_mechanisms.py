import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import mutual_information
from ldpfrontier.model.kairouz_mechanisms import geometric_mechanism, quaternary_mechanism
from ldpfrontier.model.mechanisms import (
    binary_mechanism,
    randomized_response,
    secret_randomized_response,
    subset_selection,
)
from ldpfrontier.model.privacy import ldp_epsilon, least_delta
from ldpfrontier.model.utility import FDivergence, MutualInformation
from ldpfrontier.numerics.subset_sums import balanced_set
from ldpfrontier.uncertainty.renyi_ball import RenyiBall

TRUE = np.array([[0.1, 0.1], [0.2, 0.6]])
COUNTS = np.array([[7, 10], [26, 57]])
LOG2 = math.log(2)

seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize(("k", "epsilon"), [(1, 1.0), (2, 0.5), (5, 0.2), (8, 1.0), (8, 3.0), (6, 0.0)])
def test_subset_selection(k, epsilon):
    """The sets are those of Ye and Barg, and no other size has a smaller error."""
    channel = subset_selection(k, epsilon)
    if k > 1:
        assert ldp_epsilon(channel) == pytest.approx(epsilon, abs=1e-12)
    sizes = {d for d in range(1, k + 1) if math.comb(k, d) == channel.n_outputs}
    d = min(sizes)
    if d == 1:
        np.testing.assert_allclose(channel.matrix, randomized_response(k, epsilon).matrix, rtol=1e-12)
    if epsilon > 0 and k > 2:
        near = k / (math.exp(epsilon) + 1.0)
        assert any(max(1, side) in (d, k - d) for side in (math.floor(near), math.ceil(near)))
        errors = []
        for size in range(1, k):
            sets = np.array([[x in s for s in itertools.combinations(range(k), size)] for x in range(k)])
            Q = np.where(sets, 1.0, math.exp(-epsilon))
            Q /= Q.sum(axis=1, keepdims=True)
            errors.append(total_error(Q))
        assert total_error(channel.matrix) == pytest.approx(min(errors), rel=1e-9)


def total_error(Q):
    """Return the sum of the variances of the best unbiased estimates from a report of a uniform letter."""
    k = len(Q)
    m = Q.mean(axis=0)
    return float(np.trace(np.linalg.inv((Q / m) @ Q.T)) - 1.0 / k)


@given(st.integers(1, 30), st.floats(1e-3, 60))
def test_randomized_response(k, epsilon):
    channel = randomized_response(k, epsilon)
    np.testing.assert_allclose(channel.matrix.sum(axis=1), 1.0, rtol=1e-14)
    assert ldp_epsilon(channel) == pytest.approx(epsilon if k > 1 else 0.0, abs=1e-12)


@given(st.integers(1, 5), st.integers(1, 5), st.floats(1e-3, 20))
def test_secret_randomized_response(a1, a2, epsilon):
    channel = secret_randomized_response(a1, a2, epsilon)
    a, e = a1 * a2, math.exp(epsilon)
    scale = e + (a2 - 1) / e + a - a2
    Q = channel.matrix.reshape(a1, a2, a1, a2)
    for s in range(a1):
        for u in range(a2):
            expected = np.ones((a1, a2))
            expected[s] = 1 / e
            expected[s, u] = e
            assert Q[s, u] == pytest.approx(expected / scale, rel=1e-12)
    # Every distribution of (S, U): the ball of infinite radius.
    level = RenyiBall(np.full((a1, a2), 1 / a), math.inf).projected_epsilon(channel)
    assert level == pytest.approx(epsilon if a1 > 1 else 0.0, abs=1e-11)


def test_worked_example_of_the_paper():
    """lopuhaa2024, Example 4, to the printed digits."""
    P_hat = COUNTS / 100
    grr, srr = randomized_response(4, LOG2), secret_randomized_response(2, 2, LOG2)
    assert grr.matrix[0] == pytest.approx([0.4, 0.2, 0.2, 0.2])
    assert srr.matrix[0] == pytest.approx([4 / 9, 1 / 9, 2 / 9, 2 / 9])
    values = [mutual_information(p, channel) for channel in (grr, srr) for p in (P_hat, TRUE)]
    assert np.round(values, 4).tolist() == [0.0419, 0.0412, 0.1005, 0.0942]
    assert np.round(values, 5).tolist() == [0.04193, 0.04116, 0.10046, 0.09420]


# --- kairouz2016 ------------------------------------------------------------------------------------------


@given(seeds, st.integers(1, 10), st.floats(1e-3, 30), st.booleans())
@settings(deadline=None)
def test_binary_mechanism(seed, k, epsilon, information):
    p0, p1 = np.random.default_rng(seed).dirichlet(np.ones(k), 2)
    utility = MutualInformation(p0) if information else FDivergence(p0, p1)
    channel = binary_mechanism(utility, epsilon)
    assert ldp_epsilon(channel) <= epsilon + 1e-12
    inside = balanced_set(p0) if information else p0 >= p1
    truth = 1 / (1 + math.exp(-epsilon))
    assert channel.matrix[:, 0] == pytest.approx(np.where(inside, truth, 1 - truth))
    assert binary_mechanism(utility, 0.0).matrix == pytest.approx(np.full((k, 2), 0.5))


@given(st.integers(1, 12), st.floats(1e-3, 30))
def test_geometric_mechanism_folds_the_tails(k, epsilon):
    channel = geometric_mechanism(k, epsilon)
    assert ldp_epsilon(channel) == pytest.approx(epsilon if k > 1 else 0.0, abs=1e-12)
    if k > 1 and epsilon > 0.2:
        q = math.exp(-epsilon / (k - 1))
        y = np.arange(-4000, 4000)
        for x in range(k):
            noise = (1 - q) / (1 + q) * q ** np.abs(y - x)
            folded = np.bincount(np.clip(y, 0, k - 1), weights=noise, minlength=k)
            assert channel.matrix[x] == pytest.approx(folded, abs=1e-12)


@given(st.floats(1e-3, 20), st.floats(0, 1))
def test_quaternary_mechanism(epsilon, delta):
    channel = quaternary_mechanism(epsilon, delta)
    assert least_delta(channel, epsilon) == pytest.approx(delta, abs=1e-12)
    lie = 1 / (1 + math.exp(epsilon))
    assert channel.matrix[0] == pytest.approx(
        [delta, 0.0, (1 - delta) * lie, (1 - delta) * (1 - lie)], abs=1e-15
    )
    assert channel.matrix[1] == pytest.approx(channel.matrix[0][[1, 0, 3, 2]])


@given(seeds, st.floats(1e-3, 3))
@settings(max_examples=50, deadline=None)
def test_quaternary_dominates_by_an_explicit_post_processing(seed, epsilon):
    """kairouz2016, Theorem 18: every (eps, delta) mechanism is the quaternary one, processed further."""
    rng = np.random.default_rng(seed)
    channel = Channel(rng.dirichlet(np.full(4, 0.6), 2))
    best = quaternary_mechanism(epsilon, min(least_delta(channel, epsilon) + 1e-10, 1.0))
    outputs = channel.n_outputs
    equal = np.vstack([np.kron(best.matrix, np.eye(outputs)), np.kron(np.eye(4), np.ones(outputs))])
    solution = linprog(np.zeros(4 * outputs), A_eq=equal, b_eq=np.append(channel.matrix.ravel(), np.ones(4)))
    assert solution.status == 0
