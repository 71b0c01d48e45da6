"""Random utilities of every kind, and what holds for the staircase optimum of each."""

from __future__ import annotations

import numpy as np
import pytest

from ldpfrontier.model.privacy import ldp_epsilon
from ldpfrontier.model.utility import FDivergence, MutualInformation

KINDS = ["kl", "tv", "chi2", "hellinger"]


def random_utility(rng, k, kind):
    """Draw a prior ("mi") or a pair of distributions (another kind) on k inputs."""
    p0, p1 = rng.dirichlet(np.full(k, rng.choice([0.3, 1.0, 5.0])), 2)
    return MutualInformation(p0) if kind == "mi" else FDivergence(p0, p1, kind)


def check(utility, epsilon, optimum):
    """Theorem 2, the privacy level, and the certificate."""
    Q = optimum.channel.matrix
    assert Q.shape[0] == len(utility.prior)
    assert Q.shape[1] <= Q.shape[0]
    gain = np.log(Q) - np.log(Q.min(axis=0))
    assert np.minimum(abs(gain), abs(gain - epsilon)).max() < 1e-9
    assert ldp_epsilon(optimum.channel) <= epsilon + 1e-12
    assert optimum.status == "optimal"
    assert optimum.value == pytest.approx(utility(optimum.channel), rel=1e-11, abs=1e-15)
    assert optimum.value <= optimum.upper_bound
    assert optimum.gap <= 1e-9
