r"""Subset sums, sum_{j in T} x_j for all 2^n sets T, and the number partition that is built from them.

A set with min_T |sum_{j in T} x_j - c| is found by meeting in the middle (Horowitz and Sahni): for every
subset sum of one half of the numbers, the best partner among the sorted subset sums of the other half.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.numerics.arguments import as_distribution
from ldpfrontier.numerics.settings import SETTINGS


def subset_sums(terms: FloatArray) -> FloatArray:
    """Return the sums over all subsets of n terms, shape (2^n,); bit j of the index says that j is in.

    Of several lists of terms, shape (..., n), all sums at once, shape (..., 2^n).
    """
    n = terms.shape[-1]
    sums = np.zeros((*terms.shape[:-1], 2**n))
    for j in range(n):
        np.add(sums[..., : 2**j], terms[..., j, None], out=sums[..., 2**j : 2 ** (j + 1)])
    return sums


def balanced_set(prior: ArrayLike) -> NDArray[np.bool_]:
    """Find a set T of inputs whose probability is closest to 1/2 (kairouz2016, (30)), exactly, shape (k,).

    With more than 40 inputs the likelier ones go to the lighter side one by one, and only the 30 least likely
    ones are partitioned exactly: the set is within 1e-9 of 1/2, or the likeliest input outweighs all others.
    Intractable if no set was found that is as close. Inputs of probability 0 are outside.
    """
    p = as_distribution(prior, "The prior").ravel()
    support = np.flatnonzero(p > 0)
    inside = np.zeros(p.size, dtype=bool)
    if support.size <= SETTINGS.max_partition:
        inside[support] = _partition(p[support], 0.5 * float(p.sum()))
        return inside
    falling = support[np.argsort(-p[support], kind="stable")]
    likely, least = falling[: -SETTINGS.partitioned_tail], falling[-SETTINGS.partitioned_tail :]
    sides = [0.0, 0.0]
    for x in likely:
        inside[x] = sides[1] <= sides[0]
        sides[int(inside[x])] += float(p[x])
    inside[least] = _partition(p[least], 0.5 * float(p.sum()) - sides[1])
    distance = abs(float(p[inside].sum()) - 0.5)
    if distance > SETTINGS.half_tolerance and p[falling[0]] < 0.5:
        raise Intractable(
            f"The prior has {support.size} inputs of positive probability, and the best set found is"
            f" {distance:.1g} from probability 1/2; with more than {SETTINGS.max_partition} inputs it must be"
            f" within {SETTINGS.half_tolerance:g}."
        )
    return inside


def _partition(p: FloatArray, target: float) -> NDArray[np.bool_]:
    """Find the subset whose sum is closest to a target, exactly."""
    half = p.size // 2
    near, far = subset_sums(p[:half]), subset_sums(p[half:])
    order = np.argsort(far, kind="stable")
    wanted = target - near
    above = np.clip(np.searchsorted(far[order], wanted), 0, far.size - 1)
    partners = np.stack([np.maximum(above - 1, 0), above])
    which, i = np.unravel_index(int(np.abs(far[order][partners] - wanted).argmin()), partners.shape)
    j = order[partners[which, i]]
    return np.concatenate([int(i) >> np.arange(half) & 1, int(j) >> np.arange(p.size - half) & 1]).astype(
        bool
    )
