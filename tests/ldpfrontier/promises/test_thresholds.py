"""Thresholds of privacy levels, against optima on both sides of them."""

import numpy as np
import pytest

from ldpfrontier import FDivergence, MutualInformation
from ldpfrontier.model.mechanisms import randomized_response
from ldpfrontier.promises.ldp import optimal_ldp
from ldpfrontier.promises.thresholds import randomized_response_threshold


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["mi", "kl"])
def test_randomized_response_is_optimal_from_its_threshold_on_and_no_earlier(kind, seed):
    p, q = np.random.default_rng(seed).dirichlet(np.full(4, 2.0), 2)
    utility = MutualInformation(p) if kind == "mi" else FDivergence(p, q, "kl")
    level = randomized_response_threshold(utility)
    for share, best in ((0.97, False), (1.001, True), (1.5, True)):
        value = utility(randomized_response(4, share * level))
        assert (optimal_ldp(utility, share * level).value <= value * (1.0 + 1e-9)) == best
