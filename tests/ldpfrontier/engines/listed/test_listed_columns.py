"""The family of columns that are listed: its scale, its start, and its prices."""

from fractions import Fraction

import numpy as np
import pytest

from ldpfrontier import MutualInformation
from ldpfrontier.engines.listed.listed_columns import ListedColumns

RAYS = np.array([[1.0, 0.0, 0.0], [1.0, 2.0, 0.0], [0.0, 1.0, 1.0], [3.0, 1.0, 2.0]])


@pytest.mark.parametrize("prior", [[0.5, 0.3, 0.2], [0.5, 0.5, 0.0]])
def test_columns_are_scaled_and_valued(prior):
    utility = MutualInformation(np.array(prior))
    family = ListedColumns(RAYS, utility)
    assert (family.scale > 0).all()  # at inputs of probability 0, too
    vectors = family.columns.vectors
    np.testing.assert_allclose(vectors @ family.scale, 1.0)
    np.testing.assert_allclose(vectors[-1], 1.0)
    p = utility.prior
    for v, value in zip(vectors, family.columns.values, strict=True):
        mean = p @ v
        terms = [p[x] * v[x] * np.log(v[x] / mean) for x in range(3) if p[x] * v[x] > 0]
        assert value == pytest.approx(sum(terms), abs=1e-12)
    assert family.start().values.max() == family.columns.values.max()
    assert 0.0 in family.start().values


def test_the_price_is_the_largest_reduced_cost_and_hardly_more():
    family = ListedColumns(RAYS, MutualInformation(np.array([0.5, 0.3, 0.2])))
    for seed in range(20):
        duals = np.random.default_rng(seed).normal(size=3)
        price, columns = family.price(duals, 0)
        reduced = family.columns.values - family.columns.vectors @ duals
        assert reduced.max() <= price <= reduced.max() + 1e-13
        exact = [
            Fraction(value) - sum(Fraction(a) * Fraction(c) for a, c in zip(v, duals.tolist(), strict=True))
            for v, value in zip(family.columns.vectors.tolist(), family.columns.values.tolist(), strict=True)
        ]
        assert max(exact) <= Fraction(price)
        np.testing.assert_array_equal(
            columns.values - columns.vectors @ duals, np.sort(reduced)[::-1][: len(columns.values)]
        )
