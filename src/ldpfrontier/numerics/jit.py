"""How kernels are compiled, or left to Python where compiling would take longer (`interpreter`).

Compiling takes longer than most runs of what is compiled, and its time is that of the code there is to
compile: hence loops over letters in place of numpy's functions, whose implementations would be compiled with
them, and no arguments that are literal integers or bools, each of which would make a function of its own.
Assignments, copies and searches of arrays are loops for the same reason. What compiled functions call becomes
part of them, and is optimized there alone (`numba_compiler`).

Numba is loaded when the first kernel is called (`numba_compiler`); much of the library does without.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import is_dataclass
from functools import cached_property
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ldpfrontier.numerics.interpreter import Interpreted, TooLong, is_wanted

if TYPE_CHECKING:
    from types import ModuleType

F = TypeVar("F", bound=Callable[..., Any])

_WITHOUT_WRAPPERS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_INNER: dict[str, Any] = {"error_model": "numpy", **_WITHOUT_WRAPPERS}
#: Without reference counts of arrays: with them, every access to an array of a tuple is an atomic operation.
_BORROWING: dict[str, Any] = {**_INNER, "_nrt": False}


def compiler() -> ModuleType:
    """Return the module that loads Numba, which takes half a second."""
    from ldpfrontier.numerics import numba_compiler

    return numba_compiler


class Compiled:
    """A function that compiled ones call, and not Python.

    Attributes
    ----------
    py_func : callable
        The function as it was written.
    targetoptions : dict
        Options of Numba, which looks here for whether to put it in place of its calls.
    """

    def __init__(self, function: FunctionType, options: dict[str, Any]) -> None:
        functools.update_wrapper(cast(Any, self), function)
        self.py_func, self.targetoptions = function, options

    @cached_property
    def _for_callers(self) -> Any:
        """The `Dispatcher` of Numba that compiles it for its callers."""
        return compiler().dispatcher_for_callers(self.py_func, {**self.targetoptions, **_WITHOUT_WRAPPERS})

    @property
    def _numba_type_(self) -> Any:
        """What compiled functions take this one for."""
        return self._for_callers._numba_type_


class Kernel(Compiled):
    """A function that Python calls: run by Python itself at first, compiled once that takes too long.

    Its dispatcher also calls what is compiled, which is kept for all processes where a file can be written.
    """

    def __init__(self, function: FunctionType, **more: Any) -> None:
        super().__init__(function, {"error_model": "numpy", "no_cfunc_wrapper": True, **more})
        self._signature = inspect.signature(function)
        self._interpreted: Interpreted | None = None
        self._is_new = self._is_uncompiled = True

    @cached_property
    def dispatcher(self) -> Any:
        """The `Dispatcher` of Numba that compiles it and calls what is compiled."""
        return self._dispatcher_and_file[0]

    @property
    def _kept(self) -> Any:
        """The file of what is compiled, or None."""
        return self._dispatcher_and_file[1]

    @cached_property
    def _dispatcher_and_file(self) -> tuple[Any, Any]:
        described = f"{sorted(self.targetoptions.items())} {source_hash(self.py_func)}"
        found: tuple[Any, Any] = compiler().kept_dispatcher(self.py_func, self.targetoptions, described)
        return found

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Return what the function returns."""
        if named:
            arguments = self._signature.bind(*arguments, **named).args
        if self._is_new:
            self._is_new = False
            if is_wanted() and not (self._kept and self._kept._load_index()):
                self._interpreted = Interpreted(self.py_func)
        if self._interpreted is not None:
            if self._interpreted.takes(arguments):
                with suppress(TooLong, ArithmeticError, ValueError):
                    return self._interpreted(*arguments)
            self._interpreted = None
        if self._is_uncompiled:
            self._is_uncompiled = False
            self._compile_once(arguments)
        return self.dispatcher(*arguments)

    def _compile_once(self, arguments: tuple[Any, ...]) -> None:
        """Compile for these types, unless another process does: then wait for it, and read what it keeps."""
        if not self._kept or len(arguments) < len(self._signature.parameters):
            return
        # Some file systems know no locks: there, several processes may compile the same.
        with suppress(OSError), Path(f"{self._kept._index_path}.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            self.dispatcher.compile(tuple(map(compiler().typeof, arguments)))


def kernel(function: F) -> F:
    """Compile a function that Python calls, once for all processes; division by zero is numpy's."""
    return cast(F, Kernel(cast(FunctionType, function)))


def borrowing_kernel(function: F) -> F:
    """Compile as `kernel` does a function that makes no arrays and returns numbers only (see `inner`)."""
    return cast(F, Kernel(cast(FunctionType, function), _nrt=False))


def source_hash(function: Callable[..., Any]) -> str:
    """Hash what is compiled with a function: its code, and the functions and constants that it names."""
    return hashlib.sha256("\n".join(_sources(function, set())).encode()).hexdigest()


def _sources(function: Callable[..., Any], seen: set[Callable[..., Any]]) -> Iterator[str]:
    """Yield texts that change with what a function does; those that it calls are each taken once."""
    seen.add(function)
    pending: list[CodeType] = [cast(FunctionType, function).__code__]
    while pending:
        code = pending.pop()
        yield code.co_code.hex()
        yield repr([constant for constant in code.co_consts if not isinstance(constant, CodeType)])
        pending += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        for name in code.co_names:
            value = cast(FunctionType, function).__globals__.get(name)
            is_compiled = isinstance(value, Compiled)
            called: Any = getattr(value, "py_func", value)
            options = getattr(value, "targetoptions", {})
            yield f"{name}: {getattr(called, '__module__', '')} {options if is_compiled else ''}"
            if is_compiled and called not in seen:
                yield from _sources(called, seen)
            elif isinstance(value, type):
                yield repr(getattr(value, "_fields", ""))
            elif isinstance(value, bool | int | float | str | tuple) or is_dataclass(value):
                yield repr(value)


def inner(function: F) -> F:
    """Compile a function that only compiled ones of its module call, and Python cannot.

    It borrows the arrays of its arguments: it makes none, and returns numbers only.
    """
    # Kept with every kernel that calls it, which notices its changes by `source_hash`.
    return cast(F, Compiled(cast(FunctionType, function), _BORROWING))


def inner_with_arrays(function: F) -> F:
    """Compile as `inner` does a function that makes arrays, or returns some."""
    return cast(F, Compiled(cast(FunctionType, function), _INNER))


def inlined(function: F) -> F:
    """Put a function in place of its calls, before types are found: it is compiled with its caller only."""
    # For what returns arrays of its arguments. Numba copies all of it, names included, into every caller.
    return cast(F, Compiled(cast(FunctionType, function), {**_INNER, "inline": "always"}))


def inlined_late(function: F) -> F:
    """Compile as `inner` does, into all that call it: for loops to be optimized by themselves first."""
    return cast(F, Compiled(cast(FunctionType, function), {**_BORROWING, "forceinline": True}))


def inner_without_nan(function: F) -> F:
    """Compile as `inner` does, numbers that are never NaN: then the order of a maximum does not matter."""
    return cast(
        F, Compiled(cast(FunctionType, function), {**_BORROWING, "fastmath": {"nnan": True, "nsz": True}})
    )
