"""What affine bounds imply, with and without slack."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from mpmath import fsum, log, mpf

from ldpfrontier.engines.over_set.affine_bounds import AffineBounds
from ldpfrontier.engines.over_set.block_family import BlockLabel
from oracles import high_precision  # noqa: F401  (60 digits)


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


def test_kappa_is_lam_less_1_less_the_logarithm_of_the_totals_and_not_below_it():
    """What exceeds the majorants counts against the totals."""
    rng = np.random.default_rng(8)
    labels, products = [BlockLabel(s, False) for s in range(4)], np.arange(4)[None]
    for _ in range(100):
        lam, h = float(rng.uniform(1.0, 300.0)), -rng.uniform(0.5, 1.0, 4)
        excess, discount = float(rng.choice([0.0, 0.3, 1.0])), -float(rng.uniform(0.0, 0.1))
        bounds = AffineBounds(
            np.zeros(1), labels, products, np.zeros(1), np.full(1, np.inf), np.full((1, 1), lam),
            np.full((1, 1), discount), h[:, None, None], np.ones((1, 1, 1), dtype=bool),
        )  # fmt: skip
        exact = mpf(lam) - 1 - log(-fsum(map(mpf, [*h.tolist(), discount, excess])))
        found = float(bounds.kappa(excess)[0, 0, 0])
        assert mpf(found) >= exact
        assert found == pytest.approx(float(exact), rel=1e-13)
