"""A-optimal weights of given columns, against a conic program, and the bound that their prices are."""

import cvxpy as cp
import numpy as np
import pytest

from ldpfrontier.engines.designs.interior_point import a_optimal


def random_columns(seed, m, r):
    """Columns of which a mixture with positive weights is 0, and what is estimated."""
    rng = np.random.default_rng(seed)
    c = rng.normal(size=(m, r)) * np.exp(rng.normal(size=(m, 1)))
    theta = rng.dirichlet(np.ones(m))
    return c - theta @ c, rng.normal(size=(2, r))


def phi(c, alpha, theta):
    return float((alpha @ np.linalg.inv((c * theta[:, None]).T @ c) * alpha).sum())


@pytest.mark.parametrize(("m", "r"), [(4, 3), (6, 3), (30, 3), (60, 2)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_weights_are_those_of_a_conic_program(m, r, seed):
    """Few columns are Newton's unknowns themselves, many are not."""
    c, alpha = random_columns(seed, m, r)
    found = a_optimal(c, alpha, 1e-8, 100)
    theta = cp.Variable(m, nonneg=True)
    S = cp.sum([theta[j] * np.outer(c[j], c[j]) for j in range(m)])
    program = cp.Problem(
        cp.Minimize(sum(cp.matrix_frac(row, S) for row in alpha)), [cp.sum(theta) == 1, theta @ c == 0]
    )
    least = program.solve(solver=cp.CLARABEL)
    assert found.rounds < 100
    assert found.theta.min() >= 0
    assert found.theta.sum() == pytest.approx(1.0, abs=1e-9)
    np.testing.assert_allclose(found.theta @ c, 0.0, atol=1e-9)
    assert phi(c, alpha, found.theta) == pytest.approx(least, rel=1e-6)


def test_prices_bound_the_error_of_all_weights():
    """They are at least |beta c|^2 at every column, and so no weights have less than value^2 / prices[0]."""
    for seed in range(20):
        c, alpha = random_columns(seed, 25, 4)
        found = a_optimal(c, alpha, 1e-6, 100)
        worth = ((c @ found.beta.T) ** 2).sum(axis=1)
        assert (found.prices[0] + c @ found.prices[1:] >= worth - 1e-9).all()
        bound = found.value**2 / found.prices[0]
        scale = found.value / phi(c, alpha, found.theta)  # alpha is scaled
        assert bound == pytest.approx(found.value, rel=1e-5)
        rng = np.random.default_rng(seed)
        move = 1e-3 * rng.normal(size=25) * found.theta
        sides = np.hstack([np.ones((25, 1)), c])
        gram = (sides * found.theta[:, None]).T @ sides
        move -= found.theta * (sides @ np.linalg.solve(gram, sides.T @ move))
        other = found.theta + 0.1 * move
        assert other.min() >= 0
        assert scale * phi(c, alpha, other) >= bound * (1 - 1e-9)


def test_columns_that_leave_a_direction_out_are_refused():
    c, alpha = random_columns(0, 10, 3)
    c[:, 2] = c[:, 1]
    with pytest.raises(ArithmeticError, match="do not span"):
        a_optimal(c, alpha, 1e-6, 10)


def test_the_best_weights_so_far_are_returned_at_the_limit_of_rounds():
    c, alpha = random_columns(3, 30, 3)
    rough, fine = (a_optimal(c, alpha, 0.0, rounds) for rounds in (3, 60))
    assert rough.rounds <= 3
    assert phi(c, alpha, fine.theta) <= phi(c, alpha, rough.theta) * (1 + 1e-9)
