"""Kernels as Python runs them, for as long as compiling them would take longer.

A small table needs so little of a kernel that Python is done with it in a fraction of the time that compiling
takes. How little is not known beforehand, as with skis that can be rented or bought: who rents until the
rents come to the price pays at most twice what the better choice would have cost. The price, the time of
compiling, is about proportional to the bytecode of a kernel and of all that it calls.

Both ways do the same arithmetic in the same order. A function such as exp may be rounded in another way by
numpy than by compiled code, so that results agree to rounding.
"""

from __future__ import annotations

import functools
import itertools
import os
import sys
import time
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.numerics.settings import SETTINGS

Function = Callable[..., Any]

#: Set to 0, this variable of the environment has every kernel compiled when it is first called.
VARIABLE = "LDPFRONTIER_INTERPRET"


class TooLong(Exception):
    """Python would take longer for a call than is left."""


class Interpreted:
    """A kernel that Python runs, until that has taken as long as compiling would.

    Parameters
    ----------
    function : callable
        The kernel before it is compiled.
    """

    def __init__(self, function: FunctionType) -> None:
        self._function = function
        called = list(_with_called(function, set()))
        self._most = SETTINGS.interpreted_numbers if len(called) > 1 else SETTINGS.interpreted_loop
        self._left = SETTINGS.compiling_seconds * sum(_size(one.__code__) for one in called) / 1000

    def takes(self, arguments: tuple[Any, ...]) -> bool:
        """Whether a call with these arguments may be left to Python."""
        return self._left > 0 and sum(array.size for array in _arrays(arguments)) <= self._most

    def __call__(self, *arguments: Any) -> Any:
        """Return what the kernel returns.

        Raises
        ------
        TooLong, ArithmeticError, ValueError
            If there is not time enough, or an operation that Python refuses, such as a division by zero. All
            arrays are then as they were before the call.
        """
        kept = [array.copy() for array in _arrays(arguments)]
        begun = time.process_time()
        _Deadline.time = begun + self._left
        try:
            with np.errstate(all="ignore"):
                return _plain(_in_python(self._function)(*arguments))
        except (TooLong, ArithmeticError, ValueError):
            self._left = 0.0
            for array, before in zip(_arrays(arguments), kept, strict=True):
                if array.flags.writeable:
                    array[...] = before
            raise
        finally:
            self._left -= time.process_time() - begun


def is_wanted() -> bool:
    """Whether kernels may be left to Python at all, which the environment can forbid."""
    return os.environ.get(VARIABLE, "1") != "0"


class _Deadline:
    """When Python has to give up the call that is going on, in processor time."""

    time = float("inf")


@functools.cache
def _in_python(function: FunctionType) -> Function:
    """Return a function that calls functions of Python where it would call compiled ones."""
    names = _names(function.__module__)
    return FunctionType(function.__code__, names, function.__name__, function.__defaults__)


@functools.cache
def _names(module: str) -> dict[str, Any]:
    """Return the names of a module, with functions of Python in place of compiled ones."""
    names = dict(vars(sys.modules[module]))
    for name, value in vars(sys.modules[module]).items():
        function = getattr(value, "py_func", None)
        if function is not None and function.__module__ == module:
            names[name] = _in_time(FunctionType(function.__code__, names, name, function.__defaults__))
        elif function is not None:
            names[name] = _names(function.__module__)[function.__name__]
    return names


def _in_time(function: Function) -> Function:
    """Return a function that gives up where the deadline has passed."""
    calls = itertools.count()

    def timed(*arguments: Any, **named: Any) -> Any:
        # Reading the clock takes longer than many a call.
        if not next(calls) & 15 and time.process_time() > _Deadline.time:
            raise TooLong
        return function(*arguments, **named)

    return timed


def _with_called(function: FunctionType, seen: set[FunctionType]) -> Iterator[FunctionType]:
    """Yield a function and the compiled ones that it calls, each once."""
    seen.add(function)
    yield function
    for name in function.__code__.co_names:
        called = getattr(function.__globals__.get(name), "py_func", None)
        if called is not None and called not in seen:
            yield from _with_called(called, seen)


def _size(code: CodeType) -> int:
    """Return how many bytes of bytecode a function has, with those defined in it."""
    return len(code.co_code) + sum(_size(inside) for inside in code.co_consts if isinstance(inside, CodeType))


def _arrays(value: Any) -> Iterator[NDArray[Any]]:
    """Yield the arrays among arguments, those within tuples and lists included."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _arrays(part)


def _plain(value: Any) -> Any:
    """Return a result with Python's numbers in place of numpy's, as compiled functions return them."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple):
        parts = [_plain(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value
