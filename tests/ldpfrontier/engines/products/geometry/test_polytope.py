"""Vertices of a block, against exact double description, and the levels at which they change."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ldpfrontier.engines.products.geometry.polytope import Block

#: Exact double description; it is installed with Python 3.11 on Linux alone.
ppl = pytest.importorskip("ppl")


def block_vertices_exact(lower: np.ndarray, epsilon: float) -> np.ndarray:
    """Vertices of K_s by exact double description, with numbers rounded to multiples of 2^-40."""
    unit = 1 << 40
    weights = [int(x * unit) for x in lower]
    rest, top = unit - sum(weights), int(math.exp(epsilon) * unit)
    system = ppl.Constraint_System()
    for u in range(len(lower)):
        system.insert(ppl.Variable(u) >= 0)
        row = list(weights)
        row[u] += rest
        system.insert(ppl.Linear_Expression(row, -unit) >= 0)
        system.insert(ppl.Linear_Expression([-x for x in row], top) >= 0)
    points = [g for g in ppl.C_Polyhedron(system).minimized_generators() if g.is_point()]
    return np.array([[float(x) / float(g.divisor()) for x in g.coefficients()] for g in points])


@pytest.mark.parametrize("seed", range(40))
def test_block_vertices_are_those_of_the_polytope(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a2 = int(rng.integers(1, 7))
    lower = rng.dirichlet(np.full(a2 + 1, rng.choice([0.3, 1.0, 5.0])))[:a2]
    if seed % 3 == 0:
        lower[rng.integers(a2)] = 0.0
    epsilon = float(rng.choice([0.05, 0.3, 1.0, 2.0, 4.0]))
    block = Block(lower, np.full(a2, 1.0 / a2), epsilon)
    ours = block.vectors(np.arange(len(block)))
    rest = 1.0 - lower.sum()
    assert (rest * ours.max(1) + ours @ lower <= math.exp(epsilon) + 1e-9).all()
    assert (rest * ours.min(1) + ours @ lower >= 1 - 1e-9).all()
    exact = block_vertices_exact(lower, epsilon)
    distance = np.abs(exact[:, None] - ours[None]).max(axis=2).min(axis=1)
    assert (distance <= 1e-7 * exact.max(axis=1)).all()
    prices = rng.normal(size=a2)
    np.testing.assert_allclose(block.dot(prices), ours @ prices, atol=1e-9)
    np.testing.assert_allclose(block.z, ours.mean(axis=1), atol=1e-9)
