"""The staircase optimum against full LPs, closed forms and enumeration."""

import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.special import xlogy

from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import f_divergence, kl_divergence, total_variation
from ldpfrontier.model.mechanisms import binary_mechanism, randomized_response
from ldpfrontier.model.privacy import ldp_epsilon
from ldpfrontier.model.utility import FDivergence, MutualInformation
from ldpfrontier.promises.ldp import optimal_ldp
from oracles.staircase_lp import GENERATORS, staircase_lp
from support.grids import few
from support.utilities import KINDS, check, random_utility

seeds = st.integers(0, 2**32 - 1)


# 200 instances; the full LP takes 0.1 s at k = 12, so few are that large.
CASES = [
    (seed, int(k))
    for seed, k in enumerate(np.repeat([2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], [20] * 9 + [12, 8]))
]


@pytest.mark.parametrize(("seed", "k"), few(CASES[::3], more=[case for case in CASES if case[0] % 3]))
def test_equals_the_full_lp(seed, k):
    rng = np.random.default_rng(seed)
    kind = ["mi", "kl", "mi", "chi2", "mi", "hellinger", "mi", "tv"][seed % 8]
    utility = random_utility(rng, k, kind)
    epsilon = float(np.exp(rng.uniform(math.log(0.01), math.log(10.0))))
    optimum = optimal_ldp(utility, epsilon)
    check(utility, epsilon, optimum)
    expected = staircase_lp(utility, epsilon)
    assert optimum.value == pytest.approx(expected, abs=1e-9, rel=1e-9)
    assert expected <= optimum.upper_bound + 1e-9 * (1 + expected)


@pytest.mark.parametrize("k", [2, 3, 5, 8, 12, 16])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_uniform_prior_is_solved_by_subset_selection(k, epsilon):
    """Report a subset of d inputs, likelier by e^eps if it contains yours; d maximizes the information."""

    def subset_selection(d):
        z = d * math.exp(epsilon) + k - d
        return (d * math.exp(epsilon) * epsilon - z * math.log(z / k)) / z

    best = max(subset_selection(d) for d in range(1, k))
    optimum = optimal_ldp(MutualInformation(np.full(k, 1 / k)), epsilon)
    check(MutualInformation(np.full(k, 1 / k)), epsilon, optimum)
    assert optimum.value == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [14, 16])
def test_large_divergences_are_certified_over_all_patterns(kind, k):
    rng = np.random.default_rng(k)
    for epsilon in (0.05, 1.0, 6.0):
        utility = random_utility(rng, k, kind)
        check(utility, epsilon, optimal_ldp(utility, epsilon))


def test_start_changes_nothing_but_the_work():
    utility = MutualInformation(np.random.default_rng(2).dirichlet(np.ones(12)))
    cold = optimal_ldp(utility, 1.0)
    warm = optimal_ldp(utility, 1.0, start=optimal_ldp(utility, 1.05).channel)
    assert warm.value == pytest.approx(cold.value, rel=1e-9)
    assert warm.status == "optimal"


# --- properties -------------------------------------------------------------------------------------------


@given(seeds, st.integers(2, 7), st.sampled_from([*KINDS, "mi"]), st.floats(0.01, 8.0))
@settings(max_examples=60, deadline=None)
def test_properties(seed, k, kind, epsilon):
    rng = np.random.default_rng(seed)
    utility = random_utility(rng, k, kind)
    optimum = optimal_ldp(utility, epsilon)
    check(utility, epsilon, optimum)
    slack = 1e-9 * (1 + optimum.value)
    for channel in (binary_mechanism(utility, epsilon), randomized_response(k, epsilon)):
        assert utility(channel) <= optimum.upper_bound + 1e-14
    # Monotone in epsilon, and data processing.
    assert optimal_ldp(utility, 0.7 * epsilon).value <= optimum.value + slack
    noise = rng.dirichlet(np.ones(3), optimum.channel.n_outputs)
    assert utility(Channel(optimum.channel.matrix @ noise)) <= optimum.value + slack
    # No private channel made of random columns is better.
    for _ in range(5):
        values = rng.choice([1.0, math.exp(-epsilon)], size=(k, 6))
        weights = linprog(-values.sum(axis=0), A_ub=values, b_ub=np.ones(k)).x
        rest = 1 - values @ weights
        channel = Channel(np.column_stack([values * weights, np.full(k, rest.min()), rest - rest.min()]))
        if ldp_epsilon(channel) <= epsilon:
            assert utility(channel) <= optimum.upper_bound + 1e-12
    # The labels of the inputs do not matter.
    order = rng.permutation(k)
    shuffled = (
        MutualInformation(utility.prior[order])
        if kind == "mi"
        else FDivergence(utility.p0[order], utility.p1[order], kind)
    )
    assert optimal_ldp(shuffled, epsilon).value == pytest.approx(optimum.value, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_total_variation_and_its_value(kind):
    """kairouz2016, Theorem 6 and Corollary 11, and Theorem 7 for KL."""
    rng = np.random.default_rng(11)
    for _ in range(20):
        utility = random_utility(rng, 6, kind)
        for epsilon in (0.05, 0.5, 2.0, 5.0, 10.0):
            optimum = optimal_ldp(utility, epsilon)
            value = utility(binary_mechanism(utility, epsilon))
            if kind == "tv":
                expected = math.tanh(epsilon / 2) * total_variation(utility.p0, utility.p1)
                assert value == pytest.approx(expected, rel=1e-12)
                assert optimum.value == pytest.approx(expected, rel=1e-9)
            if kind == "kl":
                assert value * 2 * (math.exp(epsilon) + 1) ** 2 >= optimum.upper_bound


def test_binary_for_mutual_information_is_good_up_to_epsilon_one():
    """kairouz2016, Theorem 13."""
    rng = np.random.default_rng(12)
    for _ in range(30):
        utility = random_utility(rng, int(rng.integers(2, 9)), "mi")
        epsilon = float(rng.uniform(0.01, 1.0))
        value = utility(binary_mechanism(utility, epsilon))
        assert value * (1 + math.exp(epsilon)) >= optimal_ldp(utility, epsilon).upper_bound


# --- f-divergences ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_those_of_the_definitions(kind):
    rng = np.random.default_rng(1)
    direct = {
        "kl": kl_divergence,
        "tv": total_variation,
        "chi2": lambda p, q: ((p - q) ** 2 / q).sum(),
        "hellinger": lambda p, q: ((np.sqrt(p) - np.sqrt(q)) ** 2).sum() / 2,
    }
    for _ in range(20):
        p0, p1 = rng.dirichlet(np.ones(5), 2)
        channel = Channel(rng.dirichlet(np.ones(4), 5))
        M0, M1 = p0 @ channel.matrix, p1 @ channel.matrix
        named, given_f = FDivergence(p0, p1, kind), FDivergence(p0, p1, f=GENERATORS[kind])
        assert named(channel) == pytest.approx(direct[kind](M0, M1), rel=1e-10)
        assert given_f(channel) == pytest.approx(f_divergence(M0, M1, GENERATORS[kind]), rel=1e-10)
        epsilon = float(rng.uniform(0.1, 5))
        assert optimal_ldp(given_f, epsilon).value == pytest.approx(
            optimal_ldp(named, epsilon).value, rel=1e-9
        )


def test_small_divergences_keep_their_accuracy():
    utility = FDivergence([0.5, 0.5], [0.5 + 1e-9, 0.5 - 1e-9])
    assert utility.divergence() == pytest.approx(2e-18, rel=1e-6)


def test_any_convex_function():
    """Jensen-Shannon: symmetric, bounded, and not one of the named ones."""

    def jensen_shannon(t):
        return xlogy(t, t) / 2 - xlogy((1 + t) / 2, (1 + t) / 2)

    rng = np.random.default_rng(5)
    for _ in range(10):
        p0, p1 = rng.dirichlet(np.ones(6), 2)
        utility = FDivergence(p0, p1, f=jensen_shannon)
        swapped = FDivergence(p1, p0, f=jensen_shannon)
        optimum = optimal_ldp(utility, 1.5)
        check(utility, 1.5, optimum)
        assert optimal_ldp(swapped, 1.5).value == pytest.approx(optimum.value, rel=1e-9)


def test_symmetric_divergence_with_an_infinite_limit_at_zero():
    def jeffreys(t):
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(t > 0, (t - 1) * np.log(t), np.inf)

    p0, p1 = np.array([0.5, 0.5, 0.0]), np.array([0.2, 0.3, 0.5])
    utility = FDivergence(p0, p1, f=jeffreys)
    assert utility.divergence() == math.inf
    optimum = optimal_ldp(utility, 1.0)
    both = [FDivergence(*pair)(optimum.channel) for pair in ((p0, p1), (p1, p0))]
    assert optimum.value == pytest.approx(sum(both), rel=1e-10)
    check(utility, 1.0, optimum)


# --- degenerate inputs and errors -------------------------------------------------------------------------

POINT, OTHER = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])


@pytest.mark.parametrize("epsilon", [0.0, 1e-3, 0.01, 1.0, 30.0, 100.0])
@pytest.mark.parametrize("kind", KINDS)
def test_point_masses_and_equal_distributions(kind, epsilon):
    nothing = optimal_ldp(FDivergence(POINT, POINT, kind), epsilon)
    assert (nothing.value, nothing.upper_bound) == (0.0, pytest.approx(0.0, abs=2e-12))
    p = np.array([0.2, 0.3, 0.5])
    assert optimal_ldp(FDivergence(p, p, kind), epsilon).value == 0.0
    # Two point masses: binary on {0}, {2}, whatever the third input does.
    optimum = optimal_ldp(FDivergence(POINT, OTHER, kind), epsilon)
    expected = f_divergence(*randomized_response(2, epsilon).matrix, GENERATORS[kind])
    assert optimum.value == pytest.approx(expected, rel=1e-9, abs=1e-15)
    assert optimum.gap <= 1e-9
    assert optimal_ldp(MutualInformation(POINT), epsilon).value == pytest.approx(0.0, abs=1e-15)


def test_different_supports():
    utility = FDivergence([0.5, 0.5, 0.0], [0.0, 0.5, 0.5])
    assert utility.divergence() == math.inf
    optimum = optimal_ldp(utility, 2.0)
    assert optimum.value == pytest.approx(staircase_lp(utility, 2.0), rel=1e-9)
    # Nearly unlimited: D grows like P0(not in supp P1) times epsilon.
    assert optimal_ldp(utility, 30.0).value == pytest.approx(0.5 * 30, rel=0.1)
    assert FDivergence([0.5, 0.5, 0.0], [0.0, 0.5, 0.5], "hellinger").divergence() == pytest.approx(0.5)
    assert FDivergence([0.5, 0.5, 0.0], [0.0, 0.5, 0.5], "tv").divergence() == pytest.approx(0.5)


@pytest.mark.parametrize("kind", ["mi", *KINDS])
def test_large_and_small_epsilon(kind):
    rng = np.random.default_rng(8)
    for k in (2, 3, 6, 12):
        utility = random_utility(rng, k, kind)
        free = utility(Channel(np.eye(k)))
        for epsilon in (30.0, 100.0, 300.0):
            optimum = optimal_ldp(utility, epsilon)
            assert optimum.value == pytest.approx(free, rel=1e-3)
            assert optimum.value <= optimum.upper_bound <= free * (1 + 1e-9) + 2e-12
        zero = optimal_ldp(utility, 0.0)
        assert (zero.value, zero.upper_bound) == (0.0, pytest.approx(0.0, abs=2e-12))
        for epsilon in (1e-3, 0.01):
            check(utility, epsilon, optimal_ldp(utility, epsilon))


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(0.01, 20.0), st.sampled_from([*KINDS, "mi"]))
@example(0.0, 2.0**-24, 9.0, "tv")
@settings(max_examples=60, deadline=None)
def test_two_inputs_are_solved_by_randomized_response(a, b, epsilon, kind):
    assume(a == b or abs(a - b) > 1e-12)
    p0, p1 = np.array([a, 1 - a]), np.array([b, 1 - b])
    utility = MutualInformation(p0) if kind == "mi" else FDivergence(p0, p1, kind)
    expected = utility(randomized_response(2, epsilon))
    optimum = optimal_ldp(utility, epsilon)
    assert optimum.value == pytest.approx(expected, rel=1e-9, abs=1e-14)
    assert optimum.gap <= 1e-9


@pytest.mark.parametrize("rare", [0.0, 2.2250738585072014e-308, 1e-200, 1e-30])
@pytest.mark.parametrize("epsilon", [18.0, 19.0, 20.0])
def test_an_input_that_hardly_ever_occurs(rare, epsilon):
    """The rows of the LP span e^(2 epsilon), and scaling hides that one of them is not met."""
    utility = MutualInformation(np.array([rare, 1.0 - rare]))
    optimum = optimal_ldp(utility, epsilon)
    assert optimum.value == pytest.approx(utility(randomized_response(2, epsilon)), rel=1e-9, abs=1e-14)
