"""Maxima of unimodal functions, inside and at the ends."""

import numpy as np

from ldpfrontier.numerics.golden_section import golden_section


def test_maxima_of_many_parabolas_at_once():
    tops = np.array([-2.0, -1.0, -0.3, 0.0, 0.7, 1.0, 3.0])
    lo, hi = np.full(7, -1.0), np.full(7, 1.0)
    x, value = golden_section(lambda x: 1.0 - (x - tops) ** 2, lo, hi)
    inside = np.clip(tops, -1.0, 1.0)
    # A parabola is flat to rounding within 1e-8 of its top.
    np.testing.assert_allclose(x, inside, atol=3e-8)
    np.testing.assert_allclose(value, 1.0 - (inside - tops) ** 2, atol=1e-15)
    np.testing.assert_array_equal(x[[0, 1, 5, 6]], inside[[0, 1, 5, 6]])  # ends are tried themselves
