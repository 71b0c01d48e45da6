"""Regressions of weighted, stratified or clustered samples: pseudo maximum likelihood and its sandwich."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.stats import t

from ldpsurvey import privatize_frame, regress
from ldpsurvey.base.layout import Remark
from ldpsurvey.estimate.regression import randomized_logit
from ldpsurvey.estimate.weighted import Sample
from support.owndata import questionnaire_of

ILL = [("no",), ("yes",)]
FORCED = np.array([[5 / 6, 1 / 6], [1 / 6, 5 / 6]])
N = 600


def sample_of(weights=None, strata=None, clusters=None, n=N):
    nothing = np.zeros(n, dtype=int)
    return Sample(
        nothing, np.ones(n) if weights is None else weights, nothing if strata is None else strata, [],
        clusters=clusters,
    )  # fmt: skip


@pytest.fixture(scope="module")
def people():
    """Return people, their reports, and weights, strata and clusters that the answers depend on."""
    rng = np.random.default_rng(5)
    clusters = np.arange(N) % 30
    data = pd.DataFrame({"age": rng.integers(2, 6, N).astype(float)})
    chance = 1 / (1 + np.exp(2.0 - 0.5 * data["age"] - rng.normal(0, 0.8, 30)[clusters]))
    truth = (rng.random(N) < chance).astype(int)
    data["votes"] = (rng.random(N) < 0.3 + 0.4 * truth).astype(int)
    reports = (rng.random(N) < FORCED[truth, 1]).astype(int)
    return data, truth, reports, rng.integers(1, 4, N).astype(float), clusters % 3, clusters


@pytest.mark.parametrize("formula", ["ill ~ age", "votes ~ ill + age"])
def test_whole_weights_have_the_coefficients_of_repeated_people(people, formula):
    data, _, reports, weights, *_ = people
    places = np.repeat(np.arange(N), weights.astype(int))
    again = data.iloc[places].reset_index(drop=True)
    repeated = randomized_logit(formula, again, reports[places], FORCED, ["ill"], ILL)
    found = randomized_logit(formula, data, reports, FORCED, ["ill"], ILL, sample_of(5.0 * weights))
    assert found.params == pytest.approx(repeated.params, rel=1e-5, abs=1e-6)
    assert found.llf == pytest.approx(repeated.llf * N / len(places))


def slopes(function, point, step=1e-5):
    """Return the derivatives of a function by each coordinate, in rows."""
    return np.array([
        (function(point + h) - function(point - h)) / (2 * step) for h in step * np.eye(len(point))
    ])  # fmt: skip


def test_the_sandwich_is_that_of_numerical_derivatives(people):
    data, _, reports, weights, strata, clusters = people
    sample = sample_of(weights, strata, clusters)
    found = randomized_logit("ill ~ age", data, reports, FORCED, ["ill"], ILL, sample)

    def likelihoods(theta):
        share = 1 / (1 + np.exp(-theta[0] - theta[1] * data["age"].to_numpy()))
        chances = FORCED[0, reports] * (1 - share) + FORCED[1, reports] * share
        return weights / weights.mean() * np.log(chances)

    scores = slopes(likelihoods, found.params)
    assert np.abs(scores.sum(axis=1)).max() < 1e-3
    second = slopes(lambda theta: slopes(likelihoods, theta, 1e-4).sum(axis=1), found.params, 1e-4)
    middle = np.zeros((2, 2))
    for stratum in range(3):
        own = np.array([
            scores[:, (clusters == one) & (strata == stratum)].sum(axis=1) for one in range(stratum, 30, 3)
        ])  # fmt: skip
        middle += len(own) * np.cov(own.T)
    expected = np.linalg.inv(second) @ middle @ np.linalg.inv(second)
    assert found.cov_params == pytest.approx(expected, rel=1e-3)
    assert found.freedom == 30 - 3
    half = found.conf_int()[:, 1] - found.params
    assert half == pytest.approx(t.ppf(0.975, 27) * found.bse)
    assert found.pvalues == pytest.approx(2 * t.sf(np.abs(found.params / found.bse), 27))


def test_without_randomization_clusters_are_those_of_statsmodels(people):
    data, truth, _, _, _, clusters = people
    sample = sample_of(clusters=clusters)
    found = randomized_logit("ill ~ age", data, truth, np.eye(2), ["ill"], ILL, sample)
    options = {"groups": clusters, "use_correction": False}
    other = sm.Logit(truth, sm.add_constant(data[["age"]])).fit(disp=0, cov_type="cluster", cov_kwds=options)
    assert found.bse == pytest.approx((30 / 29) ** 0.5 * other.bse.to_numpy(), rel=1e-4)


def test_a_sandwich_of_predictors_is_near_the_information_if_the_model_holds(people):
    """Each person a unit, of equal weights; the logit of the predictor is in it as well."""
    data, _, reports, *_ = people
    found, plain = (
        randomized_logit("votes ~ ill + age", data, reports, FORCED, ["ill"], ILL, sample)
        for sample in (sample_of(np.full(N, 3.0)), None)
    )
    assert found.params == pytest.approx(plain.params, rel=1e-6)
    assert found.bse == pytest.approx(plain.bse, rel=0.1)
    assert found.bse != pytest.approx(plain.bse, rel=1e-6)


def test_few_clusters_are_remarked_upon(people):
    data, _, reports, *_ = people
    for number in (2, 3):
        sample = sample_of(clusters=np.arange(N) % number)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            randomized_logit("ill ~ age", data, reports, FORCED, ["ill"], ILL, sample)
        assert ["1 degree of freedom for 2" in str(one.message) for one in found] == [True] * (number == 2)


def test_one_cluster_is_refused_and_weights_that_are_not_used_are_remarked_upon():
    channel, rng = questionnaire_of((2, 2, 3)), np.random.default_rng(0)
    frame = pd.DataFrame({
        **{name: rng.choice(some, 900) for name, some in zip(channel.names, channel.answers, strict=True)},
        "weight": rng.uniform(1.0, 2.0, 900), "town": "A", "half": ["n", "s"] * 450,
    })  # fmt: skip
    reports = privatize_frame(channel, frame, keep=["weight", "town", "half"], source=rng.bytes)
    with pytest.raises(ValueError, match="The sample has one cluster; each needs at least two"):
        regress("x0 ~ half", channel, reports, weight="weight", cluster="town")
    with pytest.warns(Remark, match="the column 'weight' has the name of survey weights and is not used"):
        plain = regress("x0 ~ half", channel, reports)
    found = regress("x0 ~ half", channel, reports, weight="weight", strata="half")
    assert (plain.freedom, found.freedom) == (np.inf, 898)
    assert "pseudo-log-likelihood" in found.summary()
