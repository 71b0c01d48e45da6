"""The wrapper of HiGHS for a single program."""

from __future__ import annotations

import numpy as np
import pytest

from ldpfrontier.numerics.highs import add_columns, maximize, new_lp, solve


def test_maximize() -> None:
    matrix = np.array([[1.0, 1.0], [1.0, 0.0]])
    program = (np.array([1.0, 2.0]), matrix, np.array([-np.inf, 0.5]), np.array([1.0, np.inf]))
    solution = maximize(*program)
    assert solution is not None
    value, x, duals = solution
    assert value == pytest.approx(1.5)
    np.testing.assert_allclose(x, [0.5, 0.5])
    np.testing.assert_allclose(duals, [2.0, -1.0])
    bounded = maximize(*program, np.zeros(2), np.array([np.inf, 0.25]))
    assert bounded is not None
    assert bounded[0] == pytest.approx(1.25)


def test_columns_that_are_added_together() -> None:
    """Maximize x + 2 y + 3 z with x + z <= 1 and y + z <= 2."""
    lp = new_lp()
    for most in (1.0, 2.0):
        lp.addRow(-np.inf, most, 0, np.empty(0, dtype=np.int32), np.empty(0))
    add_columns(lp, np.array([1.0, 2.0, 3.0]), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    assert solve(lp)[0] == pytest.approx(5.0)


def test_an_infeasible_program_has_no_solution() -> None:
    assert maximize(np.ones(1), np.ones((1, 1)), np.array([2.0]), np.array([3.0]), most=np.ones(1)) is None


def test_an_unbounded_program_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="HiGHS stopped"):
        maximize(np.ones(1), np.ones((1, 1)), np.zeros(1), np.array([np.inf]))
