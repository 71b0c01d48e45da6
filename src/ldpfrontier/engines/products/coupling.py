r"""Coupling of block weights into joint columns with nearly constant Z.

Given are weights x_si of the vertices of every block s, with the same total Theta for each. Columns are to be
found, each of one vertex per block, with these weights as marginals and ::

    sum_j mass_j breg(Z_j, mean of Z)      small,      breg(Z, c) = Z log(Z / c) - Z + c,

which is what the utility loses against the bound of the `decomposition`. Several classes of columns are
coupled together: in one with `low` > 0 every column needs a vertex with z > low, so these vertices are laid
side by side first. The others are shared by all classes: the method is that of rearrangements, in which a
block leaves, the rest of the columns is sorted by what they lack in Z, and it joins again in order of falling
z, with masses split where they have to be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.products.geometry.vertex_list import VertexList
from ldpfrontier.engines.products.settings import SETTINGS

#: Weights of the blocks of a product, each a mapping vertex index -> weight; all have the same total.
BlockWeights = list[dict[int, float]]


class Coupling(NamedTuple):
    """Joint columns of several classes."""

    choice: NDArray[np.int64]  # (columns, a1): the vertex of every block
    mass: FloatArray  # (columns,): their weights
    owner: NDArray[np.int64]  # (columns,): the class of each
    means: FloatArray  # (classes,): of Z


def couple(
    blocks: list[VertexList],
    classes: Sequence[tuple[BlockWeights, float]],
    sweeps: int = SETTINGS.coupling_sweeps,
) -> Coupling:
    """Couple block weights into joint columns with Z near the mean of their class, a pair (weights, low).

    Blocks join one at a time, the ones with the widest range of z first; in further sweeps every block leaves
    and joins again. Columns without a vertex of the block, in order of rising partial Z less the mean of
    their class, meet its vertices in order of falling z.
    """
    starts = [_side_by_side(blocks, weights, low) for weights, low in classes]
    choice, mass = (np.concatenate(list(both)) for both in zip(*starts, strict=True))
    owner = np.repeat(np.arange(len(classes)), [len(m) for _, m in starts])
    means = np.array([_mean(blocks, weights) for weights, _ in classes])
    fixed = choice >= 0
    z = np.zeros(choice.shape)
    for s, block in enumerate(blocks):
        z[fixed[:, s], s] = block.z[choice[fixed[:, s], s]]
    shared = [
        _shared_vertices(block, [(weights[s], low) for weights, low in classes])
        for s, block in enumerate(blocks)
    ]
    spread = [float(np.ptp(b.z[used])) for b, (used, _) in zip(blocks, shared, strict=True)]
    for s in np.tile(np.argsort(spread, kind="stable")[::-1], sweeps):
        free, rest = np.flatnonzero(~fixed[:, s]), np.flatnonzero(fixed[:, s])
        if not free.size:
            continue
        used, shares = shared[s]
        z[free, s] = 0.0
        rising = free[np.argsort(z[free].sum(axis=1) - means[owner[free]], kind="stable")]
        # Cutting [0, 1] at both sequences of cumulative masses couples them monotonically.
        ends, new_ends = np.cumsum(mass[rising]), np.cumsum(shares / shares.sum())
        cuts = np.union1d(ends / ends[-1], new_ends)
        middles = (np.append(0.0, cuts[:-1]) + cuts) / 2.0
        old = rising[np.minimum(np.searchsorted(ends / ends[-1], middles), len(rising) - 1)]
        new = used[np.minimum(np.searchsorted(new_ends, middles), len(used) - 1)]
        mass = np.concatenate([mass[rest], np.diff(cuts, prepend=0.0) * ends[-1]])
        kept = np.concatenate([rest, old])
        choice, fixed, z, owner = choice[kept], fixed[kept], z[kept], owner[kept]
        choice[rest.size :, s], z[rest.size :, s] = new, blocks[s].z[new]
    return Coupling(choice, mass, owner, means)


def _mean(blocks: list[VertexList], weights: BlockWeights) -> float:
    """Return the mean of Z under block weights."""
    total = sum(b.z[i] * w for b, own in zip(blocks, weights, strict=True) for i, w in own.items())
    return float(total / sum(weights[0].values()))


def _shared_vertices(
    block: VertexList, classes: Sequence[tuple[dict[int, float], float]]
) -> tuple[NDArray[np.int64], FloatArray]:
    """Return the vertices of a block that no class lays side by side, by falling z, and their weights."""
    left: dict[int, float] = {}
    for own, low in classes:
        for i, weight in own.items():
            left[i] = left.get(i, 0.0) + weight * (not 0.0 < low < block.z[i])
    indices = np.array(sorted(i for i in left if left[i] > 0.0) or sorted(left))
    falling = indices[np.argsort(-block.z[indices], kind="stable")]
    return falling, np.array([left[i] or 1.0 for i in falling])


def _side_by_side(
    blocks: list[VertexList], weights: BlockWeights, low: float
) -> tuple[NDArray[np.int64], FloatArray]:
    """Lay the vertices with z > low along a circle of masses, one after the other, if low > 0.

    Their indices are returned, (columns, a1), -1 where a block has none, and the masses of columns, adding up
    to Theta.
    """
    total = sum(weights[0].values())
    above, end = [], 0.0
    for s, (block, vertices) in enumerate(zip(blocks, weights, strict=True)):
        for i in sorted(vertices):
            if 0.0 < low < block.z[i]:
                above.append((s, i, end, end + vertices[i] / total))
                end = above[-1][-1]
    cuts = np.unique([0.0, 1.0, *(end % 1.0 for *_, end in above)])
    choice = np.full((len(cuts) - 1, len(blocks)), -1, dtype=np.int64)
    middles = (cuts[:-1] + cuts[1:]) / 2.0
    for s, i, start, end in above:
        for turn in range(int(start), math.ceil(end)):
            choice[(start <= middles + turn) & (middles + turn < end), s] = i
    return choice, total * np.diff(cuts)
