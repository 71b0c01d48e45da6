"""The bound on every robust mechanism, against optima and the bounds that it is the least of."""

import pytest

from ldpfrontier import RenyiBall, optimal_robust, robust_bound
from ldpfrontier.promises.nonrobust import nonrobust_bound

BALL = RenyiBall.confidence([[150, 50, 100], [100, 350, 250]])


def test_no_robust_mechanism_is_above_the_bound():
    best = optimal_robust(BALL, 0.7, envelope="exact")
    bound = robust_bound(BALL, 0.7, max_nodes=3_000)
    assert best.value <= bound <= nonrobust_bound(BALL.centre, 0.7)
    assert bound < 1.3 * best.value


def test_without_nodes_the_bound_is_that_of_nr():
    assert robust_bound(BALL, 0.7, max_nodes=0) == nonrobust_bound(BALL.centre, 0.7)


def test_where_f_asks_for_nothing_more_the_bound_is_that_of_nr():
    for centre, radius in ((BALL.centre, 0.0), ([[0.2, 0.3, 0.5]], 0.01)):
        ball = RenyiBall(centre, radius)
        best = optimal_robust(ball, 0.7, envelope="exact")
        assert robust_bound(ball, 0.7, max_nodes=100) == nonrobust_bound(ball.centre, 0.7)
        assert best.value == pytest.approx(nonrobust_bound(ball.centre, 0.7), rel=1e-6)
