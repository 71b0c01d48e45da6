"""Approximately private optima, against closed forms, other programs and mechanisms that are searched for."""

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

from ldpfrontier import Channel, ColumnUtility, FDivergence, MutualInformation, optimal_ldp
from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.engines.listed import approximate
from ldpfrontier.engines.listed.approximate import ApproximateColumns, column_levels, optimal_approximate
from ldpfrontier.model.kairouz_mechanisms import quaternary_mechanism
from ldpfrontier.model.optimum import Optimum
from ldpfrontier.model.privacy import least_delta
from ldpfrontier.model.utility import SublinearUtility

P0, P1 = np.array([0.14, 0.46, 0.40]), np.array([0.38, 0.23, 0.39])


def solved(utility: SublinearUtility, epsilon: float, delta: float) -> Optimum:
    return optimal_approximate(utility, epsilon, delta, tolerance=1e-9, max_rounds=1000)


def mixture(utility: SublinearUtility, epsilon: float, delta: float) -> float:
    """Return the utility of the truth with probability delta, and else the best eps-LDP mechanism."""
    truth = utility(Channel(np.eye(len(utility.prior))))
    return delta * truth + (1.0 - delta) * optimal_ldp(utility, epsilon).value


def drawn(seed: int, k: int) -> SublinearUtility:
    p, q = np.random.default_rng(seed).dirichlet(np.ones(k), size=2)
    kinds = [MutualInformation(p)]
    kinds += [FDivergence(p, q, kind="kl"), FDivergence(p, q, kind="chi2"), FDivergence(p, q, kind="tv")]
    return kinds[seed % 4]


@pytest.mark.parametrize(
    ("utility", "epsilon", "delta", "value"),
    [
        (MutualInformation([0.5, 0.3, 0.2]), 1.0, 0.05, 0.15989710),
        (MutualInformation([0.4, 0.3, 0.2, 0.1]), 2.0, 0.1, 0.51441232),
        (MutualInformation(np.full(5, 0.2)), 1.0, 0.1, 0.270085),
        (FDivergence(P0, P1, kind="kl"), 1.75, 0.3, 0.10443413),
        (FDivergence(P0, P1, kind="chi2"), 1.0, 0.1, 0.08317088),
        (FDivergence(P0, P1, kind="tv"), 1.75, 0.3, 0.19025614),
    ],
)
def test_values_of_another_program(
    utility: SublinearUtility, epsilon: float, delta: float, value: float
) -> None:
    found = solved(utility, epsilon, delta)
    assert found.value == pytest.approx(value, abs=6e-7 if value > 0.2700 and delta == 0.1 else 6e-9)
    assert found.status == "optimal"


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_the_columns_are_ordered_partitions_of_sets_of_inputs(k: int) -> None:
    """Counted by the recursion of Fubini numbers."""
    ordered = [1]
    for n in range(1, k + 1):
        ordered.append(sum(math.comb(n, i) * ordered[n - i] for i in range(1, n + 1)))
    expected = k + sum(math.comb(k, n) * (ordered[n] - 1) for n in range(2, k + 1))
    levels = column_levels(k)
    assert len(levels) == expected + 1  # and the constant column
    assert len(np.unique(levels, axis=0)) == len(levels)


@pytest.mark.parametrize("delta", [0.01, 0.3, 1.0])
def test_two_inputs_have_the_quaternary_mechanism(delta: float) -> None:
    """kairouz2016, Theorem 18: it dominates, whatever the utility."""
    for seed in range(4):
        utility = drawn(seed, 2)
        assert solved(utility, 0.7, delta).value == pytest.approx(
            utility(quaternary_mechanism(0.7, delta)), rel=1e-9
        )


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 4), st.floats(0.1, 4.0), st.floats(0.01, 0.9))
def test_what_holds_of_every_optimum(seed: int, k: int, epsilon: float, delta: float) -> None:
    """Privacy, the bound, the mixture, delta 0, more of epsilon or delta, concavity in delta, names."""
    utility = drawn(seed, k)
    found = solved(utility, epsilon, delta)
    small = 1e-8 * found.bound + 1e-13
    assert least_delta(found.channel, epsilon) <= delta
    assert found.value == pytest.approx(utility(found.channel), abs=small)
    assert mixture(utility, epsilon, delta) <= found.bound + small
    nothing = optimal_ldp(utility, epsilon)
    least = solved(utility, epsilon, 1e-9)
    truth = utility(Channel(np.eye(k)))
    assert nothing.value - small <= least.bound <= nothing.bound + 2e-9 * truth + small
    assert nothing.value <= found.bound + small
    assert found.value <= solved(utility, 1.1 * epsilon, delta).bound + small
    more = solved(utility, epsilon, min(1.5 * delta, 1.0))
    assert found.value <= more.bound + small
    half = solved(utility, epsilon, 0.5 * (delta + min(1.5 * delta, 1.0)))
    assert half.bound >= 0.5 * (found.value + more.value) - small
    if isinstance(utility, MutualInformation):
        turned = MutualInformation(utility.prior[::-1])
        assert solved(turned, epsilon, delta).value == pytest.approx(found.value, abs=small)


def test_prices_hold_for_columns_that_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The theorem: what holds of mu - c . v - lam . h(v) on the list, holds on all columns."""
    rng, prices = np.random.default_rng(0), list[FloatArray]()
    own = ApproximateColumns.reduced

    def seen(self: ApproximateColumns, duals: FloatArray) -> tuple[FloatArray, FloatArray]:
        prices.append(duals)
        return own(self, duals)

    monkeypatch.setattr(ApproximateColumns, "reduced", seen)
    for seed, (k, epsilon, delta) in enumerate(
        [(3, 0.5, 0.05), (4, 2.0, 0.2), (4, 1.0, 0.4), (5, 0.3, 0.1)] * 2
    ):
        utility = drawn(seed, k)
        solved(utility, epsilon, delta)
        c, lam = np.split(prices[-1], [k])
        assert lam.min() >= 0.0
        v = np.exp(epsilon * rng.normal(0.0, 1.5, size=(20_000, k))) * (rng.random((20_000, k)) > 0.1)
        v = v[v.any(axis=1)] / v[v.any(axis=1)].sum(axis=1, keepdims=True)
        h = [np.maximum(v[:, x] - math.exp(epsilon) * v[:, z], 0.0) for x, z in permutations(range(k), 2)]
        gain = utility.homogeneous_values(v) - v @ c - np.column_stack(h) @ lam
        assert gain.max() <= 1e-9


def test_a_program_over_a_grid_of_columns_finds_nothing_better() -> None:
    utility, epsilon, delta = FDivergence(P0, P1, kind="kl"), 1.75, 0.3
    steps = np.arange(41) / 40.0
    grid = np.array([(a, b, 1.0 - a - b) for a in steps for b in steps if a + b <= 1.0 + 1e-9]).clip(0.0)
    h = [np.maximum(grid[:, x] - math.exp(epsilon) * grid[:, z], 0.0) for x, z in permutations(range(3), 2)]
    found = linprog(
        -utility.homogeneous_values(grid), A_ub=np.array(h), b_ub=[delta] * 6, A_eq=grid.T, b_eq=np.ones(3)
    )
    best = solved(utility, epsilon, delta)
    assert 0.97 * best.value <= -found.fun <= best.bound


def test_a_search_over_mechanisms_finds_nothing_better() -> None:
    """With up to 12 outputs, from random starts; what is beyond delta is mixed with nothing told."""
    rng = np.random.default_rng(1)
    for seed, (k, outputs) in enumerate([(3, 6), (4, 12)]):
        utility, epsilon, delta = drawn(seed, k), 1.0, 0.2

        def private(x: FloatArray, k: int = k, epsilon: float = epsilon, delta: float = delta) -> Channel:
            rows = np.exp(x.reshape(k, -1) - x.max())
            rows /= rows.sum(axis=1, keepdims=True)
            share = min(1.0, delta / max(least_delta(Channel(rows), epsilon), 1e-12))
            return Channel(np.column_stack([share * rows, np.full(k, 1.0 - share)]))

        best = max(
            -minimize(
                lambda x, u=utility: -u(private(x)),
                rng.normal(0.0, 2.0, k * outputs),
                method="Powell",
                options={"maxiter": 2},
            ).fun
            for _ in range(2)
        )
        bound = solved(utility, epsilon, delta).bound
        assert 0.3 * bound < best <= bound


def test_a_bound_is_above_what_prices_leave() -> None:
    """Where the rounds end early, prices do not hold for all columns, and the bound says so."""
    utility = drawn(1, 4)
    full = solved(utility, 1.0, 0.3)
    early = optimal_approximate(utility, 1.0, 0.3, tolerance=0.0, max_rounds=1)
    assert early.value <= full.value * (1.0 + 1e-9)
    assert full.value < early.bound


@pytest.mark.parametrize("seed", range(4))
def test_with_more_inputs_the_mixture_has_a_bound_that_holds_on_fewer(seed: int) -> None:
    """Of total variation (the last one) both agree, as on a list."""
    utility = drawn(seed, 9)
    found = optimal_ldp(utility, 1.0, 0.1)
    assert least_delta(found.channel, 1.0) <= 0.1
    assert found.value == pytest.approx(mixture(utility, 1.0, 0.1), rel=1e-9)
    assert (found.status == "optimal") == (seed == 3)
    few = drawn(seed, 4)
    private = optimal_ldp(few, 1.0).channel
    loose = approximate.mixture_with_truth(few, private, 1.0, 0.1, 1e-9)
    best = solved(few, 1.0, 0.1)
    assert loose.value <= best.bound * (1.0 + 1e-12)
    assert best.value <= loose.bound * (1.0 + 1e-12)
    assert (best.value == pytest.approx(loose.bound, rel=1e-9)) == (seed == 3)


def test_what_is_beyond_delta_by_rounding_is_mixed_with_nothing_told() -> None:
    for beyond in (1e-12, 5e-7):
        delta = 0.2 / (1.0 + beyond)
        matrix = np.column_stack([0.2 * np.eye(3), np.full(3, 0.8)])
        assert 0.999 * delta < least_delta(approximate.within(matrix, 1.0, delta), 1.0) <= delta


@pytest.mark.parametrize(("delta", "beyond"), [(1e-9, 0.3), (5e-9, 0.03), (0.4, 1e-9)])
def test_what_is_beyond_delta_costs_little_where_much_may_be_told(delta: float, beyond: float) -> None:
    """Also of Hellinger's divergence, which a small entry in place of a 0 lowers by its root."""
    utility = FDivergence([0.9, 0.1, 0.0], [0.02, 0.98, 0.0], kind="hellinger")
    allowed = solved(utility, 3.0, delta).channel.matrix
    matrix = (1.0 - beyond * delta) * allowed
    channel = approximate.within(np.column_stack([matrix, beyond * delta * np.eye(3)]), 3.0, delta)
    assert least_delta(channel, 3.0) <= delta
    assert utility(channel) >= (1.0 - 1e-8) * solved(utility, 3.0, delta).bound


def test_columns_of_the_program_are_not_added_again() -> None:
    """Entries of e^-25 are less than what HiGHS resolves, so that the columns it has keep a price."""
    utility = MutualInformation(np.random.default_rng(5).dirichlet(np.ones(5)))
    assert optimal_ldp(utility, 25.0, 4.4e-5, max_rounds=60).iterations < 30


def test_utilities_of_ones_own_and_refusals() -> None:
    own = ColumnUtility(P0, lambda v: v.max(axis=1) - v.min(axis=1), unit="1")
    found = optimal_ldp(own, 1.0, 0.2)
    assert found.value == pytest.approx(solved(own, 1.0, 0.2).value)
    assert "approximate" in str(found.method)
    assert optimal_ldp(MutualInformation([1.0]), 1.0, 0.5).value == 0.0
    many = ColumnUtility(np.full(8, 1 / 8), lambda v: v.max(axis=1) - v.min(axis=1), unit="1")
    with pytest.raises(Intractable, match="8 inputs"):
        optimal_ldp(many, 1.0, 0.1)
    with pytest.raises(ValueError, match="delta"):
        optimal_ldp(own, 1.0, 1.5)
    with pytest.raises(ValueError, match="31"):
        optimal_ldp(own, 31.0, 0.1)
    with pytest.raises(ValueError, match="infinite"):
        optimal_ldp(FDivergence([0.5, 0.5], [1.0, 0.0]), 1.0, 0.1)
    with pytest.raises(ValueError, match="start"):
        optimal_ldp(own, 1.0, 0.1, start=found.channel)
