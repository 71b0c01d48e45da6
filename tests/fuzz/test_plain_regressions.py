"""What attacks on the plain half once found, kept."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest

from fuzz.common import assert_above, assert_certified, assert_private, entry_rounding
from ldpfrontier.base.types import Intractable
from ldpfrontier.hamming.dp_leakage import hamming_leakage
from ldpfrontier.hamming.mi_leakage import information_leakage
from ldpfrontier.hypothesis_testing.euclidean import euclidean
from ldpfrontier.hypothesis_testing.leakage import optimal_leakage
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import kl_divergence, mutual_information, renyi_divergence
from ldpfrontier.model.mechanisms import binary_mechanism, randomized_response, secret_randomized_response
from ldpfrontier.model.privacy import ldp_epsilon, log_ratio, rldp_epsilon
from ldpfrontier.model.utility import FDivergence, MutualInformation
from ldpfrontier.promises.ldp import optimal_ldp
from ldpfrontier.promises.nonrobust import optimal_nonrobust
from ldpfrontier.uncertainty.renyi_ball import RenyiBall

PRIOR = [0.0972460672254074, 0.750000387707288, 0.1527535450673046]
SKEWED = [[1 - 1e-9, 1e-9], [1.0, 1e-17], [0.5, 0.5 - 1e-12, 1e-12], [1 - 3e-6, 1e-6, 2e-6], [1.0, 1e-200]]


# Certificates at every scale -----------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 30.0, 50.0, 300.0])
@pytest.mark.parametrize("prior", [PRIOR, *SKEWED], ids=str)
def test_information_is_certified_at_every_scale(prior, epsilon) -> None:
    """An absolute allowance of 1e-12 nats called 6.7e-18 optimal where 9.4e-18 was known."""
    utility = MutualInformation(prior)
    optimum = optimal_ldp(utility, epsilon)
    assert optimum.status == "optimal"
    assert_certified(optimum, 1e-9)
    assert_private(ldp_epsilon(optimum.channel), epsilon)
    for known in (binary_mechanism(utility, epsilon), randomized_response(len(prior), epsilon)):
        assert_above(optimum.bound, utility(known), entry_rounding(epsilon))
    assert optimum.value == pytest.approx(utility(optimum.channel), rel=1e-9 + entry_rounding(epsilon))


@pytest.mark.parametrize("kind", ["kl", "tv", "chi2", "hellinger"])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 30.0, 300.0])
@pytest.mark.parametrize("apart", [0.3, 1e-6, 1e-12])
def test_divergences_are_certified_at_every_scale(kind, epsilon, apart) -> None:
    p0 = np.array([0.2, 0.3, 0.5])
    utility = FDivergence(p0, p0 + apart * np.array([0.5, 0.5, -1.0]), kind)
    optimum = optimal_ldp(utility, epsilon)
    assert optimum.status == "optimal"
    assert_certified(optimum, 1e-9)
    assert optimum.value > 0.0
    assert_private(ldp_epsilon(optimum.channel), epsilon)


@pytest.mark.parametrize("epsilon", [0.17405830704699082, 50.0])
def test_a_generator_of_ones_own_on_nearly_equal_distributions(epsilon) -> None:
    """HiGHS called the program for the prices unbounded."""

    def reverse_kl(t):
        with np.errstate(divide="ignore"):
            return -np.log(t)

    p0 = [9.999000099990002e-05, 0.9999000099990001]
    p1 = [0.00010000057719745311, 0.9998999994228025]
    optimum = optimal_ldp(FDivergence(p0, p1, f=reverse_kl), epsilon)
    # Its digits cancel, and the certificate says so.
    assert optimum.value <= optimum.bound <= optimum.value + 2e-12


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 10.0])
@pytest.mark.parametrize("kind", ["kl", "tv", "chi2", "hellinger"])
def test_an_input_that_never_occurs_behind_one_of_ratio_zero(kind, epsilon) -> None:
    """It made inputs of all ratios one: the bound was less than half of what the binary mechanism has."""
    p0, p1 = np.array([0.0, 0.0, 0.4, 0.6]), np.array([0.25, 0.0, 0.3, 0.45])
    utility = FDivergence(p0, p1, kind)
    optimum = optimal_ldp(utility, epsilon)
    without = optimal_ldp(FDivergence(p0[[0, 2, 3]], p1[[0, 2, 3]], kind), epsilon)
    assert optimum.status == "optimal"
    assert optimum.value == pytest.approx(without.value, rel=1e-9)
    assert_above(optimum.bound, utility(binary_mechanism(utility, epsilon)), entry_rounding(epsilon))


def test_blocks_of_unlikely_inputs_are_summed_by_themselves() -> None:
    """A difference of sums near 1 was 0, and the value 1e70."""
    p = np.array([1.0, 3.4331409442962457e-18])
    utility = FDivergence(p, p - [0.0, 7e-31], "chi2")
    optimum = optimal_ldp(utility, 300.0)
    assert optimum.value <= optimum.bound <= utility.divergence() * (1 + 1e-9)


def test_many_inputs_at_small_epsilon() -> None:
    """The linear program of nearly equal columns gave rows that did not sum to 1."""
    rng = np.random.default_rng(7)
    for concentration in (0.02, 0.3, 1.0):
        utility = MutualInformation(rng.dirichlet(np.full(30, concentration)) * (1 - 3e-15) + 1e-16)
        optimum = optimal_ldp(utility, 1e-3)
        assert_certified(optimum, 1e-9)
        assert_above(optimum.bound, utility(binary_mechanism(utility, 1e-3)), entry_rounding(1e-3))
        assert optimum.value >= 0.9 * optimum.bound or optimum.status == "bounded"


def test_a_revealed_letter_that_hardly_ever_occurs_keeps_the_level() -> None:
    """The intervals of the coupling were differences of sums near 1: 4.6e-6 nats too much were leaked."""
    joint = np.array(
        [
            [1.03359433e-63, 6.62595837e-94, 1.29254328e-48, 2.61404445e-25],
            [3.59478229e-14, 1.42918911e-15, 2.61404445e-25, 1.0],
        ]
    )
    optimum = optimal_nonrobust(joint, 4.0)
    assert_certified(optimum, 1e-9)
    assert_private(float(rldp_epsilon(optimum.channel, joint / joint.sum(axis=1, keepdims=True))), 4.0)
    assert optimum.value == pytest.approx(mutual_information(joint, optimum.channel), rel=1e-9)


@pytest.mark.parametrize("order", [0.5, 0.95, 1.0, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("radius", [1e-14, 1e-12, 1e-10, 1e-3, 1.0])
@pytest.mark.parametrize("least", [0.0, 2.0**-50])
def test_the_largest_mean_of_a_rare_letter_lies_on_the_boundary(order, radius, least) -> None:
    rare = 2.0**-40
    ball = RenyiBall([[1.0 - rare, rare]], radius, order)
    _, largest = ball.support(0, [[least, least + 0.5]])
    m, r, a = Decimal(2) * (Decimal(float(largest[0])) - Decimal(least)), Decimal(rare), Decimal(1 - order)
    pairs = [(r, m), (1 - r, 1 - m)]
    if order == 1:
        divergence = sum(x * (x / y).ln() for x, y in pairs)
    else:
        divergence = -sum(x * (y / x) ** a for x, y in pairs).ln() / a
    assert float(divergence) == pytest.approx(radius, rel=1e-9, abs=0)


class Noisy(MutualInformation):
    """Mutual information whose constant columns are worth what rounding may leave of them."""

    def patterns(self, epsilon):
        z, values = super().patterns(epsilon)
        values[0] = values.max()
        return z, values


def test_the_empty_set_is_in_no_mechanism() -> None:
    prior, constant = [0.25, 0.25, 0.5], Channel(np.ones((3, 1)))
    with np.errstate(all="raise", under="ignore"):
        for utility in (MutualInformation(prior), Noisy(prior)):
            optimum = optimal_ldp(utility, 0.1, start=constant)
            assert_private(ldp_epsilon(optimum.channel), 0.1)
            assert optimum.value == pytest.approx(optimal_ldp(MutualInformation(prior), 0.1).value)


def test_outputs_that_underflow_are_joined_to_others() -> None:
    """One was impossible under one value and possible under another: an infinite level."""
    joint = np.array([[0.1, 0.2], [0.2, 5e-243], [0.1, 0.2], [0.2 - 0.01, 0.01]])
    optimum = optimal_nonrobust(joint, 300.0)
    assert_private(float(rldp_epsilon(optimum.channel, joint / joint.sum(axis=1, keepdims=True))), 300.0)
    assert_certified(optimum, 1e-9)


def test_a_level_is_not_lost_in_logarithms_of_tiny_numbers() -> None:
    assert log_ratio(np.array([1.001e-225]), np.array([1e-225]))[0] == pytest.approx(
        math.log(1.001), rel=1e-13
    )
    assert log_ratio(np.array([1e300]), np.array([1e-300]))[0] == pytest.approx(600 * math.log(10), rel=1e-13)


# Leakage -------------------------------------------------------------------------------------------------


def test_hypotheses_one_of_which_is_far_and_one_near() -> None:
    """The bound was 0 where 2e-25 is possible."""
    near = [0.24392877814152797, 0.24392877813729077, 0.5121424437211811]
    first = [0.24392877813911046, 0.24392877813911046, 0.5121424437217791]
    optimum = optimal_leakage([first, near, [1 / 3] * 3], 0.012285663814654478)
    assert optimum.status == "optimal"
    assert optimum.bound >= 2.137e-25


def test_limits_of_which_one_lets_nothing_through_in_the_approximation() -> None:
    hypotheses = [[5.22462974548168e-140, 1.0], [0.0, 1.0]]
    with np.errstate(all="raise", under="ignore"):
        assert euclidean(hypotheses, 10.0).value >= 0.0


@pytest.mark.parametrize("order", [1 - 1e-13, 1 - 1e-9, 1 + 1e-15, 1 + 1e-10])
def test_orders_near_one_do_not_cancel(order) -> None:
    p, q = np.array([0.2, 0.3, 0.5]), np.array([0.5, 0.25, 0.25])
    assert renyi_divergence(p, q, order) == pytest.approx(kl_divergence(p, q), rel=1e-8)
    near = q + 1e-9 * np.array([1.0, -0.5, -0.5])
    expected = 0.5e-18 * float((np.array([1.0, 0.25, 0.25]) / q).sum())
    assert kl_divergence(near, q) == pytest.approx(expected, rel=1e-6)
    assert renyi_divergence(near, q, order) == pytest.approx(expected, rel=1e-6)
    found = optimal_leakage([[0.2, 0.8], [0.6, 0.4]], 0.1, order=order)
    assert found.value == pytest.approx(optimal_leakage([[0.2, 0.8], [0.6, 0.4]], 0.1).value, rel=1e-5)


@pytest.mark.parametrize(
    "call",
    [
        lambda: information_leakage(np.full((1, 1000), 1e-3), 0.1),
        lambda: hamming_leakage(np.full((1, 1001), 1 / 1001), 0.1),
        lambda: optimal_ldp(MutualInformation(np.full(50_001, 1 / 50_001)), 1.0),
        lambda: optimal_ldp(FDivergence(*np.full((2, 4001), 1 / 4001)), 1.0),
        lambda: optimal_leakage(np.linspace([0.1, 0.9], [0.9, 0.1], 51), 0.1),
        lambda: randomized_response(10_001, 1.0),
        lambda: secret_randomized_response(101, 100, 1.0),
    ],
)
def test_too_large_an_instance_is_refused_at_once(call) -> None:
    """A minute and more is what some of these took."""
    with pytest.raises(Intractable, match=r"at most [\d,]+ .*"):
        call()
