"""`estimation_error`: closed forms, what cannot be estimated, arguments, and a simulation of surveys."""

import math

import numpy as np
import pytest

from ldpfrontier import (
    Channel,
    estimation_error,
    optimal_estimation,
    randomized_response,
    rate_target,
    secret_randomized_response,
    unconditional_cone,
)
from support.priors import random_prior

TABLE = np.array([[0.15, 0.05, 0.1], [0.1, 0.35, 0.25]])


def direct(channel, prior, rows):
    """Return tr(A M^-1 A') - |A p|^2 by the definition."""
    p, Q = np.ravel(prior), channel.matrix
    M = Q / (p @ Q) @ Q.T
    return np.trace(rows @ np.linalg.solve(M, rows.T)) - ((rows @ p) ** 2).sum()


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_randomized_response_has_the_error_of_its_closed_form(epsilon: float) -> None:
    """A square channel has one unbiased estimate: with a = keep - other, (sum q_y (1 - q_y)) / a^2."""
    k, p = 5, random_prior(3, 5, 1.0)
    channel = randomized_response(k, epsilon)
    q = p @ channel.matrix
    a = channel.matrix[0, 0] - channel.matrix[0, 1]
    assert estimation_error(channel, p) == pytest.approx((q * (1 - q)).sum() / a**2, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_every_target_agrees_with_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    channel = Channel(rng.dirichlet(np.ones(9), size=6))
    prior = rng.dirichlet(np.ones(6)).reshape(2, 3)
    own = rng.normal(size=(4, 6))
    sensitive, useful = np.kron(np.eye(2), np.ones((1, 3))), np.kron(np.ones((1, 2)), np.eye(3))
    for target, rows in (
        (None, np.eye(6)),
        ("sensitive", sensitive),
        ("useful", useful),
        (own, own),
        (1e50 * own, 1e50 * own),
    ):
        assert estimation_error(channel, prior, target) == pytest.approx(
            direct(channel, prior, rows), rel=1e-9
        )


def test_a_channel_that_tells_little_costs_no_digits() -> None:
    """At small levels the error times its square is known to be that of the limit."""
    value = 1e-3**2 * estimation_error(randomized_response(4, 1e-3), np.full(4, 0.25))
    # (k - 1)/k (keep - other)^-2, and keep - other is epsilon / k in the limit.
    assert value == pytest.approx(0.75 * 16, rel=2e-3)


def test_what_reports_do_not_tell_has_no_estimate() -> None:
    only_useful = Channel(np.kron(np.ones((2, 1)), np.eye(3)))
    assert estimation_error(only_useful, TABLE) == math.inf
    assert estimation_error(only_useful, TABLE, "sensitive") == math.inf
    marginal = TABLE.sum(axis=0)
    assert estimation_error(only_useful, TABLE, "useful") == pytest.approx(1 - (marginal**2).sum())
    # The total is known.
    assert estimation_error(only_useful, TABLE, np.ones((1, 6))) == 0.0


def test_inputs_that_do_not_occur_are_estimated_too() -> None:
    """With the identity, their reports never come, and their estimates of 0 are right."""
    p = np.array([0.5, 0.3, 0.2, 0.0])
    assert estimation_error(Channel(np.eye(4)), p) == pytest.approx(1 - (p**2).sum())
    assert estimation_error(randomized_response(4, 1.0), p) == pytest.approx(
        direct(randomized_response(4, 1.0), p, np.eye(4))
    )
    # Reports of the last two inputs alone: one that never comes, with a share of another.
    half = Channel([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0.0, 0.5, 0.5]])
    assert estimation_error(half, p) == pytest.approx(1 - (p**2).sum())
    limit = [estimation_error(half, (p + s * np.eye(4)[3]) / (1 + s)) for s in (1e-6, 1e-9)]
    assert limit == pytest.approx([1 - (p**2).sum()] * 2, rel=1e-5)


@pytest.mark.parametrize("at", [TABLE, [[0.2, 0.1, 0.2], [0.2, 0.2, 0.1]]], ids=["the design", "elsewhere"])
@pytest.mark.parametrize("target", [None, "sensitive"])
def test_surveys_have_the_error_that_is_predicted(target, at) -> None:
    """The best linear unbiased estimate of 10,000 surveys of 500 people each: bias and error."""
    surveys, people = 10_000, 500
    rng = np.random.default_rng(1)
    p = np.ravel(at)
    rows = np.eye(6) if target is None else np.kron(np.eye(2), np.ones((1, 3)))
    least = math.inf
    for channel in (
        secret_randomized_response(2, 3, 1.0),
        optimal_estimation(TABLE, unconditional_cone((2, 3), 1.0), target).channel,
    ):
        predicted = estimation_error(channel, at, target)
        Q, q = channel.matrix, p @ channel.matrix
        weights = rows @ np.linalg.pinv((Q / q) @ Q.T) @ (Q / q)
        frequencies = rng.multinomial(people, q / q.sum(), size=surveys) / people
        errors = frequencies @ weights.T - rows @ p
        total = people * (errors**2).sum(axis=1)
        assert abs(total.mean() - predicted) < 4 * total.std() / math.sqrt(surveys)
        assert np.abs(errors.mean(axis=0)).max() < 4 * math.sqrt(predicted / people / surveys)
        assert predicted < least * (1 + 1e-9)
        least = predicted


def test_the_error_of_rates_is_that_of_repeated_surveys() -> None:
    prior = np.array([[0.3, 0.15, 0.05], [0.1, 0.25, 0.15]])
    rng, people = np.random.default_rng(0), 20_000
    channel = randomized_response(6, 2.0)
    inverse = np.linalg.inv(channel.matrix)
    reports = rng.multinomial(people, prior.ravel() @ channel.matrix, size=4_000) / people
    tables = (reports @ inverse).reshape(-1, 2, 3)
    rates = tables / tables.sum(axis=1, keepdims=True)
    seen = float(((rates - prior / prior.sum(axis=0)) ** 2).sum(axis=(1, 2)).mean()) * people
    assert estimation_error(channel, prior, rate_target(prior)) == pytest.approx(seen, rel=0.05)
