from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import mutual_information
from ldpfrontier.model.privacy import ldp_epsilon
from ldpfrontier.numerics.settings import SETTINGS

seeds = st.integers(0, 2**32 - 1)


def random_channel(rng, k=4, m=5, concentration=0.7):
    return Channel(rng.dirichlet(np.full(m, concentration), size=k))


def test_matrix_is_copied_and_read_only():
    Q = np.eye(2)
    channel = Channel(Q)
    Q[0] = 0.5
    assert channel.matrix[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        channel.matrix[0, 0] = 0.3


@given(seeds)
def test_kron_is_the_product_of_probabilities(seed):
    rng = np.random.default_rng(seed)
    A, C = random_channel(rng, 2, 3), random_channel(rng, 3, 2)
    K = A.kron(C).matrix
    for (x1, x2), (y1, y2) in [((0, 0), (0, 0)), ((1, 2), (2, 1)), ((0, 1), (1, 0))]:
        assert K[x1 * 3 + x2, y1 * 2 + y2] == pytest.approx(A.matrix[x1, y1] * C.matrix[x2, y2])
    # Independent use on independent inputs: information and privacy add up.
    p, q = rng.dirichlet(np.ones(2)), rng.dirichlet(np.ones(3))
    total = mutual_information(p, A) + mutual_information(q, C)
    assert mutual_information(np.outer(p, q), A.kron(C)) == pytest.approx(total, abs=1e-13)
    assert ldp_epsilon(A.kron(C)) == pytest.approx(ldp_epsilon(A) + ldp_epsilon(C))


@given(seeds)
@settings(max_examples=50)
def test_merged_keeps_information_and_privacy(seed):
    rng = np.random.default_rng(seed)
    channel = random_channel(rng, 4, 3)
    split = rng.dirichlet(np.ones(2), size=3)
    columns = [channel.matrix[:, y] * w for y in range(3) for w in split[y]] + [np.zeros(4)]
    copied = Channel(np.column_stack(columns)[:, rng.permutation(7)])
    merged = copied.merged()
    assert merged.n_outputs == 3
    prior = rng.dirichlet(np.ones(4))
    assert mutual_information(prior, merged) == pytest.approx(mutual_information(prior, copied), abs=1e-14)
    assert ldp_epsilon(merged) == pytest.approx(ldp_epsilon(copied))
    assert merged.merged().n_outputs == 3


def test_rounding_below_zero_is_clipped():
    assert Channel([[1.0 + 1e-13, -1e-13]]).matrix.min() == 0.0


def test_entries_and_sums_of_rows_are_off_by_rounding_alone():
    for factor in (0.99, 1.01):
        less, more = factor * SETTINGS.negative_tolerance, factor * SETTINGS.sum_tolerance
        for row, sentence in (
            ([1.0 + less, -less], "has the negative entry"),
            ([0.5, 0.5 + more], "sums to 1"),
        ):
            with nullcontext() if factor < 1.0 else pytest.raises(ValueError, match=sentence):
                Channel([row, [0.5, 0.5]])


@given(seeds)
def test_joint_and_marginal(seed):
    rng = np.random.default_rng(seed)
    channel, prior = random_channel(rng, 6), rng.dirichlet(np.ones(6)).reshape(2, 3)
    joint = channel.joint(prior)
    np.testing.assert_allclose(joint.sum(axis=1), prior.ravel(), atol=1e-15)
    np.testing.assert_allclose(joint.sum(axis=0), prior.ravel() @ channel.matrix, atol=1e-15)


def test_sample_follows_the_matrix():
    rng = np.random.default_rng(0)
    channel = Channel([[0.2, 0.0, 0.8], [0.0, 1.0, 0.0]])
    x = rng.integers(2, size=(200, 500))
    y = channel.sample(x, rng)
    assert y.shape == x.shape
    assert (y[x == 1] == 1).all()
    assert set(np.unique(y[x == 0])) == {0, 2}
    assert (y[x == 0] == 0).mean() == pytest.approx(0.2, abs=0.01)
    assert channel.sample([], rng).size == 0
    for bad in ([2], [-1], [0.5]):
        with pytest.raises(ValueError, match="integers from 0 to 1"):
            channel.sample(bad, rng)
