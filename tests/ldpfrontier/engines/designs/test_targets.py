"""Targets of rates and coefficients, against differences, statsmodels and designs of least error."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st

from ldpfrontier import (
    estimation_error,
    local_cone,
    logit_coefficients,
    logit_target,
    optimal_estimation,
    randomized_response,
    rate_target,
)

AGES = np.column_stack([np.ones(4), [20.0, 35.0, 50.0, 65.0]])


def slopes(function, prior, step=1e-6):
    """Return differences of a function of distributions towards each pair of values, (values, pairs)."""
    columns = []
    for cell in np.eye(prior.size):
        towards = step * (cell.reshape(prior.shape) - prior)
        columns.append((function(prior + towards) - function(prior - towards)).ravel() / (2.0 * step))
    return np.column_stack(columns)


@given(st.integers(0, 10**6), st.sampled_from([2, 3]))
def test_the_rows_are_the_slopes_of_what_is_estimated(seed, rows):
    prior = np.random.default_rng(seed).dirichlet(np.ones(4 * rows)).reshape(rows, 4) + 0.01
    prior /= prior.sum()
    for target, function in (
        (rate_target(prior), lambda p: p / p.sum(axis=0)),
        (logit_target(prior, AGES), lambda p: logit_coefficients(p, AGES)),
    ):
        centred = target - (target @ prior.ravel())[:, None]
        assert slopes(function, prior) == pytest.approx(centred, rel=1e-3, abs=1e-5 * np.abs(centred).max())


def test_coefficients_are_those_of_statsmodels():
    counts = np.array([[40, 30, 20, 10], [10, 15, 15, 20], [5, 8, 9, 12]])
    s, u = (np.repeat(place.ravel(), counts.ravel()) for place in np.indices(counts.shape))
    found = logit_coefficients(counts / counts.sum(), AGES)
    other = sm.MNLogit(s, AGES[u]).fit(disp=0)
    assert found == pytest.approx(other.params.T, rel=1e-5)
    # Without randomization the error of a saturated model's coefficients is that of its standard errors.
    groups = np.column_stack([np.ones(4), np.eye(4)[:, 1:]])
    found = estimation_error(identity(12), counts / counts.sum(), logit_target(counts / counts.sum(), groups))
    errors = sm.MNLogit(s, groups[u]).fit(disp=0).bse
    assert found / counts.sum() == pytest.approx((np.asarray(errors) ** 2).sum(), rel=1e-4)


def identity(size):
    """Return the channel that tells everything."""
    from ldpfrontier import Channel

    return Channel(np.eye(size))


def test_the_best_mechanism_for_a_coefficient_needs_fewer_people_and_its_bound_holds_for_others():
    prior = np.array([[0.2, 0.2, 0.15, 0.15], [0.02, 0.05, 0.08, 0.15]])
    slope = logit_target(prior, AGES)[1:]
    best = optimal_estimation(prior, local_cone(8, 1.0), slope)
    of_all = optimal_estimation(prior, local_cone(8, 1.0)).channel
    own, response = (
        estimation_error(channel, prior, slope) for channel in (best.channel, randomized_response(8, 1.0))
    )
    assert own == pytest.approx(best.value, rel=1e-6)
    assert best.bound <= own * (1 + 1e-9) <= best.bound * 1.001
    assert own < estimation_error(of_all, prior, slope) < response
