"""Subset sums, and the number partition that is built from them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpfrontier.channel import FloatArray, as_distribution
from ldpfrontier.optimum import Intractable

#: A number partition lists the subset sums of both halves: 2^20 each here.
MAX_PARTITION = 40


def subset_sums(terms: FloatArray) -> FloatArray:
    """Return the sums over all subsets of n terms, shape (2^n,); bit j of the index says that j is in."""
    sums = np.zeros(1)
    for term in terms:
        sums = np.concatenate([sums, sums + term])
    return sums


def balanced_set(prior: ArrayLike) -> NDArray[np.bool_]:
    """Find a set T of inputs whose probability is closest to 1/2 (kairouz2016, (30)), exactly.

    A number partition, by meeting in the middle: for every subset sum of one half of the inputs, the best
    partners among the sorted subset sums of the other half.

    Parameters
    ----------
    prior : array_like, any shape
        Distribution of X, flattened row-major.

    Returns
    -------
    ndarray of bool, shape (k,)
        Inputs of probability 0 are outside.

    Raises
    ------
    Intractable
        If more than 40 inputs have positive probability.
    """
    p = as_distribution(prior, "The prior").ravel()
    support = np.flatnonzero(p > 0)
    if support.size > MAX_PARTITION:
        raise Intractable(
            f"The prior has {support.size} inputs of positive probability; an exact partition into halves is"
            f" supported up to {MAX_PARTITION}."
        )
    left, right = support[: support.size // 2], support[support.size // 2 :]
    near, far = subset_sums(p[left]), subset_sums(p[right])
    order = np.argsort(far, kind="stable")
    target = 0.5 * p.sum() - near
    above = np.clip(np.searchsorted(far[order], target), 0, far.size - 1)
    partners = np.stack([np.maximum(above - 1, 0), above])
    which, i = np.unravel_index(int(np.abs(far[order][partners] - target).argmin()), partners.shape)
    j = order[partners[which, i]]
    inside = np.zeros(p.size, dtype=bool)
    inside[left] = int(i) >> np.arange(left.size) & 1
    inside[right] = int(j) >> np.arange(right.size) & 1
    return inside
