r"""Vertices of the polytopes from whose products PolyOpt makes its columns.

Scaled so that the smallest B_s is one, a column of the published cone of PolyOpt is a product over the
sensitive values s of blocks w_s in ::

    K_s = {w >= 0 : (1 - S) max w + L . w <= e^eps,  (1 - S) min w + L . w >= 1},    S = sum_u L_u

(lopuhaa2024, Definition 3, rearranged). At a vertex all letters but one are at the maximum, at the minimum or
at 0, so that it is known from the set T of letters at the maximum: closed forms for 2^a2 sets per block, in
place of a polytope in a1 a2 dimensions.
"""

from __future__ import annotations

import math

import numpy as np

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.products.geometry.settings import SETTINGS
from ldpfrontier.engines.products.geometry.vertex_list import SubsetVectors, VertexList
from ldpfrontier.numerics.subset_sums import subset_sums


class Block(VertexList):
    """The vertices of one K_s, given the L_{u|s} and P_{s,u} of a row, (a2,) each, and a level in nats, >= 0.

    With l = L(T), rest = 1 - S and d = (e^eps - 1) / rest, every vertex takes one value on T, one off T, and
    possibly a third at one further letter j:

    - 1 - d l + d on T, 1 - d l off T, if 1 - d l >= 0;
    - the constants 1 and e^eps;
    - e^eps / (rest + l) on T, 0 off T, if that meets the lower constraint;
    - d on T, (1 - d l) / L_j in (0, d) at j, 0 elsewhere, T possibly empty.
    """

    def __init__(self, lower: FloatArray, prior: FloatArray, epsilon: float) -> None:
        super().__init__(prior)
        L = self.lower = self.fold(np.where(prior > 0, lower, 0.0))
        top = math.exp(epsilon)
        rest = max(1.0 - L.sum(), SETTINGS.least_rest)
        d = (top - 1.0) / rest
        mass = subset_sums(L)
        subsets = np.arange(len(mass), dtype=np.int32)
        proper = (subsets > 0) & (subsets < len(mass) - 1)

        positive = subsets[proper & (d * mass <= 1.0)]
        floor = 1.0 - d * mass[positive]
        # Where d l = 1 both families have the vertex.
        # Relative: where two families of vertices meet, rounding must not lose the vertex to neither.
        zero = subsets[proper & (mass * top >= (rest + mass) * (1.0 - 1e-12))]
        sets = [positive, np.zeros(2, dtype=np.int32), zero]
        low = [floor, np.array([1.0, top]), np.zeros(len(zero))]
        high = [floor + d, np.array([1.0, top]), top / (rest + mass[zero])]
        third_letter, third_value = [np.empty(0, dtype=np.int64)], [np.empty(0)]
        for j in np.flatnonzero(L > 0):
            value = (1.0 - d * mass) / L[j]
            others = subsets[(subsets >> j & 1 == 0) & (value > 0) & (value < d)]
            sets.append(others)
            low.append(np.zeros(len(others)))
            high.append(np.full(len(others), d))
            third_letter.append(np.full(len(others), j))
            third_value.append(value[others])
        self.constants = (len(positive), len(positive) + 1)
        self._set_subset_vectors(
            SubsetVectors(
                np.concatenate(sets),
                np.concatenate(low),
                np.concatenate(high),
                np.concatenate(third_letter),
                np.concatenate(third_value),
            )
        )
