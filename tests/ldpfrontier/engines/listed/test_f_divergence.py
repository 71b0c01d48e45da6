"""Optima of f-divergences against all partitions, and bounds for many inputs."""

import itertools
import math

import numpy as np
import pytest

from ldpfrontier.engines.listed.exact_cover import optimal_exact_cover
from ldpfrontier.engines.listed.f_divergence import best_partition
from ldpfrontier.model.mechanisms import binary_mechanism, randomized_response
from ldpfrontier.model.utility import FDivergence
from ldpfrontier.promises.ldp import optimal_ldp
from oracles.staircase_lp import GENERATORS, staircase_lp
from support.utilities import KINDS, check


@pytest.mark.parametrize("kind", KINDS)
def test_best_partition_against_all_partitions(kind):
    rng = np.random.default_rng(7)
    for k in (2, 3, 5, 8):
        p0, p1 = rng.dirichlet(np.ones(k), 2)
        order = np.argsort(p0 / p1)
        for epsilon in (0.2, 1.5, 4.0):
            top, best = math.exp(epsilon), 0.0
            for cuts in itertools.product([0, 1], repeat=k - 1):
                labels = np.concatenate([[0], np.cumsum(cuts)])
                m = labels[-1] + 1
                z0, z1 = (1 + (top - 1) * np.bincount(labels, weights=p[order]) for p in (p0, p1))
                best = max(best, float((z1 * GENERATORS[kind](z0 / z1)).sum()) / (top + m - 1))
            cut = best_partition(FDivergence(p0, p1, kind), epsilon)
            assert cut.value == pytest.approx(best, rel=1e-12)
            assert cut.labels.max() + 1 == cut.blocks


def test_a_thousand_inputs():
    p0, p1 = np.random.default_rng(0).dirichlet(np.ones(1000), 2)
    utility = FDivergence(p0, p1)
    optimum = optimal_ldp(utility, 3.0)
    assert optimum.channel.n_outputs < 50
    assert optimum.gap <= 1e-6
    assert optimum.value > max(
        utility(binary_mechanism(utility, 3.0)), utility(randomized_response(1000, 3.0))
    )
    # Merging neighbours loses little and can be certified: 20 groups are a private mechanism of all 1000.
    groups = np.empty(1000, dtype=int)
    groups[np.argsort(p0 / p1)] = np.arange(1000) // 50
    merged = FDivergence(np.bincount(groups, weights=p0), np.bincount(groups, weights=p1))
    coarse = optimal_ldp(merged, 3.0)
    assert 0.98 * optimum.value < coarse.value <= optimum.value


GENERATORS_OF_ONES_OWN = {
    "hinges": lambda t: np.maximum(t - 1.3, 0.0) + 0.5 * np.maximum(0.6 - t, 0.0),
    "cubic": lambda t: t**3 - 1.0,
}


@pytest.mark.parametrize("name", [*KINDS, *GENERATORS_OF_ONES_OWN])
def test_no_mechanism_has_more_than_the_best_partition(name):
    """The theorem, against the program over all 2^k columns; with ties, rare inputs and zeros."""
    rng = np.random.default_rng(23)
    for _ in range(60):
        k, epsilon = int(rng.integers(2, 9)), float(np.exp(rng.uniform(np.log(0.05), np.log(9.0))))
        p0, p1 = (
            rng.dirichlet(np.full(k, rng.choice([0.2, 1.0, 5.0])), 2)
            if rng.random() < 0.6
            else [c / c.sum() for c in rng.integers(0, 4, (2, k)) + np.eye(k, dtype=int)[0]]
        )
        f = GENERATORS_OF_ONES_OWN.get(name)
        utility = FDivergence(p0, p1, f=f) if f else FDivergence(p0, p1, name)
        best = best_partition(utility, epsilon)
        listed = optimal_exact_cover(utility, epsilon, tolerance=1e-9, max_rounds=200, start=None)
        assert best.value == pytest.approx(listed.value, rel=1e-9, abs=1e-12)
        assert listed.bound <= best.value * (1.0 + 2e-9) + 2e-12
        assert best.value <= best.bound <= best.value * (1.0 + 1e-11) + 1e-15


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_beyond_the_list_of_columns(kind):
    """Inputs with few likelihood ratios are as good as these few; the method names the theorem."""
    rng = np.random.default_rng(17)
    few = rng.dirichlet(np.ones(7), 2)
    shares = rng.dirichlet(np.ones(40), 7)
    wide = FDivergence(*((p[:, None] * shares).ravel() for p in few), kind)
    # Ratios that differ by a little hardly change the optimum.
    moved = FDivergence(wide.p0, wide.p1 * (w := 1.0 + 1e-9 * rng.random(280)) / (wide.p1 @ w), kind)
    expected = staircase_lp(FDivergence(*few, kind), 2.0)
    optimum = optimal_ldp(moved, 2.0, tolerance=1e-7)
    assert optimum.value == pytest.approx(expected, rel=1e-7)
    assert expected * (1.0 - 1e-7) <= optimum.upper_bound <= expected * (1.0 + 1e-7)
    assert "2606.07443" in str(optimum.method)


def test_equal_ratios_are_merged():
    """Thirty inputs with five likelihood ratios: exact and certified, as the problem of five inputs."""
    rng = np.random.default_rng(3)
    p0, p1 = rng.dirichlet(np.ones(5), 2)
    shares = rng.dirichlet(np.ones(6), 5)
    utility = FDivergence((p0[:, None] * shares).ravel(), (p1[:, None] * shares).ravel())
    optimum = optimal_ldp(utility, 2.0)
    check(utility, 2.0, optimum)
    assert optimum.value == pytest.approx(optimal_ldp(FDivergence(p0, p1), 2.0).value, rel=1e-12)
