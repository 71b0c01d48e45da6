"""Staircase columns, listed."""

import numpy as np
import pytest

from ldpfrontier.engines.listed.staircase import Staircase
from support.utilities import KINDS, random_utility


@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_priced_at_several_levels_as_at_each(kind):
    utility = random_utility(np.random.default_rng(13), 5, kind)
    levels = np.array([1e-3, 0.2, 3.0, 40.0])
    family = Staircase(utility, levels[:, None])
    reduced = family.reduced_costs(family.response_duals)
    for row, epsilon in zip(reduced, levels, strict=True):
        alone = Staircase(utility, float(epsilon))
        np.testing.assert_allclose(row, alone.reduced_costs(alone.response_duals), rtol=1e-12, atol=1e-15)
