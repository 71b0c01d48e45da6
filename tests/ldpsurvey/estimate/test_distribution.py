"""Estimates: unbiased, most likely, and intervals that cover."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from ldpsurvey import estimate_distribution
from ldpsurvey.base.sampling import Sampler
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.estimate.distribution import Inversion, inversion, maximum_likelihood, quantities
from support.owndata import channel_of, flat, seeded, small_table


def full(seed: int, inputs: int = 4, outputs: int = 6):
    rng = np.random.default_rng(seed)
    return 0.5 * rng.dirichlet(np.ones(outputs), size=inputs) + 0.5 / outputs, rng


# Unbiased -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outputs", [4, 6])
def test_estimates_are_right_on_average_whatever_the_distribution(outputs):
    matrix, rng = full(1, outputs=outputs)
    linear = Inversion(matrix, rng.dirichlet(np.ones(4)), np.eye(4))
    assert linear.shown.all()
    for truth in rng.dirichlet(np.ones(4), size=20):
        assert linear.estimate(truth @ matrix) == pytest.approx(truth, abs=1e-12)


def test_of_all_unbiased_estimates_theirs_vary_least_at_the_prior():
    matrix, rng = full(2)
    prior = rng.dirichlet(np.ones(4))
    mean = prior @ matrix
    linear = Inversion(matrix, prior, np.eye(4))
    own = linear.error(mean, 1) ** 2
    null = np.linalg.svd(matrix)[2][4:]
    for push in rng.normal(size=(50, len(null))):
        other = linear.weights + push @ null
        assert other @ matrix.T == pytest.approx(np.eye(4), abs=1e-10)
        assert ((other**2 @ mean - prior**2) > own - 1e-12).all()


def test_the_error_of_randomized_response_is_the_one_in_closed_form():
    k, epsilon, n = 5, 1.2, 700
    private = channel_of(flat(small_table()), "grr", epsilon)
    k = len(private.weights)
    p, q = math.exp(epsilon) / (k - 1 + math.exp(epsilon)), 1 / (k - 1 + math.exp(epsilon))
    mean = np.random.default_rng(3).dirichlet(np.ones(k)) @ private.channel.matrix
    expected = np.sqrt(mean * (1 - mean) / n) / (p - q)
    linear = inversion(private.channel.matrix, private.table)
    assert linear.error(mean, n)[:k] == pytest.approx(expected, rel=1e-6)


def test_what_a_channel_does_not_show_is_not_estimated(table):
    private = channel_of(table, "ir", 0.3)
    linear = inversion(private.channel.matrix, table)
    assert linear.rank < 6
    assert not linear.shown[:6].all()
    reports = Sampler(private.weights, seeded(1)).draw(np.repeat(np.arange(6), 500))
    found = estimate_distribution(private, np.bincount(reports, minlength=private.weights.shape[1]))
    assert (found.rank, found.inputs) == (linear.rank, 6)
    for row, shown in zip(found.frequencies, linear.shown, strict=True):
        assert math.isfinite(row.estimate) == math.isfinite(row.unbiased) == row.estimable == shown
        assert 0 <= row.low < row.high <= 1
    # Another path: what is shown is the same for all distributions with the same reports.
    null = np.linalg.svd(private.channel.matrix.T)[2][linear.rank :]
    moved = np.abs(quantities(table)[1] @ null.T).max(axis=1) > 1e-6
    assert (moved == ~linear.shown).all()


# Most likely ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_no_other_distribution_is_more_likely(seed):
    matrix, rng = full(seed)
    # Few records of a distribution at the border: the unbiased estimate often lies outside.
    truth = np.array([0.7, 0.3, 0.0, 0.0])
    counts = rng.multinomial(200, truth @ matrix)
    p, gap = maximum_likelihood(matrix, counts)
    assert gap <= SETTINGS.likelihood_gap
    assert p.sum() == pytest.approx(1.0)
    assert p.min() >= 0

    def loss(x):
        return -float(counts @ np.log(np.maximum(x @ matrix, 1e-300)))

    other = minimize(
        loss, np.full(4, 0.25), method="SLSQP", bounds=[(0, 1)] * 4, options={"ftol": 1e-12, "maxiter": 500},
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
    )  # fmt: skip
    assert loss(p) <= other.fun + SETTINGS.likelihood_gap
    assert p == pytest.approx(other.x, abs=0.01)


def test_a_report_that_the_channel_never_gives_is_refused():
    with pytest.raises(ValueError, match="One of the reports has probability 0 under this channel"):
        maximum_likelihood(np.array([[1.0, 0.0], [1.0, 0.0]]), [3, 1])


# Intervals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("counts", [[1, 2], [0] * 6, [-1, 1, 1, 1, 1, 1]])
def test_counts_of_reports_must_fit(private, counts):
    assert private.weights.shape[1] == 6
    with pytest.raises(ValueError, match="The counts of reports have shape"):
        estimate_distribution(private, counts)
