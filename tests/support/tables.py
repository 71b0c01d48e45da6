"""Tables of counts that several tests solve."""

from __future__ import annotations

import math

import numpy as np

from ldpfrontier.uncertainty.renyi_ball import RenyiBall

SHAPES = [(2, 2), (2, 3), (3, 2), (2, 4), (4, 2), (3, 3), (2, 5), (5, 2), (1, 4)]


def random_table(seed: int) -> tuple[RenyiBall, float]:
    """A random table of counts, every third one with zero cells, and a privacy level."""
    rng = np.random.default_rng(seed)
    shape = SHAPES[seed % len(SHAPES)]
    counts = rng.multinomial(
        int(rng.choice([60, 400, 5000])), rng.dirichlet(np.ones(math.prod(shape)))
    ).reshape(shape)
    if seed % 3 == 0:
        counts[rng.integers(shape[0]), rng.integers(shape[1])] = 0
    return RenyiBall.confidence(counts), float(rng.choice([0.1, 0.5, 1.0, 2.5]))


def random_ball(shape: tuple[int, int], seed: int, order: float = 2.0) -> tuple[RenyiBall, float]:
    """A random table of counts, every fourth one with a zero cell, and a privacy level."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([100, 400, 5000]))
    counts = rng.multinomial(n, rng.dirichlet(np.full(math.prod(shape), 2.0))).reshape(shape)
    if seed % 4 == 0:
        counts[rng.integers(shape[0]), rng.integers(shape[1])] = 0
    return RenyiBall.confidence(counts, order=order), [0.1, 0.5, 1.0, 2.5][seed % 4]
