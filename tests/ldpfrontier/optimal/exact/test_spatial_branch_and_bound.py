"""The optimum under the uncertainty set itself, against enumeration, other classes and levels over it."""

from __future__ import annotations

import math
from itertools import pairwise, permutations

import numpy as np
import ppl
import pytest
from scipy.optimize import linprog
from scipy.special import xlogy

from ldpfrontier.channel import Channel
from ldpfrontier.information import entropy, mutual_information
from ldpfrontier.optimal.exact.separation import Oracle, Pairs, Relaxation, column_levels
from ldpfrontier.optimal.exact.spatial_branch_and_bound import JointColumns, joint_optimum
from ldpfrontier.optimal.ldp.nonrobust import optimal_nonrobust
from ldpfrontier.optimal.robust import optimal_robust
from ldpfrontier.optimal.unconditional import optimal_unconditional
from ldpfrontier.optimum import Optimum
from ldpfrontier.uncertainty.divergence import renyi_divergences
from ldpfrontier.uncertainty.renyi_ball import RenyiBall

EXAMPLE = [[7, 10], [26, 57]]
LEVELS = [0.1, 0.5, 1.0, 2.5]


def random_ball(shape: tuple[int, int], seed: int, order: float = 2.0) -> tuple[RenyiBall, float]:
    """A random table of counts, every fourth one with a zero cell, and a privacy level."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([100, 400, 5000]))
    counts = rng.multinomial(n, rng.dirichlet(np.full(math.prod(shape), 2.0))).reshape(shape)
    if seed % 4 == 0:
        counts[rng.integers(shape[0]), rng.integers(shape[1])] = 0
    return RenyiBall.confidence(counts, order=order), LEVELS[seed % len(LEVELS)]


def check(ball: RenyiBall, epsilon: float, found: Optimum, gap: float) -> None:
    """Private over F by the set's own reckoning; the value is the channel's; the gap is met."""
    assert ball.worst_case_epsilon(found.channel) <= epsilon
    assert found.value == pytest.approx(mutual_information(ball.centre.ravel(), found.channel), abs=1e-12)
    assert found.value <= found.bound <= optimal_nonrobust(ball.centre, epsilon).bound + 1e-9
    assert found.gap <= gap
    assert found.status == "optimal"


# --- the oracle -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [0.3, 0.7, 1.0, 2.0, 3.5])
@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 2)])
def test_levels_of_columns_are_those_of_a_channel(shape: tuple[int, int], order: float) -> None:
    ball, _ = random_ball(shape, 3, order)
    rng = np.random.default_rng(0)
    columns = rng.gamma(0.5, size=(12, ball.centre.size))
    levels = column_levels(ball, columns)
    for column, level in zip(columns, levels, strict=True):
        rare = column / column.max() * 1e-6  # so rare that the other output tells nothing
        assert ball.worst_case_epsilon(Channel(np.column_stack([rare, 1.0 - rare]))) == pytest.approx(
            level, abs=1e-9
        )


def test_no_member_of_the_set_passes_the_level_of_a_column() -> None:
    ball, _ = random_ball((3, 3), 1)
    rng = np.random.default_rng(1)
    columns = rng.gamma(0.7, size=(20, 9))
    levels = column_levels(ball, columns)
    P = ball.sample(rng, 4000)
    R = P / P.sum(axis=2, keepdims=True)
    means = np.log(np.einsum("psu,msu->mps", R, columns.reshape(-1, 3, 3)))
    seen = (means.max(axis=2) - means.min(axis=2)).max(axis=1)
    assert (seen <= levels + 1e-9).all()
    assert (seen > 0.8 * levels).any()


def test_rough_inequalities_of_a_value_with_itself_have_both_conditionals_in_one_row() -> None:
    ball, epsilon = random_ball((2, 3), 2, 2.0)
    oracle = Oracle(ball, epsilon, pairs="all")
    cuts = oracle.rough_cuts(np.random.default_rng(2).gamma(0.5, size=(10, 6))).reshape(10, 4, 2, 3)
    one, other = 1.0, -math.exp(epsilon)
    sums = np.array([[one + other, 0.0], [one, other], [other, one], [0.0, one + other]])
    np.testing.assert_allclose(cuts.sum(axis=3), np.broadcast_to(sums, (10, 4, 2)), atol=1e-12)


@pytest.mark.parametrize("order", [0.3, 0.7, 1.0, 2.0, 3.5])
def test_inequalities_are_of_conditionals_that_occur_together(order: float) -> None:
    """Each cut is R_s - e^eps R_s', within the budget; rough ones too, and these nearly as violated."""
    ball, epsilon = random_ball((2, 3), 2, order)
    oracle = Oracle(ball, epsilon)
    columns = np.random.default_rng(2).gamma(0.5, size=(10, 6))
    g = (order - 1.0) / order

    def spent(D: np.ndarray) -> np.ndarray:
        return np.expm1(g * D) / g if g else D

    levels = []
    for rough in (False, True):
        cuts = oracle.rough_cuts(columns) if rough else oracle.worst(columns)[1]
        for m, pair in np.ndindex(10, 2):
            s, t = ((0, 1), (1, 0))[pair]
            cut = cuts[m, pair].reshape(2, 3)
            R = np.array([cut[s], -cut[t] / math.exp(epsilon)])
            assert R.min() >= 0
            np.testing.assert_allclose(R.sum(axis=1), 1.0, atol=1e-12)
            D = renyi_divergences(ball.conditionals[[s, t]], R, order)
            assert ball.sensitive[[s, t]] @ spent(D) <= spent(np.array(ball.radius)) + 1e-10
        high = np.einsum("mpx,mx->mp", np.maximum(cuts, 0.0), columns)
        low = np.einsum("mpx,mx->mp", np.maximum(-cuts, 0.0), columns)
        levels.append(epsilon + np.log(high / low))
    exact, rough_levels = levels
    np.testing.assert_allclose(exact, oracle.worst(columns)[0], atol=1e-10)
    assert (rough_levels <= exact + 1e-11).all()
    np.testing.assert_allclose(rough_levels, exact, atol=1e-4)


@pytest.mark.parametrize("pairs", ["all", "distinct"])
def test_projections_have_the_full_budget_each(pairs: Pairs) -> None:
    ball, _ = random_ball((3, 3), 5)
    columns = np.random.default_rng(3).gamma(0.5, size=(6, 9))
    levels = column_levels(ball, columns, oracle="projections", pairs=pairs)
    for column, level in zip(columns.reshape(-1, 3, 3), levels, strict=True):
        ends = [ball.support(s, column[s]) for s in range(3)]
        ratios = [
            math.log(ends[s][1][0] / ends[t][0][0])
            for s in range(3)
            for t in range(3)
            if s != t or pairs == "all"
        ]
        assert level == pytest.approx(max(ratios), abs=1e-11)
    assert (column_levels(ball, columns) <= levels + 1e-12).all()


def test_columns_are_pulled_to_the_level_and_no_further() -> None:
    ball, _ = random_ball((2, 3), 6)
    oracle = Oracle(ball, 0.3)
    scale = ball.centre.ravel()
    columns = np.random.default_rng(4).gamma(0.4, size=(30, 6))
    columns /= (columns @ scale)[:, None]
    inside, _ = oracle.pull(columns)
    before, after = oracle.levels(columns), oracle.levels(inside)
    assert (after <= 0.3).all()
    np.testing.assert_allclose(inside @ scale, 1.0, atol=1e-12)
    assert (before > 0.3).any()
    np.testing.assert_allclose(after[before > 0.3], 0.3, atol=1e-10)
    np.testing.assert_array_equal(inside[before < 0.29], columns[before < 0.29])


def test_levels_refuse_what_is_no_column() -> None:
    ball = RenyiBall.confidence(EXAMPLE)
    with pytest.raises(ValueError, match=r"shape \(1, 3\); it must be \(m, 4\)"):
        column_levels(ball, np.ones(3))
    with pytest.raises(ValueError, match="not a number of 0 or more"):
        column_levels(ball, [[1.0, -1.0, 1.0, 1.0]])


# --- the linear programs ----------------------------------------------------------------------------------


def test_relaxations_agree_with_another_solver_whatever_they_forget() -> None:
    rng = np.random.default_rng(5)
    scale = rng.dirichlet(np.ones(5))
    cuts = rng.normal(size=(60, 5))
    cuts -= (np.maximum(cuts.sum(axis=1), 0.0) / 5.0 + 0.05)[:, None]  # the constant meets all of them
    relaxation = Relaxation(scale, working=8)
    relaxation.add(cuts)
    for _ in range(40):
        cost, lo, hi = rng.normal(size=5), rng.random(5) * 0.9, 1.0 + 3.0 * rng.random(5)
        found = relaxation.maximize(cost, lo, hi)
        expected = linprog(-cost, cuts, np.zeros(60), scale[None], [1.0], np.column_stack([lo, hi]))
        assert found is not None
        assert found[0] == pytest.approx(-expected.fun, abs=1e-8)
        assert found[0] >= -expected.fun - 1e-12
        assert cost @ found[1] == pytest.approx(-expected.fun, abs=1e-8)
    assert relaxation.maximize(cost, np.full(5, 2.0), np.full(5, 3.0)) is None


@pytest.mark.parametrize("letters", [2, 4])
def test_relaxations_with_ties_and_empty_cells(letters: int) -> None:
    """All ratios of two groups bounded alike, ties of costs, cells without weight; against HiGHS."""
    rng = np.random.default_rng(letters)
    n, factor = 2 * letters, math.exp(0.8)
    cuts = np.zeros((2, letters, letters, n))
    for s, i, j in np.ndindex(2, letters, letters):
        cuts[s, i, j, s * letters + i], cuts[s, i, j, (1 - s) * letters + j] = 1.0, -factor
    outcomes = set()
    for _ in range(40):
        scale = rng.dirichlet(np.ones(n)) * (rng.random(n) < 0.8)
        scale = scale / scale.sum() if scale.any() else np.full(n, 1.0 / n)
        relaxation = Relaxation(scale)
        relaxation.add(cuts.reshape(-1, n))
        cost, hi = np.round(rng.normal(size=n)), np.full(n, factor**2)
        lo = np.where(rng.random(n) < 0.7, 0.0, 2.0 * rng.random(n))
        found = relaxation.maximize(cost, lo, hi)
        pool = relaxation.pool
        expected = linprog(-cost, pool, np.zeros(len(pool)), scale[None], [1.0], np.column_stack([lo, hi]))
        outcomes.add(expected.status)
        assert (found is None) == (expected.status == 2)
        if found is not None:
            assert found[0] == pytest.approx(-expected.fun, abs=1e-8)
    assert outcomes == {0, 2}


def test_a_box_that_only_touches_the_cone() -> None:
    """The one v there is has all bounds and an inequality tight; a little less, and there is none."""
    relaxation = Relaxation(np.array([0.25, 0.25, 0.5]))
    relaxation.add(np.array([[0.3, -1.0, 0.0]]))
    lo, hi = np.array([1.5, 0.0, 0.5]), np.array([2.5, 0.3 * 1.5, 1.5])
    found = relaxation.maximize(np.array([1.0, -1.0, -2.0]), lo, hi)
    assert found is not None
    np.testing.assert_allclose(found[1], [1.5, 0.45, 1.025], atol=1e-8)
    assert found[0] == pytest.approx(1.05 - 2.05, abs=1e-8)
    hi[1] -= 1e-6
    assert relaxation.maximize(np.array([1.0, -1.0, -2.0]), lo, hi) is None


def test_a_program_ends_when_it_is_known_to_be_worth_little() -> None:
    rng = np.random.default_rng(6)
    cuts = rng.normal(size=(60, 5))
    cuts -= (np.maximum(cuts.sum(axis=1), 0.0) / 5.0 + 0.05)[:, None]
    relaxation = Relaxation(np.full(5, 0.2))
    relaxation.add(cuts)
    cost, lo, hi = rng.normal(size=5), np.zeros(5), np.full(5, 4.0)
    best = relaxation.maximize(cost, lo, hi)
    assert best is not None
    for enough in (best[0] - 0.1, best[0] + 0.1):
        found = relaxation.maximize(cost, lo, hi, enough)
        assert found is not None
        assert found[0] >= best[0] - 1e-9
        assert (found[0] <= enough) == (best[0] <= enough)


def test_a_pool_of_inequalities_forgets_those_that_are_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldpfrontier.optimal.exact.separation.POOL", 10)
    relaxation = Relaxation(np.array([0.5, 0.5]))
    needed = np.array([[1.0, -2.0]])
    relaxation.add(needed)
    ends = np.array([0.0, 0.0]), np.array([5.0, 5.0])
    for _ in range(5):
        found = relaxation.maximize(np.array([1.0, 0.0]), *ends)
        assert found is not None
        assert found[0] == pytest.approx(4.0 / 3.0)
        relaxation.add(np.tile([0.1, -1.0], (8, 1)))
    assert len(relaxation.pool) <= 18


# --- optima -----------------------------------------------------------------------------------------------


def test_worked_example() -> None:
    """Optima of the three classes on Example 3; with two letters the projections are simplices."""
    ball, epsilon = RenyiBall.confidence(EXAMPLE), math.log(2)
    exact = joint_optimum(ball, epsilon, tolerance=1e-4)
    check(ball, epsilon, exact, 1e-4)
    assert exact.value == pytest.approx(0.5936, abs=1e-4)
    for pairs, stated in (("all", 0.4228), ("distinct", 0.5630)):
        projections = joint_optimum(ball, epsilon, oracle="projections", pairs=pairs, tolerance=1e-4)
        polyopt = optimal_robust(ball, epsilon, pairs=pairs)
        assert projections.value == pytest.approx(stated, abs=1e-4)
        assert projections.value <= polyopt.bound
        assert polyopt.value <= projections.bound
        assert projections.gap <= 1e-4
        assert ball.projected_epsilon(projections.channel) <= epsilon


def brute_force(ball: RenyiBall, epsilon: float, near: np.ndarray, enough: float) -> float:
    """Bound the optimum from above by listing all rays of polyhedra around the cone.

    The inequalities are those of random members of F and of the worst conditionals at `near` and, round by
    round, at the best rays, until the bound is `enough`. Rays are exact, of numbers rounded to weaken the
    inequalities.
    """
    n, prior = ball.centre.size, ball.centre.ravel()
    a1, a2 = ball.centre.shape
    oracle, E = Oracle(ball, epsilon), math.exp(epsilon)
    P = ball.sample(np.random.default_rng(0), 8)
    cuts = list(oracle.worst(np.vstack([near, np.eye(n) + 1e-3]))[1].reshape(-1, n))
    for R in P / P.sum(axis=2, keepdims=True):
        for s, t in permutations(range(a1), 2):
            cut = np.zeros((a1, a2))
            cut[s], cut[t] = R[s], -E * R[t]
            cuts.append(cut.ravel())
    bound = math.inf
    for _ in range(25):
        system = ppl.Constraint_System()
        for x in range(n):
            system.insert(ppl.Variable(x) >= 0)
        for cut in cuts:
            system.insert(ppl.Linear_Expression([math.floor(float(x) * (1 << 40)) for x in cut], 0) <= 0)
        generators = ppl.C_Polyhedron(system).minimized_generators()
        rays = np.array([[float(x) for x in g.coefficients()] for g in generators if g.is_ray()])
        rays /= (rays @ prior)[:, None]
        values = xlogy(rays, rays) @ prior
        solution = linprog(-values, A_eq=rays.T, b_eq=np.ones(n), method="highs-ds")
        bound = min(bound, -float(solution.fun))
        if bound <= enough:
            break
        reduced = values + rays @ solution.eqlin.marginals
        levels, found = oracle.worst(rays[np.argsort(-reduced)[: 3 * n]])
        cuts.extend(found[levels > epsilon])
    return bound


#: Random tables that are quick, with every level and an empty cell among them.
QUICK = {(2, 2): (0, 1, 2, 3), (2, 3): (1, 2, 3)}


@pytest.mark.parametrize(
    ("shape", "seed"),
    [
        pytest.param(shape, seed, marks=[] if seed in quick else pytest.mark.long)
        for shape, quick in QUICK.items()
        for seed in range(10)
    ],
)
def test_optima_of_small_tables_are_those_of_enumeration(shape: tuple[int, int], seed: int) -> None:
    ball, epsilon = random_ball(shape, seed)
    found = joint_optimum(ball, epsilon, tolerance=1e-3)
    check(ball, epsilon, found, 1e-3)
    near = found.channel.matrix.T / (ball.centre.ravel() @ found.channel.matrix)[:, None]
    high = brute_force(ball, epsilon, near, found.value * (1.0 + 1e-3))
    assert found.value <= high + 1e-9
    assert high <= found.bound * (1.0 + 1e-3)


@pytest.mark.parametrize("order", [0.7, 1.0, 3.0])
def test_any_order(order: float) -> None:
    ball, epsilon = random_ball((2, 2), 11, order)
    check(ball, epsilon, joint_optimum(ball, epsilon, tolerance=1e-3), 1e-3)


@pytest.mark.parametrize(("shape", "seed"), [((2, 2), 0), ((2, 3), 1), ((3, 2), 2)])
def test_classes_contain_one_another(shape: tuple[int, int], seed: int) -> None:
    """PolyOpt, exact projections, the set itself, the estimate alone."""
    ball, epsilon = random_ball(shape, seed)
    for pairs in ("all", "distinct"):
        projections = joint_optimum(ball, epsilon, oracle="projections", pairs=pairs, tolerance=1e-2)
        assert ball.projected_epsilon(projections.channel) <= epsilon
        assert optimal_robust(ball, epsilon, pairs=pairs).value <= projections.bound
    exact = joint_optimum(ball, epsilon, tolerance=1e-2)
    assert projections.value <= exact.bound


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 2)])
def test_with_no_limit_on_the_distribution(shape: tuple[int, int]) -> None:
    prior = np.random.default_rng(7).dirichlet(np.ones(math.prod(shape))).reshape(shape)
    found = joint_optimum(RenyiBall(prior, math.inf), 0.8, tolerance=1e-4)
    expected = optimal_unconditional(prior, 0.8)
    assert found.value == pytest.approx(expected.value, rel=1e-4)
    assert found.bound >= expected.value - 1e-9
    assert found.gap <= 1e-4


def test_a_small_set_is_nearly_the_estimate() -> None:
    ball = RenyiBall([[0.3, 0.1], [0.2, 0.4]], 1e-7)
    limit = optimal_nonrobust(ball.centre, 0.5)
    found = joint_optimum(ball, 0.5, tolerance=1e-3)
    check(ball, 0.5, found, 1e-3)
    assert found.value == pytest.approx(limit.value, rel=2e-3)
    assert joint_optimum(RenyiBall(ball.centre, 0.0), 0.5).value == limit.value


def test_letters_may_be_renamed_and_more_may_be_told_at_a_higher_level() -> None:
    ball, _ = random_ball((2, 3), 2)
    values = []
    for epsilon in (0.2, 0.6, 1.5):
        found = joint_optimum(ball, epsilon, tolerance=1e-2)
        renamed = RenyiBall(ball.centre[::-1][:, [2, 0, 1]], ball.radius)
        again = joint_optimum(renamed, epsilon, tolerance=1e-2)
        assert again.value <= found.bound
        assert found.value <= again.bound
        values.append(found)
    for less, more in pairwise(values):
        assert more.value > less.bound


def test_empty_cells_and_groups() -> None:
    """An empty cell may hold anybody, and an empty group is anything: its columns are within e^eps."""
    ball = RenyiBall([[0.5, 0.3, 0.0], [0.0, 0.2, 0.0]], 0.05)
    check(ball, 0.7, joint_optimum(ball, 0.7, tolerance=1e-3), 1e-3)
    empty = RenyiBall([[0.5, 0.5], [0.0, 0.0]], 0.05)
    found = joint_optimum(empty, 0.7, tolerance=1e-3)
    check(empty, 0.7, found, 1e-3)
    matrix = found.channel.matrix
    low, high = empty.support(0, matrix[:2].T)
    assert (matrix[2:].max(axis=0) <= math.exp(0.7) * low).all()
    assert (high <= math.exp(0.7) * matrix[2:].min(axis=0)).all()


def test_nothing_to_hide_or_to_tell() -> None:
    one = RenyiBall([[0.2, 0.3, 0.5]], 0.1)
    assert joint_optimum(one, 0.5).value == pytest.approx(entropy(one.centre))
    within = joint_optimum(one, 0.5, oracle="projections", pairs="all", tolerance=1e-3)
    assert within.value < 0.9 * entropy(one.centre)
    assert within.gap <= 1e-3
    ball = RenyiBall.confidence(EXAMPLE)
    nothing = joint_optimum(ball, 0.0)
    assert (nothing.value, nothing.bound, nothing.status) == (0.0, 0.0, "optimal")


def test_a_bound_is_honest_when_the_search_is_cut_short() -> None:
    ball, epsilon = random_ball((2, 3), 5)
    best = joint_optimum(ball, epsilon, tolerance=1e-3)
    rough = joint_optimum(ball, epsilon, tolerance=1e-9, max_rounds=1, max_nodes=0)
    assert rough.status == "bounded"
    assert ball.worst_case_epsilon(rough.channel) <= epsilon
    assert rough.value <= best.bound
    assert best.value <= rough.bound <= optimal_nonrobust(ball.centre, epsilon).bound + 1e-9


def test_pricing_bounds_every_column_at_any_prices() -> None:
    ball, epsilon = random_ball((2, 3), 3)
    family = JointColumns(Oracle(ball, epsilon), max_nodes=300)
    family.aim(0.0, 1e-3)
    rng = np.random.default_rng(8)
    columns = family.utility.columns(
        family.oracle.pull(family.starts(rng.gamma(0.3, size=(60, 6)) + 1e-9))[0]
    )
    for _ in range(4):
        prices = rng.normal(size=6) * ball.centre.ravel() * 3.0
        excess, offered = family.price(prices, 1)
        assert (offered.values - offered.vectors @ prices).max() <= excess
        assert (columns.values - columns.vectors @ prices).max() <= excess
        assert (family.oracle.levels(offered.vectors) <= epsilon).all()


def test_a_start_is_used() -> None:
    ball, epsilon = RenyiBall.confidence(EXAMPLE), math.log(2)
    best = joint_optimum(ball, epsilon, tolerance=1e-4)
    again = joint_optimum(ball, epsilon, tolerance=1e-3, max_rounds=1, max_nodes=0, start=best.channel)
    assert again.value >= best.value - 1e-9


def test_refuses() -> None:
    ball = RenyiBall.confidence(EXAMPLE)
    with pytest.raises(ValueError, match="oracle is 'both'; it must be 'exact' or 'projections'"):
        joint_optimum(ball, 1.0, oracle="both")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="pairs is 'some'; it must be 'all' or 'distinct'"):
        joint_optimum(ball, 1.0, pairs="some")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="epsilon is -1"):
        joint_optimum(ball, -1.0)
    with pytest.raises(ValueError, match="The start has 2 inputs; it must have 4"):
        joint_optimum(ball, 1.0, start=Channel(np.eye(2)))
    with pytest.raises(ValueError, match=r"The start is private at level inf; epsilon is 1\."):
        joint_optimum(ball, 1.0, start=Channel(np.eye(4)))
