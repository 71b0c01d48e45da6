"""The decomposition across the sensitive values, against full programs over all rays."""

from __future__ import annotations

import pytest

from ldpfrontier.engines.products import pricing
from ldpfrontier.engines.products.decomposition import Decomposition
from ldpfrontier.engines.products.geometry.polytope import Block
from ldpfrontier.model.utility import MutualInformation
from oracles.column_lp import full_lp
from oracles.enumeration import robust_rays
from support.tables import random_table


@pytest.mark.parametrize("seed", [3, 5, 11])
def test_refined_decomposition_is_a_relaxation_with_better_prices(seed: int) -> None:
    """The parts of a product contain all columns; halving them brings the program nearer to the optimum."""
    ball, _ = random_table(seed)
    for epsilon in (2.0, 4.0):
        utility = MutualInformation(ball.centre)
        expected = full_lp(utility, robust_rays(ball.lower_bounds, epsilon, "all"))
        blocks = [Block(L, P, epsilon) for L, P in zip(ball.lower_bounds, ball.centre, strict=True)]
        family = pricing.BlockProduct(blocks, ball.centre)
        decomposition = Decomposition(family, epsilon)
        whole = float(decomposition.solve(family.explore).sum())
        loss = decomposition.coupling_loss()
        assert whole * (1 - loss) <= expected + 1e-9  # what the coupling is worth
        refined = decomposition.refine(gap=1e-7)
        assert expected <= refined.sum() + 1e-6 <= whole + 2e-6
        assert refined.sum() - expected <= 0.5 * (whole - expected) + 1e-4 * expected
        bound = float(refined.sum()) + family.price(refined.ravel(), family.efforts - 1)[0]
        assert expected <= bound + 1e-9
        assert decomposition.coupling_loss() <= loss + 1e-9
        columns = decomposition.columns()
        reached = full_lp(utility, columns.vectors)
        assert reached <= expected + 1e-9
