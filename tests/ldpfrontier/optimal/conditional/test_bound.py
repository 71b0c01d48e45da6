"""What Y tells of S given U is at most the optimum under local privacy for every u, on average."""

import math

import numpy as np
import pytest

from ldpfrontier import mutual_information, randomized_response
from ldpfrontier.optimal.conditional.bound import sensitive_bound


@pytest.mark.parametrize("level", [0.3, 1.0, 3.0])
def test_randomized_response_for_every_useful_value(level):
    """It is the best one for two values of S, and tells no more than allowed for three."""
    for groups in (2, 3):
        prior = np.random.default_rng(groups).dirichlet(np.ones(4 * groups)).reshape(groups, 4)
        told = math.fsum(
            p * mutual_information(column / p, randomized_response(groups, level))
            for p, column in zip(prior.sum(axis=0), prior.T, strict=True)
        )
        bound = sensitive_bound(prior, level)
        assert bound >= told
        if groups == 2:
            assert bound == pytest.approx(told, rel=1e-6)
