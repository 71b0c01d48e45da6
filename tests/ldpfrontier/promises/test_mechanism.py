"""The column program of any cone and utility, against a program over rays that are listed in another way."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
from scipy.optimize import linprog

from ldpfrontier import (
    ColumnUtility,
    FDivergence,
    Intractable,
    MutualInformation,
    PolyhedralCone,
    RenyiBall,
    conditional_cone,
    conditional_epsilon,
    local_cone,
    optimal_ldp,
    optimal_mechanism,
    optimal_robust,
    optimal_unconditional,
    polyopt_cone,
    robust_cone,
    unconditional_cone,
)
from ldpfrontier.engines.listed.double_description import extreme_rays
from ldpfrontier.engines.registry import LIMITS
from ldpfrontier.promises import listed_rays
from oracles.column_lp import full_lp
from oracles.enumeration import robust_rays

BALL = RenyiBall.confidence([[150, 50, 100], [100, 350, 250]])


def chi_squared(prior):
    p = np.asarray(prior).ravel()
    return ColumnUtility(p, lambda v: v**2 @ p / (v @ p) - v @ p)


def rays_by_bases(rows):
    """All extreme rays of {v >= 0 : B v <= 0}: every set of n - 1 inequalities that leaves one direction."""
    n = rows.shape[1]
    every = np.vstack([rows, -np.eye(n)])
    every = every / np.linalg.norm(every, axis=1, keepdims=True)
    chosen = np.array(list(itertools.combinations(range(len(every)), n - 1)))
    found = [np.empty((0, n))]
    for part in np.array_split(chosen, len(chosen) // 10_000 + 1):
        _, sizes, directions = np.linalg.svd(every[part])
        lines = directions[sizes[:, -1] >= 1e-9, -1]
        for rays in (lines, -lines):
            inside = rays[(rays @ every.T <= 1e-9).all(axis=1)]
            found.append(np.maximum(inside, 0.0) / inside.max(axis=1, keepdims=True))
    kept = np.empty((0, n))
    for ray in np.unique(np.round(np.concatenate(found), 9), axis=0):
        if (np.abs(kept - ray).max(axis=1) > 1e-8).all():  # others are the same to rounding
            kept = np.vstack([kept, ray])
    return kept


def optimum_over(rays, utility):
    columns = utility.columns(rays[rays @ utility.prior > 0])
    solved = linprog(-columns.values, A_eq=columns.vectors.T, b_eq=np.ones(rays.shape[1]), method="highs")
    return -solved.fun


def random_cone(rng, n):
    """Local privacy at differing levels, with a few inequalities of three inputs each."""
    rows = [
        np.eye(n)[x] - math.exp(rng.uniform(0.1, 3.0)) * np.eye(n)[y]
        for x, y in itertools.permutations(range(n), 2)
        if rng.random() < 0.5
    ]
    for _ in range(2):
        row = rng.normal(size=n) * (rng.permutation(n) < 3)
        rows.append(row - max(row.sum(), 0.0) / n * (1.0 + rng.random()))
    return np.array(rows)


def test_rays_and_optima_of_random_cones(long):
    for seed in range(200 if long else 12):
        rng = np.random.default_rng(seed)
        n = 4 + seed % 3
        rows, prior = random_cone(rng, n), rng.dirichlet(np.ones(n))
        listed, expected = extreme_rays(rows), rays_by_bases(rows)
        assert len(listed) == len(expected)
        apart = np.abs(listed[:, None] - expected).max(axis=2)
        assert max(apart.min(axis=0).max(), apart.min(axis=1).max()) < 3e-7
        for utility in (MutualInformation(prior), FDivergence(prior, rng.dirichlet(np.ones(n)), "chi2")):
            optimum = optimal_mechanism(utility, PolyhedralCone(rows), tolerance=1e-9)
            assert optimum.value == pytest.approx(optimum_over(expected, utility), abs=1e-7)
            assert optimum.value <= optimum.bound <= optimum.value * (1 + 1e-8) + 1e-12
            assert PolyhedralCone(rows).violation(optimum.channel.matrix.T) < 1e-12


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5])
def test_the_optima_of_the_library(epsilon):
    rng = np.random.default_rng(5)
    prior, other = rng.dirichlet(np.ones(6), size=2)
    for utility in (
        MutualInformation(prior),
        FDivergence(prior, other, "hellinger"),
        FDivergence(prior, other, "tv"),
    ):
        known = optimal_ldp(utility, epsilon)
        assert optimal_mechanism(utility, local_cone(6, epsilon)).value == pytest.approx(
            known.value, rel=1e-9
        )
    utility, lower = MutualInformation(BALL.centre), BALL.lower_bounds
    pairs = [
        (unconditional_cone((2, 3), epsilon), optimal_unconditional(BALL.centre, epsilon)),
        (polyopt_cone(lower, epsilon), optimal_robust(BALL, epsilon)),
    ]
    for cone, known in pairs:
        assert optimal_mechanism(utility, cone).value == pytest.approx(known.value, rel=1e-7)


@pytest.mark.parametrize("conditional", [None, 0.5])
def test_branch_and_bound_agrees_with_the_list_of_rays_and_with_optimal_robust(conditional):
    both = conditional_cone((2, 3), conditional) if conditional else PolyhedralCone(np.zeros((0, 6)), (2, 3))
    utility = MutualInformation(BALL.centre)
    cone = polyopt_cone(BALL.lower_bounds, 0.8, pairs="distinct") & both
    listed, bounded = optimal_mechanism(utility, cone), optimal_mechanism(utility, cone, max_nodes=20_000)
    assert bounded.status == "optimal"
    assert listed.value * (1 - 1e-4) <= bounded.value <= listed.bound
    assert listed.value <= bounded.bound <= listed.value * (1 + 1.01e-4)
    if conditional is None:
        known = optimal_robust(BALL, 0.8, envelope="exact")
        found = optimal_mechanism(utility, robust_cone(BALL, 0.8) & both)
        assert found.value == pytest.approx(known.value, rel=2e-4)
        assert BALL.worst_case_epsilon(found.channel) <= 0.8 + 1e-9
        assert max(found.value, known.value) <= min(found.bound, known.bound)


@pytest.mark.parametrize(
    ("shape", "epsilon", "most"),
    [
        ((2, 3), 0.5, 60),
        pytest.param((3, 4), 0.5, LIMITS.max_rays, marks=pytest.mark.long),
        pytest.param((3, 4), 0.3, LIMITS.max_rays, marks=pytest.mark.long),
    ],
)
def test_a_polyhedral_cone_with_too_many_rays_is_certified(shape, epsilon, most, monkeypatch):
    """PolyOpt on 3 x 4: 20,000 nodes, enough for other cones, leave gaps of 0.6% and 2%."""
    monkeypatch.setattr(listed_rays, "extreme_rays", partial(extreme_rays, max_rays=most))
    rng = np.random.default_rng(6)
    ball = RenyiBall.confidence(
        rng.multinomial(3000, rng.dirichlet(np.ones(math.prod(shape)))).reshape(shape) + 1
    )
    cone = polyopt_cone(ball.lower_bounds, epsilon, pairs="distinct")
    found = optimal_mechanism(MutualInformation(ball.centre), cone, tolerance=1e-3)
    assert found.status == "optimal"
    assert "extreme rays" in str(found.method)  # as the reason of a fallback
    if shape == (2, 3):
        known = full_lp(MutualInformation(ball.centre), robust_rays(ball.lower_bounds, epsilon, "distinct"))
        assert known * (1 - 1e-3) <= found.value <= known * (1 + 1e-9) <= found.bound * (1 + 2e-9)


@pytest.mark.parametrize("swapped", [False, True])
def test_mechanisms_that_see_the_useful_value_alone_are_an_intersection(swapped):
    """At the conditional level 0 no column can be mixed into the cone, but each can be raised into it."""
    first, second = robust_cone(BALL, 0.8), conditional_cone((2, 3), 0.0)
    cone = second & first if swapped else first & second
    found = optimal_mechanism(MutualInformation(BALL.centre), cone)
    assert found.status == "optimal"
    assert conditional_epsilon(found.channel, (2, 3)) == 0.0
    assert BALL.worst_case_epsilon(found.channel) <= 0.8 + 1e-9


def test_a_utility_of_ones_own_over_an_uncertainty_set():
    """By corners of boxes over F, and over the outer polyhedron of PolyOpt by its list of rays."""
    utility = chi_squared(BALL.centre)
    inner = optimal_mechanism(utility, polyopt_cone(BALL.lower_bounds, 1.0, pairs="distinct"))
    over_f = optimal_mechanism(utility, robust_cone(BALL, 1.0), tolerance=1e-3)
    assert over_f.status == "optimal"
    assert over_f.bound >= inner.value
    assert over_f.unit == "1"
    prior = chi_squared([0.1, 0.2, 0.3, 0.4])
    listed = optimal_mechanism(prior, local_cone(4, 1.0))
    by_boxes = optimal_mechanism(prior, local_cone(4, 1.0), max_nodes=20_000)
    assert by_boxes.value == pytest.approx(listed.value, rel=1e-3)
    assert by_boxes.bound >= listed.value
    assert by_boxes.status == "optimal"


def test_bounds_over_boxes_hold():
    rng = np.random.default_rng(7)
    prior = rng.dirichlet(np.ones(5))
    for utility in (chi_squared(prior), MutualInformation(prior), FDivergence(prior, np.full(5, 0.2), "kl")):
        for _ in range(50):
            middle = rng.gamma(1.0, size=5)
            middle /= middle @ utility.prior
            lo, hi = middle * rng.uniform(0.2, 1.0, 5), middle * rng.uniform(1.0, 4.0, 5)
            slopes, constants = utility.majorant(lo, hi)
            v = lo + rng.random((200, 5)) * (hi - lo)
            v = v / (v @ utility.prior)[:, None]
            v = v[((v >= lo) & (v <= hi)).all(axis=1)]
            assert (utility.values(v) <= v @ slopes + constants.sum() + 1e-12).all()
            gaps = utility.gaps(middle, lo, hi)
            assert (gaps >= -1e-12).all()
            expected = middle @ slopes + constants.sum() - utility.values(middle[None])[0]
            assert gaps.sum() == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_cones_at_their_ends():
    utility = MutualInformation([0.2, 0.3, 0.5])
    free = optimal_mechanism(utility, PolyhedralCone(np.zeros((0, 3))))
    assert free.value == pytest.approx(-sum(p * math.log(p) for p in (0.2, 0.3, 0.5)))
    nothing = optimal_mechanism(utility, local_cone(3, 0.0))
    assert nothing.value == pytest.approx(0.0, abs=1e-12)
    never = optimal_mechanism(MutualInformation([0.0, 0.4, 0.6]), local_cone(3, 1.0))
    assert never.value == pytest.approx(optimal_ldp(MutualInformation([0.4, 0.6]), 1.0).value, rel=1e-9)


def test_cones_that_are_too_large_are_refused():
    with pytest.raises(Intractable, match="at most 16 are supported by branch and bound"):
        optimal_mechanism(MutualInformation(np.full(20, 0.05)), local_cone(20, 1.0))
    same = PolyhedralCone([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0]])
    with pytest.raises(Intractable, match="with equality"):
        optimal_mechanism(MutualInformation([0.2, 0.3, 0.5]), same, max_nodes=10)
    assert optimal_mechanism(MutualInformation([0.2, 0.3, 0.5]), same).status == "optimal"
    with pytest.raises(Intractable, match="more than 5 extreme rays"):
        extreme_rays(local_cone(4, 1.0).inequalities, 5)
