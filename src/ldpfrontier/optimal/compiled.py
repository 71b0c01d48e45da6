"""How kernels are compiled.

Compiling takes longer than most runs of what is compiled, and its time is that of the code there is to compile:
hence the loops over letters in place of numpy's functions, whose implementations would be compiled with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile a function that Python calls, once for all processes; division by zero is numpy's."""
    return cast(F, njit(cache=True, error_model="numpy")(function))


def inner(function: F) -> F:
    """Compile a function that only compiled ones of its module call: a call from Python ends the process.

    It is kept with those that call it, which do not notice changes of other modules.
    """
    return cast(F, njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)(function))
