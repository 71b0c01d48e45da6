"""The wrapper of HiGHS for a single program."""

from __future__ import annotations

import numpy as np
import pytest

from ldpfrontier.lp import maximize


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


def test_an_infeasible_program_has_no_solution() -> None:
    assert maximize(np.ones(1), np.ones((1, 1)), np.array([2.0]), np.array([3.0]), most=np.ones(1)) is None


def test_an_unbounded_program_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="HiGHS stopped"):
        maximize(np.ones(1), np.ones((1, 1)), np.zeros(1), np.array([np.inf]))
