"""The random source sets of kalantari2018, of every class: J distributions on M letters, and a distortion."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np
import pandas as pd

from ldpfrontier.base.priors import generator
from ldpfrontier.base.types import FloatArray
from reproduction.data.populations import rows_of, with_columns

PAPER = "kalantari2018"

#: See `draw`.
FAMILIES = ("I", "II", "group", "copies", "permuted")

SOURCE_SETS = with_columns(distortion="float64")  # the one at which a set is looked at

#: Of the Dirichlet distribution of a source.
_CONCENTRATION = 0.8


def source_sets(*, seed: int, instances: int, families: Sequence[str] = FAMILIES) -> pd.DataFrame:
    """Draw so many random source sets of every family; the rows of an instance are its distributions."""
    drawn = []
    for family in families:
        for instance in range(instances):
            sources, distortion = draw(family, instance, seed=seed)
            columns = {"population": f"{PAPER}/{family}", "size": str(sources.shape[1]), "seed": seed}
            more = {"concentration": _CONCENTRATION, "distortion": distortion}
            drawn.append(rows_of([instance], [sources], **columns, **more))
    return SOURCE_SETS.conform(pd.concat(drawn))


def draw(family: str, instance: int, *, seed: int) -> tuple[FloatArray, float]:
    """Draw a source set on 3 to 8 letters, shape (J, M), and a distortion of six decimals.

    The families are Class I: distributions and the uniform one. Class II: up to 4 in one order. ``group``:
    Class III, up to 4 falling distributions, some of them also with letters 1 and 2 swapped. ``copies``: one
    falling distribution and its copies by all permutations of the first 2 to 4 letters (a group, so Corollary
    1 holds). ``permuted``: one and up to 3 copies by random permutations, in general not a group.
    """
    rng = generator(seed, f"{PAPER}/{family}", 8, instance)
    M = int(rng.integers(3, 9))
    P = -np.sort(-rng.dirichlet(np.full(M, _CONCENTRATION), int(rng.integers(1, 5))), axis=1)
    D = round(float(rng.uniform(0.02, 0.85)), 6)
    match family:
        case "I":
            P = np.array([*(rng.permutation(p) for p in P), np.full(M, 1.0 / M)])
        case "group":
            both = P[:, [1, 0, *range(2, M)]]
            P = np.concatenate([P, both[rng.permutation(len(P))[: rng.integers(1, len(P) + 1)]]])
        case "copies":
            moved = int(rng.integers(2, min(M, 5)))
            P = np.array([P[0, [*head, *range(moved, M)]] for head in permutations(range(moved))])
        case "permuted":
            P = np.array([P[0], *(rng.permutation(P[0]) for _ in range(int(rng.integers(1, 4))))])
        case "II":
            pass
        case _:
            raise ValueError(f"The family is {family!r}; allowed are {', '.join(FAMILIES)}.")
    return P, D
