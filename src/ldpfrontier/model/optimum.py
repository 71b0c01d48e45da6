"""The result type of all optima, with a mechanism and a bound, and the checks that all optima share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, Literal, NamedTuple, ParamSpec, Protocol, TypeVar, cast

import numpy as np

from ldpfrontier.base.types import FloatArray
from ldpfrontier.model.channel import Channel
from ldpfrontier.numerics.arguments import as_count, as_instance, as_number
from ldpfrontier.numerics.deadline import time_limit

Unit = Literal["nats", "bits", "1"]

#: Relative allowance for rounding in the evaluation of a dual bound.
ROUNDING = 1e-12

#: By how much a value may exceed its bound before one of the two must be wrong: a share of the bound, and
#: what the columns of a channel can lose where numbers near one cancel.
BROKEN, CANCELLED = 1e-9, 1e-13


#: Least privacy level in nats that a mechanism is made for, 0 apart: at lower ones what is told is 1e-6 nats
#: or less, and the level of a channel as stored is rounded.
LEAST_EPSILON = 1e-3
#: Largest one: e^epsilon and its square are floats up to here.
MAX_EPSILON = 300.0


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Method:
    """What an optimum was found with.

    Attributes
    ----------
    mechanisms : str
        The class of mechanisms that the bound holds for, as asked for.
    engine : str
        The algorithm that ran.
    regime : str
        For which inputs it is the one that runs (`ldpfrontier.engines.registry`).
    fallbacks : tuple of str
        What took the place of something that failed or was not tried, each with its reason, in their order.
    """

    mechanisms: str = ""
    engine: str = ""
    regime: str = ""
    fallbacks: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return all of it in one line; empty if nothing is known."""
        regime = f" ({self.regime})" if self.regime else ""
        parts = [f"{self.mechanisms}: {self.engine}{regime}"] if self.engine else []
        return "; ".join([*parts, *(f"fallback: {text}" for text in self.fallbacks)])


#: The method of an optimum that says nothing of it.
UNKNOWN = Method()

_fallbacks: ContextVar[list[str] | None] = ContextVar("fallbacks", default=None)


class Reported(Protocol):
    """A result that says what it was found with."""

    @property
    def method(self) -> Method:
        """What ran, and what it fell back on."""


Answer = TypeVar("Answer", bound=Reported)


def fell_back(text: str) -> None:
    """Record that something took the place of what failed or was not tried, with the reason."""
    taken = _fallbacks.get()
    if taken is not None and text not in taken:
        taken.append(text)


@contextmanager
def recorded_failure(instead: str, *errors: type[Exception]) -> Iterator[None]:
    """Let a part of a solver fail with some errors; what holds instead is recorded, with the error."""
    try:
        yield
    except errors as error:
        fell_back(f"{instead}, as a step failed: {one_line(error)}")


def one_line(error: Exception) -> str:
    """Return the name of an error and its message, without line breaks or the full stop."""
    message = " ".join(str(error).split()).rstrip(".")
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def records_fallbacks(solve: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """Decorate a function such that its result names the fallbacks that were taken on the way."""

    @wraps(solve)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
        taken: list[str] = []
        token = _fallbacks.set(taken)
        try:
            found = solve(*args, **kwargs)
        finally:
            _fallbacks.reset(token)
        # One optimum is often a part of another, as that of NR is for its bound.
        for text in taken:
            fell_back(text)
        every = tuple(dict.fromkeys([*found.method.fallbacks, *taken]))
        return cast(Answer, replace(cast(Any, found), method=replace(found.method, fallbacks=every)))

    return call


def keeps_time_limit(solve: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorate a function such that its argument `max_seconds` limits the time of all that it calls.

    The function need not look at the argument: what takes long asks the limit (`numerics.deadline`). Below
    `records_fallbacks`, a result that is not optimal says if the limit ended anything.
    """

    @wraps(solve)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        with time_limit(cast("float | None", kwargs.get("max_seconds"))) as limit:
            found = solve(*args, **kwargs)
        if limit.reached and getattr(found, "status", "") != "optimal":
            fell_back(f"what was found within {limit.seconds:g} s, as the time limit ended the computation")
        return found

    return call


@dataclass(frozen=True, eq=False)
class Optimum:
    """A mechanism, and a bound on how much better the best mechanism can be.

    Attributes
    ----------
    channel : Channel
    value : float
        The utility of `channel`, in `unit`, before its entries are rounded. The utility and the level of the
        channel as stored agree with it and with epsilon to about 1e-15 / epsilon, relatively, or to 1e-9 over
        an uncertainty set.
    bound : float
        A bound for all mechanisms of the same class, in `unit`: none has a larger value if `direction` is
        "max", and none has a smaller one if it is "min".
    status : str
        "optimal" if the gap is within the tolerance, else "bounded".
    iterations : int
        Rounds of the solver; 0 where none was needed.
    unit : {"nats", "bits", "1"}
        "1" for a number without a unit.
    direction : {"max", "min"}
        Whether a large or a small value is better.
    prices : ndarray, shape (inputs,)
        Of the inputs, in `unit`, if the bound is their sum: no column of the class is worth more than its
        entries cost, to rounding. Empty if the bound was found in another way.
    method : Method
        What ran, and what it fell back on.
    """

    channel: Channel
    value: float
    bound: float
    status: str
    iterations: int
    unit: Unit = "nats"
    direction: Literal["max", "min"] = "max"
    prices: FloatArray = field(default_factory=lambda: np.empty(0))
    method: Method = UNKNOWN

    @property
    def upper_bound(self) -> float:
        """The upper end of the interval that contains the best possible value, in `unit`."""
        return self.bound if self.direction == "max" else self.value

    @property
    def lower_bound(self) -> float:
        """The lower end of the interval that contains the best possible value, in `unit`."""
        return self.value if self.direction == "max" else self.bound

    @property
    def gap(self) -> float:
        """The relative gap (upper_bound - lower_bound) / upper_bound; 0 if both agree to 12 digits."""
        if math.isinf(self.upper_bound):
            return 1.0
        distance = self.upper_bound - self.lower_bound
        return distance / self.upper_bound if distance > 4 * ROUNDING * self.upper_bound else 0.0


class BoundError(NamedTuple):
    """How far a computed bound may be below the true one, as a number.

    Without a derived error it is a share of the bound, so that a gap means the same at a utility of 1e-17 as
    at one of 1. `noise` is the absolute rounding of a bound that was found as a difference of larger numbers.
    """

    derived: float | None = None
    noise: float = 0.0

    def above(self, bound: float) -> float:
        """Return a computed bound that is raised by its error."""
        return bound + (ROUNDING * abs(bound) if self.derived is None else self.derived) + self.noise


#: Of most bounds.
SHARE_ERROR = BoundError()
#: Of a bound that is rounded up where it is computed.
NO_ERROR = BoundError(0.0)


def certified(
    channel: Channel,
    value: float,
    bound: float,
    tolerance: float,
    iterations: int = 0,
    *,
    unit: Unit = "nats",
    error: BoundError = SHARE_ERROR,
    method: Method = UNKNOWN,
) -> Optimum:
    """Put a channel, its value and an upper bound together, allowing for the bound's rounding.

    ArithmeticError if the value exceeds the bound by more than rounding.
    """
    upper = error.above(bound)
    if value > upper + BROKEN * abs(bound) + CANCELLED:
        raise ArithmeticError(
            f"The value {value!r} exceeds its upper bound {upper!r}; the certificate fails."
        )
    optimum = Optimum(channel, value, max(upper, value), "optimal", iterations, unit, method=method)
    return optimum if optimum.gap <= tolerance else replace(optimum, status="bounded")


def uninformative(inputs: int, unit: Unit = "nats", method: Method = UNKNOWN) -> Optimum:
    """Return the optimum if no information is allowed, or none exists: one output, the value 0 and no gap."""
    return Optimum(Channel(np.ones((inputs, 1))), 0.0, 0.0, "optimal", 0, unit, method=method)


def checked_epsilon(epsilon: float, most: float = MAX_EPSILON, name: str = "epsilon") -> float:
    """Return a privacy level as a float: 0, or a number of nats from `LEAST_EPSILON` to `most`."""
    allowed = f"0, or a number from {LEAST_EPSILON:g} to {most:g} nats"
    level = as_number(epsilon, name, allowed, least=0.0, most=most)
    if 0.0 < level < LEAST_EPSILON * (1.0 - BROKEN):
        raise ValueError(f"{name} is {epsilon}; it must be {allowed}: below, next to nothing may be told.")
    return level


def checked_effort(tolerance: float, max_rounds: int) -> tuple[float, int]:
    """Return a relative gap and a number of rounds, both 0 or more and of any type, as a float and an int."""
    gap = as_number(tolerance, "tolerance", "a finite number, 0 or more", least=0.0)
    return gap, as_count(max_rounds, "max_rounds", "a whole number, 0 or more")


def check_start(start: Channel | None, inputs: int) -> None:
    """Check that a mechanism to start from, if there is one, is a channel with the right number of inputs."""
    if start is None:
        return
    as_instance(start, Channel, "The start")
    if start.n_inputs != inputs:
        raise ValueError(f"The start has {start.n_inputs} inputs; it must have {inputs}.")
