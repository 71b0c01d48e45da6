"""A time limit that every optimizer keeps: when the time is up, what was found so far is the answer.

`max_seconds` of a public function begins a limit, which holds for all that the function calls. Loops ask
whether the time is up and end with what they have; a linear program stops with `TimeIsUp`, which is handled
like any program that fails: what was found before holds. Without a limit nothing asks for the time. The time
in which kernels are compiled does not count (`extend_limits`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from ldpfrontier.numerics.arguments import as_number

#: Seconds from any moment on; tests put a clock of their own here.
clock: Callable[[], float] = time.monotonic


class TimeIsUp(RuntimeError):
    """The time that the caller allowed is up."""


@dataclass
class Limit:
    """A time limit in seconds, its end on the clock, and whether a computation asked after that and ended.

    It may be within another one.
    """

    seconds: float = math.inf
    end: float = math.inf
    reached: bool = False
    around: Limit | None = None


_LIMIT: ContextVar[Limit | None] = ContextVar("limit", default=None)


@contextmanager
def time_limit(max_seconds: float | None) -> Iterator[Limit]:
    """Limit the time of what is called inside; of a limit within another one, the earlier end counts.

    Parameters
    ----------
    max_seconds : float or None
        Seconds from now, 0 or more; None for no limit of its own.

    Raises
    ------
    ValueError
        If it is something else.
    """
    around = _LIMIT.get()
    if max_seconds is None:
        yield around or Limit()
        return
    allowed = "a number of seconds, 0 or more, or None for no limit"
    seconds = as_number(max_seconds, "max_seconds", allowed, least=0.0, infinite=True)
    limit = Limit(seconds, clock() + seconds, around=around)
    before = _LIMIT.set(around if around is not None and around.end <= limit.end else limit)
    try:
        yield _LIMIT.get() or limit
    finally:
        _LIMIT.reset(before)


@contextmanager
def no_time_limit() -> Iterator[None]:
    """Lift the limit, for the little that is needed to make an answer of what was found."""
    before = _LIMIT.set(None)
    try:
        yield
    finally:
        _LIMIT.reset(before)


def is_limited() -> bool:
    """Return whether there is a limit: without one, nothing looks at the clock."""
    return _LIMIT.get() is not None


def extend_limits(seconds: float) -> None:
    """Let all limits end so much later."""
    limit = _LIMIT.get()
    while limit is not None:
        limit.end += seconds
        limit = limit.around


def seconds_left() -> float:
    """Return the seconds that are left, 0 if none are; inf without a limit."""
    limit = _LIMIT.get()
    if limit is None:
        return math.inf
    left = max(limit.end - clock(), 0.0)
    limit.reached |= left == 0.0
    return left


def time_is_up() -> bool:
    """Return whether no time is left: then whoever asks ends with what there is."""
    return seconds_left() == 0.0


def check_time() -> None:
    """Raise TimeIsUp if no time is left."""
    if time_is_up():
        raise time_ended()


def time_ended() -> TimeIsUp:
    """Note that something with a clock of its own ended for the limit; return the error to raise."""
    if (limit := _LIMIT.get()) is not None:
        limit.reached = True
    return TimeIsUp("the time that was allowed is up")
