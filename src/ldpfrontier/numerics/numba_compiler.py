"""What Numba compiles and keeps in files: the only module that loads Numba (see `jit`)."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable
from contextlib import suppress
from types import FunctionType
from typing import Any

import numba
from numba import njit, typeof
from numba.core import codegen, compiler, event
from numba.core.runtime import rtsys

__all__ = ["dispatcher_for_callers", "kept_dispatcher", "njit", "typeof"]


def kept_dispatcher(function: FunctionType, options: dict[str, Any], described: str) -> tuple[Any, Any]:
    """Return the `Dispatcher` that compiles a function, and the file of what is compiled, or None.

    Parameters
    ----------
    function : callable
    options : dict
        Of Numba.
    described : str
        All that what is compiled depends on.
    """
    try:
        dispatcher: Any = njit(cache=True, **options)(function)
    except RuntimeError:  # neither beside the module nor in the user's folder can a file be written
        return njit(**options)(function), None
    # Numba notices changes of the module alone, and fails to read what has a class that is gone.
    kept = dispatcher._cache._cache_file
    kept._version = f"{numba.__version__} {described}"
    kept._load_index = _Index(kept._load_index)
    dispatcher._cache.load_overload = _Reader(dispatcher._cache)
    return dispatcher, kept


def dispatcher_for_callers(function: FunctionType, options: dict[str, Any]) -> Any:
    """Return the `Dispatcher` that compiles a function for its callers, not to be called by Python."""
    dispatcher: Any = njit(pipeline_class=_PartCompiler, **options)(function)
    find = dispatcher.get_call_template

    def find_for_types(args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        named = {name: numba.types.unliteral(kind) for name, kind in kws.items()}
        return find(tuple(map(numba.types.unliteral, args)), named)

    # While types are inferred, a variable that begins as -1 is of the type of that number alone. Numba would
    # compile a function for it, and never use it.
    dispatcher.get_call_template = find_for_types
    return dispatcher


class _PartCompiler(compiler.Compiler):  # type: ignore[misc]  # numba has no types
    """Compiles a function as far as its callers need it: to code that is linked into theirs."""

    def compile_extra(self, func: FunctionType) -> Any:
        """Compile a function."""
        self.state.library = _PartLibrary(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)


class _PartLibrary(codegen.JITCodeLibrary):  # type: ignore[misc]
    """The code of a function, which is optimized as a whole, and made machine code, within its callers only.

    Numba would do both for each function by itself, with all that it calls, and once more in every caller:
    d + 1 times for what is called at depth d.
    """

    def _optimize_final_module(self) -> None:
        """Leave that to the callers."""

    def _finalize_final_module(self) -> None:
        """Make the code ready to be linked, but not to be run."""
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0, as there is no machine code."""
        return 0

    @property
    def codegen(self) -> Any:
        """What would tell machine code where its Python objects are."""
        return _NoMachineCode


class _NoMachineCode:
    """Takes the place of a code generator."""

    @staticmethod
    def set_env(env_name: str, env: Any) -> None:
        """Do nothing: a function of the nopython mode uses no Python objects."""


#: What reading a file raises that a full disk, say, has cut off: it is compiled and written again.
_DAMAGED = (EOFError, pickle.UnpicklingError, ValueError)


class _Index:
    """Reads which signatures of a function are kept: none where a class is gone, or the file is damaged."""

    def __init__(self, read: Callable[[], dict[Any, str]]) -> None:
        self._read = read

    def __call__(self) -> dict[Any, str]:
        try:
            return self._read()
        except (AttributeError, ImportError, *_DAMAGED):
            return {}


class _Reader:
    """Reads what is kept of a function, for one signature.

    Numba would first load all that is needed to compile, a fifth of a second in every process.
    """

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __call__(self, signature: Any, context: Any) -> Any:
        rtsys.initialize(context)  # what makes and frees arrays
        with suppress(*_DAMAGED), self._cache._guard_against_spurious_io_errors():
            return self._cache._load_overload(signature, context)


class _Notice(event.Listener):  # type: ignore[misc]  # numba has no types
    """Says once, as soon as a function of the library is compiled, why the first call takes longer."""

    def __init__(self) -> None:
        self._said = False

    def on_start(self, event: event.Event) -> None:
        """Log the sentence, the first time."""
        function = event.data["dispatcher"].py_func
        if not self._said and function.__module__.startswith("ldpfrontier."):
            self._said = True
            logging.getLogger(__name__).warning(
                "Compiling, once per installation and kind of call: this takes up to a minute."
            )

    def on_end(self, event: event.Event) -> None:
        """Do nothing."""


event.register("numba:compile", _Notice())
