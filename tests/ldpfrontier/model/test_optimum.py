"""What puts a value and its bound together: the status, the rounding, and the refusal of a wrong bound."""

import numpy as np
import pytest

from ldpfrontier import Channel
from ldpfrontier.model.optimum import CANCELLED, NO_ERROR, ROUNDING, BoundError, certified

CHANNEL = Channel(np.eye(2))


@pytest.mark.parametrize("bound", [1e-12, 0.5, 200.0])
def test_a_result_is_optimal_within_the_tolerance_and_no_further(bound: float) -> None:
    for tolerance in (1e-7, 1e-3):
        for share, status in [(0.0, "optimal"), (0.99, "optimal"), (1.01, "bounded"), (5.0, "bounded")]:
            found = certified(CHANNEL, bound * (1.0 - share * tolerance), bound, tolerance)
            assert found.status == status
            assert (found.gap <= tolerance) == (status == "optimal")


def test_a_bound_is_raised_by_its_rounding() -> None:
    assert certified(CHANNEL, 0.25, 0.5, 1.0).bound == pytest.approx(0.5 * (1.0 + ROUNDING), rel=1e-15)
    assert certified(CHANNEL, 0.25, 0.5, 1.0, error=BoundError(noise=0.125)).bound == pytest.approx(0.625)
    assert certified(CHANNEL, 0.25, 0.5, 1.0, error=BoundError(0.0625)).bound == 0.5625
    assert certified(CHANNEL, 0.25, 0.5, 1.0, error=NO_ERROR).bound == 0.5
    # A value that is above by rounding is its own bound.
    assert certified(CHANNEL, 0.5 * (1.0 + 1e-10), 0.5, 1.0, error=NO_ERROR).bound == 0.5 * (1.0 + 1e-10)


@pytest.mark.parametrize("bound", [0.5, 200.0, 1e-3])
def test_a_value_above_its_bound_is_an_error(bound: float) -> None:
    with pytest.raises(ArithmeticError, match="exceeds its upper bound"):
        certified(CHANNEL, bound * (1.0 + 2e-9) + 2.0 * CANCELLED, bound, 1e-7)
