"""`optimal_robust`: invariants, the guarantee, starts, degenerate tables and refusals."""

from __future__ import annotations

from dataclasses import replace

import highspy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.engines import registry
from ldpfrontier.engines.products import decomposition, product_optimum
from ldpfrontier.engines.products.settings import SETTINGS as POLYOPT
from ldpfrontier.engines.registry import LIMITS
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import entropy
from ldpfrontier.model.mechanisms import randomized_response
from ldpfrontier.model.privacy import rldp_epsilon
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.numerics import highs
from ldpfrontier.promises import polyopt as solve
from ldpfrontier.promises import robust
from ldpfrontier.promises.ldp import optimal_ldp
from ldpfrontier.promises.nonrobust import nonrobust_bound, optimal_nonrobust
from ldpfrontier.promises.robust import optimal_robust
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from support.grids import few
from support.tables import random_table

EXAMPLE = np.array([[0.07, 0.10], [0.26, 0.57]])


def example_ball() -> RenyiBall:
    return RenyiBall.confidence(100 * EXAMPLE)


def test_a_start_is_in_the_class_or_refused() -> None:
    ball = example_ball()
    best = optimal_robust(ball, 1.0)
    unused = np.hstack([best.channel.matrix, np.zeros((4, 1))])
    again = optimal_robust(ball, 1.0, start=Channel(unused), max_rounds=1)
    assert again.value >= best.value * (1 - 1e-9)
    assert ball.projected_epsilon(again.channel) <= 1.0 + 1e-9
    with pytest.raises(ValueError, match=r"The start is private at level 1.* epsilon is 0\.999999"):
        optimal_robust(ball, 1.0 - 1e-6, start=best.channel)
    with pytest.raises(ValueError, match="The start is private at level inf"):
        optimal_robust(ball, 1.0, start=Channel(np.eye(4)))
    # A mechanism of the larger class is not one of the smaller.
    larger = optimal_robust(ball, 1.0, envelope="exact").channel
    with pytest.raises(ValueError, match="The start is private at level 1"):
        optimal_robust(ball, 1.0, start=larger)
    kept = optimal_robust(ball, 1.0, envelope="exact", start=larger, max_nodes=0)
    assert ball.worst_case_epsilon(kept.channel) <= 1.0 + 1e-9
    with pytest.raises(ValueError, match=r"The start is private at level 1.* over the uncertainty set"):
        optimal_robust(ball, 1.0 - 1e-4, envelope="exact", start=larger)


def test_a_mechanism_of_a_search_is_taken_up_to_the_level(monkeypatch: pytest.MonkeyPatch) -> None:
    """One millionth above it the one before the search stays, and the result says so."""
    ball = RenyiBall.confidence(np.random.default_rng(0).integers(20, 60, (2, 9)))
    searched, nothing = randomized_response(18, 1.5), Channel(np.ones((18, 1)))
    level = ball.worst_case_epsilon(searched)
    monkeypatch.setattr(robust, "shared_budget_mechanism", lambda *_, **__: (nothing, 1))
    monkeypatch.setattr(robust, "searched_mechanism", lambda *_: searched)
    for factor in (1.0 + 1e-6, 1.0 - 1e-6):
        found = optimal_robust(ball, factor * level, envelope="exact")
        assert found.channel is (searched if factor > 1.0 else nothing)
        assert any("beyond the level" in text for text in found.method.fallbacks) == (factor < 1.0)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_polyopt_invariants(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a1, a2 = int(rng.integers(2, 4)), int(rng.integers(2, 4))
    counts = rng.multinomial(300, rng.dirichlet(np.ones(a1 * a2))).reshape(a1, a2)
    ball = RenyiBall.confidence(counts)
    low, high = sorted(rng.uniform(0.05, 3.0, size=2))
    optimum = optimal_robust(ball, high)
    assert optimum.gap <= 1e-7
    assert optimal_robust(ball, low).value <= optimum.value + 1e-9
    shuffled = counts[rng.permutation(a1)][:, rng.permutation(a2)]
    assert optimal_robust(RenyiBall.confidence(shuffled), high).value == pytest.approx(
        optimum.value, rel=1e-6, abs=1e-9
    )
    assert optimum.value <= optimal_nonrobust(ball.centre, high).upper_bound + 1e-9
    smaller = RenyiBall(ball.centre, ball.radius / 4)
    assert optimal_robust(smaller, high).value >= optimum.value - 1e-9


def test_without_an_envelope_it_is_polyopt_and_the_method_says_so() -> None:
    """The class of F itself has more."""
    ball = RenyiBall.confidence([[70, 100], [260, 570]])
    usual, best = optimal_robust(ball, 1.0), optimal_robust(ball, 1.0, envelope="exact")
    assert "(PolyOpt)" in str(usual.method)
    assert str(best.method).startswith("all mechanisms private over F")
    assert best.value > usual.value + 0.005


def test_guarantee_holds_over_the_uncertainty_set() -> None:
    """Random P in F, and the worst P in F found by optimization, never leak more than epsilon."""
    for seed in range(8):
        ball, epsilon = random_table(seed)
        channel = optimal_robust(ball, epsilon).channel
        P = ball.sample(np.random.default_rng(seed), 1000)
        mass = P.sum(axis=2, keepdims=True)
        conditionals = np.divide(P, mass, out=np.zeros_like(P), where=mass > 0)
        assert rldp_epsilon(channel, conditionals).max(initial=0.0) <= epsilon + 1e-9
        assert ball.worst_case_epsilon(channel) <= epsilon + 1e-9


@pytest.mark.parametrize(
    "counts",
    [
        [[5, 9, 2]],
        [[5], [9]],
        [[0, 0], [7, 3]],
        [[3, 0], [0, 4]],
        [[1, 1], [1, 0]],
        [[10**9, 10**8], [10**9, 10**9]],
    ],
    ids=["a1=1", "a2=1", "empty group", "deterministic", "three records", "a billion records"],
)
def test_degenerate_tables(counts: list[list[int]]) -> None:
    ball = RenyiBall.confidence(np.array(counts))
    optimum = optimal_robust(ball, 1.0)
    assert optimum.gap <= 1e-6
    assert ball.projected_epsilon(optimum.channel) <= 1.0 + 1e-9
    assert optimum.upper_bound <= optimal_nonrobust(ball.centre, 1.0).upper_bound * (1 + 1e-9) + 1e-9


def test_epsilon_zero() -> None:
    assert optimal_ldp(MutualInformation(np.array([0.2, 0.8])), 0.0).value == pytest.approx(0.0, abs=1e-12)
    conditional_entropy = entropy(EXAMPLE) - entropy(EXAMPLE.sum(axis=1))
    assert optimal_nonrobust(EXAMPLE, 0.0).value == pytest.approx(conditional_entropy, abs=1e-12)
    nothing = optimal_robust(example_ball(), 0.0)
    assert (nothing.value, nothing.bound, nothing.status) == (0.0, 0.0, "optimal")
    assert nothing.channel.n_outputs == 1
    for level in (0.0, 0.5):
        known = optimal_robust(RenyiBall(EXAMPLE, 0.0), level)
        assert known.value == optimal_nonrobust(EXAMPLE, level).value
    one = RenyiBall.confidence(np.array([[5, 9, 2]]))
    assert optimal_robust(one, 0.0).value == 0.0
    for level in (0.0, 0.1):
        assert optimal_robust(one, level, envelope="exact").value == pytest.approx(entropy(one.centre))


@pytest.mark.parametrize(
    ("shape", "epsilon"), few([((41, 10), 1.0)], more=[((250, 2), 0.1), ((250, 4), 1.0), ((250, 2), 4.0)])
)
def test_tall_tables_are_solved_without_a_restricted_master(shape: tuple[int, int], epsilon: float) -> None:
    ball = RenyiBall.confidence(np.random.default_rng(1).integers(1, 500, shape))
    optimum = optimal_robust(ball, epsilon)
    assert optimum.gap <= 3e-5
    assert optimum.channel.n_outputs <= ball.centre.size  # lopuhaa2024, Theorem 3
    solve.check_class(optimum.channel, ball.lower_bounds, epsilon)
    if len(ball.centre) < 100:
        assert ball.projected_epsilon(optimum.channel) <= epsilon + 1e-9
    assert optimum.bound <= nonrobust_bound(ball.centre, epsilon)
    kept = optimal_robust(ball, epsilon, start=optimum.channel)
    assert kept.value >= optimum.value * (1 - 1e-12)


def test_tall_tables_agree_with_column_generation(monkeypatch: pytest.MonkeyPatch, long: bool) -> None:
    ball = RenyiBall.confidence(np.random.default_rng(2).integers(1, 500, (24, 3)))
    for epsilon in (0.5, 3.0, 8.0) if long else (3.0,):
        optimum = optimal_robust(ball, epsilon)
        with monkeypatch.context() as patched:
            for module in (registry, product_optimum):
                patched.setattr(module, "LIMITS", replace(LIMITS, max_master_cells=0))
            coupled = optimal_robust(ball, epsilon)
        assert coupled.value <= optimum.bound * (1 + 1e-9)
        assert optimum.value <= coupled.bound * (1 + 1e-9)
        assert coupled.channel.n_outputs <= ball.centre.size


def test_tall_tables_end_with_the_work_that_their_programs_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """With less work mechanisms and bounds are worse, but hold, and no work is done beyond the limit."""
    ball, epsilon = RenyiBall.confidence(np.random.default_rng(2).integers(1, 500, (24, 3))), 8.0
    for module in (registry, product_optimum):
        monkeypatch.setattr(module, "LIMITS", replace(LIMITS, max_master_cells=0))
    works = list[int]()

    def counted(lp: highspy.Highs, most_iterations: int) -> tuple[float, FloatArray, FloatArray]:
        try:
            return highs.solve(lp, most_iterations)
        finally:
            works.append(lp.getNumRow() * lp.getInfo().simplex_iteration_count)

    monkeypatch.setattr(decomposition, "solve", counted)
    whole = optimal_robust(ball, epsilon)
    total, gaps = sum(works), [whole.gap]
    for share in (0.5, 0.1):
        works.clear()
        limits = replace(POLYOPT, max_simplex_work=share * total)
        with monkeypatch.context() as patched:
            patched.setattr(product_optimum, "SETTINGS", limits)
            found = optimal_robust(ball, epsilon)
        assert 0.5 * share * total < sum(works) <= share * total
        assert whole.value <= found.bound * (1 + 1e-9)
        assert found.value <= whole.bound * (1 + 1e-9)
        solve.check_class(found.channel, ball.lower_bounds, epsilon)
        gaps.append(found.gap)
    assert 1e-4 < gaps[-1] < 0.2


def test_so_many_subsets_are_not_listed() -> None:
    ball = RenyiBall.confidence(np.random.default_rng(1).integers(1, 500, (21, 20)))
    for envelope in ("simplex", "exact"):
        with pytest.raises(Intractable, match=r"22,020,096 subsets in all; at most 20,971,520"):
            optimal_robust(ball, 1.0, envelope=envelope)


def test_bounds_next_to_a_known_distribution_are_not_above_its_own():
    """At tiny radii the bound of PolyOpt, with its own gap, may be above that of NR."""
    centre = np.random.default_rng(11).dirichlet(np.ones(12)).reshape(4, 3)
    for radius in (1e-12, 1e-8, 1e-4):
        for epsilon in (0.5, 4.0):
            found = optimal_robust(RenyiBall(centre, radius), epsilon)
            assert found.value <= found.bound <= optimal_nonrobust(centre, epsilon).bound


@pytest.mark.long
def test_many_sensitive_values_have_more_than_polyopt() -> None:
    ball = RenyiBall.confidence(np.random.default_rng(0).integers(20, 400, (32, 2)))
    polyopt = optimal_robust(ball, 0.3, tolerance=1e-3)
    found = optimal_robust(ball, 0.3, envelope="exact", tolerance=1e-3, max_rounds=5)
    assert found.method.fallbacks == ()
    assert ball.worst_case_epsilon(found.channel) <= 0.3 + 1e-9
    assert 1.1 * polyopt.value < found.value <= found.upper_bound
