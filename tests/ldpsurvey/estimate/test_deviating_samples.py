"""Bounds from weighted and clustered samples of people of whom some do not follow the rule."""

import numpy as np
import pytest

from ldpsurvey import estimate_bounds, table_of_values
from ldpsurvey.design.known_channels import known_channel
from ldpsurvey.estimate.deviating_samples import DeviatingSample
from ldpsurvey.estimate.deviation_bounds import bounds_of
from ldpsurvey.estimate.weighted import Sample

MATRIX = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6]])
PRIVATE = known_channel(table_of_values({"v": ["a", "b", "c"]}, ["v"]), MATRIX)
#: A share of the people who deviate, and answers of the others; heavy people have other ones.
G, LIGHT, HEAVY = 0.1, np.array([0.6, 0.3, 0.1]), np.array([0.2, 0.3, 0.5])


def sample_of(outputs, weights, clusters=None, strata=None):
    strata = np.zeros(len(outputs), dtype=int) if strata is None else strata
    return Sample(outputs, weights, strata, [""] * len(outputs), clusters=clusters)


def test_bounds_of_whole_weights_are_those_of_so_many_reports():
    rng = np.random.default_rng(1)
    outputs, weights = rng.integers(3, size=200), rng.integers(1, 4, size=200)
    counts = np.bincount(outputs, weights, minlength=3).astype(int)
    for everybody in (False, True):
        fit = DeviatingSample(PRIVATE, sample_of(outputs, weights * 1.0), G, everybody=everybody)
        found = bounds_of(fit, None, 0.95, simultaneous=False)
        alone = estimate_bounds(PRIVATE, counts, G, everybody=everybody, check_fit=False)
        ends = [(row.least, row.most) for row in found.rows]
        assert ends == pytest.approx(np.array([(row.least, row.most) for row in alone.rows]), abs=1e-9)
        assert found.needed == pytest.approx(alone.needed, abs=1e-9)


def survey(rng, clusters, size, worst):
    """Return a sample in which whole clusters answer alike, more or less, and deviators say what is worst."""
    heavy = rng.random(clusters) < 0.5
    weights = np.repeat(np.where(heavy, 2.0, 1.0), size)
    own = [rng.dirichlet(8.0 * (HEAVY if one else LIGHT)) for one in heavy]
    answers = np.concatenate([rng.choice(3, size, p=p) for p in own])
    outputs = (MATRIX[answers].cumsum(axis=1) < rng.random((len(answers), 1))).sum(axis=1)
    deviates = rng.random(len(outputs)) < G
    outputs[deviates] = worst
    return sample_of(outputs, weights, np.repeat(np.arange(clusters), size))


@pytest.mark.parametrize("worst", [0, 2])
def test_intervals_of_clustered_samples_cover_those_who_follow_the_rule(worst):
    """Their answers have the mean of both kinds of clusters, of which heavy ones count twice."""
    truth = (LIGHT + 2.0 * HEAVY) / 3.0
    rng, covered = np.random.default_rng(2), []
    for _ in range(16):
        fit = DeviatingSample(PRIVATE, survey(rng, 60, 10, worst), 1.2 * G)
        rows = bounds_of(fit, None, 0.95, simultaneous=False).rows
        covered.append([row.low <= p <= row.high for row, p in zip(rows, truth, strict=True)])
    assert np.mean(covered, axis=0).min() >= 0.87
