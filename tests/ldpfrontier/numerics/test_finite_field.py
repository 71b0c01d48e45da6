"""Finite fields: the axioms, by all elements."""

import numpy as np
import pytest

from ldpfrontier.numerics.finite_field import FiniteField, prime_power


@pytest.mark.parametrize("q", [2, 3, 4, 5, 8, 9, 16, 25, 27])
def test_axioms(q: int) -> None:
    field, a = FiniteField(q), np.arange(q)
    x, y, z = np.meshgrid(a, a, a, indexing="ij")
    for op in (field.plus, field.times):
        assert np.array_equal(op(x, y), op(y, x))
        assert np.array_equal(op(op(x, y), z), op(x, op(y, z)))
    assert np.array_equal(field.times(x, field.plus(y, z)), field.plus(field.times(x, y), field.times(x, z)))
    sums, products = field.plus(a[:, None], a), field.times(a[1:, None], a[1:])
    for table, elements in ((sums, a), (products, a[1:])):
        assert all(sorted(row) == list(elements) for row in table.tolist())
    assert np.array_equal(field.times(a, np.ones(q, dtype=int)), a)
    assert np.array_equal(field.plus(a, np.zeros(q, dtype=int)), a)


def test_prime_powers() -> None:
    assert [q for q in range(30) if prime_power(q)] == [
        2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29
    ]  # fmt: skip
    assert prime_power(243) == (3, 5)
    with pytest.raises(ValueError, match="A field has a prime power of elements; 12 is none"):
        FiniteField(12)
