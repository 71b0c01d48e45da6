import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import xlogy

from ldpfrontier.model import information
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import (
    entropy,
    f_divergence,
    kl_divergence,
    mutual_information,
    renyi_divergence,
    total_variation,
)
from ldpfrontier.promises.unconditional import optimal_unconditional

seeds = st.integers(0, 2**32 - 1)


def chi_squared(t):
    return (t - 1) ** 2


def hellinger(t):
    return (np.sqrt(t) - 1) ** 2 / 2


def pair(seed, k=5):
    return np.random.default_rng(seed).dirichlet(np.full(k, 0.6), size=2)


def test_entropy():
    assert entropy(np.full((4, 2), 1 / 8)) == pytest.approx(3 * math.log(2))
    assert entropy(np.full(8, 1 / 8), bits=True) == pytest.approx(3)
    assert math.copysign(1, entropy([1.0, 0.0])) == 1.0
    with pytest.raises(ValueError, match=r"p sums to 0\.7"):
        entropy([0.7])


@given(seeds)
def test_mutual_information_is_the_entropy_difference(seed):
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet(np.full(6, 0.3))
    prior[rng.integers(6)] = 0.0
    prior /= prior.sum()
    Q = rng.dirichlet(np.full(4, 0.2), size=6)
    direct = entropy(prior @ Q) - prior @ np.array([entropy(row) for row in Q])
    value = mutual_information(prior.reshape(2, 3), Channel(Q))
    assert value == pytest.approx(direct, abs=1e-14)
    assert mutual_information(prior, Channel(Q), bits=True) == pytest.approx(value / math.log(2))
    assert 0 <= value <= entropy(prior) + 1e-12


def test_mutual_information_of_the_identity_and_of_a_constant():
    p = np.array([0.5, 0.25, 0.25])
    assert mutual_information(p, Channel(np.eye(3))) == pytest.approx(entropy(p))
    assert mutual_information(p, Channel(np.ones((3, 1)))) == 0.0
    assert mutual_information([1.0, 0.0], Channel(np.eye(2))) == 0.0


def test_mutual_information_is_concave_in_the_input():
    rng = np.random.default_rng(5)
    for _ in range(20):
        channel, ends = Channel(rng.dirichlet(np.ones(3), 4)), rng.dirichlet(np.ones(4), 2)
        middle = mutual_information(ends.mean(axis=0), channel)
        assert middle > np.mean([mutual_information(p, channel) for p in ends]) + 1e-6


@pytest.mark.parametrize("delta", [0.3, 0.06, 0.04, 2.0**-6, 2.0**-12, 2.0**-20, 2.0**-26])
def test_tiny_mutual_information_keeps_its_digits(delta):
    # Uniform prior, columns (1 +- delta)/2: I = sum_k delta^(2k) / (2k (2k - 1)), summed exactly.
    value = mutual_information(
        [0.5, 0.5], Channel([[0.5 + delta / 2, 0.5 - delta / 2]] * 1 + [[0.5 - delta / 2, 0.5 + delta / 2]])
    )
    exact = math.fsum(delta ** (2 * k) / (2 * k * (2 * k - 1)) for k in range(1, 60))
    d = (0.5 + delta / 2) - (0.5 - delta / 2)
    assert value == pytest.approx(exact, rel=4e-15 + 3 * abs(d / delta - 1))


@given(seeds)
def test_named_divergences_are_f_divergences(seed):
    p, q = pair(seed)
    cases = [(kl_divergence, lambda t: xlogy(t, t)), (total_variation, lambda t: np.abs(t - 1) / 2)]
    for divergence, f in cases:
        assert divergence(p, q) == pytest.approx(f_divergence(p, q, f), rel=1e-9, abs=1e-13)


@given(seeds)
def test_renyi_divergence(seed):
    p, q = pair(seed)
    orders = [0, 0.2, 0.5, 0.9, 1, 1.5, 2, 5, math.inf]
    values = [renyi_divergence(p, q, order) for order in orders]
    assert (np.diff(values) >= -1e-12).all()
    assert values[2] == pytest.approx(-2 * math.log(1 - f_divergence(p, q, hellinger)), abs=1e-12)
    assert values[6] == pytest.approx(math.log1p(f_divergence(p, q, chi_squared)), abs=1e-12)
    assert renyi_divergence(p, q, 1 + 1e-7) == pytest.approx(values[4], rel=1e-4, abs=1e-6)
    assert values[4] == kl_divergence(p, q)


def test_missing_mass():
    p, q = [0.5, 0.5, 0.0], [0.5, 0.0, 0.5]
    assert kl_divergence(p, q) == math.inf
    assert total_variation(p, q) == pytest.approx(0.5)
    assert f_divergence(p, q, hellinger) == pytest.approx(0.5)
    assert f_divergence(p, q, lambda t: np.abs(t - 1) / 2) == pytest.approx(0.5)
    assert f_divergence(p, q, chi_squared) == math.inf
    assert f_divergence(p, q, lambda t: xlogy(t, t)) == math.inf
    assert renyi_divergence(p, q, 2) == math.inf
    assert renyi_divergence(p, q, math.inf) == math.inf
    assert renyi_divergence(p, q, 0) == pytest.approx(math.log(2))
    assert renyi_divergence([1.0, 0.0], [0.0, 1.0], 0.5) == math.inf
    assert kl_divergence([0.5, 0.5, 0.0], [0.25, 0.5, 0.25], bits=True) == pytest.approx(0.5)


@pytest.mark.parametrize("rare", [1e-200, 1e-250, 2.5e-307, 1e-323])
def test_an_output_next_to_impossible_tells_next_to_nothing(rare):
    prior = np.array([0.5, 0.5, rare])
    assert mutual_information(prior, Channel(np.eye(3))) == pytest.approx(math.log(2.0), rel=1e-15)
    assert optimal_unconditional(prior[None], 1.0).value == pytest.approx(math.log(2.0), rel=1e-15)


@given(seeds, st.integers(2, 40), st.floats(0.02, 3.0))
def test_both_ways_to_mutual_information_agree(seed, k, spread):
    """By entropies, and with all digits where there is little information."""
    rng = np.random.default_rng(seed)
    Q = np.exp(rng.normal(scale=spread, size=(k, k)))
    Q, p = Q / Q.sum(axis=1, keepdims=True), rng.dirichlet(np.ones(k))
    precise = information._mean_of_terms(p, Q, p @ Q)
    assert entropy(p @ Q) - p @ Channel(Q).row_entropies == pytest.approx(precise, rel=1e-12, abs=1e-14)
    if precise > 2 * information.LEAST_BY_ENTROPIES:
        assert mutual_information(p, Channel(Q)) == pytest.approx(precise, rel=1e-12)
