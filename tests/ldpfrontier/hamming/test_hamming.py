"""Leakage under Hamming distortion: exact solvers against formulas and full LPs."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from ldpfrontier.hamming.dp_leakage import hamming_leakage, hamming_leakages, known_prior_ratio
from ldpfrontier.hamming.formulas import (
    class_one_channel,
    class_one_information,
    class_one_leakage,
    class_three_bounds,
    class_two_channel,
    class_two_leakage,
)
from ldpfrontier.hamming.mi_leakage import information_leakage
from ldpfrontier.hamming.sources import SourceSet
from ldpfrontier.model.information import mutual_information
from ldpfrontier.model.privacy import ldp_epsilon
from oracles.hamming_lp import hamming_lp

P6 = np.array([[0.7, 0.15, 0.06, 0.04, 0.03, 0.02]])
P10 = np.array(
    [
        [0.3, 0.2, 0.15, 0.08, 0.07, 0.06, 0.05, 0.04, 0.03, 0.02],
        [0.35, 0.16, 0.12, 0.10, 0.09, 0.09, 0.05, 0.02, 0.01, 0.01],
    ]
)


def swapped(P: np.ndarray, groups: str) -> np.ndarray:
    rows = [P]
    for step in range(1, 1 + len(groups)):
        copy = P.copy()
        copy[:, [0, step]] = P[:, [step, 0]]
        rows.append(copy)
    return np.concatenate(rows)


def random_set(seed: int) -> tuple[np.ndarray, float]:
    rng = np.random.default_rng(seed)
    M = int(rng.integers(2, 7))
    return rng.dirichlet(np.full(M, 0.8), int(rng.integers(1, 5))), float(rng.uniform(0.03, 0.9))


# DP leakage -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_full_lp_attains_the_distortion_at_the_leakage_and_not_below(seed: int) -> None:
    P, D = random_set(seed)
    best = hamming_leakage(P, D)
    assert hamming_lp(P, math.exp(best.value)) >= 1.0 - D - 1e-7
    if best.value > 1e-3:
        assert hamming_lp(P, math.exp(best.lower_bound - 1e-4)) < 1.0 - D + 1e-9
        assert hamming_lp(P, math.exp(best.lower_bound - 1e-3)) < 1.0 - D - 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_certificates(seed: int) -> None:
    P, D = random_set(seed)
    best = hamming_leakage(P, D)
    assert 0.0 <= best.value - best.bound <= 1e-9
    assert (best.status, best.direction, best.unit) == ("optimal", "min", "nats")
    assert ldp_epsilon(best.channel) == pytest.approx(best.value, abs=1e-12)
    assert max(P @ (1.0 - np.diag(best.channel.matrix))) <= D + 1e-12
    # The prior that certifies the bound is in the hull.
    found = linprog(np.zeros(len(P)), A_eq=np.vstack([P.T, np.ones(len(P))]), b_eq=np.append(best.prior, 1.0))
    assert found.status == 0
    for p in (P[0], P.mean(axis=0)):
        assert math.log(known_prior_ratio(p, D)) <= best.value + 1e-9


@pytest.mark.parametrize("seed", range(8))
def test_a_mixture_of_responses_on_subsets_is_optimal(seed: int) -> None:
    P, _ = random_set(seed)
    M, t = P.shape[1], math.exp(0.2 + seed / 8)
    subsets = [list(s) for n in range(1, M + 1) for s in combinations(range(M), n)]
    gain = np.array([P[:, s].sum(axis=1) * t / (t + len(s) - 1) for s in subsets])
    A = np.append(-gain.T, np.ones((len(P), 1)), axis=1)
    total = np.append(np.ones(len(subsets)), 0.0)[None]
    found = linprog(np.append(np.zeros(len(subsets)), -1.0), A, np.zeros(len(P)), total, [1.0])
    assert -found.fun == pytest.approx(hamming_lp(P, t), abs=1e-8)


def test_jumps_and_thresholds_are_certified() -> None:
    # At this D the worst prior is where eps*(p, D) jumps in p.
    P = [
        [0.54, 0.14, 0.12, 0.08, 0.07, 0.05],
        [0.37, 0.32, 0.14, 0.12, 0.03, 0.02],
        [0.32, 0.37, 0.14, 0.12, 0.03, 0.02],
        [0.21, 0.3, 0.17, 0.15, 0.14, 0.03],
    ]
    assert hamming_leakage(P, 0.7).value == pytest.approx(math.log(10 / 7), abs=1e-9)
    assert hamming_leakage(P6, np.nextafter(0.3, 0.0)).value >= 0.0
    assert hamming_leakage(P6, 0.3 - 1e-9).value > 1.5


@pytest.mark.parametrize("seed", range(8))
def test_a_start_shortens_the_climb_and_changes_nothing(seed: int) -> None:
    P, D = random_set(seed)
    cold = hamming_leakage(P, D)
    warm = hamming_leakage(P, D, start=cold.prior)
    assert warm.value == pytest.approx(cold.value, abs=2e-9)
    assert warm.iterations <= cold.iterations


#: Its climb takes eleven LPs.
SLOW, SLOW_D = np.array([[3, 7, 7, 0], [10, 7, 2, 0], [7, 0, 6, 1]]) / np.array([[17], [19], [14]]), 0.3


@pytest.mark.parametrize("rounds", [0, 1, 4])
def test_too_few_rounds_leave_an_interval_around_the_leakage(rounds: int) -> None:
    exact = hamming_leakage(SLOW, SLOW_D)
    assert exact.iterations > rounds
    early = hamming_leakage(SLOW, SLOW_D, max_rounds=rounds)
    assert (early.status, early.iterations) == ("bounded", rounds)
    assert early.lower_bound < exact.value < early.upper_bound
    taken = (early.channel.matrix == class_one_channel(4, SLOW_D).matrix).all()
    assert any("Theorem 1" in text for text in early.method.fallbacks) == taken
    assert exact.method.fallbacks == ()
    assert ldp_epsilon(early.channel) == pytest.approx(early.value, abs=1e-12)
    assert early.distortion <= SLOW_D + 1e-12
    assert [best.status for best in hamming_leakages(SLOW, [0.3, SLOW_D], max_rounds=rounds)] == [
        "bounded"
    ] * 2


@pytest.mark.parametrize("M", [2, 5])
@pytest.mark.parametrize("D", [1e-9, 0.2, 0.5, 0.9])
def test_the_channel_of_class_one_meets_any_set(M: int, D: float) -> None:
    channel = class_one_channel(M, D)
    assert SourceSet(np.eye(M)).distortion(channel) <= D + 1e-13
    assert ldp_epsilon(channel) == pytest.approx(class_one_leakage(M, D), abs=1e-6 if D < 1e-6 else 1e-12)


# Formulas -------------------------------------------------------------------------------------------------


def test_formulas_equal_the_optimum_on_the_sets_of_the_paper() -> None:
    grid = np.arange(0.02, 0.9, 0.08)
    for base in (P6, P10):
        M = base.shape[1]
        for D, best in zip(grid, hamming_leakages(np.eye(M), grid), strict=True):
            assert best.value == pytest.approx(class_one_leakage(M, D), abs=1e-9)
        for D, best in zip(grid, hamming_leakages(base, grid), strict=True):
            formula = class_two_leakage(base, D)
            channel = class_two_channel(base, formula)
            assert best.value == pytest.approx(formula.value, abs=1e-9)
            assert ldp_epsilon(channel) == pytest.approx(formula.value, abs=1e-9)
            assert SourceSet(base).distortion(channel) <= D + 1e-9
        for groups in ("a", "ab", "abc"):
            P = SourceSet(swapped(base, groups))
            assert P.kind == "III"
            for D, best in zip(grid, hamming_leakages(P, grid), strict=True):
                assert class_three_bounds(P, D) == pytest.approx((best.value, best.value), abs=1e-9)


@pytest.mark.parametrize("D", [0.01, 0.1, 0.2])
def test_printed_formula_is_too_small(D: float) -> None:
    exact, printed = hamming_leakage(P10, D), class_two_leakage(P10, D, ordered=False)
    assert printed.value < exact.lower_bound - 0.3
    assert printed.distortions[0] > printed.distortions[1:].min() + 1e-6
    # The channel (48) with those distortions leaks more than the formula claims.
    assert ldp_epsilon(class_two_channel(P10, printed)) > printed.value + 0.3


def test_theorem_3_needs_a_group() -> None:
    P = SourceSet([[0.6, 0.3, 0.1], [0.1, 0.6, 0.3]])
    assert P.kind == "III"
    assert list(P.folds) == [(0, 1, 2), (1, 2, 0)]
    assert class_three_bounds(P, 0.5) == pytest.approx((math.log(2), math.log(2)))
    assert hamming_leakage(P, 0.5).value == pytest.approx(0.6286086594, abs=1e-9)
    assert class_three_bounds(P, 0.6)[0] > 0.28
    assert hamming_leakage(P, 0.6).value == 0.0


def test_empty_folded_intersection_leaves_the_bound_of_remark_4() -> None:
    P = SourceSet([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2]])
    assert not P.folds_intersect
    lower, upper = class_three_bounds(P, 0.4)
    assert lower - 1e-9 <= hamming_leakage(P, 0.4).value <= upper + 1e-9
    assert lower == pytest.approx(math.log(max(known_prior_ratio(p, 0.4) for p in P.distributions)))


@pytest.mark.parametrize("seed", range(12))
def test_an_optimum_with_rising_distortions_exists(seed: int) -> None:
    # Lemma 4: sorted, the distortions still meet D.
    P, D = random_set(seed)
    P = -np.sort(-P, axis=1)
    distortions = np.sort(1.0 - np.diag(hamming_leakage(P, D).channel.matrix))
    assert (P @ distortions).max() <= D + 1e-9


# Source sets ----------------------------------------------------------------------------------------------


def test_classes() -> None:
    assert SourceSet([[0.6, 0.2, 0.2], [0.0, 0.5, 0.5]]).kind == "I"
    assert SourceSet([0.2, 0.5, 0.3]).kind == "II"
    assert SourceSet([[0.5, 0.3, 0.2], [0.4, 0.4, 0.2]]).kind == "II"
    assert SourceSet([[0.5, 0.3, 0.2], [0.3, 0.4, 0.3]]).kind == "III"
    np.testing.assert_allclose(SourceSet(P6).thresholds(), [0, 0.02, 0.05, 0.09, 0.15, 0.3, 1.0])
    # A tie takes the permutation that is needed anyway.
    assert len(SourceSet([[0.2, 0.5, 0.3], [0.2, 0.4, 0.4], [0.5, 0.3, 0.2]]).folds) == 2


# MI leakage -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("D", [0.01, 0.2, 0.5, 0.8, 0.85])
def test_mi_leakage_of_class_one(D: float) -> None:
    for P in (np.eye(6), np.full(6, 1 / 6), np.vstack([P6, np.full(6, 1 / 6)])):
        assert information_leakage(P, D).value == pytest.approx(class_one_information(6, D), abs=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_mi_certificates(seed: int) -> None:
    P, D = random_set(seed)
    best, dp = information_leakage(P, D), hamming_leakage(P, D)
    assert 0.0 <= best.value - best.bound <= 1e-9
    assert (best.status, best.direction, best.unit) == ("optimal", "min", "nats")
    assert best.lower_bound <= dp.value + 1e-12
    assert max(P @ (1.0 - np.diag(best.channel.matrix))) <= D + 1e-12
    rng = np.random.default_rng(seed)
    for p in (*P, best.prior, *(rng.dirichlet(np.ones(len(P)), 5) @ P)):
        assert mutual_information(p, best.channel) <= best.value + 1e-9


def test_mi_with_one_round_is_bounded() -> None:
    exact, early = information_leakage(SLOW, SLOW_D), information_leakage(SLOW, SLOW_D, max_rounds=1)
    assert early.status == "bounded"
    assert early.bound < exact.value < early.value
    assert max(mutual_information(p, early.channel) for p in SLOW) <= early.value + 1e-12
    assert early.distortion <= SLOW_D + 1e-12
    none = information_leakage(SLOW, SLOW_D, max_rounds=0)
    assert none.value == pytest.approx(class_one_information(4, SLOW_D))
    assert none.bound == 0.0
    assert none.method.fallbacks == ("the channel of Theorem 1, as the barrier method made no step",)
    assert exact.method.fallbacks == ()


def test_mi_leakage_of_a_binary_source_is_its_rate_distortion_function() -> None:
    def h(x: float) -> float:
        return -x * math.log(x) - (1 - x) * math.log(1 - x)

    for p, D in ((0.4, 0.1), (0.3, 0.29), (0.2, 0.001)):
        assert information_leakage([p, 1 - p], D).value == pytest.approx(h(p) - h(D), abs=1e-9)
    assert information_leakage([0.3, 0.7], 0.3).value == 0.0


def test_zero_mi_leakage_is_lemma_6() -> None:
    for P, threshold in ((P6, 0.3), (P10, 0.7)):
        assert SourceSet(P).thresholds()[-2] == pytest.approx(threshold)
        assert information_leakage(P, threshold + 1e-6).value == 0.0
        assert information_leakage(P, threshold - 1e-3).lower_bound > 0.0


# Properties -----------------------------------------------------------------------------------------------

PROPERTY = settings(max_examples=6, deadline=None, derandomize=True)


@PROPERTY
@given(st.integers(0, 10**6), st.integers(0, 4), st.sampled_from([1e-300, 1e-9, 1e-3]))
def test_the_bound_is_never_above_the_value(seed: int, rounds: int, tolerance: float) -> None:
    P, D = random_set(seed)
    for leakage in (hamming_leakage, information_leakage):
        best = leakage(P, D, max_rounds=rounds, tolerance=tolerance)
        assert 0.0 <= best.bound == best.lower_bound <= best.upper_bound == best.value
        assert (best.status == "optimal") == (best.value - best.bound <= tolerance)
        exact = leakage(P, D)
        assert best.bound <= exact.value + 1e-12
        assert best.value >= exact.bound - 1e-12


def test_a_start_outside_the_hull_would_certify_nothing() -> None:
    with pytest.raises(ValueError, match="not in the convex hull"):
        hamming_leakage(P6, 0.2, start=np.full(6, 1 / 6))
    with pytest.raises(ValueError, match="6 letters"):
        hamming_leakage(P6, 0.2, start=[0.5, 0.5])
    with pytest.raises(ValueError, match="The start sums to"):
        hamming_leakage(P6, 0.2, start=np.full(6, 0.2))
