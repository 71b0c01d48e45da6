"""Random priors, from nearly equal to concentrated, and the most that any of them can tell."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

concentrations = st.sampled_from([0.1, 0.3, 1.0, 5.0, math.inf])


def random_prior(seed, k, concentration):
    """Draw a prior with no input below 1e-9 of the mean; inf concentrates on none."""
    uniform = np.full(k, 1.0 / k)
    if concentration == math.inf:
        return uniform
    drawn = np.random.default_rng(seed).dirichlet(np.full(k, concentration))
    return 1e-9 * uniform + (1.0 - 1e-9) * drawn


def largest_information(epsilon):
    """C(eps), the value of the best column of a prior that can be divided at will."""
    z = epsilon * math.exp(epsilon) / math.expm1(epsilon)
    return z - 1.0 - math.log(z)
