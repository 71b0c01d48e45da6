"""Columns with a conditional level, against a linear program with all inequalities, and attackers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from ldpfrontier.engines.columns.cone_program import ConeProgram
from support.tables import random_ball

SHAPES = [(2, 2), (2, 3), (3, 2), (3, 3)]
LEVELS = [0.0, 0.3, 2.0]


def by_inequalities(ball, epsilon, level, cost):
    """The largest cost . v over the simplices: one inequality for each pair of extreme distributions."""
    (a1, a2), n = ball.centre.shape, ball.centre.size
    ends = []
    for s, lower in enumerate(ball.lower_bounds):
        for u in range(a2):
            end = np.zeros((a1, a2))
            end[s] = lower
            end[s, u] += 1.0 - lower.sum()
            ends.append(end.ravel())
    rows = [R - math.exp(epsilon) * other for R in ends for other in ends]
    unit = np.eye(n).reshape(a1, a2, n)
    rows += [
        unit[s, u] - math.exp(level) * unit[t, u] for s in range(a1) for t in range(a1) for u in range(a2)
    ]
    found = linprog(-cost, np.array(rows), np.zeros(len(rows)), ball.centre.reshape(1, n), [1.0])
    assert found.status == 0
    return -float(found.fun)


def climbed(cone, cost):
    """The best of the columns of the same program after every round of cuts."""
    return max((cone.step(cost)[0] for _ in range(30)), key=lambda v: float(v @ cost))


def check(ball, epsilon, level, v):
    """The column is scaled, has the conditional level, and is private over F."""
    a1, a2 = ball.centre.shape
    assert v @ ball.centre.ravel() == pytest.approx(1.0, abs=1e-12)
    rows = v.reshape(a1, a2)
    assert (rows >= 0.0).all()
    assert (rows.max(axis=0) <= math.exp(level) * rows.min(axis=0) * (1.0 + 1e-12)).all()
    members = ball.sample(np.random.default_rng(0), 300)
    means = (members * rows).sum(axis=2) / members.sum(axis=2)
    least, largest = means.min(axis=1), means.max(axis=1)
    assert (largest <= math.exp(epsilon) * least * (1.0 + 1e-9)).all()


@pytest.mark.parametrize("level", LEVELS)
def test_columns_are_private_and_no_worse_than_those_of_simplices(level) -> None:
    for seed, shape in enumerate(SHAPES):
        ball, epsilon = random_ball(shape, seed)
        rng = np.random.default_rng(seed)
        cost = rng.normal(size=ball.centre.size) * ball.centre.ravel()
        column = climbed(ConeProgram(ball, epsilon, level), cost)
        check(ball, epsilon, level, column)
        assert column @ cost >= by_inequalities(ball, epsilon, level, cost) - 1e-9


def test_any_column_is_mixed_into_the_cone() -> None:
    for seed, shape in enumerate(SHAPES):
        ball, epsilon = random_ball(shape, seed)
        cone, rng = ConeProgram(ball, epsilon, 0.5), np.random.default_rng(seed)
        for column in rng.exponential(size=(10, ball.centre.size)) * (rng.random(ball.centre.size) < 0.8):
            inside, _, _ = cone._mixed(column.reshape(shape) + 1e-3, 0.0)
            check(ball, epsilon, 0.5, inside)
            # What is inside stays, but for the margin.
            np.testing.assert_allclose(cone._mixed(inside.reshape(shape), 0.0)[0], inside, atol=1e-5)
