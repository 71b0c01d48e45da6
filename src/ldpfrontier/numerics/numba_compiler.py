"""What Numba compiles and keeps in files: the only module that loads Numba (see `jit`)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numba
from numba import njit, typeof
from numba.core import event

__all__ = ["kept_dispatcher", "njit", "typeof"]


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
    return dispatcher, kept


class _Index:
    """Reads which signatures are kept of a function: none if one of them has a class that is gone."""

    def __init__(self, read: Callable[[], dict[Any, str]]) -> None:
        self._read = read

    def __call__(self) -> dict[Any, str]:
        try:
            return self._read()
        except (AttributeError, ImportError):
            return {}


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
