"""Bounds on reduced costs by a tangent of Z log Z, against all products of vertices, and all slopes."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from ldpfrontier.engines.products.tangents import best_tangent, conjugate, tangent_bound


def blocks(seed):
    rng = np.random.default_rng(seed)
    z = [rng.uniform(0.05, 1.5, size=rng.integers(2, 7)) for _ in range(3)]
    f = [part * np.log(part) - rng.uniform(0.2, 1.5) * part - 0.1 for part in z]
    return z, f


def bound_of_slope(lam, z, f):
    return tangent_bound(lam, sum(conjugate(f_s, z_s, lam)[0] for f_s, z_s in zip(f, z, strict=True)))


@pytest.mark.parametrize("seed", range(20))
def test_the_best_tangent_is_above_all_columns_and_below_all_other_tangents(seed):
    z, f = blocks(seed)
    kappa, lam = best_tangent(z, f, 0.0)
    assert math.isfinite(kappa)
    assert kappa == pytest.approx(bound_of_slope(lam, z, f), abs=1e-12)
    for chosen in itertools.product(*(range(len(part)) for part in z)):
        Z = sum(part[i] for part, i in zip(z, chosen, strict=True))
        F = sum(part[i] for part, i in zip(f, chosen, strict=True))
        assert (F - Z * math.log(Z)) / Z <= kappa + 1e-12
    grid = np.linspace(lam - 5.0, lam + 5.0, 2001)
    near = grid[int(np.argmin([bound_of_slope(x, z, f) for x in grid]))]
    other = minimize_scalar(
        lambda x: bound_of_slope(x, z, f), bounds=(near - 0.01, near + 0.01), method="bounded"
    )
    assert kappa <= other.fun + 1e-7


def test_without_a_negative_total_there_is_no_bound():
    assert tangent_bound(0.3, 0.0) == math.inf
    assert tangent_bound(1.0, -1.0) == 0.0


def test_the_first_vertex_that_attains_the_conjugate_counts():
    value, own = conjugate(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0]), 1.0)
    assert (value, own) == (0.0, 1.0)
