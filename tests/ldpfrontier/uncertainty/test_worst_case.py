"""Worst cases over a Renyi ball against conic programs, weak duality (`oracles.conic`) and members."""

import math
from itertools import permutations

import numpy as np
import pytest

from ldpfrontier.model.channel import Channel
from ldpfrontier.uncertainty import renyi_ball
from ldpfrontier.uncertainty.divergence import least_mean, minimizers, renyi_divergences, two_cell_range
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from ldpfrontier.uncertainty.worst_case import worst_log_ratio
from oracles.conic import SHAPES, conic_epsilon, duality_epsilon, random_case
from support.grids import few

some_orders = pytest.mark.parametrize("order", few([0.5, 1.0, 2.0], more=[0.8, 1.5, 3.0, 5.0]))

#: Tables for each order and shape with --long, 7 x 6 x 24 = 1008 in all, and without.
TABLES, FEW = 24, 2


def cases(order, shape):
    rng = np.random.default_rng([SHAPES.index(shape), round(10 * order)])
    return [random_case(rng, shape, order) for _ in range(TABLES)]


def complemented(v):
    """Channel whose first output has the column v."""
    return Channel(np.column_stack([v.ravel(), 1 - v.ravel()]))


def conditionals(P):
    return P / P.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("shape", SHAPES)
@some_orders
def test_levels_of_many_tables(order, shape, long):
    balls, channels = zip(*cases(order, shape)[: TABLES if long else FEW], strict=True)
    stated = np.array(
        [ball.worst_case_epsilon(channel) for ball, channel in zip(balls, channels, strict=True)]
    )
    found = np.array([duality_epsilon(ball, channel) for ball, channel in zip(balls, channels, strict=True)])
    assert (np.isinf(stated) == np.isinf(found)).all()
    finite = np.isfinite(stated)
    assert finite.mean() >= 0.5
    assert stated[finite] == pytest.approx(found[finite], abs=1e-9)


@pytest.mark.parametrize(
    "shape",
    [shape if math.prod(shape) <= 6 else pytest.param(shape, marks=pytest.mark.long) for shape in SHAPES],
)
@some_orders
def test_levels_by_conic_programs(order, shape, long):
    tables = cases(order, shape)[: TABLES if long else 1]
    stated = np.array([ball.worst_case_epsilon(channel) for ball, channel in tables])
    found, missed = map(
        np.array, zip(*(conic_epsilon(ball, channel) for ball, channel in tables), strict=True)
    )
    assert (np.isinf(stated) == np.isinf(found)).all()
    # A ratio of e^10 multiplies the solver's error by as much.
    near = stated <= 10
    assert (found[near] <= stated[near] + 1e-6 * np.maximum(1.0, stated[near])).all()
    near &= missed == 0
    assert found[near] == pytest.approx(stated[near], abs=1e-6, rel=1e-6)
    assert near.mean() >= (0.5 if len(tables) > 1 else 0)


@some_orders
def test_members_of_the_ball_attain_the_level(order):
    """Where two groups share the budget, a joint distribution is built, whose own divergence is within B."""
    rng = np.random.default_rng(round(10 * order))
    share = np.sin(np.linspace(0.0, 0.5 * math.pi, 501)) ** 2
    for a1, a2 in ((2, 3), (3, 2), (3, 4)):
        p = rng.dirichlet(np.full(a1 * a2, 2.0)).reshape(a1, a2)
        ball = RenyiBall(p, 10.0 ** rng.uniform(-3.0, -1.0), order)
        v = 10.0 ** rng.uniform(-2.0, 0.0, size=(a1, a2))
        attained = 0.0
        for s1, s2 in permutations(range(a1), 2):
            R = np.repeat(ball.conditionals[None], share.size, axis=0)
            D = np.zeros((share.size, a1))
            for s, part, w in ((s1, share, -v[s1]), (s2, 1.0 - share, v[s2])):
                rows = np.broadcast_to(ball.conditionals[s], R[:, s].shape)
                radii = ball.radius_at(part, ball.sensitive[s])
                R[:, s] = minimizers(rows, np.broadcast_to(w, rows.shape), radii, order).R
                D[:, s] = renyi_divergences(rows, R[:, s], order)
            weights = ball.sensitive * np.exp((order - 1.0) / order * D)
            members = (weights / weights.sum(axis=1, keepdims=True))[:, :, None] * R
            assert ball.contains(members, tol=1e-12).all()
            P = conditionals(members)
            attained = max(attained, float(np.log((P[:, s1] @ v[s1]) / (P[:, s2] @ v[s2])).max()))
        v = v.ravel()
        # The other output tells next to nothing.
        channel = Channel(np.column_stack([1e-3 * v, 1.0 - 1e-3 * v]))
        assert attained == pytest.approx(ball.worst_case_epsilon(channel), abs=1e-5)


@some_orders
def test_levels_of_tiny_radii(order):
    """Against the first order in sqrt(B): sqrt(2 B V / order), V = sum P-hat h^2, and by duality.

    h is the derivative of log P(y|s1) - log P(y|s2) by P: the divergence is half of order times
    sum P-hat (P / P-hat - 1)^2, to the second order.
    """
    rng = np.random.default_rng(round(10 * order))
    centre = rng.dirichlet(np.full(6, 3.0), size=4).reshape(4, 2, 3)
    v = 10.0 ** rng.uniform(-2.0, -1.0, size=(4, 2, 3))
    mean = (conditionals(centre) * v).sum(axis=2)
    h = (v / mean[:, :, None] - 1.0) / centre.sum(axis=2, keepdims=True)
    V = (centre * h**2).sum(axis=(1, 2))
    level = np.abs(np.log(mean[:, 0]) - np.log(mean[:, 1]))
    for B in (1e-6, 1e-8, 1e-12, 1e-20):
        stated = np.array(
            [
                RenyiBall(c, B, order).worst_case_epsilon(complemented(w))
                for c, w in zip(centre, v, strict=True)
            ]
        )
        rise = np.sqrt(2.0 * B * V / order)
        assert (np.abs(stated - level - rise) <= 30 * rise**2 + 1e-10).all()
        if B >= 1e-8:
            found = [
                duality_epsilon(RenyiBall(c, B, order), complemented(w))
                for c, w in zip(centre, v, strict=True)
            ]
            assert stated == pytest.approx(found, abs=2e-10)


@some_orders
def test_levels_where_one_group_hardly_matters(order):
    """All but a trace of the budget belongs to the other group: the trace must not be overrated."""
    rng = np.random.default_rng(round(10 * order))
    centre = rng.dirichlet(np.full(6, 2.0), size=4).reshape(4, 2, 3)
    for B, spread in ((1e-2, 1e-6), (1e-4, 1e-5), (1e-6, 1e-4)):
        v = 10.0 ** rng.uniform(-2.0, -0.3, size=(4, 2, 3))
        v[:, 0] = 0.5 * (1.0 + spread * rng.uniform(-1.0, 1.0, size=(4, 3)))
        for c, w in zip(centre, v, strict=True):
            ball, channel = RenyiBall(c, B, order), complemented(0.1 * w)
            assert ball.worst_case_epsilon(channel) == pytest.approx(duality_epsilon(ball, channel), abs=1e-9)


def test_small_moves_are_exact():
    """Two cells in order 2 have a closed form without cancellation; the general solver must reach it."""
    rho = np.random.default_rng(0).uniform(0.01, 0.99, size=200)
    r, q = np.column_stack([rho, 1 - rho]), np.broadcast_to([1.0, 0.0], (200, 2))
    for exponent in range(-30, 2):
        B = np.full(200, 10.0**exponent)
        assert least_mean(r, q, B, 2.0) == pytest.approx(two_cell_range(rho, B, 2.0)[0], rel=0, abs=2e-13)


@pytest.mark.parametrize("order", [0.5, 0.8])
def test_where_a_level_becomes_infinite(order):
    """Below order 1 a group can be emptied of all that reports y, from a certain radius on."""
    centre = np.array([[0.3, 0.2], [0.4, 0.1]])
    channel = Channel([[0.5, 0.5], [0.4, 0.6], [0.0, 1.0], [0.3, 0.7]])
    # P(1, 1) = 0 costs order / (order - 1) log(1 - 0.1).
    edge = order / (order - 1) * math.log(0.9)
    assert RenyiBall(centre, edge * 1.0001, order).worst_case_epsilon(channel) == math.inf
    ball = RenyiBall(centre, edge * 0.9, order)
    found = duality_epsilon(ball, channel)
    assert math.isfinite(found)
    assert ball.worst_case_epsilon(channel) == pytest.approx(found, abs=1e-9)


def test_the_last_worst_case_is_kept(monkeypatch):
    rng = np.random.default_rng(2)
    ball = RenyiBall.confidence(rng.integers(5, 50, (3, 4)))
    first, second = (complemented(rng.random((3, 4))) for _ in range(2))
    asked = []

    def counted(*arguments):
        asked.append(arguments)
        return worst_log_ratio(*arguments)

    monkeypatch.setattr(renyi_ball, "worst_log_ratio", counted)
    levels = [ball.worst_case_epsilon(channel) for channel in (first, first, second, first)]
    assert len(asked) == 3
    assert levels[0] == levels[1] == levels[3] != levels[2]
    ball.worst_case_epsilon(first, tol=1e-3)
    assert len(asked) == 4
