"""How kernels are compiled.

That takes longer than most runs of what is compiled, and its time is that of the code there is to compile:
hence loops over letters in place of numpy's functions, whose implementations would be compiled with them, and
no arguments that are literal integers, each of which would make a function of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])

INNER: dict[str, Any] = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def kernel(function: F) -> F:
    """Compile a function that Python calls, once for all processes; division by zero is numpy's."""
    return cast(F, njit(cache=True, error_model="numpy", no_cfunc_wrapper=True)(function))


def inner(function: F) -> F:
    """Compile a function that only compiled ones of its module call: a call from Python ends the process."""
    # Kept with every kernel that calls it; what is kept notices changes of the kernel's module, and no other.
    return cast(F, njit(**INNER)(function))


def inlined(function: F) -> F:
    """Put a function in place of its calls, before types are found: it is compiled with its caller only."""
    # What `inner` compiles is optimized once by itself, and again in every function around it.
    return cast(F, njit(**INNER, inline="always")(function))


def inlined_late(function: F) -> F:
    """Compile as `inner` does, into all that call it: for loops to be optimized by themselves first."""
    return cast(F, njit(**INNER, forceinline=True)(function))


def inner_without_nan(function: F) -> F:
    """Compile as `inner` does, numbers that are never NaN: then the order of a maximum does not matter."""
    return cast(F, njit(**INNER, fastmath={"nnan", "nsz"})(function))
