"""Rays that an inequality hardly touches: their side is told without rounding."""

from fractions import Fraction

import numpy as np
import pytest

from ldpfrontier.engines.listed.double_description import DoubleDescription


@pytest.mark.parametrize("beyond", [-1, 0, 1])
def test_a_ray_goes_if_it_is_beyond_an_inequality_however_little(beyond):
    """It is (1, 1, 0), and the value there is 2^-40, which floats may take for rounding."""
    cone, rows = DoubleDescription(3), [[1.0, -1.0, 0.0], [1.0 + beyond * 2.0**-40, -1.0, -0.1]]
    for row in rows:
        cone.cut(np.array(row))
    for ray in cone._rays:
        assert all(sum(Fraction(a) * x for a, x in zip(row, ray, strict=True)) <= 0 for row in rows)
    assert ([1, 1, 0] in cone._rays) == (beyond <= 0)
