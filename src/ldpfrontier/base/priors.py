"""Random numbers for experiments, one independent stream per instance, and random distributions."""

from __future__ import annotations

import hashlib

import numpy as np

from ldpfrontier.base.types import FloatArray


def generator(seed: int, experiment: str, size: int, instance: int) -> np.random.Generator:
    """Return the random stream of one instance of an experiment, of a root `seed`, a name and two numbers.

    The stream depends on these four only, not on which other instances are drawn, when, or where.
    """
    # hash() differs between runs of Python.
    stream = int.from_bytes(hashlib.sha256(experiment.encode()).digest()[:8], "big")
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(stream, size, instance)))


def dirichlet(
    seed: int, experiment: str, size: int, instance: int, *, count: int = 1, concentration: float = 1.0
) -> FloatArray:
    """Draw distributions from a symmetric Dirichlet distribution, shape (count, size), with such a stream.

    The concentration is the parameter of every letter: 1 is uniform on the simplex, below 1 favours sparse
    distributions.
    """
    drawn = generator(seed, experiment, size, instance).dirichlet(np.full(size, concentration), count)
    return np.asarray(drawn, dtype=np.float64)
