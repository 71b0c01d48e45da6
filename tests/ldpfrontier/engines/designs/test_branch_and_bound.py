"""Branch and bound over squares of forms: its bound against lists of rays, its weights against a program."""

import cvxpy as cp
import numpy as np
import pytest

from ldpfrontier import RenyiBall, local_cone, optimal_estimation, polyopt_cone, robust_cone
from ldpfrontier.engines.designs.branch_and_bound import ExcessBound, least_weights, separable
from ldpfrontier.engines.designs.column_weights import Prices
from ldpfrontier.engines.designs.quadratic_utility import QuadraticUtility
from ldpfrontier.engines.joint.spatial_branch_and_bound import JointColumns
from ldpfrontier.engines.listed.double_description import extreme_rays
from oracles.conic import solved
from support.cones import ByCuts

COUNTS = [[150, 50, 100], [100, 350, 250]]


def random_matrix(rng, p, rank: int):
    """Return a matrix W with W 1 = 0, a few directions of which are much larger than the others."""
    W = rng.normal(size=(rank, p.size)) * np.geomspace(5.0, 0.3, rank)[:, None] * np.sqrt(p)
    return W - np.outer(W.sum(axis=1), p)


@pytest.mark.parametrize("seed", range(4))
def test_weights_of_squares_are_the_least(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, r = (7, 5) if seed % 2 else (5, 5)
    f, root, costs = rng.normal(size=(m, r)), rng.normal(size=(r, r)), rng.uniform(0.1, 10.0, m)
    H = root @ root.T
    d = least_weights(f, H, costs)
    assert (d >= 0).all()
    assert np.linalg.eigvalsh((f.T * d) @ f - H)[0] >= -1e-12
    x = cp.Variable(m, nonneg=True)
    least = solved(cp.Problem(cp.Minimize(costs @ x), [f.T @ cp.diag(x) @ f - H >> 0]))
    assert least * (1 - 1e-6) <= costs @ d <= least * 1.002


@pytest.mark.parametrize("seed", range(4))
def test_a_quadratic_form_is_weighted_squares_without_a_concave_part(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(6, 1.0))
    W = random_matrix(rng, p, 5)
    forms = np.vstack([np.eye(6), rng.normal(size=(seed, 6)) * p])
    parts = separable(W, p, forms, rng.uniform(1.0, 3.0, len(forms)))
    assert np.linalg.eigvalsh(parts.N)[0] >= -1e-12 * np.abs(parts.N).max()
    v = rng.random((100, 6)) ** 3
    v /= (v @ p)[:, None]
    exact = ((v @ W.T) ** 2).sum(axis=1)
    found = (v @ forms.T) ** 2 @ parts.weights - np.einsum("mi,ij,mj->m", v, parts.N, v) + v @ parts.c
    assert found == pytest.approx(exact, rel=1e-9, abs=1e-9)
    assert (exact <= found + parts.error * (v**2 @ p)).all()
    assert parts.error < 1e-8


@pytest.mark.parametrize("seed", range(2))
def test_columns_found_are_inside_by_the_most_exact_cuts(seed: int) -> None:
    """Those of nodes are bounded by cuts that are found at less cost, and are not always the worst ones."""
    rng = np.random.default_rng(seed)
    ball = RenyiBall.confidence(rng.integers(5, 200, (2, 4)))
    p, cone = ball.centre.ravel(), robust_cone(ball, 1.0)
    prices = Prices(random_matrix(rng, p, 6), rng.uniform(0.5, 1.5, 8) * p)
    tree = ExcessBound(JointColumns(cone, QuadraticUtility(p, prices.W), 0), prices, 0.05, np.ones((1, 8)))
    tree.bound(200)
    found = np.vstack(tree.found)
    assert len(found) > 10
    assert cone.violation(found) <= 1e-12


@pytest.mark.parametrize("kind", ["local", "simplices", "simplices by cuts"])
@pytest.mark.parametrize("seed", range(3))
def test_the_bound_is_the_largest_excess_of_all_rays(kind: str, seed: int) -> None:
    """The prices are wrong ones, so that many columns have an excess."""
    rng, ball = np.random.default_rng(seed), RenyiBall.confidence(COUNTS)
    p = ball.centre.ravel()
    listed = local_cone(6, 1.0) if kind == "local" else polyopt_cone(ball.lower_bounds, 1.0, pairs="distinct")
    cone = ByCuts(listed) if kind == "simplices by cuts" else listed
    rays = extreme_rays(listed.inequalities)
    rays /= (rays @ p)[:, None]
    prices = Prices(random_matrix(rng, p, 5), rng.uniform(0.5, 1.5, 6) * p)
    largest = float(prices.excess(rays).max())
    assert largest > 0.1
    tree = ExcessBound(JointColumns(cone, QuadraticUtility(p, prices.W), 0), prices, 0.02 * largest, rays[:3])
    bound = tree.bound(20_000)
    assert bound >= largest * (1 - 1e-9)
    assert tree.best <= largest * (1 + 1e-6)
    found = np.vstack(tree.found)
    assert listed.violation(found) <= 1e-9
    assert found @ p == pytest.approx(1.0)
    # What is found suffices as a new column; nothing is proved about the rest.
    assert tree.best >= 0.5 * largest
    high = ExcessBound(JointColumns(cone, QuadraticUtility(p, prices.W), 0), prices, largest * 1.01, rays[:3])
    assert high.bound(20_000) == pytest.approx(largest * 1.01)
    assert high.nodes < 20_000
    assert high.best <= largest * (1 + 1e-6)


def test_a_bound_holds_however_few_nodes_there_are() -> None:
    ball, rng = RenyiBall.confidence(COUNTS), np.random.default_rng(5)
    p, cone = ball.centre.ravel(), polyopt_cone(ball.lower_bounds, 1.0, pairs="distinct")
    rays = extreme_rays(cone.inequalities)
    prices = Prices(random_matrix(rng, p, 5), rng.uniform(0.5, 1.5, 6) * p)
    largest = float(prices.excess(rays / (rays @ p)[:, None]).max())
    bounds = []
    for nodes in (1, 3, 10, 100):
        family = JointColumns(cone, QuadraticUtility(p, prices.W), 0)
        bounds.append(ExcessBound(family, prices, 1.001 * largest, np.ones((1, 6))).bound(nodes))
    assert min(bounds) >= largest
    assert bounds[0] > 1.05 * bounds[-1]


def test_over_f_the_bound_is_that_of_branch_and_bound_and_else_of_larger_cones() -> None:
    ball = RenyiBall.confidence(COUNTS)
    cone = robust_cone(ball, 0.5)
    best = optimal_estimation(ball.centre, cone, tolerance=1e-2)
    assert best.status == "optimal"
    assert best.gap <= 1e-2
    assert "spatial branch and bound over squares of linear forms" in str(best.method)
    assert "larger polyhedral cones" not in str(best.method)
    other = optimal_estimation(ball.centre, cone, max_nodes=300)
    assert "larger polyhedral cones, as branch and bound ended after" in str(other.method)
    # Bounds of one engine hold for mechanisms of the other.
    assert 0.5 * best.value < other.bound <= best.value
    assert best.bound <= other.value


def test_a_box_keeps_all_columns_above_the_cutoff() -> None:
    """Boxes around mixtures of a few rays, without a search."""
    ball, rng = RenyiBall.confidence(COUNTS), np.random.default_rng(9)
    p, cone = ball.centre.ravel(), polyopt_cone(ball.lower_bounds, 1.0, pairs="distinct")
    rays = extreme_rays(cone.inequalities)
    rays, cut = rays / (rays @ p)[:, None], 0
    for _ in range(30):
        prices = Prices(random_matrix(rng, p, 5), rng.uniform(0.5, 1.5, 6) * p)
        few = rays[rng.choice(len(rays), 3, replace=False)]
        v = rng.dirichlet(np.full(3, 0.5), 300) @ few
        tree = ExcessBound(JointColumns(cone, QuadraticUtility(p, prices.W), 0), prices, 0.0, v[:40])
        squares = np.einsum("mi,ij,mj->m", v, tree._parts.N, v)
        z = np.column_stack([v @ tree._parts.forms.T, squares])
        lo, hi, excess = z.min(axis=0), z.max(axis=0), prices.excess(v)
        for enough in np.append(np.quantile(excess, [0.5, 0.9]), excess.max() - 1e-9):
            tree.target, tree.best = float(enough), -np.inf
            node = tree._bounded(lo, hi)
            assert node is not None
            assert -node.negative_bound >= excess.max() - 1e-12
            kept = z[excess > enough]
            assert (node.lo <= kept + 1e-9).all()
            assert (kept <= node.hi + 1e-9).all()
            cut += int((node.lo > lo + 1e-6).sum() + (node.hi < hi - 1e-6).sum())
    assert cut > 50
