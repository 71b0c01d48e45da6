import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import renyi_divergence
from ldpfrontier.model.privacy import rldp_epsilon
from ldpfrontier.promises.robust import optimal_robust
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from oracles.renyi_duality import largest_mean, least_mean

COUNTS = np.array([[7, 10], [26, 57]])
SPARSE = np.array([[3, 5, 0, 2], [4, 1, 7, 9], [9, 8, 3, 0]])
ORDERS = [0.5, 1.0, 2.0, 3.0]

seeds = st.integers(0, 2**32 - 1)
orders = st.sampled_from([0.3, *ORDERS])


def random_ball(rng, a1=3, a2=4, order=2.0, n=200):
    p = rng.dirichlet(np.full(a1 * a2, 0.7))
    return RenyiBall.confidence(rng.multinomial(n, p).reshape(a1, a2), order=order)


def conditionals(P):
    p = P.sum(axis=-1, keepdims=True)
    return np.divide(P, p, out=np.zeros_like(P), where=p > 0)


def test_worked_example_of_the_paper():
    """lopuhaa2024, Examples 1, 2, by Theorem 1 and Proposition 1 (the printed B_s do not follow them)."""
    ball = RenyiBall.confidence(COUNTS)
    assert ball.radius == pytest.approx(math.log(1 + chi2.ppf(0.95, 3) / 100), abs=1e-15)
    assert round(ball.radius, 5) == 0.07524
    assert round(float(ball.divergence([[0.1, 0.1], [0.2, 0.6]])), 4) == 0.0281
    assert ball.projected_radii.round(5).tolist() == [0.40673, 0.09031]
    assert ball.lower_bounds.round(4).tolist() == [[0.1552, 0.2727], [0.1921, 0.5334]]
    ends = ball.conditionals - ball.lower_bounds
    assert ball.radii == pytest.approx(2 * ends.max(axis=1))
    printed = np.log1p(np.expm1(ball.radius) / ball.sensitive)
    assert printed.round(4).tolist() == [0.3782, 0.09]


def test_confidence_radius():
    n, c = 100, chi2.ppf(0.95, 3)
    assert RenyiBall.confidence(COUNTS, order=1).radius == pytest.approx(c / (2 * n))
    for order in (0.5, 0.999999, 1.000001, 3.0):
        ball = RenyiBall.confidence(COUNTS, order=order)
        assert ball.radius == pytest.approx(math.log(1 + order * (order - 1) * c / (2 * n)) / (order - 1))
    big = 10**8
    for order in ORDERS:
        large = RenyiBall.confidence(COUNTS * big, order=order)
        assert large.radius == pytest.approx(order * c / (2 * n * big), rel=1e-6)
    assert RenyiBall.confidence(np.eye(2, 8), order=0.5).radius == math.inf
    assert RenyiBall.confidence([[4]]).radius == 0.0
    weighted = RenyiBall.confidence(0.37 * COUNTS, order=1, effective=12.5)
    assert weighted.radius == pytest.approx(c / 25)
    assert weighted.centre == pytest.approx(COUNTS / n)


@pytest.mark.parametrize("order", [0.5, 1.0, 2.0, 3.0])
def test_confidence_set_covers(order):
    rng = np.random.default_rng(3)
    p = np.array([[0.1, 0.15], [0.25, 0.5]])
    tables = rng.multinomial(2000, p.ravel(), size=400).reshape(-1, 2, 2)
    inside = [bool(RenyiBall.confidence(t, order=order).contains(p)) for t in tables]
    assert np.mean(inside) == pytest.approx(0.95, abs=0.035)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("counts", [COUNTS, SPARSE])
def test_projections_theorem_1(order, counts, long):
    """lopuhaa2024, Theorem 1: members of F project inside, and the bound is attained."""
    rng = np.random.default_rng(11)
    ball = RenyiBall.confidence(counts, order=order)
    P = ball.sample(rng, 3000 if long else 300)
    assert ball.contains(P).all()
    R = conditionals(P)
    for s, B in enumerate(ball.projected_radii):
        D = [renyi_divergence(ball.conditionals[s], r, order) for r in R[:, s]]
        assert max(D) <= B + 1e-9
        assert max(D) >= B - 1e-9


@given(seeds, orders)
@settings(max_examples=6, deadline=None)
def test_budget_condition(seed, order):
    """Conditionals belong to a member of F exactly if sum_s p_s k(D_s) <= k(B)."""
    rng = np.random.default_rng(seed)
    ball = random_ball(rng, order=order, n=60)
    g = (order - 1) / order

    def k(D):
        return np.expm1(g * D) / g if g else D

    P = ball.sample(rng, 40)
    P[::2] = 0.7 * P[::2] + 0.3 * ball.centre
    p = ball.sensitive
    for R in conditionals(P):
        D = np.array(
            [
                renyi_divergence(c, r, order) if w else 0.0
                for c, r, w in zip(ball.conditionals, R, p, strict=True)
            ]
        )
        assert p @ k(D) <= k(ball.radius) + 1e-9
        # And the distribution of S that attains it.
        q = p * np.exp(g * D)
        best = (q / q.sum())[:, None] * R
        least = np.log(q.sum()) / g if g else p @ D
        assert float(ball.divergence(best)) == pytest.approx(least, abs=1e-9)
        for _ in range(5):
            rival = rng.dirichlet(np.ones(3))[:, None] * R
            rival /= rival.sum()  # a group may be empty
            assert float(ball.divergence(rival)) >= least - 1e-9


@given(seeds, orders)
@settings(max_examples=6, deadline=None)
def test_lower_bounds_and_radii_hold_over_the_ball(seed, order):
    """lopuhaa2024, Propositions 1 and 2, against random members of F."""
    rng = np.random.default_rng(seed)
    ball = random_ball(rng, order=order)
    R = conditionals(ball.sample(rng, 300))
    filled = ball.sensitive > 0
    assert (R[:, filled] >= ball.lower_bounds[filled] - 1e-9).all()
    l1 = np.abs(R - ball.conditionals).sum(axis=2)
    assert (l1[:, filled] <= ball.radii[filled] + 1e-9).all()
    assert (ball.radii <= ball.radius_bounds + 1e-12).all()
    assert (ball.lower_bounds[ball.centre == 0] == 0).all()


@pytest.mark.parametrize("order", ORDERS)
def test_lower_bounds_are_those_of_the_general_solver(order):
    """And in order 2 those of the closed form."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        ball = random_ball(rng, 2, 5, order, int(rng.integers(20, 50000)))
        for s in np.flatnonzero(ball.sensitive):
            least, largest = ball.support(int(s), np.eye(5))
            assert least == pytest.approx(ball.lower_bounds[s], abs=1e-12)
            if order == 2.0:
                r, b = ball.conditionals[s], math.exp(ball.projected_radii[s])
                root = np.sqrt((b - 1) * (b - (2 * r - 1) ** 2))
                assert least == pytest.approx((b + 2 * r - 1 - root) / (2 * b), abs=1e-12)
                assert largest == pytest.approx((b + 2 * r - 1 + root) / (2 * b), abs=1e-12)


@pytest.mark.parametrize("order", [0.5, 1.0, 2.0, 3.0])
def test_radii_are_the_best_of_all_subsets(order):
    rng = np.random.default_rng(4)
    for n in (15, 100, 3000):
        ball = random_ball(rng, 2, 5, order, n)
        patterns = np.array(list(itertools.product([0.0, 1.0], repeat=5)))[1:]
        for s in np.flatnonzero(ball.sensitive):
            largest = ball.support(int(s), patterns)[1]
            direct = 2 * (largest - patterns @ ball.conditionals[s]).max()
            assert ball.radii[s] == pytest.approx(direct, abs=1e-10)


def test_many_other_values_use_the_relaxation():
    rng = np.random.default_rng(8)
    counts = rng.multinomial(5000, rng.dirichlet(np.ones(60))).reshape(3, 20)
    ball = RenyiBall.confidence(counts)
    pieces = [np.cumsum(np.eye(20)[rng.permutation(20)], axis=0) for _ in range(100)]
    for s in range(3):
        q = np.concatenate(pieces)
        found = 2 * (ball.support(s, q)[1] - q @ ball.conditionals[s]).max()
        assert found <= ball.radii[s] + 1e-12 <= ball.radius_bounds[s] + 2e-12
        assert found == pytest.approx(ball.radii[s], rel=1e-2)


@given(seeds, orders, st.integers(0, 2))
@settings(max_examples=60, deadline=None)
def test_support_is_that_of_weak_duality(seed, order, missing):
    """Mass moves to letters that never occur exactly when that is best."""
    rng = np.random.default_rng(seed)
    r, q = rng.dirichlet(np.ones(5)), rng.normal(size=5)
    r[rng.permutation(5)[:missing]] = 0.0
    ball = RenyiBall(r[None] / r.sum(), float(rng.choice([1e-3, 0.03, 0.3, 2.0])), order)
    least, largest = ball.support(0, q[None])
    assert least == pytest.approx(least_mean(ball.conditionals, q, ball.radius, order)[0], abs=1e-10)
    assert largest == pytest.approx(largest_mean(ball.conditionals, q, ball.radius, order)[0], abs=1e-10)


@given(seeds, orders)
@settings(max_examples=10, deadline=None)
def test_support_bounds_members_and_is_monotone_in_the_radius(seed, order):
    rng = np.random.default_rng(seed)
    ball = random_ball(rng, 2, 4, order, n=40)
    wider = RenyiBall(ball.centre, 1.5 * ball.radius, order)
    q = rng.normal(size=(6, 4))
    R = conditionals(ball.sample(rng, 200))
    for s in np.flatnonzero(ball.sensitive):
        least, largest = ball.support(int(s), q)
        values = R[:, s] @ q.T
        assert (values >= least - 1e-10).all()
        assert (values <= largest + 1e-10).all()
        shifted = ball.support(int(s), 3 * q - 2)
        assert shifted[0] == pytest.approx(3 * least - 2, abs=1e-11)
        assert shifted[1] == pytest.approx(3 * largest - 2, abs=1e-11)
        assert (wider.support(int(s), q)[0] <= least + 1e-12).all()


@given(seeds, orders)
@settings(max_examples=6, deadline=None)
def test_worst_case_epsilon_bounds_members(seed, order):
    rng = np.random.default_rng(seed)
    ball = random_ball(rng, order=order)
    channel = Channel(rng.dirichlet(np.ones(4), size=12))
    worst = ball.worst_case_epsilon(channel)
    assert float(rldp_epsilon(channel, conditionals(ball.sample(rng, 300))).max()) <= worst + 1e-9
    assert worst <= ball.projected_epsilon(channel) + 1e-9
    post = Channel(rng.dirichlet(np.ones(3), size=4))
    assert ball.worst_case_epsilon(Channel(channel.matrix @ post.matrix)) <= worst + 1e-9
    s, u = rng.permutation(3), rng.permutation(4)
    shuffled = Channel(channel.matrix.reshape(3, 4, 4)[s][:, u].reshape(12, 4))
    moved = RenyiBall(ball.centre[s][:, u], ball.radius, order)
    assert moved.worst_case_epsilon(shuffled) == pytest.approx(worst, rel=1e-7, abs=1e-9)


def test_known_distribution():
    ball = RenyiBall(COUNTS / 100, 0.0)
    rng = np.random.default_rng(1)
    channel = Channel(rng.dirichlet(np.ones(3), size=4))
    realized = float(rldp_epsilon(channel, ball.conditionals))
    assert ball.worst_case_epsilon(channel) == pytest.approx(realized)
    assert ball.projected_epsilon(channel) == pytest.approx(realized)
    assert ball.lower_bounds == pytest.approx(ball.conditionals)
    assert ball.radii == pytest.approx([0.0, 0.0])
    assert ball.sample(rng, 5) == pytest.approx(np.repeat(ball.centre[None], 5, axis=0))


@pytest.mark.parametrize("order", ORDERS)
def test_whole_simplex(order):
    ball = RenyiBall(COUNTS / 100, math.inf, order)
    channel = Channel([[0.5, 0.5], [0.4, 0.6], [0.1, 0.9], [0.2, 0.8]])
    assert ball.worst_case_epsilon(channel) == pytest.approx(math.log(5))
    assert ball.projected_epsilon(channel) == pytest.approx(math.log(5))
    assert (ball.lower_bounds == 0).all()
    assert ball.radii == pytest.approx(2 * (1 - ball.conditionals.min(axis=1)))
    P = ball.sample(np.random.default_rng(0), 50)
    assert P.sum(axis=(1, 2)) == pytest.approx(np.ones(50))
    identity = Channel(np.eye(4))
    assert ball.worst_case_epsilon(identity) == math.inf


@pytest.mark.parametrize("order", [0.3, *ORDERS])
def test_empty_group(order):
    ball = RenyiBall.confidence([[30, 20], [0, 0], [10, 40]], order=order)
    assert ball.conditionals[1].tolist() == [0.0, 0.0]
    assert ball.projected_radii[1] == math.inf
    assert ball.lower_bounds[1].tolist() == [0.0, 0.0]
    assert ball.radii[1] == ball.radius_bounds[1] == 2.0
    assert [float(v[0]) for v in ball.support(1, [[0.2, 0.7]])] == pytest.approx([0.2, 0.7])
    rng = np.random.default_rng(0)
    channel = Channel(rng.dirichlet(np.ones(3), size=6))
    P = ball.sample(rng, 100)
    P[:, 1] = 1e-9 * rng.dirichlet([0.1, 0.1], size=100)
    P /= P.sum(axis=(1, 2), keepdims=True)
    worst = ball.worst_case_epsilon(channel)
    assert float(rldp_epsilon(channel, conditionals(P)).max()) <= worst + 1e-6
    # The empty group is free, so the others may have the whole budget against it.
    Q = channel.matrix.reshape(3, 2, 3)
    for s in (0, 2):
        least, largest = ball.support(s, Q[s].T)
        assert worst >= float(np.log(Q[1].max(axis=0) / least).max()) - 1e-9
        assert worst >= float(np.log(largest / Q[1].min(axis=0)).max()) - 1e-9


def test_the_layout_of_a_table_in_memory_does_not_matter():
    """Sums are rounded by it, and a limited search may end elsewhere: of pandas, tables are column-major."""
    counts = np.random.default_rng(0).integers(1, 99, (15, 16))
    by_rows, by_columns = (RenyiBall.confidence(np.array(counts, order=order)) for order in "CF")
    for name in ("centre", "conditionals", "sensitive", "lower_bounds", "projected_radii"):
        assert (getattr(by_rows, name) == getattr(by_columns, name)).all()
    small = (RenyiBall.confidence(np.array(counts[:3, :4], order=order)) for order in "CF")
    first, second = (optimal_robust(ball, 1.0).channel.matrix for ball in small)
    assert (first == second).all()


@pytest.mark.parametrize("order", ORDERS)
def test_single_values(order):
    one_group = RenyiBall.confidence([[3, 4, 5]], order=order)
    channel = Channel(np.eye(3))
    assert one_group.projected_radii == pytest.approx([one_group.radius])
    assert one_group.worst_case_epsilon(channel) == 0.0
    assert one_group.projected_epsilon(channel) == 0.0
    one_value = RenyiBall.confidence([[3], [4]], order=order)
    assert one_value.lower_bounds == pytest.approx(np.ones((2, 1)))
    assert one_value.radii == pytest.approx([0, 0], abs=1e-12)
    two = Channel([[0.75, 0.25], [0.25, 0.75]])
    assert one_value.worst_case_epsilon(two) == pytest.approx(math.log(3))
    for ball in (one_group, one_value):
        assert ball.contains(ball.sample(np.random.default_rng(0), 20)).all()
