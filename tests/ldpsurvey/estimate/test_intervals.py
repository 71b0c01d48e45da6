"""Intervals of frequencies: known special cases, and coverage on real tables."""

import numpy as np
import pytest
from scipy.stats import beta, binom

from ldpsurvey import estimate_distribution
from ldpsurvey.estimate.distribution import Inversion, inversion, maximum_likelihood, quantities
from ldpsurvey.estimate.intervals import limit_weights, mean_limits, upper_limits
from support.grids import few
from support.interval_coverage import TAIL, coverage, signed_weights
from support.owndata import channel_of
from support.realtables import real_table

REPETITIONS = 400


# Limits of a mean -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("hits", "n"), [(0, 1), (0, 10), (1, 20), (5, 10), (9, 10), (0, 1000), (300, 1000)])
@pytest.mark.parametrize("tail", [0.025, 0.0005])
def test_with_two_outputs_the_limits_are_those_of_clopper_and_pearson(hits, n, tail):
    weights, counts = np.array([[0.0, 1.0]]), np.array([n - hits, hits])
    # The saddlepoint approximation is off by a percent at most where one report is all there is.
    assert mean_limits(weights, counts, tail) == pytest.approx(beta.isf(tail, hits + 1, n - hits), rel=5e-3)
    lower = -mean_limits(-weights, counts, tail)
    expected = 0.0 if hits == 0 else beta.ppf(tail, hits, n - hits + 1)
    assert lower == pytest.approx(expected, rel=0.05, abs=1e-12)


@pytest.mark.parametrize("n", [2, 5, 20, 100, 1000])
def test_with_two_outputs_they_cover_whatever_the_probability(n):
    counts = np.stack([n - np.arange(n + 1), np.arange(n + 1)], axis=1)
    upper = mean_limits(np.array([[0.0, 1.0]]), counts, TAIL)[:, 0]
    for p in np.linspace(0.001, 0.999, 300):
        assert binom.pmf(np.arange(n + 1), n, p)[upper < p].sum() <= 1.02 * TAIL


@pytest.mark.parametrize("seed", range(5))
def test_a_limit_is_the_quantile_of_dirichlet_weights(seed):
    rng = np.random.default_rng(seed)
    outputs = int(rng.integers(2, 12))
    weights, counts = rng.normal(size=(1, outputs)) * 10 ** rng.uniform(-3, 3), rng.poisson(3, size=outputs)
    counts[0] += 1
    shapes = counts + (weights[0] == weights.max())
    drawn = rng.dirichlet(np.maximum(shapes, 1e-12), size=200_000) @ weights[0]
    below = (drawn <= mean_limits(weights, counts, TAIL)[0]).mean()
    assert below == pytest.approx(1.0 - TAIL, abs=0.002)


# Weights --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["exact", "ir", "grr"])
@pytest.mark.parametrize("n", [1, 50, 100_000])
def test_weights_bound_every_frequency_under_every_distribution(table, mechanism, n):
    matrix, vectors = channel_of(table, mechanism).channel.matrix, quantities(table)[1]
    for sign in (-1, 1):
        weights = signed_weights(matrix, table, n, sign)
        assert (weights @ matrix.T >= sign * vectors - 1e-12).all()


def test_the_limits_of_what_is_not_shown_are_those_of_the_marginals():
    """Reports of either S or U: Frechet's bounds P(s) + P(u) - 1 and min(P(s), P(u)) of the cells."""
    table = real_table("Titanic 2x4")
    (a1, a2), truth = table.counts.shape, table.distribution
    matrix = 0.5 * np.hstack([np.repeat(np.eye(a1), a2, axis=0), np.tile(np.eye(a2), (a1, 1))])
    counts = 1e9 * truth.ravel() @ matrix
    assert not inversion(matrix, table).shown[: a1 * a2].any()
    least, most = (
        sign * mean_limits(signed_weights(matrix, table, 10**9, sign), counts, TAIL)[: a1 * a2]
        for sign in (-1, 1)
    )
    sums = truth.sum(axis=1), truth.sum(axis=0)
    assert most == pytest.approx(np.minimum.outer(*sums).ravel(), abs=1e-3)
    assert least == pytest.approx(np.maximum(np.add.outer(*sums) - 1.0, 0.0).ravel(), abs=1e-3)


# Intervals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mechanism", "simultaneous"),
    few(
        [("exact", False), ("ir", True), ("grr", False)],
        more=[
            *((mechanism, False) for mechanism in ("polyopt", "ir", "srr")),
            *((mechanism, True) for mechanism in ("exact", "polyopt", "grr", "srr")),
        ],
    ),
)
def test_an_interval_is_never_a_point_and_has_what_is_most_likely(table, mechanism, simultaneous):
    private = channel_of(table, mechanism)
    outputs = private.weights.shape[1]
    rng = np.random.default_rng(5)
    samples = [
        *np.eye(outputs),
        *1000 * np.eye(outputs),
        *2.0**52 * np.eye(outputs),
        *rng.multinomial(30, np.full(outputs, 1 / outputs), 5),
    ]
    for counts in samples:
        found = estimate_distribution(private, counts, simultaneous=simultaneous, check_fit=False)
        for row in found.frequencies:
            assert 0 <= row.low < row.high <= 1
            assert found.records > 1000 or row.high - row.low > 1.0 / (1.0 + found.records)
            assert not row.estimate < row.low - 1e-9
            assert not row.estimate > row.high + 1e-9
    assert found.simultaneous == simultaneous


def test_simultaneous_intervals_are_those_of_bonferroni(private):
    counts = np.full(6, 500)
    together = estimate_distribution(private, counts, simultaneous=True)
    m = len(together.frequencies)
    each = estimate_distribution(private, counts, confidence=1.0 - 0.05 / m)
    assert [row.high for row in together.frequencies] == pytest.approx([row.high for row in each.frequencies])
    single = estimate_distribution(private, counts)
    for wide, narrow in zip(together.frequencies, single.frequencies, strict=True):
        assert wide.high - wide.low > narrow.high - narrow.low


def test_a_randomized_response_of_two_values_has_limits_between_the_likelihood_and_clopper_and_pearson():
    matrix = np.array([[0.75, 0.25], [0.25, 0.75]])
    linear = Inversion(matrix, np.full(2, 0.5), np.eye(2))
    counts = np.array([40, 60])
    weights = limit_weights(matrix, np.eye(2), np.full(2, 0.5), linear.weights, 100, TAIL)
    fitted = 100 * maximum_likelihood(matrix, counts)[0] @ matrix
    assert upper_limits(weights, counts, fitted, TAIL) == pytest.approx(
        (beta.isf(TAIL, counts + 1, 100 - counts) - 0.25) / 0.5, rel=1e-3
    )


# Coverage -------------------------------------------------------------------------------------------------


def channel_matrix(name, mechanism, epsilon):
    """Return a channel that protects from outsiders."""
    return channel_of(real_table(name), mechanism, epsilon).channel.matrix


@pytest.mark.parametrize(
    ("name", "mechanism", "n"),
    [
        ("UCBAdmissions 2x2", "exact", 20),
        ("PreSex 2x2", "ldp", 100),
        ("Titanic 2x4", "exact", 20),
        ("HairEyeColor 4x4", "polyopt", 592),
        ("HairEyeColor 4x4", "grr", 100),
        pytest.param("UCBAdmissions 2x6", "subset", 592, marks=pytest.mark.long),
        ("anes96 2x7", "ir", 592),
        ("DanishWelfare 3x4", "srr", 3000),
    ],
)
def test_each_interval_covers_on_real_tables(name, mechanism, n):
    """400 repetitions: at least 93% for every cell and every marginal."""
    table = real_table(name)
    assert coverage(channel_matrix(name, mechanism, 1.0), table, n, REPETITIONS)[0].min() >= 0.93


def test_intervals_cover_if_the_table_of_the_design_is_far_from_the_truth():
    table = real_table("HairEyeColor 4x4")
    matrix = channel_matrix("HairEyeColor 4x4", "polyopt", 1.0)
    truth = np.random.default_rng(8).dirichlet(np.full(16, 0.3))
    assert coverage(matrix, table, 592, REPETITIONS, truth=truth)[0].min() >= 0.93


def test_simultaneous_intervals_cover_all_together():
    table = real_table("Titanic 2x4")
    tail = TAIL / len(quantities(table)[0])
    assert coverage(channel_matrix("Titanic 2x4", "grr", 1.0), table, 500, REPETITIONS, tail=tail)[1] >= 0.95
