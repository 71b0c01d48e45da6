import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize_scalar

from ldpfrontier.channel import Channel
from ldpfrontier.independent_reporting import independent_reporting
from ldpfrontier.information import mutual_information
from ldpfrontier.mechanisms import (
    balanced_set,
    binary_mechanism,
    geometric_mechanism,
    quaternary_mechanism,
    randomized_response,
    secret_randomized_response,
)
from ldpfrontier.optimum import Intractable
from ldpfrontier.privacy import delta_at, ldp_epsilon, rldp_epsilon
from ldpfrontier.renyi_ball import RenyiBall
from ldpfrontier.utility import FDivergence, MutualInformation

TRUE = np.array([[0.1, 0.1], [0.2, 0.6]])
COUNTS = np.array([[7, 10], [26, 57]])
LOG2 = math.log(2)

seeds = st.integers(0, 2**32 - 1)


@given(st.integers(1, 30), st.floats(0, 60))
def test_randomized_response(k, epsilon):
    channel = randomized_response(k, epsilon)
    np.testing.assert_allclose(channel.matrix.sum(axis=1), 1.0, rtol=1e-14)
    assert ldp_epsilon(channel) == pytest.approx(epsilon if k > 1 else 0.0, abs=1e-12)


def test_randomized_response_at_the_ends():
    assert randomized_response(4, 0.0).matrix == pytest.approx(np.full((4, 4), 0.25))
    assert np.array_equal(randomized_response(3, 5000.0).matrix, np.eye(3))


@given(st.integers(1, 5), st.integers(1, 5), st.floats(0, 20))
def test_secret_randomized_response(a1, a2, epsilon):
    channel = secret_randomized_response(a1, a2, epsilon)
    a, e = a1 * a2, math.exp(epsilon)
    scale = e + (a2 - 1) / e + a - a2
    Q = channel.matrix.reshape(a1, a2, a1, a2)
    for s in range(a1):
        for u in range(a2):
            expected = np.ones((a1, a2))
            expected[s] = 1 / e
            expected[s, u] = e
            assert Q[s, u] == pytest.approx(expected / scale, rel=1e-12)
    # Every distribution of (S, U): the ball of infinite radius.
    level = RenyiBall(np.full((a1, a2), 1 / a), math.inf).projected_epsilon(channel)
    assert level == pytest.approx(epsilon if a1 > 1 else 0.0, abs=1e-11)


def test_worked_example_of_the_paper():
    """lopuhaa2024, Example 4, to the printed digits."""
    P_hat = COUNTS / 100
    grr, srr = randomized_response(4, LOG2), secret_randomized_response(2, 2, LOG2)
    assert grr.matrix[0] == pytest.approx([0.4, 0.2, 0.2, 0.2])
    assert srr.matrix[0] == pytest.approx([4 / 9, 1 / 9, 2 / 9, 2 / 9])
    values = [mutual_information(p, channel) for channel in (grr, srr) for p in (P_hat, TRUE)]
    assert np.round(values, 4).tolist() == [0.0419, 0.0412, 0.1005, 0.0942]
    assert np.round(values, 5).tolist() == [0.04193, 0.04116, 0.10046, 0.09420]


def test_independent_reporting_on_the_worked_example():
    """lopuhaa2024, Example 5: the printed d, I and eps_2 follow from the radii of Theorem 1."""
    report = independent_reporting(RenyiBall.confidence(COUNTS), LOG2)
    assert round(report.distance, 4) == 1.4591
    assert report.epsilon_2 == LOG2
    assert report.epsilon_1 == 0.0
    assert round(report.information, 4) == 0.0755
    assert round(mutual_information(TRUE, report.channel), 4) == 0.0718
    assert report.channel.matrix[0].round(4) == pytest.approx([0.3517, 0.1483, 0.3517, 0.1483])
    tight = independent_reporting(RenyiBall.confidence(COUNTS), LOG2, distance="tight")
    assert tight.distance == pytest.approx(1.134802, abs=1e-6)
    assert tight.information == pytest.approx(0.101388, abs=1e-6)


def table(rng, a1=3, a2=4, dependence=0.3, n=3000):
    p, q = rng.dirichlet(np.full(a1, 3)), rng.dirichlet(np.full(a2, 3))
    joint = (1 - dependence) * np.outer(p, q) + dependence * rng.dirichlet(np.ones(a1 * a2)).reshape(a1, a2)
    return rng.multinomial(n, joint.ravel()).reshape(a1, a2)


@given(seeds, st.floats(0.01, 5), st.sampled_from(["published", "tight"]), st.floats(0.0, 1.0))
@settings(max_examples=30, deadline=None)
def test_independent_reporting_is_the_best_split(seed, epsilon, distance, dependence):
    ball = RenyiBall.confidence(table(np.random.default_rng(seed), dependence=dependence))
    report = independent_reporting(ball, epsilon, distance)
    assert report.epsilon_1 + report.epsilon_2 == pytest.approx(epsilon)
    assert report.delta_2 == pytest.approx(math.log(1 + 2 * math.expm1(report.epsilon_2) / report.distance))
    assert report.information == pytest.approx(mutual_information(ball.centre, report.channel), rel=1e-10)

    def loss(x):
        delta = math.log1p(2 * math.expm1(x) / report.distance)
        channel = randomized_response(3, epsilon - x).kron(randomized_response(4, delta))
        return -mutual_information(ball.centre, channel)

    cuts = np.linspace(0, epsilon, 9)
    rivals = [minimize_scalar(loss, bounds=c, method="bounded").fun for c in itertools.pairwise(cuts)]
    rivals += [loss(0.0), loss(epsilon)]
    assert report.information >= -min(rivals) * (1 - 1e-9)


@given(seeds)
@settings(max_examples=15, deadline=None)
def test_independent_reporting_grows_with_epsilon_and_with_a_tighter_distance(seed):
    ball = RenyiBall.confidence(table(np.random.default_rng(seed)))
    levels = [0.0, 0.1, 0.5, 1.0, 2.0, 4.0]
    published = [independent_reporting(ball, e) for e in levels]
    tight = [independent_reporting(ball, e, "tight") for e in levels]
    assert published[0].information == 0.0
    assert (np.diff([r.information for r in published]) >= 0).all()
    for wide, narrow in zip(published, tight, strict=True):
        assert narrow.distance <= wide.distance
        assert narrow.information >= wide.information * (1 - 1e-12)


@pytest.mark.parametrize("order", [0.5, 1.0, 2.0, 3.0])
@pytest.mark.parametrize("distance", ["published", "tight"])
def test_reports_are_private_over_the_whole_ball(order, distance):
    """lopuhaa2024, Theorem 5, Lemma 2 and plain LDP, maximized over F itself."""
    rng = np.random.default_rng(5)
    for dependence, epsilon in [(0.05, 0.3), (0.3, 1.0), (0.8, 2.0)]:
        ball = RenyiBall.confidence(table(rng, dependence=dependence), order=order)
        P = ball.sample(rng, 1000)
        conditionals = P / P.sum(axis=2, keepdims=True)
        channels = [
            independent_reporting(ball, epsilon, distance).channel,
            secret_randomized_response(3, 4, epsilon),
            randomized_response(12, epsilon),
        ]
        for channel in channels:
            seen = float(rldp_epsilon(channel, conditionals).max())
            worst, projected = ball.worst_case_epsilon(channel), ball.projected_epsilon(channel)
            assert seen <= worst + 1e-9 <= projected + 2e-9
            assert projected <= epsilon + 1e-9
            assert worst > 0


def test_known_independent_data_is_released_exactly():
    ball = RenyiBall(np.outer([0.25, 0.75], [0.5, 0.25, 0.25]), 0.0)
    report = independent_reporting(ball, 1.0)
    assert report.distance == 0.0
    assert report.delta_2 == math.inf
    assert report.epsilon_1 == 1.0
    assert ball.worst_case_epsilon(report.channel) == pytest.approx(1.0)
    assert report.information == pytest.approx(mutual_information(ball.centre, report.channel))


@pytest.mark.parametrize("counts", [[[3, 4, 5]], [[3], [4]], [[1]], [[3, 4], [0, 0]], [[1, 0], [0, 1]]])
@pytest.mark.parametrize("distance", ["published", "tight"])
def test_independent_reporting_of_small_and_degenerate_tables(counts, distance):
    ball = RenyiBall.confidence(counts)
    report = independent_reporting(ball, 0.7, distance)
    assert ball.projected_epsilon(report.channel) <= 0.7 + 1e-12
    assert report.information == pytest.approx(mutual_information(ball.centre, report.channel), abs=1e-14)


def test_independent_reporting_at_a_given_prior():
    ball = RenyiBall.confidence(COUNTS)
    prior = np.array([[0.5, 0.0], [0.3, 0.2]])
    report = independent_reporting(ball, 1.5, prior=prior)
    assert report.information == pytest.approx(mutual_information(prior, report.channel))
    large = independent_reporting(ball, 800.0)
    assert isinstance(large.channel, Channel)
    assert math.isfinite(large.delta_2)


@pytest.mark.parametrize("epsilon", [-0.1, math.nan, math.inf])
def test_epsilon_must_be_finite_and_not_negative(epsilon):
    ball = RenyiBall.confidence(COUNTS)
    for call in (
        lambda: randomized_response(3, epsilon),
        lambda: secret_randomized_response(2, 2, epsilon),
        lambda: independent_reporting(ball, epsilon),
    ):
        with pytest.raises(ValueError, match=f"epsilon is {epsilon}; it must be a finite number"):
            call()


def test_other_errors():
    with pytest.raises(ValueError, match="k is 0; an alphabet"):
        randomized_response(0, 1.0)
    with pytest.raises(ValueError, match="a2 is 0; an alphabet"):
        secret_randomized_response(1, 0, 1.0)
    ball = RenyiBall.confidence(COUNTS)
    with pytest.raises(ValueError, match="distance is 'exact'; allowed are"):
        independent_reporting(ball, 1.0, "exact")
    with pytest.raises(ValueError, match=r"The prior has shape \(4,\)"):
        independent_reporting(ball, 1.0, prior=np.full(4, 0.25))


# --- kairouz2016 ------------------------------------------------------------------------------------------


@given(seeds, st.integers(1, 12), st.sampled_from([0.1, 1.0, 10.0]))
@settings(deadline=None)
def test_balanced_set_against_all_subsets(seed, k, concentration):
    p = np.random.default_rng(seed).dirichlet(np.full(k, concentration))
    inside = balanced_set(p)
    subsets = np.array(list(itertools.product([0, 1], repeat=k)))
    assert abs(p[inside].sum() - 0.5) <= np.abs(subsets @ p - 0.5).min() + 1e-15


def test_balanced_set_solves_hard_number_partitions():
    rng = np.random.default_rng(0)
    half = rng.integers(1, 2**30, 19).astype(float)
    twin = rng.permutation(half)  # so that a perfect partition exists
    p = np.concatenate([half, twin, [0.0]])
    inside = balanced_set(p / p.sum())
    assert p[inside].sum() == p[~inside].sum()
    with pytest.raises(Intractable, match="41 inputs of positive probability"):
        balanced_set(np.full(41, 1 / 41))


@given(seeds, st.integers(1, 10), st.floats(1e-3, 30), st.booleans())
@settings(deadline=None)
def test_binary_mechanism(seed, k, epsilon, information):
    p0, p1 = np.random.default_rng(seed).dirichlet(np.ones(k), 2)
    utility = MutualInformation(p0) if information else FDivergence(p0, p1)
    channel = binary_mechanism(utility, epsilon)
    assert ldp_epsilon(channel) <= epsilon + 1e-12
    inside = balanced_set(p0) if information else p0 >= p1
    truth = 1 / (1 + math.exp(-epsilon))
    assert channel.matrix[:, 0] == pytest.approx(np.where(inside, truth, 1 - truth))
    assert binary_mechanism(utility, 0.0).matrix == pytest.approx(np.full((k, 2), 0.5))


@given(st.integers(1, 12), st.floats(0, 30))
def test_geometric_mechanism_folds_the_tails(k, epsilon):
    channel = geometric_mechanism(k, epsilon)
    assert ldp_epsilon(channel) == pytest.approx(epsilon if k > 1 else 0.0, abs=1e-12)
    if k > 1 and epsilon > 0.2:
        q = math.exp(-epsilon / (k - 1))
        y = np.arange(-4000, 4000)
        for x in range(k):
            noise = (1 - q) / (1 + q) * q ** np.abs(y - x)
            folded = np.bincount(np.clip(y, 0, k - 1), weights=noise, minlength=k)
            assert channel.matrix[x] == pytest.approx(folded, abs=1e-12)


@given(st.floats(0, 20), st.floats(0, 1))
def test_quaternary_mechanism(epsilon, delta):
    channel = quaternary_mechanism(epsilon, delta)
    assert delta_at(channel, epsilon) == pytest.approx(delta, abs=1e-12)
    lie = 1 / (1 + math.exp(epsilon))
    assert channel.matrix[0] == pytest.approx(
        [delta, 0.0, (1 - delta) * lie, (1 - delta) * (1 - lie)], abs=1e-15
    )
    assert channel.matrix[1] == pytest.approx(channel.matrix[0][[1, 0, 3, 2]])


@given(seeds, st.floats(0, 3))
@settings(max_examples=50, deadline=None)
def test_quaternary_dominates_by_an_explicit_post_processing(seed, epsilon):
    """kairouz2016, Theorem 18: every (eps, delta) mechanism is the quaternary one, processed further."""
    rng = np.random.default_rng(seed)
    channel = Channel(rng.dirichlet(np.full(4, 0.6), 2))
    best = quaternary_mechanism(epsilon, min(delta_at(channel, epsilon) + 1e-10, 1.0))
    outputs = channel.n_outputs
    equal = np.vstack([np.kron(best.matrix, np.eye(outputs)), np.kron(np.eye(4), np.ones(outputs))])
    found = linprog(np.zeros(4 * outputs), A_eq=equal, b_eq=np.append(channel.matrix.ravel(), np.ones(4)))
    assert found.status == 0


def test_errors_of_the_mechanisms_of_kairouz2016():
    with pytest.raises(ValueError, match="k is 0; an alphabet"):
        geometric_mechanism(0, 1.0)
    with pytest.raises(ValueError, match=r"delta is 1\.5; it must be a probability"):
        quaternary_mechanism(1.0, 1.5)
    for call in (
        lambda: geometric_mechanism(3, -1.0),
        lambda: quaternary_mechanism(-1.0, 0.1),
        lambda: binary_mechanism(MutualInformation(np.array([0.5, 0.5])), -1.0),
    ):
        with pytest.raises(ValueError, match=r"epsilon is -1\.0; it must be a finite number"):
            call()
