"""Mechanisms with fewer outputs: the same columns, at most as many as asked for, and little more error."""

from functools import cache

import numpy as np
import pytest

from ldpfrontier import (
    Channel,
    Cone,
    Optimum,
    RenyiBall,
    conditional_cone,
    estimation_error,
    ldp_epsilon,
    local_cone,
    optimal_estimation,
    polyopt_cone,
    randomized_response,
    subset_selection,
    with_fewer_outputs,
)
from ldpfrontier.optimal.estimation.fewer_outputs import with_united_outputs
from ldpfrontier.types import FloatArray
from support.adult import adult_counts


@cache
def income_and_relationship() -> tuple[FloatArray, Cone, Optimum]:
    """Return an estimate, a cone with both levels, and the least error."""
    counts = adult_counts("income", "relationship")
    ball = RenyiBall.confidence(counts, beta=0.05)
    cone = polyopt_cone(ball.lower_bounds, 1.0, pairs="distinct") & conditional_cone(counts.shape, 1.0)
    return ball.centre, cone, optimal_estimation(ball.centre, cone)


@pytest.mark.parametrize(("outputs", "most"), [(60, 1.001), (30, 1.03), (20, 1.08), (13, 3.0)])
def test_a_table_of_adult(outputs: int, most: float) -> None:
    prior, cone, best = income_and_relationship()
    few = with_fewer_outputs(best.channel, prior, outputs)
    assert few.n_outputs <= outputs
    assert few.row_sum_error < 1e-12
    assert cone.violation(few.matrix.T) <= 1e-12
    assert best.bound <= estimation_error(few, prior) <= most * best.value


def test_as_many_outputs_as_numbers_that_the_error_depends_on_cost_nothing() -> None:
    """All 70 sets of four of eight letters, which differ in 7 dimensions: 36 outputs."""
    p = np.random.default_rng(1).dirichlet(np.full(8, 3.0))
    given = subset_selection(8, 0.2, 4)
    few = with_fewer_outputs(given, p, 36)
    assert given.n_outputs == 70
    assert few.n_outputs <= 36
    # Weights are those of this distribution, and subset selection has those of the uniform one.
    assert estimation_error(few, p) <= estimation_error(given, p) * (1 + 1e-6)
    columns = few.matrix.T / few.matrix.T.max(axis=1, keepdims=True)
    assert {tuple(v) for v in columns.round(9)} <= {
        tuple(v) for v in (given.matrix.T / given.matrix.T.max(axis=1, keepdims=True)).round(9)
    }
    assert ldp_epsilon(few) <= 0.2 + 1e-12


def test_a_target_that_needs_few_outputs() -> None:
    prior = np.array([[0.2, 0.1, 0.15], [0.05, 0.3, 0.2]])
    best = optimal_estimation(prior, local_cone(6, 1.0), "sensitive")
    few = with_fewer_outputs(best.channel, prior, 2, "sensitive")
    assert few.n_outputs == 2
    assert estimation_error(few, prior, "sensitive") <= 1.0001 * best.value
    known = with_fewer_outputs(best.channel, prior, 1, np.ones((1, 6)))
    assert known.n_outputs == 1


def test_a_number_of_outputs_has_the_error_of_the_better_way() -> None:
    """Outputs that are told apart twice cost nothing when they are united; leaving one out would."""
    p = np.array([0.2, 0.3, 0.5])
    once = randomized_response(3, 1.0)
    halves = np.repeat(once.matrix / 2.0, 2, axis=1) * (1 + 1e-6 * np.random.default_rng(0).normal(size=6))
    twice = Channel(halves / halves.sum(axis=1, keepdims=True))
    few = with_fewer_outputs(twice, p, 3)
    assert few.n_outputs == 3
    assert estimation_error(few, p) == pytest.approx(estimation_error(once, p), rel=1e-5)


@pytest.mark.parametrize("lost", [0.0, 2e-3, 1.0])
def test_united_outputs_cost_no_more_than_they_may_and_are_sums(lost: float) -> None:
    counts = np.array([[60, 30, 20], [20, 40, 50]])
    p = counts / counts.sum()
    cone = local_cone(6, 1.0)
    best = optimal_estimation(p, cone).channel
    few = with_united_outputs(best, p, None, lost)
    assert estimation_error(few, p) <= estimation_error(best, p) * (1 + lost) * (1 + 1e-12)
    assert few.n_outputs < best.n_outputs or lost < 1.0
    assert few.row_sum_error < 1e-12
    assert cone.violation(few.matrix.T) <= 1e-12
    # Every output of the given channel is within one of these.
    rest = few.matrix[:, None, :] - best.matrix[:, :, None]
    assert ((rest >= -1e-15).all(axis=0)).any(axis=1).all()


def test_united_outputs_of_few_are_the_given_ones() -> None:
    two = randomized_response(2, 1.0)
    assert with_united_outputs(two, [0.3, 0.7], None, 10.0) is two
    unused = Channel(np.hstack([two.matrix, np.zeros((2, 1))]))
    assert with_united_outputs(unused, [0.3, 0.7], None, 0.0).n_outputs <= 3
