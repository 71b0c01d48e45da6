"""What affine bounds imply, with and without slack."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ldpfrontier.optimal.certificate.affine_bounds import AffineBounds
from ldpfrontier.optimal.certificate.block_family import BlockLabel


@pytest.mark.parametrize("distinct", [False, True])
def test_slack_is_what_the_totals_allow(distinct):
    rng = np.random.default_rng(7)
    knots = np.linspace(0.0, 1.0, 3) if distinct else np.zeros(1)
    K = len(knots)
    labels = [
        BlockLabel(s, special) for special in ((False, True) if distinct else (False,)) for s in range(4)
    ]
    products = np.arange(4) + 4 * np.eye(4, dtype=np.int64) if distinct else np.arange(4)[None]
    bounds = AffineBounds(
        knots, labels, products, np.array([0.0, 0.5]), np.array([0.5, np.inf]), rng.uniform(1.0, 1.4, (2, K)),
        -np.array([[0.0], [0.1]]) * np.ones(K), -rng.uniform(0.5, 1.0, (len(labels), 2, K)),
        np.ones((len(products), 2, K), dtype=bool),
    )  # fmt: skip
    goal, shares = float(bounds.kappa().max()) + 0.1, np.array([0.4, 0.3, 0.2, 0.1])
    raised = bounds.with_slack(goal, shares)
    assert (raised.intercepts >= bounds.intercepts).all()
    np.testing.assert_allclose(raised.kappa().max(), goal)
    if distinct:
        np.testing.assert_allclose(raised.kappa(), goal)
        # Classes that a product does not need imply nothing for it.
        needed = np.array([[True, True], [True, False], [False, True], [True, False]])[:, :, None]
        needed = needed & np.array([True, True, False])
        few = replace(bounds, needed=needed)
        kappa = few.with_slack(goal, shares).kappa()
        np.testing.assert_allclose(kappa[needed], goal)
        assert (kappa[~needed] == -np.inf).all()
        assert few.classes_of(labels.index(BlockLabel(1, True))).tolist() == [True, False]
    # What exceeds the majorants counts.
    assert raised.kappa(0.1).max() > goal
