"""Affine minorants against values of their majorants."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpfrontier.engines.over_set.majorant import Majorant, affine_minorant, evaluate
from support.blocks import random_majorant


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), pieces=st.integers(1, 4), knots=st.integers(1, 4))
def test_affine_minorants_are_below_their_majorant(seed, pieces, knots):
    rng = np.random.default_rng(seed)
    majorant = random_majorant(rng, pieces, knots)
    low, high = np.sort(rng.uniform(0.0, 4.0, 2))
    t_interval = np.sort(rng.uniform(0.0, 1.0, 2)) if knots > 1 else np.zeros(2)
    minorant, room = np.empty((2, 2)), np.empty(2 * majorant.breakpoints.size + 2)
    focus = rng.uniform(low, high)
    affine_minorant(majorant, t_interval, low, high, focus, room, room.copy(), minorant)
    ends = np.concatenate([majorant.low, majorant.high])
    z = np.concatenate([rng.uniform(low, high, 40), ends[(ends > low) & (ends < high)], [low, high]])
    for share in (0.0, *rng.uniform(0.0, 1.0, 8), 1.0):
        slope, intercept = minorant[0] + share * (minorant[1] - minorant[0])
        t = float(t_interval[0] + share * (t_interval[1] - t_interval[0]))
        assert all(slope * x + intercept <= evaluate(majorant, float(x), t) + 1e-9 for x in z)
    if pieces == 1 and knots == 1:
        # One affine piece is its own minorant, but for a discount, which only counts above its low end.
        value = evaluate(majorant, float(high), 0.0)
        assert slope * high + intercept == pytest.approx(value, abs=1e-9)


def test_a_minorant_is_below_both_limits_at_a_breakpoint():
    """A discount begins beyond z = 1."""
    zero = np.zeros(1)
    majorant = Majorant.of(
        zero, np.array([0.0, 1.0]), np.full(2, np.inf), np.array([[0.0], [-0.2]]), *np.zeros((2, 2, 1))
    )
    minorant, room = np.empty((2, 2)), np.empty(2 * majorant.breakpoints.size + 2)
    affine_minorant(majorant, np.zeros(2), 0.5, 1.5, 1.0, room, room.copy(), minorant)
    assert evaluate(majorant, 1.0, 0.0) == pytest.approx(0.0, abs=1e-12)
    assert evaluate(majorant, 1.0 + 1e-12, 0.0) == pytest.approx(-0.2)
    assert minorant[0].sum() == pytest.approx(-0.2)
