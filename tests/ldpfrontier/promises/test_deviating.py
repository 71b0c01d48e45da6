"""Mechanisms and estimates if some people report whatever they like: a conic program, and all they can do."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from ldpfrontier import (
    Channel,
    Intractable,
    PolyhedralCone,
    conditional_cone,
    deviating_estimate,
    estimation_error,
    extreme_rays,
    hadamard_response,
    ldp_epsilon,
    local_cone,
    optimal_deviating,
    optimal_estimation,
    randomized_response,
    subset_selection,
    unconditional_cone,
)

PRIOR = np.array([0.7, 0.2, 0.07, 0.03])


def least_by_cones(columns, p, rows, c: float) -> float:
    """min V + c m^2 over weights of all columns: a conic program for each m, and a search over m."""
    v = columns / (columns @ p)[:, None]
    wanted, m = rows - np.outer(rows @ p, np.ones(len(p))), cp.Parameter(nonneg=True)
    H, theta = cp.Variable((len(v), len(rows))), cp.Variable(len(v))
    V = sum(cp.quad_over_lin(H[j], theta[j]) for j in range(len(v)))
    conditions = [H.T @ v == wanted, theta @ v == 1, cp.norm(H, axis=1) <= m * theta]
    program = cp.Problem(cp.Minimize(V), conditions)

    def value(most: float) -> float:
        m.value = most
        try:
            program.solve(solver=cp.CLARABEL)
        except cp.SolverError:
            return 1e9 / most
        return float(program.value) + c * most**2 if program.status == cp.OPTIMAL else 1e9 / most

    # No m is below the root of the least variance.
    low = optimal_estimation(p, local_cone(len(p), 1.0), rows).value ** 0.5
    return min(minimize_scalar(value, bounds=(low, b * low), options={"xatol": 1e-5}).fun for b in (1.3, 3.0))


def least_of_a_channel(channel: Channel, p, c: float) -> float:
    """min V + c m^2 over weights of the reports of a channel."""
    G, most = cp.Variable((len(p), channel.n_outputs)), cp.Variable()
    squares = cp.sum(cp.square(G), axis=0)
    conditions = [squares <= most, np.eye(len(p)) == G @ channel.matrix.T + p[:, None]]
    return float(cp.Problem(cp.Minimize(squares @ (p @ channel.matrix) + c * most), conditions).solve())


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # such a solution counts as none
@pytest.mark.parametrize(
    ("deviating", "rows"), [(0.01, np.eye(4)), (0.05, np.eye(4)), (0.05, [[0, 1, 2, 5]])]
)
def test_the_optimum_is_that_of_a_conic_program_over_all_columns(deviating: float, rows) -> None:
    cone, rows, c = local_cone(4, 1.0), np.array(rows, dtype=float), 1000 * deviating**2
    found = optimal_deviating(PRIOR, cone, deviating, 1000, rows)
    least = least_by_cones(extreme_rays(cone.inequalities), PRIOR, rows, c)
    assert found.status == "optimal"
    assert ldp_epsilon(found.channel) <= 1.0 + 1e-9
    assert found.bound * (1 - 1e-6) <= least <= found.value * (1 + 1e-6)


@pytest.mark.parametrize("channel", [hadamard_response(4, 1.0), subset_selection(4, 1.0, 2)])
def test_nobody_can_do_more_than_the_error_of_the_estimate_says(channel: Channel) -> None:
    n, g, rng = 400, 0.05, np.random.default_rng(0)
    found = deviating_estimate(channel, PRIOR, g, n)
    assert np.allclose(found.weights @ channel.matrix.T, np.eye(4))
    q = PRIOR @ channel.matrix
    errors = []
    for r in [*np.eye(len(q)), *rng.dirichlet(np.full(len(q), 0.3), 50)]:
        # g n people draw their reports from r, the others from the channel.
        means = [found.weights @ s for s in (q, r)]
        spread = [(found.weights**2).sum(axis=0) @ s - m @ m for s, m in zip((q, r), means, strict=True)]
        off = (1 - g) * means[0] + g * means[1] - PRIOR
        errors.append((1 - g) * spread[0] + g * spread[1] + n * (off @ off))
    assert found.error == pytest.approx(found.variance + n * found.bias**2)
    assert max(errors) == pytest.approx(found.error - g * found.variance)
    assert found.error == pytest.approx(least_of_a_channel(channel, PRIOR, n * g**2), rel=1e-5)
    # What it costs if all follow the rule.
    assert found.variance >= estimation_error(channel, PRIOR)


def test_alike_values_need_no_other_mechanism() -> None:
    p, cone = np.full(5, 0.2), local_cone(5, 1.5)
    found, plain = optimal_deviating(p, cone, 0.1, 500), optimal_estimation(p, cone)
    assert found.value == pytest.approx((1 + 500 * 0.1**2) * plain.value, rel=1e-3)


@pytest.mark.parametrize("cone", [unconditional_cone((2, 2), 1.0), conditional_cone((2, 2), 1.0)])
def test_other_cones(cone: PolyhedralCone) -> None:
    target = "sensitive"
    prior = PRIOR.reshape(2, 2)
    found = optimal_deviating(prior, cone, 0.05, 1000, target)
    plain = optimal_estimation(prior, cone, target)
    usual = deviating_estimate(plain.channel, prior, 0.05, 1000, target)
    assert found.bound <= found.value <= usual.error * (1 + 1e-6)
    assert found.bound >= plain.bound * (1 + 1000 * 0.05**2) * (1 - 1e-9)
    assert optimal_deviating(prior, cone, 0.0, 1000, target).value == pytest.approx(plain.value, rel=1e-3)


def test_what_is_refused() -> None:
    with pytest.raises(Intractable, match="listed"):
        optimal_deviating(np.full(40, 1 / 40), local_cone(40, 1.0), 0.05, 100)
    with pytest.raises(ValueError, match="deviating is 1"):
        deviating_estimate(randomized_response(2, 1.0), [0.5, 0.5], 1.0, 100)
    with pytest.raises(ValueError, match="unbiased"):
        deviating_estimate(Channel(np.full((2, 2), 0.5)), [0.5, 0.5], 0.1, 100)


@pytest.mark.parametrize(
    ("inputs", "epsilon", "people"), [(2, 1.0, 10**12), (4, 5.0, 10**6), (4, 20.0, 10**12)]
)
def test_so_many_people_that_the_variance_is_lost_end_with_a_bound(
    inputs: int, epsilon: float, people: int
) -> None:
    prior = np.arange(1.0, inputs + 1.0)
    found = optimal_deviating(prior / prior.sum(), local_cone(inputs, epsilon), 0.99, people)
    assert found.status in ("optimal", "bounded")
    assert found.bound <= found.value * (1.0 + 1e-9)
    with pytest.raises(ValueError, match="people is"):
        optimal_deviating(prior / prior.sum(), local_cone(inputs, epsilon), 0.99, 10**13)
