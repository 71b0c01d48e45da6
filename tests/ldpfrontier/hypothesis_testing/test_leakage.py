"""Optima under mutual information leakage: certificates against independent searches and programs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import xlogy

from ldpfrontier.hypothesis_testing.hypotheses import Hypotheses
from ldpfrontier.hypothesis_testing.leakage import optimal_leakage
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import entropy, kl_divergence, mutual_information, renyi_divergence
from support.grids import few

PAIRS = [
    [[0.55, 0.45], [0.95, 0.05]],
    [[0.95, 0.05], [0.05, 0.95]],
    [[0.50, 0.50], [0.45, 0.55]],
    [[0.10, 0.90], [0.05, 0.95]],
]
TRIPLES = [[[0.50, 0.50], [0.45, 0.55], [0.55, 0.45]], [[0.15, 0.85], [0.10, 0.90], [0.20, 0.80]]]
TERNARY = [[[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]], [[0.6, 0.3, 0.1], [0.3, 0.3, 0.4], [0.2, 0.6, 0.2]]]


def least_entropy(p: list[list[float]]) -> float:
    return min(entropy(row, bits=True) for row in p)


def grid_lp(p: np.ndarray, leakage: float, columns: np.ndarray) -> float:
    """The column LP over given columns by plain formulas: a lower bound of the optimum, bits."""
    z = columns @ p.T
    gains = np.log(z[:, 1:] / z[:, :1]) * z[:, 1:] / math.log(2)
    costs = (xlogy(columns, columns) @ p.T - xlogy(z, z)) / math.log(2)
    n, m = costs.shape
    upper = np.vstack([np.c_[costs.T, np.zeros(m)] / leakage, np.c_[-gains.T / leakage, np.ones(m - 1)]])
    solution = linprog(
        np.r_[np.zeros(n), -1.0],
        A_ub=upper,
        b_ub=np.r_[np.ones(m), np.zeros(m - 1)],
        A_eq=np.c_[columns.T, np.zeros(columns.shape[1])],
        b_eq=np.ones(columns.shape[1]),
        method="highs",
    )
    assert solution.success
    return -float(solution.fun) * leakage


def check(p: np.ndarray, leakage: np.ndarray | float, optimum: object, order: float = 1.0) -> None:
    """Value, leakage and bound by the formulas of `information`."""
    channel = optimum.channel  # type: ignore[attr-defined]
    first, *others = (row @ channel.matrix for row in p)
    utility = min(renyi_divergence(q / q.sum(), first / first.sum(), order, bits=True) for q in others)
    assert optimum.value == pytest.approx(utility, rel=1e-6, abs=1e-12)  # type: ignore[attr-defined]
    leaks = [mutual_information(row, channel, bits=True) for row in p]
    assert (np.array(leaks) <= np.asarray(leakage) * (1 + 1e-9) + 1e-15).all()
    assert optimum.value <= optimum.upper_bound == optimum.bound  # type: ignore[attr-defined]
    assert (optimum.unit, optimum.direction) == ("bits", "max")  # type: ignore[attr-defined]


@pytest.mark.parametrize("p", PAIRS + TRIPLES)
@pytest.mark.parametrize("share", [1e-4, 0.01, 0.5])
def test_certified_for_two_letters(p: list[list[float]], share: float) -> None:
    leakage = share * least_entropy(p)
    optimum, two = optimal_leakage(p, leakage), optimal_leakage(p, leakage, outputs=2)
    for found in (optimum, two):
        check(np.array(p), leakage, found)
        assert found.status == "optimal"
        assert (found.upper_bound - found.value) / found.upper_bound <= 1e-5
    assert two.channel.n_outputs == 2
    assert two.value <= optimum.upper_bound
    # For these hypotheses two outputs are enough, wherever it was computed.
    assert two.upper_bound >= optimum.value * (1 - 1e-9)
    assert two.value == pytest.approx(optimum.value, rel=3e-6)


@pytest.mark.parametrize("p", PAIRS + TRIPLES)
def test_fine_grid_from_below_and_bound_from_above_two_letters(p: list[list[float]]) -> None:
    leakage = 0.02 * least_entropy(p)
    x = np.unique(
        np.r_[np.linspace(0.002, 1.998, 999), np.geomspace(1e-4, 1, 200), 2 - np.geomspace(1e-4, 1, 200)]
    )
    below = grid_lp(np.array(p), leakage, np.c_[x, 2 - x])
    optimum = optimal_leakage(p, leakage)
    assert below <= optimum.upper_bound * (1 + 1e-7)
    assert below == pytest.approx(optimum.value, rel=2e-4)


@pytest.mark.parametrize("p", TERNARY)
@pytest.mark.parametrize("share", [0.001, 0.05, 0.4])
def test_fine_grid_three_letters(p: list[list[float]], share: float) -> None:
    leakage = share * least_entropy(p)
    optimum = optimal_leakage(p, leakage)
    check(np.array(p), leakage, optimum)
    assert optimum.gap <= 1e-3
    n = 60
    i, j = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    inside = i + j <= n
    x = np.c_[i[inside], j[inside], n - i[inside] - j[inside]] / n * 3.0
    below = grid_lp(np.array(p), leakage, np.clip(x, 1e-9, None))
    assert below <= optimum.upper_bound * (1 + 1e-6)
    assert below >= 0.97 * optimum.value


@pytest.mark.parametrize("seed", few(range(3), more=range(3, 6)))
def test_no_random_2x2_channel_is_better(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(2), int(rng.integers(2, 4)))
    limits = rng.uniform(0.02, 0.3, len(p)) * [entropy(row, bits=True) for row in p]
    order = float(rng.choice([0.3, 1.0, 2.0]))
    two = optimal_leakage(p, limits, outputs=2, order=order)
    check(p, limits, two, order)
    tested = Hypotheses(p, order)
    # Random points of a curve that scales a far channel down to the limit.
    for a, b in rng.beta(0.3, 0.3, (300, 2)):
        low, high = 0.0, 1.0
        far, flat = np.array([[a, 1 - a], [b, 1 - b]]), np.full((2, 2), [a, 1 - a])
        for _ in range(30):
            middle = (low + high) / 2
            fits = (tested.leakage(Channel(middle * far + (1 - middle) * flat)) <= limits).all()
            low, high = (middle, high) if fits else (low, middle)
        assert tested.utility(Channel(low * far + (1 - low) * flat)) <= two.upper_bound


@pytest.mark.parametrize("order", [0.5, 0.9, 1.5, 2.0])
def test_renyi(order: float) -> None:
    leakage = 0.05 * least_entropy(PAIRS[0])
    optimum, two = (optimal_leakage(PAIRS[0], leakage, outputs=n, order=order) for n in (None, 2))
    for found in (optimum, two):
        check(np.array(PAIRS[0]), leakage, found, order)
        assert found.status == "optimal"
    assert two.value <= optimum.upper_bound


# --- degenerate inputs and errors -------------------------------------------------------------------------


@pytest.mark.parametrize("outputs", [None, 2])
def test_no_leakage_and_all_of_it(outputs: int | None) -> None:
    p = PAIRS[0]
    assert optimal_leakage(p, 0.0, outputs=outputs).value == 0
    assert optimal_leakage(p, 0.0, outputs=outputs).upper_bound == 0
    free = optimal_leakage(p, [1.0, math.inf], outputs=outputs)
    assert free.value == pytest.approx(kl_divergence(p[1], p[0], bits=True), rel=1e-12)
    assert free.status == "optimal"
    equal = optimal_leakage([p[0], p[0]], 0.1, outputs=outputs)
    assert equal.value == equal.upper_bound == 0


def test_a_single_limit_of_zero_joins_letters() -> None:
    p = np.array([[0.5, 0.5, 0.0], [0.3, 0.3, 0.4]])
    with pytest.raises(ValueError, match="infinite divergence"):
        optimal_leakage(p, [0.0, 0.1])
    p = np.array([[0.3, 0.3, 0.4], [0.5, 0.5, 0.0]])
    found = optimal_leakage(p, [0.1, 0.0])
    merged = optimal_leakage([[0.6, 0.4], [1.0, 0.0]], [0.1, math.inf])
    assert found.value == pytest.approx(merged.value, rel=2e-6)
    np.testing.assert_array_equal(found.channel.matrix[0], found.channel.matrix[1])


@pytest.mark.parametrize("outputs", [None, 2])
@pytest.mark.parametrize("more", [{"max_rounds": 1}, {"tolerance": 1e-13}])
def test_a_missed_certificate_is_a_status(outputs: int | None, more: dict[str, float]) -> None:
    best = optimal_leakage(PAIRS[0], 0.1, outputs=outputs)
    early = optimal_leakage(PAIRS[0], 0.1, outputs=outputs, **more)
    check(np.array(PAIRS[0]), 0.1, early)
    assert early.status == "bounded"
    assert early.value <= best.upper_bound
    assert early.upper_bound >= best.value


@pytest.mark.parametrize("apart", [1e-9, 1e-12])
def test_hypotheses_that_are_near_each_other(apart: float) -> None:
    near, wide = ([[0.3, 0.7], [0.3 + d, 0.7 - d]] for d in (apart, 1e-6))
    optima = [optimal_leakage(near, 0.01, outputs=n) for n in (None, 2)]
    known = optimal_leakage(wide, 0.01).value / 1e-12
    for optimum in optima:
        assert optimum.status == "optimal"
        assert 0.0 < optimum.value <= optimum.bound
        # The utility is quadratic in the distance.
        assert optimum.value / apart**2 == pytest.approx(known, rel=1e-3)


def test_four_letters_and_unequal_limits() -> None:
    p = np.array([[0.4, 0.3, 0.2, 0.1], [0.25, 0.25, 0.25, 0.25], [0.1, 0.4, 0.1, 0.4]])
    limits = np.array([0.02, 0.1, math.inf])
    optimum = optimal_leakage(p, limits, tolerance=1e-4)
    check(p, limits, optimum)
    assert optimum.gap <= 1e-3
