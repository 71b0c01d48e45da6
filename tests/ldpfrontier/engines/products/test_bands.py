"""Bands of Z in the pricing of products, with few cells, against all combinations of vertices."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ldpfrontier.base.types import FloatArray, IntArray
from ldpfrontier.engines.products.pricing import PricingProblem


def random_problem(
    rng: np.random.Generator, best: float
) -> tuple[PricingProblem, IntArray, FloatArray, FloatArray]:
    """Return a problem with this largest reduced cost, and all choices, with their Z and reduced costs."""
    sizes = rng.integers(3, 7, 4)
    first = np.cumsum([0, *sizes])
    z = np.concatenate([np.sort(rng.uniform(0.05, 0.5, size)) for size in sizes])
    # Such that combinations are nearly equal, however large Z is.
    f = z * (1.0 + np.log(z.mean() * 4.0)) - z.mean() + rng.normal(0.0, 0.02, z.size)
    choice = np.array(list(itertools.product(*(range(a, b) for a, b in itertools.pairwise(first.tolist())))))
    Z = z[choice].sum(axis=1)
    reduced = f[choice].sum(axis=1) / Z - np.log(Z)
    f += (best - reduced.max()) * z
    problem = PricingProblem(10.0, np.arange(z.size), first, z, f)
    return problem, choice, Z, f[choice].sum(axis=1) / Z - np.log(Z)


@pytest.mark.parametrize("cells", [4, 16, 64])
def test_a_band_bounds_all_columns_in_it_and_keeps_their_vertices(cells: int) -> None:
    rng, above = np.random.default_rng(cells), 0
    for _ in range(60):
        problem, choice, Z, reduced = random_problem(rng, float(rng.choice([1e-6, 0.01, 0.1])))
        low, high = np.sort(rng.uniform(Z.min(), Z.max(), 2)).tolist()
        inside = (low <= Z) & (high >= Z)
        if not inside.any():
            continue
        best = float(reduced[inside].max())
        for enough in (0.0, 0.5 * max(best, 0.0)):
            found = problem.bound_band(low, high, cells, 5, enough)
            assert found.priced.bound >= best - 1e-12
            needed = choice[inside & (reduced > enough + 1e-12)]
            if found.priced.bound > enough:
                assert np.isin(needed, found.rest.vertices).all()
                above += len(needed)
    assert above > 100
