"""Libraries that only one module needs, which are extras of the package and imported where they are used."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager

#: The variable of the environment that names the backend of matplotlib.
_BACKEND = "MPLBACKEND"


class MissingExtra(ImportError):
    """A library that an extra of the package brings is not installed; the message says how to get it."""


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Name the extra of the package in a `MissingExtra` if a library that the block imports is not there.

    matplotlib cannot be imported where the environment names a backend that is not there, as that of a
    notebook in another environment; files of pictures need none, so it is not named then.
    """
    backend = os.environ.get(_BACKEND, "")
    lost = bool(backend) and not _has_backend(backend)
    if lost:
        del os.environ[_BACKEND]
    try:
        yield
    except ModuleNotFoundError as missing:
        raise MissingExtra(
            f"{missing.name} is not installed; pip install {missing.name} brings it, as does the extra"
            f" {name} of the package."
        ) from None
    finally:
        if lost:
            os.environ[_BACKEND] = backend


def _has_backend(name: str) -> bool:
    """Tell whether the module of a backend of matplotlib, as in ``module://name``, is there."""
    kind, _, module = name.partition("://")
    try:
        return kind != "module" or importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
