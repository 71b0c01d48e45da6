"""`optimal_estimation`: known values, an independent convex program, certificates, degenerate cones."""

import math
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from ldpfrontier import (
    Channel,
    Intractable,
    OddsRatios,
    PolyhedralCone,
    RenyiBall,
    association_epsilon,
    conditional_cone,
    conditional_epsilon,
    estimation_error,
    ldp_epsilon,
    local_cone,
    optimal_estimation,
    polyopt_cone,
    robust_cone,
    secret_randomized_response,
    subset_selection,
    unconditional_cone,
    unconditional_epsilon,
)
from ldpfrontier.engines.designs import column_weights, generation, outer_rays, program_columns, staircases
from ldpfrontier.engines.joint.association_cone import AssociationCone
from ldpfrontier.engines.listed.double_description import extreme_rays
from ldpfrontier.engines.listed.staircase_rays import local_ratio
from ldpfrontier.model.block_designs import LARGE_ALPHABETS
from ldpfrontier.model.mechanisms import uniform_error
from ldpfrontier.promises import estimation as solve
from ldpfrontier.promises.listed_rays import listed_rays
from oracles.conic import solved
from support.adult import adult_counts
from support.cones import ByCuts
from support.grids import few

#: tr(A M^-1 A') at the uniform prior, at epsilon = 0.5, 1 and 2, as another program found it to five digits.
IDENTITY = {6: (66.07, 15.875, 3.3001), 8: (96.11, 22.736, 4.5631), 12: (159.15, 37.307, 7.6663)}
PREFIX_SUMS = {6: (63.488, 17.084, 6.0048), 8: (106.38, 27.531, 8.8320), 12: (211.54, 53.130, 15.159)}
#: n MSE of all cells of Adult, PolyOpt class with distinct pairs: at 0.3, 1 and 2; then with k = epsilon.
ADULT = {
    ("sex", "race"): ((21.258, 2.4304, 0.9677), (45.472, 3.0042, 1.0223)),
    ("income", "relationship"): ((17.342, 2.5505, 1.2210), (69.742, 4.6294, 1.4593)),
}


def check(optimum, prior, cone, target=None) -> None:
    """Check what an optimum says about itself."""
    assert (optimum.unit, optimum.direction) == ("1", "min")
    assert optimum.lower_bound == optimum.bound <= optimum.value == optimum.upper_bound
    assert optimum.value == pytest.approx(estimation_error(optimum.channel, prior, target), rel=1e-12)
    assert optimum.channel.row_sum_error < 1e-12
    assert cone.violation(optimum.channel.matrix.T) <= 1e-14


@pytest.mark.parametrize("n", few([6, 8], more=[12]))
@pytest.mark.parametrize("values", [IDENTITY, PREFIX_SUMS], ids=["identity", "prefix sums"])
def test_workloads_under_local_privacy(n: int, values) -> None:
    rows, p = (np.eye(n) if values is IDENTITY else np.tri(n)), np.full(n, 1 / n)
    for level, value in zip((0.5, 1.0, 2.0), values[n], strict=True):
        cone = local_cone(n, level)
        best = optimal_estimation(p, cone, rows)
        check(best, p, cone, rows)
        assert best.status == "optimal"
        assert best.gap <= 1e-4
        assert best.value + ((rows @ p) ** 2).sum() == pytest.approx(value, rel=1e-4)
        assert best.channel.n_outputs < 1000


@pytest.mark.parametrize("pair", ADULT)
def test_tables_of_adult(pair, long) -> None:
    counts = adult_counts(*pair)
    ball = RenyiBall.confidence(counts, beta=0.05)
    for level, alone, both in zip((0.3, 1.0, 2.0), *ADULT[pair], strict=True):
        # Those of income at 0.3 have 6,600 and 13,300 rays.
        if not long and level != (1.0 if pair[0] == "sex" else 2.0):
            continue
        cone = polyopt_cone(ball.lower_bounds, level, pairs="distinct")
        for promise, value in ((cone, alone), (cone & conditional_cone(counts.shape, level), both)):
            best = optimal_estimation(ball.centre, promise)
            check(best, ball.centre, promise)
            assert best.gap <= 1e-4
            assert best.value == pytest.approx(value, rel=1e-4)


@pytest.mark.parametrize("level", [0.1, 1.0, 1.7, 5.0])
@pytest.mark.parametrize("n", [3, 8])
def test_at_a_uniform_prior_subset_selection_is_the_best(n: int, level: float) -> None:
    """By symmetry the error depends on one number that is linear in the mechanism (Ye and Barg 2018)."""
    p = np.full(n, 1 / n)
    best = optimal_estimation(p, local_cone(n, level), tolerance=1e-7)
    error = estimation_error(subset_selection(n, level), p)
    assert best.bound <= error * (1 + 1e-9)
    assert error == pytest.approx(best.value, rel=1e-6)
    assert ldp_epsilon(best.channel) <= level + 1e-12


def reference(rays, p, rows) -> float:
    """Return the least n MSE over weights of rays, by a conic solver: tr(A M^-1 A') = sum_i a_i' M^-1 a_i."""
    V = rays / (rays @ p)[:, None]
    theta = cp.Variable(len(V), nonneg=True)
    M = V.T @ cp.diag(theta) @ V
    M = (M + M.T) / 2
    error = sum(cp.matrix_frac(row, M) for row in rows)
    found = solved(cp.Problem(cp.Minimize(error), [V.T @ theta == 1]))
    return found - ((rows @ p) ** 2).sum()


def random_case(seed: int):
    """A table of at most 9 cells, a promise for it, and a target of full rank."""
    rng = np.random.default_rng(seed)
    shape = [(2, 2), (2, 3), (3, 2), (2, 4), (3, 3)][seed % 5]
    counts = rng.multinomial(int(rng.integers(100, 3000)), rng.dirichlet(np.full(shape[0] * shape[1], 1.5)))
    counts = np.maximum(counts, 2).reshape(shape)
    level = float(rng.choice([0.3, 0.7, 1.5, 3.0]))
    ball = RenyiBall.confidence(counts, beta=0.05)
    kind = seed % 4
    cone = [
        lambda: polyopt_cone(ball.lower_bounds, level, pairs="distinct"),
        lambda: polyopt_cone(ball.lower_bounds, level) & conditional_cone(shape, level),
        lambda: unconditional_cone(shape, level),
        lambda: local_cone(counts.size, level),
    ][kind]()
    rows = np.eye(counts.size) if rng.random() < 0.5 else rng.normal(size=(counts.size, counts.size))
    return ball.centre, cone, rows


def test_random_tables_have_the_optimum_of_another_program(long) -> None:
    compared = 0
    for seed in range(200 if long else 6):
        prior, cone, rows = random_case(seed)
        rays = extreme_rays(cone.inequalities)
        if len(rays) > (400 if long else 150):  # the other program takes minutes
            continue
        if np.linalg.matrix_rank(rays, tol=1e-8) < prior.size:  # PolyOpt with all pairs, at times
            with pytest.raises(ValueError, match="No mechanism of the cone allows"):
                optimal_estimation(prior, cone, rows)
            continue
        best = optimal_estimation(prior, cone, rows, tolerance=1e-6)
        check(best, prior, cone, rows)
        assert best.status == "optimal"
        expected = reference(rays, prior.ravel(), rows)
        if math.isnan(expected):  # the other program fails at times
            continue
        assert best.bound <= expected * (1 + 1e-6)
        assert best.value == pytest.approx(expected, rel=2e-5)
        compared += 1
    assert compared >= (100 if long else 4)


@pytest.mark.parametrize("seed", few(range(4), more=range(4, 20)))
def test_no_mechanism_in_the_cone_is_below_the_bound(seed: int) -> None:
    """Mixtures of the optimum with random mechanisms of the cone, however few rounds there were."""
    rng = np.random.default_rng(seed)
    prior, cone, rows = random_case(seed)
    p = prior.ravel()
    try:
        best = optimal_estimation(prior, cone, rows, max_rounds=int(rng.integers(0, 12)))
    except ValueError:
        return
    check(best, prior, cone, rows)
    good = optimal_estimation(prior, cone, rows)
    assert good.value <= best.value * (1 + 1e-9)
    assert best.bound <= good.value
    for share in (0.5, 0.1, 0.01):
        columns = np.hstack([(1 - share) * good.channel.matrix, share * subset_mechanism(rng, cone)])
        assert estimation_error(Channel(columns), p, rows) >= good.bound


def subset_mechanism(rng, cone):
    """Return a random mechanism of a cone: one bit, as far from the constant one as the cone allows."""
    toward = rng.normal(size=cone.shape[0] * cone.shape[1])
    toward /= np.abs(toward).max()
    length = 1.0
    while max(cone.violation(1 + length * toward[None]), cone.violation(1 - length * toward[None])) > 0:
        length *= 0.8
    return np.column_stack([1 + length * toward, 1 - length * toward]) / 2


def test_a_target_of_fewer_rows_needs_fewer_people() -> None:
    prior = np.array([[0.15, 0.05, 0.1], [0.1, 0.35, 0.25]])
    cone = unconditional_cone((2, 3), 1.0)
    for target, a in (("sensitive", 2), ("useful", 3)):
        best = optimal_estimation(prior, cone, target)
        assert best.status == "optimal"
        all_cells = optimal_estimation(prior, cone).channel
        assert best.value < 0.9 * estimation_error(all_cells, prior, target)
        rows = np.kron(np.eye(2), np.ones((1, 3))) if a == 2 else np.kron(np.ones((1, 2)), np.eye(3))
        assert optimal_estimation(prior, cone, rows).value == pytest.approx(best.value, rel=1e-9)
    # A single number: the channel need not tell anything else.
    contrast = np.array([[1.0, -1, 0, 0, 0, 0]])
    assert optimal_estimation(prior, cone, contrast).status == "optimal"


@pytest.mark.parametrize("level", [1e-3, 8.0, 20.0])
def test_extreme_levels(level: float) -> None:
    p = np.array([0.1, 0.2, 0.3, 0.4])
    best = optimal_estimation(p, local_cone(4, level))
    check(best, p, local_cone(4, level))
    assert best.status == "optimal"
    if level == 20.0:
        assert best.value == pytest.approx(1 - (p**2).sum(), rel=1e-6)
    if level < 1:
        coarser = optimal_estimation(p, local_cone(4, 2 * level)).value
        assert best.value == pytest.approx(4 * coarser, rel=5e-3)


def test_rare_inputs() -> None:
    p = np.array([1e-7, 1e-3, 0.3, 1 - 0.3 - 1e-3 - 1e-7])
    best = optimal_estimation(p, local_cone(4, 1.0))
    assert best.status == "optimal"
    assert best.value < estimation_error(subset_selection(4, 1.0), p)


@pytest.mark.parametrize("seed", range(3))
def test_without_a_step_and_where_none_succeeds_there_is_a_mechanism_all_the_same(seed: int) -> None:
    prior, cone, _ = random_case(4 * seed + 2)
    for p in (prior, np.random.default_rng(seed).dirichlet(np.full(prior.size, 0.05)) + 1e-13):
        p = p / p.sum()
        for rounds in (0, 200):
            best = optimal_estimation(p, cone, max_rounds=rounds)
            assert best.channel.row_sum_error < 1e-12
            assert cone.violation(best.channel.matrix.T) <= 1e-14
            assert best.bound <= best.value
            assert best.status == "bounded" or rounds


def test_inputs_that_do_not_occur() -> None:
    p = np.array([0.5, 0.3, 0.2, 0.0])
    best = optimal_estimation(p, local_cone(4, 1.0))
    check(best, p, local_cone(4, 1.0))
    near = optimal_estimation([0.5, 0.3, 0.2 - 1e-7, 1e-7], local_cone(4, 1.0))
    assert best.value == pytest.approx(near.value, rel=1e-4)
    free = PolyhedralCone(np.zeros((0, 4)))
    with pytest.raises(ValueError, match="The prior is 0 at input 3, and the cone has a column that occurs"):
        optimal_estimation(p, free)


def test_what_needs_no_report_or_has_no_estimate() -> None:
    prior = np.array([[0.2, 0.3], [0.1, 0.4]])
    known = optimal_estimation(prior, local_cone(4, 1.0), np.full((1, 4), 3.0))
    assert (known.value, known.bound, known.status, known.channel.n_outputs) == (0.0, 0.0, "optimal", 1)
    sentence = "No mechanism of the cone allows an unbiased estimate of the target"
    # Those who know U learn nothing: only U is told.
    label = conditional_cone((2, 2), 0.0)
    for cone, target in ((label, None), (label, "sensitive"), (local_cone(4, 0.0), None)):
        with pytest.raises(ValueError, match=sentence):
            optimal_estimation(prior, cone, target)
    useful = prior.sum(axis=0)
    best = optimal_estimation(prior, label, "useful")
    assert best.value == pytest.approx(1 - (useful**2).sum(), rel=1e-6)
    # PolyOpt with all pairs tells too little of this table (its matrix has the rank 2).
    narrow = polyopt_cone(np.array([[0.2, 0.3], [0.1, 0.4]]), 0.1)
    with pytest.raises(ValueError, match=sentence):
        optimal_estimation(prior, narrow & conditional_cone((2, 2), 0.0))


def test_staircase_columns_are_the_extreme_rays_of_local_privacy() -> None:
    cone = local_cone(5, 0.7)
    assert local_ratio(cone) == pytest.approx(math.exp(0.7))
    listed = listed_rays(cone)
    assert listed is not None
    assert len(listed_rays(local_cone(14, 0.7))) == 2**14 - 2
    assert listed_rays(local_cone(15, 0.7)) is None
    exact = extreme_rays(cone.inequalities)
    assert np.array_equal(np.unique(listed, axis=0), np.unique(exact, axis=0))
    rows = cone.inequalities.copy()
    rows[3] *= 2.0
    assert local_ratio(PolyhedralCone(rows)) is None
    rows = cone.inequalities.copy()
    rows[4] = rows[3]
    assert local_ratio(PolyhedralCone(rows)) is None
    assert local_ratio(unconditional_cone((2, 3), 1.0)) is None


def test_a_bound_holds_whatever_the_prices(monkeypatch) -> None:
    """Prices and matrices that are wrong loosen the bound, and never lift it above the optimum."""
    rng = np.random.default_rng(4)
    prior, cone, rows = random_case(2)
    best, right = optimal_estimation(prior, cone, rows), column_weights.Prices

    def wrong(W, lam):
        W = W * (1 + 0.1 * rng.normal(size=W.shape))
        W -= np.outer(W.sum(axis=1), prior.ravel())
        return right(W, lam * (1 + 0.1 * rng.normal(size=lam.shape)))

    monkeypatch.setattr(column_weights, "Prices", wrong)
    for _ in range(20):
        loose = optimal_estimation(prior, cone, rows)
        assert loose.status == "bounded"
        assert loose.bound < best.bound


def test_a_bound_above_the_value_is_an_error(monkeypatch) -> None:
    monkeypatch.setattr(solve.EstimationProblem, "bound", lambda *_: 1e9)
    with pytest.raises(ArithmeticError, match="the certificate fails"):
        optimal_estimation([0.2, 0.3, 0.5], local_cone(3, 1.0))


@pytest.mark.parametrize("workload", [np.eye, np.tri])
def test_staircase_columns_that_are_not_listed_have_the_optimum_of_those_that_are(
    workload, monkeypatch
) -> None:
    p = np.random.default_rng(5).dirichlet(np.full(10, 2.0))
    cone, rows = local_cone(10, 1.0), workload(10)
    listed = optimal_estimation(p, cone, rows)
    monkeypatch.setattr(solve, "listed_rays", lambda _: None)
    found = optimal_estimation(p, cone, rows)
    check(found, p, cone, rows)
    assert found.status == "optimal"
    assert found.bound <= listed.value * (1 + 1e-9)
    assert listed.bound <= found.value * (1 + 1e-9)
    # And where they are not even priced one by one: with a semidefinite bound.
    monkeypatch.setattr(staircases, "SETTINGS", replace(staircases.SETTINGS, max_enumerated_inputs=5))
    relaxed = optimal_estimation(p, cone, rows, tolerance=1e-3)
    check(relaxed, p, cone, rows)
    assert 0.8 * listed.value <= relaxed.bound <= listed.value * (1 + 1e-9)
    assert relaxed.value <= 1.005 * listed.value


@pytest.mark.parametrize("n", [16, 25])
def test_large_alphabets_at_a_uniform_prior(n: int) -> None:
    """Of the closed forms, a block design is the best, at the bound of Ye and Barg."""
    best = optimal_estimation(np.full(n, 1 / n), local_cone(n, 1.0), tolerance=1e-3)
    assert best.gap <= 1e-2
    assert best.value == pytest.approx(uniform_error(n, 1.0), rel=1e-6)
    assert best.bound <= uniform_error(n, 1.0) * (1 + 1e-9)
    assert "the least error has response with a block design" in str(best.method)


def test_where_all_columns_are_priced_symmetry_is_a_bound_too() -> None:
    """After a single round, the prices prove less."""
    p = np.full(16, 1 / 16)
    best = optimal_estimation(p, local_cone(16, 1.0), max_rounds=1)
    assert best.bound == pytest.approx(uniform_error(16, 1.0), rel=1e-8)
    assert best.bound <= best.value
    # Another prior, or a target that is not symmetric, has no such bound.
    other = optimal_estimation(p, local_cone(16, 1.0), np.tri(16), max_rounds=1)
    assert 0 < other.bound < other.value


def test_with_rare_letters_rows_still_sum_to_one_when_columns_are_dropped() -> None:
    p = np.random.default_rng(1).dirichlet(np.ones(16))
    best = optimal_estimation(p, local_cone(16, 1.0), tolerance=1e-3)
    assert best.status == "optimal"
    assert best.value < 0.999 * estimation_error(subset_selection(16, 1.0), p)


def test_a_large_alphabet_with_another_prior_is_no_worse_than_any_closed_form() -> None:
    p = np.random.default_rng(2).dirichlet(np.full(18, 1.0))
    best = optimal_estimation(p, local_cone(18, 1.0))
    assert best.status == "optimal"
    assert "the least error has column generation" in str(best.method)
    for mechanism in LARGE_ALPHABETS.values():
        assert best.value < estimation_error(mechanism(18, 1.0), p)
    assert ldp_epsilon(best.channel) <= 1.0 + 1e-12


@pytest.mark.long
@pytest.mark.parametrize(
    ("level", "alone", "both"), [(1.0, 2.210, 2.711), (2.0, 0.9294, 0.9818)], ids=["1", "2"]
)
def test_over_f_fewer_people_are_needed_than_in_the_class_of_polyopt(level, alone, both) -> None:
    counts = adult_counts("sex", "race")
    ball = RenyiBall.confidence(counts, beta=0.05)
    cone, position = robust_cone(ball, level), (0.3, 1.0, 2.0).index(level)
    for promise, value, larger in (
        (cone, alone, ADULT["sex", "race"][0][position]),
        (cone & conditional_cone(counts.shape, level), both, ADULT["sex", "race"][1][position]),
    ):
        best = optimal_estimation(ball.centre, promise, tolerance=1e-2)
        assert best.status == "optimal"
        assert best.bound <= best.value < larger
        assert best.value == pytest.approx(value, rel=3e-3)
        assert best.channel.row_sum_error < 1e-9
        assert ball.worst_case_epsilon(best.channel) <= level + 1e-11
        assert estimation_error(best.channel, ball.centre) == pytest.approx(best.value, rel=1e-12)


@pytest.mark.parametrize("both", [False, True], ids=["branch and bound", "larger cones"])
def test_a_bound_of_a_cone_by_cuts_holds_for_one_whose_rays_are_listed(both: bool) -> None:
    """PolyOpt's simplices by cuts, as if its inequalities were not known, against all of its rays."""
    ball = RenyiBall.confidence([[150, 50, 100], [100, 350, 250]])
    simplices = polyopt_cone(ball.lower_bounds, 1.0, pairs="distinct")
    cuts = ByCuts(simplices)
    given = conditional_cone((2, 3), 1.0)
    listed = optimal_estimation(ball.centre, simplices & given if both else simplices)
    by_cuts = optimal_estimation(ball.centre, cuts & given if both else cuts)
    assert by_cuts.bound <= listed.value * (1 + 1e-9)
    assert listed.bound <= by_cuts.value * (1 + 1e-9)
    assert by_cuts.gap <= 1e-2


def test_where_rays_become_too_many_the_bound_is_weaker_and_says_so() -> None:
    ball = RenyiBall.confidence([[150, 50, 100], [100, 350, 250]])
    cone = robust_cone(ball, 1.0) & conditional_cone((2, 3), 1.0)
    best = optimal_estimation(ball.centre, cone, tolerance=1e-2, max_nodes=60)
    assert best.status == "bounded"
    assert 0 < best.bound < best.value
    assert "the bound of fewer cuts, as rays became too many" in str(best.method)


def test_polyhedral_cones_whose_rays_are_not_listed_have_the_bound_of_larger_ones(monkeypatch) -> None:
    """All inequalities are known at first, and no column violates another; their order decides on rays."""
    counts = np.random.default_rng(3).integers(20, 400, (2, 3))
    ball = RenyiBall.confidence(counts)
    cone = polyopt_cone(ball.lower_bounds, 0.5, pairs="distinct") & conditional_cone((2, 3), 0.5)
    listed = optimal_estimation(ball.centre, cone, "sensitive")
    monkeypatch.setattr(solve, "listed_rays", lambda cone: None)
    best = optimal_estimation(ball.centre, cone, "sensitive", tolerance=1e-2, max_nodes=100)
    assert "extreme rays of larger cones" in str(best.method)
    assert "too many" not in str(best.method)
    assert best.status == "optimal"
    assert best.bound <= listed.value * (1 + 1e-9)
    assert listed.bound <= best.value * (1 + 1e-9)
    few = optimal_estimation(ball.centre, cone, "sensitive", max_nodes=60)
    assert "the bound of fewer inequalities, as rays became too many" in str(few.method)
    assert 0.0 < few.bound < listed.value


def test_coarse_cuts_hold_where_cuts_do() -> None:
    rng = np.random.default_rng(0)
    cuts, columns = rng.normal(size=(40, 7)), rng.random((200, 7))
    lowered = outer_rays.coarse(cuts)
    scaled = cuts / np.abs(cuts).max(axis=1, keepdims=True)
    assert (columns @ lowered.T <= columns @ scaled.T).all()
    assert np.abs(lowered - scaled).max() <= 2.0**-21


def test_over_other_cones_every_input_needs_a_probability_and_slack() -> None:
    ball = RenyiBall.confidence([[150, 50, 100], [100, 350, 250]])
    cone = robust_cone(ball, 1.0)
    with pytest.raises(ValueError, match="The prior is 0 at input 2; over a cone whose extreme rays are not"):
        optimal_estimation([[0.2, 0.3, 0.0], [0.1, 0.2, 0.2]], cone)
    with pytest.raises(
        Intractable, match="The constant column meets an inequality of the cone with equality"
    ):
        optimal_estimation(
            ball.centre, cone & PolyhedralCone([[1.0, -1.0, 0, 0, 0, 0], [-1.0, 1.0, 0, 0, 0, 0]])
        )
    with pytest.raises(ValueError, match="No mechanism of the cone allows an unbiased estimate"):
        optimal_estimation(ball.centre, cone & conditional_cone((2, 3), 0.0))


def test_a_large_table_with_both_levels_needs_fewer_people_than_secret_randomized_response(
    monkeypatch,
) -> None:
    monkeypatch.setattr(generation, "SETTINGS", replace(generation.SETTINGS, most_work=5e8))
    counts = np.random.default_rng(0).multinomial(4000, np.random.default_rng(1).dirichlet(np.full(20, 2.0)))
    ball = RenyiBall.confidence(counts.reshape(4, 5) + 1)
    cone = conditional_cone((4, 5), 1.0) & robust_cone(ball, 1.0)
    best = optimal_estimation(ball.centre, cone)
    assert 0 < best.bound < best.value
    assert best.value < 0.7 * estimation_error(secret_randomized_response(4, 5, 1.0), ball.centre)
    assert best.value == pytest.approx(estimation_error(best.channel, ball.centre), rel=1e-12)
    assert best.channel.row_sum_error < 1e-9
    assert ball.worst_case_epsilon(best.channel) <= 1.0 + 1e-9
    assert conditional_epsilon(best.channel, (4, 5)) <= 1.0 + 1e-9
    assert "F with a conditional level, acquaintances, or polyhedral, more inputs" in str(best.method)
    with pytest.raises(
        Intractable, match=r"The cone has 20 inputs and its extreme rays are not listed; beyond 16"
    ):
        optimal_estimation(ball.centre, robust_cone(ball, 1.0))


@pytest.mark.parametrize("promise", few(["anyone", "own"], more=["acquaintance"]))
def test_large_tables_of_other_cones_need_fewer_people_than_local_differential_privacy(promise) -> None:
    counts = np.random.default_rng(0).multinomial(4000, np.random.default_rng(1).dirichlet(np.full(20, 2.0)))
    odds = OddsRatios.confidence(counts.reshape(4, 5) + 1)
    rows = PolyhedralCone(conditional_cone((4, 5), 1.0).inequalities, (4, 5))
    cones = {
        "acquaintance": AssociationCone(odds, 1.0),
        "anyone": unconditional_cone((4, 5), 1.0),
        "own": rows,
    }
    levels = {
        "acquaintance": lambda channel: association_epsilon(channel, odds),
        "anyone": lambda channel: unconditional_epsilon(channel, (4, 5)),
        "own": lambda channel: conditional_epsilon(channel, (4, 5)),
    }
    best = optimal_estimation(odds.prior, cones[promise], max_rounds=3)
    local = optimal_estimation(odds.prior, local_cone(20, 1.0), tolerance=1e-2)
    assert best.bound < best.value <= {"anyone": 1.0}.get(promise, 0.9) * local.value
    # More than the error of the records themselves, which is below 1.
    assert best.bound > 5.0
    assert best.value == pytest.approx(estimation_error(best.channel, odds.prior), rel=1e-12)
    assert best.channel.row_sum_error < 1e-9
    assert levels[promise](best.channel) <= 1.0 + 1e-9


def test_acquaintances_need_no_more_people_than_anyone_on_a_large_table() -> None:
    counts = np.random.default_rng(3).multinomial(4000, np.random.default_rng(2).dirichlet(np.full(24, 1.0)))
    odds = OddsRatios.confidence(counts.reshape(6, 4) + 1)
    cones = [AssociationCone(odds, 1.0), unconditional_cone((6, 4), 1.0)]
    some, anyone = (
        optimal_estimation(odds.prior, cone, "sensitive", tolerance=1e-2, max_rounds=3).value
        for cone in cones
    )
    assert some <= anyone * 1.001


@pytest.mark.parametrize("promise", ["simplices", "anyone"])
def test_a_large_table_with_cells_that_do_not_occur(promise) -> None:
    counts = np.random.default_rng(0).multinomial(4000, np.random.default_rng(1).dirichlet(np.full(20, 2.0)))
    counts[[3, 12]] = 0
    ball = RenyiBall.confidence(counts.reshape(4, 5))
    cone = {
        "simplices": polyopt_cone(ball.lower_bounds, 1.0, pairs="distinct"),
        "anyone": unconditional_cone((4, 5), 1.0),
    }[promise]
    assert not ball.centre.all()
    best = optimal_estimation(ball.centre, cone, max_rounds=3)
    local = optimal_estimation(ball.centre, local_cone(20, 1.0), tolerance=1e-2)
    assert 0 < best.bound < best.value < local.value
    assert best.value == pytest.approx(estimation_error(best.channel, ball.centre), rel=1e-12)
    assert cone.violation(best.channel.matrix.T) <= 1e-12


def test_entries_that_the_prior_does_not_see_are_limited_by_an_inequality() -> None:
    """The limits hold for the extreme rays of a cone, and without one nothing is solved."""
    p = np.array([0.5, 0.3, 0.2, 0.0, 0.0])
    cone = PolyhedralCone(np.vstack([local_cone(5, 0.7).inequalities, [[-1.0, 0.2, 0.1, 0.5, -0.3]]]))
    rays = listed_rays(cone)
    assert rays is not None
    columns = rays / (rays @ p)[:, None]
    top = program_columns.largest_entries(cone, p)
    assert (columns <= top * (1 + 1e-12)).all()
    assert top[3:] == pytest.approx(math.exp(0.7) * np.array([2.0, 2.0]))
    free = PolyhedralCone(np.hstack([np.eye(19) - 2 * np.roll(np.eye(19), 1, axis=1), np.zeros((19, 1))]))
    with pytest.raises(ValueError, match="The prior is 0 at input 19, and no inequality of the cone limits"):
        optimal_estimation(np.append(np.full(19, 1 / 19), 0.0), free)


def test_the_bound_of_mechanisms_that_tell_the_useful_value() -> None:
    """On a table of which the extreme rays are listed, it is the optimum over the conditional level alone."""
    prior, shape = np.array([[0.2, 0.1, 0.15], [0.05, 0.3, 0.2]]), (2, 3)
    listed = optimal_estimation(prior, conditional_cone(shape, 0.8))
    problem = column_weights.EstimationProblem(prior.ravel(), np.eye(6))
    assert solve._conditional_bound(problem, shape, 0.8) == pytest.approx(listed.value, rel=2e-4)
    assert listed.value < optimal_estimation(prior, unconditional_cone(shape, 0.8)).value
