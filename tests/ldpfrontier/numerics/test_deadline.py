"""The time limit: whose end counts, what asks for it, and that it is gone afterwards."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from numba.core import event

from ldpfrontier.numerics import deadline, jit
from ldpfrontier.numerics.deadline import (
    TimeIsUp,
    check_time,
    extend_limits,
    no_time_limit,
    seconds_left,
    time_is_up,
    time_limit,
)
from ldpfrontier.numerics.highs import add_columns, new_lp, solve


@pytest.fixture
def now(monkeypatch):
    """Return the time of a clock, to be changed."""
    time = [0.0]
    monkeypatch.setattr(deadline, "clock", lambda: time[0])
    return time


def test_without_a_limit_nobody_looks_at_the_clock(monkeypatch) -> None:
    monkeypatch.setattr(deadline, "clock", None)
    assert not time_is_up()
    assert seconds_left() == math.inf
    with time_limit(None) as limit:
        check_time()
    assert not limit.reached


def test_what_asks_after_the_end_is_told_and_noted(now) -> None:
    with time_limit(5) as limit:
        now[0] = 4.0
        assert seconds_left() == 1.0
        check_time()
        assert not limit.reached
        now[0] = 5.0
        with pytest.raises(TimeIsUp):
            check_time()
        assert limit.reached
        with no_time_limit():
            check_time()
        assert time_is_up()
    assert not time_is_up()


@pytest.mark.parametrize(("outer", "inner"), [(5.0, 9.0), (9.0, 5.0)])
def test_of_two_limits_the_earlier_end_counts(now, outer: float, inner: float) -> None:
    with time_limit(outer) as around:
        with time_limit(inner) as limit:
            now[0] = 6.0
            assert time_is_up()
            assert limit.seconds == 5.0
        assert time_is_up() == (outer == 5.0)
        assert around.reached == (outer == 5.0)


@pytest.mark.parametrize("wrong", [-1, "1", math.nan, True, [1.0]])
def test_what_is_no_limit_is_refused(wrong) -> None:
    with (
        pytest.raises(ValueError, match=r"max_seconds is .*; it must be a number of seconds, 0 or more"),
        time_limit(wrong),
    ):
        pass


def test_programs_end_with_the_limit_and_are_solved_after_it(now) -> None:
    rng = np.random.default_rng(0)
    lp = new_lp()
    for _ in range(30):
        lp.addRow(-np.inf, 1.0, 0, np.empty(0, dtype=np.int32), np.empty(0))
    add_columns(lp, rng.random(60), rng.random((60, 30)))
    with time_limit(1e-7) as limit, pytest.raises(TimeIsUp):
        solve(lp)  # the clock stands still, but that of HiGHS does not
    assert limit.reached
    assert solve(lp)[0] > 0


def test_time_that_is_not_counted_lets_all_limits_end_later(now) -> None:
    with time_limit(5), time_limit(9):
        now[0] = 4.0
        extend_limits(4.0)
        now[0] = 8.0
        assert seconds_left() == 1.0


def test_compiling_does_not_count(now) -> None:
    kernel = SimpleNamespace(py_func=print)
    compiled = event.Event("numba:compile", event.EventStatus.START, data={"dispatcher": kernel})
    notice = jit._Notice()
    with time_limit(5):
        for moment, told in ((1.0, notice.on_start), (2.0, notice.on_start), (7.0, notice.on_end)):
            now[0] = moment
            told(compiled)
        assert time_is_up()
        now[0] = 9.0
        notice.on_end(compiled)
        assert seconds_left() == 4.0


def test_without_a_limit_compiling_looks_at_no_clock(monkeypatch) -> None:
    monkeypatch.setattr(deadline, "clock", None)
    kernel = SimpleNamespace(py_func=print)
    compiled = event.Event("numba:compile", event.EventStatus.START, data={"dispatcher": kernel})
    notice = jit._Notice()
    notice.on_start(compiled)
    notice.on_end(compiled)
