"""The columns of distinct pairs: their products, and the search for the best ones over all deltas."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from ldpfrontier.optimal.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.optimal.polyopt.distinct_pairs import DistinctPairsFamily
from ldpfrontier.optimal.products import pricing
from ldpfrontier.optimal.products.decomposition import Decomposition
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from ldpfrontier.utility import MutualInformation
from oracles.enumeration import robust_rays
from support.tables import random_table


def extremes(ball: RenyiBall, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A_s and B_s of columns (m, a1 a2), each (m, a1)."""
    w = columns.reshape(-1, *ball.centre.shape)
    fixed = (ball.lower_bounds * w).sum(axis=2)
    free = 1.0 - ball.lower_bounds.sum(axis=1)
    return fixed + free * w.max(axis=2), fixed + free * w.min(axis=2)


@pytest.mark.parametrize("seed", [1, 5, pytest.param(7, marks=pytest.mark.long), 11])
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


@pytest.mark.parametrize("seed", [2, 5, 11, 14, 23])
def test_products_over_distinct_pairs_lie_in_the_cone_and_have_its_rays(seed: int) -> None:
    ball, epsilon = random_table(seed)
    family = DistinctPairsFamily(ball.centre, ball.lower_bounds, epsilon)
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
@pytest.mark.parametrize("most", [0, 10**6])
def test_search_of_all_deltas_bounds_every_ray_and_names_products(
    seed: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # By dynamic programming, and by enumeration.
    monkeypatch.setattr(pricing, "SETTINGS", replace(pricing.SETTINGS, max_enumerated=most))
    ball, epsilon = random_table(seed)
    utility = MutualInformation(ball.centre)
    rays = utility.columns(robust_rays(ball.lower_bounds, epsilon, "distinct"))
    family = DistinctPairsFamily(ball.centre, ball.lower_bounds, epsilon)
    duals = Decomposition(family.all_pairs, epsilon).solve(family.all_pairs.explore)
    rng = np.random.default_rng(seed)
    for spread in (0.0, 0.05, 0.3, 0.0):  # a search starts where the last one ended
        trial = (duals - ball.centre * spread * rng.random(duals.shape)).ravel()
        truth = max(float((rays.values - rays.vectors @ trial).max()), 0.0)
        assert truth - 1e-9 <= family.search_by_tangents(trial, 1e-6)
        excess, named = family.search(trial, 1e-6)
        assert truth - 1e-9 <= excess <= (1.0 + GENERATION.inner_share) ** 2 * truth + 5e-6
        assert bool(named) == (truth > 2e-6)
        for product in named:
            product.resolution = 1e-7
            offers = product.price(trial, product.efforts - 1)[1]
            assert (offers.values - offers.vectors @ trial).max() <= truth + 1e-9


@pytest.mark.parametrize("seed", [2, 5, 7, 11, 14, 23])
def test_a_decomposition_of_all_products_is_dual_feasible_and_pricing_finds_the_best(seed: int) -> None:
    ball, epsilon = random_table(seed)
    utility = MutualInformation(ball.centre)
    rays = utility.columns(robust_rays(ball.lower_bounds, epsilon, "distinct"))
    family = DistinctPairsFamily(ball.centre, ball.lower_bounds, epsilon)
    duals = Decomposition(family.all_pairs, epsilon).solve(family.search, gap=1e-4)
    assert (rays.values - rays.vectors @ duals.ravel()).max() <= 1e-9
    rng = np.random.default_rng(seed)
    for spread in (0.05, 0.3):
        trial = (duals - ball.centre * spread * rng.random(duals.shape)).ravel()
        truth = max(float((rays.values - rays.vectors @ trial).max()), 0.0)
        bound, offered = family.price(trial, family.efforts - 1)
        best = float((offered.values - offered.vectors @ trial).max(initial=0.0))
        assert best - 1e-9 <= truth <= bound + 1e-9
        assert truth <= (1.0 + GENERATION.inner_share) * best + 1e-6


def test_tangents_bound_tall_tables_as_closely_as_the_search_of_each_special_value() -> None:
    ball = RenyiBall.confidence(np.random.default_rng(3).integers(1, 500, (40, 2)))
    family = DistinctPairsFamily(ball.centre, ball.lower_bounds, 2.0)
    duals = Decomposition(family.all_pairs, 2.0).solve(family.all_pairs.explore)
    enough = 1e-4 * duals.sum()
    excess = family.search_by_tangents(duals, enough)
    assert 0.0 <= excess <= enough
    # Where anything is enough, the bound is that of all deltas together.
    assert family.search_by_tangents(duals, math.inf) > excess
    assert family.search(duals, enough, enough)[0] <= enough
