"""The least of several utilities, against another solver over all columns, and what holds of optima."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from ldpfrontier import (
    AverageUtility,
    Channel,
    FDivergence,
    MutualInformation,
    RenyiBall,
    ldp_epsilon,
    local_cone,
    optimal_ldp,
    optimal_mechanism,
    robust_cone,
)
from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.engines.listed.approximate import column_levels
from ldpfrontier.model.privacy import least_delta
from ldpfrontier.model.utility import SublinearUtility

THREE = np.array([[0.6, 0.3, 0.1], [0.3, 0.3, 0.4], [0.2, 0.6, 0.2]])
FOUR = np.array([[0.4, 0.3, 0.2, 0.1], [0.25] * 4, [0.1, 0.4, 0.1, 0.4]])


def pairs(hypotheses: FloatArray, kind: str = "kl") -> list[SublinearUtility]:
    return [FDivergence(p, q, kind=kind) for p, q in permutations(hypotheses, 2)]


def least(utilities: list[SublinearUtility], channel: Channel) -> float:
    return min(utility(channel) for utility in utilities)


def solved(utilities: list[SublinearUtility], columns: FloatArray, h: FloatArray, delta: float) -> float:
    """Solve the program over all columns, with the excesses h, by another way of calling a solver."""
    values = np.array([utility.homogeneous_values(columns) for utility in utilities])
    scale = values.max()
    rows = np.vstack(
        [np.column_stack([-values / scale, np.ones(len(values))]), np.pad(h.T, [(0, 0), (0, 1)])]
    )
    found = linprog(
        np.append(np.zeros(len(columns)), -1.0),
        A_ub=rows,
        b_ub=np.append(np.zeros(len(values)), np.full(h.shape[1], delta)),
        A_eq=np.pad(columns.T, [(0, 0), (0, 1)]),
        b_eq=np.ones(columns.shape[1]),
    )
    return float(-found.fun * scale)


@pytest.mark.parametrize(
    ("hypotheses", "kind", "epsilon", "value", "by_average"),
    [
        (THREE, "kl", 0.5, 0.00710694, 0.00121576),
        (THREE, "kl", 2.0, 0.09291298, 0.08853742),
        (THREE, "tv", 1.0, 0.10925260, None),
        (FOUR, "kl", 1.0, 0.01290623, 0.00427715),
        (FOUR, "tv", 2.0, 0.13142975, None),
    ],
)
def test_values_of_another_program(
    hypotheses: FloatArray, kind: str, epsilon: float, value: float, by_average: float | None
) -> None:
    utilities = pairs(hypotheses, kind)
    found = optimal_ldp(utilities, epsilon)
    assert found.value == pytest.approx(value, abs=6e-9)
    assert found.status == "optimal"
    assert optimal_mechanism(utilities, local_cone(len(hypotheses[0]), epsilon)).value == pytest.approx(
        value, rel=1e-4
    )
    if by_average is not None:
        best = optimal_ldp(AverageUtility(utilities), epsilon)
        assert least(utilities, best.channel) == pytest.approx(by_average, abs=6e-9)


@settings(max_examples=15, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(2, 5),
    st.integers(2, 4),
    st.sampled_from(["kl", "tv", "chi2"]),
    st.floats(0.01, 4.0),
)
def test_what_holds_of_every_optimum(seed: int, k: int, m: int, kind: str, epsilon: float) -> None:
    """Another solver, privacy, the bound, and any one of the utilities alone."""
    utilities = pairs(np.random.default_rng(seed).dirichlet(np.ones(k), size=m), kind)
    found = optimal_ldp(utilities, epsilon)
    inside = (np.arange(1, 2**k - 1)[:, None] >> np.arange(k)) & 1
    columns = np.where(inside == 1, 1.0, np.exp(-epsilon))
    other = solved(utilities, columns, np.zeros((len(columns), 0)), 0.0)
    assert found.value == pytest.approx(other, rel=1e-5, abs=1e-12)
    assert found.bound >= other * (1.0 - 1e-6) - 1e-12
    assert ldp_epsilon(found.channel) <= epsilon * (1.0 + 1e-12) + 1e-14
    assert found.value == least(utilities, found.channel)
    assert found.bound <= min(optimal_ldp(utility, epsilon).bound for utility in utilities)
    assert optimal_ldp(utilities[:1], epsilon).value == optimal_ldp(utilities[0], epsilon).value


def test_a_delta_above_0() -> None:
    """Against the program over all columns of statement 14; the least of a mixture is concave in delta."""
    utilities, epsilon, delta = pairs(THREE), 1.0, 0.1
    found = optimal_ldp(utilities, epsilon, delta)
    levels = column_levels(3).astype(float)
    columns = np.where(levels < 0, 0.0, np.exp(epsilon * levels))
    columns /= columns.sum(axis=1, keepdims=True)
    h = [np.maximum(columns[:, x] - np.e * columns[:, z], 0.0) for x, z in permutations(range(3), 2)]
    assert found.value == pytest.approx(solved(utilities, columns, np.array(h).T, delta), rel=1e-6)
    assert least_delta(found.channel, epsilon) <= delta
    assert found.status == "optimal"


def test_a_cone_of_cuts() -> None:
    """By branch and bound, whose bound on the least is one on an average."""
    cone = robust_cone(RenyiBall([[0.2, 0.3], [0.4, 0.1]], 0.05), 1.0)
    priors = np.array([[0.2, 0.3, 0.4, 0.1], [0.25, 0.25, 0.25, 0.25]])
    utilities = [MutualInformation(p) for p in priors]
    found = optimal_mechanism(utilities, cone, tolerance=1e-2, max_nodes=20, max_seconds=0.5)
    assert cone.violation(found.channel.matrix.T) <= 1e-9
    assert found.value == pytest.approx(least(utilities, found.channel))
    assert found.value <= found.bound


def test_a_utility_that_is_worth_nothing_is_the_least() -> None:
    same = FDivergence(THREE[0], THREE[0])
    assert optimal_ldp([*pairs(THREE), same], 1.0).bound == 0.0
    assert optimal_ldp(pairs(THREE), 0.0).bound == 0.0


def test_what_is_known_when_the_time_is_up() -> None:
    utilities = pairs(THREE)
    for found in (
        optimal_ldp(utilities, 1.0, max_seconds=0.0),
        optimal_mechanism(utilities, local_cone(3, 1.0), max_seconds=0.0),
    ):
        assert found.value == least(utilities, found.channel)
        assert found.value <= optimal_ldp(utilities, 1.0).value <= found.bound


def test_refusals() -> None:
    many = pairs(np.random.default_rng(0).dirichlet(np.ones(21), size=2))
    with pytest.raises(Intractable, match=r"21 inputs.*20"):
        optimal_ldp(many, 1.0)
    with pytest.raises(Intractable, match=r"8 inputs.*7 at a delta"):
        optimal_ldp(pairs(np.random.default_rng(0).dirichlet(np.ones(8), size=2)), 1.0, 0.1)
