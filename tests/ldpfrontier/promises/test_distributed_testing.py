"""Mechanisms of several people: values of another program, vertices by another way, and searches."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpfrontier import (
    Channel,
    FDivergence,
    ldp_epsilon,
    optimal_distributed_test,
    optimal_ldp,
    randomized_response,
)
from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.promises.distributed_testing import balanced_collections, vertices


def alike(k: int) -> tuple[FloatArray, FloatArray]:
    """Return the joint distribution of two people who are alike with probability .6, and independence."""
    independent = np.full((k, k), 1.0 / k**2)
    return 0.4 * independent + 0.6 * np.eye(k) / k, independent


@pytest.mark.parametrize(
    ("k", "kind", "epsilon", "value"),
    [
        (3, "kl", 1.0, 0.00679763),
        (3, "kl", 3.0, 0.18570755),
        (3, "tv", 2.0, 0.18522070),
        (4, "kl", 1.0, 0.00823143),
        (4, "kl", 2.0, 0.06895462),
    ],
)
def test_independence_has_the_values_of_another_program(
    k: int, kind: str, epsilon: float, value: float
) -> None:
    p0, p1 = alike(k)
    found = optimal_distributed_test(p0, p1, epsilon, kind)
    assert found.value == pytest.approx(value, abs=6e-9)
    assert found.status == "optimal"


@pytest.mark.parametrize(("k", "count"), [(2, 1), (3, 5), (4, 41), (5, 1291)])
def test_balanced_collections_are_minimal_and_as_many_as_peleg_counts(k: int, count: int) -> None:
    found = balanced_collections(k)
    assert len(found) == count
    for sets, weights in found:
        assert weights.min() > 0.0
        assert sets @ weights == pytest.approx(np.ones(k))
        assert np.linalg.matrix_rank(sets) == sets.shape[1]


def drawn_vertex(rng: np.random.Generator, k: int, epsilon: float) -> Channel:
    """Draw a mechanism of staircase columns, mostly no vertex: a mixture of some."""
    few = [vertices(k, epsilon)[i] for i in rng.integers(len(vertices(k, epsilon)), size=2)]
    share = rng.random()
    return Channel(np.hstack([share * few[0].matrix, (1.0 - share) * few[1].matrix]))


@settings(max_examples=10, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from([(2, 2), (3, 4), (2, 3, 2), (1, 3), (3,)]),
    st.sampled_from(["kl", "tv", "chi2", "hellinger"]),
    st.floats(0.05, 4.0),
)
def test_what_holds_of_every_optimum(seed: int, shape: tuple[int, ...], kind: str, epsilon: float) -> None:
    """Each person is private, the product has the value, and no vertices and no mixtures have more."""
    rng = np.random.default_rng(seed)
    p0, p1 = rng.dirichlet(np.ones(math.prod(shape)), size=2)
    utility = FDivergence(p0, p1, kind=kind)
    found = optimal_distributed_test(p0.reshape(shape), p1.reshape(shape), epsilon, kind)
    assert len(found.channels) == len(shape)
    assert all(ldp_epsilon(channel) <= epsilon * (1.0 + 1e-12) + 1e-14 for channel in found.channels)
    assert utility(found.channel) == pytest.approx(found.value, rel=1e-9, abs=1e-14)
    every = [vertices(k, epsilon) for k in shape]
    tried = list(product(*every))[:60]
    tried += [tuple(drawn_vertex(rng, k, epsilon) for k in shape) for _ in range(5)]
    for channels in tried:
        matrix = np.ones((1, 1))
        for channel in channels:
            matrix = np.kron(matrix, channel.matrix)
        assert utility(Channel(matrix)) <= found.bound * (1.0 + 1e-9) + 1e-14


def test_special_cases() -> None:
    """One person alone; two letters; people who know nothing of each other; nothing told."""
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(4), size=2)
    assert optimal_distributed_test(p, q, 1.0).value == pytest.approx(
        optimal_ldp(FDivergence(p, q), 1.0).value
    )
    two = rng.dirichlet(np.ones(4), size=2).reshape(2, 2, 2)
    found = optimal_distributed_test(*two, 0.7)
    response = randomized_response(2, 0.7).matrix
    pair = FDivergence(two[0].ravel(), two[1].ravel())
    assert found.value == pytest.approx(pair(Channel(np.kron(response, response))), rel=1e-12)
    a, b = rng.dirichlet(np.ones(3), size=2)
    apart = optimal_distributed_test(np.outer(a, p), np.outer(b, q), 1.0).value
    alone = [optimal_ldp(FDivergence(*each), 1.0).value for each in ((a, b), (p, q))]
    assert apart == pytest.approx(sum(alone), rel=1e-9)
    assert optimal_distributed_test(*two, 0.0).bound <= 1e-15


def test_what_is_known_when_the_time_is_up() -> None:
    p0, p1 = alike(4)
    early, best = (
        optimal_distributed_test(p0, p1, 1.0, max_seconds=0.0),
        optimal_distributed_test(p0, p1, 1.0),
    )
    assert early.status == "bounded"
    assert early.value <= best.value <= early.bound


def test_refusals() -> None:
    p0, p1 = alike(3)
    with pytest.raises(ValueError, match=r"\(3, 3\) and p1 \(9,\)"):
        optimal_distributed_test(p0, p1.ravel(), 1.0)
    with pytest.raises(ValueError, match="'js'"):
        optimal_distributed_test(p0, p1, 1.0, "js")
    with pytest.raises(ValueError, match="sums to"):
        optimal_distributed_test(p0, 2 * p1, 1.0)
    with pytest.raises(Intractable, match=r"\(6, 6\) values.*at most 5"):
        optimal_distributed_test(np.full((6, 6), 1 / 36), np.full((6, 6), 1 / 36), 1.0)
    with pytest.raises(Intractable, match="52,931 choices"):
        optimal_distributed_test(np.full((4, 5, 5), 0.01), np.full((4, 5, 5), 0.01), 1.0)
