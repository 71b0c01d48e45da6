"""Members with the least mean over classes of distributions, against solvers of the library's users."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

from ldpfrontier import DivergenceBall, RenyiBall
from ldpfrontier.uncertainty.divergence_ball import as_class, least_member


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.floats(1e-4, 2.0))
def test_members_of_total_variation_balls(seed: int, k: int, radius: float) -> None:
    rng = np.random.default_rng(seed)
    centre, q = rng.dirichlet(np.ones(k)), rng.normal(size=k)
    member = DivergenceBall(centre, radius).least_member(q)
    assert member.min() >= 0.0
    assert member.sum() == pytest.approx(1.0, abs=1e-14)
    assert np.abs(member - centre).sum() / 2 <= radius + 1e-14
    # P = centre + up - down, with at most the radius in up.
    found = linprog(
        np.append(q, -q),
        A_ub=[np.append(np.ones(k), np.zeros(k))],
        b_ub=[radius],
        A_eq=[np.append(np.ones(k), -np.ones(k))],
        b_eq=[0.0],
        bounds=[(0, None)] * k + [(0, c) for c in centre],
    )
    assert member @ q == pytest.approx(centre @ q + found.fun, abs=1e-8)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.floats(1e-4, 4.0))
def test_members_of_chi_squared_balls(seed: int, k: int, radius: float) -> None:
    """At the least mean: no feasible direction of a general solver goes below it."""
    rng = np.random.default_rng(seed)
    centre, q = rng.dirichlet(np.ones(k)) * 0.99 + 0.01 / k, rng.normal(size=k)
    member = DivergenceBall(centre, radius, "chi2").least_member(q)
    assert member.min() >= 0.0
    assert ((member - centre) ** 2 / centre).sum() <= radius * (1 + 1e-9) + 1e-14
    found = minimize(
        lambda p: p @ q,
        centre,
        jac=lambda p: q,
        method="SLSQP",
        bounds=[(0, 1)] * k,
        constraints=[
            {"type": "eq", "fun": lambda p: p.sum() - 1.0},
            {"type": "ineq", "fun": lambda p: radius - ((p - centre) ** 2 / centre).sum()},
        ],
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert member @ q == pytest.approx(found.fun, abs=2e-5 * np.abs(q).max())


@pytest.mark.parametrize("spread", [1e-16, 1e-13, 1e-6])
def test_members_are_in_the_ball_where_all_means_are_nearly_the_same(spread: float) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        centre, q = rng.dirichlet(np.ones(4)), 3e-10 * (1.0 + spread * rng.normal(size=4))
        member = DivergenceBall(centre, 0.1, "chi2").least_member(q)
        assert ((member - centre) ** 2 / centre).sum() <= 0.1 * (1.0 + 1e-12)


def test_classes_of_other_kinds() -> None:
    q, p = np.array([3.0, 1.0, 2.0]), np.array([0.5, 0.2, 0.3])
    assert least_member(as_class([p, p[::-1]], "It"), q) @ q == min(p @ q, p[::-1] @ q)
    ball = RenyiBall([p], 0.1, 2.0)
    member = least_member(ball, q)
    assert ball.divergence([member]) == pytest.approx(0.1, abs=1e-9)
    assert member @ q == pytest.approx(ball.support(0, q)[0][0], rel=1e-9)
    absent = DivergenceBall([0.5, 0.5, 0.0], 0.3, "chi2").least_member(np.array([2.0, 1.0, 0.0]))
    assert absent[2] == 0.0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (([0.5, 0.6], 0.1), "sums to 1.1"),
        (([0.5, 0.5], -0.1), "-0.1"),
        (([0.5, 0.5], 0.1, "kl"), "'kl'"),
    ],
)
def test_balls_that_are_refused(arguments: tuple, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        DivergenceBall(*arguments)
