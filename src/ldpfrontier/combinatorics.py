"""Subset sums, and what is built from them."""

from __future__ import annotations

import numpy as np

from ldpfrontier.channel import FloatArray


def subset_sums(terms: FloatArray) -> FloatArray:
    """Return the sums over all subsets of n terms, shape (2^n,); bit j of the index says that j is in."""
    sums = np.zeros(1)
    for term in terms:
        sums = np.concatenate([sums, sums + term])
    return sums
