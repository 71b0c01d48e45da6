"""What rounding does to bounds of distinct pairs, at all deltas, against 60 digits."""

import numpy as np
import pytest
from mpmath import mpf

from ldpfrontier.optimal.geometry.polytope import Block
from ldpfrontier.optimal.polyopt.distinct_pairs import DistinctPairsFamily
from ldpfrontier.optimal.polyopt.fixed_delta import FixedDeltaBounds
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from oracles.high_precision import largest_reduced_cost

EPSILONS = (0.1, 1.0, 4.0, 15.0)


@pytest.mark.parametrize("apart", [0.0, 1.0])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_no_column_of_any_delta_has_more(epsilon, apart, long):
    worst = []
    for seed, shape in enumerate([(2, 2), (2, 3), (3, 2), *([(3, 3)] if long else [])]):
        rng = np.random.default_rng(seed)
        ball = RenyiBall.confidence(rng.integers(1, 300, shape))
        family = DistinctPairsFamily(ball.centre, ball.lower_bounds, epsilon)
        noise = rng.normal(size=shape)
        duals = ball.centre * rng.uniform(0.0, min(epsilon, 1.0), shape) + apart * (noise - noise.mean())
        bound, _ = family.search(duals, 0.0)
        if not np.isfinite(bound):
            continue
        error = family.error(duals.ravel() + bound * family.scale)
        blocks = [Block(L, P, epsilon) for L, P in zip(ball.lower_bounds, ball.centre, strict=True)]
        at_deltas = FixedDeltaBounds(blocks, duals, epsilon, 0.0, 1)
        deltas = [(s0, d) for s0, own in enumerate(family.deltas) for d in own]
        deltas += [(s0, d) for s0 in range(shape[0]) for d in rng.uniform(0.0, epsilon, 6 if long else 2)]
        for s0, delta in deltas:
            best = largest_reduced_cost(family.product(s0, float(delta)), duals)
            if best > 0:
                assert best <= mpf(bound) + mpf(error)
                # That bound may be some percent above; the one at this delta is the value itself.
                own = at_deltas.at(s0, float(delta), 0.0)
                at_raised = family.error(duals.ravel() + own * family.scale)
                worst.append(float((best - mpf(own)) / mpf(at_raised)))
        if apart == 0.0:
            assert error <= 1e-10 * (1.0 + abs(float(duals.sum()) + bound))
    if worst:
        print(f"eps {epsilon}, apart {apart}: {max(worst):.4f}")
        assert max(worst) <= 1.0
