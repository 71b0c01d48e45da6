"""Errors of bounds: what sums of duals and priors may lack."""

import numpy as np
import pytest
from mpmath import fsum, log, mpf

from ldpfrontier.numerics.rounding import sum_bound


@pytest.mark.parametrize("off", [-1e-9, 0.0, 1e-9])
def test_the_bound_of_duals_holds_for_the_distribution_that_a_prior_is_rounded_from(off):
    """With S the sum of the prior, (sum(c) + kappa S) / S + log S bounds the information."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        prior = (1.0 + off) * rng.dirichlet(np.ones(7))
        duals, kappa = rng.normal(size=7) * 10.0 ** rng.integers(-3, 3), float(rng.uniform(0.0, 0.1))
        total = fsum(map(mpf, prior.tolist()))
        exact = fsum(map(mpf, duals.tolist())) / total + mpf(kappa) + log(total)
        assert exact <= mpf(sum_bound(duals, kappa, prior))
