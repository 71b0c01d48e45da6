"""Arithmetic in finite fields of q = p^m elements, by logarithms to a primitive element."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldpfrontier.base.types import IntArray


def prime_power(q: int) -> tuple[int, int] | None:
    """Return (p, m) with q = p^m and p prime; None if there are none."""
    if q < 2:
        return None
    p = next((d for d in range(2, math.isqrt(q) + 1) if q % d == 0), q)
    m = round(math.log(q, p))
    return (p, m) if p**m == q else None


@dataclass(frozen=True)
class FiniteField:
    """The field of q elements, the numbers 0 to q - 1; their digits to the base p are polynomials.

    ValueError if q is not the power of a prime.
    """

    q: int

    def __post_init__(self) -> None:
        if prime_power(self.q) is None:
            raise ValueError(f"A field has a prime power of elements; {self.q} is none.")

    @cached_property
    def _characteristic(self) -> tuple[int, int]:
        found = prime_power(self.q)
        assert found is not None
        return found

    @cached_property
    def powers(self) -> IntArray:
        """The powers 0 to q - 2 of a primitive element, (q - 1,): all elements but 0."""
        p, m = self._characteristic
        # x^m is replaced by a polynomial of a smaller degree; of degree 1, x is a number itself.
        for low in itertools.product(range(p), repeat=m):
            element, found = [1] + [0] * (m - 1), list[int]()
            while len(found) < self.q - 1:
                found.append(sum(digit * p**i for i, digit in enumerate(element)))
                top = element[-1]
                element = [(a + top * b) % p for a, b in zip([0, *element[:-1]], low, strict=True)]
                if element == [1] + [0] * (m - 1):
                    break
            if set(found) == set(range(1, self.q)):
                return np.array(found, dtype=np.int64)
        raise AssertionError("every finite field has a primitive element")

    @cached_property
    def _logarithms(self) -> IntArray:
        logarithms = np.zeros(self.q, dtype=np.int64)
        logarithms[self.powers] = np.arange(self.q - 1)
        return logarithms

    def times(self, a: IntArray, b: IntArray) -> IntArray:
        """Return products of elements, arrays that are broadcast."""
        product = self.powers[(self._logarithms[a] + self._logarithms[b]) % (self.q - 1)]
        return np.asarray(np.where((a == 0) | (b == 0), 0, product))

    def plus(self, a: IntArray, b: IntArray) -> IntArray:
        """Return sums of elements, arrays that are broadcast."""
        p, m = self._characteristic
        total = np.zeros(np.broadcast_shapes(np.shape(a), np.shape(b)), dtype=np.int64)
        for place in (p**i for i in range(m)):
            total = total + (a // place + b // place) % p * place
        return total
