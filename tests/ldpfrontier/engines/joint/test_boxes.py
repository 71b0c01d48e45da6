"""Boxes of branch and bound, without the search: what is cut off, dropped and left, against columns."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from ldpfrontier import Intractable, extreme_rays, local_cone, optimal_mechanism, polyopt_cone
from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.joint.cut_pool import CutPool, cut_down
from ldpfrontier.engines.joint.separation import Oracle
from ldpfrontier.engines.joint.spatial_branch_and_bound import JointColumns
from ldpfrontier.model.utility import MutualInformation
from support.grids import few
from support.tables import random_ball


def inside(pool: CutPool, lo: FloatArray, hi: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return columns in a box with all cuts of a pool met, (m, n): solutions of programs, and mixtures."""
    programs = (pool.maximize(cost, lo, hi) for cost in rng.normal(size=(40, lo.size)))
    corners = np.array([found[1] for found in programs if found is not None])
    if not len(corners):
        return np.empty((0, lo.size))
    first, second = rng.integers(len(corners), size=(2, 300))
    share = rng.random((300, 1))
    return np.vstack([corners, share * corners[first] + (1.0 - share) * corners[second]])


def test_a_box_is_cut_down_no_further_than_its_program_allows() -> None:
    rng, moved = np.random.default_rng(1), 0
    cuts = rng.normal(size=(20, 5))
    pool = CutPool(rng.dirichlet(np.ones(5)))
    pool.add(cuts - (np.maximum(cuts.sum(axis=1), 0.0) / 5.0 + 0.05)[:, None])
    for _ in range(60):
        cost, lo, hi = rng.normal(size=5), rng.random(5) * 0.9, 1.0 + rng.random(5)
        found = pool.maximize(cost, lo, hi)
        assert found is not None
        columns = inside(pool, lo, hi, rng)
        values = columns @ cost
        enough = float(np.quantile(values, 0.8))
        low, high = cut_down(lo, hi, found[2], found[0] - enough)
        kept = columns[values > enough]
        assert (low <= kept + 1e-9).all()
        assert (kept <= high + 1e-9).all()
        moved += int((low > lo + 1e-6).sum() + (high < hi - 1e-6).sum())
    assert moved > 60


@pytest.mark.parametrize("shape", [(2, 2), (2, 3)])
def test_a_box_keeps_all_columns_above_the_cutoff(shape: tuple[int, int]) -> None:
    ball, epsilon = random_ball(shape, 3)
    family = JointColumns(Oracle(ball, epsilon), MutualInformation(ball.centre), 0)
    rng, n, cut, dropped = np.random.default_rng(2), math.prod(shape), 0, 0
    for size in np.repeat([0.02, 0.2, 1.0], 60):
        centre = inside(family.pool, np.zeros(n), family.top, rng)[int(rng.integers(300))]
        lo = np.maximum(centre - size * rng.random(n) * family.top, 0.0)
        hi = np.minimum(centre + size * rng.random(n) * family.top, family.top)
        duals = family.utility.gradient(centre[None])[0] + rng.normal(size=n) * family.scale
        columns = inside(family.pool, lo, hi, rng)
        reduced = family.utility.values(columns) - columns @ duals
        for enough in np.append(np.quantile(reduced, [0.5, 0.9]), reduced.max() - 1e-9):
            node = family._bound(duals, lo, hi, float(enough))
            assert node is not None
            assert -node.negative_bound >= reduced.max() - 1e-12
            kept = columns[reduced > enough]
            assert (node.lo <= kept + 1e-9).all()
            assert (kept <= node.hi + 1e-9).all()
            cut += int((node.lo > lo + 1e-6).sum() + (node.hi < hi - 1e-6).sum())
        above = reduced.max() + 0.5 * abs(reduced.max())
        dropped += family._bound(duals, lo, hi, float(above)) is None
    assert cut > 100
    assert dropped > 30


@pytest.mark.parametrize("seed", few([1], more=[2, 3]))
def test_without_search_the_bound_is_above_all_rays(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many nodes there are; and once there are enough, it is the target, if no ray is above that."""
    rng, (ball, epsilon) = np.random.default_rng(seed), random_ball((2, 3), seed)
    cone = polyopt_cone(ball.lower_bounds, epsilon, pairs="distinct")
    utility = MutualInformation(ball.centre)
    rays = utility.columns(extreme_rays(cone.inequalities))
    for name in ("search", "offer"):
        monkeypatch.setattr(JointColumns, name, lambda *_: None)
    # About those of the optimum, at which many rays are nearly equal.
    optimum = linprog(-rays.values, A_eq=rays.vectors.T, b_eq=np.ones(6))
    duals = -optimum.eqlin.marginals - rng.uniform(0.05, 0.1, 6) * utility.prior
    largest = float((rays.values - rays.vectors @ duals).max())
    assert largest > 0.0
    for share in (0.9, 0.99, 1.01):
        bounds = []
        for nodes in (0, 10, 20_000):
            family = JointColumns(cone, utility, nodes)
            family.found = utility.columns(np.ones((1, 6)))
            assert family.found.values[0] - family.found.vectors[0] @ duals < 0.4 * largest
            family.set_accuracy(share * largest + float(duals.sum()), 1e-9)
            bounds.append(family._branch(duals))
            assert bounds[-1] >= max(share, 1.0) * largest * (1.0 - 1e-9)
        assert bounds[0] > bounds[-1]
        if share > 1.0:
            assert bounds[-1] == pytest.approx(share * largest)


def test_entries_without_a_bound_are_refused() -> None:
    """There the first box had no end, and its bound was no number."""
    with pytest.raises(Intractable, match="The prior is 0 at input 1; over this cone"):
        optimal_mechanism(MutualInformation([0.4, 0.0, 0.6]), local_cone(3, 1.0), max_nodes=10)
