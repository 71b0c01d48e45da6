"""Optima over all distributions: Lemma A8 against exact enumeration, and Theorem 4."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from mpmath import exp, fsum, log, mpf

from ldpfrontier.engines import registry
from ldpfrontier.engines.registry import LIMITS
from ldpfrontier.model.information import entropy, mutual_information
from ldpfrontier.model.mechanisms import randomized_response, secret_randomized_response
from ldpfrontier.model.privacy import unconditional_epsilon
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.promises import unconditional
from ldpfrontier.promises.ldp import optimal_ldp
from ldpfrontier.promises.nonrobust import optimal_nonrobust
from ldpfrontier.promises.settings import SETTINGS
from ldpfrontier.promises.unconditional import (
    Unconditional,
    optimal_unconditional,
    response_excess,
    response_threshold,
)
from oracles.enumeration import polyopt_enumerated, robust_rays
from oracles.high_precision import xlogx

SHAPES = [(2, 2), (2, 3), (3, 2), (2, 5), (4, 2), (3, 3)]


def random_prior(shape: tuple[int, int], seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).dirichlet(np.full(math.prod(shape), 0.5)).reshape(shape)


def lemma_columns(a1: int, a2: int, epsilon: float) -> np.ndarray:
    """List V1 and V2 of Lemma A8 of lopuhaa2024, shape (columns, a1 a2), for small tables."""
    top = math.exp(epsilon)
    inside = np.arange(1 << a2)[:, None] >> np.arange(a2) & 1
    first = np.ones((a1, len(inside), a1, a2))
    for s in range(a1):
        first[s, :, s] = np.where(inside == 1, top, 1.0 / top)
    everywhere = (np.arange(1 << a1 * a2)[:, None] >> np.arange(a1 * a2) & 1).reshape(-1, a1, a2)
    second = everywhere[everywhere.any(axis=2).sum(axis=1) >= 2]
    return np.vstack([first.reshape(-1, a1 * a2), np.where(second == 1, top, 1.0).reshape(-1, a1 * a2)])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_lemma_a8(shape, epsilon):
    """All columns of the lemma lie in the cone, and every extreme ray is one of them."""
    columns = lemma_columns(*shape, epsilon)
    blocks = columns.reshape(-1, *shape)
    ratios = np.log(blocks.max(axis=2))[:, :, None] - np.log(blocks.min(axis=2))[:, None]
    assert (ratios[:, ~np.eye(shape[0], dtype=bool)] <= epsilon + 1e-12).all()
    rays = robust_rays(np.zeros(shape), epsilon, "distinct")
    scaled = np.log(columns / columns.max(axis=1, keepdims=True))
    distance = np.abs(np.log(rays)[:, None] - scaled[None]).max(axis=2).min(axis=1)
    assert distance.max() < 1e-10
    if shape[0] == 2:
        # V1 without its constant blocks, and nothing of V2.
        assert len(rays) == 2 * (2 ** shape[1] - 1)


@pytest.mark.parametrize("large", [False, True])
def test_a_start_is_private_under_every_distribution_or_refused(large, monkeypatch):
    if large:
        monkeypatch.setattr(registry, "LIMITS", replace(LIMITS, max_listed_inputs=1))
    prior = random_prior((3, 2))
    best = optimal_unconditional(prior, 1.0)
    again = optimal_unconditional(prior, 1.0, start=best.channel, max_rounds=1)
    assert again.value >= best.value * (1 - 1e-9)
    assert unconditional_epsilon(again.channel, (3, 2)) <= 1.0 + 1e-9
    with pytest.raises(ValueError, match=r"The start is private at level 1.* epsilon is 0\.999999"):
        optimal_unconditional(prior, 1.0 - 1e-6, start=best.channel)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_optimum_equals_that_over_the_enumerated_rays(shape, epsilon):
    prior = random_prior(shape)
    found = optimal_unconditional(prior, epsilon, tolerance=1e-10)
    listed = polyopt_enumerated(prior, np.zeros(shape), epsilon, "distinct", tolerance=1e-10, max_rounds=1000)
    assert found.value == pytest.approx(listed.value, rel=1e-8)
    assert found.status == "optimal"
    assert found.value <= found.upper_bound
    assert found.channel.n_outputs <= prior.size
    assert unconditional_epsilon(found.channel, shape) <= epsilon + 1e-9
    srr = secret_randomized_response(*shape, epsilon)
    ldp = optimal_ldp(MutualInformation(prior), epsilon)
    assert found.upper_bound >= max(mutual_information(prior, srr), ldp.value) - 1e-12


@pytest.mark.parametrize("shape", [(3, 2), (3, 3), (4, 4)])
@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_products_of_blocks_lead_to_the_same_optimum(shape, epsilon, monkeypatch):
    """What large tables are solved by, where the columns of the lemma can be listed."""
    prior = random_prior(shape)
    listed = optimal_unconditional(prior, epsilon)
    monkeypatch.setattr(registry, "LIMITS", replace(LIMITS, max_listed_inputs=1))
    # The error of its evaluation is larger where a cell is rare.
    found = optimal_unconditional(prior, epsilon, tolerance=1e-8)
    assert found.value == pytest.approx(listed.value, rel=1e-8)
    assert found.status == "optimal"
    assert unconditional_epsilon(found.channel, shape) <= epsilon + 1e-9


def test_a_large_table():
    prior = random_prior((16, 7))
    for epsilon in (0.3, 1.0):
        found = optimal_unconditional(prior, epsilon, tolerance=1e-3)
        assert found.status == "optimal"
        assert unconditional_epsilon(found.channel, (16, 7)) <= epsilon + 1e-9
        srr = mutual_information(prior, secret_randomized_response(16, 7, epsilon))
        assert srr < found.value < optimal_nonrobust(prior, epsilon).value


@pytest.mark.parametrize("scale", [0.0, 1.0, 1e3])
@pytest.mark.parametrize("shape", [(2, 3), (3, 2)])
def test_what_prices_prove_is_raised_by_rounding(shape, scale):
    """Against 60 digits, of all columns of the lemma; at prices of 0 the values alone are rounded."""
    for seed, epsilon in enumerate([0.3, 1.0, 3.0, 8.0] * 3):
        rng, top = np.random.default_rng(seed), exp(mpf(epsilon))
        prior = rng.multinomial(1024, np.full(6, 1 / 6)) / 1024.0  # sums to 1 exactly, and no cell is rare
        duals, powers = scale * rng.normal(size=6), {-1: 1 / top, 0: mpf(1), 1: top}
        p, c = ([mpf(x) for x in numbers.tolist()] for numbers in (prior, duals))
        proved = mpf(0)
        for column in np.rint(np.log(lemma_columns(*shape, epsilon)) / epsilon).astype(int).tolist():
            v = [powers[power] for power in column]
            z = fsum(a * x for a, x in zip(p, v, strict=True))
            gain = fsum(a * xlogx(x) - b * x for a, b, x in zip(p, c, v, strict=True))
            proved = max(proved, gain / z - log(z) + fsum(c))
        price, _ = Unconditional(prior.reshape(shape), epsilon, raised=True).price(duals, 0)
        assert proved <= mpf(float(duals.sum())) + mpf(price) <= proved + mpf(10) ** -11 * (1 + abs(proved))


@pytest.mark.parametrize("large", [False, True])
def test_a_bound_is_raised_by_its_error_and_that_of_the_prior(large, monkeypatch):
    """What columns prove of a prior whose sum is off by d is true of it divided by its sum, to 2 d."""
    name, proved = "over_products" if large else "generate", []
    if large:
        monkeypatch.setattr(registry, "LIMITS", replace(LIMITS, max_listed_inputs=1))
    solve = getattr(unconditional, name)

    def recorded(*args, **kwargs):
        found = solve(*args, **kwargs)
        proved.append(found.bound)
        return found

    monkeypatch.setattr(unconditional, name, recorded)
    for off in (-9e-10, 9e-10):
        found = optimal_unconditional((1.0 + off) * random_prior((3, 2)), 0.01 if large else 3.0)
        error = SETTINGS.bound_noise if large else 1.99 * abs(off) * proved[-1]
        assert found.bound >= proved[-1] + error


def test_one_useful_value_is_local_privacy():
    prior = np.array([[0.5], [0.3], [0.15], [0.05]])
    for epsilon in (0.2, 2.0):
        found = optimal_unconditional(prior, epsilon)
        assert found.value == pytest.approx(optimal_ldp(MutualInformation(prior), epsilon).value, rel=1e-9)
    low, high = response_threshold(prior)
    grr, best = (mutual_information(prior, randomized_response(4, high)), optimal_unconditional(prior, high))
    assert grr == pytest.approx(best.value, rel=1e-9)
    assert 0 < low < high


def test_one_sensitive_value_hides_nothing():
    prior = np.array([[0.2, 0.0, 0.8]])
    found = optimal_unconditional(prior, 0.3)
    assert found.value == pytest.approx(entropy(prior))
    assert response_threshold(prior)[1] == math.inf
    assert response_threshold([[1.0]]) == (0.0, 0.0)


@pytest.mark.parametrize("shape", [(2, 2), (2, 4), (3, 3), (4, 2)])
def test_threshold_separates(shape):
    """Theorem 4: at and above the bracket SRR attains the optimum, below it does not."""
    prior = random_prior(shape, seed=3)
    low, high = response_threshold(prior, accuracy=1e-3)
    assert 0 < high - low <= 1e-3
    for epsilon in (high, high + 0.4, high + 3.0):
        srr = mutual_information(prior, secret_randomized_response(*shape, epsilon))
        assert srr == pytest.approx(optimal_unconditional(prior, epsilon).value, rel=1e-9)
    below = low - 0.2
    srr = mutual_information(prior, secret_randomized_response(*shape, below))
    assert srr < optimal_unconditional(prior, below).value * (1 - 1e-7)
    # The certificate: prices of SRR plus the excess bound the optimum.
    assert srr + response_excess(prior, below) >= optimal_unconditional(prior, below).value - 1e-12


def test_prices_of_the_response_are_those_of_its_columns():
    prior = random_prior((3, 2))
    family = Unconditional(prior, 1.3)
    columns = MutualInformation(prior).columns(family.secret_response)
    np.testing.assert_allclose(columns.vectors @ family.response_duals, columns.values, atol=1e-12)
    total = mutual_information(prior, secret_randomized_response(3, 2, 1.3))
    assert family.response_duals.sum() == pytest.approx(total, rel=1e-10)


def test_an_empty_cell_has_no_threshold():
    """Theorem 4 needs a positive P: SRR spends an output on a cell that never occurs."""
    prior = np.array([[0.5, 0.2], [0.3, 0.0]])
    assert response_threshold(prior) == (20.0, math.inf)
    for epsilon in (1.0, 8.0):
        found = optimal_unconditional(prior, epsilon)
        assert found.status == "optimal"
        assert unconditional_epsilon(found.channel, (2, 2)) <= epsilon + 1e-9
        srr = secret_randomized_response(2, 2, epsilon)
        assert mutual_information(prior, srr) < found.value * (1 - 1e-6)


def test_an_empty_group():
    prior = np.array([[0.5, 0.2], [0.0, 0.0], [0.1, 0.2]])
    found = optimal_unconditional(prior, 1.0)
    assert found.value == pytest.approx(optimal_unconditional(prior[[0, 2]], 1.0).value, rel=1e-8)


def test_two_sensitive_values_reach_far():
    prior = random_prior((2, 12))
    found = optimal_unconditional(prior, 1.0)
    assert found.status == "optimal"
    assert unconditional_epsilon(found.channel, (2, 12)) <= 1 + 1e-9


@pytest.mark.parametrize(("shape", "epsilon"), [((41, 10), 1.0), ((250, 4), 1.0), ((250, 4), 4.0)])
def test_tall_tables_have_an_honest_bound(shape, epsilon):
    prior = np.random.default_rng(1).integers(1, 500, shape) / 1.0
    prior /= prior.sum()
    optimum = optimal_unconditional(prior, epsilon)
    assert optimum.gap <= 1e-3
    assert optimum.value >= MutualInformation(prior)(secret_randomized_response(*shape, epsilon))
    assert optimum.channel.n_outputs <= prior.size
