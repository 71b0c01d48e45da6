"""How kernels are compiled: `numba.njit`, kept in files for all processes.

Compiling takes longer than most runs of what is compiled, and its time is that of the code there is to
compile: hence loops over letters in place of numpy's functions, whose implementations would be compiled with
them, and no arguments that are literal integers or bools, each of which would make a function of its own.
Assignments, copies and searches of arrays are loops for the same reason.

Numba compiles a function again if its file has changed, and not if something has that it calls or reads from
another file. So what is kept of a module is deleted when it or a module that it imports has changed.
"""

from __future__ import annotations

import gc
import hashlib
import inspect
import logging
import os
import re
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from numba import njit
from numba.core import event

from ldpfrontier.numerics import deadline

F = TypeVar("F", bound=Callable[..., Any])

_ROOT = Path(__file__).parents[2]
_LOGGER = logging.getLogger(__name__)


def kernel(function: F) -> F:
    """Compile a function when it is first called; division by zero is numpy's."""
    return _compiled(function)


def borrowing_kernel(function: F) -> F:
    """Compile as `kernel` does a function that makes and returns no arrays.

    Numba then counts no references to arrays. Each is an atomic operation, and with them a search over nodes
    takes 1.5 times as long. An array that is returned without being counted would be freed too early.
    """
    return _compiled(function, _nrt=False)


def inner_kernel(function: F) -> F:
    """Compile as `borrowing_kernel` does a function that kernels alone call.

    What would unpack the arguments of a call from Python is not compiled, which takes a fifth of the time.
    Such a call would end the process.
    """
    return _compiled(function, _nrt=False, no_cpython_wrapper=True)


def _compiled(function: F, **options: Any) -> F:
    """Compile a function, and keep what is compiled if a file can be written."""
    options |= {"error_model": "numpy", "no_cfunc_wrapper": True}  # nothing in C calls it
    try:
        dispatcher: Any = njit(cache=True, **options)(function)
    except RuntimeError:  # neither beside the module nor in the user's folder can a file be written
        plain: F = njit(**options)(function)
        return plain
    delete_stale(Path(inspect.getfile(function)), Path(dispatcher.stats.cache_path))
    compiled: F = dispatcher
    return compiled


@cache
def delete_stale(module: Path, folder: Path) -> None:
    """Delete what is kept of a module in a folder, if it is of other sources, or cut off by a full disk."""
    sources = hashlib.sha256(b"".join(path.read_bytes() for path in _sources(module))).hexdigest()
    stamp = folder / f"{module.stem}.sources"
    with suppress(OSError):  # another process may have deleted a file, or have it open
        fresh = stamp.exists() and stamp.read_text(encoding="utf-8") == sources
        for kept in folder.glob(f"{module.stem}.*.nb[ic]"):
            if not fresh or not _is_whole(kept):
                kept.unlink()
        stamp.write_text(sources, encoding="utf-8")


def _is_whole(pickled: Path) -> bool:
    """Whether a file ends as a pickle does."""
    with pickled.open("rb") as file:
        file.seek(-min(1, os.fstat(file.fileno()).st_size), os.SEEK_END)
        return file.read() == b"."


def _sources(module: Path) -> list[Path]:
    """Return a module and those of the library that it imports, directly or not."""
    found = [module]
    for path in found:  # grows meanwhile
        text = path.read_text(encoding="utf-8")
        for name in re.findall(r"^from (ldpfrontier[.\w]*) import", text, re.MULTILINE):
            imported = _ROOT / f"{name.replace('.', '/')}.py"
            if imported.exists() and imported not in found:
                found.append(imported)
    return found


class _Notice(event.Listener):  # type: ignore[misc]  # numba has no types
    """Says once, as soon as a kernel is compiled, why the first call takes longer; no limit counts this time.

    A kernel may be compiled while another one is: the outermost one has the time of all. The garbage
    collector waits meanwhile: most objects of the compiler live until its end, and it took a tenth of it.
    """

    said = False
    depth, began, collects = 0, 0.0, False

    def on_start(self, event: event.Event) -> None:
        """Log the sentence, the first time."""
        if not self.depth:
            self.collects = gc.isenabled()
            gc.disable()
            if deadline.is_limited():
                self.began = deadline.clock()
        self.depth += 1
        function = event.data["dispatcher"].py_func
        if not self.said and function.__module__.startswith("ldpfrontier."):
            self.said = True
            _LOGGER.warning("Compiling, once per installation and kind of call: this takes up to a minute.")

    def on_end(self, event: event.Event) -> None:
        """Let time limits end later."""
        self.depth -= 1
        if not self.depth:
            if self.collects:
                gc.enable()
            if deadline.is_limited():
                deadline.extend_limits(deadline.clock() - self.began)


event.register("numba:compile", _Notice())
