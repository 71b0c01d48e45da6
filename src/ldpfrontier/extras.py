"""Libraries that only one module needs, which are extras of the package and imported where they are used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class MissingExtra(ImportError):
    """A library that an extra of the package brings is not installed; the message says how to get it."""


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Name the extra of the package in a `MissingExtra` if a library that the block imports is not there."""
    try:
        yield
    except ModuleNotFoundError as missing:
        raise MissingExtra(
            f"{missing.name} is not installed; pip install {missing.name} brings it, as does the extra"
            f" {name} of the package."
        ) from None
