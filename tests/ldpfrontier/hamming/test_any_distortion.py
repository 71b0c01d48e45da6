"""Any distortion: values of an independent prototype, a partition of a line, and what bounds prove."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from ldpfrontier.hamming.any_distortion import (
    DistortionProgram,
    distortion_leakage,
    least_distortion,
    private_channel,
)
from ldpfrontier.hamming.dp_leakage import hamming_leakage
from ldpfrontier.model.column_utility import ColumnUtility
from ldpfrontier.model.mechanisms import randomized_response
from ldpfrontier.model.privacy import ldp_epsilon
from ldpfrontier.promises.ldp import optimal_ldp

LINE = np.abs(np.arange(4)[:, None] - np.arange(4)).astype(float)
GROUP = np.arange(4) // 2
TREE = np.where(np.eye(4) == 1, 0.0, np.where(GROUP[:, None] == GROUP, 1.0, 2.0))
KNOWN = np.array([[0.4, 0.3, 0.2, 0.1]])
#: The corners of p1 >= p2 >= p3 >= p4.
ORDERED = np.tril(np.ones((4, 4))) / np.arange(1, 5)[:, None]
EVERY = np.eye(4)


def random_case(seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    rng = np.random.default_rng(seed)
    k, outputs = int(rng.integers(2, 6)), int(rng.integers(2, 7))
    return rng.dirichlet(np.ones(k), int(rng.integers(1, 4))), rng.random((k, outputs)), rng.uniform(0.1, 4)


@pytest.mark.parametrize(
    ("sources", "distortion", "values"),
    [
        (KNOWN, LINE, (0.77754, 0.66894, 0.38757)),
        (KNOWN, LINE**2, (1.0, 1.0, 0.60058)),
        (KNOWN, TREE, (0.86428, 0.75702, 0.43017)),
        (ORDERED, LINE, (0.97009, 0.81478, 0.49983)),
        (ORDERED, LINE**2, (1.41110, 1.31791, 0.81931)),
        (ORDERED, TREE, (1.06631, 0.87439, 0.48128)),
        (EVERY, LINE, (1.18081, 0.94482, 0.53316)),
        (EVERY, LINE**2, (2.13262, 1.80682, 1.12607)),
        (EVERY, TREE, (1.06631, 0.87439, 0.48128)),
    ],
)
def test_least_distortions_of_a_prototype(
    sources: np.ndarray, distortion: np.ndarray, values: tuple[float, ...]
) -> None:
    for epsilon, value in zip((0.5, 1.0, 2.0), values, strict=True):
        best = least_distortion(sources, distortion, epsilon)
        assert (best.status, best.direction, best.unit) == ("optimal", "min", "1")
        assert best.value == pytest.approx(value, abs=6e-6)
        assert best.bound <= best.value
        assert ldp_epsilon(best.channel) <= epsilon + 1e-14


def blocks_on_a_line(p: np.ndarray, d: np.ndarray, epsilon: float) -> float:
    """Return the least distortion of randomized response on contiguous blocks of letters, by all of them."""
    k, e = len(p), math.exp(epsilon)
    found = []
    for m in range(1, k + 1):
        for cuts in combinations(range(1, k), m - 1):
            blocks = np.split(np.arange(k), cuts)
            weights = [1.0 + (e - 1.0) * np.isin(np.arange(k), block) for block in blocks]
            found.append(sum(min((p * w) @ d) for w in weights) / (e + m - 1.0))
    return min(found)


@pytest.mark.parametrize("seed", range(6))
def test_on_a_line_responses_on_blocks_are_optimal_for_a_known_source(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 8))
    places, p, epsilon = np.sort(rng.random(k)), rng.dirichlet(np.ones(k)), float(rng.uniform(0.1, 4.0))
    d = np.abs(places[:, None] - places) ** float(rng.choice([0.5, 1.0, 2.0]))
    assert least_distortion(p, d, epsilon).value == pytest.approx(blocks_on_a_line(p, d, epsilon), abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_no_random_channel_has_less_than_the_bound(seed: int) -> None:
    P, d, epsilon = random_case(seed)
    best, rng = least_distortion(P, d, epsilon), np.random.default_rng(seed)
    response, outputs = randomized_response(d.shape[1], epsilon).matrix, d.shape[1]
    for concentration in np.geomspace(1e-3, 10.0, 100):
        # What is told of a letter, by any rule, and then said with randomized response.
        channel = rng.dirichlet(np.full(outputs, concentration), len(d)) @ response
        assert (P @ (channel * d).sum(axis=1)).max() >= best.bound


@pytest.mark.parametrize("seed", range(6))
def test_any_prices_prove_a_bound(seed: int) -> None:
    P, d, epsilon = random_case(seed)
    program, rng = DistortionProgram(P[:, :, None] * d), np.random.default_rng(seed)
    best = program.solve(epsilon)
    assert best.bound >= best.value - 1e-12
    for size in np.geomspace(1e-3, 1.0, 200):
        weights, prices = (
            rng.dirichlet(np.ones(len(P))),
            P.max(axis=0) * rng.uniform(-0.2, 0.7, len(d)) * size,
        )
        assert program.bound(weights, prices, epsilon) <= best.value
    # Prices that are all too high by much.
    assert program.bound(best.weights, P.max(axis=0) * 3.0, epsilon) <= best.value


def test_rows_that_are_not_quite_normalized_keep_the_level() -> None:
    matrix = randomized_response(4, 2.0).matrix * [[1.0], [1.0 + 1e-9], [1.0 - 1e-9], [1.0]]
    assert ldp_epsilon(private_channel(matrix, 2.0)) <= 2.0 + 1e-15 * 3
    skewed = randomized_response(4, 2.0).matrix * (1.0 + 1e-9 * np.eye(4))
    assert ldp_epsilon(private_channel(skewed, 2.0)) <= 2.0


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_outputs_in_a_fine_grid_are_best_estimates(epsilon: float) -> None:
    """The mean squared error of the best estimate is nonlinear, and that of all estimates is not."""
    (p,), x = KNOWN, np.arange(4)
    told = optimal_ldp(ColumnUtility(p, lambda v: (v @ (p * x)) ** 2 / (v @ p), unit="1"), epsilon)
    fine = least_distortion(p, (x[:, None] - np.linspace(0.0, 3.0, 301)) ** 2, epsilon)
    assert fine.value == pytest.approx(p @ x**2 - told.value, abs=3e-5)
    assert fine.value >= p @ x**2 - told.bound - 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_hamming_distortion_is_a_special_case(seed: int) -> None:
    rng = np.random.default_rng(seed)
    M = int(rng.integers(2, 7))
    P, limit = rng.dirichlet(np.full(M, 0.8), int(rng.integers(1, 5))), float(rng.uniform(0.03, 0.7))
    best, same = hamming_leakage(P, limit), distortion_leakage(P, 1 - np.eye(M), limit)
    assert (same.value, same.bound, same.status) == (best.value, best.bound, best.status)
    # With outputs in another order, and distortions ten times as large, the program is solved.
    other = distortion_leakage(P, 10.0 * np.roll(1.0 - np.eye(M), 1, axis=1), 10.0 * limit)
    assert other.method != same.method
    assert other.value == pytest.approx(best.value, abs=2e-9)
    assert other.distortion <= 10.0 * limit + 1e-11


@pytest.mark.parametrize("seed", range(6))
def test_the_least_leakage_is_the_level_whose_least_distortion_is_the_limit(seed: int) -> None:
    P, d, epsilon = random_case(seed)
    limit = least_distortion(P, d, epsilon).value
    best = distortion_leakage(P, d, limit, tolerance=1e-7)
    assert best.status == "optimal"
    assert best.value == pytest.approx(ldp_epsilon(best.channel), abs=1e-12)
    assert best.value <= epsilon + 1e-7
    assert least_distortion(P, d, max(best.bound - 1e-6, 0.0)).bound > limit - 1e-9 or best.bound == 0.0
    assert (P @ (best.channel.matrix * d).sum(axis=1)).max() <= limit + 1e-13


@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_too_few_rounds_leave_an_interval(rounds: int) -> None:
    exact = distortion_leakage(KNOWN, LINE, 0.5)
    early = distortion_leakage(KNOWN, LINE, 0.5, max_rounds=rounds)
    assert early.status == "bounded"
    assert early.bound <= exact.value <= early.value
    assert early.distortion <= 0.5 + 1e-12
    assert early.value == pytest.approx(ldp_epsilon(early.channel), abs=1e-12)


def test_nothing_to_lose_and_nothing_to_tell() -> None:
    assert least_distortion(KNOWN, np.zeros((4, 2)), 1.0).value == 0.0
    assert least_distortion(KNOWN, LINE, 0.0).value == pytest.approx((KNOWN @ LINE).min())
    assert distortion_leakage(KNOWN, LINE, 5.0).value == 0.0
    # All letters share their best output, so that the least distortion of all needs no leakage.
    assert distortion_leakage(KNOWN, LINE + 1.0 - np.eye(4)[:1], 1.0 + (KNOWN @ LINE[0])[0]).value == 0.0
