"""The optimum under the uncertainty set itself, against enumeration, other classes and levels over it."""

from __future__ import annotations

import math
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import xlogy

from ldpfrontier.engines.joint.separation import Oracle
from ldpfrontier.engines.joint.spatial_branch_and_bound import JointColumns, joint_optimum
from ldpfrontier.model.cones import polyopt_cone
from ldpfrontier.model.information import mutual_information
from ldpfrontier.model.optimum import Optimum
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.promises.mechanism import optimal_mechanism
from ldpfrontier.promises.nonrobust import nonrobust_bound, optimal_nonrobust
from ldpfrontier.promises.unconditional import optimal_unconditional
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from support.tables import random_ball

#: Exact double description; it is installed with Python 3.11 on Linux alone.
ppl = pytest.importorskip("ppl")

EXAMPLE = [[7, 10], [26, 57]]


def solved(ball: RenyiBall, epsilon: float, **options: Any) -> Optimum:
    """Return the joint optimum as users get it, with the bound of NR."""
    return joint_optimum(ball, epsilon, known_bound=nonrobust_bound(ball.centre, epsilon), **options)


def check(ball: RenyiBall, epsilon: float, found: Optimum, gap: float) -> None:
    """Private over F by the set's own reckoning; the value is the channel's; the gap is met."""
    assert ball.worst_case_epsilon(found.channel) <= epsilon
    assert found.value == pytest.approx(mutual_information(ball.centre.ravel(), found.channel), abs=1e-12)
    assert found.value <= found.bound <= optimal_nonrobust(ball.centre, epsilon).bound + 1e-9
    assert found.gap <= gap
    assert found.status == "optimal"


def test_worked_example() -> None:
    """Optima of F and of PolyOpt on Example 3."""
    ball, epsilon = RenyiBall.confidence(EXAMPLE), math.log(2)
    exact = solved(ball, epsilon, tolerance=1e-4)
    check(ball, epsilon, exact, 1e-4)
    assert exact.value == pytest.approx(0.5936, abs=1e-4)
    for pairs, stated in (("all", 0.4228), ("distinct", 0.5630)):
        simplices = polyopt_cone(ball.lower_bounds, epsilon, pairs=pairs)
        polyopt = optimal_mechanism(MutualInformation(ball.centre), simplices)
        assert polyopt.value == pytest.approx(stated, abs=1e-4)


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
    found = solved(ball, epsilon, tolerance=1e-3)
    check(ball, epsilon, found, 1e-3)
    near = found.channel.matrix.T / (ball.centre.ravel() @ found.channel.matrix)[:, None]
    high = brute_force(ball, epsilon, near, found.value * (1.0 + 1e-3))
    assert found.value <= high + 1e-9
    assert high <= found.bound * (1.0 + 1e-3)


@pytest.mark.parametrize("order", [0.7, 1.0, 3.0])
def test_any_order(order: float) -> None:
    ball, epsilon = random_ball((2, 2), 11, order)
    check(ball, epsilon, solved(ball, epsilon, tolerance=1e-3), 1e-3)


@pytest.mark.parametrize(("shape", "seed"), [((2, 2), 0), ((2, 3), 1), ((3, 2), 2)])
def test_it_contains_polyopt(shape: tuple[int, int], seed: int) -> None:
    ball, epsilon = random_ball(shape, seed)
    exact = solved(ball, epsilon, tolerance=1e-2)
    for pairs in ("all", "distinct"):
        simplices = polyopt_cone(ball.lower_bounds, epsilon, pairs=pairs)
        assert optimal_mechanism(MutualInformation(ball.centre), simplices).value <= exact.bound


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 2)])
def test_with_no_limit_on_the_distribution(shape: tuple[int, int]) -> None:
    prior = np.random.default_rng(7).dirichlet(np.ones(math.prod(shape))).reshape(shape)
    found = solved(RenyiBall(prior, math.inf), 0.8, tolerance=1e-4)
    expected = optimal_unconditional(prior, 0.8)
    assert found.value == pytest.approx(expected.value, rel=1e-4)
    assert found.bound >= expected.value - 1e-9
    assert found.gap <= 1e-4


def test_a_small_set_is_nearly_the_estimate() -> None:
    ball = RenyiBall([[0.3, 0.1], [0.2, 0.4]], 1e-7)
    limit = optimal_nonrobust(ball.centre, 0.5)
    found = solved(ball, 0.5, tolerance=1e-3)
    check(ball, 0.5, found, 1e-3)
    assert found.value == pytest.approx(limit.value, rel=2e-3)


def test_letters_may_be_renamed_and_more_may_be_told_at_a_higher_level() -> None:
    ball, _ = random_ball((2, 3), 2)
    values = []
    for epsilon in (0.2, 0.6, 1.5):
        found = solved(ball, epsilon, tolerance=1e-2)
        renamed = RenyiBall(ball.centre[::-1][:, [2, 0, 1]], ball.radius)
        again = solved(renamed, epsilon, tolerance=1e-2)
        assert again.value <= found.bound
        assert found.value <= again.bound
        values.append(found)
    for less, more in pairwise(values):
        assert more.value > less.bound


def test_empty_cells_and_groups() -> None:
    """An empty cell may hold anybody, and an empty group is anything: its columns are within e^eps."""
    ball = RenyiBall([[0.5, 0.3, 0.0], [0.0, 0.2, 0.0]], 0.05)
    check(ball, 0.7, solved(ball, 0.7, tolerance=1e-3), 1e-3)
    empty = RenyiBall([[0.5, 0.5], [0.0, 0.0]], 0.05)
    found = solved(empty, 0.7, tolerance=1e-3)
    check(empty, 0.7, found, 1e-3)
    matrix = found.channel.matrix
    low, high = empty.support(0, matrix[:2].T)
    assert (matrix[2:].max(axis=0) <= math.exp(0.7) * low).all()
    assert (high <= math.exp(0.7) * matrix[2:].min(axis=0)).all()


def test_a_bound_is_honest_when_the_search_is_cut_short() -> None:
    ball, epsilon = random_ball((2, 3), 5)
    best = solved(ball, epsilon, tolerance=1e-3)
    rough = solved(ball, epsilon, tolerance=1e-9, max_rounds=1, max_nodes=0)
    assert rough.status == "bounded"
    assert ball.worst_case_epsilon(rough.channel) <= epsilon
    assert rough.value <= best.bound
    assert best.value <= rough.bound <= optimal_nonrobust(ball.centre, epsilon).bound + 1e-9


def test_pricing_bounds_every_column_at_any_prices() -> None:
    ball, epsilon = random_ball((2, 3), 3)
    family = JointColumns(Oracle(ball, epsilon), MutualInformation(ball.centre), max_nodes=300)
    family.set_accuracy(0.0, 1e-3)
    rng = np.random.default_rng(8)
    columns = family.utility.columns(family.cone.pull(family.starts(rng.gamma(0.3, size=(60, 6)) + 1e-9))[0])
    for _ in range(4):
        prices = rng.normal(size=6) * ball.centre.ravel() * 3.0
        excess, offered = family.price(prices, 1)
        assert (offered.values - offered.vectors @ prices).max() <= excess
        assert (columns.values - columns.vectors @ prices).max() <= excess
        assert (family.cone.levels(offered.vectors) <= epsilon).all()


def test_a_start_is_used() -> None:
    ball, epsilon = RenyiBall.confidence(EXAMPLE), math.log(2)
    best = solved(ball, epsilon, tolerance=1e-4)
    again = solved(ball, epsilon, tolerance=1e-3, max_rounds=1, max_nodes=0, start=best.channel)
    assert again.value >= best.value - 1e-9
