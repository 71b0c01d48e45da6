"""What letters contribute to the relaxation of a node is nowhere below what it relaxes."""

import numpy as np
import pytest

from ldpfrontier.engines.over_set.tabulated_lagrangian import (
    best_point,
    lagrangian,
    lagrangian_at,
    linear,
    phi,
    phi_slope,
    tabulate,
    tabulate_constraint,
    xlogx,
)
from ldpfrontier.engines.over_set.workspace import Corners, Workspace

LOW, HIGH = np.array([0.6, 0.9, 1.1]), np.array([1.0, 1.6, 1.9])
XI, ETA, T = np.array([0.2, 0.5]), np.array([0.3, 0.9]), np.array([0.25, 0.75])
TOP, BOTTOM = np.array([2.5, 2.2]), np.array([0.5, 0.4])
GAMMA, MINORANT = np.array([0.3, -0.2, 0.1]), np.array([[0.4, 0.05], [0.1, 0.2]])
X, ROUNDING = (0.7, 1.3), 1e-14


def filled(g):
    space = Workspace.of(3, 2)
    tables = space.tables
    tabulate(LOW, HIGH, 2, MINORANT, GAMMA, ROUNDING, tables)
    tabulate_constraint(tables.a, XI, TOP, -1.0, T, g, ROUNDING, tables.points)
    tabulate_constraint(tables.b, ETA, BOTTOM, 1.0, T, g, ROUNDING, tables.points)
    return space


@pytest.mark.parametrize("g", [-0.8, 0.0, 0.5, 0.7])
def test_a_letter_contributes_at_most_what_is_tabulated(g):
    tables, rng = filled(g).tables, np.random.default_rng(1)
    corners = [(end, i, j) for end in range(2) for i in range(2) for j in range(2)]
    least = np.inf
    for u in range(3):
        bound = max(best_point(X, end, i, j, u, tables)[0] for end, i, j in corners)
        for share, xi, eta, w in zip(*rng.random((4, 2000)), strict=True):
            t, letter = T[0] + share * (T[1] - T[0]), LOW[u] + w * (HIGH[u] - LOW[u])
            slope = GAMMA[u] + linear(MINORANT[:, 0], share)
            value = xlogx(letter) - slope * letter
            value += X[0] * phi(1 + (XI[0] + xi * (XI[1] - XI[0])) * (linear(TOP, t) - letter), g)
            value += X[1] * phi(1 + (ETA[0] + eta * (ETA[1] - ETA[0])) * (letter - linear(BOTTOM, t)), g)
            least = min(least, bound - value)
    assert 0.0 <= least < 0.5


def test_the_lagrangian_is_the_best_corner_and_is_between_its_ends_inside():
    space = filled(0.5)
    tables, r, corners = space.tables, np.array([0.2, 0.5, 0.3]), Corners(2, 2, 2)
    best, corner, end = lagrangian(X, corners, MINORANT, r, tables, space.trial, space.argmax[0])
    totals = {
        (e, i, j): r @ [best_point(X, e, i, j, u, tables)[0] for u in range(3)] - MINORANT[e, 1]
        for e in range(2)
        for i in range(2)
        for j in range(2)
    }
    assert best == pytest.approx(max(totals.values()), rel=1e-14)
    assert totals[end, corner // 2, corner % 2] == pytest.approx(best, rel=1e-14)
    points = [best_point(X, end, corner // 2, corner % 2, u, tables)[1] for u in range(3)]
    assert space.argmax[0].tolist() == points
    for share in (0.0, 1.0):
        at_end = max(total for (e, *_), total in totals.items() if e == share)
        assert lagrangian_at(X, corners, share, MINORANT, r, tables) == pytest.approx(at_end, rel=1e-14)
    # Inside of the interval of t it is convex in t.
    inside = lagrangian_at(X, corners, 0.5, MINORANT, r, tables)
    assert inside <= best + 1e-14


@pytest.mark.parametrize("g", [-0.8, 0.0, 0.5, 0.7])
def test_phi_has_its_slope(g):
    assert phi(1.0, g) == 0.0
    difference = (phi(1.3 + 1e-6, g) - phi(1.3 - 1e-6, g)) / 2e-6
    assert phi_slope(1.3, g) == pytest.approx(difference, rel=1e-8)
