"""Optima and their certificates, against enumeration, full LPs and the paper's numbers."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import ppl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from ldpfrontier.channel import Channel
from ldpfrontier.information import entropy, mutual_information
from ldpfrontier.optimal.column_generation.proximal_bundle import Proximal
from ldpfrontier.optimal.exact.separation import Pairs
from ldpfrontier.optimal.geometry.polytope import Block, critical_levels
from ldpfrontier.optimal.ldp.nonrobust import optimal_nonrobust
from ldpfrontier.optimal.ldp.solve import optimal_ldp
from ldpfrontier.optimal.polyopt import distinct_pairs as distinct
from ldpfrontier.optimal.polyopt import solve as polyopt
from ldpfrontier.optimal.products import pricing as products
from ldpfrontier.optimal.products.decomposition import Decomposition
from ldpfrontier.optimal.robust import optimal_robust
from ldpfrontier.optimum import certified
from ldpfrontier.privacy import rldp_epsilon
from ldpfrontier.types import Intractable
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from ldpfrontier.utility import MutualInformation
from oracles.column_lp import full_lp
from oracles.enumeration import robust_rays
from reproduction.data.catalogue import data_set
from support.tables import random_table

BUNDLED = Path(__file__).parents[3] / "resources" / "adult_pair_counts.csv"
EXAMPLE = np.array([[0.07, 0.10], [0.26, 0.57]])
TRUTH = np.array([[0.1, 0.1], [0.2, 0.6]])
# lopuhaa2024, Example 3: the matrix V.
PRINTED_VERTICES = [
    [0.0744, 0.3227, 0.5603, 0.0426],
    [0.2426, 0.2426, 0.4783, 0.0364],
    [0.3333, 0.3333, 0.1667, 0.1667],
    [0.1091, 0.4737, 0.2086, 0.2086],
    [0.0993, 0.4310, 0.0, 0.4697],
    [0.1121, 0.4864, 0.0, 0.4015],
    [0.3404, 0.3404, 0.0, 0.3191],
    [0.0770, 0.3343, 0.2944, 0.2944],
    [0.2234, 0.2234, 0.0, 0.5531],
    [0.4875, 0.1434, 0.0, 0.3690],
    [0.4360, 0.1283, 0.0, 0.4358],
    [0.4758, 0.1400, 0.1921, 0.1921],
    [0.3437, 0.1011, 0.2776, 0.2776],
    [0.1602, 0.1602, 0.6316, 0.0481],
    [0.1667, 0.1667, 0.3333, 0.3333],
    [0.3325, 0.0978, 0.5294, 0.0403],
]


def adult_counts(sensitive: str, public: str) -> np.ndarray:
    adult = data_set("adult")
    return np.array(adult.contingency(adult.read(BUNDLED), sensitive, public).counts)


def example_ball() -> RenyiBall:
    return RenyiBall.confidence(100 * EXAMPLE)


# --- the blocks -------------------------------------------------------------------------------------------


def block_vertices_exact(lower: np.ndarray, epsilon: float) -> np.ndarray:
    """Vertices of K_s by exact double description, with numbers rounded to multiples of 2^-40."""
    unit = 1 << 40
    weights = [int(x * unit) for x in lower]
    rest, top = unit - sum(weights), int(math.exp(epsilon) * unit)
    system = ppl.Constraint_System()
    for u in range(len(lower)):
        system.insert(ppl.Variable(u) >= 0)
        row = list(weights)
        row[u] += rest
        system.insert(ppl.Linear_Expression(row, -unit) >= 0)
        system.insert(ppl.Linear_Expression([-x for x in row], top) >= 0)
    points = [g for g in ppl.C_Polyhedron(system).minimized_generators() if g.is_point()]
    return np.array([[float(x) / float(g.divisor()) for x in g.coefficients()] for g in points])


@pytest.mark.parametrize("seed", range(40))
def test_block_vertices_are_those_of_the_polytope(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a2 = int(rng.integers(1, 7))
    lower = rng.dirichlet(np.full(a2 + 1, rng.choice([0.3, 1.0, 5.0])))[:a2]
    if seed % 3 == 0:
        lower[rng.integers(a2)] = 0.0
    epsilon = float(rng.choice([0.05, 0.3, 1.0, 2.0, 4.0]))
    block = Block(lower, np.full(a2, 1.0 / a2), epsilon)
    ours = block.vectors(np.arange(len(block)))
    rest = 1.0 - lower.sum()
    assert (rest * ours.max(1) + ours @ lower <= math.exp(epsilon) + 1e-9).all()
    assert (rest * ours.min(1) + ours @ lower >= 1 - 1e-9).all()
    exact = block_vertices_exact(lower, epsilon)
    distance = np.abs(exact[:, None] - ours[None]).max(axis=2).min(axis=1)
    assert (distance <= 1e-7 * exact.max(axis=1)).all()
    prices = rng.normal(size=a2)
    np.testing.assert_allclose(block.dot(prices), ours @ prices, atol=1e-9)
    np.testing.assert_allclose(block.z, ours.mean(axis=1), atol=1e-9)


def test_empty_letters_share_an_entry_without_loss() -> None:
    # Two empty letters merged: same optimum as when all vertices of the full polytope are listed.
    counts = np.array([[40, 0, 0, 25], [10, 30, 0, 20]])
    ball = RenyiBall.confidence(counts)
    utility = MutualInformation(ball.centre)
    full = full_lp(utility, robust_rays(ball.lower_bounds, 0.7, "all"))
    assert optimal_robust(ball, 0.7).value == pytest.approx(full, abs=1e-9)


# --- PolyOpt ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [*range(16), pytest.param(16, marks=pytest.mark.long), *range(17, 27)])
def test_polyopt_equals_exact_vertex_enumeration(seed: int) -> None:
    ball, epsilon = random_table(seed)
    utility = MutualInformation(ball.centre)
    for pairs in ("all", "distinct"):
        optimum = optimal_robust(ball, epsilon, pairs=pairs, tolerance=1e-9)
        assert optimum.status == "optimal"
        if pairs == "distinct" and ball.centre.shape[0] == 1:
            assert optimum.value == pytest.approx(entropy(ball.centre), abs=1e-12)
            continue
        expected = full_lp(utility, robust_rays(ball.lower_bounds, epsilon, pairs))
        assert optimum.value == pytest.approx(expected, abs=1e-8)
        assert optimum.value <= optimum.upper_bound
        assert optimum.channel.n_outputs <= ball.centre.size  # lopuhaa2024, Theorem 3
        assert ball.projected_epsilon(optimum.channel) <= epsilon + 1e-9


@pytest.mark.parametrize("seed", [1, 5, 7, 11])
def test_no_column_of_the_distinct_cone_beats_the_certificate(seed: int) -> None:
    """Local search over the cone's inequalities, which knows nothing of rays, finds no better column."""
    ball, epsilon = random_table(seed)
    a1, a2 = ball.centre.shape
    L, prior = ball.lower_bounds, ball.centre.ravel()
    rows = []
    for s, t in itertools.permutations(range(a1), 2):
        for u, w in itertools.product(range(a2), repeat=2):
            row = np.zeros((a1, a2))
            row[s] += L[s]
            row[s, u] += 1 - L[s].sum()
            row[t] -= math.exp(epsilon) * L[t]
            row[t, w] -= math.exp(epsilon) * (1 - L[t].sum())
            rows.append(row.ravel())
    matrix = np.array(rows)
    utility = MutualInformation(ball.centre)
    rays = utility.columns(robust_rays(L, epsilon, "distinct"))
    dual = linprog(
        np.ones(a1 * a2), A_ub=-rays.vectors, b_ub=-rays.values, bounds=(None, None), method="highs-ds"
    )
    rng = np.random.default_rng(seed)
    for _ in range(15):
        v = np.ones(a1 * a2)
        gradient = rng.normal(size=a1 * a2)
        for _ in range(8):
            step = linprog(-gradient, A_ub=matrix, b_ub=np.zeros(len(matrix)), A_eq=[prior], b_eq=[1.0])
            v = np.maximum(step.x, 0.0)
            # With Z = 1 fixed, mu has gradient P log v (up to a multiple of P).
            gradient = prior * np.log(np.maximum(v, 1e-30)) - dual.x
        column = utility.columns(v[None])
        assert column.values[0] - column.vectors[0] @ dual.x <= 1e-7


def test_worked_example() -> None:
    """lopuhaa2024, Example 3, for both variants, and the errata of its I under P*."""
    ball = example_ball()
    published = optimal_robust(ball, math.log(2))
    assert published.value == pytest.approx(0.42278, abs=5e-6)
    assert mutual_information(TRUTH, published.channel) == pytest.approx(0.37021, abs=5e-6)
    assert optimal_robust(ball, math.log(2), pairs="distinct").value == pytest.approx(0.56305, abs=5e-6)
    rays = robust_rays(ball.lower_bounds, math.log(2), "all")
    printed = np.array(PRINTED_VERTICES)
    assert rays.shape == printed.shape == (16, 4)
    distance = np.abs(rays / rays.sum(1, keepdims=True) - printed[:, None]).max(axis=2)
    assert distance.min(axis=1).max() < 1.01e-4
    assert sorted(distance.argmin(axis=1)) == list(range(16))


@pytest.mark.parametrize("seed", [3, 5, 11])
def test_proximal_generation_bounds_and_nears_the_enumerated_optimum(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ball, epsilon = random_table(seed)
    monkeypatch.setattr(polyopt, "SMALL", 0)
    expected = full_lp(MutualInformation(ball.centre), robust_rays(ball.lower_bounds, epsilon, "all"))
    optimum = optimal_robust(ball, epsilon, tolerance=1e-4, max_rounds=100)
    assert optimum.status == "optimal"
    assert expected * (1 - 1e-4) - 1e-9 <= optimum.value <= expected + 1e-9 <= optimum.upper_bound + 2e-9
    assert ball.projected_epsilon(optimum.channel) <= epsilon + 1e-9


@pytest.mark.parametrize(
    ("sensitive", "public", "epsilon", "nmi", "gap"),
    [
        ("sex", "race", 1.0, 0.501642, 1e-7),
        ("education", "marital-status", 0.3, 0.074916, 2.8e-8),
        ("education", "marital-status", 1.0, 0.280118, 3e-8),
        ("occupation", "education", 2.0, 0.290500, 1.6e-7),
    ],
)
def test_adult_tables(sensitive: str, public: str, epsilon: float, nmi: float, gap: float) -> None:
    counts = adult_counts(sensitive, public)
    ball = RenyiBall.confidence(counts)
    optimum = optimal_robust(ball, epsilon, tolerance=1e-8)
    assert optimum.value / entropy(ball.centre) >= nmi
    assert optimum.gap <= gap
    assert ball.projected_epsilon(optimum.channel) <= epsilon + 1e-9
    assert optimum.upper_bound <= optimal_nonrobust(ball.centre, epsilon).upper_bound


@pytest.mark.parametrize("epsilon", [2.0, 4.0, 5.0])
def test_large_table_at_large_epsilon_needs_few_rounds(epsilon: float) -> None:
    ball = RenyiBall.confidence(adult_counts("education", "marital-status"))
    optimum = optimal_robust(ball, epsilon, tolerance=1e-4)
    assert optimum.gap <= 1e-4
    assert optimum.iterations <= 5
    assert ball.projected_epsilon(optimum.channel) <= epsilon + 1e-9


# --- distinct pairs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_vertices_of_a_block_change_at_critical_levels_only(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a2 = int(rng.integers(2, 6))
    lower = rng.dirichlet(np.full(a2 + 1, 1.0))[:a2]
    levels = np.concatenate([[0.0], critical_levels(lower)])

    def supports(level: float) -> set[tuple[tuple[bool, ...], int]]:
        """Which entries of a vertex are zero, and at how many heights the others are."""
        block = Block(lower, np.full(a2, 1.0 / a2), level)
        vectors = block.vectors(np.arange(len(block)))
        return {(tuple(w > 0), len(np.unique(np.round(w[w > 0], 12)))) for w in vectors}

    for low, high in itertools.pairwise(levels):
        if high - low > 1e-6:
            inside = low + (high - low) * np.array([0.01, 0.5, 0.99])
            found = [supports(float(level)) for level in inside]
            assert found[0] == found[1] == found[2]
    assert len(levels) == 2**a2 - 1 + 1  # every non-empty set of letters has a level of its own


def extremes(ball: RenyiBall, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A_s and B_s of columns (m, a1 a2), each (m, a1)."""
    w = columns.reshape(-1, *ball.centre.shape)
    fixed = (ball.lower_bounds * w).sum(axis=2)
    free = 1.0 - ball.lower_bounds.sum(axis=1)
    return fixed + free * w.max(axis=2), fixed + free * w.min(axis=2)


@pytest.mark.parametrize("seed", [2, 5, 11, 14, 23])
def test_products_over_distinct_pairs_lie_in_the_cone_and_have_its_rays(seed: int) -> None:
    ball, epsilon = random_table(seed)
    family = distinct.DistinctPairsFamily(ball.centre, ball.lower_bounds, epsilon)
    off = ~np.eye(len(ball.centre), dtype=bool)
    rng = np.random.default_rng(seed)
    for s0, deltas in enumerate(family.deltas):
        for delta in rng.choice(deltas, size=min(5, len(deltas)), replace=False):
            product = family.product(s0, float(delta))
            choice = np.column_stack([rng.integers(len(block), size=50) for block in product.blocks])
            A, B = extremes(ball, product.columns(choice).vectors)
            assert (A[:, :, None] <= math.exp(epsilon) * B[:, None, :] * (1 + 1e-9))[:, off].all()
    for ray in robust_rays(ball.lower_bounds, epsilon, "distinct"):
        B = extremes(ball, ray[None])[1][0]
        s0 = int(B.argmin())
        scaled = ray / np.delete(B, s0).min()
        delta = -math.log(max(extremes(ball, scaled[None])[1][0, s0], 1e-300))
        # A ray with slack towards its second-least B is one of the published products too: delta 0.
        nearest = float(family.deltas[s0][np.abs(family.deltas[s0] - delta).argmin()])
        assert nearest == pytest.approx(delta, abs=1e-6)
        for block, w in zip(family.product(s0, nearest).blocks, scaled.reshape(B.size, -1), strict=True):
            vertices = block.vectors(np.arange(len(block)))
            assert np.abs(vertices - w).max(axis=1).min() <= 1e-5 * max(1.0, w.max())


@pytest.mark.parametrize("seed", [2, 5, 7, 11, 14, 23])
def test_search_over_deltas_bounds_every_ray_and_finds_the_best(seed: int) -> None:
    ball, epsilon = random_table(seed)
    utility = MutualInformation(ball.centre)
    rays = utility.columns(robust_rays(ball.lower_bounds, epsilon, "distinct"))
    family = distinct.DistinctPairsFamily(ball.centre, ball.lower_bounds, epsilon)
    prices = Decomposition(family.product(0, 0.0), epsilon).solve(family.explore, gap=1e-4)
    assert (rays.values - rays.vectors @ prices.ravel()).max() <= 1e-9  # dual feasible
    rng = np.random.default_rng(seed)
    for spread in (0.0, 0.05, 0.3):
        trial = prices - ball.centre * spread * rng.random(prices.shape)
        truth = (rays.values - rays.vectors @ trial.ravel()).max()
        tangents, _ = family.explore(trial, 1e-6)
        assert truth <= tangents + 1e-9
        bound, offered = family.price(trial.ravel(), family.efforts - 1)
        assert bound == pytest.approx(max(truth, 0.0), abs=1e-6)
        if truth > 1e-6:
            reduced = offered.values - offered.vectors @ trial.ravel()
            assert reduced.max() == pytest.approx(truth, abs=1e-6)


@pytest.mark.parametrize("seed", [2, 5, 7, 11, 14, 23])
@pytest.mark.parametrize("most", [0, 10**6])
def test_search_of_all_deltas_by_joint_prices_bounds_every_ray_and_names_products(
    seed: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        products, "SETTINGS", replace(products.SETTINGS, max_enumerated=most)
    )  # by bands, and listed
    ball, epsilon = random_table(seed)
    utility = MutualInformation(ball.centre)
    rays = utility.columns(robust_rays(ball.lower_bounds, epsilon, "distinct"))
    family = distinct.DistinctPairsFamily(ball.centre, ball.lower_bounds, epsilon)
    published = family.product(0, 0.0)
    prices = Decomposition(published, epsilon).solve(published.explore)
    rng = np.random.default_rng(seed)
    for spread in (0.0, 0.05, 0.3, 0.0):  # a search starts where the last one ended
        trial = (prices - ball.centre * spread * rng.random(prices.shape)).ravel()
        truth = max(float((rays.values - rays.vectors @ trial).max()), 0.0)
        excess, named = family.search(trial, 1e-6)
        assert truth - 1e-9 <= excess <= distinct.TIMES**2 * truth + 5e-6
        assert bool(named) == (truth > 2e-6)
        for product in named:
            product.resolution = 1e-7
            offers = product.price(trial, product.efforts - 1)[1]
            assert (offers.values - offers.vectors @ trial).max() <= truth + 1e-9


@pytest.mark.parametrize("seed", [5, 11, 14])
@pytest.mark.parametrize("large", [False, True])
def test_distinct_pairs_on_tables_too_large_for_joint_pricing(
    seed: int, large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ball, epsilon = random_table(seed)
    exact = optimal_robust(ball, epsilon, pairs="distinct", tolerance=1e-9)
    monkeypatch.setattr(polyopt, "SMALL", 0)
    if large:
        monkeypatch.setattr(polyopt, "LARGE", 0)
        monkeypatch.setattr(distinct, "WORK", 0)
    published = optimal_robust(ball, epsilon)
    for start in (None, published.channel, exact.channel):
        bounded = optimal_robust(ball, epsilon, pairs="distinct", tolerance=1e-6, start=start)
        assert published.value - 1e-9 <= bounded.value <= exact.value + 1e-9
        assert exact.value <= bounded.upper_bound + 1e-9
        assert ball.projected_epsilon(bounded.channel) <= epsilon + 1e-9
    assert bounded.value == pytest.approx(exact.value, abs=1e-9)


@pytest.mark.parametrize("pairs", ["all", "distinct"])
def test_a_start_is_in_the_class_or_refused(pairs: Pairs) -> None:
    ball = example_ball()
    best = optimal_robust(ball, 1.0, pairs=pairs)
    unused = np.hstack([best.channel.matrix, np.zeros((4, 1))])
    again = optimal_robust(ball, 1.0, pairs=pairs, start=Channel(unused), max_rounds=1)
    assert again.value >= best.value * (1 - 1e-9)
    assert ball.projected_epsilon(again.channel) <= 1.0 + 1e-9
    with pytest.raises(ValueError, match=r"The start is private at level 1.* epsilon is 0\.99"):
        optimal_robust(ball, 0.99, pairs=pairs, start=best.channel)
    with pytest.raises(ValueError, match="The start is private at level inf"):
        optimal_robust(ball, 1.0, pairs=pairs, start=Channel(np.eye(4)))
    # A mechanism of the larger class is not one of the smaller.
    distinct = optimal_robust(ball, 1.0, pairs="distinct").channel
    with pytest.raises(ValueError, match="The start is private at level 1"):
        optimal_robust(ball, 1.0, pairs="all", start=distinct)


def test_a_level_of_low_precision_is_kept() -> None:
    """Computed with in single precision, the level would be exceeded by its rounding."""
    for level in (np.float32(3.1), np.float16(0.7)):
        channel = optimal_robust(example_ball(), level, pairs="distinct").channel  # type: ignore[arg-type]
        assert example_ball().projected_epsilon(channel) <= float(level) + 1e-9


def test_distinct_pairs_pay_on_a_large_table_of_adult() -> None:
    """With a third of the records in one sensitive value, the optimum nearly doubles at epsilon 0.075."""
    counts = adult_counts("education", "marital-status")
    ball = RenyiBall.confidence(counts)
    published = optimal_robust(ball, 0.075)
    distinct = optimal_robust(ball, 0.075, pairs="distinct", tolerance=1e-3, start=published.channel)
    assert distinct.gap <= 1e-3
    assert distinct.value >= 1.96 * published.upper_bound
    assert ball.projected_epsilon(distinct.channel) <= 0.075 + 1e-9


@pytest.mark.parametrize("epsilon", [0.3, 4.0])
def test_distinct_pairs_are_solved_on_a_large_table_of_adult(epsilon: float) -> None:
    ball = RenyiBall.confidence(adult_counts("education", "marital-status"))
    published = optimal_robust(ball, epsilon, tolerance=1e-4)
    optimum = optimal_robust(ball, epsilon, pairs="distinct", tolerance=1e-4)
    assert optimum.gap <= 1e-4
    assert optimum.value >= published.value * (1.2 if epsilon < 1 else 1.00005)
    assert ball.projected_epsilon(optimum.channel) <= epsilon + 1e-9


def test_a_linear_program_that_fails_leaves_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    ball = RenyiBall.confidence(adult_counts("education", "marital-status"))
    published = optimal_robust(ball, 2.0, tolerance=1e-4)
    improve, turns = Proximal.improve, []

    def fails_later(*arguments: object, **options: object) -> object:
        turns.append(1)
        if len(turns) == 4:  # the published optimum took the first
            raise RuntimeError("HiGHS gave up")
        return improve(*arguments, **options)

    monkeypatch.setattr(Proximal, "improve", fails_later)
    optimum = optimal_robust(ball, 2.0, pairs="distinct", tolerance=1e-4)
    assert len(turns) == 4
    assert optimum.status == "bounded"
    assert published.value <= optimum.value * (1 + 1e-4)
    assert optimum.gap < 0.1
    assert ball.projected_epsilon(optimum.channel) <= 2.0 + 1e-9


@settings(max_examples=15, deadline=None)
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
    distinct = optimal_robust(ball, high, pairs="distinct")
    bound = optimal_nonrobust(ball.centre, high).upper_bound
    assert optimum.value - 1e-9 <= distinct.value <= bound + 1e-9
    smaller = RenyiBall(ball.centre, ball.radius / 4)
    assert optimal_robust(smaller, high).value >= optimum.value - 1e-9


@pytest.mark.parametrize("pairs", ["all", "distinct"])
def test_guarantee_holds_over_the_uncertainty_set(pairs: str) -> None:
    """Random P in F, and the worst P in F found by optimization, never leak more than epsilon."""
    for seed in range(8):
        ball, epsilon = random_table(seed)
        channel = optimal_robust(ball, epsilon, pairs=pairs).channel
        P = ball.sample(np.random.default_rng(seed), 1000)
        mass = P.sum(axis=2, keepdims=True)
        conditionals = np.divide(P, mass, out=np.zeros_like(P), where=mass > 0)
        assert rldp_epsilon(channel, conditionals).max(initial=0.0) <= epsilon + 1e-9
        assert ball.worst_case_epsilon(channel) <= epsilon + 1e-9


# --- degenerate inputs and errors -------------------------------------------------------------------------


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
@pytest.mark.parametrize("pairs", ["all", "distinct"])
def test_degenerate_tables(counts: list[list[int]], pairs: str) -> None:
    ball = RenyiBall.confidence(np.array(counts))
    optimum = optimal_robust(ball, 1.0, pairs=pairs)
    assert optimum.gap <= 1e-6
    assert ball.projected_epsilon(optimum.channel) <= 1.0 + 1e-9
    assert optimum.upper_bound <= optimal_nonrobust(ball.centre, 1.0).upper_bound * (1 + 1e-9) + 1e-9


def test_a_single_sensitive_value_or_no_uncertainty() -> None:
    one = RenyiBall.confidence(np.array([[5, 9, 2]]))
    assert optimal_robust(one, 0.1, pairs="distinct").value == pytest.approx(entropy(one.centre))
    known = RenyiBall(EXAMPLE, 0.0)
    assert optimal_robust(known, 0.5).value == optimal_nonrobust(EXAMPLE, 0.5).value


def test_epsilon_zero() -> None:
    assert optimal_ldp(MutualInformation(np.array([0.2, 0.8])), 0.0).value == pytest.approx(0.0, abs=1e-12)
    conditional_entropy = entropy(EXAMPLE) - entropy(EXAMPLE.sum(axis=1))
    assert optimal_nonrobust(EXAMPLE, 0.0).value == pytest.approx(conditional_entropy, abs=1e-12)
    nothing = optimal_robust(example_ball(), 0.0)
    assert (nothing.value, nothing.bound, nothing.status) == (0.0, 0.0, "optimal")
    assert nothing.channel.n_outputs == 1
    known = optimal_robust(RenyiBall(EXAMPLE, 0.0), 0.0)
    assert known.value == pytest.approx(conditional_entropy, abs=1e-12)
    one = RenyiBall.confidence(np.array([[5, 9, 2]]))
    assert optimal_robust(one, 0.0).value == 0.0
    assert optimal_robust(one, 0.0, pairs="distinct").value == pytest.approx(entropy(one.centre))


@pytest.mark.parametrize("epsilon", [-0.1, math.inf, math.nan])
def test_bad_epsilon(epsilon: float) -> None:
    with pytest.raises(ValueError, match="must be a finite number, 0 or more"):
        optimal_robust(example_ball(), epsilon)
    with pytest.raises(ValueError, match="must be a finite number, 0 or more"):
        optimal_nonrobust(EXAMPLE, epsilon)
    with pytest.raises(ValueError, match="must be a finite number, 0 or more"):
        optimal_ldp(MutualInformation(np.array([0.5, 0.5])), epsilon)


def test_other_errors() -> None:
    with pytest.raises(ValueError, match="'all' or 'distinct'"):
        optimal_robust(example_ball(), 1.0, pairs="some")  # type: ignore[arg-type]
    with pytest.raises(Intractable, match="at most 12 cells"):
        robust_rays(RenyiBall.confidence(np.ones((4, 4))).lower_bounds, 1.0, "distinct")
    with pytest.raises(Intractable, match="21 public values"):
        optimal_robust(RenyiBall.confidence(np.ones((2, 21))), 1.0)
    with pytest.raises(ValueError, match="rows = sensitive"):
        optimal_nonrobust(np.array([0.5, 0.5]), 1.0)
    with pytest.raises(ArithmeticError, match="the certificate fails"):
        certified(Channel(np.eye(2)), 1.0, 0.5, 1e-7)
