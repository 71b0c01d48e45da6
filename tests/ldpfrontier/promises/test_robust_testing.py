"""Robust tests: values of another program, a general solver within, and members and mechanisms at random."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize

from ldpfrontier import (
    Channel,
    DivergenceBall,
    FDivergence,
    RenyiBall,
    ldp_epsilon,
    optimal_ldp,
    optimal_robust_test,
    randomized_response,
)
from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.promises.distributed_testing import vertices
from ldpfrontier.promises.robust_testing import least_divergence

P0, P1 = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.3, 0.38, 0.12, 0.2])


@pytest.mark.parametrize(
    ("kind", "epsilon", "radius", "value"),
    [
        ("kl", 0.5, 0.02, 0.004333),
        ("kl", 1.0, 0.05, 0.007225),
        ("kl", 3.0, 0.02, 0.062316),
        ("kl", 3.0, 0.05, 0.027795),
        ("tv", 0.5, 0.02, 0.046535),
        ("tv", 3.0, 0.05, 0.117669),
    ],
)
def test_values_of_another_program(kind: str, epsilon: float, radius: float, value: float) -> None:
    null, other = DivergenceBall(P0, radius), DivergenceBall(P1, radius)
    found = optimal_robust_test(null, other, epsilon, kind)
    assert found.value == pytest.approx(value, abs=6e-7)
    assert found.bound == pytest.approx(value, abs=6e-7)
    assert found.status == "optimal"


def test_the_mechanism_of_the_centres_need_not_be_the_best() -> None:
    """As of another program."""
    null, other = DivergenceBall(P0, 0.05), DivergenceBall(P1, 0.05)
    centres = optimal_ldp(FDivergence(P0, P1), 3.0).channel
    assert least_divergence(centres, null, other)[0] == pytest.approx(0.025616, abs=6e-7)


@pytest.mark.parametrize("kind", ["kl", "chi2", "hellinger"])
def test_the_least_divergence_is_that_of_a_general_solver(kind: str) -> None:
    radius, channel = 0.02, randomized_response(4, 1.0)
    null, other = (DivergenceBall(p, radius, "chi2") for p in (P0, P1))

    def divergence(x: FloatArray) -> float:
        pair = np.abs(x.reshape(2, 4))
        pair /= pair.sum(axis=1, keepdims=True)
        return FDivergence(*pair, kind=kind)(channel)

    found = minimize(
        divergence,
        np.append(P0, P1),
        method="SLSQP",
        constraints=[
            {"type": "eq", "fun": lambda x: x.reshape(2, 4).sum(axis=1) - 1.0},
            {"type": "ineq", "fun": lambda x: radius - ((x[:4] - P0) ** 2 / P0).sum()},
            {"type": "ineq", "fun": lambda x: radius - ((x[4:] - P1) ** 2 / P1).sum()},
        ],
        options={"ftol": 1e-15, "maxiter": 500},
    )
    least, pair = least_divergence(channel, null, other, kind)
    assert least == pytest.approx(found.fun, rel=1e-4)
    assert least <= FDivergence(*pair, kind=kind)(channel) <= least * (1.0 + 1e-6)


def members(given_: object, rng: np.random.Generator, count: int) -> FloatArray:
    """Draw members of a class."""
    if isinstance(given_, RenyiBall):
        return given_.sample(rng, count).reshape(count, -1)
    if isinstance(given_, DivergenceBall):
        ends = rng.dirichlet(np.ones(given_.centre.size), size=count)
        step = ends - given_.centre
        if given_.kind == "tv":
            reach = given_.radius / (np.abs(step).sum(axis=1) / 2)
        else:
            reach = np.sqrt(given_.radius / (step**2 / given_.centre).sum(axis=1))
        return given_.centre + np.minimum(reach, 1.0)[:, None] * step
    rows = np.atleast_2d(given_)
    return rng.dirichlet(np.ones(len(rows)), size=count) @ rows


@settings(max_examples=15, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(2, 4),
    st.sampled_from(["kl", "tv", "chi2", "hellinger"]),
    st.floats(0.05, 4.0),
)
def test_no_member_has_less_and_no_mechanism_more(seed: int, k: int, kind: str, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.ones(k), size=2) * 0.98 + 0.02 / k
    kinds = [
        lambda c: DivergenceBall(c, 0.02),
        lambda c: DivergenceBall(c, 0.03, "chi2"),
        lambda c: RenyiBall([c], 0.01, 1.0),
        lambda c: 0.9 * c + 0.1 * np.eye(k)[:2],
        lambda c: c,
    ]
    null, other = kinds[seed % 5](p), kinds[seed // 5 % 5](q)
    found = optimal_robust_test(null, other, epsilon, kind, tolerance=1e-3)
    assert ldp_epsilon(found.channel) <= epsilon * (1.0 + 1e-12) + 1e-14
    drawn = np.stack([members(each, rng, 50) for each in (null, other)], axis=1)
    small = 1e-12 * max(found.bound, 1.0)
    for pair in drawn:
        assert found.value <= FDivergence(*pair, kind=kind)(found.channel) + small
    every = vertices(k, epsilon)
    for _ in range(3):  # by lot
        shares = rng.dirichlet(np.full(len(every), 0.3))
        channel = Channel(np.hstack([w * each.matrix for w, each in zip(shares, every, strict=True)]))
        least, worst = least_divergence(channel, null, other, kind, 1e-3)
        assert least <= found.bound + small
        assert least <= FDivergence(*worst, kind=kind)(channel) + small


@pytest.mark.parametrize("kind", ["kl", "tv", "chi2", "hellinger"])
def test_the_pair_of_huber_is_least_favourable_under_privacy_too(kind: str) -> None:
    """Statement 16 (b), (c): its likelihood ratio is clipped, whatever f and epsilon are."""
    rng = np.random.default_rng(0)
    for k, epsilon in ((2, 0.3), (4, 1.0), (5, 4.0)):
        p, q = rng.dirichlet(np.ones(k), size=2)
        distance = np.abs(p - q).sum() / 2
        radius = 0.3 * distance
        both = p + q
        low = brentq(lambda a, p=p, s=both, r=radius: np.maximum(p - s / (1 + a), 0).sum() - r, 1e-9, 1)
        high = brentq(lambda b, p=p, s=both, r=radius: np.maximum(s / (1 + b) - p, 0).sum() - r, 1, 1e9)
        pair = np.clip(p, both / (1 + high), both / (1 + low))
        best = optimal_ldp(FDivergence(pair, both - pair, kind=kind), epsilon)
        found = optimal_robust_test(DivergenceBall(p, radius), DivergenceBall(q, radius), epsilon, kind)
        assert found.value == pytest.approx(best.value, rel=2e-6)
        if kind == "tv":
            share = np.expm1(epsilon) / (np.exp(epsilon) + 1)
            assert found.value == pytest.approx(share * (distance - 2 * radius), rel=2e-6)


def test_one_distribution_each_is_the_test_of_kairouz2016() -> None:
    for kind in ("kl", "tv"):
        found = optimal_robust_test(P0, P1, 1.0, kind)
        assert found.value == pytest.approx(optimal_ldp(FDivergence(P0, P1, kind=kind), 1.0).value, rel=1e-6)
        assert np.array_equal(found.pair, [P0, P1])


def test_classes_that_meet_cannot_be_told_apart() -> None:
    found = optimal_robust_test([P0, P1], DivergenceBall(0.5 * (P0 + P1), 0.01), 1.0)
    assert 0.0 <= found.value <= found.bound <= 1e-12
    assert optimal_robust_test(P0, P1, 0.0).bound == 0.0


def test_what_is_known_when_the_time_is_up() -> None:
    balls = [DivergenceBall(p, 0.02, "chi2") for p in (P0, P1)]
    best, early = optimal_robust_test(*balls, 1.0), optimal_robust_test(*balls, 1.0, max_seconds=0.0)
    assert early.status == "bounded"
    assert early.value <= best.value <= early.bound


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((P0, P1[:3] / P1[:3].sum(), 1.0), "4 inputs and the alternative 3"),
        ((P0, P1, 1.0, "alpha"), "'alpha'"),
        ((P0, [[[0.5, 0.5]]], 1.0), r"shape \(1, 1, 2\)"),
        ((P0, "P1", 1.0), "alternative"),
        ((P0, P1, -1.0), "epsilon"),
    ],
)
def test_refusals(arguments: tuple, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        optimal_robust_test(*arguments)


def test_more_inputs_than_are_listed_are_refused() -> None:
    uniform = np.full(21, 1 / 21)
    with pytest.raises(Intractable, match="21 inputs"):
        optimal_robust_test(uniform, uniform, 1.0)
