"""Cutting planes in two dimensions, against a linear program."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from ldpfrontier.numerics.kelley_2d import CuttingPlanes, minimize_planes


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_cutting_planes_reach_the_minimum_of_a_piecewise_affine_function(seed):
    rng = np.random.default_rng(seed)
    heights, slopes, limits = rng.normal(size=7), rng.normal(size=(7, 2)), tuple(rng.uniform(0.5, 3.0, 2))
    planes, x = CuttingPlanes.of(20), rng.uniform(0.0, limits)
    for step in range(20):
        # The plane that is active at x: those of a function never become more than its pieces.
        i = int((heights + slopes @ x).argmax())
        value = float(heights[i] + slopes[i] @ x)
        planes.heights[step], planes.slopes[step] = heights[i], slopes[i]
        *x, minimum = minimize_planes(step, limits, planes)
        assert planes.weight.sum() == pytest.approx(1.0)
        assert (planes.weight >= 0.0).all()
        assert minimum <= value + 1e-9
        if (heights + slopes @ x).max() <= minimum + 1e-9:
            break
    exact = linprog(
        [0.0, 0.0, 1.0], np.column_stack([slopes, -np.ones(7)]), -heights,
        bounds=[(0.0, limits[0]), (0.0, limits[1]), (None, None)],
    )  # fmt: skip
    assert minimum == pytest.approx(exact.fun, abs=1e-7)
