"""Fits of affine bounds to points, against a grid of slopes and discounts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ldpfrontier.engines.over_set.affine_pieces import FitProblem, KnotPoints, Located, fit_knot
from ldpfrontier.engines.over_set.settings import SETTINGS


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), low=st.sampled_from([0.0, 0.4, 0.8]), products=st.integers(1, 3))
@example(seed=66026, low=0.0, products=1)  # z just above an end counts as at it
def test_the_fit_implies_the_least_kappa(seed, low, products):
    """No lam and discount of a grid imply less; those that leave most room imply enough if any do."""
    rng = np.random.default_rng(seed)
    bodies = [(np.sort(rng.uniform(-1.0, 0.6, 12)), np.sort(rng.uniform(0.1, 1.5, 12))) for _ in range(4)]
    known, own = (
        KnotPoints.of([Located(f, z, z) for f, z in bodies]),
        np.array([[0, 1, 2], [0, 1, 3], [0, 3, 2]])[:products],
    )
    high = math.inf if rng.random() < 0.5 else 1.3
    problem = FitProblem.of(known, own, low, high)
    kappa, lam, discount = fit_knot(problem, 0.0, 0.0)
    assert discount <= 0.0

    def implied(lam: float, discount: float) -> float:
        intercepts = []
        for f, z in bodies:
            values = f - lam * z
            # Points at an end are on both sides of it.
            between = (low <= SETTINGS.breakpoint_ratio * z) & (z <= SETTINGS.breakpoint_ratio * high)
            intercept = max(
                values[z <= low].max(initial=-math.inf), (values - discount)[between].max(initial=-math.inf)
            )
            intercepts.append(intercept if math.isfinite(intercept) else float(values[0] - discount))
        total = max(sum(intercepts[s] for s in row) for row in own) + discount
        return lam - 1.0 - math.log(-total) if total < 0.0 else math.inf

    assert implied(lam, discount) == pytest.approx(kappa, abs=1e-9)
    grid = [
        (x, y) for x in np.linspace(-1.0, 3.0, 81) for y in (-np.linspace(0.0, 3.0, 31) if low else [0.0])
    ]
    least = min(implied(x, y) for x, y in grid)
    assert kappa <= least + 1e-6
    roomy = fit_knot(problem, max(low, 0.1) * 1.2, kappa + 0.2)
    assert roomy[0] <= kappa + 0.2 + 1e-9
    assert roomy[2] <= 0.0
