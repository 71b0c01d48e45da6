"""The semidefinite bound under local differential privacy: below the optimum whatever its point, and near."""

import math

import numpy as np
import pytest

from ldpfrontier import local_cone, optimal_estimation
from ldpfrontier.engines.designs import staircase_relaxation
from ldpfrontier.engines.designs.column_weights import EstimationProblem
from ldpfrontier.engines.designs.staircase_relaxation import relaxed_bound
from ldpfrontier.model.mechanisms import uniform_error
from ldpfrontier.promises import estimation as solve
from support.grids import few


@pytest.mark.parametrize(
    ("n", "epsilon"),
    few(
        [(2, 12.0), (3, 0.3), (6, 1e-3), (6, 2.0), (10, 1.0)],
        more=[
            *((2, epsilon) for epsilon in (1e-3, 0.3, 1.0, 2.0, 5.0)),
            *((3, epsilon) for epsilon in (1e-3, 1.0, 2.0, 5.0, 12.0)),
            *((6, epsilon) for epsilon in (0.3, 1.0, 5.0, 12.0)),
            *((10, epsilon) for epsilon in (1e-3, 0.3, 2.0, 5.0, 12.0)),
        ],
    ),
)
def test_it_is_below_the_optimum_and_near(n: int, epsilon: float) -> None:
    rng = np.random.default_rng(n)
    for p, rows, near in (
        (np.full(n, 1 / n), np.eye(n), 0.9),
        (np.full(n, 1 / n), np.tri(n), 0.9),
        (rng.dirichlet(np.ones(n)), np.eye(n), 0.8),
        (rng.dirichlet(np.ones(n)), rng.normal(size=(2, n)), 0.5),
    ):
        best = optimal_estimation(p, local_cone(n, epsilon), rows, tolerance=1e-6)
        bound = relaxed_bound(EstimationProblem(p, rows), math.exp(epsilon), math.inf)
        assert bound <= best.value * (1 + 1e-9)
        if epsilon <= 2.0 and epsilon > 0.01:
            assert bound >= near * best.value


def test_products_of_inputs_are_what_makes_it_near_at_large_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prefix sums of 12 at 2: 8.6% below without them."""
    p, rows = np.full(12, 1 / 12), np.tri(12)
    value = optimal_estimation(p, local_cone(12, 2.0), rows).value
    problem = EstimationProblem(p, rows)
    assert relaxed_bound(problem, math.exp(2.0), math.inf) >= 0.99 * value
    # The first bound that is enough is the last.
    assert relaxed_bound(problem, math.exp(2.0), 0.5 * value) < 0.93 * value


def test_any_point_proves_a_bound() -> None:
    """Also one far from the best, and one at which the matrix is not positive semidefinite."""
    rng, n = np.random.default_rng(1), 5
    p, rows = rng.dirichlet(np.ones(n)), np.tri(n)
    problem, ratio = EstimationProblem(p, rows), math.exp(1.0)
    best = optimal_estimation(p, local_cone(n, 1.0), rows)
    pairs = np.array([[0, 1], [2, 4], [1, 3]])
    program = staircase_relaxation._Program(p, problem.wanted, ratio, pairs)
    good = 0
    for _ in range(200):
        z = np.append(program.start(0.1), rng.random(3) * 0.1) * np.exp(rng.normal(size=2 * n + 3))
        bound = staircase_relaxation._proved(problem, program, z)
        assert 0 <= bound <= best.value * (1 + 1e-9)
        good += bound > 0.1 * best.value
    assert good > 10


def test_derivatives_are_those_of_the_value() -> None:
    rng, n, tau = np.random.default_rng(2), 4, 0.03
    p = rng.dirichlet(np.full(n, 5.0))
    rows = EstimationProblem(p, np.eye(n)).wanted[:3]
    program = staircase_relaxation._Program(p, rows, math.exp(0.8), np.array([[0, 1], [1, 3]]))
    z = program.extended(program.start(0.2))
    gradient, hessian = program._derivatives(z, tau)
    for a in range(z.size):
        step = np.zeros(z.size)
        step[a] = 1e-5 * z[a]
        ends = [program.dual_objective(z + sign * step, tau) for sign in (1, -1)]
        assert (ends[0] - ends[1]) / 2 / step[a] == pytest.approx(gradient[a], rel=1e-4, abs=1e-5)
        slopes = [program._derivatives(z + sign * step, tau)[0] for sign in (1, -1)]
        assert np.allclose(
            (slopes[0] - slopes[1]) / 2 / step[a], hessian[a], rtol=1e-4, atol=1e-4 * np.abs(hessian).max()
        )


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_all_inputs_alike_are_solved_by_their_symmetry(epsilon: float) -> None:
    n = 32
    best = optimal_estimation(np.full(n, 1 / n), local_cone(n, epsilon))
    assert best.status == "optimal"
    assert best.bound == pytest.approx(uniform_error(n, epsilon), rel=1e-8)
    assert best.iterations == 0
    # Differences to the first of four, and multiples, are as alike as they can be: not a multiple of I - J/n.
    problem = EstimationProblem(np.full(4, 0.25), np.eye(4) - np.eye(4)[0])
    assert solve._symmetric_bound(problem, 2.0) == 0.0
    p = np.array([0.25, 0.25, 0.25 + 1e-6, 0.25 - 1e-6])
    assert solve._symmetric_bound(EstimationProblem(p, np.eye(4)), 2.0) == 0.0
    turned = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    own = solve._symmetric_bound(EstimationProblem(np.full(4, 0.25), 3 * turned), 2.0)
    assert own == pytest.approx(9 * uniform_error(4, math.log(2.0)), rel=1e-8)


def test_many_inputs_have_a_bound_all_the_same() -> None:
    """Beyond the limit of the program, that of its first point."""
    n = 120
    p = np.full(n, 1 / n) + 1e-5 * np.linspace(-1, 1, n)
    bound = relaxed_bound(EstimationProblem(p, np.eye(n)), math.e, math.inf)
    assert 0.99 * uniform_error(n, 1.0) <= bound <= 1.001 * uniform_error(n, 1.0)
