"""The coupling of block weights: marginals, masses and means."""

from __future__ import annotations

import numpy as np
import pytest

from ldpfrontier.engines.products.coupling import couple
from ldpfrontier.engines.products.geometry.polytope import Block
from ldpfrontier.uncertainty.renyi_ball import RenyiBall


@pytest.mark.parametrize("seed", range(3))
def test_coupling_keeps_the_weights_and_the_tall_vertices_apart(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ball = RenyiBall.confidence(rng.multinomial(2000, rng.dirichlet(np.ones(20))).reshape(5, 4))
    blocks = [Block(L, P, 3.0) for L, P in zip(ball.lower_bounds, ball.centre, strict=True)]
    low = max(float(np.median(block.z)) for block in blocks)
    parts = []
    for floor in (0.0, low):
        weights = []
        for block in blocks:
            tall, short = np.flatnonzero(block.z > low), np.flatnonzero(block.z <= low)
            share = 0.15 * min(1, len(tall)) if floor else 0.0  # at most 5 x 0.15 < 1 of a part
            chosen = short[:3]
            split = (1.0 - share) * rng.dirichlet(np.ones(len(chosen)))
            own = {int(i): float(w) for i, w in zip(chosen, split, strict=True)}
            weights.append(own | ({int(tall[-1]): share} if share else {}))
        parts.append((weights, floor))
    columns, mass, owner, means = couple(blocks, parts)
    assert mass.sum() == pytest.approx(2.0)
    assert np.bincount(owner, weights=mass) == pytest.approx([1.0, 1.0])
    for s, block in enumerate(blocks):
        total = sum((np.bincount([*own[s]], [*own[s].values()], len(block)) for own, _ in parts))
        assert np.bincount(columns[:, s], mass, len(block)) == pytest.approx(total)
    heights = np.column_stack([block.z[columns[:, s]] for s, block in enumerate(blocks)])
    assert ((heights > low).sum(axis=1)[mass > 1e-9] <= 1).all()
    assert (heights.sum(axis=1) * mass).sum() == pytest.approx(means.sum())
